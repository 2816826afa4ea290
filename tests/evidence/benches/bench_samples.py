"""Files as the measuring tools write them, by hand from the writers' code, with invented figures."""

import json

MODEL = "meta-llama/Llama-3.1-8B-Instruct"


def vllm_serve(**more):
    """``vllm bench serve --save-result``: 200 requests of 1,024 + 128 tokens at 16 at once, in 40 s."""
    row = {
        "date": "20261103-101500",
        "endpoint_type": "openai-chat",
        "backend": "openai-chat",
        "label": None,
        "model_id": MODEL,
        "tokenizer_id": MODEL,
        "num_prompts": 200,
        "request_rate": "inf",
        "burstiness": 1.0,
        "max_concurrency": 16,
        "duration": 40.0,
        "completed": 200,
        "failed": 0,
        "total_input_tokens": 204800,
        "total_output_tokens": 25600,
        "request_throughput": 5.0,
        "request_goodput": None,
        "output_throughput": 640.0,
        "total_token_throughput": 5760.0,
        "max_output_tokens_per_s": 801.0,
        "max_concurrent_requests": 17,
        "rtfx": 0.0,
    }
    for name, mean, median, p99 in (
        ("ttft", 210.5, 190.25, 402.75),
        ("tpot", 22.5, 22.25, 31.5),
        ("itl", 22.4, 21.9, 64.0),
        ("e2el", 3068.0, 3060.0, 3400.0),
    ):
        row |= {f"mean_{name}_ms": mean, f"median_{name}_ms": median, f"std_{name}_ms": 3.5}
        row |= {f"p99_{name}_ms": p99}
    return row | more


def sglang(**more):
    """A line of SGLang's ``bench_serving``."""
    row = {
        "tag": None,
        "backend": "sglang",
        "dataset_name": "random",
        "request_rate": 4.0,
        "max_concurrency": None,
        "sharegpt_output_len": None,
        "random_input_len": 1024,
        "random_output_len": 128,
        "random_range_ratio": 0.0,
        "server_info": {"model_path": MODEL, "tp_size": 2, "dtype": "bfloat16", "quantization": None,
                        "kv_cache_dtype": "auto", "version": "0.5.23", "chunked_prefill_size": 8192},
        "duration": 60.0,
        "completed": 240,
        "total_input_tokens": 122880,
        "total_output_tokens": 15360,
        "total_output_tokens_retokenized": 15350,
        "request_throughput": 4.0,
        "input_throughput": 2048.0,
        "output_throughput": 256.0,
        "total_throughput": 2304.0,
        "concurrency": 5.2,
        "accept_length": None,
        "max_output_tokens_per_s": 400.0,
        "max_concurrent_requests": 11,
    }  # fmt: skip
    for name, mean, median, p90, p99 in (
        ("e2e_latency", 1300.0, 1250.0, 2100.0, 2500.0),
        ("ttft", 95.0, 88.0, 140.0, 210.0),
        ("tpot", 18.5, 18.25, 22.0, 30.0),
        ("itl", 18.6, 17.5, 25.0, 60.0),
    ):
        row |= {f"mean_{name}_ms": mean, f"median_{name}_ms": median, f"std_{name}_ms": 9.0}
        row |= {f"p90_{name}_ms": p90, f"p95_{name}_ms": (p90 + p99) / 2, f"p99_{name}_ms": p99}
    return row | more


def _distribution(mean, median, p90, p95, p99, count=150):
    percentiles = {"p001": median * 0.5, "p01": median * 0.6, "p05": median * 0.7, "p10": median * 0.8,
                   "p25": median * 0.9, "p50": median, "p75": (median + p90) / 2, "p90": p90, "p95": p95,
                   "p99": p99, "p999": p99 * 1.01}  # fmt: skip
    return {"mean": mean, "median": median, "mode": median, "variance": 4.0, "std_dev": 2.0, "min": median * 0.5,
            "max": p99 * 1.1, "count": count, "total_sum": mean * count, "percentiles": percentiles}  # fmt: skip


def _by_status(*figures):
    empty = _distribution(0.0, 0.0, 0.0, 0.0, 0.0, 0)
    well = _distribution(*figures)
    return {"successful": well, "errored": empty, "incomplete": empty, "total": well}


def guidellm_metrics():
    """Metrics of one guidellm benchmark."""
    return {
        "request_totals": {"successful": 150, "incomplete": 8, "errored": 3, "total": 161},
        "requests_per_second": _by_status(2.5, 2.5, 3.0, 3.0, 3.5),
        "request_concurrency": _by_status(7.8, 8.0, 8.0, 8.0, 8.0),
        "request_latency": _by_status(3.1, 3.0, 3.6, 3.8, 4.1),
        "prompt_token_count": _by_status(512.0, 512.0, 512.0, 512.0, 512.0),
        "output_token_count": _by_status(128.0, 128.0, 128.0, 128.0, 128.0),
        "total_token_count": _by_status(640.0, 640.0, 640.0, 640.0, 640.0),
        "time_to_first_token_ms": _by_status(180.0, 170.0, 240.0, 280.0, 350.0),
        "time_per_output_token_ms": _by_status(24.2, 24.0, 27.0, 28.0, 31.0),
        "inter_token_latency_ms": _by_status(23.0, 22.8, 25.0, 26.0, 29.0),
        "output_tokens_per_second": _by_status(320.0, 318.0, 350.0, 360.0, 380.0),
        "tokens_per_second": _by_status(1600.0, 1590.0, 1700.0, 1750.0, 1800.0),
    }


def guidellm(version=2):
    """``benchmarks.json`` of guidellm 0.8 (2), of 0.5 (1), or of 0.2 (0): two loads."""
    strategies = ({"type_": "concurrent", "streams": 8}, {"type_": "constant", "rate": 2.5})
    rows = []
    for strategy in strategies:
        metrics = guidellm_metrics()
        if version == 0:
            rows.append(
                {
                    "type_": "generative_benchmark",
                    "id_": "a",
                    "run_id": "b",
                    "args": {"profile": {}, "strategy_index": 0, "strategy": strategy},
                    "run_stats": {"start_time": 1793700000.0, "end_time": 1793700060.0},
                    "worker": {"type_": "generative_requests_worker", "backend_model": MODEL},
                    "request_loader": {},
                    "extras": {},
                    "request_totals": metrics.pop("request_totals"),
                    "metrics": metrics,
                    "start_time": 1793700000.0,
                    "end_time": 1793700060.0,
                    "requests": {"successful": [], "errored": [], "incomplete": [], "total": None},
                }
            )
        else:
            rows.append(
                {
                    "type_": "generative_benchmark",
                    "config": {"strategy": strategy, "backend": {"target": "http://x", "model": MODEL}},
                    "scheduler_state": {},
                    "scheduler_metrics": {"measure_start_time": 1793700000.0},
                    "metrics": metrics,
                    "requests": {"successful": [], "errored": [], "incomplete": [], "total": None},
                    "start_time": 1793700000.0,
                    "duration": 60.0,
                }
            )
    report = {"metadata": {"version": version, "guidellm_version": "0.8.1"}, "benchmarks": rows}
    return {"benchmarks": rows} if version == 0 else report


def guidellm_csv():
    """``benchmarks.csv`` of guidellm since 0.4: three rows of headings."""
    columns = [
        (("Run Info", "Run ID", ""), "b"),
        (("Run Info", "Backend", ""), json.dumps({"model": MODEL})),
        (("Benchmark", "Type", ""), "generative_benchmark"),
        (("Benchmark", "Strategy", ""), "concurrent@8"),
        (("Timings", "Start Time", ""), "2026-11-03 10:00:00"),
        (("Timings", "Duration", "Sec"), 60.0),
        (("Request Counts", "Successful", ""), 150),
        (("Request Counts", "Incomplete", ""), 8),
        (("Request Counts", "Errored", ""), 3),
        (("Request Counts", "Total", ""), 161),
    ]
    for group, unit, figures in (
        ("Request Latency", "Sec", (3.1, 3.0, 3.6, 3.8, 4.1)),
        ("Time to First Token", "ms", (180.0, 170.0, 240.0, 280.0, 350.0)),
        ("Time per Output Token", "ms", (24.2, 24.0, 27.0, 28.0, 31.0)),
        ("Inter Token Latency", "ms", (23.0, 22.8, 25.0, 26.0, 29.0)),
        ("Server Throughput", "Requests/Sec", (2.5, 2.5, 3.0, 3.0, 3.5)),
        ("Server Throughput", "Concurrency", (7.8, 8.0, 8.0, 8.0, 8.0)),
        ("Token Metrics", "Input Tokens", (512.0,) * 5),
        ("Token Metrics", "Output Tokens", (128.0,) * 5),
        ("Token Throughput", "Output Tokens/Sec", (320.0, 318.0, 350.0, 360.0, 380.0)),
        ("Token Throughput", "Total Tokens/Sec", (1600.0, 1590.0, 1700.0, 1750.0, 1800.0)),
    ):
        one = _distribution(*figures)
        rank = one["percentiles"]
        listed = [
            one["min"],
            *(rank[f"p{p}"] for p in ("001", "01", "05", "10", "25", "75", "90", "95", "99")),
            one["max"],
        ]
        for name, value in (("Mean", one["mean"]), ("Median", one["median"]), ("Std Dev", 2.0),
                            ("Percentiles", str(listed))):  # fmt: skip
            columns.append(((group, f"Successful {unit}", name), value))
    rows = [[head[at] for head, _ in columns] for at in range(3)] + [[str(value) for _, value in columns]]
    return csv_text(rows)


def guidellm_old_csv():
    """``benchmarks.csv`` of guidellm 0.2 and 0.3: one row of headings."""
    table = {"Type": "generative_benchmark", "Run Id": "b", "Id": "a", "Name": "concurrent@8",
             "Start Time": "2026-11-03 10:00:00", "End Time": "2026-11-03 10:01:00", "Duration": 60.0}  # fmt: skip
    for status in ("Total", "Successful", "Incomplete", "Errored"):
        table[f"{status} Requests"] = {"Total": 161, "Successful": 150, "Incomplete": 8, "Errored": 3}[status]
        for metric, by in guidellm_metrics().items():
            if metric == "request_totals":
                continue
            shown, one = metric.replace("_", " ").capitalize(), by["successful"]
            rank = one["percentiles"]
            table |= {f"{status} {shown} mean": one["mean"], f"{status} {shown} median": one["median"],
                      f"{status} {shown} std dev": 2.0}  # fmt: skip
            listed = [one["min"], *(rank[f"p{p}"] for p in ("001", "01", "05", "10", "25", "75", "90", "95", "99")),
                      one["max"]]  # fmt: skip
            table[f"{status} {shown} [min, 0.1, 1, 5, 10, 25, 75, 90, 95, 99, max]"] = str(listed)
    strategy = {"type_": "concurrent", "streams": 8}
    table |= {"Args": json.dumps({"strategy": strategy}), "Worker": json.dumps({"backend_model": MODEL}),
              "Request Loader": "{}", "Extras": "{}"}  # fmt: skip
    return csv_text([list(table), [str(value) for value in table.values()]])


def csv_text(rows):
    """Rows as a CSV, quoted where needed."""
    import csv
    import io

    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _stat(unit, avg, p50, p75, p90, p95, p99):
    return {"unit": unit, "avg": avg, "p1": p50 * 0.5, "p5": p50 * 0.6, "p10": p50 * 0.7, "p25": p50 * 0.8, "p50": p50,
            "p75": p75, "p90": p90, "p95": p95, "p99": p99, "min": p50 * 0.4, "max": p99 * 1.2, "std": 1.0}  # fmt: skip


def genai_perf():
    """``profile_export_genai_perf.json``."""
    return {
        "request_throughput": {"unit": "requests/sec", "avg": 5.0},
        "request_latency": _stat("ms", 3068.0, 3060.0, 3100.0, 3200.0, 3300.0, 3400.0),
        "request_count": {"unit": "count", "avg": 200.0},
        "time_to_first_token": _stat("ms", 210.5, 190.25, 230.0, 300.0, 350.0, 402.75),
        "time_to_second_token": _stat("ms", 22.0, 21.0, 23.0, 25.0, 27.0, 30.0),
        "inter_token_latency": _stat("ms", 22.5, 22.25, 24.0, 26.0, 28.0, 31.5),
        "output_token_throughput": {"unit": "tokens/sec", "avg": 640.0},
        "output_token_throughput_per_user": _stat("tokens/sec/user", 44.0, 45.0, 46.0, 47.0, 48.0, 49.0),
        "output_sequence_length": _stat("tokens", 128.0, 128.0, 128.0, 128.0, 128.0, 128.0),
        "input_sequence_length": _stat("tokens", 1024.0, 1024.0, 1024.0, 1024.0, 1024.0, 1024.0),
        "input_config": {
            "model_names": [MODEL],
            "perf_analyzer": {"stimulus": {"concurrency": 16}},
            "endpoint": {"backend": "tensorrtllm", "streaming": True},
        },
    }


def aiperf():
    """``profile_export_aiperf.json`` of aiperf 0.13."""
    row = genai_perf()
    row["request_latency"] = _stat("ns", 3068e6, 3060e6, 3100e6, 3200e6, 3300e6, 3400e6)
    return row | {
        "schema_version": "1.1",
        "aiperf_version": "0.13.0",
        "request_count": {"unit": "requests", "avg": 200.0},
        "error_request_count": {"unit": "requests", "avg": 50.0},
        "benchmark_duration": {"unit": "sec", "avg": 40.0},
        "total_token_throughput": {"unit": "tokens/sec", "avg": 5760.0},
        "inter_chunk_latency": _stat("ms", 22.4, 21.9, 23.0, 30.0, 50.0, 64.0),
        "start_time": "2026-11-03T10:15:00",
        "input_config": {
            "models": {"strategy": "round_robin", "items": [{"name": MODEL}]},
            "endpoint": {"urls": ["http://x"], "streaming": True},
            "phases": [
                {"name": "warmup", "kind": "warmup", "type": "concurrency", "concurrency": 4},
                {"name": "profiling", "kind": "profiling", "type": "concurrency", "concurrency": 16},
            ],
        },
        "telemetry_data": {
            "endpoints": {"x": {"gpus": {"gpu_0": {"gpu_name": "NVIDIA H100 80GB HBM3", "metrics": {}}}}}
        },
    }


def aiperf_records():
    """``profile_export.jsonl`` of aiperf: four requests, one of them failed."""
    rows = []
    for at in range(4):
        start = 1_793_700_000_000_000_000 + at * 1_000_000_000
        rows.append(
            {
                "metadata": {"session_num": at, "request_start_ns": start, "request_end_ns": start + 1_000_000_000,
                             "benchmark_phase": "profiling", "was_cancelled": False},
                "metrics": {"time_to_first_token": {"value": 100.0 + at, "unit": "ms"},
                            "request_latency": {"value": 1000.0, "unit": "ms"},
                            "inter_token_latency": {"value": 9.0, "unit": "ms"},
                            "output_sequence_length": {"value": 101, "unit": "tokens"},
                            "input_sequence_length": {"value": 512, "unit": "tokens"}},
                "error": {"code": 500, "message": "x"} if at == 3 else None,
            }
        )  # fmt: skip
    return "".join(json.dumps(row) + "\n" for row in rows)


def perf_analyzer():
    """``profile_export.json`` of genai-perf: ten requests a second apart, of 500 ms, the first piece after 100."""
    rows = [
        {"timestamp": at * 10**9, "request_inputs": {"payload": "secret words"},
         "response_timestamps": [at * 10**9 + 10**8, at * 10**9 + 5 * 10**8], "response_outputs": []}
        for at in range(1, 11)
    ]  # fmt: skip
    experiment = {
        "experiment": {"mode": "concurrency", "value": 4},
        "requests": rows,
        "window_boundaries": [],
    }
    return {
        "service_kind": "openai",
        "endpoint": "v1/chat/completions",
        "experiments": [experiment],
        "version": "2.6",
    }


def genai_perf_csv():
    """``profile_export_genai_perf.csv``: thousands have commas."""
    order = ["avg", "min", "max", "p99", "p95", "p90", "p75", "p50", "p25", "p10", "p5", "p1"]
    source = genai_perf()
    rows = [["Metric", *order]]
    for name, unit in (("time_to_first_token", "ms"), ("inter_token_latency", "ms"), ("request_latency", "ms"),
                       ("output_sequence_length", "tokens"), ("input_sequence_length", "tokens")):  # fmt: skip
        shown = f"{name.replace('_', ' ').title()} ({unit})"
        rows.append([shown, *(f"{source[name][key]:,.2f}" for key in order)])
    rows += [[], ["Metric", "Value"], ["Output Token Throughput (tokens/sec)", "640.00"],
             ["Request Throughput (requests/sec)", "5.00"], ["Request Count (count)", "200.00"]]  # fmt: skip
    return csv_text(rows)
