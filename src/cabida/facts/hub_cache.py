"""What was read from a hub, kept on disk: by commit (or etag), so that a model asked again needs no network.

``CABIDA_CACHE`` names the folder; else it is ``cabida`` in ``XDG_CACHE_HOME`` or ``~/.cache``. Nothing in it is needed:
what can't be read or written is fetched again. No token is ever in it.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cabida.errors import InvalidInput
from cabida.facts.parts import Stored, Tensors
from cabida.files import home, read_bytes, write_text

FORMAT = 1
RECORD_BYTES_MOST = 32 * 10**6
FRESH_S = 86_400.0  # how long a branch is taken to stand where it stood


@dataclass(frozen=True, slots=True)
class Record:
    """What a repository said at one commit."""

    version: str  # commit or etag
    seen: str  # ISO date
    config: dict[str, Any]  # config.json, or the metadata of a GGUF file
    container: str  # safetensors | gguf | ""
    file: str  # of the repository, for the source
    projector: str
    tensors: Tensors


def folder() -> Path | None:
    """Where records are kept; ``None`` = nowhere, for a user without a home."""
    named, shared = os.environ.get("CABIDA_CACHE"), Path(os.environ.get("XDG_CACHE_HOME", ""))
    if named:
        return Path(named)
    try:
        return (shared if shared.is_absolute() else home() / ".cache") / "cabida"
    except RuntimeError:
        return None


def known(*names: str) -> tuple[Record | None, bool]:
    """The record last found under these names, and whether it is fresh enough to be taken unasked."""
    pointer = _read(_place("refs", *names))
    version, asked = pointer.get("version"), pointer.get("asked")
    if not isinstance(version, str) or not isinstance(asked, int | float):
        return None, False
    age_s = time.time() - asked
    return at(version, *names), 0 <= age_s < FRESH_S


def at(version: str, *names: str) -> Record | None:
    """The record of one commit."""
    kept = _read(_place("records", version, *names))
    try:
        tensors = {
            (str(name), str(kind)): Stored(int(n), int(size)) for name, kind, n, size in kept["tensors"]
        }
        words = {name: str(kept[name]) for name in ("version", "seen", "container", "file", "projector")}
        config = dict(kept["config"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    fine = kept.get("format") == FORMAT and words["version"] == version
    return Record(config=config, tensors=tensors, **words) if fine else None


def keep(record: Record, *names: str) -> None:
    """Remember a record under these names, if the folder can be written."""
    rows = [
        [name, kind, held.elements_count, held.size_bytes] for (name, kind), held in record.tensors.items()
    ]
    words = {name: getattr(record, name) for name in ("version", "seen", "container", "file", "projector")}
    body = {"format": FORMAT, **words, "config": record.config, "tensors": rows}
    _write(_place("records", record.version, *names), body)
    touch(record.version, *names)


def touch(version: str, *names: str) -> None:
    """Note that these names still mean this version."""
    _write(_place("refs", *names), {"version": version, "asked": time.time()})


def _place(kind: str, *names: str) -> Path | None:
    key = hashlib.sha256("\0".join(names).encode("utf-8", "replace")).hexdigest()[:40]
    kept = folder()
    return kept / "hub" / kind / f"{key}.json" if kept else None


def _read(path: Path | None) -> dict[str, Any]:
    try:
        body = json.loads(read_bytes(path, RECORD_BYTES_MOST)) if path else None
    except (OSError, ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _write(path: Path | None, body: dict[str, Any]) -> None:
    if path is not None:
        with suppress(InvalidInput, OSError, ValueError):
            write_text(path, json.dumps(body, separators=(",", ":")))
