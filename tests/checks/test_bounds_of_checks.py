"""Bounds of stacks and pitfalls: versions at their floor, slices with room, money; less never runs more."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida import checks, facts
from cabida.brief import Brief, parse_brief
from cabida.brief.model import Acceptance, Budget, Limits, ModelChoice, Team, Traffic
from cabida.checks.pitfalls import tensor_parallel
from cabida.checks.software import Stack, judge
from cabida.checks.stack import check_stack, judge_stack, read_stack, state_of
from cabida.checks.stack_builds import below
from cabida.checks.stack_cards import ROOM_RATIO
from cabida.checks.stack_engines import _within
from cabida.checks.stack_parts import Place, part_at
from cabida.facts.formats import formats
from cabida.facts.mig import profiles
from cabida.facts.releases import numbers
from cabida.plan import CostLine, Estimate, Option

DAY = "2026-11-30"
RANK = {"no": 0, "steps": 1, "runs": 2}
ENGINES = sorted(facts.engines())
CARDS = sorted(facts.accelerators())
FORMATS = sorted(formats())


def codes(text):
    return {one.code: one for one in check_stack(text, DAY)}


# ---- what less can do


def stack(engine, card, weights, cache="bf16", version=""):
    found = facts.engine(engine)
    held, kept = facts.weight_format(weights), facts.weight_format(cache)
    return Stack(found, version or found.versions[-1], facts.accelerator(card), held, kept)


ANY = (
    st.sampled_from(ENGINES),
    st.sampled_from(CARDS),
    st.sampled_from(FORMATS),
    st.sampled_from(["bf16", "fp8"]),
)


@settings(max_examples=300, deadline=None)
@given(*ANY)
def test_an_engine_that_no_longer_lists_a_chip_never_runs_more_on_it(engine, card, weights, cache):
    whole = stack(engine, card, weights, cache)
    held = whole.engine.formats
    for family in held:
        fewer = {**held, family: tuple(one for one in held[family] if one != whole.architecture)}
        less = replace(whole, engine=replace(whole.engine, formats=fewer))
        assert RANK[judge(less).state] <= RANK[judge(whole).state]
    none = replace(whole, engine=replace(whole.engine, formats={}))
    assert judge(none).state == "no"


@settings(max_examples=300, deadline=None)
@given(*ANY, st.sampled_from(["6.1", "5.2", "3.0"]))
def test_a_chip_of_a_lower_capability_never_runs_more(engine, card, weights, cache, capability):
    whole = stack(engine, card, weights, cache)
    if whole.accelerator.vendor != "NVIDIA" or not whole.engine.capability_min:
        return
    less = replace(whole, accelerator=replace(whole.accelerator, capability=capability))
    assert RANK[judge(less).state] <= RANK[judge(whole).state]
    if numbers(capability) < numbers(whole.engine.capability_min):
        assert judge(less).state == "no"


@settings(max_examples=200, deadline=None)
@given(*ANY)
def test_a_chip_without_the_arithmetic_never_runs_better(engine, card, weights, cache):
    whole = stack(engine, card, weights, cache)
    rows = facts.software()["hw_dtype"]
    row = rows.get(whole.architecture)
    if row is None:
        return
    before = judge(whole).state
    rows[whole.architecture] = {**row, **dict.fromkeys(("fp8", "nvfp4", "mxfp4", "int8"), False)}
    try:
        after = judge(whole).state
    finally:
        rows[whole.architecture] = row
    assert RANK[after] <= RANK[before]


@settings(max_examples=100, deadline=None)
@given(*ANY[:3])
def test_a_cache_in_fewer_bits_never_runs_where_the_whole_one_does_not(engine, card, weights):
    whole, less = stack(engine, card, weights), stack(engine, card, weights, "fp8")
    assert RANK[judge(less).state] <= RANK[judge(whole).state]


@pytest.mark.parametrize("card", ["H100", "L40S", "RTX 5090"])
def test_an_older_rocm_or_driver_never_runs_more(card):
    drivers = [
        "450.80.02",
        "525.60.13",
        "535.54.03",
        "550.54.14",
        "570.26",
        "575.51.03",
        "580.65.06",
        "610.43.02",
    ]
    states = [RANK[state_of(check_stack(f"cuda 12.8, driver {one}, {card}", DAY))] for one in drivers]
    assert states == sorted(states)
    assert states[0] == 0
    assert states[-1] == 2


# ---- versions at their floor


DRIVERS = {
    key: row[0] for key, row in facts.software()["cuda_driver_min"].items() if key.count(".") == 1 and key[0].isdigit()
}  # fmt: skip


@pytest.mark.parametrize("cuda", DRIVERS)
def test_the_driver_a_toolkit_was_made_for_is_enough_and_the_one_before_it_is_not(cuda):
    wanted = DRIVERS[cuda]
    assert "CB-K226" in codes(f"cuda {cuda}, driver {wanted}")
    head, _, last = wanted.rpartition(".")
    before = f"{head}.{int(last) - 1:02}" if int(last) else f"{int(head.split('.')[0]) - 1}.0"
    assert "CB-K226" not in codes(f"cuda {cuda}, driver {before}")
    assert not below(wanted, wanted)
    assert below(before, wanted)
    assert not below(wanted.split(".")[0], wanted)  # as many numbers as were told


@pytest.mark.parametrize(
    ("have", "inside"),
    [("3.10", True), ("3.9", False), ("3.14", True), ("3.14.9", True), ("3.15", False), ("3.15.1", False)],
)
def test_a_python_is_inside_from_its_first_to_before_its_last(have, inside):
    assert _within(have, ">=3.10 <3.15") == inside
    assert _within(have, ">=3.10 <=3.14") == inside


def test_rocm_at_its_floor_is_enough():
    for card, floor in (("MI300X", "6.3"), ("MI355X", "7.0")):
        assert "CB-K237" not in codes(f"vllm, {card}, rocm {floor}")
        assert codes(f"vllm, {card}, rocm {float(floor) - 0.1:.1f}")["CB-K237"].severity == "blocking"
        assert "CB-K237" not in codes(f"vllm, {card}, rocm 9.9")


@pytest.mark.parametrize(
    ("name", "card", "most", "after"),
    [("marlin", "t4", "0.13", "0.14"), ("pytorch", "arc-b580-12", "2.4", "2.5")],
)
def test_a_row_holds_to_its_last_version(name, card, most, after):
    last, later = (part_at(name, Place(facts.accelerator(card), version=one)) for one in (most, after))
    assert last is not None
    assert last.version_most == most
    assert last.state == "no"
    assert later is None or later.id != last.id


def test_a_slice_holds_a_model_and_a_fifth_for_its_cache():
    card = facts.accelerator("h100-sxm-80")
    base = read_stack("H100 SXM, MIG", DAY)
    for one in profiles(card)[:-1]:
        fits = one.usable_bytes / ROOM_RATIO / 2  # parameters in 16 bit
        for count, name in ((fits * 0.999, one.name), (fits * 1.001, None)):
            told = next(
                each
                for each in judge_stack(replace(base, params_count=count))
                if each.code in ("CB-K254", "CB-K255")
            )
            first = next(each for each in profiles(card) if each.usable_bytes >= ROOM_RATIO * 2 * count)
            assert (first.usable_bytes == one.usable_bytes) == (name is not None)
            assert f":{first.name}" in told.sentence


@pytest.mark.parametrize(("card", "rate"), [("H100 SXM", "900"), ("A100 SXM", "600"), ("B200", "1,800")])
def test_links_are_told_as_makers_print_them_both_ways(card, rate):
    assert rate in codes(f"{card}, NVLink")["CB-K243"].sentence


# ---- pitfalls


BRIEF = Brief(
    name="t", workload="realtime-inference",
    models=(ModelChoice("llama-3.1-8b", {"bf16": Acceptance(0.93, "400 tickets", "measured")}),),
    traffic=Traffic(growth_per_year_ratio=0.2), team=Team(0.5), currency="USD", horizon_months=36,
)  # fmt: skip


def option(accelerator="h100-sxm-80", unit=(0.002, 0.002, 0.002), held=2000.0, **more):
    plain = {
        "rank": 1, "id": accelerator, "title": f"1x {accelerator}", "status": "satisfies", "reasons": (),
        "accelerator": accelerator, "accelerators_count": 1, "replicas_count": 1, "spare_replicas_count": 0,
        "split": "single", "weights": "bf16", "kv_cache": "bf16", "engine": "vllm", "engine_version": "0.31.0",
        "model": "llama-3.1-8b", "provider": "p", "capacity": "on-demand", "region": "", "price_seen": "2026-11-20",
        "metrics": {}, "memory": {"headroom": 20e9}, "usable_bytes": 80e9, "latency_quantiles": {},
        "cost_lines": (CostLine("compute", held * 0.6), CostLine("idle", held * 0.4), CostLine("review", 1.0)),
        "cost_per_month_money": held, "unit_cost": Estimate(*unit, "formula"), "best_probability": 1.0,
        "expected_regret_money": 0.0, "command": "",
    }  # fmt: skip
    return Option(**(plain | more))


def found(one, brief=BRIEF):
    return {each.code: each for each in checks.pitfalls(brief, [one], DAY)}


def test_all_cards_together_draw_what_the_place_gives():
    two = option("h100-sxm-80", capacity="buy", accelerators_count=2)  # 700 W each
    for limit_w, told in ((1400.0, False), (1399.0, True), (900.0, True)):
        assert ("CB-K014" in found(two, replace(BRIEF, limits=Limits(power_w=limit_w)))) == told
    rented = replace(two, capacity="on-demand")
    assert "CB-K014" not in found(rented, replace(BRIEF, limits=Limits(power_w=100.0)))


@pytest.mark.parametrize(
    ("limit", "told"), [(1999.0, False), (2000.0, True), (2999.0, True), (3000.0, False), (None, False)]
)
def test_a_budget_is_told_between_the_cost_and_its_dearer_end(limit, told):
    one = option(unit=(0.002, 0.0015, 0.003))  # half as much again, at the most
    assert ("CB-K344" in found(one, replace(BRIEF, budget=Budget(monthly_money=limit)))) == told


@pytest.mark.parametrize(
    ("idle", "months", "told"), [(0.61, 36, True), (0.6, 36, False), (0.1, 11, True), (0.1, 12, False)]
)
def test_a_purchase_that_idles_or_is_soon_over(idle, months, told):
    lines = (CostLine("compute", 1000 * (1 - idle)), CostLine("idle", 1000 * idle))
    one = option(capacity="buy", cost_lines=lines)
    assert ("CB-K012" in found(one, replace(BRIEF, horizon_months=months))) == told


RUNS = """name: t
workload: full-finetune
models: [{id: llama-3.1-8b}]
training: {tokens: 50M, seq_len: 4096, target: {metric: loss, value: 1.2}, evaluation: {passes: 4}, runs: RUNS}
objectives: {time_to_target: 20 h}
horizon: 12 months
consider: {capacity: [buy]}
currency: USD
"""


@pytest.mark.parametrize(("runs", "told"), [(12, True), (109, True), (110, False), (300, False)])
def test_runs_fill_a_purchase_by_their_hours_of_a_month(runs, told):
    """A quarter of 730 hours a month are 182.5: 109.5 runs of 20 hours a year."""
    brief = parse_brief(RUNS.replace("RUNS", str(runs)), as_of=DAY)
    assert ("CB-K304" in {one.code for one in checks.brief_pitfalls(brief, DAY)}) == told


@pytest.mark.parametrize(
    ("kilowatts", "told"), [(5.6, True), (5.5, True), (3.0, True), (5.7, False), (10.2, False)]
)
def test_a_machine_draws_more_than_its_cards(kilowatts, told):
    quote = {"accelerator": "h100-sxm-80", "accelerators_per_node_count": 8, "node_power_kw": kilowatts}
    assert ("CB-K370" in {one.code for one in checks.quote_pitfalls(quote)}) == told


@pytest.mark.parametrize(("uptime", "hours"), [(0.99, "7.3"), (0.999, "0.73"), (0.5, "365")])
def test_uptime_without_credit_is_told_in_the_hours_it_is_down(uptime, hours):
    told = {one.code: one for one in checks.quote_pitfalls({"uptime_ratio": uptime})}
    assert f"{hours} h" in told["CB-K368"].sentence


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("B300, int8 w8a8", "CB-K221", True), ("B300, fp8", "CB-K221", False), ("B200, int8 w8a8", "CB-K221", False),
        ("B300, nvfp4", "CB-K221", False), ("H100, int8 w8a8", "CB-K221", False),
        ("FlashAttention 2, H100, fp8 kv cache", "CB-K207", True), ("FlashAttention 2, H100", "CB-K207", False),
        ("FlashAttention 2, H100, bf16 kv cache", "CB-K207", False),
    ],
)  # fmt: skip
def test_what_is_said_of_one_type_is_not_said_of_another(text, code, told):
    assert (code in codes(text)) == told


@pytest.mark.parametrize(
    ("split", "ways"),
    [
        ("tp4 pp2", 4),
        ("single", 1),
        ("", 1),
        ("tpx tp8", 8),
        ("pp2 tp2", 2),
        ("tp", 1),
        ("dp4", 1),
        ("cp2 tp16", 16),
    ],
)
def test_the_ways_a_layer_is_split_are_the_number_after_tp(split, ways):
    assert tensor_parallel(split) == ways


@pytest.mark.parametrize(("seconds", "told"), [(10.0, False), (10.1, True), (2.0, False)])
def test_people_wait_ten_seconds_for_a_first_word(seconds, told):
    first = Estimate(seconds * 1e3, seconds * 900, seconds * 1100, "calibrated")
    one = option(metrics={"ttft_ms_p95": first})
    assert ("CB-K345" in found(one)) == told
