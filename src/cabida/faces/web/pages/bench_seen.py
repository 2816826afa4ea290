"""Observations: what has been measured, logs and tables taken in, forgotten with a reason, learnt from."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from cabida.errors import InvalidInput, Problem
from cabida.faces.web import access
from cabida.faces.web.frame import page
from cabida.faces.web.pages.catalogue_asked import form_of, said, sheet, store_of, texts_of, upload_of
from cabida.text import problem

if TYPE_CHECKING:
    from starlette.requests import Request

SAID = ("model", "gpu", "gpus", "engine", "engine_version", "weights", "kv_cache", "note")


def seen(request: Request) -> Response:
    """What the store holds, and the way to bring more in."""
    return _place(request)


def _place(
    request: Request,
    *,
    problems: tuple[Problem, ...] = (),
    typed: dict[str, str] | None = None,
    taken: dict[str, Any] | None = None,
    status: int = 200,
) -> Response:
    from cabida import app
    from cabida.faces import observed
    from cabida.report import words

    every = said(request, "every") == "1"
    rows = app.observations(store=_store(request), all=every)
    rows = [
        {
            **one,
            "kind": one["kind"],
            "card": f"{one['gpus'] or ''}{'×' if one['gpus'] else ''}{one['gpu'] or '?'}",
        }
        for one in reversed(rows)
    ]
    return page(
        request,
        "bench_seen.html.j2",
        status=status,
        sheet=sheet(request, rows),
        every=every,
        typed={**dict.fromkeys(SAID, ""), **(typed or {})},
        said=SAID,
        taken=taken,
        problems=problems,
        learnt=app.calibration(),
        forgot=said(request, "forgot"),
        setup_line=observed.setup_line,
        figures=_figures,
        words=words,
        most_megabytes=request.app.state.settings.most_upload_bytes >> 20,
    )


def _figures(found: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Each figure: name, measured, predicted, between, error; as the screen of observations says them."""
    from cabida.faces import observed

    order = observed.ORDER
    named = sorted(found, key=lambda name: order.index(name) if name in order else len(order))
    return [observed.figure_row(name, found[name]) for name in named]


def _store(request: Request) -> Path | str | None:
    """The server's store where it has been told of one; a file that isn't there yet is an empty one."""
    found = store_of(request)
    return None if found is None or ("://" not in found and not Path(found).exists()) else found


async def take(request: Request) -> Response:
    """Read an uploaded log or table into the store; what gave nothing is told."""
    from cabida import app

    access.editor(request)
    typed: dict[str, str] = {}
    try:
        async with form_of(request) as form:
            typed = texts_of(form, *SAID)
            upload = await upload_of(request, form, "file")
        taken = await run_in_threadpool(_taken, request, upload, typed, app.observe)
    except InvalidInput as error:
        return await run_in_threadpool(_place, request, problems=error.problems, typed=typed, status=422)
    return await run_in_threadpool(_place, request, taken=taken)


def _taken(
    request: Request, upload: tuple[str, bytes] | None, typed: dict[str, str], observe: Any
) -> dict[str, Any]:
    from cabida.faces.web.api.running import as_sent

    if upload is None:
        raise InvalidInput([problem("CB-S097")])
    name, content = upload
    given: dict[str, Any] = {key: value for key, value in typed.items() if value}
    if "gpus" in given:
        if not (given["gpus"].isdecimal() and 0 < int(given["gpus"]) <= 100_000):
            raise InvalidInput([problem("CB-S060", name="gpus", text=given["gpus"][:40])])
        given["gpus"] = int(given["gpus"])
    with TemporaryDirectory(prefix="cabida-") as folder, as_sent(folder):
        path = Path(folder) / name
        path.write_bytes(content)
        found: dict[str, Any] = observe([path], store=store_of(request), **given)
    for one in found["files"]:
        one["file"] = name
    return found


def one(request: Request) -> Response:
    """One observation, whole: measured beside predicted, and the lines that nothing understood."""
    from cabida.evidence.store import one as named
    from cabida.faces import observed
    from cabida.faces.web.telling import NotFound
    from cabida.report.observed import shown

    try:
        found = shown(named(request.path_params["id"][:80], _store(request)))
    except InvalidInput as error:
        raise NotFound(error.problems) from None
    return page(
        request,
        "bench_seen_one.html.j2",
        one=found,
        setup=observed.setup_line(found["setup"]),
        load=observed.load_line(found["load"]),
        ended=observed.how_it_ended(found),
        figures=_figures(found["figures"]),
    )


async def forget(request: Request) -> Response:
    """Mark an observation so that nothing counts it any more; a reason is wanted."""
    from cabida.evidence import forget as mark

    access.editor(request)
    async with form_of(request) as form:
        why = texts_of(form, "why")["why"]
    if not why:
        raise InvalidInput([problem("CB-S098")])
    found = await run_in_threadpool(mark, [request.path_params["id"][:80]], store_of(request), why)
    return RedirectResponse(f"/bench/observations?forgot={found[0]}", 303)


def learn(request: Request) -> Response:
    """Have predictions learn from what was measured, in the background."""
    person = access.editor(request)
    job = request.app.state.jobs.submit("calibrate", {}, person)
    return RedirectResponse(f"/jobs/{job.id}", 303)


ROUTES = [
    Route("/bench/observations", seen),
    Route("/bench/observations", take, methods=["POST"]),
    Route("/bench/observations/learn", learn, methods=["POST"]),
    Route("/bench/observations/{id}", one),
    Route("/bench/observations/{id}/forget", forget, methods=["POST"]),
]
