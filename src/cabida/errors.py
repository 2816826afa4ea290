"""The family of errors, and the one shape in which a problem is told.

::

    CabidaError            exit 1   something unexpected
    ├── UsageProblem       exit 2   the command was typed wrongly
    ├── InvalidInput       exit 3   a brief, a fact or a file is invalid or incomplete
    │   └── NotThere       exit 3   what was asked for by its name isn't kept here
    ├── Conflict           exit 3   somebody else changed it first
    ├── NothingSatisfies   exit 4   no candidate satisfies the brief
    ├── EndpointFailed     exit 5   an endpoint or the network failed
    └── AuditBlocked       exit 6   an audit found blocking gaps

Each carries its problems, all at once; each problem says what, where, why and what to type next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. Prints as ``FILE:LINE: what. why. cure [CODE]``, without what is empty."""

    code: str
    what: str
    cure: str = ""
    why: str = ""
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        where = (
            f"{self.file}:{self.line}: " if self.file and self.line else f"{self.file}: " if self.file else ""
        )
        sentences = [_sentence(text) for text in (self.what, self.why, self.cure) if text]
        return f"{where}{' '.join(sentences)} [{self.code}]"

    def as_dict(self) -> dict[str, str | int]:
        """The same as plain data, for ``--json``."""
        return asdict(self)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!", ":", "…")) else text + "."


class CabidaError(Exception):
    """Something that a person can mend, told with its problems. ``exit_code`` is the command's."""

    exit_code = 1

    def __init__(self, problems: Problem | Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class UsageProblem(CabidaError):
    """The command was typed wrongly."""

    exit_code = 2


class InvalidInput(CabidaError):
    """A brief, a fact or a file is invalid, or says too little to decide."""

    exit_code = 3


class NotThere(InvalidInput):
    """What was asked for by its name isn't kept here, or no longer."""


class Conflict(CabidaError):
    """Somebody else changed it first. ``newest`` is the version that there is now, 0 where versions don't count."""

    exit_code = 3

    def __init__(self, problems: Problem | Sequence[Problem], newest: int = 0) -> None:
        super().__init__(problems)
        self.newest = newest


class NothingSatisfies(CabidaError):
    """No candidate satisfies the brief."""

    exit_code = 4


class EndpointFailed(CabidaError):
    """An endpoint or the network failed."""

    exit_code = 5


class AuditBlocked(CabidaError):
    """An audit found gaps that block the purchase."""

    exit_code = 6
