"""The accuracy we mean to reach, line by line, beside today's: the first table of ``docs/accuracy.md``, and for what
is missed the groups of rows that carry most of it. ``calibration/accuracy.py`` writes the page.

python calibration/serving.py --leave source,model,card --residuals FILE
python calibration/accuracy_lines.py FILE   # keeps them as calibration/left_out.csv
"""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from cabida.truth.case import Case
from cabida.truth.causes import Cause, Residual, causes, residual
from cabida.truth.names import stated_format
from cabida.truth.pairs import RATES
from cabida.truth.predict import HYBRID, Answer, Prediction, kind_of
from cabida.truth.score import quantile

ROOT = Path(__file__).parent.parent
LEFT_OUT = ROOT / "calibration/left_out.csv"
TIMING = ROOT / "src/cabida/timing/data"
RIVALS = ROOT / "benchmarks/results/accuracy.json"
CALM = 256  # clients beyond which a first token tells of the queue
TPOT = ("tpot_ms", "tpot_ms_mean", "tpot_ms_p50")
THROUGHPUT = ("output_tok_s", "decode_tok_s", "total_tok_s", "req_s")
TTFT = ("ttft_ms", "ttft_ms_mean", "ttft_ms_p50")
PICTURES = ("t2i", "t2v", "i2v")
COMPUTED = "nothing fitted"
IN_FIT = "in the fit"
WAYS = ("source", "model", "card")

Row = tuple[Prediction, float]  # with its error: log of predicted over measured, larger = slower or heavier


@dataclass(frozen=True)
class Line:
    """One aim beside today's figures. ``rows``: what it is computed from, or what its causes are looked for in."""

    what: str
    held: str
    aim: tuple[float, float]  # headline median, pooled p90
    n: int
    sources: int
    found: tuple[float, float]
    rival: str = ""
    rows: list[Residual] = field(default_factory=list)
    slow: bool = True  # whether the figures are times; else sizes
    rows_are: str = ""  # where the causes' rows are not the line's own

    @property
    def met(self) -> bool:
        """Both figures within their aims."""
        return self.found[0] <= self.aim[0] and self.found[1] <= self.aim[1]

    @property
    def limit(self) -> float:
        """The aim that is missed by more: what a row is beyond of in :func:`causes`."""
        return self.aim[1] if self.found[1] > self.aim[1] else self.aim[0]


def signed(one: Prediction) -> float:
    """log of predicted over measured; of rates upside down, so that larger is slower."""
    error = math.log(one.predicted / one.measured)
    return -error if one.metric in RATES else error


def line(
    what: str, held: str, aim: tuple[float, float], rows: Iterable[Row], rival: str = "", slow: bool = True
) -> Line:
    """A line whose figures are those of its rows; none has a count of 0."""
    found = [residual(one, error) for one, error in rows]
    by_source: dict[str, list[float]] = {}
    for one in found:
        by_source.setdefault(one.source, []).append(math.expm1(abs(one.error)))
    errors = [error for part in by_source.values() for error in part]
    figures = (
        (median(median(part) for part in by_source.values()), quantile(errors, 0.9)) if found else (0.0, 0.0)
    )
    return Line(what, held, aim, len(found), len(by_source), figures, rival, found, slow)


def kept(
    what: str, held: str, aim: tuple[float, float], data: dict[str, Any], like: Line, sources: int
) -> Line:
    """A line whose held-out figures a fit has kept; its causes are looked for in the rows of ``like``."""
    headline = data.get("source_median_error_ratio", data["median_error_ratio"])
    found = (headline, data["p90_error_ratio"])
    rows_are = "errors of today's fit, which saw these rows"
    return Line(what, held, aim, data["n"], sources, found, like.rival, like.rows, like.slow, rows_are)


def bits_of(one: Prediction) -> float:
    """Bits of a weight of the body."""
    stated = one.case.row.get("weights")
    found = stated_format(str(stated)) if stated else None
    return found.body_bits if found else 16.0


def first_of(answer: Answer, names: Sequence[str]) -> list[Row]:
    """The first of these figures that an answer has: one measurement in several units counts once."""
    by_name = {one.metric: one for one in answer.predictions}
    return [(by_name[name], signed(by_name[name])) for name in names if name in by_name][:1]


def cache_per_token(answers: Iterable[Answer]) -> list[Row]:
    """Cache over the tokens it holds where a start-up prints both; what llama.cpp keeps for a stated context."""
    found: list[Row] = []
    for one in answers:
        by_name = {each.metric: each for each in one.predictions}
        if any(each.case.row.get("inferred_architecture") for each in one.predictions):
            continue
        tokens, cache = by_name.get("kv_cache_tokens"), by_name.get("kv_cache_gib_per_gpu")
        if tokens and cache:
            found.append((cache, signed(cache) - signed(tokens)))
        found += [
            (each, signed(each))
            for each in one.predictions
            if each.metric.startswith("kv_cache_gib") and each.case.engine == "llama.cpp"
        ]
    return found


def left_out(cases: dict[str, Case], path: Path = LEFT_OUT) -> dict[str, list[Row]]:
    """Errors of rows predicted by fits that never saw their source, model or card, by what was left out."""
    found: dict[str, list[Row]] = {way: [] for way in WAYS}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            case = cases.get(row["id"])
            if case is None or row["metric"] == "ttft_s":
                continue
            sign = -1.0 if row["metric"] == "output_tokens_per_s" else 1.0
            for way in WAYS:
                if row[way]:
                    one = Prediction(case, row["metric"], 1.0, math.exp(float(row[way])), 1.0, 1.0)
                    found[way].append((one, sign * float(row[way])))
    return found


def lines(
    cases: Sequence[Case], answers: Sequence[Answer], traces: Sequence[tuple[str, float]]
) -> list[Line]:
    """Every aim with errors, beside today's figures. ``traces``: setup and log error of each percentile."""
    return [*memory_lines(answers), *serving_lines(cases, answers, traces), *other_lines(answers)]


def where(answers: Iterable[Answer], holds: Callable[[Prediction], bool]) -> list[Row]:
    """Predictions for which something holds, with their errors."""
    return [(one, signed(one)) for each in answers for one in each.predictions if holds(one)]


def is_tuning(one: Prediction) -> bool:
    """Peak memory of a training run."""
    kind, task = one.case.kind, one.case.row.get("task", "inference")
    return one.metric.startswith("peak") and (
        kind == "training" or (kind == "memory" and task != "inference")
    )


def memory_lines(answers: Sequence[Answer]) -> list[Line]:
    """Weights, cache, peaks."""
    weights = where(answers, lambda one: one.metric.startswith("weights_gib"))
    per_token = cache_per_token(answers)
    mixed = [row for row in per_token if kind_of(row[0].case).endswith(HYBRID)]
    plain = [row for row in per_token if not kind_of(row[0].case).endswith(HYBRID)]
    started = where(
        answers,
        lambda one: (
            one.case.engine in ("vllm", "sglang")
            and one.metric in ("kv_cache_tokens", "kv_cache_gib_per_gpu")
        ),
    )
    llama = where(answers, lambda one: one.metric.startswith("peak") and one.case.engine == "llama.cpp")
    wide = [row for row in weights if bits_of(row[0]) >= 16]
    narrow = [row for row in weights if bits_of(row[0]) < 16]
    few = "priors fitted to part of them"
    return [
        line("weights per GPU, 16-bit", COMPUTED, (0.01, 0.03), wide, slow=False),
        line("weights per GPU, quantised", COMPUTED, (0.04, 0.10), narrow, slow=False),
        line("KV bytes per token", COMPUTED, (0.01, 0.01), plain, slow=False),
        line("KV bytes per token, mixed attention", COMPUTED, (0.10, 0.10), mixed, slow=False),
        line("KV tokens and GiB at start-up, vLLM and SGLang", few, (0.05, 0.15), started, slow=False),
        line("peak memory, llama.cpp", few, (0.02, 0.06), llama, slow=False),
        line(
            "peak memory, fine-tuning and training", few, (0.10, 0.25), where(answers, is_tuning),
            rival("ftuneai", "peak_mem_gib"), slow=False,
        ),
    ]  # fmt: skip


def serving_lines(
    cases: Sequence[Case], answers: Sequence[Answer], traces: Sequence[tuple[str, float]]
) -> list[Line]:
    """Time per token, throughput, first token, percentiles."""
    fit = json.loads((TIMING / "serving.json").read_text(encoding="utf-8"))
    first = json.loads((TIMING / "first_tokens.json").read_text(encoding="utf-8"))["held_out"]
    seen, other, ttft = [], [], []
    for one in answers:
        case = one.predictions[0].case if one.predictions else None
        if case is None or case.kind != "serving":
            continue
        rows = first_of(one, TPOT) + first_of(one, THROUGHPUT)
        known = (
            case.row.get("engine_version")
            and case.gpu in fit["accelerators"]
            and case.engine in fit["engines"]
        )
        (seen if known else other).extend(rows)
        clients = case.row["load"].get("concurrency")
        if isinstance(clients, (int, float)) and clients <= CALM:
            ttft += first_of(one, TTFT)
    out = left_out({case.id: case for case in cases})
    versioned = [row for row in out["model"] if row[0].case.row.get("engine_version")]
    theirs = rival("aiconfigurator", "tpot_ms")
    near, far, begun = (0.09, 0.28), (0.15, 0.45), (0.20, 0.55)
    calm = line(f"TTFT, up to {CALM} clients", IN_FIT, begun, ttft, rival("aiconfigurator", "ttft_ms"))
    what, else_ = "TPOT and throughput, version known, card and engine seen", "TPOT and throughput, otherwise"
    setups = {setup for setup, _ in traces}
    errors = [math.expm1(abs(error)) for _, error in traces]
    trace = (median(errors), max(errors)) if errors else (0.0, 0.0)
    return [
        line(what, IN_FIT, near, seen, theirs),
        line(what, "model left out", near, versioned, rival("aiconfigurator", "tpot_ms", "model")),
        line(f"{else_}: version not stated, or card or engine not in the fit", "partly in the fit", far, other),
        line(f"{else_}: unseen card", "card left out", far, out["card"], rival("aiconfigurator", "tpot_ms", "card")),
        line(
            f"{else_}: unseen source", "source left out", far, out["source"],
            rival("aiconfigurator", "tpot_ms", "source"),
        ),
        calm,
        *(
            kept("TTFT, simulated", way, begun, first[way]["all"], calm, 0)
            for way in ("left out model", "left out card", "left out source")
        ),
        Line("percentiles of a request trace (worst one as p90)", "no profile of the card", (0.10, 0.10),
             len(errors), len(setups), trace),
    ]  # fmt: skip


def other_lines(answers: Sequence[Answer]) -> list[Line]:
    """Training, MLPerf, pictures and clips."""
    held = json.loads((TIMING / "training.json").read_text(encoding="utf-8"))["held_out"]
    rates = where(answers, lambda one: one.metric == "tokens_s_per_gpu")
    minutes = where(answers, lambda one: one.metric == "minutes_to_target")
    drawn = [
        row
        for one in answers
        if one.predictions and one.predictions[0].case.row.get("task") in PICTURES
        for row in first_of(one, ("seconds_per_item", "it_s"))
    ]
    train = line("training tokens/s", IN_FIT, (0.08, 0.25), rates, rival("llm-analysis", "tokens_s_per_gpu"))
    by_source = held["left_out_sources_by"]
    of_sources = held["left_out_sources"] | {
        "source_median_error_ratio": median(one["median_error_ratio"] for one in by_source.values())
    }
    return [
        train,
        kept(
            "training tokens/s",
            "model left out",
            (0.08, 0.25),
            held["left_out_models"],
            train,
            len(by_source),
        ),
        kept("training tokens/s", "source left out", (0.15, 0.45), of_sources, train, len(by_source)),
        line("MLPerf minutes, samples to target given", IN_FIT, (0.12, 0.30), minutes),
        line("image and video seconds per item", IN_FIT, (0.15, 0.40), drawn),
    ]


def rival(name: str, metric: str, way: str = "") -> str:
    """A rival's figures on the rows that both answered in the last run beside it, ours on them after."""
    for one in json.loads(RIVALS.read_text(encoding="utf-8"))["table"]:
        for found in one["metrics"]:
            if one["rival"] == name and found["metric"] == metric:
                part = found["left_out"][way] if way else found
                rows = part["rows"] if way else found["both"]
                told = [
                    percent(part[f"{who}_{what}"]) for who in ("theirs", "ours") for what in ("median", "p90")
                ]
                return f"{name} {told[0]} / {told[1]}, ours {told[2]} / {told[3]} on {rows} rows ({metric})"
    return ""


def percent(ratio: float) -> str:
    return f"{100 * ratio:.1f} %"


def shown(one: Line) -> list[str]:
    """A line as the cells of its row."""
    if not one.n:
        why = "not measured: no public row states it"
        return [one.what, "0", "0", one.held, why, aim_of(one), "not measured", one.rival or "–"]
    met = "met" if one.met else "missed"
    today = f"{percent(one.found[0])} / {percent(one.found[1])}"
    sources = str(one.sources) if one.sources else "–"
    return [one.what, str(one.n), sources, one.held, today, aim_of(one), met, one.rival or "–"]


def aim_of(one: Line) -> str:
    return f"{100 * one.aim[0]:g} % / {100 * one.aim[1]:g} %"


def verdict_rows(fits: dict[str, int], sources: int) -> list[list[str]]:
    """False fits, false refusals and what is left undecided, of runs known to have fitted or failed."""
    n = fits["n"]
    found = []
    for key, what, most in (
        ("false_fits", "verdicts: false fits", 0.0),
        ("false_refusals", "verdicts: false refusals", 0.03),
        ("undecided", "verdicts: undecided", 0.08),
    ):
        share = fits[key] / n if n else 0.0
        aim = "none" if not most else f"under {100 * most:g} %"
        met = "met" if share < most or not fits[key] else "missed"
        found.append([what, str(n), str(sources), COMPUTED, f"{fits[key]} ({percent(share)})", aim, met, "–"])
    return found


def interval_rows(by: dict[str, Any], metrics: dict[str, Any], many: int) -> list[list[str]]:
    """How many groups of ``many`` rows hold what they should, and how wide the intervals are."""
    groups = [
        one["within_interval_ratio"]
        for parts in by.values()
        for found in parts.values()
        for one in found.values()
        if one["n"] >= many
    ]
    well = sum(0.85 <= share <= 0.95 for share in groups)
    low, high = sum(share < 0.85 for share in groups), sum(share > 0.95 for share in groups)
    told = f"{well} of {len(groups)} groups; {low} hold less, {high} more"
    rows = [
        [f"90 % intervals, groups of {many} rows and more", str(len(groups)), "–", IN_FIT, told, "all hold 85-95 %",
         "met" if well == len(groups) else "missed", "–"]
    ]  # fmt: skip
    for metric, most in (("tpot_ms", 1.8), ("ttft_ms", 3.5)):
        if metric in metrics:
            one = metrics[metric]
            width = one["interval_high_over_low"]
            rows.append(
                [f"width of the interval, `{metric}`, high/low", str(one["n"]), str(one["sources"]), IN_FIT,
                 f"{width:.2f}", f"at most {most}", "met" if width <= most else "missed", "–"]
            )  # fmt: skip
    return rows


SUSPECTED = {  # way, group or "" for any, and the side: what is slower (heavier) than measured, or faster
    ("speculative decoding", "", "slow"): "a draft model at work that the row leaves unsaid: several tokens a step",
    ("concurrency", "up to 4", "slow"): "launches and per-layer overhead counted that the engine hides",
    ("concurrency", "up to 4", "fast"): "overhead of the host between steps that is not counted",
    ("concurrency", "over 1,024", "fast"): "the client's own limits and the queue, which the fluid step leaves out",
    ("concurrency", "257 to 1,024", "fast"): "the host's work for each request of a large batch",
    ("accelerators", "9 to 64", "slow"): "exchanges between nodes hidden behind arithmetic",
    ("accelerators", "9 to 64", "fast"): "exchanges between nodes that cost more than their bytes",
    ("accelerators", "over 64", "fast"): "exchanges between nodes that cost more than their bytes",
    ("experts", "", "fast"): "experts loaded unevenly: the slowest accelerator sets the pace",
    ("mode", "disagg", "fast"): "the handing over of caches between prompt and answer workers",
    ("mode", "disagg", "slow"): "answer workers that are not as full as the stated concurrency",
}  # fmt: skip


def suspicion(cause: Cause, *, slow: bool) -> str:
    """What the sign and the way of grouping support; where errors go both ways nothing is."""
    if (cause.way, cause.group) == ("version", "not stated"):
        return "releases differ, and the row doesn't say which one it was"
    if not cause.is_one_sided:
        return "errors go both ways: no single missing term"
    side = "slow" if cause.bias_ratio > 1 else "fast"
    sizes = {"slow": "too large", "fast": "too small"}
    told = f"predicted too {side}" if slow else f"predicted {sizes[side]}"
    for group in (cause.group, ""):
        found = SUSPECTED.get((cause.way, group, side)) if slow else None
        if found:
            return f"{told}; suspected: {found}"
    return f"{told}; what causes it is not known"


def cause_cells(cause: Cause, *, slow: bool) -> list[str]:
    """A cause as the cells of a row."""
    return [
        f"{cause.way}: {cause.group}", f"{cause.rows} ({percent(cause.rows_ratio)})", percent(cause.beyond_ratio),
        percent(cause.excess_ratio), f"{cause.bias_ratio:.2f}",
        f"{percent(cause.median_without)} / {percent(cause.p90_without)}", suspicion(cause, slow=slow),
    ]  # fmt: skip


def missed(found: Iterable[Line]) -> list[tuple[Line, list[Cause]]]:
    """Lines that miss their aim, each with its three largest causes."""
    return [(one, causes(one.rows, one.limit)) for one in found if one.n and not one.met]


def keep_left_out(residuals: Path, path: Path = LEFT_OUT) -> int:
    """Errors of ``calibration/serving.py``, one line for each row and figure; how many there are."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    with residuals.open(encoding="utf-8") as file:
        for text in file:
            one = json.loads(text)
            if one["way"] in WAYS:
                found.setdefault((one["id"], one["metric"]), {})[one["way"]] = one["log_error"]
    with path.open("w", encoding="utf-8", newline="") as out:
        written = csv.writer(out, lineterminator="\n")
        written.writerow(["id", "metric", *WAYS])
        for (id, metric), errors in sorted(found.items()):
            written.writerow([id, metric, *(errors.get(way, "") for way in WAYS)])
    return len(found)


if __name__ == "__main__":
    print(keep_left_out(Path(sys.argv[1])))
