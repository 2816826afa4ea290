"""The screen of ``prices import``: a line a file, then what was left aside and why."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from cabida import text
from cabida.faces.grid import clean, table
from cabida.report import words as say
from cabida.text import tr


def imported(answer: dict[str, Any]) -> RenderableType:
    """What became of each file."""
    files = answer["files"]
    blocks: list[RenderableType] = []
    if files:
        names = ("file", "format", "rows", "kept", "new", "unread", "seen")
        header = [tr(f"faces.import_{name}") for name in names]
        rows = [_line(one, answer["kept"]) for one in files]
        blocks.append(table(header, rows, right=(2, 4, 5), whole=(2, 4, 5, 6)))
    for one in files:
        blocks += _told(one)
    if files and not answer["kept"]:
        blocks += [Text(), clean(tr("faces.import_dry"))]
    return Group(*blocks)


def _line(one: dict[str, Any], kept: bool) -> tuple[str, ...]:
    new = _count(one.get("new_count", 0)) if kept else "–"
    days = "–".join(dict.fromkeys(day for day in (one["first_seen"][:7], one["last_seen"]) if day))
    if one["first_seen"] == one["last_seen"]:
        days = one["last_seen"]
    counted = [(name, one[f"{name}_count"]) for name in ("offers", "api_offers", "billing")]
    return (
        one["file"].rsplit("/", 1)[-1],
        tr(f"evidence.import_format.{one['format']}"),
        _count(one["rows_count"]),
        ", ".join(tr(f"faces.import_{name}", count=_count(count)) for name, count in counted if count) or "0",
        new,
        _count(one["unread_count"]),
        days or tr("report.undated"),
    )


def _count(value: int) -> str:
    return text.number(value, 9)


def _told(one: dict[str, Any]) -> list[RenderableType]:
    """What to mind of one file; nothing when there is nothing."""
    lines: list[str] = list(one["notes"])
    if one.get("known_count"):
        lines.append(tr("faces.import_known", count=_count(one["known_count"])))
    for name in ("beside", "repeated"):
        if one[f"{name}_count"]:
            lines.append(tr(f"faces.import_{name}", count=_count(one[f"{name}_count"])))
    if one["billing_count"]:
        lines.append(tr("faces.import_bill"))
    aside = one["aside"]
    if aside["count"] or aside.get("doubted_count"):
        key = "faces.import_aside" if aside["count"] else "faces.import_doubted"
        lines.append(tr(key, count=_count(aside["count"] or aside["doubted_count"])))
        lines += [f"  {_price(each)}" for each in aside["first"]]
    if "problem" in aside:
        lines.append(aside["problem"]["what"])
    for reason in one["unread"]:
        lines.append(tr("faces.import_reason", count=_count(reason["count"]), why=reason["sentence"]))
        lines += [f"  {_row(each)}" for each in reason["first"]]
    if not lines:
        return []
    return [
        Text(),
        clean(one["file"], "bold"),
        *(Padding(clean(line), (0, 0, 0, 2), expand=False) for line in lines),
    ]


def _row(each: dict[str, Any]) -> str:
    near = f" ({tr('faces.import_near', near=each['near'])})" if each["near"] else ""
    shown = each["what"] if len(each["what"]) <= 80 else each["what"][:79] + "…"
    return f"{tr('faces.import_at', line=each['line'])}: {shown}{near}"


def _price(each: dict[str, Any]) -> str:
    ratio = (
        "" if each["ratio"] is None else f" ({tr('faces.import_times', ratio=text.number(each['ratio'], 2))})"
    )
    amount = f"{say.decimal(each['amount'], 4 if abs(each['amount']) < 0.1 else 2)} {each['currency']}"
    return f"{tr('faces.import_at', line=each['line'])}: {each['gpu']} {each['capacity']} {amount}{ratio}"
