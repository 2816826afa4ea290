"""One request while it is answered, and the turns that requests take where only so many are served at once."""

from __future__ import annotations

import random
import socket
from array import array
from collections import deque
from typing import Any

from cabida.bench.selfcheck import answers
from cabida.bench.selfcheck.manner import Manner

DEFAULT_TOKENS = 64
MOST_UNSENT_BYTES = 16 * 2**20


class Connection:
    """One socket: what came in and is not yet read, what should go out and is not yet sent."""

    __slots__ = ("answering", "fd", "out", "pending", "read", "told_continue")

    def __init__(self, read: socket.socket) -> None:
        self.read = read
        self.fd = read.fileno()
        self.pending = bytearray()
        self.out = bytearray()
        self.answering: Answering | None = None
        self.told_continue = False


class Answering:
    """A request from its receipt to the last byte of its answer; times in nanoseconds of the monotonic clock."""

    __slots__ = (
        "api", "asked", "base_ns", "coalesce", "conn", "due_ns", "faulty", "first_ns", "gap_ns", "how", "id",
        "jitter_ns", "last_ns", "late_most_ns", "late_sum_ns", "model", "n", "plain", "prefix", "prompt_tokens",
        "received_ns", "rest", "say", "sent", "streams", "tell_usage", "times", "turn_ns",
    )  # fmt: skip

    def __init__(
        self, conn: Connection, api: str, asked: dict[str, Any], how: Manner, received_ns: int
    ) -> None:
        self.conn: Connection | None = conn
        self.api, self.how, self.model = api, how, str(asked.get("model") or "")
        self.asked: dict[str, Any] | None = asked if api not in answers.TYPES else None
        self.id = b""
        self.n = how.n or wanted_tokens(asked) or DEFAULT_TOKENS
        self.streams = api in answers.TYPES and asked.get("stream") is True
        options = asked.get("stream_options")
        self.tell_usage = isinstance(options, dict) and options.get("include_usage") is True
        self.prompt_tokens = prompt_tokens(asked)
        self.received_ns = self.turn_ns = received_ns
        self.base_ns = self.due_ns = self.first_ns = self.last_ns = 0
        self.gap_ns = how.itl * 1e6
        self.jitter_ns = how.itl * how.jitter * 1e6
        self.coalesce = max(how.coalesce, 1)
        self.sent = self.late_sum_ns = self.late_most_ns = self.say = 0
        self.faulty = False
        self.rest = b""
        self.prefix = b""
        self.times: array[int] | None = None
        # tokens all alike are one chunk, used over; anything else is built event by event
        alike = not (how.say or how.reasoning or how.ping or how.usage == "each")
        self.plain = answers.plain_event(api, how.word * self.coalesce) if alike and self.streams else b""

    def begin(self, at_ns: int, scale_ratio: float) -> None:
        """Its turn has come: plan the first event; ``scale_ratio`` stretches all of its service."""
        self.turn_ns = at_ns
        self.gap_ns *= scale_ratio
        self.base_ns = at_ns + int(self.how.ttft * 1e6 * scale_ratio)
        self.due_ns = self.base_ns
        if self.api in answers.TYPES and not self.streams:
            self.due_ns += int(self.gap_ns * (self.n - 1))

    def plan_next(self, chance: random.Random) -> None:
        """When the next event is due, by the absolute plan."""
        off = self.jitter_ns * (2 * chance.random() - 1) if self.jitter_ns else 0.0
        self.due_ns = self.base_ns + int(self.gap_ns * self.sent + off)

    def next_event(self, upto: int) -> bytes:
        """The bytes of tokens ``sent`` to ``upto``, the end of the stream with the last."""
        at, how, api = self.sent, self.how, self.api
        if upto < self.n and self.plain and upto - at == self.coalesce:
            return self.plain
        channel = "reasoning_content" if at < how.reasoning else "content"
        text = (
            how.word * (upto - at)
            if channel == "reasoning_content"
            else answers.text_between(how, self.say, self.n, at, upto)
        )
        if upto >= self.n:
            data = answers.ending(api, how, {channel: text}, self.prompt_tokens, self.n, self.tell_usage)
        elif how.usage == "each":
            counts = answers.usage(self.prompt_tokens, upto)
            data = answers.chunk(answers.event(api, {channel: text}, "", counts))
        else:
            data = answers.plain_event(api, text, channel)
        return answers.chunk(answers.PING) + data if how.ping else data

    def upto(self) -> int:
        """Where the next event ends; at the change from reasoning to answer it ends there."""
        upto = min(self.sent + self.coalesce, self.n)
        reasoning = self.how.reasoning
        return reasoning if self.sent < reasoning < upto else upto


class Turns:
    """First come, first served, so many at once: a queue with ``slots`` servers, kept in planned time.

    A place is taken up at the planned end of whoever left it, not when this process got round to it, so that a busy
    machine doesn't change the queue's law.
    """

    __slots__ = ("chance", "exponential", "serving", "slots", "waiting")

    def __init__(self, slots: int, exponential: bool, seed: str) -> None:
        self.slots = slots
        self.exponential = exponential
        self.serving = 0
        self.waiting: deque[Answering] = deque()
        self.chance = random.Random(seed)

    def scale_ratio(self) -> float:
        """What the next service is stretched by: exponential with mean 1, or 1."""
        return self.chance.expovariate(1.0) if self.exponential else 1.0

    def takes(self, one: Answering) -> bool:
        """Whether it is served at once; else it waits."""
        if self.slots and self.serving >= self.slots:
            self.waiting.append(one)
            return False
        self.serving += 1
        return True

    def next(self) -> Answering | None:
        """A place became free: who has it now."""
        while self.waiting:
            one = self.waiting.popleft()
            if one.conn is not None:
                return one
        self.serving -= 1
        return None


def wanted_tokens(asked: dict[str, Any]) -> int | None:
    """The length that a request asks for, where it is a sensible one."""
    for key in ("max_completion_tokens", "max_tokens"):
        value = asked.get(key)
        if isinstance(value, int) and 0 < value <= 1_000_000:
            return value
    return None


def prompt_tokens(asked: dict[str, Any]) -> int:
    """Tokens of a prompt as this server counts: one to four characters, no fewer than one."""
    characters = 0
    for key in ("prompt", "input", "query", "documents"):
        value = asked.get(key)
        for one in value if isinstance(value, list) else (value,):
            characters += len(one) if isinstance(one, str) else 0
    messages = asked.get("messages")
    for message in messages if isinstance(messages, list) else ():
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, list):
            content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
        characters += len(content) if isinstance(content, str) else 0
    return max(characters // 4, 1)
