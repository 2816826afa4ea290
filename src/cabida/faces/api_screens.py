"""The screen of ``prices api``: providers by real cost, what the cheapest's bill is made of, and what to mind."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from cabida import text
from cabida.faces.grid import Fitting, clean, table
from cabida.report.words import decimal
from cabida.text import number, percent, tr

TOLD, SHOWN = 3, 20  # providers whose cautions are told, and that are listed; --json has all
WIDE, MIDDLE = 128, 88  # columns of a terminal that the tables need


def screen(answer: dict[str, Any]) -> RenderableType:
    """What was asked, one line a provider, then the parts of the cheapest bill and the cautions."""
    rows, currency = answer["rows"], answer["currency"]
    blocks: list[RenderableType] = []
    if rows:
        blocks += [clean(_asked(answer), "bold"), Text(), _providers(rows, currency, own=_own(answer))]
        blocks += [Text(), clean(_made_of(rows[0], currency))]
        blocks += _turns(answer)
        blocks += _cautions(rows)
    if answer["other_units"]:
        blocks += [*([Text()] if rows else []), clean(tr("api.other_units"), "bold"), _others(answer)]
    return Group(
        *blocks, Text(), clean(tr("api.source", source=answer["source"], as_of=answer["as_of"]), "dim")
    )


def _own(answer: dict[str, Any]) -> bool:
    return answer["own_money_per_month"] is not None


def _asked(answer: dict[str, Any]) -> str:
    values = {
        "model": answer["model"],
        "requests": number(answer["requests_per_month"]),
        "input": number(answer["input_tokens"], 6),
        "output": number(answer["output_tokens"], 6),
    }
    prefix = answer["shared_prefix_tokens"]
    more = tr("api.with_prefix", prefix=number(prefix, 6)) if prefix else ""
    return tr("api.asked", **values, prefix=more) + (tr("api.may_wait") if answer["batch"] else "")


def _providers(rows: list[dict[str, Any]], currency: str, *, own: bool) -> RenderableType:
    names = ["provider", "model", "month", "thousand", "input", "cached", "output", "seen"]
    names += ["break_even"] if own else []
    header = [tr(f"api.column.{name}", currency=currency) for name in names]
    cells = [_cells(row, own=own) for row in rows[:SHOWN]]
    right = (2, 3, 4, 5, 6, 8)
    wide = table(header, cells, right=right, whole=(0, 2, 3, 4, 5, 6, 7, 8))
    kept = [0, 2, 3, 4, 5, 6, 8 if own else 7]
    middle = table(
        [header[at] for at in kept], [[row[at] for at in kept] for row in cells], right=(1, 2, 3, 4, 5, 6)
    )
    few = [0, 2, 3, *([8] if own else [])]
    narrow = table([header[at] for at in few], [[row[at] for at in few] for row in cells], right=(1, 2, 3))
    shown = Fitting(wide, Fitting(middle, narrow, MIDDLE), WIDE)
    more = len(rows) - SHOWN
    return Group(shown, clean(tr("api.more", count=more))) if more > 0 else shown


def _cells(row: dict[str, Any], *, own: bool) -> list[str]:
    prices = row["prices"]
    marks = (
        (tr("api.mark.batch"), row["batch"]),
        ("≠", bool(row["disagrees"])),
        (tr("api.mark.ends"), bool(row["until"])),
    )
    marked = " ".join(word for word, true in marks if true)
    cells = [
        f"{row['provider']} {marked}".strip(),
        row["model"].rpartition("/")[2],
        decimal(row["cost_per_month_money"].value, 2),
        number(row["accepted_answer_money"].value * 1000),
        number(prices["input"]),
        f"{number(prices['cache_read'])} · {percent(row['cached_ratio'])}" if row["cached_ratio"] else "–",
        number(prices["output"]),
        row["seen"],
    ]
    return [*cells, _volume(row["break_even_requests_per_month"])] if own else cells


def _volume(requests: float) -> str:
    return "0" if requests <= 0 else number(requests)


def _made_of(row: dict[str, Any], currency: str) -> str:
    told = [
        f"{tr(f'api.part.{name}')} {text.money(value, currency)}"
        for name, value in row["parts"].items()
        if abs(value) >= 0.005
    ]
    return tr("api.made_of", provider=row["provider"], parts=" + ".join(told))


def _turns(answer: dict[str, Any]) -> list[RenderableType]:
    """From which volume one's own service is cheaper than the cheapest provider."""
    if not _own(answer):
        return []
    first, own = answer["rows"][0], text.money(answer["own_money_per_month"], answer["currency"])
    at = first["break_even_requests_per_month"]
    key = "api.turn.never_dearer" if at <= 0 else "api.turn.above"
    said = tr(
        key, own=own, provider=first["provider"], volume=number(at), now=number(answer["requests_per_month"])
    )
    return [clean(said)]


def _cautions(rows: list[dict[str, Any]]) -> list[RenderableType]:
    told = dict.fromkeys(
        f"{one['sentence']} [{one['code']}]" for row in rows[:TOLD] for one in row["cautions"]
        if one["severity"] != "info" or row is rows[0]
    )  # fmt: skip
    lines = [Padding(clean(f"· {one}"), (0, 0, 0, 1), expand=False) for one in told]
    return [Text(), *lines] if lines else []


def _others(answer: dict[str, Any]) -> RenderableType:
    header = [tr(f"api.column.{name}", currency="USD") for name in ("provider", "model", "price")]
    rows = [
        (
            one["provider"],
            one["model"],
            f"{number(one['amount'])} USD/{tr('api.unit.' + one['unit'])}"
            + (f" ({tr('api.mark.batch')})" if one["batch"] else ""),
        )
        for one in answer["other_units"]
    ]
    return table(header, rows, right=(2,))
