"""What migrations say on either database: rows that are only ever added, counts as large as a file may be."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
FUNCTION = """
CREATE OR REPLACE FUNCTION cabida_only_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'integrity_constraint_violation', MESSAGE = TG_ARGV[0];
END $$
"""


def only_added(table: str, what: str) -> None:
    """Refuse to change or remove a row of a table: triggers that say ``what`` are only ever added."""
    said = f"{what} are only ever added"
    if op.get_bind().dialect.name == "sqlite":
        for change in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{said}'); END"
            )
        return
    op.execute(FUNCTION)
    for change, each in (("UPDATE", "ROW"), ("DELETE", "ROW"), ("TRUNCATE", "STATEMENT")):
        op.execute(
            f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {table} "
            f"FOR EACH {each} EXECUTE FUNCTION cabida_only_added('{said}')"
        )


def may_wait(table: str, *columns: str) -> None:
    """Let a transaction keep a row before the one that its columns point to (SQLite always can)."""
    if op.get_bind().dialect.name != "sqlite":
        for column in columns:
            op.execute(f"ALTER TABLE {table} ALTER CONSTRAINT {table}_{column}_fkey DEFERRABLE")
