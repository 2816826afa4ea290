"""The screens of the price book: prices in force, how one moved, what is set aside, rates of exchange."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from cabida import text
from cabida.faces.answers import held
from cabida.faces.grid import Fitting, clean, table
from cabida.faces.picture import is_plain
from cabida.report import words as say
from cabida.text import has_text, tr

REASONS = ("nothing", "too_low", "too_high", "below_market", "doubted", "apart", "expired", "unknown_part")
MOST_NAMES = 20
OF_SPOT = ("spot", "interruptions")  # what the word spot says already
MOST_ROWS = 200  # on a screen, unless all are asked for
MOST_DAYS = 40  # more are told month by month
RULER = 32  # letters of the picture of a day
MARKS = (
    ("─", "━", "●"),
    ("-", "=", "o"),
)  # lowest to highest, middle half, middle; and where there is only ASCII


def listed(rows: Sequence[dict[str, Any]], *, whole: bool) -> RenderableType:
    """Prices, each with what to mind; long lists are cut."""
    shown = rows if whole else rows[:MOST_ROWS]
    rates = {(one["sighted_currency"], one["currency"]): one for one in shown if "rate" in one}
    below = [
        *_cut(rows, shown),
        *([Text(), clean(tr("faces.book.show", short=shown[0]["short"]), "dim")] if shown else []),
        *_rates({"of": of, "to": to, **_rate_of(one)} for (of, to), one in rates.items()),
    ]
    if shown and shown[0]["unit"] == "mtok":
        return Group(_served(shown), *below)
    names = ("gpu", "book.short", "provider", "capacity", "region", "price", "seen", "book.mind", "source")
    header = [tr(f"faces.{name}") for name in names]
    cells = [
        (
            one["gpu"],
            one["short"],
            one["provider"],
            _held(one),
            one["region"],
            price(one),
            one["seen"] or tr("report.undated"),
            _minded(one),
            one["source"],
        )
        for one in shown
    ]
    first = 1 if len({one["gpu"] for one in shown}) == 1 else 0  # a lone accelerator is told above
    wide, narrow = (
        table(
            header[first:last],
            [row[first:last] for row in cells],
            right=(5 - first,),
            whole=(0, 1 - first, 5 - first, 6 - first),
        )
        for last in (len(header), len(header) - 1)
    )
    above = [clean(shown[0]["gpu"], "bold")] if first else []
    return Group(*above, Fitting(wide, narrow, least=130), *below)


def _cut(rows: Sequence[dict[str, Any]], shown: Sequence[dict[str, Any]]) -> list[RenderableType]:
    left = len(rows) - len(shown)
    return [Text(), clean(tr("faces.book.more", count=text.number(left, 6)))] if left else []


def _served(rows: Sequence[dict[str, Any]]) -> RenderableType:
    """Prices of models behind APIs, per million tokens."""
    names = ("book.short", "model", "provider", "book.read", "book.written", "seen")
    header = [tr(f"faces.{name}") for name in names]
    cells = [
        (
            one["short"],
            one["gpu"],
            one["provider"],
            f"{say.decimal(one['input_amount'], 3)} {one['currency']}",
            # what embeds or ranks writes nothing: it is not that it writes for nothing
            f"{say.decimal(one['amount'], 3)} {one['currency']}"
            if one["amount"] or not one["input_amount"]
            else "–",
            one["seen"] or tr("report.undated"),
        )
        for one in rows
    ]
    return table(header, cells, right=(3, 4), whole=(0, 3, 4, 5))


def price(one: dict[str, Any]) -> str:
    """``3.90 USD/GPU-h``."""
    digits = 4 if abs(one["amount"]) < 0.1 else 2
    return f"{say.decimal(one['amount'], digits)} {one['currency']}/{tr('faces.unit.' + one['unit'])}"


def _held(one: dict[str, Any]) -> str:
    months = one.get("term_months")
    return (
        f"{held(one['capacity'])} {tr('faces.book.months', count=months)}"
        if months
        else held(one["capacity"])
    )


def _minded(one: dict[str, Any]) -> str:
    said = [tr(f"faces.flag.{flag}") for flag in one.get("flags", ()) if flag not in OF_SPOT]
    if one.get("sold_together", 1) > 1:
        said.append(tr("faces.book.together", count=one["sold_together"]))
    if one.get("fraction", 1.0) < 1:
        said.append(tr("faces.book.fraction", share=text.percent(one["fraction"])))
    if one.get("until"):
        said.append(tr("faces.book.until", until=one["until"]))
    return ", ".join(said)


def _rate_of(one: dict[str, Any]) -> dict[str, Any]:
    return {"rate": one["rate"], "seen": one["rate_seen"], "source": one["rate_source"]}


def _rates(rates: Iterable[dict[str, Any]]) -> list[RenderableType]:
    """The rates that prices were converted at, a line each."""
    told = [
        clean(
            tr(
                "money.rate",
                of=one["of"],
                to=one["to"],
                rate=text.number(one["rate"], 5),
                seen=one["seen"],
                what=one["source"],
            ),
            "dim",
        )
        for one in rates
    ]
    return [Text(), *told] if told else []


class Moved:
    """Day by day what sellers ask: the span of all, of the middle half, and the middle, drawn to one scale."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.answer = answer
        self.low = min(one["low"] for one in answer["days"])
        self.high = max(one["high"] for one in answer["days"])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table with its pictures."""
        plain, answer = is_plain(options), self.answer
        names = ("seen", "book.sellers", "book.median", "book.quartiles", "book.span")
        header = [tr(f"faces.{name}") for name in names]
        rows = [
            (
                one["seen"],
                text.number(one["sellers"], 6),
                say.decimal(one["median"], 2),
                "–" if one["p25"] is None else f"{say.decimal(one['p25'], 2)}–{say.decimal(one['p75'], 2)}",
                self.drawn(one, plain=plain),
            )
            for one in by_month(answer["days"])
        ]
        yield table(header, rows, right=(1, 2), whole=(0, 3, 4))
        ends = f"{say.decimal(self.low, 2)} … {say.decimal(self.high, 2)} {answer['currency']}"
        yield clean(tr("faces.book.scale", ends=ends, unit=tr("faces.unit." + answer["unit"])), "dim")

    def drawn(self, one: dict[str, Any], *, plain: bool = False) -> str:
        """One day on the ruler."""
        line, half, middle = MARKS[plain]
        low, high = self.place(one["low"]), self.place(one["high"])
        quarter, most = self.place(one["p25"] or one["median"]), self.place(one["p75"] or one["median"])
        drawn = [half if quarter <= at <= most else line if low <= at <= high else " " for at in range(RULER)]
        drawn[self.place(one["median"])] = middle
        return "".join(drawn)

    def place(self, value: float) -> int:
        """Where a price stands on the ruler, from 0."""
        width = self.high - self.low
        return round((value - self.low) / width * (RULER - 1)) if width > 0 else RULER // 2


def by_month(days: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The days as they are; of a long series the last of each month."""
    if len(days) <= MOST_DAYS:
        return list(days)
    return list({one["seen"][:7]: one for one in days}.values())


def moved(answer: dict[str, Any]) -> RenderableType:
    """How a price moved, and by how much from the first day to the last."""
    title = tr("faces.book.history", name=answer["name"], capacity=held(answer["capacity"]))
    blocks: list[RenderableType] = [clean(title, "bold"), Moved(answer)]
    again = answer["again"]
    if again["prices"]:
        change = again["median_change_ratio"]
        told = ("+" if change > 0 else "−" if change < 0 else "") + text.percent(abs(change))
        values = {name: text.number(again[name], 6) for name in ("prices", "rose", "fell")}
        blocks.append(clean(tr("faces.book.again", change=told, **values)))
    return Group(*blocks, *_rates(answer["rates"]))


def set_aside(rows: Sequence[dict[str, Any]]) -> RenderableType:
    """Prices that aren't used, reason by reason, with their middle; then rows that couldn't be read."""
    if not rows:
        return clean(tr("faces.book.none_aside"))
    blocks: list[RenderableType] = []
    for reason in REASONS:
        those = [one for one in rows if one["reason"] == reason]
        if those:
            title = tr(
                "faces.book.those", reason=tr(f"money.aside.{reason}"), count=text.number(len(those), 6)
            )
            blocks += [*([Text()] if blocks else []), clean(title, "bold")]
            blocks.append(_weighed(those) if reason != "unknown_part" else _named(those))
    unread = [one for one in rows if one["reason"] == "unread"]
    if unread:
        names = [tr(f"faces.book.{name}") for name in ("file", "line", "reason", "text")]
        told = [
            (one["file"], text.number(one["line"], 9), why(one), one["text"]) for one in unread[:MOST_ROWS]
        ]
        title = tr("faces.book.unread", count=text.number(len(unread), 6))
        blocks += [Text(), clean(title, "bold"), table(names, told, right=(1,))]
    return Group(*blocks)


def _weighed(rows: Sequence[dict[str, Any]]) -> RenderableType:
    header = [tr(f"faces.{name}") for name in ("gpu", "provider", "capacity", "price", "seen", "book.middle")]
    cells = [
        (
            one["gpu"],
            one["provider"],
            _held(one),
            price(one),
            one["seen"] or tr("report.undated"),
            "–" if one["middle"] is None else f"{say.decimal(one['middle'], 2)} {one['price_currency']}",
            "–" if one["ratio"] is None else f"{text.number(one['ratio'])}×",
        )
        for one in rows[:MOST_ROWS]
    ]
    header.append(tr("faces.book.ratio"))
    few = (0, 1, 3, 6)
    return Fitting(
        table(header, cells, right=(3, 5, 6), whole=(0, 3, 4)),
        table(
            [header[at] for at in few], [[row[at] for at in few] for row in cells], right=(2, 3), whole=(2, 3)
        ),
        least=92,
    )


def _named(rows: Sequence[dict[str, Any]]) -> RenderableType:
    """The parts that nobody knows, each once."""
    names = list(dict.fromkeys(one["gpu"] for one in rows))
    more = (
        tr("faces.book.more_parts", count=text.number(len(names) - MOST_NAMES, 6))
        if len(names) > MOST_NAMES
        else ""
    )
    return clean(", ".join(names[:MOST_NAMES]) + more)


def why(one: dict[str, Any]) -> str:
    """Why a row of a file couldn't be read, with the nearest known name where there is one."""
    key = f"evidence.import_why.{one['why']}"
    told = tr(key) if has_text(key) else one["why"]
    return f"{told} {tr('faces.book.near', near=one['near'])}" if one["near"] else told


def exchanged(rows: Sequence[dict[str, Any]]) -> RenderableType:
    """Rates of exchange, each with its day, and who published them."""
    header = [tr(f"faces.book.{name}") for name in ("currency", "rate", "rate_seen")]
    cells = [(one["of"], f"{text.number(one['rate'], 5)} {one['to']}", one["seen"]) for one in rows]
    sources = dict.fromkeys(one["source"] for one in rows)
    return Group(table(header, cells, right=(1,)), Text(), *(clean(one, "dim") for one in sources))
