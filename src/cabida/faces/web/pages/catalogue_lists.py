"""Price lists, catalogues and bills brought into the price book: read, kept, what wasn't understood told row by row."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from cabida import text
from cabida.errors import InvalidInput, Problem
from cabida.faces.web.frame import page
from cabida.faces.web.pages.catalogue_asked import form_of, store_of, texts_of, upload_of
from cabida.text import iso_day, number, problem, tr

if TYPE_CHECKING:
    from starlette.requests import Request

SHEETS = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def bring(request: Request) -> Response:
    """The form that a price list comes in by."""
    return _bring(request)


def _bring(
    request: Request, *, answer: dict[str, Any] | None = None, problems: tuple[Problem, ...] = (), status: int = 200,
    typed: dict[str, str] | None = None,
) -> Response:  # fmt: skip
    from cabida import facts

    return page(
        request, "catalogue_import.html.j2", status=status, problems=problems, answer=answer,
        typed={"provider": "", "currency": "", "seen": "", **(typed or {})}, currencies=sorted(facts.currencies()),
        most_megabytes=request.app.state.settings.most_upload_bytes >> 20,
    )  # fmt: skip


async def brought(request: Request) -> Response:
    """Read a price list and keep what it says; what nobody understood is told row by row."""
    from cabida.faces.web import access

    access.editor(request)
    typed: dict[str, str] = {}
    try:
        async with form_of(request) as form:
            typed = texts_of(form, "provider", "currency", "seen", "only_look")
            file = await upload_of(request, form, "file")
        iso_day(typed["seen"])
        answer = await run_in_threadpool(_imported, request, file, typed)
    except InvalidInput as error:
        return await run_in_threadpool(_bring, request, problems=error.problems, status=422, typed=typed)
    errors = tuple(Problem(**one) for one in answer["errors"])
    shown = [_file(one, kept=answer["kept"]) for one in answer["files"]]
    return await run_in_threadpool(
        _bring, request, answer={"files": shown, "kept": answer["kept"]}, problems=errors,
        status=422 if errors else 200, typed=typed,
    )  # fmt: skip


def _imported(request: Request, file: tuple[str, bytes] | None, typed: dict[str, str]) -> dict[str, Any]:
    """What the use case says of an uploaded file, under the name the person gave it.

    Raises:
        InvalidInput: CB-S066, none was chosen; CB-E057, nobody publishes a rate for the currency.
    """
    from cabida import app, facts

    if file is None:
        raise InvalidInput([problem("CB-S066")])
    name, content = file
    if typed["currency"] and typed["currency"].upper() not in facts.currencies():
        raise InvalidInput(
            [problem("CB-E057", currency=typed["currency"], known=", ".join(sorted(facts.currencies())))]
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            answer = app.import_prices(
                [path], provider=typed["provider"], currency=typed["currency"].upper(), as_of=typed["seen"] or None,
                keep=not typed["only_look"], store=store_of(request),
            )  # fmt: skip
        except InvalidInput as error:
            raise InvalidInput(
                [replace(one, file=name if one.file == str(path) else one.file) for one in error.problems]
            ) from None
        here = f"{folder}/"
        plain_errors = [
            {key: part.replace(here, "") if isinstance(part, str) else part for key, part in one.items()}
            for one in answer["errors"]
        ]
    return {**answer, "errors": plain_errors, "files": [{**one, "file": name} for one in answer["files"]]}


def _file(one: dict[str, Any], *, kept: bool) -> dict[str, Any]:
    """What became of one file, as text."""
    counts = [
        tr(f"faces.import_{name}", count=number(one[f"{name}_count"], 9))
        for name in ("offers", "api_offers", "billing")
        if one[f"{name}_count"]
    ]
    days = list(dict.fromkeys(day for day in (one["first_seen"], one["last_seen"]) if day))
    lines = list(one["notes"])
    if one.get("known_count"):
        lines.append(tr("faces.import_known", count=number(one["known_count"], 9)))
    lines += [
        tr(f"faces.import_{name}", count=number(one[f"{name}_count"], 9))
        for name in ("beside", "repeated")
        if one[f"{name}_count"]
    ]
    aside = one["aside"]
    if aside["count"] or aside.get("doubted_count"):
        key = "faces.import_aside" if aside["count"] else "faces.import_doubted"
        lines.append(tr(key, count=number(aside["count"] or aside["doubted_count"], 9)))
    return {
        "file": one["file"],
        "format": tr(f"evidence.import_format.{one['format']}"),
        "rows": number(one["rows_count"], 9),
        "kept": ", ".join(counts) or "0",
        "new": number(one.get("new_count", 0), 9) if kept else "–",
        "unread": number(one["unread_count"], 9),
        "days": " – ".join(days) or tr("report.undated"),
        "notes": lines,
        "reasons": [
            {
                "told": tr("faces.import_reason", count=number(reason["count"], 9), why=reason["sentence"]),
                "rows": [_unread(each) for each in reason["first"]],
            }
            for reason in one["unread"]
        ],
    }


def _unread(each: dict[str, Any]) -> str:
    near = f" ({tr('faces.import_near', near=each['near'])})" if each["near"] else ""
    return f"{tr('faces.import_at', line=each['line'])}: {text.printable(each['what'])[:160]}{near}"


def template(request: Request) -> Response:
    """A price list to fill in."""
    from cabida.app.importing import write_template

    form = request.path_params["form"]
    if form not in SHEETS:
        from cabida.faces.web.telling import NotFound

        raise NotFound([problem("CB-S063", name=f"template.{form}"[:60])])
    with tempfile.TemporaryDirectory() as folder:
        content = write_template(Path(folder) / f"prices.{form}").read_bytes()
    headers = {"Content-Disposition": f'attachment; filename="prices.{form}"'}
    return Response(content, media_type=SHEETS[form], headers=headers)
