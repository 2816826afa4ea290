"""The tables of the evidence store. Every change is a migration in ``migrations/versions``; rows are never changed."""

from __future__ import annotations

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, LargeBinary, MetaData, Table, Text

from cabida.evidence.place import HEAD as HEAD

APPLICATION_ID = 0x0CAB1DA0  # tells a store of Cabida from any other SQLite file

METADATA = MetaData()

IMPORTS = Table(
    "imports",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("file_sha256", Text, nullable=False, index=True),
    Column("file_name", Text, nullable=False),  # without its folders
    Column("size_bytes", Integer, nullable=False),
    Column("format", Text, nullable=False),
    Column("lines_count", Integer, nullable=False),
    Column("unknown_count", Integer, nullable=False),
    Column("tool_version", Text, nullable=False),
    Column("at", Text, nullable=False),  # UTC, ISO 8601
)

OBSERVATIONS = Table(
    "observations",
    METADATA,
    Column("id", Text, primary_key=True),  # from its content
    Column("import_id", Integer, ForeignKey("imports.id"), nullable=False, index=True),
    Column("place", Integer, nullable=False),  # which observation of the file, from 0
    Column("kind", Text, nullable=False),
    Column("engine", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("gpu", Text, nullable=False),
    Column("row", Text, nullable=False),  # JSON, a row of a case file
)

LINES = Table(
    "unknown_lines",
    METADATA,
    Column("import_id", Integer, ForeignKey("imports.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("text", Text, nullable=False),
)

MARKS = Table(  # observations that no longer count: forgotten by a person, or read again with more said
    "marks",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("observation_id", Text, ForeignKey("observations.id"), nullable=False, index=True),
    Column("mark", Text, nullable=False),  # forgotten, superseded, restored
    Column("why", Text, nullable=False),
    Column("at", Text, nullable=False),
)

Index("observations_by_setup", OBSERVATIONS.c.engine, OBSERVATIONS.c.gpu)

PRICE_IMPORTS = Table(
    "price_imports",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("file_sha256", Text, nullable=False, index=True),
    Column("file_name", Text, nullable=False),  # without its folders
    Column("size_bytes", Integer, nullable=False),
    Column("format", Text, nullable=False),
    Column("rows_count", Integer, nullable=False),
    Column("kept_count", Integer, nullable=False),  # sightings that were new
    Column("known_count", Integer, nullable=False),  # that were there already
    Column("unread_count", Integer, nullable=False),
    Column("first_seen", Text, nullable=False),  # ISO date of the oldest new sighting; "" = an undated one
    Column("content", Text, nullable=False),  # SHA-256 of the new sightings
    Column("tool_version", Text, nullable=False),
    Column("at", Text, nullable=False),  # UTC, ISO 8601: when they were recorded
)

PRICE_SOURCES = Table(
    "price_sources",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("import_id", Integer, ForeignKey("price_imports.id"), nullable=False, index=True),
    Column("what", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("seen", Text, nullable=False),
    Column("grade", Text, nullable=False),
)

PRICE_SIGHTINGS = Table(  # every field of facts.model.Offer; amounts are decimal text
    "price_sightings",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("digest", LargeBinary, nullable=False, unique=True),  # of what is sighted, whoever tells it
    Column("import_id", Integer, ForeignKey("price_imports.id"), nullable=False, index=True),
    Column("line", Integer, nullable=False),
    Column("recorded_at", Text, nullable=False),
    Column("source_id", Integer, nullable=False),  # of price_sources
    Column("field_sources", Text, nullable=False),  # JSON; "" = none
    Column("name", Text, nullable=False),  # Offer.id
    Column("provider", Text, nullable=False),
    Column("provider_kind", Text, nullable=False),
    Column("accelerator", Text, nullable=False),
    Column("accelerators_count", Integer, nullable=False),
    Column("region", Text, nullable=False),
    Column("country", Text, nullable=False),
    Column("capacity", Text, nullable=False),
    Column("term_months", Integer, nullable=False),
    Column("upfront_ratio", Float, nullable=False),
    Column("amount", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("currency", Text, nullable=False),
    Column("seen", Text, nullable=False),
    Column("effective", Text, nullable=False),
    Column("sighting", Text, nullable=False),
    Column("sample_count", Integer, nullable=False),
    Column("low_amount", Text),
    Column("high_amount", Text),
    Column("condition", Text, nullable=False),
    Column("notes", Text, nullable=False),
    Column("form_factor", Text, nullable=False),
    Column("fraction_ratio", Float, nullable=False),
    Column("node_shape", Text, nullable=False),
    Column("minimum_count", Integer, nullable=False),
    Column("includes", Text, nullable=False),  # one a line
    Column("median_amount", Text),
    Column("until", Text, nullable=False),
    Column("tax_ratio", Float, nullable=False),
    Column("more", Text, nullable=False),  # JSON of fields that came later; "" = none
)
Index("price_sightings_by_part", PRICE_SIGHTINGS.c.accelerator, PRICE_SIGHTINGS.c.seen)

API_SIGHTINGS = Table(
    "api_sightings",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("import_id", Integer, ForeignKey("price_imports.id"), nullable=False, index=True),
    Column("line", Integer, nullable=False),
    Column("recorded_at", Text, nullable=False),
    Column("source_id", Integer, nullable=False),  # of price_sources
    Column("provider", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("seen", Text, nullable=False),
    Column("row", Text, nullable=False),  # JSON: every field of facts.model.ApiOffer but its source
)
Index("api_sightings_by_model", API_SIGHTINGS.c.model, API_SIGHTINGS.c.seen)

PRICE_UNREAD = Table(  # rows of a price list that nobody could read, and why
    "price_unread",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("import_id", Integer, ForeignKey("price_imports.id"), nullable=False, index=True),
    Column("line", Integer, nullable=False),
    Column("text", Text, nullable=False),  # its beginning
    Column("why", Text, nullable=False),  # text evidence.import_why.*
    Column("near", Text, nullable=False),  # the nearest name that is known, where a name was not
)

TRACKED = Table(  # months of a bill held against a decision; of a month told twice the last one counts
    "tracked_months",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("decision", Text, nullable=False),
    Column("option", Text, nullable=False),
    Column("month", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("row", Text, nullable=False),  # JSON
)
Index("tracked_by_decision", TRACKED.c.decision, TRACKED.c.option, TRACKED.c.month)

QUOTES = Table(  # vendors' quotes; of the same vendor and number the last one counts
    "quotes",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("digest", LargeBinary, nullable=False, unique=True),  # of content
    Column("vendor", Text, nullable=False),
    Column("quote_id", Text, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("effective", Text, nullable=False),  # the day it was issued, else the day it was recorded
    Column("expires", Text, nullable=False),  # "" = not said
    Column("recorded_at", Text, nullable=False),
    Column("file_name", Text, nullable=False),
    Column("file_sha256", Text, nullable=False),
    Column("form", Text, nullable=False),
    Column("content", Text, nullable=False),  # the filled-in form, YAML: every field
    Column("seen", Text, nullable=False),  # JSON: where each field was read, and what nobody understood
)
Index("quotes_by_vendor", QUOTES.c.vendor, QUOTES.c.quote_id)
