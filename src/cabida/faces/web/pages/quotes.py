"""Quotes: taken in, listed, audited, compared, answered, and used as offers."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from cabida.errors import InvalidInput
from cabida.faces.web.frame import page
from cabida.faces.web.pages.catalogue_asked import (
    address,
    currency_of,
    day_of,
    figure,
    form_of,
    said,
    store_of,
    texts_of,
    upload_of,
)
from cabida.faces.web.pages.quotes_told import lined, listed, needed, placed, read_groups, score, verdict_tone
from cabida.text import problem

if TYPE_CHECKING:
    from starlette.requests import Request

    from cabida.plan import Decision
    from cabida.procure import Audit

FORMS = ("yaml", "csv", "xlsx")
TYPES = {
    "yaml": "application/yaml",
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "md": "text/markdown; charset=utf-8",
    "json": "application/json",
    "html": "text/html; charset=utf-8",
}
SHARES = ("utilisation_ratio", "wacc_ratio", "unrecovered_tax_ratio")  # asked for in per cent
NEEDS = (
    *("utilisation_ratio", "stored_gb", "egress_gb_per_month", "staff_count", "loaded_money_per_year"),
    *("migration_days", "wacc_ratio", "unrecovered_tax_ratio"),
)
MOST_COMPARED = 8
MOST_DECISIONS = 100
MOST_TEXT = 1_000_000


def quotes(request: Request) -> Response:
    """The quotes kept, and the ways to bring another in."""
    return _place(request)


def _place(
    request: Request,
    *,
    problems: tuple[Any, ...] = (),
    typed: dict[str, str] | None = None,
    status: int = 200,
) -> Response:
    from cabida import app

    every = said(request, "every") == "1"
    day = day_of(request)
    found = app.quotes(day, store=store_of(request), every=every)
    return page(
        request,
        "quotes.html.j2",
        status=status,
        quotes=listed(tuple(reversed(found)), day),
        day=day,
        every=every,
        typed={"text": "", "vendor": "", "quote_id": "", **(typed or {})},
        problems=problems,
        added=request.query_params.getlist("added")[:MOST_COMPARED],
        most_megabytes=request.app.state.settings.most_upload_bytes >> 20,
    )


async def take(request: Request) -> Response:
    """Keep what was uploaded or pasted; a file that can't be read is told, and nothing is kept."""
    from cabida import app
    from cabida.faces.web import access

    access.editor(request)
    typed: dict[str, str] = {}
    try:
        async with form_of(request) as form:
            typed = texts_of(form, "vendor", "quote_id")
            pasted = form.get("text")
            typed["text"] = pasted if isinstance(pasted, str) else ""
            name, content = await upload_of(request, form, "file") or _pasted(typed["text"])
        kept = await run_in_threadpool(
            app.quote_add,
            name,
            content=content,
            vendor=typed["vendor"],
            quote_id=typed["quote_id"],
            store=store_of(request),
        )
    except InvalidInput as error:
        return await run_in_threadpool(_place, request, problems=error.problems, typed=typed, status=422)
    if len(kept) == 1:
        path = address(f"/quotes/{kept[0].id}", {"kept": "new" if kept[0].new else "known"})
    else:
        path = address("/quotes", {"added": [one.id for one in kept]})
    return RedirectResponse(path, status_code=303)


def _pasted(text: str) -> tuple[str, str]:
    """A pasted text as a file.

    Raises:
        InvalidInput: CB-S062, nothing was given at all.
    """
    if not text.strip():
        raise InvalidInput([problem("CB-S062")])
    return "pasted", text[: MOST_TEXT + 1]


def template(request: Request) -> Response:
    """A form for a vendor to fill in, as a file."""
    from cabida import app

    form = request.path_params["form"]
    made = app.quote_template(form, purpose=said(request, "purpose"))
    return _file(made, f"quote.{form}", form)


def _file(content: str | bytes, name: str, kind: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=TYPES[kind], headers=headers)


def _quote(request: Request) -> Any:
    """The kept quote of the address: only an id of the store, never a file of this machine."""
    from cabida.evidence.quotes.keeping import quote_named
    from cabida.faces.web.telling import NotFound

    try:
        return quote_named(request.path_params["id"], store_of(request))
    except InvalidInput as error:
        raise NotFound(error.problems) from None


def _needs(request: Request) -> dict[str, Any]:
    """What is known instead of assumed, as the use case names it."""
    found = {name: figure(request, name) for name in NEEDS}
    return {
        name: value / 100 if name in SHARES else value for name, value in found.items() if value is not None
    }


def _decision(request: Request) -> Decision | None:
    """The decision of the shelf that is chosen to hold quotes against."""
    chosen = said(request, "decision")
    if not chosen:
        return None
    from cabida.evidence.shelf import decision_text
    from cabida.report.store import from_json

    return from_json(decision_text(chosen, store=store_of(request)))


def _decisions(request: Request) -> list[dict[str, str]]:
    """The decisions of the shelf, to choose one from, newest first."""
    from cabida.evidence.shelf import kept_decisions

    found = kept_decisions(most=MOST_DECISIONS, store=store_of(request))
    return [{"id": one.id, "name": one.name, "as_of": one.as_of} for one in found.items]


def _audited(request: Request, kept: Any) -> Audit:
    from cabida import app

    return app.quote_audit(
        kept.quote,
        decision=_decision(request),
        as_of=day_of(request),
        currency=currency_of(request, ""),
        **_needs(request),
    )


def quote(request: Request) -> Response:
    """One quote: the audit's answer first, then its parts, then what was read and where."""
    from cabida import app, facts
    from cabida.report.quote import head, parts

    kept = _quote(request)
    made = _audited(request, kept)
    name, answer = head(made)
    query = {one: value for one, value in request.query_params.items() if one not in ("kept", "priced")}
    return page(
        request,
        "quote.html.j2",
        kept=kept,
        heading=name,
        answer=answer,
        made=made,
        tone=verdict_tone(made.verdict),
        tiles=score(made),
        parts=[lined(part, kept.quote.file) for part in parts(made)],
        groups=read_groups(kept.quote),
        where_in=lambda place: placed(place, kept.quote.file),
        letter=app.quote_letter(made),
        needs=needed(request.query_params, NEEDS, SHARES),
        decisions=_decisions(request),
        chosen=said(request, "decision"),
        currency=said(request, "currency").upper(),
        currencies=sorted(facts.currencies()),
        day=made.as_of,
        path=lambda file: address(f"/quotes/{kept.id}/{file}", query),
        expired=kept.expired(made.as_of),
    )


def file(request: Request) -> Response:
    """The letter, the annex or the audit of a quote, or its price as a row of one's own facts."""
    import json

    from cabida import app
    from cabida.faces.web.telling import NotFound
    from cabida.report.quote_page import file_name, quote_page

    kept, name = _quote(request), request.path_params["file"]
    if name == "offer.yaml":
        return _file(app.quote_offer(kept.quote), f"{kept.id}-offer.yaml", "yaml")
    made = _audited(request, kept)
    stem = file_name(made)
    if name == "letter.md":
        return _file(app.quote_letter(made), f"{stem}.letter.md", "md")
    if name == "annex.md" and made.annex:
        return _file(app.quote_annex(made), f"{stem}.annex.md", "md")
    if name == "audit.html":
        return _file(quote_page(made), f"{stem}.audit.html", "html")
    if name == "audit.json":
        text = json.dumps(asdict(made), ensure_ascii=False, indent=1, allow_nan=False)
        return _file(text + "\n", f"{stem}.audit.json", "json")
    raise NotFound([problem("CB-S063", name=name[:60])])


async def price(request: Request) -> Response:
    """Give a quote's price to the price book, where it is ranked with every other."""
    from cabida.app.quoting import quote_price
    from cabida.faces.web import access

    access.editor(request)
    kept = await run_in_threadpool(_quote, request)
    told = await run_in_threadpool(quote_price, kept.quote, store=store_of(request))
    query = {"priced": "new" if told["new"] else "known"}
    return RedirectResponse(address(f"/quotes/{kept.id}", query), status_code=303)


def beside(request: Request) -> Response:
    """Quotes side by side."""
    from cabida import app, facts
    from cabida.evidence.quotes.keeping import quote_named
    from cabida.faces.web.telling import NotFound
    from cabida.report.quote import compared

    wanted = list(dict.fromkeys(one[:20] for one in request.query_params.getlist("q")))
    if len(wanted) > MOST_COMPARED:
        raise InvalidInput([problem("CB-S064", most=MOST_COMPARED, count=len(wanted))])
    try:
        kept = [quote_named(one, store_of(request)) for one in wanted]
    except InvalidInput as error:
        raise NotFound(error.problems) from None
    found = app.quote_compare(
        [one.quote for one in kept],
        decision=_decision(request),
        as_of=day_of(request),
        currency=currency_of(request, ""),
        **_needs(request),
    )
    return page(
        request,
        "quotes_beside.html.j2",
        found=found,
        parts=compared(found),
        kept=kept,
        day=day_of(request),
        currency=found.currency,
        currencies=sorted(facts.currencies()),
        decisions=_decisions(request),
        chosen=said(request, "decision"),
        needs=needed(request.query_params, NEEDS, SHARES),
    )


ROUTES = [
    Route("/quotes", quotes, name="quotes"),
    Route("/quotes", take, methods=["POST"]),
    Route("/quotes/compare", beside),
    Route("/quotes/template.{form}", template),
    Route("/quotes/{id}", quote),
    Route("/quotes/{id}/price", price, methods=["POST"]),
    Route("/quotes/{id}/{file}", file),
]
