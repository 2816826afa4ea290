"""What is measured is written down as it ends: at most the last second is lost, whatever happens to the process.

Rows are put in line by whoever measures; a thread of its own writes them several times a second and asks the disk
every second to keep them, so that nothing that measures waits for a disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any

from cabida.bench.clock import now_s, wall
from cabida.bench.keep.rows import encoded, judged_row, numbered, read_line, request_row
from cabida.bench.keep.samples import Sampler
from cabida.bench.outcome import Outcome
from cabida.errors import InvalidInput, Problem
from cabida.evidence.secrets import BLANK, redacted
from cabida.plan.bench import BenchPlan
from cabida.text import problem

JOURNAL, PLAN, LOCK = "journal.jsonl", "plan.yaml", "journal.lock"
WRITE_EVERY_S = 0.2
KEEP_EVERY_S = 0.8  # fsync: with the wait before it still within a second
TAIL_BYTES = 8 << 20  # of a journal looked at for its last row
BATCH_ROWS = 20_000


class Journal:
    """The journal of one benchmark.

    Args:
        folder: made when missing.
        plan: what is run; keys and headers that look like secrets are blanked in what is kept of it.
        resume: go on with the journal that is there.
        plan_text: the plan as its author wrote it, else its file is read.
        on_failure: called once, from the writing thread, when nothing can be written any more (disk full); the
            run had better end. :attr:`failed` tells why, :meth:`close` raises it.
    """

    def __init__(
        self,
        folder: Path | str,
        plan: BenchPlan,
        *,
        resume: bool = False,
        plan_text: str = "",
        on_failure: Callable[[], None] | None = None,
    ) -> None:
        self.folder, self.plan, self.resume = Path(folder), plan, resume
        self.failed: Problem | None = None
        self.rows_count = 0  # written, those of earlier openings included
        self._plan_text, self._on_failure = plan_text, on_failure
        self._rows: deque[bytes] = deque()
        self._file = self._lock = -1
        self._origin_s = 0.0
        self._ending = threading.Event()
        self._writing = threading.Lock()
        self._writer: threading.Thread | None = None
        self._kept_at = 0.0
        self._sampler = Sampler(plan.keep_samples)

    def open(self) -> Journal:
        """Lock the folder, write the copy of the plan, and begin or go on.

        Raises:
            InvalidInput: CB-J001 another run writes there, CB-J002 there is a journal and ``resume`` wasn't asked,
                CB-J003 the journal is of another plan, CB-J004 nothing can be written there, CB-J006 what is there
                is no journal.
        """
        path = self.folder / JOURNAL
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(self.folder / LOCK)
            self._begin(path)
        except OSError as error:
            self._let_go()
            raise InvalidInput(
                [problem("CB-J004", file=str(self.folder), why=error.strerror or "")]
            ) from None
        except InvalidInput:
            self._let_go()
            raise
        self._writer = threading.Thread(target=self._write_on, name="journal", daemon=True)
        self._writer.start()
        return self

    def at(self, clock_s: float) -> float:
        """A moment of the monotonic clock as the journal tells it; a resumed journal goes on where it ended."""
        return clock_s - self._origin_s

    def request(self, one: Outcome, *, judging: bool = False) -> None:
        """Keep one attempt. Costs microseconds; never waits for the disk and never raises.

        Args:
            one: the attempt.
            judging: rules have yet to say what they think of it: :meth:`judged` will tell.
        """
        sample = None if judging else self._sampler.sample(one)
        self._rows.append(request_row(one, self._origin_s, sample, judging=judging))

    def judged(self, one: Outcome) -> None:
        """Keep what the rules said of an attempt that was kept before."""
        self._rows.append(judged_row(one, self.at(now_s()), self._sampler.sample(one)))

    def event(self, kind: str, **plain: Any) -> None:
        """Keep anything else that happened, as plain data; ``at_s`` is now unless it is given (of :meth:`at`)."""
        at_s = plain.pop("at_s", None)
        at_s = round(self.at(now_s()) if at_s is None else at_s, 6)
        self._rows.append(encoded({"kind": kind, "at_s": at_s, **plain}))

    def flush(self) -> None:
        """Write what is in line and have the disk keep it."""
        with self._writing:
            self._write(kept=True)

    def close(self) -> None:
        """Write the rest and let the folder go.

        Raises:
            InvalidInput: CB-J005, something couldn't be written, now or before.
        """
        self._ending.set()
        if self._writer is not None:
            self._writer.join()
            self._writer = None
        if self._file >= 0:
            self.flush()
        self._let_go()
        if self.failed is not None:
            raise InvalidInput([self.failed])

    def __enter__(self) -> Journal:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self, path: Path) -> None:
        plain = blanked(asdict(self.plan))
        for name in ("file", "where"):  # where a plan lies is not what it says
            plain.pop(name, None)
        digest = hashlib.sha256(encoded(plain)).hexdigest()
        there = path.exists() and path.stat().st_size > 0
        if there and not self.resume:
            raise InvalidInput([problem("CB-J002", file=str(path), folder=str(self.folder))])
        number, reached_s, cut_bytes = _continued(path, digest) if there else (-1, 0.0, 0)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
        if cut_bytes:
            os.ftruncate(self._file, path.stat().st_size - cut_bytes)
        if not there:
            self._copy_plan(plain)
        self.rows_count = number + 1
        self._origin_s = now_s() - reached_s
        self._kept_at = monotonic()
        row: dict[str, Any] = {"digest": digest, "wall": wall(), "offset_s": reached_s, "pid": os.getpid()}
        from cabida import __version__

        self.event("plan", **row, version=__version__, cut_bytes=cut_bytes, plan=plain)
        with self._writing:
            self._write(kept=True)
        if self.failed is not None:
            raise InvalidInput([self.failed])

    def _copy_plan(self, plain: dict[str, Any]) -> None:
        text = self._plan_text
        if not text and self.plan.file:
            with contextlib.suppress(OSError, UnicodeDecodeError):
                from cabida.files import HAND_KEPT_BYTES_MOST, read_text

                text = read_text(self.plan.file, HAND_KEPT_BYTES_MOST)
        if text:
            shown = "\n".join(redacted(line) for line in text.splitlines()) + "\n"
        else:  # JSON is YAML
            shown = encoded(plain).decode() + "\n"
        (self.folder / PLAN).write_text(shown, encoding="utf-8")

    def _write_on(self) -> None:
        while not self._ending.wait(WRITE_EVERY_S):
            with self._writing:
                self._write(kept=monotonic() - self._kept_at > KEEP_EVERY_S - WRITE_EVERY_S)

    def _write(self, *, kept: bool) -> None:
        """Everything in line, in batches; what can't be written is told once, and what follows let go of."""
        try:
            while self._rows and self.failed is None:
                count = min(len(self._rows), BATCH_ROWS)
                first = self.rows_count
                lines = [numbered(self._rows.popleft(), first + at) for at in range(count)]
                self._put(b"".join(lines))
                self.rows_count += count
            if kept and self.failed is None and self._file >= 0:
                os.fsync(self._file)
                self._kept_at = monotonic()
        except OSError as error:
            self.failed = problem(
                "CB-J005", file=str(self.folder / JOURNAL), why=error.strerror or "", rows=self.rows_count
            )
            if self._on_failure is not None:
                self._on_failure()
        if self.failed is not None:
            self._rows.clear()

    def _put(self, data: bytes) -> None:
        """All of ``data``, or nothing of its last, broken part."""
        before = os.fstat(self._file).st_size
        view, done = memoryview(data), 0
        try:
            while done < len(view):
                done += os.write(self._file, view[done:])
        except OSError:
            whole = data.rfind(b"\n", 0, done) + 1
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, before + whole)
            self.rows_count += data.count(b"\n", 0, whole)
            raise

    def _let_go(self) -> None:
        for handle in (self._file, self._lock):
            if handle >= 0:
                with contextlib.suppress(OSError):
                    os.close(handle)
        self._file = self._lock = -1


def _locked(path: Path) -> int:
    """A handle that holds the folder for as long as the process lives.

    Raises:
        InvalidInput: CB-J001.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise InvalidInput([problem("CB-J001", file=str(path.parent))]) from None
    return handle


def _continued(path: Path, digest: str) -> tuple[int, float, int]:
    """Last number, last moment, and bytes at the end that are no whole row.

    Raises:
        InvalidInput: CB-J003 of another plan, CB-J006 no journal.
    """
    with path.open("rb") as file:
        first = read_line(file.readline(TAIL_BYTES))
        if first is None or first[1].get("kind") != "plan":
            raise InvalidInput([problem("CB-J006", file=str(path))])
        if first[1].get("digest") != digest:
            raise InvalidInput([problem("CB-J003", file=str(path), folder=str(path.parent))])
        size = file.seek(0, os.SEEK_END)
        start = file.seek(max(0, size - TAIL_BYTES))
        tail = file.read()
    number, reached_s, end = -1, 0.0, 0
    for line in tail.splitlines(keepends=True):
        end += len(line)
        found = read_line(line) if line.endswith(b"\n") else None
        if found is not None:
            number, whole = found[0], end
            at_s = found[1].get("at_s")
            reached_s = max(reached_s, at_s) if isinstance(at_s, int | float) else reached_s
    if number < 0:
        raise InvalidInput([problem("CB-J006", file=str(path))])
    return number, reached_s, size - start - whole


def blanked(value: Any, name: str = "") -> Any:
    """Plain data without what looks like a secret, by its name or by its shape; ``env:NAME`` stays."""
    if isinstance(value, dict):
        return {str(key): blanked(one, str(key)) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [blanked(one, name) for one in value]
    if not isinstance(value, str) or not value or value.startswith(("env:", "keyring:")):
        return value
    if BLANK in redacted(f"{name}: {value[:1000]}"):
        return BLANK
    return redacted(value) if len(value) < 4000 else value
