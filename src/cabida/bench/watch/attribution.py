"""Whether what is measured and charged outlived a failure: metrics, the labels costs are charged by, ids in the log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cabida.bench.watch.fetching import Address, NoPage
from cabida.bench.watch.tail import found_ids
from cabida.evidence.pages import labels_of, read_page
from cabida.evidence.pages.page import MODEL_LABELS
from cabida.evidence.secrets import redacted


@dataclass(frozen=True, slots=True)
class Look:
    """A page looked at once.

    Attributes:
        there: whether there was one; why: why not.
        engine: "" = none is known. names: figures it has. models: that it names.
        labels: values of the labels that say whose requests they were.
    """

    there: bool
    why: str = ""
    engine: str = ""
    names: frozenset[str] = frozenset()
    models: tuple[str, ...] = ()
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def look(address: Address) -> Look:
    """A page as it is now. Blocks for as long as the address allows; never raises."""
    try:
        text = address.fetch()
    except NoPage as error:
        return Look(False, str(error))
    return look_at(text)


def look_at(text: str) -> Look:
    """The same of a page that was fetched already."""
    page = read_page(text)
    owners = {label: values for label, values in labels_of(text).items() if label not in MODEL_LABELS}
    return Look(bool(page.series), "", page.engine, frozenset(page.values()), page.models, owners)


@dataclass(frozen=True, slots=True)
class Survived:
    """What outlived a failure.

    Attributes:
        metrics: whether every figure of before is there after; missing: those that are not.
        labels: whether every owner of before still has series; ``None`` = the page never named any.
        missing_labels: ``label=value`` that are gone, keys blanked.
        ids_found_ratio: request ids of the run that the log holds; ``None`` = no log, or no ids to look for.
    """

    metrics: bool
    missing: tuple[str, ...] = ()
    labels: bool | None = None
    missing_labels: tuple[str, ...] = ()
    ids_found_ratio: float | None = None


def survived(
    before: Look, after: Look, *, log: Path | str = "", ids: Iterable[str] = (), from_offset: int = 0
) -> Survived:
    """Compare two looks, and look for request ids in the engine's log.

    A counter by kind (``requests_ended_count.abort``) that no request of the new process has met yet isn't missing.
    """
    plain = {name for name in before.names if name.count(".") < 2 and not name.startswith("requests_")}
    missing = tuple(sorted(plain - after.names)) if after.there else tuple(sorted(plain))
    gone = tuple(
        redacted(f"{label}={value}")
        for label, values in before.labels.items()
        for value in values
        if value not in after.labels.get(label, ())
    )
    wanted = {one for one in ids if len(one) >= 8}
    found = found_ids(log, wanted, from_offset) if log and wanted else set()
    return Survived(
        metrics=before.there and after.there and not missing,
        missing=missing,
        labels=not gone if before.labels else None,
        missing_labels=gone,
        ids_found_ratio=len(found) / len(wanted) if log and wanted else None,
    )
