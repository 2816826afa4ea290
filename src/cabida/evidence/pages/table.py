"""Which metric of which engine is which of ours: ``names.json``, made ready for looking up sample names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from cabida.errors import InvalidInput
from cabida.text import closest, printable, problem

PARTS = ("sum", "count", "bucket")
RAY = "ray_"  # Ray Serve exports the metrics of its engines under this prefix


@dataclass(frozen=True, slots=True)
class Ours:
    """One name of our own.

    Attributes:
        kind: gauge, counter or histogram.
        unit: count, tokens, ratio, s, bytes, w, j, hz, celsius, tokens_per_s, code or bits.
        how: several series are one by this: sum, mean or most.
    """

    name: str
    kind: str
    unit: str
    how: str


@dataclass(frozen=True, slots=True)
class Spelling:
    """What one sample name means.

    Attributes:
        engine: key of the engine or exporter that gives it.
        ours: our name; part: "", or which part of a histogram.
        rank: 0 is the newest of its spellings; a page that has several is read by the first.
        where: label -> values that a sample must have one of.
        by: label that tells its kinds apart; label: the value is that of this label instead.
        scale: times the value printed.
    """

    engine: str
    ours: str
    part: str
    rank: int
    where: Mapping[str, tuple[str, ...]]
    by: str
    label: str
    scale: float


@dataclass(frozen=True, slots=True)
class Told:
    """How one engine or exporter prints its metrics.

    Attributes:
        group: engines, gpus or hosts.
        same: labels whose values are copies of one figure; whole: labels that split a total printed beside them.
        each: labels that name an accelerator, the first that is there counts.
        blanks: ranges of values that mean "not known".
        expected: our names that it has on every page. signs: how names of its metrics begin.
        cached_apart: its ``prompt_tokens`` leave out those found in the cache.
    """

    key: str
    group: str
    title: str
    source: str
    seen: str
    same: frozenset[str]
    whole: tuple[str, ...]
    each: tuple[str, ...]
    blanks: tuple[tuple[float, float], ...]
    expected: tuple[str, ...]
    signs: tuple[str, ...]
    cached_apart: bool


@cache
def _data() -> dict[str, Any]:
    text = resources.files("cabida.evidence.pages").joinpath("names.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@cache
def ours() -> dict[str, Ours]:
    """Every name of our own."""
    return {name: Ours(name, one["kind"], one["unit"], one["how"]) for name, one in _data()["ours"].items()}


@cache
def told() -> dict[str, Told]:
    """Every engine and exporter that is known."""
    return {
        key: Told(
            key,
            group,
            one["title"],
            one["source"],
            one["seen"],
            frozenset(one.get("same", ())),
            tuple(one.get("whole", ())),
            tuple(one.get("each", ())),
            tuple((low, high) for low, high in one.get("blanks", ())),
            tuple(one["expected"]),
            tuple(plain(sign) for sign in one["sign"]),
            bool(one.get("cached_apart", False)),
        )
        for group in ("engines", "gpus", "hosts")
        for key, one in _data()[group].items()
    }


def engine_title(key: str) -> str:
    """An engine's name as people write it: ``vllm`` is vLLM; one that is not known stays as it is."""
    found = told().get(key)
    return found.title if found else key


def plain(name: str) -> str:
    """A sample's name without what gateways make of it: ``ray_vllm:x``, ``vllm:x`` and ``vllm_x`` are one."""
    return name.removeprefix(RAY).replace(":", "_", 1)


@cache
def spellings() -> dict[str, tuple[Spelling, ...]]:
    """Plain sample name -> what it means."""
    found: dict[str, list[Spelling]] = {}
    for group in ("engines", "gpus", "hosts"):
        for key, one in _data()[group].items():
            for name, said in one["metrics"].items():
                _add(found, key, name, said if isinstance(said, dict) else {"names": said})
    return {name: tuple(places) for name, places in found.items()}


def _add(found: dict[str, list[Spelling]], engine: str, name: str, said: dict[str, Any]) -> None:
    kind = ours()[name].kind
    where = {
        label: tuple(value) if isinstance(value, list) else (value,)
        for label, value in said.get("where", {}).items()
    }
    for rank, spelt in enumerate(said["names"]):
        base = plain(spelt)
        names = {base: ""}
        if kind == "histogram":
            names = {f"{base}_{part}": part for part in PARTS}
        elif kind == "counter":
            names[f"{base.removesuffix('_total')}_total"] = ""
            names[base.removesuffix("_total")] = ""
        for sample, part in names.items():
            found.setdefault(sample, []).append(
                Spelling(
                    engine,
                    name,
                    part,
                    rank,
                    where,
                    said.get("by", ""),
                    said.get("label", ""),
                    said.get("scale", 1.0),
                )
            )


def known(name: str) -> Ours:
    """The name of ours that is asked for, kinds and accelerators aside (``gpu.0.power_w``, ``ttft_s.sum``).

    Raises:
        InvalidInput: CB-E280, there is none; the nearest is told.
    """
    every = ours()
    for part in (name, *name.split(".")):
        if part in every:
            return every[part]
    near = nearest(name) or ", ".join(sorted(every)[:6])
    raise InvalidInput([problem("CB-E280", name=printable(name)[:80], near=near)])


def nearest(name: str) -> str:
    """Our name most like this one, or like what some engine calls it; "" = none is near."""
    words = {sample.partition("_")[2]: places[0].ours for sample, places in spellings().items()}
    words |= {sample: places[0].ours for sample, places in spellings().items()}
    words |= {one: one for one in ours()}
    found = closest(plain(name[:80]), words)
    return words[found] if found else ""
