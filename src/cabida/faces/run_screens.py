"""The screens of ``speed`` for training runs, pipelines and transcriptions."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from cabida import text
from cabida.faces.fits import pairs
from cabida.faces.grid import clean, table
from cabida.faces.speed_screens import sureness
from cabida.report import words as say
from cabida.text import has_text, tr


def screen(answer: dict[str, Any]) -> RenderableType:
    """What was asked, its figures, where the time goes; of a training run also stops, checkpoints and scaling."""
    blocks: list[RenderableType] = [clean(head(answer)), Text()]
    spaced = "made_s" in answer["metrics"]  # several come out together, or side by side
    shown = [
        (_named("spacing" if spaced and name == "seconds_per_item" else name), _figure(name, one))
        for name, one in answer["metrics"].items()
    ]
    blocks += [pairs(shown), sureness(answer["metrics"]), Text(), *_parts(answer)]
    if answer["kind"] == "training":
        blocks += [Text(), *_training(answer)]
    blocks += [clean(told) for told in answer["warnings"]]
    return Group(*blocks)


def head(answer: dict[str, Any]) -> str:
    """What runs, on what, how: one line."""
    split = " ".join(f"{name}{size}" for name, size in answer.get("split", {}).items())
    cards = f"{answer['gpus']}×{answer['gpu']} {split}".strip()
    if answer["kind"] in ("training", "preference"):
        count, tokens = (text.number(answer[key], 15) for key in ("micro_batch", "seq_len"))
        shape = tr(
            f"speed.run.{answer['kind']}",
            micro=count,
            tokens=tokens,
            whole=text.number(answer["global_batch"], 9),
        )
        method = f"{answer['method']} {answer.get('trains', '')}".strip()
        spread = [] if answer["sharding"] == "none" else [answer["sharding"]]
        return " · ".join([answer["model"], cards, f"{method} {answer['precision']}", *spread, shape])
    if answer["kind"] == "speech":
        shape = tr("speed.run.speech", count=text.number(answer["batch"], 6))
        return " · ".join([answer["model"], cards, answer["weights"], answer["framework"], shape])
    shape = f"{answer['width']}×{answer['height']}"
    if answer["frames"] > 1:
        shape += f"×{answer['frames']}"
    steps = tr(
        "speed.run.media", steps=text.number(answer["steps"], 6), count=text.number(answer["batch"], 6)
    )
    return " · ".join(
        [
            answer["model"],
            cards,
            " ".join(dict.fromkeys((answer["weights"], answer["precision"]))),
            answer["compiler"],
            shape,
            steps,
        ]
    )


def _named(name: str) -> str:
    return tr(f"speed.figure.{name}") if name in FIGURES else say.label(name)


FIGURES = (
    "goodput", "time_to_target_s", "gpu_hours_to_target", "project_gpu_hours", "items_per_hour", "s_per_audio_hour",
    "real_time_ratio", "mfu", "examples_s", "made_s", "spacing",
)  # fmt: skip


def _figure(name: str, one: Any) -> str:
    if name in ("mfu", "goodput"):
        return say.span(one, 100.0, "%")
    if name in ("time_to_target_s", "s_per_audio_hour", "made_s"):
        return say.figure("step_time_s", one)
    if name in ("gpu_hours_to_target", "project_gpu_hours"):
        return say.span(one, 1.0, tr("speed.hours"))
    if name == "real_time_ratio":
        return say.span(one)
    if name == "examples_s":
        return say.span(one, 1.0, "/s")
    if name == "items_per_hour":
        return say.span(one, 1.0, "/h")
    return say.figure(name, one)


def _parts(answer: dict[str, Any]) -> list[RenderableType]:
    parts = answer["parts_s"]
    whole = sum(parts.values())
    rows = [
        (_part(name), text.duration(value), say.share(value / whole))
        for name, value in sorted(parts.items(), key=lambda pair: -pair[1])
        if value > 0
    ]
    return [table([tr(f"speed.head.{key}") for key in ("part", "time", "share")], rows, right=(1, 2))]


def _part(name: str) -> str:
    """A part in words; one without a text of its own keeps its name."""
    return tr(f"speed.part.{name}") if has_text(f"speed.part.{name}") else name.replace("_", " ")


def _training(answer: dict[str, Any]) -> list[RenderableType]:
    plan, wall = answer["checkpoints"], answer["wall_ratio"]
    counted = " · ".join(
        f"{tr(f'speed.convention.{name}')} {text.percent(value)}"
        for name, value in answer["mfu_by_convention"].items()
    )
    lines = [
        tr("speed.run.mfu", peak=answer["peak"], counted=counted),
        tr(
            "speed.run.checkpoint",
            size=text.size(plan["bytes"]), write=text.duration(plan["write_s"]),
            restore=text.duration(plan["restore_s"]), every=text.duration(plan["interval_s"]),
            stop=text.duration(plan["stop_s"]), storage=plan["storage"], cluster=plan["cluster"],
        ) if math.isfinite(plan["interval_s"]) else tr("speed.run.no_stops", size=text.size(plan["bytes"])),
        tr("speed.run.wall", ratio=say.span(wall)),
    ]  # fmt: skip
    head = [tr(f"speed.head.{key}") for key in ("gpus", "global_batch", "step", "tokens", "efficiency")]
    blocks: list[RenderableType] = [*map(clean, lines)]
    for kind in ("strong", "weak"):
        rows = [
            (
                text.number(one["accelerators_count"], 9),
                text.number(one["global_batch_count"], 9),
                text.duration(one["step_s"]),
                text.number(one["tokens_per_s"]),
                text.percent(one["efficiency_ratio"]),
            )
            for one in answer["scaling"][kind]
        ]
        blocks += [Text(), clean(tr(f"speed.run.{kind}"), "bold"), table(head, rows, right=(0, 1, 2, 3, 4))]
    return blocks
