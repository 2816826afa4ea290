"""How far this machine's client can be trusted: it is held against a server of known truth, at more and more streams.

The server logs when it received each request and when it truly sent; both processes read one clock. A level is
**trusted** when the client was off by no more than it may be, and **honest** when it was trusted or said itself that it
was the bottleneck.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import orjson

from cabida.bench.load.bound import quantile
from cabida.bench.selfcheck.sendlog import Sent
from cabida.bench.selfcheck.starting import Calibrated, calibrated
from cabida.errors import EndpointFailed
from cabida.text import problem

STREAMS = (1, 16, 64, 128, 256)
PACED = "mock,ttft=100,itl=10,n={tokens}"  # 100 tokens a second each
AT_ONCE = "mock,ttft=0,itl=0,n=16"
LIGHT_STREAMS, LIGHT_REQUESTS = 64, 4000
MEAN_ERROR_MOST_RATIO = 0.12
P99_ERROR_MOST_RATIO = 0.25
WITHIN_S = 300.0


@dataclass(frozen=True, slots=True)
class Figures:
    """Mean, median and 99th percentile, seconds; ``None`` where nothing was measured."""

    mean_s: float | None = None
    p50_s: float | None = None
    p99_s: float | None = None


@dataclass(frozen=True, slots=True)
class Level:
    """One number of streams.

    Attributes:
        streams: answers at once. requests_count: asked; joined_count: of which server and client both tell.
        failed_count: that the client called anything but ok; lost_count: that the server served and it never told.
        true_ttft: from receipt to first send, by the server's log; ttft: as the client has it. true_tpot, tpot: per
            token after the first. reported_ttft: of the requests whose latencies it gives as the server's; empty
            figures when it withholds all.
        cpu_s_per_request, rss_bytes: what the client took. server_late_s: what its 99th percentile of lateness was.
        flagged: it said that it was the bottleneck; why: its words.
    """

    streams: int
    requests_count: int
    joined_count: int
    failed_count: int
    lost_count: int
    true_ttft: Figures
    ttft: Figures
    reported_ttft: Figures
    true_tpot: Figures
    tpot: Figures
    cpu_s_per_request: float
    cpu_ratio: float
    rss_bytes: int | None
    server_late_s: float
    flagged: bool
    why: str = ""

    @property
    def mean_error_ratio(self) -> float | None:
        """How far the mean time to the first token is off."""
        return off_ratio(self.ttft.mean_s, self.true_ttft.mean_s)

    @property
    def p99_error_ratio(self) -> float | None:
        """How far its 99th percentile is off."""
        return off_ratio(self.ttft.p99_s, self.true_ttft.p99_s)

    @property
    def is_near(self) -> bool:
        """Within the error allowed, nothing lost."""
        mean, p99 = self.mean_error_ratio, self.p99_error_ratio
        if mean is None or p99 is None or self.lost_count or self.failed_count:
            return False
        return abs(mean) <= MEAN_ERROR_MOST_RATIO and abs(p99) <= P99_ERROR_MOST_RATIO

    @property
    def is_trusted(self) -> bool:
        """Its latencies can be taken for the server's."""
        return self.is_near and not self.flagged

    @property
    def is_honest(self) -> bool:
        """It was near the truth, or it said that it wasn't."""
        return self.is_near or self.flagged


@dataclass(frozen=True, slots=True)
class SelfTest:
    """All levels, and what a short request costs.

    Attributes:
        cpu_s_per_light_request: processor time of a streamed answer of 16 tokens, everything included.
        light_per_s: such requests per second that the client saw through.
        cores_count: of this machine.
    """

    levels: tuple[Level, ...]
    cpu_s_per_light_request: float | None = None
    light_per_s: float | None = None
    rss_bytes: int | None = None
    cores_count: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))

    @property
    def trusted_streams(self) -> int | None:
        """Up to so many streams this client can be trusted on this machine; ``None`` = not even at the fewest."""
        best = None
        for level in self.levels:
            if not level.is_trusted:
                break
            best = level.streams
        return best

    @property
    def is_honest(self) -> bool:
        """Nowhere was it wrong without saying so."""
        return all(level.is_honest for level in self.levels)

    def as_dict(self) -> dict[str, Any]:
        """As plain data, for ``--json``."""
        told: dict[str, Any] = orjson.loads(orjson.dumps(self))
        for one, level in zip(told["levels"], self.levels, strict=True):
            one |= {
                "mean_error_ratio": level.mean_error_ratio,
                "p99_error_ratio": level.p99_error_ratio,
                "trusted": level.is_trusted,
                "honest": level.is_honest,
            }
        return told | {"trusted_streams": self.trusted_streams, "honest": self.is_honest}


def selftest(
    streams: Sequence[int] = STREAMS,
    *,
    rounds: int = 4,
    tokens: int = 100,
    light_requests: int = LIGHT_REQUESTS,
    told: Callable[[Level], None] = lambda _: None,
) -> SelfTest:
    """Holds this machine's client against the calibrated server; takes about 6 s for each number of streams.

    Args:
        streams: how many answers at once, ascending.
        rounds: requests of each stream (one stream: ten, of half the tokens).
        tokens: of each answer, 100 a second.
        light_requests: streamed answers of 16 tokens that the server gives at once, 64 at a time; 0 = none.
        told: called with each level as it is known.

    Raises:
        EndpointFailed: CB-N020 the server, CB-N021 the client did not start or end.
    """
    levels = []
    for count in streams:
        model = PACED.format(tokens=tokens if count > 1 else max(tokens // 2, 2))
        level = leveled(count, count * rounds if count > 1 else max(rounds, 10 * rounds // 4), model)
        levels.append(level)
        told(level)
    light = None
    if light_requests:
        with calibrated() as server:
            light = asked(server, AT_ONCE, LIGHT_STREAMS, light_requests)
    return SelfTest(
        tuple(levels),
        light["cpu_s"] / light_requests if light else None,
        light_requests / light["took_s"] if light else None,
        light["rss_bytes"] if light else None,
    )


def leveled(streams: int, requests: int, model: str) -> Level:
    """One level: a server of its own, our client, and the two logs joined request by request."""
    with calibrated() as server:
        found = asked(server, model, streams, requests)
        return joined(streams, found, server.sends())


def asked(server: Calibrated, model: str, streams: int, requests: int) -> dict[str, Any]:
    """What our client tells of a load, run in a process of its own.

    Raises:
        EndpointFailed: CB-N021, it told nothing.
    """
    order = {"url": server.url, "model": model, "streams": streams, "requests": requests}
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "cabida.bench.selfcheck.client"],
            input=orjson.dumps(order) + b"\n",
            capture_output=True,
            timeout=WITHIN_S,
            check=True,
        )
        found: dict[str, Any] = orjson.loads(done.stdout)
    except (subprocess.SubprocessError, ValueError) as error:
        said = getattr(error, "stderr", b"") or b""
        last = said.decode("utf-8", "replace").strip().splitlines()[-1:] or [str(error)[:200]]
        raise EndpointFailed(problem("CB-N021", why=last[0][:300])) from None
    return found


def joined(streams: int, found: dict[str, Any], sends: Sequence[Sent]) -> Level:
    """A level from the client's rows and the server's log, joined by the request's name."""
    served = {one.id: one for one in sends if one.id and not one.id.startswith("first/")}
    true_ttft, ttft, reported, true_tpot, tpot = [], [], [], [], []
    failed, seen = 0, set()
    for id_, verdict, intended_s, _, first_s, last_s, tokens, withheld in found["rows"]:
        seen.add(id_)
        truth = served.get(id_)
        if verdict != "ok":
            failed += 1
        if verdict != "ok" or truth is None or truth.ttft_s is None or first_s is None:
            continue
        true_ttft.append(truth.ttft_s)
        ttft.append(first_s - intended_s)
        if not withheld:
            reported.append(first_s - intended_s)
        if truth.tpot_s is not None and tokens and tokens > 1:
            true_tpot.append(truth.tpot_s)
            tpot.append((last_s - first_s) / (tokens - 1))
    return Level(
        streams=streams,
        requests_count=len(found["rows"]),
        joined_count=len(ttft),
        failed_count=failed,
        lost_count=len(set(served) - seen),
        true_ttft=figures(true_ttft),
        ttft=figures(ttft),
        reported_ttft=figures(reported),
        true_tpot=figures(true_tpot),
        tpot=figures(tpot),
        cpu_s_per_request=found["cpu_s"] / max(len(found["rows"]), 1),
        cpu_ratio=found["cpu_s"] / found["took_s"],
        rss_bytes=found["rss_bytes"],
        server_late_s=quantile([one.late_most_us / 1e6 for one in sends], 0.99) or 0.0,
        flagged=found["flagged"],
        why=found["why"],
    )


def figures(values: Sequence[float]) -> Figures:
    """Mean, median and 99th percentile of some values."""
    if not values:
        return Figures()
    return Figures(fmean(values), quantile(values, 0.5), quantile(values, 0.99))


def off_ratio(told: float | None, true: float | None) -> float | None:
    """How far ``told`` is from the truth, as a share of it."""
    return None if told is None or not true else told / true - 1
