"""Regular expressions that cannot hang: each search has a time-out, and reaching it is told."""

from __future__ import annotations

from typing import Any

from cabida.bench.accept.judgement import MET, Output, Said
from cabida.bench.accept.options import Options
from cabida.text import tr

TIMEOUT_S = 0.25
LONGEST_PATTERN_CHARS = 20_000
FLAGS = {"i": "IGNORECASE", "m": "MULTILINE", "s": "DOTALL", "x": "VERBOSE"}


def compiled(pattern: str, flags: str = "") -> Any:
    """A pattern of the ``regex`` library.

    Raises:
        ValueError: it is none, or too long.
    """
    import regex

    if len(pattern) > LONGEST_PATTERN_CHARS:
        message = f"longer than {LONGEST_PATTERN_CHARS} characters"
        raise ValueError(message)
    try:
        return regex.compile(pattern, sum(getattr(regex, FLAGS[one]) for one in set(flags)))
    except (regex.error, RecursionError, OverflowError) as error:
        raise ValueError(str(error)[:200]) from None


def found(pattern: Any, text: str, *, whole: bool = False, timeout_s: float = TIMEOUT_S) -> bool | None:
    """Whether ``pattern`` is in ``text`` (or is all of it); ``None`` = not known within the time-out."""
    try:
        look = pattern.fullmatch if whole else pattern.search
        return look(text, timeout=timeout_s) is not None
    except TimeoutError:
        return None


class Pattern:
    """Kind ``regex``: the answer has (``absent``: does not have) the pattern in it; ``match: full`` = is all of it."""

    form = False

    def __init__(self, value: Any) -> None:
        said = Options(value, "pattern", ("pattern", "match", "flags", "absent", "timeout"))
        pattern = said.text("pattern")
        flags = said.text("flags", "")
        said.one_of("match", ("search", "full"), "search")
        if unknown := set(flags) - set(FLAGS):
            said.wrong("flags", "".join(sorted(unknown)), "i, m, s, x")
        self.whole = said.get("match", "search") == "full"
        self.absent = said.flag("absent")
        self.timeout_s = said.number("timeout", TIMEOUT_S, low=0.001, high=60.0)
        self.pattern = said.made("pattern", lambda: compiled(pattern, flags))
        said.check()

    def judge(self, output: Output) -> Said:
        """Whether it is met."""
        seen = found(self.pattern, output.text, whole=self.whole, timeout_s=self.timeout_s)
        if seen is None:
            return Said(None, tr("accept.pattern_timeout", seconds=f"{self.timeout_s:g}"))
        if seen is not self.absent:
            return MET
        return Said(False, tr("accept.pattern_there" if self.absent else "accept.pattern_missing"))
