"""How sure a ranking is: every option that satisfies, in 2,000 possible worlds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cabida.choose import drivers
from cabida.choose.ask import Ask
from cabida.choose.curves import volume_curves
from cabida.choose.doubt import best_probabilities, expected_regrets
from cabida.choose.options import kind_of
from cabida.choose.reckoned import Reckoner, cost_matrix
from cabida.choose.swings import swings
from cabida.choose.worked import Worked
from cabida.choose.worlds import DRAWS_COUNT, Drawn, Moved
from cabida.choose.worth import Draws
from cabida.money.terms import Terms
from cabida.plan import Assumption, Option
from cabida.plan.decision import QUANTILES
from cabida.plan.swing import Swing, VolumeCurve

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_DRAWN = 400  # of the options that satisfy, the cheapest: dearer ones never win
INTERVAL = (0.05, 0.95)
STRAYING = (
    "traffic_ratio",
    "price_part_share_ratio",
    "price_provider_share_ratio",
)  # assumptions of the draws


@dataclass(frozen=True, slots=True)
class Sureness:
    """What the draws say of the options shown, in their order, and what each driver does alone."""

    options: tuple[Option, ...]
    swings: tuple[Swing, ...]
    draws_count: int
    curves: tuple[VolumeCurve, ...] = ()
    draws: Draws | None = field(default=None, compare=False)  # None where nothing satisfies


def with_sureness(
    worked: Sequence[Worked],
    kept: Sequence[Worked],
    options: Sequence[Option],
    ask: Ask | None,
    terms: Terms,
    seed: int,
) -> Sureness:
    """The options with their 90 % interval; those that satisfy with their chance of being cheapest and regret too.

    Args:
        worked: all options worked out; the ones that satisfy stand against each other.
        kept: those shown, in step with ``options``. A shown one stands for those of its kind that differ in who sells
            it: its chance is theirs together. Of what one has already, a draw in which it ties in practice counts too.
        options: as shown, with what their bills alone say.
        ask: the demand; ``None`` for a run.
        terms: currency, date and assumptions.
        seed: of the draws.
    """
    import numpy as np

    able = contenders(worked, kept)
    currencies = {_currency(one, terms) for one in (*able, *kept)}
    spreads = drivers.currency_spreads(currencies, terms)
    drawn = Reckoner(Drawn(seed), ask, terms, spreads)
    if not able:
        ranged = [
            _ranged(option, drawn.unit_costs(one)[0]) for one, option in zip(kept, options, strict=True)
        ]
        return Sureness(tuple(ranged), (), DRAWS_COUNT if ranged else 0)
    costs = cost_matrix(drawn, able)
    ties = np.array([[one.tie_money] for one in able])  # what one has is taken though it is a little dearer
    chances, regrets = best_probabilities(costs - ties), expected_regrets(costs)
    rows = {one.candidate.id: row for row, one in enumerate(able)}
    shown = {one.candidate.id for one in kept}
    first_of: dict[tuple[object, ...], str] = {}
    for one in kept:
        first_of.setdefault(kind_of(one), one.candidate.id)
    told = dict.fromkeys(shown, 0.0)
    for one, chance in zip(able, chances, strict=True):
        stands = one.candidate.id if one.candidate.id in shown else first_of.get(kind_of(one), "")
        if stands:
            told[stands] += float(chance)
    made = []
    for one, option in zip(kept, options, strict=True):
        row = rows.get(one.candidate.id)
        if row is None:
            made.append(_ranged(option, drawn.unit_costs(one)[0]))
            continue
        chance, regret = told[one.candidate.id], float(regrets[row])
        sure = replace(option, best_probability=chance, expected_regret_money=regret)
        made.append(_ranged(sure, costs[row]))
    rivals = [one for one in kept if one.candidate.id in rows]
    turned = [option for option in made if option.id in rows]
    still = Reckoner(Moved(1, {}), ask, terms, spreads)
    draws = Draws(drawn, tuple(able), costs)
    return Sureness(
        tuple(made), swings(still, rivals, turned), DRAWS_COUNT, volume_curves(still, kept), draws
    )


def _ranged(option: Option, costs: Floats) -> Option:
    """The option with the quantiles of what its output costs over the draws; its value stays inside its interval."""
    import numpy as np

    quantiles = [float(one) for one in np.quantile(costs, [*QUANTILES, *INTERVAL])]
    now = option.unit_cost
    low, high = min(quantiles[-2], now.value), max(quantiles[-1], now.value)
    return replace(
        option,
        unit_cost=replace(now, low=low, high=high, basis="simulated"),
        unit_cost_quantiles=tuple(quantiles[: len(QUANTILES)]),
    )


def strayed(sure: Sureness, ask: Ask | None, terms: Terms) -> tuple[Assumption, ...]:
    """What the draws take for granted of traffic and prices."""
    return terms.assumptions(STRAYING if ask is not None else STRAYING[1:]) if sure.draws_count else ()


def contenders(worked: Sequence[Worked], kept: Sequence[Worked]) -> list[Worked]:
    """Those that satisfy: all that are shown, and the cheapest of the rest."""
    able = [one for one in kept if one.status == "satisfies"]
    known = {one.candidate.id for one in able}
    others = {
        one.candidate.id: one for one in worked if one.status == "satisfies" and one.candidate.id not in known
    }
    ordered = sorted(others.values(), key=lambda one: (one.cost.per_accepted_money, one.candidate.id))
    return [*able, *ordered[: max(0, MOST_DRAWN - len(able))]]


def _currency(one: Worked, terms: Terms) -> str:
    offer = one.candidate.api or (one.tenure.offer if one.tenure else None)
    return offer.currency if offer else terms.currency
