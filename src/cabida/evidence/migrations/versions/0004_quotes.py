"""Vendors' quotes: only ever added."""

import sqlalchemy as sa
from alembic import op

from cabida.evidence.migrations.added import only_added

revision = "0004"
down_revision = "0003"

TEXTS = (
    "vendor", "quote_id", "purpose", "effective", "expires", "recorded_at", "file_name", "file_sha256", "form",
    "content", "seen",
)  # fmt: skip


def upgrade() -> None:
    """Make the table, and triggers that refuse to change or remove a row of it."""
    op.create_table(
        "quotes",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("digest", sa.LargeBinary, nullable=False, unique=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in TEXTS),
    )
    op.create_index("quotes_by_vendor", "quotes", ["vendor", "quote_id"])
    only_added("quotes", "quotes")
