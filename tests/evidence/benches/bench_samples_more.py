"""Further files as the measuring tools write them, with invented figures."""

import json

from bench_samples import MODEL, csv_text


def _summary(mean, median, p90, p99):
    return {"mean": mean, "min": median * 0.5, "p0.1": median * 0.5, "p10": median * 0.8, "median": median, "p90": p90,
            "p95": (p90 + p99) / 2, "p99": p99, "p99.9": p99, "max": p99 * 1.1}  # fmt: skip


def inference_perf(**successes):
    """``stage_0_lifecycle_metrics.json`` of inference-perf."""
    return {
        "load_summary": {"count": 210, "schedule_delay": _summary(0.001, 0.001, 0.002, 0.009), "send_duration": 42.0,
                         "requested_rate": 5.0, "achieved_rate": 5.0},
        "successes": {
            "count": 200,
            "latency": {
                "request_latency": _summary(3.068, 3.06, 3.2, 3.4),
                "normalized_time_per_output_token": _summary(0.024, 0.024, 0.026, 0.03),
                "time_per_output_token": _summary(0.0225, 0.02225, 0.026, 0.0315),
                "time_to_first_token": _summary(0.2105, 0.19025, 0.3, 0.40275),
                "inter_token_latency": _summary(0.0224, 0.0219, 0.03, 0.064),
            },
            "throughput": {"input_tokens_per_sec": 5120.0, "output_tokens_per_sec": 640.0,
                           "total_tokens_per_sec": 5760.0, "requests_per_sec": 5.0, "images_per_sec": 0.0},
            "prompt_tokens": {"total": 204800.0, "cached": 0.0, "uncached": 204800.0,
                              **_summary(1024.0, 1024.0, 1024.0, 1024.0)},
            "output_len": _summary(128.0, 128.0, 128.0, 128.0),
            "output_tokens": {"total": 25600.0, **_summary(128.0, 128.0, 128.0, 128.0)},
            **successes,
        },
        "failures": {"count": 10, "request_latency": None, "prompt_tokens": {}, "by_label": {}},
        "benchmark_time_seconds": 40.0,
    }  # fmt: skip


def llmperf():
    """``*_summary.json`` of llmperf."""
    row = {"version": "2023-08-31", "name": "x_summary", "model": MODEL, "mean_input_tokens": 550,
           "stddev_input_tokens": 150, "mean_output_tokens": 150, "stddev_output_tokens": 10,
           "num_concurrent_requests": 4}  # fmt: skip
    for name, mean, p50, p99 in (
        ("inter_token_latency_s", 0.021, 0.02, 0.03),
        ("ttft_s", 0.21, 0.2, 0.4),
        ("end_to_end_latency_s", 3.19, 3.1, 3.6),
        ("request_output_throughput_token_per_s", 48.0, 48.0, 52.0),
        ("number_input_tokens", 550.0, 548.0, 800.0),
        ("number_output_tokens", 150.0, 150.0, 170.0),
    ):
        quantiles = {
            "p25": p50,
            "p50": p50,
            "p75": p50,
            "p90": (p50 + p99) / 2,
            "p95": (p50 + p99) / 2,
            "p99": p99,
        }
        row |= {f"results_{name}_quantiles_{key}": value for key, value in quantiles.items()}
        row |= {f"results_{name}_mean": mean, f"results_{name}_min": p50, f"results_{name}_max": p99,
                f"results_{name}_stddev": 1.0}  # fmt: skip
    return row | {
        "results_num_requests_started": 100,
        "results_error_rate": 0.02,
        "results_number_errors": 2,
        "results_error_code_frequency": "{500: 2}",
        "results_mean_output_throughput_token_per_s": 188.0,
        "results_num_completed_requests": 98,
        "results_num_completed_requests_per_min": 75.2,
        "timestamp": 1793700000,
    }


def llmperf_individual():
    """``*_individual_responses.json`` of llmperf: two answers and a failure."""
    well = [{"error_code": None, "error_msg": "", "inter_token_latency_s": 0.02, "ttft_s": 0.2,
             "end_to_end_latency_s": 2.2,
             "request_output_throughput_token_per_s": 50.0, "number_total_tokens": 600, "number_output_tokens": tokens,
             "number_input_tokens": 500} for tokens in (101, 201)]  # fmt: skip
    return [*well, well[0] | {"error_code": 500, "ttft_s": 0, "end_to_end_latency_s": 0}]


def locust_stats(failures=1):
    """``x_stats.csv`` of locust."""
    head = ["Type", "Name", "Request Count", "Failure Count", "Median Response Time", "Average Response Time",
            "Min Response Time", "Max Response Time", "Average Content Size", "Requests/s", "Failures/s", "50%", "66%",
            "75%", "80%", "90%", "95%", "98%", "99%", "99.9%", "99.99%", "100%"]  # fmt: skip
    row = [400, failures, 1200.0, 1250.5, 800.1, 2500.2, 900.0, 10.0, failures / 40, 1200, 1300, 1400, 1500, 1700, 1900,
           2100, 2300, 2500, 2500, 2500]  # fmt: skip
    return csv_text([head, ["POST", "/v1/chat/completions", *row], ["", "Aggregated", *row]])


def locust_history(users=(0, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8), full=False):
    """``x_stats_history.csv`` of locust, a row a second; ``full`` = with a row for each kind of request too."""
    head = ["Timestamp", "User Count", "Type", "Name", "Requests/s", "Failures/s", "50%", "66%", "75%", "80%", "90%",
            "95%", "98%", "99%", "99.9%", "99.99%", "100%", "Total Request Count", "Total Failure Count",
            "Total Median Response Time", "Total Average Response Time", "Total Min Response Time",
            "Total Max Response Time", "Total Average Content Size"]  # fmt: skip
    rows = [
        [1793700000 + at, count, kind, name, "5.000000", "0.000000", 1200, 1300, 1400, 1500, 1700, 1900, 2100,
         2300, 2500, 2500, 2500, at * 6, 0, 1200, 1250.5, 800, 2500, 900]
        for at, count in enumerate(users)
        for kind, name in ([("POST", "/v1/chat/completions")] if full else []) + [("", "Aggregated")]
    ]  # fmt: skip
    return csv_text([head, *rows])


def llama_bench():
    """``llama-bench -o json``: reading 512 tokens, and writing 128."""
    base = {"build_commit": "abc1234", "build_number": 11549, "cpu_info": "AMD EPYC",
            "gpu_info": "NVIDIA GeForce RTX 4090", "backends": "CUDA",
            "model_filename": "models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf",
            "model_type": "llama 8B Q4_K - Medium", "model_size": 4912898304, "model_n_params": 8030261312,
            "n_batch": 2048, "n_ubatch": 512, "n_threads": 16, "cpu_mask": "0x0", "cpu_strict": False, "poll": 50,
            "type_k": "f16", "type_v": "f16", "n_gpu_layers": 99, "split_mode": "layer", "main_gpu": 0,
            "no_kv_offload": False, "flash_attn": True, "devices": "auto", "tensor_split": "0.00",
            "tensor_buft_overrides": "none", "use_mmap": True, "embeddings": False, "no_op_offload": 0,
            "n_depth": 0, "test_time": "2026-11-03T10:00:00Z"}  # fmt: skip
    read = {"n_prompt": 512, "n_gen": 0, "avg_ns": 46545454, "stddev_ns": 1, "avg_ts": 11000.5, "stddev_ts": 12.0,
            "samples_ns": [46545454], "samples_ts": [11000.5]}  # fmt: skip
    wrote = {"n_prompt": 0, "n_gen": 128, "avg_ns": 980000000, "stddev_ns": 1, "avg_ts": 130.75, "stddev_ts": 0.5,
             "samples_ns": [980000000], "samples_ts": [130.75]}  # fmt: skip
    return [base | read, base | wrote]


def llama_bench_csv():
    """``llama-bench -o csv``: every field quoted."""
    rows = llama_bench()
    fields = [key for key in rows[0] if not key.startswith("samples")]
    lines = [",".join(fields)]
    lines += [
        ",".join('"' + str(int(v) if isinstance(v, bool) else v) + '"' for v in (row[key] for key in fields))
        for row in rows
    ]
    return "\n".join(lines) + "\n"


LLAMA_BENCH_MD = """\
| model                          |       size |     params | backend    | ngl |            test |                  t/s |
| ------------------------------ | ---------: | ---------: | ---------- | --: | --------------: | -------------------: |
| llama 8B Q4_K - Medium         |   4.58 GiB |     8.03 B | CUDA       |  99 |           pp512 |    11000.50 ± 12.00 |
| llama 8B Q4_K - Medium         |   4.58 GiB |     8.03 B | CUDA       |  99 |           tg128 |       130.75 ± 0.50 |
| llama 8B Q4_K - Medium         |   4.58 GiB |     8.03 B | CUDA       |  99 |   tg128 @ d4096 |       110.25 ± 0.50 |

build: abc1234 (11549)
"""


def inferencex(**more):
    """``agg_*.json`` of InferenceX, of one node."""
    row = {"hw": "h100", "conc": 16, "image": "vllm/vllm-openai:v0.11.0", "model": MODEL,
           "infmax_model_prefix": "llama8",
           "framework": "vllm", "precision": "fp8", "spec_decoding": "none", "disagg": False, "isl": 1024, "osl": 1024,
           "is_multinode": False, "tp": 2, "ep": 1, "dp_attention": "false", "tput_per_gpu": 2880.0,
           "output_tput_per_gpu": 1440.0, "input_tput_per_gpu": 1440.0}  # fmt: skip
    for name, mean, median, p99 in (("ttft", 0.21, 0.19, 0.4), ("tpot", 0.0055, 0.0054, 0.007),
                                    ("itl", 0.0055, 0.005, 0.02),
                                    ("e2el", 5.6, 5.5, 7.0)):  # fmt: skip
        row |= {f"mean_{name}": mean, f"median_{name}": median, f"std_{name}": 0.01, f"p99_{name}": p99}
    row |= {"mean_intvty": 181.8, "median_intvty": 185.2, "std_intvty": 1.0, "p99_intvty": 142.9}
    return row | more


LOADGEN = """\
================================================
MLPerf Results Summary
================================================
SUT name : PySUT
Scenario : Server
Mode     : PerformanceOnly
Completed samples per second    : 9.80
Completed tokens per second: 2940.00
Result is : VALID
  Performance constraints satisfied : Yes
  Min duration satisfied : Yes
  Min queries satisfied : Yes
  Early stopping satisfied: Yes
TTFT Early Stopping Result:
 * Run successful.
TPOT Early Stopping Result:
 * Run successful.

================================================
Additional Stats
================================================
Scheduled samples per second : 9.90
Min latency (ns)                : 1000000000
Max latency (ns)                : 20000000000
Mean latency (ns)               : 9600000000
50.00 percentile latency (ns)   : 9000000000
90.00 percentile latency (ns)   : 15000000000
95.00 percentile latency (ns)   : 17000000000
97.00 percentile latency (ns)   : 18000000000
99.00 percentile latency (ns)   : 19000000000
99.90 percentile latency (ns)   : 19900000000

Completed tokens per second                 : 2940.00
Min First Token latency (ns)                : 50000000
Max First Token latency (ns)                : 900000000
Mean First Token latency (ns)               : 200000000
50.00 percentile first token latency (ns)   : 190000000
90.00 percentile first token latency (ns)   : 300000000
95.00 percentile first token latency (ns)   : 340000000
97.00 percentile first token latency (ns)   : 360000000
99.00 percentile first token latency (ns)   : 430000000
99.90 percentile first token latency (ns)   : 800000000

Min Time to Output Token (ns)                : 20000000
Max Time to Output Token (ns)                : 60000000
Mean Time to Output Token (ns)               : 31000000
50.00 percentile time to output token (ns)   : 30500000
90.00 percentile time to output token (ns)   : 35000000
95.00 percentile time to output token (ns)   : 36000000
97.00 percentile time to output token (ns)   : 37000000
99.00 percentile time to output token (ns)   : 39500000
99.90 percentile time to output token (ns)   : 50000000

================================================
Test Parameters Used
================================================
samples_per_query : 1
target_qps : 9.9
ttft_latency (ns): 450000000
tpot_latency (ns): 40000000
max_async_queries : 0

No warnings encountered during test.

No errors encountered during test.
"""


def mllog(key, value=None, at=0, kind="POINT_IN_TIME", **metadata):
    """A line of MLPerf's log."""
    event = {"namespace": "", "time_ms": 1793700000000 + at, "event_type": kind, "key": key, "value": value,
             "metadata": {"file": "train.py", "lineno": 1, **metadata}}  # fmt: skip
    return ":::MLLOG " + json.dumps(event) + "\n"


def mlperf_training(status="success"):
    """A training run of MLPerf of ten minutes, among other lines."""
    return "".join(
        [
            "some framework says hello\n",
            mllog("submission_benchmark", "llama2_70b_lora"),
            mllog("submission_platform", "1xEXAMPLE"),
            mllog("global_batch_size", 8),
            mllog("max_sequence_length", 8192),
            mllog("run_start", at=1000, kind="INTERVAL_START"),
            "0: " + mllog("tracked_stats", {"throughput": 5.0}, at=2000),
            "0: " + mllog("tracked_stats", {"throughput": 6.0}, at=3000),
            mllog("eval_accuracy", 0.90, at=400_000, epoch_num=1, samples_count=2688),
            mllog("eval_accuracy", 0.92, at=500_000, epoch_num=2, samples_count=3072),
            mllog("run_stop", at=601_000, kind="INTERVAL_END", status=status),
        ]
    )


def loadgen_detail():
    """``mlperf_log_detail.txt``."""
    rows = [("effective_scenario", "Offline"), ("result_validity", "INVALID"), ("result_samples_per_second", 12.5),
            ("result_tokens_per_second", 3750.0), ("result_mean_latency_ns", 9.6e9),
            ("result_99.00_percentile_latency_ns", 19e9), ("num_errors", 0)]  # fmt: skip
    return "".join(
        ":::MLLOG "
        + json.dumps({"key": key, "value": value, "time_ms": 0.1, "namespace": "mlperf::logging",
                      "event_type": "POINT_IN_TIME",
                      "metadata": {"is_error": False, "is_warning": False, "file": "results.cc", "line_no": 1}})
        + "\n"
        for key, value in rows
    )  # fmt: skip
