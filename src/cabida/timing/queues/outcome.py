"""What comes out of a finished step: tokens, answers that end, prompts that begin to decode, and the counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from cabida.timing.compiled import compiled
from cabida.timing.queues import columns as col
from cabida.timing.queues.prefixes import keep
from cabida.timing.queues.schedule import release, seat


@compiled
def _note_gap(gaps: Any, gap_s: float, weight: float) -> None:
    """Count ``weight`` token gaps of ``gap_s`` seconds in the logarithmic histogram."""
    place = int(np.log(max(gap_s, col.ITL_LOW_S) / col.ITL_LOW_S) * col.ITL_BINS_PER_E_FOLD)
    gaps[min(place, col.ITL_BINS - 1)] += weight


@compiled
def _end(asked: Any, s: Any, shelf: Any, using: Any, request: int, size: float) -> None:
    """An answer of ``size`` tokens of context is complete; a conversation's stay cached for its next turn."""
    own = size - asked[request, col.HIT]
    if asked[request, col.KEPT] > 0 and asked[request, col.GROUP] >= 0:
        keep(s, shelf, asked, request, own)
    else:
        s[col.HELD] -= own
    asked[request, col.LAST] = s[col.NOW]
    asked[request, col.DONE] = asked[request, col.OUTPUT]
    release(asked, s, shelf, using, request)


@compiled
def _leave(asked: Any, seats: Any, s: Any, totals: Any, shelf: Any, using: Any) -> int:
    """Take those whose answer is complete out of the running ones; how many they were."""
    kept = gone = 0
    for place in range(int(s[col.ALIVE])):
        if seats[place, col.ENDS_AT] <= s[col.STEP]:
            request = int(seats[place, col.REQUEST])
            given = (s[col.STEP] - seats[place, col.ENTERED_AT]) * asked[request, col.PACE]
            over = given - (
                asked[request, col.OUTPUT] - asked[request, col.DONE]
            )  # of the last, speculated step
            size = seats[place, col.BASE] + given
            s[col.CONTEXT] -= size
            s[col.HELD] -= over
            s[col.LEFT] += over
            s[col.PACES] -= asked[request, col.PACE]
            totals[col.GENERATED] -= over
            _end(asked, s, shelf, using, request, size - over)
            gone += 1
        else:
            if kept < place:
                for column in range(col.SEAT_COUNT):
                    seats[kept, column] = seats[place, column]
            kept += 1
    s[col.ALIVE] = kept
    return gone


@compiled
def _join(rule: Any, asked: Any, seats: Any, s: Any, totals: Any, chosen: Any, shelf: Any, using: Any) -> int:
    """Those whose prompt has been read give a token and go on decoding; how many answers end with it."""
    ended = 0
    for place in range(int(s[col.FINISHED])):
        request = int(chosen[place])
        if asked[request, col.FIRST] < 0:
            asked[request, col.FIRST] = s[col.NOW]
        size = asked[request, col.INPUT] + asked[request, col.DONE]
        given = min(1.0, asked[request, col.OUTPUT] - asked[request, col.DONE])
        asked[request, col.DONE] += given
        totals[col.GENERATED] += given
        if asked[request, col.DONE] >= asked[request, col.OUTPUT]:
            _end(asked, s, shelf, using, request, size)
            ended += 1
        elif rule[col.ROLE] == col.READS:
            s[col.HELD] -= size - asked[request, col.HIT]
            release(asked, s, shelf, using, request)
        else:
            s[col.HELD] += 1
            seat(asked, seats, s, request, size + 1)
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
    alive, decoding, finished = s[col.ALIVE], s[col.DECODING], s[col.FINISHED]
    there = alive + finished + (1.0 if s[col.PART] >= 0 else 0.0)
    if there == 0:
        return 0
    totals[col.STEPS] += span
    totals[col.BUSY_S] += took_s
    totals[col.SEQUENCE_S] += took_s * there
    totals[col.KV_TOKEN_S] += took_s * (
        s[col.HELD] + s[col.PINNED] + 0.5 * s[col.PACES] * span * (decoding > 0)
    )
    totals[col.PREFILLED] += s[col.PREFILL]
    s[col.STORED] += s[col.PREFILL] + finished
    answered = 0
    if decoding > 0:
        gained = span * s[col.PACES]
        s[col.STEP] += span
        s[col.CONTEXT] += gained
        s[col.HELD] += gained
        s[col.STORED] += gained
        s[col.LEFT] -= gained
        s[col.RATIO] = max(min(s[col.RATIO], rule[col.RESERVE_LEAST]), s[col.RATIO] - rule[col.DECAY] * span)
        totals[col.GENERATED] += gained
        each_s = took_s / span
        _note_gap(gaps, each_s + s[col.STALLED], decoding)
        _note_gap(gaps, each_s, (span - 1) * decoding)
        s[col.STALLED] = 0.0
        answered += _leave(asked, seats, s, totals, shelf, using)
    elif alive > 0:
        s[col.STALLED] += took_s
    if finished > 0:
        answered += _join(rule, asked, seats, s, totals, chosen, shelf, using)
    return answered
