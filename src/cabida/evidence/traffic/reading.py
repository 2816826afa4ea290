"""Logs read line by line, whatever wrote them and however large they are."""

from __future__ import annotations

import csv
import gzip
import hashlib
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from pathlib import Path
from typing import IO, Any, Protocol

import orjson

from cabida import files
from cabida.errors import InvalidInput
from cabida.evidence.secrets import redacted
from cabida.evidence.traffic.columns import Requests
from cabida.evidence.traffic.engines import Vllm, sglang_line
from cabida.evidence.traffic.gateways import Rows, gateways
from cabida.evidence.traffic.prefixes import ByModel
from cabida.evidence.traffic.sniffing import HEAD_BYTES, first_lines, listed, rows_in_lines, sniffed
from cabida.evidence.traffic.times import Clock
from cabida.evidence.traffic.weblogs import Paths, haproxy_line, nginx_line
from cabida.text import printable, problem, tr

LINE_BYTES_MOST = 16 * 2**20
WHOLE_BYTES_MOST = 512 * 2**20  # of a JSON array, which is held whole
BLOCK_BYTES = 1 << 20
SHOWN_FAULTS = 5
FAULTY_RATIO_MOST = 0.5
UNPACKED_RATIO_MOST = 500  # logs pack some twenty times
UNPACKED_BYTES_FREE = 256 * 2**20
PACKED = ((b"\x28\xb5\x2f\xfd", "zstd"), (b"BZh", "bzip2"), (b"PK\x03\x04", "zip"), (b"\xfd7zXZ", "xz"))


class Stream(Protocol):
    """What bytes are read from."""

    def read(self, size: int, /) -> bytes:
        """At most so many; none at the end."""


@dataclass(slots=True)
class Source:
    """What came of one file.

    Attributes:
        lines_count: lines or rows looked at; malformed_count: those that make no sense; faults: the first, (line, why).
        others: requests of other things than a model, by path.
        naive_count: moments without a zone, read as of the zone that was assumed.
        gateway_cached_count: requests that the gateway answered itself, from a cache of answers.
    """

    file: str
    format: str = ""
    lines_count: int = 0
    malformed_count: int = 0
    faults: list[tuple[int, str]] = field(default_factory=list)
    requests_count: int = 0
    others: dict[str, int] = field(default_factory=dict)
    others_count: int = 0
    naive_count: int = 0
    hit_ratio: float | None = None
    unanswered_count: int = 0
    gateway_cached_count: int = 0

    def fault(self, line: int, why: str) -> None:
        """Note a line that makes no sense."""
        self.malformed_count += 1
        if len(self.faults) < SHOWN_FAULTS:
            self.faults.append((line, why))


@dataclass(slots=True)
class Wish:
    """How logs are to be read.

    Attributes:
        format: "" = found out, file by file.
        paths: beginnings of the paths that count in access logs; () = those that ask a model for something.
        zone: of moments that name none.
        kept: where prompts go; models: only prompts of these.
        progress: told the bytes read, and how many there are.
    """

    format: str = ""
    paths: Sequence[str] = ()
    zone: tzinfo = UTC
    kept: IO[bytes] | None = None
    models: Sequence[str] = ()
    progress: Callable[[str, int, int], None] | None = None


@dataclass(slots=True)
class Read:
    """All that was read."""

    requests: Requests
    prefixes: ByModel
    sources: list[Source] = field(default_factory=list)
    kept_count: int = 0
    kept_left_count: int = 0


def read_logs(paths: Sequence[str], requests: Requests, wish: Wish) -> Read:
    """Logs of files into one set of requests.

    Args:
        paths: files, plain or gzip; "-" is standard input.
        requests: empty, with the time that is wanted.
        wish: how.

    Raises:
        InvalidInput: a file can't be read (CB-I001), is nothing that is known (CB-I002), is mostly malformed
            (CB-I004), is one of the others (CB-I006), or there are too many requests (CB-I003).
    """
    read = Read(requests, ByModel())
    hashed = len(paths) > 1
    same: dict[str, str] = {}
    for place, path in enumerate(paths):
        requests.place = place
        source = Source(printable(redacted(path)) if path != "-" else "-")
        with _opened(path, wish.progress) as (stream, written_s, digest):
            if digest and digest in same:
                raise InvalidInput([problem("CB-I006", file=source.file, other=same[digest])])
            same[digest] = source.file
            before = len(requests)
            _read(stream, written_s, source, read, wish, hashed=hashed)
            source.requests_count = len(requests) - before
        if source.malformed_count > FAULTY_RATIO_MOST * source.lines_count:
            line, why = source.faults[0]
            raise InvalidInput(
                [
                    problem(
                        "CB-I004",
                        file=source.file,
                        line=line,
                        count=f"{source.malformed_count:,}",
                        lines=f"{source.lines_count:,}",
                        format=source.format,
                        why=tr(f"traffic.fault.{why}"),
                    )
                ]
            )
        read.sources.append(source)
    return read


@contextmanager
def _opened(
    path: str, progress: Callable[[str, int, int], None] | None
) -> Iterator[tuple[Stream, float, str]]:
    """A file's bytes, when it was written, and a hash of its beginning and size by which it is known again."""
    import time

    try:
        if path == "-":
            yield sys.stdin.buffer, time.time(), ""
            return
        with files.opened(path) as file:
            head = file.read(HEAD_BYTES)
            status = os.fstat(file.fileno())
            file.seek(0)
            packed = next((name for mark, name in PACKED if head.startswith(mark)), "")
            if packed:
                raise InvalidInput([_unreadable(path, tr("traffic.packed", kind=packed))])
            told = file if progress is None else _Told(file, status.st_size, progress)
            digest = hashlib.sha256(head + str(status.st_size).encode()).hexdigest()
            if head[:2] == b"\x1f\x8b":
                with gzip.open(told) as unpacked:
                    yield _Bounded(unpacked, status.st_size), status.st_mtime, digest
            else:
                yield told, status.st_mtime, digest
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise InvalidInput([_unreadable(path, getattr(error, "strerror", None) or str(error))]) from None


def _unreadable(path: str, why: str) -> Any:
    return problem("CB-I001", file=printable(redacted(path)), why=printable(why)[:200])


class _Told:
    """A file that tells how much of it was read."""

    def __init__(self, file: IO[bytes], bytes_: int, progress: Callable[[str, int, int], None]) -> None:
        self._file, self._bytes, self._progress = file, bytes_, progress

    def read(self, size: int = -1, /) -> bytes:
        """As the file does."""
        found = self._file.read(size)
        self._progress("import", self._file.tell(), self._bytes)
        return found

    def seek(self, place: int, whence: int = 0, /) -> int:
        """As the file does; unpacking needs it."""
        return self._file.seek(place, whence)


class _Bounded:
    """An unpacked stream that ends in an error where it grows beyond what logs do."""

    def __init__(self, stream: Stream, packed_bytes: int) -> None:
        self._stream, self._bytes = stream, 0
        self._most = UNPACKED_BYTES_FREE + packed_bytes * UNPACKED_RATIO_MOST

    def read(self, size: int, /) -> bytes:
        """As the stream does."""
        found = self._stream.read(size)
        self._bytes += len(found)
        if self._bytes > self._most:
            raise OSError(None, tr("traffic.unpacks"))
        return found


def _lines(head: bytes, stream: Stream) -> Iterator[bytes | None]:
    """Lines without their ends; ``None`` for one that is longer than LINE_BYTES_MOST."""
    rest, long = head, False
    while True:
        block = stream.read(BLOCK_BYTES)
        if not block:
            break
        pieces = (rest + block).split(b"\n")
        rest = pieces.pop()
        if long and pieces:  # the end of a line that was left
            pieces.pop(0)
            long = False
        yield from pieces
        if len(rest) > LINE_BYTES_MOST:
            if not long:
                yield None
            rest, long = b"", True
    if not long:
        yield from rest.split(b"\n") if rest else ()


def _head(stream: Stream) -> tuple[bytes, bool]:
    """The first part of a stream, so long as it takes to know what it is, and whether that is all of it."""
    found = b""
    while len(found) < HEAD_BYTES or (b"\n" not in found and len(found) <= LINE_BYTES_MOST):
        block = stream.read(HEAD_BYTES)
        if not block:
            return found, True
        found += block
    return found, False


def _read(stream: Stream, written_s: float, source: Source, read: Read, wish: Wish, *, hashed: bool) -> None:
    head, whole = _head(stream)
    head = head.removeprefix(b"\xef\xbb\xbf")
    if head.lstrip()[:1] in (b"[", b"{") and not rows_in_lines(first_lines(head, whole=whole)):
        head, whole = head + stream.read(WHOLE_BYTES_MOST - len(head) + 1), True
    shape, source.format = sniffed(head, wish.format, source.file, whole=whole)
    clock, paths = Clock(wish.zone), Paths(wish.paths)
    if source.format in gateways():
        rows = Rows(gateways()[source.format], read.requests, clock, paths, read.prefixes, wish.kept)
        if wish.models:
            chosen = frozenset(wish.models)
            rows.wanted = chosen.__contains__
        feed = {"lines": _json_lines, "whole": _json_whole, "table": _table}[shape]
        for number, row in feed(head, stream, source):
            source.lines_count += 1
            if why := rows.take(row) if row is not None else "json":
                source.fault(number, why)
        source.gateway_cached_count = rows.cached_count
        read.kept_count += rows.kept_count
        read.kept_left_count += rows.kept_left_count
    else:
        _texts(head, stream, written_s, source, read, clock, paths, hashed=hashed)
    source.naive_count = clock.naive_count
    others = paths.others
    source.others_count, source.others = others.total(), dict(others.most_common(5))


def _texts(
    head: bytes,
    stream: Stream,
    written_s: float,
    source: Source,
    read: Read,
    clock: Clock,
    paths: Paths,
    *,
    hashed: bool,
) -> None:
    requests = read.requests
    engine = Vllm(requests, clock, read.prefixes, written_s)
    takes: dict[str, Callable[[bytes], str]] = {
        "nginx": lambda line: nginx_line(line, requests, clock, paths, hashed=hashed),
        "haproxy": lambda line: haproxy_line(line, requests, clock, paths, hashed=hashed),
        "vllm": lambda line: engine.take(line.decode("utf-8", "replace")),
        "sglang": lambda line: sglang_line(line.decode("utf-8", "replace"), requests, clock),
    }
    take = takes[source.format]
    number = 0
    for number, line in enumerate(_lines(head, stream), 1):
        if line is None:
            source.fault(number, "long")
        elif line and (why := take(line.rstrip(b"\r"))):
            source.fault(number, why)
    source.lines_count = number
    engine.close()
    source.hit_ratio, source.unanswered_count = engine.hit_ratio, engine.unanswered_count


def _json_lines(head: bytes, stream: Stream, source: Source) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(_lines(head, stream), 1):
        if line is None:
            source.lines_count += 1
            source.fault(number, "long")
        elif line.strip():
            try:
                yield number, orjson.loads(line)
            except orjson.JSONDecodeError:
                yield number, None


def _json_whole(head: bytes, stream: Stream, source: Source) -> Iterator[tuple[int, Any]]:
    text = head + stream.read(WHOLE_BYTES_MOST - len(head) + 1)
    if len(text) > WHOLE_BYTES_MOST:
        raise InvalidInput([_unreadable(source.file, tr("traffic.whole", most=WHOLE_BYTES_MOST >> 20))])
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidInput([_unreadable(source.file, f"JSON: {error.msg}")]) from None
    yield from enumerate(listed(found) or [found], 1)


def _table(head: bytes, stream: Stream, source: Source) -> Iterator[tuple[int, Any]]:
    csv.field_size_limit(LINE_BYTES_MOST)
    texts = (
        line.decode("utf-8", "replace").replace("\0", "") + "\n"
        for line in _lines(head, stream)
        if line is not None
    )
    rows = csv.DictReader(texts)
    while True:
        try:
            row = next(rows, None)
        except csv.Error:
            yield rows.line_num, None
            continue
        if row is None:
            return
        yield rows.line_num, {name: value for name, value in row.items() if name and value not in (None, "")}


def path_of(text: str) -> Path | None:
    """The file that an argument names; ``None`` where it is an address."""
    return None if text.startswith(("http://", "https://")) else Path(text)
