"""Adding a row that may be there already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table


def added_once(connection: Connection, table: Table, values: dict[str, Any]) -> bool:
    """Add a row unless one of the same key is there; whether it is new."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as inserted
    else:
        from sqlalchemy.dialects.sqlite import insert as inserted  # type: ignore[assignment]
    asked = inserted(table).values(**values).on_conflict_do_nothing()
    return connection.execute(asked, execution_options={"preserve_rowcount": True}).rowcount == 1
