"""Two decisions on the same work beside each other: does the winner stay, and what moved it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cabida.plan import Decision, Option
from cabida.report.every_form import first
from cabida.timing.own import is_own_calibration

SAME_RATIO = 1e-9  # two figures nearer than this are one figure
NOT_OF_THE_WORK = ("name", "file")  # of a brief: what it is called
MOST_DEEP = 12


@dataclass(frozen=True, slots=True)
class Pick:
    """The option that a decision is about, as the other one sees it.

    Attributes:
        title: of the option; status: chosen, satisfies, misses or ruled_out; rank: its place; 0 = not among them.
        unit_cost: money per output; cost: money per month or run.
        reasons: why it misses.
    """

    title: str
    status: str = ""
    rank: int = 0
    unit_cost: float | None = None
    cost: float | None = None
    price_per_hour: float | None = None
    price_seen: str = ""
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that is not as it was; "" = was not there, or is no more."""

    kind: str  # brief | world | option | price | assumption | warning
    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed between two decisions.

    Attributes:
        winner_changed: another option is to be taken, or nothing satisfies any more (or again).
        verdicts: satisfied or nothing_satisfies, before and after.
        winner_before, winner_after: in the decision that each is of.
        old_winner_now, new_winner_then: the same options in the other decision; ``None`` where they are not shown.
        changes: everything that is not as it was, in the order of its kinds.
        currency, denominator: of the money; language: of the titles.
    """

    winner_changed: bool
    verdicts: tuple[str, ...]
    winner_before: Pick | None
    winner_after: Pick | None
    old_winner_now: Pick | None
    new_winner_then: Pick | None
    changes: tuple[Change, ...]
    as_of: tuple[str, ...]
    currency: str
    currency_after: str
    denominator: str
    language: str


def difference(before: Decision, after: Decision) -> Difference:
    """What changed from one decision to another on the same work."""
    one, two = first(before), first(after)
    verdicts = (before.verdict, after.verdict)
    stays = one is not None and two is not None and likeness(one) == likeness(two)
    return Difference(
        winner_changed=verdicts[0] != verdicts[1] or (not stays and "satisfied" in verdicts),
        verdicts=verdicts,
        winner_before=_picked(one),
        winner_after=_picked(two),
        old_winner_now=_picked(_alike(one, after)),
        new_winner_then=_picked(_alike(two, before)),
        changes=tuple(_changes(before, after)),
        as_of=(before.as_of, after.as_of),
        currency=before.currency,
        currency_after=after.currency,
        denominator=before.denominator,
        language=after.language,
    )


def likeness(option: Option) -> tuple[Any, ...]:
    """What two options have in common when they are one and the same thing to buy, at whatever price and count."""
    one = option
    return (
        one.model, one.accelerator, one.split, one.weights, one.kv_cache, one.engine, one.provider, one.capacity,
        one.region,
    )  # fmt: skip


def _alike(option: Option | None, decision: Decision) -> Option | None:
    if option is None:
        return None
    wanted = likeness(option)
    return next((one for one in decision.options if likeness(one) == wanted), None)


def _picked(option: Option | None) -> Pick | None:
    return pick(option) if option is not None else None


def pick(option: Option) -> Pick:
    """An option as the other decision sees it."""
    return Pick(
        option.title, option.status, option.rank, option.unit_cost.value, option.cost_per_month_money,
        option.replica.money_per_hour if option.replica else None, option.price_seen, option.reasons,
    )  # fmt: skip


def _changes(before: Decision, after: Decision) -> Iterator[Change]:
    yield from _compared("brief", written(before), written(after))
    yield from _compared("world", _world(before), _world(after))
    yield from _prices(before, after)
    yield from _statuses(before, after)
    named = [{one.name: one.value for one in each.assumptions} for each in (before, after)]
    yield from _compared("assumption", *named)
    warned = [{one.code: one.sentence for one in each.warnings} for each in (before, after)]
    for code in sorted(warned[0].keys() ^ warned[1].keys()):
        yield Change("warning", code, warned[0].get(code, ""), warned[1].get(code, ""))


def _world(decision: Decision) -> dict[str, str]:
    own = [one["what"] for one in decision.sources if is_own_calibration(one)]
    return {
        "as_of": decision.as_of,
        "version": decision.version,
        "facts": decision.facts_digest[:12],
        "measured": "; ".join(own),
        "seed": str(decision.seed),
    }


def _prices(before: Decision, after: Decision) -> Iterator[Change]:
    """Per accelerator-hour of a replica, of the options that both show."""
    then = {likeness(one): one for one in before.options}
    for option in after.options:
        old = then.get(likeness(option))
        if old is None or old.replica is None or option.replica is None:
            continue
        was, now = old.replica.money_per_hour, option.replica.money_per_hour
        counts = old.replica.accelerators_count, option.replica.accelerators_count
        if was is not None and now is not None and not _same(was / counts[0], now / counts[1]):
            yield Change("price", option.title, f"{was / counts[0]!r}", f"{now / counts[1]!r}")


def _statuses(before: Decision, after: Decision) -> Iterator[Change]:
    then = {likeness(one): one for one in before.options}
    now = {likeness(one): one for one in after.options}
    for key in [*then, *(key for key in now if key not in then)]:
        old, new = then.get(key), now.get(key)
        was, is_now = _standing(old), _standing(new)
        if was != is_now:
            yield Change("option", (new or old or after.options[0]).title, was, is_now)


def _standing(option: Option | None) -> str:
    """Chosen and satisfying are one standing: which of them comes first is the winner's matter."""
    return "" if option is None else "satisfies" if option.status == "chosen" else option.status


def _compared(kind: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    for name in [*before, *(name for name in after if name not in before)]:
        was, now = before.get(name, ""), after.get(name, "")
        if was != now:
            yield Change(kind, name, was, now)


def written(decision: Decision) -> dict[str, str]:
    """What the brief says, as it was written, by path; its defaults are the assumptions' matter."""
    from cabida.brief.lines import as_yaml, read_lines

    said, problems = read_lines(decision.brief_text)
    return flat(decision.brief if problems else as_yaml(said))


def flat(plain: Any, where: str = "", deep: int = 0) -> dict[str, str]:
    """Nested data as ``path: value``; what is empty is left out."""
    if isinstance(plain, Mapping) and deep < MOST_DEEP:
        parts = [(f"{where}.{name}".lstrip("."), value) for name, value in plain.items()]
        found: dict[str, str] = {}
        for path, value in parts:
            if path not in NOT_OF_THE_WORK:
                found |= flat(value, path, deep + 1)
        return found
    if (
        isinstance(plain, list | tuple)
        and any(isinstance(one, Mapping) for one in plain)
        and deep < MOST_DEEP
    ):
        found = {}
        for at, value in enumerate(plain):
            found |= flat(value, f"{where}[{at}]", deep + 1)
        return found
    if isinstance(plain, list | tuple):
        return {where: ", ".join(str(one) for one in plain)} if plain else {}
    return {} if plain is None or plain == "" else {where: str(plain)}


def _same(one: float, two: float) -> bool:
    return abs(one - two) <= SAME_RATIO * max(abs(one), abs(two))
