"""The decision for each of its three readers: finance, the platform's team, the product's.

Every figure is one the record has elsewhere; nothing is worked out here but sums of the ledger's months.
"""

from __future__ import annotations

import re

from cabida import text
from cabida.plan import Assumption, Compatibility, Decision, Option
from cabida.report import words as say
from cabida.report.every_form import chance, first, fits, measurement, metrics_line, replicas
from cabida.report.money_parts import Section, Table
from cabida.report.money_sections import in_short
from cabida.text import has_text, tr

MOST_STEPS = 5
ACCEPTANCE = "acceptance"


def finance(decision: Decision) -> Section | None:
    """What it costs, when money leaves, what the price rests on, and what moves it most."""
    option = first(decision)
    if option is None:
        return None
    values = {
        "option": option.title,
        "cost": say.cost(option, decision),
        "unit": say.unit_cost(option, decision),
        "output": say.per_output(decision),
    }
    told = [tr("report.readers.cost", **values), *_cash(option, decision), _basis(option, decision)]
    told += [one.sentence for one in decision.swings if one.sentence][:1]
    told += [tr("report.readers.chance", chance=chance(option))] if chance(option) else []
    told += [one.sentence for one in decision.flips if one.name in ("price", "paying")][:1]
    short = in_short(decision, [option])
    told += [*short, *_leaving(option, decision, " ".join(short))]
    return Section("finance", tuple(dict.fromkeys(one for one in told if one)))


def _leaving(option: Option, decision: Decision, said: str) -> list[str]:
    """What ending it early would cost where that isn't said yet, and what owning is worth today."""
    told = []
    if option.flexibility is not None and option.flexibility.left_money is not None:
        left = say.price(option.flexibility.left_money, decision.currency)
        told += [] if left in said else [tr("report.readers.left", money=left)]
    if option.ownership is not None:
        npv = say.price(option.ownership.npv_money, decision.currency)
        told.append(tr("report.readers.npv", money=npv))
    return told


def _cash(option: Option, decision: Decision) -> list[str]:
    if not option.ledger:
        return []
    months = [one for one in option.ledger if one.month > 0]
    start = sum(one.cash_money for one in option.ledger if one.month == 0)
    whole = option.ledger[-1].cash_cumulative_money
    most = max(months, key=lambda one: one.cash_money, default=None)
    told = []
    if months:
        values = {"months": len(months), "whole": say.price(whole, decision.currency)}
        told.append(tr("report.readers.whole", **values))
    if start > 0:
        told.append(tr("report.readers.first_day", money=say.price(start, decision.currency)))
    if most is not None and most.cash_money > 0:
        values = {"month": most.begins[:7], "money": say.price(most.cash_money, decision.currency)}
        told.append(tr("report.readers.most", **values))
    return told


def _basis(option: Option, decision: Decision) -> str:
    if not option.provider:
        return ""
    where = f", {option.region}" if option.region else ""
    seen = option.price_seen or tr("report.undated")
    return tr("report.readers.basis", provider=option.provider, where=where, seen=seen, as_of=decision.as_of)


def platform(decision: Decision) -> Section | None:
    """What runs, with how much room, what has to be done first, what to type, what to measure."""
    option = first(decision)
    if option is None:
        return None
    if not option.accelerator:
        told = [tr("report.readers.api", provider=option.provider, model=option.model)]
        return Section("platform", (*told, *metrics_line(option, decision)))
    told = [_runs(option)]
    told += [tr("report.readers.memory", fits=fits(option))] if fits(option) else []
    told += metrics_line(option, decision)
    letters: tuple[str, ...] = ()
    if (found := option.compatibility) is not None:
        told.append(tr(f"report.readers.state.{found.state}", source=_cited(found)))
        told += [*found.steps[:MOST_STEPS]]
        letters = found.install
    told += [tr("report.readers.times", told=replicas(option))] if replicas(option) else []
    told += [measurement(one, decision) for one in decision.measurements[:1]]
    launch = f"cabida launch {_file(decision)} --out start"
    return Section("platform", tuple(told), letters=(*letters, launch))


def _cited(found: Compatibility) -> str:
    """The first of its sources, with the day it was read."""
    first_source = re.sub(r" and (?=\S+@[0-9a-f]{7})", " + ", found.source.split(" | ")[0].split(" · ")[0])
    return f"{first_source}, {found.seen}" if found.seen else first_source


def _runs(option: Option) -> str:
    engine = f"{option.engine} {option.engine_version}".strip()
    values = {
        "model": option.model,
        "engine": engine,
        "weights": option.weights,
        "count": option.accelerators_count,
        "accelerator": option.accelerator,
        "split": tr("report.readers.single") if option.split in ("", "single") else option.split,
        "spares": option.spare_replicas_count,
    }
    return tr("report.readers.runs_spare" if option.spare_replicas_count else "report.readers.runs", **values)


def _file(decision: Decision) -> str:
    """As the record is called in its folder."""
    name = "".join(one if one.isalnum() or one in "-_." else "-" for one in decision.name).strip(".-")
    return f"{name[:100] or 'decision'}.json"


def product(decision: Decision) -> Section | None:
    """What users would notice, how good answers have to be, how long it lasts, where data goes."""
    option = first(decision)
    if option is None:
        return None
    told = [*_noticed(option)]
    told += [one.sentence for one in decision.flips if ACCEPTANCE in one.name][:2]
    told += _lasting(option)
    limits = decision.brief.get("limits") or {}
    data = limits.get("data") if isinstance(limits, dict) else None
    places = ", ".join(str(one) for one in data) if isinstance(data, list | tuple) else str(data or "")
    told += [tr("report.readers.data", places=places)] if places and places != "any" else []
    return Section("product", tuple(told)) if told else None


def _noticed(option: Option) -> list[str]:
    """Latencies as somebody waiting would say them."""
    found = []
    metrics = option.metrics
    if (first_word := metrics.get("ttft_ms_p95")) is not None:
        found.append(tr("report.readers.first_word", time=text.duration(first_word.value / 1000)))
    if (pace := metrics.get("tpot_ms_mean") or metrics.get("tpot_ms_p50")) is not None and pace.value > 0:
        found.append(tr("report.readers.pace", rate=text.number(1000 / pace.value, 2)))
    if (whole := metrics.get("e2e_ms_p95")) is not None:
        found.append(tr("report.readers.whole_answer", time=text.duration(whole.value / 1000)))
    if (made := metrics.get("seconds_per_item")) is not None:
        found.append(tr("report.readers.item", time=text.duration(made.value)))
    if (done := metrics.get("minutes_to_target")) is not None:
        low, high = (text.duration(one * 60) for one in (done.low, done.high))
        found.append(tr("report.readers.done", time=text.duration(done.value * 60), low=low, high=high))
    return found


def _lasting(option: Option) -> list[str]:
    found = option.flexibility
    if found is None:
        return []
    told = []
    if found.lasts_months is not None:
        told.append(tr("report.readers.lasts", months=text.number(found.lasts_months, 2)))
    if found.largest_context_tokens:
        told.append(tr("report.readers.context", tokens=text.number(found.largest_context_tokens, 7)))
    if found.score_ratio is not None:
        told.append(tr("report.readers.score", share=text.percent(found.score_ratio)))
    return told


def signing(decision: Decision) -> Section | None:
    """Who made it and who stands behind it, with open lines; when it is looked at again, and how it is made again."""
    signed = decision.sign_off
    if signed is None:
        return None
    header = tuple(tr(f"report.readers.sign.{name}") for name in ("role", "name", "date", "signature"))
    rows = [(tr("report.readers.role.author"), signed.author or "–", decision.made_at[:10], "")]
    for one in signed.approvers:
        role, name, day, state = (*one, "", "", "", "")[:4]
        key = f"report.readers.role.{role}"
        mark = tr(f"report.readers.signed.{state}") if state in ("valid", "stale") else ""
        rows.append((tr(key) if has_text(key) else role, name or "", day, mark))
    told = []
    if signed.review_on:
        told.append(tr("report.readers.review", day=signed.review_on, why=signed.review_why))
    told.append(tr("report.readers.again", file=_file(decision)))
    return Section("signing", tuple(told), (Table("", header, tuple(rows)),))


def reader_sections(decision: Decision) -> tuple[Section, ...]:
    """Those for the three readers that have something to say, in the language in use."""
    found = (make(decision) for make in (finance, platform, product))
    return tuple(one for one in found if one is not None and one.sentences)


def whose(one: Assumption) -> str:
    """Whose word an assumption is: the brief's, a fact's, a measurement of one's own, Cabida's, or a person's."""
    key = f"report.by.{one.by}"
    return tr(key) if has_text(key) else one.by or "–"
