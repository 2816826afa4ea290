"""Where a number comes from: each node with its equation, what it is made of, and at the end a source with its date."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from cabida.faces.web.frame import page
from cabida.faces.web.pages.decisions_kept import Kept, asked, changed, changes_of
from cabida.faces.web.telling import NotFound
from cabida.plan import Decision, Option
from cabida.plan.outputs import per_output
from cabida.report import tree
from cabida.report import words as say
from cabida.report.every_form import first, safe_url
from cabida.text import closest, has_text, language, number, problem, tr

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

OPENED = 2  # levels that are open when the page comes
MOST_INPUTS = 300  # of one node that are shown
MOST_USERS = 24
MOST_VALUES = 240
MOST_NAMES = 120


@dataclass(frozen=True, slots=True)
class Shown:
    """A node as it is shown: in words where it has any, with its source and what it is made of (as far as opened)."""

    id: str
    name: str
    title: str  # "" = it has no words but its name
    called: str  # what the equation above it calls it, when that is another name
    value: str
    equation: str
    grade: str
    source: str
    seen: str
    url: str
    made_of: int
    below: tuple[Shown, ...]
    left_out: int


def explain(request: Request) -> Response:
    """A figure by its name."""
    about, kept = asked(request)
    changes = changes_of(request)
    found = changed(kept, changes)
    name = str(request.path_params["name"])
    known = tree.names(found)
    if name not in known:
        near = closest(name, known) or ", ".join(list(known)[:8]) or "–"
        raise NotFound([problem("CB-R010", name=name[:80], near=near)])
    return _page(request, about, kept, found, known[name], name)


def node(request: Request) -> Response:
    """A node by its id: as a page, or what it is made of as part of one."""
    about, kept = asked(request)
    found = changed(kept, changes_of(request))
    nodes = nodes_of(kept, found)
    at = str(request.path_params["node"])
    if at not in nodes:
        raise NotFound([problem("CB-R010", name=at[:80], near=", ".join(tree.asked_first(found)[:8]) or "–")])
    if request.headers.get("hx-request"):
        shown = grown(found, nodes, at, 1)
        return page(
            request, "decision_nodes.html.j2", headers={"Vary": "HX-Request"},
            top=shown, grade=say.grade, base=f"/decisions/{about.id}", settings=settings(request),
        )  # fmt: skip
    return _page(request, about, kept, found, at, str(nodes[at]["name"]))


def _page(request: Request, about: Any, kept: Kept, found: Decision, at: Any, name: str) -> Response:
    nodes = nodes_of(kept, found)
    shown = grown(found, nodes, str(at), OPENED)
    values = nodes[str(at)]["value"]
    listed = [number(float(one), 6) for one in values[:MOST_VALUES]] if isinstance(values, list) else []
    return page(
        request, "decision_explain.html.j2", headers={"Vary": "HX-Request"},
        about=about, decision=found, top=shown, figure=name, grade=say.grade, heading=heading(name, shown, found),
        option=option_named(found, name), listed=listed,
        users=users_of(kept, found, str(at)), base=f"/decisions/{about.id}", settings=settings(request),
        changes=changes_of(request), names=figures_of(found, first(found)) if first(found) else [],
    )  # fmt: skip


def heading(name: str, shown: Shown, decision: Decision) -> str:
    """What the page is about: a figure in words, with the option's number where it isn't the first's."""
    rank, dot, rest = name.partition(".")
    figure = rest if dot and rank.isdecimal() else name
    known = any(figure in one.trees for one in decision.options)
    told = figure_words(figure, decision) if known else shown.title or shown.name
    told = told[:1].upper() + told[1:]
    return f"{rank} · {told}" if figure != name else told


def settings(request: Request) -> str:
    """The inputs that the address sets, to be carried on: ``?set.NAME=VALUE``, or nothing."""
    from urllib.parse import urlencode

    changes = changes_of(request)
    return (
        f"?{urlencode({f'set.{name}': f'{value:.12g}' for name, value in changes.items()})}"
        if changes
        else ""
    )


def nodes_of(kept: Kept, found: Decision) -> Mapping[str, Mapping[str, Any]]:
    """The nodes of a decision by their id as text."""
    if found is not kept.decision:
        return {str(one["id"]): one for one in found.trees}
    return kept.once("nodes", lambda: {str(one["id"]): one for one in found.trees})


def users_of(kept: Kept, found: Decision, at: str) -> list[tuple[str, str]]:
    """What is made of a node: id and name, the first of them."""

    def make() -> dict[str, list[tuple[str, str]]]:
        users: dict[str, list[tuple[str, str]]] = {}
        for one in found.trees:
            for _, id in tree.inputs_of(one):
                users.setdefault(str(id), []).append((str(one["id"]), str(one["name"])))
        return users

    made = kept.once("users", make) if found is kept.decision else make()
    return list(dict.fromkeys(made.get(at, [])))[:MOST_USERS]


def grown(
    decision: Decision, nodes: Mapping[str, Mapping[str, Any]], at: str, depth: int, called: str = "",
    above: frozenset[str] = frozenset(),
) -> Shown:  # fmt: skip
    """A node with what is below it, ``depth`` levels deep. One that is made of itself is not opened again."""
    one = nodes[at]
    inputs = [(param, str(id)) for param, id in tree.inputs_of(one) if str(id) in nodes]
    below: tuple[Shown, ...] = ()
    if depth > 0 and at not in above:
        path = above | {at}
        below = tuple(
            grown(decision, nodes, id, depth - 1, param, path) for param, id in inputs[:MOST_INPUTS]
        )
    name = str(one["name"])
    source = tree.source_of(one)
    return Shown(
        id=at,
        name=name,
        title=words_of(name),
        called=called if called != name else "",
        value=tree.value_of(one, decision.currency),
        equation=str(one.get("equation") or ""),
        grade=str(one.get("grade") or ""),
        source=source.get("what", ""),
        seen=source.get("seen", ""),
        url=safe_url(source.get("url", "")),
        made_of=len(inputs),
        below=below,
        left_out=max(0, len(inputs) - MOST_INPUTS),
    )


def words_of(name: str) -> str:
    """A node's name in words; "" where there are none in the language in use."""
    from cabida.choose.levers import title_of_input

    told = title_of_input(name)
    if told != name:
        return told
    known = has_text(f"report.metric.{name}") or language() == "en"
    return say.label(name) if known else ""


def figures_of(decision: Decision, option: Option | None) -> list[tuple[str, str, str]]:
    """What can be asked about of an option: name in the address, in words, value."""
    if option is None:
        return []
    best = first(decision)
    before = "" if best is not None and best.id == option.id else f"{option.rank}."
    nodes = {one["id"]: one for one in decision.trees}
    return [
        (f"{before}{name}", figure_words(name, decision), tree.value_of(nodes[at], decision.currency))
        for name, at in list(option.trees.items())[:MOST_NAMES]
        if at in nodes
    ]


def figure_words(name: str, decision: Decision) -> str:
    """The figure of an option in words."""
    if name.startswith("cost."):
        return say.cost_line(name.removeprefix("cost."))
    if name == "unit_cost":
        return per_output(decision.denominator, 1.0)
    if has_text(f"pages_decision.figure.{name}"):
        return tr(f"pages_decision.figure.{name}")
    return (
        say.cost_head(decision)
        if name in ("cost_per_month", "cost_per_run")
        else words_of(name) or say.label(name)
    )


def option_named(decision: Decision, name: str) -> Option | None:
    """The option that a figure is of: ``2.unit_cost`` of the second, one without a number of the first."""
    rank = name.partition(".")[0]
    if rank.isdecimal():
        return next((one for one in decision.options if str(one.rank) == rank), None)
    best = first(decision)
    return best if best is not None and name in best.trees else None


ROUTES = [
    Route("/decisions/{id}/explain/{name}", explain),
    Route("/decisions/{id}/nodes/{node}", node),
]
