"""What a store is as files: a manifest, a file of rows for each table, and the long texts each in a file of its own.

::

    manifest.json            schema, rows of each table, SHA-256 and size of every file
    observations.jsonl ...   a row a line: its columns in order; bytes as hexadecimal, JSON as JSON
    briefs/ID-vN.yaml        each version of a brief      decisions/DIGEST.json   each decision
    quotes/qN.yaml           each vendor's quote          plans/ID.yaml           each benchmark plan

The same rows are the same bytes, whichever database they come from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import Column, Table

FORM = "cabida/store/1"
MANIFEST = "manifest.json"
NOT_FILES = ("servers", "audit_end")  # who runs just now; the last line of the log, known by the log itself
JSON_COLUMNS = {
    "observations.row", "api_sightings.row", "tracked_months.row", "quotes.seen", "jobs.asked", "jobs.progress",
    "jobs.result", "jobs.errors", "bench_runs.summary", "price_sightings.field_sources", "price_sightings.more",
}  # fmt: skip
NAME = re.compile(r"(?:(?:briefs|decisions|quotes|plans)/)?[A-Za-z0-9_-]{1,100}\.(?:jsonl|json|yaml)")


@dataclass(frozen=True, slots=True)
class Apart:
    """A column whose text has a file of its own, named after the row."""

    column: str
    folder: str
    ending: str
    keys: tuple[str, ...]

    def name(self, row: dict[str, Any]) -> str:
        """The name of the row's file, within the folder of the export."""
        key = "-v".join(str(row[name]) for name in self.keys)
        return f"{self.folder}/{'q' if self.folder == 'quotes' else ''}{key}.{self.ending}"


APART = {
    "brief_versions": Apart("text", "briefs", "yaml", ("brief_id", "version")),
    "decision_texts": Apart("content", "decisions", "json", ("digest",)),
    "quotes": Apart("content", "quotes", "yaml", ("id",)),
    "bench_runs": Apart("plan_text", "plans", "yaml", ("id",)),
}
COMPRESSED = "decision_texts"  # its text is kept compressed


def tables() -> list[Table]:
    """The tables that are exported, each after those it points to."""
    from cabida.evidence.schema import METADATA

    return [one for one in METADATA.sorted_tables if one.name not in NOT_FILES]


def numbered(table: Table) -> bool:
    """Whether the database counts the table's rows itself."""
    from sqlalchemy import Integer

    keys = list(table.primary_key.columns)
    return len(keys) == 1 and isinstance(keys[0].type, Integer) and keys[0].autoincrement is not False


def is_bytes(column: Column[Any]) -> bool:
    """Whether a column holds bytes."""
    from sqlalchemy import LargeBinary

    return isinstance(column.type, LargeBinary)


def line_of(table: Table, row: dict[str, Any]) -> str:
    """A row as a line of JSON."""
    apart = APART.get(table.name)
    said: dict[str, Any] = {}
    for column in table.columns:
        value = row[column.name]
        if apart and column.name == apart.column:
            value = {"file": apart.name(row)}
        elif isinstance(value, bytes):
            value = value.hex()
        elif value is not None and f"{table.name}.{column.name}" in JSON_COLUMNS:
            value = _plain(value)
        said[column.name] = value
    return json.dumps(said, ensure_ascii=False, allow_nan=False)


def _plain(text: str) -> Any:
    """JSON as JSON where it comes back to the letter, else the text."""
    if text[:1] not in ("{", "["):
        return text
    try:
        said = json.loads(text)
        again = json.dumps(said, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):
        return text
    return said if again == text else text


def row_of(table: Table, said: dict[str, Any]) -> dict[str, Any]:
    """Inverse of ``line_of``, but for a text that has a file of its own: there the name of the file.

    Raises:
        ValueError: it is no row of the table.
    """
    apart = APART.get(table.name)
    names = [column.name for column in table.columns]
    if unknown := sorted(set(said) - set(names)):
        message = f"{unknown[0]!r} is no column"
        raise ValueError(message)
    row: dict[str, Any] = {}
    for column in table.columns:
        if column.name not in said and not column.nullable:
            message = f"{column.name!r} is missing"
            raise ValueError(message)
        row[column.name] = _value(table, column, said.get(column.name))
    if apart and said[apart.column] != {"file": apart.name(row)}:
        message = f"{apart.column!r} should be in {apart.name(row)}"
        raise ValueError(message)
    return row


def _value(table: Table, column: Column[Any], value: Any) -> Any:
    apart = APART.get(table.name)
    if apart and column.name == apart.column:
        return ""
    if value is None:
        if column.nullable:
            return None
        message = f"{column.name!r} is empty"
        raise ValueError(message)
    if is_bytes(column):
        return bytes.fromhex(value) if isinstance(value, str) else _wrong(column, value)
    if isinstance(value, dict | list) and f"{table.name}.{column.name}" in JSON_COLUMNS:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    kind = column.type.python_type
    fits = isinstance(value, kind) or (kind is float and isinstance(value, int))
    if isinstance(value, bool) or not fits or (isinstance(value, int) and abs(value) > 2**63 - 1):
        _wrong(column, value)
    return kind(value)


def _wrong(column: Column[Any], value: Any) -> Any:
    message = f"{column.name!r} can't be {str(value)[:40]!r}"
    raise ValueError(message)


def manifest_text(schema: str, counts: dict[str, int], files: Iterable[tuple[str, str, int]]) -> str:
    """The manifest: files by name with digest and size."""
    said = {
        "form": FORM,
        "schema": schema,
        "rows": counts,
        "files": {name: {"sha256": sha256, "size_bytes": size} for name, sha256, size in sorted(files)},
    }
    return json.dumps(said, ensure_ascii=False, indent=1) + "\n"
