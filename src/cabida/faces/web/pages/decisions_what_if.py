"""Inputs moved: what another price, salary or share would make of the answer, worked out by the same code as always.

Every position of a slider is asked of the server: some 20 ms of work, by the very function that the command line and
the API call, so that no second model of the bills has to agree with it. Without a script the same form sends itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from cabida.errors import InvalidInput
from cabida.faces.web.frame import page
from cabida.faces.web.pages.decisions_explain import settings
from cabida.faces.web.pages.decisions_kept import Kept, asked, changed, changes_of
from cabida.faces.web.pages.decisions_table import parted
from cabida.report import words as say
from cabida.report.every_form import first
from cabida.text import number

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from cabida.choose.levers import Lever
    from cabida.plan import Decision, Option

MOST_ROWS = 12  # options beside the result


@dataclass(frozen=True, slots=True)
class Board:
    """The sliders of a decision: of all options and of the first, what moves the costs most first; those of others."""

    groups: list[tuple[str, list[Lever]]]  # heading ("" = of all options) and sliders
    locked: list[tuple[str, list[tuple[str, str]]]]  # why, then input and value


@dataclass(frozen=True, slots=True)
class Row:
    """An option before and after: where it stands, its cost and what has changed."""

    option: Option
    rank_before: int
    cost: str
    cost_before: str
    unit: tuple[str, str]
    unit_before: str
    change: str


def what_if(request: Request) -> Response:
    """The board, or only what came of it."""
    about, kept = asked(request)
    board = kept.once("board", lambda: board_of(kept.decision))
    known = {one.name: one for _, group in board.groups for one in group}
    problems: Any = ()
    changes: dict[str, float] = {}
    try:
        changes = {
            name: value
            for name, value in changes_of(request).items()
            if name not in known or known[name].value != value
        }
        found = changed(kept, changes)
    except InvalidInput as error:
        problems, changes, found = error.problems, {}, kept.decision
    values = {
        "about": about, "decision": kept.decision, "found": found, "changes": changes, "problems": problems,
        "base": f"/decisions/{about.id}", "known": known, "told": told(changes, known, kept.decision),
        "rows": rows(kept.decision, found), "settings": "" if problems else settings_of(changes),
        "cost_head": say.cost_head(kept.decision), "per_output": say.per_output(kept.decision),
        **difference(kept, found, changes),
    }  # fmt: skip
    status = 422 if problems else 200
    if request.headers.get("hx-target", "").endswith("outcome"):
        headers = {"Vary": "HX-Target"}
        if not problems:
            headers["HX-Replace-Url"] = f"/decisions/{about.id}/what-if{values['settings']}"
        return page(request, "decision_outcome.html.j2", status=status, headers=headers, **values)
    asked_for = {key.removeprefix("set."): value[:40] for key, value in request.query_params.items()}
    return page(
        request, "decision_what_if.html.j2", status=status, headers={"Vary": "HX-Target"}, board=board,
        typed=asked_for, unit=say.unit, link=str(request.url.replace(query=settings(request)[1:], fragment=""))
        if not problems else "", **values,
    )  # fmt: skip


def settings_of(changes: Mapping[str, float]) -> str:
    """The inputs that are set as they stand in an address, or nothing."""
    from urllib.parse import urlencode

    return (
        f"?{urlencode({f'set.{name}': f'{value:.12g}' for name, value in changes.items()})}"
        if changes
        else ""
    )


def board_of(decision: Decision) -> Board:
    """The sliders, by whose they are; those that can't be moved by why."""
    from cabida.report.live import by_effect, live
    from cabida.report.live_page import grouped, locked_of

    found = live(decision)
    by_option = grouped(found, decision)
    best = first(decision)
    mine = f"{best.rank} · {best.title}" if best is not None else ""
    near = by_effect(decision, [one for title, group in by_option if title in ("", mine) for one in group])
    groups = [("", near), *((title, group) for title, group in by_option if title not in ("", mine))]
    return Board(
        [(title, group) for title, group in groups if group], locked_of(found.locked, decision.currency)
    )


def told(
    changes: Mapping[str, float], known: Mapping[str, Lever], decision: Decision
) -> list[tuple[str, str, str, str]]:
    """What is set: name, words, as decided and as set, with units."""
    said = []
    for name, value in changes.items():
        if (one := known.get(name)) is not None:
            unit = say.unit(one.unit, decision.currency, one.value)
            shown = (f"{number(each, 6)} {unit}".strip() for each in (one.value, value))
            said.append((name, one.title, *shown))
    return [(name, title, before, after) for name, title, before, after in said]


def rows(before: Decision, after: Decision) -> list[Row]:
    """The options as they stand now, beside where they stood."""
    from cabida.report.diff import pick
    from cabida.report.diff_said import change

    then = {one.id: one for one in before.options}
    made = []
    for one in after.options[:MOST_ROWS]:
        old = then[one.id]
        made.append(
            Row(
                one,
                old.rank,
                say.price(one.cost_per_month_money, before.currency),
                say.price(old.cost_per_month_money, before.currency),
                parted(say.unit_cost(one, before)),
                parted(say.unit_cost(old, before))[0],
                change(pick(old), pick(one)) if one.unit_cost != old.unit_cost else "",
            )
        )
    return made


def difference(kept: Kept, found: Decision, changes: Mapping[str, float]) -> dict[str, Any]:
    """The answer as set and what that changes, in words."""
    from cabida.report.diff import difference as between
    from cabida.report.diff_said import answer, sentences

    if not changes:
        return {"said": "", "sentences": [], "turned": False}
    one = between(kept.decision, found)
    return {"said": answer(one), "sentences": sentences(one), "turned": one.winner_changed}


ROUTES = [Route("/decisions/{id}/what-if", what_if)]
