"""Prices that change by the hour reach the mix: an API is used in the hours in which it is the cheapest way."""

from dataclasses import asdict, replace
from decimal import Decimal
from io import StringIO

import pytest
from rich.console import Console
from test_mixing import AS_OF, realtime

from cabida.choose import mixing
from cabida.choose.ask import hours_utc
from cabida.choose.mix_periods import periods_of
from cabida.choose.mix_told import full_mix, mix_noun
from cabida.evidence import book
from cabida.faces import mix_screen
from cabida.facts.model import ApiRate
from cabida.money.bills.service_api import api_cost
from cabida.money.prices import api_list

WINDOW = "20:30-06:30"


def timed(offer, inside, outside):
    rates = tuple(
        ApiRate(unit, Decimal(amount), 0, hours)
        for hours, amount in ((WINDOW, inside), ("", outside))
        for unit in ("input", "output")
    )
    return replace(offer, rates=rates, seen=AS_OF)


def world(inside, outside, profile="office-hours Europe/Madrid"):
    """A brief's options with one API whose price changes at half past the hour, UTC; the brief is Madrid's."""
    brief, outcome, ask, means = realtime(capacity="any", cards="l40s", profile=profile)
    one = next(each for each in outcome.everything if each.candidate.api and each.status == "satisfies")
    offer = timed(one.candidate.api, inside, outside)
    cost = api_cost(offer, one.usage, means.terms)
    held = [each for each in outcome.everything if not each.candidate.api and each.candidate.thing]
    return (
        brief,
        [*held, replace(one, candidate=replace(one.candidate, api=offer), cost=cost)],
        ask,
        means,
    )


def test_an_api_is_used_only_off_peak_where_that_is_cheapest():
    brief, worked, ask, means = world("0.001", "40", profile="flat")
    asked = mixing.asked_of(brief, worked, ask, means, quick=True)
    by_hour = [kind for kind in asked.problem.kinds if kind.api or kind.capacity == "on-demand"]
    asked = replace(asked, problem=asked.problem.only(by_hour))
    assert sorted(asked.periods.names) == ["", WINDOW]
    cheap = asked.periods.names.index(WINDOW)
    found = mixing.solved(asked, quick=True)
    noun = mix_noun(asked, found, mixing.best_single(asked), brief, quick=True)
    api = next(at for at, part in enumerate(noun.parts) if not part.accelerator)
    carried = {
        period: sum(level.served_per_s[api] for level in noun.levels if level.period == period)
        for period in (0, 1)
    }
    assert carried[cheap] > 0
    assert carried[1 - cheap] == pytest.approx(0.0, abs=1e-9)
    assert len(noun.parts) > 1
    assert noun.periods == asked.periods.names
    hours = sum(level.hours_per_month for level in noun.levels if level.period == cheap)
    assert hours == pytest.approx(730 * 10 / 24)


def test_an_api_alone_costs_in_the_mix_what_its_bill_says_at_its_hours():
    brief, worked, ask, means = world("0.1", "0.7")
    asked = mixing.asked_of(brief, worked, ask, means, quick=True)
    kind = next(each for each in asked.problem.kinds if each.api)
    assert len(set(kind.request_money)) == 2
    bill = next(one.cost for one in worked if one.candidate.api)
    found = mixing.alone(asked, [kind])
    assert found.money_per_month == pytest.approx(bill.per_month_money, rel=0.01)
    other = mixing.asked_of(brief, world("0.7", "0.1")[1], ask, means, quick=True)
    dearer = mixing.alone(other, [next(each for each in other.problem.kinds if each.api)])
    assert dearer.money_per_month < found.money_per_month  # office hours lie outside the window


def test_slots_of_both_clocks_and_none_where_no_price_changes():
    _, worked, ask, _ = world("0.1", "0.7")
    offer = next(one.candidate.api for one in worked if one.candidate.api)
    found = periods_of(ask, [offer])
    assert found.slots_per_hour == 2
    assert len(found.profile) == 2 * 2 * len(ask.profile)  # halves of hours, at winter's clock and summer's
    shares = [weight for weight, at in zip(found.profile, found.of_slot, strict=True) if found.names[at]]
    ratio = api_list.window_ratio(WINDOW, hours_utc(ask.profile, ask.timezone))
    assert sum(shares) / sum(found.profile) == pytest.approx(ratio)
    plain = replace(offer, rates=())
    assert periods_of(ask, [plain]).profile == ask.profile
    assert periods_of(replace(ask, batch=True), [offer]).names == ("",)
    flat = periods_of(replace(ask, profile=(1.0,)), [offer])
    assert sum(1 for at in flat.of_slot if flat.names[at]) / len(flat.of_slot) == pytest.approx(10 / 24)


def test_the_list_of_one_hour_is_what_a_request_at_that_hour_pays():
    _, worked, _, _ = world("0.1", "0.7")
    offer = next(one.candidate.api for one in worked if one.candidate.api)
    use = api_list.ApiUse(1000.0, output_tokens=300.0)
    for hour in (0.0, 6.25, 6.5, 12.0, 20.75):
        assert api_list.charge(api_list.at(offer, hour), use) == api_list.charge(offer, use, hour)


def test_the_full_mix_says_when_prices_change():
    brief, worked, ask, means = world("0.001", "40")
    assert set(full_mix(brief, worked, ask, means).periods) == {WINDOW, ""}


def test_the_screen_tells_the_hours_of_each_level():
    brief, worked, ask, means = world("0.001", "40")
    noun = full_mix(brief, worked, ask, means)
    answer = {"mix": asdict(noun), "currency": "USD", "denominator": "request"}
    console = Console(width=140, record=True, file=StringIO())
    console.print(mix_screen.screen(answer))
    shown = console.export_text()
    assert WINDOW in shown
    assert "other hours" in shown


def test_a_price_by_the_hour_in_the_book_reaches_a_brief():
    timed_offers = [one for one in book.api_offers(AS_OF) if any(rate.hours_utc for rate in one.rates)]
    assert timed_offers
    _, _, ask, _ = realtime(capacity="any", cards="l40s")
    found = periods_of(ask, timed_offers[:1])
    assert len(found.names) > 1
    lists = found.prices(timed_offers[0])
    assert len({api_list.amount(one, "output") for one in lists}) > 1
