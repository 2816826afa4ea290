"""What a replica's cache keeps of prompts already read: leading tokens by group, the longest unused leaving first.

A group is a system prompt or a conversation. Its tokens count once however many requests use them, stay when
nobody does, and give way to running requests when room is short: vLLM's and SGLang's automatic prefix caching
(vLLM docs "Automatic Prefix Caching"; Zheng et al. 2024, RadixAttention, section 3: least recently used first).
"""

from __future__ import annotations

from typing import Any

from cabida.timing.compiled import compiled
from cabida.timing.queues import columns as col


@compiled
def unlist(s: Any, shelf: Any, group: int) -> None:
    """Take a group out of the order of use."""
    older, newer = int(shelf[group, col.OLDER]), int(shelf[group, col.NEWER])
    if older >= 0:
        shelf[older, col.NEWER] = newer
    elif int(s[col.OLDEST]) == group:
        s[col.OLDEST] = newer
    if newer >= 0:
        shelf[newer, col.OLDER] = older
    elif int(s[col.NEWEST]) == group:
        s[col.NEWEST] = older
    shelf[group, col.OLDER] = -1.0
    shelf[group, col.NEWER] = -1.0


@compiled
def used(s: Any, shelf: Any, group: int) -> None:
    """Put a group at the young end."""
    unlist(s, shelf, group)
    newest = int(s[col.NEWEST])
    shelf[group, col.OLDER] = newest
    if newest >= 0:
        shelf[newest, col.NEWER] = group
    else:
        s[col.OLDEST] = group
    s[col.NEWEST] = group


@compiled
def pin(s: Any, shelf: Any, group: int) -> None:
    """One more request uses a group's tokens."""
    if shelf[group, col.USERS] == 0:
        s[col.PINNED] += shelf[group, col.CACHED]
    shelf[group, col.USERS] += 1
    used(s, shelf, group)


@compiled
def unpin(s: Any, shelf: Any, group: int) -> None:
    """One request fewer uses them."""
    shelf[group, col.USERS] -= 1
    if shelf[group, col.USERS] == 0:
        s[col.PINNED] -= shelf[group, col.CACHED]


@compiled
def keep(s: Any, shelf: Any, asked: Any, request: int, tokens: float) -> None:
    """Let ``tokens`` that a request alone held, beyond those it shares, belong to its group."""
    group = int(asked[request, col.GROUP])
    s[col.HELD] -= tokens
    more = asked[request, col.HIT] + tokens - shelf[group, col.CACHED]
    asked[request, col.HIT] += tokens
    if more > 0:  # what another request of the group brought meanwhile is one and the same
        shelf[group, col.CACHED] += more
        s[col.RESIDENT] += more
        if shelf[group, col.USERS] > 0:
            s[col.PINNED] += more


@compiled
def trim(s: Any, shelf: Any, group: int, tokens: float) -> None:
    """Drop what an unused group keeps beyond ``tokens``: nobody asks for it any more."""
    surplus = shelf[group, col.CACHED] - tokens
    if surplus > 0:
        shelf[group, col.CACHED] = tokens
        s[col.RESIDENT] -= surplus


@compiled
def make_room(s: Any, totals: Any, shelf: Any, spare: float) -> None:
    """Drop unused groups, longest unused first, until ``spare`` tokens hold what groups keep."""
    group = int(s[col.OLDEST])
    while s[col.RESIDENT] > spare and group >= 0 and s[col.RESIDENT] > s[col.PINNED]:
        after = int(shelf[group, col.NEWER])
        if shelf[group, col.USERS] == 0:
            s[col.RESIDENT] -= shelf[group, col.CACHED]
            totals[col.EVICTED] += shelf[group, col.CACHED]
            shelf[group, col.CACHED] = 0.0
            unlist(s, shelf, group)
        group = after
