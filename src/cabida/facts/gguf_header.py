"""GGUF headers (versions 2 and 3): metadata and tensor table, read within bounds, no weight touched.

Layout (ggml's gguf specification): magic, version, tensor count, metadata count; metadata as key, type, value;
tensors as name, dimensions, type, offset; then the data, aligned. A broken file is refused with the byte where it
breaks.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, NoReturn

from cabida.errors import InvalidInput
from cabida.text import problem, tr

MAGIC = b"GGUF"
HEADER_BYTES_MOST = 64 * 2**20  # large vocabularies take 10 to 20 MB
TENSORS_MOST = 50_000
PAIRS_MOST = 20_000
STRING_BYTES_MOST = 4 * 2**20
NAME_BYTES_MOST = 1024
ITEMS_MOST = 3_000_000  # of all arrays together
LIST_ITEMS = 30  # what a list in a list counts for: it takes as long to read as so many texts
KEPT_MOST = 4096  # longer arrays (vocabularies) are told by their length only
DEPTH_MOST = 3
DIMENSIONS_MOST = 8

# type number -> name, elements per block, bytes per block (ggml.h)
TYPES: dict[int, tuple[str, int, int]] = {
    0: ("F32", 1, 4),
    1: ("F16", 1, 2),
    2: ("Q4_0", 32, 18),
    3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34),
    9: ("Q8_1", 32, 36),
    10: ("Q2_K", 256, 84),
    11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210),
    15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18),
    21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136),
    24: ("I8", 1, 1),
    25: ("I16", 1, 2),
    26: ("I32", 1, 4),
    27: ("I64", 1, 8),
    28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56),
    30: ("BF16", 1, 2),
    34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66),
    39: ("MXFP4", 32, 17),
    40: ("NVFP4", 64, 36),
    41: ("Q1_0", 128, 18),
    42: ("Q2_0", 64, 18),
}
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_OTHERS = ((b"PK\x03\x04", "zip"), (b"version https://git-lfs", "lfs"), (b"<", "page"), (b"\x1f\x8b", "gzip"))

More = Callable[[int], bytes]  # the next bytes of the file: at least so many, fewer only at its end


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of the file."""

    name: str
    type: str
    elements_count: int
    size_bytes: int
    offset_bytes: int


@dataclass(frozen=True, slots=True)
class LongArray:
    """An array too long to keep: how many items it had."""

    items_count: int


@dataclass(frozen=True, slots=True)
class Header:
    """What the header of one file says."""

    version: int
    metadata: dict[str, Any]
    tensors: tuple[Tensor, ...]


def read_header(more: More, file_bytes: int, name: str) -> Header:
    """The header of a GGUF file, in bounded time and memory.

    Args:
        more: gives the file's bytes in order, at least as many as asked for.
        file_bytes: how large the file is.
        name: its name, for complaints.

    Raises:
        InvalidInput: CB-F013 with the byte where the file is truncated or wrong.
    """
    return _Reader(more, file_bytes, name).all()


class _Reader:
    """A cursor over the header that never reads past its bounds."""

    def __init__(self, more: More, file_bytes: int, name: str) -> None:
        self.more, self.file_bytes, self.name = more, file_bytes, name
        self.data = bytearray()
        self.at = 0
        self.order = "<"
        self.items_left = ITEMS_MOST

    def all(self) -> Header:
        """The whole header."""
        self.magic()
        version = self.version()
        tensors_count, pairs_count = self.number("Q"), self.number("Q")
        if tensors_count > TENSORS_MOST or pairs_count > PAIRS_MOST:
            self.broken(tr("facts.gguf.counts", tensors=tensors_count, pairs=pairs_count))
        metadata: dict[str, Any] = {}
        for _ in range(pairs_count):
            key = self.text(NAME_BYTES_MOST)
            if key in metadata:
                self.broken(tr("facts.gguf.twice", name=key[:60]))
            metadata[key] = self.value(self.number("I"))
        tensors = [self.tensor() for _ in range(tensors_count)]
        self.check_data(metadata, tensors)
        return Header(version, metadata, tuple(tensors))

    def magic(self) -> None:
        """The file begins as it must; if not, what it is instead."""
        self.have(min(32, self.file_bytes))
        if self.data[:4] != MAGIC:
            kind = next((kind for magic, kind in _OTHERS if self.data.startswith(magic)), "other")
            self.broken(tr(f"facts.really.{kind}"), 0)
        self.at = 4

    def version(self) -> int:
        """2 or 3, which also says the byte order."""
        version: int = self.number("I")
        if version >> 24 and not version & 0xFFFF:
            self.order, version = ">", version >> 24
        if version not in (2, 3):
            self.broken(tr("facts.gguf.version", version=version), 4)
        return version

    def tensor(self) -> Tensor:
        """One line of the tensor table."""
        name = self.text(NAME_BYTES_MOST)
        dimensions = self.number("I")
        if dimensions > DIMENSIONS_MOST:
            self.broken(tr("facts.gguf.dimensions", name=name[:60], count=dimensions))
        shape = [self.number("Q") for _ in range(dimensions)]
        number, offset = self.number("I"), self.number("Q")
        if number not in TYPES:
            self.broken(tr("facts.gguf.type", name=name[:60], number=number))
        kind, block, block_bytes = TYPES[number]
        elements = prod(shape)
        if elements > 2**50 or offset > 2**60:
            self.broken(tr("facts.gguf.elements", name=name[:60], elements=elements, offset=offset))
        return Tensor(name, kind, elements, -(-elements // block) * block_bytes, offset)

    def check_data(self, metadata: dict[str, Any], tensors: list[Tensor]) -> None:
        """The data begins aligned after the header, holds every tensor, and no name stands twice."""
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or not 0 < alignment <= 2**20:
            self.broken(tr("facts.gguf.alignment", value=str(alignment)[:40]))
        start = -(-self.at // alignment) * alignment
        last = max(tensors, key=lambda one: one.offset_bytes + one.size_bytes, default=None)
        end = start + last.offset_bytes + last.size_bytes if last else 0
        if last is not None and end > self.file_bytes:
            self.broken(tr("facts.gguf.ends", name=last.name[:60], end=end), self.file_bytes)
        if len({one.name for one in tensors}) < len(tensors):
            self.broken(tr("facts.gguf.tensor_twice"))
        held = sum(one.size_bytes for one in tensors)
        if held > max(0, self.file_bytes - start):
            self.broken(tr("facts.overlap", held=held, data=self.file_bytes - start))

    def value(self, kind: int, depth: int = 0) -> Any:
        """A value of the metadata."""
        if kind in _SCALARS:
            return self.number(_SCALARS[kind])
        if kind == _STRING:
            return self.text()
        if kind != _ARRAY or depth >= DEPTH_MOST:
            self.broken(tr("facts.gguf.value", kind=kind, depth=depth))
        inner, count = self.number("I"), self.number("Q")
        if inner in _SCALARS:
            return self.scalars(_SCALARS[inner], count)
        self.items_left -= count * (LIST_ITEMS if inner == _ARRAY else 1)
        if self.items_left < 0:
            self.broken(tr("facts.gguf.array", count=count))
        if count <= KEPT_MOST:
            return [self.value(inner, depth + 1) for _ in range(count)]
        if inner == _STRING:
            self.skip_texts(count)
        else:
            for _ in range(count):
                self.value(inner, depth + 1)
        return LongArray(count)

    def scalars(self, letter: str, count: int) -> Any:
        """An array of numbers, kept when it is short."""
        pattern = struct.Struct(f"{self.order}{letter}")
        start, size = self.at, count * pattern.size
        if size > HEADER_BYTES_MOST:
            self.broken(tr("facts.gguf.array", count=count))
        self.have(self.at + size)
        self.at += size
        if count > KEPT_MOST:
            return LongArray(count)
        return list(struct.unpack_from(f"{self.order}{count}{letter}", self.data, start))

    def skip_texts(self, count: int) -> None:
        """Go past so many texts; a vocabulary has hundreds of thousands."""
        length_at = struct.Struct(f"{self.order}Q").unpack_from
        at, there = self.at, len(self.data)
        for _ in range(count):
            if at + 8 > there:
                there = self.have(at + 8)
            (length,) = length_at(self.data, at)
            at += 8 + length
            if at > there:
                if length > STRING_BYTES_MOST:
                    self.broken(tr("facts.gguf.text", length=length), at - length)
                there = self.have(at)
        self.at = at

    def text(self, most: int = STRING_BYTES_MOST) -> str:
        """A text after its length."""
        length = self.number("Q")
        if length > most:
            self.broken(tr("facts.gguf.text", length=length))
        start = self.at
        self.have(start + length)
        self.at += length
        return bytes(self.data[start : self.at]).decode("utf-8", "replace")

    def number(self, letter: str) -> Any:
        """One number."""
        pattern = struct.Struct(f"{self.order}{letter}")
        start = self.at
        self.have(start + pattern.size)
        self.at += pattern.size
        return pattern.unpack_from(self.data, start)[0]

    def have(self, end: int) -> int:
        """Makes sure the bytes up to ``end`` are there; how many are."""
        if end <= len(self.data):
            return len(self.data)
        if end > self.file_bytes:
            self.broken(tr("facts.gguf.short", missing=end - self.file_bytes))
        if end > HEADER_BYTES_MOST:
            self.broken(tr("facts.gguf.long", limit=f"{HEADER_BYTES_MOST / 1e6:.0f}"))
        self.data += self.more(end - len(self.data))
        if end > len(self.data):
            self.broken(tr("facts.gguf.short", missing=end - len(self.data)))
        return len(self.data)

    def broken(self, reason: str, at: int | None = None) -> NoReturn:
        """The complaint, with the byte."""
        offset = min(self.at if at is None else at, self.file_bytes)
        raise InvalidInput(problem("CB-F013", file=self.name, offset=offset, reason=reason))
