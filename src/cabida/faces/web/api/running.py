"""A use case run for a request: by name only, in its own folder, for a bounded time, by a bounded number at once."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cabida.errors import CabidaError, InvalidInput, Problem
from cabida.text import number, problem, tr

if TYPE_CHECKING:
    from starlette.requests import Request

T = TypeVar("T")
LONGEST_S = 45.0  # of an answer that is waited for
AT_ONCE = max(2, min(8, os.cpu_count() or 2))
MOST_WAITING = (
    512  # beside those that run; who waits takes little, and who asks too often is told by the door
)
FLAG = re.compile(r"--([a-z][a-z0-9-]*)")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command answered: the data of its ``--json`` and its exit code."""

    data: Any
    exit_code: int = 0


class Room:
    """Threads that answer requests; who comes when it is full is asked to come again."""

    def __init__(
        self, at_once: int = AT_ONCE, most_waiting: int = MOST_WAITING, longest_s: float = LONGEST_S
    ) -> None:
        self.longest_s = longest_s
        self._places = BoundedSemaphore(at_once + most_waiting)
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="cabida-answer")

    async def run(self, work: Callable[[], T]) -> T:
        """What ``work`` returns, worked out in a thread with the language and the person of who asks.

        Raises:
            Refused: CB-S048 (503), too many wait; CB-S049 (422), it takes too long. A thread can't be stopped: its
                place is taken until it has ended.
        """
        from cabida.faces.web.telling import Refused

        if not self._places.acquire(blocking=False):
            raise Refused([problem("CB-S048")], 503, 2.0)
        try:
            future = self._threads.submit(copy_context().run, work)
        except BaseException:
            self._places.release()
            raise
        future.add_done_callback(lambda _: self._places.release())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.longest_s)
        except TimeoutError:
            raise Refused([problem("CB-S049", wait=number(self.longest_s))], 422) from None

    def close(self) -> None:
        """No more; what runs is left to end."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def room(request: Request) -> Room:
    """The application's room."""
    found: Room = request.app.state.room
    return found


async def worked_out(request: Request, work: Callable[[], T], *, writes: bool = False) -> T:
    """``work`` in the application's room; nothing that is asked there opens a file of this machine.

    Raises:
        Forbidden: it changes something (``writes``), and who asks may only read.
    """
    from cabida.faces.web import access

    if writes:
        access.editor(request)

    def named() -> T:
        from cabida.facts.known import by_name_only

        with by_name_only():
            return work()

    return await room(request).run(named)


def answered(
    words: str,
    flags: Sequence[str] = (),
    arguments: Sequence[str] = (),
    *,
    files: Mapping[str, tuple[str, bytes]] | None = None,
) -> Answer:
    """Run a command as it would be typed with ``--json``; nothing is printed.

    Args:
        words: the command: ``prices list``.
        flags: ``--name=value``.
        arguments: what has no flag.
        files: what came with the request: flag, or "" for an argument and "0", "1" ... for the first of several
            arguments -> name and content. They lie in a folder of their own while the command runs.

    Raises:
        CabidaError: what the command refuses, files under the names they came by.
    """
    from cabida.faces.output import answers_kept
    from cabida.faces.web.api.asked import command_of

    command = command_of(words)
    typed = ["--json", *flags]
    with TemporaryDirectory(prefix="cabida-") as folder, answers_kept() as kept:
        lead = []
        for at, (flag, (name, content)) in enumerate((files or {}).items()):
            path = _laid(Path(folder), at, name, content)
            if flag.startswith("--"):
                typed.append(f"{flag.partition('#')[0]}={path}")
            else:
                lead.append(str(path))
        with as_sent(folder):
            try:
                code = command.main([*typed, "--", *lead, *arguments], prog_name=words, standalone_mode=False)
            except SystemExit as done:
                code = done.code
        if not kept:
            message = f"{words} answered nothing"
            raise RuntimeError(message)
        return Answer(_without(kept[-1], folder), code if isinstance(code, int) else 0)


@contextmanager
def as_sent(folder: str) -> Iterator[None]:
    """What is refused inside is told of the files as they were called, not as they lie in ``folder``."""
    from cabida.faces.errors import problems_of

    try:
        yield
    except CabidaError as error:
        error.problems = tuple(_as_sent(one, folder) for one in error.problems)
        raise
    except (click.ClickException, OSError) as error:
        raise InvalidInput([_as_sent(one, folder) for one in problems_of(error)]) from None


def _laid(folder: Path, at: int, name: str, content: bytes) -> Path:
    """A file that came with a request, under its own last name, in a folder of its own."""
    place = folder / str(at)
    place.mkdir()
    path = place / safe_name(name)
    path.write_bytes(content)
    return path


def safe_name(name: str) -> str:
    """The last part of a file's name, of letters that can't lead anywhere."""
    last = name.replace("\\", "/").rpartition("/")[2]
    plain = "".join(one if one.isalnum() or one in "-_. " else "-" for one in last).strip(". ")
    stem, dot, ending = plain.rpartition(".")
    return f"{(stem or 'file')[:80]}{dot}{ending[:20]}" if plain else "file"


def _as_sent(one: Problem, folder: str) -> Problem:
    """A problem of the command as one of the request: its flags are fields, its files as they were called."""
    told = Problem(**_without(one.as_dict(), folder))
    if not told.code.startswith("CB-U"):
        return told
    what, why, cure = (FLAG.sub(_field, text) for text in (told.what, told.why, told.cure))
    if "--help" in told.cure or not cure:
        cure = tr("web.CB-S041.cure")
    return replace(told, what=what, why=why, cure=cure)


def _field(found: re.Match[str]) -> str:
    return found[1].replace("-", "_")


def _without(data: Any, folder: str) -> Any:
    """``data`` without the folder that its files lay in, nor where on this machine the store is."""
    text = json.dumps(data, ensure_ascii=True)
    for place in (folder, *_own_places()):
        lead = json.dumps(place, ensure_ascii=True)[1:-1]
        if lead in text:
            text = re.sub(re.escape(lead) + (r"(?:/\d+)?/?" if place == folder else "/?"), "", text)
    return json.loads(text)


def _own_places() -> tuple[str, ...]:
    """Folders of this machine that answers name, and nobody else needs to know."""
    from cabida.evidence.place import shown, store_path
    from cabida.timing.own import own_path

    try:
        store = store_path()
    except CabidaError:
        return ()
    where = str(store.parent) if isinstance(store, Path) else shown(store)
    return tuple(one for one in (where, str(own_path().parent)) if len(one) > 1)
