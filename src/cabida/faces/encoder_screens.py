"""The screen of ``speed`` for embedders and rerankers."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from cabida import text
from cabida.faces.fits import pairs
from cabida.faces.grid import clean
from cabida.faces.speed_screens import sureness
from cabida.report import words as say
from cabida.text import tr


def encoder(answer: dict[str, Any]) -> RenderableType:
    """What it was asked with, its rates and times, and where a batch's time goes."""
    tokens, count = text.number(answer["input_tokens"], 6), text.number(answer["batch"], 6)
    batch = tr("faces.media.texts", count=count, tokens=tokens)
    head = " · ".join(
        [answer["model"], f"{answer['gpus']}×{answer['gpu']}", answer["weights"], answer["engine"], batch]
    )
    rows = [(say.label(name), say.figure(name, one)) for name, one in answer["metrics"].items()]
    parts = [
        f"{tr(f'faces.encoder.{name}')} {text.duration(value / 1000)}"
        for name, value in answer["parts_ms"].items()
        if value
    ]
    blocks: list[RenderableType] = [clean(head), Text()]
    if answer["saturated"]:
        blocks += [clean(tr("faces.saturated"), "bold"), Text()]
    blocks += [
        pairs(rows),
        sureness(answer["metrics"]),
        Text(),
        clean(tr("faces.encoder.parts", parts=" · ".join(parts))),
    ]
    return Group(*blocks)
