"""The screens of ``speed``: latencies, capacity, replicas by the hour, the knee, the parts of a step."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.text import Text

from cabida import text
from cabida.faces.answers import carried, setup_line
from cabida.faces.grid import clean, table
from cabida.faces.picture import is_plain
from cabida.plan.decision import LATENCIES, STATISTICS
from cabida.report import words as say
from cabida.report.bar import cells
from cabida.report.metrics import RATES
from cabida.text import tr

# part of a step -> (block, letter, colour); each told from its neighbours in black and white
STEP_PARTS = {
    "products": ("█", "#", "blue"),
    "experts": ("▓", "e", "cyan"),
    "exchange": ("▚", "x", "magenta"),
    "elements": ("▀", "n", "bright_green"),
    "attention": ("▒", "a", "green"),
    "head": ("▞", "h", "bright_magenta"),
    "launch": ("░", ":", "yellow"),
    "host": ("▄", "o", "bright_black"),
}
BASES = ("assumed", "physics", "calibrated", "measured")
LONGEST_BAR, MOST_BARS = 40, 60
HOURS_A_ROW = 24
COUNTED = 15  # digits of a count: all of them
WAITING_TOLD = 0.1  # requests in line that are worth a word


def speed(answer: dict[str, Any]) -> RenderableType:
    """Everything that was asked, most wanted first."""
    blocks: list[RenderableType] = [
        clean(setup_line(answer, answer["replicas"])),
        *_arranged(answer),
        *carried(answer),
    ]
    for name, drawn in (
        ("capacity", _capacity),
        ("fleet", _fleet),
        ("batch", _batch),
    ):
        if name in answer:
            blocks += [Text(), *drawn(answer)]
    blocks += [Text(), *_latencies(answer)]
    for name, drawn in (("objectives", _objectives), ("knee", _knee), ("step", _step)):
        if answer.get(name):
            blocks += [Text(), *drawn(answer)]
    return Group(*blocks)


def _arranged(answer: dict[str, Any]) -> list[Text]:
    """What the line of the setup doesn't show: replicas that only read prompts, and what speculates."""
    told: list[Text] = []
    if answer["readers"]:
        counts = {"readers": answer["readers"], "writers": answer["replicas"]}
        told.append(
            clean(tr("speed.readers", **{key: text.number(one, COUNTED) for key, one in counts.items()}))
        )
    if drafting := answer.get("drafting"):
        values = {"draft": drafting["draft"], "tokens": text.number(drafting["tokens"], 7)}
        told.append(clean(tr("speed.drafting", ratio=text.percent(drafting["accepted_ratio"]), **values)))
    return told


def _latencies(answer: dict[str, Any]) -> list[RenderableType]:
    found = answer["metrics"]
    told: list[RenderableType] = []
    if answer["saturated"]:
        told += [clean(tr("faces.saturated"), "bold"), Text()]
    header = ["", *(tr("report.mean") if one == "mean" else one for one in STATISTICS)]
    rows = [
        (
            say.label(f"{name}_ms"),
            *(say.figure(f"{name}_ms", found[f"{name}_ms_{one}"]) for one in STATISTICS),
        )
        for name in LATENCIES
        if f"{name}_ms_mean" in found
    ]
    rates = " · ".join(f"{say.label(name)} {say.figure(name, found[name])}" for name in RATES)
    state = tr(
        "speed.state",
        batch=text.number(answer["batch_mean"]),
        kv=text.percent(answer["kv_use_ratio"]),
        preemptions=text.number(answer["preemptions"], COUNTED),
    )
    more = [clean(state)]
    if answer["cached_ratio"] or answer["waiting_mean"] >= WAITING_TOLD:
        values = {
            "waiting": text.number(answer["waiting_mean"]),
            "cached": text.percent(answer["cached_ratio"]),
        }
        more.append(clean(tr("speed.waiting", **values)))
    if answer.get("objectives"):
        values = {"share": text.percent(answer["met_ratio"], 3), "rate": text.number(answer["goodput_req_s"])}
        more.append(clean(tr("speed.goodput", **values)))
    return [*told, table(header, rows), Text(), clean(rates), *more, sureness(found)]


def sureness(found: dict[str, Any]) -> Text:
    """What the brackets are and what the figures rest on, weakest first."""
    graded = [name for name in BASES if any(one.basis == name for one in found.values())]
    told = " · ".join(f"{say.grade(name)} ({tr(f'speed.basis.{name}')})" for name in graded)
    return clean(tr("speed.sure", basis=told) if told else "", "dim")


def _capacity(answer: dict[str, Any]) -> list[RenderableType]:
    found = answer["capacity"]
    rate = found["requests_per_s"]
    if rate.value <= 0:
        return [clean(tr("speed.capacity.none", limit=_limit(found["limited_by"])), "bold")]
    told = tr(
        f"speed.capacity.{'one' if answer['replicas'] == 1 else 'many'}",
        count=text.number(answer["replicas"], COUNTED),
        rate=say.span(rate, 1.0, "req/s"),
        tokens=say.span(found["output_tok_s"], 1.0, "tok/s"),
        limit=_limit(found["limited_by"]),
    )
    return [clean(told, "bold")]


def _limit(name: str) -> str:
    return tr("speed.saturation") if name == "saturation" else say.label(name)


def _objectives(answer: dict[str, Any]) -> list[RenderableType]:
    rows = [
        (
            say.label(one["metric"]),
            text.duration(one["most_ms"] / 1000),
            say.figure(one["metric"], one["predicted_ms"]),
            tr(f"speed.met.{'yes' if one['met'] else 'no'}{'' if one['sure'] else '_unsure'}"),
        )
        for one in answer["objectives"]
    ]
    header = [tr(f"speed.head.{one}") for one in ("objective", "most", "predicted", "met")]
    return [table(header, rows)]


def _fleet(answer: dict[str, Any]) -> list[RenderableType]:
    found = answer["fleet"]
    demand = text.number(found["demand_requests_per_s"])
    if found["replicas"] is None:
        return [clean(tr("speed.fleet.none", demand=demand), "bold")]
    told = tr(
        "speed.fleet.replicas",
        demand=demand,
        replicas=_whole(found["replicas"]),
        spares=text.number(found["spare_replicas"], COUNTED),
        count=text.number(found["accelerators"], COUNTED),
        gpu=answer["gpu"],
    )
    lost = "survives" if found["survives_a_loss"] else "falls"
    ratio = found["one_lost_use_ratio"]
    lines = [
        clean(told, "bold"),
        clean(
            tr(
                "speed.fleet.use",
                peak=text.percent(found["peak_use_ratio"]),
                mean=text.percent(found["use_ratio"]),
            )
        ),
        clean(tr(f"speed.fleet.{lost}", use=text.percent(ratio) if math.isfinite(ratio) else "∞")),
    ]
    hours = found["replicas_by_hour"]
    if len(hours) < 2:
        return list(lines)
    saved = tr(
        "speed.fleet.hours",
        on=text.number(found["accelerator_hours"], 5),
        always=text.number(found["accelerator_hours_always_on"], 5),
        days=text.number(len(hours) / HOURS_A_ROW),
    )
    rows = [
        (
            tr("speed.day", day=text.number(at // HOURS_A_ROW + 1)),
            " ".join(map(str, hours[at : at + HOURS_A_ROW])),
        )
        for at in range(0, len(hours), HOURS_A_ROW)
    ]
    return [*lines, clean(saved), table(["", tr("speed.fleet.by_hour")], rows)]


def _whole(estimate: Any) -> str:
    """A count with its interval; no decimals."""
    low, high = (text.number(one, COUNTED) for one in (estimate.low, estimate.high))
    value = text.number(estimate.value, COUNTED)
    return value if low == high else f"{value} [{low}–{high}]"


def _batch(answer: dict[str, Any]) -> list[RenderableType]:
    found = answer["batch"]
    values = {
        "items": text.number(found["items"], 12),
        "window": text.duration(found["within_s"]),
        "alone": text.duration(found["one_replica_s"]),
    }
    if found["replicas"] is None:
        return [clean(tr("speed.batch.never", **values), "bold")]
    took = found["took_s"]
    told = tr(
        "speed.batch.enough",
        **values,
        replicas=text.number(found["replicas"], COUNTED),
        count=text.number(found["accelerators"], COUNTED),
        gpu=answer["gpu"],
        took=text.duration(took.value),
        late=text.duration(took.high),
    )
    return [clean(told, "bold"), clean(tr("speed.batch.alone", **values))]


def _knee(answer: dict[str, Any]) -> list[RenderableType]:
    found = answer["knee"]
    return [
        clean(tr("speed.knee.title", rate=text.number(found["requests_per_s"])), "bold"),
        Curve(found, bool(answer.get("objectives"))),
    ]


class Curve:
    """Latency against rate, one line a rate, a bar on a logarithmic scale; as wide as there is room."""

    def __init__(self, found: dict[str, Any], judged: bool) -> None:
        self.found, self.judged = found, judged

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table with its bars."""
        block = "#" if is_plain(options) else "█"
        points = self.found["points"]
        times = [
            one["e2e_ms_p95"] for one in points if one["e2e_ms_p95"] and math.isfinite(one["e2e_ms_p95"])
        ]
        room = max(6, min(LONGEST_BAR, options.max_width - (82 if self.judged else 72)))
        least, most = (math.log(min(times)), math.log(max(times))) if times else (0.0, 1.0)
        rows = []
        for one in points:
            value = one["e2e_ms_p95"]
            share = (
                (math.log(value) - least) / max(most - least, 1e-9) if value and math.isfinite(value) else 1.0
            )
            rows.append(
                (
                    text.number(one["requests_per_s"]),
                    *(
                        text.duration(one[name] / 1000)
                        for name in ("ttft_ms_p95", "tpot_ms_p95", "e2e_ms_p95")
                    ),
                    *([text.number(one["goodput_req_s"])] if self.judged else []),
                    block * max(1, round(share * room)),
                    self._mark(one),
                )
            )
        head = ("rate", "ttft", "tpot", "e2e", *(("good",) if self.judged else ()), "curve")
        right = (0, 1, 2, 3, 4) if self.judged else (0, 1, 2, 3)
        yield table([*(tr(f"speed.knee.{one}") for one in head), ""], rows, right=right)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Any width will do."""
        return Measurement(40, options.max_width)

    def _mark(self, point: dict[str, Any]) -> str:
        if point["saturated"]:
            return tr("speed.knee.overrun")
        if point["requests_per_s"] == self.found["requests_per_s"]:
            return tr("speed.knee.here")
        return tr("speed.knee.late") if self.judged and not point["meets_objectives"] else ""


def _step(answer: dict[str, Any]) -> list[RenderableType]:
    blocks: list[RenderableType] = []
    longest = max(one["step_time_s"] for one in answer["step"].values())
    for name, one in answer["step"].items():
        told = tr(
            f"speed.step.{name}",
            time=text.duration(one["step_time_s"]),
            sequences=text.number(one["sequences"]),
            context=text.number(one["context_tokens"], 6),
            tokens=text.number(one["prompt_tokens"], 6),
        )
        rows = [
            (tr(f"speed.part.{part}"), text.duration(s), say.share(s / one["step_time_s"]))
            for part, s in sorted(one["parts_s"].items(), key=lambda pair: -pair[1])
        ]
        header = [tr(f"speed.head.{key}") for key in ("part", "time", "share")]
        blocks += [
            clean(told, "bold"),
            StepBar(one["parts_s"], longest),
            table(header, rows, right=(1, 2)),
            Text(),
        ]
    return blocks[:-1]


class StepBar:
    """One step as a bar; bars of several steps share ``longest_s``."""

    def __init__(self, parts_s: dict[str, float], longest_s: float) -> None:
        self.parts_s, self.longest_s = parts_s, longest_s

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The bar and its key."""
        plain = is_plain(options)
        bar, key = Text(no_wrap=True, overflow="crop"), [Text()]
        for name, count in cells(self.parts_s, min(options.max_width, MOST_BARS), self.longest_s):
            block, letter, colour = STEP_PARTS[name]
            bar.append((letter if plain else block) * count, colour)
            entry = Text((letter if plain else block) * 2, colour) + Text(
                f" {tr(f'speed.part.{name}')}  ", ""
            )
            if key[-1] and key[-1].cell_len + entry.cell_len > options.max_width:
                key.append(Text())
            key[-1].append_text(entry)
        yield bar
        yield from key

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Any width will do."""
        return Measurement(12, min(options.max_width, MOST_BARS))
