"""Decisions: the list, one with all its candidates, its records, the drawings' rules, and deciding again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from cabida import text
from cabida.errors import InvalidInput
from cabida.faces.web import access
from cabida.faces.web.frame import page
from cabida.faces.web.pages import decisions_table as table
from cabida.faces.web.pages.decisions_kept import Kept, asked, changed, changes_of, option_of, store_of
from cabida.faces.web.telling import NotFound
from cabida.text import has_text, problem, tr

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from cabida.evidence.shelf.nouns import KeptDecision

MOST_LISTED, MOST_BESIDE = 25, 8
MEDIA = {
    "html": "text/html; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "json": "application/json",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pdf": "application/pdf",
}
ORDER = (  # of the sections after the candidates; the record's others follow
    "why", "rejected", "flips", "measure", "careful", "assumptions", "finance", "platform", "product",
)  # fmt: skip
LAST = ("command", "sources", "signing")
APART = ("frontier", "rejected")  # stand beside the candidates


def decisions(request: Request) -> Response:
    """The list: searched, filtered, newest first."""
    from cabida.evidence import shelf

    query = request.query_params
    search, workload = query.get("q", "").strip()[:100], query.get("workload", "")[:60]
    as_of, mine = query.get("as_of", "").strip()[:10], query.get("mine") == "1"
    person = getattr(request.state, "person", None)
    found = shelf.kept_decisions(
        search=search, brief_id=query.get("brief", "")[:64], after=query.get("after", "")[:80], most=MOST_LISTED,
        workload=workload, by=person.name if mine and person else "", as_of=as_of, store=store_of(request),
    )  # fmt: skip
    return page(
        request,
        "decisions.html.j2",
        decisions=found.items,
        following=found.next,
        search=search,
        workload=workload,
        as_of=as_of,
        mine=mine,
        brief=query.get("brief", "")[:64],
        filtered=bool(search or workload or as_of or mine or query.get("after")),
        workloads=workloads(),
        work=work,
        cost=cost_of,
    )


def workloads() -> list[tuple[str, str]]:
    """Kinds of work and their words."""
    from cabida.plan.outputs import DENOMINATORS

    return [(one, work(one)) for one in DENOMINATORS]


def work(name: str) -> str:
    """A kind of work in words."""
    return tr(f"report.workload.{name}") if has_text(f"report.workload.{name}") else name.replace("-", " ")


def cost_of(one: KeptDecision) -> str:
    """What the winner costs for one output; "" when nobody knows."""
    return text.money(one.unit_cost, one.currency) if one.unit_cost is not None else ""


def decision(request: Request) -> Response:
    """One decision: the answer, all its candidates and everything it rests on."""
    about, kept = asked(request)
    wanted = table.asked_of(request.query_params)
    found = kept.once(("table", wanted), lambda: table.candidates(kept.decision, wanted))
    values: dict[str, Any] = {
        "about": about,
        "decision": kept.decision,
        "candidates": found,
        "choices": found.choices,
    }
    values |= {"parted": table.parted, "address": wanted.address, "parts": sections(kept)}
    if request.headers.get("hx-target", "").endswith("candidates"):
        return page(request, "decision_table.html.j2", headers={"Vary": "HX-Target"}, **values)
    ordered = in_order(values["parts"], bool(kept.decision.options))
    return page(
        request, "decision.html.j2", headers={"Vary": "HX-Target"}, **values, **short(kept), ordered=ordered,
        beside=beside(request, about), other_language=kept.decision.language[:2] != text.language(),
        forms=tuple(MEDIA), figures=figures(kept), link=str(request.url.replace(query="", fragment="")),
    )  # fmt: skip


def sections(kept: Kept) -> dict[str, Any]:
    """The record's sections, made once for each language. Their markup is escaped where it was made."""
    from markupsafe import Markup

    from cabida.report.parts import parts

    def make() -> dict[str, Any]:
        found = parts(kept.decision, link="#option-")
        return {key: (one.title, Markup(one.markup)) for key, one in found.items()}

    return kept.once("sections", make)


def in_order(found: dict[str, Any], beside: bool) -> list[tuple[str, Any]]:
    """The sections in the order of the page, without what stands ``beside`` the candidates."""
    rest = [key for key in found if key not in (*ORDER, *LAST)]
    apart = APART if beside else ("frontier",)
    return [(key, found[key]) for key in (*ORDER, *rest, *LAST) if key in found and key not in apart]


def short(kept: Kept) -> dict[str, Any]:
    """What stands at the top, made once for each language."""
    from cabida.report.every_form import footer, headline
    from cabida.report.parts import in_short

    def make() -> dict[str, Any]:
        told = {"headline": headline(kept.decision), "made_of": footer(kept.decision)}
        return {**in_short(kept.decision), **told}

    return kept.once("short", make)


def figures(kept: Kept) -> list[tuple[str, str, str]]:
    """The first option's figures that can be asked about: name in the address, words, value."""
    from cabida.faces.web.pages.decisions_explain import figures_of
    from cabida.report.every_form import first

    best = first(kept.decision)
    return kept.once("figures", lambda: figures_of(kept.decision, best) if best is not None else [])


def beside(request: Request, about: KeptDecision) -> list[KeptDecision]:
    """Other decisions on the same brief, the newest first."""
    from cabida.evidence import shelf

    if not about.brief_id:
        return []
    found = shelf.kept_decisions(brief_id=about.brief_id, most=MOST_BESIDE + 1, store=store_of(request)).items
    return [one for one in found if one.id != about.id][:MOST_BESIDE]


def record(request: Request) -> Response:
    """The record as a file, in one of its forms; with inputs set, of the what-if."""
    from starlette.responses import Response

    from cabida import report

    _, kept = asked(request)
    form = str(request.path_params["form"])
    if form not in MEDIA:
        raise InvalidInput([problem("CB-R011", form=form[:20])])
    shown = changed(kept, changes_of(request))
    made = report.render_bytes(shown, form)
    name = file_name(shown.name)
    headers = {
        "Content-Disposition": f'attachment; filename="{name}.{form}"',
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(made, media_type=MEDIA[form], headers=headers)


def file_name(name: str) -> str:
    """A name that any header and any disk takes."""
    plain = "".join(one if one.isascii() and (one.isalnum() or one in "-_.") else "-" for one in name)
    return plain.strip(".-")[:80] or "decision"


async def again(request: Request) -> Response:
    """Decide the same brief again, with what is known today."""
    from starlette.responses import RedirectResponse

    person = access.editor(request)
    about, _ = asked(request)
    job = request.app.state.jobs.submit("rerun", {"decision": about.id}, person)
    return RedirectResponse(f"/jobs/{job.id}", status_code=303)


def launch(request: Request) -> Response:
    """The files that start an option, to read and to take."""
    from starlette.responses import Response

    from cabida.app import launch_files

    about, kept = asked(request)
    option = option_of(kept.decision, str(request.path_params["rank"]))
    files = kept.once(("launch", option.rank), lambda: launch_files(kept.decision, option=str(option.rank)))
    wanted = request.query_params.get("file", "")
    if wanted == "all":
        headers = {"Content-Disposition": f'attachment; filename="{file_name(kept.decision.name)}-start.zip"'}
        return Response(zipped(files), media_type="application/zip", headers=headers)
    if wanted:
        if wanted not in files:
            raise NotFound([problem("CB-S063", name=wanted[:60])])
        headers = {"Content-Disposition": f'attachment; filename="{file_name(wanted)}"'}
        return Response(files[wanted], media_type="text/plain; charset=utf-8", headers=headers)
    return page(
        request, "decision_launch.html.j2", about=about, decision=kept.decision, option=option, files=files
    )


def zipped(files: dict[str, str]) -> bytes:
    """Files as one archive; what starts with ``#!`` may be run."""
    from io import BytesIO
    from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

    stream = BytesIO()
    with ZipFile(stream, "w", ZIP_DEFLATED) as archive:
        for name, told in files.items():
            entry = ZipInfo(name)
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = (0o755 if told.startswith("#!") else 0o644) << 16
            archive.writestr(entry, told)
    return stream.getvalue()


def pictures(request: Request) -> Response:
    """The rules of the record's drawings, for what stands in an element of class ``record``."""
    from starlette.responses import Response

    from cabida.report.parts import style

    return Response(style(), media_type="text/css", headers={"Cache-Control": "max-age=3600"})


ROUTES = [
    Route("/decisions", decisions),
    Route("/decisions/pictures.css", pictures),
    Route("/decisions/{id}", decision),
    Route("/decisions/{id}/record.{form}", record),
    Route("/decisions/{id}/rerun", again, methods=["POST"]),
    Route("/decisions/{id}/options/{rank}/launch", launch),
]
