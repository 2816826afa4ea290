"""Training launches carry the run's shape, and the batch adds up."""

import shlex
from dataclasses import replace

import pytest

from cabida import facts
from cabida.launch import command
from cabida.launch.train import accumulation_count
from cabida.plan import Setup
from cabida.plan.setup import training_run

LLAMA = "meta-llama/Llama-3.1-8B"


def made(gpu="h100-sxm-80", **flags):
    return training_run(Setup(**flags), facts.model(LLAMA), facts.accelerator(gpu))


def options(run):
    words = shlex.split(command(run).replace("\\\n", " "), comments=True)
    names = [at for at, word in enumerate(words) if word.startswith("--")]
    ends = [*names[1:], len(words)]
    return {words[at]: " ".join(words[at + 1 : end]) for at, end in zip(names, ends, strict=True)}


def test_qlora_on_one_card():
    run = made(
        "rtx3090", method="qlora", optimizer="adamw-paged-8bit", seq_len=4096, micro_batch=2, global_batch=16
    )
    told = options(run)
    assert command(run).startswith("trl sft")
    assert told["--load_in_4bit"] == ""
    assert told["--optim"] == "paged_adamw_8bit"
    assert told["--gradient_accumulation_steps"] == "8"
    assert told["--max_length"] == "4096"
    assert "--num_processes" not in told


def test_full_fine_tune_on_a_node():
    run = made(method="full", gpus=8, sharding="fsdp", recompute="full", global_batch=64, micro_batch=2)
    told = options(run)
    assert told["--accelerate_config"] == "fsdp2"
    assert told["--num_processes"] == "8"
    assert told["--gradient_accumulation_steps"] == "4"
    assert "--gradient_checkpointing" in told
    assert "--use_peft" not in told


def test_pretraining_goes_to_megatron_with_the_architecture():
    run = replace(
        made(method="pretrain", gpus=16, tp=2, sharding="zero-1", global_batch=256), target_tokens=2.048e9
    )
    told, text = options(run), command(run)
    assert "torchrun --nproc-per-node 8 --nnodes 2" in text
    assert '"${DATASET:?}"' in text
    assert told["--num-layers"] == "32"
    assert told["--num-query-groups"] == "8"
    assert told["--tensor-model-parallel-size"] == "2"
    assert told["--train-samples"] == "1000000"
    assert "--use-distributed-optimizer" in told


@pytest.mark.parametrize("micro", [1, 2, 3, 8])
@pytest.mark.parametrize("batch", [8, 64, 100])
def test_accumulation_reaches_the_global_batch(micro, batch):
    run = made(method="full", gpus=8, sharding="fsdp", micro_batch=micro, global_batch=batch)
    assert accumulation_count(run) * micro * run.data_parallel_count >= batch
    assert (accumulation_count(run) - 1) * micro * run.data_parallel_count < batch
