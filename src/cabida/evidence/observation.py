"""An observation: something measured, with its setup, where it was read and what of it stayed unread."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

SETUP = (
    "task", "engine", "framework", "engine_version", "model", "arch", "weights", "kv_cache", "gpu", "gpu_raw",
    "gpu_memory_gib", "gpus", "tp", "pp", "dp", "ep", "cp", "args", "training",
)  # fmt: skip
NOT_CONTENT = ("id", "source", "file_sha256", "tool_version", "unknown_lines", "unknown_count")
ID_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Observation:
    """Something measured, under the keys of the case format (``cases/README.md``); what is absent was not said.

    ``setup`` holds model, engine, accelerator, split and flags, ``load`` what was asked of it, ``measured`` the
    figures, ``more`` any other key of the format. ``unknown`` are lines of the file that nothing here understood,
    as (line number, text); ``unknown_count`` also counts those beyond the ones kept.
    """

    kind: str
    setup: dict[str, Any]
    measured: dict[str, Any]
    source: str
    load: dict[str, Any]
    more: dict[str, Any]
    date: str = ""
    note: str = ""
    quality: str = ""
    unknown: tuple[tuple[int, str], ...] = ()
    unknown_count: int = 0
    file_sha256: str = ""
    tool_version: str = ""

    @property
    def id(self) -> str:
        """``obs-`` and a hash of what was observed, wherever it was read."""
        return f"obs-{content_hash(self.row())[:ID_DIGITS]}"

    def row(self) -> dict[str, Any]:
        """As one row of a case file, without an id."""
        said = {
            "kind": self.kind,
            **{key: self.setup[key] for key in SETUP if key in self.setup},
            "load": self.load,
            "measured": self.measured,
            **self.more,
            "quality": self.quality,
            "source": self.source,
            "date": self.date,
            "note": self.note,
            "file_sha256": self.file_sha256,
            "tool_version": self.tool_version,
        }
        return {key: value for key, value in said.items() if value not in ("", {}, None)}

    def case(self) -> dict[str, Any]:
        """As one row of a case file, with its id."""
        return {"id": self.id, **self.row()}

    def with_setup(self, **said: Any) -> Observation:
        """The same with what a person adds to its setup; ``None`` and "" add nothing."""
        added = {key: value for key, value in said.items() if value not in (None, "")}
        return replace(self, setup={**self.setup, **added})


def of_row(row: dict[str, Any]) -> Observation:
    """The observation that a row of a case file is."""
    own = (
        "id",
        "kind",
        "load",
        "measured",
        "quality",
        "source",
        "date",
        "note",
        "file_sha256",
        "tool_version",
    )
    return Observation(
        kind=str(row["kind"]),
        setup={key: row[key] for key in SETUP if key in row},
        measured=dict(row["measured"]),
        source=row["source"] if isinstance(row.get("source"), str) else json.dumps(row.get("source", "")),
        load=dict(row.get("load") or {}),
        more={key: value for key, value in row.items() if key not in own and key not in SETUP},
        date=str(row.get("date") or ""),
        note=str(row.get("note") or ""),
        quality=str(row.get("quality") or ""),
        file_sha256=str(row.get("file_sha256") or ""),
        tool_version=str(row.get("tool_version") or ""),
    )


def content_hash(row: dict[str, Any]) -> str:
    """SHA-256 of what a row says was observed; not of where it was read, by which release or under which id."""
    said = {key: value for key, value in row.items() if key not in NOT_CONTENT}
    return hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
