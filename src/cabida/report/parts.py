"""The record in parts, for a page that puts them where it likes: the same words and drawings as the one file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import resources
from typing import Any

from cabida.plan import Decision
from cabida.report.charts import charts
from cabida.report.every_form import dated, first, measurement
from cabida.report.money_sections import money_sections
from cabida.report.page import speaking_template
from cabida.report.readers import reader_sections, signing
from cabida.report.svg import Chart
from cabida.report.trade import frontier
from cabida.report.why import why
from cabida.text import locale, tr

MOST_MEASURED = 2  # measurements told above the sections


@dataclass(frozen=True, slots=True)
class Part:
    """One section: its name, its heading, and what stands below it as markup in which everything is escaped."""

    key: str
    title: str
    markup: str


def parts(decision: Decision, *, link: str = "") -> dict[str, Part]:
    """Every section that has something to say but the options, by name, in the record's order, in the language in use.

    Sentences that the decision itself keeps stay in its own language. ``frontier`` is the picture of cost against time
    alone; with ``link`` its points lead to ``link`` and their rank.
    """
    spoken = replace(decision, language=locale())
    drawn = {one.key: one for one in charts(spoken)}
    pareto = frontier(spoken, link)
    drawn.pop("frontier", None)
    readers, money, signed = reader_sections(spoken), money_sections(spoken), signing(spoken)
    best = first(spoken)
    said: Any = _said(
        decision=spoken,
        charts=drawn,
        groups=(),
        why=why(spoken),
        best=best,
        sources=dated(spoken),
        signed=signed,
    )
    made: dict[str, Callable[[], str] | None] = {
        **{one.key: partial(said.reader, one) for one in readers},
        "why": said.reasons if spoken.options else None,
        "rejected": said.rejected_of if spoken.rejections else None,
        "flips": said.turns_of if spoken.flips else None,
        **{one.key: partial(said.of_money, one) for one in money},
        "measure": said.measure_of if spoken.measurements or spoken.measurements_note else None,
        "careful": said.careful_of if spoken.warnings else None,
        "assumptions": said.assumptions_of if spoken.assumptions else None,
        "signing": said.signing_lines if signed else None,
        "command": said.command_of if best and best.command else None,
        "sources": said.sources_of if dated(spoken) else None,
    }
    found = {
        key: Part(key, tr(f"report.section.{key}"), str(make()))
        for key, make in made.items()
        if make is not None
    }
    if pareto is not None:
        found["frontier"] = Part("frontier", pareto.title, picture(pareto))
    return found


def picture(chart: Chart) -> str:
    """A drawing with its caption and the table that says the same, as markup."""
    return str(_said(charts={chart.key: chart}, groups=()).figure(chart.key))


def _said(**values: Any) -> Any:
    """The macros of the record's sections, to be called with these values in their place."""
    return speaking_template("sections.html.j2").make_module(values)


@cache
def style() -> str:
    """The record's rules for its drawings, tables and trees, for what stands in an element of class ``record``.

    The colours they name (``--ink`` ...) are the page's own.
    """
    css = (resources.files("cabida.report") / "templates" / "style.css").read_text(encoding="utf-8")
    phone = css[css.index(".card{padding:16px") : css.index("@media print")].rstrip().removesuffix("}")
    drawn = css[css.index(".wide{") : css.index("footer{padding-top")]
    return f".record{{\n{drawn}.live{{display:none}}\n}}\n@media screen and (max-width:760px){{.record{{{phone}}}}}\n"


def in_short(decision: Decision) -> Mapping[str, Any]:
    """What stands above the sections: the figures under the answer, how sure, what changes it, what to measure."""
    from cabida.report.page import how_sure, terms, tiles, turns

    return {
        "tiles": tiles(decision),
        "sure": how_sure(decision),
        "turns": turns(decision),
        "measure": [measurement(one, decision) for one in decision.measurements[:MOST_MEASURED]]
        or [one for one in (decision.measurements_note,) if one],
        "terms": terms(decision),
        "best": first(decision),
    }
