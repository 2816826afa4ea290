"""Models: searched, and one with its parameters, its layers, its cache, its weights, and what it fits on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput
from cabida.faces.web.frame import page
from cabida.faces.web.pages import catalogue_held as keep
from cabida.faces.web.pages import catalogue_told as told
from cabida.faces.web.pages.catalogue_asked import address, day_of, figure, part, said, sheet, store_of
from cabida.text import number, size, tr

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from cabida.facts.model import Model

COLUMNS = (  # key of a row, whether it is a figure, whether the most comes first
    ("id", False, False), ("params_count", True, True), ("active_params_count", True, True),
    ("context_tokens", True, True), ("native_format", False, False), ("licence", False, False),
)  # fmt: skip
TASKS = ("llm", "vlm", "embedding", "rerank", "speech", "image", "video")
MOST_TOKENS = 10_000_000
MOST_REQUESTS = 100_000


def models(request: Request) -> Response:
    """Known models, narrowed and sorted as asked."""
    from cabida import app

    asked = {name: said(request, name) for name in ("q", "task")}
    every = app.models(asked["q"])
    rows = [one for one in every if asked["task"] in ("", one["task"])]
    known = [key for key, *_ in COLUMNS]
    sort = said(request, "sort") if said(request, "sort") in known else "id"
    down = said(request, "down") == "1"
    rows.sort(key=_by(sort), reverse=down)
    rows.sort(key=lambda one: one[sort] in (None, ""))
    query = {**asked, "sort": said(request, "sort"), "down": said(request, "down")}
    template, vary = part(request, "found", "catalogue_models.html.j2")
    return page(
        request,
        template,
        headers=vary,
        sheet=sheet(request, [_row(one) for one in rows]),
        asked=asked,
        sort=sort,
        down=down,
        columns=[
            {"key": key, "title": tr(f"pages_catalogue.column.{key}"), "right": right, "down": most}
            for key, right, most in COLUMNS
        ],
        link=lambda **changed: address("/catalogue/models", query, **changed),
        tasks=[(one, tr(f"pages_catalogue.task.{one}")) for one in TASKS],
    )


def _by(name: str) -> Callable[[dict[str, Any]], Any]:
    if name in ("id", "native_format", "licence"):
        return lambda one: (one[name] or "").lower()
    return lambda one: one[name] or 0


def _row(one: dict[str, Any]) -> dict[str, str]:
    return {
        "id": one["id"],
        "task": tr(f"pages_catalogue.task.{one['task']}") if one["task"] in TASKS else one["task"],
        "params": told.billions(one["params_count"]),
        "active": told.billions(one["active_params_count"]),
        "context": number(one["context_tokens"], 7) if one["context_tokens"] else "–",
        "format": one["native_format"] or "–",
        "licence": one["licence"] or "–",
    }


def _known(request: Request) -> Model:
    """The model of the address, by its id or another name in the catalogue; nothing is fetched or opened for it.

    Raises:
        NotFound: CB-F014, there is none.
    """
    from cabida import facts
    from cabida.faces.web.telling import NotFound
    from cabida.facts.known import by_name_only

    id = request.path_params["id"][:200]
    if (found := facts.models().get(id)) is not None:
        return found
    try:
        with by_name_only():
            return facts.model(id)
    except InvalidInput as error:
        raise NotFound(error.problems) from None


def model(request: Request) -> Response:
    """One model: the figures that decide what holds it, then on what it fits as it is asked."""
    from cabida import facts
    from cabida.facts.known import by_name_only
    from cabida.report.cards import model_card

    one, day = _known(request), day_of(request)
    with by_name_only():
        card = model_card(one.id)
    asked = {name: said(request, name) for name in ("weights", "context", "requests")}
    rows, left_out, faults = _fits(request, one, day)
    prices = {row["id"]: row for row in keep.gpu_table(day, store_of(request))}
    names = {id: row["name"] for id, row in prices.items()}
    query = {**asked, "as_of": said(request, "as_of")}
    return page(
        request,
        "catalogue_model.html.j2",
        model=one,
        task=tr(f"pages_catalogue.task.{one.task}") if one.task in TASKS else one.task,
        card=card,
        tiles=_tiles(card),
        weights=_weights(card),
        caches=[_cache(cache) for cache in card["caches"]],
        groups=_groups(card),
        sources=_sources(card["sources"]),
        fits=sheet(request, [told.fitted(row) | _rent(prices.get(row["gpu"])) for row in rows]),
        names=names,
        left_out=left_out,
        faults=faults,
        asked=asked,
        formats=[row["format"] for row in card["weights"]] or sorted(facts.formats()),
        link=lambda **changed: address(f"/catalogue/models/{one.id}", query, **changed) + "#fits",
        day=day,
        sold=_sold(one.id, day),
    )


def _fits(request: Request, one: Model, day: str) -> tuple[list[dict[str, Any]], int, tuple[Any, ...]]:
    """The rows of what it fits on, how many accelerators are left out, and what is wrong with what was asked."""
    from cabida.errors import CabidaError

    context, requests = figure(request, "context"), figure(request, "requests")
    try:
        found = keep.fits_of(
            one.id,
            day,
            said(request, "weights"),
            None if requests is None else max(1, min(int(requests), MOST_REQUESTS)),
            None if context is None else max(1, min(int(context), MOST_TOKENS)),
        )
    except CabidaError as error:
        return [], 0, error.problems
    return found.get("rows", []), int(found.get("left_out", 0)), ()


def _rent(card: dict[str, Any] | None) -> dict[str, str]:
    rent = card["rent_usd_per_hour"] if card else None
    return {
        "rent": "–" if rent is None else f"{number(rent)} USD",
        "rent_seen": card["rent_seen"] if card else "",
    }


def _tiles(card: dict[str, Any]) -> list[dict[str, str]]:
    cache = card["caches"][0] if card["caches"] else None
    first = card["weights"][0] if card["weights"] else None
    tiles = [
        {
            "name": tr("pages_catalogue.column.params_count"),
            "value": told.billions(card["params_count"]),
            "note": tr("pages_catalogue.active", count=told.billions(card["active_params_count"])) if card["is_moe"]
            else tr("pages_catalogue.worked_out") if card["params_worked_out"] else "",
        },
        {
            "name": tr("pages_catalogue.column.context_tokens"),
            "value": number(card["context_tokens"], 7) if card["context_tokens"] else "–",
            "note": tr("pages_catalogue.tokens"),
        },
    ]  # fmt: skip
    if first:
        tiles.append(
            {"name": tr("pages_catalogue.weights"), "value": size(first["bytes"]), "note": first["format"]}
        )
    if cache:
        tiles.append(
            {
                "name": tr("pages_catalogue.cache_token"),
                "value": _small(cache["bytes_per_token"]),
                "note": cache["format"],
            }
        )
    return tiles


def _small(count_bytes: float) -> str:
    """Bytes of one token: ``320 KiB``."""
    return f"{number(count_bytes / 1024)} KiB"


def _weights(card: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "format": row["format"],
            "size": size(row["bytes"]),
            "bytes": row["bytes"],
            "published": row["published"],
        }
        for row in card["weights"]
    ]


def _cache(one: dict[str, Any]) -> dict[str, Any]:
    return {
        "format": one["format"],
        "token": _small(one["bytes_per_token"]),
        "window": f"{_small(one['window_bytes_per_token'])} × {number(one['window_tokens'], 6)}"
        if one["window_bytes_per_token"]
        else "",
        "state": size(one["state_bytes"]) if one["state_bytes"] else "",
        "contexts": [(number(row["tokens"], 7), size(row["bytes"])) for row in one["contexts"]],
    }


def _groups(card: dict[str, Any]) -> list[dict[str, Any]]:
    """The groups of layers, a sentence each and their figures."""
    made = []
    for kind, rows in (("attention", card["attention"]), ("mlp", card["mlp"])):
        for row in rows:
            named = kind if kind == "mlp" else f"attention_{row['kind']}"
            parts = [
                f"{tr(f'pages_catalogue.layer.{name}')} {number(value, 7)}"
                for name, value in row.items()
                if name not in ("kind", "layers_count") and isinstance(value, int | float) and value
            ]
            title = tr(f"pages_catalogue.layer.{named}")
            made.append({"count": number(row["layers_count"], 6), "title": title, "told": ", ".join(parts)})
    return made


def _sources(sources: dict[str, str]) -> list[tuple[str, str, str]]:
    return [(name, *told.source(what)) for name, what in sources.items()]


def _sold(id: str, day: str) -> int:
    """How many providers sell it behind an API."""
    from cabida import app
    from cabida.facts.known import by_name_only

    try:
        with by_name_only():
            return len(app.api_prices(id, as_of=day)["rows"])
    except InvalidInput:
        return 0
