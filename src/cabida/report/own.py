"""Owning worked out for a person: a year in two views, against rents, over time, with the ancestry of each figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from cabida import facts
from cabida.money import Tenure, Terms
from cabida.money.own import against, ownership
from cabida.money.own.owned import TINY, ownership_of, rents_seen
from cabida.money.own.purchase import RUNNING, Purchase, worked_out
from cabida.money.prices import api
from cabida.money.prices.tenure import is_market
from cabida.money.ways import Explained, Plain
from cabida.plan.ownership import Ownership
from cabida.quantity import Quantity, Source, leaf, tree_nodes
from cabida.report.own_asked import Asked, asked
from cabida.report.own_flips import flips
from cabida.report.own_others import others
from cabida.report.own_said import advice, verdict
from cabida.units import HOURS_PER_YEAR, MONTHS_PER_YEAR, S_PER_HOUR, TOKENS_PER_MTOK

UTILISATIONS = (0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9)
EXPLAINED = (
    "capital", "running", "residual", "annuity", "straight_line", "financing", "tax", "owned", "accounts", "available",
    "useful", "npv",
)  # fmt: skip


def own_answer(
    gpu: str,
    flags: Mapping[str, Any],
    *,
    currency: str,
    as_of: str,
    country: str,
    api_price: float | None = None,
    tokens_per_s: float | None = None,
) -> dict[str, Any]:
    """The answer of ``cabida own``; see :func:`cabida.app.owning.own`."""
    against_api = {"api_price": api_price, "tokens_per_s": tokens_per_s}
    found = asked(gpu, {**flags, **against_api}, currency, as_of, country)
    bought, terms = found.bought, found.terms
    rents = rents_seen(found.rents, at_desk=bought.at_desk, stated_money=found.rent_money)
    whole = ownership_of(bought, terms, rents)
    explained = Explained(terms, {})
    tree = worked_out(explained, bought)
    figures = _figures(tree, explained, bought, whole)
    nodes, roots = tree_nodes(figures)
    answer: dict[str, Any] = {
        "gpu": bought.accelerator.id,
        "name": bought.accelerator.name,
        "kind": bought.kind,
        "gpus": bought.needed_count,
        "machines": bought.machines_count,
        "per_machine": bought.unit_count,
        "power_billing": "energy" if bought.by_meter else "reserved_kw",
        "as_of": as_of,
        "country": country,
        "currency": currency,
        "price": _price(found),
        "ownership": {
            **asdict(whole),
            "residual_source": terms.ranges["decay_ratio"].because("decay_ratio"),
        },
        "busy_money_per_hour": worked_out(Plain(terms), replace(bought, utilisation_ratio=1.0))["useful"],
        "bill": bill(whole, worked_out(Plain(terms), bought)),
        "by_use": by_use(bought, terms, whole),
        "held_how": held_how(
            [one for one in found.rents if bought.at_desk or not is_market(one.offer)], whole
        ),
        "by_month": by_month(bought, terms, whole),
        "flips": flips(bought, terms, whole),
        "swings": _swings(tree["useful"], explained),
        "residual_seen": residual_seen(bought, terms.as_of),
        "others": others(bought, terms, as_of),
        "assumptions": _assumptions(tree["useful"], explained, terms),
        "figures": roots,
        "trees": nodes,
    }
    if tokens_per_s:
        answer["tokens"] = _tokens(whole, tokens_per_s, api_price)
    answer["verdict"] = verdict(answer)
    answer["advice"] = advice(answer)
    return answer


def _figures(
    tree: Mapping[str, Any], explained: Explained, bought: Purchase, whole: Ownership
) -> dict[str, Quantity]:
    """Every figure that can be explained, by name; the rents' too."""
    names = [*EXPLAINED, *(key for key in tree if "." in key)]
    found = {name: tree[name] for name in names if isinstance(tree[name], Quantity)}
    idle, busy = (
        worked_out(explained, replace(bought, utilisation_ratio=use))["owned"] for use in (TINY, 1.0)
    )
    for rent in whole.rents:
        said = f"{rent.provider} {rent.seen}".strip() or rent.kind
        hourly = leaf("rent_money_per_hour", rent.money_per_hour, Source(said, seen=rent.seen))
        found[f"break_even_use.{rent.kind}"] = against.break_even_use_ratio(
            idle, busy, tree["delivered"], hourly
        )
        used = explained.given("utilisation_ratio", bought.utilisation_ratio, "asked")
        yearly = against.rented_money_per_year(hourly, tree["delivered"], used)
        found[f"rented.{rent.kind}"] = yearly
        found[f"rented_npv.{rent.kind}"] = against.rented_npv_money(
            yearly, tree["recovery"], explained.assume("tax_ratio")
        )
    return found


def _price(found: Asked) -> dict[str, Any]:
    bought, offer = found.bought, found.bought.offer
    each = float(offer.amount) * found.terms.rate(offer.currency).ratio
    return {
        "money": each,
        "whole_machine": bought.whole,
        "provider": offer.provider,
        "seen": offer.seen,
        "flags": list(found.price.flags) if found.price else [],
        "condition": offer.condition,
        "source": offer.source.what,
        "url": offer.source.url,
        "grade": offer.source.grade,
        "rate": found.terms.rate(offer.currency).sentence() if offer.currency != found.terms.currency else "",
    }


def bill(whole: Ownership, found: Mapping[str, float]) -> dict[str, Any]:
    """A year in two columns, to the cent: capital recovered with interest, and written off in a straight line.

    Lines are rounded to the cent and the largest takes what rounding leaves, so that they sum to their total.
    """
    resale = {
        "annuity": -found["present_residual"] * found["recovery"],
        "straight_line": -found["residual"] / whole.years,
    }
    columns = {
        "annuity": {"purchase": found["capital"] * found["recovery"], "resale": resale["annuity"]},
        "straight_line": {"purchase": found["capital"] / whole.years, "resale": resale["straight_line"]},
    }
    columns["annuity"] |= {"income_tax": found["tax"]} if found["tax"] else {}
    totals = {"annuity": found["owned"], "straight_line": found["accounts"]}
    for name, lines in columns.items():
        lines |= {key: found[f"running.{key}"] for key in RUNNING if found[f"running.{key}"]}
        columns[name] = to_the_cent(lines, totals[name])
    return {
        "lines": columns,
        "totals": {name: round(total, 2) for name, total in totals.items()},
        "capital": to_the_cent(whole.capital_lines, whole.capital_money),
        "capital_money": round(whole.capital_money, 2),
        "financing": round(found["financing"], 2),
    }


def to_the_cent(lines: Mapping[str, float], total: float) -> dict[str, float]:
    """The lines in whole cents that sum to the total in whole cents."""
    cents = {key: round(value * 100) for key, value in lines.items()}
    if cents:
        largest = max(cents, key=lambda key: abs(cents[key]))
        cents[largest] += round(total * 100) - sum(cents.values())
    return {key: value / 100 for key, value in cents.items()}


def by_use(bought: Purchase, terms: Terms, whole: Ownership) -> list[dict[str, Any]]:
    """An hour of useful work at several uses, and whether renting by the hour is cheaper."""
    rows = []
    rent = whole.rents[0] if whole.rents else None
    for use in sorted({*UTILISATIONS, bought.utilisation_ratio}):
        found = worked_out(Plain(terms), replace(bought, utilisation_ratio=use))
        rows.append(
            {
                "utilisation": use,
                "available_money_per_hour": found["available"],
                "useful_money_per_hour": found["useful"],
                "owned_money_per_year": found["owned"],
                "cheaper": None
                if rent is None
                else "own"
                if found["useful"] < rent.money_per_hour
                else "rent",
            }
        )
    return rows


def held_how(rents: Sequence[Tenure], whole: Ownership) -> list[dict[str, Any]]:
    """The cheapest of each way to hold one, per hour of useful work at this use: reserved ones are paid idle too."""
    rows: list[dict[str, Any]] = [
        {
            "capacity": "buy", "months": whole.years * float(MONTHS_PER_YEAR), "provider": "", "seen": "", "flags": [],
            "money_per_hour": whole.available_money_per_hour, "useful_money_per_hour": whole.useful_money_per_hour,
        }
    ]  # fmt: skip
    seen: set[tuple[str, float]] = set()
    for one in sorted(rents, key=lambda rent: rent.money_per_hour):
        key = one.capacity, one.committed_months
        if key in seen or "undated" in one.flags:
            continue
        seen.add(key)
        share = 1.0 if one.scalable else whole.utilisation_ratio
        rows.append(
            {
                "capacity": one.capacity, "months": one.committed_months, "provider": one.offer.provider,
                "seen": one.offer.seen, "flags": list(one.flags), "money_per_hour": one.money_per_hour,
                "useful_money_per_hour": one.money_per_hour / share,
            }
        )  # fmt: skip
    return sorted(rows, key=lambda row: float(row["useful_money_per_hour"]))


def by_month(bought: Purchase, terms: Terms, whole: Ownership) -> list[dict[str, float]]:
    """What owning (sold that month) and renting have cost by each month, in cash: the break-even curve."""
    if not whole.rents:
        return []
    yearly = against.rented_money_per_year.raw(
        whole.rents[0].money_per_hour, whole.delivered_accelerators_count, bought.utilisation_ratio
    )
    cards = whole.capital_lines["accelerators"]
    rows = []
    for month in range(int(whole.years * float(MONTHS_PER_YEAR) + 1e-9) + 1):
        resale = ownership.exponential_residual_money.raw(
            cards, terms.base("decay_ratio"), month / float(MONTHS_PER_YEAR)
        )
        figures = whole.capital_money, whole.running_money_per_year, resale, float(month)
        rows.append(
            {
                "month": month,
                "owned_money": against.cumulative_owned_money.raw(*figures),
                "rented_money": against.cumulative_rented_money.raw(yearly, float(month)),
            }
        )
    return rows


def residual_seen(bought: Purchase, as_of: str) -> list[dict[str, Any]]:
    """What sources of that day or before say is left of this family's price, or lost of it a year.

    They disagree, so all are shown.
    """
    family = bought.accelerator.name.split()[0].lower()
    kinds = ("residual_value_pct", "residual_value_factor", "secondary_market_annual_change_pct")
    return [
        {
            "what": one.place, "code": one.code, "value": one.value, "unit": one.unit, "date": one.date,
            "notes": one.notes, "source": one.source.what,
        }
        for kind in kinds
        for one in facts.energy(kind, as_of=as_of or None)
        if one.place.split()[0].lower() == family
    ]  # fmt: skip


def _swings(useful: Quantity, explained: Explained) -> list[dict[str, Any]]:
    """What one useful hour costs with each uncertain input at its low and at its high, widest first."""
    return [
        {
            "name": part.name, "low": part.low, "base": float(part.value), "high": part.high,
            "at_low_money": at_low, "at_high_money": at_high,
        }
        for part, at_low, at_high in useful.swings[:8]
    ]  # fmt: skip


def _assumptions(useful: Quantity, explained: Explained, terms: Terms) -> list[dict[str, Any]]:
    """What was taken for everything that was not said, with its range and source; ``moves``: a useful hour's cost."""
    moving = {part.name for part, at_low, at_high in useful.swings if abs(at_high - at_low) > 1e-9}
    moving |= {
        name for name in explained.shared if name in terms.ranges and explained.shared[name].name in moving
    }
    names = [name for name in explained.shared if name in terms.ranges]
    rows: list[dict[str, Any]] = []
    for name in (*names, "node_availability_ratio", "desktop_availability_ratio", "progress_ratio"):
        taken = terms.ranges[name]
        if name in terms.stated or any(row["name"] == name for row in rows):
            continue
        rows.append(
            {
                "name": name, "low": taken.low, "base": taken.base, "high": taken.high, "money": taken.money,
                "why": taken.because(name), "source": taken.source.what, "url": taken.source.url,
                "seen": taken.source.seen, "grade": taken.source.grade, "moves": name in moving,
            }
        )  # fmt: skip
    return rows


def _tokens(whole: Ownership, tokens_per_s: float, api_money_per_mtok: float | None) -> dict[str, Any]:
    """Owning per million tokens at this use, and the yearly volume at which it costs what an API does."""
    up = whole.delivered_accelerators_count / (whole.accelerators_count - whole.spare_accelerators_count)
    busy = tokens_per_s * up * float(HOURS_PER_YEAR * S_PER_HOUR) / float(TOKENS_PER_MTOK)
    written = busy * whole.utilisation_ratio
    found: dict[str, Any] = {
        "tokens_per_s": tokens_per_s,
        "mtok_per_year": written,
        "owned_money_per_mtok": whole.owned_money_per_year / written,
        "api_money_per_mtok": api_money_per_mtok,
        "break_even_mtok_per_year": None,
        "break_even_utilisation_ratio": None,
    }
    if api_money_per_mtok:
        volume = api.break_even_mtok_per_year.raw(whole.owned_money_per_year, api_money_per_mtok, 0.0)
        found |= {"break_even_mtok_per_year": volume, "break_even_utilisation_ratio": volume / busy}
    return found
