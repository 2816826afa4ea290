"""Server-sent events out of the pieces in which they arrive, as they arrive (WHATWG HTML, section 9.2).

More is tolerated than the standard asks for: lines of data without the blank line between them, no space after the
colon, ``error:`` in the place of a field, and no blank line at the end.
"""

from __future__ import annotations

from typing import Protocol

import orjson

from cabida.bench.wire.dialects.answer import (
    MALFORMED,
    OVERSIZE,
    RESET,
    STREAM_ERROR,
    TRUNCATED,
    Answer,
    Ended,
    told,
)

AS_STATUS = ""  # the verdict that the status gives
LINE_BYTES_MOST = 2**20
STRUCTURES_MOST = 500_000  # brackets in one piece of JSON: what they become in memory is far larger than they
_KNOWN = (b"id", b"retry", b"event", b"data")


class Body(Protocol):
    """A body of a response being read."""

    def feed(self, data: bytes, at_s: float) -> None:
        """Take the next piece. Raises Ended when there is no point in going on."""

    def close(self, is_cut: bool) -> None:
        """The body is over. Raises Ended when that isn't the end of an answer."""


class EventStream:
    """A body of events, fed into an :class:`Answer`."""

    __slots__ = ("answer", "data", "data_bytes", "data_s", "has_strange", "line_bytes_most", "name", "rest")

    def __init__(self, answer: Answer, line_bytes_most: int = LINE_BYTES_MOST) -> None:
        self.answer, self.line_bytes_most = answer, line_bytes_most
        self.rest = bytearray()  # a line without its end
        self.data: list[bytes] = []  # lines of an event without its end
        self.data_bytes = 0
        self.data_s = 0.0
        self.name = b""
        self.has_strange = False
        answer.is_streamed = True

    def feed(self, data: bytes, at_s: float) -> None:
        """Take a piece of the body that was read at ``at_s``."""
        if (
            not self.rest
            and not self.data
            and not self.name
            and data[:5] == b"data:"
            and data[-2:] == b"\n\n"
            and data.find(b"\n") == len(data) - 2
        ):  # one whole event, the commonest case
            self._dispatch(data[5:-2], at_s)
            return
        if b"\n" not in data and b"\r" not in data:
            self.rest += data
            if len(self.rest) > self.line_bytes_most:
                raise Ended(OVERSIZE, "line")
            return
        self._lines(data, at_s)

    def _lines(self, data: bytes, at_s: float) -> None:
        block = bytes(self.rest) + data
        held = b""
        if b"\r" in block:
            if block.endswith(b"\r"):  # the line feed may be in the next piece
                block, held = block[:-1], b"\r"
            block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = block.split(b"\n")
        self.rest = bytearray(lines.pop() + held)
        if len(self.rest) > self.line_bytes_most:
            raise Ended(OVERSIZE, "line")
        for line in lines:
            self._line(line, at_s)

    def _line(self, line: bytes, at_s: float) -> None:
        if not line:
            self._end_of_event(at_s)
        elif line.startswith(b"data:"):
            if len(self.data) == 1 and _is_json(self.data[0]):
                self._end_of_event(at_s)  # somebody leaves the blank lines out
            self.data.append(line[5:])
            self.data_s = at_s
            self.data_bytes += len(line)
            if self.data_bytes > self.line_bytes_most:
                raise Ended(OVERSIZE, "line")
        elif line.startswith(b"event:"):
            self.name = line[6:].strip()
        elif line.startswith(b"error:"):  # llama.cpp, before 2025
            raise Ended(STREAM_ERROR, _told(line[6:]))
        elif line[0] != ord(":") and line.partition(b":")[0].strip(b"\xef\xbb\xbf") not in _KNOWN:
            self.has_strange = True
        elif line.startswith(b"\xef\xbb\xbf"):
            self._line(line[3:], at_s)

    def _end_of_event(self, at_s: float) -> None:
        name, data = self.name, self.data
        self.name, self.data, self.data_bytes = b"", [], 0
        if name == b"error":
            raise Ended(STREAM_ERROR, _told(b"\n".join(data)))
        if data:
            self._dispatch(b"\n".join(data) if len(data) > 1 else data[0], self.data_s or at_s)

    def _dispatch(self, payload: bytes, at_s: float) -> None:
        answer = self.answer
        if answer.is_done:
            return
        try:
            event = orjson.loads(payload)
        except orjson.JSONDecodeError:
            stripped = payload.strip()
            if stripped == b"[DONE]":
                answer.is_done = True
            elif stripped:
                raise Ended(MALFORMED, "event") from None
            return
        if event is not None:
            answer.event(event, at_s)

    def close(self, is_cut: bool) -> None:
        """The stream is over. An event without the blank line at its end still counts, if it is whole itself."""
        if self.rest:
            line = bytes(self.rest).rstrip(b"\r")
            self.rest = bytearray()
            if not line.startswith(b"data:") or _is_json(line[5:]):
                self._line(line, self.data_s)
            else:
                self.has_strange = True
        if self.data and (len(self.data) > 1 or _is_json(self.data[0])):
            self._end_of_event(self.data_s)
        answer = self.answer
        if answer.is_whole and (answer.events_count or answer.finished_count):
            return
        if answer.is_done:
            raise Ended(MALFORMED, "no-answer")
        if self.has_strange and not answer.had_choice and not is_cut:
            raise Ended(MALFORMED, "no-events")
        raise Ended(TRUNCATED, "cut" if is_cut else "no-end")


class WholeBody:
    """A body that is one piece of JSON."""

    __slots__ = ("answer", "bytes_most", "parts", "size_bytes")

    def __init__(self, answer: Answer, bytes_most: int) -> None:
        self.answer, self.bytes_most = answer, bytes_most
        self.parts: list[bytes] = []
        self.size_bytes = 0

    def feed(self, data: bytes, at_s: float) -> None:
        """Keep a piece of the body."""
        self.size_bytes += len(data)
        if self.size_bytes > self.bytes_most:
            raise Ended(OVERSIZE, "response")
        self.parts.append(data)

    def close(self, is_cut: bool) -> None:
        """Read the whole."""
        if is_cut:
            raise Ended(RESET, "cut")
        body = b"".join(self.parts)
        self.parts = []
        if body.count(b"[") + body.count(b"{") > STRUCTURES_MOST:
            raise Ended(OVERSIZE, "structure")
        try:
            read = orjson.loads(body)
        except orjson.JSONDecodeError:
            raise Ended(MALFORMED, "json" if body.strip() else "empty") from None
        self.answer.whole(read)


class ErrorBody:
    """The body of a refusal: as much as says why."""

    __slots__ = ("parts", "size_bytes")

    BYTES_MOST = 65_536

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size_bytes = 0

    def feed(self, data: bytes, at_s: float) -> None:
        """Keep a piece of the body; one that is too long is not waited for."""
        self.size_bytes += len(data)
        if self.size_bytes <= self.BYTES_MOST:
            self.parts.append(data)
        else:
            raise Ended(AS_STATUS, "long")

    def close(self, is_cut: bool) -> None:
        """Nothing to check: the status has said it."""

    def told(self) -> str:
        """What the server says, in its words; "" when it says it to browsers only."""
        return _told(b"".join(self.parts))


def opening(data: bytes) -> str:
    """What a body is by its first bytes: ``events``, ``json``, ``html``, ``blank`` or ``other``."""
    start = data[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start:
        return "blank"
    if start[:1] in b"{[":
        return "json"
    if start[:1] == b"<":
        return "html"
    fields = (b"data", b"event", b":", b"id:", b"retry", b"error:")
    return "events" if any(start.startswith(one) or one.startswith(start) for one in fields) else "other"


def _is_json(data: bytes) -> bool:
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError:
        return data.strip() == b"[DONE]"
    return True


def _told(data: bytes) -> str:
    try:
        return told(orjson.loads(data))
    except (orjson.JSONDecodeError, RecursionError):
        text = data[:400].decode("utf-8", "replace").strip()
        return "" if text.startswith("<") else text
