"""A benchmark while it runs: a picture on a terminal, a line every few seconds in a pipe; both on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING

import click

from cabida.bench.run.following import Now
from cabida.text import duration, has_text, number, percent, printable, tr

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

LINE_EVERY_S = 10.0
BARS = "▁▂▃▄▅▆▇█"


@contextmanager
def live() -> Iterator[Callable[[Now], None]]:
    """Shows how a benchmark stands each time it is called."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with Live(console=console, auto_refresh=False, transient=True) as shown:
        yield lambda now: shown.update(picture(now), refresh=True)


def _lines() -> Callable[[Now], None]:
    """A line when a run begins, and then every few seconds."""
    run, told_s = "", 0.0

    def tell(now: Now) -> None:
        nonlocal run, told_s
        if now.run != run or monotonic() - told_s >= LINE_EVERY_S:
            run, told_s = now.run, monotonic()
            with suppress(OSError):  # whoever read along has gone; what is measured goes on
                click.echo(printable(line(now)), err=True)

    return tell


def line(now: Now) -> str:
    """How it stands in one line, without colour."""
    if not now.run:
        return tr("bench.live.waiting")
    return " · ".join([head_of(now), *(f"{name} {value}" for name, value in figures(now))])


def head_of(now: Now) -> str:
    """Which run of how many, and how long it has taken of what it may."""
    place = f"{now.place}/{now.of} " if now.of else ""
    of = f"/{duration(now.duration_s)}" if now.duration_s else ""
    whole_s = max(round(now.elapsed_s), 0)
    return f"{place}{now.run} {duration(whole_s) if whole_s else '0 s'}{of}"


def figures(now: Now) -> list[tuple[str, str]]:
    """What is known now, as (name, value); what isn't is left out."""
    found: list[tuple[str, str]] = []
    asks = bool(now.attempts_count) or now.phase not in ("training", "drill")
    if asks:
        found.append((tr("bench.live.rate"), f"{number(now.requests_per_s)}/s"))
        found.append((tr("bench.live.ended"), number(now.ended_count, 6)))
    if now.ttft_s is not None:
        found.append(("TTFT p50", duration(now.ttft_s)))
    if now.tpot_s is not None:
        found.append(("TPOT p50", duration(now.tpot_s)))
    if asks:
        found.append((tr("bench.live.failed"), failures_of(now)))
    if now.judged_count:
        found.append((tr("bench.live.accepted"), percent(now.accepted_count / now.judged_count)))
    if now.cpu_ratio is not None:
        found.append((tr("bench.live.client"), _client(now)))
    for name in ("running_count", "waiting_count", "preemptions_count"):
        value = now.watched.get(name)
        if isinstance(value, int | float):
            found.append((tr(f"bench.live.{name}"), number(value)))
    used = now.watched.get("kv_used_ratio")
    if isinstance(used, int | float):
        found.append((tr("bench.live.kv_used_ratio"), percent(used)))
    if now.last:
        found.append((tr("bench.live.last"), _short(now.last)))
    return found


def failures_of(now: Now) -> str:
    """How many failed, with the three commonest verdicts."""
    if not now.failed_count:
        return "0"
    worst = [(name, count) for name, count in now.verdicts.most_common() if name not in ("ok", "cancelled")]
    return f"{now.failed_count} ({', '.join(f'{_verdict(name)} {count}' for name, count in worst[:3])})"


def _verdict(name: str) -> str:
    key = f"bench.verdict.{name}"
    return tr(key) if has_text(key) else _short(name)


def _client(now: Now) -> str:
    lag = f", {tr('bench.live.lag')} {duration(now.lag_s)}" if now.lag_s is not None else ""
    busy = f" {tr('bench.live.bound')}" if now.bound else ""
    return f"CPU {percent(now.cpu_ratio or 0.0)}{lag}{busy}"


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"


def picture(now: Now) -> RenderableType:
    """The same as a small panel with the last minutes of rate and TTFT."""
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    if not now.run:
        return Text(tr("bench.live.waiting"))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column()
    for name, value in figures(now):
        style = "bold red" if now.bound and name == tr("bench.live.client") else ""
        grid.add_row(Text(name), Text(printable(value), style=style))
    if len(now.history) > 1:
        grid.add_row(Text(tr("bench.live.rate")), Text(bars([one[1] for one in now.history]), style="cyan"))
        waits = [one[2] for one in now.history]
        if any(one is not None for one in waits):
            grid.add_row(Text("TTFT"), Text(bars(waits), style="magenta"))
    title = Text(printable(f"{head_of(now)} · {now.candidate}"))
    return Panel(grid, title=title, title_align="left", border_style="red" if now.bound else "dim")


def bars(values: Sequence[float | None]) -> str:
    """Heights from nothing to the highest; a gap where nothing is known."""
    most = max((one for one in values if one is not None), default=0.0)
    if most <= 0:
        return "".join(" " if one is None else BARS[0] for one in values)
    return "".join(" " if one is None else BARS[min(int(one / most * 7.99), 7)] for one in values)
