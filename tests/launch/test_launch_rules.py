"""What holds of every launch file: counts add up, starts get their time, words stay what they are, nothing is open."""

import json
import math
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida import facts
from cabida.errors import InvalidInput
from cabida.launch import command, distributed
from cabida.launch.start import START_FACTOR, start_of
from cabida.launch.written import files
from cabida.plan import Parallel, Setup
from cabida.plan.setup import deployment
from cabida.report.store import load

GOLDEN = Path(__file__).parents[1] / "report" / "golden" / "decision.en.json"
DECISION = load(GOLDEN)


def serving(**more):
    """Three replicas of two H100 and one to spare, on vLLM."""
    plain = {
        "engine": "vllm", "engine_version": "0.14.0", "accelerator": "h100-sxm-80", "model": "meta-llama/Llama-3.1-8B",
        "command": "vllm serve meta-llama/Llama-3.1-8B --tensor-parallel-size 2", "capacity": "on-demand",
        "setup": {"kind": "serving", "gpus": 2, "accelerators_per_node": 8}, "replicas_count": 3,
        "spare_replicas_count": 1,
    }  # fmt: skip
    return replace(DECISION.options[0], **(plain | more))


def training(gpus=8, per_node=8, **setup):
    plain = {
        "kind": "training",
        "gpus": gpus,
        "accelerators_per_node": per_node,
        "sharding": "zero-2",
        **setup,
    }
    command = "trl sft --model_name_or_path m --output_dir checkpoints"
    return serving(engine="trl", engine_version="", command=command, setup=plain, replicas_count=1)


def document(option, form):
    (text,) = files(DECISION, option, form).values()
    return list(yaml.safe_load_all(text))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 64), st.integers(1, 512), st.sampled_from([1, 2, 4, 8, 16, 32]))
def test_the_batch_is_reached_and_by_no_more_steps_than_it_takes(micro, whole, gpus):
    start = start_of(DECISION, training(gpus, micro_batch=micro, global_batch=whole))
    told = json.loads(distributed.deepspeed(start))
    once = micro * gpus
    steps = told["gradient_accumulation_steps"]
    assert once * steps == told["train_batch_size"]
    assert once * steps >= whole
    assert steps == 1 or once * (steps - 1) < whole


@pytest.mark.parametrize(("gpus", "per_node"), [(1, 8), (8, 8), (16, 8), (8, 4)])
def test_processes_are_those_of_all_machines(gpus, per_node):
    (told,) = document(training(gpus, per_node), "accelerate")
    assert told["num_processes"] == gpus
    assert told["num_machines"] == math.ceil(gpus / per_node)


@pytest.mark.parametrize("weights_gb", [1, 140, 700])
def test_a_start_gets_five_times_what_it_is_expected_to_take(weights_gb):
    option = serving(memory={"weights": weights_gb * 1e9 / 2})
    takes_s = start_of(DECISION, option).starts_s
    assert start_of(DECISION, option).weights_gb == pytest.approx(weights_gb)
    deployment = document(option, "kubernetes")[1]["spec"]
    (container,) = deployment["template"]["spec"]["containers"]
    probe = container["startupProbe"]
    assert probe["failureThreshold"] * probe["periodSeconds"] >= START_FACTOR * takes_s
    assert deployment["progressDeadlineSeconds"] >= 2 * START_FACTOR * takes_s
    check = document(option, "compose")[0]["services"]["engine"]["healthcheck"]
    assert int(check["start_period"].removesuffix("s")) >= START_FACTOR * takes_s
    (unit,) = files(DECISION, option, "systemd").values()
    assert int(re.search(r"TimeoutStartSec=(\d+)", unit)[1]) >= START_FACTOR * takes_s
    sky = document(option, "skypilot")[0]
    assert sky["service"]["readiness_probe"]["initial_delay_seconds"] >= START_FACTOR * takes_s
    assert sky["resources"]["disk_size"] >= 2 * weights_gb


def test_every_form_starts_the_replicas_and_their_spares():
    made = document(serving(), "kubernetes")
    assert made[1]["spec"]["replicas"] == 4
    assert made[3]["spec"]["minAvailable"] == 3
    assert document(serving(), "skypilot")[0]["service"]["replicas"] == 4
    alone = document(serving(spare_replicas_count=0), "kubernetes")
    assert alone[1]["spec"]["replicas"] == 3
    assert alone[3]["spec"]["maxUnavailable"] == 1


def test_only_this_machine_is_listened_to():
    """Neither an engine nor its container answers the network before somebody puts a gateway before it."""
    assert document(serving(), "compose")[0]["services"]["engine"]["ports"] == ["127.0.0.1:8000:8000"]
    (unit,) = files(DECISION, serving(), "systemd").values()
    assert "127.0.0.1:8000:8000" in unit
    assert not re.search(r"-p \d+:\d+", unit)


@given(st.text(st.sampled_from('ab$%{}HOME\\"# '), min_size=1, max_size=20))
def test_a_word_is_the_same_word_after_compose_and_systemd(word):
    option = serving(command=f"vllm serve {shlex.quote(word)} --served-model-name x")
    held = document(option, "compose")[0]["services"]["engine"]["command"]
    assert held[2].replace("$$", "") == word.replace("$", "")  # no dollar stands alone
    assert held[2].count("$") == 2 * word.count("$")
    (unit,) = files(DECISION, option, "systemd").values()
    line = next(one for one in unit.splitlines() if one.startswith("ExecStart="))
    assert line.count("%") == 2 * word.count("%")
    assert line.count("$") == 2 * word.count("$")


@pytest.mark.parametrize(
    "setup",
    [{"checkpoint_interval_s": -1.0}, {"micro_batch": -2}, {"global_batch": 1e18}, {"x": float("nan")}],
)
def test_figures_below_nothing_or_beyond_reason_are_refused(setup):
    with pytest.raises(InvalidInput, match="CB-L003"):
        start_of(DECISION, training(**setup))


@pytest.mark.parametrize(("capacity", "spot"), [("spot", True), ("on-demand", None), ("reserved", None)])
def test_only_what_is_planned_on_spot_is_rented_as_spot(capacity, spot):
    assert document(serving(capacity=capacity), "skypilot")[0]["resources"].get("use_spot") is spot


def test_several_machines_meet_and_one_meets_nobody():
    (one,), (two,) = (document(training(gpus, 8), "accelerate") for gpus in (8, 16))
    assert "rdzv_backend" not in one
    assert two["rdzv_backend"] == "c10d"
    assert two["main_process_port"] == distributed.PORT


def test_machines_are_chosen_by_the_names_that_their_maker_gives():
    nvidia = start_of(DECISION, serving())
    assert nvidia.product_names
    assert all(" " not in name for name in nvidia.product_names)
    assert nvidia.resource == "nvidia.com/gpu"
    amd = start_of(DECISION, serving(accelerator="mi300x"))
    assert amd.product_names == ()
    assert amd.resource == "amd.com/gpu"


def test_a_split_of_one_is_not_said():
    plain = deployment(
        Setup(gpus=1, engine="sglang"), facts.model("meta-llama/Llama-3.1-8B"), facts.accelerator("h200")
    )
    for engine in ("vllm", "sglang", "tensorrt-llm"):
        told = command(replace(plain, engine=engine))
        assert told
        assert not re.search(r"(?:size|nnodes)[= ]1(?:\s|$)", told)
    split = replace(plain, engine="sglang", parallel=Parallel(tp=2, ep=2))
    assert "--ep-size 2" in command(split)
