"""Requests as the calibrated server reads them: HTTP/1.1 with a stated length, bounded."""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_HEAD_BYTES = 64 * 2**10
MOST_BODY_BYTES = 64 * 2**20
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,12})[ \t]*(?=\r\n)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:", re.IGNORECASE)
_EXPECTS = re.compile(rb"\r\nexpect:[ \t]*100-continue", re.IGNORECASE)
_ID = re.compile(rb"\r\nx-request-id:[ \t]*([^\r\n]{1,200})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Request:
    """A whole request. ``id`` is its ``x-request-id``, b"" without one."""

    method: str
    path: str
    id: bytes
    body: bytes


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that is not read to its end, and the status it is answered with."""

    status: int
    why: str


def next_request(pending: bytearray) -> Request | Refused | None:
    """The first request of ``pending``, taken out of it; ``None`` while it is not whole."""
    end = pending.find(b"\r\n\r\n", 0, MOST_HEAD_BYTES)
    if end < 0:
        return Refused(431, "the head is too long") if len(pending) >= MOST_HEAD_BYTES else None
    head = bytes(pending[: end + 2])
    if _CHUNKED.search(head):
        return Refused(411, "a body needs a stated length here")
    length = _LENGTH.search(head)
    body_bytes = int(length[1]) if length else 0
    if body_bytes > MOST_BODY_BYTES:
        return Refused(413, "a body has at most 64 MiB here")
    whole_bytes = end + 4 + body_bytes
    if len(pending) < whole_bytes:
        return None
    body = bytes(pending[end + 4 : whole_bytes])
    del pending[:whole_bytes]
    method, _, rest = head.partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0]
    said_id = _ID.search(head)
    id_ = said_id[1] if said_id else b""
    return Request(method.decode("latin-1"), path.decode("latin-1"), id_, body)


def expects_continue(pending: bytearray) -> bool:
    """Whether a client waits to be told to send its body."""
    end = pending.find(b"\r\n\r\n", 0, MOST_HEAD_BYTES)
    return end >= 0 and _EXPECTS.search(pending, 0, end + 2) is not None
