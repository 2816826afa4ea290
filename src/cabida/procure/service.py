"""The service level: promises, hours of downtime, credits and caps against each other, in hours and money."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from cabida.procure.nouns import Finding
from cabida.procure.subject import Subject
from cabida.procure.sums import down_hours_per_month
from cabida.text import number, percent
from cabida.units import HOURS_PER_MONTH

HOURS = float(HOURS_PER_MONTH)
down_hours_of = down_hours_per_month.raw
PERIOD_HOURS = {"month": HOURS, "mes": HOURS, "year": 8760.0, "año": 8760.0, "week": 168.0, "semana": 168.0,
                "quarter": 2190.0, "trimestre": 2190.0, "day": 24.0, "día": 24.0}  # fmt: skip
UNIT_HOURS = {"h": 1.0, "hour": 1.0, "hora": 1.0, "min": 1 / 60, "minute": 1 / 60, "minuto": 1 / 60, "day": 24.0,
              "día": 24.0}  # fmt: skip
_DOWN = re.compile(
    r"(?P<count>\d+(?:[.,]\d+)?)\s*(?P<unit>h|hours?|horas?|min|minutes?|minutos?|days?|días?)\b"
    r"(?P<gap>[^.;\d\n]{0,60}?)(?:per|each|a|an|al|por|cada|/)\s*(?P<period>month|mes|year|año|week|semana|quarter|trimestre)",
    re.IGNORECASE,
)
_ABOUT_DOWN = re.compile(
    r"down|outage|unavailab|interrup|inactiv|ca[íi]d|indisponib|fuera de servicio", re.IGNORECASE
)
_PERCENT = re.compile(r"(?P<value>\d{2,3}(?:[.,]\d+)?)\s*%")
_ABOUT_UP = re.compile(r"uptime|availab|disponibilidad|sla|slo", re.IGNORECASE)
NEAR_RATIO = 0.12  # hours said of a share are rounded


def downtime(s: Subject) -> Iterator[Finding]:
    """Hours of downtime said, and the share that is promised."""
    q = s.quote
    if q.uptime_ratio is None:
        return
    for read in s.texts:
        text = read.quoted or read.shown
        if not _ABOUT_DOWN.search(text) or read.field == "sla_exclusions":
            continue
        for found in _DOWN.finditer(text):
            unit = next(one for name, one in sorted(UNIT_HOURS.items(), key=lambda pair: -len(pair[0]))
                        if found["unit"].lower().startswith(name))  # fmt: skip
            period = PERIOD_HOURS[found["period"].lower()]
            hours = float(found["count"].replace(",", ".")) * unit
            ratio = 1 - hours / period
            allowed = (1 - q.uptime_ratio) * period
            if abs(hours - allowed) > NEAR_RATIO * max(hours, allowed) and abs(hours - allowed) > 0.02:
                yield s.find(
                    "CB-Q210", "blocking", ("uptime_ratio",), read, said=percent(q.uptime_ratio, 6),
                    hours=number(hours), period=found["period"], allowed=number(allowed),
                    ratio=percent(max(0.0, ratio), 5),
                )  # fmt: skip
                return


def said_twice(s: Subject) -> Iterator[Finding]:
    """Another share promised in a sentence than in the field."""
    q = s.quote
    if q.uptime_ratio is None:
        return
    for read in s.texts:
        if read.field in (
            "uptime_ratio",
            "credit_ladder",
            "credit_cap_ratio",
            "goodput_ratio",
            "sla_exclusions",
        ):
            continue
        text = read.quoted or read.shown
        for found in _PERCENT.finditer(text):
            ratio = float(found["value"].replace(",", ".")) / 100
            around = text[max(0, found.start() - 40) : found.end() + 40]
            if 0.9 <= ratio <= 1 and abs(ratio - q.uptime_ratio) > 5e-5 and _ABOUT_UP.search(around):
                yield s.find("CB-Q211", "blocking", ("uptime_ratio",), read, one=percent(q.uptime_ratio, 6),
                             other=percent(ratio, 6))  # fmt: skip
                return


def ladder(s: Subject) -> Iterator[Finding]:
    """Credits that begin below the promise, fall as it gets worse, or that the cap never lets be paid."""
    q = s.quote
    steps = sorted(q.credit_ladder or (), key=lambda one: -one.below_ratio)
    if not steps:
        if q.uptime_ratio and q.credit_cap_ratio and q.credit_ladder is not None:
            yield s.find("CB-Q212", "important", ("credit_cap_ratio",), cap=percent(q.credit_cap_ratio, 3))
        return
    top, most = steps[0], max(one.credit_ratio for one in steps)
    if q.uptime_ratio is not None and top.below_ratio < q.uptime_ratio - 1e-6:
        hours = (q.uptime_ratio - top.below_ratio) * HOURS
        yield s.find(
            "CB-Q213", "important", ("uptime_ratio", "credit_ladder"), said=percent(q.uptime_ratio, 6),
            below=percent(top.below_ratio, 6), hours=number(down_hours_of(q.uptime_ratio)),
            free=number(down_hours_of(top.below_ratio)), gap=number(hours),
        )  # fmt: skip
    if q.uptime_ratio is not None and top.below_ratio > q.uptime_ratio + 1e-6:
        yield s.find("CB-Q214", "important", ("uptime_ratio", "credit_ladder"), said=percent(q.uptime_ratio, 6),
                     below=percent(top.below_ratio, 6))  # fmt: skip
    if any(later.credit_ratio < earlier.credit_ratio for earlier, later in pairwise(steps)):
        yield s.find("CB-Q215", "blocking", ("credit_ladder",))
    if q.credit_cap_ratio is not None and most > q.credit_cap_ratio + 1e-9:
        yield s.find("CB-Q216", "blocking", ("credit_ladder", "credit_cap_ratio"), most=percent(most, 3),
                     cap=percent(q.credit_cap_ratio, 3))  # fmt: skip


def repair(s: Subject) -> Iterator[Finding]:
    """Promises that one failure breaks, support that sleeps, and a goodput above the uptime."""
    q = s.quote
    if q.uptime_ratio and q.node_replacement_hours:
        allowed = down_hours_of(q.uptime_ratio)
        if q.node_replacement_hours > allowed and q.uptime_scope in ("node", None) and not q.hot_spares_count:
            yield s.find("CB-Q217", "important", ("uptime_ratio", "node_replacement_hours", "uptime_scope"),
                         said=percent(q.uptime_ratio, 6), allowed=number(allowed),
                         hours=number(q.node_replacement_hours))  # fmt: skip
    if q.goodput_ratio and q.uptime_ratio and q.goodput_ratio > q.uptime_ratio + 1e-9:
        yield s.find("CB-Q218", "blocking", ("goodput_ratio", "uptime_ratio"), goodput=percent(q.goodput_ratio, 5),
                     uptime=percent(q.uptime_ratio, 6))  # fmt: skip
    office = q.support_hours and re.search(
        r"\b(8|9|10|12)\s*[x×]\s*5|office|business|laboral|9\s*(am|to|a|-)\s*(5|17|18)",
        q.support_hours,
        re.IGNORECASE,
    )
    if office and q.support_response_minutes and q.support_response_minutes <= 60 and _always(s):
        yield s.find("CB-Q219", "important", ("support_hours", "support_response_minutes"), hours=q.support_hours,
                     minutes=number(q.support_response_minutes))  # fmt: skip
    elif office and q.uptime_ratio and down_hours_of(q.uptime_ratio) < 16:
        yield s.find("CB-Q220", "important", ("support_hours", "uptime_ratio"), hours=q.support_hours, kind="trap",
                     said=percent(q.uptime_ratio, 6), allowed=number(down_hours_of(q.uptime_ratio)))  # fmt: skip
    if q.uptime_ratio == 1.0:
        yield s.find("CB-Q221", "important", ("uptime_ratio",), kind="trap")
    if q.uptime_ratio and q.uptime_ratio < 0.95:
        yield s.find("CB-Q222", "important", ("uptime_ratio",), kind="trap", said=percent(q.uptime_ratio, 4),
                     hours=number(down_hours_of(q.uptime_ratio)))  # fmt: skip
    if q.hot_spares_count and s.nodes_count and q.hot_spares_count >= s.nodes_count and s.nodes_count > 1:
        yield s.find("CB-Q223", "useful", ("hot_spares_count", "nodes_count"), spares=number(q.hot_spares_count),
                     nodes=number(s.nodes_count))  # fmt: skip


def _always(s: Subject) -> bool:
    return any(re.search(r"24\s*[x×/]\s*7", one.quoted or one.shown) for one in s.texts)


RULES = (downtime, said_twice, ladder, repair)
