"""A replica's waiting line: a list threaded through the requests themselves."""

from __future__ import annotations

from typing import Any

from cabida.timing.compiled import compiled
from cabida.timing.queues import columns as col


@compiled
def enqueue(asked: Any, s: Any, request: int) -> None:
    """Put a request at the end of a replica's line."""
    asked[request, col.NEXT] = -1.0
    if s[col.TAIL] >= 0:
        asked[int(s[col.TAIL]), col.NEXT] = request
    else:
        s[col.HEAD] = request
    s[col.TAIL] = request
    s[col.WAITING] += 1


@compiled
def put_back(asked: Any, s: Any, request: int) -> None:
    """Put a preempted request at the front."""
    asked[request, col.NEXT] = s[col.HEAD]
    if s[col.HEAD] < 0:
        s[col.TAIL] = request
    s[col.HEAD] = request
    s[col.WAITING] += 1


@compiled
def take_up(asked: Any, s: Any, request: int, before: int) -> None:
    """Take a request out of the line, ``before`` the one in front of it; -1 = it was the first."""
    after = asked[request, col.NEXT]
    if before < 0:
        s[col.HEAD] = after
    else:
        asked[before, col.NEXT] = after
    if after < 0:
        s[col.TAIL] = before
    s[col.WAITING] -= 1


@compiled
def in_line(rule: Any, asked: Any, s: Any, using: Any) -> Any:
    """The first in line whose adapter is in use or finds a place, and the one before it; -1 = nobody."""
    request, before = int(s[col.HEAD]), -1
    if rule[col.ADAPTERS] <= 0:
        return request, before
    while request >= 0:
        adapter = int(asked[request, col.ADAPTER])
        if adapter < 0 or using[adapter, col.RUNNING] > 0 or s[col.ADAPTED] < rule[col.ADAPTERS]:
            break
        before = request
        request = int(asked[request, col.NEXT])
    return request, before
