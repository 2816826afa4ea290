"""All candidates of a decision as a table: which columns there are, what is asked for, and the rows that answer it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from cabida import text
from cabida.plan import Decision, Estimate, Option
from cabida.report import words as say
from cabida.report.every_form import fits, headroom_bytes
from cabida.text import has_text, tr

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

ROWS = 50  # of one page
LONGEST_SEARCH, MOST_PAGES = 100, 10_000
STATES = ("chosen", "satisfies", "misses", "ruled_out")
SHOWN_METRICS = 4
USUAL = (
    "ttft_ms_p95",
    "tpot_ms_p95",
    "capacity_req_s",
    "output_tok_s",
)  # shown although nobody asked for them
FILTERS = (
    "status",
    "accelerator",
    "capacity",
    "engine",
    "weights",
    "provider",
    "model",
)  # by what an option is
NO_VALUE = (1, 0.0)  # sorts after every figure


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name in the address, its heading, whether figures stand in it and whether it is there unasked.

    ``cell`` gives what is shown of an option, with its interval; ``key`` what it is sorted by.
    """

    name: str
    head: str
    is_number: bool
    shown: bool
    cell: Callable[[Option], tuple[str, str]]
    key: Callable[[Option], Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """What an address asks the table for."""

    search: str
    filters: tuple[tuple[str, tuple[str, ...]], ...]  # name and the values that pass
    sort: str
    downwards: bool
    columns: tuple[str, ...]  # () = the usual ones
    page: int

    def address(self, **other: Any) -> str:
        """The same as a query, with what is ``other``: a sort starts again at the first page."""
        sort = f"{'-' if self.downwards else ''}{self.sort}" if self.sort else ""
        values: dict[str, Any] = {
            "q": self.search,
            **dict(self.filters),
            "sort": sort,
            "columns": self.columns,
        }
        values |= {"page": self.page if self.page > 1 else ""} | other
        pairs: list[tuple[str, str]] = []
        for name, value in values.items():
            told = value if isinstance(value, tuple) else (value,)
            pairs += [(name, str(one)) for one in told if one != ""]
        return f"?{urlencode(pairs)}"


@dataclass(frozen=True, slots=True)
class Candidates:
    """The table as it is shown."""

    asked: Asked
    columns: tuple[Column, ...]  # shown
    every: tuple[Column, ...]
    choices: dict[str, tuple[tuple[str, str], ...]]  # of each filter: value and its words
    rows: tuple[Option, ...]
    found: int
    whole: int
    pages: int


def asked_of(query: QueryParams) -> Asked:
    """What the address asks for; what it can't ask for is left out."""
    sort = query.get("sort", "")[:80]
    told = query.get("page", "")
    page = int(told) if told.isdecimal() and len(told) < 6 else 1
    filters = {name: tuple(one[:200] for one in query.getlist(name)[:40] if one) for name in FILTERS}
    return Asked(
        query.get("q", "").strip()[:LONGEST_SEARCH],
        tuple((name, values) for name, values in filters.items() if values),
        sort.removeprefix("-"),
        sort.startswith("-"),
        tuple(one[:80] for one in query.getlist("columns")[:80] if one),
        min(max(1, page), MOST_PAGES),
    )


def candidates(decision: Decision, asked: Asked) -> Candidates:
    """The rows that are asked for, in the order asked for, a page of them."""
    every = columns(decision)
    wanted = set(asked.columns) or {one.name for one in every if one.shown}
    options = [one for one in decision.options if _passes(one, asked)]
    by_name = {one.name: one for one in every}
    if (by := by_name.get(asked.sort)) is not None:
        known = [one for one in options if by.key(one) != NO_VALUE]
        rest = [one for one in options if by.key(one) == NO_VALUE]
        options = sorted(known, key=by.key, reverse=asked.downwards) + rest
    pages = max(1, -(-len(options) // ROWS))
    start = (min(asked.page, pages) - 1) * ROWS
    return Candidates(
        asked, tuple(one for one in every if one.name in wanted), every, choices(decision),
        tuple(options[start : start + ROWS]), len(options), len(decision.options), pages,
    )  # fmt: skip


def columns(decision: Decision) -> tuple[Column, ...]:
    """Every column there is something for, in the language in use."""
    options = decision.options
    found = [
        Column("status", tr("pages_decision.column.status"), False, True, _status, _by_status),
        Column(
            "cost", say.cost_head(decision), True, True,
            lambda one: (say.price(one.cost_per_month_money, decision.currency), ""),
            lambda one: _sorted_by(one.cost_per_month_money),
        ),
        Column(
            "unit", say.per_output(decision), True, True,
            lambda one: parted(say.unit_cost(one, decision)), lambda one: _sorted_by(one.unit_cost.value),
        ),
    ]  # fmt: skip
    found += [_metric(name, decision, name in _usual(decision)) for name in metrics_of(options)]
    found += [
        Column("accelerators_count", tr("pages_decision.column.accelerators_count"), True, False,
               lambda one: (text.number(one.accelerators_count, 7) if one.accelerator else "–", ""),
               lambda one: _sorted_by(one.accelerators_count)),
        Column("replicas_count", tr("pages_decision.column.replicas_count"), True, False,
               lambda one: (replicas_of(one), ""), lambda one: _sorted_by(one.replicas_count)),
        Column("memory", tr("report.memory_head"), False, False, lambda one: (fits(one) or "–", ""),
               lambda one: _sorted_by(headroom_bytes(one))),
        Column("best", tr("report.best_head"), True, False,
               lambda one: (say.probability(one.best_probability) if one.best_probability > 0 else "–", ""),
               lambda one: _sorted_by(one.best_probability or None)),
        Column("price_seen", tr("pages_decision.column.price_seen"), False, False,
               lambda one: (one.price_seen or "–", ""),
               lambda one: (0, one.price_seen) if one.price_seen else NO_VALUE),
    ]  # fmt: skip
    plain = (
        "weights",
        "engine",
        "capacity",
        "accelerator",
        "model",
        "provider",
        "region",
        "split",
        "kv_cache",
    )
    found += [_plain(name) for name in plain if any(getattr(one, name) for one in options)]
    return tuple(found)


def metrics_of(options: Iterable[Option]) -> list[str]:
    """Names of every metric of the options, as they come."""
    return list(dict.fromkeys(name for one in options for name in one.metrics))


def _usual(decision: Decision) -> list[str]:
    """The metrics that are shown unasked: what the brief asks for, then what one looks at."""
    known = set(metrics_of(decision.options))
    asked = [f"{name.partition('_')[0]}_ms_{name.rpartition('_')[2]}" for name in say.objectives(decision)]
    wanted = dict.fromkeys(name for one in decision.options[:ROWS] for name in say.headline(one, decision))
    return [name for name in dict.fromkeys([*asked, *USUAL, *wanted]) if name in known][:SHOWN_METRICS]


def _metric(name: str, decision: Decision, shown: bool) -> Column:
    def cell(one: Option) -> tuple[str, str]:
        known = one.metrics.get(name)
        return parted(say.figure(name, known, decision.currency)) if known is not None else ("–", "")

    def key(one: Option) -> Any:
        known: Estimate | None = one.metrics.get(name)
        return _sorted_by(known.value if known is not None else None)

    return Column(name, say.label(name), True, shown, cell, key)


def _plain(name: str) -> Column:
    def cell(one: Option) -> tuple[str, str]:
        value = str(getattr(one, name))
        told = f"{said(name, value)} {one.engine_version if name == 'engine' else ''}".strip()
        return told or "–", ""

    def key(one: Option) -> Any:
        value = str(getattr(one, name))
        return (0, value.casefold()) if value else NO_VALUE

    return Column(
        name, tr(f"pages_decision.column.{name}"), False, name in ("weights", "engine", "capacity"), cell, key
    )


def said(name: str, value: str) -> str:
    """A value of what an option is, in words."""
    if name in ("accelerator", "engine"):
        return named(name, value)
    full = {"status": f"report.status.{value}", "capacity": f"choose.capacity.{value}"}.get(name, "")
    return tr(full) if full and has_text(full) else value


@lru_cache(maxsize=512)
def named(kind: str, id: str) -> str:
    """An accelerator or an engine as people call it; its id where nobody knows it (any more)."""
    from cabida import facts
    from cabida.plan.media import ENGINE_NAMES

    if kind == "engine":
        known = facts.engines().get(id)
        return ENGINE_NAMES.get(id) or (known.name if known is not None else id)
    found = facts.find_accelerator(id) if id else None
    return found.name if found is not None else id


def choices(decision: Decision) -> dict[str, tuple[tuple[str, str], ...]]:
    """For each filter the values that options have, where there is something to choose."""
    found = {}
    for name in FILTERS:
        values = {str(getattr(one, name)) for one in decision.options} - {""}
        if len(values) > 1:
            order: Sequence[str] = (
                [one for one in STATES if one in values] if name == "status" else sorted(values)
            )
            found[name] = tuple((one, said(name, one)) for one in order)
    return found


def parted(told: str) -> tuple[str, str]:
    """``540 ms [400–760]`` as the figure and its interval."""
    figure, bracket, interval = told.partition(" [")
    return figure, f"[{interval}" if bracket else ""


def _passes(one: Option, asked: Asked) -> bool:
    if any(str(getattr(one, name)) not in values for name, values in asked.filters):
        return False
    if not asked.search:
        return True
    told = f"{one.rank} {one.title} {one.provider} {one.region} {one.engine} {one.weights} {' '.join(one.reasons)}"
    return all(word in told.casefold() for word in asked.search.casefold().split())


def _status(one: Option) -> tuple[str, str]:
    return tr(f"report.status.{one.status}"), ""


def _by_status(one: Option) -> Any:
    return 0, STATES.index(one.status)


def replicas_of(one: Option) -> str:
    """How many replicas, and how many more as spares."""
    if not one.accelerator:
        return "–"
    spare = f" + {one.spare_replicas_count}" if one.spare_replicas_count else ""
    return f"{text.number(one.replicas_count, 7)}{spare}"


def _sorted_by(value: float | None) -> Any:
    return (0, value) if value is not None and not math.isnan(value) else NO_VALUE
