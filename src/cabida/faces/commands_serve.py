"""``serve``: the page and the HTTP API, for oneself or for a team."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from cabida.errors import InvalidInput, UsageProblem
from cabida.faces.output import emit
from cabida.faces.words import Command, option, shared
from cabida.text import problem, tr

if TYPE_CHECKING:
    from cabida.faces.web.settings import Settings

ROLES = ("reader", "editor")


@click.command(cls=Command)
@option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS")
@option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True)
@option("--store", metavar="FILE|URL", default="")
@option("--workers", type=click.IntRange(0, 256), default=0, metavar="N")
@option("--open", "open_", is_flag=True)
@option("--behind", metavar="URL", default="", heading="serve_others")
@option("--proxies", metavar="NETWORKS", default="127.0.0.1,::1", show_default=True)
@option("--allow-private", is_flag=True)
@option(
    "--requests-per-minute", type=click.IntRange(1, 1_000_000), default=600, show_default=True, metavar="N"
)
@option("--log-json", is_flag=True)
@option("--new-token", metavar="NAME", default="", heading="serve_tokens")
@option("--role", type=click.Choice(ROLES), default="reader", show_default=True)
@option("--days", type=click.IntRange(1, 366), default=90, show_default=True, metavar="N")
@shared
def serve(as_json: bool, as_of: str | None, **said: Any) -> int:
    """The page and the HTTP API on this machine, or for a team."""
    from cabida.faces.web.settings import Settings

    if as_of:
        raise UsageProblem([problem("CB-U002", name="--as-of", near="--help")])
    store, behind = said["store"].strip(), _address(said["behind"].strip())
    if store:
        os.environ["CABIDA_STORE"] = store
    if said["new_token"]:
        return _new_token(said["new_token"], said["role"], said["days"], as_json=as_json)
    settings = Settings(
        store=store, host=said["host"], port=said["port"], workers=said["workers"], behind=behind,
        private_addresses=said["allow_private"], requests_per_minute=said["requests_per_minute"],
        proxies=said["proxies"],
    )  # fmt: skip
    _has_a_token(settings)
    try:
        from cabida.faces.web.running import run
    except ImportError as error:
        if (error.name or "").split(".")[0] not in ("fastapi", "uvicorn", "starlette", "multipart"):
            raise
        raise InvalidInput([problem("CB-S030", name=error.name)]) from None

    def told(url: str) -> None:
        from cabida.evidence.place import shown

        answer = {"url": url, "store": shown(store or None), "pid": os.getpid()}
        emit(answer, lambda: tr("faces.serve.at", **answer), as_json=as_json)
        sys.stdout.flush()
        if said["open_"]:
            click.launch(url)

    return run(settings, told, log_json=said["log_json"])


def _address(behind: str) -> str:
    """The address people type, as it is compared with what browsers send; "" stays "".

    Raises:
        UsageProblem: CB-S031.
    """
    parts = urlsplit(behind)
    try:
        sound = not behind or (parts.scheme in ("http", "https") and parts.hostname and parts.port != 0)
    except ValueError:
        sound = False
    if not sound or parts.path.strip("/") or parts.query or "@" in parts.netloc:
        raise UsageProblem([problem("CB-S031", url=behind[:200])])
    return f"{parts.scheme}://{parts.netloc.lower()}" if behind else ""


def _has_a_token(settings: Settings) -> None:
    """Whether anybody could come in, where that takes a token.

    Raises:
        InvalidInput: CB-S032, nobody could.
    """
    if settings.open_to_loopback_only:
        return
    from datetime import UTC, datetime

    from cabida.evidence.shelf import tokens

    now = datetime.now(UTC).isoformat(timespec="seconds")
    if not any(one.holds(now) for one in tokens()):
        raise InvalidInput([problem("CB-S032", host=settings.behind or settings.host)])


def _new_token(name: str, role: str, days: int, *, as_json: bool) -> int:
    """Make a token and show it, this once."""
    from cabida.evidence import shelf

    token, secret = shelf.new_token(name, role, days=days)
    answer = {"name": token.name, "role": token.role, "expires_at": token.expires_at, "token": secret}
    if as_json:
        emit(answer, lambda: "", as_json=True)
        return 0
    told = tr("faces.serve.token", name=token.name, role=tr(f"web.role.{role}"), until=token.expires_at[:10])
    click.echo(told, err=True)
    click.echo(secret)
    return 0
