"""Lists by pages, versions by tags: what every list and every thing that changes has in common."""

import re
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import Header, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from cabida.evidence.shelf import Page
from cabida.faces.web.telling import Refused
from cabida.text import LOCALES, problem

Lang = Literal[LOCALES]  # type: ignore[valid-type]

MOST, USUAL = 200, 50
TAG = re.compile(r'(?:W/)?"?(\d{1,9})"?')


class Pages(BaseModel):
    """Which part of a list."""

    model_config = ConfigDict(extra="forbid")

    after: Annotated[
        str, Field(max_length=100, description="The `next` of the page before; empty = the first.")
    ] = ""
    most: Annotated[int, Field(ge=1, le=MOST, description="Items at once.")] = USUAL
    lang: Annotated[Lang | None, Field(description="Of what is told.")] = None


class Search(Pages):
    """Which part of a list, of those whose name has these letters."""

    search: Annotated[str, Field(max_length=200, description="Letters of the name.")] = ""


Paged = Annotated[Pages, Query()]
Searched = Annotated[Search, Query()]
IfMatch = Annotated[str | None, Header(description='The ETag you read: "3".', max_length=40)]


def item(one: Any, plain: Callable[[Any], dict[str, Any]] = asdict) -> dict[str, Any]:
    """A thing of the shelf as plain data."""
    return plain(one)


def listed(request: Request, page: Page[Any], plain: Callable[[Any], dict[str, Any]] = asdict) -> Response:
    """A page of a list: ``items`` and ``next`` ("" = these are the last), which the Link header has too."""
    headers = {}
    if page.next:
        query = {**dict(request.query_params), "after": page.next}
        headers["Link"] = f'<{request.url.path}?{urlencode(query)}>; rel="next"'
    return JSONResponse({"items": [plain(one) for one in page.items], "next": page.next}, headers=headers)


def page_schema(of: str) -> dict[str, Any]:
    """How a page of ``of`` is described."""
    return {
        "description": "A page of the list.",
        "headers": {"Link": {"description": 'The next page, rel="next".', "schema": {"type": "string"}}},
        "content": {"application/json": {"schema": {
            "type": "object", "required": ["items", "next"], "additionalProperties": False,
            "properties": {
                "items": {"type": "array", "items": {"$ref": f"#/components/schemas/{of}"}},
                "next": {"type": "string", "description": "Cursor of the page that follows; empty = none."},
            },
        }}},
    }  # fmt: skip


def one_schema(of: str, said: str = "", **headers: str) -> dict[str, Any]:
    """How one ``of`` is described."""
    told = {name: {"description": about, "schema": {"type": "string"}} for name, about in headers.items()}
    return {
        "description": said or "It.",
        "headers": told,
        "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{of}"}}},
    }


def version_of(tag: str | None) -> int:
    """The version that ``If-Match`` names.

    Raises:
        Refused: CB-S044 (428), it is missing; CB-S052 (400), it is none.
    """
    if not tag:
        raise Refused([problem("CB-S044")], 428)
    found = TAG.fullmatch(tag.strip())
    if found is None:
        raise Refused([problem("CB-S052", header="If-Match", found=tag[:40], such='"3"')], 400)
    return int(found[1])
