"""The price book: prices in force, models behind APIs and how they moved, what is set aside, rates of exchange."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput
from cabida.faces.web.frame import page
from cabida.faces.web.pages import catalogue_held as keep
from cabida.faces.web.pages import catalogue_told as told
from cabida.faces.web.pages.catalogue_asked import (
    address,
    currency_of,
    day_of,
    figure,
    part,
    said,
    sheet,
    store_of,
)
from cabida.report import words as say
from cabida.text import has_text, number, tr

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from cabida.errors import Problem

CAPACITIES = ("on-demand", "spot", "reserved", "block", "serverless", "buy")
SORTS = ("price", "seen", "gpu", "provider")
REASONS = ("nothing", "too_low", "too_high", "below_market", "doubted", "apart", "expired", "unknown_part")
USES = ("requests_per_month", "input_tokens", "output_tokens", "prefix_tokens", "own_money_per_month")
USUAL = {"requests_per_month": 1e6, "input_tokens": 1000.0, "output_tokens": 200.0, "prefix_tokens": 0.0}
MOST_ASIDE = 200
MOST_MOVED = 300


def prices(request: Request) -> Response:
    """Prices in force of accelerators, narrowed as asked."""
    from cabida import facts

    day, currency = day_of(request), currency_of(request, "")
    asked = {name: said(request, name) for name in ("gpu", "provider", "region", "capacity", "sort")}
    gpu = asked["gpu"] if asked["gpu"] in facts.accelerators() else None
    capacity = asked["capacity"] if asked["capacity"] in CAPACITIES else ""
    sort = asked["sort"] if asked["sort"] in SORTS else "price" if gpu else "seen"
    rows = keep.prices_in_force(
        gpu, day, store_of(request), provider=asked["provider"], region=asked["region"], capacity=capacity, sort=sort,
        currency=currency,
    )  # fmt: skip
    shown = sheet(request, rows)
    query = {**asked, "as_of": said(request, "as_of"), "currency": said(request, "currency")}
    template, vary = part(request, "found", "catalogue_prices.html.j2")
    return page(
        request,
        template,
        headers=vary,
        sheet=replace(shown, rows=[told.price_row(row) for row in shown.rows]),
        rates=told.rates_of(list(shown.rows)),
        asked=asked,
        sort=sort,
        sorts=[(one, tr(f"pages_catalogue.sort.{one}")) for one in SORTS],
        day=day,
        currency=currency,
        currencies=sorted(facts.currencies()),
        capacities=[(one, told.held(one)) for one in CAPACITIES],
        gpus=[(one.id, one.name) for one in facts.accelerators().values()],
        names={one.id: one.name for one in facts.accelerators().values()},
        link=lambda **changed: address("/catalogue/prices", query, **changed),
    )


def one_price(request: Request) -> Response:
    """One price, field by field, with the source of each."""
    from cabida import app
    from cabida.faces.web.telling import NotFound

    id = request.query_params.get("id", "")[:300] or "–"
    try:
        fields, sources = app.price(id, as_of=said(request, "as_of") or None, store=store_of(request))
    except InvalidInput as error:
        raise NotFound(error.problems) from None
    return page(
        request, "catalogue_fact.html.j2", title=str(fields.get("provider", id)), back="/catalogue/prices",
        tab="prices", rows=record(fields, sources), matrix={},
    )  # fmt: skip


def record(fields: dict[str, Any], sources: dict[str, str]) -> list[dict[str, str]]:
    """The fields of a fact that say something, as text, each with its source; ``key`` of one that has no name."""
    rows = []
    for name, value in fields.items():
        if value in (None, "", (), [], {}):
            continue
        where, sure = told.source(sources.get(name, sources.get("", "")))
        key = "" if has_text(f"pages_catalogue.column.{name}") else name
        rows.append(
            {"name": _title(name), "key": key, "value": plain(value), "source": where, "sure": sure}
            | {"language": "en" if name == "notes" else ""}
        )
    return rows


def _title(name: str) -> str:
    key = f"pages_catalogue.column.{name}"
    return tr(key) if has_text(key) else name.replace("_", " ")


def plain(value: Any) -> str:
    """A value of a fact as text; what has parts, part by part."""
    if isinstance(value, bool):
        return tr("pages_catalogue.yes" if value else "pages_catalogue.no")
    if isinstance(value, float) or (isinstance(value, int) and abs(value) > 9999):
        return number(value, 6)
    if isinstance(value, dict):
        return ", ".join(
            f"{key.replace('_', ' ')} {plain(one)}" for key, one in value.items() if one not in (None, "")
        )
    if isinstance(value, tuple | list):
        return "; ".join(map(plain, value)) or "–"
    return "–" if value in (None, "") else str(value)


def api(request: Request) -> Response:
    """Models behind APIs: by model what one use costs at each provider, and how its prices moved; else all prices."""
    from cabida import app, facts
    from cabida.facts.known import by_name_only
    from cabida.report.api_moves import api_history

    day, currency, store = day_of(request), currency_of(request), store_of(request)
    asked = {name: said(request, name) for name in ("model", "provider")}
    use: dict[str, Any] = {name: figure(request, name) for name in USES}
    answer: dict[str, Any] | None = None
    moved: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    faults: tuple[Problem, ...] = ()
    if asked["model"]:
        try:
            with by_name_only():
                answer = app.api_prices(
                    asked["model"], provider=asked["provider"], currency=currency, as_of=day,
                    **{name: value for name, value in use.items() if value is not None},
                )  # fmt: skip
                moved = api_history(asked["model"], as_of=day, store=store)[:MOST_MOVED]
        except InvalidInput as error:
            faults = error.problems
    if answer is None:
        rows = app.prices(
            asked["model"] or None, provider=asked["provider"], capacity="api", as_of=day, store=store
        )
    query = {**asked, "as_of": said(request, "as_of"), "currency": said(request, "currency")}
    return page(
        request,
        "catalogue_api.html.j2",
        asked=asked,
        use=[
            {"name": name, "title": tr(f"pages_catalogue.use.{name}"), "value": said(request, name)
             or (f"{USUAL[name]:.0f}" if name in USUAL else "")}
            for name in USES
        ],
        answer=answer and _answered(answer),
        moved=[_moved(row) for row in moved],
        sheet=sheet(request, [_api_row(row) for row in rows]),
        faults=faults,
        day=day,
        currency=currency,
        currencies=sorted(facts.currencies()),
        link=lambda **changed: address("/catalogue/prices/api", query, **changed),
    )  # fmt: skip


def _answered(answer: dict[str, Any]) -> dict[str, Any]:
    """What each provider costs for one use, as text."""
    own = answer["own_money_per_month"] is not None
    rows = [
        {
            "provider": row["provider"],
            "model": row["model"].rpartition("/")[2],
            "month": say.decimal(row["cost_per_month_money"].value, 2),
            "thousand": number(row["accepted_answer_money"].value * 1000),
            "input": number(row["prices"]["input"]),
            "output": number(row["prices"]["output"]),
            "seen": row["seen"],
            "from_requests": _volume(row["break_even_requests_per_month"]) if own else "",
            "until": row["until"],
            "disagrees": bool(row["disagrees"]),
        }
        for row in answer["rows"]
    ]
    cautions = dict.fromkeys(
        f"{one['sentence']} [{one['code']}]" for row in answer["rows"][:3] for one in row["cautions"]
        if one["severity"] != "info"
    )  # fmt: skip
    others = [
        f"{one['provider']} · {one['model']}: {number(one['amount'])} USD/{tr('api.unit.' + one['unit'])}"
        for one in answer["other_units"]
    ]
    return {
        "rows": rows, "own": own, "cautions": [*cautions], "others": others, "currency": answer["currency"],
        "source": tr("api.source", source=answer["source"], as_of=answer["as_of"]),
    }  # fmt: skip


def _volume(requests: float) -> str:
    return "0" if requests <= 0 else number(requests)


def _moved(row: dict[str, Any]) -> dict[str, str]:
    return {
        "provider": row["provider"],
        "model": row["model"].rpartition("/")[2],
        "since": row["since"] or tr("pages_catalogue.at_first"),
        "until": row["until"] or tr("pages_catalogue.still"),
        "input": f"{say.decimal(row['input_amount'], 3)} {row['currency']}",
        "output": f"{say.decimal(row['output_amount'], 3)} {row['currency']}",
        "hours": row["hours_utc"],
        "seen": row["seen"] or "–",
    }


def _api_row(row: dict[str, Any]) -> dict[str, str]:
    writes = row["amount"] or not row["input_amount"]
    return {
        "id": row["id"],
        "model": row["gpu"],
        "provider": row["provider"],
        "input": f"{say.decimal(row['input_amount'], 3)} {row['currency']}",
        "output": f"{say.decimal(row['amount'], 3)} {row['currency']}" if writes else "–",
        "seen": row["seen"] or tr("report.undated"),
    }


def aside(request: Request) -> Response:
    """What is kept and not used, each with its reason; rows of lists that nobody could read."""
    from cabida import app, facts

    day = day_of(request)
    gpu = said(request, "gpu") if said(request, "gpu") in facts.accelerators() else None
    rows = app.prices_aside(gpu, as_of=day, store=store_of(request))
    groups = [
        {"reason": tr(f"money.aside.{reason}"), "count": number(len(those), 6), "named": reason == "unknown_part",
         "rows": [_aside(one) for one in those[:MOST_ASIDE]]}
        for reason in REASONS
        if (those := [one for one in rows if one["reason"] == reason])
    ]  # fmt: skip
    unread = [
        {"file": one["file"], "line": number(one["line"], 9), "why": why(one), "text": one["text"][:200]}
        for one in rows
        if one["reason"] == "unread"
    ]
    return page(
        request, "catalogue_aside.html.j2", groups=groups, unread=unread[:MOST_ASIDE], unread_count=len(unread),
        day=day, gpu=gpu or "", gpus=[(one.id, one.name) for one in facts.accelerators().values()],
    )  # fmt: skip


def _aside(one: dict[str, Any]) -> dict[str, str]:
    middle = one["middle"]
    return {
        **told.price_row(one),
        "middle": "–" if middle is None else f"{say.decimal(middle, 2)} {one['price_currency']}",
        "ratio": "–" if one["ratio"] is None else f"{number(one['ratio'])}×",
    }


def why(one: dict[str, Any]) -> str:
    """Why a row of a file couldn't be read, with the nearest known name where there is one."""
    key = f"evidence.import_why.{one['why']}"
    sentence = tr(key) if has_text(key) else one["why"]
    return f"{sentence} {tr('faces.book.near', near=one['near'])}" if one["near"] else sentence


def rates(request: Request) -> Response:
    """Rates of exchange, each with its day."""
    from cabida import app, facts

    day, currency = day_of(request), currency_of(request)
    rows = app.exchange_rates(currency, as_of=day)
    return page(
        request, "catalogue_rates.html.j2", day=day, currency=currency, currencies=sorted(facts.currencies()),
        rows=[
            {"of": one["of"], "rate": number(one["rate"], 5), "seen": one["seen"]}
            for one in rows
            if one["of"] != currency
        ],
        sources=list(dict.fromkeys(one["source"] for one in rows)),
    )  # fmt: skip
