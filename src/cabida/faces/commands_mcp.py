"""``mcp``: the use cases as tools of an assistant, over standard input or HTTP."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from cabida.errors import InvalidInput, UsageProblem
from cabida.faces.output import emit
from cabida.faces.words import Command, option, shared
from cabida.text import locale, problem, tr

PORT = 8766


@click.command(cls=Command)
@option("--root", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@option("--store", metavar="FILE|URL")
@option("--as-text", is_flag=True)
@option("--allow-bench", is_flag=True)
@option("--allow-elsewhere", is_flag=True)
@option("--http", is_flag=True, heading="http")
@option("--host", default="127.0.0.1", show_default=True)
@option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True)
@option("--behind", metavar="URL", default="")
@shared
def mcp(
    root: Path | None,
    store: str | None,
    as_text: bool,
    allow_bench: bool,
    allow_elsewhere: bool,
    http: bool,
    host: str,
    port: int,
    behind: str,
    as_json: bool,
    as_of: str | None,
) -> None:
    """Tools for assistants."""
    if as_of:  # each call says its own
        raise UsageProblem([problem("CB-U002", name="--as-of", near="--help")])
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise InvalidInput([problem("CB-O014", extra="mcp")])
    if store:
        os.environ["CABIDA_STORE"] = store  # for everything that this process does
    if http:
        if root is not None or allow_bench or allow_elsewhere:
            raise UsageProblem([problem("CB-O015")])
        _over_http(host, port, behind, as_text=as_text, as_json=as_json)
        return
    from functools import partial

    import anyio

    from cabida.faces.mcp.held import Held
    from cabida.faces.mcp.server import serve_stdio
    from cabida.faces.mcp.tool import Place

    folder = (root or Path.cwd()).resolve()
    os.chdir(folder)  # what a brief names beside it lies under this folder
    place = Place(
        Held(), folder, store or "", allow_bench, allow_elsewhere, as_text=as_text, language=locale()
    )
    anyio.run(partial(serve_stdio, place))
    os._exit(0)  # a thread that nobody waits for any more doesn't hold the process


def _over_http(host: str, port: int, behind: str, *, as_text: bool, as_json: bool) -> None:
    from importlib.util import find_spec

    from cabida.faces.web.settings import Settings

    if find_spec("uvicorn") is None:
        raise InvalidInput([problem("CB-O014", extra="mcp,serve")])
    settings = Settings(host=host, port=port, behind=behind)
    if not settings.open_to_loopback_only:
        from cabida.evidence import shelf

        now = datetime.now(UTC).isoformat(timespec="seconds")
        if not any(not one.revoked_at and (one.expires_at or now) >= now for one in shelf.tokens()):
            raise InvalidInput([problem("CB-O016", host=host)])
    import uvicorn

    from cabida.faces.mcp.http import PATH, http_app

    url = f"http://{host}:{port}{PATH}"
    emit({"url": url}, lambda: tr("faces.mcp_at", url=url), as_json=as_json)
    sys.stdout.flush()
    uvicorn.run(
        http_app(settings, as_text=as_text), host=host, port=port, log_level="warning", access_log=False
    )
