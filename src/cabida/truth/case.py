"""Measured cases: one JSON object per line, read with located problems."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cabida.errors import Problem
from cabida.text import problem
from cabida.truth.flags import spelled
from cabida.truth.sound import without_nulls

KINDS = ("memory", "serving", "training", "media")
NEEDED = ("id", "kind", "model", "measured", "source")
MOST_FAULTS = 1000  # of one file; what has more is no file of cases
FRAMEWORKS = (  # in the order they are looked for
    "megatron-bridge", "megatron-deepspeed", "llm-foundry", "litgpt", "maxtext", "llama.cpp", "lmdeploy",
)  # fmt: skip
Figures = dict[str, tuple[float, float, float]]  # metric -> predicted value, low, high
ENGINE_WORDS = {"trtllm": "tensorrt-llm", "tensorrt": "tensorrt-llm", "vllm": "vllm", "sglang": "sglang"}


@dataclass(frozen=True, slots=True)
class Case:
    """One measured row. ``measured`` keeps the source's figures under the metric names of the cases."""

    id: str
    kind: str
    source: str  # the repository or page; files of one repository are one source
    engine: str
    gpu: str
    model: str
    row: dict[str, Any]
    file: str
    line: int
    nulls: tuple[str, ...] = ()  # figures whose value is null

    @property
    def measured(self) -> dict[str, Any]:
        """What was measured, by metric."""
        found: dict[str, Any] = self.row["measured"]
        return found


def read_cases(files: Sequence[Path | str]) -> tuple[list[Case], list[Problem]]:
    """All cases of the files, and a problem (CB-V001 to CB-V004, CB-V016) with file and line for what isn't one.

    A file is read up to its first ``MOST_FAULTS`` lines that are no case: it is something else.
    """
    cases: list[Case] = []
    problems: list[Problem] = []
    for file in files:
        read = list(_read_file(Path(file)))
        if not read:
            problems.append(problem("CB-V016", file=str(file)))
        for found in read:
            if isinstance(found, Case):
                cases.append(found)
            else:
                problems.append(found)
    return cases, problems


def _read_file(path: Path) -> Iterator[Case | Problem]:
    try:
        if path.exists() and not path.is_file():
            yield problem("CB-V001", file=str(path), reason="no regular file")
            return
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = (
            "UTF-8" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", "") or str(error)
        )
        yield problem("CB-V001", file=str(path), reason=reason)
        return
    faults = 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            found = _read_line(line, str(path), number)
            yield found
            faults += not isinstance(found, Case)
            if faults == MOST_FAULTS:
                return


def _read_line(line: str, file: str, number: int) -> Case | Problem:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return problem("CB-V002", file=file, line=number, reason=str(error))
    if not isinstance(row, dict):
        return problem("CB-V002", file=file, line=number, reason=type(row).__name__)
    return case_of(row, file, number)


def case_of(row: dict[str, Any], file: str = "", number: int = 0) -> Case | Problem:
    """The case that a row is, or what it lacks (CB-V003, CB-V004)."""
    given = row.get("measured")
    nulls = [name for name, value in given.items() if value is None] if isinstance(given, dict) else []
    row = spelled(without_nulls(row))
    missing = [key for key in NEEDED if key not in row]
    if missing:
        return problem("CB-V003", file=file, line=number, keys=", ".join(missing))
    if row["kind"] not in KINDS:
        return problem("CB-V004", file=file, line=number, kind=row["kind"], kinds=", ".join(KINDS))
    if not isinstance(row["measured"], dict):
        return problem("CB-V003", file=file, line=number, keys="measured")
    return Case(
        id=str(row["id"]),
        kind=row["kind"],
        source=_repository(row["source"]),
        engine=_engine(str(row.get("engine") or row.get("framework") or "not stated")),
        gpu=str(row.get("gpu") or "not stated"),
        model=str(row["model"]),
        row=row,
        file=file,
        line=number,
        nulls=tuple(nulls),
    )


def _repository(source: object) -> str:
    if isinstance(source, dict):
        return str(source.get("repo") or source.get("what") or "not stated")
    words = str(source).split()
    return words[0] if words else "not stated"


def _engine(text: str) -> str:
    """Engines and frameworks under one name each: releases and containers aside."""
    lowered = text.lower()
    for word, name in ENGINE_WORDS.items():
        if lowered.startswith(word):
            return name
    for word in FRAMEWORKS:
        if word in lowered:
            return word
    if any(word in lowered for word in ("nemo", "ngc", "nvidia")):
        return "nemo"
    return lowered.split("(")[0].split(",")[0].strip()
