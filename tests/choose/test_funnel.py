"""The funnel skips only what can't win: its winner costs what the exhaustive search's winner costs."""

from importlib import import_module

import pytest
from choose_briefs import AS_OF, random_brief

from cabida.choose import decide
from cabida.choose.priced import priced


def cheapest(decision):
    return min(
        (one.unit_cost.value for one in decision.options if one.status in ("chosen", "satisfies")),
        default=None,
    )


@pytest.fixture
def coarse(monkeypatch):
    """Short and few simulations: what is skipped must not depend on how finely the rest is worked out."""
    monkeypatch.setattr(import_module("cabida.timing.sizing.capacity"), "SIMULATIONS", 3)
    monkeypatch.setattr(import_module("cabida.timing.queues.simulate"), "MOST_REQUESTS", 2000)


SEEDS = [pytest.param(seed, marks=[pytest.mark.long] if seed >= 20 else []) for seed in range(200)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.usefixtures("coarse")
def test_the_funnels_winner_ties_the_exhaustive_one(seed):
    brief = random_brief(seed)
    quick = decide(brief, AS_OF).decision
    slow = decide(brief, AS_OF, exhaustive=True).decision
    assert quick.verdict == slow.verdict
    if cheapest(slow) is None:
        assert cheapest(quick) is None
    else:
        assert cheapest(quick) == pytest.approx(cheapest(slow), rel=1e-9)


@pytest.mark.parametrize("seed", [8, 11, 48])
def test_no_priced_option_costs_less_than_its_bound(seed, monkeypatch):
    seen = []

    def watched(one, *args):
        for worked in priced(one, *args):
            if worked.status == "satisfies":
                seen.append(worked.cost.per_accepted_money / one.least_unit_money)
            yield worked

    monkeypatch.setattr("cabida.choose.serving.priced", watched)
    decide(random_brief(seed), AS_OF, exhaustive=True)
    assert len(seen) > 100
    assert min(seen) >= 1 - 1e-9


def test_every_candidate_is_accounted_for():
    decision = decide(random_brief(3), AS_OF).decision
    assert decision.candidates_count == sum(one.count for one in decision.rejections) + len(decision.options)
    assert all(one.sentence for one in decision.rejections)


def test_the_same_seed_gives_the_same_decision():
    first, again = (decide(random_brief(7), AS_OF).decision for _ in range(2))
    assert [one.id for one in first.options] == [one.id for one in again.options]
    assert [one.unit_cost for one in first.options] == [one.unit_cost for one in again.options]
    assert [one.best_probability for one in first.options] == [one.best_probability for one in again.options]
