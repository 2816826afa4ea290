"""A difference between decisions in words: for the terminal, a pull request, a mail."""

from __future__ import annotations

from cabida.plan.outputs import output_cost, output_scale
from cabida.report import words as say
from cabida.report.diff import Change, Difference, Pick
from cabida.report.markdown import md
from cabida.text import has_text, money, percent, tr

MOST_ROWS = 12  # of a table; JSON has them all
LONGEST = 90  # characters of a cell
KINDS = ("brief", "world", "price", "option", "assumption", "warning")


def answer(found: Difference) -> str:
    """Does the winner stay, in one sentence."""
    if found.verdicts == ("nothing_satisfies", "nothing_satisfies"):
        return tr("living.still_nothing")
    if found.verdicts[1] == "nothing_satisfies":
        return tr("living.nothing_any_more", option=_title(found.winner_before))
    if found.verdicts[0] == "nothing_satisfies":
        return tr("living.something_again", option=_title(found.winner_after))
    key = "winner_changes" if found.winner_changed else "winner_stays"
    return tr(f"living.{key}", before=_title(found.winner_before), after=_title(found.winner_after))


def sentences(found: Difference) -> list[str]:
    """The money before and after, and where the old winner stands now."""
    one, two = found.winner_before, found.winner_after
    told = []
    if one is not None and two is not None and found.currency == found.currency_after:
        values = {"before": unit(one, found), "after": unit(two, found), "change": change(one, two)}
        told.append(tr("living.costs", **values))
    if found.winner_changed and one is not None:
        told.append(_old_winner(found))
    if found.winner_changed and two is not None and (then := found.new_winner_then) is not None:
        told.append(tr("living.new_then", rank=then.rank, unit=unit(then, found)))
    return [sentence for sentence in told if sentence]


def _old_winner(found: Difference) -> str:
    now = found.old_winner_now
    if now is None:
        return tr("living.old_gone")
    if now.status in ("misses", "ruled_out"):
        return tr("living.old_misses", why=" ".join(now.reasons) or tr(f"report.status.{now.status}"))
    return tr("living.old_now", rank=now.rank, unit=unit(now, found, found.currency_after))


def unit(pick: Pick, found: Difference, currency: str = "") -> str:
    """What one output of an option costs, in ``currency`` ("" = the one before)."""
    costs = [
        each.unit_cost
        for each in (found.winner_before, found.winner_after)
        if each is not None and each.unit_cost is not None
    ]
    return output_cost(
        pick.unit_cost or 0.0, currency or found.currency, found.denominator, output_scale(costs)
    )


def change(one: Pick, two: Pick) -> str:
    """``+4.2 %``."""
    if not one.unit_cost or two.unit_cost is None:
        return "–"
    ratio = two.unit_cost / one.unit_cost - 1.0
    return (
        tr("living.unchanged") if abs(ratio) < 5e-4 else f"{'+' if ratio > 0 else '−'}{percent(abs(ratio))}"
    )


def tables(found: Difference) -> list[tuple[str, list[str], list[list[str]], int]]:
    """Title, header, rows and how many more there are, for each kind of change there is."""
    made = []
    for kind in KINDS:
        changes = [one for one in found.changes if one.kind == kind]
        if changes:
            header = [tr("living.what"), tr("living.before"), tr("living.after")]
            rows = [_row(one, found) for one in changes[:MOST_ROWS]]
            made.append((tr(f"living.kind.{kind}"), header, rows, max(0, len(changes) - MOST_ROWS)))
    return made


def _row(one: Change, found: Difference) -> list[str]:
    return [_name(one), _value(one, one.before, found.currency), _value(one, one.after, found.currency_after)]


def _name(one: Change) -> str:
    if one.kind == "world":
        return tr(f"living.world.{one.name}")
    return say.assumption(one.name) if one.kind == "assumption" else short(one.name)


def _value(one: Change, value: str, currency: str) -> str:
    if not value:
        return tr("living.not_there") if one.kind in ("option", "warning", "assumption") else "–"
    if one.kind == "price":
        return tr("living.per_hour", money=money(float(value), currency))
    if one.kind == "option" and has_text(f"report.status.{value}"):
        return tr(f"report.status.{value}")
    return short(value)


def short(told: str) -> str:
    """Not longer than a cell."""
    return told if len(told) <= LONGEST else f"{told[: LONGEST - 1]}…"


def _title(pick: Pick | None) -> str:
    return pick.title if pick else "–"


def markdown(found: Difference, heading: str = "") -> str:
    """As Markdown: a comment on a pull request."""
    lines = [f"### {md(heading)}", ""] if heading else []
    lines += [f"**{md(answer(found))}**", ""]
    lines += [f"- {md(one)}" for one in sentences(found)]
    for title, header, rows, more in tables(found):
        lines += ["", f"<details><summary>{md(title)} ({len(rows) + more})</summary>", ""]
        lines += ["| " + " | ".join(md(one) for one in header) + " |", "|" + " --- |" * len(header)]
        lines += ["| " + " | ".join(md(cell) for cell in row) + " |" for row in rows]
        lines += ["", tr("living.more", count=more)] if more else []
        lines += ["", "</details>"]
    return "\n".join([*lines, ""])
