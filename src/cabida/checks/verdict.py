"""What a check says of a combination: it runs, it runs with something to know or to do, or it does not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """``state`` is runs, steps (runs, and ``sentence`` says what to do or to know) or no."""

    state: str
    sentence: str
    source: str  # where that is written
    rule: str = ""  # which rule spoke: key of the checks catalogue

    def __bool__(self) -> bool:
        """Whether it runs at all."""
        return self.state != "no"


def worst(verdicts: list[Verdict]) -> Verdict:
    """The one that decides: no over steps over runs, the first of equals."""
    return min(verdicts, key=lambda verdict: ("no", "steps", "runs").index(verdict.state))
