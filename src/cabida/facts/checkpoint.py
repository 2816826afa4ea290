"""Exact bytes of a safetensors checkpoint from its headers alone: no weight is read.

Layout (safetensors format): eight bytes with the header's length, little-endian; the header, a JSON object of
tensors with their type, shape and place; then the data. A sharded checkpoint has an index naming its files.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, TypeGuard

from cabida.errors import InvalidInput
from cabida.text import problem, tr

HEADER_BYTES_MOST = 100 * 2**20
INDEX_BYTES_MOST = 100 * 2**20
FILES_MOST = 10_000
DTYPE_BITS = {
    **dict.fromkeys(("F64", "I64", "U64"), 64),
    **dict.fromkeys(("F32", "I32", "U32"), 32),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 16),
    **dict.fromkeys(("F8_E4M3", "F8_E5M2", "F8_E8M0", "I8", "U8", "BOOL"), 8),
    "F4": 4,
}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What the headers of a checkpoint say: its files by name, and the bytes of all their tensors."""

    files: tuple[str, ...]
    total_bytes: int


def read(path: str | Path) -> Checkpoint:
    """The checkpoint at ``path``: a .safetensors file, an index, or the directory that holds either.

    Raises:
        InvalidInput: CB-F012 with the byte where a header is truncated, too long or inconsistent, or the file missing.
    """
    files = _files(Path(path))
    return Checkpoint(tuple(file.name for file in files), sum(_tensors_bytes(file) for file in files))


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        index = next(iter(sorted(path.glob("*.safetensors.index.json"))), None)
        if index is None:
            found = sorted(path.glob("*.safetensors"))
            if not found:
                raise _broken(path, 0, tr("facts.no_safetensors"))
            _whole(path, found)
            return found[:FILES_MOST]
        path = index
    return _indexed(path) if path.suffix == ".json" else [path]


def _whole(folder: Path, found: list[Path]) -> None:
    """Refuses ``model-00001-of-00004`` without its three others: a download that stopped would pass for small."""
    parts = [match for file in found if (match := re.search(r"-(\d+)-of-(\d+)$", file.stem))]
    there = {int(part[1]) for part in parts}
    missing = sorted(set(range(1, min(FILES_MOST, int(parts[0][2])) + 1)) - there) if parts else []
    if missing:
        raise _broken(folder, 0, tr("facts.part_missing", part=missing[0], parts=int(parts[0][2])))


def _indexed(index: Path) -> list[Path]:
    try:
        if index.stat().st_size > INDEX_BYTES_MOST:
            raise _broken(index, INDEX_BYTES_MOST, "index too large")
        body = json.loads(index.read_bytes())
        named = sorted(set(body["weight_map"].values()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _broken(index, 0, f"no weight_map ({error})") from error
    for name in named:
        if not isinstance(name, str) or Path(name).name != name or not name.endswith(".safetensors"):
            raise _broken(index, 0, f"weight_map names {str(name)[:60]!r}")
    return [index.parent / name for name in named[:FILES_MOST]]


def _tensors_bytes(path: Path) -> int:
    """The bytes of all tensors of one file, by its header."""
    try:
        file_bytes = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(8)
            if len(start) < 8:
                raise _broken(path, len(start), "ends inside the header's length")
            length = int.from_bytes(start, "little")
            if length > HEADER_BYTES_MOST or 8 + length > file_bytes:
                raise _broken(path, 0, f"header of {length} bytes in a file of {file_bytes}")
            body = file.read(length)
    except OSError as error:
        raise _broken(path, 0, str(error)) from error
    try:
        header = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _broken(path, 8 + getattr(error, "pos", 0), "the header is no JSON") from error
    if not isinstance(header, dict):
        raise _broken(path, 8, "the header is no JSON object")
    places = [_tensor(path, name, entry) for name, entry in header.items() if name != "__metadata__"]
    end = 8 + length + max((last for _, last in places), default=0)
    if end > file_bytes:
        raise _broken(path, file_bytes, f"the data should end at byte {end}")
    return sum(last - first for first, last in places)


def _tensor(path: Path, name: str, entry: Any) -> tuple[int, int]:
    """Where one tensor's data begins and ends, its size checked against its type and shape."""
    shown = name[:80]
    if not isinstance(entry, dict):
        raise _broken(path, 8, f"{shown} is no object")
    dtype, shape, places = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not _counts(shape) or not _counts(places) or len(places) != 2 or places[0] > places[1]:
        raise _broken(path, 8, f"{shown} has no valid shape and data_offsets")
    size = places[1] - places[0]
    bits = DTYPE_BITS.get(dtype) if isinstance(dtype, str) else None
    if bits is not None and (prod(shape) * bits + 7) // 8 != size:
        raise _broken(path, 8, f"{shown}: {size} bytes don't hold {dtype} {shape}")
    return places[0], places[1]


def _counts(values: Any) -> TypeGuard[list[int]]:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 2**62 for value in values)


def _broken(path: Path, offset: int, reason: str) -> InvalidInput:
    return InvalidInput(problem("CB-F012", file=str(path), offset=offset, reason=reason))
