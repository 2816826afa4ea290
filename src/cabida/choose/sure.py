"""What surely fits goes before what may not: a memory verdict too close to call wins only where nothing else can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cabida.choose.worked import Worked
from cabida.text import tr


def surely_fits(one: Worked) -> bool:
    """Whether its memory is no question: an API's never is."""
    return one.room is None or one.room.verdict == "fits"


def surely_first(worked: Sequence[Worked]) -> list[Worked]:
    """Where an option surely fits and satisfies, those whose memory is undecided come after it and say why."""
    if not any(one.status == "satisfies" and surely_fits(one) for one in worked):
        return list(worked)
    return [
        replace(one, status="misses", reasons=(tr("choose.misses.undecided_memory"),))
        if one.status == "satisfies" and not surely_fits(one)
        else one
        for one in worked
    ]
