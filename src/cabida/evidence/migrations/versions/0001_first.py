"""The first schema: imports, their observations, lines nobody understood, and marks."""

import sqlalchemy as sa
from alembic import op

from cabida.evidence.migrations.added import WHOLE, may_wait

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "imports",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("file_sha256", sa.Text, nullable=False),
        sa.Column("file_name", sa.Text, nullable=False),
        sa.Column("size_bytes", WHOLE, nullable=False),
        sa.Column("format", sa.Text, nullable=False),
        sa.Column("lines_count", WHOLE, nullable=False),
        sa.Column("unknown_count", WHOLE, nullable=False),
        sa.Column("tool_version", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
    )
    op.create_index("ix_imports_file_sha256", "imports", ["file_sha256"])
    op.create_table(
        "observations",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("import_id", sa.Integer, sa.ForeignKey("imports.id"), nullable=False),
        sa.Column("place", WHOLE, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("engine", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("gpu", sa.Text, nullable=False),
        sa.Column("row", sa.Text, nullable=False),
    )
    op.create_index("ix_observations_import_id", "observations", ["import_id"])
    op.create_index("observations_by_setup", "observations", ["engine", "gpu"])
    op.create_table(
        "unknown_lines",
        sa.Column("import_id", sa.Integer, sa.ForeignKey("imports.id"), primary_key=True),
        sa.Column("number", WHOLE, primary_key=True, autoincrement=False),
        sa.Column("text", sa.Text, nullable=False),
    )
    op.create_table(
        "marks",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("observation_id", sa.Text, sa.ForeignKey("observations.id"), nullable=False),
        sa.Column("mark", sa.Text, nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
    )
    op.create_index("ix_marks_observation_id", "marks", ["observation_id"])
    may_wait("observations", "import_id")
    may_wait("unknown_lines", "import_id")
    may_wait("marks", "observation_id")
