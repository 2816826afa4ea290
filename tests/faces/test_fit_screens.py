"""What ``fit`` shows: screens against files kept in git, bars that hold their cells, sums a reader can check.

The answers in ``golden/*.json`` are kept as they once were, so that the screens change only when the showing does;
CABIDA_UPDATE_GOLDEN=1 writes the screens anew.
"""

import io
import json
import os
import re
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

import cabida
from cabida import facts, text
from cabida.faces import fits
from cabida.faces.cli import cli
from cabida.plan import Estimate
from cabida.report.bar import NOTHING_RATIO, ORDER, cells, shown, text_bar
from cabida.report.beyond_fits import encodes
from cabida.report.metrics import plain

GOLDEN = Path(__file__).parent / "golden"
ANSWERS = {
    "usual": (("meta-llama/Llama-3.1-8B-Instruct",), {"gpu": "rtx4090"}),
    "short": (("meta-llama/Llama-3.3-70B-Instruct",), {"gpu": "h100-sxm-80", "weights": "fp8"}),
    "training": (("meta-llama/Llama-2-7b-hf",), {"gpu": "a100-sxm-80", "gpus": 2, "method": "full"}),
    "models": ((), {"gpu": "rtx3060-12", "min_context": 16384}),
}
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


@pytest.fixture(autouse=True)
def _english():
    yield
    text.use_language("en")


def revived(answer):
    """A plain answer with its estimates again."""
    if isinstance(answer, list):
        return [revived(one) for one in answer]
    if not isinstance(answer, dict):
        return answer
    if set(answer) == {"value", "low", "high", "basis"}:
        return Estimate(**answer)
    return {key: revived(one) for key, one in answer.items()}


def drawn(answer, width, encoding="utf-8", language="en", **more):
    text.use_language(language)
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
    console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False, **more)
    console.print(fits.fit(answer))
    stream.flush()
    lines = stream.buffer.getvalue().decode(encoding).splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def kept(name, language="en"):
    file = GOLDEN / f"{name}.{language}.json"
    if not file.exists() and os.environ.get("CABIDA_UPDATE_GOLDEN") == "1":
        text.use_language(language)
        args, flags = ANSWERS[name]
        answer = plain(cabida.fit(*args, **flags))
        if "rows" in answer:
            answer["rows"] = answer["rows"][:22]
        file.write_text(json.dumps(answer, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return revived(json.loads(file.read_text("utf-8")))


@pytest.mark.parametrize(("language", "width"), [("en", 80), ("es", 120)])
@pytest.mark.parametrize("name", ANSWERS)
def test_screens(name, language, width):
    told = drawn(kept(name, language), width, language=language)
    file = GOLDEN / f"{name}.{language}.{width}.txt"
    if os.environ.get("CABIDA_UPDATE_GOLDEN") == "1":
        file.write_text(told, "utf-8")
    assert told == file.read_text("utf-8")
    assert max(map(len, told.splitlines())) <= width


def figures(told):
    """The numbers of the table of parts: those above ``shown by the driver``, and that."""
    lines = told.partition("shown by the driver")
    parts = re.findall(r"^(?:(\S)\1|\S\S)  .*?\s(-?[\d,]+\.\d\d)\b", lines[0], re.MULTILINE)
    total = re.match(r"\s*([\d,]+\.\d\d) GiB", lines[2])
    return [float(one[1].replace(",", "")) for one in parts], float(total[1].replace(",", ""))


@pytest.mark.parametrize("name", ["usual", "short", "training"])
def test_the_parts_on_the_screen_add_up_to_the_cent(name):
    parts, total = figures(drawn(kept(name), 100))
    assert len(parts) >= 6
    assert sum(parts) == pytest.approx(total, abs=1e-9)


def test_the_margin_told_is_a_part_shown():
    answer = kept("usual")
    told = drawn(answer, 100)
    size = f"{answer['headroom_gib']:.2f}"
    assert f"It fits, with {size} GiB to spare" in told
    assert re.search(rf"KV cache to spare +{size} ", told)


def test_a_terminal_without_blocks_gets_letters_and_one_without_colour_gets_none():
    answer = kept("short")
    told = drawn(answer, 80, encoding="ascii")
    bar = next(line for line in told.splitlines() if line.startswith("####"))
    assert set(bar) == set("#=%c+:x")
    assert "\x1b[" in drawn(answer, 80, force_terminal=True, color_system="standard")
    assert "\x1b[3" not in drawn(answer, 80, force_terminal=True, no_color=True)


sizes = st.dictionaries(
    st.sampled_from([*ORDER, "something new"]), st.floats(0, 1e3, allow_subnormal=False), max_size=8
)


@given(sizes, st.integers(1, 120), st.floats(0, 500))
def test_a_bar_has_the_cells_it_was_given_and_every_part_one(parts, width, missing):
    whole = sum(parts.values())
    found = cells(parts | {"missing": min(missing, whole)}, width)
    drawn_cells = sum(count for _, count in found)
    there = [name for name, size in parts.items() if size > NOTHING_RATIO * whole]
    assert drawn_cells == (max(width, len(there)) if there else 0)
    if not missing:
        assert {name for name, _ in found} == set(there)
    assert len(text_bar(parts, width)) == (max(width, len(there)) if there else 0)


@given(sizes)
def test_shown_parts_add_up_and_none_is_off_by_a_step(parts):
    total = round(sum(parts.values()), 2)
    told = shown(parts, total)
    assert sum(told.values()) == pytest.approx(total, abs=1e-6)
    assert all(abs(told[name] - size) < 0.0101 for name, size in parts.items())


LLMS = [one for one, m in facts.models().items() if m.task == "llm" and not encodes(one, m)]


@settings(deadline=None, max_examples=50)
@given(
    st.sampled_from(LLMS),
    st.sampled_from(sorted(facts.accelerators())),
    st.sampled_from(["vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers"]),
    st.sampled_from([1, 3, 40]),
    st.sampled_from([None, 2048]),
)
def test_what_is_told_of_a_card_adds_up_to_the_card(model, gpu, engine, many, length):
    answer = cabida.fit(model, gpu=gpu, engine=engine, concurrency=many, max_model_len=length)
    parts = dict(answer["memory_gib"])
    missing = parts.pop("missing")
    assert sum(parts.values()) - missing == pytest.approx(answer["usable_gib"])
    assert min(parts.values()) >= -1e-9
    if answer["verdict"] == "fits":
        assert missing == 0
    low_high = answer["margin_gib"]
    assert low_high.low <= low_high.value <= low_high.high
    assert low_high.value == pytest.approx(answer["headroom_gib"])


EVERYTHING = cache(lambda: rows("--gpu", "rtx4090")["rows"])


def run(*words, **environment):
    return CliRunner().invoke(cli, ["fit", *words], env={"COLUMNS": "100"} | environment)


def rows(*words):
    return json.loads(run(*words, "--json").stdout)


ROW = {
    "model", "gpu", "gpus", "split", "weights", "kv_cache", "engine", "engine_version", "max_model_len", "runs",
    "verdict", "headroom_gib", "usable_gib", "context_tokens", "context_from", "sequences", "largest_context_tokens",
    "model_context_tokens",
}  # fmt: skip
WHOLE = ROW | {
    "margin_gib", "sureness", "decides", "metrics", "parts_gib", "memory_gib", "intervals_gib", "budget_gib",
    "budget_rule", "cache_is_pool", "largest_sure_context_tokens", "concurrency", "largest_concurrency",
    "max_num_seqs", "largest_in_family", "window", "changes", "cure", "warnings",
}  # fmt: skip


def test_scripts_find_what_they_found():
    assert set(rows(LLAMA, "--gpu", "l4")) >= WHOLE
    assert all(set(row) >= ROW for row in rows(LLAMA)["rows"])
    assert all(set(row) >= ROW | {"params"} for row in rows("--gpu", "l4")["rows"])
    run_answer = rows(LLAMA, "--gpu", "l4", "--method", "qlora")
    assert set(run_answer) >= {
        "verdict", "headroom_gib", "usable_gib", "largest_micro_batch", "largest_seq_tokens", "metrics", "parts_gib",
        "memory_gib", "margin_gib", "sureness", "changes", "cure", "seq_len", "micro_batch", "optimizer", "sharding",
    }  # fmt: skip
    assert "peak_mem_gib" in run_answer["metrics"]


def test_every_accelerator_has_the_fewest_that_do():
    found = rows("meta-llama/Llama-3.3-70B-Instruct", "--weights", "fp8")["rows"]
    fitting = [row for row in found if row["runs"] and row["verdict"] == "fits"]
    assert fitting == found[: len(fitting)]
    assert [row["gpus"] for row in fitting] == sorted(row["gpus"] for row in fitting)
    several = next(row for row in fitting if row["gpus"] == 4)
    fewer = cabida.fit(several["model"], gpu=several["gpu"], weights="fp8", gpus=2)
    assert fewer["verdict"] != "fits"


def test_every_model_has_the_widest_format_that_fits():
    found = EVERYTHING()
    by_id = {row["model"]: row for row in found}
    assert by_id["Qwen/Qwen3-8B"]["weights"] == "bf16"
    assert by_id["Qwen/Qwen3-14B"]["weights"] == "fp8"
    assert by_id["Qwen/Qwen3-30B-A3B"]["weights"] == "awq-int4"
    assert by_id["openai/gpt-oss-20b"]["weights"] == "mxfp4"
    fitting = [row["params"] for row in found if row["runs"] and row["verdict"] == "fits"]
    assert fitting == sorted(fitting, reverse=True)
    apple = {row["model"]: row for row in rows("--gpu", "m4-max")["rows"]}
    assert apple["meta-llama/Llama-3.3-70B-Instruct"]["weights"] == "q8_0"


def test_catalogues_are_narrowed_and_paged():
    everything = EVERYTHING()
    far = rows("--gpu", "rtx4090", "--min-context", "65536")
    many = rows("--gpu", "rtx4090", "--min-context", "65536", "--concurrency", "8")
    assert len(everything) == len(far["rows"]) + far["left_out"]
    assert {row["model"] for row in many["rows"]} < {row["model"] for row in far["rows"]}
    assert all(row["largest_context_tokens"] >= 65536 for row in far["rows"] if row["largest_context_tokens"])
    assert all(row["model_context_tokens"] >= 65536 for row in far["rows"] if row["model_context_tokens"])
    assert "more: --all lists them" in run("--gpu", "rtx4090").stdout
    whole = run("--gpu", "rtx4090", "--all").stdout
    assert "more: --all" not in whole
    assert whole.count("\n") > 200
    assert "None of" in run(LLAMA, "--min-context", "1000000").stdout


def test_a_context_beyond_the_models_own_is_flagged():
    answer = rows("meta-llama/Llama-2-13b-hf", "--gpu", "h100-sxm-80", "--max-model-len", "8192")
    assert answer["verdict"] == "fits"
    assert [one["code"] for one in answer["warnings"]] == ["CB-K095"]
    assert "more than the 4,096" in answer["warnings"][0]["sentence"]


def test_a_format_no_engine_runs_there_is_flagged():
    codes = [one["code"] for one in rows(LLAMA, "--gpu", "tpu-v5e")["warnings"]]
    assert "CB-K096" in codes


def test_what_others_hold_is_not_there_to_train_in():
    asked = ("Qwen/Qwen3-8B", "--gpu", "l40s", "--method", "qlora")
    alone, shared = rows(*asked), rows(*asked, "--in-use", "4 GiB")
    assert alone["headroom_gib"] - shared["headroom_gib"] == pytest.approx(4)
    assert alone["margin_gib"]["low"] - shared["margin_gib"]["low"] == pytest.approx(4)
    assert shared["memory_gib"]["used"] == 4
    assert shared["usable_gib"] == alone["usable_gib"]
    kept = sum(shared["memory_gib"].values()) - 2 * shared["memory_gib"]["missing"]
    assert kept == pytest.approx(shared["usable_gib"])


def test_what_others_hold_is_shown_and_a_smaller_share_offered():
    answer = rows("Qwen/Qwen3-8B", "--gpu", "rtx4090", "--in-use", "4 GiB")
    assert answer["memory_gib"]["used"] == 4
    assert answer["verdict"] != "fits"
    smaller = next(one for one in answer["changes"] if one["kind"] == "emptier")
    assert smaller["verdict"] == "fits"
    for wrong in ("4", "-4 GiB", "much"):
        assert run("Qwen/Qwen3-8B", "--gpu", "rtx4090", "--in-use", wrong).exit_code == 2


def test_adapters_and_drafts_take_their_part():
    bare, adapters, draft = (
        rows("Qwen/Qwen3-8B", "--gpu", "rtx4090", *more)["headroom_gib"]
        for more in ((), ("--max-loras", "4", "--lora-rank", "32"), ("--draft", "eagle3"))
    )
    assert bare > adapters
    assert bare > draft


@pytest.mark.parametrize(
    ("more", "less"),
    [
        (("--cross-entropy", "whole"), ("--cross-entropy", "fused")),
        (("--offload", "none"), ("--offload", "optimizer")),
        (("--recompute", "none"), ("--recompute", "full")),
        (("--optimizer", "adamw"), ("--optimizer", "adamw-8bit")),
        (("--precision", "bf16"), ("--precision", "bf16", "--no-master-weights")),
        (("--method", "lora", "--lora-rank", "256"), ("--method", "lora", "--lora-rank", "8")),
        (("--method", "lora", "--lora-targets", "all"), ("--method", "lora", "--lora-targets", "attention")),
    ],
)
def test_every_flag_of_training_counts(more, less):
    words = ("meta-llama/Llama-2-7b-hf", "--gpu", "h200-sxm-141", "--method", "full")
    wide, narrow = (rows(*words, *flags)["metrics"]["peak_mem_gib"]["value"] for flags in (more, less))
    assert narrow < wide


def test_flags_of_training_that_nobody_knows_are_told_at_once():
    told = run(LLAMA, "--gpu", "l4", "--method", "lora", "--adapter", "nope", "--offload", "disk,optimizer")
    assert told.exit_code == 3
    assert told.stderr.count("CB-U019") == 2
    assert "Known: lora, dora" in told.stderr


def test_too_many_requests_for_the_blocks_of_state_is_no_want_of_memory():
    words = ("Qwen/Qwen3.6-27B", "--gpu", "l40s", "--weights", "fp8", "--max-num-seqs", "1024")
    answer = rows(*words)
    assert (answer["verdict"], answer["starved"]) == ("no", True)
    assert answer["largest_context_tokens"] > 8192
    assert answer["changes"][0]["flags"] == f"--max-num-seqs {answer['state_slots']}"
    told = run(*words).stdout
    assert "It does not start" in told
    assert "short" not in told


def test_where_nothing_helps_another_accelerator_is_named():
    model = "deepseek-ai/DeepSeek-V3.2"
    answer = rows(model, "--gpu", "rtx3090")
    assert answer["changes"] == []
    there = answer["elsewhere"]
    assert f"--gpu {there['gpu']} --gpus {there['gpus']}" in answer["cure"]
    found = cabida.fit(model, gpu=there["gpu"], gpus=there["gpus"], max_model_len=answer["context_tokens"])
    assert found["verdict"] == "fits"
    assert answer["cure"] in " ".join(run(model, "--gpu", "rtx3090").stdout.split())


def test_more_at_once_needs_more_and_is_never_easier():
    counts = (1, 4, 16, 64)
    found = [cabida.fit(LLAMA, gpu="a100-sxm-40", concurrency=one, max_model_len=8192) for one in counts]
    rooms = [one["headroom_gib"] for one in found]
    assert rooms == sorted(rooms, reverse=True)
    states = [("fits", "tight", "no").index(one["verdict"]) for one in found]
    assert states == sorted(states)
    most = found[0]["largest_concurrency"]
    assert cabida.fit(LLAMA, gpu="a100-sxm-40", concurrency=most, max_model_len=8192)["verdict"] != "no"
    assert cabida.fit(LLAMA, gpu="a100-sxm-40", concurrency=most + 1, max_model_len=8192)["verdict"] == "no"


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llama.cpp", "transformers"])
def test_the_largest_context_holds_and_a_longer_one_does_not(engine):
    most = cabida.fit(LLAMA, gpu="rtx4090", engine=engine)["largest_context_tokens"]
    at, over = (
        cabida.fit(LLAMA, gpu="rtx4090", engine=engine, max_model_len=int(most * f)) for f in (1, 1.05)
    )
    assert at["verdict"] != "no"
    assert over["verdict"] == "no"
    sure = cabida.fit(LLAMA, gpu="rtx4090", engine=engine)["largest_sure_context_tokens"]
    assert cabida.fit(LLAMA, gpu="rtx4090", engine=engine, max_model_len=sure)["verdict"] == "fits"


def test_the_largest_of_a_family_fits_and_the_next_does_not():
    answer = cabida.fit("Qwen/Qwen3-4B", gpu="rtx4090")
    kin = answer["largest_in_family"]["model"]
    assert kin == "Qwen/Qwen3-8B"
    assert cabida.fit(kin, gpu="rtx4090")["verdict"] == "fits"
    assert cabida.fit("Qwen/Qwen3-14B", gpu="rtx4090")["verdict"] != "fits"


def test_a_screen_names_what_decides_only_where_it_does():
    wide = cabida.fit("meta-llama/Llama-3.3-70B-Instruct", gpu="a6000", method="qlora", seq_len=512)
    part, margin = wide["decides"], wide["margin_gib"]
    assert part["high_gib"] - part["low_gib"] < (margin.high - margin.low) / 2
    assert text.tr("faces.fit.decides_whole", low="", high="").split(":")[0] in _plain(wide)


def test_a_context_that_was_asked_for_is_not_to_be_set_again():
    told = _plain(cabida.fit(LLAMA, gpu="h100-sxm-80:2g.20gb", max_model_len=8192))
    assert "131,072" in told
    assert text.tr("faces.fit.window.set") not in told
    short = _plain(cabida.fit(LLAMA, gpu="rtx4090", max_model_len=65536))
    assert "131,072" not in short
    assert text.tr("faces.fit.window.set") in _plain(cabida.fit(LLAMA, gpu="rtx4090"))


def test_cards_that_hold_unequal_contexts_each_name_theirs():
    told = _plain(cabida.fit("Qwen/Qwen3-14B", gpu=["l40s", "rtx4090"]))
    assert "40,960" not in told.splitlines()[0]
    assert "8,192" in next(line for line in told.splitlines() if line.startswith("1×rtx4090"))


def _plain(answer):
    made = Console(file=io.StringIO(), width=200)
    made.print(fits.fit(answer))
    return made.file.getvalue()
