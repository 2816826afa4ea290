"""Benchmarks: planned, started, followed while they run, stopped, and what they showed."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from cabida.errors import CabidaError, InvalidInput, Problem
from cabida.faces.web import access, doing_bench
from cabida.faces.web.frame import page
from cabida.faces.web.pages import bench_asked as asked
from cabida.faces.web.pages import bench_live, bench_seen
from cabida.faces.web.pages.catalogue_asked import said, store_of
from cabida.text import locale, problem

if TYPE_CHECKING:
    from starlette.requests import Request

    from cabida.evidence.shelf import KeptRun

MOST_LISTED = 50
MOST_CHOICES = 100
FIELDS = {"source": 60, "target": asked.LONGEST_URL, "model": 400, "api": 20, "name": 120, "most": 12}


def runs(request: Request) -> Response:
    """The benchmarks that are kept, and the way to a new one."""
    return _place(request)


def _place(
    request: Request,
    *,
    problems: tuple[Problem, ...] = (),
    typed: dict[str, str] | None = None,
    status: int = 200,
) -> Response:
    from cabida.evidence import shelf
    from cabida.plan.bench import APIS

    found = shelf.kept_runs(after=said(request, "after"), most=MOST_LISTED, store=store_of(request))
    decisions = shelf.kept_decisions(most=MOST_CHOICES, store=store_of(request)).items
    briefs = shelf.briefs(most=MOST_CHOICES, store=store_of(request)).items
    empty = {
        "source": said(request, "source"),
        "target": "",
        "model": "",
        "api": "chat",
        "name": "",
        "plan": "",
    }
    return page(
        request,
        "bench.html.j2",
        status=status,
        rows=[{"run": one, "state": asked.state_of(request, one)} for one in found.items],
        next=found.next,
        decisions=decisions,
        briefs=briefs,
        apis=APIS,
        problems=problems,
        typed={**empty, **(typed or {})},
    )


async def plan(request: Request) -> Response:
    """Write the plan of what would be measured, and keep it: nothing is asked of the endpoint yet."""
    person = access.editor(request)
    typed = await _typed(request)
    try:
        kept = await run_in_threadpool(_planned, request, typed, person.name)
    except CabidaError as error:
        return await run_in_threadpool(_place, request, problems=error.problems, typed=typed, status=422)
    return RedirectResponse(f"/bench/{kept.id}", 303)


async def _typed(request: Request) -> dict[str, str]:
    """The form's fields, bounded; a key is not among them."""
    async with request.form(max_files=0, max_fields=20, max_part_size=2**21) as form:
        found = {}
        for name, most in {**FIELDS, "plan": asked.MOST_PLAN + 1}.items():
            value = form.get(name)
            text = value if isinstance(value, str) else ""
            found[name] = (text if name == "plan" else text.strip())[:most]
        request.state.key = value if isinstance(value := form.get("key"), str) else ""
        request.state.resume = form.get("resume") == "1"
    return found


def _planned(request: Request, typed: dict[str, str], by: str) -> KeptRun:
    """The run of what was typed, kept.

    Raises:
        InvalidInput: nothing to measure, faults of the plan, an address that may not be asked.
    """
    from cabida import app
    from cabida.evidence import shelf
    from cabida.facts.known import by_name_only

    text = typed["plan"].replace("\r\n", "\n")
    if not text.strip():
        if not typed["target"]:
            raise InvalidInput([problem("CB-S095")])
        access.reachable(typed["target"], request.app.state.settings)
        source = typed["source"] if typed["source"][:2] in ("d-", "b-") else None
        with by_name_only():
            made = app.bench_plan(
                source, target=typed["target"], model=typed["model"], api=typed["api"] or "chat", assume=True
            )
        text = made["text"]
    read = doing_bench.plan_for_server(text)
    asked.refuse_unreachable(request, read)
    return shelf.add_run(typed["name"] or read.name, text, by=by, store=store_of(request))


def _run(request: Request) -> KeptRun:
    from cabida.evidence import shelf

    return shelf.kept_run(request.path_params["id"], store=store_of(request))


def run(request: Request) -> Response:
    """A benchmark: its plan before it runs, how it stands while it does, then its report."""
    return _shown(request, _run(request))


def _shown(
    request: Request,
    kept: KeptRun,
    *,
    problems: tuple[Problem, ...] = (),
    plan_text: str = "",
    status: int = 200,
) -> Response:
    from cabida.bench.planned import parse_plan
    from cabida.bench.run.following import Now

    state = asked.state_of(request, kept)
    live = state in asked.UNDER_WAY
    planned, left_out = None, 0
    unread: tuple[Problem, ...] = ()
    try:
        planned = doing_bench.plan_for_server(kept.plan_text)
        left_out = len(parse_plan(kept.plan_text).runs) - len(planned.runs)
    except InvalidInput as error:
        unread = error.problems
    report = None if live or state == "planned" else _report(kept)
    told = [Problem(**one) for one in asked.problems_of(request, kept)] if not live else []
    values: dict[str, Any] = {}
    if live:
        watched = bench_live.Watched(kept.folder)
        watched.look()
        values = bench_live.shown(watched, len(planned.runs) if planned else 0)
    else:
        values = {"now": Now()}
    return page(
        request,
        "bench_run.html.j2",
        status=status,
        run=kept,
        state=state,
        live=live,
        plan=planned,
        left_out=left_out,
        plan_text=plan_text or kept.plan_text,
        most=(planned and planned.policy.requests_most) or "",
        problems=problems,
        unread=unread,
        told=told,
        report=report,
        lasts_s=sum(one.duration_s or 0.0 for one in planned.runs) if planned else 0.0,
        resumable=state in ("cancelled", "failed", "interrupted") and _has_journal(kept),
        **values,
    )


def _has_journal(kept: KeptRun) -> bool:
    from cabida.bench.keep.journal import JOURNAL

    return bool(kept.folder) and (Path(kept.folder) / JOURNAL).is_file()


def _report(kept: KeptRun) -> dict[str, Any] | None:
    """The report's parts in the language in use; ``None`` where nothing was measured."""
    from cabida.bench.keep.journal import JOURNAL

    path = Path(kept.folder) / JOURNAL
    if not kept.folder or not path.is_file():
        return None
    try:
        return _made_report(kept.folder, path.stat().st_mtime_ns, locale())
    except CabidaError:
        return None


@lru_cache(maxsize=16)
def _made_report(folder: str, changed_ns: int, language: str) -> dict[str, Any]:
    from cabida import app
    from cabida.report.bench_learnt import learnt
    from cabida.report.bench_parts import parts

    answer = app.bench_report([folder])
    answer["next"] = []  # what to type is for whoever sits at the machine
    return {"learnt": learnt(answer), "parts": parts(answer), "answer": answer}


async def start(request: Request) -> Response:
    """Begin to measure; a plan that was changed, or one that has run, is a run of its own."""
    person = access.editor(request)
    typed = await _typed(request)
    kept = await run_in_threadpool(_run, request)
    try:
        made = await run_in_threadpool(_started, request, kept, typed, person.name)
    except InvalidInput as error:
        return await run_in_threadpool(
            _shown, request, kept, problems=error.problems, plan_text=typed["plan"], status=422
        )
    return RedirectResponse(f"/bench/{made}", 303)


def _started(request: Request, kept: KeptRun, typed: dict[str, str], by: str) -> str:
    from cabida.evidence import shelf

    if asked.state_of(request, kept) in asked.UNDER_WAY:
        return kept.id
    key, resume = request.state.key, request.state.resume
    most = typed["most"]
    if most and not (most.isascii() and most.isdigit() and 0 < int(most) <= doing_bench.MOST_REQUESTS):
        raise InvalidInput([problem("CB-S096", most=doing_bench.MOST_REQUESTS)])
    text = typed["plan"].replace("\r\n", "\n")
    changed = bool(text.strip()) and text.strip() != kept.plan_text.strip()
    if not resume and (changed or kept.state != "planned"):
        text = text if changed else kept.plan_text
        asked.refuse_unreachable(request, doing_bench.plan_for_server(text))
        new = shelf.add_run(kept.name, text, by=by, store=store_of(request))
        if kept.state == "planned":
            shelf.change_run(kept.id, gone=True, by=by, store=store_of(request))
        kept = new
    asked.begin(request, kept, key=key, most=int(most or 0), resume=resume)
    return kept.id


def stop(request: Request) -> Response:
    """End a run as Ctrl-C does: what is in flight ends, the journal stays."""
    kept = _run(request)
    asked.end(request, kept)
    return RedirectResponse(f"/bench/{kept.id}", 303)


def drop(request: Request) -> Response:
    """Take a run off the list; its journal and what was learnt of it stay."""
    from cabida.evidence import shelf

    person = access.editor(request)
    kept = _run(request)
    if asked.state_of(request, kept) not in asked.UNDER_WAY:
        shelf.change_run(kept.id, gone=True, by=person.name, store=store_of(request))
    return RedirectResponse("/bench", 303)


def file(request: Request) -> Response:
    """The plan, or the report in a form that can be handed round."""
    import json

    from cabida.faces.web.telling import NotFound
    from cabida.report.bench_markdown import bench_markdown
    from cabida.report.bench_page import bench_page
    from cabida.report.metrics import plain

    kept, name = _run(request), request.path_params["file"]
    if name == "plan.yaml":
        return _sent(kept.plan_text, name, "application/yaml")
    report = _report(kept)
    if report is None or name not in ("report.html", "report.md", "report.json"):
        raise NotFound([problem("CB-S063", name=name[:60])])
    answer = report["answer"]
    if name == "report.html":
        return _sent(bench_page(answer, locale()), name, "text/html; charset=utf-8")
    if name == "report.md":
        return _sent(bench_markdown(answer, locale()), name, "text/markdown; charset=utf-8")
    return _sent(
        json.dumps(plain(answer), ensure_ascii=False, indent=1, allow_nan=False), name, "application/json"
    )


def _sent(text: str, name: str, kind: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=kind, headers=headers)


ROUTES = [
    Route("/bench", runs, name="bench"),
    Route("/bench", plan, methods=["POST"]),
    *bench_seen.ROUTES,
    Route("/bench/{id}", run),
    Route("/bench/{id}/start", start, methods=["POST"]),
    Route("/bench/{id}/stop", stop, methods=["POST"]),
    Route("/bench/{id}/drop", drop, methods=["POST"]),
    Route("/bench/{id}/parts", bench_live.parts),
    Route("/bench/{id}/{file}", file),
]
