"""Possible worlds: ranges are met, the real bill is what is reckoned, and draws depend on names alone."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from choose_briefs import AS_OF
from hypothesis import given
from hypothesis import strategies as st

from cabida.brief import complete, parse_brief, read_brief
from cabida.choose import drivers
from cabida.choose.ask import shift_of
from cabida.choose.doubt import best_probabilities, expected_regrets
from cabida.choose.means import means_of
from cabida.choose.reckoned import Reckoner, cost_matrix
from cabida.choose.serving import search_serving
from cabida.choose.sureness import contenders
from cabida.choose.swings import swings
from cabida.choose.training import search_training
from cabida.choose.worlds import Drawn, Fixed, Moved, moving, stream_of, terms_in, valued
from cabida.money import serving_cost, training_cost
from cabida.money.bills.service_api import api_cost
from cabida.money.bills.unit import attempts_ratio
from cabida.money.terms import Pledge
from cabida.plan import Option

EXAMPLES = Path(__file__).parents[2] / "examples"
TEXT = """
name: worlds
workload: realtime-inference
models: [{id: meta-llama/Llama-3.1-8B-Instruct, weights: {fp8: {acceptance: 0.9, how: measured}}}]
traffic: {requests_per_s: {mean: 4, peak: 12, profile: office-hours Europe/Madrid},
  input_tokens: {p50: 900, p95: 3500}, output_tokens: {p50: 250, p95: 700}}
objectives: {ttft_p95: 1 s, itl_p95: 50 ms, error_rate: 1 %}
limits: {data: any, needed_by: 2027-06-01, availability: n+1, risk: medium}
horizon: 24 months
currency: EUR
consider: {capacity: any, providers: any, accelerators: [l40s, rtx4090]}
"""


@pytest.fixture(scope="module")
def chat():
    brief = complete(parse_brief(TEXT, as_of=AS_OF), assume=True, as_of=AS_OF)
    means = means_of(brief, AS_OF)
    found = search_serving(brief, means, 0)
    able = sorted(
        (one for one in found.worked if one.status == "satisfies"),
        key=lambda one: one.cost.per_accepted_money,
    )
    spreads = drivers.currency_spreads({"USD", "EUR"}, means.terms)
    return able, found.ask, means.terms, spreads


@given(
    st.floats(0.01, 0.99), st.floats(0.1, 100.0), st.floats(1.01, 9.0), st.lists(st.floats(-3, 3), min_size=2)
)
def test_a_range_is_met_at_its_three_points_and_never_turns_back(below, base, above, scores):
    low, high = base * below, base * above
    ends = valued(low, base, high, np.array([-1.6449, 0.0, 1.6449]))
    assert ends == pytest.approx([low, base, high])
    values = valued(low, base, high, np.sort(scores))
    assert (np.diff(values) >= -1e-12 * base).all()
    assert (values > 0).all()


def test_a_range_from_zero_and_a_share_stay_what_they_are():
    far = np.array([-3.4, 3.4])
    assert valued(0.0, 0.0, 4500.0, far)[0] == 0.0
    assert valued(0.4, 0.54, 0.7, far)[1] < 1.0
    assert valued(2.0, 2.0, 2.0, far) == 2.0


@pytest.mark.parametrize("seed", [0, 7])
def test_drawn_ranges_have_their_ends_as_percentiles_whatever_the_seed(seed):
    values = valued(1.0, 2.0, 8.0, Drawn(seed).score("x", ((1.0, "x"),)))
    assert np.quantile(values, [0.05, 0.5, 0.95]) == pytest.approx([1.0, 2.0, 8.0], rel=0.01)


def test_streams_are_known_by_their_names_alone():
    one, other = Drawn(3), Drawn(3)
    other.score("another", ((0.5, "another"), (0.5, "b")))
    assert np.array_equal(one.score("x", ((1.0, "x"),)), other.score("x", ((1.0, "x"),)))
    assert not np.array_equal(one.score("x", ((1.0, "x"),)), Drawn(4).score("x", ((1.0, "x"),)))
    assert stream_of("rent_staff_count") == stream_of("api_staff_count")
    assert stream_of("desktop_pue_ratio") == stream_of("pue_ratio")


def test_nothing_moved_is_the_bill_itself(chat):
    able, ask, terms, spreads = chat
    assert len({one.tenure.capacity if one.tenure else "api" for one in able}) >= 4
    costs = cost_matrix(Reckoner(Moved(1, {}), ask, terms, spreads), able)
    assert costs[:, 0] == pytest.approx([one.cost.per_accepted_money for one in able], rel=1e-9)


def at_world(found, at):
    """A value of one world out of many."""
    return float(found[at]) if np.ndim(found) else float(found)


def terms_at(world, terms, at):
    """The terms of one world, in plain floats."""
    drawn = terms_in(world, terms).ranges
    return replace(
        terms, ranges={name: replace(one, base=at_world(one.base, at)) for name, one in drawn.items()}
    )


def test_reckoned_costs_are_the_real_bill_made_anew_in_each_world(chat):
    able, ask, terms, spreads = chat
    world = Drawn(5, 300)
    reckoner = Reckoner(world, ask, terms, spreads)
    kinds = {}
    for one in able:
        if one.candidate.deployment:
            kinds.setdefault((one.tenure.capacity, one.tenure.at_desk), one)
    assert len(kinds) >= 3
    for one in kinds.values():
        costs, _ = reckoner.unit_costs(one)
        speed, price = drivers.speed_ratio(world, one), reckoner.price_ratio(one)
        for at in (0, 17, 123, 299):
            came, traffic, _ = reckoner.usage_in(one, one.usage)
            acceptance, failure = at_world(came.acceptance_ratio, at), at_world(came.failure_ratio, at)
            more = at_world(traffic, at)
            then = replace(
                ask,
                mean_requests_per_s=ask.mean_requests_per_s * more,
                peak_requests_per_s=ask.peak_requests_per_s * more,
                requests_per_month=ask.requests_per_month * more,
                failure_ratio=failure,
            )
            shift = shift_of(then, one.capacity_requests_per_s * at_world(speed, at), acceptance)
            usage = replace(
                one.usage,  # how long an answer takes stays as it was
                requests_per_month=then.requests_per_month,
                acceptance_ratio=acceptance,
                failure_ratio=failure,
                utilisation_ratio=shift.utilisation_ratio,
                active_hours_per_month=shift.active_hours_per_month,
            )
            replicas = shift.replicas_count
            if not one.tenure.scalable and replicas < one.candidate.replicas_count:
                usage = replace(
                    usage, utilisation_ratio=usage.utilisation_ratio * replicas / one.candidate.replicas_count
                )
                replicas = one.candidate.replicas_count  # what is committed is not given back
            offer = one.tenure.offer
            amount = Decimal(repr(float(offer.amount) * at_world(price, at)))
            tenure = replace(one.tenure, offer=replace(offer, amount=amount))
            candidate = replace(one.candidate, offer=tenure.offer, replicas_count=replicas)
            bill = serving_cost(candidate, usage, terms_at(world, terms, at), tenure)
            assert costs[at] == pytest.approx(bill.per_accepted_money, rel=1e-6), (one.candidate.id, at)


def test_an_apis_reckoned_cost_is_its_lines_by_what_moves_them(chat):
    able, ask, terms, spreads = chat
    one = next(one for one in able if one.candidate.api)
    world = Drawn(2, 100)
    reckoner = Reckoner(world, ask, terms, spreads)
    costs, _ = reckoner.unit_costs(one)
    came, traffic, attempts = reckoner.usage_in(one, one.usage)
    at = 31
    acceptance, failure = at_world(came.acceptance_ratio, at), at_world(came.failure_ratio, at)
    tries = attempts_ratio.raw(failure, acceptance, one.usage.tries_count)
    planned = attempts_ratio.raw(one.usage.failure_ratio, one.usage.acceptance_ratio, one.usage.tries_count)
    assert at_world(attempts, at) == pytest.approx(at_world(traffic, at) * tries / planned)
    then = terms_at(world, terms, at)
    tokens = one.cost.line("compute") + one.cost.line("retries_waste")
    money = tokens * at_world(reckoner.price_ratio(one), at) * at_world(attempts, at)
    money += then.base("api_gateway_money_per_month")
    money += then.base("api_staff_count") * then.base("loaded_money_per_year") / 12
    accepted = (
        one.usage.requests_per_month * at_world(traffic, at) * (1 - (1 - acceptance) ** one.usage.tries_count)
    )
    assert costs[at] == pytest.approx(money / accepted, rel=1e-6)


@pytest.mark.parametrize("driver", ["price", "traffic"])
def test_what_a_credit_pays_of_an_api_is_worked_out_anew_in_each_world(chat, driver):
    """A credit larger than any bill pays the tokens at every price and traffic, never more than them."""
    able, ask, plain, _ = chat
    api = next(one for one in able if one.candidate.api is not None)
    pledge = Pledge("credit", api.candidate.api.provider, "", 1e9, plain.horizon_months)
    terms = replace(plain, pledges=(pledge,))
    cost = api_cost(api.candidate.api, api.usage, terms)
    tokens = sum(cost.line(key) for key in ("compute", "retries_waste"))
    assert cost.line("credit") == pytest.approx(-tokens)
    ratios = np.array([0.5, 1.0, 3.0])
    name = drivers.price_driver(api) if driver == "price" else driver
    found = Reckoner(Fixed(name, ratios), ask, terms).unit_costs(replace(api, cost=cost))[0]
    others = (cost.per_month_money - tokens - cost.line("credit")) / cost.accepted_per_month
    assert found == pytest.approx(others / (1.0 if driver == "price" else ratios), rel=1e-9)


def test_a_run_is_reckoned_by_its_real_bill_on_spot_too():
    brief = complete(read_brief(EXAMPLES / "qlora-70b.yaml", as_of=AS_OF), assume=True, as_of=AS_OF)
    means = means_of(brief, AS_OF)
    found = search_training(brief, means)
    world = Drawn(1, 50)
    reckoner = Reckoner(world, None, means.terms, {})
    kinds = {one.tenure.capacity: one for one in found.worked if one.tenure}
    assert len(kinds) >= 2
    for one in kinds.values():
        costs, _ = reckoner.unit_costs(one)
        speed, price = drivers.speed_ratio(world, one), reckoner.price_ratio(one)
        for at in (3, 49):
            quick = at_world(speed, at)
            use = replace(
                one.usage, ideal_hours=one.usage.ideal_hours / quick, wall_s=one.usage.wall_s / quick
            )
            amount = Decimal(repr(float(one.tenure.offer.amount) * at_world(price, at)))
            tenure = replace(one.tenure, offer=replace(one.tenure.offer, amount=amount))
            bill = training_cost(one.candidate, use, terms_at(world, means.terms, at), tenure)
            assert costs[at] == pytest.approx(bill.per_accepted_money, rel=1e-6)


def test_chances_make_one_and_one_more_dear_option_changes_nothing(chat):
    able, ask, terms, spreads = chat
    reckoner = Reckoner(Drawn(0), ask, terms, spreads)
    costs = cost_matrix(reckoner, able)
    chances, regrets = best_probabilities(costs), expected_regrets(costs)
    assert chances.sum() == pytest.approx(1.0)
    assert (regrets >= 0).all()
    half = able[: len(able) // 2]
    fewer = cost_matrix(Reckoner(Drawn(0), ask, terms, spreads), half)
    assert np.array_equal(fewer, costs[: len(half)])  # draws depend on names, not on company
    dear = np.vstack([costs, costs.max(axis=0) * 2])
    assert best_probabilities(dear)[:-1] == pytest.approx(chances)
    assert expected_regrets(dear)[:-1] == pytest.approx(regrets)


def test_offers_of_one_setup_are_as_fast_as_each_other(chat):
    able, *_ = chat
    world = Drawn(9)
    by_setup = {}
    for one in able:
        if one.candidate.deployment:
            by_setup.setdefault(drivers.speed_driver(one), []).append(one)
    twins = max(by_setup.values(), key=len)
    assert len(twins) > 1
    first = drivers.speed_ratio(world, twins[0])
    assert all(np.array_equal(first, drivers.speed_ratio(world, one)) for one in twins[1:])


def test_what_has_no_range_has_no_swing_and_a_wider_one_never_narrows(chat):
    able, ask, terms, spreads = chat
    rented = next(one for one in able if one.tenure and one.tenure.capacity == "on-demand")
    name = "observability_node_money_per_month"
    known = terms.ranges[name]
    still = replace(
        terms, ranges=dict(terms.ranges) | {name: replace(known, low=known.base, high=known.base)}
    )
    wide = replace(terms, ranges=dict(terms.ranges) | {name: replace(known, low=0.0, high=known.base * 40)})
    assert name not in moving(still)
    widths = []
    for each in (still, terms, wide):
        low, high = np.quantile(
            cost_matrix(Reckoner(Drawn(0), ask, each, spreads), [rented])[0], [0.05, 0.95]
        )
        widths.append(high - low)
    assert widths[0] <= widths[1] + 1e-12 <= widths[2] + 2e-12
    options = [_option(rented)]
    told = {one.name: one for one in swings(Reckoner(Moved(1, {}), ask, terms, spreads), [rented], options)}
    assert name in told
    quiet = {one.name for one in swings(Reckoner(Moved(1, {}), ask, still, spreads), [rented], options)}
    assert quiet == set(told) - {name}


def test_a_swing_turns_where_the_costs_cross(chat):
    able, ask, terms, spreads = chat
    few = able[:8]
    reckoner = Reckoner(Moved(1, {}), ask, terms, spreads)
    found = swings(reckoner, few, [_option(one) for one in few])
    assert [one.width_money for one in found] == sorted((one.width_money for one in found), reverse=True)
    assert all(one.low <= one.base <= one.high for one in found)
    assert all(one.base_money == pytest.approx(few[0].cost.per_accepted_money) for one in found)
    for one in found:
        turned = one.flips_at is not None
        assert bool(one.sentence) is turned
        assert turned or not (one.low_winner or one.high_winner)
        if turned:
            assert one.low <= one.flips_at * (1 + 1e-9)
            assert one.flips_at <= one.high * (1 + 1e-9)


def test_people_move_all_options_together_and_resale_only_what_is_bought(chat):
    able, ask, terms, spreads = chat
    kinds = {one.tenure.capacity if one.tenure else "api": one for one in reversed(able)}
    for stream, moved in (("term:staff_count", set(kinds)), ("term:decay_ratio", {"buy"})):
        reckoner = Reckoner(Moved(1, {stream: np.array([1.0])}), ask, terms, spreads)
        for kind, one in kinds.items():
            cost = float(reckoner.unit_costs(one)[0][0])
            differs = abs(cost / one.cost.per_accepted_money - 1) > 1e-9
            assert differs is (kind in moved), (stream, kind)


def test_what_held_ones_cannot_carry_is_bought_as_the_cheapest_else(chat):
    able, ask, terms, spreads = chat
    held = next(one for one in able if one.candidate.replicas_count > 1)
    there = held.candidate.replicas_count + held.candidate.spare_replicas_count
    few = replace(held, replicas_most_count=float(there))
    other = next(one for one in able if one.candidate.api)
    reckoner = Reckoner(Fixed("traffic", np.array([0.5, 1.0, 3.0])), ask, terms, spreads, planned=True)
    own, carried = reckoner.unit_costs(few)
    assert carried[:2] == pytest.approx([1.0, 1.0])
    assert 0 < carried[2] < 1
    free = reckoner.unit_costs(other)[0]
    both = cost_matrix(Reckoner(reckoner.world, ask, terms, spreads, planned=True), [few, other])
    assert both[0] == pytest.approx(own + (1 - carried) * free)
    assert both[1] == pytest.approx(free)


def test_all_that_is_shown_stands_in_the_draws(chat):
    able, *_ = chat
    kept = [able[-1], able[0]]
    assert contenders(able, kept)[:2] == kept
    assert len({one.candidate.id for one in contenders(able, kept)}) == len(contenders(able, kept))


def _option(one):
    from cabida.choose.options import option_of

    made = option_of(one, 1, one.status)
    assert isinstance(made, Option)
    return made
