"""One result of a measuring tool on its way to an observation: figures under our names, the doubtful ones refused.

Our names and units are those of the case format (``cases/README.md``): times in milliseconds, rates per second,
``tpot_ms`` = (time of the last token - time of the first) / (tokens - 1) of a request, ``itl_ms`` = between one piece
of a stream and the next, ``e2e_ms`` from sending to the last token, ``ttft_ms`` from sending to the first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from cabida.evidence.importers.benches.pages import Page
from cabida.evidence.importers.run import LINE_KEPT, MOST_NOTES, Run
from cabida.evidence.notes import sentence
from cabida.evidence.secrets import redacted

MS_PER_S = 1e3
MOST = 1e15
ORDERED = ("p50", "p75", "p90", "p95", "p99")  # each at least the one before
STATISTICS = ("mean", *ORDERED)
LATENCY = re.compile(r"(ttft|tpot|itl|e2e)_ms")
POSITIVE = re.compile(r"(ttft|tpot|itl|e2e)_ms|tok_s|req_s|seconds|it_s|items_s|samples_s|minutes")
ROUNDING_RATIO = 1.005  # how far a rounded percentile may be below a lower one
PIECE_RATIO = 1.25  # of the time between pieces over that per token, beyond which a piece is no token
BY_OUTPUT = ("tpot_ms", "output_tok_s", "total_tok_s")  # figures that rest on a count of output tokens
SAME_RATIO = 1.02  # how far two counts of the same tokens may differ
COUNTED_RATIO = 1.05  # how far a rate may be from what is counted over the time it took
CROWD_RATIO = 1.15  # how far requests under way may be above the clients there are
# codes of a reason, told in words by evidence.note.refused.CODE
ZERO, NEGATIVE, NO_NUMBER, ORDER, COUNTS, CROWD, LATER, MIXED, TOKENS, UNSTREAMED, PIECES, WINDOW = (
    "zero", "negative", "no_number", "order", "counts", "crowd", "later", "mixed", "tokens", "unstreamed", "pieces",
    "window",
)  # fmt: skip


@dataclass(slots=True)
class Result:
    """What one result says so far.

    Attributes:
        tool: which tool wrote it.
        page: what it was read from; keys of it that nobody looked at are told as unread.
        setup, load, measured: as in the case format.
        refused: figure -> code of the reason why it isn't taken.
        counts: ``completed``, ``duration_s``, ``input_tokens``, ``output_tokens`` (of all), to check rates with.
    """

    tool: str
    page: Page | None = None
    kind: str = "serving"
    mode: str = "serve"
    setup: dict[str, Any] = field(default_factory=dict)
    load: dict[str, Any] = field(default_factory=dict)
    measured: dict[str, float] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    counts: dict[str, float] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    date: str = ""
    quality: str = "A"

    def put(self, metric: str, value: float | None, times: float = 1.0) -> None:
        """One figure, ``times`` what makes it ours; one that can't be is refused with its reason."""
        if value is None or metric in self.measured or metric in self.refused:
            return
        if not abs(value) < MOST:
            self.refused[metric] = NO_NUMBER
        elif value < 0:
            self.refused[metric] = NEGATIVE
        elif value == 0 and POSITIVE.search(metric):
            self.refused[metric] = ZERO
        else:
            self.measured[metric] = _plain(value * times)

    def spread(self, metric: str, found: Mapping[str, float | None], times: float = 1.0) -> None:
        """The statistics of a figure, by name: ``mean``, ``p50`` ... ``p99``."""
        for name, value in found.items():
            self.put(f"{metric}_{name}", value, times)

    def say(self, key: str, value: Any) -> None:
        """One thing of the setup, unless it was said before."""
        if value not in (None, "", "None", 0):
            self.setup.setdefault(key, value)

    def asked(self, key: str, value: float | None) -> None:
        """One thing of the load, where it is a positive number."""
        if value is not None and 0 < value < MOST:
            self.load.setdefault(key, _plain(value))

    def count(self, **found: float | None) -> None:
        """Counts that rates are checked with."""
        self.counts |= {key: value for key, value in found.items() if value is not None and 0 <= value < MOST}

    def errors(self, failed: float | None, tried: float | None) -> None:
        """The share of requests that failed, of those that ended by themselves."""
        if failed is not None and tried and 0 <= failed <= tried:
            self.measured["error_ratio"] = _plain(failed / tried)

    def note(self, key: str, **values: object) -> None:
        """A note of the catalogue, kept once beside the figures."""
        short = redacted(sentence(key, **values))[:LINE_KEPT]
        if short not in self.notes and len(self.notes) < MOST_NOTES:
            self.notes.append(short)

    def refuse(self, reason: str, *metrics: str) -> None:
        """Figures that were taken and are not to be."""
        for metric in metrics:
            if self.measured.pop(metric, None) is not None:
                self.refused[metric] = reason


def _plain(value: float) -> float:
    """As a file would print it: no digits that come of the arithmetic, no fraction where there is none."""
    rounded = float(f"{value:.10g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def day_of(seconds: float | None) -> str:
    """The day of a Unix time; "" when it is none."""
    if seconds is None or not 1e9 < seconds < 1e11:
        return ""
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def day_in(text: str) -> str:
    """The day that a text begins with: ``20251103-101500``, ``2025-11-03T10:15:00``; "" when it begins with none."""
    found = re.match(r"(20\d\d)-?(\d\d)-?(\d\d)(?!\d)", text)
    return "-".join(found.groups()) if found else ""


def check(one: Result) -> None:
    """Refuse what contradicts itself: percentiles out of order, rates that aren't what was counted, a crowd."""
    _order(one)
    _counted(one)
    _crowd(one)
    if any(reason == ZERO and name.startswith("ttft") for name, reason in one.refused.items()):
        # answers came whole: what is called the time per token is that of all of it
        one.refuse(
            UNSTREAMED, *(name for name in list(one.measured) if re.match(r"(ttft|tpot|itl)_ms", name))
        )
    gap, token = one.measured.get("itl_ms_mean"), one.measured.get("tpot_ms_mean")
    if gap and token and gap > PIECE_RATIO * token and not one.more.get("spec_decode"):
        one.refuse(PIECES, *(name for name in list(one.measured) if name.startswith("itl_ms")))
    for statistic in STATISTICS:
        first, whole = one.measured.get(f"ttft_ms_{statistic}"), one.measured.get(f"e2e_ms_{statistic}")
        if first and whole and first > ROUNDING_RATIO * whole:
            one.refuse(LATER, f"ttft_ms_{statistic}", f"e2e_ms_{statistic}")


def _order(one: Result) -> None:
    for base in ("ttft_ms", "tpot_ms", "itl_ms", "e2e_ms"):
        there = [f"{base}_{name}" for name in ORDERED if f"{base}_{name}" in one.measured]
        odd = {
            name
            for at, low in enumerate(there)
            for high in there[at + 1 :]
            if one.measured[low] > ROUNDING_RATIO * one.measured[high]
            for name in (low, high)
        }
        one.refuse(ORDER, *odd)


def _counted(one: Result) -> None:
    took = one.counts.get("duration_s")
    if not took:
        return
    inputs, outputs = one.counts.get("input_tokens"), one.counts.get("output_tokens")
    wanted = {
        "req_s": one.counts.get("completed"),
        "output_tok_s": outputs,
        "input_tok_s": inputs,
        "total_tok_s": None if inputs is None or outputs is None else inputs + outputs,
    }
    for metric, amount in wanted.items():
        told = one.measured.get(metric)
        if told and amount is not None and not 1 / COUNTED_RATIO < amount / took / told < COUNTED_RATIO:
            one.refuse(COUNTS, metric)


def _crowd(one: Result) -> None:
    """More requests under way, on average, than there were clients to send them (Little's law)."""
    clients, rate = one.load.get("concurrency"), one.measured.get("req_s")
    lasted = one.measured.get("e2e_ms_mean")
    if isinstance(clients, int | float) and rate and lasted:
        under_way = rate * lasted / MS_PER_S
        if under_way > CROWD_RATIO * clients:
            one.refuse(CROWD, "req_s", *(name for name in list(one.measured) if name.startswith("e2e_ms")))


def refuse_other_counts(
    one: Result, served: float | None, counted: float | None, figures: tuple[str, ...] = BY_OUTPUT
) -> None:
    """Refuse figures by the token where the tool counted others (``counted``) than the server did (``served``).

    Args:
        one: the result.
        served: mean tokens as the server tells them.
        counted: mean tokens as the tool counted them.
        figures: how names of figures begin that rest on the count.
    """
    if served and counted and not 1 / SAME_RATIO < served / counted < SAME_RATIO:
        one.refuse(TOKENS, *(name for name in list(one.measured) if name.startswith(figures)))


def run_of(one: Result) -> Run:
    """The result as the readers of logs hand theirs out; the unread keys are its unknown lines."""
    check(one)
    for code in dict.fromkeys(one.refused.values()):
        figures = [metric for metric, why in one.refused.items() if why == code]
        one.note(f"refused.{code}", figures=", ".join(figures))
    row: dict[str, Any] = {
        "kind": one.kind,
        **{key: value for key, value in one.setup.items() if value not in (None, "")},
        **({"mode": one.mode} if one.kind == "serving" else {}),
        "load": one.load,
        "measured": one.measured,
        "tool": one.tool,
        **one.more,
        "quality": one.quality,
        "source": "",
        "date": one.date,
        "note": "; ".join(one.notes),
    }
    if one.refused:
        row["refused"] = one.refused
    run = Run("", measured=dict(one.measured), more={"row": row, "raw": True})
    if one.page is not None:
        keep_unread(run, one.page.line, one.page.unread())
    return run


def keep_unread(run: Run, line: int, keys: Iterable[str]) -> None:
    """Keys that nobody understood, as one unknown line of the file; each counts."""
    names = list(keys)
    if not names:
        return
    run.keep((line, f"unread: {', '.join(names)}"))
    run.unknown_count += len(names) - 1


def statistics(values: Iterable[float]) -> Iterator[tuple[str, float]]:
    """Mean and percentiles (linear between ranks, as numpy has them) of what a file gives request by request."""
    ranked = sorted(value for value in values if math.isfinite(value))
    if not ranked:
        return
    yield "mean", math.fsum(ranked) / len(ranked)
    for name in ORDERED:
        place = (len(ranked) - 1) * int(name[1:]) / 100
        low = int(place)
        high = min(low + 1, len(ranked) - 1)
        yield name, ranked[low] + (ranked[high] - ranked[low]) * (place - low)
