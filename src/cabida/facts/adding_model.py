"""A model more in the catalogue: its config.json as the models' reader takes it, cut down to what that reader uses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cabida.errors import InvalidInput, Problem
from cabida.facts import paths, row_text
from cabida.facts.added_row import Given, gathered
from cabida.facts.adding import Addition, Edit
from cabida.facts.architectures import from_config
from cabida.facts.formats import find_format
from cabida.facts.model import Model
from cabida.facts.models import built
from cabida.facts.names import name_key
from cabida.files import HAND_KEPT_BYTES_MOST, read_text
from cabida.quantity import Source
from cabida.text import closest, problem, tr

FILE = "models.jsonl"
COUNTS = (
    "context_tokens", "params_count", "active_params_count", "extra_params_count", "draft_params_count",
    "unquantised_params_count",
)  # fmt: skip
TEXTS = ("id", "architecture", "task", "native_format", "licence", "same_as")
TASKS = ("llm", "embedding", "rerank", "image", "video", "speech", "vlm")
OTHERS = ("aliases", "bidirectional", "source", "field_sources")
COUNT_MOST = 1e15
ORDER = ("id", "aliases", "same_as", "config")  # of a row's keys; then what it says itself, and its source


def prepare_model(
    sets: tuple[str, ...], given_from: Path | None, source: Mapping[str, str | None], data: Path, today: str
) -> Addition:
    """The row of a model, and the catalogue with it; nothing is written yet.

    Args:
        sets: ``NAME=VALUE`` of what the config doesn't say: ``id``, ``licence``, ``params_count``, ``aliases`` ...
        given_from: a config.json or the folder it is in; ``None`` = shapes of another model, ``same_as=ID``.
        source: what, url, seen, grade.
        data: the folder of the tables.
        today: ISO date after which nothing was seen.

    Raises:
        InvalidInput: everything that is wrong with the row, or what the reader of models refuses.
    """
    given = gathered(Model, sets, None, source)
    raw = given.row
    wrong = list(given.wrong)
    sourced, faults = given.with_source(raw, today)
    wrong += [*faults, *_fields(given, sourced)]
    path = data / FILE
    text = _text(path)
    rows = {row["id"]: row for row in (json.loads(line) for line in text.split("\n") if line.strip())}
    config = _config(given_from, wrong) if given_from is not None else {}
    if not raw.get("id"):
        wrong.append(given.problem("CB-F005", "id", field="id"))
    if given_from is None and str(raw.get("same_as")) not in rows:
        wrong.append(_no_shapes(given, raw, rows))
    wrong += _known_already(str(raw.get("id", "")), raw, rows, path)
    if wrong:
        raise InvalidInput(wrong)
    row = _ordered(_typed(sourced) | ({"config": config} if config else {}))
    built(row, rows)  # refused when nothing can be counted from it
    made = row_text.with_json_row(text, row, list(rows))
    return Addition("model", row["id"], row, (Edit(path, text, made),), data)


def _text(path: Path) -> str:
    try:
        return read_text(path, HAND_KEPT_BYTES_MOST)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or tr("facts.not_utf8")
        raise InvalidInput(problem("CB-F066", file=str(path), reason=reason)) from None


def _config(given: Path, wrong: list[Problem]) -> dict[str, Any]:
    """What the reader uses of a config.json: a key without which the same model comes out is left away."""
    try:
        config = paths.config_at(given / "config.json" if given.is_dir() else given)
        whole = _read(config)
    except InvalidInput as error:
        wrong += error.problems
        return {}
    for key in list(config):
        fewer = {name: value for name, value in config.items() if name != key}
        try:
            if _read(fewer) == whole:
                config = fewer
        except InvalidInput:
            continue
    return config


def _read(config: dict[str, Any]) -> Model:
    return from_config(config, Source("config.json", "", "2000-01-01", "quoted"), "model", "config.json")


def _fields(given: Given, row: Mapping[str, Any]) -> list[Problem]:
    """Fields that a model hasn't, and values that it can't have."""
    wrong: list[Problem] = []
    known = (*TEXTS, *COUNTS, *OTHERS)
    for name, value in row.items():
        if name not in known:
            near = closest(name, known) or ", ".join(TEXTS)
            wrong.append(given.problem("CB-F003", name, field=name, near=near))
        elif name in COUNTS and not _counts(value):
            reason = tr("facts.no_such_figure")
            wrong.append(given.problem("CB-F004", name, field=name, value=str(value)[:60], reason=reason))
        elif name in TEXTS and not (isinstance(value, str) and value.isprintable()):
            reason = tr("facts.not_printable")
            wrong.append(given.problem("CB-F004", name, field=name, value=repr(value)[:60], reason=reason))
    choices: dict[str, tuple[str, ...]] = {"task": TASKS, "bidirectional": ("true", "false")}
    for name, among in choices.items():
        if name in row and str(row[name]) not in among:
            reason = tr("facts.one_of", among=", ".join(among))
            wrong.append(given.problem("CB-F004", name, field=name, value=str(row[name])[:60], reason=reason))
    if "native_format" in row and find_format(str(row["native_format"])) is None:
        reason = tr("facts.no_format")
        wrong.append(
            given.problem(
                "CB-F004", "native_format", field="native_format", value=row["native_format"], reason=reason
            )
        )
    whole, active = row.get("params_count"), row.get("active_params_count")
    if _counts(whole) and _counts(active) and float(str(active)) > float(str(whole)):
        first = {"first": "active_params_count", "day": active, "then": "params_count", "other": whole}
        wrong.append(given.problem("CB-F064", "active_params_count", **first))
    return wrong


def _counts(value: object) -> bool:
    try:
        return 0 < float(str(value)) <= COUNT_MOST
    except ValueError:
        return False


def _no_shapes(given: Given, raw: Mapping[str, Any], rows: Mapping[str, Any]) -> Problem:
    if same_as := raw.get("same_as"):
        near = closest(str(same_as), rows) or "cabida models"
        return given.problem("CB-F065", "same_as", field="same_as", value=same_as, near=near)
    return given.problem("CB-F072")


def _known_already(id: str, raw: Mapping[str, Any], rows: Mapping[str, Any], path: Path) -> list[Problem]:
    """CB-F060 when the catalogue has a model of that name, however it is spelled."""
    names = {
        name_key(name): (place, row["id"])
        for place, row in enumerate(rows.values(), 1)
        for name in (row["id"], *row.get("aliases", ()))
    }
    own = [id, *(raw.get("aliases") or ())] if isinstance(raw.get("aliases") or [], list) else [id]
    for name in own:
        if name and name_key(str(name)) in names:
            line, other = names[name_key(str(name))]
            return [problem("CB-F060", file=str(path), line=line, record=str(name), other=other)]
    return []


def _typed(row: Mapping[str, Any]) -> dict[str, Any]:
    """The values as JSON has them: counts as numbers, a yes as true."""
    made = dict(row)
    for name in COUNTS:
        if name in made:
            count = float(str(made[name]))
            made[name] = int(count) if count == int(count) else count
    if "bidirectional" in made:
        made["bidirectional"] = str(made["bidirectional"]) == "true"
    return made


def _ordered(row: Mapping[str, Any]) -> dict[str, Any]:
    said = [name for name in row if name not in (*ORDER, "source", "field_sources")]
    return {name: row[name] for name in (*ORDER, *said, "source", "field_sources") if name in row}
