"""A store written as files: a folder that is there whole or not at all, or one ZIP."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cabida.errors import InvalidInput
from cabida.evidence import connect
from cabida.evidence.place import Where, store_path
from cabida.evidence.portable import forms
from cabida.text import problem

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

ROWS_AT_ONCE = 2_000
THE_DAY = (1980, 1, 1, 0, 0, 0)  # of every member of a ZIP, so that the same store is the same bytes
OVER = ("done", "failed", "cancelled", "interrupted")  # states of a job that nobody will work on


class Sink(Protocol):
    """Takes files, one after the other."""

    def begin(self, name: str) -> None:
        """Another file."""

    def write(self, content: bytes) -> None:
        """More of the file that was begun last."""

    def end(self) -> None:
        """No more of it."""


class Folder:
    """Files in a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, name: str) -> None:
        """Another file."""
        target = self.path / name
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.file = target.open("xb")

    def write(self, content: bytes) -> None:
        """More of it."""
        self.file.write(content)

    def end(self) -> None:
        """No more of it: it is on the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()


class Zip:
    """Files in one ZIP."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive

    def begin(self, name: str) -> None:
        """Another file."""
        info = zipfile.ZipInfo(name, THE_DAY)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o600 << 16
        self.file = self.archive.open(info, "w", force_zip64=True)

    def write(self, content: bytes) -> None:
        """More of it."""
        self.file.write(content)

    def end(self) -> None:
        """No more of it."""
        self.file.close()


def export(folder: Path | str, store: Where | str | None = None) -> dict[str, Any]:
    """Write a store into a new folder; what was written.

    Raises:
        InvalidInput: CB-E060, the folder is there and holds something; CB-E061, it can't be written; CB-E019, there is
            no store; CB-E010 to CB-E029, it can't be read.
    """
    target = Path(folder)
    if target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
        raise InvalidInput([problem("CB-E060", file=str(target))])
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        beside.mkdir(mode=0o700, parents=True)
        told = into(Folder(beside), store)
        if target.exists():
            target.rmdir()
        beside.rename(target)
    except OSError as error:
        raise InvalidInput([problem("CB-E061", file=str(target), why=error.strerror or str(error))]) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return {"folder": str(target), **told}


def into(sink: Sink, store: Where | str | None) -> dict[str, Any]:
    """Write a store, as it is at one moment, into a sink; its rows and files."""
    from cabida.evidence.schema import HEAD

    place = store_path(store)
    if not connect.exists(place):
        raise InvalidInput([problem("CB-E019", file=str(place))])
    counts: dict[str, int] = {}
    files: list[tuple[str, str, int]] = []
    with connect.reading(place) as connection:
        for table in forms.tables():
            apart = _texts(sink, connection, table)
            files += apart
            lines = (forms.line_of(table, row).encode() + b"\n" for row in _rows(connection, table, place))
            name, sha256, size, count = _written(sink, f"{table.name}.jsonl", lines)
            files.append((name, sha256, size))
            counts[table.name] = count
    manifest = forms.manifest_text(HEAD, counts, files).encode()
    _written(sink, forms.MANIFEST, iter([manifest]))
    size = sum(one[2] for one in files) + len(manifest)
    return {"schema": HEAD, "rows": counts, "files_count": len(files) + 1, "size_bytes": size}


def _written(sink: Sink, name: str, parts: Iterator[bytes]) -> tuple[str, str, int, int]:
    sink.begin(name)
    hashed, size, count = hashlib.sha256(), 0, 0
    try:
        for part in parts:
            sink.write(part)
            hashed.update(part)
            size += len(part)
            count += 1
    finally:
        sink.end()
    return name, hashed.hexdigest(), size, count


def _texts(sink: Sink, connection: Connection, table: Table) -> list[tuple[str, str, int]]:
    """The texts of a table that have files of their own."""
    apart = forms.APART.get(table.name)
    if apart is None:
        return []
    return [
        _written(sink, apart.name(row), iter([_text(table.name, row, row[apart.column])]))[:3]
        for row in _rows(connection, table, None)
    ]


def _text(table: str, row: dict[str, Any], value: Any) -> bytes:
    if table == forms.COMPRESSED:
        from cabida.evidence.shelf.decisions import unpacked

        return unpacked(value, row["size_bytes"], row["digest"], row["digest"][:12])
    return str(value).encode("utf-8", "surrogatepass")


def _rows(connection: Connection, table: Table, place: Where | None) -> Iterator[dict[str, Any]]:
    """The rows of a table in the order of their keys, a few at a time; jobs that are over."""
    from sqlalchemy import Text, collate, select

    keys: list[Any] = list(table.primary_key.columns)
    if connection.dialect.name == "postgresql":
        keys = [collate(one, "C") if isinstance(one.type, Text) else one for one in keys]
    query = select(table).order_by(*keys)
    if table.name == "jobs":
        query = query.where(table.c.state.in_(OVER))
    apart = forms.APART.get(table.name)
    if place is not None and apart is not None:  # the text itself is written already
        query = query.with_only_columns(*(one for one in table.columns if one.name != apart.column))
    found = connection.execution_options(yield_per=ROWS_AT_ONCE).execute(query).mappings()
    for row in found:
        yield {**row} if apart is None or place is None else {**row, apart.column: ""}
