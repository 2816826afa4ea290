"""How a decision's figures are said: labels, units a person would use, intervals with honest digits."""

from __future__ import annotations

import math
import re
from typing import Any

from cabida import text
from cabida.plan import Decision, Estimate, Option, Rejection, outputs
from cabida.plan.outputs import output_scale
from cabida.text import has_text, tr

# what a metric's name ends in (after its statistic) -> how it is shown
LEAST_EXPONENT = -300  # a step of less can't be told from none
ENDINGS = (
    ("_ms", "ms"),
    ("tok_s", "tok/s"),
    ("items_s", "/s"),
    ("tokens_s_per_gpu", "tok/s"),
    ("tokens_s", "tok/s"),
    ("req_s", "req/s"),
    ("it_s", "it/s"),
    ("_per_h", "/h"),
    ("gib_per_gpu", "GiB"),
    ("gib_total", "GiB"),
    ("_gib", "GiB"),
    ("minutes_to_target", "minutes"),
    ("minutes_per_model", "minutes"),
    ("minutes_to_build", "minutes"),
    ("minutes_choices", "minutes"),
    ("minutes_generated", "minutes"),
    ("minutes_judged", "minutes"),
    ("minutes_judging", "minutes"),
    ("seconds_per_item", "s"),
    ("_ratio", "%"),
    ("mfu", "%"),
    ("goodput", "%"),
    ("_tokens", "tokens"),
    ("_bytes", "bytes"),
    ("_money", "money"),
    ("kwh_per_output", "kWh"),
    ("kwh_per_month", "kWh"),
    ("g_per_output", "g CO₂"),
    ("kg_per_month", "kg CO₂"),
    ("_kwh", "kWh"),
    ("_w", "W"),
    ("_s", "s"),
)
STATISTICS = ("mean", "p50", "p90", "p95", "p99")
PERCENTILE = re.compile(r"p[0-9]{1,2}")
HEADLINE: tuple[str, ...] = (
    "minutes_per_model",
    "evaluated_model_money",
    "seconds_per_item",
    "items_per_day",
    "audio_hours_per_h",
    "ttft_ms_p95",
    "itl_ms_p95",
    "capacity_req_s",
    "req_s",
    "tpot_ms_p95",
    "e2e_ms_p95",
    "output_tok_s",
    "minutes_to_target",
    "tokens_s_per_gpu",
    "step_time_s",
    "peak_gib_per_gpu",
)
RUN_DENOMINATORS = ("completed_run", "accepted_model")


def kind_of(metric: str) -> str:
    """How a metric is shown: ``ms``, ``GiB``, ``tok/s`` ...; ``""`` for a bare number."""
    name = _bare(metric)[0]
    return next((kind for ending, kind in ENDINGS if name.endswith(ending)), "")


def label(metric: str) -> str:
    """``ttft_ms_p95`` as ``TTFT p95``; a metric without a text of its own keeps its name in words."""
    name, statistic = _bare(metric)
    key = f"report.metric.{name}"
    words = tr(key) if has_text(key) else name.replace("_", " ")
    return f"{words} {_statistic(statistic)}".strip()


def _statistic(name: str) -> str:
    return tr("report.mean") if name == "mean" else name


def _bare(metric: str) -> tuple[str, str]:
    head, _, tail = metric.rpartition("_")
    return (head, tail) if tail in STATISTICS or PERCENTILE.fullmatch(tail) else (metric, "")


def decimal(value: float, decimals: int) -> str:
    """``value`` with exactly ``decimals`` places, grouped, as the language writes it."""
    if not math.isfinite(value):
        return text.number(value)
    shown = f"{value:,.{max(0, decimals)}f}"
    return text.with_marks(shown)


def span(estimate: Estimate, factor: float = 1.0, unit: str = "") -> str:
    """``540 ms [400–760]``: no more digits than the interval deserves. ``factor`` scales to ``unit``.

    Where one end is far from the other, what that would leave with nothing keeps two digits: none is shown as 0.
    """
    value, low, high = (one * factor for one in (estimate.value, estimate.low, estimate.high))
    tail = f" {unit}" if unit else ""
    if not math.isfinite(value):
        return text.number(value)
    if not math.isfinite(high - low):
        return f"{text.number(value, 2)}{tail} [{text.number(low, 2)}–{text.number(high, 2)}]"
    if high - low <= max(abs(value) * 1e-6, 10.0**LEAST_EXPONENT):
        return f"{text.number(value, 4)}{tail}"
    exponent = max(LEAST_EXPONENT, math.floor(math.log10((high - low) / 5)))
    shown = [_rounded(value, exponent, 0.005), _rounded(low, exponent), _rounded(high, exponent)]
    return f"{shown[0]}{tail} [{shown[1]}–{shown[2]}]"


def _rounded(value: float, exponent: int, most_ratio: float = 0.05) -> str:
    """``value`` to the place 10**exponent; to two digits where that would move it by more than ``most_ratio``."""
    shown = _at(value, exponent)
    if value and abs(shown - value) > abs(value) * most_ratio and exponent > math.log10(abs(value)) - 1:
        exponent = max(LEAST_EXPONENT, math.floor(math.log10(abs(value))) - 1)
        shown = _at(value, exponent)
    return decimal(shown, -exponent)


def _at(value: float, exponent: int) -> float:
    step = 10.0**exponent
    return round(value / step) * step


def figure(metric: str, estimate: Estimate, currency: str = "") -> str:
    """One metric as a person reads it, with its 90 % interval in brackets."""
    kind = kind_of(metric)
    if kind in ("ms", "s", "minutes"):
        seconds = {"ms": 1e-3, "s": 1.0, "minutes": 60.0}[kind]
        return _time(estimate, seconds)
    if kind == "%":
        return span(estimate, 100.0, "%")
    if kind == "bytes":
        return span(estimate, 1 / 2**30, "GiB")
    if kind == "money":
        return span(estimate, 1.0, currency)
    if kind == "tokens":
        return span(estimate, 1.0, tr("report.tokens"))
    return span(estimate, 1.0, kind)


def axis_value(metric: str, value: float) -> str:
    """A bare value on an axis, times in the unit a person would say."""
    seconds = {"ms": 1e-3, "s": 1.0, "minutes": 60.0}.get(kind_of(metric))
    return text.duration(value * seconds) if seconds and value else text.number(value)


def _time(estimate: Estimate, seconds: float) -> str:
    middle = abs(estimate.value) * seconds
    for below, size, unit in (
        (1.0, 1e-3, "ms"),
        (120.0, 1.0, "s"),
        (7200.0, 60.0, "min"),
        (172800.0, 3600.0, "h"),
    ):
        if middle < below:
            return span(estimate, seconds / size, unit)
    return span(estimate, seconds / 86400.0, tr("report.days"))


def unit(name: str, currency: str = "", value: float = 1.0) -> str:
    """A compound unit in words: ``money/month`` as ``EUR/month`` or ``EUR/mes``; of a ``value`` not one, in plural."""
    parts = [currency if part == "money" and currency else part for part in name.split("/")]
    if value != 1 and has_text(f"report.unit.{parts[0]}s"):
        parts[0] += "s"
    return "/".join(tr(f"report.unit.{one}") if has_text(f"report.unit.{one}") else one for one in parts)


def price(amount: float, currency: str) -> str:
    """An amount of money; cents matter only below 100."""
    return text.money(amount, currency)


def probability(value: float) -> str:
    """Two decimals; what no simulation can tell from 0 or 1 is said as a bound."""
    if 0.005 <= value <= 0.99:
        return decimal(value, 2)
    return f">\u00a0{decimal(0.99, 2)}" if value > 0.5 else f"<\u00a0{decimal(0.01, 2)}"


def share(ratio: float) -> str:
    """A part of a whole in percent; below a tenth of a percent only that it is there."""
    return text.percent(ratio) if ratio >= 0.001 or ratio <= 0 else f"<\u00a0{text.percent(0.001)}"


def is_run(decision: Decision) -> bool:
    """Whether costs are for a whole run (training) and not per month (serving)."""
    return decision.denominator in RUN_DENOMINATORS


def period(decision: Decision) -> str:
    """What ``cost_per_month_money`` is for: a month, or a run."""
    return tr("report.per_run") if is_run(decision) else tr("report.per_month")


def workload(decision: Decision) -> str:
    """The class of workload in words."""
    key = f"report.workload.{decision.workload}"
    return tr(key) if has_text(key) else decision.workload.replace("-", " ")


def unit_scale(decision: Decision) -> float:
    """One scale for the unit costs of all options: tiny amounts are told per thousand or per million."""
    return output_scale(one.unit_cost.value for one in decision.options)


def per_output(decision: Decision) -> str:
    """``per accepted answer``, in the denominator of the brief and the scale of the amounts."""
    return outputs.per_output(decision.denominator, unit_scale(decision))


def unit_cost(option: Option, decision: Decision) -> str:
    """``0.0021 EUR [0.0018–0.0026]`` for one output (or the scale of ``per_output``)."""
    return span(option.unit_cost, unit_scale(decision), decision.currency)


def cost_head(decision: Decision) -> str:
    """``Cost per month`` or ``Cost per run``."""
    return tr("report.cost_run" if is_run(decision) else "report.cost_month")


def cost(option: Option, decision: Decision) -> str:
    """``14,900 EUR/month`` or ``1,200 EUR/run``."""
    return f"{price(option.cost_per_month_money, decision.currency)}/{period(decision)}"


def rejection(one: Rejection, *, example: bool = True) -> str:
    """Why a group fell: its sentence after the count it begins with; its example when that isn't in it."""
    counted = f"{one.count:,}"  # as the language of the sentence writes it, whichever that is
    told = (text.number(one.count, 7), counted, counted.replace(",", "."), str(one.count))
    rest = next(
        (one.sentence.removeprefix(f"{begin} ") for begin in told if one.sentence.startswith(f"{begin} ")),
        one.sentence,
    )
    if example and one.example and one.example not in one.sentence:
        rest += f" ({one.example})"
    return rest


def cost_line(key: str) -> str:
    """Label of one cost term."""
    for full in (f"money.cost.{key}", f"report.cost.{key}"):
        if has_text(full):
            return tr(full)
    return key.replace("_", " ")


def part(key: str) -> str:
    """Label of one part of memory."""
    full = f"report.part.{key}"
    return tr(full) if has_text(full) else key.replace("_", " ")


def assumption(name: str) -> str:
    """An assumption in words: cost inputs, what the load takes for granted, and lines of the brief."""
    for room in ("money", "choose", "brief"):
        if has_text(f"{room}.assumption.{name}"):
            return tr(f"{room}.assumption.{name}")
    found = re.fullmatch(r"models\[\d+\]\.weights(?:\.(.+))?", name)
    if found:
        return tr("brief.assumption.format", format=found[1]) if found[1] else tr("brief.assumption.formats")
    return name


def grade(name: str) -> str:
    """``measured``, ``vendor`` ... in words."""
    full = f"report.grade.{name}"
    return tr(full) if has_text(full) else name


def headline(option: Option, decision: Decision, most: int = 3) -> list[str]:
    """The metrics that matter first: those the brief sets an objective for, then the usual ones."""
    asked = [f"{line.rpartition('_')[0]}_ms_{line.rpartition('_')[2]}" for line in objectives(decision)]
    wanted = dict.fromkeys([*asked, *HEADLINE])
    return [name for name in wanted if name in option.metrics][:most]


def objectives(decision: Decision) -> dict[str, float]:
    """Latency objectives of the brief: ``{"ttft_p95": 0.8}``, in seconds.

    The brief may be kept as read (``latency_s: {ttft: {p95: 0.8}}``) or as written (``ttft_p95: 800 ms``).
    """
    stated: Any = decision.brief.get("objectives")
    if not isinstance(stated, dict):
        return {}
    pairs: list[tuple[str, Any]] = list(stated.items())
    nested = stated.get("latency_s")
    for name, limits in nested.items() if isinstance(nested, dict) else ():
        pairs += [(f"{name}_{statistic}", limit) for statistic, limit in limits.items()]
    found: dict[str, float] = {}
    for name, limit in pairs:
        head, _, statistic = str(name).rpartition("_")
        if head in ("ttft", "itl", "tpot", "e2e") and statistic in STATISTICS:
            seconds = _seconds(limit)
            if seconds is not None:
                found[f"{head}_{statistic}"] = seconds
    return found


def _seconds(limit: Any) -> float | None:
    from cabida.units import parse

    try:
        return None if isinstance(limit, bool) else parse(limit, "s")
    except (ValueError, TypeError):
        return None
