"""The options of a decision side by side, every line of each bill: phase four, one row per candidate."""

from __future__ import annotations

from typing import Any

from cabida.errors import InvalidInput
from cabida.plan import Decision, Option
from cabida.report import words as say
from cabida.report.tree import nodes_under
from cabida.text import number, problem

PER_RUN = say.RUN_DENOMINATORS


def options_answer(decision: Decision, option: int | None = None) -> dict[str, Any]:
    """Rows in the decision's order, money in its currency; with ``option`` (a rank) also that one's bill explained.

    Raises:
        InvalidInput: CB-U084, no option of that rank, or its figures were not kept for explaining.
    """
    period = "cost_per_run" if decision.denominator in PER_RUN else "cost_per_month"
    keys = list(dict.fromkeys(line.key for one in decision.options for line in one.cost_lines))
    found: dict[str, Any] = {
        "kind": "options",
        "name": decision.name,
        "as_of": decision.as_of,
        "currency": decision.currency,
        "denominator": decision.denominator,
        "period": period,
        "line_keys": keys,
        "rows": [_row(one, period, decision) for one in decision.options],
    }
    return found if option is None else found | {"bill": _bill(decision, option)}


def _row(one: Option, period: str, decision: Decision) -> dict[str, Any]:
    scale = one.unit_cost.value / one.cost_per_month_money if one.cost_per_month_money else 0.0
    return {
        "rank": one.rank,
        "title": one.title,
        "status": one.status,
        "provider": one.provider,
        "capacity": one.capacity,
        "seen": one.price_seen,
        f"{period}_money": one.cost_per_month_money,
        "lines": {line.key: line.money for line in one.cost_lines},
        "per_output": {line.key: line.money * scale for line in one.cost_lines},
        "metrics": {f"{decision.denominator}_money": one.unit_cost},
        "best_probability": one.best_probability,
        "expected_regret_money": one.expected_regret_money,
    }


def _bill(decision: Decision, rank: int) -> dict[str, Any]:
    """One option's lines with the nodes of their formulas."""
    option = next((one for one in decision.options if one.rank == rank), None)
    explained = [one.rank for one in decision.options if "unit_cost" in one.trees]
    if option is None or "unit_cost" not in option.trees:
        raise InvalidInput(
            [problem("CB-U084", rank=rank, known=", ".join(number(one) for one in explained) or "–")]
        )
    total = next(name for name in ("cost_per_month", "cost_per_run") if name in option.trees)
    named = {name: node for name, node in option.trees.items() if name.startswith("cost.")}
    scale = option.unit_cost.value / option.cost_per_month_money if option.cost_per_month_money else 0.0
    return {
        "lines": [
            {
                "key": line.key,
                "money": line.money,
                "share_ratio": line.money / option.cost_per_month_money
                if option.cost_per_month_money
                else 0.0,
                "per_output_money": line.money * scale,
                "node": named.get(f"cost.{line.key}"),
            }
            for line in option.cost_lines
        ],
        "total_money": option.cost_per_month_money,
        "total": option.trees[total],
        "unit_money": option.unit_cost.value,
        "unit": option.trees["unit_cost"],
        "nodes": list(nodes_under(decision, f"{rank}.unit_cost" if rank != 1 else "unit_cost")),
    }
