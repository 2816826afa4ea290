"""What an engine runs on what, and since which release; where a part of a stack runs: rows of the software facts."""

from __future__ import annotations

from typing import Any

from cabida import facts
from cabida.checks.software import Stack, judge
from cabida.checks.stack_parts import TITLES, cited
from cabida.facts.model import Accelerator, Engine
from cabida.facts.releases import part_rows, releases
from cabida.facts.stacks import Part, Release
from cabida.text import has_text, tr

SHOWN_FORMATS = (
    *("bf16", "fp8", "fp8-block", "int8-w8a8", "awq-int4", "gptq-int4", "w4a8", "nvfp4", "mxfp4"),
    *("q4_k_m", "bnb-nf4"),
)


def software_matrix(ref: str, as_of: str | None = None) -> dict[str, Any]:
    """Of an engine: ``matrix`` (a row for each architecture, a cell for each format) and ``releases`` by date.

    Of a part of a stack (``flash-attention-3``): ``places``, its rows in the order they are tried. {} of anything else.
    A cell is native, weight-only, steps (runs, with something to do or to know) or no.
    """
    engine = facts.engines().get(ref)
    if engine is not None:
        return {"matrix": _rows(engine), "releases": [_release(one) for one in releases(ref, as_of or "")]}
    held = part_rows(ref)
    return {"places": [_place(row) for row in held]} if held else {}


def part_fact(ref: str) -> tuple[dict[str, Any], dict[str, str]] | None:
    """A part of a stack as a fact: its name and kind; ``None`` of anything else."""
    held = part_rows(ref)
    if not held:
        return None
    fields = {"id": ref, "name": TITLES.get(ref, ref), "kind": held[0].kind}
    return fields, {"": cited(held[0].source)}


def _rows(engine: Engine) -> list[dict[str, str]]:
    on = list(dict.fromkeys(place for held in engine.formats.values() for place in held))
    rows = []
    for architecture in on:
        card = _representative(architecture)
        if card is not None:
            cells = {id: _cell(engine, card, id) for id in SHOWN_FORMATS}
            rows.append({"architecture": card.architecture, "capability": card.capability, **cells})
    return rows


def _representative(architecture: str) -> Accelerator | None:
    """A card of an architecture to ask with, the data centre's first."""
    cards = [one for one in facts.accelerators().values() if one.architecture.lower() == architecture]
    return min(cards, key=lambda one: one.segment != "datacenter", default=None)


def _cell(engine: Engine, card: Accelerator, weights: str) -> str:
    held, cache = facts.weight_format(weights), facts.weight_format("bf16")
    verdict = judge(Stack(engine, engine.versions[-1], card, held, cache))
    if verdict.rule.startswith("weight_only"):
        return "weight-only"
    return {"runs": "native"}.get(verdict.state, verdict.state)


def _release(one: Release) -> dict[str, Any]:
    return {
        "version": one.version,
        "known_by": one.known_by,
        "python": one.python,
        "pytorch": one.torch,
        "cuda": ", ".join(one.cuda),
        "rocm": one.rocm,
        "processors": ", ".join(one.processors),
        "source": cited(one.source),
    }


def _place(row: Part) -> dict[str, Any]:
    key = f"checks.part.{row.says}"
    values = {"part": TITLES.get(row.name, row.name), "at": "", "near": row.near}
    return {
        "state": row.state,
        "places": ", ".join(row.places),
        "systems": ", ".join((*row.systems, *row.processors)),
        "needs": ", ".join(f"{name} {version}" for name, version in row.needs.items()),
        "near": row.near,
        "told": tr(key, **values) if row.says and has_text(key) else "",
        "source": cited(row.source),
    }
