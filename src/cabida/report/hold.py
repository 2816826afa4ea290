"""How to hold accelerators over a demand: how many to reserve, what spot, blocks and serverless really cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from cabida import facts, money
from cabida.brief.profiles import NAMED, named
from cabida.errors import InvalidInput
from cabida.evidence import book
from cabida.facts import mig
from cabida.facts.model import Accelerator
from cabida.money import Tenure, Terms
from cabida.money.assumptions import Range, assumed_ranges, can_be
from cabida.money.hold.reserve import (
    MOST_UNITS,
    Commitment,
    Reservation,
    Scenario,
    reserve,
    scenarios,
    shaped,
)
from cabida.money.prices.commitment import reserve_threshold_ratio
from cabida.money.prices.tenure import is_market
from cabida.report.hold_asked import BOUNDS, Asked, told
from cabida.report.hold_ways import block_answer, serverless_answer, slice_answer, spot_answer
from cabida.report.within import refuse_beyond
from cabida.text import number, problem, tr
from cabida.units import HOURS_PER_MONTH

GROWTH = "growth_error_ratio"
DISCOUNTS = ("reserved_6_discount_ratio", "reserved_12_discount_ratio", "reserved_36_discount_ratio")


def hold_answer(asked: Asked, as_of: str) -> dict[str, Any]:
    """The answer of ``cabida hold``; see :func:`cabida.app.hold.hold`."""
    refuse_beyond(asked.figures(), BOUNDS)
    asked_for = facts.accelerator(asked.gpu)
    profile = mig.profile_of(asked_for)
    card = facts.accelerator(asked_for.id.partition(":")[0]) if profile else asked_for
    terms = _terms(asked, as_of)
    wanted = _demand(asked)
    each = profile.instances_count if profile else 1  # slices are rented by the whole card
    demand = tuple(float(ceil(units / each - 1e-9)) for units in wanted)
    ways = _ways(asked, card, terms, ceil(max(demand)))
    hourly = _hourly(asked, ways)
    grown = max(demand) * max(1.0, 1 + _growth(asked, terms).high) ** (asked.horizon_months / 12)
    if grown > MOST_UNITS:
        raise InvalidInput([problem("CB-R076", count=number(grown), most=number(MOST_UNITS, 6))])
    cases = scenarios(_growth(asked, terms), terms.ranges["price_drift_ratio_per_year"])
    rows = [
        _row(
            one,
            reserve(demand, hourly["money_per_hour"], one.commitment, cases, asked.horizon_months),
            hourly,
        )
        for one in _commitments(asked, ways, hourly, terms)
    ]
    rows.sort(key=lambda row: (row["term_months"], row["money_per_month"]))
    best = min(rows, key=lambda row: row["money_per_month"], default=None)
    mean = sum(demand) / len(demand)
    by_hour = _on_demand_month(demand, hourly["money_per_hour"], cases, asked)
    least = min(by_hour, best["money_per_month"] if best else by_hour)
    answer = {
        "gpu": asked_for.id,
        "name": card.name,
        "as_of": as_of,
        "currency": asked.currency,
        "horizon_months": asked.horizon_months,
        "demand": _demand_told(asked, demand, max(wanted)),
        "on_demand": hourly,
        "on_demand_money_per_month": by_hour,
        "reservations": rows,
        "best": best,
        "scenarios": [_case(one) for one in cases],
        "spot": spot_answer(ways, hourly, terms, asked, max(1, round(mean))),
        "block": block_answer(ways, hourly, terms, asked, max(1, round(mean))),
        "serverless": serverless_answer(ways, hourly),
        "slices": slice_answer(asked_for, wanted, least),
    }
    return answer | {
        "warnings": _warnings(answer, ways, terms),
        "assumptions": _assumed(answer, asked, terms),
    }


def _terms(asked: Asked, as_of: str) -> Terms:
    stated = dict(asked.assume or {})
    if asked.resale_ratio is not None:
        stated["resale_ratio"] = asked.resale_ratio
    made = money.terms(asked.currency, as_of=as_of, horizon_months=float(asked.horizon_months), stated=stated)
    faults = [problem("CB-R070", name=name) for name in sorted(stated) if name not in assumed_ranges()]
    faults += [
        problem("CB-R075", name=name, value=number(value))
        for name, value in sorted(stated.items())
        if name in assumed_ranges() and not can_be(name, value)
    ]
    if faults:
        raise InvalidInput(faults)
    return made


def _demand(asked: Asked) -> tuple[float, ...]:
    """Whole units by hour, of the asked mean and peak."""
    profile = asked.hours or _named(asked.profile)
    if asked.hours:
        return tuple(float(ceil(one - min(1e-9, one / 2))) for one in asked.hours)
    peak = asked.peak if asked.peak is not None else asked.mean * max(profile) * len(profile) / sum(profile)
    try:
        found = shaped(tuple(profile), asked.mean, peak)
    except ValueError:
        raise InvalidInput(
            [problem("CB-R071", profile=asked.profile, mean=number(asked.mean), peak=number(peak))]
        ) from None
    return tuple(float(ceil(one - min(1e-9, one / 2))) for one in found)


def _named(profile: str) -> Sequence[float]:
    if profile not in NAMED:
        said = tr("faces.refused.choice", value=profile, choices=", ".join(NAMED))
        raise InvalidInput([problem("CB-U004", what=said)])
    return named(profile)


def _growth(asked: Asked, terms: Terms) -> Range:
    """The stated growth, with how far plans of growth are off."""
    off = terms.ranges[GROWTH]
    base = asked.growth_ratio
    return Range(max(-0.95, base + off.low), base, base + off.high, off.source)


def _ways(asked: Asked, card: Accelerator, terms: Terms, count: int) -> list[Tenure]:
    """Every priced way to hold so many whole ones."""
    providers = (asked.provider,) if asked.provider else ()
    found = money.offers_for(card, count, book.offers(terms.as_of, [card.id]), terms, providers=providers)
    return [one for one in found if one.offer.fraction_ratio >= 1]


def _hourly(asked: Asked, ways: Sequence[Tenure]) -> dict[str, Any]:
    """The price of an hour on demand: the stated one, else the cheapest of those who are no marketplace."""
    if asked.on_demand is not None:
        return {"provider": tr("hold.stated"), "money_per_hour": asked.on_demand, "seen": "", "flags": []}
    by_hour = [one for one in ways if one.capacity == "on-demand"]
    if not by_hour:
        raise InvalidInput([problem("CB-R072", gpu=asked.gpu, provider=asked.provider or "–")])
    firm = [one for one in by_hour if not is_market(one.offer)] or by_hour
    return told(min(firm, key=lambda one: (one.money_per_hour, one.id)))


@dataclass(frozen=True, slots=True)
class Priced:
    """A commitment with who sells it and what to doubt of its price."""

    commitment: Commitment
    provider: str
    seen: str
    flags: tuple[str, ...]


def _commitments(
    asked: Asked, ways: Sequence[Tenure], hourly: Mapping[str, Any], terms: Terms
) -> list[Priced]:
    """The stated reservations; else the cheapest of each term in the book, and by the assumed discounts."""
    resale, wacc = terms.base("resale_ratio"), terms.base("wacc_ratio")

    def made(term: int, price: float, upfront: float, least: int, step: int) -> Commitment:
        paid = asked.upfront_ratio if asked.upfront_ratio is not None else upfront
        least = asked.minimum_count if asked.minimum_count is not None else least
        return Commitment(term, price, paid, max(1, least), max(1, step), resale, wacc)

    if asked.reserved:
        who = tr("hold.stated")
        return [Priced(made(term, price, 0.0, 1, 1), who, "", ()) for term, price in asked.reserved.items()]
    best: dict[int, Tenure] = {}
    for one in ways:
        term = round(one.committed_months)
        if (
            one.capacity == "reserved"
            and term
            and one.money_per_hour < best.get(term, one).money_per_hour + 1e-12
        ):
            best[term] = one
    found = [_sold(term, one, made) for term, one in best.items()]
    for name in DISCOUNTS:  # what nobody published, by the discounts usual for its length
        term = int(name.split("_")[1])
        if term not in best:
            price = hourly["money_per_hour"] * (1 - terms.base(name))
            found.append(Priced(made(term, price, 0.0, 1, 1), hourly["provider"], "", ("assumed",)))
    return found


def _sold(term: int, one: Tenure, made: Callable[[int, float, float, int, int], Commitment]) -> Priced:
    offer = one.offer
    commitment = made(
        term, one.money_per_hour, offer.upfront_ratio, offer.minimum_count, offer.accelerators_count
    )
    return Priced(commitment, offer.provider, offer.seen, one.flags)


def _row(one: Priced, found: Reservation, hourly: Mapping[str, Any]) -> dict[str, Any]:
    term, months = one.commitment, found.horizon_months
    half = term.term_months / 2
    return {
        "term_months": term.term_months,
        "provider": one.provider,
        "money_per_hour": term.money_per_hour,
        "seen": one.seen,
        "flags": [*one.flags, *(["beyond_horizon"] if term.term_months > months else [])],
        "pays_above_ratio": float(reserve_threshold_ratio.raw(term.money_per_hour, hourly["money_per_hour"])),
        "count": found.count,
        "money_per_month": found.money / months,
        "saving_ratio": max(0.0, 1 - found.money / found.on_demand_money) if found.count else 0.0,
        "committed_money": found.committed_money,
        "upfront_money": found.committed_money * term.upfront_ratio,
        "idle_ratio": found.idle_ratio,
        "stranded_at_half_money": term.stranded_money(found.count, half),
        "stranded_at_horizon_money": found.stranded_money,
        "largest_regret_money_per_month": found.largest_regret_money / months,
        "expected_regret_money_per_month": found.expected_regret_money / months,
        "outcomes": [
            {
                **_case(outcome.scenario),
                "money_per_month": outcome.money / months,
                "best_count": outcome.best_count,
                "regret_money_per_month": outcome.regret_money / months,
            }
            for outcome in found.outcomes
        ],
    }


def _case(one: Scenario) -> dict[str, Any]:
    return {
        "name": one.name,
        "growth_ratio_per_year": one.growth_ratio,
        "drift_ratio_per_year": one.drift_ratio,
        "weight_ratio": one.weight_ratio,
    }


def _on_demand_month(demand: Sequence[float], price: float, cases: Sequence[Scenario], asked: Asked) -> float:
    """A month with everything by the hour, over the same scenarios."""
    nothing = Commitment(asked.horizon_months, 10 * price + 1.0, minimum_count=10**9)
    return reserve(demand, price, nothing, cases, asked.horizon_months).on_demand_money / asked.horizon_months


def _demand_told(asked: Asked, demand: Sequence[float], asked_peak: float) -> dict[str, Any]:
    ordered = sorted(demand, reverse=True)
    return {
        "profile": "hours" if asked.hours else asked.profile,
        "asked_mean": sum(asked.hours) / len(asked.hours) if asked.hours else asked.mean,
        "asked_peak": asked_peak,
        "mean": sum(demand) / len(demand),
        "peak": max(demand),
        "least": min(demand),
        "hours_count": len(demand),
        "unit_hours_per_month": sum(demand) / len(demand) * float(HOURS_PER_MONTH),
        "growth_ratio_per_year": asked.growth_ratio,
        "duration_curve": ordered,
    }


def _warnings(answer: Mapping[str, Any], ways: Sequence[Tenure], terms: Terms) -> list[str]:
    """What to doubt of the prices used, and terms that outlast the need."""
    by_id = {one.id: one for one in ways}
    shown = [answer[key].get("offer") for key in ("on_demand", "spot", "block", "serverless") if answer[key]]
    found = [
        caution.sentence
        for id in shown
        if id in by_id
        for caution in money.price_warnings(by_id[id], terms.as_of)
    ]
    for row in answer["reservations"]:
        if "assumed" in row["flags"]:
            found.append(tr("money.flag.assumed", provider=row["provider"]))
        if "beyond_horizon" in row["flags"]:
            found.append(tr("hold.beyond", term=row["term_months"], horizon=answer["horizon_months"]))
    return list(dict.fromkeys(found))


def _assumed(answer: Mapping[str, Any], asked: Asked, terms: Terms) -> list[dict[str, str]]:
    """What was taken for granted: name, value with its range, and why."""
    names = [GROWTH, "price_drift_ratio_per_year", "resale_ratio", "wacc_ratio"]
    if answer["spot"]:
        names += [answer["spot"]["assumption"], "restart_s", "spot_unavailable_ratio"]
    if answer["block"]:
        names.append("block_step_hours")
    if answer["serverless"] and answer["serverless"]["host_apart"]:
        names.append("serverless_host_money_per_hour")
    return [
        {
            "name": one.name,
            "value": one.value,
            "why": one.why,
            "find_out": one.how_to_find_out,
            "grade": one.grade,
        }
        for one in terms.assumptions(names)
    ]
