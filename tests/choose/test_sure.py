"""What surely fits is chosen before what may not fit."""

from dataclasses import replace
from pathlib import Path

import pytest

from cabida import brief as briefs
from cabida import memory
from cabida.choose import decide
from cabida.choose.decide import _answer
from cabida.choose.splits import name_of_run
from cabida.choose.sure import surely_first, surely_fits
from cabida.text import tr

AS_OF = "2026-11-30"
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def worked():
    read = briefs.read_brief(EXAMPLES / "qlora-70b.yaml", as_of=AS_OF)
    return decide(briefs.complete(read, as_of=AS_OF), AS_OF, show_all=True).worked


def with_verdict(one, verdict):
    return replace(one, room=replace(one.room, verdict=verdict))


def test_the_run_chosen_surely_fits(worked):
    assert memory.training(worked[0].candidate.run).verdict == "fits"
    assert all(surely_fits(one) for one in worked if one.status == "satisfies")


def test_what_may_not_fit_comes_after_what_surely_does_however_cheap(worked):
    able = [one for one in worked if one.status == "satisfies"][:3]
    cheapest = with_verdict(able[0], "tight")
    ordered = sorted(surely_first([cheapest, *able[1:]]), key=lambda one: one.order)
    assert ordered[0].candidate.id == able[1].candidate.id
    last = ordered[-1]
    assert (last.candidate.id, last.status) == (cheapest.candidate.id, "misses")
    assert last.reasons


def test_where_nothing_surely_fits_what_may_is_still_an_answer(worked):
    able = [with_verdict(one, "tight") for one in worked if one.status == "satisfies"]
    assert surely_first(able) == able


def test_a_brief_of_several_models_names_the_model_of_what_fell(worked):
    run = worked[0].candidate.run
    assert "Llama" in name_of_run(run, named=True)
    assert "Llama" not in name_of_run(run)


def test_where_nothing_could_be_tried_no_groups_are_promised():
    nothing = _answer([], None, [], satisfied=False, fell_count=0)
    assert (
        nothing == tr("choose.answer.nothing_tried") != _answer([], None, [], satisfied=False, fell_count=3)
    )
