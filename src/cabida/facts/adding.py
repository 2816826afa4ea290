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

from cabida.errors import InvalidInput, Problem
from cabida.facts import load, market, overlay, row_text
from cabida.facts.added_row import Given
from cabida.facts.check import contradictions
from cabida.facts.hardware import bare_name
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
from cabida.facts.releases import numbers, same
from cabida.facts.stacks import Release
from cabida.files import HAND_KEPT_BYTES_MOST, read_text, write_text
from cabida.text import closest, problem, tr

YEARS_AHEAD = 2  # an accelerator announced for later than this is a slip
FIRST_YEAR = 1999
SHARES = ("upfront_ratio", "fraction_ratio", "matmul_ratio", "tax_ratio")  # of a whole: 1 at most
DAYS = ("seen", "effective", "released", "date")  # none of them is later than today
RISING = (("low_amount", "median_amount"), ("median_amount", "high_amount"), ("low_amount", "high_amount"))
SAME_PRICE = (
    "provider", "accelerator", "accelerators_count", "region", "country", "capacity", "term_months", "upfront_ratio",
    "amount", "currency", "seen", "condition", "node_shape", "model", "model_name", "input_amount", "output_amount",
)  # fmt: skip


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
    text = _text_of(file, missing_is_empty=into is None)
    known = _rows(file, text, table.own if into is None else "")
    near_data = into or load_data()
    wrong += _unwritable(raw, given)
    sourced, faults = given.with_source(raw, today)
    wrong += faults
    one, faults = given.validated(table.noun, sourced)
    wrong += faults
    if kind == "accelerator" and not raw.get("confidence"):
        wrong.append(given.problem("CB-F005", "confidence", field="confidence"))
    if one is not None:
        wrong += [given.placed(found) for found in _impossible(one, given, today)]
        wrong += _references(kind, one, given, near_data)
    wrong += _twice(kind, sourced, known, file, near_data if into else None)
    if into is not None and kind == "accelerator":
        wrong += _class_and_names(str(raw.get("id", "?")), beside, given, into)
    if file.suffix == ".csv":
        wrong += _no_column(sourced, given, text, file.name)
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


def _unwritable(raw: Any, given: Given, at: tuple[str, ...] = ()) -> Iterator[Problem]:
    """Values with a line break or a character that can't be seen: a row is one line, or a few."""
    if isinstance(raw, Mapping):
        for key, value in raw.items():
            yield from _unwritable(value, given, (*at, str(key)))
    elif isinstance(raw, list | tuple):
        for value in raw:
            yield from _unwritable(value, given, at)
    elif not str(raw).isprintable():
        reason = tr("facts.not_printable")
        yield given.problem("CB-F004", *at, field=".".join(at), value=repr(str(raw))[:60], reason=reason)


def _impossible(one: Any, given: Given, today: str) -> Iterator[Problem]:
    """What the fields allow one by one and the world doesn't: days to come, ends before beginnings, shares above 1."""
    if isinstance(one, Accelerator):
        yield from contradictions(one)
        if one.year is not None and not FIRST_YEAR <= one.year <= int(today[:4]) + YEARS_AHEAD:
            reason = tr("facts.no_such_year", first=FIRST_YEAR, last=int(today[:4]) + YEARS_AHEAD)
            yield given.problem("CB-F004", "year", field="year", value=one.year, reason=reason)
    for name in DAYS:
        day = str(getattr(one, name, "") or "")
        told = name == "seen" and day == one.source.seen
        if not told and day[:4].isdigit() and day[: len(today)] > today[: len(day)]:
            yield given.problem("CB-F063", name, field=name, day=day, today=today)
    for name, source in one.field_sources.items():
        if source.seen > today:
            field = f"field_sources.{name}.seen"
            yield given.problem("CB-F063", "field_sources", name, field=field, day=source.seen, today=today)
        if not hasattr(one, name.partition(".")[0]):
            yield problem("CB-F031", record=one.id, field=name)
    until, seen = str(getattr(one, "until", "") or ""), str(getattr(one, "seen", "") or one.source.seen)
    if until and until < seen[: len(until)]:
        yield given.problem("CB-F064", "until", first="seen", day=seen, then="until", other=until)
    released = str(getattr(one, "released", "") or "")
    if released and released > one.source.seen[: len(released)]:
        yield given.problem(
            "CB-F064", "released", first="released", day=released, then="source.seen", other=one.source.seen
        )
    for low, high in RISING:
        few, many = getattr(one, low, None), getattr(one, high, None)
        if few is not None and many is not None and few > many:
            yield given.problem("CB-F064", low, first=low, day=few, then=high, other=many)
    for name in SHARES:
        if (getattr(one, name, None) or 0) > 1:
            reason = tr("facts.over_one")
            yield given.problem("CB-F004", name, field=name, value=getattr(one, name), reason=reason)
    if isinstance(one, Offer) and (one.capacity == "buy") != (one.unit == "accelerator"):
        reason = tr("facts.unit_of_capacity", capacity=one.capacity)
        yield given.problem("CB-F004", "unit", field="unit", value=one.unit, reason=reason)


def _references(kind: str, one: Any, given: Given, data: Path) -> Iterator[Problem]:
    """Names of other rows that there are none of."""
    if kind in ("node", "price", "mig"):
        known = _ids(data / "accelerators.yaml") | _own_ids("accelerators")
        for id in one.accelerators if kind == "mig" else (one.accelerator,):
            if id not in known:
                near = closest(id, known) or "cabida facts list"
                yield given.problem("CB-F065", "accelerator", field="accelerator", value=id, near=near)
    if kind == "engine-version":
        rows, _ = load.read_yaml(data / "releases.yaml")
        known = _ids(data / "engines.yaml") | {str(row.get("name")) for row in rows or []}
        if one.name not in known:
            near = closest(one.name, known) or "cabida facts list engines"
            yield given.problem("CB-F065", "name", field="name", value=one.name, near=near)
        if not numbers(one.version):
            reason = tr("facts.no_version")
            yield given.problem("CB-F004", "version", field="version", value=one.version, reason=reason)
    if kind in ("price", "api-price") and one.currency.upper() not in (known := set(market.currencies())):
        yield given.problem("CB-F038", "currency", currency=one.currency, known=", ".join(sorted(known)))


def _ids(path: Path) -> set[str]:
    if not path.is_file():
        raise InvalidInput(problem("CB-F066", file=str(path), reason=tr("facts.no_file")))
    rows, _ = load.read_yaml(path)
    return {str(row["id"]) for row in rows or [] if isinstance(row, dict) and "id" in row}


def _own_ids(table: str) -> set[str]:
    return {str(one.id) for one in overlay.own(table)} if overlay.folder() else set()


def _twice(
    kind: str,
    row: Mapping[str, Any],
    known: Sequence[tuple[dict[str, Any], int]],
    file: Path,
    data: Path | None,
) -> Iterator[Problem]:
    """CB-F060 when the table has it already: by its id, or by what makes two rows one thing."""
    id = str(row.get("id", ""))
    names = _other_names(data) if kind == "accelerator" and data is not None else {}
    for other, line in known:
        if str(other.get("id")) == id or _alike(kind, row, other):
            yield problem("CB-F060", file=str(file), line=line, record=id, other=other.get("id", "?"))
            return
    taken = names.get(bare_name(str(row.get("name", ""))))
    if taken and data is not None:
        yield problem("CB-F060", file=str(data / "names.yaml"), record=id, other=taken)


def _alike(kind: str, row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    if kind in ("accelerator", "engine"):
        return bool(row.get("name")) and bare_name(str(row["name"])) == bare_name(str(other.get("name", "")))
    if kind == "engine-version":
        one, two = str(row.get("version", "")), str(other.get("version", ""))
        return row.get("name") == other.get("name") and (one == two or _same_release(one, two))
    if kind in ("price", "api-price"):
        return all(str(row.get(name) or "") == str(other.get(name) or "") for name in SAME_PRICE)
    return False


def _same_release(one: str, two: str) -> bool:
    """0.31 and 0.31.0 are one release, 1.3.0rc1 and 1.3.0rc5 are two."""
    plain = all(part.isdigit() for version in (one, two) for part in version.split("."))
    return plain and same(one, two)


def _other_names(data: Path) -> dict[str, str]:
    path = data / "names.yaml"
    found = load.read_yaml(path)[0] if path.is_file() else None
    return {bare_name(str(name)): id for id, names in (found or {}).items() for name in names}


def _class_and_names(id: str, beside: Mapping[str, Any], given: Given, data: Path) -> Iterator[Problem]:
    """A class that there is none of, or none given, and names that another accelerator has."""
    known = _ids(data / "classes.yaml")
    if not beside["class"]:
        yield given.problem("CB-F073", "class", known=", ".join(sorted(known)))
    elif str(beside["class"]) not in known:
        near = closest(str(beside["class"]), known) or ", ".join(sorted(known))
        yield given.problem("CB-F065", "class", field="class", value=beside["class"], near=near)
    taken = _other_names(data)
    for name in _listed_names(beside):
        other = taken.get(bare_name(name))
        if other:
            yield problem("CB-F060", file=str(data / "names.yaml"), record=name, other=other)
        if not name.isprintable():
            reason = tr("facts.not_printable")
            yield given.problem("CB-F004", "names", field="names", value=repr(name)[:60], reason=reason)


def _listed_names(beside: Mapping[str, Any]) -> list[str]:
    names = beside.get("names") or []
    found = names.split(",") if isinstance(names, str) else names
    return [str(name).strip() for name in found if str(name).strip()]


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
    if names := _listed_names(beside):
        file = data / "names.yaml"
        text = _text_of(file, missing_is_empty=False)
        yield Edit(file, text, row_text.with_names(text, id, names))


def _no_column(row: Mapping[str, Any], given: Given, text: str, file: str) -> Iterator[Problem]:
    """What a CSV table has no place for."""
    known = row_text.columns(text)
    for name in _cells(row):
        if name not in known:
            near = closest(name, known) or ", ".join(known[:8])
            yield given.problem("CB-F069", name, field=name, table=file, near=near)
    source = row.get("source")
    if isinstance(source, Mapping) and row.get("seen") not in (None, "", source.get("seen")):
        reason = tr("facts.one_day", day=source.get("seen"))
        yield given.problem("CB-F004", "seen", field="seen", value=row["seen"], reason=reason)


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    """A row as cells: what the source says in columns of their own, lists with spaces between."""
    source = row.get("source") or {}
    told = {name: value for name, value in row.items() if name != "source"}
    told |= {"seen": source.get("seen", ""), "grade": source.get("grade", "quoted")}
    told |= {"source_what": source.get("what", ""), "source_url": source.get("url", "")}
    return {
        name: " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        for name, value in told.items()
        if value not in ("", (), [], {}, None) or name == "source_url"
    }


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
        return Edit(file, text, row_text.with_csv_row(text, _cells(row)))
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
