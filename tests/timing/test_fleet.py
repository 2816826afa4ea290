"""Replicas, hand-over, speculation, adapters and prefixes: laws that hold for every run, and what each must do."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving_fixtures import CARD, IDLE

from cabida import facts
from cabida.plan import Deployment, Load, Parallel, Settings
from cabida.timing.engine.schedulers import ROWS, scheduler_of
from cabida.timing.queues import columns
from cabida.timing.queues.columns import READS, WRITES
from cabida.timing.queues.fleet import Adapters, Pool, fleet, requests
from cabida.timing.queues.pools import adapters_of
from cabida.timing.queues.routing import ROUTES
from cabida.timing.queues.simulate import simulate_pools
from cabida.timing.queues.speculative import (
    Drafting,
    accepted_moments,
    one_layer,
    paces,
)

LOAD = Load(800, 150, requests_per_s=12, input_spread_ratio=0.6, output_spread_ratio=0.6)
DRAFT = one_layer(CARD, 32)
SPECULATES = Drafting(3, 0.7, 3, 0.0, DRAFT.constants, DRAFT.table)


def drawn(count, seed, rate=20.0):
    rng = np.random.default_rng(seed)
    prompts = np.rint(rng.lognormal(6.0, 0.7, count)).clip(120, 3000)
    answers = np.rint(rng.lognormal(4.0, 0.9, count)).clip(1, 600)
    return np.cumsum(rng.exponential(1 / rate, count)), prompts, answers


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    replicas=st.integers(1, 4),
    routing=st.sampled_from(ROUTES),
    row=st.sampled_from(ROWS),
    kv_tokens=st.sampled_from([4000.0, 12_000.0, 200_000.0]),
    split=st.booleans(),
    speculates=st.booleans(),
    slots=st.sampled_from([0, 2]),
    prefix=st.sampled_from([0.0, 64.0]),
    kept=st.booleans(),
    ranks=st.sampled_from([1, 2]),
    clients=st.sampled_from([0, 7]),
)
def test_nothing_is_lost_and_nothing_left_behind(
    seed, replicas, routing, row, kv_tokens, split, speculates, slots, prefix, kept, ranks, clients
):
    """Every feature at once: all that fits is served once, in order, and at the end nothing is held any more."""
    model = replace(
        CARD, scheduler=row, mixed=row.mixed, reserve_ratio=row.reserve_ratio, kv_tokens=kv_tokens,
        budget_tokens=4096.0,
        sequences_most_count=8, ranks_count=ranks, shared_ratio=0.5 if ranks > 1 else 0.0,
    )  # fmt: skip
    drafting = SPECULATES if speculates else Drafting()
    adapters = Adapters(slots, 1e-4, 1e-5, 1e-3) if slots else None
    pools = (Pool(model, replicas, drafting=drafting, adapters=adapters),)
    if split:
        pools = (
            Pool(model, replicas, READS, 1e-3, 1e-7, adapters=adapters),
            Pool(model, 2, WRITES, drafting=drafting, adapters=adapters),
        )
    count = 80
    rng = np.random.default_rng(seed)
    asked = requests(
        *drawn(count, seed), prefix_tokens=prefix, group=rng.integers(-1, 3, count).astype(float),
        kept=float(kept), adapter=rng.integers(-1, 5, count).astype(float), luck=rng.random(count),
        pace_tokens=paces(drafting, np.full(count, 100.0), rng),
    )  # fmt: skip
    ready = fleet(pools, routing=routing, groups_count=3, adapters_count=5)
    rows = ready.serve(asked, clients=clients, think_s=0.01)
    served = rows[:, columns.LAST] >= 0
    totals, state = ready.totals, ready.arrays["state"]
    slot_tokens = kv_tokens / 8 if row.fixed_slots else kv_tokens
    size = rows[:, columns.INPUT] + rows[:, columns.OUTPUT]
    assert served[size + 10 < min(slot_tokens, kv_tokens)].all()
    assert totals[columns.REJECTED] == (~served).sum()
    assert (
        totals[columns.GENERATED] == pytest.approx(rows[served, columns.OUTPUT].sum() + 0.0, abs=1e-6 * count)
        or split
    )
    there = rows[served]
    assert (there[:, columns.SENT] <= there[:, columns.SCHEDULED] + 1e-12).all()
    assert (there[:, columns.SCHEDULED] < there[:, columns.FIRST]).all()
    assert (there[:, columns.FIRST] <= there[:, columns.LAST] + 1e-12).all()
    assert (ready.arrays["using"][:, :, columns.RUNNING] == 0).all()
    assert (ready.arrays["shelf"][:, :, columns.USERS] == 0).all()
    for name in ("ALIVE", "WAITING", "ADAPTED", "PINNED"):
        assert state[:, getattr(columns, name)] == pytest.approx(0.0, abs=1e-6), name
    assert np.isinf(state[:, columns.UNTIL]).all()
    cached = ready.arrays["shelf"][:, :, columns.CACHED].sum(axis=1)
    assert state[:, columns.RESIDENT] == pytest.approx(cached, abs=1e-6)


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 1000), rate=st.floats(2, 60), routing=st.sampled_from(["round-robin", "least-loaded"])
)
def test_an_added_replica_never_lowers_the_sustainable_rate(seed, rate, routing):
    """The sustained rate is the served one under arrivals without end; the same requests meet both fleets."""
    load = replace(LOAD, requests_per_s=rate, prompts_count=400)
    few = simulate_pools((Pool(CARD, 1),), load, {}, routing=routing, seed=seed)
    more = simulate_pools((Pool(CARD, 2),), load, {}, routing=routing, seed=seed)
    assert more.requests_per_s >= 0.995 * few.requests_per_s
    assert more.ttft_s.mean <= 1.02 * few.ttft_s.mean
    assert few.saturated or not more.saturated


def test_little_law_holds_over_several_replicas():
    asked = requests(*drawn(2000, 4, rate=30.0))
    ready = fleet((Pool(CARD, 3),), routing="least-loaded")
    rows = ready.serve(asked)
    in_service = (rows[:, columns.LAST] - rows[:, columns.SCHEDULED]).sum()
    waiting = (rows[:, columns.SCHEDULED] - rows[:, columns.SENT]).sum()
    assert ready.totals[columns.SEQUENCE_S] == pytest.approx(in_service, rel=1e-6)
    assert ready.totals[columns.WAITING_S] == pytest.approx(waiting, rel=1e-6)


def test_replicas_fed_by_chance_are_independent_queues():
    """Replicas fed by chance are independent M/M/1 queues: the mean stay is that of one (Burke, Jackson)."""
    one = replace(IDLE, table=tuple(1e-3 * 2.0 ** (p / 4) for p in range(69)), sequences_most_count=1)
    count, use = 60_000, 0.6
    rng = np.random.default_rng(5)
    work = rng.exponential(1000.0, count)
    asked = requests(
        np.cumsum(rng.exponential(1 / (4 * use), count)), work, np.ones(count), luck=rng.random(count)
    )
    rows = fleet((Pool(one, 4),), routing="random").serve(asked)
    stay = (rows[:, columns.LAST] - rows[:, columns.SENT]).mean()
    assert stay == pytest.approx(1 / (1 - use), rel=0.06)


@pytest.mark.parametrize(("better", "worse"), [("least-loaded", "round-robin"), ("two-choices", "random")])
def test_looking_at_loads_beats_not_looking(better, worse):
    load = replace(LOAD, requests_per_s=75, output_spread_ratio=1.2, prompts_count=3000)
    pools = (Pool(replace(CARD, sequences_most_count=24), 4),)
    found = {one: simulate_pools(pools, load, {}, routing=one).ttft_s.p95 for one in (better, worse)}
    assert found[better] < found[worse]


def test_a_router_that_knows_prefixes_finds_more_of_them_cached():
    load = replace(
        LOAD,
        shared_prefix_tokens=700,
        prefixes_count=120,
        requests_per_s=25,
        prompts_count=2000,
        input_spread_ratio=0.2,
    )
    pools = (Pool(replace(CARD, kv_tokens=60_000.0), 4),)
    aware, blind = (simulate_pools(pools, load, {}, routing=one) for one in ("prefix-aware", "round-robin"))
    assert aware.cached_ratio > 1.15 * blind.cached_ratio
    assert aware.ttft_s.mean < blind.ttft_s.mean


def test_conversations_find_what_was_said_before():
    load = replace(LOAD, turns_count=5, turn_gap_s=5.0, requests_per_s=6, prompts_count=1000)
    roomy = simulate_pools((Pool(CARD),), load, {})
    tight = simulate_pools((Pool(replace(CARD, kv_tokens=30_000.0)),), load, {})
    assert roomy.cached_ratio > 0.6
    assert tight.cached_ratio < roomy.cached_ratio
    assert tight.ttft_s.mean > roomy.ttft_s.mean


def test_prompts_found_cached_are_not_read_again():
    plain = simulate_pools((Pool(CARD),), LOAD, {}, requests_count=800)
    cached = simulate_pools((Pool(CARD),), replace(LOAD, cached_ratio=0.8), {}, requests_count=800)
    assert cached.cached_ratio == pytest.approx(0.8, abs=0.01)
    assert cached.ttft_s.mean < 0.6 * plain.ttft_s.mean


def test_hand_over_costs_its_time_once_and_keeps_prompts_out_of_decoding():
    load = replace(LOAD, requests_per_s=8, input_tokens=3000)
    together = simulate_pools((Pool(CARD, 2),), load, {}, routing="least-loaded", requests_count=800)
    slow, quick = (
        simulate_pools((Pool(CARD, 1, READS, late_s), Pool(CARD, 1, WRITES)), load, {}, requests_count=800)
        for late_s in (0.5, 0.0)
    )
    assert quick.itl_s.p99 < 0.5 * together.itl_s.p99
    assert slow.ttft_s.mean > quick.ttft_s.mean + 0.45


def test_accepted_tokens_follow_the_published_formula_and_drawn_paces_the_real_process():
    mean, square = accepted_moments(3, 0.7)
    assert mean == pytest.approx((1 - 0.7**4) / (1 - 0.7))  # Leviathan et al. 2023, equation 1
    rng = np.random.default_rng(0)
    owed, runs = 120, 4000
    given_ = np.minimum.accumulate(rng.random((runs, owed, 3)) < 0.7, axis=2).sum(axis=2) + 1
    steps = (np.cumsum(given_, axis=1) < owed).sum(axis=1) + 1
    assert given_.mean() == pytest.approx(mean, rel=0.01)
    assert (given_**2).mean() == pytest.approx(square, rel=0.01)
    ours = owed / paces(Drafting(3, 0.7), np.full(runs, owed + 1.0), rng)
    assert ours.mean() == pytest.approx(steps.mean(), rel=0.01)
    assert ours.std() == pytest.approx(steps.std(), rel=0.1)


def test_speculation_pays_for_one_user_and_not_for_a_full_card():
    wide = replace(CARD, sequences_most_count=2000, kv_tokens=4e6)
    for clients, pays in ((1, True), (1500, False)):
        load = Load(100, 200, concurrency=clients)
        plain = simulate_pools((Pool(wide),), load, {}, requests_count=max(3 * clients, 100))
        drafted = simulate_pools(
            (Pool(wide, drafting=SPECULATES),), load, {}, requests_count=max(3 * clients, 100)
        )
        assert (drafted.tpot_s.mean < plain.tpot_s.mean) == pays


def test_few_adapter_slots_make_other_adapters_wait():
    load = replace(LOAD, adapters_count=12, requests_per_s=6)
    few, many = (
        simulate_pools((Pool(CARD, adapters=Adapters(n, 2e-4, 1e-5, 5e-3)),), load, {}, requests_count=600)
        for n in (1, 12)
    )
    assert few.ttft_s.mean > 2 * many.ttft_s.mean
    assert few.waiting_mean > many.waiting_mean


def test_ranks_in_step_wait_for_each_other():
    apart = replace(CARD, ranks_count=4)
    step = replace(apart, shared_ratio=0.5)
    load = Load(2000, 200, concurrency=16)
    assert (
        simulate_pools((Pool(step),), load, {}, requests_count=160).tpot_s.mean
        > simulate_pools((Pool(apart),), load, {}, requests_count=160).tpot_s.mean
    )


def test_engines_schedule_as_their_source_says():
    assert not scheduler_of("vllm", "0.6.0").mixed
    assert scheduler_of("vllm", "0.10.0").chunked
    assert scheduler_of("vllm").whole_prompt
    assert scheduler_of("sglang", "0.5.5").reserve_ratio == 0.7
    assert scheduler_of("trtllm", "0.9.0").chunked is False
    assert scheduler_of("tensorrt-llm", "0.14.0").chunked
    assert scheduler_of("llama.cpp", "b5000").fixed_slots
    assert scheduler_of("something-new") == scheduler_of("vllm")


def test_a_fixed_slot_turns_away_what_a_shared_pool_takes():
    slots = replace(
        CARD,
        kv_tokens=8000.0,
        sequences_most_count=4,
        reserve_ratio=1.0,
        scheduler=scheduler_of("llama.cpp", "b5000"),
    )
    shared = replace(slots, scheduler=scheduler_of("llama.cpp", "b8000"))
    asked = (np.zeros(2), np.array([3000.0, 500.0]), np.array([100.0, 100.0]))
    for model, taken in ((slots, [False, True]), (shared, [True, True])):
        rows = fleet((Pool(model),)).serve(requests(*asked))
        assert (rows[:, columns.LAST] >= 0).tolist() == taken


def test_a_stream_in_stretches_is_the_run_in_one():
    times, prompts, answers = drawn(3000, 9, rate=25.0)
    pools = (Pool(replace(CARD, kv_tokens=9000.0, sequences_most_count=32), 2),)
    whole = fleet(pools, routing="least-loaded")
    rows = whole.serve(requests(times, prompts, answers))
    parts = fleet(pools, routing="least-loaded")
    found, most = [], 0
    for begin in range(0, 3000, 100):
        piece = slice(begin, begin + 100)
        these = parts.serve(requests(times[piece], prompts[piece], answers[piece]), more=True)
        found.append(these[these[:, columns.LAST] != -1.0])
        most = max(most, len(parts.carried))
    found.append(parts.serve(np.zeros((0, columns.ASKED_COUNT))))
    joined = np.concatenate(found)
    joined = joined[np.argsort(joined[:, columns.SENT], kind="stable")]
    for column in (columns.SCHEDULED, columns.FIRST, columns.LAST, columns.PLACE):
        assert joined[:, column] == pytest.approx(rows[:, column], rel=1e-12)
    assert parts.totals == pytest.approx(whole.totals, rel=1e-9)
    assert most < 1500


def test_llama_cpp_works_a_batch_off_in_micro_batches():
    """Four micro-batches of 512 read the weights four times; a decoding slot waits for all of them."""
    one = replace(CARD, scheduler=scheduler_of("llama.cpp", "b8000"), budget_tokens=512.0, reserve_ratio=1.0)
    rows = fleet((Pool(one),)).serve(requests(np.zeros(1), np.array([2048.0]), np.ones(1)))
    whole = fleet((Pool(replace(CARD, budget_tokens=2048.0)),)).serve(
        requests(np.zeros(1), np.array([2048.0]), np.ones(1))
    )
    extra = rows[0, columns.FIRST] - whole[0, columns.FIRST]
    assert extra > 2 * CARD.launch_s
    assert fleet((Pool(one),)).arrays["rules"][0, columns.BUDGET] == 2048


def test_a_line_looked_at_seldom_waits_longer_and_is_read_together():
    often = replace(CARD, mixed=False, scheduler=replace(scheduler_of("sglang"), poll_steps=1.0))
    seldom = replace(often, scheduler=replace(often.scheduler, poll_steps=30.0))
    load = replace(LOAD, requests_per_s=10)
    first, later = (simulate_pools((Pool(one),), load, {}, requests_count=800) for one in (often, seldom))
    assert later.ttft_s.mean > first.ttft_s.mean + 5 * CARD.table[0]
    assert later.requests_per_s == pytest.approx(first.requests_per_s, rel=0.05)


def test_what_gave_way_is_read_again_only_where_it_was_overwritten():
    tight = replace(CARD, kv_tokens=6000.0)
    model = replace(tight, scheduler=scheduler_of("vllm"))
    forgets = replace(tight, scheduler=replace(scheduler_of("vllm"), keeps_preempted=False))
    found = {}
    for name, one in (("keeps", model), ("forgets", forgets)):
        ready = fleet((Pool(one),))
        ready.serve(requests(*drawn(400, 2, rate=40.0)))
        found[name] = ready.totals
    assert found["keeps"][columns.PREEMPTIONS] > 50
    assert found["keeps"][columns.PREFILLED] < found["forgets"][columns.PREFILLED]
    assert found["keeps"][columns.END_S] < found["forgets"][columns.END_S]
    bare = fleet((Pool(replace(model, shares_prefixes=False)),))
    bare.serve(requests(*drawn(400, 2, rate=40.0)))
    assert bare.totals[columns.PREFILLED] == found["forgets"][columns.PREFILLED]


@pytest.mark.parametrize("tp", [1, 8])
def test_an_adapter_is_read_by_rank_and_brought_over_the_slot(tp):
    """Llama 3.1 8B by hand: the side of a matrix that ranks divide is divided in its adapter, the other held whole."""
    whole = 32 * 7 * 4096 + 2 * 4096
    divided = 32 * (4096 + 2 * 1024 + 4096 + 3 * 14336) + 2 * 128256
    held, card = facts.weight_format("bf16"), facts.accelerator("h100-sxm-80")
    model = facts.model("meta-llama/Llama-3.1-8B")
    asked = Settings(lora_slots=4, lora_rank=16)
    found = adapters_of(Deployment(model, card, Parallel(tp=tp), held, held, "vllm", settings=asked))
    size = 16 * 2 * (whole + divided / tp)
    assert found.read_s == pytest.approx(size / card.memory_bytes_per_s)
    assert found.load_s == pytest.approx(size / 63e9)  # PCIe 5 x16
