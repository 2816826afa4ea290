"""The sections of the form in the order in which a person tells a workload, each with what this workload needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from cabida.app.writing import Written
from cabida.brief import questions
from cabida.brief.asking import Question
from cabida.brief.form import UNKNOWN, fields_of
from cabida.brief.model import TRAINING_WORKLOADS, WORKLOADS
from cabida.brief.shapes import OneOf
from cabida.faces.web.pages.briefs_fields import Asked, View, everything, id_of, view
from cabida.text import has_text, number, tr

LENGTHS = ("traffic.input_tokens", "traffic.output_tokens", "traffic.shared_prefix_tokens")
SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (  # name, fields at the top that it asks for
    ("what", ("name", "workload")),
    ("models", ("models",)),
    ("job", ("training", "media", "retrieval", "evaluation")),
    ("traffic", ("traffic",)),
    ("lengths", LENGTHS),
    ("targets", ("objectives",)),
    ("acceptance", ("acceptance",)),
    ("limits", ("limits",)),
    ("money", ("budget", "currency", "horizon", "costs", "exchange_rates")),
    ("team", ("team",)),
    ("have", ("have",)),
    ("consider", ("consider",)),
    ("ahead", ("future",)),
    ("more", ()),  # what no other section has
)
OWN = {"training": TRAINING_WORKLOADS, "media": ("media-generation",), "retrieval": ("retrieval",),
       "evaluation": ("evaluation",)}  # fmt: skip
SERVED = ("realtime-inference", "batch-inference", "retrieval")
INSTEAD = {  # other ways of saying the same
    "traffic.requests_per_s": ("traffic.requests_per_day", "traffic.concurrency", "traffic.trace"),
    "training.tokens": ("training.samples",),
    "budget.monthly": ("budget.total",),
    "objectives.deadline": ("objectives.time_to_target",),
    "objectives.ttft_p95": ("objectives.e2e_p95", "objectives.ttft_p99"),
    "objectives.itl_p95": ("objectives.tpot_p95", "objectives.e2e_p95"),
}
ALWAYS = ("name", "workload", "models", "have", "future")  # whole sections that are asked for openly


@dataclass(slots=True)
class Section:
    """One step of the form: what it asks openly, and what may be said beside."""

    name: str
    asked: list[View] = field(default_factory=list)
    more: list[View] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Its heading."""
        return tr(f"pages_brief.section.{self.name}")

    @property
    def lead(self) -> str:
        """Why it is asked, one sentence."""
        return tr(f"pages_brief.lead.{self.name}")

    @property
    def more_says(self) -> bool:
        """Whether what is beside has an answer or a fault, so that it is shown open."""
        return any(part.says or part.problems for one in self.more for part in one.every())

    @property
    def faults_count(self) -> int:
        """Problems told in it."""
        return sum(len(part.problems) for one in (*self.asked, *self.more) for part in one.every())


@dataclass(slots=True)
class Form:
    """The whole form, and how much of what is asked has an answer."""

    workload: str
    sections: list[Section]
    answered_count: int = 0
    asked_count: int = 0
    unknown_count: int = 0

    def ids(self) -> set[str]:
        """Elements that a link may lead to."""
        return {
            part.id
            for section in self.sections
            for one in (*section.asked, *section.more)
            for part in one.every()
        }

    def target(self, path: str) -> str:
        """The element of a path, or of the nearest part of it that the form shows."""
        there = self.ids()
        while path:
            if id_of(path) in there:
                return id_of(path)
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return "yaml"


def form_of(tree: dict[str, Any], looked: Written) -> Form:
    """The form that shows ``tree``, with what is wrong beside each place."""
    workload = looked.workload if looked.workload in WORKLOADS else "realtime-inference"
    asked = {one.path: one for one in _with_name(workload)}
    problems: dict[str, list[str]] = {}
    for one in looked.faults:
        told = " ".join(part for part in (one.problem.what, one.problem.why, one.problem.cure) if part)
        problems.setdefault(one.path, []).append(_without(told, one.path))
    currency = tree.get("currency") if isinstance(tree.get("currency"), str) else ""
    ask = Asked(asked, problems, str(currency or _currency(tree)), _note)
    sections = [_section(name, tops, tree, ask, workload) for name, tops in SECTIONS]
    form = Form(workload, [one for one in sections if one.asked or one.more])
    _count(form, asked)
    return form


def _with_name(workload: str) -> Iterable[Question]:
    return (Question("name", "support-chat", ""), Question("workload", workload, ""), *questions(workload))


def _without(told: str, path: str) -> str:
    """A problem beside its field doesn't name the field again."""
    if told.startswith(f"{path}: "):
        plain = told.removeprefix(f"{path}: ")
        return plain[:1].upper() + plain[1:]
    return (
        told.replace(f"{path} ", f"{path.rpartition('.')[2]} ", 1)
        if path and told.startswith(f"{path} ")
        else told
    )


def _currency(tree: dict[str, Any]) -> str:
    money = (tree.get("budget") or {}).get("monthly") or (tree.get("budget") or {}).get("total") or ""
    last = str(money).partition("/")[0].split()[-1:]
    return last[0] if last and last[0].isalpha() and last[0].isupper() and len(last[0]) == 3 else ""


def _section(name: str, tops: tuple[str, ...], tree: dict[str, Any], ask: Asked, workload: str) -> Section:
    section = Section(name)
    shapes = everything()
    if name == "more":
        known = {top.partition(".")[0] for _, others in SECTIONS for top in others}
        tops = tuple(top for top in shapes if top not in known)
    for top in tops:
        head, dot, key = top.partition(".")
        shape, said = shapes[head], tree.get(head)
        if top in OWN and workload not in OWN[top] and not said:
            continue
        if dot:
            inner = fields_of(shape)[key]
            group = getattr(shape.mapping, "name", head)
            _put(section, view(top, inner, (said or {}).get(key), ask, group), ask)
        else:
            _whole(section, head, shape, said, ask)
    if name in ("traffic", "lengths") and workload not in SERVED:
        shown = [one for one in (*section.asked, *section.more) if one.says or one.path in ask.questions]
        section.asked, section.more = shown, []
    return section


def _whole(section: Section, head: str, shape: OneOf, said: Any, ask: Asked) -> None:
    one = view(head, shape, said, ask)
    if one.role != "group":
        _put(section, one, ask)
        return
    if one.problems:
        section.asked.append(View(head, "told", "", problems=one.problems))
    for part in one.parts:
        if part.path not in LENGTHS:
            _put(section, part, ask)


def _put(section: Section, one: View, ask: Asked) -> None:
    openly = one.path in ask.questions or one.path in ALWAYS or section.name in ("ahead",) or one.problems
    (section.asked if openly else section.more).append(one)


def _count(form: Form, asked: dict[str, Question]) -> None:
    views = {
        part.path: part
        for section in form.sections
        for one in (*section.asked, *section.more)
        for part in one.every()
    }
    own = [path for path, one in asked.items() if path in views and one.default in ("", UNKNOWN)]
    form.asked_count = len(own)
    form.unknown_count = sum(views[path].unknown for path in own)
    form.answered_count = sum(
        any(views[one].says for one in (path, *INSTEAD.get(path, ())) if one in views) for path in own
    )


def name_of(path: str) -> str:
    """What people call a path that is missing or taken for granted."""
    model, _, rest = path.partition(".weights")
    if model.startswith("models[") and rest.startswith("."):
        told = tr("brief.assumption.format", format=rest[1:])
    elif model.startswith("models[") and path != model:
        told = tr("brief.assumption.formats")
    else:
        told = tr(f"brief.assumption.{path}") if has_text(f"brief.assumption.{path}") else path
    return told[:1].upper() + told[1:]


@cache
def _known() -> dict[str, dict[str, Any]]:
    from cabida import app

    return {one["id"]: one for one in app.models()}


def _note(kind: str, value: str) -> str:
    """What the catalogue says of a model or an accelerator that was named."""
    if kind == "model":
        from cabida.facts.models import find_model

        found = find_model(value)
        row = _known().get(found.id) if found else None
        return model_note(row, "" if row is None or row["id"] == value else row["id"]) if row else ""
    if kind == "accelerator":
        from cabida import facts

        card = facts.find_accelerator(value)
        return f"{card.name} · {number(card.usable_bytes / 2**30)} GiB" if card else ""
    return ""


def model_note(row: dict[str, Any], named: str = "") -> str:
    """Parameters, format and licence of a model, on one line."""
    parts = [named]
    if row.get("params_count"):
        active = row.get("active_params_count")
        told = f"{number(row['params_count'] / 1e9)} B"
        parts.append(
            tr("pages_brief.params_active", count=told, active=f"{number(active / 1e9)} B")
            if active is not None and active < row["params_count"] * 0.99
            else tr("pages_brief.params", count=told)
        )
    if row.get("context_tokens"):
        parts.append(tr("pages_brief.context", count=number(row["context_tokens"], 6)))
    parts += [str(row.get("native_format") or ""), str(row.get("licence") or tr("pages_brief.no_licence"))]
    return " · ".join(part for part in parts if part)
