"""Serverless is in no mix, and every mix is held against it."""

import pytest
from test_mixing import BRIEF, decided

from cabida.choose.mix_told import full_mix, mix_flip

SELDOM = BRIEF.replace("mean: 15, peak: 60", "mean: {mean}, peak: {peak}").replace(
    "ttft_p95: 1 s", "ttft_p95: 600 s"
)
CAPACITY = {"capacity": "[on-demand, serverless]", "data": "any", "profile": "office-hours Europe/Madrid"}


def asked(mean, cards):
    return decided(SELDOM.format(mean=mean, peak=4 * mean, cards=cards, **CAPACITY))


@pytest.mark.parametrize("mean", [0.01, 15])
def test_a_mix_stands_beside_the_best_serverless_option(mean):
    brief, outcome, ask, means = asked(mean, "l40s")
    able = [
        one
        for one in outcome.worked
        if one.status == "satisfies" and one.tenure and one.tenure.capacity == "serverless"
    ]
    best = min(one.cost.per_accepted_money for one in able)
    for mix in (outcome.decision.mix, full_mix(brief, outcome.worked, ask, means)):
        path = next(one for one in mix.paths if one.kind == "serverless")
        assert path.unit_money == pytest.approx(best)
        assert all(part.capacity != "serverless" for part in mix.parts)
        cheaper = best < mix.unit_money
        assert cheaper == mix.sentence.startswith("Serverless alone")
        assert mix.saving_ratio <= max(0.0, 1 - mix.unit_money / best) + 1e-12
        if cheaper:
            assert path.title in mix.sentence
            assert mix_flip(mix, best, brief.currency) is None


def test_both_sides_of_it_are_seen():
    assert {asked(mean, "l40s")[1].decision.mix.sentence[:10] == "Serverless" for mean in (0.01, 15)} == {
        True,
        False,
    }
