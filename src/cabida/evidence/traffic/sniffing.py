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
LINE_LOOKED_AT = 8000


def formats() -> tuple[str, ...]:
    """Every format by name."""
    return (*TEXTS, *gateways(), *PAGES)


def sniffed(head: bytes, wanted: str, file: str) -> tuple[str, str]:
    """How a file is laid out - lines, whole or table - and what wrote it.

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
    whole = len(head) == HEAD_BYTES or text.endswith((b"]", b"}"))
    lines = [line for line in text.split(b"\n")[: HEAD_LINES + 1] if line.strip()]
    if len(lines) > 1 and len(head) == HEAD_BYTES:
        lines = lines[:-1]
    if text[:1] in b"{[":
        rows, shape = _json_rows(lines, text), "lines"
        if rows is None or (text[:1] == b"[" and whole):
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


def _json_rows(lines: Sequence[bytes], text: bytes) -> list[dict[str, Any]] | None:
    """Rows of JSON lines; ``None`` where the first line is none by itself."""
    found: list[dict[str, Any]] = []
    for at, line in enumerate(lines):
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            if at == 0 and (len(lines) == 1 or not found):
                return None
            continue
        if isinstance(row, dict):
            if len(lines) == 1 and listed(row) is not None and not gateway_of(row):
                return None
            found.append(row)
    return found


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
