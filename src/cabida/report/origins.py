"""Where a figure comes from, in words of the language in use; the names of documents and files stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

from cabida.plan import Decision
from cabida.text import catalogue, has_text, language, tr

SIMULATION = "simulation, seed "
FITTED = "; fitted to "
PART = "part."
ALIKE_RATIO = 0.6  # of the letters of two texts that say the same


def origin(name: str, what: str) -> str:
    """Where figure ``name`` comes from: a stage of this very decision, an assumption's reason, a document."""
    if what.startswith(SIMULATION):
        return tr("report.origin.simulation", seed=what.removeprefix(SIMULATION))
    if has_text(f"report.origin.{what}"):
        return tr(f"report.origin.{what}")
    plain, fitted, file = what.partition(FITTED)
    if has_text(f"origins.{plain}") and language() != "en":
        said = tr(f"origins.{plain}")
        return tr("report.origin_fitted", what=said, file=file) if fitted else said
    reason = f"money.because.{name}"
    return tr(reason) if name and what and has_text(reason) and _same(what, name) else _cited(what)


def _cited(what: str) -> str:
    """A citation with the words between its names in the language in use."""
    for english, said in _parts(language()):
        what = what.replace(english, said)
    return what


@lru_cache(maxsize=4)
def _parts(code: str) -> list[tuple[str, str]]:
    """Words between names and what is said for them, the longest first; none in English."""
    known = catalogue(code, "origins") if code != "en" else {}
    found = [(key.removeprefix(PART), said) for key, said in known.items() if key.startswith(PART)]
    return sorted(found, key=lambda pair: -len(pair[0]))


def sources(decision: Decision) -> list[dict[str, str]]:
    """Every source of a decision as ``{what, url, seen, grade}``, told in the language in use."""
    named = {_what(node.get("source")): str(node["name"]) for node in decision.trees}
    return [
        one | {"what": _listed(named.get(one.get("what", ""), ""), one.get("what", ""))}
        for one in decision.sources
    ]


def _listed(name: str, what: str) -> str:
    """A sentence of ours without its stop, since a date follows it."""
    said = origin(name, what)
    return said if said == what else said.removesuffix(".")


def _what(source: Any) -> str:
    return str(source.get("what") or "") if isinstance(source, Mapping) else str(source or "")


@lru_cache(maxsize=1024)
def _same(what: str, name: str) -> bool:
    """Whether a source is the reason that the catalogue gives for an assumption, in the words of the shipped data."""
    said = catalogue("en", "money")[f"because.{name}"]
    return SequenceMatcher(None, what.lower(), said.lower()).ratio() > ALIKE_RATIO
