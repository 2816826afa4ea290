"""The tables of the store. Every change is a migration in ``migrations/versions``; evidence is never changed."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

from cabida.evidence.place import HEAD as HEAD

APPLICATION_ID = 0x0CAB1DA0  # tells a store of Cabida from any other SQLite file

METADATA = MetaData()
WHOLE = BigInteger().with_variant(Integer(), "sqlite")  # a count: a file may be larger than 2 GiB

IMPORTS = Table(
    "imports",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("file_sha256", Text, nullable=False, index=True),
    Column("file_name", Text, nullable=False),  # without its folders
    Column("size_bytes", WHOLE, nullable=False),
    Column("format", Text, nullable=False),
    Column("lines_count", WHOLE, nullable=False),
    Column("unknown_count", WHOLE, nullable=False),
    Column("tool_version", Text, nullable=False),
    Column("at", Text, nullable=False),  # UTC, ISO 8601
)

OBSERVATIONS = Table(
    "observations",
    METADATA,
    Column("id", Text, primary_key=True),  # from its content
    Column("import_id", Integer, ForeignKey("imports.id"), nullable=False, index=True),
    Column("place", WHOLE, nullable=False),  # which observation of the file, from 0
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
    Column("number", WHOLE, primary_key=True, autoincrement=False),
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
    Column("size_bytes", WHOLE, nullable=False),
    Column("format", Text, nullable=False),
    Column("rows_count", WHOLE, nullable=False),
    Column("kept_count", WHOLE, nullable=False),  # sightings that were new
    Column("known_count", WHOLE, nullable=False),  # that were there already
    Column("unread_count", WHOLE, nullable=False),
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
    Column("line", WHOLE, nullable=False),
    Column("recorded_at", Text, nullable=False),
    Column("source_id", Integer, nullable=False),  # of price_sources
    Column("field_sources", Text, nullable=False),  # JSON; "" = none
    Column("name", Text, nullable=False),  # Offer.id
    Column("provider", Text, nullable=False),
    Column("provider_kind", Text, nullable=False),
    Column("accelerator", Text, nullable=False),
    Column("accelerators_count", WHOLE, nullable=False),
    Column("region", Text, nullable=False),
    Column("country", Text, nullable=False),
    Column("capacity", Text, nullable=False),
    Column("term_months", WHOLE, nullable=False),
    Column("upfront_ratio", Float, nullable=False),
    Column("amount", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("currency", Text, nullable=False),
    Column("seen", Text, nullable=False),
    Column("effective", Text, nullable=False),
    Column("sighting", Text, nullable=False),
    Column("sample_count", WHOLE, nullable=False),
    Column("low_amount", Text),
    Column("high_amount", Text),
    Column("condition", Text, nullable=False),
    Column("notes", Text, nullable=False),
    Column("form_factor", Text, nullable=False),
    Column("fraction_ratio", Float, nullable=False),
    Column("node_shape", Text, nullable=False),
    Column("minimum_count", WHOLE, nullable=False),
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
    Column("line", WHOLE, nullable=False),
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
    Column("line", WHOLE, nullable=False),
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

# What a team keeps together. Ids and cursors sort by bytes in every database.
_ID = Text().with_variant(Text(collation="C"), "postgresql")

BRIEFS = Table(  # each as it is now; what it was is in brief_versions
    "briefs",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("version", WHOLE, nullable=False),  # the newest, from 1; who changes it names the one they saw
    Column("name", Text, nullable=False),
    Column("search", Text, nullable=False),  # the name without capitals and accents
    Column("workload", Text, nullable=False),  # as the text says; "" = it doesn't
    Column("size_bytes", WHOLE, nullable=False),
    Column("made_at", Text, nullable=False),  # UTC, ISO 8601
    Column("made_by", Text, nullable=False),
    Column("changed_at", Text, nullable=False),
    Column("changed_by", Text, nullable=False),
    Column("gone", WHOLE, nullable=False),  # 1 = dropped
)

BRIEF_VERSIONS = Table(
    "brief_versions",
    METADATA,
    Column("brief_id", _ID, ForeignKey("briefs.id"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("workload", Text, nullable=False),
    Column("size_bytes", WHOLE, nullable=False),
    Column("at", Text, nullable=False),
    Column("by_whom", Text, nullable=False),
    Column("gone", WHOLE, nullable=False),
)

DECISION_TEXTS = Table(
    "decision_texts",
    METADATA,
    Column("digest", Text, primary_key=True),  # SHA-256 of the text
    Column("size_bytes", WHOLE, nullable=False),
    Column("content", LargeBinary, nullable=False),  # zlib
)

DECISIONS = Table(
    "decisions",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("digest", Text, ForeignKey("decision_texts.digest"), nullable=False),
    Column("name", Text, nullable=False),
    Column("search", Text, nullable=False),  # name and winner without capitals and accents
    Column("brief_id", Text, nullable=False),  # "" = of no brief that is kept
    Column("brief_version", WHOLE, nullable=False),
    Column("as_of", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("workload", Text, nullable=False),
    Column("winner", Text),  # title of the option that was chosen; null = none was
    Column("unit_cost", Float),  # of the winner, in the currency for one accepted output or run
    Column("currency", Text, nullable=False),
    Column("exit_code", Integer),
    Column("made_at", Text, nullable=False),
    Column("made_by", Text, nullable=False),
    Column("gone", WHOLE, nullable=False),
)
Index("decisions_once", DECISIONS.c.digest, DECISIONS.c.made_by, unique=True)
Index("decisions_by_brief", DECISIONS.c.brief_id, DECISIONS.c.id)

JOBS = Table(
    "jobs",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("asked", Text, nullable=False),  # JSON
    Column("asked_digest", Text, nullable=False),  # of kind and asked
    Column("state", Text, nullable=False),  # waiting, running, done, failed, cancelled, interrupted
    Column("progress", Text, nullable=False),  # JSON
    Column("result", Text),  # JSON; null = none yet
    Column("errors", Text, nullable=False),  # JSON, problems
    Column("made_by", Text, nullable=False),
    Column("made_at", Text, nullable=False),
    Column("began_at", Text, nullable=False),  # "" = not yet
    Column("ended_at", Text, nullable=False),  # "" = not yet
    Column("key", Text),  # said by who asked, so that asking again is no second job; null = none
    Column("server", Text, nullable=False),  # which works on it; "" = none yet
)
Index("jobs_by_key", JOBS.c.made_by, JOBS.c.key, unique=True)
Index("jobs_by_state", JOBS.c.state, JOBS.c.id)

SERVERS = Table(  # who works on jobs: a server that no longer beats is dead, and its jobs are interrupted
    "servers",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", WHOLE, nullable=False),
    Column("began_at", Text, nullable=False),
    Column("beat_at", Text, nullable=False),
)

RUNS = Table(  # benchmark runs; what they measured is in their folder
    "bench_runs",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("name", Text, nullable=False),
    Column("search", Text, nullable=False),
    Column("plan_text", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("job", Text, nullable=False),  # id; "" = none
    Column("summary", Text),  # JSON; null = none yet
    Column("made_at", Text, nullable=False),
    Column("made_by", Text, nullable=False),
    Column("changed_at", Text, nullable=False),
    Column("changed_by", Text, nullable=False),
    Column("gone", WHOLE, nullable=False),
)

TOKENS = Table(
    "tokens",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),  # reader, editor
    Column("secret_sha256", Text, nullable=False, unique=True),  # never the secret
    Column("made_at", Text, nullable=False),
    Column("made_by", Text, nullable=False),
    Column("expires_at", Text, nullable=False),
    Column("revoked_at", Text, nullable=False),  # "" = it isn't
    Column("last_used_at", Text, nullable=False),  # "" = never
)

AUDIT = Table(  # who changed what; each line seals the one before
    "audit",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),  # from 1, without a gap
    Column("at", Text, nullable=False),
    Column("by_whom", Text, nullable=False),
    Column("what", Text, nullable=False),  # made, changed, dropped, restored, imported ...
    Column("kind", Text, nullable=False),  # brief, decision, quote, prices ...
    Column("of_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("before", Text, nullable=False),  # digest of what it was; "" = nothing
    Column("after", Text, nullable=False),
    Column("digest", Text, nullable=False),  # SHA-256 of the line and of the digest of the one before
)
Index("audit_by_thing", AUDIT.c.of_id, AUDIT.c.id)

AUDIT_END = Table(  # one row: the last line, so that a log cut short shows, and writers queue here
    "audit_end",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("last", WHOLE, nullable=False),
    Column("digest", Text, nullable=False),
)
