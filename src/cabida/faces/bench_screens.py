"""The screens of a benchmark's small answers: what would be run, and the client's own test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from cabida.faces.grid import clean, table
from cabida.text import duration, has_text, money, number, percent, size, tr

if TYPE_CHECKING:
    from cabida.bench.selfcheck.selftest import Figures, Level, SelfTest


def planned(answer: dict[str, Any]) -> RenderableType:
    """The runs that would be made, and what each drill would do."""
    rows = []
    blocks: list[RenderableType] = []
    for one in answer["runs_planned"]:
        lasts_s = one["duration_s"] or one["load"]["duration_s"]
        cost = one["cost_money"]
        rows.append(
            (
                one["name"],
                phase(one["phase"]),
                one["candidate"],
                duration(lasts_s) if lasts_s else "–",
                money(cost, answer["currency"]) if cost is not None else "–",
            )
        )
        blocks += [clean(line) for line in one["does"]]
    header = [tr(f"bench.head.{one}") for one in ("run", "phase", "candidate", "lasts", "costs")]
    return Group(
        clean(tr("bench.would_run", folder=answer["folder"])), table(header, rows, right=(3, 4)), *blocks
    )


def phase(name: str) -> str:
    """A phase in words."""
    key = f"bench.phase.{name}"
    return tr(key) if has_text(key) else name


def selftest(found: SelfTest) -> RenderableType:
    """Level by level what is true and what the client says, and up to where it can be trusted."""
    header = [
        tr(f"bench.head.{one}")
        for one in ("streams", "true_ttft", "own_ttft", "off", "off_p99", "cpu", "says")
    ]
    rows = [_level(one) for one in found.levels]
    light = found.cpu_s_per_light_request
    blocks: list[RenderableType] = [
        clean(tr("bench.selftest"), "bold"),
        table(header, rows, right=(0, 1, 2, 3, 4, 5)),
    ]
    if light is not None and found.light_per_s is not None:
        values = {"cpu": duration(light), "rate": number(found.light_per_s)}
        memory = size(found.rss_bytes) if found.rss_bytes else "–"
        blocks.append(clean(tr("bench.light", memory=memory, **values)))
    trusted = found.trusted_streams
    key = "bench.trusted" if trusted else "bench.untrusted"
    blocks.append(clean(tr(key, streams=trusted or 0, cores=found.cores_count)))
    if not found.is_honest:
        blocks.append(Text(tr("bench.dishonest"), style="bold red"))
    return Group(*blocks)


def _level(one: Level) -> tuple[str, ...]:
    says = tr("bench.says.bound") if one.flagged else tr("bench.says.sound")
    return (
        number(one.streams, 6), _ms(one.true_ttft), _ms(one.ttft), _off(one.mean_error_ratio),
        _off(one.p99_error_ratio), percent(one.cpu_ratio), says,
    )  # fmt: skip


def _ms(one: Figures) -> str:
    pair = [duration(each) if each is not None else "–" for each in (one.mean_s, one.p99_s)]
    return " / ".join(pair)


def _off(ratio: float | None) -> str:
    return "–" if ratio is None else f"{'+' if ratio > 0 else ''}{percent(ratio)}"
