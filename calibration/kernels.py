"""Fit the curves of single kernels to measured ones and write ``timing/data/kernels.json``.

    python calibration/kernels.py [--systems DIR]            # fit, hold cards out, write
    python calibration/kernels.py --check                    # fail when the shipped file isn't what this writes
    python calibration/kernels.py --only product,experts     # print errors, write nothing

One row of parameters per architecture (CUDA capability), kernel format and engine, by robust least squares on log
seconds, pulled towards a prior; ``any`` over the engines of an architecture, ``other`` over all architectures for those
nobody measured. Whole cards are held out: a card of the same architecture predicts it, else ``other`` without it.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from kernel_families import FAMILIES
from kernel_groups import Family, Group
from kernel_rows import CARDS, arguments, joined, systems_folder

FILE = "src/cabida/timing/data/kernels.json"
SHARPNESS = 0.15  # log errors beyond this count less than their square
PULL = 0.3  # weight of the prior, in rows' worth of log error
ROWS_FOR_POOL = 500  # of one card and engine, in what several share
SLOW_RATIO = 2.0  # this much slower at large sizes than the fastest: not what "any" engine is like
FALLBACK_RATIO = 2.5  # in a family with fallbacks: one that serving doesn't take, no curve of its own
OLDER_RATIO = 0.7  # of the error under today's curve: an older version so far off has one of its own
LIBRARIES = ("nccl",)  # not engines: no part in what "any" of them does


def fit(family: Family, groups: list[Group], most: int = 10_000) -> list[float]:
    """Parameters of one curve over the rows of all groups."""
    part = joined(
        [group.rows if len(group.rows["s"]) <= most else thin(group.rows, most) for group in groups]
    )
    seconds, weight = np.log(part["s"]), part["weight"]
    prior = np.array([np.log(one.centre) for one in family.knobs])
    floor = np.quantile(part["s"], 0.002)
    prior[0] = np.log(np.clip(floor, family.knobs[0].low * 1.01, family.knobs[0].high * 0.99))
    low = np.array([np.log(one.low) for one in family.knobs])
    high = np.array([np.log(one.high) for one in family.knobs])
    pull = PULL * np.array([one.pull for one in family.knobs])

    def residuals(logs: np.ndarray) -> np.ndarray:
        error = np.log(family.seconds(np.exp(logs), part)) - seconds
        return np.concatenate([weight * error, pull * (logs - prior)])

    found = least_squares(
        residuals, prior, bounds=(low, high), loss="soft_l1", f_scale=SHARPNESS, max_nfev=40, x_scale=1.0
    )
    return [float(f"{value:.4g}") for value in np.exp(found.x)]


def thin(rows: dict[str, np.ndarray], most: int) -> dict[str, np.ndarray]:
    picked = np.linspace(0, len(rows["s"]) - 1, most).astype(int)
    return {name: column[picked] for name, column in rows.items()}


def errors(family: Family, curve: list[float], group: Group) -> np.ndarray:
    predicted = family.seconds(np.array(curve), group.rows)
    return np.log(predicted / group.rows["s"])[group.rows["weight"] >= 1]


def told(error: np.ndarray) -> dict[str, float]:
    size = np.abs(error)
    return {
        "n": len(size),
        "median": round(float(np.expm1(np.median(size))), 3),
        "p90": round(float(np.expm1(np.quantile(size, 0.9))), 3),
    }


def slowness(family: Family, groups: list[Group]) -> dict[int, float]:
    """How much slower each group is than the fastest of one architecture and format, over its largest quarter."""
    if len(groups) < 2:
        return {id(group): 1.0 for group in groups}
    pooled = fit(family, groups, ROWS_FOR_POOL)
    bias = {}
    for group in groups:
        error = np.log(family.seconds(np.array(pooled), group.rows) / group.rows["s"])
        large = group.rows["s"] >= np.quantile(group.rows["s"], 0.75)
        bias[id(group)] = float(np.median(-error[large]))
    fastest = min(bias.values())
    return {key: float(np.exp(value - fastest)) for key, value in bias.items()}


def covers(own: list[Group], pool: list[Group]) -> bool:
    """Whether an engine was measured over as many cards at once as the pool."""
    if "count" not in own[0].rows:
        return True
    widest = [max(g.rows["count"][g.rows["weight"] > 0].max() for g in some) for some in (own, pool)]
    return bool(widest[0] >= widest[1])


def fit_family(family: Family, groups: list[Group]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Curves by architecture, format and engine, and the errors of held-out cards."""
    curves: dict[str, Any] = {}
    kept: list[Group] = []
    for fmt in sorted({group.fmt for group in groups}):
        of_format = [group for group in groups if group.fmt == fmt]
        kept_of_format: list[Group] = []
        for architecture in sorted({group.architecture for group in of_format}):
            here = [group for group in of_format if group.architecture == architecture]
            today = [group for group in here if " " not in group.engine]
            slow = slowness(family, today)
            good = [
                group for group in today if slow[id(group)] < SLOW_RATIO and group.engine not in LIBRARIES
            ]
            kept_of_format += good
            table = curves.setdefault(architecture, {}).setdefault(fmt, {})
            table["any"] = fit(family, good, ROWS_FOR_POOL)
            for engine in sorted({group.engine for group in here}):
                own = [group for group in here if group.engine == engine]
                curve = fit(family, own)
                shared = np.concatenate([errors(family, table["any"], group) for group in own])
                alone = np.concatenate([errors(family, curve, group) for group in own])
                print(
                    f"  {family.name:10} {architecture:5} {fmt:10} {engine:13} {told(alone)} any {told(shared)}"
                )
                if " " in engine:  # an older version: where it differs from today's
                    name = engine.split()[0]
                    then = np.concatenate([errors(family, table.get(name, table["any"]), one) for one in own])
                    if np.median(np.abs(alone)) < OLDER_RATIO * np.median(np.abs(then)):
                        table[engine] = curve
                    continue
                if not covers(own, good):
                    continue
                better = np.median(np.abs(alone)) < 0.9 * np.median(np.abs(shared))
                taken = not family.fallbacks or min(slow[id(group)] for group in own) < FALLBACK_RATIO
                if better and taken:
                    table[engine] = curve
        curves.setdefault("other", {}).setdefault(fmt, {})["any"] = fit(family, kept_of_format, ROWS_FOR_POOL)
        kept += kept_of_format
    return curves, held_out(family, kept)


def held_out(family: Family, groups: list[Group]) -> dict[str, Any]:
    """Errors of each card under curves that never saw it."""
    found: dict[str, Any] = {}
    for card in CARDS:
        error: list[np.ndarray] = []
        basis = set()
        for fmt in sorted({group.fmt for group in groups if group.card == card}):
            own = [group for group in groups if group.card == card and group.fmt == fmt]
            rest = [group for group in groups if group.card != card and group.fmt == fmt]
            like = [group for group in rest if group.architecture == own[0].architecture]
            if not rest:
                continue
            basis.add("same architecture" if like else "other architectures")
            curve = fit(family, like or rest, ROWS_FOR_POOL // 2)
            error += [errors(family, curve, group) for group in own]
        if error:
            found[CARDS[card]] = told(np.concatenate(error)) | {"from": " and ".join(sorted(basis))}
            print(f"  {family.name:10} held out {CARDS[card]:18} {found[CARDS[card]]}")
    return found


def main() -> None:
    given = arguments(__doc__ or "")
    systems = systems_folder(given.systems)
    chosen = given.only.split(",") if given.only else list(FAMILIES)
    out: dict[str, Any] = {
        "what": "curves of single kernels by architecture, format and engine: see timing/devices/kernel_curves.py",
        "source": "measured kernels of aiconfigurator-core 0.12.0 (PyPI, NVIDIA, Apache-2.0), systems/data",
        "seen": "2026-11-30",
        "fields": {},
        "curves": {},
        "held_out": {},
    }
    for name in chosen:
        family = FAMILIES[name]
        out["fields"][name] = [knob.name for knob in family.knobs]
        out["curves"][name], out["held_out"][name] = fit_family(family, family.groups(systems))
    if given.only:
        return
    text = written(out)
    if given.check:
        with open(FILE, encoding="utf-8") as shipped:  # noqa: PTH123
            sys.exit(0 if shipped.read() == text else f"{FILE} is not what this script writes")
    with open(FILE, "w", encoding="utf-8") as shipped:  # noqa: PTH123
        shipped.write(text)


def written(out: dict[str, Any]) -> str:
    """One curve a line."""
    import re

    text = json.dumps(out, indent=1)
    return re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda m: "[" + re.sub(r",\s+", ", ", m[1]) + "]", text) + "\n"


if __name__ == "__main__":
    main()
