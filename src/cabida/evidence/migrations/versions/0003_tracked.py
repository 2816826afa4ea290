"""Months of a bill held against a decision: only ever added."""

import sqlalchemy as sa
from alembic import op

from cabida.evidence.migrations.added import only_added

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table, and triggers that refuse to change or remove a row of it."""
    op.create_table(
        "tracked_months",
        sa.Column("id", sa.Integer, primary_key=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("decision", "option", "month", "at", "row")),
    )
    op.create_index("tracked_by_decision", "tracked_months", ["decision", "option", "month"])
    only_added("tracked_months", "tracked months")
