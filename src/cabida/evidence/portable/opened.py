"""Files of an export that somebody else may have made: bounded, inside their folder, no link followed, no bomb."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from cabida.errors import InvalidInput
from cabida.evidence.portable import forms
from cabida.evidence.shelf.bounds import cut
from cabida.files import is_folder
from cabida.text import problem, tr

MANIFEST_BYTES = 64 * 2**20
LINE_BYTES = 4 * 2**20
TEXT_BYTES = 64 * 2**20
TOTAL_BYTES = 16 * 2**30
FILES_MOST = 500_000
UNREADABLE = (
    OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, RuntimeError, NotImplementedError,
    EOFError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


class Source(Protocol):
    """Where the files are."""

    def open(self, name: str) -> BinaryIO:
        """One of them; OSError or KeyError when it isn't there or is no plain file."""


@dataclass(frozen=True, slots=True)
class FolderSource:
    """Files below a folder; a link on the way is refused."""

    path: Path

    def open(self, name: str) -> BinaryIO:
        """A regular file, by its name within the folder."""
        at = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            *folders, last = name.split("/")
            for folder in folders:
                inner = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
                os.close(at)
                at = inner
            handle = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
        finally:
            os.close(at)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise OSError(tr("facts.not_a_file"))
        return os.fdopen(handle, "rb")


@dataclass(frozen=True, slots=True)
class ZipSource:
    """Members of a ZIP."""

    archive: zipfile.ZipFile

    def open(self, name: str) -> BinaryIO:
        """A member, by its name."""
        return self.archive.open(name)  # type: ignore[return-value]


@dataclass(slots=True)
class Export:
    """An export whose manifest was read; each file is held against it as it is read."""

    source: Source
    shown: str
    schema: str
    rows: dict[str, int]
    files: dict[str, tuple[str, int]]
    seen: set[str] = field(default_factory=set)

    def lines(self, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows of a file with their line numbers.

        Raises:
            InvalidInput: CB-E062, it isn't what the manifest says; CB-E063, a line is no row.
        """
        if name not in self.files:
            return
        sha256, size = self.files[name]
        hashed, count = hashlib.sha256(), 0
        with self._opened(name) as file:
            number = 0
            while line := file.readline(LINE_BYTES + 1):
                number += 1
                count += len(line)
                if len(line) > LINE_BYTES or count > size:
                    raise self.wrong(name, tr("facts.long_line", limit=f"{LINE_BYTES:,}"), number)
                hashed.update(line)
                try:
                    said = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise self.wrong(name, str(error)[:200], number) from None
                if not isinstance(said, dict):
                    raise self.wrong(name, "{…}", number)
                yield number, said
        self._as_said(name, hashed.hexdigest(), count, sha256, size)

    def text(self, name: str) -> bytes:
        """A file that is one text."""
        sha256, size = self.files.get(name, ("", -1))
        if not 0 <= size <= TEXT_BYTES:
            raise self.differs(name)
        with self._opened(name) as file:
            content = file.read(size + 1)
        self._as_said(name, hashlib.sha256(content).hexdigest(), len(content), sha256, size)
        return content

    @contextmanager
    def _opened(self, name: str) -> Iterator[BinaryIO]:
        try:
            with self.source.open(name) as file:
                yield file
        except (
            OSError,
            KeyError,
            zipfile.BadZipFile,
            EOFError,
            NotImplementedError,
            RuntimeError,
            zlib.error,
        ) as error:
            raise self.differs(name, getattr(error, "strerror", None) or str(error)) from None

    def _as_said(self, name: str, sha256: str, count: int, said: str, size: int) -> None:
        if (sha256, count) != (said, size):
            raise self.differs(name)
        self.seen.add(name)

    def differs(self, name: str, why: str = "") -> InvalidInput:
        """The problem of a file that isn't what the manifest says."""
        return InvalidInput([problem("CB-E062", file=self.shown, name=name, why=why or "SHA-256")])

    def wrong(self, name: str, why: str, line: int = 0) -> InvalidInput:
        """The problem of a line that is no row."""
        return InvalidInput([problem("CB-E063", file=self.shown, name=name, number=line, why=why)])


def read(source: Source, shown: str) -> Export:
    """An export by its manifest.

    Raises:
        InvalidInput: CB-E064, there is no manifest, or it says what can't be; CB-E014, a later release wrote it.
    """
    from cabida.evidence.place import HEAD

    try:
        with source.open(forms.MANIFEST) as file:
            said = json.loads(file.read(MANIFEST_BYTES + 1)[:MANIFEST_BYTES])
        form, schema, rows = str(said["form"]), str(said["schema"]), {**said["rows"]}
        files = {str(name): (str(one["sha256"]), one["size_bytes"]) for name, one in said["files"].items()}
    except UNREADABLE as error:
        raise _none(shown, str(error)) from None
    if form != forms.FORM:
        raise _none(shown, form)
    for name, (_, size) in files.items():
        if not forms.NAME.fullmatch(name) or type(size) is not int or size < 0:
            raise _none(shown, name)
    total = sum(size for _, size in files.values())
    if total > TOTAL_BYTES or len(files) > FILES_MOST:
        raise _none(shown, f"{len(files):,} / {total / 1e9:,.0f} GB")
    if schema > HEAD:
        raise InvalidInput([problem("CB-E014", file=shown, found=schema[:20], known=HEAD)])
    return Export(source, shown, schema, rows, files)


def _none(shown: str, why: str) -> InvalidInput:
    return InvalidInput([problem("CB-E064", file=shown, why=cut(why, 200))])


@contextmanager
def opened(path: Path | str) -> Iterator[Export]:
    """An export in a folder or a ZIP.

    Raises:
        InvalidInput: CB-E064, it is neither.
    """
    place = Path(path)
    if is_folder(place):
        yield read(FolderSource(place), str(place))
        return
    try:
        archive = zipfile.ZipFile(place)
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise InvalidInput([problem("CB-E064", file=str(place), why=str(error)[:200])]) from None
    with archive:
        yield read(ZipSource(archive), str(place))
