"""``cabida speed`` as people and scripts see it: capacity, fleets, deadlines, the knee, a step, runs beyond serving."""

import json
import math
import re

import pytest
from click.testing import CliRunner

from cabida import app, text
from cabida.errors import InvalidInput, UsageProblem
from cabida.faces.cli import cli
from cabida.report.speed_pictures import drawing

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
H100 = ("--gpu", "h100-sxm-80")
SPREAD = {"input_spread_ratio": 0.5, "output_spread_ratio": 0.5}


@pytest.fixture(autouse=True)
def _english(monkeypatch):
    for name in ("CABIDA_LANG", "LC_ALL", "LC_MESSAGES", "LANG", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    yield
    text.use_language("en")


def run(*words):
    return CliRunner().invoke(cli, ["speed", *words])


def told(*words):
    done = run(*words, "--json")
    assert done.exit_code in (0, 4), done.output
    return json.loads(done.stdout)


LIMITS = {"ttft_ms_p95": 400.0, "tpot_ms_p95": 25.0}


def test_objectives_give_a_capacity_that_meets_them_and_not_much_more():
    found = app.speed(LLAMA, gpu="h100-sxm-80", objectives_ms=LIMITS, **SPREAD)
    rate = found["capacity"]["requests_per_s"]
    assert 0 < rate.low <= rate.value <= rate.high
    assert found["satisfied"]
    assert all(one["met"] for one in found["objectives"])
    assert found["load"]["requests_per_s"] == rate.value
    beyond = app.speed(
        LLAMA, gpu="h100-sxm-80", requests_per_s=1.3 * rate.value, objectives_ms=LIMITS,
        **SPREAD,
    )  # fmt: skip
    assert not beyond["satisfied"]


def test_a_load_that_misses_its_objective_exits_with_four_and_says_so():
    done = run(LLAMA, *H100, "--requests-per-s", "5", "--tpot-p95-ms", "1")
    assert done.exit_code == 4
    assert "No rate keeps the objectives" in done.stdout
    assert run(LLAMA, *H100, "--requests-per-s", "1", "--tpot-p95-ms", "500").exit_code == 0


def test_a_demand_takes_replicas_by_the_hour_and_survives_a_loss_with_a_spare():
    found = told(LLAMA, *H100, "--ttft-p95-ms", "500", "--tpot-p95-ms", "25", "--demand", "90", "--profile",
                 "office-hours", "--spares", "1", "--headroom", "0.1")  # fmt: skip
    fleet, rate = found["fleet"], found["capacity"]["requests_per_s"]["value"]
    assert fleet["replicas"]["value"] == max(fleet["replicas_by_hour"]) == math.ceil(90 / 0.9 / rate)
    assert len(fleet["replicas_by_hour"]) == 168
    assert fleet["survives_a_loss"]
    assert fleet["replicas"]["low"] <= fleet["replicas"]["value"] <= fleet["replicas"]["high"]
    assert fleet["accelerator_hours"] < fleet["accelerator_hours_always_on"]


def test_a_deadline_takes_gpus_or_is_refused_plainly():
    found = told(LLAMA, *H100, "--items", "200000", "--within", "1 h", "--start", "10 min")
    assert found["batch"]["replicas"] >= 2
    assert found["batch"]["took_s"]["value"] <= 3600
    assert found["load"]["concurrency"] == "offline"
    done = run(LLAMA, *H100, "--items", "10", "--within", "1 min", "--start", "2 min")
    assert done.exit_code == 4
    assert "No number of replicas" in done.stdout


def test_the_knee_and_a_step_are_drawn_on_screen_and_in_a_file(tmp_path):
    file = tmp_path / "speed.svg"
    done = run(
        "Qwen/Qwen3-30B-A3B",
        *H100,
        "--weights",
        "fp8",
        "--concurrency",
        "16",
        "--knee",
        "--step",
        "--svg",
        str(file),
    )
    assert done.exit_code == 0, done.output
    for words in ("◄ knee", "overrun", "routed experts", "A step that reads a prompt", "█"):
        assert words in done.stdout
    drawn = file.read_text(encoding="utf-8")
    assert drawn.count('class="chart"') >= 6
    assert "Latency against rate" in drawn


def test_the_parts_of_a_step_add_up_to_it():
    found = app.speed(LLAMA, gpu="h100-sxm-80", gpus=2, tp=2, concurrency=8.0, step=True)
    for one in found["step"].values():
        assert sum(one["parts_s"].values()) == pytest.approx(one["step_time_s"], rel=1e-9)
        assert "exchange" in one["parts_s"]


def test_pictures_are_drawn_in_spanish_too():
    text.use_language("es")
    found = app.speed(LLAMA, gpu="l40s", concurrency=4.0, knee=True)
    assert "Latencia frente a ritmo" in drawing(found)
    assert "codo" in run(LLAMA, "--gpu", "l40s", "--knee", "--lang", "es").stdout


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--spares", "1"), "CB-U050"),
        (("--profile", "evening"), "CB-U050"),
        (("--items", "5"), "CB-U050"),
        (("--within", "5 h"), "CB-U050"),
        (("--items", "5", "--within", "5 h", "--demand", "3"), "CB-U009"),
        (("--demand", "3", "--replicas", "2"), "CB-U009"),
        (("--within", "soon", "--items", "5"), "CB-U004"),
        (("--profile", "1,2,3", "--demand", "3"), "CB-U004"),
        (("--ttft-p95-ms", "0"), "CB-U004"),
        (("--seq-len", "4096"), "CB-U046"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_cure(words, code):
    done = run(LLAMA, *H100, *words)
    assert done.exit_code == 2, done.output
    assert code in done.stderr
    assert done.stdout == ""


def test_replicas_drafts_prefixes_and_readers_each_help():
    ask = {"gpu": "h100-sxm-80", "requests_per_s": 12.0, "input_tokens": 2000.0}
    plain = app.speed(LLAMA, **ask)["metrics"]
    assert app.speed(LLAMA, **ask, replicas=2)["metrics"]["tpot_ms_mean"].value < plain["tpot_ms_mean"].value
    drafted = app.speed(LLAMA, **ask, draft="eagle3", draft_tokens=3)["metrics"]
    assert drafted["tpot_ms_mean"].value < plain["tpot_ms_mean"].value
    cached = app.speed(LLAMA, **ask, shared_prefix_tokens=1500)
    assert cached["metrics"]["ttft_ms_mean"].value < plain["ttft_ms_mean"].value
    assert cached["cached_ratio"] > 0.5
    apart = app.speed(LLAMA, **ask, replicas=1, prefill_replicas=1)["metrics"]
    assert apart["itl_ms_p99"].value < plain["itl_ms_p99"].value


def test_what_drafts_and_who_only_reads_stand_above_the_load():
    ask = (LLAMA, *H100, "--requests-per-s", "4", "--replicas", "2")
    shown = run(
        *ask, "--prefill-replicas", "3", "--draft", "eagle3", "--draft-tokens", "2", "--acceptance", "0.6"
    ).output
    above = " ".join(shown.split("TTFT")[0].split())
    assert "that read prompts: 3; that write the answers: 2" in above
    assert "drafted by eagle3 in each step: 2; each is accepted 60 %" in above
    assert "drafted" not in run(*ask).output
    assert "read prompts" not in run(*ask).output


def test_a_training_run_has_a_rate_a_step_and_a_plan():
    found = app.speed("meta-llama/Llama-3.1-8B", gpu="h100-sxm-80", method="pretrain", gpus=16, sharding="fsdp",
                      seq_len=4096, global_batch=128, target_tokens=1e11)  # fmt: skip
    metrics = found["metrics"]
    assert metrics["tokens_s"].value == pytest.approx(16 * metrics["tokens_s_per_gpu"].value, rel=1e-6)
    assert sum(found["parts_s"].values()) == pytest.approx(metrics["step_time_s"].value, rel=1e-6)
    assert metrics["gpu_hours_to_target"].value == pytest.approx(
        16 * metrics["time_to_target_s"].value / 3600, rel=1e-6
    )
    done = run("meta-llama/Llama-3.1-8B", *H100, "--method", "lora", "--lang", "es")
    assert done.exit_code == 0, done.output
    assert "productos de matrices" in done.stdout


def test_what_does_not_fit_has_no_speed_and_is_told_where_to_ask():
    for ask in (("flux.1-dev", "--gpu", "rtx4090"), (LLAMA, "--gpu", "rtx4090", "--method", "full")):
        done = run(*ask)
        assert done.exit_code == 3, done.output
        assert "cabida fit" in done.stderr
    with pytest.raises(UsageProblem, match="CB-U046"):
        app.speed("flux.1-dev", gpu="h100-sxm-80", objectives_ms={"ttft_ms_p95": 3.0})
    with pytest.raises(InvalidInput):
        app.speed("flux.1-dev", gpu="h100-sxm-80", precision="fp9")


def test_images_and_speech_have_seconds():
    image = app.speed("flux.1-dev", gpu="h100-sxm-80", steps=20)
    twice = app.speed("flux.1-dev", gpu="h100-sxm-80", steps=40)
    assert 1.7 < twice["metrics"]["seconds_per_item"].value / image["metrics"]["seconds_per_item"].value < 2.1
    assert "denoising" in run("flux.1-dev", *H100).stdout
    assert "times real time" in run("openai/whisper-large-v3", *H100).stdout


def test_copies_side_by_side_make_no_image_quicker():
    alone, many = (app.speed("flux.1-dev", gpu="h100-sxm-80", gpus=one)["metrics"] for one in (1, 100))
    assert many["made_s"].value == pytest.approx(alone["seconds_per_item"].value)
    assert many["seconds_per_item"].value == pytest.approx(many["made_s"].value / 100)
    assert "made_s" not in alone
    shown = run("flux.1-dev", *H100, "--gpus", "100").stdout
    assert "from start to finish" in shown
    assert "one item every" in shown


def test_counts_of_replicas_keep_every_digit_and_stand_in_the_head():
    head = run(LLAMA, *H100, "--replicas", "1000", "--requests-per-s", "10").stdout.splitlines()[0]
    assert "1,000 replicas of 1×h100-sxm-80" in head
    told = " ".join(run(LLAMA, *H100, "--demand", "1e9").stdout.split())
    replicas, cards = re.search(r": ([\d,]+) \[.*?; ([\d,]+) × h100", told).groups()
    assert replicas == cards


def test_one_screen_in_a_pipe_has_no_colour():
    done = run(LLAMA, *H100, "--concurrency", "4", "--step")
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
