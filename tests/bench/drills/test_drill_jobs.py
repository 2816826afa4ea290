"""Training jobs: every framework's lines as they print them, warm-up left out, and checkpoints that hold or don't."""

import asyncio
import sys
import time

import pytest

from cabida.bench.clock import now_s
from cabida.bench.drills import jobs
from cabida.bench.drills.acts import Drilled
from cabida.bench.drills.checkpoints import checkpoint_drill
from cabida.bench.drills.formats import FORMATS
from cabida.bench.drills.jobs import Reading, Step, lines, started_job, step_times_s, summed_up, train
from cabida.bench.drills.judged import judged
from cabida.bench.drills.process import started
from cabida.bench.drills.recovery import Recovery, stretch
from cabida.errors import EndpointFailed, InvalidInput
from cabida.plan.bench import Drill, Job

# lines as public logs of each framework show them
PRINTED = {
    "megatron": (
        " [2025-08-01 07:19:50] iteration        2/    5000 | consumed samples:          256 | elapsed time"
        " per iteration (ms): 12936.1 | throughput per GPU (TFLOP/s/GPU): 118.7 | learning rate: 1.395349E-07"
        " | global batch size:   128 | lm loss: 1.044022E+01 | loss scale: 1.0 | grad norm: 26.305 |",
        2, {"step_time_s": 12.9361, "tflops_per_gpu": 118.7, "loss": 10.44022},
    ),
    "maxtext": (
        "I0317 10:00:14.093450 125344476638336 metric_logger.py:181] completed step: 2, seconds: 0.215, TFLOP/s/device:"
        " 477.762, Tokens/s/device: 19041.686, total_weights: 31850, loss: 12.938",
        2, {"step_time_s": 0.215, "tflops_per_gpu": 477.762, "tokens_s_per_gpu": 19041.686, "loss": 12.938},
    ),
    "nemo": (
        "Training epoch 0, iteration 1/249 | lr: 3.922e-06 | global_batch_size: 8 | global_step: 1 |"
        " reduced_train_loss: 1.653 | train_step_timing in s: 2.505 | consumed_samples: 16",
        1, {"step_time_s": 2.505, "loss": 1.653},
    ),
    "deepspeed": (
        "[2023-12-29 13:02:49,654] [INFO] [timer.py:260:stop] epoch=0/micro_step=10/global_step=10,"
        " RunningAvgSamplesPerSec=110.86936118523683, CurrSamplesPerSec=111.33670009091573, MemAllocated=1.87GB,"
        " MaxMemAllocated=6.12GB",
        10, {"samples_s": 111.33670009091573, "peak_gib_per_gpu": 6.12},
    ),
    "torchtune": (
        "Step 5 | loss:0.35119619965553284 lr:1e-06 tokens_per_second_per_gpu:9077.1552734375"
        " peak_memory_active:85.53374147415161 peak_memory_alloc:85.53374147415161 peak_memory_reserved:104.0546875",
        5, {"loss": 0.35119619965553284, "tokens_s_per_gpu": 9077.1552734375, "peak_gib_per_gpu": 104.0546875},
    ),
    "axolotl": (
        "{'loss': '1.205', 'grad_norm': '0.4', 'learning_rate': '2e-05', 'memory/max_active (GiB)': '20.11',"
        " 'memory/max_allocated (GiB)': '21.5', 'tokens/train_per_sec_per_gpu': '3021.5', 'epoch': '0.04'}",
        None, {"loss": 1.205, "tokens_s_per_gpu": 3021.5, "peak_gib_per_gpu": 21.5},
    ),
    "llama-factory": (
        "{'loss': 0.8091, 'learning_rate': 3.9e-05, 'epoch': 0.08, 'throughput': 12034.5}",
        None, {"loss": 0.8091, "tokens_s": 12034.5},
    ),
    "hf-trainer": (
        "{'loss': 2.075, 'learning_rate': 0.0002329900014453396, 'epoch': 0.04}",
        None, {"loss": 2.075},
    ),
}  # fmt: skip

TRAINS = """
import json, os, sys, time
path, until, each_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
step = json.load(open(path))["step"] if os.path.exists(path) and "fresh" not in sys.argv else 0
while step < until:
    step += 1
    time.sleep(each_s * (5 if step <= 3 else 1))
    print(f"completed step: {step}, seconds: {each_s}, TFLOP/s/device: 1.0, "
          f"Tokens/s/device: {100 + step % 3}, loss: {9 - step / 100}", flush=True)
    if step % 10 == 0 and "dry" not in sys.argv:
        with open(path + ".part", "w") as file:
            json.dump({"step": step}, file)
        os.replace(path + ".part", path)
"""


class Told:
    def __init__(self):
        self.rows = []

    def event(self, kind, **plain):
        self.rows.append({"kind": kind, **plain})

    def at(self, clock_s):
        return clock_s


def run(work):
    async def bounded():
        async with asyncio.timeout(60):
            return await work

    return asyncio.run(bounded())


def python(script, *words):
    return (sys.executable, "-c", script, *words)


@pytest.mark.parametrize("name", [one.name for one in FORMATS])
def test_lines_of_each_framework_are_known_by_themselves(name):
    line, step, values = PRINTED[name]
    reading = Reading({})
    assert reading.read("nothing of interest", 0.0) is None
    found = reading.read(line, 1.0)
    assert reading.format == name
    assert found.step == step
    assert found.values == pytest.approx(values)


def test_every_format_says_where_it_was_read():
    assert len({one.name for one in FORMATS}) == len(FORMATS) == len(PRINTED)
    assert all("/" in one.source for one in FORMATS)


def test_steps_of_a_progress_bar():
    reading = Reading({"format": "hf-trainer"})
    assert reading.read(" 80%|████████ | 40/50 [02:52<00:44, 4.49s/it]", 5.0).step == 40
    assert reading.read("{'loss': 2.2, 'epoch': 6.7}", 5.1) == Step(5.1, 40, {"loss": 2.2})


def test_a_job_is_summed_up_without_its_warm_up(tmp_path):
    told = []
    job = Job(python(TRAINS, str(tmp_path / "ckpt"), "60", "0.01", "dry"), warm_up_steps=10)
    done = run(train(job, told=told.append))
    assert (done.format, done.code) == ("maxtext", 0)
    assert len(done.steps) == len(told) == 60
    assert done.figures["step_time_s"].value == pytest.approx(0.01)
    assert done.figures["step_time_s"].count == 50
    rate = done.figures["tokens_s_per_gpu"]
    assert rate.low <= rate.value <= rate.high
    assert rate.value == pytest.approx(101, abs=0.1)
    assert done.figures["loss"].value == pytest.approx(8.4)
    assert done.loss_first == pytest.approx(8.99)


def test_patterns_of_ones_own_and_steps_timed_by_their_lines():
    script = (
        "import time\nfor n in range(30):\n"
        "    print(f'batch={n} nll={5 - n / 10} mem={1000 + n}MiB', flush=True)\n    time.sleep(0.02)"
    )
    patterns = {"step": r"batch=(\d+)", "loss": r"nll=([\d.]+)", "peak_mib_per_gpu": r"mem=(\d+)"}
    done = run(train(Job(python(script), patterns, warm_up_steps=5)))
    assert done.format == ""
    assert 0.02 <= done.figures["step_time_s"].value < 1.0
    assert done.figures["step_time_s"].count == 24
    assert done.figures["peak_gib_per_gpu"].value == pytest.approx(1029 / 1024)


def test_several_steps_a_line_and_a_start_over():
    steps = [Step(0.0, 10, {}), Step(4.0, 20, {}), Step(4.1, 20, {}), Step(5.0, 5, {}), Step(9.0, 30, {})]
    assert step_times_s(steps) == pytest.approx([0.4, 0.5])
    assert "step_time_s" not in summed_up([Step(0.0, None, {"loss": 1.0})], 0)


def test_time_ends_a_job_and_its_children(tmp_path):
    pid = tmp_path / "pid"
    script = (
        "import subprocess, sys, time; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        f"open({str(pid)!r}, 'w').write(str(p.pid)); print('loss: 1.5', flush=True); time.sleep(60)"
    )
    done = run(train(Job(python(script), {"loss": r"loss: ([\d.]+)"}, duration_s=1.5, warm_up_steps=0)))
    assert done.code is None
    assert done.figures["loss"].value == 1.5
    until_s = now_s() + 10
    while started(int(pid.read_text())) is not None and now_s() < until_s:
        time.sleep(0.02)
    assert started(int(pid.read_text())) is None


def test_a_job_ends_when_it_ends_whoever_holds_its_output():
    script = (
        "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        "print('loss: 1.5', flush=True)"
    )
    began_s = now_s()
    done = run(train(Job(python(script), {"loss": r"loss: ([\d.]+)"}, warm_up_steps=0)))
    assert done.code == 0
    assert done.figures["loss"].value == 1.5
    assert now_s() - began_s < 30


@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        (
            "print('CUDA out of memory, token=hf_abcdefghijklmnopqrst'); raise SystemExit(7)",
            "CB-D033",
            "out of memory",
        ),
        ("print('no figures')", "CB-D034", "no figures"),
    ],
)
def test_a_job_that_fails_or_tells_nothing(script, code, said):
    with pytest.raises(EndpointFailed) as error:
        run(train(Job(python(script))))
    assert error.value.problems[0].code == code
    assert said in str(error.value)
    assert "hf_abc" not in str(error.value)


def test_a_job_that_is_not_there():
    with pytest.raises(EndpointFailed) as error:
        run(train(Job(("/no/such/trainer",))))
    assert error.value.problems[0].code == "CB-D032"


def test_patterns_that_cannot_be_used_are_told_at_once():
    with pytest.raises(InvalidInput) as error:
        Reading({"format": "megatrn", "loss": "([", "step": "no group"})
    assert [one.code for one in error.value.problems] == ["CB-D031", "CB-D030", "CB-D030"]
    assert "megatron" in str(error.value)


def test_a_pattern_that_never_ends_is_given_up():
    reading = Reading({"loss": r"(a+)+$", "step": r"step (\d+)"})
    began_s = now_s()
    for at in range(20):
        assert reading.read(f"step {at} " + "a" * 5000 + "b", 0.0).step == at
    assert reading.given_up == ("loss",)
    assert now_s() - began_s < 20


def test_lines_are_bounded_and_ended_by_returns_too():
    script = (
        "import sys; sys.stdout.write('x' * 3_000_000 + '\\n' + 'one\\rtwo\\r\\n' + 'ü' * 3 + '\\n' + 'last')"
    )

    async def work():
        job = await started_job(Job(python(script)))
        found = [line async for _, line in lines(job.output)]
        await job.ended()
        await job.end()
        return found

    found = run(work())
    assert len(found[0]) == jobs.LINE_CHARS_MOST
    assert found[1:] == ["one", "two", "üüü", "last"]


def checkpointed(tmp_path, *words, within_s=30.0, lasts_s=0.3, **more):
    path = str(tmp_path / "ckpt")
    job = Job(python(TRAINS, path, "100000", "0.02", *words), checkpoint=path)
    return run(checkpoint_drill(Drill("checkpoint", lasts_s=lasts_s, within_s=within_s, **more), job, Told()))


def verdict(drilled):
    empty = stretch(())
    return judged(drilled, Recovery("c", "checkpoint", empty, empty, empty)).verdict


def test_a_job_killed_after_its_checkpoint_goes_on_from_there(tmp_path):
    drilled = checkpointed(tmp_path)
    assert drilled.failed == ""
    said = drilled.details
    assert said["killed_step"] > said["checkpoint_step"] >= 10
    assert said["resumed_step"] % 10 == 1  # behind one of its checkpoints
    assert said["resumed_step"] > 1
    assert said["steps_lost"] == said["killed_step"] - said["resumed_step"] + 1 >= 0
    assert 0 < said["resume_s"] <= said["regained_s"]
    assert verdict(drilled) == "passed"


def test_a_job_that_begins_again_has_not_used_it(tmp_path):
    drilled = checkpointed(tmp_path, "fresh")
    assert drilled.details["resumed_step"] == 1
    assert verdict(drilled) == "failed"


@pytest.mark.parametrize(
    ("first", "told", "resumed", "wanted"),
    [(10, 30, 10, "failed"), (10, 30, 40, "passed"), (10, 10, 10, "passed"), (1, 12, 11, "passed")],
)
def test_a_job_that_tells_every_tenth_step_begins_again_at_the_first_it_told(first, told, resumed, wanted):
    details = {
        "first_step": first,
        "checkpoint_step": told,
        "resumed_step": resumed,
        "resume_s": 1.0,
        "steps_lost": 0,
    }
    assert verdict(Drilled("c", "checkpoint", began_s=1.0, acted_s=1.0, details=details)) == wanted


def test_no_checkpoint_in_time(tmp_path):
    drilled = checkpointed(tmp_path, "dry", within_s=1.0)
    assert "checkpoint" in drilled.failed
    assert drilled.began_s is None
    assert verdict(drilled) == "undecided"


def test_a_job_that_is_over_before_it_is_killed_decides_nothing(tmp_path):
    path = str(tmp_path / "ckpt")
    job = Job(python(TRAINS, path, "12", "0.01"), checkpoint=path)
    drilled = run(checkpoint_drill(Drill("checkpoint", lasts_s=0.3, within_s=30.0), job, Told()))
    assert "ended by itself" in drilled.failed
    assert verdict(drilled) == "undecided"


def test_a_job_that_does_not_come_back(tmp_path):
    drilled = checkpointed(tmp_path, command=python("print('no')"))
    assert drilled.failed
    assert verdict(drilled) == "failed"
    assert isinstance(drilled, Drilled)
