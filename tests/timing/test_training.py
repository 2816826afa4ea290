from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida import facts, timing
from cabida.equation import check_dimensions
from cabida.errors import InvalidInput
from cabida.memory.lens import PLAIN
from cabida.plan import TrainingRun
from cabida.timing.runs import flops, training_step
from cabida.timing.runs.training import micro_batches, release_age, worked_out

FRAMEWORK = "NeMo Megatron-Bridge"


def a_run(**changes) -> TrainingRun:
    run = TrainingRun(
        model=facts.model("meta-llama/Llama-3.1-8B"),
        accelerator=facts.accelerator("h100-sxm-80"),
        accelerators_count=8,
        method="pretrain",
        precision="bf16",
        weights=facts.weight_format("bf16"),
        optimizer="adamw",
        sharding="zero-1",
        seq_tokens=8192,
        micro_batch_count=1,
        global_batch_count=128,
        framework=FRAMEWORK,
    )
    return replace(run, **changes)


# --- FLOPs: as NVIDIA's tables count them ---------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "seq", "method", "printed_gflop", "within"),
    [
        ("meta-llama/Llama-3.1-8B", 8192, "pretrain", 51.5, 0.002),
        ("meta-llama/Llama-3.1-70B", 8192, "pretrain", 449.0, 0.002),
        ("meta-llama/Llama-3.1-405B", 8192, "pretrain", 2524.0, 0.002),
        ("meta-llama/Llama-3.1-70B", 4096, "full", 433.0, 0.002),
        ("deepseek-ai/DeepSeek-V3", 4096, "pretrain", 260.2, 0.05),
        ("openai/gpt-oss-120b", 4096, "pretrain", 32.6, 0.05),
    ],
)
def test_flop_per_token_is_what_the_tables_print(model, seq, method, printed_gflop, within):
    run = a_run(model=facts.model(model), seq_tokens=seq, method=method)
    assert timing.training(run).flop_per_token == pytest.approx(printed_gflop * 1e9, rel=within)


def test_adapters_need_about_four_flop_per_weight():
    run = a_run(model=facts.model("meta-llama/Llama-3.1-70B"), seq_tokens=4096, method="lora")
    work = flops.work_per_token(run, PLAIN)
    assert work.weights == pytest.approx(4 * 69.5e9, rel=0.002)
    assert timing.training(run).tokens_per_s > timing.training(replace(run, method="full")).tokens_per_s * 1.2


def test_recomputation_costs_time_and_leaves_the_work_as_it_is():
    plain, again = timing.training(a_run()), timing.training(a_run(recompute="full"))
    assert again.flop_per_token == plain.flop_per_token
    assert again.step_s > 1.2 * plain.step_s
    assert again.mfu_ratio < plain.mfu_ratio


def test_a_sliding_window_caps_what_a_token_attends_to():
    assert flops.attended_tokens.raw(8192, 8192) == 4096
    assert flops.attended_tokens.raw(8192, 1024) == pytest.approx(1024 - 64)
    assert flops.attended_tokens.raw(512, 1024) == 256


# --- limits that theory gives ---------------------------------------------------------------------


def test_one_accelerator_exchanges_nothing():
    speed = timing.training(a_run(accelerators_count=1, global_batch_count=16))
    assert speed.parts["data_parallel"] == 0
    assert speed.parts["pipeline_bubble"] == 0
    assert "tensor_parallel" not in speed.parts


def test_experts_leave_the_machine_once_their_tensor_ranks_no_longer_fit_it():
    run = a_run(model=facts.model("Qwen/Qwen3-30B-A3B"), accelerators_count=16, ep=8, global_batch_count=512)
    inside, across = (timing.training(replace(run, tp=tp)).parts["expert_parallel"] for tp in (1, 2))
    assert across > inside  # half the bytes to two machines, over a network nine times as slow


def test_parts_add_up_to_the_step():
    for run in (a_run(), a_run(tp=2, pp=2, framework=""), a_run(sharding="fsdp", method="lora"), a_run(cp=2)):
        speed = timing.training(run)
        assert sum(speed.parts.values()) == pytest.approx(speed.step_s, rel=1e-9)


def test_recomputing_every_fourth_layer_is_a_quarter_of_a_pass():
    assert flops.recomputed_passes(a_run(recompute="full", recompute_every_count=4)) == 0.25
    assert flops.recomputed_passes(a_run(recompute="full")) == 1.0
    assert flops.recomputed_passes(a_run()) == 0.0


def test_bubble_is_the_formula():
    assert training_step.bubble_ratio.raw(8, 4, 1) == pytest.approx(3 / 11)
    assert training_step.bubble_ratio.raw(8, 1, 1) == 0
    alone = training_step.pipelined_s.raw(1.0, 32, 8, 4, 1)
    assert 1 - 8 / alone == pytest.approx(training_step.bubble_ratio.raw(8, 4, 1))
    assert training_step.pipelined_s.raw(1.0, 32, 8, 4, 4) < alone


def test_layers_that_do_not_divide_make_every_stage_wait():
    assert training_step.pipelined_s.raw(1.0, 61, 100, 16, 1) / training_step.pipelined_s.raw(
        1.0, 64, 100, 16, 1
    ) == pytest.approx(64 / 61)


def test_weak_scaling_loses_little_and_never_gains():
    rates = [
        timing.training(a_run(accelerators_count=n, global_batch_count=16 * n)).tokens_per_s_per_accelerator
        for n in (8, 64, 512)
    ]
    assert rates[0] * 1.001 >= rates[1] >= rates[2] > 0.85 * rates[0]  # sharded optimizers gain a hair


def test_strong_scaling_falls_off_once_the_batch_is_used_up():
    few = timing.training(a_run(accelerators_count=8))
    many = timing.training(a_run(accelerators_count=512))
    assert many.tokens_per_s < few.tokens_per_s * 128 / 8  # 128 sequences can't feed 512 replicas


@settings(max_examples=30, deadline=None)
@given(
    gpu=st.sampled_from(["a100-sxm-80", "h100-sxm-80", "b200-sxm-180", "gb300", "mi300x", "rtx4090", "l40s"]),
    model=st.sampled_from(["meta-llama/Llama-3.2-1B", "meta-llama/Llama-3.1-8B", "deepseek-ai/DeepSeek-V3"]),
    precision=st.sampled_from(["bf16", "fp8", "nvfp4"]),
    seq=st.sampled_from([512, 4096, 32768]),
    batch=st.integers(1, 32),
)
def test_mfu_stays_below_the_dense_peak_and_time_above_the_roofline(gpu, model, precision, seq, batch):
    run = a_run(
        model=facts.model(model),
        accelerator=facts.accelerator(gpu),
        precision=precision,
        seq_tokens=seq,
        micro_batch_count=batch,
        global_batch_count=8 * batch,
    )
    speed, worked = timing.training(run), worked_out(run, PLAIN)
    assert 0 < speed.mfu_ratio < 1
    assert speed.step_s >= speed.flop_per_token * worked.step_tokens / worked.peak_flop_per_s / 8
    assert speed.tokens_per_s == pytest.approx(worked.step_tokens / speed.step_s)


@settings(max_examples=25, deadline=None)
@given(compute=st.floats(1, 4), memory=st.floats(1, 4), link=st.floats(1, 4))
def test_a_faster_card_is_never_slower(compute, memory, link):
    card = facts.accelerator("h100-sxm-80")
    faster = replace(
        card,
        flop_per_s={key: rate * compute for key, rate in card.flop_per_s.items()},
        memory_bytes_per_s=card.memory_bytes_per_s * memory,
        link_bytes_per_s=card.link_bytes_per_s * link,
    )
    run = a_run(sharding="fsdp", node=None)
    assert timing.training(replace(run, accelerator=faster)).step_s <= timing.training(run).step_s * (
        1 + 1e-9
    )


@settings(max_examples=25, deadline=None)
@given(
    seq=st.integers(256, 32768),
    longer=st.integers(1, 32768),
    batch=st.integers(8, 512),
    more=st.integers(1, 512),
)
def test_more_tokens_take_longer(seq, longer, batch, more):
    run = a_run(seq_tokens=seq, global_batch_count=batch)
    here = timing.training(run).step_s
    assert timing.training(replace(run, seq_tokens=seq + longer)).step_s >= here
    assert timing.training(replace(run, global_batch_count=batch + more)).step_s >= here


def test_time_to_target_grows_with_the_target():
    short, long = (timing.training(a_run(target_tokens=tokens)).time_to_target_s for tokens in (1e9, 3e9))
    assert long == pytest.approx(3 * short)
    assert timing.training(a_run()).time_to_target_s is None


def test_a_batch_smaller_than_the_replicas_still_takes_one_micro_batch():
    assert micro_batches(a_run(global_batch_count=3)) == 1
    assert micro_batches(a_run(global_batch_count=9)) == 2


def test_a_card_without_the_type_multiplies_in_a_wider_one():
    run = a_run(accelerator=facts.accelerator("a100-sxm-80"))
    assert timing.training(replace(run, precision="fp8")).step_s == pytest.approx(timing.training(run).step_s)


def test_a_card_we_know_too_little_about_is_refused_with_a_cure():
    card = replace(facts.accelerator("h100-sxm-80"), flop_per_s={})
    with pytest.raises(InvalidInput, match="CB-T051") as raised:
        timing.training(a_run(accelerator=card))
    assert raised.value.problems[0].cure
    with pytest.raises(InvalidInput, match="CB-T052"):
        timing.training(a_run(accelerator=replace(facts.accelerator("h100-sxm-80"), memory_bytes_per_s=None)))


def test_release_age_reads_containers_and_nothing_else():
    assert release_age("25.06", 2026.5) == pytest.approx(1.0)
    assert release_age("2.4.1", 2026.5) == 0
    assert release_age("", 2026.5) == 0


# --- public figures -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "printed"),
    [
        ({"precision": "fp8", "sharding": "fsdp"}, 14_451),  # Llama 3 8B, 8 H100, fp8, Megatron-Bridge 25.11
        ({"accelerator": "gb200", "precision": "fp8", "micro_batch_count": 2}, 31_508),
        ({"accelerator": "b200-sxm-180", "precision": "fp8", "micro_batch_count": 2}, 30_624),
    ],
)
def test_megatron_bridge_rates_lie_inside_the_interval(changes, printed):
    if "accelerator" in changes:
        changes = changes | {"accelerator": facts.accelerator(changes["accelerator"])}
    speed = timing.training(a_run(**changes))
    low, high = speed.spread["tokens_per_s_per_accelerator"]
    assert speed.tokens_per_s_per_accelerator * low < printed < speed.tokens_per_s_per_accelerator * high


def test_unpacking_makes_qlora_slower_than_lora():
    run = a_run(
        accelerator=facts.accelerator("a100-sxm-80"), accelerators_count=1, method="lora", sharding="none",
        seq_tokens=512, global_batch_count=8, recompute="full", framework="Qwen finetune scripts",
    )  # fmt: skip
    packed = replace(run, method="qlora", weights=facts.weight_format("bnb-nf4"))
    slower = timing.training(packed).step_s / timing.training(run).step_s
    assert 1.3 < slower < 3.5  # Qwen-7B: 3.0 s against 1.5 s at 512 tokens


# --- trees ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"method": "qlora", "sharding": "fsdp", "target_tokens": 1e9},
        {"tp": 2, "pp": 2, "recompute": "full", "virtual_stages_count": 4, "framework": ""},
        {
            "model": "deepseek-ai/DeepSeek-V3",
            "accelerators_count": 256,
            "ep": 32,
            "pp": 2,
            "precision": "fp8",
        },
    ],
    ids=["dense", "qlora", "pipeline", "moe"],
)
def test_tree_equals_fast_path(changes):
    if "model" in changes:
        changes = changes | {"model": facts.model(changes["model"])}
    run = a_run(**changes)
    fast, tree = timing.training(run), timing.training_tree(run)
    for name in (
        "step_s",
        "tokens_per_s",
        "tokens_per_s_per_accelerator",
        "mfu_ratio",
        "flop_per_token",
        "goodput_ratio",
    ):
        assert float(tree[name]) == pytest.approx(getattr(fast, name), rel=1e-12), name
    assert ("time_to_target_s" in tree) == (fast.time_to_target_s is not None)
    assert all(part.source is not None and part.source.what for part in tree["step_s"].leaves())
    assert tree["step_s"].interval[0] < fast.step_s < tree["step_s"].interval[1]


@pytest.mark.parametrize(
    "made",
    [part for room in (flops, training_step) for part in vars(room).values() if hasattr(part, "raw")],
    ids=lambda made: made.name,
)
def test_units_work_out(made):
    check_dimensions(made.equation)
