"""The price at which one walks away from an option: the real bill at other prices, until it ties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal

from cabida import money
from cabida.brief import Brief
from cabida.choose.held import horizon_of
from cabida.choose.means import Means
from cabida.choose.options import title_of
from cabida.choose.worked import Worked
from cabida.facts.model import ApiOffer
from cabida.money import Tenure, TrainingUse, Usage
from cabida.money.hold.walk_away import price_factor
from cabida.money.prices.tenure import tenure_of, topped_up
from cabida.plan.ledger import WalkAway

LEAST_FACTOR = 1e-9  # of a price: as good as nothing, and still a price
API_AMOUNTS = (
    "input_amount", "output_amount", "cached_input_amount", "batch_input_amount", "batch_output_amount",
    "tier_input_amount", "cache_write_amount",
)  # fmt: skip


def walk_away_of(
    one: Worked, able: Sequence[Worked], means: Means, *, named: bool = False
) -> WalkAway | None:
    """The price of an option at which it ties with the best of another price; ``able`` satisfy the brief, best first.

    Setups under one offer rise and fall together: only the best of them has a price to walk away at.
    """
    if one.status != "satisfies" or (bill := _bill_at(one, means)) is None:
        return None
    mine = _price_of(one)
    if next((other.candidate.id for other in able if _price_of(other) == mine), "") != one.candidate.id:
        return None
    rival = next((other for other in able if _price_of(other) != mine), None)
    now, currency, unit, ratio = _now(one, means)
    cost, accepted = one.cost, one.cost.accepted_per_month
    base = bill(1.0)

    def each(factor: float) -> float:
        return cost.per_accepted_money + (bill(factor) - base) / accepted

    def whole(factor: float) -> float:
        return cost.per_month_money + bill(factor) - base

    target = rival.cost.per_accepted_money + one.tie_money if rival else 0.0
    factor = price_factor(each, target) if rival and accepted > 0 else None
    limit = _budget_of(means.brief)
    ends = price_factor(whole, limit) if limit is not None else None
    if factor is None and ends is None and rival is None:
        return None
    return WalkAway(
        currency=currency,
        unit=unit,
        now_amount=now,
        now_money=now * ratio,
        amount=None if factor is None else now * factor,
        money=None if factor is None else now * factor * ratio,
        discount_ratio=None if factor is None else 1 - factor,
        rival=rival.candidate.id if rival else "",
        rival_title=title_of(rival, named=named) if rival else "",
        budget_amount=None if ends is None else now * ends,
        budget_money=None if ends is None else now * ends * ratio,
    )


def _price_of(one: Worked) -> tuple[str, ...]:
    """Whose price an option pays: of an offer by its terms, or of an API's model."""
    api = one.candidate.api
    if api is not None:
        return ("api", api.provider, api.model)
    return ("offer", one.tenure.offer.id, one.tenure.discount) if one.tenure else ()


def _now(one: Worked, means: Means) -> tuple[float, str, str, float]:
    """Today's price, its currency and unit, and the rate to the reporting currency."""
    api, tenure = one.candidate.api, one.tenure
    if api is not None:
        return float(api.output_amount), api.currency, "mtok", means.terms.rate(api.currency).ratio
    assert tenure is not None
    offer = tenure.offer
    left = 1 - means.terms.base(tenure.discount) if tenure.discount else 1.0
    return float(offer.amount) * left, offer.currency, offer.unit, means.terms.rate(offer.currency).ratio


def _budget_of(brief: Brief) -> float | None:
    """The most a month (a run, for training) may cost."""
    months, budget = horizon_of(brief), brief.budget
    runs = brief.training.runs_count if brief.is_training and brief.training else months
    each = months / runs if brief.is_training else 1.0
    monthly = budget.monthly_money * each if budget.monthly_money is not None else None
    whole = budget.total_money / runs if budget.total_money is not None else None
    limits = [limit for limit in (monthly, whole) if limit is not None]
    return min(limits) if limits else None


def _bill_at(one: Worked, means: Means) -> Callable[[float], float] | None:
    """The real bill at a factor on the option's own price; ``None`` where there is no price to talk about."""
    terms, usage, api, tenure = means.terms, one.usage, one.candidate.api, one.tenure
    if api is not None and isinstance(usage, Usage):
        return lambda factor: money.api_cost(_dearer_api(api, factor), usage, terms).per_month_money
    if tenure is None or not tenure.offer.amount:
        return None
    if (
        tenure.capacity == "have" and not tenure.owned
    ):  # what using a contract adds is no price anybody asks for
        return None
    if isinstance(usage, TrainingUse):
        return lambda factor: (
            money.training_cost(
                one.candidate, usage, terms, _dearer(tenure, one, means, factor)
            ).per_month_money
        )
    return lambda factor: (
        money.serving_cost(one.candidate, usage, terms, _dearer(tenure, one, means, factor)).per_month_money
    )


def _dearer(tenure: Tenure, one: Worked, means: Means, factor: float) -> Tenure:
    """The same way to hold at another price."""
    thing = one.candidate.thing
    assert thing is not None
    amount = tenure.offer.amount * Decimal(repr(max(factor, LEAST_FACTOR)))
    offer = replace(tenure.offer, amount=amount, low_amount=None, high_amount=None)
    made = tenure_of(offer, thing.accelerator, means.terms, tenure.accelerators_count, tenure.discount)
    if tenure.held is not None:
        made = topped_up(made, tenure.held, means.terms)
    return replace(
        made,
        accelerators_count=tenure.accelerators_count,
        stand_in_money_per_hour=tenure.stand_in_money_per_hour,
        flags=tenure.flags,
    )


def _dearer_api(offer: ApiOffer, factor: float) -> ApiOffer:
    by = Decimal(repr(factor))
    moved = {name: getattr(offer, name) for name in API_AMOUNTS}
    return replace(
        offer,
        **{name: amount * by for name, amount in moved.items() if amount is not None},
        rates=tuple(replace(rate, amount=rate.amount * by) for rate in offer.rates),
    )
