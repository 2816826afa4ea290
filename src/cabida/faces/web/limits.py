"""How much of anything one person or address may ask: requests, guesses, bytes and time of a body."""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from cabida.faces.web.telling import Refused
from cabida.text import number, problem

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

MOST_KEPT = 4096  # persons and addresses watched at once; who asked longest ago is forgotten first
FREE_GUESSES = 5  # wrong tokens that cost nothing but the answer
LONGEST_WAIT_S = 900.0
MOST_HEADERS, MOST_HEADER_BYTES = 100, 32_768
MOST_HEAD_BYTES = 65_536  # received before the headers are whole
MOST_PATH_BYTES = 4096
SLOWEST_BYTES_PER_S = 65_536


def place_of(address: str) -> str:
    """An address as a limit counts it: IPv6 by its /64, which one household has."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:60]
    if found.version == 6 and found.ipv4_mapped is None:
        return str(ipaddress.ip_network(f"{found}/64", strict=False).network_address)
    return str(found)


class Buckets:
    """A token bucket for each person or address: a minute's worth at once, then as fast as it fills."""

    def __init__(self, per_minute: float, now: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = per_minute
        self.now = now
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, who: str) -> float:
        """Take one; the seconds to wait when there is none, else 0."""
        at = self.now()
        left, since = self._left.pop(who, (self.per_minute, at))
        left = min(self.per_minute, left + (at - since) * self.per_minute / 60)
        waits = 0.0 if left >= 1 else (1 - left) * 60 / self.per_minute
        self._left[who] = (left if waits else left - 1, at)
        if len(self._left) > MOST_KEPT:
            self._left.popitem(last=False)
        return waits


class Guesses:
    """Wrong tokens by address: after a few each wrong one doubles the time until the next is looked at."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def waits_s(self, where: str) -> float:
        """Seconds until this address may try again; 0 = now."""
        count, until = self._wrong.get(where, (0, 0.0))
        return max(0.0, until - self.now()) if count > FREE_GUESSES else 0.0

    def wrong(self, where: str) -> None:
        """Another wrong token from there."""
        count, until = self._wrong.pop(where, (0, 0.0))
        if self.now() - until > LONGEST_WAIT_S:
            count = 0
        count += 1
        wait_s = min(LONGEST_WAIT_S, 2.0 ** (count - FREE_GUESSES)) if count > FREE_GUESSES else 0.0
        self._wrong[where] = (count, self.now() + wait_s)
        if len(self._wrong) > MOST_KEPT:
            self._wrong.popitem(last=False)

    def right(self, where: str) -> None:
        """A right one: start again."""
        self._wrong.pop(where, None)


def too_many(after_s: float) -> Refused:
    """The problem of who asks too often."""
    return Refused([problem("CB-S010", wait=number(max(1, round(after_s))))], 429, after_s)


def head_sound(scope: Scope) -> None:
    """Raise when a request's address or headers are larger than any that is meant.

    Raises:
        Refused: CB-S012 (431) or CB-S013 (414); CB-S003 (400), two hosts.
    """
    headers = scope["headers"]
    if sum(name == b"host" for name, _ in headers) > 1:
        raise Refused([problem("CB-S003", why="Host")], 400)
    weight = sum(len(name) + len(value) for name, value in headers)
    if len(headers) > MOST_HEADERS or weight > MOST_HEADER_BYTES:
        raise Refused([problem("CB-S012", most=number(MOST_HEADER_BYTES / 1024))], 431)
    if len(scope.get("raw_path") or b"") + len(scope.get("query_string") or b"") > MOST_PATH_BYTES:
        raise Refused([problem("CB-S013", most=number(MOST_PATH_BYTES))], 414)


def stated_bytes(scope: Scope) -> int:
    """The length a request states of its body; 0 when it states none.

    Raises:
        Refused: CB-S003, it is no length.
    """
    for name, value in scope["headers"]:
        if name == b"content-length":
            if not value.isdigit() or len(value) > 15:
                raise Refused([problem("CB-S003", why="Content-Length")], 400)
            return int(value)
    return 0


async def whole_body(receive: Receive, most_bytes: int, patience_s: float) -> bytes:
    """The body of a request, which has ``patience_s`` and a second more for each 64 KiB of it to arrive.

    Raises:
        Refused: it is too large (413), too slow (408), or its sender left.
    """
    pieces: list[bytes] = []
    seen, began, more = 0, time.monotonic(), True
    while more:
        left_s = began + patience_s + seen / SLOWEST_BYTES_PER_S - time.monotonic()
        try:
            message = await asyncio.wait_for(receive(), max(0.001, left_s))
        except TimeoutError:
            raise Refused([problem("CB-S014", wait=number(patience_s))], 408) from None
        if message["type"] != "http.request":
            raise Refused([problem("CB-S003", why="")], 400)
        pieces.append(message.get("body", b""))
        seen += len(pieces[-1])
        if seen > most_bytes:
            raise too_large(most_bytes)
        more = message.get("more_body", False)
    return b"".join(pieces)


def again(body: bytes, receive: Receive) -> Receive:
    """``receive`` that gives ``body`` once more, and afterwards what comes."""
    given = False

    async def next_message() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return next_message


def too_large(most_bytes: int) -> Refused:
    """The problem of a body above the bound."""
    return Refused([problem("CB-S011", most=number(most_bytes / 2**20))], 413)
