"""What a team keeps together: briefs with their versions, decisions, jobs, runs, tokens, and who changed what."""

import sqlalchemy as sa
from alembic import op

from cabida.evidence.migrations.added import WHOLE, only_added

revision = "0005"
down_revision = "0004"

ONLY_ADDED = ("brief_versions", "decision_texts", "audit")


def upgrade() -> None:
    """Make the tables, and triggers that refuse to change or remove a row of those that are only ever added."""
    _briefs()
    _decisions()
    _jobs()
    _runs_and_tokens()
    _audit()
    for table in ONLY_ADDED:
        only_added(table, table.replace("_", " "))


def _id() -> sa.types.TypeEngine[str]:
    """A text that sorts by its bytes in every database."""
    return sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, WHOLE, nullable=False)


def _briefs() -> None:
    op.create_table(
        "briefs",
        sa.Column("id", _id(), primary_key=True),
        _count("version"),
        *_texts("name", "search", "workload"),
        _count("size_bytes"),
        *_texts("made_at", "made_by", "changed_at", "changed_by"),
        _count("gone"),
    )
    op.create_table(
        "brief_versions",
        sa.Column("brief_id", _id(), sa.ForeignKey("briefs.id"), primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        *_texts("name", "text", "workload"),
        _count("size_bytes"),
        *_texts("at", "by_whom"),
        _count("gone"),
    )


def _decisions() -> None:
    op.create_table(
        "decision_texts",
        sa.Column("digest", sa.Text, primary_key=True),
        _count("size_bytes"),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "decisions",
        sa.Column("id", _id(), primary_key=True),
        sa.Column("digest", sa.Text, sa.ForeignKey("decision_texts.digest"), nullable=False),
        *_texts("name", "search", "brief_id"),
        _count("brief_version"),
        *_texts("as_of", "language", "workload"),
        sa.Column("winner", sa.Text),
        sa.Column("unit_cost", sa.Float),
        *_texts("currency"),
        sa.Column("exit_code", sa.Integer),
        *_texts("made_at", "made_by"),
        _count("gone"),
    )
    op.create_index("decisions_once", "decisions", ["digest", "made_by"], unique=True)
    op.create_index("decisions_by_brief", "decisions", ["brief_id", "id"])


def _jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", _id(), primary_key=True),
        *_texts("kind", "asked", "asked_digest", "state", "progress"),
        sa.Column("result", sa.Text),
        *_texts("errors", "made_by", "made_at", "began_at", "ended_at"),
        sa.Column("key", sa.Text),
        *_texts("server"),
    )
    op.create_index("jobs_by_key", "jobs", ["made_by", "key"], unique=True)
    op.create_index("jobs_by_state", "jobs", ["state", "id"])
    op.create_table(
        "servers",
        sa.Column("id", _id(), primary_key=True),
        *_texts("host"),
        _count("pid"),
        *_texts("began_at", "beat_at"),
    )


def _runs_and_tokens() -> None:
    op.create_table(
        "bench_runs",
        sa.Column("id", _id(), primary_key=True),
        *_texts("name", "search", "plan_text", "folder", "state", "job"),
        sa.Column("summary", sa.Text),
        *_texts("made_at", "made_by", "changed_at", "changed_by"),
        _count("gone"),
    )
    op.create_table(
        "tokens",
        sa.Column("id", _id(), primary_key=True),
        *_texts("name", "role"),
        sa.Column("secret_sha256", sa.Text, nullable=False, unique=True),
        *_texts("made_at", "made_by", "expires_at", "revoked_at", "last_used_at"),
    )


def _audit() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        *_texts("at", "by_whom", "what", "kind", "of_id", "name", "before", "after", "digest"),
    )
    op.create_index("audit_by_thing", "audit", ["of_id", "id"])
    end = op.create_table(
        "audit_end",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        _count("last"),
        *_texts("digest"),
    )
    op.bulk_insert(end, [{"id": 1, "last": 0, "digest": ""}])
