"""What the figures of owning come to, in sentences: which wins when, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cabida.text import money, number, percent, tr


def verdict(answer: Mapping[str, Any]) -> str:
    """The answer in a sentence or two: the use below which renting wins, the month, the value today."""
    owned, currency = answer["ownership"], answer["currency"]
    if not owned["rents"]:
        return tr(
            "own.verdict.alone", useful=_hourly(owned["useful_money_per_hour"], currency), **_use(owned)
        )
    rent = owned["rents"][0]
    values = {
        "rent": _hourly(rent["money_per_hour"], currency),
        "whom": _whom(rent),
        "available": _hourly(answer["busy_money_per_hour"], currency),
        "years": number(owned["years"]),
        **_use(owned),
    }
    even = rent["break_even_utilisation_ratio"]
    if even > 1:
        said = [tr("own.verdict.rent_always", **values)]
    else:
        said = [tr("own.verdict.below", even=percent(even), **values)]
        month = rent["break_even_month"]
        key = "month" if month is not None else "no_month"
        said.append(tr(f"own.verdict.{key}", month=number(month or 0, 4), **values))
    better = owned["npv_money"] - rent["npv_money"]
    key = "worth_owning" if better > 0 else "worth_renting"
    said.append(tr(f"own.verdict.{key}", by=money(abs(better), currency), **values))
    return " ".join(said)


def advice(answer: Mapping[str, Any]) -> list[str]:
    """What the guide advises, from these numbers: bursts, the middle rent, reserving, earlier cards, renewal."""
    found = [_bursts(answer), _middle(answer), _reserving(answer), _cheaper_work(answer), _renewal(answer)]
    found += [_two_apart(answer), _quote(answer), _tokens(answer)]
    return [one for one in found if one]


def _use(owned: Mapping[str, Any]) -> dict[str, str]:
    return {"use": percent(owned["utilisation_ratio"])}


def _hourly(amount: float, currency: str) -> str:
    return f"{number(amount)} {currency}/h"


def _whom(rent: Mapping[str, Any]) -> str:
    if rent["kind"] == "stated":
        return tr("own.whom.stated")
    if rent["kind"] == "median":
        return tr("own.whom.median", count=rent["sightings_count"])
    return tr("own.whom.cheapest", provider=rent["provider"], seen=rent["seen"] or "?")


def _bursts(answer: Mapping[str, Any]) -> str:
    owned = answer["ownership"]
    if not owned["rents"]:
        return ""
    rent = owned["rents"][0]
    hours = owned["delivered_accelerators_count"] * owned["utilisation_ratio"] * 8760
    saved = (owned["useful_money_per_hour"] - rent["money_per_hour"]) * hours
    key = "bursts" if saved > 0 else "busy"
    return tr(f"own.advice.{key}", saved=money(abs(saved), answer["currency"]), **_use(owned))


def _middle(answer: Mapping[str, Any]) -> str:
    rents = {one["kind"]: one for one in answer["ownership"]["rents"]}
    if "median" not in rents:
        return ""
    rent = rents["median"]
    even = rent["break_even_utilisation_ratio"]
    values = {"rent": _hourly(rent["money_per_hour"], answer["currency"]), "count": rent["sightings_count"]}
    return tr(
        "own.advice.middle" if even <= 1 else "own.advice.middle_never",
        even=percent(min(even, 9.99)),
        **values,
    )


def _reserving(answer: Mapping[str, Any]) -> str:
    reserved = [one for one in answer["held_how"] if one["capacity"] == "reserved"]
    if not reserved:
        return ""
    best = min(reserved, key=lambda one: one["useful_money_per_hour"])
    own = answer["ownership"]["useful_money_per_hour"]
    key = "reserve" if best["useful_money_per_hour"] < own else "reserve_dearer"
    cost = _hourly(best["useful_money_per_hour"], answer["currency"])
    told = tr(f"own.advice.{key}", months=number(best["months"]), cost=cost, provider=best["provider"])
    return f"{told} {tr('own.advice.assumed_discount')}" if "assumed" in best["flags"] else told


def _cheaper_work(answer: Mapping[str, Any]) -> str:
    rows = answer["others"]
    if len(rows) < 2 or not rows[0]["this"]:
        return ""
    own, rest = rows[0], rows[1:]
    best = min(rest, key=lambda one: one["money_per_pflops_hour"])
    name = f"{best['name']} ({tr('own.used')})" if best["condition"] == "used" else best["name"]
    key = "earlier" if best["money_per_pflops_hour"] < own["money_per_pflops_hour"] else "not_earlier"
    figures = {
        "theirs": _hourly(best["money_per_pflops_hour"], answer["currency"]),
        "ours": _hourly(own["money_per_pflops_hour"], answer["currency"]),
    }
    return tr(f"own.advice.{key}", other=name, seen=best["seen"] or "?", **figures)


def _renewal(answer: Mapping[str, Any]) -> str:
    owned = answer["ownership"]
    by_years = {one["years"]: one["money_per_year"] for one in owned["renewals"]}
    best = owned["renewal_years"]
    worst = by_years[1.0]
    over = worst / by_years[best] - 1
    return tr("own.advice.renewal", years=number(best), over=percent(over))


def _two_apart(answer: Mapping[str, Any]) -> str:
    """Cash and value today may say different things: the first leaves interest out."""
    owned = answer["ownership"]
    if not owned["rents"]:
        return ""
    rent = owned["rents"][0]
    loses = owned["npv_money"] < rent["npv_money"]
    return tr("own.advice.interest") if loses and rent["break_even_month"] is not None else ""


def _quote(answer: Mapping[str, Any]) -> str:
    price = answer["price"]
    doubtful = [one for one in price["flags"] if one in ("stale", "undated", "marketplace")]
    if not doubtful:
        return ""
    return tr(
        f"own.advice.{doubtful[0]}",
        provider=price["provider"],
        seen=price["seen"] or "?",
        what=price["source"],
    )


def _tokens(answer: Mapping[str, Any]) -> str:
    found = answer.get("tokens")
    if not found:
        return ""
    currency = answer["currency"]
    values = {"own": money(found["owned_money_per_mtok"], currency)}
    if not found["api_money_per_mtok"]:
        return tr("own.advice.tokens", **values)
    even = found["break_even_utilisation_ratio"]
    values |= {
        "api": money(found["api_money_per_mtok"], currency),
        "volume": number(found["break_even_mtok_per_year"]),
        "even": percent(even),
    }
    return tr("own.advice.tokens_api" if even <= 1 else "own.advice.tokens_api_always", **values)
