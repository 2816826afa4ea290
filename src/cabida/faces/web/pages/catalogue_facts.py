"""Facts: whether they are sound, how many there are of each kind, and one with its sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput
from cabida.faces.web.frame import page
from cabida.faces.web.pages.catalogue_asked import address, day_of, said, sheet
from cabida.faces.web.pages.catalogue_prices import plain, record
from cabida.text import has_text, number, problem, size, tr

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

KINDS = (
    *("accelerators", "classes", "nodes", "engines", "formats", "models", "pipelines", "components", "mig"),
    *("collectives", "energy"),
)
OPENED = ("accelerators", "nodes", "engines", "formats", "models", "pipelines", "components", "mig")


def facts(request: Request) -> Response:
    """The state of the facts in use, and what kinds there are."""
    from cabida import app
    from cabida import facts as world

    day = day_of(request)
    return page(
        request,
        "catalogue_facts.html.j2",
        digest=world.digest(),
        faults=app.facts_check(),
        kinds=[(kind, _kind(kind), number(len(app.facts_list(kind, day)), 6)) for kind in KINDS],
        day=day,
    )


def _kind(kind: str) -> str:
    return tr(f"pages_catalogue.kind.{kind}")


def kind(request: Request) -> Response:
    """All facts of one kind."""
    from cabida import app
    from cabida.faces.web.telling import NotFound

    name = request.path_params["kind"]
    if name not in KINDS:
        raise NotFound([problem("CB-S063", name=name[:60])])
    words = said(request, "q").lower().split()
    rows = app.facts_list(name, day_of(request))
    header = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[_cell(key, row.get(key)) for key in header] for row in rows]
    found = [
        (row, line)
        for row, line in zip(rows, cells, strict=True)
        if all(word in " ".join(line).lower() for word in words)
    ]
    query = {"q": said(request, "q")}
    return page(
        request,
        "catalogue_facts_kind.html.j2",
        title=_kind(name),
        header=[_title(key) for key in header],
        right=[at for at, key in enumerate(header) if rows and isinstance(rows[0].get(key), int | float)],
        sheet=sheet(request, [(_path(name, row), line) for row, line in found]),
        q=said(request, "q"),
        kind=name,
        link=lambda **changed: address(f"/catalogue/facts/{name}", query, **changed),
    )


def _path(kind: str, row: dict[str, Any]) -> str:
    """The page of a fact; "" of those that have none."""
    id = str(row.get("id", ""))
    if not id or kind not in OPENED:
        return ""
    if kind == "accelerators":
        return f"/catalogue/gpus/{id}"
    return f"/catalogue/models/{id}" if kind == "models" else address("/catalogue/fact", {"id": id})


def _title(name: str) -> str:
    key = f"pages_catalogue.column.{name}"
    return tr(key) if has_text(key) else name.replace("_", " ")


def _cell(name: str, value: Any) -> str:
    if name == "year":
        return str(value or "–")
    if name.endswith("_bytes") and isinstance(value, int | float):
        return size(value)
    return plain(value)


def fact(request: Request) -> Response:
    """One fact, field by field, with its sources; of an engine also what it runs on what."""
    from cabida import app
    from cabida.faces.web.telling import NotFound
    from cabida.report.software_matrix import software_matrix

    id = request.query_params.get("id", "")[:200]
    try:
        fields, sources = app.fact(id)
    except InvalidInput as error:
        raise NotFound(error.problems) from None
    found = software_matrix(id, day_of(request))
    matrix = {key: _matrix(rows) for key, rows in found.items() if rows}
    title = str(fields.get("name") or fields.get("id") or id)
    return page(
        request, "catalogue_fact.html.j2", title=title, back="/catalogue/facts", tab="facts",
        rows=record(fields, sources), matrix=matrix,
    )  # fmt: skip


def _matrix(rows: list[dict[str, Any]]) -> dict[str, Any]:
    names = [name for name in rows[0] if name != "source" and any(row[name] for row in rows)]
    titles = [tr(f"faces.matrix.{name}") if has_text(f"faces.matrix.{name}") else name for name in names]
    return {"header": titles, "rows": [[state(row[name]) for name in names] for row in rows]}


def state(value: str) -> str:
    """How an engine runs a format: at full rate, as storage only ..."""
    known = value in ("native", "weight-only", "steps", "no", "runs")
    return tr(f"faces.matrix.{value}") if known else value or "–"
