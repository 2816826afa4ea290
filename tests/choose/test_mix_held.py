"""What is held in part, and blocks of capacity, inside a mix."""

import pytest
from test_mixing import BATCH, BRIEF, decided

from cabida.choose import mixing

HELD = 2


def test_what_is_held_in_part_is_used_to_its_count_at_what_it_adds_and_the_rest_is_rented():
    text = BRIEF.format(
        capacity="[on-demand]", data="any", cards="l40s", profile="office-hours Europe/Madrid"
    )
    brief, outcome, ask, means = decided(text + f"have: [{{accelerator: l40s, count: {HELD}}}]\n")
    asked = mixing.asked_of(brief, outcome.everything, ask, means, quick=True)
    have = next(kind for kind in asked.problem.kinds if kind.capacity == "have")
    rented = next(kind for kind in asked.problem.kinds if kind.capacity == "on-demand")
    assert have.most_count == HELD
    assert 0 < have.money_per_month < 0.5 * 730 * rented.money_per_hour  # electricity, no rent
    assert have.group == rented.group
    assert have.fixed == rented.fixed  # one team looks after both
    assert mixing.alone(asked, [have]) is None  # two don't hold the peak
    mix = outcome.decision.mix
    held = next(at for at, part in enumerate(mix.parts) if part.capacity == "have")
    other = next(at for at, part in enumerate(mix.parts) if part.capacity == "on-demand")
    assert {level.replicas_count[held] for level in mix.levels} == {HELD}
    assert max(level.replicas_count[other] for level in mix.levels) > 0
    assert mix.saving_ratio > 0.05


def test_a_block_alone_costs_a_batch_what_its_bill_says():
    text = BATCH.replace("[on-demand, reserved]", "[on-demand, block]")
    brief, outcome, ask, means = decided(text.replace("[l40s, a100-sxm-80]", "[h100-sxm-80]"))
    asked = mixing.asked_of(brief, outcome.everything, ask, means, quick=True)
    block = next(kind for kind in asked.problem.kinds if kind.capacity == "block")
    assert block.committed
    assert block.accelerators_count == 8  # sold as a machine: the weights are stored on each of its replicas
    bill = next(one.cost for one in outcome.everything if one.candidate.id == block.name)
    assert mixing.alone(asked, [block]).money_per_month == pytest.approx(bill.per_month_money, rel=5e-4)
    mix = mixing.solved(asked, quick=True)
    by_hour = next(at for at, kind in enumerate(mix.problem.kinds) if kind.capacity == "on-demand")
    assert mix.shares[by_hour] == pytest.approx(1.0)  # a whole machine for all days is dearer than some hours
