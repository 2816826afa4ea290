"""A table in Parquet, read in batches of rows; needs pyarrow, the extra ``tables``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from cabida.errors import InvalidInput
from cabida.evidence.prices.nouns import Read, Table
from cabida.evidence.prices.numbers import key
from cabida.evidence.prices.opening import BOMB_BYTES, MOST_BYTES, MOST_ROWS, Opened, refuse
from cabida.evidence.prices.tables import MOST_COLUMNS, cell, header_of
from cabida.text import problem

BATCH_ROWS = 10_000
MOST_RATIO = 5_000  # dictionaries and runs pack a bill's repeated names that well


def table(what: Opened, read: Read, wanted: Collection[str]) -> Table:
    """The rows as cells of text, in the columns whose keys are wanted.

    Raises:
        InvalidInput: CB-E053, pyarrow isn't installed; CB-E050, the file is broken or holds too much.
    """
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise InvalidInput([problem("CB-E053", file=str(what.path), what="pyarrow")]) from None
    try:
        file = ParquetFile(what.path)
        meta = file.metadata
        size = sum(meta.row_group(at).total_byte_size for at in range(meta.num_row_groups))
    except (ArrowException, OSError, ValueError) as error:
        raise refuse(what.path, "broken", error=str(error)[:120]) from None
    if meta.num_rows > MOST_ROWS or meta.num_columns > MOST_COLUMNS:
        raise refuse(what.path, "rows", most=f"{MOST_ROWS:,}")
    if size > MOST_BYTES or size > max(BOMB_BYTES, MOST_RATIO * what.size_bytes):
        raise refuse(what.path, "bomb", ratio=MOST_RATIO)
    names = [name for name in file.schema_arrow.names if key(name) in wanted]
    header = header_of(read, names)
    if header is None:
        raise refuse(what.path, "columns")

    def rows() -> Iterator[tuple[int, Sequence[str]]]:
        place = 0
        try:
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=names):
                for values in zip(*(_column(one) for one in batch.columns), strict=True):
                    place += 1
                    read.rows_count += 1
                    yield place, values
        except (ArrowException, OSError) as error:
            raise refuse(what.path, "broken", error=str(error)[:120]) from None

    return Table(*header, rows())


def _column(column: Any) -> list[str]:
    """One column of a batch as cells."""
    import pyarrow as pa
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        column, kind = column.dictionary_decode(), kind.value_type
    if types.is_map(kind):
        return [cell(None if one is None else dict(one)) for one in column.to_pylist()]
    if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        return [
            cell(one.decode("utf-8", "replace") if isinstance(one, bytes) else one)
            for one in column.to_pylist()
        ]
    if types.is_timestamp(kind):
        column = column.cast(pa.timestamp("s", tz=kind.tz), safe=False)
    if not types.is_string(kind):
        column = column.cast(pa.string())
    column = column.fill_null("") if column.null_count else column
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:  # called text, and isn't
        return [one.decode("utf-8", "replace") for one in column.cast(pa.binary()).to_pylist()]
