"""What the page needs to move: the sliders as rows, the data as JSON, the scripts with their digests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cabida import text
from cabida.choose.levers import Lever
from cabida.choose.what_if import ORIGIN
from cabida.plan import Decision
from cabida.report import words as say
from cabida.report.every_form import MOST_OPTIONS, first
from cabida.report.live import Live, json_for_script, live
from cabida.report.live_charts import pictures
from cabida.report.scripts import scripts
from cabida.text import of_language, tr

MEXICO = "es-MX"
WORDS = ("best_head", "lower", "higher", "on_front", "option", "total", "days")  # report.*
# of report.live.*
LIVE_WORDS = (
    "short",
    "short_same",
    "stays",
    "turns",
    "as_decided",
    "bills",
    "swings",
    "latency",
    "over",
    "low_end",
    "high_end",
)
MOST_VALUES = 3  # of an input that options have differently
STATES = {"chosen": "✓", "satisfies": "✓", "misses": "△", "ruled_out": "×"}


@dataclass(frozen=True, slots=True)
class LivePage:
    """What the template puts in: markup of scripts and data, and the levers to show."""

    scripts: str
    sources: str
    data: str
    groups: list[tuple[str, list[Lever]]]  # with the option's title, "" = of all
    locked: list[tuple[str, list[tuple[str, str]]]]
    tried_already: bool  # the decision is itself a what-if
    budget_reasons: tuple[set[str], ...]  # of each option: sentences that hold for its decided bill alone


def live_page(decision: Decision, tiles: Sequence[Sequence[tuple[str, str, str]]]) -> LivePage:
    """Everything of the page that moves; ``tiles`` are the figures under the answer, of each option in turn."""
    found = live(decision)
    places = {one.id: at for at, one in enumerate(decision.options[:MOST_OPTIONS])}
    best = first(decision)
    statuses = {state: tr(f"report.status.{state}") for state in STATES}
    data: dict[str, Any] = {
        "locale": MEXICO if decision.language == MEXICO else of_language("browser", decision.language),
        "currency": decision.currency,
        "unitScale": say.unit_scale(decision),
        "perOutput": say.per_output(decision),
        "moneyPerOutput": f"{decision.currency} {say.per_output(decision)}",
        "moneyPerPeriod": f"{decision.currency}/{say.period(decision)}",
        "statuses": statuses,
        "badges": {state: f"{STATES[state]} {said}" for state, said in statuses.items()},
        "file": file_name(decision),
        "decided": places.get(best.id, 0) if best else 0,
        "words": {key: tr(f"report.{key}") for key in WORDS}
        | {key: tr(f"report.live.{key}") for key in LIVE_WORDS}
        | {"flexibility": tr("report.chart.flexibility")},
        "pictures": pictures(decision, places),
        **found.data,
    }
    for one, row in zip(data["options"], tiles, strict=False):
        one["tiles"] = [list(tile) for tile in row]
    made = scripts(found.functions)
    groups, locked = grouped(found, decision), locked_of(found.locked, decision.currency)
    told = json_for_script(data)
    again = tried_already(decision)
    return LivePage(made.markup, made.sources, told, groups, locked, again, found.budget_reasons)


def file_name(decision: Decision) -> str:
    """What the decision is called as a file: NAME.json."""
    from cabida.report import paths

    return next(one.name for one in paths(decision, "") if one.suffix == ".json")


def tried_already(decision: Decision) -> bool:
    """Whether inputs of the decision were set before: then no command line on its file says the same."""
    sources = (node.get("source") for node in decision.trees)
    return any(isinstance(one, dict) and one.get("what") == ORIGIN for one in sources)


def grouped(found: Live, decision: Decision) -> list[tuple[str, list[Lever]]]:
    """The levers of all options, then those of each option under its title, the first option's first."""
    grouped: dict[str, list[Lever]] = {id: [] for id in ("", *(one.id for one in decision.options))}
    for one in found.free:
        grouped.setdefault(one.option, []).append(one)
    titles = {one.id: f"{one.rank} · {one.title}" for one in decision.options}
    return [(titles.get(id, ""), levers) for id, levers in grouped.items() if levers]


def locked_of(levers: Sequence[Lever], currency: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """What can't be moved here, by the reason why: each input once, with its first values."""
    grouped: dict[str, dict[str, list[str]]] = {}
    for one in levers:
        values = grouped.setdefault(one.why, {}).setdefault(one.title, [])
        if (value := shown_value(one, currency)) not in values:
            values.append(value)
    return [
        (why, [(title, _first_few(values)) for title, values in titles.items()])
        for why, titles in grouped.items()
    ]


def _first_few(values: Sequence[str]) -> str:
    return "; ".join([*values[:MOST_VALUES], *(["…"] if len(values) > MOST_VALUES else [])])


def shown_value(lever: Lever, currency: str) -> str:
    """A lever's value with its unit."""
    return f"{text.number(lever.value, 6)} {say.unit(lever.unit, currency, lever.value)}".strip()
