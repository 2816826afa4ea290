import json
import math
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cabida.errors import InvalidInput
from cabida.text import use_language
from cabida.truth import read_cases, validate
from cabida.truth.disaggregated_case import decode_worker, prompt_worker
from cabida.truth.names import Unanswerable, multiplying_type, recompute_of, sharding_of
from cabida.truth.serving_case import engine_of, load_of, split_of
from cabida.truth.trace_case import trace_figures
from cabida.truth.training_case import training_run

CASES = Path(__file__).parents[2] / "cases"

A_CASE = {
    "id": "one", "kind": "memory", "task": "inference", "engine": "vllm", "engine_version": "0.11.0",
    "model": "meta-llama/Llama-3.1-8B", "weights": "bf16", "kv_cache": "bf16", "gpu": "h100-sxm-80",
    "gpu_raw": "H100", "gpus": 1, "tp": 1, "args": {"max_model_len": 8192},
    "measured": {"weights_gib_per_gpu": 14.9888, "fits": True}, "quality": "A", "source": "a/b issue #1",
}  # fmt: skip


def written(tmp_path: Path, *lines: object) -> Path:
    path = tmp_path / "cases.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


@cache
def rows_of(kind: str) -> list[dict]:
    return [json.loads(line) for line in (CASES / f"{kind}.jsonl").read_text().splitlines()]


def test_a_case_we_know_the_answer_of(tmp_path):
    found = validate([written(tmp_path, A_CASE)])
    assert (found["rows"], found["answered"], found["skipped"]) == (1, 1, [])
    assert found["metrics"]["weights_gib_per_gpu"]["median_error_ratio"] < 0.01
    assert found["fits"] == {"n": 1, "correct": 1, "false_fits": 0, "false_refusals": 0, "undecided": 0}
    assert found["by"]["engine"]["vllm"]["weights_gib_per_gpu"]["n"] == 1


def test_weights_need_no_card(tmp_path):
    nameless = {key: value for key, value in A_CASE.items() if key != "gpu"}
    found = validate([written(tmp_path, nameless)])
    assert found["metrics"]["weights_gib_per_gpu"]["median_error_ratio"] < 0.01
    assert found["fits"]["n"] == 0


def test_a_known_error_is_reported_as_such(tmp_path):
    wrong = A_CASE | {"measured": {"weights_gib_per_gpu": 14.9888 / 2}}
    found = validate([written(tmp_path, wrong)])
    assert found["metrics"]["weights_gib_per_gpu"]["median_error_ratio"] == pytest.approx(1.0, rel=0.02)
    assert found["worst"][0]["id"] == "one"


def test_rows_that_say_too_little_are_skipped_with_their_reason(tmp_path):
    nameless = {key: value for key, value in A_CASE.items() if key != "gpu"} | {
        "id": "no card",
        "measured": {"kv_cache_tokens": 9000, "fits": True},
    }
    unknown = A_CASE | {"id": "no model", "model": "nobody/none-at-all"}
    media = {"id": "clip", "kind": "media", "model": "x", "measured": {"it_s": 1}, "source": "y"}
    found = validate([written(tmp_path, nameless, unknown, media)])
    reasons = {row["id"]: row["why"] for row in found["skipped"]}
    assert found["answered"] == 0
    assert reasons["no card"] == "accelerator not certain"
    assert "none-at-all" in reasons["no model"]
    assert reasons["clip"] == "no pipeline is known for x"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{not json", "CB-V002"),
        ("[1, 2]", "CB-V002"),
        ('{"id": "x"}', "CB-V003"),
        (json.dumps(A_CASE | {"kind": "weather"}), "CB-V004"),
        (json.dumps(A_CASE | {"measured": 3}), "CB-V003"),
    ],
)
def test_malformed_lines_are_located(tmp_path, line, code):
    path = written(tmp_path, A_CASE, "", line)
    with pytest.raises(InvalidInput) as raised:
        validate([path])
    (told,) = raised.value.problems
    assert (told.code, told.line, told.file) == (code, 3, str(path))
    assert told.cure


def test_all_malformed_lines_are_told_at_once(tmp_path):
    with pytest.raises(InvalidInput) as raised:
        validate([written(tmp_path, "nonsense", A_CASE, "{}"), tmp_path / "missing.jsonl"])
    assert [told.code for told in raised.value.problems] == ["CB-V002", "CB-V003", "CB-V001"]


@pytest.mark.parametrize(
    "odd",
    [{"gpus": "many"}, {"args": 7}, {"weights": 12}, {"gpus": None}, {"args": {"max_model_len": "long"}}],
)
def test_odd_values_are_skipped_with_their_place_and_never_break_the_run(tmp_path, odd):
    found = validate([written(tmp_path, A_CASE | odd, A_CASE)])
    assert found["answered"] >= 1
    assert found["rows"] == 2


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    place=st.integers(0, 10**6),
    value=st.sampled_from([0, -1, 1e9, 10**15, "x", None, [], {}, math.nan, math.inf, True, -0.5]),
)
def test_no_value_of_any_key_breaks_the_run(tmp_path, place, value):
    kind = ("memory", "serving", "training")[place % 3]
    row = rows_of(kind)[place % 600]
    keys = [key for key in row if key not in ("id", "kind", "measured", "source", "model")]
    changed = row | {keys[place % len(keys)]: value}
    assert validate([written(tmp_path, changed)])["rows"] == 1


def test_odd_values_are_named_with_their_key_and_place(tmp_path):
    path = written(tmp_path, A_CASE | {"gpus": "many", "engine": 7})
    (told,) = validate([path])["skipped"]
    assert "gpus = 'many'; engine = 7" in told["why"]
    assert f"{path}:1:" in told["why"]
    assert "CB-V005" in told["why"]


def test_null_means_that_the_source_does_not_say(tmp_path):
    found = validate([written(tmp_path, A_CASE | {"pp": None, "engine_version": None})])
    assert found["answered"] == 1


def test_problems_speak_spanish(tmp_path):
    use_language("es")
    try:
        _, (told,) = read_cases([written(tmp_path, "{}")])
    finally:
        use_language("en")
    assert "Al caso le falta" in told.what


def test_predictions_are_written_one_a_line(tmp_path):
    out = tmp_path / "out.jsonl"
    validate([written(tmp_path, A_CASE)], predictions=out)
    (row,) = [json.loads(line) for line in out.read_text().splitlines()]
    assert set(row) == {"id", "metric", "measured", "predicted", "low", "high"}
    assert row["low"] <= row["predicted"] <= row["high"]


def test_progress_is_told_to_the_last_row(tmp_path):
    told = []
    validate([written(tmp_path, A_CASE, A_CASE)], progress=lambda what, done, of: told.append((done, of)))
    assert told[-1] == (2, 2)


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """200 rows of the shipped cases, evenly drawn."""
    rows = [
        row
        for kind in ("memory", "serving", "training")
        for row in rows_of(kind)[:: {"serving": 60}.get(kind, 27)]
    ]
    path = tmp_path_factory.mktemp("sample") / "sample.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows, validate([path])


def test_sample_has_the_shape_of_the_contract(sample):
    rows, found = sample
    assert list(found) == ["files", "rows", "answered", "skipped", "metrics", "fits", "pairs", "by", "worst"]
    assert found["rows"] == len(rows) == found["answered"] + len(found["skipped"])
    for figures in found["metrics"].values():
        assert list(figures) == [
            "n", "sources", "median_error_ratio", "p90_error_ratio", "source_median_error_ratio", "bias_ratio",
            "within_interval_ratio", "interval_high_over_low", "interval_score",
        ]  # fmt: skip
        assert figures["interval_high_over_low"] <= 4.0 + 1e-9
    assert list(found["by"]) == ["source", "engine", "gpu", "model"]
    assert all(row["why"] for row in found["skipped"])
    json.dumps(found)


def test_most_rows_that_name_their_card_are_answered(sample):
    rows, found = sample
    skipped = {row["id"] for row in found["skipped"]}
    named, answered = Counter(), Counter()
    for row in rows:
        if row.get("gpu"):
            named[row["kind"]] += 1
            answered[row["kind"]] += row["id"] not in skipped
    for kind, count in named.items():
        assert answered[kind] >= 0.6 * count, kind


def test_sample_errors_stay_within_what_is_published(sample):
    metrics = sample[1]["metrics"]
    assert metrics["weights_gib_per_gpu"]["median_error_ratio"] < 0.04
    assert metrics["tpot_ms"]["median_error_ratio"] < 0.30  # a quarter of them don't count their workers
    assert metrics["tokens_s_per_gpu"]["median_error_ratio"] < 0.20


# --- how the cases spell things -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "note", "meant"),
    [
        ("bf16", "", "bf16"),
        ("fp8 (FP8-CS (FP8-MX))", "the value outside parentheses", "fp8"),
        ("fp8 (FP8-CS (FP8-MX))", "the value in parentheses in the table", "mxfp8"),
        ("MXFP8", "", "mxfp8"),
        ("NVFP4", "", "nvfp4"),
        ("bf16-true + bnb.nf4", "", "bf16"),
        ("int4 GPTQ base + fp16", "", "fp16"),
        ("not stated in log", "", None),
    ],
)
def test_precisions(text, note, meant):
    assert multiplying_type(text, note) == meant


@pytest.mark.parametrize(
    ("text", "count", "meant"),
    [
        ("FSDP FULL_SHARD", 8, "fsdp"),
        ("FSDP SHARD_GRAD_OP", 8, "zero-2"),
        ("DeepSpeed ZeRO-3", 2, "fsdp"),
        ("Megatron (distributed optimizer)", 64, "zero-1"),
        ("single GPU", 1, "none"),
        ("", 1, "none"),
        ("", 64, "zero-1"),
    ],
)
def test_shardings(text, count, meant):
    assert sharding_of(text, count) == meant


def test_recomputation():
    assert [recompute_of(said) for said in (None, False, "none", "selective", True, "repo default (on)")] == [
        "none", "none", "none", "selective", "full", "full",
    ]  # fmt: skip


def test_engines_and_splits():
    assert engine_of("trtllm") == "tensorrt-llm"
    assert engine_of("ollama/llama.cpp") == "llama.cpp"
    assert split_of({"tp": 8}, 8, 8).tp == 8
    assert split_of({"tp": 64}, 64, 72).dp == 64  # data-parallel attention
    assert split_of({"tp": 2}, 8, 8).dp == 4
    twice = split_of({"tp": 4, "dp": 4, "ep": 16}, 16, 8)  # the same four ranks by both names
    assert (twice.tp, twice.dp, twice.ep) == (4, 1, 4)
    wide = split_of({"tp": 1, "dp": 64, "ep": 8}, 64, 8)
    assert (wide.tp, wide.dp, wide.ep) == (1, 8, 8)
    apart = split_of({"tp": 1, "dp": 2, "ep": 2}, 2, 8)
    assert (apart.tp, apart.dp, apart.ep) == (1, 2, 2)


def test_global_batches_and_shapes_are_read_from_words():
    row = next(row for row in rows_of("training") if row["model"] == "MPT-3b" and row["gpus"] == 64)
    run = training_run(row)
    assert run.global_batch_count == int(row["global_batch"].split()[0])
    assert run.sharding == "fsdp"
    assert run.model.params_count == pytest.approx(row["params_b"] * 1e9)


def test_drawn_lengths_are_the_harness_habit():
    given = {
        "input_tokens": 1000,
        "output_tokens": 1000,
        "concurrency": 4,
        "dataset": "random (InferenceX style)",
    }
    load = load_of({"mode": "agg", "load": given})
    assert load.input_tokens == pytest.approx(900)
    assert load.prompts_count == 40


def test_disaggregated_rows_are_answered_by_their_decode_workers():
    row = next(
        row
        for row in rows_of("serving")
        if row["mode"] == "disagg" and "decode workers 4 (tp8,adp1,ep8" in row["note"]
    )
    worker, load = decode_worker(row)
    assert worker.parallel.tp == 8
    assert load.concurrency == pytest.approx(row["load"]["concurrency"] / 4)
    assert prompt_worker(row)[1] < math.inf
    with pytest.raises(Unanswerable, match="workers not told"):
        decode_worker(row | {"note": "disaggregated: prefill workers  (tp8), decode workers  (tp8)"})


@pytest.mark.parametrize("setup", sorted((CASES / "traces").glob("*.json")), ids=lambda setup: setup.stem)
def test_public_traces_are_replayed_percentile_by_percentile(setup):
    found = trace_figures(setup)
    assert {"ttft_ms_p50", "ttft_ms_p95", "tpot_ms_mean"} <= set(found)
    for metric, (measured, predicted) in found.items():
        assert predicted == pytest.approx(measured, rel=0.1), metric


def test_why_a_row_is_skipped_is_told_in_the_readers_language(tmp_path):
    nameless = {key: value for key, value in A_CASE.items() if key != "gpu"}
    file = written(tmp_path, nameless | {"measured": {"kv_cache_tokens": 9000, "fits": True}})
    try:
        use_language("es")
        told = validate([file])["skipped"][0]["why"]
    finally:
        use_language("en")
    assert told == "el acelerador no es seguro"
