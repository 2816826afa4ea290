"""The price book: imports of price lists, their sources, sightings, API prices, and rows nobody could read."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from cabida.evidence.migrations.added import WHOLE, may_wait, only_added

revision = "0002"
down_revision = "0001"

TEXTS_COUNTS_RATIOS: dict[str, Any] = {  # every field of an offer, in the order of the noun
    "provider": sa.Text, "provider_kind": sa.Text, "accelerator": sa.Text, "accelerators_count": WHOLE,
    "region": sa.Text, "country": sa.Text, "capacity": sa.Text, "term_months": WHOLE, "upfront_ratio": sa.Float,
    "amount": sa.Text, "unit": sa.Text, "currency": sa.Text, "seen": sa.Text, "effective": sa.Text, "sighting": sa.Text,
    "sample_count": WHOLE, "low_amount": sa.Text, "high_amount": sa.Text, "condition": sa.Text, "notes": sa.Text,
    "form_factor": sa.Text, "fraction_ratio": sa.Float, "node_shape": sa.Text, "minimum_count": WHOLE,
    "includes": sa.Text, "median_amount": sa.Text, "until": sa.Text, "tax_ratio": sa.Float,
}  # fmt: skip
OPEN = ("low_amount", "high_amount", "median_amount")
KEPT = ("price_imports", "price_sources", "price_sightings", "api_sightings", "price_unread")


def upgrade() -> None:
    """Make the tables, and triggers that refuse to change or remove a row of them."""
    op.create_table(
        "price_imports",
        sa.Column("id", sa.Integer, primary_key=True),
        *_texts("file_sha256", "file_name"),
        *_counts("size_bytes"),
        *_texts("format"),
        *_counts("rows_count", "kept_count", "known_count", "unread_count"),
        *_texts("first_seen", "content", "tool_version", "at"),
    )
    op.create_index("ix_price_imports_file_sha256", "price_imports", ["file_sha256"])
    op.create_table(
        "price_sources",
        sa.Column("id", sa.Integer, primary_key=True),
        _of_import(),
        *_texts("what", "url", "seen", "grade"),
    )
    op.create_table(
        "price_sightings",
        *_sighted(),
        *_texts("field_sources", "name"),
        *(sa.Column(name, kind, nullable=name in OPEN) for name, kind in TEXTS_COUNTS_RATIOS.items()),
        *_texts("more"),
    )
    op.create_index("price_sightings_by_part", "price_sightings", ["accelerator", "seen"])
    op.create_table("api_sightings", *_sighted(), *_texts("provider", "model", "seen", "row"))
    op.create_index("api_sightings_by_model", "api_sightings", ["model", "seen"])
    op.create_table(
        "price_unread",
        sa.Column("id", sa.Integer, primary_key=True),
        _of_import(),
        *_counts("line"),
        *_texts("text", "why", "near"),
    )
    for table in KEPT:
        if table != "price_imports":
            op.create_index(f"ix_{table}_import_id", table, ["import_id"])
            may_wait(table, "import_id")
        only_added(table, "prices")


def _texts(*names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


def _counts(*names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, WHOLE, nullable=False) for name in names]


def _of_import() -> sa.Column[Any]:
    return sa.Column("import_id", sa.Integer, sa.ForeignKey("price_imports.id"), nullable=False)


def _sighted() -> list[sa.Column[Any]]:
    return [
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("digest", sa.LargeBinary, nullable=False, unique=True),
        _of_import(),
        *_counts("line"),
        *_texts("recorded_at"),
        sa.Column("source_id", sa.Integer, nullable=False),
    ]
