"""A row of the journal as bytes and back: numbered, with a checksum, short keys for what comes by the thousand."""

from __future__ import annotations

import re
import zlib
from typing import Any

import orjson

from cabida.bench.outcome import Outcome

TIMES = {  # field of an outcome -> key in its row; times are seconds of the journal, to the microsecond
    "intended_s": "due", "sent_s": "sent", "first_byte_s": "byte", "first_token_s": "first", "last_token_s": "last",
    "ended_s": "end",
}  # fmt: skip
COUNTS = {
    "status": "status", "events_count": "events", "input_tokens": "in", "cached_tokens": "cached",
    "output_tokens": "out", "reasoning_tokens": "think", "items_count": "items", "response_bytes": "bytes",
    "retry_after_s": "after", "wanted_input_tokens": "want_in", "wanted_output_tokens": "want_out",
}  # fmt: skip
WORDS = {"why": "why", "finish_reason": "finish", "counted_by": "by", "replica": "replica"}
MOST_CHARS = 300  # of a word that a server chose
LINE_BYTES_MOST = 4 << 20
_HEAD = re.compile(rb'\{"n":(\d{1,15}),"c":(\d{1,10})([,}])')


def request_row(one: Outcome, origin_s: float, sample: str | None = None, *, judging: bool = False) -> bytes:
    """An attempt as a row without number and checksum; what is unknown or usual is left out.

    Args:
        one: the attempt; of its texts only ``sample`` is kept.
        origin_s: what of the clock is 0 in the journal.
        sample: what is kept of the output, ``None`` = nothing.
        judging: a row of :func:`judged_row` is to follow.
    """
    row: dict[str, Any] = {
        "kind": "request",
        "at_s": round(one.ended_s - origin_s, 6),
        "id": one.id,
        "verdict": one.verdict,
        "due": round(one.intended_s - origin_s, 6),
    }
    if one.attempt:
        row["try"] = one.attempt
    if not one.final:
        row["final"] = False
    if one.sent_s is not None:
        row["sent"] = round(one.sent_s - origin_s, 6)
    if one.first_byte_s is not None:
        row["byte"] = round(one.first_byte_s - origin_s, 6)
    if one.first_token_s is not None:
        row["first"] = round(one.first_token_s - origin_s, 6)
    if one.last_token_s is not None:
        row["last"] = round(one.last_token_s - origin_s, 6)
    row["end"] = row["at_s"]
    for name, key in COUNTS.items():
        value = getattr(one, name)
        if value:
            row[key] = value
        elif value == 0 and name.endswith(("tokens", "items_count")):
            row[key] = 0  # counted, and none: not the same as unknown
    for name, key in WORDS.items():
        word = getattr(one, name)
        if word:
            row[key] = word[:MOST_CHARS]
    if one.prefix >= 0:
        row["prefix"] = one.prefix
    row |= _judgement(one)
    if judging:
        row["judging"] = True
    if one.gaps_s:
        row["gaps_us"] = [int(gap * 1e6 + 0.5) for gap in one.gaps_s]
    if sample is not None:
        row["sample"] = sample
    return encoded(row)


def judged_row(one: Outcome, at_s: float, sample: str | None = None) -> bytes:
    """What the rules said of an attempt whose own row left before they did: ``id``, ``try``, and the judgement.

    Args:
        one: the attempt, judged.
        at_s: when, seconds of the journal.
        sample: what is kept of its output, ``None`` = nothing.
    """
    row: dict[str, Any] = {"kind": "judged", "at_s": round(at_s, 6), "id": one.id}
    if one.attempt:
        row["try"] = one.attempt
    row |= _judgement(one)
    if sample is not None:
        row["sample"] = sample
    return encoded(row)


def _judgement(one: Outcome) -> dict[str, Any]:
    """What the rules said, what is unknown left out."""
    said: dict[str, Any] = {}
    if one.accepted is not None:
        said["ok"] = one.accepted
    if one.valid is not None:
        said["valid"] = one.valid
    if one.broken_rules:
        said["broken"] = list(one.broken_rules)
    if one.unjudged_rules:
        said["unjudged"] = list(one.unjudged_rules)
    return said


def encoded(row: dict[str, Any]) -> bytes:
    """A row as JSON; what JSON has no form for is told as text."""
    try:
        return orjson.dumps(row)
    except (TypeError, ValueError):
        return orjson.dumps(_plain(row), option=orjson.OPT_NON_STR_KEYS)


def _plain(value: Any, depth: int = 0) -> Any:
    if isinstance(value, dict) and depth < 8:
        return {_text(str(key)): _plain(one, depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and depth < 8:
        return [_plain(one, depth + 1) for one in value]
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int) and abs(value) < 2**63:
        return value
    return _text(str(value))


def _text(value: str) -> str:
    """Without the halves of characters that no file can hold."""
    return value.encode("utf-8", "replace").decode("utf-8")


def numbered(row: bytes, number: int) -> bytes:
    """The line of a row: its number and checksum come first."""
    return b'{"n":%d,"c":%d,%b\n' % (number, zlib.crc32(row), row[1:])


def read_line(line: bytes) -> tuple[int, dict[str, Any]] | None:
    """Number and row of a line (without or with its end); ``None`` = it isn't whole, or not what was written."""
    line = line.rstrip(b"\n")
    head = _HEAD.match(line)
    if head is None or len(line) > LINE_BYTES_MOST:
        return None
    row = b"{" + line[head.end() :]
    if zlib.crc32(row) != int(head[2]):
        return None
    try:
        found = orjson.loads(row)
    except orjson.JSONDecodeError:
        return None
    return (int(head[1]), found) if isinstance(found, dict) else None


def outcome_of(row: dict[str, Any]) -> Outcome:
    """The attempt that a row tells of, on the journal's clock, without its text.

    Raises:
        KeyError, TypeError, ValueError: it is no row of an attempt.
    """
    fields: dict[str, Any] = {name: row[key] for name, key in (TIMES | COUNTS | WORDS).items() if key in row}
    return Outcome(
        id=str(row["id"]),
        attempt=int(row.get("try", 0)),
        verdict=str(row["verdict"]),
        final=bool(row.get("final", True)),
        prefix=int(row.get("prefix", -1)),
        accepted=row.get("ok"),
        valid=row.get("valid"),
        broken_rules=tuple(row.get("broken", ())),
        unjudged_rules=tuple(row.get("unjudged", ())),
        gaps_s=tuple(gap / 1e6 for gap in row.get("gaps_us", ())),
        **fields,
    )
