"""From which volume one's own service costs less than an API: two bills, one mostly fixed, one by the request (E15)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cabida.choose.worked import Worked
from cabida.money import Usage
from cabida.money.prices import api
from cabida.plan import Flip
from cabida.text import money, number, tr

BY_REQUEST = ("compute", "retries_waste")  # lines of an API's bill that grow with the requests


def volume_flip(able: Sequence[Worked], titles: Mapping[str, str], currency: str) -> Flip | None:
    """The cheapest API against the cheapest of what is held, its bill and its size as planned.

    Both must satisfy the brief; ``able`` is cheapest first. ``None`` when there is but one of the two, or an API whose
    price by the request is nothing.
    """
    bought = next((one for one in able if one.candidate.api is not None), None)
    held = next((one for one in able if one.candidate.deployment is not None), None)
    if (
        bought is None
        or held is None
        or not isinstance(bought.usage, Usage)
        or not isinstance(held.usage, Usage)
    ):
        return None
    now, most = bought.usage.requests_per_month, most_requests_per_month(held)
    at = break_even_requests_per_month(bought, held)
    if at is None or not most:
        return None
    values = {
        "own": money(held.cost.per_month_money, currency),
        "option": titles[held.candidate.id],
        "api": titles[bought.candidate.id],
        "volume": number(at),
        "now": number(now),
        "most": number(most),
    }
    key = "never" if at > most else "at" if at > 0 else "always"
    turned = None if key != "at" else at
    other = held if able[0].candidate.api is not None else bought
    to = titles[other.candidate.id] if key == "at" else ""
    return Flip("api_volume", "request/month", now, turned, to, tr(f"choose.flip.api_volume.{key}", **values))


def break_even_requests_per_month(bought: Worked, held: Worked) -> float | None:
    """Requests a month at which both bills are alike; at or below zero what is held is never dearer."""
    assert isinstance(bought.usage, Usage)
    by_request = sum(bought.cost.line(key) for key in BY_REQUEST)
    if by_request <= 0:
        return None
    review = bought.cost.line("review")  # paid for each accepted output, wherever it comes from
    own = held.cost.per_month_money - held.cost.line("review")
    fixed = bought.cost.per_month_money - by_request - review
    each = by_request / bought.usage.requests_per_month
    return float(api.break_even_requests_per_month.raw(own, fixed, each, 0.0))


def most_requests_per_month(held: Worked) -> float:
    """What the replicas carry with the brief's profile, retries and margin; 0 when their capacity is not known."""
    if held.wanted_requests_per_s <= 0 or not isinstance(held.usage, Usage):
        return 0.0
    room = held.capacity_requests_per_s * held.candidate.replicas_count / held.wanted_requests_per_s
    return room * held.usage.requests_per_month
