"""Models by name: shipped ones, and any described by a config.json, a directory, a GGUF file or a hub page."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from cabida.errors import EndpointFailed, InvalidInput, Problem
from cabida.facts.architectures import from_config
from cabida.facts.fields import CONFIG_BYTES_MOST, read_json
from cabida.facts.formats import find_format
from cabida.facts.model import Model
from cabida.facts.names import base_key, cleaned, compact_key, format_of, name_key
from cabida.quantity import Source
from cabida.text import problem, tr

FILE = Path(__file__).parent / "data" / "models.jsonl"
HUB = "https://huggingface.co/{id}/resolve/main/{file}"
HUB_TIMEOUT_S = 5.0

_OVERRIDES = (
    "architecture",
    "task",
    "context_tokens",
    "params_count",
    "active_params_count",
    "extra_params_count",
    "draft_params_count",
    "native_format",
    "unquantised_params_count",
    "licence",
)


class Catalogue(Mapping[str, Model]):
    """The shipped models by id, each built from its row when it is first asked for."""

    def __init__(self, rows: dict[str, dict[str, Any]]) -> None:
        self._rows = rows
        self._built: dict[str, Model] = {}

    def __getitem__(self, id: str) -> Model:
        if id not in self._built:
            self._built[id] = _model(self._rows[id], self._rows)
        return self._built[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def names(self) -> Iterator[tuple[str, str]]:
        """Every id and alias, each with the id it means."""
        for id, row in self._rows.items():
            yield id, id
            for alias in row.get("aliases", ()):
                yield alias, id


@cache
def models() -> Catalogue:
    """All shipped models by id."""
    with FILE.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    return Catalogue({row["id"]: row for row in rows})


def model(ref: str, online: bool | None = None) -> Model:
    """The model ``ref`` means.

    Args:
        ref: an id or alias of a shipped model (case, organisation, variant and quantisation suffixes aside), a path
            to a config.json, a checkpoint directory or a .gguf file, or the id of a repository on the hub.
        online: ask the hub for a config.json when the name is unknown; by default only with CABIDA_ONLINE=1.

    Raises:
        InvalidInput: CB-F010 when nothing is known by that name, or what the file is refused for.
        EndpointFailed: CB-F017 when the hub could not be reached or has no such model.
    """
    from_path = _from_path(ref)
    if from_path is not None:
        return from_path
    found = find_model(ref)
    if found is not None:
        return found
    if online if online is not None else os.environ.get("CABIDA_ONLINE") == "1":
        return _from_hub(ref)
    raise InvalidInput(unknown(ref))


def unknown(ref: str) -> Problem:
    """CB-F010: none is called that; the nearest names when any is near."""
    found = problem("CB-F010", ref=ref[:200], nearest=", ".join(near := nearest(ref)))
    return found if near else replace(found, why="")


def find_model(ref: str) -> Model | None:
    """The shipped model ``ref`` means, or ``None``.

    A quantised build or a variant that isn't shipped itself is told by the model it derives from: same shapes, the
    format its name says, ``attention`` and ``mlp`` graded derived.
    """
    name = cleaned(ref)
    exact, loose = _keys()
    id = exact.get(name_key(name))
    if id is not None:
        return models()[id]
    base, format_id = format_of(name)
    id = exact.get(name_key(base)) or loose.get(base_key(base)) or loose.get(compact_key(base))
    if id is None:
        return None
    return _derived(models()[id], name, format_id if format_id and find_format(format_id) else "")


def nearest(ref: str, count: int = 3) -> list[str]:
    """The shipped models whose names are most like ``ref``."""
    exact, _ = _keys()
    near = get_close_matches(name_key(cleaned(ref)), list(exact), n=3 * count, cutoff=0.3)
    return list(dict.fromkeys(exact[key] for key in near))[:count]


@cache
def _keys() -> tuple[dict[str, str], dict[str, str]]:
    """Ids by normalised name, and by name without variant words."""
    exact: dict[str, str] = {}
    loose: dict[str, str] = {}
    names = list(models().names())
    for name, id in names:
        exact.setdefault(name.lower(), id)
        exact.setdefault(name_key(name), id)
    for name, id in sorted(names, key=lambda pair: len(pair[0])):
        if not format_of(name)[1]:
            loose.setdefault(base_key(name), id)
            loose.setdefault(compact_key(name), id)
    return exact, loose


def _derived(known: Model, name: str, format_id: str) -> Model:
    if not format_id and ("/" not in name or name_key(name) == name_key(known.id)):
        return known
    shape = Source(f"shapes of {known.id}", known.source.url, known.source.seen, "derived")
    own = dict.fromkeys(("attention", "mlp"), shape)
    made = replace(known, id=name, aliases=(), field_sources={**known.field_sources, **own})
    if not format_id or format_id == known.native_format:
        return made
    return replace(made, native_format=format_id, unquantised_params_count=0.0)


def _model(row: dict[str, Any], rows: dict[str, dict[str, Any]]) -> Model:
    """One row as a model; ``same_as`` takes another row's config, the row's own keys on top."""
    shape = rows[row["same_as"]] if "same_as" in row else {}
    config = {**shape.get("config", {}), **row.get("config", {})}
    source = Source(**row["source"])
    made = from_config(config, source, row["id"], f"models.jsonl ({row['id']})")
    published = {name: row[name] for name in _OVERRIDES if name in row}
    own = {name: Source(**fields) for name, fields in row.get("field_sources", {}).items()}
    if shape:
        said = Source(f"shapes of {shape['id']}: {shape['source']['what']}", **_without_what(shape["source"]))
        own = {**dict.fromkeys(("attention", "mlp"), said), **own}
    return replace(
        made, aliases=tuple(row.get("aliases", ())), field_sources={**made.field_sources, **own}, **published
    )


def _without_what(source: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in source.items() if name != "what"}


def _from_path(ref: str) -> Model | None:
    """The model a path describes; ``None`` when ``ref`` is no path."""
    looks = (
        ref.endswith((".json", ".gguf")) or ref.startswith((".", "/", "~")) or re.match(r"^[A-Za-z]:\\", ref)
    )
    try:
        path = Path(ref).expanduser()
        exists = path.exists()
    except (OSError, RuntimeError, ValueError):  # no such user, a name too long, a null byte
        path, exists = Path(ref), False
    if not exists:
        if looks:
            raise InvalidInput(problem("CB-F015", file=ref, reason=tr("facts.no_file")))
        return None
    if path.suffix == ".gguf":
        from cabida.facts.gguf import read as read_gguf

        return read_gguf(path).model
    if path.is_dir():
        return _from_directory(path) if looks or (path / "config.json").exists() else None
    return _from_json(path) if looks else None


def _from_json(path: Path) -> Model:
    config = read_json(path)
    beside = path.parent / "hf_quant_config.json"
    if "quantization_config" not in config and beside.is_file():
        config = {**config, "quantization_config": read_json(beside)}
    seen = _file_date(path)
    return from_config(
        config, Source(str(path), seen=seen, grade="vendor"), path.parent.name or str(path), str(path)
    )


def _from_directory(path: Path) -> Model:
    """A checkpoint directory: its config.json, and the exact bytes of its safetensors headers if it has any."""
    ggufs = sorted(path.glob("*.gguf"))
    if not (path / "config.json").exists() and ggufs:
        from cabida.facts.gguf import read as read_gguf

        return read_gguf(ggufs[0]).model
    made = _from_json(path / "config.json")
    if any(path.glob("*.safetensors")):
        from cabida.facts.checkpoint import read as read_checkpoint

        held_bytes = read_checkpoint(path).total_bytes
        least_bytes = made.layers_count * made.hidden_dim_count**2 / 8  # a bit for one square matrix a layer
        if held_bytes < least_bytes:
            shape = {"layers": made.layers_count, "width": made.hidden_dim_count}
            reason = tr("facts.too_small", held=held_bytes, **shape)
            raise InvalidInput(problem("CB-F012", file=str(path), offset=0, reason=reason))
        return replace(made, checkpoint_bytes=float(held_bytes))
    return made


def _file_date(path: Path) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()


def _from_hub(ref: str) -> Model:
    """The model of a hub repository by its config.json (one request of at most 10 MB, five seconds)."""
    name = cleaned(ref)
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise InvalidInput(unknown(ref))
    url = HUB.format(id=name, file="config.json")
    config = _fetched(url, name)
    from datetime import UTC, datetime

    today = datetime.now(UTC).date().isoformat()
    return from_config(config, Source(f"config.json of {name}", url, today, "vendor"), name, url)


def _fetched(url: str, name: str) -> dict[str, Any]:
    from urllib.request import Request, urlopen

    try:
        with urlopen(Request(url, headers={"User-Agent": "cabida"}), timeout=HUB_TIMEOUT_S) as answer:
            body = answer.read(CONFIG_BYTES_MOST + 1)
        if len(body) > CONFIG_BYTES_MOST:
            raise _no_answer(url, name, f"> {CONFIG_BYTES_MOST} bytes")
        config = json.loads(body)
    except (OSError, ValueError) as error:
        raise _no_answer(url, name, str(error)) from error
    if not isinstance(config, dict):
        raise _no_answer(url, name, tr("facts.no_json_object"))
    return config


def _no_answer(url: str, name: str, reason: str) -> EndpointFailed:
    return EndpointFailed(
        problem("CB-F017", file=url, ref=name, reason=reason, nearest=", ".join(nearest(name)))
    )
