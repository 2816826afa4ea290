"""Briefs: the list, a new one, the form with its text beside it, saving, deciding."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import cache
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from cabida.errors import CabidaError, Conflict, InvalidInput
from cabida.faces.web import access
from cabida.faces.web.frame import page
from cabida.faces.web.pages.briefs_desk import Desk, desk_of, filled_from_log, named, worked_on
from cabida.faces.web.pages.briefs_form import name_of
from cabida.faces.web.pages.catalogue_asked import plain_name, said, store_of
from cabida.text import locale, problem, tr

if TYPE_CHECKING:
    from starlette.datastructures import FormData
    from starlette.requests import Request

MOST_FIELDS = 20_000
MOST_PART_BYTES = 2**20
WORKLOADS = (  # in the order in which most people look for theirs
    "realtime-inference", "retrieval", "batch-inference", "adapter-finetune", "full-finetune", "pretraining",
    "media-generation", "evaluation",
)  # fmt: skip


def briefs(request: Request) -> Response:
    """Briefs that are kept, the newest first, and ways to begin one."""
    from cabida.evidence import shelf

    search = said(request, "q")
    found = shelf.briefs(search=search, after=said(request, "after"), store=store_of(request))
    return page(
        request, "briefs.html.j2", found=found, search=search, examples=examples(), workload_name=workload_name,
        problems=(),
    )  # fmt: skip


def examples() -> list[tuple[str, str, str]]:
    """Those that come with the program: name, what it is for, its class."""
    from cabida.text import has_text

    keys = [(name, f"pages_brief.example.{name}", workload) for name, workload in _shipped()]
    return [(name, tr(key) if has_text(key) else name, workload) for name, key, workload in keys]


@cache
def _shipped() -> tuple[tuple[str, str], ...]:
    """Names of the examples and their classes, in the order in which most people look for theirs."""
    from cabida.brief import example_names, example_text
    from cabida.brief.form import tree_of

    found = [(name, str(tree_of(example_text(name)).get("workload", ""))) for name in example_names()]
    rank = {workload: place for place, workload in enumerate(WORKLOADS)}
    return tuple(sorted(found, key=lambda one: rank.get(one[1], len(rank))))


def workload_name(workload: str) -> str:
    """A class of work as people call it."""
    return tr(f"brief.workload.{workload}") if workload in WORKLOADS else workload


def new(request: Request) -> Response:
    """A new brief: of an example, of a class of work, or first the question of which."""
    from cabida import app

    example, workload = said(request, "example"), said(request, "workload")
    if example:
        return _form(request, desk_of(app.init(from_example=example), _here(request)))
    if workload in WORKLOADS:
        return _form(request, desk_of(f"workload: {workload}\n", _here(request)))
    return page(
        request, "brief_new.html.j2", workloads=WORKLOADS, examples=examples(), workload_name=workload_name
    )


def edit(request: Request) -> Response:
    """A kept brief, the newest version or the one that is asked for."""
    from cabida.evidence import shelf

    asked = said(request, "version")
    version = int(asked) if asked.isdecimal() and len(asked) < 7 else None
    id = request.path_params["id"]
    kept = shelf.brief(id, version, store=store_of(request))
    newest = shelf.brief(id, store=store_of(request)) if version else kept
    desk = desk_of(kept.text, _here(request), id=id, version=newest.version)
    if asked and kept.version != newest.version:
        desk.notes.append(tr("pages_brief.old", version=kept.version))
    if said(request, "saved"):
        desk.saved = tr("pages_brief.saved", version=newest.version)
    return _form(request, desk)


def text(request: Request) -> Response:
    """The YAML of a kept brief, as a file."""
    from cabida.evidence import shelf

    kept = shelf.brief(request.path_params["id"], store=store_of(request))
    name = plain_name(kept.name).replace(" ", "-")
    return Response(
        kept.text,
        media_type="application/yaml",
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{_quoted(name)}.yaml"},
    )


def _quoted(name: str) -> str:
    from urllib.parse import quote

    return quote(name, safe="")


async def upload(request: Request) -> Response:
    """A brief that was brought along, opened in the form; nothing is kept yet."""
    async with _sent(request) as form:
        file, pasted = form.get("file"), form.get("text")
        content = pasted if isinstance(pasted, str) else ""
        if file is not None and not isinstance(file, str) and file.filename:
            raw = await file.read(MOST_PART_BYTES + 1)
            try:
                content = raw.decode("utf-8-sig")
            except UnicodeDecodeError:
                raise InvalidInput([problem("CB-S072", file=plain_name(file.filename))]) from None
    if not content.strip():
        raise InvalidInput([problem("CB-S070")])
    return await run_in_threadpool(lambda: _form(request, desk_of(content, _here(request))))


async def check(request: Request) -> Response:
    """The form and the text after a change, each in step with the other: a part of the page."""
    async with _sent(request) as form:
        return await run_in_threadpool(lambda: _form(request, _worked(request, form), part=True))


async def change(request: Request) -> Response:
    """What the form was sent for: to check, save, decide, read a log, or drop the brief."""
    ways: dict[str, Callable[[Request, FormData], Response]] = {
        "save": _save, "autosave": _autosave, "decide": _decide, "drop": _drop,
    }  # fmt: skip
    async with _sent(request) as form:
        do = str(form.get("do") or "check")
        if do == "log":
            file = form.get("log")
            most = request.app.state.settings.most_upload_bytes
            content = await file.read(most + 1) if file is not None and not isinstance(file, str) else b""
            name = plain_name(getattr(file, "filename", "") or "")
            return await run_in_threadpool(lambda: _from_log(request, form, name, content))
        way = ways.get(do)
        if way is None:
            return await run_in_threadpool(lambda: _form(request, _worked(request, form)))
        access.editor(request)
        return await run_in_threadpool(lambda: way(request, form))


def _sent(request: Request) -> AbstractAsyncContextManager[FormData]:
    return request.form(max_files=4, max_fields=MOST_FIELDS, max_part_size=MOST_PART_BYTES)


def _here(request: Request) -> bool:
    return bool(request.app.state.settings.open_to_loopback_only)


def _worked(request: Request, form: FormData) -> Desk:
    posted: dict[str, list[str]] = {}
    for key, one in form.multi_items():  # once: a form may have thousands of fields
        posted.setdefault(key, []).extend([one] if isinstance(one, str) else [])
    return worked_on(posted, _here(request))


def _form(request: Request, desk: Desk, *, part: bool = False, status: int = 200) -> Response:
    versions: Any = ()
    if desk.id and not part:
        from cabida.evidence import shelf

        versions = shelf.brief_versions(desk.id, store=store_of(request))[:20]
    name = "brief_body.html.j2" if part else "brief.html.j2"
    return page(request, name, status=status, desk=desk, form=desk.form, looked=desk.looked, versions=versions,
                workload_name=workload_name, name_of=name_of, catalogue=None if part else _catalogue())  # fmt: skip


def _catalogue() -> dict[str, list[tuple[str, str]]]:
    from cabida.faces.web.pages.briefs_lists import suggestions

    return suggestions(locale())


def _from_log(request: Request, form: FormData, name: str, content: bytes) -> Response:
    desk = _worked(request, form)
    try:
        if not content:
            raise InvalidInput([problem("CB-S071")])
        desk = filled_from_log(desk, name, content, _here(request))
    except CabidaError as error:
        desk.problems = list(error.problems)
        return _form(request, desk, status=422)
    return _form(request, desk)


def _kept(request: Request, desk: Desk) -> Any:
    """The brief on the shelf, as a new version or a new one; only what reads as YAML is kept."""
    from cabida.evidence import shelf
    from cabida.evidence.shelf.acting import acting

    store, name = store_of(request), named(desk)
    with acting(request.state.person.name):
        if desk.id:
            return shelf.change_brief(desk.id, version=desk.version, name=name, text=desk.text, store=store)
        return shelf.add_brief(name, desk.text, store=store)


def _save(request: Request, form: FormData) -> Response:
    desk = _worked(request, form)
    try:
        kept = _kept(request, desk)
    except Conflict:
        return _both(request, desk)
    except InvalidInput as error:
        desk.problems = list(error.problems)
        return _form(request, desk, status=422)
    return _gone_on(f"/briefs/{kept.id}?saved=1")


def _gone_on(address: str) -> Response:
    """On to another page, telling the form that its draft is kept (no secret: the page's own script reads it)."""
    answer = RedirectResponse(address, status_code=303)
    answer.set_cookie("cabida_brief_kept", "1", max_age=600, path="/", samesite="strict")
    return answer


def _autosave(request: Request, form: FormData) -> Response:
    """Saved without leaving the form: its new version, or who was faster."""
    desk = _worked(request, form)
    if not desk.id or not desk.readable:
        return JSONResponse({"version": desk.version, "saved": ""})
    kept = _kept(request, desk)
    at = kept.changed_at[11:16]
    return JSONResponse({"version": kept.version, "saved": tr("pages_brief.saved_at", at=f"{at} UTC")})


def _both(request: Request, desk: Desk) -> Response:
    from difflib import unified_diff

    from cabida.evidence import shelf

    theirs = shelf.brief(desk.id, store=store_of(request))
    lines = list(unified_diff(theirs.text.splitlines(), desk.text.splitlines(), lineterm="", n=2))[2:2000]
    return page(request, "brief_conflict.html.j2", status=409, desk=desk, theirs=theirs, lines=lines)


def _decide(request: Request, form: FormData) -> Response:
    desk = _worked(request, form)
    assume = "assume" in form
    looked = desk.looked
    if not (looked.decides or (assume and looked.decides_with_assumptions)):
        desk.refused = True
        return _form(request, desk, status=422)
    try:
        kept = _kept(request, desk)
    except Conflict:
        return _both(request, desk)
    except InvalidInput as error:
        desk.problems = list(error.problems)
        return _form(request, desk, status=422)
    asked = {"brief_id": kept.id, "brief_version": kept.version, "name": kept.name, "assume": assume, "as_of": "",
             "language": locale(), "all": False, "scenarios": 0, "seed": 0}  # fmt: skip
    job = request.app.state.jobs.submit("recommend", asked, request.state.person)
    return _gone_on(f"/jobs/{job.id}")


def _drop(request: Request, form: FormData) -> Response:
    from cabida.evidence import shelf

    id, version = request.path_params.get("id", ""), str(form.get("version") or "")
    shelf.drop_brief(id, version=int(version) if version.isdecimal() else 0, by=request.state.person.name,
                     store=store_of(request))  # fmt: skip
    return RedirectResponse("/briefs", status_code=303)


access.changes_nothing("/briefs/check", "/briefs/upload")
ROUTES = [
    Route("/briefs", briefs, name="briefs"),
    Route("/briefs/new", new, name="brief_new"),
    Route("/briefs/new", change, methods=["POST"]),
    Route("/briefs/check", check, methods=["POST"]),
    Route("/briefs/upload", upload, methods=["POST"]),
    Route("/briefs/{id}", edit, name="brief"),
    Route("/briefs/{id}", change, methods=["POST"]),
    Route("/briefs/{id}/brief.yaml", text),
]
