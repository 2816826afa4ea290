"""Measured kernels of the PyPI package ``aiconfigurator-core`` (NVIDIA, Apache-2.0) as plain columns.

    pip install --group calibration      # brings the package and pyarrow

Only its kernel tables are read, ``systems/data/CARD/OP/ENGINE/VERSION/*_perf.parquet``; its end-to-end samples are
what predictions are judged by, and stay unread. Latencies there are milliseconds.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

CARDS = {
    "a100_sxm": "a100-sxm-80",
    "l40s": "l40s",
    "h100_sxm": "h100-sxm-80",
    "h200_sxm": "h200-sxm-141",
    "b200_sxm": "b200-sxm-180",
    "b300_sxm": "b300-sxm-288",
    "gb200": "gb200",
    "gb300": "gb300",
    "rtx_pro_6000_server": "rtxpro6000-server",
    "b60": "arc-pro-b60-24",
}
ENGINES = {"trtllm": "tensorrt-llm"}

# type in the tables -> kernel format, bits per weight, bits per input, rate that multiplies
FORMATS: dict[str, tuple[str, float, float, str]] = {
    "bfloat16": ("bf16", 16, 16, "bf16"),
    "fp8": ("fp8", 8, 8, "fp8"),
    "fp8_block": ("fp8-block", 8.00195, 8, "fp8"),
    "sq": ("int8", 8, 8, "int8"),
    "int8_wo": ("w8", 8, 16, "bf16"),
    "int4_wo": ("w4", 4.15625, 16, "bf16"),
    "nvfp4": ("fp4", 4.5, 4.5, "fp4"),
    "w4a16_mxfp4": ("mxfp4", 4.25, 16, "bf16"),
    "w4a8_mxfp4_mxfp8": ("mxfp4-fp8", 4.25, 8.25, "fp8"),
}
Columns = dict[str, np.ndarray]
ROWS_LEAST = 100  # of one type: fewer are a special case, not a kernel's curve


def systems_folder(argument: str | None) -> Path:
    """``--systems``, or the installed package's folder; neither is a usage error."""
    if argument:
        return Path(argument)
    try:
        import aiconfigurator_core
    except ImportError:
        message = (
            "no aiconfigurator_core here: install the dependency group calibration, or give --systems DIR"
        )
        raise SystemExit(message) from None
    return Path(aiconfigurator_core.__file__).parent / "systems"


def arguments(what: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--systems", help="folder systems/ of the package, where it isn't installed")
    parser.add_argument(
        "--check", action="store_true", help="fail when the shipped file isn't what this writes"
    )
    parser.add_argument("--only", help="families to fit, by comma: print their errors and write nothing")
    return parser.parse_args()


def version_key(name: str) -> tuple[int, ...]:
    """Versions in order: 1.3.0rc20 above 1.3.0rc10."""
    return tuple(int(digits) for digits in re.findall(r"\d+", name))


def files(systems: Path, op: str, table: str) -> Iterator[tuple[str, str, Path]]:
    """Card, engine and file of every table of one kind, newest version of each engine first."""
    for card in CARDS:
        for engine in sorted((systems / "data" / card / op).glob("*")):
            found = sorted(engine.glob(f"*/{table}.parquet"), key=lambda f: version_key(f.parent.name))
            for path in reversed(found):
                yield card, ENGINES.get(engine.name, engine.name), path


def newest(
    systems: Path,
    op: str,
    table: str,
    column: str,
    wanted: Callable[[Columns], np.ndarray] | None = None,
    *,
    least: int = ROWS_LEAST,
    older: bool = False,
) -> Iterator[tuple[str, str, str, Columns]]:
    """Card, engine, type and rows: of each type in ``column`` those of the newest version that has enough of them.

    With ``older`` also what came before, under the engine's name and the version, ``vllm 0.22.0``.
    """
    seen: set[tuple[str, str, str]] = set()
    for card, engine, path in files(systems, op, table):
        columns = read(path, wanted)
        for name, part in by_type(columns, column).items():
            if len(part["latency"]) < least:
                continue
            if (card, engine, name) not in seen:
                seen.add((card, engine, name))
                yield card, engine, name, part
            elif older:
                yield card, f"{engine} {path.parent.name}", name, part


def by_type(columns: Columns, column: str) -> dict[str, Columns]:
    """The rows of each value of one column; all of them under "" when there is no such column."""
    if column not in columns:
        return {"": columns}
    types = columns[column]
    return {
        str(name): {key: value[types == name] for key, value in columns.items()}
        for name in sorted(set(types))
    }


def read(path: Path, wanted: Callable[[Columns], np.ndarray] | None = None, ms: str = "latency") -> Columns:
    """Columns of one file, rows with a positive latency (column ``ms``) that ``wanted`` keeps."""
    import pyarrow.parquet as pq

    table = pq.ParquetFile(path).read()
    columns = {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}
    columns = {name: np.asarray(column) for name, column in columns.items()}
    columns["latency"] = columns[ms]
    keep = columns["latency"] > 0
    if wanted is not None:
        keep &= wanted(columns)
    return {name: column[keep] for name, column in columns.items()}


def sample(columns: Columns, most: int, seed: int = 1) -> Columns:
    """At most so many rows, drawn evenly over the sorted latencies: small and large sizes both stay."""
    count = len(columns["latency"])
    if count <= most:
        return columns
    order = np.argsort(columns["latency"], kind="stable")
    strata = np.linspace(0, count, most + 1).astype(int)
    draw = np.random.default_rng(seed).random(most)
    picked = order[(strata[:-1] + draw * (strata[1:] - strata[:-1])).astype(int)]
    return {name: column[picked] for name, column in columns.items()}


def joined(parts: list[Columns]) -> Columns:
    """Columns of all parts that every part has."""
    names = set.intersection(*(set(part) for part in parts))
    return {name: np.concatenate([part[name] for part in parts]) for name in sorted(names)}


def text_mask(column: np.ndarray, test: Callable[[Any], bool]) -> np.ndarray:
    return np.array([test(value) for value in column], dtype=bool)
