"""What the commands about the store show on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cabida.text import number, printable, tr
from cabida.text import size as large

DIGITS = 15  # of a count: every one of them


def place(told: dict[str, Any]) -> Any:
    """Where the store is, its schema, size and rows."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    head = Text(printable(told["place"]), style="bold")
    if not told["there"]:
        return Group(head, Text(tr("shelf.where.none")))
    kind = tr(f"shelf.where.{told['kind']}")
    said = tr("shelf.where.said", kind=kind, schema=told["schema"], size=size(told["size_bytes"]))
    parts: list[Any] = [head, Text(said)]
    if told["schema"] != told["newest_schema"]:
        parts.append(Text(tr("shelf.where.older", newest=told["newest_schema"])))
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, count in told["rows"].items():
        if count and name not in ("alembic_version", "audit_end"):
            table.add_row(tr(f"shelf.table.{name}"), number(count, DIGITS))
    return Group(*parts, table)


def copied(told: dict[str, Any]) -> str:
    """A copy was made."""
    return tr("shelf.copied", file=told["file"], size=size(told["size_bytes"]))


def restored(told: dict[str, Any]) -> str:
    """A copy was put back."""
    said = tr("shelf.restored", store=told["store"], file=told["from"])
    return f"{said}\n{tr('shelf.aside', place=told['aside'])}" if told["aside"] else said


def exported(told: dict[str, Any]) -> str:
    """The store was written as files."""
    rows, files = number(sum(told["rows"].values()), DIGITS), number(told["files_count"], DIGITS)
    return tr("shelf.exported", folder=told["folder"], rows=rows, files=files, size=size(told["size_bytes"]))


def taken(told: dict[str, Any]) -> str:
    """An export was added."""
    added, known = (number(sum(told[name].values()), DIGITS) for name in ("added", "known"))
    said = tr("shelf.taken", store=told["store"], added=added, known=known)
    return f"{said}\n{tr('shelf.tokens_left')}" if told["left_out"] else said


def upgraded(told: dict[str, Any]) -> str:
    """The schema before and now."""
    key = "same" if told["before"] == told["now"] else "made" if told["before"] is None else "done"
    return tr(f"shelf.upgraded.{key}", store=told["place"], before=told["before"] or "–", now=told["now"])


def checked(told: dict[str, Any]) -> Any:
    """Whether the store is sound, and what is wrong."""
    from rich.console import Group
    from rich.text import Text

    rows = number(sum(told["rows"].values()), DIGITS)
    if told["sound"]:
        return tr("shelf.sound", store=told["place"], rows=rows)
    head = tr("shelf.unsound", store=told["place"], count=number(len(told["wrong"]), DIGITS))
    return Group(Text(head, style="bold"), *(Text(f"  {printable(one)}") for one in told["wrong"]))


def log(told: dict[str, Any]) -> Any:
    """Who changed what."""
    from rich.console import Group
    from rich.text import Text

    if not told["lines"]:
        return tr("shelf.log.none")
    rows = [
        (
            one["at"],
            one["by"],
            f"{_word('what', one['what'])} {_word('kind', one['kind'])}",
            one["name"],
            one["of"],
        )
        for one in told["lines"]
    ]
    table = _table("log", ("at", "by", "what", "name", "of"), rows)
    return Group(table, Text(tr("shelf.log.more", cursor=told["next"]))) if told["next"] else table


def token_made(told: dict[str, Any]) -> Any:
    """A key, the only time that it is shown."""
    from rich.console import Group
    from rich.text import Text

    role = tr(f"shelf.role.{told['role']}")
    said = tr("shelf.token.made", id=told["id"], name=told["name"], role=role, until=told["expires_at"][:10])
    return Group(Text(printable(said)), Text(told["secret"], style="bold"), Text(tr("shelf.token.once")))


def tokens(told: dict[str, Any]) -> Any:
    """One row for each key."""
    if not told["tokens"]:
        return tr("shelf.token.none")
    rows = [
        (
            one["id"], one["name"], tr(f"shelf.role.{one['role']}"), one["made_by"], one["last_used_at"][:16] or "–",
            tr("shelf.token.revoked", day=one["revoked_at"][:10]) if one["revoked_at"] else one["expires_at"][:10],
        )
        for one in told["tokens"]
    ]  # fmt: skip
    return _table("token", ("id", "name", "role", "made_by", "used", "until"), rows)


def token_revoked(told: dict[str, Any]) -> str:
    """A key that opens nothing any more."""
    return tr("shelf.token.gone", id=told["id"], name=told["name"])


def size(count_bytes: int) -> str:
    """Bytes as a person says them: most copies are small."""
    return f"{number(count_bytes / 1024)} KiB" if count_bytes < 2**20 else large(count_bytes)


def _word(what: str, word: str) -> str:
    from cabida.text import has_text

    key = f"shelf.log.{what}.{word}"
    return tr(key) if has_text(key) else word


def _table(of: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for head in heads:
        table.add_column(tr(f"shelf.{of}.head.{head}"), overflow="fold")
    for row in rows:
        table.add_row(*map(printable, row))
    return table
