"""The tables of the evidence store. Every change is a migration in ``migrations/versions``; rows are never changed."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, MetaData, Table, Text

HEAD = "0001"  # the newest migration
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
