"""Observations of the very deployment that somebody asks about: what was seen, to lay beside what is predicted."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from cabida import facts
from cabida.errors import CabidaError, InvalidInput
from cabida.evidence.connect import rows as rows_of
from cabida.evidence.observation import Observation, of_row
from cabida.evidence.place import store_path
from cabida.evidence.store import RESTORED
from cabida.facts.models import find_model
from cabida.plan import Deployment

BUSY_S = 0.5  # nobody waits longer for what is only shown beside the answer
SPLIT = ("tp", "pp", "dp", "cp")
SIZES = {"max_model_len": "max_model_len", "max_num_batched_tokens": "max_num_batched_tokens"}
QUERY = """
SELECT "row" FROM observations AS o
WHERE kind = 'memory' AND gpu IN (?, '') AND lower(engine) LIKE ?
AND COALESCE((SELECT mark FROM marks WHERE observation_id = o.id ORDER BY id DESC LIMIT 1), ?) = ?
ORDER BY import_id DESC, place LIMIT 1000
"""


def alike(deployment: Deployment, store: Path | str | None = None) -> list[Observation]:
    """Observations of the same model, accelerator, count, engine and formats, the newest first.

    Without a store this is one look at the disk. A store that can't be read now has nothing to say here; commands
    about the store itself tell why.
    """
    try:
        path = store_path(store)
    except InvalidInput:
        return []
    if isinstance(path, Path) and not path.is_file():
        return []
    asked = (deployment.accelerator.id, f"{engine_name(deployment.engine)}%", RESTORED, RESTORED)
    try:
        rows = [json.loads(text) for (text,) in rows_of(path, QUERY, asked, BUSY_S)]
    except (CabidaError, ValueError):
        return []
    return [of_row(row) for row in rows if _same(row, deployment)]


def engine_name(text: str) -> str:
    """An engine's name without what wraps it: ``llama.cpp (ollama)`` is llama.cpp."""
    return text.split(" (")[0].strip().lower()


def _same(row: dict[str, Any], d: Deployment) -> bool:
    """Whether what the row says is so of the deployment; formats it doesn't state are no difference."""
    if row.get("gpu") != d.accelerator.id or _count(row) != d.parallel.accelerators_count:
        return False
    split = {name: row[name] for name in SPLIT if row.get(name)}
    args = row.get("args", {})
    return (
        all(getattr(d.parallel, name) == size for name, size in split.items())
        and _length(args, d)
        and not args.get("partial_offload")
        and _format(row.get("weights")) in (None, d.weights.id)
        and _format(row.get("kv_cache")) in (None, d.kv_cache.id)
        and _model(str(row.get("model", ""))) == d.model.id
    )


def _count(row: dict[str, Any]) -> int:
    said = row.get("gpus") or 1
    return said if isinstance(said, int) else 1


def _length(args: dict[str, Any], d: Deployment) -> bool:
    """The same context, where both say one: it decides what is worked in and what a refusal is about."""
    return all(
        asked is None or args.get(key) in (None, asked)
        for key, asked in ((key, getattr(d.settings, name)) for key, name in SIZES.items())
    )


@cache
def _model(name: str) -> str | None:
    found = find_model(name) if name else None  # by name alone: a log may not have files opened
    return found.id if found else None


@cache
def _format(name: str | None) -> str | None:
    try:
        return facts.weight_format(name).id if name else None
    except CabidaError:
        return name
