"""One call answered: read, worked out, made to fit, told; what goes wrong is told as problems."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cabida.errors import CabidaError, Problem
from cabida.faces.mcp.args import taken
from cabida.faces.mcp.bounded import ALL_TOKENS, BRIEF_TOKENS, bounded, compact, part_at, tokens
from cabida.faces.mcp.tool import Asked, Place, Told, Tool
from cabida.text import LOCALES, problem, speaking, tr

MOST_PROBLEMS, LONGEST_PROBLEM = 10, 700
LINK_TOKENS = 60  # of one link, address and name
TELL_EVERY_S = 0.25
_log = logging.getLogger("cabida.mcp")


class Stopped(BaseException):
    """Whoever asked doesn't wait any more; passes through everything that mends errors."""


class Answer:
    """What goes back: text, data, links, and whether it is an error."""

    def __init__(
        self,
        text: str,
        data: dict[str, Any],
        links: Mapping[str, str] | None = None,
        *,
        is_error: bool = False,
    ) -> None:
        self.text, self.data, self.links, self.is_error = text, data, dict(links or {}), is_error


def answered(
    tool: Tool,
    sent: Mapping[str, Any],
    place: Place,
    *,
    person: str = "",
    may_edit: bool = True,
    tell: Callable[[int, int, str], None] | None = None,
    stop: threading.Event | None = None,
) -> Answer:
    """Answer one call of a tool; never raises but ``Stopped``.

    Args:
        tool: that is called.
        sent: its arguments, as they came.
        place: of the server.
        person: whose call it is.
        may_edit: whether they may change what is kept.
        tell: told of the progress: done, of, what.
        stop: set when nobody waits for the answer any more.
    """
    lang = sent.get("lang")
    with ExitStack() as around:
        around.enter_context(speaking(lang if lang in LOCALES else place.language))
        folder = around.enter_context(TemporaryDirectory(prefix="cabida-mcp-"))
        try:
            _stand(around, place, person)
            said = taken(tool.name, tool.args, sent)
            asked = Asked(said, place, Path(folder), person, may_edit, _progress(tell, stop))
            return _told(tool.does(asked), said, folder)
        except Stopped:
            raise
        except Exception as error:
            return _failed(error, folder)


def _stand(around: ExitStack, place: Place, person: str) -> None:
    """Act as whoever asks; where they are elsewhere, open nothing of this machine and fetch nothing."""
    if place.root is None:
        from cabida.facts.known import by_name_only

        around.enter_context(by_name_only())
    if person:
        from cabida.evidence.shelf.acting import acting

        around.enter_context(acting(person))


def _progress(
    tell: Callable[[int, int, str], None] | None, stop: threading.Event | None
) -> Callable[[str, int, int], None]:
    last = [0.0]

    def progress(what: str, done: int, of: int) -> None:
        if stop is not None and stop.is_set():
            raise Stopped
        now = time.monotonic()
        if tell is not None and (now - last[0] >= TELL_EVERY_S or (of and done >= of)):
            last[0] = now
            tell(done, of, tr(f"faces.progress.{what}"))

    return progress


def _told(told: Told, said: Mapping[str, Any], folder: str) -> Answer:
    from cabida.report.metrics import plain

    def sound(data: Any) -> Any:
        return json.loads(_without(json.dumps(plain(data), ensure_ascii=False, allow_nan=False), folder))

    whole, every = sound(told.data), said.get("detail") == "all"
    shown = sound(told.brief) if told.brief is not None else whole
    budget = (ALL_TOKENS if every else BRIEF_TOKENS) - LINK_TOKENS * len(told.links)
    say = _without(told.say, folder)
    if "at" in said:
        part = part_at(shown | whole, said["at"])
        data = bounded({"at": said["at"], "part": part}, budget, rounded=False)
        return Answer(tr("mcp.say.part", at=said["at"]), data)
    data = bounded(whole if every else shown, budget - tokens(say) - 60, rounded=not every)
    if "left_out" in data:
        say = f"{say} {tr('mcp.say.left_out')}"
    return Answer(say, data, told.links)


def _failed(error: Exception, folder: str) -> Answer:
    from cabida.faces.errors import problems_of

    if not isinstance(error, CabidaError | OSError):
        _log.error("unexpected %s", type(error).__name__, exc_info=error)
    problems = [_as_sent(one, folder) for one in problems_of(error)]
    return refused(problems, getattr(error, "exit_code", 1))


def refused(problems: list[Problem], exit_code: int = 3) -> Answer:
    """Problems as an answer: the text a person reads, and each with code, what, why and cure."""
    first = problems[:MOST_PROBLEMS]
    text = "\n".join(str(one) for one in first)
    if len(problems) > len(first):
        text += "\n" + tr("faces.more_problems", count=len(problems) - len(first))
    data = {"errors": [_lean(one) for one in first], "exit_code": exit_code}
    return Answer(text, data, is_error=True)


def _lean(one: Problem) -> dict[str, Any]:
    return {name: value for name, value in one.as_dict().items() if value or name in ("code", "what")}


def _as_sent(one: Problem, folder: str) -> Problem:
    """A problem without the folder that texts lay in, and no longer than anybody reads."""

    def short(text: str) -> str:
        plain = _without(text, folder)
        return plain if len(plain) <= LONGEST_PROBLEM else f"{plain[:LONGEST_PROBLEM]}…"

    return replace(one, what=short(one.what), why=short(one.why), cure=short(one.cure), file=short(one.file))


def _without(text: str, folder: str) -> str:
    return text.replace(f"{folder}/", "").replace(folder, "")


def busy() -> Answer:
    """Too many wait already."""
    return refused([problem("CB-O012")], 1)


def text_of(answer: Answer) -> str:
    """The answer as one text, for clients that pass nothing else on to their model."""
    with suppress(ValueError):
        return f"{answer.text}\n{compact(answer.data)}"
    return answer.text
