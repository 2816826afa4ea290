"""The lines of a file that somebody else wrote: any size, any line end, any encoding, compressed or not.

Memory stays bounded whatever the file holds: a line keeps its first ``LINE_BYTES``, a compressed file is read up to
``MOST_BYTES``, and where a long file says nothing that anybody looks for it is skipped in blocks.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import hashlib
import json
import lzma
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from cabida import files
from cabida.errors import InvalidInput
from cabida.text import problem

BLOCK_BYTES = 1 << 20
LINE_BYTES = 1 << 16
MOST_BYTES = 8 << 30  # of a file as read; a compressed one can hold more than any disk
BOMB_BYTES, BOMB_RATIO = 64 << 20, 200  # logs pack 5 to 50 times
PACKED = {b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd", b"7z\xbc\xaf\x27\x1c": "7z"}
ALL_LINES_BYTES = 4 << 20  # the beginning, of which every line is looked at
_ANSI = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|\[(?:\d{1,2};)*\d{1,2}m"
)
_COLOURS = ("\x1b", "[0;", "[0m", "[1;", "[1m", "[3", "[9")  # also without their escape, as some logs lose it
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MARKS = (  # how a file of 16-bit text begins
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WRAPPED = ("log", "message", "msg", "MESSAGE", "textPayload", "line")
Numbered = tuple[int, str]


def digest(path: Path) -> tuple[str, int]:
    """SHA-256 of a file as it lies there, and its size in bytes.

    Raises:
        InvalidInput: CB-E001, it can't be read.
    """
    hashed, size = hashlib.sha256(), 0
    with opened(path) as stream:
        while block := stream.read(BLOCK_BYTES):
            hashed.update(block)
            size += len(block)
    return hashed.hexdigest(), size


def opened(path: Path) -> IO[bytes]:
    """The file, open to be read.

    Raises:
        InvalidInput: CB-E001.
    """
    try:
        return files.opened(path)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InvalidInput([problem("CB-E001", file=str(path), why=why)]) from None


def text_of(stream: IO[bytes], file: str, most_bytes: int) -> str:
    """The first ``most_bytes`` of what an open file holds as text: unpacked, whatever its encoding.

    Raises:
        InvalidInput: CB-E001, CB-E002, CB-E005.
    """
    blocks: list[bytes] = []
    room = most_bytes
    try:
        for block in _text_blocks(_unpacked(stream, file)):
            blocks.append(block[:room])
            room -= len(block)
            if room <= 0:
                break
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise InvalidInput([problem("CB-E002", file=file, why=str(error))]) from None
    except OSError as error:
        code = "CB-E001" if error.errno is not None else "CB-E002"
        raise InvalidInput([problem(code, file=file, why=error.strerror or str(error))]) from None
    return b"".join(blocks).decode("utf-8", "replace")


class Lines:
    """The lines of a file with their numbers, cleaned; ``last`` is the number of the last one once they are read."""

    def __init__(self, path: Path, wanted: Sequence[str] = (), every_bytes: int = ALL_LINES_BYTES) -> None:
        """Nothing is read yet.

        Args:
            path: The file.
            wanted: Words worth looking for; none = every line.
            every_bytes: Beyond these, only the lines of blocks that hold one of the words are handed out.
        """
        self.path, self.words, self.every_bytes = path, [word.encode() for word in wanted], every_bytes
        self.last = 0

    def __iter__(self) -> Iterator[Numbered]:
        """Read the file.

        Raises:
            InvalidInput: CB-E001, CB-E002 (a broken compressed file).
        """
        file = str(self.path)
        with opened(self.path) as stream:
            try:
                yield from self._numbered(self._bounded(_text_blocks(_unpacked(stream, file))))
            except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
                raise InvalidInput([problem("CB-E002", file=file, why=str(error))]) from None
            except OSError as error:
                if error.errno is None:  # what bz2 says of a stream it can't follow
                    raise InvalidInput([problem("CB-E002", file=file, why=str(error))]) from None
                why = error.strerror or str(error)
                raise InvalidInput([problem("CB-E001", file=file, why=why)]) from None

    def _bounded(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """The blocks, as long as they are no bomb: a small file that unpacks without end."""
        most = max(BOMB_BYTES, BOMB_RATIO * self.path.stat().st_size)
        seen = 0
        for block in blocks:
            seen += len(block)
            if seen > most:
                why = f"more than {BOMB_RATIO} times its size"
                raise InvalidInput([problem("CB-E002", file=str(self.path), why=why)])
            yield block

    def _numbered(self, blocks: Iterable[bytes]) -> Iterator[Numbered]:
        self.last, rest, seen = 0, b"", 0
        for block in blocks:
            seen += len(block)
            whole, mark, after = (rest + block).rpartition(b"\n")
            rest = after[:LINE_BYTES]
            if not mark:  # a line longer than a block
                continue
            if seen > self.every_bytes and self.words and not any(word in whole for word in self.words):
                self.last += whole.count(b"\n") + 1
                continue
            for line in whole.split(b"\n"):
                self.last += 1
                if line:
                    yield from ((self.last, text) for text in _pieces(line))
        if rest:
            self.last += 1
            yield from ((self.last, text) for text in _pieces(rest))


def _unpacked(stream: IO[bytes], file: str) -> IO[bytes]:
    """What a compressed file holds.

    Raises:
        InvalidInput: CB-E005, it is packed in a way that nothing here unpacks.
    """
    start = stream.read(6)
    stream.seek(0)
    for mark, name in PACKED.items():
        if start.startswith(mark):
            raise InvalidInput([problem("CB-E005", file=file, name=name)])
    openers: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
    found: IO[bytes] = next(
        (unpack(stream) for mark, unpack in openers.items() if start.startswith(mark)), stream
    )
    return found


def _text_blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """Blocks of UTF-8, whatever the file is in."""
    first = stream.read(BLOCK_BYTES)
    code = next((name for mark, name in _MARKS if first.startswith(mark)), None)
    if code is None:
        yield first.removeprefix(codecs.BOM_UTF8)
    decoder = codecs.getincrementaldecoder(code)(errors="replace") if code else None
    if decoder:
        yield decoder.decode(first[2:]).encode()
    seen = len(first)
    while seen < MOST_BYTES and (block := stream.read(BLOCK_BYTES)):
        seen += len(block)
        yield decoder.decode(block).encode() if decoder else block


def _pieces(line: bytes) -> Iterator[str]:
    """What a line shows: bars that draw over themselves (carriage returns) are several."""
    text = line[:LINE_BYTES].decode("utf-8", "replace")
    for piece in text.split("\r") if "\r" in text else (text,):
        if shown := cleaned(piece):
            yield shown


def cleaned(text: str) -> str:
    """A line without colours, control characters and the JSON that a log driver wraps around it."""
    if text[:1] == "{" and text.rstrip()[-1:] == "}":
        text = _inner(text)
    if any(start in text for start in _COLOURS):
        text = _ANSI.sub("", text)
    return _UNSEEN.sub("", text.replace("\t", " ")).rstrip()


def _inner(text: str) -> str:
    try:
        row: Any = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(row, dict) and "measured" not in row:
        inner = next((row[key] for key in _WRAPPED if isinstance(row.get(key), str)), None)
        if inner is not None:
            return str(inner).replace("\n", " ")
    return text
