"""The screens of ``fit`` beyond language models: images and clips, embedders and rerankers, vector indexes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cabida import text
from cabida.faces.fits import COLOURS, MOST_ROWS, verdict
from cabida.faces.grid import clean, table
from cabida.faces.picture import Bar, Key
from cabida.report import words as say
from cabida.report.bar import ordered, shown
from cabida.text import tr


def screen(answer: dict[str, Any], *, every: bool = False) -> RenderableType:
    """One answer, or a line for each accelerator."""
    if "rows" in answer:
        return _rows(answer["rows"], every=every)
    return _index(answer) if answer["kind"] == "index" else _one(answer)


def _one(answer: dict[str, Any]) -> RenderableType:
    """An image, a clip or a batch of texts on one accelerator."""
    memory = _memory(answer)
    blocks: list[RenderableType] = [clean(" · ".join(_setup(answer))), Text()]
    blocks.append(clean(verdict(answer), COLOURS[answer["verdict"]]))
    blocks += [clean(told) for told in _doubt(answer)]
    blocks += [Text(), Bar(memory, answer["usable_gib"]), Text(), _parts(memory, answer["usable_gib"])]
    blocks += [Text(), _grid(_limits(answer))]
    return Group(*blocks, *([Text(), clean(answer["cure"])] if answer["cure"] else []))


def _setup(answer: dict[str, Any]) -> list[str]:
    """What was asked for, in pieces."""
    if answer["kind"] == "encoder":
        count, tokens = text.number(answer["batch"], 9), text.number(answer["input_tokens"], 9)
        batch = tr("faces.media.texts", count=count, tokens=tokens)
        return [answer["model"], f"1×{answer['gpu']}", answer["weights"], answer["engine"], batch]
    size = f"{answer['width']}×{answer['height']}"
    if answer["task"] == "video":
        size = tr("faces.media.clip", size=size, frames=text.number(answer["frames"], 6))
    texts = "" if answer["text_weights"] == answer["weights"] else f" + {answer['text_weights']}"
    pieces = [answer["model"], f"{answer['gpus']}×{answer['gpu']}", f"{answer['weights']}{texts}", size]
    pieces += [tr("faces.media.batch", count=answer["batch"])] if answer["batch"] > 1 else []
    pieces += [answer["split"]] if answer["split"] != "none" else []
    return pieces + ([f"offload {answer['offload']}"] if answer["offload"] != "none" else [])


def _memory(answer: dict[str, Any]) -> dict[str, float]:
    """What fills the card, GiB, as a bar takes it."""
    parts = dict(answer["parts_gib"])
    used = sum(parts.values())
    if not answer.get("takes_its_share"):
        parts["other"] = parts.get("other", 0.0) + max(0.0, answer["needed_gib"] - used)
        used = sum(parts.values())
    spare = answer["usable_gib"] - used
    return parts | ({"free": spare} if spare >= 0 else {"missing": -spare})


def _parts(memory: dict[str, float], usable: float) -> Table:
    """What fills one card: shown parts that add up to what there is."""
    missing = round(memory.get("missing", 0.0), 2)
    made = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("left", "left", "right", "right"):
        made.add_column(justify=justify, no_wrap=justify != "left")
    for name, size in shown(ordered(memory), round(usable, 2) + missing).items():
        share = "" if missing else f"{say.decimal(100 * size / usable, 0)} %"
        made.add_row(Key(name), clean(say.part(name)), clean(say.decimal(size, 2)), clean(share))
    if missing:
        made.add_row(Key("missing"), clean(say.part("missing")), clean(f"-{say.decimal(missing, 2)}"), "")
    made.add_row("", clean(tr("report.usable"), "bold"), clean(f"{say.decimal(usable, 2)} GiB", "bold"), "")
    return made


def _doubt(answer: dict[str, Any]) -> list[str]:
    """How sure the peak is, and where it lies."""
    peak = answer["metrics"]["peak_mem_gib"]
    ends = {name: say.decimal(getattr(peak, name), 2) for name in ("value", "low", "high")}
    told = [tr("faces.media.peak", **ends)] if peak.high > peak.low else []
    if answer.get("takes_its_share"):
        told.append(
            tr("faces.media.share", engine=answer["engine"], needed=say.decimal(answer["needed_gib"], 2))
        )
    if (loading := answer.get("loading_gib")) and loading > answer["metrics"]["peak_mem_gib"].value:
        told.append(tr("faces.media.loading", size=say.decimal(loading, 2)))
    if "peak_phase" in answer:
        phases = [
            f"{tr(f'faces.media.phase.{name}')} {say.decimal(size, 2)}"
            for name, size in answer["phases_gib"].items()
        ]
        told.append(tr("faces.media.phases", phases=" · ".join(phases)))
    return told


def _limits(answer: dict[str, Any]) -> list[tuple[str, str]]:
    """The largest of each that fits, everything else as asked."""
    rows = []
    if answer["largest_batch"] is not None:
        rows.append((tr("faces.media.largest_batch"), text.number(answer["largest_batch"], 9)))
    if answer["kind"] == "encoder":
        most = answer["model_context_tokens"] or answer["largest_input_tokens"]
        tokens = text.number(min(most, answer["largest_input_tokens"]), 9)
        return [*rows, (tr("faces.media.largest_text"), tr("faces.media.tokens", tokens=tokens))]
    if answer["largest_frames"] is not None:
        rows.append((tr("faces.media.largest_frames"), text.number(answer["largest_frames"], 9)))
    width, height = answer["largest_size"]
    rows.append((tr("faces.media.largest_size"), f"{width}×{height}" if width else "–"))
    return rows


def _grid(rows: Sequence[tuple[str, str]]) -> Table:
    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(no_wrap=True)
    made.add_column()
    for name, told in rows:
        made.add_row(clean(name), clean(told))
    return made


def _index(answer: dict[str, Any]) -> RenderableType:
    """A vector index in host memory or on one accelerator."""
    on_card = answer["gpus"] > 0
    place = f"1×{answer['gpu']}" if on_card else tr("faces.media.host")
    count = tr("faces.media.vectors", count=say.decimal(answer["vectors"], 0), dims=answer["dims"])
    blocks: list[RenderableType] = [
        clean(" · ".join([answer["index"], place, count, answer["stored"]])),
        Text(),
    ]
    if on_card:
        memory = _memory(answer)
        blocks += [
            clean(verdict(answer), COLOURS[answer["verdict"]]),
            Text(),
            Bar(memory, answer["usable_gib"]),
        ]
        blocks += [Text(), _parts(memory, answer["usable_gib"])]
    else:
        blocks.append(clean(tr("faces.media.takes", size=_gib(answer["host_gib"])), "bold"))
        parts = {name: f"{say.decimal(size, 2)} GiB" for name, size in answer["parts_gib"].items()}
        blocks += [Text(), _grid([(say.part(name), size) for name, size in parts.items()])]
    rows = [
        (
            tr("faces.media.one_more"),
            tr("faces.media.bytes", count=say.decimal(answer["bytes_per_vector"], 0)),
        )
    ]
    building = answer["build_device_gib"] if on_card else answer["build_host_gib"]
    rows.append((tr("faces.media.building"), _gib(building)))
    if on_card and answer["host_gib"]:
        rows.append((tr("faces.media.beside"), _gib(answer["host_gib"])))
    if answer["replicas"] > 1:
        rows.append((tr("faces.media.replicas", count=answer["replicas"]), _gib(answer["all_replicas_gib"])))
    if on_card:
        rows.append((tr("faces.media.largest_index"), say.decimal(answer["largest_vectors"], 0)))
    blocks += [Text(), _grid(rows)]
    return Group(*blocks, *([Text(), clean(answer["cure"])] if answer["cure"] else []))


def _gib(size: float) -> str:
    return f"{say.decimal(size, 2)} GiB"


def _rows(rows: Sequence[dict[str, Any]], *, every: bool) -> RenderableType:
    """One line for each accelerator."""
    listed = rows if every else rows[:MOST_ROWS]
    first = rows[0]
    many = len({row.get("model") for row in rows}) > 1
    title = _setup(first) if first["kind"] != "index" else [first["index"], first["stored"]]
    header = [
        tr("faces.media.gpu"),
        tr("faces.media.verdict"),
        tr("faces.media.needs"),
        tr("faces.media.spare"),
    ]
    lines = [
        (
            *((row["model"],) if many else ()),
            f"{row['gpus']}×{row['gpu']}",
            tr(f"memory.verdict.{row['verdict']}"),
            _gib(row["needed_gib"]),
            _gib(row["headroom_gib"]),
        )
        for row in listed
    ]
    if many:
        same = [set(_setup(row)) for row in rows]
        title, header = (
            [one for one in title if all(one in pieces for pieces in same)],
            [tr("faces.model"), *header],
        )
    told = clean(" · ".join(piece for piece in title if first["gpu"] not in piece), "bold")
    figures = (len(header) - 2, len(header) - 1)
    blocks: list[RenderableType] = [told, Text(), table(header, lines, right=figures, whole=(0,))]
    if len(listed) < len(rows):
        blocks.append(clean(tr("faces.fit.more", count=text.number(len(rows) - len(listed), 6))))
    return Group(*blocks)
