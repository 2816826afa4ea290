"""What logs said beside what memory predicts: the answers of ``observe`` and ``observations``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from cabida import facts
from cabida.errors import InvalidInput, Problem
from cabida.evidence import Observation, ReadFile, add, read_file
from cabida.evidence.observation import SETUP
from cabida.evidence.place import store_path
from cabida.evidence.store import Stored
from cabida.files import refuse_same
from cabida.truth.case_file import add_cases, more_cases
from cabida.truth.observed import beside

NEEDED = ("model", "engine", "engine_version", "weights", "gpu", "gpus")  # what a prediction wants to know


def told(one: Observation) -> dict[str, Any]:
    """An observation with its predictions: setup, each figure measured and predicted, verdicts, what nobody said."""
    found = beside(one)
    figures = {
        metric: {"measured": value, **found.figures.get(metric, {})}
        for metric, value in one.measured.items()
        if metric != "fits"
    }
    return {
        "id": one.id,
        "kind": one.kind,
        "setup": {key: one.setup[key] for key in SETUP if key in one.setup},
        "load": dict(one.load),
        "figures": figures,
        "fitted": found.fitted,
        "verdict": found.verdict,
        "not_predicted": found.why,
        "not_said": [key for key in NEEDED if key not in one.setup],
        "note": one.note,
        "source": one.source,
        "date": one.date,
    }


def imported(
    file: str, read: ReadFile, new: Iterable[str], said: dict[str, Any] | None = None
) -> dict[str, Any]:
    """What one file gave, and what a person said of it that the log says otherwise."""
    fresh = set(new)
    return {
        "file": file,
        "format": read.format,
        "lines": read.lines_count,
        "unknown_lines": read.unknown_count,
        "also": list(read.others),
        "overruled": _overruled(read.observations, said or {}),
        "new": len(fresh),
        "known": len(read.observations) - len(fresh),
        "observations": [told(one) for one in read.observations],
    }


def _overruled(found: Iterable[Observation], said: dict[str, Any]) -> list[dict[str, str]]:
    """What the log has the word about, though a person said something else: flag, said, read."""
    same: dict[str, Callable[[str], Any]] = {
        "engine": lambda name: facts.engine(name).id,
        "engine_version": lambda name: name.lstrip("v"),
        "weights": lambda name: facts.weight_format(name).id,
        "kv_cache": lambda name: facts.weight_format(name).id,
    }
    told: dict[str, dict[str, str]] = {}
    for one in found:
        for key, plain in same.items():
            read = str(one.setup.get(key) or "")
            if said.get(key) and read and read.lower() != str(plain(str(said[key]))).lower():
                told[key] = {"flag": f"--{key.replace('_', '-')}", "said": str(said[key]), "read": read}
    return list(told.values())


def _refuse_unknown(said: dict[str, Any]) -> None:
    """Names a person gives that nobody knows, all at once; a model may be one's own.

    Raises:
        InvalidInput: CB-F001, CB-F014.
    """
    looks: tuple[tuple[str, Callable[[str], Any]], ...] = (
        ("gpu", facts.accelerator),
        ("engine", facts.engine),
        ("weights", facts.weight_format),
        ("kv_cache", facts.weight_format),
    )
    wrong: list[Problem] = []
    for key, find in looks:
        try:
            if said.get(key):
                find(str(said[key]))
        except InvalidInput as error:
            wrong += error.problems
    if wrong:
        raise InvalidInput(wrong)


def observe_files(
    files: Sequence[str],
    store: Path | str | None,
    *,
    keep: bool,
    said: dict[str, Any],
    case: Path | str | None = None,
) -> dict[str, Any]:
    """Read every file, each kept by itself: one that gives nothing keeps no other from being kept.

    With ``case`` what was read goes into that case file too; when it can't, nothing is kept anywhere.
    """
    found: list[tuple[str, ReadFile]] = []
    done: list[dict[str, Any]] = []
    problems: list[Problem] = []
    _refuse_unknown(said)

    def kept(file: str, read: ReadFile) -> dict[str, Any]:
        return imported(file, read, add(read, store) if keep else (), said)

    for file in dict.fromkeys(files):
        try:
            read = read_file(file, **said)
        except InvalidInput as error:
            problems += error.problems
            continue
        found.append((file, read))
        if case is None:
            done.append(kept(file, read))
    if problems and not found:
        raise InvalidInput(problems)
    more = None
    if case is not None:
        refuse_same(case, files)
        more = more_cases(Path(case), [(file, read.observations) for file, read in found])
        done = [kept(file, read) for file, read in found]
        if keep:
            add_cases(more)
    answer: dict[str, Any] = {"store": str(store_path(store)) if keep else None, "files": done}
    if more is not None:
        ids = [one.id for one in more.rows]
        answer["case"] = {"file": str(more.file), "written": keep, "rows": len(ids), "ids": ids}
    return {**answer, "errors": [one.as_dict() for one in problems]}


def listed(found: Stored) -> dict[str, Any]:
    """One line of the list of observations."""
    setup = found.observation.setup
    return {
        "id": found.observation.id,
        "kind": found.observation.kind,
        **{key: setup.get(key) for key in ("model", "engine", "engine_version", "weights", "gpu", "gpus")},
        "fitted": found.observation.measured.get("fits"),
        "file": found.file_name,
        "imported": found.imported,
        "mark": found.mark,
    }


def shown(found: Stored) -> dict[str, Any]:
    """One observation of the store, whole, with the lines of its file that nothing understood."""
    return {
        **told(found.observation),
        "file": found.file_name,
        "format": found.format,
        "imported": found.imported,
        "mark": found.mark,
        "why": found.why,
        "unknown_count": found.observation.unknown_count,
        "unknown_lines": [{"line": number, "text": text} for number, text in found.observation.unknown],
    }
