"""Exact bytes of a safetensors checkpoint from its headers alone: no weight is read, and nothing is ever unpickled.

Layout (safetensors format): eight bytes with the header's length, little-endian; the header, a JSON object of
tensors with their type, shape and place; then the data. A sharded checkpoint has an index naming its files.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, TypeGuard

from cabida.errors import InvalidInput
from cabida.facts.parts import Stored, Tensors, collapsed
from cabida.facts.scan import value_at, walk
from cabida.files import opened, read_bytes
from cabida.text import problem, tr

HEADER_BYTES_MOST = 16 * 10**6  # of one file; the largest published ones have a tenth of it
INDEX_BYTES_MOST = 48 * 10**6
ALL_HEADERS_BYTES_MOST = 128 * 10**6
FILES_MOST = 10_000
LENGTH_BYTES = 8
SIDES_MOST, COUNT_MOST = 16, 2**62
DTYPE_BITS = {
    **dict.fromkeys(("F64", "I64", "U64", "C64"), 64),
    **dict.fromkeys(("F32", "I32", "U32"), 32),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 16),
    **dict.fromkeys(("F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "I8", "U8", "BOOL"), 8),
    **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
    "F4": 4,
}
_FILE = re.compile(r"[\w.+-]{1,200}\.safetensors", re.ASCII)
PART = re.compile(r"-(\d{1,6})-of-(\d{1,6})$", re.ASCII)
_OTHERS = (  # what a file really is, by how it begins
    (b"PK\x03\x04", "zip"),
    (b"\x80\x02", "pickle"),
    (b"\x80\x04", "pickle"),
    (b"GGUF", "gguf"),
    (b"version https://git-lfs", "lfs"),
    (b"<", "page"),
    (b"\x1f\x8b", "gzip"),
)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What the headers of a checkpoint say: its files by name, its tensors, and the bytes of all of them."""

    files: tuple[str, ...]
    tensors: Tensors

    @property
    def total_bytes(self) -> int:
        """All tensors as stored."""
        return sum(held.size_bytes for held in self.tensors.values())


def read(path: str | Path) -> Checkpoint:
    """The checkpoint at ``path``: a .safetensors file, an index, or the directory that holds either.

    Raises:
        InvalidInput: CB-F012 with the byte where a header is truncated, too long or inconsistent, or the file missing.
    """
    files = _files(Path(path))
    tensors: dict[tuple[str, str], Stored] = {}
    left = ALL_HEADERS_BYTES_MOST
    for file in files:
        body, file_bytes = _header(file)
        left = less(left, len(body), str(path))
        join(tensors, tensors_of(body, file_bytes, str(file)))
    return Checkpoint(tuple(file.name for file in files), tensors)


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        indices = sorted(path.glob("*.safetensors.index.json"))
        usual = path / "model.safetensors.index.json"
        if not indices:
            return _unlisted(path)
        path = usual if usual in indices else indices[0]
    if path.suffix == ".json":
        return [path.parent / name for name in index_files(_index_bytes(path), str(path))]
    part = PART.search(path.stem)
    if part is None:
        return [path]
    alike = f"{path.stem[: part.start()]}-*-of-{part[2]}.safetensors"
    return _whole(path.parent, sorted(path.parent.glob(alike)) or [path])


def _unlisted(folder: Path) -> list[Path]:
    """The files an engine would load where no index lists them: one, or all parts; not the same weights twice.

    Some repositories hold them a second time for other software (``consolidated.safetensors``, ``model.fp32``).
    """
    found = sorted(folder.glob("*.safetensors"))
    if not found:
        raise broken(str(folder), 0, tr("facts.no_safetensors"))
    for pattern in ("model.safetensors", "model-*-of-*.safetensors"):
        if usual := [file for file in found if file.match(pattern)]:
            return _whole(folder, usual)
    return _whole(
        folder, [file for file in found if not file.name.startswith(("adapter_", "consolidated"))] or found
    )


def _whole(folder: Path, found: list[Path]) -> list[Path]:
    """Refuses ``model-00001-of-00004`` without its three others: a download that stopped would pass for small."""
    parts = [match for file in found if (match := PART.search(file.stem))]
    there = {int(part[1]) for part in parts}
    missing = sorted(set(range(1, min(FILES_MOST, int(parts[0][2])) + 1)) - there) if parts else []
    if missing:
        raise broken(str(folder), 0, tr("facts.part_missing", part=missing[0], parts=int(parts[0][2])))
    return found[:FILES_MOST]


def _index_bytes(index: Path) -> bytes:
    try:
        return read_bytes(index, INDEX_BYTES_MOST)
    except OSError as error:
        raise broken(str(index), 0, error.strerror or str(error)) from error


def index_files(body: bytes, file: str) -> list[str]:
    """The files an index (``*.safetensors.index.json``) names, sorted.

    Raises:
        InvalidInput: CB-F012: no JSON, no ``weight_map``, a name that isn't a plain .safetensors file, or too many.
    """
    named: set[str] = set()
    found: list[bool] = []

    def entry(_: str, at: int) -> int:
        name, end = value_at(text, at)
        if name.__class__ is str and name in named:
            return end
        if not isinstance(name, str) or not _FILE.fullmatch(name):
            raise broken(file, at, tr("facts.index_names", name=str(name)[:60]))
        named.add(name)
        return end

    def top(key: str, at: int) -> int:
        if key != "weight_map":
            return value_at(text, at)[1]
        found.append(True)
        return walk(text, at, entry)

    try:
        text = body.decode("utf-8")
        walk(text, 0, top)
    except (ValueError, RecursionError) as error:
        raise broken(file, getattr(error, "pos", 0), tr("facts.no_weight_map")) from error
    if len(found) != 1 or not named or len(named) > FILES_MOST:
        raise broken(file, 0, tr("facts.no_weight_map"))
    return sorted(named)


def header_length(start: bytes, file_bytes: int, file: str) -> int:
    """The length of the header, from the first bytes of a file.

    Raises:
        InvalidInput: CB-F012: too few bytes, a file of another kind, or a header that can't be.
    """
    kind = next((kind for magic, kind in _OTHERS if start.startswith(magic)), "")
    if kind:
        raise broken(file, 0, tr(f"facts.really.{kind}"))
    if len(start) < LENGTH_BYTES:
        raise broken(file, len(start), tr("facts.short_length"))
    length = int.from_bytes(start[:LENGTH_BYTES], "little")
    if length > HEADER_BYTES_MOST or LENGTH_BYTES + length > file_bytes:
        raise broken(file, 0, tr("facts.long_header", length=length, file_bytes=file_bytes))
    return length


def _header(path: Path) -> tuple[bytes, int]:
    """The header of one file, and how large the file is."""
    try:
        with opened(path) as file:
            file_bytes = os.fstat(file.fileno()).st_size
            start = file.read(32)
            length = header_length(start, file_bytes, str(path))
            file.seek(LENGTH_BYTES)
            return file.read(length), file_bytes
    except OSError as error:
        raise broken(str(path), 0, error.strerror or str(error)) from error


def tensors_of(body: bytes, file_bytes: int, file: str) -> dict[tuple[str, str], Stored]:
    """The tensors a header lists, by name and type, each checked against its size.

    Args:
        body: the header.
        file_bytes: how large the file is.
        file: its name, for complaints.

    Raises:
        InvalidInput: CB-F012 with the byte: no JSON, a name given twice, sizes that contradict each other or the file.
    """
    found: dict[tuple[str, str], tuple[int, int]] = {}
    names: set[str] = set()
    held_bytes = end = 0

    def entry(name: str, at: int) -> int:
        nonlocal held_bytes, end
        value, after = value_at(text, at)
        if name == "__metadata__":
            return after
        if name in names:
            raise broken(file, LENGTH_BYTES + at, tr("facts.tensor_twice", tensor=name[:80]))
        names.add(name)
        kind, elements, size, last = _tensor(file, LENGTH_BYTES + at, name, value)
        held_bytes, end = held_bytes + size, max(end, last)
        key = (collapsed(name), kind)
        count, total = found.get(key, (0, 0))
        found[key] = (count + elements, total + size)
        return after

    try:
        text = body.decode("utf-8")
        close = walk(text, 0, entry)
        if text[close:].strip(" \t\r\n\0"):
            raise broken(file, LENGTH_BYTES + close, tr("facts.header_no_json"))
    except (ValueError, RecursionError) as error:
        at = getattr(error, "pos", getattr(error, "start", 0))
        raise broken(file, LENGTH_BYTES + at, tr("facts.header_no_json")) from error
    data_bytes = file_bytes - LENGTH_BYTES - len(body)
    if end > data_bytes:
        raise broken(file, file_bytes, tr("facts.data_ends", end=LENGTH_BYTES + len(body) + end))
    if held_bytes > data_bytes:
        raise broken(file, LENGTH_BYTES, tr("facts.overlap", held=held_bytes, data=data_bytes))
    return {key: Stored(*counts) for key, counts in found.items()}


def less(left_bytes: int, read_bytes: int, file: str) -> int:
    """What all headers may still take after one of ``read_bytes`` (CB-F012 when nothing is left)."""
    if read_bytes > left_bytes:
        raise broken(file, 0, tr("facts.headers_large", limit=f"{ALL_HEADERS_BYTES_MOST / 1e6:g}"))
    return left_bytes - read_bytes


def join(into: dict[tuple[str, str], Stored], more: Tensors) -> None:
    """Adds tensors of one more file."""
    for key, held in more.items():
        before = into.get(key)
        into[key] = (
            Stored(before.elements_count + held.elements_count, before.size_bytes + held.size_bytes)
            if before
            else held
        )


def _tensor(file: str, at: int, name: str, entry: Any) -> tuple[str, int, int, int]:
    """A tensor's type, elements, bytes and where its data ends, its size checked against its type and shape."""
    shown = name[:80]
    if not isinstance(entry, dict):
        raise broken(file, at, tr("facts.tensor_no_object", tensor=shown))
    dtype, shape, places = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not _counts(shape) or not _counts(places) or len(places) != 2 or places[0] > places[1]:
        raise broken(file, at, tr("facts.tensor_no_shape", tensor=shown))
    size, kind = places[1] - places[0], dtype[:16] if isinstance(dtype, str) else "?"
    bits = DTYPE_BITS.get(kind)
    elements = prod(shape)
    if bits is not None and (elements * bits + 7) // 8 != size:
        what = f"{kind} {str(shape)[:60]}"
        raise broken(file, at, tr("facts.tensor_size", tensor=shown, size=size, what=what))
    return kind, min(elements, 8 * size), size, places[1]


def _counts(values: Any) -> TypeGuard[list[int]]:
    return (
        isinstance(values, list)
        and len(values) <= SIDES_MOST
        and all(value.__class__ is int and 0 <= value < COUNT_MOST for value in values)
    )


def broken(file: str, offset: int, reason: str) -> InvalidInput:
    """The complaint that a safetensors file can't be read, with the byte (CB-F012)."""
    return InvalidInput(problem("CB-F012", file=file, offset=offset, reason=reason))
