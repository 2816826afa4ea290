"""How the figures of a benchmark are said: with their intervals, or why they aren't known."""

from __future__ import annotations

from typing import Any

from cabida import text
from cabida.plan import Estimate
from cabida.report import words as say
from cabida.text import has_text, tr

UNKNOWN = "–"


def label(metric: str) -> str:
    """A metric in words."""
    key = f"report.bench_metric.{metric}"
    return tr(key) if has_text(key) else say.label(metric)


def figure(metric: str, one: dict[str, Any] | None, value: str = "value") -> str:
    """``540 ms [400–760]``; an end that nobody knows is a question mark, a figure that nobody knows a dash."""
    if one is None or one.get(value) is None:
        return UNKNOWN
    middle, low, high = float(one[value]), one.get("low"), one.get("high")
    if low is not None and high is not None:
        return say.figure(metric, Estimate(middle, float(low), float(high), "measured"))
    told = plain(metric, middle)
    if low is None and high is None:
        return told
    ends = [UNSAID if end is None else plain(metric, float(end)) for end in (low, high)]
    return f"{told} [{ends[0]}–{ends[1]}]"


def value(metric: str, one: dict[str, Any] | None) -> str:
    """A figure alone, where its interval stands elsewhere."""
    return UNKNOWN if one is None or one.get("value") is None else plain(metric, float(one["value"]))


UNSAID = "?"


def plain(metric: str, value: float) -> str:
    """A bare value with its unit."""
    kind = say.kind_of(metric)
    if kind == "%":
        return text.percent(value, 3)
    if kind in ("ms", "s", "minutes"):
        return say.axis_value(metric, value) if value else f"0 {kind}"
    unit = {"bytes": "bytes", "money": "", "tokens": tr("report.tokens")}.get(kind, kind)
    return f"{text.number(value, 4)} {unit}".strip()


def why(code: str) -> str:
    """A reason in words; "" stays ""."""
    if not code:
        return ""
    key = f"keep.why.{code}"
    return tr(key) if has_text(key) else code.replace("_", " ")


def unknown(one: dict[str, Any] | None) -> str:
    """A dash, and in brackets why."""
    reason = why(str(one.get("why") or "")) if one else ""
    return f"{UNKNOWN} ({reason})" if reason else UNKNOWN


def shown(metric: str, one: dict[str, Any] | None) -> str:
    """A figure, or why there is none."""
    return unknown(one) if one is None or one.get("value") is None else figure(metric, one)


def milliseconds(one: dict[str, Any] | None) -> str:
    """A latency in a column of milliseconds."""
    if one is None or one.get("value") is None:
        return UNKNOWN
    low, high = one.get("low"), one.get("high")
    if low is None or high is None:
        ends = [UNSAID if end is None else text.number(float(end)) for end in (low, high)]
        return f"{text.number(float(one['value']), 4)} [{ends[0]}–{ends[1]}]"
    return say.span(Estimate(float(one["value"]), float(low), float(high), "measured"))


def count(value: float | None) -> str:
    """A count, grouped."""
    return UNKNOWN if value is None else text.number(value, 12)


def lasted(seconds: float) -> str:
    """A time; nothing at all is ``0 s``."""
    return text.duration(seconds) if seconds else "0 s"


def drill(judged: dict[str, Any]) -> str:
    """What a drill is called."""
    return str(judged["drilled"]["name"] or judged["drilled"]["kind"])


def load(summary: dict[str, Any]) -> str:
    """How requests arrived: ``20 req/s at random``, ``8 at once``."""
    said = summary["load"]
    kind = str(said.get("kind") or "closed")
    key = f"report.bench_load.{kind}"
    if not has_text(key):
        return kind
    rate = said.get("requests_per_s")
    rate = summary.get("offered_req_s") if rate is None else rate
    clients = said.get("concurrency")
    return tr(
        key,
        rate=text.rate(float(rate)) if isinstance(rate, int | float) else UNKNOWN,
        count=count(clients) if isinstance(clients, int | float) else UNKNOWN,
    )


def verdict(name: str) -> str:
    """How an attempt ended, in words."""
    key = f"bench.verdict.{name}"
    return tr(key) if has_text(key) else name


def reason(said: str) -> str:
    """``server error: 500`` of ``server-error: 500``, ``truncated: within the answer`` of ``truncated: cut``."""
    name, _, rest = said.partition(": ")
    key = f"wire.why.{rest}"
    told = (verdict(name), tr(key) if rest and has_text(key) else rest)
    return ": ".join(dict.fromkeys(one for one in told if one))


def objective(met: dict[str, Any]) -> dict[str, str]:
    """The metric, limit and value of an objective, a latency or a share, in words."""
    share = met.get("limit_ratio")
    limit, value = (met["limit_s"], met["value_s"]) if share is None else (share, met["value_ratio"])
    said = text.duration if share is None else text.percent
    return {
        "metric": label(met["metric"]),
        "limit": said(limit),
        "value": UNKNOWN if value is None else said(value),
    }


def turned(one: dict[str, Any]) -> str:
    """What a result decides, as a sentence."""
    state = {True: "yes", False: "no", None: "open"}[one["happened"]]
    side = tr(f"report.bench_side.{one['side']}")
    told = figure(one["metric"], one) if one["value"] is not None else unknown(one)
    limit = plain(one["metric"], float(one["at"]))
    sentence = tr(
        f"report.bench_turn.{state}",
        metric=label(one["metric"]),
        side=side,
        at=limit,
        then=one["then"],
        value=told,
    )
    if state == "open" and one.get("why"):
        sentence += " " + tr("report.bench_because", why=why(one["why"]))
    return sentence


def fit(beside: dict[str, Any] | None) -> str:
    """Whether a model fits, as was predicted and as was seen; "" = nobody knows either."""
    if not beside:
        return ""
    states = {True: "yes", False: "no", None: "open"}
    return tr(f"report.bench_fit.{states[beside['measured']]}_{states[beside['predicted']]}")


def side(name: str) -> str:
    """How a measured figure lies to what was predicted."""
    return tr(f"report.bench_beside.{name}") if name else UNKNOWN
