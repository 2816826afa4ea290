"""The money of each kept option month by month, cash and profit and loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil, isfinite

from cabida import money
from cabida.brief import Brief
from cabida.choose.ask import Ask, shift_of, usage_of
from cabida.choose.held import Lasting, horizon_of
from cabida.choose.means import Means
from cabida.choose.walking import walk_away_of
from cabida.choose.worked import Worked
from cabida.money import TrainingUse, Usage
from cabida.money.hold.ledger import Anyway, Drawn, Kept, MonthBill, ledger, shares
from cabida.money.hold.loan import Loan
from cabida.money.prices.pledges import PLEDGED, good_at
from cabida.money.prices.tenure import decay_name, machine_money, taken_count
from cabida.plan import Option
from cabida.plan.ledger import CAPITAL, RENT, LedgerMonth, ledger_line
from cabida.units import HOURS_PER_MONTH, MONTHS_PER_YEAR, S_PER_MONTH

PAID_THERE = (*RENT, "storage", "checkpoints", "network")


def with_money(
    options: Sequence[Option],
    kept: Sequence[Worked],
    worked: Sequence[Worked],
    ask: Ask | None,
    means: Means,
    *,
    named: bool = False,
) -> list[Option]:
    """The options with their ledgers, and the walk-away prices of those that satisfy the brief.

    ``worked`` are all options, among which the rivals are found; ``kept`` those shown, in the order of ``options``.
    """
    able = sorted((one for one in worked if one.status == "satisfies"), key=lambda one: one.order)
    return [
        replace(
            option,
            ledger=ledger_of(one, ask, means),
            walk_away=walk_away_of(one, able, means, named=named),
        )
        for option, one in zip(options, kept, strict=True)
    ]


def ledger_of(one: Worked, ask: Ask | None, means: Means) -> tuple[LedgerMonth, ...]:
    """An option's months, cash and profit and loss, over the horizon of the brief."""
    brief, tenure = means.brief, one.tenure
    horizon = horizon_of(brief)
    held = _held_of(one, means)
    weights = shares(horizon)
    bills = _bills(one, ask, means, held, weights)
    if not all(isfinite(value) for bill in bills for value in (*bill.lines.values(), bill.spend_money)):
        return ()  # there is no month to tell
    offer = tenure.offer if tenure else None
    drawn = [
        Drawn(each.kind, each.money, each.usable_months, each.discount_ratio)
        for each in good_at(
            means.terms.pledges,
            one.candidate.api.provider if one.candidate.api else offer.provider if offer else "",
            "" if one.candidate.api or offer is None else offer.accelerator,
        )
        if tenure is None or tenure.capacity not in ("buy", "have")
    ]
    idle = _idle_ratios(one, means)
    anyway = [
        Anyway(
            each.money_per_month,
            each.months,
            each.sublet_money_per_month * idle.get(each.accelerator, 1.0),
            each.upfront_money,
        )
        for each in means.owed
    ]
    return ledger(
        bills,
        horizon,
        means.terms.as_of,
        kept=_kept_of(one, means, held),
        held=_beside_of(one, means),
        loan=_loan_of(brief),
        prepaid_ratio=offer.upfront_ratio if offer and tenure and tenure.committed_months else 0.0,
        term_months=ceil(tenure.committed_months) if tenure else 0,
        drawn=drawn,
        anyway=anyway,
        monthly_budget_money=brief.budget.monthly_money,
        total_budget_money=brief.budget.total_money,
    )


def _idle_ratios(one: Worked, means: Means) -> dict[str, float]:
    """Of what is under contract of the option's accelerator, the share that it leaves to others."""
    tenure = one.tenure
    if tenure is None or tenure.capacity != "have" or tenure.owned:
        return {}
    offer = tenure.offer
    return {offer.accelerator: max(0.0, 1 - tenure.accelerators_count / means.way_counts[offer.id])}


def _held_of(one: Worked, means: Means) -> Lasting | None:
    """What is held of the option's accelerator, when that is how it is had."""
    if one.tenure is None or one.tenure.capacity != "have":
        return None
    kind = "owned" if one.tenure.owned else "contracted"
    rows = means.lasting.get(one.tenure.offer.accelerator, ())
    return next((row for row in rows if row.held.kind == kind), None)


def _loan_of(brief: Brief) -> Loan | None:
    budget = brief.budget
    if not budget.financed_ratio or budget.interest_ratio is None or not budget.loan_months:
        return None
    return Loan(budget.financed_ratio, budget.interest_ratio, budget.loan_months)


def _kept_of(one: Worked, means: Means, held: Lasting | None) -> Kept | None:
    """Hardware of one's own under an option: bought, or owned already."""
    tenure, terms = one.tenure, means.terms
    if tenure is None or not tenure.owned:
        return None
    decay = terms.base(decay_name(tenure.offer, terms))
    life = terms.base("life_years") * float(MONTHS_PER_YEAR)
    price = float(tenure.offer.amount) * terms.rate(tenure.offer.currency).ratio
    if held is None and tenure.held is not None:
        around = machine_money(price, 1, tenure.around, terms)
        saved = around * tenure.bought_count - tenure.capital_money * tenure.accelerators_count
        there_count = tenure.held.accelerators_count
        return Kept(around, price, decay, life, beside_count=there_count, saved_money=saved)
    if held is None:
        return Kept(tenure.capital_money, price, decay, life)
    there = held.held
    worn = held.months if held.months < terms.horizon_months else None
    count = min(there.count, tenure.accelerators_count)
    resale = held.new_price_money if worn is not None else there.resale_money or 0.0
    return Kept(held.new_capital_money, resale, decay, life, count, there.book_money, worn)


def _beside_of(one: Worked, means: Means) -> Kept | None:
    """What is owned already, where an option buys more of it."""
    if one.tenure is None or one.tenure.held is None:
        return None
    own = replace(one, tenure=one.tenure.held)
    return _kept_of(own, means, _held_of(own, means))


def _bills(
    one: Worked, ask: Ask | None, means: Means, held: Lasting | None, weights: Sequence[float]
) -> list[MonthBill]:
    """What each month's running takes: of a run spread over the months it lasts, of a service with its traffic."""
    if isinstance(one.usage, TrainingUse):
        return _run_bills(one, means, held, weights)
    growth = means.brief.traffic.growth_per_year_ratio
    plain = _bill_of(one, means, held, one, 0)
    if ask is not None and growth and one.candidate.api is not None and one.beside is None:
        return [_bill_of(one, means, held, _called(one, ask, at, means), at) for at in range(len(weights))]
    if ask is None or not growth or one.candidate.deployment is None or one.beside is not None:
        return [
            replace(plain, lines=_lasting_lines(plain, held, at, one, means)) for at in range(len(weights))
        ]
    found, before = [], _Grown(one.usage, one.candidate.replicas_count)
    for at in range(len(weights)):
        before = _grown(one, ask, growth, at, before)
        bill = _bill_of(one, means, held, before.worked(one, means), at)
        found.append(bill)
    return found


def _lasting_lines(
    plain: MonthBill, held: Lasting | None, at: int, one: Worked, means: Means
) -> dict[str, float]:
    if held is None or held.held.kind != "contracted":
        return dict(plain.lines)
    return {**plain.lines, "rent": _contract_rent(held, at, one, means) + one.cost.line("rented")}


def _called(one: Worked, ask: Ask, at: int, means: Means) -> Worked:
    """An API in month ``at`` of growing traffic, priced by the real bill, pledges left out."""
    api, usage = one.candidate.api, one.usage
    if api is None or not isinstance(usage, Usage):
        return one
    factor = _growth_ratio(ask, means.brief.traffic.growth_per_year_ratio, at)
    grown = replace(usage, requests_per_month=usage.requests_per_month * factor)
    return replace(one, usage=grown, cost=money.api_cost(api, grown, replace(means.terms, pledges=())))


def _growth_ratio(ask: Ask, growth: float, at: int) -> float:
    """Traffic in the middle of month ``at`` over what the plan was made for."""
    return float((1 + growth) ** ((at + 0.5) / float(MONTHS_PER_YEAR)) / ask.growth_ratio)


class _Grown:
    """The option in one month of growing traffic: its usage and how many replicas it takes."""

    def __init__(self, usage: Usage | TrainingUse, replicas_count: int) -> None:
        self.usage, self.replicas_count = usage, replicas_count

    def worked(self, one: Worked, means: Means) -> Worked:
        """The same priced by the real bill, pledges left out."""
        candidate = replace(one.candidate, replicas_count=self.replicas_count)
        if one.tenure is None or not isinstance(self.usage, Usage):
            return one
        cost = money.serving_cost(candidate, self.usage, replace(means.terms, pledges=()), one.tenure)
        return replace(one, candidate=candidate, usage=self.usage, cost=cost)


def _grown(one: Worked, ask: Ask, growth: float, at: int, before: _Grown) -> _Grown:
    """Traffic in the middle of month ``at`` over what the plan was made for; what is owned never shrinks."""
    factor = _growth_ratio(ask, growth, at)
    then = replace(
        ask,
        mean_requests_per_s=ask.mean_requests_per_s * factor,
        peak_requests_per_s=ask.peak_requests_per_s * factor,
        requests_per_month=ask.requests_per_month * factor,
        items_count=ask.items_count * factor,
    )
    if one.capacity_requests_per_s <= 0:
        return before
    shift = shift_of(then, one.capacity_requests_per_s, one.acceptance_ratio)
    tenure, replicas = one.tenure, shift.replicas_count
    if tenure is not None and not tenure.scalable and at:
        replicas = max(replicas, before.replicas_count)
    if tenure is not None and tenure.capacity == "have":
        replicas = one.candidate.replicas_count
    usage = usage_of(then, one.acceptance_ratio, replace(shift, replicas_count=replicas))
    if isinstance(one.usage, Usage):
        warm = one.usage.warm_workers_count
        usage = replace(usage, request_s=one.usage.request_s, warm_workers_count=warm)
    return _Grown(usage, replicas)


def _bill_of(one: Worked, means: Means, held: Lasting | None, then: Worked, at: int) -> MonthBill:
    """One month's bill in the ledger's lines."""
    lines = {key: then.cost.line(key) for key in dict.fromkeys(line.key for line in then.cost.lines)}
    owned = one.tenure is not None and one.tenure.owned
    found = _grouped(lines, owned=owned)
    if held is not None and held.held.kind == "contracted":
        found["rent"] = _contract_rent(held, at, one, means) + lines.get("rented", 0.0)
    spare = then.candidate.spare_replicas_count
    deployment = then.candidate.deployment
    each = deployment.parallel.accelerators_count if deployment else 0
    replicas = then.candidate.replicas_count + spare if deployment else 1
    count = replicas * each
    if one.tenure is not None and then.candidate.replicas_count == one.candidate.replicas_count:
        count = one.tenure.accelerators_count
    elif one.tenure is not None and deployment is not None:
        count = taken_count(count, one.tenure.offer, deployment.accelerator)
    spend = 0.0 if owned else sum(lines.get(key, 0.0) for key in PAID_THERE)
    return MonthBill(replicas, count, found, spend)


def _grouped(lines: dict[str, float], *, owned: bool) -> dict[str, float]:
    """A bill's lines under the ledger's names; an owner's instalments are left out, the purchase stands for them."""
    found = {"rent": 0.0, "energy": 0.0, "people": 0.0, "other": 0.0}
    for key, value in lines.items():
        if key in PLEDGED or (owned and key in CAPITAL):
            continue
        found[ledger_line(key)] += value
    return found


def _contract_rent(held: Lasting, at: int, one: Worked, means: Means) -> float:
    """What a contract adds in month ``at``, or the rent in its place after its end."""
    kept = min(1.0, max(0.0, held.months - at))
    count = one.tenure.accelerators_count if one.tenure else 0
    hourly = held.added_money_per_hour * kept + _rent_after(held, one, means) * (1 - kept)
    return hourly * count * float(HOURS_PER_MONTH)


def _rent_after(held: Lasting, one: Worked, means: Means) -> float:
    """What an hour takes after the end of a contract: of one contract alone what the option's mean price contains."""
    row, horizon = held.held, means.terms.horizon_months
    rows = [each for each in means.lasting.get(row.accelerator, ()) if each.held.kind == "contracted"]
    if one.tenure is None or len(rows) > 1 or held.months >= horizon or not held.rent_money_per_hour:
        return held.rent_money_per_hour
    kept, price = held.months / horizon, row.price_money_per_hour or 0.0
    forgone = held.added_money_per_hour + price * row.owed_ratio * row.sublet_ratio
    return max(0.0, (one.tenure.money_per_hour - forgone * kept) / (1 - kept))


def _run_bills(one: Worked, means: Means, held: Lasting | None, weights: Sequence[float]) -> list[MonthBill]:
    """Runs one after the other, spread evenly over the months they take: one run over its own, more over them all."""
    runs = means.brief.training.runs_count if means.brief.training else 1.0
    lasting = one.wall_s / float(S_PER_MONTH)
    busy = min(sum(weights), lasting) if runs <= 1 else sum(weights)
    plain = _bill_of(one, means, None, one, 0)
    left, found = busy, list[MonthBill]()
    for weight in weights:
        share = min(weight, left) / busy / weight if busy > 0 else 0.0
        left -= min(weight, left)
        lines = {name: value * runs * share for name, value in plain.lines.items()}
        count = one.tenure.accelerators_count if one.tenure else 0
        found.append(MonthBill(1, count, lines, plain.spend_money * runs * share))
    return found
