"""The screen of ``track``: a sentence, the steps from the plan to the bill, what else the bill says, months before."""

from __future__ import annotations

from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.text import Text

from cabida import text
from cabida.faces.grid import clean, table
from cabida.faces.picture import is_plain
from cabida.plan.outputs import output_scale
from cabida.report import words as say
from cabida.text import tr

BAR = 40


class Waterfall:
    """From the plan to the bill: one bar a cause, green where it costs less and red where it costs more."""

    def __init__(self, steps: list[dict[str, Any]], currency: str) -> None:
        self.steps, self.currency = steps, currency

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """One row a step."""
        names = [tr(f"track.cause.{one['name']}") for one in self.steps]
        amounts = [self._amount(one) for one in self.steps]
        wide, room = max(map(len, names)), max(map(len, amounts))
        width = max(8, min(BAR, options.max_width - wide - room - 4))
        edges = [edge for one in self.steps for edge in (one["from"], one["to"])]
        low, high = min(0.0, *edges), max(0.0, *edges)
        scale = (width - 1) / (high - low) if high > low else 0.0
        mark = "#" if is_plain(options) else "█"
        for name, amount, one in zip(names, amounts, self.steps, strict=True):
            first, last = sorted(round((one[end] - low) * scale) for end in ("from", "to"))
            row = Text(f"{name:<{wide}}  {amount:>{room}}  ", no_wrap=True, overflow="crop")
            row.append(" " * first)
            ends = one["name"] in ("planned", "billed")
            style = "blue" if ends else "red" if one["money"] > 0 else "green"
            row.append(mark * max(1, last - first), style)
            yield row

    def _amount(self, one: dict[str, Any]) -> str:
        sign = "" if one["name"] in ("planned", "billed") else "+" if one["money"] > 0 else "−"
        return f"{sign}{_cents(abs(one['money']), self.currency)}"

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Any width will do."""
        return Measurement(40, options.max_width)


def screen(answer: dict[str, Any]) -> RenderableType:
    """What a person reads."""
    blocks: list[RenderableType] = [clean(f"{answer['decision']} · {answer['title']}", "bold")]
    for one in answer["months"]:
        blocks += [Text(), clean(one["sentence"]), Text(), Padding(_fall(one, answer), (0, 0, 0, 2)), Text()]
        blocks.append(_figures(one, answer["currency"]))
    if answer["notes"]:
        blocks += [Text(), *(clean(note, "dim") for note in answer["notes"])]
    for rate in answer["rates"]:
        values = {"of": rate["of"], "to": rate["to"], "seen": rate["seen"], "what": rate["what"]}
        said = tr("money.rate", rate=text.number(rate["ratio"], 5), **values)
        blocks.append(clean(said, "dim"))
    if answer["journal"]:
        blocks += [Text(), _journal(answer)]
    elif not answer["months"]:
        blocks += [Text(), clean(tr("track.no_journal"))]
    return Group(*blocks)


def _fall(one: dict[str, Any], answer: dict[str, Any]) -> Waterfall:
    ends = ("planned", "billed")
    steps = [step for step in one["waterfall"] if step["name"] in ends or abs(step["money"]) >= 0.005]
    return Waterfall(steps, answer["currency"])


def _cents(amount: float, currency: str) -> str:
    """To the cent, as a bill is."""
    return f"{say.decimal(amount, 2)} {currency}"


def _figures(one: dict[str, Any], currency: str) -> RenderableType:
    """Planned and billed side by side; what the bill does not say is left open."""

    def amount(value: float | None) -> str:
        return "–" if value is None else _cents(value, currency)

    def count(value: float | None, digits: int) -> str:
        return "–" if value is None else text.number(value, digits) if digits else say.decimal(value, 0)

    def each(value: float | None) -> str:
        return "–" if value is None else text.money(value * scale, currency, 3)

    def hourly(value: float | None) -> str:
        return "–" if value is None else text.money(value, currency, 3)

    units = one["planned_unit_money"], one["billed_unit_money"]
    scale = output_scale(value for value in units if value is not None)
    many = {1e3: tr("report.thousand"), 1e6: tr("report.million")}.get(scale)
    unit = tr("track.row.unit_many", many=many) if many else tr("track.row.unit")

    rows = [
        (tr("track.row.amortised"), amount(one["planned_money"]), amount(one["amortised_money"])),
        (tr("track.row.cash"), amount(one["planned_cash_money"]), amount(one["cash_money"])),
        (tr("track.row.accepted"), count(one["planned_accepted"], 0), count(one["accepted"], 0)),
        (unit, *map(each, units)),
        (
            tr("track.row.hours"),
            count(one["planned_accelerator_hours"], 4),
            count(one["accelerator_hours"], 4),
        ),
        (tr("track.row.price"), *(hourly(one[f"{whose}money_per_hour"]) for whose in ("planned_", ""))),
    ]
    unused, spot = one["unused_money"], one["spot_ratio"]
    rows += [(tr("track.row.unused"), "–", amount(unused))] if unused else []
    rows += [(tr("track.row.spot"), "–", text.percent(spot))] if spot else []
    shown = [row for row in rows if row[1:] != ("–", "–")]
    return table([one["month"], tr("track.planned"), tr("track.billed")], shown, right=(1, 2))


def _journal(answer: dict[str, Any]) -> RenderableType:
    rows = [
        (
            one["month"],
            *(
                _cents(one[f"{name}_money"], answer["currency"])
                for name in ("planned", "amortised", "difference")
            ),
            one["at"][:10],
        )
        for one in answer["journal"]
    ]
    names = ("month", "planned", "billed", "difference", "told")
    return table([tr(f"track.column.{name}") for name in names], rows, right=(1, 2, 3))
