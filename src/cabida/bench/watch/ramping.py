"""The ramp to the edge of memory: first one prompt longer and longer, then more and more of them at once.

Doubling finds a step that fails, bisection where it begins to. A limit that the engine names is tried at once instead
of searched for. Prompts must share no beginning, or the prefix cache makes them smaller than they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from cabida.bench.clock import now_s
from cabida.bench.watch.memory import DEADLY, MemoryEdge, MemoryLimits, Step, Tried, judged

AskAt = Callable[[int, int], Awaitable[Tried]]
BACK_EVERY_S = 0.5
ROOM_RATIO = 0.9  # of the cache: below, it is not for want of it that requests wait
NEAR_TOKENS = 16  # left free below a limit that the engine names: what a chat template adds
CONTEXT, CONCURRENCY = "context", "concurrency"
STEPS, REQUESTS, TIME, DEATHS, GONE, STOPPED = "steps", "requests", "time", "deaths", "server-gone", "stopped"
FINE = ("ok", "preempted", "full", "queued")  # of one prompt alone: it was answered


class _Ended(Exception):
    """The ramp may ask no more; ``why`` says for what reason."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


async def ramp(
    ask_at: AskAt,
    limits: MemoryLimits | None = None,
    *,
    facts: Mapping[str, Any] | None = None,
    back: Callable[[], Awaitable[bool]] | None = None,
    back_within_s: float = 120.0,
    told: Callable[[Step], None] | None = None,
) -> MemoryEdge:
    """Raise context and concurrency until the engine refuses, waits, preempts or falls, and say where that was.

    Args:
        ask_at: Sends ``concurrency`` different prompts of ``context_tokens`` at once and says what became of them.
        limits: How far to go.
        facts: What stands still of the server (a watcher's ``facts``): ``kv_tokens``, ``kv_reserved_bytes``, ``gpus``.
        back: Whether the server answers again, asked after it fell; ``None`` = it isn't waited for.
        back_within_s: How long it is waited for.
        told: Called with each step as it ends.

    Returns:
        What was found; never raises for what a server does. ``asyncio.CancelledError`` passes through.
    """
    one = _Ramp(ask_at, limits or MemoryLimits(), back, back_within_s, told)
    ended = "found"
    try:
        await one.lengthen()
        await one.crowd()
    except _Ended as error:
        ended = error.why
    return one.edge(ended, facts or {})


class _Ramp:
    """A ramp under way: what was tried, and between what the two edges lie."""

    def __init__(
        self,
        ask_at: AskAt,
        limits: MemoryLimits,
        back: Callable[[], Awaitable[bool]] | None,
        back_within_s: float,
        told: Callable[[Step], None] | None,
    ) -> None:
        self.ask_at, self.limits, self.back, self.back_within_s, self.told = (
            ask_at,
            limits,
            back,
            back_within_s,
            told,
        )
        self.steps: list[Step] = []
        self.memory_total_bytes: dict[str, float] = {}
        self.begun_s = now_s()
        self.preempted = 0.0
        self.tokens_ratio: float | None = None  # tokens the server counts for one of ours
        self.length: Step | None = None  # longest that was answered
        self.length_end: Step | None = None  # shortest that was not
        self.stated: Step | None = None  # where the engine named its limit
        self.verified: bool | None = None
        self.crowd_best: Step | None = None
        self.crowd_end: Step | None = None

    async def step(self, stage: str, context_tokens: int, concurrency: int) -> Step:
        """Try once and judge it.

        Raises:
            _Ended: steps, requests or time are used up, or the server died and doesn't come back.
        """
        limits = self.limits
        if len(self.steps) >= limits.steps_most:
            raise _Ended(STEPS)
        if sum(one.requests_count for one in self.steps) + concurrency > limits.requests_most:
            raise _Ended(REQUESTS)
        if now_s() - self.begun_s > limits.duration_s:
            raise _Ended(TIME)
        tried = await self.ask_at(context_tokens, concurrency)
        found = judged(
            stage,
            context_tokens,
            concurrency,
            tried,
            tokens_ratio=self.tokens_ratio,
            preempted_before=self.preempted,
        )
        self._note(tried, found)
        self.steps.append(found)
        if self.told is not None:
            self.told(found)
        if found.verdict == "cancelled":
            raise _Ended(STOPPED)
        if found.verdict in DEADLY:
            await self._wait_back()
            if sum(one.verdict in DEADLY for one in self.steps) >= limits.deaths_most:
                self._place(found)
                raise _Ended(DEATHS)
        return found

    def _note(self, tried: Tried, found: Step) -> None:
        for row in tried.rows:
            for name, value in row.items():
                if name.endswith(".memory_total_bytes") and name.startswith("gpu."):
                    self.memory_total_bytes[name.removesuffix(".memory_total_bytes")] = float(value)
            count = row.get("preemptions_count")
            self.preempted = (
                max(self.preempted, float(count)) if isinstance(count, int | float) else self.preempted
            )
        if found.verdict in FINE and found.input_tokens and self.tokens_ratio is None:
            self.tokens_ratio = found.input_tokens / found.context_tokens

    def _place(self, found: Step) -> None:
        """Keep the narrowest of what failed, as the searches do."""
        if found.stage == CONTEXT and (
            self.length_end is None or found.context_tokens < self.length_end.context_tokens
        ):
            self.length_end = found
        elif found.stage == CONCURRENCY and (
            self.crowd_end is None or found.concurrency < self.crowd_end.concurrency
        ):
            self.crowd_end = found

    async def _wait_back(self) -> None:
        if self.back is None:
            return
        until = now_s() + self.back_within_s
        while not await self.back():
            if now_s() >= until:
                self._place(self.steps[-1])
                raise _Ended(GONE)
            await asyncio.sleep(BACK_EVERY_S)

    async def lengthen(self) -> None:
        """One prompt at a time, longer and longer."""
        limits = self.limits
        size = min(limits.context_tokens_least, limits.context_tokens_most)
        while True:
            found = await self.step(CONTEXT, size, 1)
            if found.verdict not in FINE:
                self._place(found)
                break
            self.length = found
            if size >= limits.context_tokens_most:
                return
            size = min(2 * size, limits.context_tokens_most)
        if found.limit_tokens is not None:
            self.stated = found
            await self._at_stated()
        if not self._fills():
            await self._between()
        if self._fills() and self.verified is None:
            self.verified = True

    async def _at_stated(self) -> None:
        """Try a prompt that fills the limit which the engine named; twice, as the first may be counted otherwise."""
        for _ in range(2):
            size = self._filling()
            low = self.length.context_tokens if self.length else 0
            high = self.length_end.context_tokens if self.length_end else size + 1
            if size >= high:
                self._doubt(self.length_end)
            if not low < size < high or self._fills():
                return
            found = await self.step(CONTEXT, size, 1)
            if found.verdict in FINE:
                self.length = found
            else:
                self._place(found)
                self._doubt(found)

    def _filling(self) -> int:
        """Tokens, as the client counts, of a prompt that with its answer fills the limit named.

        The server's count follows from those of the last two prompts that were answered: their difference is what the
        text adds, the rest what a template does. An engine that counts prompts alone takes a longer one, but would cut
        its answer.
        """
        stated = self.stated
        room = 0 if stated is None else (stated.limit_tokens or 0) - (stated.output_tokens or 0) - NEAR_TOKENS
        counted = [one for one in self.steps if one.verdict in FINE and one.input_tokens]
        if not counted:
            return room
        last = counted[-1]
        before = next((one for one in counted[-2::-1] if one.context_tokens != last.context_tokens), None)
        tokens = last.input_tokens or 0
        if before is None:
            return int(room * last.context_tokens / tokens)
        slope = (tokens - (before.input_tokens or 0)) / (last.context_tokens - before.context_tokens)
        return int(last.context_tokens + (room - tokens) / slope) if slope > 0 else room

    def _fills(self) -> bool:
        """Whether the longest prompt that was answered fills the limit that the engine named."""
        if self.length is None or self.stated is None or self.length.input_tokens is None:
            return False
        whole = self.length.input_tokens + (self.stated.output_tokens or 0)
        return whole >= (self.stated.limit_tokens or 0) - 2 * NEAR_TOKENS

    def _doubt(self, refused: Step | None) -> None:
        """A prompt within the limit that is refused all the same puts the limit in doubt."""
        if refused is None or refused.verdict != "too-long" or refused.limit_tokens is None:
            return
        asked = refused.asked_tokens
        if asked is None or asked <= refused.limit_tokens - (refused.output_tokens or 0):
            self.verified = False

    async def _between(self) -> None:
        """Bisect between the longest prompt that was answered and the shortest that wasn't."""
        while self.length_end is not None:
            low = self.length.context_tokens if self.length else 0
            high = self.length_end.context_tokens
            if high - low <= max(NEAR_TOKENS, self.limits.resolution_ratio * low):
                return
            found = await self.step(CONTEXT, (low + high) // 2, 1)
            if found.verdict in FINE:
                self.length = found
            else:
                self._place(found)

    async def crowd(self) -> None:
        """More and more prompts at once."""
        if self.length is None:
            return
        limits = self.limits
        target = limits.context_target_tokens or self.length.context_tokens
        target = min(target, self.length.context_tokens)
        count = 1
        while True:
            found = await self.step(CONCURRENCY, target, count)
            if count == 1 and found.verdict in FINE:  # alone it can neither wait nor be in anybody's way
                self.crowd_best = found
            if found.verdict != "ok":
                self._place(found)
                break
            self.crowd_best = found
            if count >= limits.concurrency_most:
                return
            count = min(2 * count, limits.concurrency_most)
        while self.crowd_end is not None:
            low = self.crowd_best.concurrency if self.crowd_best else 0
            high = self.crowd_end.concurrency
            if high - low <= max(1.0, limits.resolution_ratio * low):
                return
            found = await self.step(CONCURRENCY, target, (low + high) // 2)
            if found.verdict == "ok":
                self.crowd_best = found
            else:
                self._place(found)

    def edge(self, ended: str, facts: Mapping[str, Any]) -> MemoryEdge:
        """What was found, whole or in part."""
        steps = tuple(self.steps)
        requests = sum(one.requests_count for one in steps)
        dead = sum(one.out_of_memory_count for one in steps)
        best, margin, safe = self._safe()
        length = self.length
        counted = length is not None and length.input_tokens is not None
        stated = next((one for one in steps if one.limit_tokens is not None), None)
        crowds = [one for one in steps if one.stage == CONCURRENCY]
        memory: dict[str, float] = {}
        for one in steps:
            for card, value in (one.memory_most_bytes or {}).items():
                memory[card] = max(value, memory.get(card, 0.0))
        kv_tokens = facts.get("kv_tokens")
        reserved = facts.get("kv_reserved_bytes")
        totals = dict(self.memory_total_bytes)
        for card in facts.get("gpus", ()):
            if card.get("memory_total_bytes"):
                totals.setdefault(f"gpu.{card['gpu']}", card["memory_total_bytes"])
        return MemoryEdge(
            context_tokens_most=(length.input_tokens if counted else length.context_tokens)
            if length
            else None,
            context_counted_by=("usage" if counted else "client") if length else "",
            context_ended_by=self.length_end.verdict if self.length_end else "limit" if length else "",
            context_told_tokens=stated.limit_tokens if stated else None,
            context_verified=self.verified,
            concurrency_context_tokens=crowds[0].context_tokens if crowds else None,
            concurrency_most=best.concurrency if best else None,
            concurrency_edge=self.crowd_end.concurrency if self.crowd_end else None,
            concurrency_ended_by=self.crowd_end.verdict if self.crowd_end else "limit" if best else "",
            safe_concurrency=safe,
            margin_ratio=margin,
            kv_tokens=kv_tokens,
            kv_used_ratio_most=max(
                (one.kv_used_ratio_most for one in steps if one.kv_used_ratio_most is not None), default=None
            ),
            kv_bytes_per_token=reserved / kv_tokens if reserved and kv_tokens else None,
            kv_unused_ratio=_unused(crowds),
            memory_most_bytes=memory,
            memory_total_bytes=totals,
            requests_count=requests,
            refused_count=sum(
                one.requests_count for one in steps if one.verdict in ("too-long", "turned-away")
            ),
            out_of_memory_count=dead,
            out_of_memory_ratio=dead / requests if requests else None,
            crashed_steps_count=sum(one.verdict in DEADLY for one in steps),
            ended=ended,
            steps=steps,
            others_most=max((one.others_count for one in steps), default=0),
        )

    def _safe(self) -> tuple[Step | None, float, int | None]:
        """The highest concurrency that went well, the margin kept free of it, and what to run with.

        Nothing is kept free where no edge was found, and where requests beyond it only wait for a place while the cache
        has room: neither is an edge of memory.
        """
        best, end = self.crowd_best, self.crowd_end
        if best is None:
            return None, 0.0, None
        died = any(one.verdict in DEADLY for one in self.steps if one.stage == CONCURRENCY)
        if died:
            margin = self.limits.margin_after_death_ratio
        elif end is None or (end.verdict == "queued" and (end.kv_used_ratio_most or 0.0) < ROOM_RATIO):
            margin = 0.0
        else:
            margin = self.limits.margin_ratio
        return best, margin, max(1, int(best.concurrency * (1 - margin) + 1e-9))


def _unused(crowds: list[Step]) -> float | None:
    """Share of the used cache that held no token, where all requests were in at once and the engine says what it used.

    A sample that missed the peak shows less than was held: then it isn't known.
    """
    for one in reversed(crowds):
        whole = one.running_most is not None and one.running_most >= one.concurrency
        if one.verdict == "ok" and whole and one.held_tokens and one.kv_used_tokens_most:
            ratio = 1 - one.held_tokens / one.kv_used_tokens_most
            if ratio >= 0:
                return ratio
    return None
