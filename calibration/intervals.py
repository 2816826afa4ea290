"""Fit the 90 % intervals of speed predictions to their residuals and write ``src/cabida/timing/data/spread.json``.

    python calibration/intervals.py [--residuals FILE.jsonl ...] [--write] [--groups]

Residuals are log(measured / predicted) of what ``cabida validate`` predicts today. A file of held-out residuals
(``calibration/serving.py --residuals``: a line each of ``id, source, model, card, engine, metric, way, log_error``,
log_error = log(predicted / measured), way = "fitted" or what was left out; with ``kind`` and the ``words`` of the regime
where the kind is not serving) adds, for each way of leaving out, the same residuals moved by what leaving out moved
them, under the word that says so (``card=unseen``, ``model=unseen``, ``engine=generic``).

Quantile regression on words, conformal on whole (source, model) groups left out, weighed by group.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from cabida.timing import intervals
from cabida.timing.spread import regime_of, version_number
from cabida.truth.case import read_cases
from cabida.truth.disaggregated_case import decode_worker
from cabida.truth.names import Unanswerable
from cabida.truth.serving_case import served
from cabida.truth.unstated import left_unsaid
from cabida.truth.validate import answered

ROOT = Path(__file__).parent.parent
DATA = ROOT / "src/cabida/timing/data/spread.json"
CASES = ROOT / "cases/serving.jsonl"
TAU = 0.05  # missed on either side
FOLDS = 6
ENOUGH = 25  # rows for a card or a model to be a word of its own
RIDGE = 0.7  # how firmly a word is held at changing nothing
SMOOTH = 0.02  # the pinball loss is rounded off over this much
CROWD = 0.3  # a group of n rows counts as n ** (1 - CROWD)
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


TOLD = ("tpot_s", "output_tokens_per_s")  # told at the widest an answer may be where their interval is wider


@dataclass(frozen=True)
class Sample:
    """One residual: log(measured / predicted) of a figure, the words of its setup, and what it belongs to."""

    id: str
    figure: str
    words: tuple[str, ...]
    residual: float
    source: str
    model: str
    card: str
    engine: str
    mode: str
    held: str = ""  # what was left out of the fit that predicted it; "" = nothing


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
            (d, load), missing = decode_worker(row), worker_words(row)
        else:
            (d, load), missing = served(row), left_unsaid(row)
    except Unanswerable:
        return ()
    words = regime_of(d, load, missing)
    named = {"card": d.accelerator.id, "model": d.model.id}
    return tuple(
        f"{key}={named.get(key, value)}" for key, _, value in (word.partition("=") for word in words)
    )


def worker_words(row: dict[str, Any]) -> tuple[str, ...]:
    from cabida.truth.disaggregated_case import missing_of

    return missing_of(row)


def common(samples: Iterable[Sample], key: str) -> list[str]:
    """Cards or models with enough rows to be words of their own."""
    ids: dict[str, set[str]] = defaultdict(set)
    for one in samples:
        for word in one.words:
            if word.startswith(f"{key}="):
                ids[word.removeprefix(f"{key}=")].add(one.id)
    return sorted(name for name, rows in ids.items() if len(rows) >= ENOUGH)


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


def error_of(row: dict[str, Any]) -> float:
    """log(predicted / measured) of a line of residuals."""
    return float(row["log_error"] if "log_error" in row else row["error"])


ERROR_FIGURES = {"tpot_s": "tpot_s", "ttft_s": "ttft_s", "output_tokens_per_s": "output_tokens_per_s"}


def moved(words: tuple[str, ...], to: str) -> tuple[str, ...]:
    key = to.partition("=")[0]
    return tuple(to if key and word.startswith(f"{key}=") else word for word in words)


def weights_of(samples: list[Sample]) -> np.ndarray:
    """Each (source, model, card) counts by a root of its rows, and what was left out as much as what was not."""
    sizes = Counter((one.source, one.model, one.card, one.held) for one in samples)
    found = np.array([sizes[one.source, one.model, one.card, one.held] ** -CROWD for one in samples])
    seen = np.array([not one.held for one in samples])
    if (~seen).any():
        found[~seen] *= found[seen].sum() / found[~seen].sum()
    return found * len(found) / found.sum()


def quantile_fit(samples: list[Sample], weights: np.ndarray, tau: float, names: list[str]) -> np.ndarray:
    """Weights of the words for one quantile of the residuals."""
    place = {name: index for index, name in enumerate(names)}
    rows, columns = [], []
    for index, one in enumerate(samples):
        rows.append(index)
        columns.append(0)
        for word in one.words:
            if word in place:
                rows.append(index)
                columns.append(place[word])
    from scipy.sparse import csr_matrix

    x = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(samples), len(names)))
    y = np.array([one.residual for one in samples])
    ridge = np.full(len(names), RIDGE)
    ridge[0] = 0.0
    start = np.zeros(len(names))
    start[0] = np.quantile(y, tau)

    def loss(beta: np.ndarray) -> tuple[float, np.ndarray]:
        u = (y - x @ beta) / SMOOTH
        value = tau * u + np.logaddexp(0.0, -u)
        slope = tau - 1.0 / (1.0 + np.exp(np.clip(u, -500, 500)))
        total = SMOOTH * float(weights @ value) + 0.5 * float(ridge @ beta**2)
        return total, -(x.T @ (weights * slope)) + ridge * beta

    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x


def bounds(samples: list[Sample], names: list[str], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """(lower, upper) logarithms of each sample's interval."""
    place = {name: index for index, name in enumerate(names)}
    index = [[0, *(place[word] for word in one.words if word in place)] for one in samples]
    return np.array([[low[i].sum(), high[i].sum()] for i in index])


def words_in(samples: list[Sample], least: int) -> list[str]:
    counts = Counter(word for one in samples for word in one.words)
    return ["", *sorted(word for word, n in counts.items() if n >= least)]


def fit_figure(samples: list[Sample]) -> dict[str, Any]:
    """Words and weights of one figure, conformal on whole groups left out."""
    weights = weights_of(samples)
    names = words_in(samples, max(8, len(samples) // 200))
    groups = sorted({(one.source, one.model) for one in samples})
    fold = {group: index % FOLDS for index, group in enumerate(groups)}
    short_low, short_high, inside_weights = [], [], []
    for part in range(FOLDS if len(groups) >= FOLDS else 0):
        inside = np.array([fold[one.source, one.model] == part for one in samples])
        train = [one for one, held in zip(samples, inside, strict=True) if not held]
        test = [one for one, held in zip(samples, inside, strict=True) if held]
        if not train or not test:
            continue
        low, high = (quantile_fit(train, weights[~inside], tau, names) for tau in (TAU, 1 - TAU))
        ends = bounds(
            [replace(one, words=moved(one.words, "model=unseen")) for one in test], names, low, high
        )
        y = np.array([one.residual for one in test])
        short_low += list(ends[:, 0] - y)
        short_high += list(y - ends[:, 1])
        inside_weights += list(weights[inside])
    low, high = (quantile_fit(samples, weights, tau, names) for tau in (TAU, 1 - TAU))
    wider = [
        weighed_quantile(np.array(short), np.array(inside_weights), 1 - TAU) if short else 0.0
        for short in (short_low, short_high)
    ]
    tables = []
    for values, sign, more in ((low, -1, wider[0]), (high, 1, wider[1])):
        table = {name: round(float(v), 3) for name, v in zip(names, values, strict=True) if abs(v) >= 0.005}
        table["model=unseen"] = round(table.get("model=unseen", 0.0) + sign * max(0.0, HONEST * more), 3)
        tables.append({name: v for name, v in table.items() if v})
    return {
        "low": tables[0],
        "high": tables[1],
        "rows": len({one.id for one in samples}),
        "sources": len({one.source for one in samples}),
        "own": parts_of(samples),
    }


def parts_of(samples: list[Sample]) -> dict[str, float]:
    """Variances of what residuals have in common by engine, card and model, and of the rest (``timing/own.py``).

    Moments of pairs: the mean product of two residuals that share just those words, less what coarser parts explain.
    """
    held = [one for one in samples if one.held == "model"] or [one for one in samples if not one.held]
    keyed = [(word_of(one, "engine"), one.card, one.model) for one in held]
    values = np.clip([one.residual for one in held], -1.2, 1.2)
    values = values - np.median(values)
    places: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for index, key in enumerate(keyed):
        places[key].append(index)
    means = {key: (float(values[part].mean()), len(part)) for key, part in places.items()}
    whole = float(np.mean([(values[part] ** 2).mean() for part in places.values()]))

    def common(engine: bool, card: bool, model: bool) -> float:
        found = []
        keys = list(means)
        for i, one in enumerate(keys):
            for other in keys[i + 1 :]:
                same = tuple(a == b for a, b in zip(one, other, strict=True))
                if same == (engine, card, model):
                    found.append(means[one][0] * means[other][0])
        return float(np.mean(found)) if len(found) >= 3 else 0.0

    alone = max(0.0, common(True, False, False))
    card = max(0.0, common(True, True, False) - alone)
    model = max(0.0, common(True, False, True) - alone)
    several = [values[part] for part in places.values() if len(part) > 1]
    within = float(np.mean([part.var(ddof=1) for part in several])) if several else whole
    setup = max(0.0, whole - within - alone - card - model)
    parts = {
        "engine": alone,
        "engine card": card,
        "engine model": model,
        "engine card model": setup,
        "rest": within,
    }
    return {name: round(max(value, 1e-5), 5) for name, value in parts.items()}


def word_of(one: Sample, key: str) -> str:
    return next((word.partition("=")[2] for word in one.words if word.startswith(f"{key}=")), "")


HONEST = 0.5  # how much of what whole groups left out were missed by is added for a model nobody has measured


def weighed_quantile(values: np.ndarray, weights: np.ndarray, share: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][min(int(np.searchsorted(reached, share)), len(values) - 1)])


def versions(samples: Iterable[Sample], path: Path) -> dict[str, list[int]]:
    """Latest version of each engine among the cases."""
    del samples
    latest: dict[str, tuple[int, ...]] = {}
    for case in read_cases([path])[0]:
        from cabida.timing.coefficients import engine_key

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
    figures = sorted({one.figure for one in stacked})
    metrics = {figure: fit_figure([one for one in stacked if one.figure == figure]) for figure in figures}
    for figure in TOLD:
        metrics[figure]["told"] = True
    serving = {"cards": cards, "models": models, "engines": versions(samples, CASES), "metrics": metrics}
    return {
        "what": "90 % intervals by regime, from residuals of cases/*.jsonl. Written by calibration/intervals.py.",
        "fitted": date.today().isoformat(),
        "held_out": sorted({one.held for one in stacked if one.held}) if files else [],
        "kinds": {"serving": serving, **other_kinds(files)},
    }


def report(samples: list[Sample], table: dict[str, Any]) -> None:
    """Coverage and width by figure, and of every group of 100 rows."""
    facts = table["kinds"]["serving"]
    kept = known_words(samples, facts["cards"], facts["models"])
    ends = []
    for one in kept:
        t = facts["metrics"][one.figure]
        ends.append(tuple(map(math.log, intervals.factors_in(t, one.words))))
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
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--groups", action="store_true")
    wanted = parser.parse_args()
    samples = serving_samples(CASES)
    table = fitted(samples, wanted.residuals)
    if wanted.groups:
        report(samples, table)
    if wanted.write:
        DATA.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
        intervals.residual_facts.cache_clear()


if __name__ == "__main__":
    main()
