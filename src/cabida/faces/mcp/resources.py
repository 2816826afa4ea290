"""What may be read whole: facts, examples, schemas, decisions with their records, briefs that are kept."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput
from cabida.faces.mcp import kept
from cabida.faces.mcp.tool import Place
from cabida.text import problem, tr

if TYPE_CHECKING:
    from cabida.plan import Decision

JSON, YAML, MARKDOWN = "application/json", "application/yaml", "text/markdown"
SCHEMAS = {
    "brief": ("cabida.brief", "brief.schema.json"),
    "decision": ("cabida.report", "decision.schema.json"),
}
TEMPLATES = (  # address, name, kind
    ("cabida://facts/{kind}", "facts", JSON),
    ("cabida://fact/{id}", "fact", JSON),
    ("cabida://examples/{name}", "example", YAML),
    ("cabida://decisions/{id}", "decision", JSON),
    ("cabida://decisions/{id}/record", "record", MARKDOWN),
    ("cabida://briefs/{id}", "brief", YAML),
)
_URI = re.compile(r"cabida://(?P<room>facts|fact|examples|schemas|decisions|briefs)/(?P<id>[^?#]{1,200})")
LONGEST_URI = 300


def listed(place: Place, person: str) -> list[Any]:
    """The resources by name: examples, facts, schemas, the decisions held for whoever asks."""
    import mcp_types as types

    from cabida.brief.examples import example_names
    from cabida.faces.commands_facts import KINDS

    held = place.held.of(person)
    rows = [
        *((f"cabida://schemas/{one}", one, tr("mcp.resource.schema", name=one), JSON) for one in SCHEMAS),
        *((f"cabida://examples/{one}", one, tr("mcp.resource.example"), YAML) for one in example_names()),
        *((f"cabida://facts/{one}", one, tr("mcp.resource.facts", kind=one), JSON) for one in KINDS),
        *((f"cabida://decisions/{id}", id, one.answer, JSON) for id, one in held.items()),
        *(
            (f"cabida://decisions/{id}/record", f"{id} record", tr("mcp.record_of", id=id), MARKDOWN)
            for id in held
        ),
    ]
    return [
        types.Resource(uri=uri, name=name, description=told[:200], mime_type=kind)
        for uri, name, told, kind in rows
    ]


def templates(_: Place) -> list[Any]:
    """The addresses that resources have."""
    import mcp_types as types

    return [
        types.ResourceTemplate(
            uri_template=uri, name=name, mime_type=kind, description=tr(f"mcp.resource.of_{name}")
        )
        for uri, name, kind in TEMPLATES
    ]


def read(place: Place, person: str, uri: str) -> tuple[str, str]:
    """The text of a resource and its media type.

    Raises:
        InvalidInput: CB-O010, there is none of that address; CB-O007, CB-O008, CB-B037, CB-U016 of what it names.
    """
    from urllib.parse import unquote

    found = _URI.fullmatch(uri) if len(uri) <= LONGEST_URI else None
    if found is None:
        raise InvalidInput([problem("CB-O010", uri=uri[:200])])
    room, id = found["room"], unquote(found["id"])
    if room == "examples":
        from cabida.brief.examples import example_text

        return example_text(id), YAML
    if room == "briefs":
        return kept.brief_text(place.store or None, id), YAML
    if room == "decisions":
        return _decision(place, person, id)
    return _of_facts(room, id, uri)


def _of_facts(room: str, id: str, uri: str) -> tuple[str, str]:
    from importlib import resources as files

    from cabida import app
    from cabida.faces.commands_facts import KINDS
    from cabida.report.metrics import plain

    if room == "schemas" and id in SCHEMAS:
        package, name = SCHEMAS[id]
        return (files.files(package) / name).read_text(encoding="utf-8"), JSON
    if room == "facts" and id in KINDS:
        return _text(plain(app.facts_list(id))), JSON
    if room == "fact":
        fields, sources = app.fact(id)
        return _text(plain({**fields, "sources": sources})), JSON
    raise InvalidInput([problem("CB-O010", uri=uri[:200])])


def _text(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False)


def _decision(place: Place, person: str, id: str) -> tuple[str, str]:
    from cabida.report.store import to_json

    name, _, form = id.partition("/")
    if form not in ("", "record"):
        raise InvalidInput([problem("CB-O010", uri=f"cabida://decisions/{id}"[:200])])
    decision = _known(place, person, name)
    if form:
        from cabida import app

        return str(app.record(decision, "md")), MARKDOWN
    return to_json(decision), JSON


def _known(place: Place, person: str, id: str) -> Decision:
    from cabida.report.store import from_json

    if (held := place.held.get(person, id)) is not None:
        return held
    if (text := kept.decision_text(place.store or None, id)) is not None:
        return from_json(text, file=id)
    near = ", ".join(list(place.held.of(person))[:5]) or "–"
    raise InvalidInput([problem("CB-O007", id=id[:80], near=near)])
