"""One candidate: what fills its memory, how fast it answers, how its cost adds up, how it lasts, how it is started."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from cabida import text
from cabida.faces.web.frame import page
from cabida.faces.web.pages.decisions_explain import figures_of
from cabida.faces.web.pages.decisions_kept import Kept, asked, option_of
from cabida.faces.web.pages.decisions_table import parted, replicas_of, said
from cabida.report import words as say
from cabida.text import tr

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from cabida.plan import Decision, Option

ORDER = (
    "why",
    "platform",
    "command",
    "product",
    "flexibility",
    "ownership",
    "ledger",
    "walk_away",
    "energy",
    "finance",
)
FACTS = (
    "model", "weights", "kv_cache", "engine", "accelerator", "split", "provider", "capacity", "region", "price_seen",
)  # fmt: skip
MOST_BESIDE = 60  # options that can be chosen to compare with


def option(request: Request) -> Response:
    """A candidate's page."""
    from cabida.report.page import tiles

    about, kept = asked(request)
    one = option_of(kept.decision, str(request.path_params["rank"]))
    found = kept.once(("option", one.rank), lambda: parts_of(kept, one))
    ranks = [other.rank for other in kept.decision.options]
    at = ranks.index(one.rank)
    return page(
        request, "decision_option.html.j2",
        about=about, decision=kept.decision, option=one, parts=found, base=f"/decisions/{about.id}",
        tiles=tiles(kept.decision, one), facts=facts(one), metrics=metrics(kept.decision, one),
        figures=figures_of(kept.decision, one), before=ranks[at - 1] if at else None,
        after=ranks[at + 1] if at + 1 < len(ranks) else None,
        others=[other for other in kept.decision.options[:MOST_BESIDE] if other.rank != one.rank],
    )  # fmt: skip


def parts_of(kept: Kept, one: Option) -> list[tuple[str, str, Any]]:
    """The record's sections as they would be if this were the only option: name, heading, markup."""
    from markupsafe import Markup

    from cabida.report.parts import parts

    found = parts(
        replace(kept.decision, options=(one,), mix=None, curves=(), swings=(), flips=(), assumption_flips=())
    )
    return [(key, titled(key, found[key].title), Markup(found[key].markup)) for key in ORDER if key in found]


def titled(key: str, title: str) -> str:
    """A section's heading where it is about a candidate."""
    return tr("pages_decision.holds") if key == "why" else title


def facts(one: Option) -> list[tuple[str, str]]:
    """What the candidate is, in words."""
    told = []
    for name in FACTS:
        value = str(getattr(one, name))
        if value:
            version = one.engine_version if name == "engine" else ""
            told.append((tr(f"pages_decision.column.{name}"), f"{said(name, value)} {version}".strip()))
    if one.accelerator:
        told.append((tr("pages_decision.column.replicas_count"), replicas_of(one)))
        told.append((tr("pages_decision.column.accelerators_count"), text.number(one.accelerators_count, 7)))
    return told


def metrics(decision: Decision, one: Option) -> list[tuple[str, str, str, str]]:
    """Every figure of the candidate: words, value, interval, and its name where it can be asked about."""
    return [
        (
            say.label(name),
            *parted(say.figure(name, figure, decision.currency)),
            name if name in one.trees else "",
        )
        for name, figure in one.metrics.items()
    ]


ROUTES = [Route("/decisions/{id}/options/{rank}", option)]
