"""Money that is already at a provider: credits to be spent there, and spend promised to it whether used or not.

Both lower what a choice adds to the bill, never what was paid for them: the decision is taken on what it adds. What
a commitment costs anyway stands in the ledger of every option as "owed".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cabida.money.terms import Pledge
from cabida.money.ways import Number, Ways
from cabida.quantity import formula, least, total

PLEDGED = ("commitment", "credit")  # lines of a bill, at or below nothing


@formula
def spent_there_money_per_month(
    compute_money_per_month: float,
    idle_money_per_month: float,
    retries_waste_money_per_month: float,
    spares_money_per_month: float,
    storage_money_per_month: float,
    network_money_per_month: float,
) -> Any:
    """What of a month's bill goes to who sells the capacity."""
    return total(
        compute_money_per_month,
        idle_money_per_month,
        retries_waste_money_per_month,
        spares_money_per_month,
        storage_money_per_month,
        network_money_per_month,
    )


@formula
def spent_there_in_a_run_money_per_month(
    compute_money: float,
    failed_runs_money: float,
    idle_money: float,
    storage_money: float,
    checkpoints_money: float,
    network_money: float,
    run_months: float,
) -> Any:
    """What of a run's bill goes to who sells the capacity, by the month while it lasts."""
    spent_money = total(
        compute_money, failed_runs_money, idle_money, storage_money, checkpoints_money, network_money
    )
    return spent_money / run_months


@formula
def taken_together_money(first_money: float, second_money: float) -> float:
    """What two pledges of a kind take off."""
    return first_money + second_money


@formula
def drawn_credit_money(spend_money_per_month: float, left_credit_money: float, usable_months: float) -> Any:
    """What a credit pays while it lasts: never more than is left of it, nor than is spent there before it ends."""
    return least(left_credit_money, spend_money_per_month * usable_months)


@formula
def covered_commitment_money(
    spend_money_per_month: float,
    committed_money_per_month: float,
    discount_ratio: float,
    usable_months: float,
) -> Any:
    """What a committed spend takes off while it lasts: its discount, and what is paid for anyway up to the promise."""
    discounted_money_per_month = spend_money_per_month * (1 - discount_ratio)
    covered_money_per_month = least(discounted_money_per_month, committed_money_per_month)
    return (spend_money_per_month * discount_ratio + covered_money_per_month) * usable_months


@formula
def taken_off_money_per_month(taken_money: float, horizon_months: float) -> float:
    """The same spread over the months of the need: a negative line of the bill."""
    return -taken_money / horizon_months


@formula
def taken_off_money(taken_money: float, runs_count: float) -> float:
    """The same spread over all runs: a negative line of the bill of one."""
    return -taken_money / runs_count


@formula
def left_money_per_month(spend_money_per_month: float, taken_off_money_per_month: float) -> float:
    """What is still spent at the provider after what another pledge took off."""
    return spend_money_per_month + taken_off_money_per_month


@formula
def unpledged_money_per_month(
    total_money_per_month: float, commitment_money_per_month: float, credit_money_per_month: float
) -> float:
    """What a month adds to what is paid anyway."""
    return total_money_per_month + commitment_money_per_month + credit_money_per_month


@formula
def unpledged_run_money(run_money: float, commitment_money: float, credit_money: float) -> float:
    """What a run adds to what is paid anyway."""
    return run_money + commitment_money + credit_money


def good_at(pledges: Iterable[Pledge], provider: str, accelerator: str) -> list[Pledge]:
    """Those that a provider's price for an accelerator ("" = an API) draws on: commitments first, then by their end."""
    found = [
        one
        for one in pledges
        if one.provider.lower() in ("", provider.lower()) and one.accelerator in ("", accelerator)
    ]
    return sorted(found, key=lambda one: (one.kind != "commitment", one.usable_months))


def taken(
    ways: Ways, provider: str, accelerator: str, spend_money_per_month: Number, busy_months: float = 0.0
) -> dict[str, Number]:
    """Money that pledges take off over the whole horizon, by line; empty when none is good there.

    Args:
        ways: plain or explained.
        provider: whose price it is.
        accelerator: id; "" for an API.
        spend_money_per_month: what goes to the provider in a month of work.
        busy_months: how long the work lasts; 0 = the whole horizon.
    """
    horizon = ways.terms.horizon_months
    lasting = busy_months or horizon
    found: dict[str, Number] = {}
    left = spend_money_per_month
    for pledge in good_at(ways.terms.pledges, provider, accelerator):
        usable = ways.given("usable_months", min(pledge.usable_months, lasting), pledge.what, "quoted")
        if pledge.kind == "commitment":
            promised = ways.given("committed_money_per_month", pledge.money, pledge.what, "quoted")
            discount = ways.given("discount_ratio", pledge.discount_ratio, pledge.what, "quoted")
            off = ways.apply(covered_commitment_money, left, promised, discount, usable)
        else:
            credit = ways.given("left_credit_money", pledge.money, pledge.what, "quoted")
            off = ways.apply(drawn_credit_money, left, credit, usable)
        before = found.get(pledge.kind)
        found[pledge.kind] = off if before is None else ways.apply(taken_together_money, before, off)
        months = ways.given("horizon_months", lasting, "brief")
        left = ways.apply(left_money_per_month, left, ways.apply(taken_off_money_per_month, off, months))
    return found


def off_month(
    ways: Ways, provider: str, accelerator: str, bill: dict[str, Number], keys: Sequence[str]
) -> None:
    """Adds to a month's bill what pledges take off it, ``keys`` being the lines (six at most) paid to the provider."""
    if not ways.terms.pledges:
        return
    parts = [bill[key] for key in keys]
    spend = ways.apply(spent_there_money_per_month, *parts, *[0.0] * (6 - len(parts)))
    if not (found := taken(ways, provider, accelerator, spend)):
        return
    months = ways.given("horizon_months", ways.terms.horizon_months, "brief")
    lines = {key: ways.apply(taken_off_money_per_month, off, months) for key, off in found.items()}
    bill |= dict.fromkeys(PLEDGED, 0.0) | lines
    bill["total"] = ways.apply(unpledged_money_per_month, bill["total"], bill["commitment"], bill["credit"])


def off_run(
    ways: Ways,
    provider: str,
    accelerator: str,
    bill: dict[str, Number],
    keys: Sequence[str],
    run_months: float,
    runs_per_month: float,
) -> None:
    """Adds to a run's bill what pledges take off it (six ``keys``); runs follow one another from the first day."""
    if not ways.terms.pledges or run_months <= 0:
        return
    horizon = ways.terms.horizon_months
    runs = max(1.0, runs_per_month * horizon)
    lasting = ways.given("run_months", run_months, "timing", "simulated")
    spend = ways.apply(spent_there_in_a_run_money_per_month, *(bill[key] for key in keys), lasting)
    found = taken(ways, provider, accelerator, spend, min(runs * run_months, horizon))
    if not found:
        return
    count = ways.given("runs_count", runs, "brief")
    lines = {key: ways.apply(taken_off_money, off, count) for key, off in found.items()}
    bill |= dict.fromkeys(PLEDGED, 0.0) | lines
    bill["total"] = ways.apply(unpledged_run_money, bill["total"], bill["commitment"], bill["credit"])
