"""Media pipelines by name, and the components they are made of."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache

from cabida.errors import InvalidInput
from cabida.facts import store
from cabida.facts.media import Component, Pipeline
from cabida.text import problem

_NOISE = re.compile(r"\b(diffusers|hf|base|instruct|official)\b")


@cache
def pipelines() -> dict[str, Pipeline]:
    """All pipelines by id."""
    return {one.id: one for one in store.table("pipelines")}


@cache
def components() -> dict[str, Component]:
    """All components by id."""
    return {one.id: one for one in store.table("components")}


def components_of(one: Pipeline) -> tuple[Component, ...]:
    """The components of a pipeline, in the order they run."""
    return tuple(components()[id] for id in one.components)


def pipeline(ref: str) -> Pipeline:
    """The pipeline called ``ref``: an id, an alias or a repository's name, organisation aside.

    Raises:
        InvalidInput: CB-F050, none is called that; names the nearest.
    """
    found = find_pipeline(ref)
    if found is None:
        names = _names()
        near = [names[one].id for one in get_close_matches(_key(ref), list(names), n=3, cutoff=0.4)]
        nearest = ", ".join(dict.fromkeys(near)) or ", ".join([*pipelines()][:3])
        raise InvalidInput(problem("CB-F050", ref=ref[:200], nearest=nearest))
    return found


def find_pipeline(ref: str) -> Pipeline | None:
    """The pipeline called ``ref``, or ``None``."""
    names = _names()
    key = _key(ref)
    return names.get(key) or names.get(re.sub(r"[^a-z0-9]", "", key))


def holding(ref: str) -> list[str]:
    """The ids that hold ``ref``, at least three letters of it, shortest first."""
    key = _key(ref)
    return sorted((one for one in pipelines() if len(key) > 2 and key in one), key=len)


@cache
def _names() -> dict[str, Pipeline]:
    found: dict[str, Pipeline] = {}
    for one in pipelines().values():
        for name in (one.id, one.name, *one.aliases):
            found.setdefault(_key(name), one)
            found.setdefault(re.sub(r"[^a-z0-9]", "", _key(name)), one)
    return found


def _key(name: str) -> str:
    """Lower case without organisation, separators as hyphens, words that tell nothing left out."""
    words = re.sub(r"[\s_/]+", "-", name.strip().lower().rsplit("/", 1)[-1])
    return re.sub(r"-+", "-", _NOISE.sub("", words)).strip("-")
