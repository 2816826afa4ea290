"""What keeps a row out of the tables of facts, beyond what its fields allow one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cabida.errors import InvalidInput, Problem
from cabida.facts import load, market, overlay, row_text
from cabida.facts.added_row import Given
from cabida.facts.check import contradictions
from cabida.facts.hardware import bare_name
from cabida.facts.model import Accelerator, Offer
from cabida.facts.releases import numbers, same
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


def unwritable(raw: Any, given: Given, at: tuple[str, ...] = ()) -> Iterator[Problem]:
    """Values with a line break or a character that can't be seen: a row is one line, or a few."""
    if isinstance(raw, Mapping):
        for key, value in raw.items():
            yield from unwritable(value, given, (*at, str(key)))
    elif isinstance(raw, list | tuple):
        for value in raw:
            yield from unwritable(value, given, at)
    elif not str(raw).isprintable():
        reason = tr("facts.not_printable")
        yield given.problem("CB-F004", *at, field=".".join(at), value=repr(str(raw))[:60], reason=reason)


def impossible(one: Any, given: Given, today: str) -> Iterator[Problem]:
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


def references(kind: str, one: Any, given: Given, data: Path) -> Iterator[Problem]:
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


def given_twice(
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


def class_and_names(id: str, beside: Mapping[str, Any], given: Given, data: Path) -> Iterator[Problem]:
    """A class that there is none of, or none given, and names that another accelerator has."""
    known = _ids(data / "classes.yaml")
    if not beside["class"]:
        yield given.problem("CB-F073", "class", known=", ".join(sorted(known)))
    elif str(beside["class"]) not in known:
        near = closest(str(beside["class"]), known) or ", ".join(sorted(known))
        yield given.problem("CB-F065", "class", field="class", value=beside["class"], near=near)
    taken = _other_names(data)
    for name in listed_names(beside):
        other = taken.get(bare_name(name))
        if other:
            yield problem("CB-F060", file=str(data / "names.yaml"), record=name, other=other)
        if not name.isprintable():
            reason = tr("facts.not_printable")
            yield given.problem("CB-F004", "names", field="names", value=repr(name)[:60], reason=reason)


def listed_names(beside: Mapping[str, Any]) -> list[str]:
    """The other names given of an accelerator: a list, or commas between."""
    names = beside.get("names") or []
    found = names.split(",") if isinstance(names, str) else names
    return [str(name).strip() for name in found if str(name).strip()]


def no_column(row: Mapping[str, Any], given: Given, text: str, file: str) -> Iterator[Problem]:
    """What a CSV table has no place for."""
    known = row_text.columns(text)
    for name in row_text.csv_cells(row):
        if name not in known:
            near = closest(name, known) or ", ".join(known[:8])
            yield given.problem("CB-F069", name, field=name, table=file, near=near)
    source = row.get("source")
    if isinstance(source, Mapping) and row.get("seen") not in (None, "", source.get("seen")):
        reason = tr("facts.one_day", day=source.get("seen"))
        yield given.problem("CB-F004", "seen", field="seen", value=row["seen"], reason=reason)
