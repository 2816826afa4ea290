"""The screen of ``cabida mix``."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from cabida import text
from cabida.faces.grid import clean, table
from cabida.plan.outputs import output_cost, output_scale
from cabida.text import tr

PATHS_SHOWN = 8
NOTHING = 1e-6  # a gap that is none


def screen(answer: dict[str, Any]) -> RenderableType:
    """The sentence, the parts, the hours, the futures, what else could be done, and what is uncertain."""
    mix, currency = answer["mix"], answer["currency"]
    scale = output_scale([mix["unit_money"], *(path["unit_money"] for path in mix["paths"])])
    unit = output_cost(mix["unit_money"], currency, answer["denominator"], scale)
    blocks: list[RenderableType] = [clean(mix["sentence"], "bold"), clean(unit)]
    if mix["risk"]:
        blocks.append(clean(mix["risk"]))
    if mix["flat"]:
        blocks.append(clean(tr("mix.flat")))
    blocks += [Text(), _parts(mix, currency), Text(), _levels(mix), Text(), _paths(mix, currency)]
    if len(mix["scenarios"]) > 1:
        blocks += [Text(), _scenarios(mix, currency)]
    if mix["draws"]:
        blocks += [Text(), clean(_drawn(mix["draws"], currency))]
    gap = mix["gap_ratio"]
    proved = tr("mix.gap", gap=text.percent(gap)) if gap > NOTHING else tr("mix.gap_none")
    blocks += [Text(), clean(proved)]
    return Group(*blocks)


def _head(*names: str) -> list[str]:
    return [tr(f"mix.head.{name}") for name in names]


def _parts(mix: dict[str, Any], currency: str) -> RenderableType:
    rows = [
        (
            str(at),
            part["title"],
            "–" if not part["accelerator"] else _range(part),
            text.percent(part["share_ratio"], 3),
            text.money(part["money_per_month"], currency),
        )
        for at, part in enumerate(mix["parts"], 1)
    ]
    rows.append(("", tr("mix.shared"), "", "", text.money(mix["shared_money_per_month"], currency)))
    rows.append(("", tr("mix.total"), "", "", text.money(mix["money_per_month"], currency)))
    return table(
        _head("number", "part", "replicas", "share", "month"), rows, right=(2, 3, 4), whole=(0, 2, 4)
    )


def _range(part: dict[str, Any]) -> str:
    least, most = part["replicas_least_count"], part["replicas_most_count"]
    return text.number(most) if least == most else f"{text.number(least)}–{text.number(most)}"


def _levels(mix: dict[str, Any]) -> RenderableType:
    """The busiest hours first: what is on, and what each part carries; anew from each day on which something ends."""
    days = dict.fromkeys(level.get("begins", "") for level in mix["levels"])
    return Group(*(one for day in days for one in _levels_from(mix, day)))


def _levels_from(mix: dict[str, Any], day: str) -> tuple[RenderableType, ...]:
    numbers = [str(at) for at in range(1, len(mix["parts"]) + 1)]
    rows = [
        (
            text.rate(level["requests_per_s"]),
            text.number(level["hours_per_month"]),
            *([_period(mix, level)] if mix["periods"] else []),
            *(_carried(part, level, at) for at, part in enumerate(mix["parts"])),
        )
        for level in reversed(mix["levels"])
        if level.get("begins", "") == day
    ]
    header = [*_head("demand", "hours", *(["period"] if mix["periods"] else [])), *numbers]
    said = tr("mix.levels")
    title = clean(tr("mix.part.later", part=said, day=day) if day else said, "bold")
    shown = title, table(header, rows, right=tuple(range(len(header))))
    return (Text(), *shown) if day else shown


def _period(mix: dict[str, Any], level: dict[str, Any]) -> str:
    return mix["periods"][level["period"]] or tr("mix.other_hours")


def _carried(part: dict[str, Any], level: dict[str, Any], at: int) -> str:
    served = text.number(level["served_per_s"][at])
    return f"{level['replicas_count'][at]} × · {served}" if part["accelerator"] else served


def _paths(mix: dict[str, Any], currency: str) -> RenderableType:
    rows = [
        (
            path["title"],
            text.money(path["money_per_month"], currency),
            f"+{text.percent(path['over_ratio'])}" if path["over_ratio"] > 5e-5 else "=",
        )
        for path in mix["paths"][:PATHS_SHOWN]
    ]
    more = len(mix["paths"]) - PATHS_SHOWN
    paths = table(_head("path", "month", "over"), rows, right=(1, 2), whole=(1, 2))
    blocks: list[RenderableType] = [clean(tr("mix.others"), "bold"), paths]
    if more > 0:
        blocks.append(Padding(clean(tr("mix.more_paths", count=more)), (0, 0, 0, 2), expand=False))
    return Group(*blocks)


def _scenarios(mix: dict[str, Any], currency: str) -> RenderableType:
    rows = [
        (
            _signed(one["growth_per_year_ratio"]),
            _signed(one["price_per_year_ratio"]),
            text.percent(one["weight_ratio"]),
            text.money(one["money_per_month"], currency),
        )
        for one in mix["scenarios"]
    ]
    futures = table(_head("growth", "prices", "weight", "month"), rows, right=(0, 1, 2, 3))
    return Group(clean(tr("mix.futures"), "bold"), futures)


def _signed(ratio: float) -> str:
    return f"{'+' if ratio > 0 else ''}{text.percent(ratio)}"


def _drawn(draws: dict[str, Any], currency: str) -> str:
    told = tr(
        "mix.draws",
        count=text.number(draws["count"], 7),
        seed=draws["seed"],
        low=text.money(draws["low_money_per_month"], currency),
        high=text.money(draws["high_money_per_month"], currency),
        cheaper=text.percent(draws["cheaper_ratio"]),
        over=text.percent(draws["over_hindsight_ratio"]),
    )
    unserved = draws["unserved_count"]
    return f"{told} {tr('mix.unserved', count=text.number(unserved, 7))}" if unserved else told
