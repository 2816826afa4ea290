"""Questions about a decision: why this, why not that, what would change it, how sure it is, what to measure."""

from __future__ import annotations

import re
from dataclasses import asdict, replace

from cabida.app.asking.asked import DECISION, Asked, missing, name_of
from cabida.app.asking.slots import plain
from cabida.plan import Decision
from cabida.plan.decision import Option
from cabida.report import origins
from cabida.report.answered import Answer
from cabida.report.trade import flip_name
from cabida.report.words import assumption
from cabida.text import duration, has_text, money, percent, tr

SHOWN = 5


def _decision(asked: Asked) -> Decision:
    if asked.decision is None:
        raise missing(DECISION)
    decision = asked.decision
    _sources(asked, decision)
    asked.beside = replace(asked.beside, currency=decision.currency)
    _record(asked)
    return decision


def _sources(asked: Asked, decision: Decision) -> None:
    """What the decision rests on that somebody saw on a day."""
    seen = [one for one in origins.sources(decision) if one.get("seen")]
    asked.source(*(f"{one.get('what', '')} ({one['seen']})" for one in seen[:SHOWN]))


def _record(asked: Asked) -> None:
    """The command that shows the whole decision."""
    if asked.beside.decision:
        asked.command(f"record {asked.beside.decision}", {"format": "md"})
    else:
        asked.command(f"recommend {asked.beside.brief}", {"assume": True})


def _winner(decision: Decision) -> Option | None:
    return next((one for one in decision.options if one.status == "chosen"), None)


def _figures(asked: Asked, decision: Decision, one: Option) -> None:
    asked.add(one.title, "unit_cost", asdict(one.unit_cost), "money")
    asked.add(one.title, "per_month", one.cost_per_month_money, "money", "formula")
    if decision.draws_count:
        asked.add(one.title, "best_probability", one.best_probability, "ratio", "simulated")


def chosen(asked: Asked) -> Answer:
    """What the decision chose: its answer and the figures of the first options."""
    decision = _decision(asked)
    for one in decision.options[:3]:
        _figures(asked, decision, one)
    return asked.answer(decision.answer)


def why(asked: Asked) -> Answer:
    """Why the winner is first: what it costs against the next, and what took the others out."""
    decision = _decision(asked)
    best = _winner(decision)
    if best is None:
        return asked.answer(decision.answer)
    rest = [one for one in decision.options if one.status == "satisfies" and one.id != best.id]
    _figures(asked, decision, best)
    for one in rest[:2]:
        _figures(asked, decision, one)
    asked.notes += [one.sentence for one in decision.rejections[:SHOWN]]
    unit = money(best.unit_cost.value, decision.currency)
    if not rest:
        return asked.answer(tr("asking.why.only", option=best.title, unit=unit))
    nearest = min(rest, key=lambda one: one.rank)
    gap = nearest.unit_cost.value / best.unit_cost.value - 1 if best.unit_cost.value else 0.0
    asked.add(nearest.title, "behind", gap, "ratio", "formula")
    return asked.answer(
        tr("asking.why.answer", option=best.title, unit=unit, next=nearest.title,
           next_unit=money(nearest.unit_cost.value, decision.currency), gap=percent(gap))
    )  # fmt: skip


def why_not(asked: Asked) -> Answer:
    """What keeps an option from being first: its reasons, or how far behind it is."""
    decision = _decision(asked)
    best, one = _winner(decision), _meant(asked, decision)
    if one is None:
        names = [name_of(card) for card, _ in asked.cards]
        named = ", ".join(names) or "?"
        taken = [
            row.sentence
            for row in decision.rejections
            if any(_in(name, row.sentence + row.example) for name in names)
        ]
        asked.notes += taken or [row.sentence for row in decision.rejections[:SHOWN]]
        return asked.answer(
            tr("asking.why_not.absent", option=named, reason=taken[0] if taken else tr("asking.why_not.see"))
        )
    _figures(asked, decision, one)
    if best is not None and one.id == best.id:
        return asked.answer(tr("asking.why_not.is_first", option=one.title))
    if one.reasons:
        asked.notes += list(one.reasons[1:])
        return asked.answer(tr("asking.why_not.reasons", option=one.title, reason=one.reasons[0]))
    if best is None:
        return asked.answer(decision.answer)
    _figures(asked, decision, best)
    gap = one.unit_cost.value / best.unit_cost.value - 1 if best.unit_cost.value else 0.0
    asked.add(one.title, "behind", gap, "ratio", "formula")
    return asked.answer(
        tr("asking.why_not.behind", option=one.title, unit=money(one.unit_cost.value, decision.currency),
           best=best.title, best_unit=money(best.unit_cost.value, decision.currency), gap=percent(gap))
    )  # fmt: skip


def _meant(asked: Asked, decision: Decision) -> Option | None:
    """The option that is named: by a card, by its rank, as the API, or by the most words of its title."""
    ids = [card for card, _ in asked.cards]
    if found := next((one for one in decision.options if one.accelerator in ids), None):
        return found
    text = plain(asked.question)
    if rank := re.search(r"(?:option|opcion|#) ?(\d+)", text):
        return next((one for one in decision.options if one.rank == int(rank[1])), None)
    if re.search(r"\bapi\b", text):
        return next((one for one in decision.options if not one.accelerator), None)
    words = {word for word in text.split() if len(word) > 3}
    scores = {one.rank: len(words & set(plain(one.title).split())) for one in decision.options}
    most = max(scores.values(), default=0)
    return next((one for one in decision.options if most and not ids and scores[one.rank] == most), None)


def _in(name: str, text: str) -> bool:
    return name.split()[0].lower() in text.lower()


def change(asked: Asked) -> Answer:
    """The values at which another option wins."""
    decision = _decision(asked)
    turning = [one for one in (*decision.flips, *decision.assumption_flips) if one.at is not None]
    for one in turning[:SHOWN]:
        of = flip_name(one.name) if has_text(f"report.flip.{one.name}") else assumption(one.name)
        asked.add(of, "now", one.now, one.unit or "ratio")
        asked.add(of, "turns_at", one.at, one.unit or "ratio")
    asked.notes += [one.sentence for one in turning[1:SHOWN]]
    if not turning:
        asked.notes += [one.sentence for one in decision.flips[:SHOWN]]
        return asked.answer(tr("asking.change.nothing"))
    return asked.answer(tr("asking.change.answer", count=str(len(turning)), first=turning[0].sentence))


def sure(asked: Asked) -> Answer:
    """How often the winner stays best, what being wrong costs on average, and how wide its interval is."""
    decision = _decision(asked)
    best = _winner(decision)
    if best is None:
        return asked.answer(decision.answer)
    _figures(asked, decision, best)
    for one in decision.options[1:3]:
        _figures(asked, decision, one)
    asked.add(
        best.title, "regret", best.expected_regret_money, "money", "simulated" if decision.draws_count else ""
    )
    asked.notes += [
        f"{assumption(one.name)}: {one.value}. {one.how_to_find_out}" for one in decision.assumptions[:SHOWN]
    ]
    key = "asking.sure." + ("answer" if decision.draws_count else "interval")
    return asked.answer(
        tr(key, option=best.title, probability=percent(best.best_probability), count=str(decision.draws_count),
           unit=money(best.unit_cost.value, decision.currency), low=money(best.unit_cost.low, decision.currency),
           high=money(best.unit_cost.high, decision.currency), basis=tr(f"asking.basis.{best.unit_cost.basis}"))
    )  # fmt: skip


def measure(asked: Asked) -> Answer:
    """The measurements worth their price, the most valuable first."""
    decision = _decision(asked)
    found = sorted(decision.measurements, key=lambda one: -(one.worth_money or 0.0))
    for one in found[:SHOWN]:
        asked.add(one.what, "costs", one.cost_money, "money")
        asked.add(one.what, "takes", one.duration_s, "s")
        asked.add(one.what, "worth", one.worth_money, "money", "simulated")
        if one.command and one.command not in asked.commands:
            asked.commands.append(one.command)
    if not found:
        return asked.answer(decision.measurements_note or tr("asking.measure.nothing"))
    first = found[0]
    return asked.answer(
        tr("asking.measure.answer", what=first.what, cost=money(first.cost_money, decision.currency),
           time=duration(first.duration_s), decides=first.decides)
    )  # fmt: skip


def room(asked: Asked) -> Answer:
    """How much the chosen option carries beyond the need, and the warnings about buying too much."""
    decision = _decision(asked)
    best = _winner(decision)
    if best is None:
        return asked.answer(decision.answer)
    _figures(asked, decision, best)
    growth = best.flexibility.growth_ratio if best.flexibility else None
    replica = best.replica
    free = None
    if replica is not None and replica.capacity_requests_per_s:
        free = 1.0 - replica.requests_per_s / replica.capacity_requests_per_s
        asked.add(best.title, "use", 1.0 - free, "ratio", "simulated")
    if growth is not None:
        asked.add(best.title, "growth", growth, "ratio", "formula")
    idle = next((line.money for line in best.cost_lines if line.key == "idle"), None)
    asked.add(best.title, "idle", idle, "money", "formula")
    asked.notes += [one.sentence for one in decision.warnings if one.severity != "info"][:SHOWN]
    key = "asking.room." + ("answer" if free is not None else "unknown")
    return asked.answer(
        tr(key, option=best.title, free=percent(free or 0.0), idle=money(idle or 0.0, decision.currency),
           month=money(best.cost_per_month_money, decision.currency))
    )  # fmt: skip


PROFILES = (
    (r"student|hobby|estudiante|aficionado", "student-4090"),
    (r"start-?up|emprendimiento", "story-startup-chatbot"),
    (r"research|investigacion|universit|universidad", "story-university-13b"),
    (r"enterprise|corporat|empresa", "support-chat"),
)


def profile(asked: Asked) -> Answer:
    """The example brief of a kind of buyer, decided today; a brief of one's own in its place."""
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from cabida import app
    from cabida.brief.examples import example_text

    if asked.decision is not None:
        return chosen(asked)
    text = plain(asked.question)
    name = next((example for pattern, example in PROFILES if re.search(pattern, text)), PROFILES[0][1])
    with TemporaryDirectory() as folder:
        brief = Path(folder) / f"{name}.yaml"
        brief.write_text(example_text(name), encoding="utf-8")
        decision = app.recommend(brief, assume=True, as_of=asked.as_of or None)
    for one in decision.options[:3]:
        _figures(asked, decision, one)
    asked.take("brief", name, "--brief")
    asked.commands.append(f"cabida init --from {name} > {name}.yaml")
    asked.command(f"recommend {name}.yaml", {"assume": True})
    _sources(asked, decision)
    asked.notes += [one.sentence for one in decision.warnings if one.severity != "info"][:2]
    asked.beside = replace(asked.beside, currency=decision.currency)
    return asked.answer(tr("asking.profile", example=name) + " " + decision.answer)
