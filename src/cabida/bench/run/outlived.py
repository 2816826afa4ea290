"""Whether the figures of a server, and the labels that costs are charged by, outlive a drill."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict

from cabida.bench.run.place import Place
from cabida.bench.watch.attribution import Look, look, survived
from cabida.bench.watch.fetching import Address, addresses

LOOK_S = 2.0  # a drill doesn't wait longer for a page


async def looked(one: Place) -> Look | None:
    """The first page of the candidate that is there, as it is now; ``None`` = there is none."""
    try:
        return await asyncio.wait_for(first_of(_pages(one)), LOOK_S)
    except TimeoutError:
        return None


async def first_of(pages: Sequence[Address]) -> Look | None:
    """The first of some pages that is there."""
    for page in pages:
        found = await asyncio.to_thread(look, page)
        if found.there:
            return found
    return None


async def compared(one: Place, drill: str, before: Look | None) -> None:
    """Look again and journal what is still there; nothing where there was no page before."""
    if before is None:
        return
    after = await looked(one)
    found = survived(before, after if after is not None else Look(False))
    one.going.journal.event("survived", drill=drill, **asdict(found))


def _pages(one: Place) -> list[Address]:
    target = one.contender.target
    return addresses(target.metrics, target.url, one.endpoint, loopback=one.endpoint.loopback)
