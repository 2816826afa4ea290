"""A row more in the tables of facts: checked as the compiler checks it, then written where it belongs.

The row goes into the hand-kept files of a source tree, whose comments and order stay as they are, or into one's own
facts (``facts.overlay``). Whatever is wrong with it is told at once, and nothing is written then.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cabida.errors import InvalidInput
from cabida.facts import load, overlay, row_text
from cabida.facts.added_row import Given
from cabida.facts.adding_checks import (
    class_and_names,
    given_twice,
    impossible,
    listed_names,
    no_column,
    references,
    unwritable,
)
from cabida.facts.media import Component, Pipeline
from cabida.facts.model import (
    Accelerator,
    ApiOffer,
    EnergyFact,
    Engine,
    MigProfile,
    Node,
    Offer,
    WeightFormat,
)
from cabida.facts.releases import numbers
from cabida.facts.stacks import Release
from cabida.files import HAND_KEPT_BYTES_MOST, read_text, write_text
from cabida.text import problem, tr


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of facts: its noun, the file of a source tree that holds it, the table of one's own facts ("" = none).

    ``behind``: fields that the row it is put behind has in common with it, the most telling last.
    """

    noun: type
    file: str
    own: str = ""
    behind: tuple[str, ...] = ()


KINDS: dict[str, Kind] = {
    "accelerator": Kind(
        Accelerator, "accelerators.yaml", "accelerators", ("vendor", "segment", "architecture")
    ),
    "node": Kind(Node, "nodes.yaml", "nodes", ("provider",)),
    "engine": Kind(Engine, "engines.yaml", "engines", ("kind",)),
    "engine-version": Kind(Release, "releases.yaml", "", ("name",)),
    "format": Kind(WeightFormat, "formats.yaml", "", ("family",)),
    "mig": Kind(MigProfile, "mig.yaml"),
    "pipeline": Kind(Pipeline, "pipelines.yaml", "", ("task",)),
    "component": Kind(Component, "components.yaml", "", ("kind",)),
    "price": Kind(Offer, "offers_rent.csv", "offers"),
    "api-price": Kind(ApiOffer, "offers_api.csv", "api_offers"),
    "energy": Kind(EnergyFact, "energy.csv", "energy"),
}
BESIDE = (
    "class",
    "names",
)  # of an accelerator, in tables of their own: what it is like, what else it is called
BOUGHT = "offers_buy.csv"  # where a price to buy goes


@dataclass(frozen=True, slots=True)
class Edit:
    """A file as it is and as it is to be."""

    path: Path
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Addition:
    """A checked row and what it changes. ``data``: the folder of the source tree, ``None`` = one's own facts."""

    kind: str
    id: str
    row: dict[str, Any]
    edits: tuple[Edit, ...]
    data: Path | None

    @property
    def compiles(self) -> bool:
        """Whether a snapshot stands beside the files, to be made again."""
        return self.data is not None and (self.data / "snapshot").is_dir()


def data_of_checkout(start: Path | None = None) -> Path | None:
    """The tables of the source tree that ``start`` (this folder when left out) is in, or ``None``."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        data = folder / "src" / "cabida" / "facts" / "data"
        if (data / "accelerators.yaml").is_file():
            return data
    return None


def prepare(kind: str, given: Given, into: Path | None, today: str = "") -> Addition:
    """The row to be added, and the files with it; nothing is written yet.

    Args:
        kind: one of ``KINDS``.
        given: what was typed, or stands in a file.
        into: the folder of the tables; ``None`` = one's own facts.
        today: ISO date after which nothing was seen.

    Raises:
        InvalidInput: everything that is wrong with the row, at once: CB-F003 to CB-F005 and CB-F060 to CB-F069.
    """
    table = KINDS[kind]
    today = today or datetime.date.today().isoformat()
    wrong = list(given.wrong)
    if into is None and not table.own:
        raise InvalidInput([*wrong, problem("CB-F068", kind=kind)])
    raw = _with_what_follows(kind, given.row)
    beside = {name: raw.pop(name, None) for name in BESIDE} if kind == "accelerator" and into else {}
    file = _own_file(table) if into is None else into / _file_of(kind, raw)
    if into is None and file.exists() and (faults := overlay.faults(file)):
        raise InvalidInput(faults)  # to be mended first
    text = _text_of(file, missing_is_empty=into is None)
    known = _rows(file, text, table.own if into is None else "")
    near_data = into or load_data()
    wrong += unwritable(raw, given)
    sourced, faults = given.with_source(raw, today)
    wrong += faults
    one, faults = given.validated(table.noun, sourced)
    wrong += faults
    if kind == "accelerator" and not raw.get("confidence"):
        wrong.append(given.problem("CB-F005", "confidence", field="confidence"))
    if one is not None:
        wrong += [given.placed(found) for found in impossible(one, given, today)]
        wrong += references(kind, one, given, near_data)
    wrong += given_twice(kind, sourced, known, file, near_data if into else None)
    if into is not None and kind == "accelerator":
        wrong += class_and_names(str(raw.get("id", "?")), beside, given, into)
    if file.suffix == ".csv":
        wrong += no_column(sourced, given, text, file.name)
    if wrong:
        raise InvalidInput(wrong)
    one, _ = load.validated(table.noun, sourced, "", {}, ())
    edits = [_edit(kind, table, file, text, known, sourced, own=into is None)]
    if kind == "engine-version" and into is not None:
        edits += _listed(into, one)
    if into is not None and kind == "accelerator":
        edits += _described(into, one.id, beside)
    return Addition(kind, one.id, sourced, tuple(edits), into)


def load_data() -> Path:
    """The shipped tables, which one's own rows lean on."""
    from cabida.facts import store

    return store.DATA


def write(addition: Addition) -> tuple[Path, ...]:
    """Write what was prepared, and the snapshot anew where there is one; all of it or nothing.

    Raises:
        InvalidInput: CB-F067, a file was changed meanwhile; CB-R005, it can't be written.
    """
    for edit in addition.edits:
        if _text_of(edit.path, missing_is_empty=True) != edit.before:
            raise InvalidInput(problem("CB-F067", file=str(edit.path)))
    done: list[Edit] = []
    try:
        for edit in addition.edits:
            write_text(edit.path, edit.after)
            done.append(edit)
        if addition.compiles and addition.data is not None:
            from cabida.facts import compile as compiling

            compiling.write(addition.data)
    except InvalidInput:
        for edit in done:
            write_text(edit.path, edit.before)
        raise
    return tuple(edit.path for edit in addition.edits)


def _file_of(kind: str, raw: Mapping[str, Any]) -> str:
    return BOUGHT if kind == "price" and raw.get("capacity") == "buy" else KINDS[kind].file


def _own_file(table: Kind) -> Path:
    return overlay.usual_folder() / f"{table.own}.yaml"


def _text_of(file: Path, *, missing_is_empty: bool) -> str:
    if missing_is_empty and not file.exists():
        return ""
    try:
        return read_text(file, HAND_KEPT_BYTES_MOST)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or tr("facts.not_utf8")
        raise InvalidInput(problem("CB-F066", file=str(file), reason=reason)) from None


def _rows(file: Path, text: str, under: str) -> list[tuple[dict[str, Any], int]]:
    """The rows that a file holds already, each with its line."""
    if file.suffix == ".csv":
        return [(row, at) for at, row in enumerate(load.read_series(file), 2)]
    found, lines = load.yaml_values(text, str(file))
    place: tuple[str | int, ...] = (under,) if under else ()
    listed = (found or {}).get(under) if under else found
    return [(row, lines[(*place, at)]) for at, row in enumerate(listed or []) if isinstance(row, dict)]


def _with_what_follows(kind: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with what follows from the rest of it: an id, the unit of a price, one where nobody says how many."""
    raw = dict(row)
    if kind == "engine-version" and raw.get("name") and raw.get("version"):
        raw.setdefault("id", f"{raw['name']}-{raw['version']}")
    if kind == "price":
        bought = raw.get("capacity") == "buy"
        usual = {"accelerators_count": "1", "term_months": "0", "upfront_ratio": "1" if bought else "0"}
        usual |= {"unit": "accelerator" if bought else "accelerator_hour"}
        usual |= {"sighting": "page", "sample_count": "1"}
        raw = {**raw, **{name: value for name, value in usual.items() if name not in raw}}
    if kind in ("price", "api-price"):
        source = raw.get("source")
        if isinstance(source, Mapping) and source.get("seen"):
            raw.setdefault("seen", source["seen"])
        if "id" not in raw:
            raw["id"] = _named(kind, raw)
    return raw


def _named(kind: str, raw: Mapping[str, Any]) -> str:
    """A price's name, as the ones before it: who, what, how, how many, when."""
    count = f"{raw.get('accelerators_count')}x" if kind == "price" else ""
    names = ("provider", "accelerator", "capacity") if kind == "price" else ("provider", "model_name")
    parts = [*(str(raw.get(name, "")) for name in names), count, str(raw.get("seen", ""))]
    whole = "-".join(part for part in parts if part).lower()
    return "".join(char if char.isalnum() or char in "-." else "-" for char in whole) or "?"


def _described(data: Path, id: str, beside: Mapping[str, Any]) -> Iterator[Edit]:
    """The accelerator among the members of its class, and its other names."""
    file = data / "classes.yaml"
    text = _text_of(file, missing_is_empty=False)
    rows = [row for row, _ in _rows(file, text, "")]
    at = next(place for place, row in enumerate(rows) if row["id"] == str(beside["class"]))
    made = row_text.with_listed(text, at, "members", id, len(rows[at]["members"]))
    if made is None:
        raise InvalidInput(problem("CB-F066", file=str(file), reason=tr("facts.no_plain_list")))
    yield Edit(file, text, made)
    if names := listed_names(beside):
        file = data / "names.yaml"
        text = _text_of(file, missing_is_empty=False)
        yield Edit(file, text, row_text.with_names(text, id, names))


def _edit(
    kind: str,
    table: Kind,
    file: Path,
    text: str,
    known: Sequence[tuple[dict[str, Any], int]],
    row: dict[str, Any],
    *,
    own: bool,
) -> Edit:
    if file.suffix == ".csv":
        return Edit(file, text, row_text.with_csv_row(text, row_text.csv_cells(row)))
    place = len(known) if own else _place(kind, table, [one for one, _ in known], row)
    under = table.own if own else ""
    made = row_text.with_yaml_row(text, row_text.yaml_row(table.noun, row), place, under)
    before = [one for one, _ in known]
    if made is not None and _read_back(made, under) == [*before[:place], _texts(row), *before[place:]]:
        return Edit(file, text, made)
    raise InvalidInput(problem("CB-F066", file=str(file), reason=tr("facts.no_plain_list")))


def _read_back(text: str, under: str) -> list[Any]:
    found, _ = load.yaml_values(text, "")
    return list((found or {}).get(under) or []) if under else list(found or [])


def _texts(value: Any) -> Any:
    """A row as YAML gives it back: every value a text."""
    if isinstance(value, Mapping):
        return {str(key): _texts(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_texts(part) for part in value]
    return str(value)


def _place(kind: str, table: Kind, rows: Sequence[Mapping[str, Any]], row: Mapping[str, Any]) -> int:
    """Before which row it goes: behind the last that is most like it; releases by version."""
    if kind == "engine-version":
        own = [at for at, one in enumerate(rows) if one.get("name") == row["name"]]
        version = numbers(str(row["version"]))
        older = [at for at in own if numbers(str(rows[at].get("version"))) <= version]
        return older[-1] + 1 if older else own[0] if own else len(rows)
    for count in range(len(table.behind), 0, -1):
        alike = [
            at
            for at, one in enumerate(rows)
            if all(one.get(name) == row.get(name) for name in table.behind[:count])
        ]
        if alike:
            return alike[-1] + 1
    return len(rows)


def _listed(data: Path, one: Release) -> Iterator[Edit]:
    """The version among those that its engine is known in, oldest first, when it is an engine's."""
    file = data / "engines.yaml"
    text = _text_of(file, missing_is_empty=False)
    for at, (row, _) in enumerate(_rows(file, text, "")):
        versions = [str(version) for version in row.get("versions") or []]
        if row.get("id") != one.name or one.version in versions:
            continue
        number = numbers(one.version)
        newer = (place for place, version in enumerate(versions) if numbers(version) > number)
        made = row_text.with_listed(text, at, "versions", one.version, next(newer, len(versions)))
        if made is not None:
            yield Edit(file, text, made)
