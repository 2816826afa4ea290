"""Results of measuring tools: recognised as one tool's, read in its units, by its definitions."""

import importlib.util
import json
import re
from pathlib import Path

import bench_files
import bench_samples as first
import bench_samples_more as more
import pytest
from bench_files import FILES, MODEL, lines
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.errors import InvalidInput
from cabida.evidence import read_file
from cabida.evidence.importers.benches import TOOLS, results
from cabida.evidence.importers.benches.opening import whole
from cabida.truth.case import Case, case_of

ROOT = Path(__file__).parents[3]


@pytest.fixture
def read(tmp_path):
    """What a text is read as."""

    def of(text, name="result", **said):
        path = tmp_path / name
        path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
        return read_file(path, **said)

    return of


@pytest.mark.parametrize("name", FILES)
def test_each_file_is_read_by_one_tool_whatever_it_is_called(read, tmp_path, name):
    text, form = FILES[name]
    found = read(text)
    assert found.format == form
    assert found.observations
    path = tmp_path / "result"
    opened = whole(path, lambda _: True, ())
    takers = [tool.name for tool in TOOLS if opened is not None and tool.known(opened)]
    assert takers == ([] if form.startswith("mlperf") else [form])


def test_logs_tables_and_cases_are_no_results(tmp_path):
    place = ROOT / "tests/evidence/logs.py"
    spec = importlib.util.spec_from_file_location("other_logs", place)
    logs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(logs)
    texts = [value for name, value in vars(logs).items() if name.isupper() and isinstance(value, str)]
    assert len(texts) > 5
    path = tmp_path / "log"
    for text in texts:
        path.write_text(text, encoding="utf-8")
        assert results(path) is None
    for file in [*(ROOT / "cases").glob("*.jsonl"), *(ROOT / "examples").rglob("*.json")]:
        assert results(file) is None


@pytest.mark.parametrize("name", FILES)
def test_nothing_a_tool_writes_is_unread_and_rows_are_cases(read, name):
    found = read(FILES[name][0])
    assert [text for _, text in found.unknown if text.startswith("unread")] == []
    for one in found.observations:
        row = {"model": MODEL, **one.case()}
        assert isinstance(case_of(row), Case)
        assert row["source"] == "result"
        assert all(isinstance(value, int | float) for value in one.measured.values())


def test_vllm_serve(read):
    (one,) = read(first.vllm_serve()).observations
    assert (one.kind, one.more["mode"], one.date) == ("serving", "serve", "2026-11-03")
    assert one.setup == {"model": MODEL}  # the kind of request sent is no engine
    assert one.load == {"concurrency": 16, "prompts": 200, "input_tokens": 1024, "output_tokens": 128}
    wanted = {"ttft_ms_mean": 210.5, "ttft_ms_p50": 190.25, "ttft_ms_p99": 402.75, "tpot_ms_mean": 22.5,
              "itl_ms_p50": 21.9, "e2e_ms_mean": 3068, "req_s": 5, "output_tok_s": 640, "total_tok_s": 5760,
              "error_ratio": 0}  # fmt: skip
    assert wanted.items() <= one.measured.items()


def test_what_a_person_says_fills_what_a_tool_leaves_open(read):
    said = {"gpu": "h100-sxm-80", "gpus": 1, "engine": "vllm", "engine_version": "0.11.0", "weights": "bf16"}
    (one,) = read(first.vllm_serve(), **said).observations
    assert said.items() <= one.setup.items()


def test_failed_requests_are_a_share_of_all(read):
    row = first.vllm_serve(completed=150, failed=50, request_throughput=3.75, num_prompts=200,
                           total_input_tokens=153600, total_output_tokens=19200, output_throughput=480.0,
                           total_token_throughput=4320.0)  # fmt: skip
    assert read(row).observations[0].measured["error_ratio"] == 0.25
    del row["failed"]  # releases before it was told
    assert read(row).observations[0].measured["error_ratio"] == 0.25


def test_a_rate_without_end_and_without_clients_is_offline(read):
    row = first.vllm_serve(max_concurrency=None)
    assert read(row).observations[0].load["concurrency"] == "offline"
    row = first.vllm_serve(max_concurrency=None, request_rate=5.0)
    assert read(row).observations[0].load["requests_per_s"] == 5
    assert "concurrency" not in read(row).observations[0].load


def test_appended_runs_are_several_and_a_torn_line_is_kept(read):
    text = lines(
        first.vllm_serve(), first.vllm_serve(max_concurrency=32), first.vllm_serve(max_concurrency=64)
    )
    found = read(text + '{"date": "2026')
    assert [one.load["concurrency"] for one in found.observations] == [16, 32, 64]
    assert found.unknown_count == 1
    assert found.unknown[0][1].startswith('{"date"')


def test_vllm_embeddings_are_items_a_second(read):
    row = {"date": "20261103-101500", "backend": "openai-embeddings", "endpoint_type": "openai-embeddings",
           "model_id": "org/embedder", "tokenizer_id": "org/embedder", "label": None, "num_prompts": 100,
           "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 8, "duration": 10.0, "completed": 100,
           "total_input_tokens": 25600, "total_input_sequences": 400, "request_throughput": 10.0,
           "input_sequence_throughput": 40.0, "total_token_throughput": 2560.0, "mean_e2el_ms": 780.0,
           "median_e2el_ms": 770.0, "std_e2el_ms": 9.0, "p99_e2el_ms": 900.0}  # fmt: skip
    found = read(row)
    (one,) = found.observations
    assert (one.kind, one.setup["task"], found.unknown_count) == ("media", "embed", 0)
    assert (one.measured["items_s"], one.measured["queries_s"]) == (40, 10)
    assert one.measured["e2e_ms_p99"] == 900


def test_vllm_latency_is_in_seconds(read):
    (one,) = read(bench_files.LATENCY).observations
    assert one.measured["e2e_ms_mean"] == 1500
    assert one.measured["e2e_ms_p99"] == 1600


def test_sglang_names_its_engine_and_what_its_server_says(read):
    (one,) = read(first.sglang()).observations
    assert one.setup == {"engine": "sglang", "engine_version": "0.5.23", "model": MODEL, "weights": "bf16",
                         "tp": 2, "gpus": 2}  # fmt: skip
    assert one.load["requests_per_s"] == 4
    assert one.load["dataset"] == "random, range-ratio 0"
    assert one.measured["e2e_ms_p90"] == 2100
    (drafted,) = read(first.sglang(accept_length=2.5)).observations
    assert drafted.measured["accept_len"] == 2.5
    assert drafted.more["spec_decode"] is True


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("guidellm")])
def test_guidellm_tells_the_same_in_every_form(read, name):
    one = read(FILES[name][0]).observations[0]
    assert one.setup["model"] == MODEL
    assert one.load == {"concurrency": 8, "input_tokens": 512, "output_tokens": 128, "prompts": 150}
    # its own time per output token (24.2) divides by another count: its inter-token latency is ours
    wanted = {"tpot_ms_mean": 23, "tpot_ms_p50": 22.8, "tpot_ms_p95": 26, "ttft_ms_p99": 350, "e2e_ms_mean": 3100,
              "e2e_ms_p90": 3600, "req_s": 2.5, "output_tok_s": 320}  # fmt: skip
    assert wanted.items() <= one.measured.items()
    assert one.measured["error_ratio"] == pytest.approx(3 / 153)  # what the end cut off is in neither
    assert one.date == "2026-11-03"


def test_guidellm_loads_are_observations_each(read):
    loads = [one.load for one in read(first.guidellm()).observations]
    assert loads[0]["concurrency"] == 8
    assert loads[1]["requests_per_s"] == 2.5
    assert "concurrency" not in loads[1]


@pytest.mark.parametrize("name", ["genai-perf.json", "genai-perf.csv", "aiperf.json"])
def test_aiperf_converts_by_the_unit_it_prints(read, name):
    (one,) = read(FILES[name][0]).observations
    wanted = {"ttft_ms_mean": 210.5, "ttft_ms_p99": 402.75, "tpot_ms_p50": 22.25, "e2e_ms_mean": 3068,
              "e2e_ms_p99": 3400, "req_s": 5, "output_tok_s": 640}  # fmt: skip
    assert wanted.items() <= one.measured.items()
    assert one.more["tool"] == name.split(".")[0]


def test_aiperf_knows_its_phase_its_errors_and_the_cards_it_watched(read):
    (one,) = read(first.aiperf()).observations
    assert one.load["concurrency"] == 16  # of the phase measured, not of that before it
    assert one.measured["error_ratio"] == 0.2
    assert one.setup["gpu"] == "h100-sxm-80"
    assert one.measured["itl_ms_p99"] == 64


def test_aiperf_that_counts_otherwise_than_the_server_gives_no_figure_by_the_token(read):
    usage = {"usage_prompt_tokens": {"unit": "tokens", "avg": 700.0},
             "usage_completion_tokens": {"unit": "tokens", "avg": 64.0}}  # fmt: skip
    (one,) = read(first.aiperf() | usage).observations
    assert (one.load["input_tokens"], one.load["output_tokens"]) == (700, 64)
    assert {one.more["refused"][name] for name in ("tpot_ms_mean", "output_tok_s", "total_tok_s")} == {
        "tokens"
    }
    assert one.measured["itl_ms_mean"] == 22.4
    rows = first.aiperf_records().splitlines()
    told = []
    for row in map(json.loads, rows):
        row["metrics"]["usage_completion_tokens"] = {"value": 51, "unit": "tokens"}
        told.append(row)
    (exact,) = read(lines(*told)).observations
    assert exact.measured["tpot_ms_p50"] == pytest.approx((1000 - 101) / 50)  # not the 9 ms of its own count
    assert exact.load["output_tokens"] == 51


def test_aiperf_records_give_statistics_without_what_failed(read):
    (one,) = read(first.aiperf_records()).observations
    assert (one.measured["ttft_ms_mean"], one.measured["ttft_ms_p50"]) == (101, 101)
    assert one.measured["error_ratio"] == 0.25
    assert one.measured["output_tok_s"] == 101  # three answers of 101 tokens within three seconds
    assert one.quality == "B"


def test_perf_analyzer_gives_times_and_no_words(read):
    found = read(first.perf_analyzer())
    (one,) = found.observations
    assert one.load == {"concurrency": 4, "prompts": 10}
    assert (one.measured["ttft_ms_p50"], one.measured["e2e_ms_mean"]) == (100, 500)
    assert one.measured["req_s"] == pytest.approx(10 / 9.5)
    assert "secret" not in str(found)


def test_inference_perf_is_in_seconds(read):
    (one,) = read(more.inference_perf()).observations
    wanted = {"ttft_ms_mean": 210.5, "ttft_ms_p50": 190.25, "tpot_ms_mean": 22.5, "e2e_ms_p99": 3400, "req_s": 5,
              "input_tok_s": 5120}  # fmt: skip
    assert wanted.items() <= one.measured.items()
    assert one.load["requests_per_s"] == 5
    assert one.measured["error_ratio"] == pytest.approx(10 / 210)


def test_inference_perf_that_counts_otherwise_than_the_server_gives_no_figure_by_the_token(read):
    twice = more.inference_perf(output_len={"mean": 256.0, "median": 256.0})
    (one,) = read(twice).observations
    assert not any("tpot" in name or "output_tok" in name for name in one.measured)
    assert one.more["refused"]["tpot_ms_mean"] == "tokens"
    assert one.load["output_tokens"] == 128
    assert one.measured["ttft_ms_mean"] == 210.5


def test_llmperf_time_per_token_has_the_first_token_taken_out(read):
    (one,) = read(more.llmperf()).observations
    assert one.measured["tpot_ms_mean"] == pytest.approx((3190 - 210) / 149)
    assert one.quality == "B"
    assert one.measured["req_s"] == pytest.approx(75.2 / 60)
    assert one.measured["error_ratio"] == 0.02
    (exact,) = read(more.llmperf_individual()).observations
    assert exact.measured["tpot_ms_mean"] == pytest.approx((20 + 10) / 2)
    assert exact.measured["error_ratio"] == pytest.approx(1 / 3)


def test_locust_times_are_of_whole_answers_and_rates_without_failures(read):
    (one,) = read(more.locust_stats()).observations
    assert one.measured["e2e_ms_p99"] == 2300
    assert one.measured["req_s"] == pytest.approx(10 - 1 / 40)
    assert "ttft_ms_mean" not in one.measured
    (failed,) = read(more.locust_stats(failures=40)).observations
    assert failed.measured["error_ratio"] == 0.1
    assert failed.more["refused"]["e2e_ms_p50"] == "mixed"
    assert not any(name.startswith("e2e") for name in failed.measured)


def test_locust_history_tells_users_only_when_they_stayed(read):
    assert read(more.locust_history()).observations[0].load["concurrency"] == 8
    (ramp,) = read(more.locust_history(users=range(11))).observations
    assert "concurrency" not in ramp.load
    assert "users changed" in ramp.note


def test_percentiles_of_a_full_locust_history_are_of_its_last_seconds(read):
    (whole,) = read(more.locust_history()).observations
    assert whole.measured["e2e_ms_p99"] == 2300
    (full,) = read(more.locust_history(full=True)).observations
    assert full.measured["e2e_ms_mean"] == 1250.5
    assert full.measured["e2e_ms_p50"] == 1200
    assert full.more["refused"]["e2e_ms_p99"] == "window"


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("llama-bench")])
def test_llama_bench_reads_and_writes(read, name):
    pp, tg = read(FILES[name][0]).observations[:2]
    assert (pp.measured, tg.measured) == ({"prefill_tok_s": 11000.5}, {"decode_tok_s": 130.75})
    assert pp.load == {"concurrency": 1, "input_tokens": 512}
    assert tg.load == {"concurrency": 1, "output_tokens": 128}
    assert tg.setup["engine_version"] == "b11549"
    assert tg.setup["weights"] == "gguf-q4_k_m"


def test_llama_bench_knows_the_card_and_the_depth(read):
    assert read(more.llama_bench()).observations[1].setup["gpu"] == "rtx4090"
    deep = read(more.LLAMA_BENCH_MD).observations[2]
    assert deep.load == {"concurrency": 1, "input_tokens": 4096, "output_tokens": 128}
    on_host = [row | {"n_gpu_layers": 0} for row in more.llama_bench()]
    assert "gpu" not in read(on_host).observations[0].setup


def test_inferencex_is_in_seconds_and_per_accelerator(read):
    (one,) = read(more.inferencex()).observations
    assert (one.setup["gpu"], one.setup["gpus"], one.setup["tp"]) == ("h100-sxm-80", 2, 2)
    assert (one.setup["engine"], one.setup["engine_version"]) == ("vllm", "0.11.0")
    assert (one.measured["total_tok_s"], one.measured["output_tok_s"]) == (5760, 2880)
    assert (one.measured["ttft_ms_p99"], one.measured["tpot_ms_mean"]) == (400, 5.5)
    apart = more.inferencex(disagg=True, is_multinode=True, num_prefill_gpu=2, num_decode_gpu=6)
    (one,) = read(apart).observations
    assert (one.more["mode"], one.setup["gpus"]) == ("disagg", 8)
    assert one.measured["output_tok_s"] == 1440 * 6


def test_loadgen_is_in_nanoseconds(read):
    (one,) = read(more.LOADGEN).observations
    wanted = {"ttft_ms_mean": 200, "ttft_ms_p99": 430, "tpot_ms_p50": 30.5, "e2e_ms_p99": 19000, "req_s": 9.8,
              "output_tok_s": 2940}  # fmt: skip
    assert wanted.items() <= one.measured.items()
    assert one.more["mode"] == "mlperf-server"
    assert one.load == {"requests_per_s": 9.9, "output_tokens": 300}
    (bad,) = read(more.LOADGEN.replace("VALID", "INVALID")).observations
    assert bad.more["valid"] is False
    assert bad.quality == "C"


def test_mlperf_training_has_a_time_to_target_only_when_it_was_reached(read):
    (one,) = read(more.mlperf_training()).observations
    assert one.kind == "training"
    assert one.measured == {"minutes_to_target": 10, "samples_to_target": 3072, "samples_s": 5.5}
    assert (one.setup["model"], one.more["global_batch"]) == ("llama2_70b_lora", 8)
    (epochs,) = read(more.mlperf_training().replace("samples_count", "samples_unsaid")).observations
    assert epochs.measured == {"minutes_to_target": 10, "samples_s": 5.5}
    (lost,) = read(more.mlperf_training("aborted")).observations
    assert lost.measured["total_minutes"] == 10
    assert "minutes_to_target" not in lost.measured
    assert len(read(more.mlperf_training() + more.mlperf_training()).observations) == 2


def test_keys_nobody_knows_are_counted_and_named(read):
    found = read(first.vllm_serve(brand_new=1, and_another={"a": 2}))
    assert found.unknown_count == 2
    assert found.unknown == ((1, "unread: brand_new, and_another"),)
    report = first.guidellm()
    report["benchmarks"][0]["metrics"]["brand_new"] = {}
    report["new_top"] = 1
    found = read(report)
    assert found.unknown_count == 2
    assert "benchmarks.metrics.brand_new" in found.unknown[0][1]


@pytest.mark.parametrize("name", [name for name, (_, form) in FILES.items() if not form.startswith("mlperf")])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_file_cut_or_garbled_is_read_or_refused_never_worse(tmp_path_factory, name, data):
    text = FILES[name][0]
    at = data.draw(st.integers(0, len(text)))
    junk = data.draw(st.text(max_size=12))
    path = tmp_path_factory.mktemp("cut") / "result"
    path.write_text(
        text[:at] + junk + data.draw(st.sampled_from(["", text[at:], text[at + 7 :]])), encoding="utf-8"
    )
    found, codes = (), ()
    try:
        found = read_file(path).observations
    except InvalidInput as refused:
        codes = tuple(one.code for one in refused.problems)
    assert bool(found) != bool(codes)
    assert all(re.match(r"CB-E\d+$", code) for code in codes)
    assert all(0 <= value < float("inf") for one in found for value in one.measured.values())


def test_secrets_in_a_result_are_blanked(read):
    row = first.vllm_serve(
        model_id="org/model", api_key="sk-0123456789abcdefghijk", token_left={"hf_token": "x"}
    )
    found = read(row)
    assert "0123456789" not in json.dumps([one.row() for one in found.observations]) + str(found.unknown)
