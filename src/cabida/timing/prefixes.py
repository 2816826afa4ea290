"""What a replica's cache keeps of prompts already read: leading tokens by group, the longest unused leaving first.

A group is a system prompt or a conversation. Its tokens count once however many requests use them, stay when
nobody does, and give way to running requests when room is short: vLLM's and SGLang's automatic prefix caching
(vLLM docs "Automatic Prefix Caching"; Zheng et al. 2024, RadixAttention, section 3: least recently used first).
"""

from __future__ import annotations

from typing import Any

from cabida.timing.columns import (
    CACHED,
    EVICTED,
    GROUP,
    HELD,
    HIT,
    NEWER,
    NEWEST,
    OLDER,
    OLDEST,
    PINNED,
    RESIDENT,
    USERS,
)
from cabida.timing.compiled import compiled


@compiled
def unlist(s: Any, shelf: Any, group: int) -> None:
    """Take a group out of the order of use."""
    older, newer = int(shelf[group, OLDER]), int(shelf[group, NEWER])
    if older >= 0:
        shelf[older, NEWER] = newer
    elif int(s[OLDEST]) == group:
        s[OLDEST] = newer
    if newer >= 0:
        shelf[newer, OLDER] = older
    elif int(s[NEWEST]) == group:
        s[NEWEST] = older
    shelf[group, OLDER] = -1.0
    shelf[group, NEWER] = -1.0


@compiled
def used(s: Any, shelf: Any, group: int) -> None:
    """Put a group at the young end."""
    unlist(s, shelf, group)
    newest = int(s[NEWEST])
    shelf[group, OLDER] = newest
    if newest >= 0:
        shelf[newest, NEWER] = group
    else:
        s[OLDEST] = group
    s[NEWEST] = group


@compiled
def pin(s: Any, shelf: Any, group: int) -> None:
    """One more request uses a group's tokens."""
    if shelf[group, USERS] == 0:
        s[PINNED] += shelf[group, CACHED]
    shelf[group, USERS] += 1
    used(s, shelf, group)


@compiled
def unpin(s: Any, shelf: Any, group: int) -> None:
    """One request fewer uses them."""
    shelf[group, USERS] -= 1
    if shelf[group, USERS] == 0:
        s[PINNED] -= shelf[group, CACHED]


@compiled
def keep(s: Any, shelf: Any, asked: Any, request: int, tokens: float) -> None:
    """Let ``tokens`` that a request alone held, beyond those it shares, belong to its group."""
    group = int(asked[request, GROUP])
    s[HELD] -= tokens
    more = asked[request, HIT] + tokens - shelf[group, CACHED]
    asked[request, HIT] += tokens
    if more > 0:  # what another request of the group brought meanwhile is one and the same
        shelf[group, CACHED] += more
        s[RESIDENT] += more
        if shelf[group, USERS] > 0:
            s[PINNED] += more


@compiled
def make_room(s: Any, totals: Any, shelf: Any, spare: float) -> None:
    """Drop unused groups, longest unused first, until ``spare`` tokens hold what groups keep."""
    group = int(s[OLDEST])
    while s[RESIDENT] > spare and group >= 0 and s[RESIDENT] > s[PINNED]:
        after = int(shelf[group, NEWER])
        if shelf[group, USERS] == 0:
            s[RESIDENT] -= shelf[group, CACHED]
            totals[EVICTED] += shelf[group, CACHED]
            shelf[group, CACHED] = 0.0
            unlist(s, shelf, group)
        group = after
