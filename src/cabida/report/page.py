"""The record as one HTML file: no request leaves it, it prints, it fits a phone, it needs no script."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from cabida import text
from cabida.plan import Decision
from cabida.report import tree
from cabida.report import words as say
from cabida.report.charts import charts
from cabida.report.markdown import MOST_OPTIONS, dated, footer, measurement, safe_url
from cabida.report.why import chance, first, fits, replicas, why
from cabida.text import tr

if TYPE_CHECKING:
    from jinja2 import Template


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("cabida.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "tr": tr,
        "say": say,
        "number": text.number,
        "duration": text.duration,
        "fits": fits,
        "replicas": replicas,
        "chance": chance,
        "split": split,
        "measurement": measurement,
        "safe_url": safe_url,
    }
    return environment.get_template("page.html.j2")


MOST_COLUMNS = 8  # options whose every figure is shown


def page(decision: Decision) -> str:
    """The whole record as HTML text in the decision's language."""
    drawn = {chart.key: chart for chart in charts(decision)}
    with say.speaking(decision.language):
        return _template().render(
            decision=decision,
            options=decision.options[:MOST_OPTIONS],
            columns=decision.options[:MOST_COLUMNS],
            best=first(decision),
            why=why(decision),
            tiles=tiles(decision),
            charts=drawn,
            sources=dated(decision),
            metrics=all_metrics(decision),
            trees=tree.trees(decision),
            grades=tree.grades(decision),
            footer=footer(decision),
        )


def tiles(decision: Decision) -> list[tuple[str, str, str]]:
    """The figures under the answer: label, figure, its interval or what it is per."""
    option = first(decision)
    if option is None:
        return []
    month = say.price(option.cost_per_month_money, decision.currency)
    amount, interval = split(say.unit_cost(option, decision))
    shown = [
        (tr("report.cost_head"), month, f"/ {say.period(decision)}"),
        (say.per_output(decision), amount, interval),
    ]
    for name in say.headline(option, decision, most=3):
        shown.append((say.label(name), *split(say.figure(name, option.metrics[name], decision.currency))))
    if option.best_probability > 0:
        shown.append((tr("report.best_head"), text.number(option.best_probability, 2), tr("report.best_of")))
    return shown


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
