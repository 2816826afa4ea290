"""``store``: where everything is kept, copies of it, it as files, who changed what, and keys to the server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import click

from cabida.errors import InvalidInput
from cabida.faces.output import emit
from cabida.faces.words import Command, FarGroup, Group, option, shared

F = TypeVar("F", bound=Callable[..., Any])


def _store(function: F) -> F:
    return option("--store", metavar="FILE|URL")(function)


@click.group(cls=FarGroup, elsewhere={})
def store() -> None:
    """Everything that is kept."""


@store.command(cls=Command)
@_store
@shared
def where(store: str | None, as_json: bool, as_of: str | None) -> None:
    """Where the store is and what it holds."""
    from cabida.evidence import checking
    from cabida.faces import store_screens

    told = checking.place_of(store)
    emit(told, lambda: store_screens.place(told), as_json=as_json)


@store.command(cls=Command)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@option("--replace", is_flag=True)
@_store
@shared
def backup(file: Path, replace: bool, store: str | None, as_json: bool, as_of: str | None) -> None:
    """A copy of the store in FILE."""
    from cabida import app
    from cabida.faces import store_screens

    told = app.store_backup(file, replace=replace, store=store)
    emit(told, lambda: store_screens.copied(told), as_json=as_json)


@store.command(cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@option("--replace", is_flag=True)
@_store
@shared
def restore(file: Path, replace: bool, store: str | None, as_json: bool, as_of: str | None) -> None:
    """The store from a copy."""
    from cabida import app
    from cabida.faces import store_screens

    told = app.store_restore(file, replace=replace, store=store)
    emit(told, lambda: store_screens.restored(told), as_json=as_json)


@store.command("export", cls=Command)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@_store
@shared
def export_(folder: Path, store: str | None, as_json: bool, as_of: str | None) -> None:
    """The store as files in a new FOLDER."""
    from cabida import app
    from cabida.faces import store_screens

    told = app.store_export(folder, store=store)
    emit(told, lambda: store_screens.exported(told), as_json=as_json)


@store.command("import", cls=Command)
@click.argument("folder", type=click.Path(path_type=Path))
@option("--tokens", is_flag=True)
@_store
@shared
def import_(folder: Path, tokens: bool, store: str | None, as_json: bool, as_of: str | None) -> None:
    """Add what an export holds."""
    from cabida import app
    from cabida.faces import store_screens

    told = app.store_import(folder, tokens=tokens, store=store)
    emit(told, lambda: store_screens.taken(told), as_json=as_json)


@store.command(cls=Command)
@_store
@shared
def upgrade(store: str | None, as_json: bool, as_of: str | None) -> None:
    """Bring the store to this release's schema."""
    from cabida.evidence import checking
    from cabida.faces import store_screens

    told = checking.upgrade(store)
    emit(told, lambda: store_screens.upgraded(told), as_json=as_json)


@store.command(cls=Command)
@_store
@shared
def check(store: str | None, as_json: bool, as_of: str | None) -> None:
    """Look the whole store over."""
    from cabida.evidence import checking
    from cabida.faces import store_screens

    told = checking.check(store)
    emit(told, lambda: store_screens.checked(told), as_json=as_json)
    if not told["sound"]:
        raise SystemExit(InvalidInput.exit_code)


@store.command(cls=Command)
@option("--of", metavar="ID", default="")
@option("--by", metavar="NAME", default="")
@option("--kind", metavar="KIND", default="")
@option("--after", metavar="CURSOR", default="")
@option("--most", type=click.IntRange(1, 500), default=50, show_default=True)
@_store
@shared
def log(
    of: str, by: str, kind: str, after: str, most: int, store: str | None, as_json: bool, as_of: str | None
) -> None:
    """Who changed what, the newest first."""
    from cabida.evidence import shelf
    from cabida.faces import store_screens

    page = shelf.audit_log(of=of, by=by, kind=kind, after=after, most=most, store=store)
    told = {"lines": [asdict(one) for one in page.items], "next": page.next}
    emit(told, lambda: store_screens.log(told), as_json=as_json)


@store.group(cls=Group)
def token() -> None:
    """Keys to the server."""


@token.command("add", cls=Command)
@click.argument("name")
@option("--role", type=click.Choice(["reader", "editor"]), default="reader", show_default=True)
@option("--days", type=click.IntRange(1, 366), default=90, show_default=True)
@_store
@shared
def add(name: str, role: str, days: int, store: str | None, as_json: bool, as_of: str | None) -> None:
    """A new key for NAME, shown once."""
    from cabida.evidence import shelf
    from cabida.faces import store_screens

    made, secret = shelf.new_token(name, role, days=days, store=store)
    told = {**asdict(made), "secret": secret}
    emit(told, lambda: store_screens.token_made(told), as_json=as_json)


@token.command("list", cls=Command)
@_store
@shared
def list_(store: str | None, as_json: bool, as_of: str | None) -> None:
    """The keys, without their secrets."""
    from cabida.evidence import shelf
    from cabida.faces import store_screens

    told = {"tokens": [asdict(one) for one in shelf.tokens(store=store)]}
    emit(told, lambda: store_screens.tokens(told), as_json=as_json)


@token.command("revoke", cls=Command)
@click.argument("id")
@_store
@shared
def revoke(id: str, store: str | None, as_json: bool, as_of: str | None) -> None:
    """Let a key open nothing any more."""
    from cabida.evidence import shelf
    from cabida.faces import store_screens

    told = asdict(shelf.revoke_token(id, store=store))
    emit(told, lambda: store_screens.token_revoked(told), as_json=as_json)
