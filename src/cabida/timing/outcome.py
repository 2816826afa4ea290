"""What comes out of a finished step: tokens, answers that end, prompts that begin to decode, and the counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from cabida.timing.columns import (
    ALIVE,
    BASE,
    BUSY_S,
    CONTEXT,
    DECAY,
    DECODING,
    DONE,
    ENDS_AT,
    ENTERED_AT,
    FINISHED,
    FIRST,
    GENERATED,
    GROUP,
    HELD,
    HIT,
    INPUT,
    ITL_BINS,
    ITL_BINS_PER_E_FOLD,
    ITL_LOW_S,
    KEPT,
    KV_TOKEN_S,
    LAST,
    LEFT,
    NOW,
    OUTPUT,
    PACE,
    PACES,
    PART,
    PINNED,
    PREFILL,
    PREFILLED,
    RATIO,
    READS,
    REQUEST,
    RESERVE_LEAST,
    ROLE,
    SEAT_COUNT,
    SEQUENCE_S,
    STALLED,
    STEP,
    STEPS,
)  # fmt: skip
from cabida.timing.compiled import compiled
from cabida.timing.prefixes import keep
from cabida.timing.schedule import _release, _seat


@compiled
def _note_gap(gaps: Any, gap_s: float, weight: float) -> None:
    """Count ``weight`` token gaps of ``gap_s`` seconds in the logarithmic histogram."""
    place = int(np.log(max(gap_s, ITL_LOW_S) / ITL_LOW_S) * ITL_BINS_PER_E_FOLD)
    gaps[min(place, ITL_BINS - 1)] += weight


@compiled
def _end(asked: Any, s: Any, shelf: Any, using: Any, request: int, size: float) -> None:
    """An answer of ``size`` tokens of context is complete; a conversation's stay cached for its next turn."""
    own = size - asked[request, HIT]
    if asked[request, KEPT] > 0 and asked[request, GROUP] >= 0:
        keep(s, shelf, asked, request, own)
    else:
        s[HELD] -= own
    asked[request, LAST] = s[NOW]
    asked[request, DONE] = asked[request, OUTPUT]
    _release(asked, s, shelf, using, request)


@compiled
def _leave(asked: Any, seats: Any, s: Any, totals: Any, shelf: Any, using: Any) -> int:
    """Take those whose answer is complete out of the running ones; how many they were."""
    kept = gone = 0
    for place in range(int(s[ALIVE])):
        if seats[place, ENDS_AT] <= s[STEP]:
            request = int(seats[place, REQUEST])
            given = (s[STEP] - seats[place, ENTERED_AT]) * asked[request, PACE]
            over = given - (asked[request, OUTPUT] - asked[request, DONE])  # of the last, speculated step
            size = seats[place, BASE] + given
            s[CONTEXT] -= size
            s[HELD] -= over
            s[LEFT] += over
            s[PACES] -= asked[request, PACE]
            totals[GENERATED] -= over
            _end(asked, s, shelf, using, request, size - over)
            gone += 1
        else:
            if kept < place:
                for column in range(SEAT_COUNT):
                    seats[kept, column] = seats[place, column]
            kept += 1
    s[ALIVE] = kept
    return gone


@compiled
def _join(rule: Any, asked: Any, seats: Any, s: Any, totals: Any, chosen: Any, shelf: Any, using: Any) -> int:
    """Those whose prompt has been read give a token and go on decoding; how many answers end with it."""
    ended = 0
    for place in range(int(s[FINISHED])):
        request = int(chosen[place])
        if asked[request, FIRST] < 0:
            asked[request, FIRST] = s[NOW]
        size = asked[request, INPUT] + asked[request, DONE]
        asked[request, DONE] += 1
        totals[GENERATED] += 1
        if asked[request, DONE] >= asked[request, OUTPUT]:
            _end(asked, s, shelf, using, request, size)
            ended += 1
        elif rule[ROLE] == READS:
            s[HELD] -= size - asked[request, HIT]
            _release(asked, s, shelf, using, request)
        else:
            s[HELD] += 1
            _seat(asked, seats, s, request, size + 1)
    return ended


@compiled
def finish(
    rule: Any, asked: Any, seats: Any, s: Any, totals: Any, gaps: Any, chosen: Any, shelf: Any, using: Any,
    took_s: float, span: float,
) -> int:  # fmt: skip
    """Account for ``span`` steps that took ``took_s`` seconds together, its clock already moved on.

    Returns:
        How many answers are complete.
    """
    alive, decoding, finished = s[ALIVE], s[DECODING], s[FINISHED]
    there = alive + finished + (1.0 if s[PART] >= 0 else 0.0)
    if there == 0:
        return 0
    totals[STEPS] += span
    totals[BUSY_S] += took_s
    totals[SEQUENCE_S] += took_s * there
    totals[KV_TOKEN_S] += took_s * (s[HELD] + s[PINNED] + 0.5 * s[PACES] * span * (decoding > 0))
    totals[PREFILLED] += s[PREFILL]
    answered = 0
    if decoding > 0:
        gained = span * s[PACES]
        s[STEP] += span
        s[CONTEXT] += gained
        s[HELD] += gained
        s[LEFT] -= gained
        s[RATIO] = max(min(s[RATIO], rule[RESERVE_LEAST]), s[RATIO] - rule[DECAY] * span)
        totals[GENERATED] += gained
        each_s = took_s / span
        _note_gap(gaps, each_s + s[STALLED], decoding)
        _note_gap(gaps, each_s, (span - 1) * decoding)
        s[STALLED] = 0.0
        answered += _leave(asked, seats, s, totals, shelf, using)
    elif alive > 0:
        s[STALLED] += took_s
    if finished > 0:
        answered += _join(rule, asked, seats, s, totals, chosen, shelf, using)
    return answered
