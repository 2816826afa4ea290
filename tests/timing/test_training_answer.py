"""Checkpoints, scaling, layouts, preference tuning and the one answer that joins them."""

import json
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving_fixtures import deployment
from test_training import a_run

from cabida import facts, memory, timing
from cabida.equation import check_dimensions
from cabida.errors import InvalidInput
from cabida.memory.lens import PLAIN
from cabida.timing.devices import training_data
from cabida.timing.runs import checkpoints, goodput, preference, scaling
from cabida.timing.runs.flops import flop_by_convention
from cabida.timing.runs.layouts import best_layouts, layouts, least_bytes
from cabida.timing.runs.training import training, worked_out
from cabida.timing.runs.training_tree import training_tree

# --- work by convention ---------------------------------------------------------------------------


def test_conventions_convert_as_the_sources_count():
    """An 8B at 8k: 19 % between the causal count and PaLM's, about half at 64k."""
    near, far = (flop_by_convention(a_run(seq_tokens=tokens)) for tokens in (8192, 65536))
    assert near["palm"] / near["causal"] == pytest.approx(1.19, abs=0.02)
    assert far["palm"] / far["causal"] == pytest.approx(1.5, abs=0.07)
    assert near["6n"] == pytest.approx(6 * 8.03e9, rel=0.002)
    again = flop_by_convention(a_run(recompute="full"))
    assert again["hardware"] == pytest.approx(4 / 3 * again["causal"])  # HFU is 4/3 of MFU
    assert flop_by_convention(a_run(recompute="full", recompute_every_count=4))["hardware"] == pytest.approx(
        13 / 12 * again["causal"]
    )


# --- checkpoints and stops ------------------------------------------------------------------------


def test_checkpoints_are_as_large_as_those_that_were_kept():
    assert goodput.bytes_per_param(a_run()) == 14  # BLOOM-176B: 13 to 14 with an fp32 master and Adam
    assert goodput.bytes_per_param(a_run(optimizer="muon")) == 10
    assert goodput.bytes_per_param(a_run(master_weights=False)) == 6
    assert goodput.bytes_per_param(a_run(optimizer="adamw-8bit")) < 9
    full, adapter = (checkpoints.checkpoint_plan(a_run(method=kind)) for kind in ("full", "lora"))
    assert adapter.bytes < full.bytes / 100


def test_stops_come_as_often_as_llama_3_saw_them():
    """16,384 H100: 419 unexpected stops in 54 days."""
    plan = checkpoints.checkpoint_plan(a_run(accelerators_count=16_384, global_batch_count=16_384))
    assert plan.stop_s / 3600 == pytest.approx(54 * 24 / 419, rel=0.05)
    assert plan.goodput_low_ratio < plan.goodput_ratio <= plan.goodput_high_ratio < 1


@settings(max_examples=25, deadline=None)
@given(write_s=st.floats(1, 600), stop_s=st.floats(2e4, 1e7))
def test_dalys_interval_wastes_least(write_s, stop_s):
    best = goodput.daly_interval_s.raw(write_s, stop_s)

    def slowdown(interval_s):
        return goodput.checkpoint_slowdown_ratio.raw(interval_s, write_s, 600, stop_s)

    assert slowdown(best) <= slowdown(best * 1.3)
    assert slowdown(best) <= slowdown(best / 1.3)
    young = goodput.young_interval_s.raw(write_s, stop_s)
    assert best == pytest.approx(young, rel=1.2 * math.sqrt(write_s / stop_s) + 1e-9)


def test_more_accelerators_stop_more_often_and_faster_storage_loses_less():
    few, many = (checkpoints.checkpoint_plan(a_run(accelerators_count=n)) for n in (64, 1024))
    assert many.stop_s == pytest.approx(few.stop_s / 16)
    quick = checkpoints.checkpoint_plan(a_run(accelerators_count=1024), storage="local-nvme")
    assert quick.goodput_ratio > many.goodput_ratio
    assert quick.interval_s < many.interval_s
    new = checkpoints.checkpoint_plan(a_run(accelerators_count=1024), cluster="new")
    assert new.goodput_ratio < many.goodput_ratio


def test_unknown_storage_is_refused_with_a_cure():
    with pytest.raises(InvalidInput, match="CB-T053") as raised:
        checkpoints.checkpoint_plan(a_run(), storage="tape")
    assert "local-nvme" in str(raised.value.problems[0].cure)


def test_every_stop_figure_says_where_it_was_read():
    table = goodput.failure_facts()
    assert all(row["source"] for row in table["stops"])
    for row in table["stops"]:
        hours = row["accelerators"] * row["days"] * 24 / row["stops"]
        assert row["accelerator_hours_per_stop"] == pytest.approx(hours, rel=0.01)


# --- scaling --------------------------------------------------------------------------------------


@settings(max_examples=12, deadline=None)
@given(
    split=st.sampled_from([{}, {"tp": 2}, {"tp": 4, "pp": 2}, {"cp": 2}]),
    batch=st.sampled_from([64, 256, 1024]),
    kind=st.sampled_from([scaling.STRONG, scaling.WEAK]),
)
def test_accelerators_never_gain_from_being_more(split, batch, kind):
    run = a_run(accelerators_count=64, global_batch_count=batch, **split)
    curve = scaling.scaling_curve(run, kind)
    assert curve[0].efficiency_ratio == 1
    for before, after in pairwise(curve):
        assert after.tokens_per_s > before.tokens_per_s
        assert after.efficiency_ratio <= before.efficiency_ratio * 1.02  # sharded optimizers gain a hair


def test_strong_scaling_loses_what_llama_on_nvidia_lost():
    """Megatron, GPT-3 175B, 96 to 4,608 H100 at a batch of 1,152: 47 % to 42 %, a ninth lost."""
    run = a_run(
        model=facts.model("meta-llama/Llama-3.1-405B"), accelerators_count=512, tp=8, pp=8,
        global_batch_count=1152, virtual_stages_count=6, seq_tokens=2048,
    )  # fmt: skip
    curve = scaling.scaling_curve(run, scaling.STRONG, counts=(64, 512, 4608))
    assert 0.75 < curve[-1].efficiency_ratio < 0.98


def test_the_point_of_the_run_is_the_run():
    run = a_run(accelerators_count=64, global_batch_count=256)
    rate = training(run).tokens_per_s
    for kind in (scaling.STRONG, scaling.WEAK):
        assert any(point.tokens_per_s == pytest.approx(rate) for point in scaling.scaling_curve(run, kind))


# --- layouts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "count", "batch"),
    [("meta-llama/Llama-3.1-8B", 16, 128), ("deepseek-ai/DeepSeek-V3", 512, 4096)],
)
def test_the_best_layout_fits_and_nothing_tried_was_faster(model, count, batch):
    run = a_run(model=facts.model(model), accelerators_count=count, global_batch_count=batch, seq_tokens=4096)
    best = best_layouts(run)[0]
    assert best.memory.verdict != "no"
    assert best.run.tp * best.run.pp * best.run.cp * best.run.data_parallel_count == count
    assert best.step_s == pytest.approx(float(worked_out(best.run, PLAIN).step_s))
    assert best.step_s >= min(float(worked_out(one, PLAIN).step_s) for one in layouts(run))
    assert all(least_bytes(one) <= run.accelerator.usable_bytes for one in layouts(run))


def test_layouts_split_long_sequences_and_share_experts_out():
    long = list(layouts(a_run(accelerators_count=16, seq_tokens=65_536, global_batch_count=16)))
    assert {one.cp for one in long} > {1}
    moe = list(
        layouts(a_run(model=facts.model("openai/gpt-oss-120b"), accelerators_count=64, seq_tokens=4096))
    )
    assert {one.ep for one in moe} >= {8, 64}
    assert all(one.global_batch_count % (one.data_parallel_count * one.micro_batch_count) == 0 for one in moe)


def test_what_cannot_be_held_has_no_layout():
    assert best_layouts(a_run(model=facts.model("meta-llama/Llama-3.1-405B"))) == []


# --- preference tuning ----------------------------------------------------------------------------


def passes_s(run):
    """Seconds of a step that go into passes: neither its optimizer, nor its fixed time, nor its gradients' own."""
    speed, gathers = training(run), run.sharding in ("fsdp", "zero-3")
    left_out = ("optimizer", "fixed", "gradients", "offload", *(() if gathers else ("data_parallel",)))
    return speed.step_s - sum(speed.parts.get(name, 0.0) for name in left_out)


def test_preference_costs_its_forward_passes():
    run = a_run(method="full", seq_tokens=2048)
    dpo, orpo = (preference.preference_step(run, kind) for kind in ("dpo", "orpo"))
    pairs = replace(run, global_batch_count=2 * run.global_batch_count)
    assert dpo.step_s - orpo.step_s == pytest.approx(
        passes_s(pairs) / 3
    )  # a reference forward beside three passes
    lora = replace(run, method="lora")
    dpo, tuned = (preference.preference_step(lora, kind) for kind in ("dpo", "orpo"))
    assert dpo.step_s - tuned.step_s == pytest.approx(passes_s(replace(pairs, method="lora")) / 2)
    assert orpo.step_s == pytest.approx(training(pairs).step_s)  # pairs: two answers an example


def test_generation_takes_its_tokens_over_the_rate():
    run = a_run(method="full", seq_tokens=2048, global_batch_count=512)
    step = preference.preference_step(run, "grpo", output_tokens=1000, output_tokens_per_s=20_000)
    assert step.parts["generation"] == pytest.approx(25.6)
    assert sum(step.parts.values()) == pytest.approx(step.step_s)
    more = preference.preference_step(run, "ppo", output_tokens=1000, output_tokens_per_s=20_000)
    assert more.parts["critic_training"] == pytest.approx(more.parts["training"])
    assert more.parts["critic_forward"] == pytest.approx(more.parts["policy_forward"])
    assert more.parts["policy_forward"] < more.parts["training"] / 3  # no optimizer in a forward pass
    assert "reference_forward" not in step.parts  # beta is 0 unless set
    assert "reference_forward" in more.parts
    with pytest.raises(InvalidInput, match="CB-T055"):
        preference.preference_step(run, "grpo")
    with pytest.raises(InvalidInput, match="CB-T054"):
        preference.preference_step(run, "rlhf2")


def test_what_generates_is_simulated():
    d = deployment("meta-llama/Llama-3.1-8B", "h100-sxm-80")
    m = memory.serving(d)
    asked = {"input_tokens": 500, "output_tokens": 400, "sequences_count": 256}
    one = preference.generated_tokens_per_s(d, m, accelerators_count=1, **asked)
    eight = preference.generated_tokens_per_s(d, m, accelerators_count=8, **asked)
    assert 1000 < one < eight < 8 * one  # the same answers dealt out: smaller batches
    wide = deployment("meta-llama/Llama-3.1-8B", "h100-sxm-80", tp=2)
    room = memory.serving(wide)
    with pytest.raises(InvalidInput, match="CB-T056"):
        preference.generated_tokens_per_s(wide, room, accelerators_count=1, **asked)


# --- the answer -----------------------------------------------------------------------------------


def test_the_answer_joins_its_parts():
    run = a_run(accelerators_count=64, global_batch_count=256, target_tokens=1e12)
    answer = timing.training_answer(run)
    speed = training(run)
    assert answer.metrics["tokens_s_per_gpu"].value == pytest.approx(speed.tokens_per_s_per_accelerator)
    assert sum(answer.parts_s.values()) == pytest.approx(answer.metrics["step_time_s"].value)
    assert answer.mfu_by_convention["causal"] == pytest.approx(speed.mfu_ratio)
    seconds, hours = answer.metrics["time_to_target_s"], answer.metrics["gpu_hours_to_target"]
    assert seconds.value == pytest.approx(1e12 / speed.tokens_per_s / answer.checkpoints.goodput_ratio)
    assert hours.value == pytest.approx(seconds.value * 64 / 3600)
    project = answer.metrics["project_gpu_hours"]
    assert project.low == pytest.approx(1.2 * hours.low)
    assert project.high == pytest.approx(1.7 * hours.high)
    for one in answer.metrics.values():
        assert one.low <= one.value <= one.high
    assert "time_to_target_s" not in timing.training_answer(a_run()).metrics


def test_an_older_release_is_slower_up_to_the_oldest_of_the_cases():
    new, old, older, oldest = (
        training(a_run(framework_version=name)).step_s for name in ("26.06", "24.06", "21.06", "20.06")
    )
    assert new < old < older == oldest


# --- published runs that no fit has seen ----------------------------------------------------------


def test_gpt_on_selene_is_close(selene_rows):
    """Korthikanti et al. 2022, tables 3 and 5: 22B to 1T on 8 to 512 A100. Nothing is chosen by them."""
    errors = [row["error_ratio"] for row in selene_rows]
    assert sorted(errors)[len(errors) // 2] < 0.25
    assert max(errors) < 0.4


@pytest.fixture(scope="module")
def selene_rows():
    import runpy

    script = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks/training.py"))
    return script["selene"]()


def test_selene_rows_agree_with_their_printed_utilisation():
    """The seconds and the paper's MFU (full attention counted) say the same work."""
    table = json.loads((Path(__file__).parents[2] / "benchmarks/selene.json").read_text())
    for row, mfu in zip(table["rows"], (0.415, 0.514, 0.56, 0.563), strict=True):
        hidden, layers, tokens = row["hidden"], row["layers"], 2048
        flop = 72 * row["batch"] * layers * tokens * hidden**2
        flop *= 1 + tokens / (6 * hidden) + 51_200 / (12 * hidden * layers)
        assert flop / row["selective_s"] / row["gpus"] / 312e12 == pytest.approx(mfu, rel=0.01), row["model"]


@pytest.mark.parametrize(
    "made",
    [
        part
        for room in (checkpoints, preference)
        for part in vars(room).values()
        if hasattr(part, "raw") and hasattr(part, "equation")
    ],
    ids=lambda made: made.name,
)
def test_units_work_out(made):
    check_dimensions(made.equation)


def test_a_run_takes_at_least_one_step():
    run = a_run(target_tokens=1.0)
    found = timing.training_answer(run, memory.training(run)).metrics
    assert found["time_to_target_s"].value >= found["step_time_s"].value


def test_a_run_has_one_goodput_wherever_it_is_read():
    run = a_run(accelerators_count=1024, target_tokens=1e12)
    speed, plan = timing.training(run), checkpoints.checkpoint_plan(run)
    tree = training_tree(run)
    assert speed.goodput_ratio == plan.goodput_ratio == goodput.goodput_of(run).ratio
    assert speed.checkpoint_interval_s == plan.interval_s
    assert float(tree["goodput_ratio"]) == pytest.approx(plan.goodput_ratio, rel=1e-12)
    assert float(tree["checkpoint_interval_s"]) == pytest.approx(plan.interval_s, rel=1e-12)
    assert "wall_ratio" not in training_data.shipped()["coefficients"]
    assert speed.wall_ratio == goodput.failure_facts()["wall"]["value"]


def test_time_to_a_target_that_stops_leave_no_time_for_is_endless():
    run = a_run(accelerators_count=20_000_000, target_tokens=1e12, global_batch_count=20_000_000)
    found = timing.training_answer(run).metrics
    assert found["goodput"].low == 0
    assert math.isinf(found["time_to_target_s"].high)
    assert found["time_to_target_s"].high >= found["time_to_target_s"].value


def test_a_card_without_any_wide_rate_is_refused_not_guessed():
    card = replace(facts.accelerator("h100-sxm"), flop_per_s={"fp8": 1e15})
    with pytest.raises(InvalidInput, match="CB-T051"):
        timing.training(a_run(accelerator=card, precision="fp8"))
