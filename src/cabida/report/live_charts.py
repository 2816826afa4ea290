"""The figures behind the pictures that the page's script draws: the same choices as the still ones make."""

from __future__ import annotations

from typing import Any

from cabida import text
from cabida.plan import Decision
from cabida.plan.decision import QUANTILES
from cabida.plan.swing import driver_name
from cabida.report import words as say
from cabida.report.bills_chart import MOST_BILLS, billed, part_name, parts
from cabida.report.charts import served
from cabida.report.doubt_charts import MOST_BARS, between, driver_ends
from cabida.report.every_form import capital
from cabida.report.flexibility_chart import scored
from cabida.report.memory_chart import short
from cabida.report.trade import highest, is_time, traded
from cabida.text import tr

SECONDS = {"ms": 1e-3, "s": 1.0, "minutes": 60.0}


def pictures(decision: Decision, places: dict[str, int]) -> dict[str, Any]:
    """By key of the still picture; ``places`` says where in the page's options each id stands."""
    found = {
        "frontier": _frontier(decision, places),
        "bills": _bills(decision),
        "swings": _swings(decision),
        "latency": _latency(decision),
        "flexibility": _flexibility(decision),
    }
    return {key: one for key, one in found.items() if one is not None}


def _frontier(decision: Decision, places: dict[str, int]) -> dict[str, Any] | None:
    metric, options = traded(decision)
    known = [one for one in options if one.id in places]
    if len(known) < 2:
        return None
    seconds = SECONDS.get(say.kind_of(metric), 0.0)
    beyond = highest(options, metric)
    most = max(min(one.metrics[metric].value, beyond) for one in known)
    hours = 60.0 if seconds == SECONDS["minutes"] and most > 120 else 1.0  # round hours, not round minutes
    values = [{"option": places[one.id], "y": one.metrics[metric].value / hours} for one in known]
    return {
        "label": say.label(metric),
        "lower": is_time(metric),
        "time": seconds * hours,
        "beyond": beyond / hours,
        "values": values,
    }


def _bills(decision: Decision) -> dict[str, Any] | None:
    if len(billed(decision)) < 2:
        return None
    found = parts(decision)
    shown = sorted(dict.fromkeys(found.values()), key=lambda key: not key)
    return {
        "most": MOST_BILLS,
        "names": [part_name(key) for key in shown],
        "parts": {say.cost_line(key): part_name(part) for key, part in found.items()},
    }


def _swings(decision: Decision) -> dict[str, Any] | None:
    shown = decision.swings[:MOST_BARS]
    if not shown:
        return None
    scale = say.unit_scale(decision)
    titles = {one.id: f"{one.rank} · {one.title}" for one in decision.options}
    bars = []
    for one in shown:
        low, high = driver_ends(one, decision.currency)
        bars.append(
            {
                "name": capital(driver_name(one.name)),
                "low": low,
                "high": high,
                "range": between(low, high),
                "lowMoney": one.low_money * scale,
                "highMoney": one.high_money * scale,
                "lowWins": titles.get(one.low_winner, ""),
                "highWins": titles.get(one.high_winner, ""),
            }
        )
    return {"base": shown[0].base_money * scale, "bars": bars}


def _flexibility(decision: Decision) -> dict[str, Any] | None:
    shown = scored(decision)
    bars = [{"name": short(one), "share": score} for one, score in shown]
    return {"bars": bars} if len(shown) > 1 else None


def _latency(decision: Decision) -> dict[str, Any] | None:
    found = served(decision)
    if found is None:
        return None
    said = f"{tr('report.objective')} {say.label(found.objective)} {text.duration(found.limit_s)}"
    return {
        "right": found.right_ms / 1000,
        "limit": found.limit_s,
        "limitSaid": said if found.limit_s else "",
        "shares": list(QUANTILES),
        "curves": [
            {"name": short(one), "seconds": [value / 1000 for value in one.latency_quantiles[found.metric]]}
            for one in found.options
        ],
    }
