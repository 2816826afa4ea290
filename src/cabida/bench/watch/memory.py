"""What asking for more and more memory showed: the nouns of phase 1, and how one step of it is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cabida.bench.outcome import Outcome
from cabida.bench.watch.refusals import Refusal, is_dead, is_full, is_out_of_memory, is_too_long, refusal

FULL_RATIO = 0.99  # of the KV cache: blocks are handed out whole, so 1 may never be seen
WAITING_SHARE = (
    1 / 3
)  # of samples, or WAITING_COUNT of them: a burst waits a moment even where memory is plenty
WAITING_COUNT = 2
WAITING_SHARE_ALONE = 1 / 2  # where nobody says how many run
GIB = 2**30
# a step is the first of these that anything in it says
GRAVITY = (
    "out-of-memory", "gpu-lost", "crash", "too-long", "cut", "turned-away", "timeout", "error",
    "preempted", "full", "queued", "cancelled", "ok",
)  # fmt: skip
DEADLY = ("out-of-memory", "gpu-lost", "crash")  # the server may be gone, or the next request may find it so


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of ``concurrency`` requests at once.

    Attributes:
        outcomes: one a request, the final attempt.
        rows: the watcher's, sampled from before the first was sent until after the last ended.
        alive: whether the server answers afterwards; ``None`` = nobody looked.
    """

    outcomes: tuple[Outcome, ...]
    rows: tuple[Mapping[str, Any], ...] = ()
    alive: bool | None = None


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    """How far a ramp goes.

    Attributes:
        context_tokens_least, context_tokens_most: prompt lengths, as the client counts.
        context_target_tokens: length at which concurrency is raised; ``None`` = the longest that was accepted.
        concurrency_most: requests at once.
        steps_most, requests_most, duration_s: it ends with the first of them that is reached.
        resolution_ratio: how exactly an edge is found.
        deaths_most: how often the server may die of it before no more is asked.
        margin_ratio, margin_after_death_ratio: kept free of the highest concurrency that went well, where the edge was
            preemptions, a full cache or requests turned away, and where it was a crash or memory that ran out.
    """

    context_tokens_least: int = 128
    context_tokens_most: int = 131_072
    context_target_tokens: int | None = None
    concurrency_most: int = 1024
    steps_most: int = 64
    requests_most: int = 20_000
    duration_s: float = 1800.0
    resolution_ratio: float = 0.02
    deaths_most: int = 2
    margin_ratio: float = 0.1
    margin_after_death_ratio: float = 0.2


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the ramp.

    Attributes:
        stage: context or concurrency.
        verdict: one of GRAVITY. why: in the server's words, where it said any.
        limit_tokens, asked_tokens: what a refusal says it takes, and was asked for.
        input_tokens: of one prompt, as the server counted; ``None`` = it didn't say.
        held_tokens: prompts and answers of all requests together, as the server counted.
        running_most, waiting_most, kv_used_ratio_most, kv_used_tokens_most: peaks of what was watched.
        preemptions_count: during this step.
        out_of_memory_count: requests that ended for want of memory.
        others_count: requests that ran beyond the step's own, in at least two samples (one may be of the step before).
    """

    stage: str
    context_tokens: int
    concurrency: int
    verdict: str
    why: str = ""
    limit_tokens: int | None = None
    asked_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    held_tokens: int | None = None
    running_most: float | None = None
    waiting_most: float | None = None
    kv_used_ratio_most: float | None = None
    kv_used_tokens_most: float | None = None
    preemptions_count: int | None = None
    out_of_memory_count: int = 0
    requests_count: int = 0
    memory_most_bytes: Mapping[str, float] | None = None
    others_count: int = 0


@dataclass(frozen=True, slots=True)
class MemoryEdge:
    """Where memory ends, as measured. ``None`` = not found out.

    Attributes:
        context_tokens_most: longest prompt that was answered, as the server counted it (as the client did where the
            server doesn't count; ``context_counted_by`` says which: "usage" or "client").
        context_ended_by: verdict beyond it, or "limit": the ramp went no further.
        context_told_tokens: what the engine itself names as its limit; ``context_verified``: whether a prompt that
            fills it was answered, and none within it refused.
        concurrency_context_tokens: prompt length at which concurrency was raised.
        concurrency_most: highest that went without preemption, queue or failure; ``concurrency_ended_by``: what came
            beyond it, at ``concurrency_edge``.
        safe_concurrency: what to run with; ``margin_ratio`` was kept free for it.
        kv_tokens, kv_used_ratio_most, kv_bytes_per_token, kv_unused_ratio: the engine's cache: its size, the most in
            use, its bytes by token, and the share of used room that held no token (blocks partly filled).
        memory_most_bytes, memory_total_bytes: by card (``gpu.0``).
        requests_count, refused_count, out_of_memory_count, crashed_steps_count: what it took.
        out_of_memory_ratio: requests that ended for want of memory, of all.
        ended: why the ramp ended: "found", "steps", "requests", "time", "deaths" (it fell as often as it may),
            "server-gone" (it fell and did not come back) or "stopped".
        others_most: requests of others that ran or waited beside a step's own, at most: what they held is not counted.
    """

    context_tokens_most: int | None
    context_counted_by: str
    context_ended_by: str
    context_told_tokens: int | None
    context_verified: bool | None
    concurrency_context_tokens: int | None
    concurrency_most: int | None
    concurrency_edge: int | None
    concurrency_ended_by: str
    safe_concurrency: int | None
    margin_ratio: float
    kv_tokens: float | None
    kv_used_ratio_most: float | None
    kv_bytes_per_token: float | None
    kv_unused_ratio: float | None
    memory_most_bytes: Mapping[str, float]
    memory_total_bytes: Mapping[str, float]
    requests_count: int
    refused_count: int
    out_of_memory_count: int
    out_of_memory_ratio: float | None
    crashed_steps_count: int
    ended: str
    steps: tuple[Step, ...]
    others_most: int = 0

    def plain(self) -> dict[str, Any]:
        """The same as plain data, for the journal."""
        return asdict(self)

    @property
    def measured(self) -> dict[str, Any]:
        """What is known of it under the names of an observation: joined with a prediction by those."""
        found: dict[str, Any] = {"fits": self.context_tokens_most is not None}
        if self.kv_tokens is not None:
            found["kv_cache_tokens"] = int(self.kv_tokens)
        if self.memory_most_bytes:
            found["peak_gib_per_gpu"] = round(max(self.memory_most_bytes.values()) / GIB, 4)
            found["peak_gib_total"] = round(sum(self.memory_most_bytes.values()) / GIB, 4)
        return found


def judged(
    stage: str,
    context_tokens: int,
    concurrency: int,
    tried: Tried,
    *,
    tokens_ratio: float | None = None,
    preempted_before: float = 0.0,
) -> Step:
    """One step with its verdict: the gravest of what its requests, its samples and its log say.

    Args:
        stage: context or concurrency.
        context_tokens: Prompt tokens asked for, as the client counts.
        concurrency: Requests at once.
        tried: What became of them.
        tokens_ratio: Tokens the server counted for each the client did, on prompts known to be whole; a prompt that
            counts less than four fifths of it was cut short in silence.
        preempted_before: Preemptions that the watcher had counted before.
    """
    causes = [cause(one) for one in tried.outcomes]
    found = {name for name, _ in causes}
    rows = tried.rows
    found |= _signs(rows)
    if len(tried.outcomes) < concurrency:  # not all were sent: what they would have shown isn't known
        found.add("cancelled")
    if "broken" in found:  # connections broke: the server died, or something between did
        found.discard("broken")
        found.add("error" if tried.alive else "crash")
    if tried.alive is False:
        found.add("crash")
    ok = [one for one in tried.outcomes if one.verdict == "ok"]
    inputs = [one.input_tokens for one in ok if one.input_tokens is not None and one.counted_by == "usage"]
    if inputs and tokens_ratio and min(inputs) < 0.8 * tokens_ratio * context_tokens:
        found.add("cut")
    running, waiting = _peak(rows, "running_count"), _peak(rows, "waiting_count")
    used = _peak(rows, "kv_used_ratio.most", "kv_used_ratio")
    preempted = _peak(rows, "preemptions_count")
    preemptions = None if preempted is None else int(max(0.0, preempted - preempted_before))
    if preemptions:
        found.add("preempted")
    if used is not None and used >= FULL_RATIO:
        found.add("full")
    if _queued(rows, concurrency, running):
        found.add("queued")
    verdict = next(one for one in GRAVITY if one in found or one == "ok")
    told = next(
        ((why, text) for (name, why), text in zip(causes, tried.outcomes, strict=True) if name == verdict),
        None,
    )
    limit = told[0] if told else None
    held = [(one.input_tokens or 0) + (one.output_tokens or 0) for one in ok if one.input_tokens is not None]
    outputs = [one.output_tokens or one.wanted_output_tokens for one in tried.outcomes]
    return Step(
        stage=stage,
        context_tokens=context_tokens,
        concurrency=concurrency,
        verdict=verdict,
        why=told[1].why[:300] if told else "",
        limit_tokens=limit.limit_tokens if limit else None,
        asked_tokens=limit.asked_tokens if limit else None,
        input_tokens=min(inputs) if inputs else None,
        output_tokens=max((one for one in outputs if one), default=None),
        held_tokens=sum(held) if len(held) == len(tried.outcomes) and held else None,
        running_most=running,
        waiting_most=waiting,
        kv_used_ratio_most=used,
        kv_used_tokens_most=_peak(rows, "kv_used_tokens"),
        preemptions_count=preemptions,
        out_of_memory_count=sum(name == "out-of-memory" for name, _ in causes),
        requests_count=len(tried.outcomes),
        memory_most_bytes=_memory(rows),
        others_count=_others(rows, concurrency),
    )


def cause(one: Outcome) -> tuple[str, Refusal | None]:
    """What one request says: a verdict of GRAVITY or "broken", and the limit where it was refused for its length."""
    if one.verdict in ("ok", "cancelled"):
        return one.verdict, None
    text = one.why
    if is_out_of_memory(text):
        return "out-of-memory", None
    if is_dead(text):
        return "crash", None
    if one.verdict not in ("refused", "reset", "timeout", "dns", "tls") and is_too_long(text):
        return "too-long", refusal(text)
    if one.verdict == "rate-limited" or (one.status in (429, 503) and is_full(text)):
        return "turned-away", None
    if one.verdict in ("refused", "reset", "truncated"):
        return "broken", None
    return ("timeout" if one.verdict == "timeout" else "error"), None


def _signs(rows: tuple[Mapping[str, Any], ...]) -> set[str]:
    """What the log and the cards say."""
    found = set()
    for row in rows:
        event, sign = row.get("event"), row.get("sign")
        if event == "gpu-lost" or sign == "gpu-lost":
            found.add("gpu-lost")
        elif sign in ("out-of-memory", "crash"):
            found.add(str(sign))
        elif sign == "preemption":
            found.add("preempted")
        elif event == "server-restarted":
            found.add("crash")
    return found


def _queued(rows: tuple[Mapping[str, Any], ...], concurrency: int, running: float | None) -> bool:
    """Whether requests waited for each other: some did, and never were all of them at work at once."""
    names = ("waiting_count", "log.waiting_count")
    told = [float(row[name]) > 0 for name in names for row in rows if name in row]
    if not any(told):
        return False
    share = sum(told) / len(told)
    if running is None:
        return share >= WAITING_SHARE_ALONE
    return running < concurrency and (share >= WAITING_SHARE or sum(told) >= WAITING_COUNT)


def _peak(rows: tuple[Mapping[str, Any], ...], *names: str) -> float | None:
    """The most of the first of these that any sample has; of a log where no page has it."""
    for name in (*names, *(f"log.{one}" for one in names)):
        found = [float(row[name]) for row in rows if isinstance(row.get(name), int | float)]
        if found:
            return max(found)
    return None


def _others(rows: tuple[Mapping[str, Any], ...], concurrency: int) -> int:
    running = sorted(float(row["running_count"]) for row in rows if "running_count" in row)
    return max(0, int(running[-2]) - concurrency) if len(running) > 1 else 0


def _memory(rows: tuple[Mapping[str, Any], ...]) -> dict[str, float] | None:
    found: dict[str, float] = {}
    for row in rows:
        for name, value in row.items():
            if name.startswith("gpu.") and name.endswith(".memory_used_bytes"):
                card = name.removesuffix(".memory_used_bytes")
                found[card] = max(found.get(card, 0.0), float(value))
    return found or None
