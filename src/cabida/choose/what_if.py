"""A decision with other prices, salaries or shares: what hangs on them is worked out again, nothing is searched."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cabida import text
from cabida.choose.levers import Lever, bills_of, levers
from cabida.choose.limits import Miss, Spending, over_budget
from cabida.choose.recompute import node_values, recomputed, tidy
from cabida.choose.tied import TIE_MONEY, TIE_SHARE_RATIO
from cabida.errors import InvalidInput, Problem
from cabida.plan import Assumption, Caution, CostLine, Decision, Estimate, Option
from cabida.plan.outputs import output_cost, output_scale
from cabida.text import closest, number, problem, tr
from cabida.text import money as money_text

ORIGIN = "what-if"  # source of an input that was set
STATUSES = ("satisfies", "misses", "ruled_out")


def what_if(decision: Decision, changes: Mapping[str, float]) -> Decision:
    """The decision with inputs of its bills set: costs, limits, ranks and answer as they would be.

    Only the options that the decision shows are compared. What was drawn or planned around the old figures (odds of
    being best, flip points, ledgers, walk-away prices, measurements) is left out rather than kept wrong.

    Args:
        decision: with the trees of its bills.
        changes: name of a lever (see ``levers``) -> its value, in the lever's unit.

    Raises:
        InvalidInput: a name that is no lever (CB-X090), several (CB-X093) or locked (CB-X091); a value out of range
            (CB-X092); a tree that can't be worked out (CB-X095).
    """
    with text.speaking(decision.language):
        whole, decision = decision, _tidied(decision)
        set_to = _found(levers(decision), changes, decision)
        set_to = {name: (lever, value) for name, (lever, value) in set_to.items() if value != lever.value}
        if not set_to:
            return whole
        changed = {at: value for lever, value in set_to.values() for at in lever.nodes}
        nodes = recomputed(decision.trees, changed, ORIGIN)
        values = {node["id"]: node["value"] for node in nodes}
        before = {node["id"]: node["value"] for node in decision.trees}
        moved = [_moved(option, values, before, decision) for option in decision.options]
        options = _ranked(moved, decision)
        told = [_told(lever, value, decision) for lever, value in set_to.values()]
        return replace(
            decision,
            verdict="satisfied" if options and options[0].status == "chosen" else "nothing_satisfies",
            answer=_answer(options, decision, told),
            options=tuple(options),
            trees=nodes,
            assumptions=(*decision.assumptions, *_assumed(set_to.values(), decision)),
            warnings=(*decision.warnings, Caution("CB-X096", tr("choose.what_if.caution"), "info")),
            flips=(),
            assumption_flips=(),
            measurements=(),
            measurements_note="",
            swings=(),
            draws_count=0,
            curves=(),
            mix=None,
        )


def recomputes(decision: Decision) -> dict[int, Any]:
    """Every node of a decision worked out from its leaves, by id: what is stored, when it is sound."""
    nodes = tidy(decision.trees)
    return node_values(nodes, {node["id"]: node["value"] for node in nodes if not node["inputs"]})


def _tidied(decision: Decision) -> Decision:
    """The decision with its nodes in order, and no figure that hangs on none of them."""
    nodes = tidy(decision.trees)
    known = {node["id"] for node in nodes}
    options = [
        replace(option, trees={name: at for name, at in option.trees.items() if at in known})
        for option in decision.options
    ]
    return replace(decision, trees=nodes, options=tuple(options))


def _found(
    known: Sequence[Lever], changes: Mapping[str, float], decision: Decision
) -> dict[str, tuple[Lever, float]]:
    by_name = {lever.name: lever for lever in known}
    problems: list[Problem] = []
    found: dict[str, tuple[Lever, float]] = {}
    for name, value in changes.items():
        several = [lever for lever in known if _bare(lever.name) == name]
        lever = by_name.get(name) or (several[0] if len(several) == 1 else None)
        if lever is None and several and all(one.locked for one in several):
            problems.append(problem("CB-X091", name=name, reason=several[0].why))
        elif lever is None and several:
            names = ", ".join(one.name for one in several[:12])
            problems.append(problem("CB-X093", name=name, names=names))
        elif lever is None:
            if any(node["name"] == name for node in decision.trees):
                problems.append(problem("CB-X091", name=name, reason=tr("choose.lever.why.engine")))
            else:
                free = [one.name for one in known if not one.locked]
                near = closest(name, free) or ", ".join(free[:8]) or tr("choose.lever.none")
                problems.append(problem("CB-X090", name=name, near=near))
        elif lever.locked:
            problems.append(problem("CB-X091", name=name, reason=lever.why))
        elif not math.isfinite(value) or not lever.low <= value <= lever.high:
            low, now = number(lever.low, 6), number(lever.value, 6)
            high = f"{number(lever.high, 6)} {lever.unit}".strip()
            problems.append(problem("CB-X092", name=name, value=value, now=now, low=low, high=high))
        else:
            found[name] = lever, float(value)
    if problems:
        raise InvalidInput(problems)
    return found


def _bare(name: str) -> str:
    """A lever's name without the rank before it and the number after it."""
    return next((part for part in name.split(".") if not part.isdigit()), name)


def _moved(
    option: Option, values: Mapping[int, Any], before: Mapping[int, Any], decision: Decision
) -> Option:
    """The option with its figures as they are now, not yet ranked."""
    roots = bills_of(option.trees)
    touched = any(values[at] != before[at] for at in roots.values())
    unit = option.unit_cost
    if touched and "unit_cost" in roots:
        unit = _estimate(unit, values[roots["unit_cost"]], before[roots["unit_cost"]])
    metrics = {
        name: _estimate(found, values[roots[name]], before[roots[name]]) if name in roots else found
        for name, found in option.metrics.items()
    }
    whole = next((roots[name] for name in ("cost_per_month", "cost_per_run") if name in roots), None)
    per_month = values[whole] if touched and whole is not None else option.cost_per_month_money
    lines = bill_lines(option, values) if touched else option.cost_lines
    now = replace(
        option,
        cost_lines=lines,
        cost_per_month_money=per_month,
        unit_cost=unit,
        metrics=metrics,
        best_probability=0.0,
        expected_regret_money=0.0,
        unit_cost_quantiles=(),
        ledger=() if touched else option.ledger,
        walk_away=None,
        ownership=None if touched else option.ownership,
        replica=_replica(option, values, before, decision) if touched else option.replica,
    )
    return _limited(now, option, values, before, decision)


def _estimate(estimate: Estimate, now: float, before: float) -> Estimate:
    """The estimate at its new value, its interval as wide in proportion as it was."""
    if now == before:
        return estimate
    if not before:
        return replace(estimate, value=now, low=now, high=now)
    ratio = now / before
    ends = sorted((estimate.low * ratio, estimate.high * ratio))
    return replace(estimate, value=now, low=ends[0], high=ends[1])


def bill_lines(option: Option, values: Mapping[int, Any], *, empty: bool = False) -> tuple[CostLine, ...]:
    """The lines of an option's bill at these values of its nodes; those of nothing where ``empty`` asks for them."""
    known = {line.key: line for line in option.cost_lines}
    roots = {name.removeprefix("cost."): at for name, at in option.trees.items() if name.startswith("cost.")}
    keys = dict.fromkeys([*roots, *known])
    lines = [
        replace(known.get(key, CostLine(key, 0.0)), money=values[roots[key]]) if key in roots else known[key]
        for key in keys
    ]
    return tuple(line for line in lines if line.money or empty)


def _replica(option: Option, values: Mapping[int, Any], before: Mapping[int, Any], decision: Decision) -> Any:
    """One replica's price an hour, moved as the price of an accelerator-hour in the bill has moved."""
    replica = option.replica
    if replica is None or replica.money_per_hour is None:
        return replica
    ratios = {
        values[part["id"]] / before[part["id"]]
        for node in bill_nodes(option, decision)
        for part in node["inputs"]
        if part["param"] in ("price_money_per_hour", "capital_money") and before[part["id"]]
    }
    if len(ratios) != 1:
        return replica if all(ratio == 1.0 for ratio in ratios) else replace(replica, money_per_hour=None)
    return replace(replica, money_per_hour=replica.money_per_hour * ratios.pop())


def bill_nodes(option: Option, decision: Decision) -> list[dict[str, Any]]:
    """The nodes of an option's bill."""
    by_id = {node["id"]: node for node in decision.trees}
    waiting, found = list(bills_of(option.trees).values()), {}
    while waiting:
        at = waiting.pop()
        if at not in found and at in by_id:
            found[at] = by_id[at]
            waiting += [part["id"] for part in by_id[at]["inputs"]]
    return list(found.values())


def _limited(
    now: Option, option: Option, values: Mapping[int, Any], before: Mapping[int, Any], decision: Decision
) -> Option:
    """The option with the budgets of the brief held against its new bill; its other limits stay as they were found."""
    if option.status == "ruled_out":
        return now
    most = spending_of(decision)
    bought = capital_nodes(option, decision)
    was = over_budget(option.cost_per_month_money, _capital(before, bought), most)
    over = over_budget(now.cost_per_month_money, _capital(values, bought), most)
    old = {miss.sentence for miss in was}
    misses = other_misses(option, old, decision)
    rest = [reason for reason in option.reasons if reason not in old]
    told = [miss.sentence for miss in over]
    status = "misses" if over or misses else "satisfies"
    return replace(now, status=status, reasons=(*told, *rest))


def other_misses(option: Option, budget: set[str], decision: Decision) -> list[str]:
    """What an option misses beside the budgets: all it says but those and what is only said in passing."""
    if option.status != "misses":
        return []
    countries = ", ".join(_part(decision.brief, "limits").get("countries") or ())
    passing = tr("choose.caution.place_open", provider=option.provider, where=countries)
    return [reason for reason in option.reasons if reason not in budget and reason != passing]


def capital_nodes(option: Option, decision: Decision) -> tuple[Any, ...]:
    """Ids of the nodes of a bill that say what a bought option costs on day one; none for the others."""
    if option.capacity != "buy":
        return ()
    parts = (part for node in bill_nodes(option, decision) for part in node["inputs"])
    return tuple(dict.fromkeys(part["id"] for part in parts if part["param"] == "capital_money"))


def _capital(values: Mapping[int, Any], nodes: Sequence[Any]) -> float:
    return max((float(values[at]) for at in nodes), default=0.0)


def spending_of(decision: Decision) -> Spending:
    """The budgets of the brief that a new bill is held against."""
    brief = decision.brief
    budget, training = _part(brief, "budget"), _part(brief, "training")
    is_training = any("cost_per_run" in option.trees for option in decision.options)
    return Spending(
        monthly_money=_figure(budget.get("monthly_money")),
        total_money=_figure(budget.get("total_money")),
        currency=decision.currency,
        horizon_months=_figure(brief.get("horizon_months")) or 12.0,
        runs_count=(_figure(training.get("runs_count")) or 0.0) if is_training else None,
    )


def _part(brief: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = brief.get(name)
    return found if isinstance(found, Mapping) else {}


def _figure(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _ranked(options: Sequence[Option], decision: Decision) -> list[Option]:
    """Best first: the cheapest output among those that satisfy, then what misses its limits by least, then the rest."""
    most = spending_of(decision)
    ratios = {option.id: _budget_ratio(option, most) for option in options if option.status == "misses"}
    comparable = all(ratio is not None for ratio in ratios.values())

    def order(option: Option) -> tuple[int, float, float]:
        status = STATUSES.index(option.status)
        if option.status == "satisfies":
            return status, 1.0, option.unit_cost.value
        if option.status == "misses" and comparable:
            return status, ratios[option.id] or 1.0, option.unit_cost.value
        return status, float(option.rank), 0.0

    ordered = _own_first(sorted(options, key=order))
    return [
        replace(
            option,
            rank=rank,
            status="chosen" if rank == 1 and option.status == "satisfies" else option.status,
        )
        for rank, option in enumerate(ordered, 1)
    ]


def _budget_ratio(option: Option, most: Spending) -> float | None:
    """How far over the budget; ``None`` where it misses something else, whose distance a decision doesn't keep."""
    found: list[Miss] = over_budget(option.cost_per_month_money, 0.0, most)
    if {miss.sentence for miss in found} != set(option.reasons):
        return None
    return max((miss.ratio for miss in found), default=None)


def _own_first(options: list[Option]) -> list[Option]:
    """What one has goes before what is hardly cheaper, as in the decision itself."""
    able = [option for option in options if option.status == "satisfies"]
    own = next((option for option in able if is_had(option)), None)
    if own is None or own is able[0] or own.unit_cost.value <= 0:
        return options
    accepted = own.cost_per_month_money / own.unit_cost.value
    best = able[0].unit_cost.value
    if own.unit_cost.value - best > max(TIE_MONEY / accepted, TIE_SHARE_RATIO * best):
        return options
    return [own, *(option for option in options if option is not own)]


def is_had(option: Option) -> bool:
    """Whether it runs on what one has and nothing beside it."""
    return option.capacity == "have" and all(line.key != "rented" for line in option.cost_lines)


def _told(lever: Lever, value: float, decision: Decision) -> str:
    name = f"{lever.title} ({_title(lever.option, decision)})" if lever.option else lever.title
    return tr("choose.what_if.change", what=name, now=number(value, 6), before=number(lever.value, 6))


def _title(option_id: str, decision: Decision) -> str:
    return next((option.title for option in decision.options if option.id == option_id), option_id)


def _answer(options: Sequence[Option], decision: Decision, told: Sequence[str]) -> str:
    changes = "; ".join(told)
    if not options:
        return tr("choose.what_if.nothing", changes=changes)
    first = options[0]
    values: dict[str, object] = {
        "changes": changes,
        "option": first.title,
        "cost": money_text(first.cost_per_month_money, decision.currency),
        "unit": output_cost(
            first.unit_cost.value,
            decision.currency,
            decision.denominator,
            output_scale(option.unit_cost.value for option in options),
        ),
    }
    if first.status != "chosen":
        return tr("choose.what_if.nearest", **values, why=" ".join(first.reasons))
    period = "run" if spending_of(decision).runs_count is not None else "month"
    sentence = tr(f"choose.what_if.{period}", **values)
    was = decision.options[0]
    if was.id == first.id:
        return f"{sentence} {tr('choose.what_if.same')}"
    return f"{sentence} {tr('choose.what_if.other', option=was.title)}"


def _assumed(set_to: Any, decision: Decision) -> Iterator[Assumption]:
    for lever, value in set_to:
        yield Assumption(
            name=lever.name,
            value=f"{number(value, 6)} {lever.unit}".strip(),
            why=_told(lever, value, decision),
            how_to_find_out="",
            by=tr("choose.what_if.by"),
        )
