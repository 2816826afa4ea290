"""The screen of ``bench plan``: what would be run, what it costs, what it is worth and what it decides."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from cabida.faces.grid import clean, table
from cabida.report.bench_words import label, plain
from cabida.text import duration, money, number, tr

MOST_TURNS = 6


def screen(answer: dict[str, Any]) -> RenderableType:
    """Runs in their order, all together, and the results that would change the choice."""
    plan, currency = answer["plan"], answer["currency"]
    header = [tr(f"planned.head.{one}") for one in ("run", "phase", "lasts", "costs", "worth")]
    rows = [
        (
            run["name"],
            tr(f"planned.phase.{run['phase']}"),
            duration(run["duration_s"]) if run["duration_s"] else "–",
            money(run["cost_money"], currency) if run["cost_money"] is not None else "–",
            money(run["worth_money"], currency) if run["worth_money"] is not None else "–",
        )
        for run in plan["runs"]
    ]
    cost = answer["cost_money"]
    together = tr(
        "planned.together" if cost is not None else "planned.together_open",
        duration=duration(answer["duration_s"]),
        cost=money(cost, currency) if cost is not None else "",
        count=number(len(plan["runs"]), 6),
    )
    blocks: list[RenderableType] = [
        clean(plan["name"], "bold"),
        Text(),
        table(header, rows, right=(2, 3, 4)),
        Text(),
    ]
    blocks.append(clean(together))
    blocks += [clean(f"· {one}") for one in _turns(plan)]
    blocks += [Text(), clean(tr("planned.next", file=answer["file"] or "FILE"))]
    return Group(*blocks)


def _turns(plan: dict[str, Any]) -> list[str]:
    """Where a result takes another option, run by run."""
    told = [
        tr(
            f"planned.turn.{turn['side']}",
            run=run["name"],
            metric=label(turn["metric"]),
            at=plain(turn["metric"], turn["at"]),
            then=turn["then"],
        )
        for run in plan["runs"]
        for turn in run["decides"]
        if turn["metric"] in ("req_s", "acceptance_ratio", "tokens_s_per_gpu")
    ]
    return told[:MOST_TURNS]
