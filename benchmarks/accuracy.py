"""How far predictions are off, ours beside those of other tools on exactly the same measured rows, in one run.

    python benchmarks/accuracy.py [--rows N] [--seed S] [--only NAME ...] [--seconds S] [--residuals FILE] [--json]
                                  [--results FOLDER]

Error = exp(|ln(predicted / measured)|) - 1, so that half is as wrong as double. A refusal, a crash and (ours) an
interval wider than a factor 4 count as unanswered. Rivals are installed by ``rivals.py`` into a cache folder of its
own; their answers are kept there, and only what was never asked is asked. The figures go to ``benchmarks/results``,
from which ``docs/rivals.md`` is written.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import platform
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import rivals
import rows
from cabida import __version__
from cabida.text import number
from cabida.truth.case import read_cases
from cabida.truth.validate import answered
from rivals import RIVALS, Rival

RESULTS = Path(__file__).parent / "results"
FILES = [rows.ROOT / f"cases/{kind}.jsonl" for kind in ("serving", "training", "memory")]
KINDS: dict[
    str, tuple[Callable[[int, int], list[dict[str, Any]]], Callable[[dict[str, Any]], dict[str, Any]]]
] = {
    "agg": (rows.aggregated, rows.serving_question),
    "shaped": (rows.aggregated, lambda row: rows.shaped(rows.serving_question(row))),
    "single": (rows.alone, rows.single_question),
    "training": (rows.pretraining, rows.training_question),
    "memory": (rows.tuning, rows.tuning_question),
}
SAME = {"peak_mem_gib": rows.PEAKS}  # one figure under several names
HIDDEN = ("spec_decode",)  # rows that may hide speculative decoding are also left out, in a second count
PUBLISHED = (
    {
        "who": "Calculon, its own validation",
        "what": "training step time of Megatron on Selene, 22B to 1T, 8 points",
        "figure": "mean 3.65 %, worst 8.87 %",
        "source": "Isaev et al. 2023 (SC23), table of the validation section; shipped with calculon-ai/calculon",
    },
    {
        "who": "BLIS (inference-sim)",
        "what": "end to end latency of 36 served runs, two cards from their data sheet alone",
        "figure": "median 6.7 %; P99 9.2 %, TTFT mean 17.6 %, TTFT P99 29.0 %; A100 15.7 %, L40S 13.3 %",
        "source": "inference-sim docs/blog/posts/how-blis-learns-latency.md, 2026-08-22",
    },
    {
        "who": "LLMServingSim 2.0",
        "what": "Llama-3.1-8B on RTX PRO 6000 with a profile of that card",
        "figure": "TTFT mean -4.0 %, P99 -2.0 %, TPOT -1.0 %",
        "source": "casys-kaist/LLMServingSim, summary of its examples",
    },
    {
        "who": "InferSim",
        "what": "DeepSeek-V3 on H800 and Qwen3 on H20, from measured kernels",
        "figure": "4 to 15 % off",
        "source": "alibaba/InferSim README, 2026-05-08",
    },
)


def error(predicted: float, measured: float) -> float:
    """exp(|ln(predicted / measured)|) - 1."""
    return math.exp(abs(math.log(predicted / measured))) - 1


def quantile(values: Iterable[float], share: float) -> float | None:
    """The value below which ``share`` of them lie; nothing of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def ours(wanted: set[str]) -> dict[str, dict[str, float]]:
    """What Cabida answers, by row and metric."""
    cases, _ = read_cases(FILES)
    found, _ = answered([one for one in cases if one.id in wanted])
    said: dict[str, dict[str, float]] = {}
    for one in (figure for answer in found for figure in answer.predictions):
        said.setdefault(one.case.id, {})[one.metric] = one.predicted
    return said


def measured_of(row: dict[str, Any], metric: str) -> tuple[str, float] | None:
    """The name under which a row measures a metric, and its value."""
    for name in SAME.get(metric, (metric,)):
        value = row["measured"].get(name)
        if isinstance(value, int | float) and value > 0:
            return name, float(value)
    return None


def held_out(path: Path | None) -> dict[tuple[str, str], dict[str, float]]:
    """Errors of ours with whole models, cards, engines or sources left out of the fit, by way and metric, by row.

    Args:
        path: what ``calibration/serving.py --residuals`` wrote; without it there are none.
    """
    found: dict[tuple[str, str], dict[str, float]] = {}
    if path is not None:
        for line in path.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            found.setdefault((one["way"], one["metric"]), {})[one["id"]] = math.exp(abs(one["log_error"])) - 1
    return found


def left_out(
    metric: str, theirs: dict[str, float], errors: dict[tuple[str, str], dict[str, float]]
) -> dict[str, dict[str, Any]]:
    """Ours for each way of leaving out, and theirs (errors by row) over exactly the rows that this way has."""
    found = {}
    for (way, name), by_row in errors.items():
        same = [one for one in theirs if one in by_row]
        if way != "fitted" and name.removesuffix("_s") == metric.removesuffix("_ms") and same:
            found[way] = {"rows": len(same)}
            for who, known in (("ours", by_row), ("theirs", theirs)):
                values = [known[one] for one in same]
                found[way] |= {f"{who}_median": quantile(values, 0.5), f"{who}_p90": quantile(values, 0.9)}
    return found


def compared(
    rival: Rival,
    chosen: list[dict[str, Any]],
    theirs: dict[str, Any],
    mine: dict[str, dict[str, float]],
    errors: dict[tuple[str, str], dict[str, float]],
) -> list[dict[str, Any]]:
    """One line for each metric: asked, answered, errors; ours on all rows and on exactly those it answered."""
    lines = []
    for metric in rival.metrics:
        points = []
        for row in chosen:
            truth = measured_of(row, metric)
            if truth is None:
                continue
            name, value = truth
            one = {"id": row["id"], "measured": value, "hidden": bool(row.get("spec_decode"))}
            said = theirs.get(row["id"], {}).get("figures", {}).get(metric)
            if said and math.isfinite(said) and said > 0:
                one["theirs"] = said
            if (own := mine.get(row["id"], {}).get(name)) is not None:
                one["ours"] = own
            points.append(one)
        figures = [
            [_rounded(one.get(key)) for key in ("measured", "theirs", "ours")] + [float(one["hidden"])]
            for one in points
        ]
        wrong = {one["id"]: error(one["theirs"], one["measured"]) for one in points if "theirs" in one}
        apart = left_out(metric, wrong, errors)
        lines.append({"metric": metric, **summary(points), "left_out": apart, "points": figures})
    return lines


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def summary(points: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts and errors of one metric."""
    both = [one for one in points if "theirs" in one and "ours" in one]
    plain = [one for one in both if not one["hidden"]]
    found: dict[str, Any] = {
        "asked": len(points),
        "answered": sum("theirs" in one for one in points),
        "ours_answered": sum("ours" in one for one in points),
        "both": len(both),
    }
    for who, key, some in (
        ("theirs", "theirs", both), ("ours", "ours", both), ("ours_all", "ours", [p for p in points if "ours" in p]),
        ("theirs_unhidden", "theirs", plain), ("ours_unhidden", "ours", plain),
    ):  # fmt: skip
        errors = [error(one[key], one["measured"]) for one in some]
        found[f"{who}_median"], found[f"{who}_p90"] = quantile(errors, 0.5), quantile(errors, 0.9)
    return found


def shortened(why: str, most: int = 90) -> str:
    """The beginning of a refusal, whole words."""
    return why if len(why) <= most else why[:most].rsplit(" ", 1)[0] + " ..."


def run(names: list[str], count: int, seed: int, seconds: float, residuals: Path | None) -> dict[str, Any]:
    """Ask the rivals and ourselves."""
    asked: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {}
    for name in names:
        rival = RIVALS[name]
        pick, put = KINDS[rival.rows]
        chosen = pick(min(count, rival.most_rows), seed)
        asked[name] = chosen, rivals.ask(rival, [put(row) for row in chosen], seconds)
    mine = ours({row["id"] for chosen, _ in asked.values() for row in chosen})
    table, errors = [], held_out(residuals)
    for name, (chosen, theirs) in asked.items():
        rival = RIVALS[name]
        reached = [row for row in chosen if row["id"] in theirs]
        reasons = Counter(shortened(one["why"]) for one in theirs.values() if not one["figures"])
        times = [one["cpu_s"] for one in theirs.values() if "cpu_s" in one]
        table.append(
            {
                "rival": name, "version": rival.version, "licence": rival.licence, "rows": rival.rows,
                "metrics": compared(rival, reached, theirs, mine, errors),
                "unanswered": [{"why": why, "count": many} for why, many in reasons.most_common(8)],
                "cpu_s_per_row": round(sum(times) / len(times), 3) if times else None,
            }
        )  # fmt: skip
    return {
        "cabida": __version__, "date": datetime.date.today().isoformat(), "python": platform.python_version(),
        "rows": count, "seed": seed, "table": table, "published": list(PUBLISHED),
    }  # fmt: skip


def in_order(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rivals in the order of ``RIVALS``."""
    return sorted(table, key=lambda one: list(RIVALS).index(one["rival"]))


def percent(value: float | None) -> str:
    """An error as a person reads it."""
    return "–" if value is None else f"{number(100 * value)} %"


def lines(result: dict[str, Any]) -> list[str]:
    """The table in words."""
    head = (
        f"{'rival':<22} {'metric':<17} {'asked':>5} {'answ.':>5} {'median':>8} {'p90':>8} | "
        f"{'ours':>8} {'p90':>8} {'answ.':>5}"
    )
    found = [head, "-" * len(head)]
    for one in result["table"]:
        found += [
            f"{one['rival'] + ' ' + one['version']:<22} {m['metric']:<17} {m['asked']:>5} {m['answered']:>5} "
            f"{percent(m['theirs_median']):>8} {percent(m['theirs_p90']):>8} | "
            f"{percent(m['ours_median']):>8} {percent(m['ours_p90']):>8} {m['ours_answered']:>5}"
            for m in one["metrics"]
        ]
    found += ["", "published by others, not run here:"]
    found += [f"  {one['who']}: {one['what']}: {one['figure']}" for one in result["published"]]
    return found


def main() -> None:
    """Measure, keep and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=300, help="rows at most for each rival")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", choices=list(RIVALS), default=list(RIVALS), metavar="NAME")
    parser.add_argument("--seconds", type=float, default=1e9, help="most time for asking one rival")
    parser.add_argument("--residuals", type=Path, help="of calibration/serving.py: ours with parts left out")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--results", type=Path, default=RESULTS)
    wanted = parser.parse_args()
    result = run(wanted.only, wanted.rows, wanted.seed, wanted.seconds, wanted.residuals)
    wanted.results.mkdir(parents=True, exist_ok=True)
    kept = wanted.results / "accuracy.json"
    before = json.loads(kept.read_text(encoding="utf-8"))["table"] if kept.exists() else []
    others = [one for one in before if one["rival"] not in wanted.only]
    whole = json.dumps(result | {"table": in_order([*result["table"], *others])}, separators=(",", ":"))
    kept.write_text(whole.replace('{"rival"', '\n{"rival"') + "\n", encoding="utf-8")
    for one in result["table"]:
        for metric in one["metrics"]:
            del metric["points"]
    print(json.dumps(result) if wanted.json else "\n".join(lines(result)))


if __name__ == "__main__":
    main()
