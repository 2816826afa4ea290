"""A journal as it is read again: line by line, in bounded memory, whatever has become of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from cabida.bench.keep.journal import JOURNAL
from cabida.bench.keep.rows import LINE_BYTES_MOST, read_line
from cabida.errors import InvalidInput
from cabida.files import is_file, opened
from cabida.text import problem

if TYPE_CHECKING:
    from cabida.bench.keep.requests import Requests

EVENTS_MOST = 200_000  # rows of one kind (health, watch): beyond, every other one is let go of
BROKEN_TOLD = 20
KINDS_MOST, EVENTS_BYTES_MOST = 100, 512 << 20  # of rows that are no attempts


@dataclass(slots=True)
class Events:
    """Rows of one kind, thinned evenly where there are very many."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    stride: int = 1
    seen_count: int = 0

    def add(self, row: dict[str, Any]) -> None:
        """Keep a row, or let it go."""
        if self.seen_count % self.stride == 0:
            self.rows.append(row)
            if len(self.rows) > EVENTS_MOST:
                self.rows = self.rows[::2]
                self.stride *= 2
        self.seen_count += 1


@dataclass(slots=True)
class Kept:
    """What a journal holds.

    Attributes:
        plan: as plain data. digest: of it.
        requests: the attempts as columns.
        events: rows by kind, without those of attempts.
        samples: outputs that were kept: (id, accepted, text).
        openings: the ``plan`` rows; more than one = it was resumed.
        broken_count, broken_lines: lines in the middle that aren't what was written, and where the first are.
        torn: the last line is not whole: the process was killed while it wrote.
        missing_count: numbers that no row has.
        ended: the benchmark came to its end.
    """

    folder: Path
    plan: dict[str, Any]
    digest: str
    requests: Requests
    events: dict[str, list[dict[str, Any]]]
    samples: list[tuple[str, bool | None, str]]
    openings: list[dict[str, Any]]
    rows_count: int
    broken_count: int
    broken_lines: tuple[int, ...]
    torn: bool
    missing_count: int
    ended: bool

    @property
    def runs(self) -> list[str]:
        """Names of the runs that were begun or asked anything, in that order."""
        begun = [str(row.get("run", "")) for row in self.events.get("run", ())]
        asked = [self.whole_run(name) for name in self.requests.runs]
        return [name for name in dict.fromkeys([*begun, *asked]) if name]

    def whole_run(self, run: str) -> str:
        """The run that a point (``seek/3``) belongs to; a run by itself is its own."""
        begun = [str(row.get("run", "")) for row in self.events.get("run", ())]
        known = [*begun, *(str(one.get("name", "")) for one in self.plan.get("runs", ()))]
        found = [one for one in known if one and (run == one or run.startswith(f"{one}/"))]
        return max(found, key=len, default=run)

    def points_of(self, run: str) -> list[str]:
        """Points of a search, or steps of a ramp, that asked anything."""
        return [name for name in self.requests.runs if name != run and self.whole_run(name) == run]

    def begun(self, run: str) -> dict[str, Any]:
        """What was told when the run began, the first time."""
        return next((row for row in self.events.get("run", ()) if row.get("run") == run), {})

    def ended_run(self, run: str) -> dict[str, Any]:
        """What was told when it ended; {} = it didn't."""
        return next((row for row in reversed(self.events.get("run-end", [])) if row.get("run") == run), {})

    def of_run(self, kind: str, run: str) -> list[dict[str, Any]]:
        """Rows of one kind that name the run, or that happened while it ran."""
        begun, ended = self.begun(run), self.ended_run(run)
        from_s, until_s = begun.get("at_s", 0.0), ended.get("at_s", float("inf"))
        return [
            row
            for row in self.events.get(kind, ())
            if (row["run"] == run if row.get("run") else from_s <= row["at_s"] <= until_s)
        ]

    def planned_run(self, run: str) -> dict[str, Any]:
        """The run as the plan has it; {} = it isn't in the plan."""
        return next((one for one in self.plan.get("runs", ()) if one.get("name") == run), {})

    def contender(self, run: str) -> dict[str, Any]:
        """The candidate that the run was made against, as the plan has it."""
        name = self.begun(run).get("candidate") or self.planned_run(run).get("candidate")
        return next((one for one in self.plan.get("contenders", ()) if one.get("name") == name), {})


def read_journal(folder: Path | str) -> Kept:
    """The journal of a folder (or a journal by its own path), whole or cut off.

    Raises:
        InvalidInput: CB-J006 it is no journal, CB-J007 there is none.
    """
    from cabida.bench.keep.requests import Columns

    path = _journal_of(folder)
    columns, events = Columns(), dict[str, Events]()
    openings: list[dict[str, Any]] = []
    samples: list[tuple[str, bool | None, str]] = []
    broken: list[int] = []
    last, rows_count, missing, broken_count, torn, ended = -1, 0, 0, 0, False, False
    held_bytes = 0
    for at, row, size_bytes in _rows(path):
        if row is None:
            torn = at < 0
            broken_count += at > 0
            if at > 0 and len(broken) < BROKEN_TOLD:
                broken.append(at)
            continue
        number, fields = row
        if number <= last:
            continue  # written twice
        missing += number - last - 1
        last = number
        rows_count += 1
        kind = str(fields.get("kind", ""))
        try:
            if kind in ("request", "judged"):
                if kind == "request":
                    columns.add_row(fields, len(openings))
                elif not columns.judge(fields):
                    continue
                if "sample" in fields and len(samples) < 2000:
                    samples.append((str(fields["id"]), fields.get("ok"), str(fields["sample"])))
                continue
            float(fields["at_s"])
            held_bytes += size_bytes
            if held_bytes > EVENTS_BYTES_MOST or (kind not in events and len(events) >= KINDS_MOST):
                raise OverflowError  # noqa: TRY301
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
            broken_count += 1
            broken += [at] if len(broken) < BROKEN_TOLD else []
            continue
        if kind == "plan":
            openings.append(fields)
            ended = False
            continue
        ended = ended or kind == "end"
        events.setdefault(kind, Events()).add(fields)
    if not openings:
        raise InvalidInput([problem("CB-J006", file=str(path))])
    plan = openings[0].get("plan")
    return Kept(
        folder=path.parent,
        plan=plan if isinstance(plan, dict) else {},
        digest=str(openings[0].get("digest", "")),
        requests=columns.requests(),
        events={kind: one.rows for kind, one in events.items()},
        samples=samples,
        openings=openings,
        rows_count=rows_count,
        broken_count=broken_count,
        broken_lines=tuple(broken),
        torn=torn,
        missing_count=missing,
        ended=ended,
    )


def done_ids(folder: Path | str) -> set[str]:
    """Requests that ended for good, for a run that goes on; those the end of a run cut short are asked again.

    Raises:
        InvalidInput: CB-J007 there is no journal.
    """
    return {
        str(row[1]["id"])
        for _, row, _ in _rows(_journal_of(folder))
        if row is not None
        and row[1].get("kind") == "request"
        and row[1].get("final", True)
        and row[1].get("verdict") != "cancelled"
        and "id" in row[1]
    }


def _journal_of(folder: Path | str) -> Path:
    path = Path(folder)
    return path if is_file(path) else path / JOURNAL


Line = tuple[int, tuple[int, dict[str, Any]] | None, int]


def _rows(path: Path) -> Iterator[Line]:
    """Line number, row and size of every line; ``None`` for one that isn't whole, numbered -1 when it is the last."""
    try:
        with opened(path) as file:
            yield from _lines(file)
    except OSError as error:
        raise InvalidInput([problem("CB-J007", file=str(path), why=error.strerror or "")]) from None


def _lines(file: BinaryIO) -> Iterator[Line]:
    at = 0
    while line := file.readline(LINE_BYTES_MOST + 1):
        at += 1
        if not line.endswith(b"\n"):
            whole = len(line) <= LINE_BYTES_MOST
            while not whole and (rest := file.readline(LINE_BYTES_MOST)):
                whole = rest.endswith(b"\n")
            last = not file.peek(1) if hasattr(file, "peek") else True
            yield (-1 if last else at), None, len(line)
            continue
        yield at, read_line(line), len(line)
