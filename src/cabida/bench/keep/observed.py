"""A run that was measured as an observation, for the store that calibrations learn from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cabida.bench.keep.figures import FEWEST_REQUESTS, SHORTEST_S, Summary
from cabida.bench.keep.journal import JOURNAL
from cabida.bench.keep.kept import Kept
from cabida.evidence.lines import digest
from cabida.evidence.observation import SETUP, Observation
from cabida.evidence.read import ReadFile
from cabida.evidence.secrets import redacted
from cabida.plan.bench import Contender

FORMAT = "cabida-bench"
SERVING = (
    *(f"{name}_ms_{part}" for name in ("ttft", "tpot", "itl", "e2e") for part in ("mean", "p50", "p90", "p95", "p99")),
    "output_tok_s", "total_tok_s", "req_s",
)  # fmt: skip
MORE = ("mode", "spec_decode", "accept_len", "offload")  # keys of a case that are no setup of an observation
KINDS = {"memory": "memory", "training": "training"}
FAILED_MOST_RATIO = 0.05
WIDEST_RATIO = 1.5  # high over low of a mean that is to teach anything


@dataclass(frozen=True, slots=True)
class Offered:
    """An observation, and why it had better not teach anything ("" = it may): a word of ``keep.refused.*``."""

    observation: Observation | None
    refused: str = ""


def observation(
    one: Summary, contender: Contender, *, source: str = "", date: str = ""
) -> Observation | None:
    """What a run showed, under the names of the cases; ``None`` = nothing. Whether it teaches: :func:`offered`."""
    return offered(one, contender, source=source, date=date).observation


def offered(one: Summary, contender: Contender, *, source: str = "", date: str = "") -> Offered:
    """A run as an observation, and whether calibrations had better not learn from it.

    Args:
        one: its figures.
        contender: what was measured; ``setup`` holds the keys of an observation.
        source: where the figures lie, such as the folder's name.
        date: ISO day on which they were measured.

    Returns:
        The observation with what is known of it. Runs whose client was the bottleneck, that were over-saturated,
        too short, failing or without a stated model are refused, with the reason. Of an address with several replicas
        behind it there is none: ``setup`` is that of one.
    """
    kind = KINDS.get(one.phase, "serving")
    if contender.replicas_count > 1 and kind != "training":
        return Offered(None, "replicas")
    setup = {key: contender.setup[key] for key in SETUP if contender.setup.get(key) not in (None, "")}
    if "gpus" not in setup and isinstance(setup.get("tp"), int):
        setup["gpus"] = setup["tp"]
    load: dict[str, Any] = {}
    measured = {key: value for key, value in one.measured.items() if isinstance(value, int | float | bool)}
    more: dict[str, Any] = {key: contender.setup[key] for key in MORE if key in contender.setup}
    if kind == "serving":
        known = {name: one.metrics[name] for name in SERVING if name in one.metrics}
        measured |= {
            name: round(one.value, 6)
            for name, one in known.items()
            if one.value is not None and one.value > 0
        }
        more["mode"] = more.get("mode", "serve")
        load = _load(one)
    why = refusal(one) or ("" if "model" in setup else "no_model") or ("" if measured else "no_figure")
    if not measured:
        return Offered(None, why)
    made = Observation(
        kind=kind,
        setup=setup,
        measured=measured,
        source=redacted(source or FORMAT),
        load=load,
        more=more,
        date=date,
        note=_note(one),
        quality="A",
    )
    return Offered(made, why)


def refusal(one: Summary) -> str:
    """Why a run teaches nothing: a word of ``keep.refused.*``, "" = it may."""
    if one.phase in KINDS:
        return "" if one.measured else "no_figure"
    if one.points_count:
        return "levels"
    if one.client_bound:
        return "client_bound"
    if one.saturated:
        return "saturated"
    if one.window_s < SHORTEST_S or one.requests_count < FEWEST_REQUESTS or not one.ended:
        return "short"
    if one.phase == "drill":
        return "drill"
    if one.error_ratio.value is None or one.error_ratio.value > FAILED_MOST_RATIO:
        return "failing"
    first = one.metrics.get("e2e_ms_mean")
    if (
        first is None
        or first.low is None
        or first.high is None
        or first.high > WIDEST_RATIO * max(first.low, 1e-9)
    ):
        return "unsure"
    return ""


def _load(one: Summary) -> dict[str, Any]:
    said: Mapping[str, Any] = {
        "concurrency": one.load.get("concurrency") if one.load.get("kind", "closed") == "closed" else None,
        "requests_per_s": None if one.load.get("kind", "closed") == "closed" else one.offered_req_s,
        "input_tokens": one.input_tokens_mean,
        "output_tokens": one.output_tokens_mean,
        "prompts": one.requests_count,
    }
    return {key: round(value, 4) for key, value in said.items() if value is not None}


def _note(one: Summary) -> str:
    parts = [f"run {one.run}", f"window {one.window_s:.1f} s", f"{one.requests_count} requests"]
    if one.client_bound is None:
        parts.append("client not watched")
    return redacted("; ".join(parts))


def observations(kept: Kept, summaries: Iterable[Summary], contenders: Iterable[Contender]) -> list[Offered]:
    """Those of all runs, in their order; a run whose candidate the plan doesn't name gives none."""
    by_name = {one.name: one for one in contenders}
    day = str(kept.openings[0].get("wall", ""))[:10]
    return [
        offered(one, by_name[one.candidate], source=f"{FORMAT}:{kept.folder.name}", date=day)
        for one in summaries
        if one.candidate in by_name
    ]


def read_file_of(kept: Kept, found: Iterable[Offered]) -> ReadFile:
    """The journal as a file that was read, for :func:`cabida.evidence.add`; refused observations are left out.

    Its digest is that of the journal, so that one that went on is read anew.
    """
    from dataclasses import replace

    from cabida import __version__

    path = kept.folder / JOURNAL
    sha256, size = digest(path)
    observed = tuple(
        replace(one.observation, file_sha256=sha256, tool_version=__version__)
        for one in found
        if one.observation is not None and not one.refused
    )
    return ReadFile(
        name=redacted(f"{kept.folder.name}/{JOURNAL}"),
        sha256=sha256,
        size_bytes=size,
        format=FORMAT,
        observations=observed,
        lines_count=kept.rows_count,
        unknown=(),
        unknown_count=kept.broken_count,
        tool_version=__version__,
    )
