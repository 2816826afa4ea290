"""Models by name: shipped ones, and any described by a config.json, a directory, a GGUF file or a hub page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from cabida.errors import InvalidInput, Problem
from cabida.facts.architectures import from_config
from cabida.facts.formats import find_format
from cabida.facts.known import names_only
from cabida.facts.model import Model
from cabida.facts.names import base_key, cleaned, compact_key, format_of, name_key
from cabida.quantity import Source
from cabida.text import problem

FILE = Path(__file__).parent / "data" / "models.jsonl"
NEAREST = 3  # names told of where none is called so
LEAST_LETTERS = 3  # that the beginning of a name must have to stand for it

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
    "bidirectional",
)


class Catalogue(Mapping[str, Model]):
    """The shipped models by id, each built from its row when it is first asked for."""

    def __init__(self, rows: dict[str, dict[str, Any]]) -> None:
        self._rows = rows
        self._built: dict[str, Model] = {}

    def __getitem__(self, id: str) -> Model:
        if id not in self._built:
            self._built[id] = built(self._rows[id], self._rows)
        return self._built[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def published_in(self, format_id: str) -> Iterator[Model]:
        """The models whose published checkpoint is in this format."""
        return (self[id] for id, row in self._rows.items() if row.get("native_format") == format_id)

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
        ref: an id or alias of a shipped model (case, organisation, variant and quantisation suffixes aside); a path
            to a config.json, a checkpoint directory, a .safetensors or a .gguf file; ``hf:org/name``, a repository
            on the hub (``@revision``, ``:Q4_K_M`` and ``/file.gguf`` may follow); or ``org/name`` of one.
        online: ask the hub when no shipped model is called ``org/name``; by default unless CABIDA_ONLINE=0.

    Raises:
        InvalidInput: CB-F010 when nothing is known by that name, or what the file is refused for.
        EndpointFailed: CB-F017, CB-F040, CB-F041 when the hub refused or could not be reached.
    """
    from cabida.facts import hub, paths

    if names_only():
        online = False
    if hub.named(ref) and online is not False:
        return hub.model(ref)
    from_path = None if names_only() else paths.from_path(ref)
    if from_path is not None:
        return from_path
    found = find_model(ref)
    if found is not None:
        return found
    if hub.might_be(ref) and online is not False:
        return hub.model(ref, sure=online is True)
    raise InvalidInput(unknown(ref))


def unknown(ref: str) -> Problem:
    """CB-F010: none is called that; the nearest names when any is near."""
    from cabida.facts.pipelines import holding

    said = ref[:200] if ref.strip() else f'"{ref[:20]}"'
    near = [*holding(ref), *nearest(ref)][:NEAREST]
    found = problem("CB-F010", ref=said, nearest=", ".join(near))
    return found if near else replace(found, why="")


def find_model(ref: str) -> Model | None:
    """The shipped model ``ref`` means, or ``None``.

    A quantised build or a variant that isn't shipped itself is told by the model it derives from: same shapes, the
    format its name says, ``attention`` and ``mlp`` graded derived.
    """
    if ref in models():
        return models()[ref]
    name, exact = cleaned(ref), _exact()
    id = exact.get(name_key(ref)) or exact.get(name_key(name))
    if id is not None:
        return models()[id]
    base, format_id = format_of(name.replace(" ", "-"))
    id = exact.get(name_key(base)) or _loose().get(base_key(base)) or _loose().get(compact_key(base))
    if id is None:
        return None
    return _derived(models()[id], name, format_id if format_id and find_format(format_id) else "")


def built_like(known: Model, format_id: str) -> Model | None:
    """A shipped model of the same shapes, published in this format and keeping some of its matrices in 16 bit."""
    return next(
        (
            one
            for one in models().published_in(format_id)
            if one.unquantised_params_count and (one.attention, one.mlp) == (known.attention, known.mlp)
        ),
        None,
    )


def nearest(ref: str, count: int = NEAREST) -> list[str]:
    """Names that begin with ``ref``, shortest first, one of each model; else the models called most like it."""
    exact, key = _exact(), name_key(cleaned(ref))
    if len(key) >= LEAST_LETTERS:
        so = [name for name, _ in models().names() if name_key(name.rsplit("/", 1)[-1]).startswith(key)]
        if begun := {exact[name_key(name)]: name for name in sorted(so, key=len, reverse=True)}:
            return sorted(begun.values(), key=len)[:count]
    near = get_close_matches(key, list(exact), n=3 * count, cutoff=0.3)
    return list(dict.fromkeys(exact[name] for name in near))[:count]


@cache
def _exact() -> dict[str, str]:
    """Ids by normalised name."""
    keys: dict[str, str] = {}
    for name, id in models().names():
        keys.setdefault(name.lower(), id)
        keys.setdefault(name_key(name), id)
    return keys


@cache
def _loose() -> dict[str, str]:
    """Ids by name without variant words, shorter names first."""
    keys: dict[str, str] = {}
    for name, id in sorted(models().names(), key=lambda pair: len(pair[0])):
        if not format_of(name)[1]:
            keys.setdefault(base_key(name), id)
            keys.setdefault(compact_key(name), id)
    return keys


def _derived(known: Model, name: str, format_id: str) -> Model:
    if not format_id and ("/" not in name or name_key(name) == name_key(known.id)):
        return known
    shape = Source(f"shapes of {known.id}", known.source.url, known.source.seen, "derived")
    own = dict.fromkeys(("attention", "mlp"), shape)
    made = replace(known, id=name, aliases=(), field_sources={**known.field_sources, **own})
    if not format_id or format_id == known.native_format:
        return made
    return replace(made, native_format=format_id, unquantised_params_count=0.0)


def built(row: dict[str, Any], rows: dict[str, dict[str, Any]]) -> Model:
    """One row as a model; ``same_as`` takes another row's config, the row's own keys on top.

    Raises:
        InvalidInput: CB-F011 and CB-F016, its config.
    """
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
