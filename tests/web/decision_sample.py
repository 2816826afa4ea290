"""Decisions for the tests of their pages: decided now where that is quick, and the hand-made one in odd states."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

from cabida import app
from cabida.report.store import from_json, to_json
from cabida.text import use_language

ROOT = Path(__file__).parents[2]
AS_OF = "2026-11-30"


@cache
def decided(name, language="en"):
    """An example of ``examples`` as the decision it comes to."""
    use_language(language)
    try:
        return app.recommend(ROOT / "examples" / f"{name}.yaml", as_of=AS_OF, assume=True, language=language)
    finally:
        use_language("en")


@cache
def text_of(name, language="en"):
    """The same as JSON text."""
    return to_json(decided(name, language))


def golden(language="en"):
    """The hand-made decision, as JSON text."""
    return (ROOT / f"tests/report/golden/decision.{language}.json").read_text(encoding="utf-8")


def nothing_satisfies():
    """The hand-made decision if no option satisfied it."""
    made = from_json(golden())
    options = tuple(
        replace(
            one,
            status="misses" if one.status in ("chosen", "satisfies") else one.status,
            reasons=("Too slow.",),
        )
        for one in made.options
    )
    return to_json(
        replace(made, verdict="nothing_satisfies", answer="Nothing satisfies it.", options=options)
    )


def many(count):
    """The hand-made decision with so many options, the cost of each its own."""
    made = from_json(golden())
    first = made.options[0]
    options = [
        replace(
            first, rank=rank, id=f"o{rank}", title=f"{rank} replicas of 1×Example", trees={},
            status="chosen" if rank == 1 else "satisfies", cost_per_month_money=100.0 + (rank * 7919) % count,
            provider=f"provider {rank % 7}",
        )
        for rank in range(1, count + 1)
    ]  # fmt: skip
    return to_json(replace(made, options=tuple(options), flips=(), measurements=()))


MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7*7 }}"


def hostile():
    """The hand-made decision with markup in every text, and numbers that are none."""
    plain = json.loads(golden())

    def spoilt(value, name=""):
        if isinstance(value, dict):
            return {key: spoilt(one, key) for key, one in value.items()}
        if isinstance(value, list):
            return [spoilt(one, name) for one in value]
        kept = (
            "schema",
            "status",
            "language",
            "verdict",
            "workload",
            "grade",
            "id",
            "basis",
            "made_at",
            "as_of",
        )
        if isinstance(value, str) and name not in (*kept, "equation", "denominator", "brief_text"):
            return "javascript:alert(3)" if name == "url" else f"{value[:20]}{MARKUP}"
        return value

    made = spoilt(plain)
    made["brief_text"] = MARKUP
    made["options"][1]["unit_cost"] |= {"value": "nan", "low": "nan", "high": "inf"}
    made["options"][2]["cost_per_month_money"] = "inf"
    for figure in made["options"][1]["metrics"].values():
        figure["value"] = "nan"
    return json.dumps(made)
