"""The journal of bills held against decisions: a month told again is added, and the last one told counts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cabida.evidence.connect import reading, there, writing
from cabida.evidence.place import store_path
from cabida.evidence.shelf.auditing import digest_of, noted


def keep(
    decision: str, option: str, months: Iterable[Mapping[str, Any]], store: Path | str | None = None
) -> int:
    """Add months to the journal, in one transaction; how many.

    Args:
        decision: what tells the decision from others.
        option: id of what was bought.
        months: answers with a ``month`` each.
        store: file of the store.

    Raises:
        InvalidInput: CB-E010 to CB-E018, the store can't be written.
    """
    from sqlalchemy import insert

    from cabida.evidence.schema import TRACKED

    at = datetime.now(UTC).isoformat(timespec="seconds")
    rows = [
        {
            "decision": decision,
            "option": option,
            "month": str(one["month"]),
            "at": at,
            "row": json.dumps(one, ensure_ascii=False),
        }
        for one in months
    ]
    if rows:
        with writing(store) as connection:
            connection.execute(insert(TRACKED), rows)
            after = digest_of(*(row["row"] for row in rows))
            noted(connection, "kept", "month", decision, name=option, after=after)
    return len(rows)


def kept(decision: str, option: str, store: Path | str | None = None) -> list[dict[str, Any]]:
    """The months told so far, each as it was last told, with the day ``at`` which it was; empty without a store.

    Raises:
        InvalidInput: CB-E010 to CB-E018, the store can't be read.
    """
    from sqlalchemy import select

    from cabida.evidence.schema import TRACKED

    path = store_path(store)
    if not there(path):
        return []
    asked = (TRACKED.c.decision == decision) & (TRACKED.c.option == option)
    query = select(TRACKED.c.month, TRACKED.c.at, TRACKED.c.row).where(asked).order_by(TRACKED.c.id)
    with reading(path) as connection:
        last = {month: json.loads(row) | {"at": at} for month, at, row in connection.execute(query)}
    return [last[month] for month in sorted(last)]
