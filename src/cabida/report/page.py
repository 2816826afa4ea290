"""The record as one HTML file: no request leaves it, it prints, it fits a phone, it is whole without its script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cabida import text
from cabida.plan import Decision, Estimate, Option
from cabida.report import tree
from cabida.report import words as say
from cabida.report.accepted import accepted
from cabida.report.charts import charts
from cabida.report.every_form import (
    MOST_OPTIONS,
    chance,
    dated,
    first,
    fits,
    footer,
    headline,
    measurement,
    replicas,
    safe_url,
)
from cabida.report.live_page import live_page
from cabida.report.money_sections import money_sections
from cabida.report.readers import reader_sections, signing, whose
from cabida.report.template import template
from cabida.report.why import doubt, why
from cabida.text import speaking, tr

if TYPE_CHECKING:
    from jinja2 import Template

MOST_COLUMNS = 8  # options whose every figure is shown
MOST_TURNS = 3  # sentences of what would change the answer on the first screen


def speaking_template(name: str) -> Template:
    """The template ``name`` with every word that the record's templates may call."""
    return template(
        name,
        say=say,
        number=text.number,
        headline=headline,
        fits=fits,
        replicas=replicas,
        chance=chance,
        split=split,
        measurement=measurement,
        accepted=accepted,
        safe_url=safe_url,
        whose=whose,
    )


def page(decision: Decision) -> str:
    """The whole record as HTML text in the decision's language."""
    drawn = {chart.key: chart for chart in charts(decision)}
    with speaking(decision.language):
        shown = decision.options[:MOST_OPTIONS]
        moved = live_page(decision, [tiles(decision, one) for one in shown])
        return speaking_template("page.html.j2").render(
            script=moved.scripts,
            script_sources=moved.sources,
            data=moved.data,
            groups=moved.groups,
            locked=moved.locked,
            of_budget=moved.budget_reasons,
            tried_already=moved.tried_already,
            decision=decision,
            options=shown,
            columns=decision.options[:MOST_COLUMNS],
            best=first(decision),
            why=why(decision),
            tiles=tiles(decision),
            terms=terms(decision),
            sure=how_sure(decision),
            turns=turns(decision),
            charts=drawn,
            money=money_sections(decision),
            readers=reader_sections(decision),
            signed=signing(decision),
            sources=dated(decision),
            metrics=all_metrics(decision),
            trees=tree.trees(decision),
            grades=tree.grades(decision),
            footer=footer(decision),
        )


def tiles(decision: Decision, of: Option | None = None) -> list[tuple[str, str, str]]:
    """The figures under the answer, of the first option or another: label, figure, its interval or what it is per."""
    option = of or first(decision)
    if option is None:
        return []
    month = say.price(option.cost_per_month_money, decision.currency)
    amount, interval = split(say.unit_cost(option, decision))
    shown = [
        (
            say.cost_head(decision),
            month,
            month_interval(option),
        ),
        (say.per_output(decision), amount, interval),
    ]
    for name in say.headline(option, decision, most=3):
        shown.append((say.label(name), *split(say.figure(name, option.metrics[name], decision.currency))))
    if option.best_probability > 0:
        shown.append((tr("report.best_head"), say.probability(option.best_probability), tr("report.best_of")))
    return shown


def terms(decision: Decision) -> str:
    """What the abbreviations of serving stand for, where the options use them."""
    serving = any(name.startswith("ttft_ms") for option in decision.options for name in option.metrics)
    return tr("report.terms") if serving else ""


def month_interval(option: Option) -> str:
    """The 90 % interval of what the option costs: as wide as that of its unit cost."""
    unit = option.unit_cost
    if unit.value <= 0:
        return ""
    value, low, high = (
        option.cost_per_month_money * one / unit.value for one in (unit.value, unit.low, unit.high)
    )
    return split(say.span(Estimate(value, low, high, "formula")))[1]


def how_sure(decision: Decision) -> list[str]:
    """How likely the first option is the best, what being wrong costs, and what the figures rest on."""
    option = first(decision)
    if option is None:
        return []
    said = [" ".join(f"{sentence}." for sentence in doubt(decision))]
    if decision.assumptions:
        told = ", ".join(say.assumption(one.name) for one in decision.assumptions[:MOST_TURNS])
        more = len(decision.assumptions) - MOST_TURNS
        told += f" {tr('report.and_more', count=more)}" if more > 0 else ""
        said.append(tr("report.taken_for_granted", count=len(decision.assumptions), names=told))
    said += [one.sentence for one in decision.warnings if one.severity != "info"][:2]
    return [one for one in said if one]


def turns(decision: Decision) -> list[str]:
    """The first sentences of what would change the answer."""
    told = [one.sentence for one in decision.flips if one.at is not None]
    return (told or [one.sentence for one in decision.flips])[:MOST_TURNS]


def split(told: str) -> tuple[str, str]:
    """``540 ms [400–760]`` as the figure and its interval."""
    figure, bracket, interval = told.partition(" [")
    return figure, f"[{interval}" if bracket else ""


def all_metrics(decision: Decision) -> list[tuple[str, list[str]]]:
    """Every metric of every option: label, then one figure for each option."""
    names = list(dict.fromkeys(name for option in decision.options[:MOST_COLUMNS] for name in option.metrics))
    return [
        (
            say.label(name),
            [
                say.figure(name, one.metrics[name], decision.currency) if name in one.metrics else "–"
                for one in decision.options[:MOST_COLUMNS]
            ],
        )
        for name in names
    ]
