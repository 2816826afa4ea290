"""What wrote a log, told from its beginning: the fields of its rows, or the shape of its lines."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from typing import Any

import orjson

from cabida.errors import InvalidInput
from cabida.evidence.secrets import redacted
from cabida.evidence.traffic.engines import SIGNS
from cabida.evidence.traffic.gateways import gateway_of, gateways
from cabida.evidence.traffic.weblogs import COMBINED, HAPROXY, ODD_REQUEST
from cabida.text import closest, printable, problem

TEXTS = ("nginx", "haproxy", "vllm", "sglang")
PAGES = ("metrics", "prometheus")
HEAD_BYTES = 1 << 20
HEAD_LINES = 200
ROWS_RATIO = 0.4  # of lines that must be rows
LINE_LOOKED_AT = 8000


def formats() -> tuple[str, ...]:
    """Every format by name."""
    return (*TEXTS, *gateways(), *PAGES)


def sniffed(head: bytes, wanted: str, file: str, *, whole: bool = True) -> tuple[str, str]:
    """How a file is laid out - lines, whole or table - and what wrote it.

    Args:
        head: its beginning.
        wanted: the format that was named; "" = none.
        file: what problems call it.
        whole: that is all of it.

    Raises:
        InvalidInput: CB-I002, it is nothing that is known; CB-I005, there is no such format; CB-I007, it is empty.
    """
    if wanted and wanted not in formats():
        near = closest(wanted, formats()) or ", ".join(formats())
        raise InvalidInput([problem("CB-I005", name=printable(wanted)[:60], near=near)])
    text = head.strip()
    if not text:
        raise InvalidInput([problem("CB-I007", file=file)])
    if wanted in TEXTS:
        return "lines", wanted
    lines = first_lines(head, whole=whole)
    rows = rows_in_lines(lines)
    if rows:
        shape = "lines"
    elif text[:1] in b"{[":
        shape, rows = "whole", _first_rows(text)
    else:
        shape, rows = "table", _table_rows(lines)
    found = wanted or next(filter(None, map(gateway_of, rows)), "")
    if not found:
        shape, found = "lines", _text_format(lines)
    if not found or found in PAGES:
        names = sorted({name for row in rows[:3] for name in row})[:12] if rows else []
        seen = ", ".join(map(str, names)) if names else lines[0].decode("utf-8", "replace")
        raise InvalidInput(
            [
                problem(
                    "CB-I002", file=file, seen=printable(redacted(seen))[:200], formats=", ".join(formats())
                )
            ]
        )
    return shape, found


def first_lines(head: bytes, *, whole: bool) -> list[bytes]:
    """The first lines of a file that hold something, without one that may go on."""
    lines = [line for line in head.strip().split(b"\n")[: HEAD_LINES + 1] if line.strip()]
    return lines[:-1] if len(lines) > 1 and not whole else lines


def rows_in_lines(lines: Sequence[bytes]) -> list[dict[str, Any]]:
    """Rows of JSON lines; none where most lines aren't an object each, or the only one holds a list of rows.

    The first line of a rotated log may be the end of another.
    """
    found = []
    for line in lines:
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(row, dict) and (len(lines) > 1 or gateway_of(row) or listed(row) is None):
            found.append(row)
    return found if len(found) > ROWS_RATIO * len(lines) else []


def _first_rows(text: bytes) -> list[dict[str, Any]]:
    """The first objects of a JSON document of which perhaps only the beginning is there."""
    decoded = text.decode("utf-8", "replace")
    try:
        found = listed(orjson.loads(text))
        return [one for one in found or [orjson.loads(text)] if isinstance(one, dict)][:HEAD_LINES]
    except orjson.JSONDecodeError:
        pass
    place = decoded.find("[")
    place = decoded.find("{", max(place, 0))
    try:
        first, _ = json.JSONDecoder().raw_decode(decoded, max(place, 0))
    except (json.JSONDecodeError, RecursionError):
        return []
    return [first] if isinstance(first, dict) else []


def _table_rows(lines: Sequence[bytes]) -> list[dict[str, Any]]:
    try:
        rows = list(csv.DictReader(line.decode("utf-8", "replace") for line in lines[:5]))
    except csv.Error:
        return []
    return [{name: value for name, value in row.items() if name} for row in rows]


def _text_format(lines: Sequence[bytes]) -> str:
    """Of the formats of lines the one that most of them are in."""
    lines = [one[:LINE_LOOKED_AT] for one in lines]
    scores = {
        "nginx": sum(bool(COMBINED.match(one) or ODD_REQUEST.match(one)) for one in lines),
        "haproxy": sum(bool(HAPROXY.search(one)) for one in lines),
        **{
            name: sum(bool(sign.search(one.decode("utf-8", "replace"))) for one in lines)
            for name, sign in SIGNS.items()
        },
    }
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] else ""


def listed(found: Any) -> list[Any] | None:
    """The rows of a JSON document: it is a list, or has one under a name that APIs use."""
    if isinstance(found, list):
        return found
    if isinstance(found, dict):
        named = (found.get(name) for name in ("data", "logs", "result", "items"))
        return next((one for one in named if isinstance(one, list)), None)
    return None
