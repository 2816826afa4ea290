"""Accelerators: a table to sort and narrow, one with its figures, prices and what runs on it, several side by side."""

from __future__ import annotations

from collections.abc import Callable
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
from cabida.text import has_text, money, number, problem, tr

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

MOST_COMPARED = 6
FITS_SHOWN = 20
CAPACITIES = ("on-demand", "spot", "reserved", "block", "serverless", "buy")
COLUMNS = (  # key of a row, whether it is a figure, whether the most comes first
    ("name", False, False), ("memory_gib", True, True), ("bandwidth_gb_s", True, True), ("bf16_tflops", True, True),
    ("fp8_tflops", True, True), ("fp4_tflops", True, True), ("int8_tflops", True, True), ("tdp_w", True, False),
    ("rent_usd_per_hour", True, False), ("rent_usd_per_gib_hour", True, False), ("year", True, True),
)  # fmt: skip
BESIDE = (
    *("architecture", "year", "memory_gib", "bandwidth_gb_s", "bf16_tflops", "fp8_tflops", "int8_tflops"),
    *("fp4_tflops", "link_kind", "link_gb_s", "tdp_w", "tflops_per_w", "rent_usd_per_hour"),
    *("rent_usd_per_pflops_hour", "rent_usd_per_gib_hour", "buy_usd", "rent_seen", "buy_seen"),
)
UNITS = {
    "memory_gib": "GiB", "bandwidth_gb_s": "GB/s", "bf16_tflops": "TFLOPS", "fp8_tflops": "TFLOPS",
    "int8_tflops": "TOPS", "fp4_tflops": "TFLOPS", "link_gb_s": "GB/s", "tdp_w": "W", "tflops_per_w": "TFLOPS/W",
    "rent_usd_per_hour": "USD/h", "rent_usd_per_pflops_hour": "USD/h", "rent_usd_per_gib_hour": "USD/h",
    "buy_usd": "USD",
}  # fmt: skip


def gpus(request: Request) -> Response:
    """Every accelerator, narrowed and sorted as asked."""
    from cabida.report.catalogue_pictures import memory_and_price

    day = day_of(request)
    every = keep.gpu_table(day, store_of(request))
    asked = {name: said(request, name) for name in ("q", "vendor", "segment", "memory", "priced")}
    least = figure(request, "memory") or 0.0
    rows = [one for one in every if _wanted(one, asked, least)]
    sort, down = _sorting(request)
    rows.sort(key=_by(sort), reverse=down)
    rows.sort(key=lambda one: one[sort] is None)  # what nobody saw comes last, either way
    query = {
        **asked,
        "as_of": said(request, "as_of"),
        "sort": said(request, "sort"),
        "down": said(request, "down"),
    }
    template, vary = part(request, "found", "catalogue_gpus.html.j2")
    return page(
        request,
        template,
        headers=vary,
        rows=[_row(one) for one in rows],
        count=len(rows),
        all_count=len(every),
        picture=told.drawn(memory_and_price(rows)),
        asked=asked,
        day=day,
        sort=sort,
        down=down,
        columns=[
            {"key": key, "title": tr(f"pages_catalogue.column.{key}"), "right": right, "down": most}
            for key, right, most in COLUMNS
        ],
        link=lambda **changed: address("/catalogue/gpus", query, **changed),
        vendors=sorted({one["vendor"] for one in every}),
        segments=[(one, told.segment(one)) for one in dict.fromkeys(card["segment"] for card in every)],
    )


def _wanted(one: dict[str, Any], asked: dict[str, str], least_gib: float) -> bool:
    words = f"{one['id']} {one['name']} {one['architecture']} {one['vendor']}".lower()
    return (
        all(word in words for word in asked["q"].lower().split())
        and asked["vendor"] in ("", one["vendor"])
        and asked["segment"] in ("", one["segment"])
        and one["memory_gib"] >= least_gib
        and (not asked["priced"] or one["rent_usd_per_hour"] is not None)
    )


def _sorting(request: Request) -> tuple[str, bool]:
    """Which column orders the rows, and whether the most comes first."""
    asked = said(request, "sort")
    if asked in (key for key, *_ in COLUMNS):
        return asked, said(request, "down") == "1"
    return "memory_gib", True


def _by(name: str) -> Callable[[dict[str, Any]], Any]:
    if name == "name":
        return lambda one: one["name"].lower()
    return lambda one: one[name] or 0


def _row(one: dict[str, Any]) -> dict[str, Any]:
    """A row of the table as text."""
    low, high = one["rent_low_usd_per_hour"], one["rent_high_usd_per_hour"]
    span = f"{number(low)} – {number(high)}" if low is not None and low != high else ""
    return {
        "id": one["id"],
        "name": one["name"],
        "about": " · ".join(
            part for part in (one["vendor"], one["architecture"], told.segment(one["segment"])) if part
        ),
        "memory": told.figure(one["memory_gib"]),
        "kind": one["memory_kind"],
        "bandwidth": told.figure(one["bandwidth_gb_s"]),
        "rates": [told.figure(one[f"{kind}_tflops"]) for kind in ("bf16", "fp8", "fp4", "int8")],
        "power": told.figure(one["tdp_w"]),
        "price": "–" if one["rent_usd_per_hour"] is None else number(one["rent_usd_per_hour"]),
        "span": span,
        "sellers": one["rent_sightings"],
        "seen": one["rent_seen"],
        "per_gib": told.figure(one["rent_usd_per_gib_hour"], 2),
        "year": one["year"] or "–",
    }


def _known(request: Request) -> Any:
    """The accelerator of the address, by its id in the catalogue.

    Raises:
        NotFound: CB-F001, there is none.
    """
    from cabida import facts
    from cabida.faces.web.telling import NotFound

    id = request.path_params["id"][:120]
    if (found := facts.accelerators().get(id)) is not None:
        return found
    try:
        return facts.accelerator(id)
    except InvalidInput as error:
        raise NotFound(error.problems) from None


def gpu(request: Request) -> Response:
    """One accelerator: what it is for, its figures with their sources, what is asked for it, what fits and runs."""
    from cabida import app, facts
    from cabida.report.cards import engines_on, gpu_figures
    from cabida.report.software_matrix import SHOWN_FORMATS

    one, day, currency = _known(request), day_of(request), currency_of(request)
    card = next((row for row in keep.gpu_table(day, store_of(request)) if row["id"] == one.id), None)
    figures = gpu_figures(one.id)
    sources = told.sources_numbered(figures)
    for row in figures:
        row["title"], row["shown"] = told.accelerator_figure(row["field"], row["value"])
        row["sure"] = told.grade(row["grade"])
    asked = app.prices(one.id, as_of=day, currency=currency, sort="price", store=store_of(request))
    capacity = said(request, "capacity") if said(request, "capacity") in CAPACITIES else "on-demand"
    wanted = said(request, "model").lower()
    fits = [told.fitted(row) for row in keep.fits_on(one.id, day) if wanted in row["model"].lower()]
    query = {name: said(request, name) for name in ("as_of", "currency", "capacity", "model")}
    return page(
        request,
        "catalogue_gpu.html.j2",
        gpu=one,
        others=[(row.id, row.name) for row in facts.accelerators().values() if row.id != one.id],
        card=_row(card) if card else None,
        about=card,
        figures=figures,
        sources=sources,
        prices=[told.price_row(row) for row in asked],
        rates=told.rates_of(asked),
        picture=_moves(request, one.id, day, capacity, currency),
        capacity=capacity,
        capacities=[
            (name, told.held(name)) for name in CAPACITIES if any(row["capacity"] == name for row in asked)
        ],
        currency=currency,
        currencies=sorted(facts.currencies()),
        day=day,
        model=said(request, "model"),
        fits=sheet(request, fits, FITS_SHOWN),
        link=lambda **changed: address(f"/catalogue/gpus/{one.id}", query, **changed) + "#fits",
        engines=engines_on(one.id),
        formats=SHOWN_FORMATS,
        fact=app.fact(one.id)[0],
    )


def _moves(request: Request, gpu: str, day: str, capacity: str, currency: str) -> dict[str, Any] | None:
    """The picture of how its price moved; ``None`` where nobody asked a price."""
    from cabida import app
    from cabida.report.catalogue_pictures import price_moves

    try:
        answer = app.price_history(
            gpu, as_of=day, capacity=capacity, currency=currency, store=store_of(request)
        )
    except InvalidInput as error:
        if error.problems[0].code == "CB-U015":
            return None
        raise
    return told.drawn(price_moves(answer))


def beside(request: Request) -> Response:
    """Accelerators side by side."""
    from cabida import app, facts

    ids = list(dict.fromkeys(one[:60] for one in request.query_params.getlist("id") if one))
    known = [one for one in ids if one in facts.accelerators()]
    if len(known) < 2 or len(known) > MOST_COMPARED:
        raise InvalidInput([problem("CB-S065", most=MOST_COMPARED, count=len(known))])
    day = day_of(request)
    answer = app.compare(known, day)
    cards = answer["accelerators"]
    named = {card["id"]: card["name"] for card in cards}
    rows = [
        (tr(f"faces.compare.{name}"), [_beside(card[name], name) for card in cards], _most(cards, name))
        for name in BESIDE
        if any(card[name] not in (None, "") for card in cards)
    ]
    leads = [
        {
            "workload": _workload(one["workload"]),
            "figure": _decides(one["figure"]),
            "best": ", ".join(named[best] for best in one["best"]),
            "value": number(one["value"]),
        }
        for one in answer["matters"]
    ]
    return page(
        request, "catalogue_gpus_beside.html.j2", cards=cards, rows=rows, leads=leads, day=day,
        every=[(one.id, one.name) for one in facts.accelerators().values() if one.id not in known],
        room=len(known) < MOST_COMPARED,
    )  # fmt: skip


def _beside(value: Any, name: str) -> str:
    if value is None or value in ("", "none"):
        return "–"
    if isinstance(value, str) or name == "year":
        return str(value)
    if name in ("rent_usd_per_hour", "buy_usd"):
        return money(value, "USD") + ("/h" if name == "rent_usd_per_hour" else "")
    return f"{number(value)} {UNITS.get(name, '')}".strip()


def _most(cards: list[dict[str, Any]], name: str) -> list[int]:
    """Which cards have most of what more of is better."""
    if not name.endswith(("_gib", "_gb_s", "_tflops", "_per_w")) or name.startswith("rent"):
        return []
    values = [card[name] for card in cards]
    most = max((value for value in values if value is not None), default=None)
    found = [at for at, value in enumerate(values) if value == most]
    return found if most is not None and len(found) < len(cards) else []


def _workload(name: str) -> str:
    key = f"report.workload.{name}"
    return tr(key) if has_text(key) else name


def _decides(name: str) -> str:
    figure_name, _, per_price = name.partition("/")
    shown = tr(f"faces.compare.{figure_name}")
    return f"{shown} {tr('faces.compare.per_price')}" if per_price else shown
