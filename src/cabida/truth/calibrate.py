"""Learning from the user's own observations: ``cabida calibrate``.

Each observation of a serving run leaves a residual beside the prediction as shipped; ``timing/own.py`` works out of
them what to correct. Here they are gathered, looked over for slips, tried on data left out, written and undone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median
from typing import Any

from cabida.errors import InvalidInput, Problem
from cabida.files import write_text
from cabida.plan import Deployment, Progress
from cabida.text import number, problem, tr
from cabida.timing.own import (
    FIRST,
    FORMAT,
    STEP,
    Residual,
    coefficients_digest,
    corrected_by,
    corrected_from,
    digest_of,
    own_path,
    plain,
    setup_of,
    sums_of,
    without_own,
)
from cabida.truth.case import Case, case_of, read_cases
from cabida.truth.learnable import impossible, odd_values, refused_figures, unlearnable
from cabida.truth.names import Unanswerable
from cabida.truth.predict import Prediction, answer
from cabida.truth.serving_case import served

SPEEDS = {  # figure of a case -> what of a prediction it speaks of, and whether more of it means quicker
    "tpot_ms": (STEP, False), "tpot_ms_mean": (STEP, False), "tpot_ms_p50": (STEP, False),
    "itl_ms_mean": (STEP, False), "decode_tok_s": (STEP, True), "output_tok_s": (STEP, True),
    "total_tok_s": (STEP, True), "req_s": (STEP, True),
    "ttft_ms": (FIRST, False), "ttft_ms_mean": (FIRST, False), "ttft_ms_p50": (FIRST, False),
}  # fmt: skip
ABSURD_RATIO = 20.0  # no public measurement that was what it said is further off
FAR_RATIO = 4.0  # nine in ten public runs are nearer
THOUSAND = (250.0, 4000.0)  # off by so much, a unit was mistaken: seconds for milliseconds
CONTRADICTED_RATIO = 2.5  # throughput and time per token of one run differ by less, whatever is counted


@dataclass(frozen=True)
class Learned:
    """One observation: its case, its residual, and what was measured and predicted."""

    case: Case
    residual: Residual
    figures: tuple[Prediction, ...]
    deployment: Deployment


def calibrate(
    files: Sequence[Path | str] = (),
    store: Path | str | None = None,
    *,
    keep: bool = True,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Learn from observations: those of case files, or without any those of the store; earlier ones stay.

    Args:
        files: case files (JSONL).
        store: the evidence store, read when no file is given or when it is named.
        keep: whether the calibration is written.
        progress: told what is being done.

    Returns:
        ``file, kept, digest, added, observations, corrections, before, after, skipped, warnings``: what each setup is
        corrected by, and by how much predictions are off without and with it, each predicted from the others.

    Raises:
        InvalidInput: CB-V001 to CB-V005 of malformed rows, CB-V010 to CB-V012 of figures that can't be right,
            CB-V013 the calibration can't be read, CB-V014 nothing to learn from, CB-V016 an empty file, CB-V017 quicker
            than the hardware allows.
    """
    cases = _cases(files, store)
    if odd := [one for case in cases if case.kind == "serving" and case.line for one in odd_values(case)]:
        raise InvalidInput(odd)
    held = read_runs()
    fresh = held["coefficients"] == coefficients_digest()
    if not fresh:  # residuals of other coefficients: worked out anew from what was observed
        cases = [*_kept_cases(held), *cases]
    learned, skipped = _learn(cases, progress)
    learned, told = _without_faults(learned)
    skipped += told
    before = residuals_of(held) if fresh else ()
    known = {one.residual.id for one in learned}
    every = (*(one for one in before if one.id not in known), *(one.residual for one in learned))
    if not learned and not before:
        raise InvalidInput(
            [problem("CB-V014", reason=skipped[0]["why"] if skipped else tr("truth.why.no_figure"))]
        )
    if keep and learned:
        _write(held, learned, [str(file) for file in files] or [str(store or "store")], fresh=fresh)
    return {
        "file": str(own_path()),
        "kept": bool(keep and learned),
        "digest": digest_of(every),
        "added": len(learned),
        "observations": [_told(one) for one in learned],
        "corrections": corrections(every),
        **tried(every),
        "skipped": skipped,
        "warnings": far_off(learned),
    }


def _cases(files: Sequence[Path | str], store: Path | str | None) -> list[Case]:
    cases, problems = read_cases(files)
    if problems:
        raise InvalidInput(problems)
    if files and store is None:
        return cases
    from cabida.truth.observed import stored_cases

    return [*stored_cases(store), *cases]


def _kept_cases(held: dict[str, Any]) -> list[Case]:
    rows = {one["id"]: one["row"] for run in held["runs"] for one in run["observations"]}
    made = [case_of(row, str(own_path())) for row in rows.values()]
    return [one for one in made if isinstance(one, Case)]


def _without_faults(learned: list[Learned]) -> tuple[list[Learned], list[dict[str, str]]]:
    """Those whose figures can be right; of a run in the store the fault is told, as it can't be mended there.

    Raises:
        InvalidInput: CB-V010 to CB-V012, CB-V017, of rows of a file.
    """
    found = [(each, faults_of(each)) for each in learned]
    if odd := [one for each, faults in found if each.case.line for one in faults]:
        raise InvalidInput(odd)
    skipped = [
        {"id": each.case.id, "why": f"{faults[0].what} [{faults[0].code}]"}
        for each, faults in found
        if faults
    ]
    return [each for each, faults in found if not faults], skipped


def _learn(cases: list[Case], progress: Progress | None) -> tuple[list[Learned], list[dict[str, str]]]:
    found: dict[str, Learned] = {}
    skipped: list[dict[str, str]] = []
    with without_own():
        for done, case in enumerate(cases, 1):
            try:
                found[case.id] = learn(case)
            except Unanswerable as reason:
                skipped.append({"id": case.id, "why": str(reason)})
            if progress is not None:
                progress("calibrate", done, len(cases))
    return list(found.values()), skipped


def _is_speed(one: Any) -> bool:
    """Whether a figure speaks of speed, and has a ratio to what was predicted."""
    return one.metric in SPEEDS and one.predicted > 0 and 0 < one.measured / one.predicted < math.inf


def learn(case: Case) -> Learned:
    """What one observation says of its prediction as shipped.

    Raises:
        Unanswerable: it is no serving run, or has no figure that speaks of speed.
    """
    if case.kind != "serving" or case.row.get("mode") == "disagg":
        why = tr("truth.why.not_calibrated")
        raise Unanswerable(why)
    if why := unlearnable(case):
        raise Unanswerable(why)
    figures = tuple(one for one in answer(case, math.inf).predictions if _is_speed(one))
    if not figures:
        why = refused_figures(case) or tr("truth.why.no_speed")
        raise Unanswerable(why)
    logs: dict[str, list[float]] = {}
    for one in figures:
        what, turned = SPEEDS[one.metric]
        value = math.log(one.measured / one.predicted)
        logs.setdefault(what, []).append(-value if turned else value)
    means = {what: fmean(values) for what, values in logs.items()}
    if FIRST in means and STEP in means:  # a slower step is already a later first token
        means[FIRST] -= means[STEP]
    d, _ = served(case.row)
    return Learned(
        case,
        Residual(case.id, setup_of(d), tuple((what, round(means[what], 6)) for what in sorted(means))),
        figures,
        d,
    )


def faults_of(one: Learned) -> list[Problem]:
    """Figures that can't be what they say: a unit mistaken, another metric, or two that contradict each other."""
    found = []
    place: dict[str, Any] = {"file": one.case.file, "line": one.case.line}
    for each in one.figures:
        off = math.exp(abs(math.log(each.measured / each.predicted)))
        told: dict[str, Any] = {
            "metric": each.metric, "measured": number(each.measured, 4), "predicted": number(each.predicted, 4),
            "times": number(off, 2), "low": number(each.predicted / ABSURD_RATIO, 2),
            "high": number(each.predicted * ABSURD_RATIO, 2),
        }  # fmt: skip
        if THOUSAND[0] <= off <= THOUSAND[1]:
            found.append(problem("CB-V010", **place, **told))
        elif off > ABSURD_RATIO:
            found.append(problem("CB-V011", **place, **told))
    return found or _contradictions(one, place) or impossible(one.case, one.deployment)


def far_off(learned: Sequence[Learned]) -> list[str]:
    """Figures so far from their prediction that they had better be looked at again, by file and line, or by id."""
    found = []
    for one in learned:
        for each in one.figures:
            off = math.exp(abs(math.log(each.measured / each.predicted)))
            if off > FAR_RATIO:
                where = f"{one.case.file}:{one.case.line}" if one.case.line else one.case.id
                told = {"metric": each.metric, "measured": number(each.measured, 4), "times": number(off, 2)}
                found.append(
                    tr("truth.calibrate.far", where=where, predicted=number(each.predicted, 4), **told)
                )
    return found


def _contradictions(one: Learned, place: dict[str, Any]) -> list[Problem]:
    """Throughput that the time per token of the same clients rules out."""
    row, measured = one.case.row, one.case.measured
    clients = row["load"].get("concurrency")
    tpot = next(
        (measured[name] for name in ("tpot_ms", "tpot_ms_mean", "tpot_ms_p50") if name in measured), None
    )
    rate = measured.get("output_tok_s")
    if not isinstance(clients, int | float) or not tpot or not rate:
        return []
    most = 1e3 * clients / tpot
    if rate <= CONTRADICTED_RATIO * most:
        return []
    told: dict[str, Any] = {
        "measured": number(rate, 4),
        "most": number(most, 4),
        "clients": number(clients, 6),
    }
    return [problem("CB-V012", **place, **told)]


def tried(residuals: Sequence[Residual]) -> dict[str, Any]:
    """Median errors without and with the calibration, each observation predicted from the others."""
    found: dict[str, Any] = {"before": {}, "after": {}}
    if len(residuals) < 2:
        return found
    for what in (STEP, FIRST):
        plain_errors, left = [], []
        sums = sums_of(residuals, what)
        for one in residuals:
            value = dict(one.values).get(what)
            if value is None:
                continue
            count, total = sums[one.setup]
            others = sums | {one.setup: (count - 1, total - value)}
            if count == 1:
                del others[one.setup]
            ratio = corrected_from(others, one.setup, what).ratio
            plain_errors.append(math.exp(abs(value)) - 1)
            left.append(math.exp(abs(value - math.log(ratio))) - 1)
        if len(left) > 1:
            found["before"][what] = median(plain_errors)
            found["after"][what] = median(left)
    return found


def corrections(residuals: Sequence[Residual]) -> list[dict[str, Any]]:
    """What each observed setup is corrected by."""
    setups = sorted({one.setup for one in residuals}, key=lambda one: (one.engine, one.card, one.model))
    every = tuple(residuals)
    return [
        {
            "engine": setup.engine, "gpu": setup.card, "model": setup.model,
            "observations": sum(one.setup == setup for one in residuals),
            **{what: corrected_by(every, setup, what).ratio for what in (STEP, FIRST)},
        }
        for setup in setups
    ]  # fmt: skip


def _told(one: Learned) -> dict[str, Any]:
    figures = {each.metric: {"measured": each.measured, "predicted": each.predicted} for each in one.figures}
    setup = one.residual.setup
    return {
        "id": one.case.id,
        "engine": setup.engine,
        "gpu": setup.card,
        "model": setup.model,
        "figures": figures,
    }


def read_runs() -> dict[str, Any]:
    """The calibration file, or an empty one.

    Raises:
        InvalidInput: CB-V013.
    """
    path = own_path()
    if not path.is_file():
        return {"format": FORMAT, "coefficients": coefficients_digest(), "runs": [], "undone": []}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        residuals_of(found)
        runs = [_run(one) for one in [*found["runs"], *found.get("undone", [])]]
        sound = (
            found["format"] == FORMAT and isinstance(found["coefficients"], str) and all(map(_is_told, runs))
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        sound = False
    if not sound:
        raise InvalidInput([problem("CB-V013", file=str(path))])
    return dict(found)


def residuals_of(held: dict[str, Any]) -> tuple[Residual, ...]:
    """The residuals of a calibration file, the last word on each observation."""
    from cabida.timing.own import of_file

    return of_file(held)


def _write(held: dict[str, Any], learned: list[Learned], files: list[str], *, fresh: bool) -> None:
    made = [
        {**row, "row": one.case.row}
        for row, one in zip(plain([one.residual for one in learned]), learned, strict=True)
    ]
    runs = held["runs"] if fresh else _worked_out_anew(held, {one["id"]: one for one in made})
    kept = {row["id"] for run in runs for row in run["observations"]}
    new = made if fresh else [row for row in made if row["id"] not in kept]
    if new:
        runs = [*runs, {"at": _now(), "files": files, "observations": new}]
    _save({**held, "coefficients": coefficients_digest(), "runs": runs})


def _worked_out_anew(held: dict[str, Any], made: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**run, "observations": [made[one["id"]] for one in run["observations"] if one["id"] in made]}
        for run in held["runs"]
    ]


def _save(held: dict[str, Any]) -> None:
    write_text(own_path(), json.dumps(held, indent=1, ensure_ascii=False) + "\n")


def undo() -> dict[str, Any]:
    """Take the last run back; it stays in the file's journal as undone.

    Raises:
        InvalidInput: CB-V013, CB-V015 there is none.
    """
    held = read_runs()
    if not held["runs"]:
        raise InvalidInput([problem("CB-V015", file=str(own_path()))])
    last = held["runs"][-1]
    _save(
        {**held, "runs": held["runs"][:-1], "undone": [*held.get("undone", []), {"undone": _now(), **last}]}
    )
    return listed()


def listed() -> dict[str, Any]:
    """The runs in force and those undone, the corrections, and whether they are of today's coefficients."""
    held = read_runs()
    residuals = residuals_of(held)
    return {
        "file": str(own_path()),
        "digest": digest_of(residuals),
        "current": held["coefficients"] == coefficients_digest(),
        "runs": [_run(one) for one in held["runs"]],
        "undone": [_run(one) for one in held.get("undone", [])],
        "corrections": corrections(residuals),
    }


def _run(one: dict[str, Any]) -> dict[str, Any]:
    return {
        "at": one["at"],
        "files": one["files"],
        "observations": [row["id"] for row in one["observations"]],
    }


def _is_told(run: dict[str, Any]) -> bool:
    """Whether a run says when it was and of which files."""
    texts = (run["at"], *run["files"], *run["observations"])
    return isinstance(run["files"], list) and all(isinstance(one, str) for one in texts)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
