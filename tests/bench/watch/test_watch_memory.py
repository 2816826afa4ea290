"""The ramp to the edge of memory, against an engine of which the edges are known."""

import asyncio
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.bench.outcome import Outcome
from cabida.bench.watch import MemoryLimits, Tried, ramp, sentences
from cabida.bench.watch.memory import GRAVITY, judged
from cabida.bench.watch.told import verdict_words
from cabida.text import use_language

OUTPUT = 16


class Engine:
    """An engine with a context, a cache in blocks, slots, and a way to fall.

    ``ratio``: tokens it counts for each of the client's. ``dies_at_tokens``: memory ends there, and how.
    """

    def __init__(self, context=4096, kv_tokens=50_000, block=16, slots=10_000, ratio=1.0, says="vllm", admits="preempt",
                 dies_at_tokens=None, dies="oom", comes_back=True, watched=True):  # fmt: skip
        self.context, self.kv_tokens, self.block, self.slots, self.ratio = (
            context,
            kv_tokens,
            block,
            slots,
            ratio,
        )
        self.says, self.admits, self.watched = says, admits, watched
        self.dies_at_tokens, self.dies, self.comes_back = dies_at_tokens, dies, comes_back
        self.preempted, self.asked, self.up = 0, [], True

    async def ask_at(self, context_tokens, concurrency):
        await asyncio.sleep(0)
        self.asked.append((context_tokens, concurrency))
        tokens = round(context_tokens * self.ratio)
        if not self.up:
            return self.tried(concurrency, "refused", alive=False)
        if tokens + OUTPUT > self.context:
            return self.too_long(tokens, concurrency)
        held = (tokens + OUTPUT) * concurrency
        if self.dies_at_tokens is not None and held > self.dies_at_tokens:
            return self.fall(concurrency)
        used = math.ceil((tokens + OUTPUT) / self.block) * self.block * min(concurrency, self.slots)
        rows = {
            "running_count": min(concurrency, self.slots),
            "waiting_count": max(0, concurrency - self.slots),
        }
        if used > self.kv_tokens:
            if self.admits == "preempt":
                self.preempted += 1
            else:
                rows["waiting_count"] += 1
                rows["running_count"] = self.kv_tokens // (used // concurrency)
            used = self.kv_tokens * 0.95 if self.admits == "queue" else self.kv_tokens
        rows |= {
            "kv_used_ratio": used / self.kv_tokens,
            "kv_used_tokens": used,
            "preemptions_count": self.preempted,
            "gpu.0.memory_used_bytes": 30e9 + used * 1e5,
            "gpu.0.memory_total_bytes": 80e9,
        }
        return self.tried(concurrency, "ok", tokens=tokens, rows=rows, alive=True)

    def too_long(self, tokens, concurrency):
        if self.says == "vllm":
            why = f"maximum context length is {self.context} tokens. However, you requested {tokens + OUTPUT} tokens"
        elif self.says == "llama.cpp":
            why = f"request ({tokens} tokens) exceeds the available context size ({self.context} tokens), try"
        elif self.says == "wrong":
            why = f"This model's maximum context length is {self.context * 2} tokens."
        elif self.says == "cut":
            return self.tried(concurrency, "ok", tokens=self.context // 2, alive=True)
        else:
            why = "bad request"
        return self.tried(concurrency, "rejected", why=why, status=400, alive=True)

    def fall(self, concurrency):
        if self.dies == "oom":
            return self.tried(
                concurrency, "server-error", why="CUDA out of memory. Tried to allocate", alive=True
            )
        if self.dies == "log":
            rows = {"event": "log", "sign": "out-of-memory", "count": 1}
            return self.tried(concurrency, "reset", alive=False, event=rows)
        self.up = False
        return self.tried(concurrency, "reset", alive=False)

    def tried(self, count, verdict, tokens=None, why="", status=200, rows=None, alive=None, event=None):
        outcomes = tuple(
            Outcome(
                f"memory/{at}", 0, 0.0, verdict, why=why, status=status, input_tokens=tokens,
                wanted_output_tokens=OUTPUT, output_tokens=OUTPUT if tokens else None,
                counted_by="usage" if tokens else "",
            )
            for at in range(count)
        )  # fmt: skip
        seen = tuple(one for one in (rows, event) if one) if self.watched else ()
        return Tried(outcomes, seen, alive)

    async def back(self):
        self.up = self.up or self.comes_back
        return self.up


def ramped(engine, **limits):
    facts = (
        {"kv_tokens": engine.kv_tokens, "kv_reserved_bytes": engine.kv_tokens * 131_072}
        if engine.watched
        else {}
    )
    return asyncio.run(
        ramp(engine.ask_at, MemoryLimits(**limits), facts=facts, back=engine.back, back_within_s=0.01)
    )


def test_an_engine_that_names_its_limit_is_taken_at_its_word_once_it_kept_it():
    engine = Engine(context=4096, kv_tokens=50_000)
    edge = ramped(engine, context_target_tokens=1000)
    assert edge.context_told_tokens == 4096
    assert edge.context_verified is True
    assert 4096 - OUTPUT - 32 <= edge.context_tokens_most <= 4096 - OUTPUT
    assert (edge.context_ended_by, edge.context_counted_by) == ("too-long", "usage")
    # 1016 tokens a request are 64 blocks of 16 = 1024 tokens; 48 of them fit in 50,000
    assert (edge.concurrency_most, edge.concurrency_edge) == (48, 49)
    assert edge.concurrency_ended_by == "preempted"
    assert edge.safe_concurrency == 43
    assert edge.margin_ratio == 0.1
    assert edge.kv_unused_ratio == pytest.approx(1 - 1016 / 1024)
    assert edge.kv_bytes_per_token == 131_072
    assert edge.memory_most_bytes["gpu.0"] == 30e9 + 50_000 * 1e5
    assert edge.memory_total_bytes == {"gpu.0": 80e9}
    assert edge.out_of_memory_count == 0
    assert edge.ended == "found"
    assert edge.measured == {
        "fits": True,
        "kv_cache_tokens": 50_000,
        "peak_gib_per_gpu": round(35e9 / 2**30, 4),
        "peak_gib_total": round(35e9 / 2**30, 4),
    }
    json.dumps(edge.plain())
    assert len([one for one in engine.asked if one[1] == 1 and one[0] > 128]) < 10  # it isn't searched for


@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.7])
@pytest.mark.parametrize("says", ["vllm", "llama.cpp", "wrong", "nothing"])
def test_the_longest_prompt_is_found_however_the_engine_counts_and_whatever_it_says(says, ratio):
    engine = Engine(context=3000, kv_tokens=10**9, ratio=ratio, says=says)
    edge = ramped(engine, concurrency_most=2)
    most = 3000 - OUTPUT
    assert edge.context_tokens_most <= most
    assert edge.context_tokens_most >= most - max(2 * OUTPUT + 2, 0.025 * most, 18 * ratio)
    assert edge.context_verified is {"wrong": False, "nothing": None}.get(says, True)


def test_a_prompt_that_is_cut_in_silence_is_no_prompt_that_fits():
    edge = ramped(Engine(context=2000, kv_tokens=10**9, says="cut"), concurrency_most=2)
    assert edge.context_ended_by == "cut"
    assert 1900 <= edge.context_tokens_most <= 2000 - OUTPUT


def test_slots_make_a_queue():
    edge = ramped(Engine(slots=6, kv_tokens=10**9), context_target_tokens=100)
    assert (edge.concurrency_most, edge.concurrency_edge, edge.concurrency_ended_by) == (6, 7, "queued")
    assert (edge.safe_concurrency, edge.margin_ratio) == (6, 0.0)  # beyond it they wait, and nothing breaks


def test_a_cache_that_is_full_makes_a_queue_where_nothing_is_preempted():
    edge = ramped(Engine(kv_tokens=10_000, admits="queue"), context_target_tokens=1000)
    assert (edge.concurrency_most, edge.concurrency_ended_by) == (9, "queued")
    assert (edge.safe_concurrency, edge.margin_ratio) == (8, 0.1)


@pytest.mark.parametrize(
    ("dies", "verdict"), [("oom", "out-of-memory"), ("log", "out-of-memory"), ("crash", "crash")]
)
def test_memory_that_runs_out_is_told_from_a_refusal_and_keeps_a_wider_margin(dies, verdict):
    engine = Engine(kv_tokens=10**9, dies_at_tokens=20_000, dies=dies)
    edge = ramped(engine, context_target_tokens=984, deaths_most=100)
    assert (edge.concurrency_most, edge.concurrency_ended_by) == (20, verdict)
    assert (edge.margin_ratio, edge.safe_concurrency) == (0.2, 16)
    assert edge.crashed_steps_count == sum(one.verdict == verdict for one in edge.steps) >= 1
    assert edge.refused_count >= 1  # the prompt that was too long is no crash
    if dies == "oom":
        dead = [one for one in edge.steps if one.verdict == verdict]
        assert edge.out_of_memory_count == sum(one.requests_count for one in dead)
        assert edge.out_of_memory_ratio == pytest.approx(edge.out_of_memory_count / edge.requests_count)


def test_a_server_falls_no_oftener_than_it_may():
    engine = Engine(kv_tokens=10**9, dies_at_tokens=20_000, dies="crash")
    edge = ramped(engine, context_target_tokens=984, deaths_most=2)
    assert edge.ended == "deaths"
    assert edge.crashed_steps_count == 2
    assert (edge.concurrency_most, edge.concurrency_edge) == (16, 24)
    assert edge.safe_concurrency == 12


def test_a_server_that_does_not_come_back_ends_the_ramp():
    engine = Engine(kv_tokens=10**9, dies_at_tokens=20_000, dies="crash", comes_back=False)
    edge = ramped(engine, context_target_tokens=984)
    assert (edge.ended, edge.concurrency_ended_by, edge.concurrency_most) == ("server-gone", "crash", 16)


def test_without_metrics_only_failures_are_an_edge():
    edge = ramped(Engine(context=1000, kv_tokens=10, watched=False), concurrency_most=8)
    assert edge.concurrency_most == 8
    assert edge.concurrency_ended_by == "limit"
    assert (edge.safe_concurrency, edge.margin_ratio) == (8, 0.0)
    assert (edge.kv_tokens, edge.kv_unused_ratio, edge.kv_used_ratio_most, edge.kv_bytes_per_token) == (
        None,
    ) * 4
    assert edge.memory_most_bytes == {}


def test_nothing_that_answers_is_no_edge():
    engine = Engine()
    engine.up, engine.comes_back = False, False
    edge = ramped(engine)
    assert edge.context_tokens_most is None
    assert (edge.concurrency_most, edge.safe_concurrency) == (None, None)
    assert edge.measured["fits"] is False
    assert edge.ended == "server-gone"


@pytest.mark.parametrize(
    ("limits", "ended"),
    [({"steps_most": 4}, "steps"), ({"requests_most": 5}, "requests"), ({"duration_s": -1.0}, "time")],
)
def test_a_ramp_ends_with_its_limits(limits, ended):
    engine = Engine()
    edge = ramped(engine, **limits)
    assert edge.ended == ended
    assert len(edge.steps) <= 5
    assert len(engine.asked) == len(edge.steps)


def test_others_on_the_server_are_told():
    engine = Engine()
    alone = engine.ask_at

    async def beside(context_tokens, concurrency):
        found = await alone(context_tokens, concurrency)
        rows = tuple({**row, "running_count": row["running_count"] + 3} for row in found.rows * 2)
        return Tried(found.outcomes, rows, found.alive)

    engine.ask_at = beside
    edge = ramped(engine, concurrency_most=4, context_target_tokens=100)
    assert edge.others_most == 3
    assert any("of others" in text for text in sentences(edge))


def test_a_run_that_is_stopped_stops_the_ramp():
    async def ask_at(_, count):
        return Tried(tuple(Outcome(f"m/{at}", 0, 0.0, "cancelled") for at in range(count)))

    edge = asyncio.run(ramp(ask_at))
    assert (edge.ended, len(edge.steps)) == ("stopped", 1)


@settings(max_examples=60, deadline=None)
@given(
    context=st.integers(400, 20_000),
    kv_tokens=st.integers(2_000, 500_000),
    block=st.sampled_from([1, 16, 128]),
    slots=st.integers(1, 200),
    says=st.sampled_from(["vllm", "llama.cpp", "nothing", "cut"]),
    admits=st.sampled_from(["preempt", "queue"]),
    target=st.integers(50, 300),
)
def test_the_edge_found_is_the_edge_there_is(context, kv_tokens, block, slots, says, admits, target):
    """What is recommended goes well on the engine, and one step beyond the edge does not."""
    engine = Engine(context, kv_tokens, block, slots, says=says, admits=admits)
    edge = ramped(
        engine, context_target_tokens=target, concurrency_most=256, steps_most=200, requests_most=10**6
    )
    assert edge.ended == "found"
    each = math.ceil((target + OUTPUT) / block) * block
    most = min(slots, kv_tokens // each, 256)
    if edge.concurrency_most is not None and most >= 1:
        assert edge.concurrency_most <= max(1, most)
        full = [one for one in range(1, most + 1) if each * one / kv_tokens >= 0.99]
        true = min(most, min(full) - 1 if full else most)
        assert edge.concurrency_most >= true * 0.97 - 1
        assert edge.safe_concurrency <= edge.concurrency_most
    assert sum(one[1] for one in engine.asked) == edge.requests_count


def tried(*outcomes, rows=(), alive=None):
    """Four requests: these, and the last of them again."""
    every = [*outcomes, *[outcomes[-1]] * (4 - len(outcomes))]
    return Tried(tuple(every), tuple(rows), alive)


def outcome(verdict="ok", why="", status=200, **more):
    return Outcome("m/0", 0, 0.0, verdict, why=why, status=status, **more)


@pytest.mark.parametrize(
    ("made", "verdict"),
    [
        (tried(outcome()), "ok"),
        (tried(outcome("rate-limited", status=429)), "turned-away"),
        (tried(outcome("server-error", "server: queue is full", 503)), "turned-away"),
        (tried(outcome("server-error", "oops", 500)), "error"),
        (tried(outcome("timeout", "first-token")), "timeout"),
        (tried(outcome("reset"), alive=True), "error"),
        (tried(outcome("reset"), alive=None), "crash"),
        (tried(outcome("truncated"), alive=False), "crash"),
        (tried(outcome("stream-error", "EngineCore encountered an issue. See stack trace", 200)), "crash"),
        (tried(outcome(), rows=[{"event": "gpu-lost", "gpu": 0}]), "gpu-lost"),
        (tried(outcome(), rows=[{"event": "server-restarted"}]), "crash"),
        (tried(outcome(), rows=[{"event": "log", "sign": "preemption"}]), "preempted"),
        (tried(outcome(), rows=[{"preemptions_count": 3.0}]), "preempted"),
        (tried(outcome(), rows=[{"kv_used_ratio": 0.995}]), "full"),
        (tried(outcome(), rows=[{"kv_used_ratio": 0.5, "kv_used_ratio.most": 1.0}]), "full"),
        (tried(outcome(), rows=[{"log.kv_used_ratio": 1.0}]), "full"),
        (tried(outcome(), rows=[{"waiting_count": 2, "running_count": 1}]), "queued"),
        (tried(outcome(), rows=[{"waiting_count": 2, "running_count": 4}, {"waiting_count": 0}]), "ok"),
        (tried(outcome(), rows=[{"waiting_count": 1}, {"waiting_count": 0}, {"waiting_count": 0}]), "ok"),
        (tried(outcome(), outcome("server-error", "HIP out of memory")), "out-of-memory"),
    ],
)
def test_a_step_is_judged_by_the_gravest_that_was_seen(made, verdict):
    assert judged("concurrency", 100, 4, made).verdict == verdict


def test_requests_that_were_never_sent_show_nothing():
    assert judged("concurrency", 100, 4, Tried((outcome(),))).verdict == "cancelled"
    assert judged("concurrency", 100, 4, Tried(())).verdict == "cancelled"


def test_preemptions_of_before_are_not_counted_again():
    rows = [{"preemptions_count": 5.0}]
    assert judged("concurrency", 100, 4, tried(outcome(), rows=rows), preempted_before=5.0).verdict == "ok"


def test_sentences_in_both_languages():
    edges = [
        ramped(Engine(kv_tokens=10**5, dies_at_tokens=20_000), context_target_tokens=984, deaths_most=1),
        ramped(Engine(says="wrong")),
        ramped(Engine(), concurrency_most=1),
    ]
    for language in ("en", "es"):
        use_language(language)
        try:
            told = [sentences(edge) for edge in edges]
            assert len({verdict_words(one) for one in GRAVITY}) == len(GRAVITY)
        finally:
            use_language("en")
        assert all("{" not in text and "?" not in text for one in told for text in one)
        assert len(told[0]) == 7
    assert "20 %" in " ".join(sentences(edges[0]))
