"""The screen of ``traffic``: each model's rates, lengths, failures and hours, and the section for the brief."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.text import Text

from cabida import text
from cabida.evidence.traffic import said
from cabida.faces.grid import clean, table
from cabida.faces.picture import is_plain
from cabida.text import tr

STEPS = "▁▂▃▄▅▆▇█"
PLAIN_STEPS = "0123456789"
DAY_HOURS = 24


def screen(answer: dict[str, Any]) -> RenderableType:
    """What a person reads."""
    blocks: list[RenderableType] = []
    for one in answer["traffic"]:
        blocks += [*_model(one, answer["timezone"]), Text()]
    if answer["notes"]:
        blocks += [*(clean(note, "dim") for note in answer["notes"]), Text()]
    for name in ("trace", "prompts"):
        if written := answer.get(name):
            blocks.append(clean(tr(f"traffic.screen.{name}", file=written["file"], count=written["count"])))
    if answer.get("written"):
        blocks.append(clean(tr("traffic.screen.written", file=answer["written"])))
    else:
        blocks += [clean(tr("traffic.screen.paste"), "bold"), Text()]
        for one in answer["traffic"]:
            title = [f"# {one['model']}"] if len(answer["traffic"]) > 1 else []
            blocks += [clean(line) for line in [*title, *one["yaml"].splitlines()]]
    return Group(*blocks)


def _model(one: Mapping[str, Any], zone: str) -> list[RenderableType]:
    found = one["requests_per_s"]
    rows = [
        (tr("traffic.row.mean"), _rate(found["mean"]), ""),
        (tr("traffic.row.peak"), _rate(found["peak"]), said.rates(one)),
        (tr("traffic.row.burst"), _number(one["burst"], "ratio"), said.burst(one)),
        (tr("traffic.row.dispersion"), _plain(one["dispersion"]), tr("traffic.said.dispersion")),
        (tr("traffic.row.input"), _lengths(one["input_tokens"]), said.lengths(one["input_tokens"])),
        (tr("traffic.row.output"), _lengths(one["output_tokens"]), said.lengths(one["output_tokens"])),
        (tr("traffic.row.prefix"), _number(one["prefix"], "tokens_mean"), said.prefix(one)),
        (tr("traffic.row.failed"), _percent(one["ends"]["failed_ratio"]), said.ends(one)),
        (tr("traffic.row.retries"), _percent(one["retry_ratio"]), said.again(one)),
        (tr("traffic.row.at_once"), _at_once(one), _duration(one["duration_s"])),
    ]
    title = one["model"] or tr("traffic.screen.no_model")
    blocks: list[RenderableType] = [clean(title, "bold"), clean(said.whole(one, zone))]
    blocks += [clean(line, "yellow") for line in [said.holes(one), *said.warnings(one)] if line]
    blocks += [Text(), table(["", tr("traffic.row.value"), tr("traffic.row.how")], rows, right=(1,)), Text()]
    blocks += [clean(said.profile(one, zone))]
    if one["profile"]["weights"]:
        blocks.append(Padding(Hours(one["profile"]["weights"]), (0, 0, 0, 2)))
    return blocks


class Hours:
    """A line of 24 hours for each day, and the hours below; the highest is the busiest hour of all."""

    def __init__(self, weights: Sequence[float]) -> None:
        self.weights = weights

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """One row a day."""
        steps = PLAIN_STEPS if is_plain(options) else STEPS
        most = max(self.weights) or 1.0
        names = tr("traffic.screen.days").split() if len(self.weights) > DAY_HOURS else [""]
        wide = max(map(len, names))
        for at, name in enumerate(names):
            day = self.weights[at * DAY_HOURS : (at + 1) * DAY_HOURS]
            heights = (min(len(steps) - 1, int(one / most * len(steps))) for one in day)
            yield Text(f"{name:<{wide}} {''.join(steps[one] for one in heights)}")
        yield Text(f"{'':<{wide}} 0     6     12    18")

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """As wide as a day."""
        return Measurement(DAY_HOURS + 4, DAY_HOURS + 4)


def _rate(value: float | None) -> str:
    return "–" if value is None else text.rate(value)


def _plain(value: float | None) -> str:
    return "–" if value is None else text.number(value)


def _number(found: Mapping[str, Any] | None, name: str) -> str:
    return "–" if found is None or found[name] is None else text.number(found[name])


def _percent(ratio: float | None) -> str:
    return "–" if ratio is None else text.percent(ratio)


def _lengths(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "–"
    if found["p50"] is None or found["p95"] is None:
        return text.number(found["mean"])
    return " / ".join(
        text.number(found[name], 5) for name in ("p50", "p95", "most") if found[name] is not None
    )


def _at_once(one: Mapping[str, Any]) -> str:
    mean, most = one["concurrency"]["mean"], one["concurrency"]["most"]
    shown = [text.number(value) for value in (mean, most) if value is not None]
    return " / ".join(shown) or "–"


def _duration(found: Mapping[str, Any] | None) -> str:
    if not found:
        return tr("traffic.said.no_duration")
    return tr("traffic.said.duration", mean=text.duration(found["mean"]))
