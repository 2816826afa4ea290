"""A loop whose time is made, and servers in it whose waits theory knows."""

import asyncio
import random

from cabida.bench.outcome import Ask, Outcome


class VirtualLoop(asyncio.SelectorEventLoop):
    """Nobody waits: when nothing is ready, time jumps to the next timer."""

    def __init__(self):
        super().__init__()
        self.virtual_s = 1000.0
        select = self._selector.select

        def jump(timeout=None):
            events = select(0)
            if not events:
                assert timeout is not None, "everything waits for ever"
                self.virtual_s += max(0.0, timeout)
            return events

        self._selector.select = jump

    def time(self):
        return self.virtual_s


def virtually(make):
    """Run ``make(clock)``, a coroutine, in virtual time."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(make(loop.time))
    finally:
        loop.close()


class FakeWire:
    """One attempt takes what ``serve(ask, arrived_s)`` says: (verdict, first token s, end s), absolute times."""

    def __init__(self, clock, serve):
        self.clock, self.serve = clock, serve
        self.asked, self.abandoned = [], []
        self.now_count = self.most_count = 0

    async def ask(self, ask):
        sent_s = self.clock()
        self.asked.append((ask.id, ask.attempt, sent_s, ask.intended_s))
        self.now_count += 1
        self.most_count = max(self.most_count, self.now_count)
        try:
            verdict, first_s, end_s, *more = self.serve(ask, sent_s)
            await asyncio.sleep(max(0.0, end_s - sent_s))
        finally:
            self.now_count -= 1
        return Outcome(
            ask.id, ask.attempt, ask.intended_s, verdict, sent_s=sent_s, first_token_s=first_s, last_token_s=end_s,
            ended_s=self.clock(), output_tokens=10, retry_after_s=more[0] if more else None,
        )  # fmt: skip

    def abandon(self, ask):
        self.abandoned.append(ask.id)
        return Outcome(ask.id, ask.attempt, ask.intended_s, "cancelled", ended_s=self.clock())


def queue(mean_s, servers_count=1, *, law="exponential", seed=5, first_s=0.0):
    """First come, first served by so many servers."""
    chance, free = random.Random(seed), [0.0] * servers_count

    def serve(ask, arrived_s):
        place = min(range(servers_count), key=free.__getitem__)
        begun_s = max(arrived_s, free[place])
        free[place] = begun_s + (chance.expovariate(1.0 / mean_s) if law == "exponential" else mean_s)
        return "ok", begun_s + first_s, free[place]

    return serve


def fixed(seconds, verdict="ok"):
    return lambda ask, arrived_s: (verdict, arrived_s + seconds / 2, arrived_s + seconds)


def plain_asks(name="run", count=None):
    index = 0
    while count is None or index < count:
        yield Ask(f"{name}/{index}", b"{}", 0.0)
        index += 1
