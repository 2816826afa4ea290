"""After the purchase: bills held against a decision."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput
from cabida.files import HAND_KEPT_BYTES_MOST, text_lines
from cabida.text import iso_day, money, problem, tr

if TYPE_CHECKING:
    from cabida.evidence.prices import Read
    from cabida.plan import Decision
    from cabida.report.track import Output

MOST_COUNT = 1e15
MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")


def track(
    decision: Path | str | Decision,
    billing: Iterable[Path | str] = (),
    *,
    option: str = "",
    month: str = "",
    accepted: float | None = None,
    requests: float | None = None,
    outputs: Path | str | None = None,
    tags: Mapping[str, str] | None = None,
    services: Sequence[str] = (),
    skus: Sequence[str] = (),
    providers: Sequence[str] = (),
    rates: Mapping[str, float] | None = None,
    per_hour: float = 1.0,
    currency: str = "",
    as_of: str | None = None,
    store: Path | str | None = None,
    keep: bool = False,
) -> dict[str, Any]:
    """What a month really cost, why it differs from the plan, and the months told before.

    Args:
        decision: JSON of a decision, or the decision.
        billing: FOCUS exports (CSV, gzip, Parquet, JSON) or OpenCost allocations; none = only what was kept before.
        option: what was bought, by rank or id; the chosen one when left out.
        month: only this one (``2027-02``).
        accepted: outputs accepted in it.
        requests: attempts made in it.
        outputs: CSV ``month,accepted,requests`` for several months (``requests`` may be left out).
        tags: that the lines of the workload carry.
        services: names of services, or parts of them.
        skus: names of SKUs, or parts of them.
        providers: names of providers, or parts of them.
        rates: currency of the bill -> what one unit of it is in the decision's.
        per_hour: accelerators that an hour of a line stands for, where machines are billed whole.
        currency: of the bill, where the file gives none.
        as_of: day whose published exchange rates are used; the end of the last month when left out.
        store: file of the store.
        keep: add the months to the journal in the store.

    Raises:
        InvalidInput: the decision, a bill or a figure can't be used: CB-R004, CB-R020 to CB-R028, CB-E050 to CB-E055.
    """
    from cabida.evidence import tracked
    from cabida.report.store import load
    from cabida.report.track import Chosen, Output, chosen_lines, doubled, left_out, option_of, track_answer

    whole = load(decision) if isinstance(decision, (str, Path)) else decision
    bought = option_of(whole, option)
    if month and not MONTH.fullmatch(month):
        raise InvalidInput([problem("CB-R028", month=month[:20])])
    key = f"{whole.name} {whole.as_of} {whole.made_at}"
    files = _bills(list(billing), currency)
    if not files:
        before = tracked.kept(key, bought.id, store)
        return _plain(whole, bought.id, bought.title) | {"journal": before}
    bills = {file: read.billing for file, read in files.items()}
    doubled(bills, lambda first, second, line: InvalidInput([_twice(first, second, line)]))
    lines = [line for read in bills.values() for line in read]
    chosen = Chosen(dict(tags or {}), tuple(services), tuple(skus), tuple(providers))
    got = _outputs(outputs) if outputs is not None else {}
    if accepted is not None and requests is not None and accepted > requests:
        raise InvalidInput(
            [
                problem(
                    "CB-U054",
                    one="--accepted",
                    value=f"{accepted:g}",
                    other="--requests",
                    most=f"{requests:g}",
                )
            ]
        )
    if requests is not None and accepted is None:
        raise InvalidInput([problem("CB-U050", one="--requests", other="--accepted")])
    if accepted is not None:
        got[month] = Output(accepted, requests)
    taken = chosen_lines(lines, chosen)
    answer = track_answer(
        whole, bought, taken, got, month=month, rates=rates, per_hour_count=per_hour,
        as_of=iso_day(as_of or ""),
    )  # fmt: skip
    if keep:
        tracked.keep(key, bought.id, answer["months"], store)
    left = left_out(lines, taken, month)
    answer["notes"] = [*_left(files), *_beyond(left, len(lines)), *answer["notes"]]
    return (
        answer
        | {"left_out": left}
        | {"files": list(files), "kept": keep, "journal": tracked.kept(key, bought.id, store)}
    )


def _plain(decision: Decision, option: str, title: str) -> dict[str, Any]:
    """The answer without a bill."""
    empty: dict[str, Any] = {
        "left_out": {"lines_count": 0, "money": {}},
        "months": [],
        "notes": [],
        "rates": [],
        "files": [],
        "kept": False,
    }
    return {
        "decision": decision.name,
        "option": option,
        "title": title,
        "currency": decision.currency,
        **empty,
    }


def _twice(first: str, second: str, line: int) -> Any:
    return problem("CB-R024", file=second, line=line, first=first)


def _left(files: Mapping[str, Read]) -> list[str]:
    """Lines of bills that nobody could read: what they say is in no figure."""
    return [
        tr(
            "track.note.unread",
            count=len(read.unread),
            file=Path(file).name,
            line=read.unread[0].line,
            why=tr(f"evidence.import_why.{read.unread[0].why}"),
        )
        for file, read in files.items()
        if read.unread
    ]


def _beyond(left: Mapping[str, Any], count: int) -> list[str]:
    """What the choice of lines leaves out of the bill, so that a tag nobody set is no saving."""
    if not left["lines_count"]:
        return []
    told = " + ".join(money(value, name) for name, value in left["money"].items())
    return [tr("track.note.left_out", left=left["lines_count"], count=count, money=told)]


def _bills(paths: Sequence[Path | str], currency: str) -> dict[str, Read]:
    """What each file says; none may be without a charge."""
    from cabida.evidence.prices import read

    found = {}
    for path in paths:
        told = read(path, currency=currency)
        if not told.billing:
            why = told.unread[0].why if told.unread else "empty"
            raise InvalidInput([problem("CB-R026", file=str(path), format=told.format or "?", why=why)])
        found[str(path)] = told
    return found


def _outputs(path: Path | str) -> dict[str, Output]:
    """What each month brought, from a CSV with the columns month, accepted and perhaps requests."""
    try:
        rows = list(csv.DictReader(text_lines(path, HAND_KEPT_BYTES_MOST)))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or "UTF-8"
        raise InvalidInput([problem("CB-R027", file=str(path), text=why)]) from None
    found: dict[str, Output] = {}
    faults = []
    for number, row in enumerate(rows, 2):
        read = _output(row)
        month = str(row.get("month") or "").strip()
        if read is None or month in found:  # of a month told twice none can be chosen
            text = ",".join(str(one) for one in row.values())[:80]
            faults.append(problem("CB-R027", file=str(path), line=number, text=text))
        else:
            found[month] = read
    if not rows:
        faults.append(problem("CB-R027", file=str(path), text=""))
    if faults:
        raise InvalidInput(faults)
    return found


def _output(row: Mapping[str, Any]) -> Output | None:
    """One month's row; ``None`` when it can't be read."""
    from cabida.report.track import Output

    try:
        accepted = float(row["accepted"])
        tried = float(row["requests"]) if str(row.get("requests") or "").strip() else None
    except (KeyError, TypeError, ValueError):
        return None
    sound = MONTH.fullmatch(str(row.get("month") or "").strip()) and 0 <= accepted < MOST_COUNT
    return Output(accepted, tried) if sound and (tried is None or accepted <= tried < MOST_COUNT) else None
