"""Fit the 90 % intervals of speed predictions to their residuals and write ``src/cabida/timing/data/spread.json``.

    python calibration/intervals.py [--residuals FILE.jsonl ...] [--newer FILE.jsonl] [--write] [--groups]

Residuals are log(measured / predicted) of what ``cabida validate`` predicts today. A file of held-out residuals
(``calibration/serving.py --residuals``: a line each of ``id, source, model, card, engine, metric, way, log_error``,
log_error = log(predicted / measured), way = "fitted" or what was left out; with ``kind`` and ``words`` of the regime
where the kind is not serving) adds, for each way of leaving out, the same residuals moved by what leaving out moved
them, under the word that says so (``card=unseen``, ``model=unseen``, ``engine=generic``).

``--newer`` is such a file of ``calibration/serving.py --leave version``: what predicting an engine's later versions
from its earlier ones widens the error by is what ``version=newer`` adds. With ``--newer`` alone that word is all that
is written anew.

A scale by words, conformal on whole (source, model) groups left out, weighed by group: ``scales.py``.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small products: threads only stand in each other's way
import argparse
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from cabida.timing import intervals
from cabida.timing.engine.coefficients import engine_key
from cabida.timing.intervals import CLOSED, LEADERS, RATES
from cabida.timing.spread import regime_of, version_number
from cabida.truth.case import read_cases
from cabida.truth.disaggregated_case import decode_worker, missing_of
from cabida.truth.names import Unanswerable
from cabida.truth.serving_case import served
from cabida.truth.unstated import left_unsaid
from cabida.truth.validate import answered
from scales import INSIDE, Sample, fit_figure, moved, weighed_quantile, weights_of

ROOT = Path(__file__).parent.parent
DATA = ROOT / "src/cabida/timing/data/spread.json"
CASES = ROOT / "cases/serving.jsonl"
ENOUGH = 25  # rows for a card or a model to be a word of its own
UNHELD = 1.15  # widening of a residual that no held-out fit speaks for
FIGURES = {  # metric of the cases -> figure, and whether more of it means quicker
    "tpot_ms": ("tpot_s", False), "tpot_ms_mean": ("tpot_s", False), "tpot_ms_p50": ("tpot_s", False),
    "itl_ms_mean": ("itl_s", False), "itl_ms_p50": ("itl_s", False), "decode_tok_s": ("tpot_s", True),
    "tpot_ms_p99": ("tpot_s_tail", False), "itl_ms_p95": ("itl_s_tail", False), "itl_ms_p99": ("itl_s_tail", False),
    "ttft_ms": ("ttft_s", False), "ttft_ms_mean": ("ttft_s", False), "ttft_ms_p50": ("ttft_s", False),
    "prefill_tok_s": ("ttft_s", True), "ttft_ms_p99": ("ttft_s_tail", False),
    "e2e_ms_mean": ("e2e_s", False), "e2e_ms_p50": ("e2e_s", False), "e2e_ms_p99": ("e2e_s_tail", False),
    "output_tok_s": ("output_tokens_per_s", False), "total_tok_s": ("output_tokens_per_s", False),
    "req_s": ("output_tokens_per_s", False), "input_tok_s": ("output_tokens_per_s", False),
}  # fmt: skip


FIRST = ("tpot_s", "ttft_s", "output_tokens_per_s")  # measured by many: intervals of their own
WIDEST = {
    "tpot_s": 3.99,
    "output_tokens_per_s": 3.99,
}  # a scale of one width for all holds 88 of 100 within 2


def serving_samples(path: Path) -> list[Sample]:
    """Today's residuals of the serving cases."""
    cases, problems = read_cases([path])
    assert not problems, problems
    found = []
    for answer in answered(cases, widest=math.inf)[0]:
        for one in answer.predictions:
            if one.metric not in FIGURES or one.predicted <= 0:
                continue
            figure, turned = FIGURES[one.metric]
            ratio = math.log(one.measured / one.predicted)
            found.append(
                Sample(
                    one.case.id, figure, words_of(one.case.row), -ratio if turned else ratio,
                    one.case.source, one.case.model, one.case.gpu, one.case.engine, one.case.row["mode"],
                )
            )  # fmt: skip
    return found


def words_of(row: dict[str, Any]) -> tuple[str, ...]:
    """The regime of a case as ``spread_of`` sees it, cards and models by name."""
    try:
        if row["mode"] == "disagg":
            (d, load), missing = decode_worker(row), missing_of(row)
        else:
            (d, load), missing = served(row), left_unsaid(row)
    except Unanswerable:
        return ()
    words = regime_of(d, load, missing)
    named = {"card": d.accelerator.id, "model": d.model.id}  # whatever the shipped file knows
    return tuple(
        f"{key}={named.get(key, value)}" for key, _, value in (word.partition("=") for word in words)
    )


def common(samples: Iterable[Sample], key: str) -> list[str]:
    """Cards or models with enough rows to be words of their own."""
    ids: dict[str, set[str]] = defaultdict(set)
    for one in samples:
        for word in one.words:
            if word.startswith(f"{key}="):
                ids[word.removeprefix(f"{key}=")].add(one.id)
    return sorted(
        (name for name, rows in ids.items() if len(rows) >= ENOUGH), key=lambda name: (-len(ids[name]), name)
    )


def known_words(samples: list[Sample], cards: list[str], models: list[str]) -> list[Sample]:
    """Samples with rare cards and models under ``unseen``."""
    kept = {"card": set(cards), "model": set(models)}

    def word(text: str) -> str:
        key, _, value = text.partition("=")
        return f"{key}=unseen" if key in kept and value not in kept[key] else text

    return [replace(one, words=tuple(map(word, one.words))) for one in samples]


WAYS = {"model": "model=unseen", "card": "card=unseen", "engine": "engine=generic", "source": ""}


def with_held_out(samples: list[Sample], files: list[Path]) -> list[Sample]:
    """Samples, and for each way of leaving out the same moved by what leaving out moved."""
    errors: dict[tuple[str, str, str], float] = {}
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row.get("kind", "serving") == "serving" and row["metric"] in FIGURES | ERROR_FIGURES:
                figure = ERROR_FIGURES.get(row["metric"]) or FIGURES[row["metric"]][0]
                errors[row["id"], figure, row["way"]] = -error_of(row)
    found = list(samples)
    for one in samples:
        base = errors.get((one.id, one.figure, "fitted"))
        for way, word in WAYS.items():
            held = errors.get((one.id, one.figure, way))
            if base is not None and held is not None and math.isfinite(base) and math.isfinite(held):
                found.append(
                    replace(one, words=moved(one.words, word), held=way, residual=one.residual + held - base)
                )
            elif not errors and word and way != "engine":
                found.append(
                    replace(one, words=moved(one.words, word), held=way, residual=UNHELD * one.residual)
                )
    return found


NEWER = "version=newer"


def newer_widths(samples: list[Sample], file: Path, tables: dict[str, Any]) -> dict[str, float]:
    """What ``version=newer`` adds to the log of a scale, by figure; a figure that no later version measured gets the
    most that another does.

    The 90th weighed percentile of errors in widths of today's interval, later versions left out of the fit, over the
    same of the same rows when all are in it.
    """
    fitted: dict[tuple[str, str], float] = {}
    held: dict[tuple[str, str], list[float]] = defaultdict(list)
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        key = row["id"], row["metric"]
        if row["way"] == "fitted":
            fitted[key] = -error_of(row)
        elif row["way"].startswith("version "):
            held[key].append(-error_of(row))
    found = {}
    for figure in FIRST:
        part = [one for one in samples if one.figure == figure and (one.id, figure) in held]
        moves = [[left - fitted[one.id, figure] for left in held[one.id, figure]] for one in part]
        before, after, weights = [], [], []
        for one, own, weight in zip(part, moves, weights_of(part) if part else (), strict=True):
            ends = tuple(map(math.log, ends_told(tables, one)))
            before += [_widths(one.residual, ends)] * len(own)
            after += [_widths(one.residual + move, ends) for move in own]
            weights += [weight / len(own)] * len(own)
        if len(part) >= ENOUGH:
            ratio = _ninety(after, weights) / _ninety(before, weights)
            found[figure] = round(max(0.0, math.log(ratio)), 3)
    return {figure: found.get(figure, max(found.values(), default=0.0)) for figure in FIRST}


def _widths(residual: float, ends: tuple[float, ...]) -> float:
    """How many of its interval's own widths a residual lies from the prediction, on its side."""
    return residual / ends[1] if residual > 0 else residual / ends[0]


def _ninety(values: list[float], weights: list[float]) -> float:
    return weighed_quantile(np.array(values), np.array(weights), INSIDE)


def with_newer(table: dict[str, Any], samples: list[Sample], file: Path) -> dict[str, Any]:
    """The table with what a version newer than any measured adds."""
    serving = table["kinds"]["serving"]
    for figure in FIRST:
        serving["metrics"][figure]["scale"].pop(NEWER, None)
    kept = known_words(samples, serving["cards"], serving["models"])
    for figure, added in newer_widths(kept, file, serving["metrics"]).items():
        print(f"{NEWER} {figure}: {math.exp(added):.2f} times as wide")
        serving["metrics"][figure]["scale"] = dict(
            sorted((serving["metrics"][figure]["scale"] | {NEWER: added}).items())
        )
    return table


def error_of(row: dict[str, Any]) -> float:
    """log(predicted / measured) of a line of residuals."""
    return float(row["log_error"] if "log_error" in row else row["error"])


ERROR_FIGURES = {"tpot_s": "tpot_s", "ttft_s": "ttft_s", "output_tokens_per_s": "output_tokens_per_s"}


def versions(path: Path) -> dict[str, list[int]]:
    """Latest version of each engine among the cases."""
    latest: dict[str, tuple[int, ...]] = {}
    for case in read_cases([path])[0]:
        number = version_number(str(case.row.get("engine_version") or ""))
        key = engine_key(case.engine)
        if number and number[0] < 100 and key != "generic":
            latest[key] = max(latest.get(key, ()), number)
    return {key: list(number) for key, number in sorted(latest.items())}


def other_kinds(files: list[Path]) -> dict[str, Any]:
    """Training and media: residuals that say their own words."""
    by_kind: dict[str, dict[str, list[Sample]]] = defaultdict(lambda: defaultdict(list))
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            kind = row.get("kind", "serving")
            if kind == "serving" or not math.isfinite(error_of(row)):
                continue
            words = tuple(row.get("words") or (f"engine={row['engine']}", f"card={row['card']}"))
            by_kind[kind][row["metric"]].append(
                Sample(
                    row["id"], row["metric"], words, -error_of(row), row["source"], row["model"],
                    row["card"], row["engine"], row.get("mode", kind), "" if row["way"] == "fitted" else row["way"],
                )
            )  # fmt: skip
    return {
        kind: {
            "metrics": {metric: fit_figure(part) for metric, part in metrics.items() if len(part) >= ENOUGH}
        }
        for kind, metrics in by_kind.items()
    }


def fitted(samples: list[Sample], files: list[Path]) -> dict[str, Any]:
    """All that ``spread.json`` holds."""
    cards, models = common(samples, "card"), common(samples, "model")
    stacked = known_words(with_held_out(samples, files), cards, models)
    metrics: dict[str, Any] = {}
    for figure in (*FIRST, *sorted({one.figure for one in stacked} - {*FIRST})):
        part = [
            one for one in stacked if one.figure == figure and not (figure in RATES and CLOSED in one.words)
        ]
        leader = metrics.get(LEADERS.get(figure, ""))
        metrics[figure] = fit_figure(part, leader, WIDEST.get(figure, 0.0))
    serving = {"cards": cards, "models": models, "engines": versions(CASES), "metrics": metrics}
    return {
        "what": "90 % intervals by regime, from residuals of cases/*.jsonl. Written by calibration/intervals.py.",
        "fitted": date.today().isoformat(),
        "held_out": sorted({one.held for one in stacked if one.held}) if files else [],
        "kinds": {"serving": serving, **other_kinds(files)},
    }


def ends_told(tables: dict[str, Any], one: Sample) -> tuple[float, float]:
    """The factors of a sample as predictions carry them."""
    if one.figure in RATES and CLOSED in one.words:
        quick, slow = intervals.factors_in(tables, "tpot_s", one.words)
        return 1 / slow, 1 / quick
    return intervals.factors_in(tables, one.figure, one.words)


def report(samples: list[Sample], table: dict[str, Any]) -> None:
    """Coverage and width by figure, and of every group of 100 rows."""
    facts = table["kinds"]["serving"]
    kept = known_words(samples, facts["cards"], facts["models"])
    ends = []
    for one in kept:
        ends.append(tuple(map(math.log, ends_told(facts["metrics"], one))))
    keys: dict[str, Callable[[Sample], str]] = {
        "figure": lambda s: s.figure, "source": lambda s: f"{s.figure} {s.source}",
        "engine": lambda s: f"{s.figure} {s.engine}", "gpu": lambda s: f"{s.figure} {s.card}",
        "model": lambda s: f"{s.figure} {s.model}", "mode": lambda s: f"{s.figure} {s.mode}",
    }  # fmt: skip
    for name, key in keys.items():
        groups: dict[str, list[int]] = defaultdict(list)
        for index, one in enumerate(kept):
            groups[key(one)].append(index)
        for group, members in sorted(groups.items()):
            told = [i for i in members if ends[i][1] - ends[i][0] <= math.log(4.0)]
            if len(told) < (1 if name == "figure" else 100):
                continue
            members, asked = told, len(members)
            inside = np.mean([ends[i][0] <= kept[i].residual <= ends[i][1] for i in members])
            width = math.exp(float(np.median([ends[i][1] - ends[i][0] for i in members])))
            odd = "" if 0.85 <= inside <= 0.95 else "  <<<"
            print(
                f"{name:7} {group:60} n={len(members):5} of {asked:5} inside={inside:.3f} width={width:.2f}{odd}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--residuals", type=Path, nargs="*", default=[])
    parser.add_argument("--newer", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--groups", action="store_true")
    wanted = parser.parse_args()
    samples = serving_samples(CASES)
    if wanted.newer and not wanted.residuals:
        table = json.loads(DATA.read_text(encoding="utf-8"))
    else:
        table = fitted(samples, wanted.residuals)
    if wanted.newer:
        table = with_newer(table, samples, wanted.newer)
    if wanted.groups:
        report(samples, table)
    if wanted.write:
        DATA.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
        intervals.residual_facts.cache_clear()


if __name__ == "__main__":
    main()
