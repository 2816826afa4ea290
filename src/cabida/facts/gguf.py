"""GGUF headers (versions 2 and 3): exact bytes of every tensor, and the model its metadata describes.

Layout (ggml's gguf specification): magic, version, tensor count, metadata count; metadata as key, type, value;
tensors as name, dimensions, type, offset; then the data, aligned. Everything is read within bounds, and a broken
file is refused with the byte where it breaks.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from cabida.errors import InvalidInput
from cabida.facts.model import Model
from cabida.text import problem

MAGIC = b"GGUF"
TENSORS_MOST = 200_000
PAIRS_MOST = 100_000
STRING_BYTES_MOST = 16 * 2**20
ITEMS_MOST = 10_000_000
KEPT_MOST = 4096  # longer arrays (vocabularies) are told by their length only
DEPTH_MOST = 3
PARTS_MOST = 1000

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
}
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")


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
class GgufFile:
    """What the headers of a GGUF file (and of its further parts) say."""

    version: int
    metadata: dict[str, Any]
    tensors: tuple[Tensor, ...]
    model: Model

    @property
    def total_bytes(self) -> int:
        """All weights as stored."""
        return sum(tensor.size_bytes for tensor in self.tensors)


def read(path: str | Path) -> GgufFile:
    """The GGUF file at ``path``, all parts of it when it is split.

    Raises:
        InvalidInput: CB-F013 with the byte where the file is truncated or wrong, CB-F011 when its architecture is
            unknown.
    """
    from cabida.facts.gguf_model import model_of

    first = Path(path)
    version, metadata, tensors = _header(first)
    for part in _further_parts(first, metadata):
        tensors += _header(part)[2]
    found = tuple(tensors)
    return GgufFile(version, metadata, found, model_of(metadata, found, str(first)))


def _further_parts(first: Path, metadata: dict[str, Any]) -> list[Path]:
    count = metadata.get("split.count", 0)
    named = _PART.search(first.name)
    if not isinstance(count, int) or count <= 1 or not named or int(named[1]) != 1 or count > PARTS_MOST:
        return []
    stem = first.name[: named.start()]
    return [first.with_name(f"{stem}-{part:05d}-of-{count:05d}.gguf") for part in range(2, count + 1)]


def _header(path: Path) -> tuple[int, dict[str, Any], list[Tensor]]:
    try:
        with path.open("rb") as file:
            return _Reader(file, str(path), path.stat().st_size).all()
    except OSError as error:
        raise InvalidInput(problem("CB-F013", file=str(path), offset=0, reason=str(error))) from error


class _Reader:
    """A cursor over the header that never reads past its bounds."""

    def __init__(self, file: BinaryIO, name: str, file_bytes: int) -> None:
        self.file, self.name, self.file_bytes = file, name, file_bytes
        self.at = 0
        self.order = "<"

    def all(self) -> tuple[int, dict[str, Any], list[Tensor]]:
        if self.bytes(4) != MAGIC:
            self.broken("the file doesn't begin with GGUF", 0)
        version = self.version()
        tensors_count, pairs_count = self.number("Q"), self.number("Q")
        if tensors_count > TENSORS_MOST or pairs_count > PAIRS_MOST:
            self.broken(f"{tensors_count} tensors and {pairs_count} metadata entries")
        metadata: dict[str, Any] = {}
        for _ in range(pairs_count):
            key = self.text()
            metadata[key] = self.value(self.number("I"))
        infos = [self.tensor() for _ in range(tensors_count)]
        self.check_data(metadata, infos)
        return version, metadata, infos

    def version(self) -> int:
        version: int = self.number("I")
        if version >> 24 and not version & 0xFFFF:
            self.order, version = ">", version >> 24
        if version not in (2, 3):
            self.broken(f"version {version}; 2 and 3 can be read", 4)
        return version

    def tensor(self) -> Tensor:
        name = self.text()
        dimensions = self.number("I")
        if dimensions > 8:
            self.broken(f"{name[:60]} has {dimensions} dimensions")
        shape = [self.number("Q") for _ in range(dimensions)]
        number, offset = self.number("I"), self.number("Q")
        if number not in TYPES:
            self.broken(f"{name[:60]} has the unknown type {number}")
        kind, block, block_bytes = TYPES[number]
        elements = prod(shape)
        if elements > 2**50 or offset > 2**60:
            self.broken(f"{name[:60]} has {elements} elements at {offset}")
        return Tensor(name, kind, elements, -(-elements // block) * block_bytes, offset)

    def check_data(self, metadata: dict[str, Any], infos: list[Tensor]) -> None:
        """The data begins aligned after the header and must all be there."""
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or not 0 < alignment <= 2**20:
            self.broken(f"alignment {alignment}")
        start = -(-self.at // alignment) * alignment
        last = max(infos, key=lambda tensor: tensor.offset_bytes + tensor.size_bytes, default=None)
        if last is not None and start + last.offset_bytes + last.size_bytes > self.file_bytes:
            end = start + last.offset_bytes + last.size_bytes
            self.broken(f"{last.name[:60]} should end at byte {end}", self.file_bytes)

    def value(self, kind: int, depth: int = 0) -> Any:
        if kind in _SCALARS:
            return self.number(_SCALARS[kind])
        if kind == _STRING:
            return self.text()
        if kind != _ARRAY or depth >= DEPTH_MOST:
            self.broken(f"metadata of type {kind} at depth {depth}")
        inner, count = self.number("I"), self.number("Q")
        if count > ITEMS_MOST:
            self.broken(f"an array of {count} items")
        if inner in _SCALARS:
            letter = _SCALARS[inner]
            body = self.bytes(count * struct.calcsize(self.order + letter))
            kept = count <= KEPT_MOST
            return list(struct.unpack(f"{self.order}{count}{letter}", body)) if kept else LongArray(count)
        items = (self.value(inner, depth + 1) for _ in range(count))
        if count <= KEPT_MOST:
            return list(items)
        for _ in items:
            pass
        return LongArray(count)

    def text(self) -> str:
        length = self.number("Q")
        if length > STRING_BYTES_MOST:
            self.broken(f"a text of {length} bytes")
        return self.bytes(length).decode("utf-8", "replace")

    def number(self, letter: str) -> Any:
        pattern = self.order + letter
        return struct.unpack(pattern, self.bytes(struct.calcsize(pattern)))[0]

    def bytes(self, count: int) -> bytes:
        if self.at + count > self.file_bytes:
            self.broken(f"ends {self.at + count - self.file_bytes} bytes too soon")
        body = self.file.read(count)
        if len(body) < count:
            self.broken("ends too soon")
        self.at += count
        return body

    def broken(self, reason: str, at: int | None = None) -> NoReturn:
        offset = self.at if at is None else at
        raise InvalidInput(problem("CB-F013", file=self.name, offset=offset, reason=reason))
