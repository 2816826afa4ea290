"""Phase 4 in words: each contender under its offers, predicted and measured, and whether the winner changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cabida import text
from cabida.plan.outputs import output_scale, per_output
from cabida.report.money_parts import Table
from cabida.text import tr

UNKNOWN = "–"
PER_RUN = ("accepted_model", "completed_run")


def told(found: dict[str, Any]) -> tuple[tuple[str, ...], Table]:
    """Sentences and the table of :func:`cabida.app.bench_money.bench_normalised`."""
    currency, denominator = found["currency"], found["denominator"]
    costs = [row["measured_unit_money"] or row["predicted_unit_money"] for row in found["rows"]]
    scale = output_scale(costs) if costs else 1.0

    def unit(value: float | None) -> str:
        return UNKNOWN if value is None else text.money(value * scale, currency)

    each = per_output(denominator, scale)
    header = tuple(
        tr(f"planned.money.{one}", each=each)
        for one in (
            "candidate",
            "offer",
            "speed",
            "accepted",
            "attempts",
            "idle",
            "predicted",
            "measured",
            "month",
        )
    )
    rows = tuple(
        (
            row["title"] if row["own_offer"] else tr("planned.money.same"),
            _offer(row, currency),
            _beside(row["measured_speed"], row["predicted_speed"]),
            _share(row["measured_acceptance_ratio"]),
            UNKNOWN if row["amplification_ratio"] is None else text.number(row["amplification_ratio"]),
            _share(row["measured_idle_ratio"]),
            unit(row["predicted_unit_money"]),
            _interval(row, unit),
            UNKNOWN
            if row["measured_month_money"] is None
            else text.money(row["measured_month_money"], currency),
        )
        for row in found["rows"]
    )
    return tuple(_sentences(found, unit, each)), Table("", header, rows)


def _sentences(found: dict[str, Any], unit: Callable[[float | None], str], each: str) -> list[str]:
    said = []
    before, after = found["before_title"] or UNKNOWN, found["after_title"] or UNKNOWN
    saved = found["saved_month_money"]
    if not any(row["measured_unit_money"] is not None for row in found["rows"]) and not found["changed"]:
        said.append(tr("planned.money.nothing"))
    elif not found["changed"]:
        said.append(tr("planned.money.stays", option=before))
    elif not found["after"]:
        said.append(tr("planned.money.none", option=before))
    elif saved is None:
        said.append(tr("planned.money.misses", before=before, after=after))
    else:
        run = found["denominator"] in PER_RUN
        shown = text.money(saved, found["currency"])
        said.append(
            tr(f"planned.money.changes_{'run' if run else 'month'}", before=before, after=after, saved=shown)
        )
    seen = {row["option"] for row in found["rows"] if row["measured_unit_money"] is not None}
    if (
        found["after"]
        and found["after"] not in seen
        and found["after_predicted_unit_money"] is not None
        and seen
    ):
        cost = unit(found["after_predicted_unit_money"])
        said.append(tr("planned.money.after_unmeasured", option=after, cost=cost, each=each))
    unseen = [row["title"] for row in found["rows"] if row["own_offer"] and _counts_on_prediction(row)]
    if unseen:
        said.append(tr("planned.money.unseen", options=", ".join(unseen)))
    if found["left_out"]:
        said.append(tr("planned.money.left_out", options=", ".join(found["left_out"])))
    return said


def _counts_on_prediction(row: dict[str, Any]) -> bool:
    """Whether a cost is told as measured though the speed that it rests on is the predicted one."""
    return (
        row["measured_unit_money"] is not None
        and row["measured_speed"] is None
        and row["predicted_speed"] is not None
    )


def _offer(row: dict[str, Any], currency: str) -> str:
    price = row["price_money_per_hour"]
    if price is None or row["capacity"] == "have":
        return row["provider"] or UNKNOWN
    return f"{row['provider']} {text.money(price, currency)}/h"


def _beside(measured: float | None, predicted: float | None) -> str:
    if measured is None:
        return UNKNOWN
    return (
        text.number(measured) if predicted is None else f"{text.number(measured)} ({text.number(predicted)})"
    )


def _share(ratio: float | None) -> str:
    return UNKNOWN if ratio is None else text.percent(ratio)


def _interval(row: dict[str, Any], unit: Any) -> str:
    low, high = row["measured_unit_low_money"], row["measured_unit_high_money"]
    shown: str = unit(row["measured_unit_money"])
    if row["measured_unit_money"] is None or low is None or high is None or low == high:
        return shown
    ratio = max(high / row["measured_unit_money"] - 1, 1 - low / row["measured_unit_money"])
    return f"{shown} ± {text.percent(ratio)}"
