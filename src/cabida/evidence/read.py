"""One file read: its format, its observations, and the lines that nothing understood."""

from __future__ import annotations

import math
import os
import select
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput
from cabida.evidence.lines import BLOCK_BYTES, MOST_BYTES, Lines, Numbered, digest
from cabida.evidence.observation import SETUP, Observation, of_row
from cabida.evidence.secrets import redacted
from cabida.text import problem, tr

if TYPE_CHECKING:
    from cabida.evidence.importers.run import Run

KIND = "memory"
STDIN = "-"
WRITER_S = 5.0  # how long a pipe that nobody has opened for writing is waited for


@dataclass(frozen=True, slots=True)
class ReadFile:
    """What a file says. ``format`` names its reader; ``unknown`` are the lines kept, ``unknown_count`` all of them."""

    name: str
    sha256: str
    size_bytes: int
    format: str
    observations: tuple[Observation, ...]
    lines_count: int
    unknown: tuple[Numbered, ...]
    unknown_count: int
    tool_version: str
    others: tuple[str, ...] = ()  # further formats whose lines are in it, unread


def read_file(file: Path | str, **said: Any) -> ReadFile:
    """Read one log, table or case file.

    Args:
        file: Its path, or ``-`` for standard input.
        said: What a person adds to every observation that leaves it open: ``model``, ``gpu``, ``gpus``,
            ``engine``, ``engine_version``, ``weights``, ``kv_cache``, ``note``, ``source``.

    Raises:
        InvalidInput: CB-E001 to CB-E004: it can't be read, is a broken archive, or nothing in it was recognised;
            CB-E200 to CB-E202: it is a measuring tool's, and too large, broken, or without a figure to take.
    """
    with _on_disk(file) as path:
        try:
            return _read(path, STDIN if str(file) == STDIN else path.name, said)
        except InvalidInput as error:  # told by the name that was typed
            raise InvalidInput([replace(one, file=str(file)) for one in error.problems]) from None


@contextmanager
def _on_disk(file: Path | str) -> Iterator[Path]:
    """The file itself; what can be read only once - standard input, a pipe - through a file that goes away."""
    path = Path(file)
    piped = str(file) == STDIN or _is_pipe(path)
    if not piped:
        yield path
        return
    if str(file) == STDIN and sys.stdin is None:
        raise InvalidInput([problem("CB-E001", file=STDIN, why="standard input is closed")])
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "piped"
        with kept.open("wb") as stream:
            for block in islice(_blocks(path, stdin=str(file) == STDIN), MOST_BYTES // BLOCK_BYTES):
                stream.write(block)
        yield kept


def _blocks(path: Path, *, stdin: bool) -> Iterator[bytes]:
    """What comes through a pipe, to its end. One that nobody writes into would be waited for without end."""
    if stdin:
        yield from iter(partial(sys.stdin.buffer.read, BLOCK_BYTES), b"")
        return
    try:
        pipe = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)
    except OSError as error:
        raise InvalidInput([problem("CB-E001", file=str(path), why=error.strerror or "")]) from None
    with pipe:
        select.select([pipe], [], [], WRITER_S)
        first = pipe.read(BLOCK_BYTES)  # None = somebody is there, and has nothing to say yet
        if first == b"":
            raise InvalidInput([problem("CB-E001", file=str(path), why=tr("evidence.no_writer"))])
        os.set_blocking(pipe.fileno(), True)
        yield first or b""
        with os.fdopen(os.dup(pipe.fileno()), "rb") as whole:
            yield from iter(partial(whole.read, BLOCK_BYTES), b"")


def _is_pipe(path: Path) -> bool:
    with suppress(OSError, ValueError):
        return path.is_fifo()
    return False


def _read(path: Path, name: str, said: dict[str, Any]) -> ReadFile:
    from cabida import __version__
    from cabida.evidence.importers import SIGNS, others, sniff
    from cabida.evidence.importers.benches import results

    sha256, size = digest(path)
    if (told := results(path)) is not None:  # a measuring tool's results
        form, runs, count = told.name, told.runs, told.lines_count
    else:
        found = sniff(Lines(path, SIGNS, every_bytes=0))
        if found is None:
            raise InvalidInput([problem("CB-E003", file=str(path), what=name)])
        lines = Lines(path, found.words)
        runs = found.read(lines)
        form, count = found.name, lines.last
    stamp: dict[str, Any] = {"file_sha256": sha256, "tool_version": __version__}
    observations = tuple(
        replace(observed(run, source=redacted(str(said.get("source") or name)), said=said), **stamp)
        for run in runs
        if not run.empty
    )
    if not observations:
        raise InvalidInput([problem("CB-E004", file=str(path), format=form)])
    unknown = tuple(sorted(dict(line for run in runs for line in run.kept).items()))
    return ReadFile(
        name=redacted(name),
        sha256=sha256,
        size_bytes=size,
        format=form,
        observations=observations,
        lines_count=count,
        unknown=unknown,
        unknown_count=sum(run.unknown_count for run in runs),
        tool_version=__version__,
        others=others(form, unknown) if told is None else (),
    )


def observed(run: Run, *, source: str = "", said: dict[str, Any] | None = None) -> Observation:
    """A run as an observation, with what a person says of it; the log has the word where both speak.

    Of the accelerator a person's word counts: a log prints names loosely.
    """
    if run.more.get("row"):
        given = of_row(run.more["row"])
        raw = bool(
            run.more.get("raw")
        )  # a tool printed the card's name; in a case file gpu is left out on purpose
        return replace(_completed(given, said or {}, raw=raw), source=given.source or source)
    serving = {"task": "inference", "engine": run.engine} if run.engine else {}
    setup: dict[str, Any] = {**serving, **run.setup}
    if run.args:
        setup["args"] = run.args
    made = Observation(
        kind=KIND,
        setup={key: setup[key] for key in SETUP if key in setup and setup[key] != ""},
        measured=run.measured,
        source=source,
        load={},
        more={"unit_as_printed": run.unit} if run.unit else {},
        date=run.date,
        note="; ".join(run.notes),
        quality=run.quality,
        unknown=tuple(run.kept),
        unknown_count=run.unknown_count,
    )
    return _completed(made, said or {})


def _completed(one: Observation, said: dict[str, Any], *, raw: bool = True) -> Observation:
    """With what a person says; ``raw`` = a card known by the name a log prints counts too. A row stays as it is."""
    from cabida import facts

    open_ = {key: said[key] for key in SETUP if said.get(key) and key not in one.setup}
    if said.get("model"):  # a log often prints a folder where the model lies
        open_["model"] = said["model"]
    if said.get("gpu"):
        open_["gpu"] = facts.accelerator(str(said["gpu"])).id
    elif raw and "gpu" not in one.setup and one.setup.get("gpu_raw"):
        card = facts.find_accelerator(str(one.setup["gpu_raw"]))
        open_ |= {"gpu": card.id} if card else {}
    made = one.with_setup(**open_)
    split = [made.setup[key] for key in ("tp", "pp", "dp", "cp") if isinstance(made.setup.get(key), int)]
    if split and "gpus" not in made.setup:
        made = made.with_setup(gpus=math.prod(split))
    note = "; ".join(part for part in (one.note, redacted(str(said.get("note") or ""))) if part)
    return replace(made, note=note)
