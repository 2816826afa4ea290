"""One price file read: its kind found by what is in it, its rows kept or left aside with a reason."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from cabida.errors import InvalidInput
from cabida.evidence.prices import (
    ec2instances,
    focus,
    gpuhunt,
    litellm,
    opencost,
    openrouter,
    plain,
    skypilot,
)
from cabida.evidence.prices.nouns import MOST_NAME, Asked, Read, Table, Told
from cabida.evidence.prices.opening import MOST_ROWS, Opened, look, refuse
from cabida.evidence.prices.tables import table_of_records, text_table, told
from cabida.evidence.prices.trees import tree
from cabida.evidence.secrets import redacted
from cabida.text import problem

TABLES: tuple[tuple[str, Callable[[Table], bool], Callable[[Table, Read, Asked, Path], None]], ...] = (
    (focus.NAME, focus.fits, focus.bill),
    (skypilot.NAME, skypilot.fits, skypilot.offers),
    (gpuhunt.NAME, gpuhunt.fits, gpuhunt.offers),
    (plain.NAME, plain.fits, plain.offers),
)
TREES: tuple[tuple[str, Callable[[Any], bool], Callable[[Any, Read, Asked, Path], None]], ...] = (
    (ec2instances.NAME, ec2instances.fits, ec2instances.offers),
    (openrouter.NAME, openrouter.fits, openrouter.offers),
    (opencost.NAME, opencost.fits, opencost.bill),
    (litellm.NAME, litellm.fits, litellm.offers),
)
FORMATS = tuple(name for name, *_ in (*TABLES, *TREES))


def read(
    path: Path | str,
    *,
    provider: str = "",
    currency: str = "",
    as_of: str = "",
    today: str = "",
    progress: Told | None = None,
) -> Read:
    """Read one file of prices.

    Args:
        path: SkyPilot's vms.csv, gpuhunt's CSV, ec2instances' or LiteLLM's JSON, OpenRouter's list of models, a FOCUS
            bill (CSV, gzip, Parquet, JSON), OpenCost's allocations, or a price list (CSV, XLSX).
        provider: whose prices they are, where the file doesn't say; over what it says otherwise.
        currency: ISO code, where the file gives none.
        as_of: ISO date the prices were seen, where the rows give none.
        today: ISO date of the reading; the day itself when left out.
        progress: told every few thousand rows.

    Raises:
        InvalidInput: CB-E050 to CB-E055: nothing of the file can be read, with the reason.
    """
    file = Path(path)
    what = look(file)
    name = os.fsencode(file.name).decode("utf-8", "replace")  # a disk takes names that no text can hold
    made = Read(redacted(name[:MOST_NAME]), "", what.sha256, what.size_bytes)
    asked = Asked(provider.strip()[:MOST_NAME], currency.strip(), as_of, today or date.today().isoformat())
    if not what.sure:
        made.note("encoding")
    with without_collecting():
        _read(what, made, asked, file, progress)
    if not made.rows_count and not made.unread:
        raise refuse(file, "no_rows")
    if made.undated_count:
        made.note("undated")
    return made


@contextmanager
def without_collecting() -> Iterator[None]:
    """A hundred thousand records are made and none dropped: the collector would only walk over them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _read(what: Opened, made: Read, asked: Asked, file: Path, progress: Told | None) -> None:
    table: Table | None
    if what.kind == "parquet":
        from cabida.evidence.prices import columnar

        table = columnar.table(what, made, _wanted())
    elif what.kind == "xlsx":
        from cabida.evidence.prices import workbook

        table = workbook.table(what, made)
    else:
        found = tree(what)
        if found is not None:
            for name, fits, use in TREES:
                if fits(found):
                    made.format = name
                    use(found, made, asked, file)
                    return
            table = _records(found, made)
            if table is None:
                raise InvalidInput([problem("CB-E054", file=str(file))])
        else:
            table = text_table(what, made)
    if table is None:
        raise InvalidInput([problem("CB-E054", file=str(file))])
    for name, fits, apply in TABLES:
        if fits(table):
            made.format = name
            apply(told(table, progress), made, asked, file)
            return
    names = ", ".join(name for name in table.names if name)[:200]
    raise InvalidInput([problem("CB-E055", file=str(file), line=table.header_line, names=names)])


def _wanted() -> frozenset[str]:
    """The keys of every column that some format reads."""
    own = (*(name for names in plain.COLUMNS.values() for name in names), *focus.EVERY)
    return frozenset((*own, *skypilot.COLUMNS, *gpuhunt.COLUMNS))


def _records(found: Any, made: Read) -> Table | None:
    """A list of flat objects (a FOCUS bill as JSON, a line each or as a list) as a table."""
    rows = found if isinstance(found, list) else [found]
    if len(rows) > MOST_ROWS:
        raise refuse(made.name, "rows", most=f"{MOST_ROWS:,}")
    names: dict[str, None] = {}
    for one in rows:
        if isinstance(one, dict):
            names.update(dict.fromkeys(map(str, one)))
        elif one is not None:
            made.rows_count += 1
            made.aside(0, str(one), "shape")
        if len(names) > 2_000:
            return None
    records = ((at, one) for at, one in enumerate(rows, 1) if isinstance(one, dict))
    return table_of_records(made, records, list(names)) if names else None
