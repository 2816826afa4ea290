"""A file of somebody else's, opened within bounds: encodings, compression, and nothing that unpacks without end."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import os
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

from cabida import files
from cabida.errors import InvalidInput
from cabida.text import problem, tr

BLOCK_BYTES = 1 << 20
MOST_BYTES = 4 << 30  # of a table, as read
MOST_WHOLE_BYTES = 400 << 20  # of a JSON file, which is held whole
MOST_ROWS = 2_000_000
MOST_LINE = 1 << 20  # characters of one line
BOMB_BYTES, BOMB_RATIO = 64 << 20, 300  # tables pack well: repeated names, regions and accounts
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
HEADS = (
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"PAR1", "parquet"),
    (b"\xd0\xcf\x11\xe0", "xls"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"%PDF", "pdf"),
)


@dataclass(frozen=True, slots=True)
class Opened:
    """What a file is before anything of it is understood."""

    path: Path
    kind: str  # text, parquet, xlsx
    sha256: str
    size_bytes: int
    encoding: str = ""
    packed: bool = False
    sure: bool = True  # whether the encoding was told, or decodes without a fault


def refuse(file: Path | str, key: str, **values: object) -> InvalidInput:
    """CB-E050: the file can't be read as a whole; ``key`` is one of the texts ``evidence.import_refused.*``."""
    why = tr(f"evidence.import_refused.{key}", **values)
    return InvalidInput([problem("CB-E050", file=str(file), why=why)])


def opened(path: Path) -> IO[bytes]:
    """The file, open to be read.

    Raises:
        InvalidInput: CB-E050.
    """
    try:
        return files.opened(path)
    except (OSError, ValueError) as error:
        raise refuse(path, "unopened", error=getattr(error, "strerror", None) or str(error)) from None


def look(path: Path) -> Opened:
    """What lies at ``path``: its hash, its size and how to read it.

    Raises:
        InvalidInput: CB-E050, it can't be opened, is empty, broken, packed too well, or of a kind that isn't read.
    """
    with opened(path) as stream:
        head = stream.read(8)
        stream.seek(0)
        size = os.fstat(stream.fileno()).st_size
        if not head:
            raise refuse(path, "empty")
        if size > MOST_BYTES:
            raise refuse(path, "large", most=MOST_BYTES >> 20)
        kind = next((name for mark, name in HEADS if head.startswith(mark)), "text")
        if kind in ("xls", "zstd", "bzip2", "7z", "pdf"):
            raise refuse(path, f"is_{kind}")
        if kind == "zip":
            _workbook(path, stream)
            kind = "xlsx"
            stream.seek(0)
        if kind in ("xlsx", "parquet"):
            return Opened(path, kind, _sha256(stream), size)
        encoding, sure = _encoding(path, stream, kind == "gzip", size)
        stream.seek(0)
        return Opened(path, "text", _sha256(stream), size, encoding, kind == "gzip", sure)


def _sha256(stream: BinaryIO | IO[bytes]) -> str:
    hashed = hashlib.sha256()
    while block := stream.read(BLOCK_BYTES):
        hashed.update(block)
    return hashed.hexdigest()


def _workbook(path: Path, stream: IO[bytes]) -> None:
    """Refuse a zip file that is no workbook, or that unpacks to too much."""
    try:
        with zipfile.ZipFile(stream) as book:
            parts = book.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, EOFError) as error:
        raise refuse(path, "broken", error=str(error)[:120]) from None
    if "xl/workbook.xml" not in (one.filename for one in parts):
        raise refuse(path, "is_zip")
    whole = sum(one.file_size for one in parts)
    packed = max(1, sum(one.compress_size for one in parts))
    if len(parts) > 10_000 or whole > MOST_BYTES or whole > max(BOMB_BYTES, BOMB_RATIO * packed):
        raise refuse(path, "bomb", ratio=BOMB_RATIO)


def unpacked(path: Path, stream: IO[bytes], packed: bool, size: int) -> Iterator[bytes]:
    """The bytes of a file in blocks, a gzip file's unpacked.

    Raises:
        InvalidInput: CB-E050, it is a broken archive, or a bomb.
    """
    source: IO[bytes] = gzip.GzipFile(fileobj=stream) if packed else stream  # type: ignore[assignment]
    seen, most = 0, min(MOST_BYTES, max(BOMB_BYTES, BOMB_RATIO * size)) if packed else MOST_BYTES
    try:
        while block := source.read(BLOCK_BYTES):
            seen += len(block)
            if seen > most:
                raise refuse(path, "bomb", ratio=BOMB_RATIO)
            yield block
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise refuse(path, "broken", error=str(error)[:120]) from None


def _encoding(path: Path, stream: IO[bytes], packed: bool, size: int) -> tuple[str, bool]:
    """How a text is encoded: as its mark says, else UTF-8 if it decodes, UTF-16 by its zeros, else Windows-1252."""
    blocks = unpacked(path, stream, packed, size)
    head = next(blocks, b"")
    if not head.strip(b"\x00 \t\r\n\xef\xbb\xbf"):
        raise refuse(path, "empty")
    for mark, name in MARKS:
        if head.startswith(mark):
            return name, True
    even, odd = head[0:4000:2].count(0), head[1:4000:2].count(0)
    if max(even, odd) > 0.3 * len(head[:4000]) / 2:
        if even and odd and min(even, odd) > 0.1 * len(head[:4000]) / 2:
            raise refuse(path, "binary")
        return ("utf-16-le" if odd > even else "utf-16-be"), True
    if head[:4000].count(0):
        raise refuse(path, "binary")
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(head)
        for block in blocks:
            decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "cp1252", False
    return "utf-8", True


class _Blocks(io.RawIOBase):
    """Blocks of bytes as a stream, for a decoder of text to read from."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._rest = blocks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, into: bytearray | memoryview) -> int:  # type: ignore[override]
        if not self._rest:
            self._rest = next(self._blocks, b"")
        count = min(len(into), len(self._rest))
        into[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def text_of(what: Opened) -> Iterator[str]:
    """The lines of a text with their ends; one that is too long is cut, its rest passed over.

    Raises:
        InvalidInput: CB-E050.
    """
    with opened(what.path) as stream:
        blocks = unpacked(what.path, stream, what.packed, what.size_bytes)
        raw = io.BufferedReader(_Blocks(blocks), BLOCK_BYTES)
        text = io.TextIOWrapper(raw, encoding=what.encoding, errors="replace", newline="")
        read = text.readline
        while line := read(MOST_LINE):
            if len(line) == MOST_LINE and not line.endswith(("\n", "\r")):
                while (rest := read(MOST_LINE)) and not rest.endswith(("\n", "\r")):
                    pass
                line = line[: MOST_LINE - 1] + "\n"
            yield line


def whole_text(what: Opened) -> str:
    """All of a text.

    Raises:
        InvalidInput: CB-E050, it is too large to be held whole.
    """
    with opened(what.path) as stream:
        held, size = [], 0
        for block in unpacked(what.path, stream, what.packed, what.size_bytes):
            size += len(block)
            if size > MOST_WHOLE_BYTES:
                raise refuse(what.path, "large", most=MOST_WHOLE_BYTES >> 20)
            held.append(block)
    return b"".join(held).decode(what.encoding, errors="replace")
