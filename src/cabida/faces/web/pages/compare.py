"""Two side by side: two options, or two decisions on the same work, with what differs between them marked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from cabida import text
from cabida.errors import InvalidInput
from cabida.faces.web.frame import page
from cabida.faces.web.pages.decisions_kept import Kept, about, option_of, read
from cabida.faces.web.pages.decisions_option import FACTS
from cabida.faces.web.pages.decisions_table import metrics_of, parted, said
from cabida.report import words as say
from cabida.report.every_form import fits
from cabida.text import problem, tr

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from cabida.evidence.shelf.nouns import KeptDecision
    from cabida.plan import Decision, Option

SHOWN = 20  # decisions to choose among
EXAMPLE = "d-01…:2"


@dataclass(frozen=True, slots=True)
class Line:
    """One thing said of both: what, then of each its figure with its interval, and whether they differ."""

    head: str
    cells: tuple[tuple[str, str], ...]
    differs: bool


def compare(request: Request) -> Response:
    """``a`` and ``b``, each a decision's id, or that and an option's rank behind a colon; ``pick`` twice will do."""
    query = request.query_params
    picked = [one for one in query.getlist("pick")[:2] if one]
    sides = [*(query.get(name, "").strip() for name in ("a", "b")), *picked]
    named = [one[:200] for one in sides if one][:2]
    if len(named) < 2:
        return page(request, "compare_ask.html.j2", a=named[0] if named else "", decisions=_newest(request))
    (one, one_kept, one_rank), (two, two_kept, two_rank) = (side(request, told) for told in named)
    if one_rank or two_rank:
        pair = [
            (one, one_kept.decision, _option(one_kept, one_rank)),
            (two, two_kept.decision, _option(two_kept, two_rank)),
        ]
        return page(
            request, "compare_options.html.j2", pair=pair, groups=groups(pair), swapped=_swapped(named)
        )
    return _decisions(request, one, one_kept, two, two_kept, _swapped(named))


def side(request: Request, told: str) -> tuple[KeptDecision, Kept, str]:
    """A side of the comparison: decision, content, and the rank of an option ("" = the whole decision).

    Raises:
        InvalidInput: CB-S083, it names neither.
    """
    id, colon, rank = told.partition(":")
    if not id or (colon and not rank.isdecimal()):
        raise InvalidInput([problem("CB-S083", what=told[:60], example=EXAMPLE)])
    found = about(request, id)
    return found, read(request, found), rank


def _option(kept: Kept, rank: str) -> Option:
    from cabida.report.every_form import first

    best = first(kept.decision)
    return option_of(kept.decision, rank or str(best.rank if best is not None else 1))


def _swapped(named: list[str]) -> str:
    from urllib.parse import urlencode

    return f"/compare?{urlencode({'a': named[1], 'b': named[0]})}"


def _newest(request: Request) -> list[KeptDecision]:
    from cabida.evidence import shelf
    from cabida.faces.web.pages.decisions_kept import store_of

    return list(shelf.kept_decisions(most=SHOWN, store=store_of(request)).items)


def _decisions(
    request: Request, one: KeptDecision, one_kept: Kept, two: KeptDecision, two_kept: Kept, swapped: str
) -> Response:
    """What changed from one decision to another."""
    from cabida.app import diff
    from cabida.report.diff_said import answer, sentences, tables

    found = one_kept.once(("diff", two.digest), lambda: diff(one_kept.decision, two_kept.decision))
    return page(
        request, "compare_decisions.html.j2",
        one=one, two=two, before=one_kept.decision, after=two_kept.decision, answer=answer(found),
        sentences=sentences(found), tables=tables(found), changed=found.winner_changed, swapped=swapped,
    )  # fmt: skip


Pair = list[tuple[Any, "Decision", "Option"]]


def groups(pair: Pair) -> list[tuple[str, list[Line]]]:
    """What is said of both options, under headings."""
    made = [
        (tr("pages_decision.group.answer"), _answer(pair)),
        (tr("pages_decision.group.speed"), _metrics(pair)),
        (tr("pages_decision.what_it_is"), _facts(pair)),
        (tr("pages_decision.group.bill"), _bill(pair)),
        (tr("report.section.memory"), _memory(pair)),
        (tr("report.section.flexibility"), _flexibility(pair)),
    ]
    return [(head, lines) for head, lines in made if lines]


def _line(head: str, cells: list[tuple[str, str]]) -> Line:
    return Line(head, tuple(cells), cells[0] != cells[1])


def _answer(pair: Pair) -> list[Line]:
    lines = [
        _line(
            tr("pages_decision.column.status"),
            [(tr(f"report.status.{one.status}"), "") for _, _, one in pair],
        ),
        _line(
            say.cost_head(pair[0][1]),
            [(say.price(one.cost_per_month_money, d.currency), "") for _, d, one in pair],
        ),
        _line(
            say.per_output(pair[0][1]) if say.per_output(pair[0][1]) == say.per_output(pair[1][1]) else "–",
            [
                (parted(say.unit_cost(one, d))[0] + _per(pair, d), parted(say.unit_cost(one, d))[1])
                for _, d, one in pair
            ],
        ),
    ]
    if any(one.best_probability > 0 for _, _, one in pair):
        best = [
            (say.probability(one.best_probability) if one.best_probability > 0 else "–", "")
            for _, _, one in pair
        ]
        lines.append(_line(tr("report.best_head"), best))
    if any(one.reasons for _, _, one in pair):
        lines.append(_line(tr("report.note"), [(" ".join(one.reasons) or "–", "") for _, _, one in pair]))
    return lines


def _per(pair: Pair, decision: Decision) -> str:
    """What a unit cost is per, where the two decisions count differently."""
    same = say.per_output(pair[0][1]) == say.per_output(pair[1][1])
    return "" if same else f" {say.per_output(decision)}"


def _metrics(pair: Pair) -> list[Line]:
    return [
        _line(
            say.label(name),
            [
                parted(say.figure(name, o.metrics[name], d.currency)) if name in o.metrics else ("–", "")
                for _, d, o in pair
            ],
        )
        for name in metrics_of(one for _, _, one in pair)
    ]


def _facts(pair: Pair) -> list[Line]:
    lines = [
        _line(
            tr(f"pages_decision.column.{name}"),
            [(said(name, str(getattr(one, name))) or "–", "") for _, _, one in pair],
        )
        for name in FACTS
        if any(getattr(one, name) for _, _, one in pair)
    ]
    for name in ("accelerators_count", "replicas_count"):
        counts = [(text.number(getattr(one, name), 7) if one.accelerator else "–", "") for _, _, one in pair]
        lines.append(_line(tr(f"pages_decision.column.{name}"), counts))
    return lines


def _bill(pair: Pair) -> list[Line]:
    bills = [{line.key: line.money for line in one.cost_lines} for _, _, one in pair]
    return [
        _line(
            say.cost_line(key),
            [
                (say.price(bill[key], d.currency) if key in bill else "–", "")
                for bill, (_, d, _) in zip(bills, pair, strict=True)
            ],
        )
        for key in dict.fromkeys(key for bill in bills for key in bill)
    ]


def _memory(pair: Pair) -> list[Line]:
    names = dict.fromkeys(name for _, _, one in pair for name in one.memory if name != "headroom")
    lines = [
        _line(
            say.part(name),
            [(text.size(one.memory[name]) if name in one.memory else "–", "") for _, _, one in pair],
        )
        for name in names
    ]
    return (
        [*lines, _line(tr("report.memory_head"), [(fits(one) or "–", "") for _, _, one in pair])]
        if lines
        else []
    )


def _flexibility(pair: Pair) -> list[Line]:
    from cabida.report.flexibility import cells

    if all(one.flexibility is None for _, _, one in pair):
        return []
    heads = [
        tr(f"report.flexibility.{key}")
        for key in ("growth", "lasts", "context", "params", "score", "left", "worth")
    ]
    told = [cells(one, decision.currency) for _, decision, one in pair]
    return [_line(head, [(each, "") for each in both]) for head, *both in zip(heads, *told, strict=True)]


ROUTES = [Route("/compare", compare)]
