"""A GGUF model by its files: every part of a split one, and the projector (mmproj) that lies beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cabida.errors import InvalidInput
from cabida.facts.gguf_header import Header, Tensor, read_header
from cabida.facts.gguf_model import model_of
from cabida.facts.model import Model
from cabida.facts.parts import refuse_too_small
from cabida.files import opened
from cabida.text import problem, tr

PARTS_MOST = 1000
CHUNK_BYTES = 2**20
PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$", re.ASCII)
PROJECTOR = re.compile(r"mmproj", re.IGNORECASE)
_PREFERRED = ("f16", "bf16", "q8_0")  # of several projectors
_USUAL = "q4_k_m"  # of several quantisations (llama.cpp common/arg.cpp, -hf)


@dataclass(frozen=True, slots=True)
class GgufFile:
    """What the headers of a GGUF file (of its further parts, of its projector) say."""

    version: int
    metadata: dict[str, Any]
    tensors: tuple[Tensor, ...]
    model: Model

    @property
    def total_bytes(self) -> int:
        """All weights as stored."""
        return sum(tensor.size_bytes for tensor in self.tensors)


def read(path: str | Path) -> GgufFile:
    """The GGUF file at ``path``, all parts of it when it is split, with the projector beside it if there is one.

    Raises:
        InvalidInput: CB-F013 with the byte where the file is truncated or wrong, CB-F011 when its architecture is
            unknown.
    """
    given = Path(path)
    first = given.with_name(parts_of(given.name)[0])
    headers = [_header(first)]
    named = PART.search(first.name)
    count = headers[0].metadata.get("split.count", 0)
    if named and isinstance(count, int) and 1 < count <= PARTS_MOST and count != int(named[2]):
        raise InvalidInput(
            problem("CB-F013", file=str(first), offset=0, reason=tr("facts.gguf.parts", count=count))
        )
    headers += [_header(given.with_name(name)) for name in parts_of(given.name)[1:]]
    beside = projector_of(first.name, _names(first.parent))
    if beside and not is_projector(headers[0]):
        headers.append(_header(first.with_name(beside)))
    return joined(headers, str(first), beside)


def joined(headers: Sequence[Header], file: str, projector: str = "") -> GgufFile:
    """One model of the headers of its parts, the first of them the one that describes it.

    Raises:
        InvalidInput: CB-F011 when its architecture is unknown, CB-F013 when it is a projector without its model or
            holds too little (a vocabulary alone).
    """
    first = headers[0]
    if is_projector(first):
        raise InvalidInput(problem("CB-F013", file=file, offset=0, reason=tr("facts.gguf.projector")))
    tensors = tuple(tensor for header in headers for tensor in header.tensors)
    made = model_of(first.metadata, tensors, file, projector)
    refuse_too_small(made, made.checkpoint_bytes or 0.0, "CB-F013", file)
    return GgufFile(first.version, first.metadata, tensors, made)


def parts_of(name: str) -> list[str]:
    """The names of all parts of a split model, whichever is given; the name alone when it isn't split."""
    found = PART.search(name)
    count = int(found[2]) if found else 1
    if not found or not 1 <= int(found[1]) <= count <= PARTS_MOST:
        return [name]
    stem = name[: found.start()]
    return [f"{stem}-{part:05d}-of-{count:05d}.gguf" for part in range(1, count + 1)]


def is_projector(header: Header) -> bool:
    """Whether the file holds a vision or audio encoder for another one."""
    return header.metadata.get("general.architecture") in ("clip", "mmproj")


def projector_of(name: str, names: Sequence[str]) -> str:
    """The projector among ``names`` that goes with the model ``name``; "" when there is none."""
    found = [other for other in sorted(names) if PROJECTOR.search(other) and other != name]
    if PROJECTOR.search(name):
        return ""
    for kind in _PREFERRED:
        for other in found:
            if re.search(rf"(?<![a-z0-9]){kind}(?![a-z0-9])", other.lower()):
                return other
    return found[0] if found else ""


def chosen(names: Sequence[str], wanted: str = "") -> str:
    """The one model meant among the GGUF files of a folder or repository.

    Args:
        names: all file names ending in .gguf.
        wanted: a quantisation (``Q5_K_M``) or "" for the usual one: Q4_K_M, else the only or first one.

    Returns:
        The first part of it; "" when none is called that.
    """
    models = [name for name in sorted(names) if not PROJECTOR.search(name) and parts_of(name)[0] == name]
    mark = (wanted or _USUAL).lower()
    marked = [
        name for name in models if re.search(rf"(?<![a-z0-9]){re.escape(mark)}(?![a-z0-9_])", name.lower())
    ]
    return marked[0] if marked else models[0] if models and not wanted else ""


def _names(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir() if entry.suffix == ".gguf"]
    except OSError:
        return []


def _header(path: Path) -> Header:
    try:
        with opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            return read_header(lambda count: file.read(max(count, CHUNK_BYTES)), size, str(path))
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidInput(problem("CB-F013", file=str(path), offset=0, reason=reason)) from error
