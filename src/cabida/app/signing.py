"""Signatures beside a decision: who signed which text, and when. The decision itself is never changed.

They stand in ``NAME.signatures.jsonl`` next to ``NAME.json``, one a line, only ever added: role, name, time, and the
SHA-256 of what was signed. A signature of another text is shown as such. It says who stands behind a decision; it is no
proof of identity: whoever can write the file can sign.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cabida.errors import InvalidInput
from cabida.files import HAND_KEPT_BYTES_MOST, read_bytes
from cabida.plan import Decision, SignOff
from cabida.text import printable, problem

LONGEST_ROLE, LONGEST_NAME, MOST_SIGNATURES = 40, 120, 1_000


def sign(decision: Path | str, signatures: Mapping[str, str]) -> Path:
    """Add signatures to the file beside a decision; gives that file.

    Args:
        decision: path of its JSON.
        signatures: role (finance, platform, product, or another) -> name.

    Raises:
        InvalidInput: the decision can't be read (CB-R004), a role or a name is empty or too long (CB-R091).
    """
    from cabida.evidence.shelf.named import is_named
    from cabida.report.store import load

    path = Path(decision)
    if is_named(path, "d"):
        raise InvalidInput([problem("CB-R093", id=str(path))])
    load(path)  # what is signed is a decision
    rows = []
    for role, name in signatures.items():
        plain = printable(role).strip(), " ".join(printable(name).split())
        if not all(plain) or len(plain[0]) > LONGEST_ROLE or len(plain[1]) > LONGEST_NAME:
            raise InvalidInput([problem("CB-R091", role=role[:60], name=name[:60])])
        rows.append({"role": plain[0], "name": plain[1], "at": _now(), "sha256": digest(path)})
    beside = file_of(path)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    with beside.open("a", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    return beside


def signed(decision: Decision, path: Path | str) -> Decision:
    """The decision with the signatures that stand beside its file; of each role the last.

    Raises:
        InvalidInput: CB-R092, the file of signatures is damaged.
    """
    rows = _rows(file_of(Path(path)))
    if not rows:
        return decision
    now = digest(Path(path))
    last = {row["role"]: row for row in rows}
    told = decision.sign_off or SignOff()
    named = {one[0]: one for one in told.approvers if one}
    for role, row in last.items():
        state = "valid" if row["sha256"] == now else "stale"
        named[role] = (role, row["name"], row["at"][:10], state)
    return replace(decision, sign_off=replace(told, approvers=tuple(named.values())))


def file_of(decision: Path) -> Path:
    """``out/chat.json`` -> ``out/chat.signatures.jsonl``."""
    return decision.with_name(f"{decision.stem}.signatures.jsonl")


def digest(path: Path) -> str:
    """SHA-256 of what is signed: the decision's file, byte for byte."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    try:
        lines = read_bytes(path, HAND_KEPT_BYTES_MOST).decode("utf-8").splitlines()
        rows: list[Any] = [json.loads(line) for line in lines[:MOST_SIGNATURES] if line.strip()]
        wanted = ("role", "name", "at", "sha256")
        if all(
            isinstance(row, dict) and all(isinstance(row.get(key), str) for key in wanted) for row in rows
        ):
            return [{key: printable(row[key])[:LONGEST_NAME] for key in wanted} for row in rows]
    except (OSError, ValueError, RecursionError):
        pass
    raise InvalidInput([problem("CB-R092", file=str(path))])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
