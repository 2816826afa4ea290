"""What became of one request, as its client saw it."""

from __future__ import annotations

from dataclasses import dataclass

# ok, and every way not to be; a request ends in exactly one of them
VERDICTS = (
    "ok",
    "truncated",  # status 200, and the stream ended before the answer did
    "refused",  # nobody listens
    "reset",  # the connection broke before the answer was whole
    "timeout",  # of connecting, the first token, a pause, or altogether: ``why`` says which
    "rate-limited",  # 429
    "unauthorised",  # 401, 403
    "rejected",  # other 4xx
    "server-error",  # 5xx
    "stream-error",  # an error told inside a stream of status 200
    "malformed",  # not what the API promises: HTML, broken JSON, an event that is none
    "oversize",  # a line or a response beyond what is read
    "tls",
    "dns",
    "cancelled",  # the run ended first: neither success nor failure
)
FAILED = tuple(one for one in VERDICTS if one not in ("ok", "cancelled"))
REPEATABLE = ("refused", "reset", "timeout", "rate-limited", "server-error", "truncated", "stream-error")


@dataclass(slots=True)
class Ask:
    """One request to be sent.

    Attributes:
        id: unique in the benchmark: "steady/12".
        body: JSON as bytes.
        intended_s: when it ought to leave, on the clock of :func:`cabida.bench.clock.now_s`.
        input_tokens, output_tokens: what was wanted of its prompt and answer.
        prefix: which shared beginning its prompt has; -1 = none.
    """

    id: str
    body: bytes
    intended_s: float
    input_tokens: int | None = None
    output_tokens: int | None = None
    prefix: int = -1
    attempt: int = 0


@dataclass(slots=True)
class Outcome:
    """One attempt at one request. Times are seconds of the monotonic clock; ``None`` = that never happened.

    Attributes:
        intended_s: when it ought to have left; latency counts from here, so that a client that is late hides nothing.
        sent_s: when its bytes were handed to the socket; first_byte_s: when the first byte of the answer was read.
        first_token_s, last_token_s: reads that held the first and last piece of the answer, reasoning included.
        events_count: events with content; never a count of tokens.
        gaps_s: time between one read with content and the next.
        input_tokens, cached_tokens, output_tokens, reasoning_tokens: as ``counted_by`` says: "usage" (the server),
            "tokenizer" (counted here), "" (nobody knows: ``None``).
        items_count: vectors, scores or images, where the API gives those.
        text: the answer, and reasoning the part marked as such; kept in memory only while rules look at them.
        accepted: whether every rule was met; ``None`` = no rules. broken_rules: names of those that were not.
    """

    id: str
    attempt: int
    intended_s: float
    verdict: str
    why: str = ""
    status: int = 0
    sent_s: float | None = None
    first_byte_s: float | None = None
    first_token_s: float | None = None
    last_token_s: float | None = None
    ended_s: float = 0.0
    finish_reason: str = ""
    events_count: int = 0
    gaps_s: tuple[float, ...] = ()
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    counted_by: str = ""
    items_count: int | None = None
    response_bytes: int = 0
    retry_after_s: float | None = None
    wanted_input_tokens: int | None = None
    wanted_output_tokens: int | None = None
    prefix: int = -1
    final: bool = True  # no further attempt follows
    accepted: bool | None = None
    broken_rules: tuple[str, ...] = ()
    text: str = ""
    reasoning: str = ""
    replica: str = (
        ""  # what the server says of who answered (x-replica, x-served-by, server-timing), where it does
    )
    valid: bool | None = None  # whole and well-formed, whatever else rules say; None = nobody knows
    unjudged_rules: tuple[str, ...] = ()  # rules that could say neither yes nor no
