"""A service whose every output is turned down has no price for an accepted one."""

from dataclasses import replace
from math import inf

import pytest

from cabida.money.bills.evaluation import with_judge
from cabida.money.bills.media import Assets, with_assets
from cabida.money.bills.retrieval import RetrievalUse, with_stages
from cabida.money.terms import Cost, Usage, terms

SOME = Cost((), 100.0, 2.0, 1.0, 3.0, 1.0, 50.0, 0.0, 0.0)
NONE = replace(
    SOME, per_accepted_money=inf, per_accepted_low=inf, per_accepted_high=inf, coverage_ratio=0.0,
    accepted_per_month=0.0,
)  # fmt: skip
USAGE = Usage(requests_per_month=1000.0)
ASSETS = Assets(1e6, 1.0, 0.01)
STAGES = RetrievalUse(None, 0, {}, 1, 0.5, "USD", "a list", 10.0, None, 0.0, 1.0, 1000.0, 0.0)

BILLS = {
    "filter": lambda cost: with_assets(cost, USAGE, ASSETS),
    "judge": lambda cost: with_judge(cost, None, terms()),
    "stages": lambda cost: with_stages(cost, STAGES, terms()),
}


@pytest.mark.parametrize("bill", BILLS)
def test_nothing_accepted_is_not_priced_as_one(bill):
    grown = BILLS[bill](NONE)
    assert grown.per_accepted_money == grown.per_accepted_low == grown.per_accepted_high == inf
    some = BILLS[bill](SOME)
    assert some.per_accepted_money == pytest.approx(some.per_month_money / 50)
    assert some.per_accepted_low <= some.per_accepted_money <= some.per_accepted_high
