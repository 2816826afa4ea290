"""An answer that is awaited: what its head said, how long to be patient, and the one verdict."""

from __future__ import annotations

import asyncio
import email.utils
import time

from cabida.bench.wire.dialects.answer import Answer
from cabida.bench.wire.dialects.events import LINE_BYTES_MOST, Body
from cabida.plan.bench import Policy

JSON_BYTES_MOST = 16 * 2**20  # of an answer in one piece, in an API that writes text
RETRY_AFTER_MOST_S = 86_400.0
_REPLICA = (b"x-replica", b"x-served-by", b"x-backend-server", b"x-server-id")
_STATUS = {401: "unauthorised", 403: "unauthorised", 429: "rate-limited"}


def verdict_of(status: int) -> str:
    """The verdict of a response whose status isn't 200 to 299."""
    if status in _STATUS:
        return _STATUS[status]
    return "server-error" if status >= 500 else "rejected" if status >= 300 else "malformed"


class Exchange:
    """One request on its way, and what has come back so far."""

    __slots__ = (
        "answer", "answer_bytes_most", "body", "date", "ended_s", "first_byte_s", "is_encoded", "is_eof_framed",
        "is_streaming", "keep_s", "last_read_s", "line_bytes_most", "notice", "policy", "replica",
        "response_bytes", "retry_after", "retry_after_ms", "sent_s", "server", "started_s", "status", "verdict",
        "waits", "why",
    )  # fmt: skip

    def __init__(
        self, answer: Answer, policy: Policy, api: str, is_streaming: bool, started_s: float
    ) -> None:
        self.answer, self.policy, self.is_streaming, self.started_s = answer, policy, is_streaming, started_s
        writes_text = api in ("chat", "completions")
        self.line_bytes_most = LINE_BYTES_MOST if writes_text else policy.response_bytes_most
        self.answer_bytes_most = JSON_BYTES_MOST if writes_text else policy.response_bytes_most
        self.body: Body | None = None
        self.verdict = self.why = self.notice = ""
        self.status = self.response_bytes = 0
        self.sent_s: float | None = None
        self.first_byte_s: float | None = None
        self.last_read_s = 0.0
        self.ended_s = 0.0
        self.date = self.retry_after = self.retry_after_ms = self.replica = self.server = ""
        self.keep_s: float | None = None  # how long the server keeps an idle connection, as it says
        self.is_eof_framed = True  # until a header says how long the body is
        self.is_encoded = False
        self.waits: asyncio.Future[None] | None = None

    def end(self, verdict: str, why: str, at_s: float) -> None:
        """Give the one verdict. What comes later changes nothing."""
        if not self.verdict:
            self.verdict, self.why, self.ended_s = verdict, why, at_s
            if self.waits is not None and not self.waits.done():
                self.waits.set_result(None)

    def header(self, name: bytes, value: bytes) -> None:
        """Keep the few headers that matter here."""
        key = name.lower()
        if key in (b"content-length", b"transfer-encoding"):
            self.is_eof_framed = False
        elif key == b"content-encoding":
            self.is_encoded = value.strip().lower() not in (b"identity", b"")
        elif key == b"keep-alive":
            self.keep_s = _keep_s(value)
        elif key == b"retry-after":
            self.retry_after = _short(value)
        elif key == b"retry-after-ms":
            self.retry_after_ms = _short(value)
        elif key == b"date":
            self.date = _short(value)
        elif key == b"server":
            self.server = _short(value)
        elif key in _REPLICA or (key == b"server-timing" and b"replica" in value):
            self.replica = self.replica or _short(value)

    def due(self) -> tuple[float, str]:
        """When patience ends, and which one: "first-token", "idle" (between two reads) or "total"."""
        policy, total_s = self.policy, self.started_s + self.policy.total_s
        if self.is_streaming and not self.answer.events_count:
            due_s, why = (self.sent_s or self.started_s) + policy.first_token_s, "first-token"
        elif self.first_byte_s is None:
            due_s, why = total_s, "total"
        else:
            due_s, why = self.last_read_s + policy.idle_s, "idle"
        return (total_s, "total") if total_s <= due_s else (due_s, why)

    def retry_after_s(self) -> float | None:
        """Seconds for which the server asks to be left alone.

        A date (RFC 9110, 10.2.3) is read against the server's own Date header, so that no clock of ours matters.
        """
        try:
            if self.retry_after_ms:
                return _within(float(self.retry_after_ms) / 1e3)
            if not self.retry_after:
                return None
            if self.retry_after.strip().replace(".", "", 1).isdecimal():
                return _within(float(self.retry_after))
            due = email.utils.parsedate_to_datetime(self.retry_after).timestamp()
            now = email.utils.parsedate_to_datetime(self.date).timestamp() if self.date else time.time()
            return _within(due - now)
        except (ValueError, TypeError, OverflowError):
            return None


def _short(value: bytes) -> str:
    return value[:80].decode("latin-1")


def _within(seconds: float) -> float | None:
    return min(max(0.0, seconds), RETRY_AFTER_MOST_S) if seconds == seconds else None


def _keep_s(value: bytes) -> float | None:
    """Seconds for which a server keeps an idle connection, as it says."""
    for part in value[:200].split(b","):
        name, _, seconds = part.strip().partition(b"=")
        if name.lower() == b"timeout" and seconds.strip().isdigit():
            return float(seconds)
    return None
