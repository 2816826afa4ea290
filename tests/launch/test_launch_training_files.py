"""Configurations of training, read by accelerate, DeepSpeed, TRL and bash themselves; a task by SkyPilot's schema."""

import json
import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from cabida import facts
from cabida.errors import InvalidInput
from cabida.launch import command
from cabida.launch.setups import setup_of
from cabida.launch.skypilot import names
from cabida.launch.slurm import save_steps
from cabida.launch.start import start_of
from cabida.launch.written import files
from cabida.plan import Estimate, Setup
from cabida.plan.setup import training_run
from cabida.report.store import load

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "report" / "golden" / "decision.en.json"
PYTHON = ROOT / ".engines" / "bin" / "python"
SKY = json.loads((Path(__file__).parent / "schemas" / "skypilot-0.14.1.json").read_text())
LLAMA = "meta-llama/Llama-3.1-8B"
READ = """
import json, sys
from accelerate.commands.config.config_args import load_config_from_file
from deepspeed.runtime.config import DeepSpeedConfig
from trl import ModelConfig, ScriptArguments, SFTConfig, TrlParser

found = {}
for case in json.load(sys.stdin):
    if case["accelerate"]:
        read = load_config_from_file(case["accelerate"])
        found[case["name"]] = {"type": str(read.distributed_type), "processes": read.num_processes}
    if case["deepspeed"]:
        told = json.load(open(case["deepspeed"]))
        told["train_batch_size"] = told["train_micro_batch_size_per_gpu"] * told["gradient_accumulation_steps"]
        DeepSpeedConfig(told)
    for words in case["words"]:
        parser = TrlParser((ScriptArguments, SFTConfig, ModelConfig))
        script, training, model = parser.parse_args_and_config(words)
        found.setdefault(case["name"], {})["saved"] = training.save_steps
print(json.dumps(found))
"""


def case(name, gpu="h100-sxm-80", **flags):
    flags = {
        "method": "full",
        "micro_batch": 2,
        "global_batch": 64,
        "seq_len": 4096,
        "target_tokens": 1e8,
        **flags,
    }
    run = training_run(Setup(**flags), facts.model(LLAMA), facts.accelerator(gpu))
    decision = load(GOLDEN)
    minutes = Estimate(600.0, 400.0, 1500.0, "calibrated")
    option = replace(
        decision.options[0], engine=run.framework or "trl", engine_version="", command=command(run), accelerator=gpu,
        accelerators_count=run.accelerators_count, replicas_count=1, spare_replicas_count=0,
        setup=setup_of(run, 1800.0), metrics={"minutes_to_target": minutes, "step_time_s": Estimate(4.0, 3, 5, "x")},
    )  # fmt: skip
    return replace(decision, name=name, workload="full-finetune"), option


CASES = {
    "one": {"gpus": 1, "method": "qlora"},
    "ddp": {"gpus": 2, "method": "lora", "sharding": "ddp"},
    "zero-2": {"gpus": 8, "sharding": "zero-2", "offload": "optimizer"},
    "zero-3": {"gpus": 16, "sharding": "zero-3", "offload": "all"},
    "fsdp": {"gpus": 8, "sharding": "fsdp"},
    "half": {"gpus": 1, "method": "lora", "precision": "fp16"},
}


def bare(text):
    """The words of the script that torchrun runs."""
    line = next(one for one in text.splitlines() if one.startswith("torchrun"))
    words = shlex.split(line)
    return words[words.index("trl.scripts.sft") + 1 :]


def test_the_real_parsers_take_them(tmp_path):
    asked = []
    for name, flags in CASES.items():
        decision, option = case(name, **flags)
        found = files(decision, option, "all")
        for file, text in found.items():
            (tmp_path / f"{name}-{file}").write_text(text)
        deepspeed = str(tmp_path / f"{name}-deepspeed.json") if "deepspeed.json" in found else ""
        assert bool(deepspeed) == flags.get("sharding", "").startswith("zero")
        slurm = found[f"{decision.name}.sbatch"]
        more = re.search(r"more=\((.*)\)", slurm).group(1)
        words = [word for word in bare(found["torchrun.sh"]) if word not in ("--deepspeed", "deepspeed.json")]
        resumed = [
            *words,
            *shlex.split(more),
            "--resume_from_checkpoint",
            "checkpoints/checkpoint-9",
            "--use_cpu",
        ]
        told = {"name": name, "accelerate": str(tmp_path / f"{name}-accelerate.yaml"), "deepspeed": deepspeed}
        asked.append({**told, "words": [resumed]})
    done = subprocess.run(
        [PYTHON, "-c", READ], input=json.dumps(asked), capture_output=True, text=True, check=False, cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "ACCELERATE_USE_CPU": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    read = json.loads(done.stdout.splitlines()[-1])
    assert read["zero-3"]["processes"] == 16
    assert "FSDP" in read["fsdp"]["type"]
    assert {one["saved"] for one in read.values()} == {450}  # 1,800 s of 4 s steps


def test_the_batch_adds_up():
    decision, option = case("zero-3", **CASES["zero-3"])
    told = json.loads(files(decision, option, "deepspeed")["deepspeed.json"])
    assert (
        told["train_micro_batch_size_per_gpu"] * told["gradient_accumulation_steps"] * 16
        == told["train_batch_size"]
    )
    assert told["train_batch_size"] == 64
    assert told["zero_optimization"]["stage"] == 3
    assert told["zero_optimization"]["offload_param"]["device"] == "cpu"


def directives(text):
    found = {}
    for line in text.splitlines()[1:]:
        if line.startswith("#SBATCH "):
            name, _, value = line.removeprefix("#SBATCH --").partition("=")
            assert re.fullmatch(r"[a-z-]+", name)
            assert " " not in value
            found[name] = value
        elif not line.startswith("#"):
            break
    return found


def test_a_slurm_script_asks_for_what_the_run_takes_and_goes_on_where_it_stopped(tmp_path):
    decision, option = case("my run", gpus=16, sharding="fsdp")
    ((name, text),) = files(decision, option, "slurm").items()
    assert name == "my-run.sbatch"
    told = directives(text)
    assert (told["nodes"], told["gpus-per-node"]) == ("2", "8")
    assert told["time"] == "1-03:30:00"  # 1,500 minutes and a tenth
    assert "requeue" in told
    assert save_steps(start_of(decision, option)) == 450
    script = tmp_path / name
    script.write_text(text)
    subprocess.run(["bash", "-n", script], check=True)
    (tmp_path / "checkpoints" / "checkpoint-90").mkdir(parents=True)
    (tmp_path / "checkpoints" / "checkpoint-450").mkdir()
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool, body in {
        "scontrol": "echo host-1; echo host-2",
        "srun": 'shift; exec "$@"',
        "trl": 'echo "$@"',
    }.items():
        (tools / tool).write_text(f"#!/bin/bash\n{body}\n")
        (tools / tool).chmod(0o755)
    environment = {
        "PATH": f"{tools}:/usr/bin:/bin", "DATASET": "mine", "SLURM_JOB_NODELIST": "host-[1-2]", "SLURM_NODEID": "1",
    }  # fmt: skip
    done = subprocess.run(
        ["bash", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "--resume_from_checkpoint checkpoints/checkpoint-450" in done.stdout
    assert "--machine_rank 1 --main_process_ip host-1" in done.stdout
    without = {name: value for name, value in environment.items() if name != "DATASET"}
    done = subprocess.run(
        ["bash", script], cwd=tmp_path, env=without, capture_output=True, text=True, check=False
    )
    assert "DATASET" in done.stderr
    assert done.returncode != 0


def test_megatron_is_started_by_torchrun_and_no_launcher_of_trl():
    decision, option = case("pre", gpus=16, tp=2, pp=2, method="pretrain", sharding="zero-1")
    found = files(decision, option, "all")
    assert "accelerate.yaml" not in found
    assert "pretrain_gpt.py" in found["torchrun.sh"]
    assert "--save-interval 450" in found["pre.sbatch"]
    with pytest.raises(InvalidInput, match="CB-L011"):
        files(decision, option, "accelerate")
    with pytest.raises(InvalidInput, match="CB-L012"):
        files(*case("fsdp", **CASES["fsdp"]), "deepspeed")


def sky_faults(text):
    task = yaml.safe_load(text)
    schema = {**SKY["task"], "properties": {**SKY["task"]["properties"]}}
    parts = [(schema, task), (SKY["resources"], task["resources"])]
    parts += [(SKY["service"], task["service"])] if "service" in task else []
    return [one.message for schema, part in parts for one in Draft202012Validator(schema).iter_errors(part)]


def test_a_task_is_one_by_skypilots_schema():
    for name in ("one", "zero-3", "fsdp"):
        text = files(*case(name, **CASES[name]), "skypilot")["skypilot.yaml"]
        assert sky_faults(text) == []
    spot = case("one", gpus=1, method="qlora")
    task = yaml.safe_load(files(spot[0], replace(spot[1], capacity="spot"), "skypilot")["skypilot.yaml"])
    assert task["resources"]["use_spot"] is True
    assert task["resources"]["accelerators"] == "H100:1"
    assert task["envs"] == {"DATASET": ""}
    decision = load(GOLDEN)
    served = replace(
        decision.options[0], engine="vllm", engine_version="0.14.0", accelerator="l40s", command="vllm serve m",
        setup={"kind": "serving", "gpus": 1}, replicas_count=2,
    )  # fmt: skip
    text = files(decision, served, "skypilot")["skypilot.yaml"]
    assert sky_faults(text) == []
    assert sky_faults(text.replace("num_nodes", "nmu_nodes"))
    task = yaml.safe_load(text)
    assert task["service"]["readiness_probe"]["path"] == "/health"
    assert "vllm==0.14.0" in task["setup"]
    with pytest.raises(InvalidInput, match="CB-L010"):
        files(decision, replace(served, accelerator="mi300x"), "skypilot")


def test_every_accelerator_of_skypilot_is_one_of_the_facts():
    assert all(facts.find_accelerator(id) for id in names() if id != "source")


MORE_THAN_WORDS = [
    "vllm serve m; rm -rf x", "vllm serve $(id)", "vllm serve `id`", "vllm serve m > /etc/x", "vllm serve $HOME",
    'vllm serve "$(id)"', "vllm serve m && true", "vllm serve m | sh",
]  # fmt: skip


@pytest.mark.parametrize("text", MORE_THAN_WORDS)
def test_a_decision_whose_command_is_more_than_words_is_not_launched(text):
    decision = load(GOLDEN)
    odd = replace(
        decision.options[0], engine="vllm", accelerator="l40s", command=text, setup={"kind": "serving"}
    )
    with pytest.raises(InvalidInput, match="CB-L003"):
        files(decision, odd, "all")


def test_no_script_dies_of_the_first_line_it_takes():
    """``head`` closes its pipe, and under ``pipefail`` whoever still writes to it ends the script."""
    from importlib import resources

    written = [
        one.read_text()
        for one in (resources.files("cabida") / "launch").iterdir()
        if one.name.endswith(".py")
    ]
    assert any("pipefail" in text for text in written)
    assert not any("| head" in text for text in written)
