"""What InferenceX (InferenceMAX before) makes of a run: ``agg_*.json``, and the lists its collector makes of them.

Keys from ``utils/process_result.py`` of SemiAnalysisAI/InferenceX (77f3e680): times are seconds, throughput is per
accelerator - of a disaggregated run output per decoding one. Lengths are drawn between 0.8 and 1 times those named.
"""

from __future__ import annotations

import re

from cabida.evidence.importers.benches.opening import Opened
from cabida.evidence.importers.benches.pages import Page
from cabida.evidence.importers.benches.result import MS_PER_S, Result
from cabida.evidence.importers.said import model_name

NAME = "inferencex"
SIGNS = ('"tput_per_gpu"',)
STATISTICS = {"mean": "mean", "median": "p50", "p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99"}
FIGURES = {"ttft": "ttft_ms", "tpot": "tpot_ms", "itl": "itl_ms", "e2el": "e2e_ms"}
ENGINES = (("sglang", "sglang"), ("sgl", "sglang"), ("trt", "tensorrt-llm"), ("vllm", "vllm"))
VERSION = re.compile(r":\D{0,20}?(\d+\.\d+(?:\.\d+)?(?:\.?(?:rc|post|dev)\d+)?)")
NONE = ("", "none", "None", "off", "false")
KNOWN = (
    "infmax_model_prefix", "is_multinode", "prefill_tp", "prefill_ep", "prefill_dp_attention", "prefill_num_workers",
    "decode_tp", "decode_ep", "decode_dp_attention", "decode_num_workers",
)  # fmt: skip


def known(found: Opened) -> bool:
    """Whether a file is one of its results, or a list of them."""
    return found.first.keys() >= {"hw", "conc", "framework", "tput_per_gpu"}


def read(found: Opened) -> list[Result]:
    """One result a run."""
    return [_one(Page(table, line=line)) for line, table in found.tables() if "tput_per_gpu" in table]


def _one(page: Page) -> Result:
    one = Result("inferencex", page, mode="agg")
    framework = page.words("framework")
    one.say("engine", next((name for word, name in ENGINES if word in framework.lower()), framework))
    if version := VERSION.search(page.words("image")):
        one.say("engine_version", version[1])
    one.say("model", model_name(page.words("model")))
    one.say("weights", page.words("precision").lower())
    one.say("gpu_raw", page.words("hw"))
    prefill, decode = page.whole("num_prefill_gpu"), page.whole("num_decode_gpu")
    tp = page.whole("tp")
    apart = page.value("disagg") is True or bool(prefill and decode)
    if apart:
        one.mode = "disagg"
        one.say("gpus", (prefill or 0) + (decode or 0))
    else:
        one.say("tp", tp)
        one.say("gpus", tp)
        ep = page.whole("ep") or 0
        one.say("ep", ep if ep > 1 else None)
        if str(page.value("dp_attention")).lower() == "true":
            one.say("dp", tp)
    page.passed("tp", "ep", "dp_attention")
    drafts = page.words("spec_decoding", "mtp")
    if drafts not in NONE:
        one.more["spec_decode"] = drafts
    one.asked("concurrency", page.number("conc"))
    one.asked("input_tokens", page.number("isl"))
    one.asked("output_tokens", page.number("osl"))
    one.load["dataset"] = "InferenceX random"  # by which its habits of drawing lengths are known
    cards = one.setup.get("gpus") or 0
    if cards:
        one.put("total_tok_s", page.number("tput_per_gpu"), cards)
        one.put("output_tok_s", page.number("output_tput_per_gpu"), (decode or cards) if apart else cards)
        one.put("input_tok_s", page.number("input_tput_per_gpu"), (prefill or cards) if apart else cards)
    for theirs, ours in FIGURES.items():
        for head, name in STATISTICS.items():
            one.put(f"{ours}_{name}", page.number(f"{head}_{theirs}"), MS_PER_S)
    page.passed(*KNOWN, *(key for key in page.values if key.startswith("std_") or "intvty" in key))
    return one
