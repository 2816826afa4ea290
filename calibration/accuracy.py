"""Write ``docs/accuracy.md`` from ``cabida validate``, and the intervals of memory figures from the same residuals.

python calibration/accuracy.py              # write docs/accuracy.md
python calibration/accuracy.py --intervals  # fit src/cabida/truth/data/intervals.json first
python calibration/accuracy.py --left-out   # how many figures lie inside intervals that never saw their source
python calibration/accuracy.py --check      # fail when the page isn't what validate says today
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import accuracy_lines as aims
from cabida.timing.own import without_own
from cabida.truth import validate
from cabida.truth.case import read_cases
from cabida.truth.predict import HYBRID, Answer, Prediction, kind_of, memory_spread
from cabida.truth.predict import interval_factors as factors_by_kind
from cabida.truth.trace_case import trace_figures
from cabida.truth.validate import answered, predicted

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/accuracy.md"
INTERVALS = ROOT / "src/cabida/truth/data/intervals.json"
FILES = tuple(ROOT / f"cases/{kind}.jsonl" for kind in ("memory", "serving", "training", "media"))
ENOUGH = 12  # residuals that can be spoken of
PAGES = 4  # sources of one kind that can speak for it
MANY = 100  # or so many rows
LEAST_WIDTH = 0.01
TAIL = 0.04

GROUPS = {
    "Memory": (
        "weights_gib_per_gpu", "weights_gib_total", "kv_cache_gib_per_gpu", "kv_cache_gib_total", "kv_cache_tokens",
        "max_concurrency", "activation_peak_gib", "peak_gib_per_gpu", "peak_gib_total", "peak_mem_gib",
    ),
    "Serving": (
        "tpot_ms", "tpot_ms_mean", "tpot_ms_p50", "tpot_ms_p99", "itl_ms_mean", "itl_ms_p50", "ttft_ms", "ttft_ms_mean",
        "ttft_ms_p50", "ttft_ms_p99", "e2e_ms_mean", "output_tok_s", "total_tok_s",
        "req_s", "decode_tok_s", "prefill_tok_s",
    ),
    "Training": ("tokens_s_per_gpu", "step_time_s", "minutes_to_target"),
}  # fmt: skip
TRACE_HEAD = ("run", "metric", "measured, ms", "predicted, ms", "error")
BY_ENGINE = (
    "weights_gib_per_gpu", "kv_cache_gib_per_gpu", "peak_gib_per_gpu", "tpot_ms", "ttft_ms", "output_tok_s",
    "decode_tok_s", "tokens_s_per_gpu", "step_time_s",
)  # fmt: skip
AICONFIGURATOR = "aiconfigurator 0.12.0 on 900 of the aggregated rows it publishes itself, 55 % answered"
ONE_FORMULA = "one formula of 14 coefficients for all engines and cards, each model left out"
PROFILED = "simulators with a profile of that very card (casys-kaist/LLMServingSim)"
RIVALS = (
    ("TPOT, vLLM, SGLang and TensorRT-LLM", AICONFIGURATOR, "20.3 %", "66 %"),
    ("TTFT, the same rows", "aiconfigurator 0.12.0", "84 %", "513 %"),
    ("TPOT, the same rows", ONE_FORMULA, "15.6 %", "-"),
    ("percentiles of a request trace", PROFILED, "1-2 %", "-"),
    ("KV tokens a start-up reports", "estimates quoted in engines' issue trackers", "10-31 %", "-"),
    ("weights, quantised", "bits per weight times parameters", "12-86 %", "-"),
    ("training tokens/s", "median MFU looked up by card and precision, each row left out", "30 %", "96 %"),
    ("training tokens/s", "the same, dense or MoE and the software known", "10 %", "36 %"),
)
INTRO = """# Accuracy

Written by `python calibration/accuracy.py` from `cabida validate cases/*.jsonl`; only what stands under
[Others](#others-on-the-same-or-like-rows) is quoted, nothing else is typed by hand.

Error = exp(|ln(predicted / measured)|) - 1, so that predicting half is as wrong as predicting double. *Headline*
is the median over sources of each source's median: one big table doesn't decide. *Bias* is the median of predicted
over measured. Figures whose 90 % interval is wider than a factor 4 aren't counted as answers.
Intervals of time per token and throughput have a ceiling of 3.99, high over low: where doubt is larger they hold less
than 90 of 100, which the groups below show; those of time to first token have none, so many of them are no answer.

{answered} of {rows} rows answered.

Coefficients are fitted to part of these rows, so the tables by metric say how well we describe what is known. What
to expect of something new stands under [Left out](#left-out): whole models, cards and sources predicted by a fit
that never saw them.
"""
VERDICTS = """## Verdicts

Of {n} runs that are known to have fitted or failed: {correct} told right, {false_fits} wrongly promised,
{false_refusals} wrongly refused, {undecided} called too close to tell.
"""
BESIDE = "Six tools asked about exactly the same rows, in one run: [rivals.md](rivals.md)."
SOURCES = """Sources: ai-dynamo/aiconfigurator (silicon_sample.csv and the tool's own release), mlcommons,
NVIDIA-NeMo/Megatron-Bridge, mosaicml/llm-foundry and the other repositories named in `cases/`.

Repeated public measurements of one serving setup differ by 1 % (TPOT) to 4 % (TTFT) at the median when engine and
version agree, and by 10 to 17 % when the version isn't known; tuned submissions of one training benchmark on the
same card by 2 to 18 %. Nothing can be expected to do better than that.
"""
COVERAGE = """## Do the intervals hold

Every group of a hundred figures and more: the share of what was measured that lies inside its 90 % interval, and how
many times its lower end the upper end is. 85 to 95 of 100 is what is meant to be inside. The intervals of speed come
from residuals by regime (`calibration/intervals.py`), those of memory from residuals by kind.
"""
BY_THING = ("tpot_ms", "ttft_ms", "output_tok_s", "tokens_s_per_gpu", "peak_mem_gib")
SOME = 20  # rows of one accelerator or model that are spoken of
AIM_HEAD = (
    "what",
    "rows",
    "sources",
    "held out",
    "headline / p90 today",
    "aim",
    "",
    "another tool on the same rows",
)
CAUSE_HEAD = (
    "group", "rows", "of those beyond", "of the excess", "predicted / measured", "median / p90 without", "what it is"
)  # fmt: skip
AIMS = """## What we aim at, and where we are

*Held out* says what the fit behind a figure had seen: nothing is fitted; the rows are in the fit; or whole models,
cards or sources were left out of it and predicted.
"""
CAUSES = """## What is missed, and where it comes from

The groups of rows that carry most of what lies beyond an aim, three at most for each line. *Of the excess*: their share
of the sum by which logarithms of errors lie beyond it. Nothing is explained by a group whose errors go both ways.
"""
PAIRS = """## Is the order right

Two setups that one source measured on one workload, more than 10 % apart: how often the better one is predicted better.
"""
INTERVALS_ARE = (
    "Factors of the 90 % interval of memory figures by metric and kind. Written by calibration/accuracy.py."
)


def inputs_digest() -> str:
    """Digest of the cases and of every coefficient: a page stamped with another one is stale."""
    read = [
        *FILES,
        aims.LEFT_OUT,
        aims.RIVALS,
        *(ROOT / "cases/traces").glob("*"),
        *(ROOT / "src/cabida").glob("*/data/*.json"),
    ]
    digest = hashlib.sha256()
    for path in sorted(read):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def percent(ratio: float) -> str:
    return f"{100 * ratio:.1f} %"


def row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def table(head: tuple[str, ...], rows: Iterable[Iterable[str]]) -> list[str]:
    return [row(head), row("---" if not place else "---:" for place in range(len(head))), *map(row, rows), ""]


def metric_rows(metrics: dict[str, Any], names: tuple[str, ...]) -> list[list[str]]:
    found = []
    for name in names:
        if name in metrics:
            m = metrics[name]
            found.append(
                [
                    f"`{name}`", str(m["n"]), str(m["sources"]), percent(m["source_median_error_ratio"]),
                    percent(m["median_error_ratio"]), percent(m["p90_error_ratio"]), f"{m['bias_ratio']:.2f}",
                    percent(m["within_interval_ratio"]), f"{m['interval_high_over_low']:.2f}",
                ]
            )  # fmt: skip
    return found


def engine_rows(by: dict[str, Any], names: tuple[str, ...], least: int = 5) -> list[list[str]]:
    found = []
    for engine, metrics in sorted(by.items()):
        for name in names:
            if name in metrics and metrics[name]["n"] >= least:
                m = metrics[name]
                found.append(
                    [
                        engine,
                        f"`{name}`",
                        str(m["n"]),
                        percent(m["median_error_ratio"]),
                        f"{m['bias_ratio']:.2f}",
                    ]
                )
    return found


def coverage_rows(by: dict[str, Any]) -> list[list[str]]:
    """What the intervals of every group of 100 figures and more hold, and how wide they are."""
    return [
        [
            key, group, f"`{metric}`", str(m["n"]), percent(m["within_interval_ratio"]),
            f"{m['interval_high_over_low']:.2f}",
        ]
        for key, groups in by.items()
        for group, metrics in groups.items()
        for metric, m in metrics.items()
        if m["n"] >= MANY
    ]  # fmt: skip


def held_out_rows(name: str, data: dict[str, Any], path: tuple[str, ...] = ()) -> list[list[str]]:
    """Every summary found in a data file's held-out figures."""
    if "median_error_ratio" in data:
        if data["n"] < ENOUGH:
            return []
        return [
            [
                name,
                ", ".join(path),
                str(data["n"]),
                percent(data["median_error_ratio"]),
                percent(data["p90_error_ratio"]),
            ]
        ]
    return [
        line
        for key, part in data.items()
        if isinstance(part, dict)
        for line in held_out_rows(name, part, (*path, key))
    ]


def aim_lines(
    found: dict[str, Any], answers: list[Answer], lines: list[aims.Line], metrics: tuple[str, ...] = BY_THING
) -> list[str]:
    """Every aim beside today's figure; for what is missed, the groups of rows that carry most of it."""
    of = {p.case.source for one in answers if one.fitted is not None for p in one.predictions}
    rows = [aims.shown(one) for one in lines]
    rows += aims.verdict_rows(found["fits"], len(of))
    rows += aims.interval_rows(found["by"], found["metrics"], MANY)
    told = [AIMS, *table(AIM_HEAD, rows), CAUSES]
    for one, causes in aims.missed(lines):
        today = f"{percent(one.found[0])} / {percent(one.found[1])}, aim {aims.aim_of(one)}"
        told += [f"### {one.what} ({one.held}): {today}", ""]
        if one.rows_are:
            told += [f"Causes looked for in: {one.rows_are}.", ""]
        cells = [aims.cause_cells(cause, slow=one.slow) for cause in causes]
        told += table(CAUSE_HEAD, cells) if cells else ["Too few rows to name a group.", ""]
    for key, name in (("gpu", "accelerator"), ("model", "model")):
        told += [f"## By {name}", "", f"Metrics of {SOME} rows and more.", ""]
        told += table((name, "metric", "n", "median", "bias"), engine_rows(found["by"][key], metrics, SOME))
    pairs = [
        [ranking.replace("_", " "), f"`{metric}`", str(one["n"]), str(one["sources"]), percent(one["right_ratio"]),
         percent(one["source_median_right_ratio"])]
        for ranking, metrics_of in found["pairs"].items()
        for metric, one in metrics_of.items()
    ]  # fmt: skip
    return [
        *told,
        PAIRS,
        *table(("better by", "metric", "pairs", "sources", "told right", "by source"), pairs),
    ]


def page(found: dict[str, Any], data: dict[str, dict[str, Any]], beside: list[str]) -> str:
    """The page, from what validate returned, the held-out figures of the data files, and the aims' part."""
    head = ("metric", "n", "sources", "headline", "median", "p90", "bias", "inside 90 % interval", "high/low")
    lines = [INTRO.format(answered=found["answered"], rows=found["rows"]), *beside]
    for group, names in GROUPS.items():
        lines += [f"## {group}", "", *table(head, metric_rows(found["metrics"], names))]
    lines += ["## Request by request", "", *table(TRACE_HEAD, trace_rows())]
    left_out = [line for name, part in data.items() for line in held_out_rows(name, part)]
    unanswered = [[why, str(count)] for why, count in reasons(found["skipped"])]
    lines += [VERDICTS.format(**found["fits"]), "## By engine and framework", ""]
    lines += table(("engine", "metric", "n", "median", "bias"), engine_rows(found["by"]["engine"], BY_ENGINE))
    lines += [
        COVERAGE,
        *table(("by", "group", "metric", "n", "inside", "high/low"), coverage_rows(found["by"])),
    ]
    lines += ["## Left out", "", *table(("what", "left out", "n", "median", "p90"), left_out)]
    lines += [
        "## Others, on the same or like rows",
        "",
        BESIDE,
        "",
        *table(("what", "who", "median", "p90"), RIVALS),
        SOURCES,
    ]
    lines += ["## Not answered", "", *table(("reason", "rows"), unanswered)]
    lines += [f"Digest of the cases and coefficients this was worked out from: `{inputs_digest()}`."]
    return "\n".join(lines).rstrip() + "\n"


def trace_rows() -> list[list[str]]:
    """Percentiles of the public traces, replayed through the scheduler without a profile of the card."""
    found = []
    for setup in sorted((ROOT / "cases/traces").glob("*.json")):
        for metric, (measured, guessed) in trace_figures(setup).items():
            off = math.exp(abs(math.log(guessed / measured))) - 1
            found.append([setup.stem, f"`{metric}`", f"{measured:.1f}", f"{guessed:.1f}", percent(off)])
    return found


def reasons(skipped: list[dict[str, str]], most: int = 15) -> list[tuple[str, int]]:
    """Why rows weren't answered, models and files aside, most frequent first."""
    counts: Counter[str] = Counter()
    for one in skipped:
        why = one["why"].split(": ")[-1]
        for start in ("architecture of", "method", "weight format", "task"):
            if why.startswith(start):
                why = f"{start} ... not known" if start == "architecture of" else f"{start} we don't model"
        counts[why.split("[")[0].strip()] += 1
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:most]


def interval_factors() -> dict[str, Any]:
    """Factors on a start-up's figures that hold most residuals, by metric and kind of engine.

    A kind speaks for itself when enough pages know it; others have what all kinds together show, mixed attention
    apart. Checked with each source left out: :func:`left_out`.
    """
    rows = started()
    factors: dict[str, dict[str, list[float]]] = {}
    for metric in sorted({one.metric for one in rows}):
        kinds: dict[str, list[Prediction]] = defaultdict(list)
        for one in rows:
            if one.metric == metric:
                kinds[kind_of(one.case)].append(one)
        everything = [one for part in kinds.values() for one in part]
        mixed = [one for kind, part in kinds.items() if kind.endswith(HYBRID) for one in part]
        plain = [one for kind, part in kinds.items() if not kind.endswith(HYBRID) for one in part]
        told = {kind: part for kind, part in kinds.items() if speaks_for_itself(part)}
        told["all"] = plain if len(plain) >= ENOUGH else everything
        told[f"all{HYBRID}"] = mixed
        factors[metric] = {kind: factors_of(part) for kind, part in told.items() if len(part) >= ENOUGH}
    return {metric: found for metric, found in factors.items() if found}


def started() -> list[Prediction]:
    """Figures of start-ups whose interval is a factor by kind: others are told by what they are made of."""
    return [
        one
        for one in predicted(FILES[:1], widest=math.inf)
        if one.case.row.get("task", "inference") == "inference" and is_by_kind(one)
    ]


def is_by_kind(one: Prediction) -> bool:
    low, high = factors_by_kind(one.metric, kind_of(one.case))
    return math.isclose(one.low, one.predicted * low) and math.isclose(one.high, one.predicted * high)


def page_of(one: Prediction) -> str:
    """What counts as one source: a repository; of files that only an index names, each."""
    return str(one.case.row["source"]) if one.case.source == "public" else one.case.source


def speaks_for_itself(rows: list[Prediction]) -> bool:
    return len(rows) >= ENOUGH and (len({page_of(one) for one in rows}) >= PAGES or len(rows) >= MANY)


def factors_of(rows: list[Prediction]) -> list[float]:
    """4th and 96th percentile of measured over predicted; each page counts by the square root of its rows."""
    sizes = Counter(map(page_of, rows))
    weighed = sorted((one.measured / one.predicted, sizes[page_of(one)] ** -0.5) for one in rows)
    whole = sum(weight for _, weight in weighed)

    def at(share: float) -> float:
        seen = 0.0
        for ratio, weight in weighed:
            seen += weight
            if seen >= share * whole:
                return ratio
        return weighed[-1][0]

    low, high = min(at(TAIL), 1 - LEAST_WIDTH), max(at(1 - TAIL), 1 + LEAST_WIDTH)
    return [float(f"{low:.3g}"), float(f"{high:.3g}")]


def left_out() -> dict[str, float]:
    """Share of figures inside intervals that never saw their source, by metric."""
    rows = started()
    inside: dict[str, list[bool]] = defaultdict(list)
    for page in sorted({page_of(one) for one in rows}):
        others = [one for one in rows if page_of(one) != page]
        for one in (each for each in rows if page_of(each) == page):
            same = [each for each in others if each.metric == one.metric]
            own = [each for each in same if kind_of(each.case) == kind_of(one.case)]
            mixed = kind_of(one.case).endswith(HYBRID)
            alike = [each for each in same if kind_of(each.case).endswith(HYBRID) == mixed]
            part = own if speaks_for_itself(own) else alike if len(alike) >= ENOUGH else same
            if len(part) >= ENOUGH:
                low, high = factors_of(part)
                inside[one.metric].append(low <= one.measured / one.predicted <= high)
    return {metric: sum(found) / len(found) for metric, found in sorted(inside.items())}


def held_out() -> dict[str, dict[str, Any]]:
    """Held-out figures of the data files."""
    data = ROOT / "src/cabida"
    serving = json.loads((data / "timing/data/serving.json").read_text(encoding="utf-8")).get("held_out", {})
    serving = {f"left out {way}s": part for way, part in serving.items() if way != "fitted"}
    training = json.loads((data / "timing/data/training.json").read_text(encoding="utf-8"))["held_out"]
    short = {
        key.replace("_", " "): part
        for key, part in training.items()
        if key != "in_sample" and not key.endswith("_by")
    }
    first = json.loads((data / "timing/data/first_tokens.json").read_text(encoding="utf-8"))["held_out"]
    first = {way: part["all"] for way, part in first.items() if way != "fitted"}
    return {"serving": serving, "time to first token, simulated": first, "training tokens/s": short}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--intervals", action="store_true")
    parser.add_argument("--left-out", action="store_true")
    parser.add_argument("--json", action="store_true", help="print validate's figures as well")
    wanted = parser.parse_args()
    if wanted.left_out:
        print(json.dumps(left_out(), indent=1))
        return 0
    if wanted.intervals:
        text = json.dumps({"what": INTERVALS_ARE, "factors": interval_factors()}, indent=1)
        INTERVALS.write_text(text + "\n", encoding="utf-8")
        memory_spread.cache_clear()
    found = validate([path.relative_to(ROOT) if Path.cwd() == ROOT else path for path in FILES])
    cases, _ = read_cases(FILES)
    with without_own():
        answers = answered(cases)[0]
    traces = [
        (setup.stem, math.log(guessed / measured))
        for setup in sorted((ROOT / "cases/traces").glob("*.json"))
        for measured, guessed in trace_figures(setup).values()
    ]
    text = page(found, held_out(), aim_lines(found, answers, aims.lines(cases, answers, traces)))
    if wanted.check:
        same = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text
        told = "is up to date" if same else "is stale: run python calibration/accuracy.py"
        print(f"docs/accuracy.md {told}")
        return 0 if same else 1
    PAGE.write_text(text, encoding="utf-8")
    if wanted.json:
        print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
