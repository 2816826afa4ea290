"""Every kind of file there is, with the format that reads it."""

import json

import bench_samples as first
import bench_samples_more as more
import yaml

MODEL = first.MODEL
LATENCY = {"avg_latency": 1.5, "latencies": [1.4, 1.5, 1.6],
           "percentiles": {"10": 1.4, "25": 1.45, "50": 1.5, "75": 1.55, "90": 1.58, "99": 1.6}}  # fmt: skip
THROUGHPUT = {"model_id": MODEL, "elapsed_time": 20.0, "num_requests": 1000, "total_num_tokens": 500000,
              "requests_per_second": 50.0, "tokens_per_second": 25000.0}  # fmt: skip


def lines(*rows):
    """Rows as lines of JSON."""
    return "".join(json.dumps(row) + "\n" for row in rows)


# every kind of file -> (text, format that reads it)
FILES = {
    "vllm.json": (json.dumps(first.vllm_serve()), "vllm-bench"),
    "vllm-pretty.json": (json.dumps(first.vllm_serve(), indent=2), "vllm-bench"),
    "vllm.jsonl": ("\n".join(json.dumps(first.vllm_serve(max_concurrency=n)) for n in (16, 32)), "vllm-bench"),
    "vllm-latency.json": (json.dumps(LATENCY, indent=4), "vllm-bench"),
    "vllm-throughput.json": (json.dumps(THROUGHPUT), "vllm-bench"),
    "sglang.jsonl": (json.dumps(first.sglang()) + "\n" + json.dumps(first.sglang()) + "\n", "sglang-bench"),
    "guidellm-0.8.json": (json.dumps(first.guidellm(2)), "guidellm"),
    "guidellm-0.5.json": (json.dumps(first.guidellm(1), indent=1), "guidellm"),
    "guidellm-0.2.json": (json.dumps(first.guidellm(0)), "guidellm"),
    "guidellm.yaml": (yaml.dump(first.guidellm(2)), "guidellm"),
    "guidellm.csv": (first.guidellm_csv(), "guidellm"),
    "guidellm-0.2.csv": (first.guidellm_old_csv(), "guidellm"),
    "genai-perf.json": (json.dumps(first.genai_perf(), indent=2), "aiperf"),
    "genai-perf.csv": (first.genai_perf_csv(), "aiperf"),
    "profile_export.json": (json.dumps(first.perf_analyzer()), "aiperf"),
    "aiperf.json": (json.dumps(first.aiperf()), "aiperf"),
    "aiperf.jsonl": (first.aiperf_records(), "aiperf"),
    "inference-perf.json": (json.dumps(more.inference_perf(), indent=2), "inference-perf"),
    "llmperf.json": (json.dumps(more.llmperf(), indent=4), "llmperf"),
    "llmperf-individual.json": (json.dumps(more.llmperf_individual(), indent=4), "llmperf"),
    "locust_stats.csv": (more.locust_stats(), "locust"),
    "locust_stats_history.csv": (more.locust_history(), "locust"),
    "llama-bench.json": (json.dumps(more.llama_bench(), indent=2), "llama-bench"),
    "llama-bench.jsonl": ("".join(json.dumps(row) + "\n" for row in more.llama_bench()), "llama-bench"),
    "llama-bench.csv": (more.llama_bench_csv(), "llama-bench"),
    "llama-bench.md": (more.LLAMA_BENCH_MD, "llama-bench"),
    "inferencex.json": (json.dumps(more.inferencex(), indent=2), "inferencex"),
    "inferencex-all.json": (json.dumps([more.inferencex(), more.inferencex(conc=32)]), "inferencex"),
    "mlperf_log_summary.txt": (more.LOADGEN, "mlperf-loadgen"),
    "mlperf_log_detail.txt": (more.loadgen_detail(), "mlperf"),
    "mlperf_training.log": (more.mlperf_training(), "mlperf"),
}  # fmt: skip
