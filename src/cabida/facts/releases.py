"""Releases and parts by name: what was out by a date, and which rows speak of a part."""

from __future__ import annotations

from functools import cache

from cabida.facts import store
from cabida.facts.stacks import Part, Release

MOST_DIGITS = 18  # of one number of a version; a date has eight


@cache
def every_release() -> tuple[Release, ...]:
    """All releases, oldest first within a name."""
    return store.table("releases")


def releases(name: str, as_of: str = "") -> tuple[Release, ...]:
    """Releases of one piece of software, oldest first; with ``as_of`` (ISO date) those known by then."""
    return tuple(one for one in every_release() if one.name == name and (not as_of or one.known_by <= as_of))


def release_at(name: str, version: str, as_of: str = "") -> Release | None:
    """The release that a version is, or the nearest before it; the latest when ``version`` is ""."""
    known = releases(name, as_of)
    if not version:
        return known[-1] if known else None
    wanted = numbers(version)
    exact = next((one for one in known if same(one.version, version)), None)
    before = [one for one in known if numbers(one.version)[: len(wanted)] <= wanted]
    return exact or (before[-1] if before and wanted else None)


def same(one: str, other: str) -> bool:
    """Whether two versions are one: 0.31 and 0.31.0 are."""
    return bool(numbers(one)) and _padded(numbers(one)) == _padded(numbers(other))


def _padded(version: tuple[int, ...]) -> tuple[int, ...]:
    return (*version, 0, 0, 0)[:4] if version else ()


@cache
def parts() -> tuple[Part, ...]:
    """All rows of all parts, in the order they are tried."""
    return store.table("parts")


@cache
def part_rows(name: str) -> tuple[Part, ...]:
    """The rows of one part, in the order they are tried."""
    return tuple(one for one in parts() if one.name == name)


def numbers(version: str) -> tuple[int, ...]:
    """``0.11.2rc1`` as (0, 11, 2), ``b9603`` as (9603,): versions compare as numbers; () of a nightly build."""
    found: list[int] = []
    for piece in version.lstrip("vb").split("."):
        digits = ""
        for char in piece:
            if not char.isdecimal():
                break
            digits += char
        if not digits or len(digits) > MOST_DIGITS:
            break
        found.append(int(digits))
        if len(digits) < len(piece):
            break
    return tuple(found)
