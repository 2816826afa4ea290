"""One metrics page watched: fetched, read and followed in its thread; and several of them as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from cabida.bench.watch.aside import Aside
from cabida.bench.watch.fetching import Address
from cabida.bench.watch.gpus import slowed
from cabida.evidence.pages import Increases, Page, ours, read_page
from cabida.text import printable

Row = dict[str, Any]
STANDING = ("started_s",)  # of a page, not worth a row each second
FIXED = ("kv_tokens", "blocks_count", "block_size_tokens", "kv_reserved_bytes", "gpu_share_ratio", "context_tokens",
         "running_most_count")  # fmt: skip
MOST = ".most"
FIGURES_MOST = 4000  # of one page in one row: 128 cards have 20 each
MODELS_MOST, NAME_CHARS = 50, 120


@dataclass(frozen=True, slots=True)
class Seen:
    """What a page said.

    Attributes:
        figures: gauges as they stand, counters as their increases since watching began.
        grown: the increases alone; facts: what stands still.
        restarts_count, several: as of :class:`Increases`.
    """

    figures: dict[str, float]
    grown: dict[str, float]
    facts: dict[str, float]
    engine: str
    models: tuple[str, ...]
    missing: tuple[str, ...]
    known: bool
    restarts_count: int
    several: bool


class Source:
    """One page. ``facts`` are those of its server; ``noted``: they have been told."""

    def __init__(self, address: Address, model: str) -> None:
        """Nothing is fetched yet."""
        self.address, self.model = address, model
        self.key = f"page {address.shown}"
        self.increases = Increases(model=model)
        self.restarts, self.several, self.gone, self.noted = 0, False, False, False
        self.facts: dict[str, float] = {}
        self.grown: dict[str, float] = {}
        self.cards_count = 0  # the most that its page has had
        self.engine = ""
        self.models: tuple[str, ...] = ()
        self.aside: Aside[Seen] = Aside("page", self.read)

    def read(self) -> Seen:
        """The page now.

        Raises:
            NoPage: there is none.
        """
        return seen(read_page(self.address.fetch()), self.increases, self.model)


def seen(page: Page, increases: Increases, model: str) -> Seen:
    """A page as rows have it, one more taken into ``increases``."""
    values = page.values(model if model in page.models else "")
    grown = increases.add(page)
    gauges = {
        name: value
        for name, value in values.items()
        if name not in STANDING and name not in FIXED and not _is_counter(name)
    }
    return Seen(
        figures=dict(islice((grown | gauges).items(), FIGURES_MOST)),
        grown=grown,
        facts={name: values[name] for name in FIXED if name in values},
        engine=page.engine,
        models=tuple(printable(one)[:NAME_CHARS] for one in page.models[:MODELS_MOST]),
        missing=page.missing,
        known=bool(page.series),
        restarts_count=increases.restarts_count,
        several=increases.several,
    )


def _is_counter(name: str) -> bool:
    """Whether a figure is a counter of an engine: rows have its increase instead, or nothing."""
    known = ours().get(name.split(".")[0])
    return known is not None and known.kind != "gauge"


def cards_in(figures: dict[str, float]) -> int:
    """How many numbers the cards of a page take."""
    return 1 + max((int(name.split(".")[1]) for name in figures if name.startswith("gpu.")), default=-1)


def together(found: Sequence[dict[str, float]], cards_counts: Sequence[int] = ()) -> dict[str, float]:
    """Figures of several pages as one: summed, averaged or the most of them, as each name says.

    Cards of a second page are numbered on from those of the first, of which there are ``cards_counts`` where that is
    known: a page that is away for a moment keeps its numbers.
    """
    if len(found) == 1:
        return dict(found[0])
    values: dict[str, list[float]] = {}
    cards: dict[str, float] = {}
    for at, one in enumerate(found):
        begin = sum(cards_counts[:at]) if cards_counts else cards_in(cards)
        for name, value in one.items():
            if name.startswith("gpu."):
                _, number, rest = name.split(".", 2)
                cards[f"gpu.{begin + int(number)}.{rest}"] = value
            else:
                values.setdefault(name, []).append(value)
    merged = {name: _one(name, several) for name, several in values.items()}
    fullest = [one.get("kv_used_ratio.most", one.get("kv_used_ratio")) for one in found]
    known = [one for one in fullest if one is not None]
    if len(known) > 1:
        merged["kv_used_ratio.most"] = max(known)
    return merged | cards


def _one(name: str, values: list[float]) -> float:
    known = ours().get(name.split(".")[0])
    how = "most" if name.endswith(MOST) or known is None else known.how
    return max(values) if how == "most" else sum(values) / (len(values) if how == "mean" else 1)


def card_events(before: dict[str, float], after: dict[str, float]) -> list[Row]:
    """What happened to cards between two samples of an exporter's page, as a driver of this machine would tell it."""
    told: list[Row] = []
    for name, value in after.items():
        _, number, figure = name.split(".", 2) if name.startswith("gpu.") else ("", "", "")
        earlier = before.get(name)
        if not figure or earlier is None or value == earlier:
            continue
        gpu = int(number)
        if figure == "xid_code" and value:
            told.append({"event": "xid", "gpu": gpu, "code": int(value)})
        elif figure == "ecc_uncorrected_count" and value > earlier:
            told.append({"event": "ecc", "gpu": gpu, "count": int(value - earlier)})
        elif figure == "throttle_bits" and (reasons := slowed(int(value))) != slowed(int(earlier)):
            told.append(
                {"event": "slowed" if reasons else "full-speed", "gpu": gpu, "reasons": list(reasons)}
            )
    return told
