"""Questions to ``fit`` that can't be meant: refused with a code, all faults at once; answers keep their word."""

import json
from dataclasses import fields

import pytest
from broken_world import LLAMA, run

from cabida import app, facts
from cabida.memory import training
from cabida.plan import Setup
from cabida.plan.setup import training_run
from cabida.report.beyond_fits import Beyond
from cabida.report.fit_asked import USES

L4 = ("--gpu", "l4")
FLUX, BGE = ("fit", "flux.1-dev", *L4), ("fit", "bge-m3", *L4)
SERVE, LORA, FULL = (
    ("fit", LLAMA, *L4),
    ("fit", LLAMA, *L4, "--method", "lora"),
    ("fit", LLAMA, *L4, "--method", "full"),
)
INDEX = ("fit", "--vectors", "1M", "--dims", "64")
REFUSED = {
    "blanks as accelerator": (("fit", LLAMA, "--gpu", "  "), 2, "CB-U004"),
    "training's flags about serving": ((*SERVE, "--seq-len", "4096", "--optimizer", "sgd"), 2, "CB-U046"),
    "serving's flags about training": ((*LORA, "--kv-cache", "fp8", "--concurrency", "3"), 2, "CB-U046"),
    "others hold all of a card that is to train": ((*FULL, "--in-use", "200GiB"), 3, "CB-U049"),
    "a rank without adapters": ((*FULL, "--lora-rank", "64"), 2, "CB-U046"),
    "a cache of pictures": ((*FLUX, "--kv-cache", "fp8"), 2, "CB-U046"),
    "frames of a picture": ((*FLUX, "--frames", "9"), 2, "CB-U046"),
    "width of a text": ((*BGE, "--width", "512"), 2, "CB-U046"),
    "lists of a graph": ((*INDEX, "--lists", "4"), 2, "CB-U046"),
    "an engine of an index": ((*INDEX, "--engine", "vllm"), 2, "CB-U046"),
    "context beyond the longest": ((*SERVE, "--min-context", "9", "--max-model-len", "8"), 3, "CB-U047"),
    "more at once than may be": ((*SERVE, "--concurrency", "9", "--max-num-seqs", "8"), 3, "CB-U047"),
    "8 cards on 3 machines": ((*SERVE, "--gpus", "8", "--nodes", "3"), 3, "CB-U048"),
    "others hold all of the card": ((*SERVE, "--in-use", "40GiB"), 3, "CB-U049"),
    "drafts of nothing": ((*SERVE, "--draft-tokens", "4"), 3, "CB-U050"),
    "all weights in 4 bits": ((*FULL, "--weights", "awq-int4"), 3, "CB-U051"),
    "QLoRA in 16 bits": ((*SERVE, "--method", "qlora", "--weights", "bf16"), 3, "CB-U051"),
    "prediction layers it has not": ((*SERVE, "--draft", "mtp"), 3, "CB-U052"),
    "a framework nobody knows": ((*FULL, "--framework", "banana"), 3, "CB-U019"),
    "a cache in weights' format": ((*SERVE, "--kv-cache", "int3"), 3, "CB-U019"),
    "llama.cpp's cache under vLLM": ((*SERVE, "--kv-cache", "q4_0"), 3, "CB-U056"),
    "7 of 4 at a time": ((*FULL, "--global-batch", "7", "--micro-batch", "4"), 3, "CB-U053"),
    "training split in three": ((*FULL, "--tp", "3"), 3, "CB-K090"),
    "experts of a dense model, trained": ((*FULL, "--gpus", "8", "--ep", "8"), 3, "CB-K090"),
    "a million cards under llama.cpp": ((*SERVE, "--engine", "llama.cpp", "--gpus", "1000000"), 3, "CB-K090"),
    "two slices over the catalogue": (("fit", "--gpu", "h100-sxm-80:1g.10gb", "--gpus", "2"), 3, "CB-K098"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_not_be_meant_is_refused(name):
    words, code, told = REFUSED[name]
    done = run(*words)
    assert (done.exit_code, f"[{told}]" in done.stderr, done.stdout) == (code, True, ""), done.output


def test_every_unknown_name_is_told_at_once():
    words = (
        "fit",
        "no-such-model",
        "--gpu",
        "no-such-card",
        "--weights",
        "fp7",
        "--kv-cache",
        "fp9",
        "--engine",
        "vlm",
    )
    told = json.loads(run(*words, "--json").stdout)["errors"]
    assert [one["code"] for one in told] == ["CB-F001", "CB-F014", "CB-F014", "CB-F001", "CB-F010"]


def test_every_contradiction_is_told_at_once():
    words = ("--in-use", "40GiB", "--draft-tokens", "4", "--max-model-len", "5", "--min-context", "10")
    told = json.loads(run(*SERVE, *words, "--json").stdout)["errors"]
    assert [one["code"] for one in told] == ["CB-U049", "CB-U047", "CB-U050"]


def test_models_a_split_does_not_divide_are_left_out_not_said_to_lack_an_engine():
    answer = json.loads(run("fit", *L4, "--tp", "3", "--weights", "bf16", "--json").stdout)
    assert answer["rows"]
    assert answer["left_out"] > 300
    assert all(row["runs"] for row in answer["rows"])


def test_a_million_cards_over_the_catalogue_are_refused():
    assert "[CB-K090]" in run("fit", *L4, "--gpus", "1000000", "--weights", "bf16").stderr


def test_others_that_hold_nearly_all_leave_no_absurd_number_of_cards():
    cure = app.fit(LLAMA, gpu="l4", used_bytes=22.0 * 2**30)["cure"]
    assert not any(word.isdigit() and int(word) > 1024 for word in cure.replace(",", "").split())


@pytest.mark.parametrize("engine", ["vllm", "llama.cpp", "tensorrt-llm"])
def test_an_interval_holds_the_part_beside_it(engine):
    for name in (LLAMA, "meta-llama/Llama-3.1-70B"):
        answer = app.fit(name, gpu="l4", engine=engine)
        for part, (low, high) in answer["intervals_gib"].items():
            value = answer["memory_gib"].get(part, answer["parts_gib"].get(part))
            assert value is None or low - 1e-9 <= value <= high + 1e-9, part


def test_a_micro_batch_that_is_said_to_hold_holds():
    setup = Setup(method="pretrain", gpus=8, sharding="zero-3")
    small, card = facts.model("princeton-nlp/Sheared-LLaMA-1.3B"), facts.accelerator("rtxpro6000-maxq")
    most = training(training_run(setup, small, card)).largest_micro_batch_count
    again = Setup(method="pretrain", gpus=8, sharding="zero-3", micro_batch=most)
    assert training(training_run(again, small, card)).verdict != "no"


def test_qlora_is_offered_with_the_format_that_makes_it_so():
    asked = (
        "fit",
        "meta-llama/Llama-3.1-70B",
        "--gpu",
        "h100-sxm-80",
        "--method",
        "lora",
        "--weights",
        "bf16",
    )
    changes = json.loads(run(*asked, "--json").stdout)["changes"]
    found = next(one for one in changes if "--method qlora" in one["flags"])
    words = [*asked[:-4], *found["flags"].split()]
    typed = json.loads(run(*words, "--json").stdout)
    assert (typed["verdict"], typed["headroom_gib"]) == (
        found["verdict"],
        pytest.approx(found["headroom_gib"]),
    )


SHAPES = {
    "more lists than vectors": (("--index", "ivf-flat", "--lists", "2000000"), "CB-U054"),
    "more codes than dimensions": (("--index", "ivf-pq", "--codes", "65"), "CB-U054"),
    "codes that don't divide": (("--index", "ivf-pq", "--codes", "7"), "CB-U055"),
    "more edges than it is built with": (("--index", "cagra", "--intermediate-degree", "32"), "CB-U054"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_indexes_that_no_library_builds(name):
    words, code = SHAPES[name]
    done = run(*INDEX, *words)
    assert (done.exit_code, f"[{code}]" in done.stderr) == (3, True), done.output


def test_figures_that_nobody_means_are_refused_where_they_are_typed():
    assert "[CB-U004]" in run(*SERVE, "--max-model-len", "1" + "0" * 15).stderr


def test_every_flag_belongs_to_some_question():
    used = set().union(*USES.values())
    assert {one.name for one in fields(Setup)} <= used
    assert {one.name for one in fields(Beyond)} <= used


def test_a_smaller_share_of_what_is_lacking_does_not_lack_less():
    short = [
        app.fit("meta-llama/Llama-3.1-70B", gpu="l4", engine="tensorrt-llm", gpu_memory_utilization=share)
        for share in (0.3, 0.9)
    ]
    assert short[0]["headroom_gib"] == pytest.approx(short[1]["headroom_gib"])


@pytest.mark.parametrize("name", [LLAMA, "google/gemma-3-27b-it", "Qwen/Qwen3-30B-A3B"])
def test_more_at_once_never_leave_more(name):
    counts = (1, 2, 3, 40)
    left = [app.fit(name, gpu="l4", max_model_len=4096, concurrency=many)["headroom_gib"] for many in counts]
    assert left == sorted(left, reverse=True)


def test_no_more_at_once_than_the_engine_admits():
    answer = app.fit("state-spaces/mamba-130m-hf", gpu="a100-sxm-40")
    assert all(one["sequences"] <= answer["max_num_seqs"] for one in answer["concurrency"])
