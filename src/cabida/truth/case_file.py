"""Observations into a case file: each with its source, none twice, so that ``cabida validate`` takes it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cabida.errors import InvalidInput, Problem
from cabida.evidence import Observation
from cabida.evidence.observation import of_row
from cabida.files import read_text, write_text
from cabida.text import problem
from cabida.truth.case import Case, case_of, read_cases
from cabida.truth.sound import faults

MOST_BYTES = 1 << 28  # of a case file
NEEDED = {"memory": ("model", "engine", "gpus")}  # what a prediction can't do without
OPTIONS = {"model": "--model", "engine": "--engine", "gpus": "--gpus"}


@dataclass(frozen=True, slots=True)
class More:
    """Rows to be added to a case file: what it holds, and what it is to hold."""

    file: Path
    before: str
    rows: tuple[Observation, ...]

    @property
    def after(self) -> str:
        """The whole file with its new rows, one JSON object a line."""
        told = self.before if not self.before or self.before.endswith("\n") else f"{self.before}\n"
        lines = (json.dumps(one.case(), ensure_ascii=False, allow_nan=False) + "\n" for one in self.rows)
        return told + "".join(lines)


def more_cases(file: Path, read: Sequence[tuple[str, Sequence[Observation]]]) -> More:
    """The observations of some files as rows of a case file; nothing is written yet.

    Args:
        file: the case file; it need not exist.
        read: each file that was read by its name, with its observations.

    Raises:
        InvalidInput: everything that keeps them out, at once: CB-V001 to CB-V004 of what the file holds already,
            CB-V005 a value that can't be, CB-V018 a row given twice, CB-V019 no source, CB-V020 what a log left open.
    """
    before, held, wrong = _held(file)
    found: list[Observation] = []
    for name, observations in read:
        for one in observations:
            wrong += _faults(one, name)
            if (first := held.get(one.id)) is not None:
                wrong.append(problem("CB-V018", file=str(file), line=first, id=one.id, name=name))
            else:
                held[one.id] = len(before.splitlines()) + len(found) + 1
                found.append(one)
    if wrong:
        raise InvalidInput(wrong)
    return More(file, before, tuple(found))


def add_cases(more: More) -> Path:
    """Write a case file with its new rows, whole or not at all.

    Raises:
        InvalidInput: CB-R005, it can't be written.
    """
    return write_text(more.file, more.after)


def _held(file: Path) -> tuple[str, dict[str, int], list[Problem]]:
    """What a case file says, the line of each observation in it, and what is wrong with it."""
    if not file.exists():
        return "", {}, []
    try:
        text = read_text(file, MOST_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "UTF-8"
        raise InvalidInput(problem("CB-V001", file=str(file), reason=reason)) from None
    if not text.strip():
        return text, {}, []
    cases, wrong = read_cases([file])
    return text, {of_row(case.row).id: case.line for case in cases}, wrong


def _faults(one: Observation, name: str) -> Iterator[Problem]:
    """What keeps an observation from being a case."""
    if one.source in ("", name, Path(name).name):
        yield problem("CB-V019", file=name, id=one.id)
    lacking = [key for key in NEEDED.get(one.kind, ("model",)) if not one.setup.get(key)]
    if lacking:
        flags = " ".join(OPTIONS[key] for key in lacking)
        yield problem("CB-V020", file=name, id=one.id, keys=", ".join(lacking), flags=flags)
        return
    made = case_of(one.case(), name)
    if not isinstance(made, Case):
        yield made
    elif odd := faults(made.row):
        yield problem("CB-V005", file=name, reason="; ".join(odd))
