"""The screens of ``fit`` beyond language models: images and clips, embedders and rerankers, vector indexes."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from cabida import text
from cabida.faces.fits import LEAST_TOLD, catalogue, one, pairs, several, spared
from cabida.faces.grid import clean
from cabida.report import words as say
from cabida.report.metrics import GIB
from cabida.text import tr

COMPARED = 4  # accelerators named that are drawn side by side; more are a table


def screen(answer: dict[str, Any], *, every: bool = False) -> RenderableType:
    """One answer, or a line for each accelerator."""
    if "rows" in answer:
        return _rows(answer, every=every)
    if answer["kind"] == "index":
        return _index(answer)
    return one(answer, " · ".join(_setup(answer)), _told(answer), _limits(answer))


def _setup(answer: dict[str, Any], *, card: bool = True) -> list[str]:
    """What was asked for, in pieces; ``card`` = with the accelerator."""
    where = [f"{answer['gpus']}×{answer['gpu']}"] if card else []
    if answer["kind"] == "index":
        count = tr("faces.media.vectors", count=say.decimal(answer["vectors"], 0), dims=answer["dims"])
        where = where if answer["gpus"] else [tr("faces.media.host")]
        return [answer["index"], *(where if card else []), count, answer["stored"]]
    if answer["kind"] == "encoder":
        count, tokens = text.number(answer["batch"], 9), text.number(answer["input_tokens"], 9)
        batch = tr("faces.media.texts", count=count, tokens=tokens)
        return [answer["model"], *where, answer["weights"], answer["engine"], batch]
    size = f"{answer['width']}×{answer['height']}"
    if answer["task"] == "video":
        size = tr("faces.media.clip", size=size, frames=text.number(answer["frames"], 6))
    texts = "" if answer["text_weights"] == answer["weights"] else f" + {answer['text_weights']}"
    pieces = [answer["model"], *where, f"{answer['weights']}{texts}", size]
    pieces += [tr("faces.media.batch", count=answer["batch"])] if answer["batch"] > 1 else []
    pieces += [answer["split"]] if answer["split"] != "none" else []
    return pieces + ([f"offload {answer['offload']}"] if answer["offload"] != "none" else [])


def _told(answer: dict[str, Any]) -> list[str]:
    """Where the peak lies, and what it is beside what the driver shows."""
    peak = answer["metrics"]["peak_mem_gib"]
    if answer.get("takes_its_share"):
        return [tr("faces.media.share", engine=answer["engine"], needed=say.decimal(answer["needed_gib"], 2))]
    ends = {name: say.decimal(getattr(peak, name), 2) for name in ("value", "low", "high")}
    told = [tr("faces.media.peak", **ends, needed=say.decimal(answer["needed_gib"], 2))]
    if (loading := answer.get("loading_gib")) and loading > peak.value:
        told.append(tr("faces.media.loading", size=say.decimal(loading, 2)))
    if len(phases := answer.get("phases_gib", {})) > 1:
        named = [f"{tr(f'faces.media.phase.{name}')} {say.decimal(size, 2)}" for name, size in phases.items()]
        told.append(tr("faces.media.phases", phases=" · ".join(named)))
    return told


def _limits(answer: dict[str, Any]) -> list[tuple[str, str]]:
    """The largest of each that fits, everything else as asked."""
    rows = []
    if answer["largest_batch"] is not None:
        rows.append((tr("faces.media.largest_batch"), _count(answer["largest_batch"])))
    if answer["kind"] == "encoder":
        most = answer["model_context_tokens"] or answer["largest_input_tokens"]
        tokens = min(most, answer["largest_input_tokens"])
        told = (
            tr("faces.media.tokens", tokens=text.number(tokens, 9)) if tokens else tr("faces.media.nothing")
        )
        return [*rows, (tr("faces.media.largest_text"), told)]
    if answer["largest_frames"] is not None:
        rows.append((tr("faces.media.largest_frames"), _count(answer["largest_frames"])))
    width, height = answer["largest_size"]
    size = f"{width}×{height}" if width else tr("faces.media.nothing")
    if not width and not any(answer[name] for name in ("largest_batch", "largest_frames")):
        return [(tr("faces.fit.batch"), tr("faces.media.nothing_fits"))]
    return [*rows, (tr("faces.media.largest_size"), size)]


def _count(largest: int) -> str:
    return text.number(largest, 9) if largest else tr("faces.media.nothing")


def _index(answer: dict[str, Any]) -> RenderableType:
    """A vector index in host memory or on one accelerator."""
    line, on_card = " · ".join(_setup(answer)), answer["gpus"] > 0
    rows = [
        (
            tr("faces.media.one_more"),
            tr("faces.media.bytes", count=say.decimal(answer["bytes_per_vector"], 0)),
        )
    ]
    metrics = answer["metrics"]
    rows.append((tr("faces.media.search"), say.figure("search_ms", metrics["search_ms"])))
    rows.append((tr("faces.media.rebuilt"), say.figure("minutes_to_build", metrics["minutes_to_build"])))
    building = answer["build_device_gib"] if on_card else answer["build_host_gib"]
    rows.append((tr("faces.media.building"), _gib(building)))
    if on_card and answer["host_gib"]:
        rows.append((tr("faces.media.beside"), _gib(answer["host_gib"])))
    if answer["replicas"] > 1:
        rows.append((tr("faces.media.replicas", count=answer["replicas"]), _gib(answer["all_replicas_gib"])))
    if on_card:
        rows.append((tr("faces.media.largest_index"), say.decimal(answer["largest_vectors"], 0)))
        return one(answer, line, limits=rows)
    parts = [(say.part(name), _gib(size)) for name, size in answer["parts_gib"].items()]
    takes = clean(tr("faces.media.takes", size=_gib(answer["host_gib"])), "bold")
    return Group(clean(line), Text(), takes, Text(), pairs(parts), Text(), pairs(rows))


def _rows(answer: dict[str, Any], *, every: bool) -> RenderableType:
    """Accelerators named are drawn side by side; else one line for each accelerator or pipeline."""
    rows = answer["rows"]
    models = {row.get("model") for row in rows}
    if len(models) == 1 and 1 < len(rows) <= COMPARED:
        return several(rows, _setup(rows[0], card=False), _cells)
    shared = set.intersection(*(set(_setup(row, card=False)) for row in rows))
    title = [
        piece for piece in _setup(rows[0], card=False) if piece in shared and piece != rows[0].get("model")
    ]
    return catalogue(answer, every=every, title=title, cells=_cells)


def _cells(row: dict[str, Any]) -> dict[str, str]:
    return {
        "model": row.get("model", ""),
        "gpu": f"{row['gpus']}×{row['gpu']}",
        "verdict": tr(f"faces.verdict_short.{row['verdict']}"),
        "needs": f"{say.decimal(row['needed_gib'], 1)} GiB",
        "headroom": spared(row["headroom_gib"]),
    }


def _gib(size: float) -> str:
    """To the hundredth; what would read 0.00 in MiB."""
    return f"{say.decimal(size, 2)} GiB" if size >= LEAST_TOLD or not size else text.size(size * GIB)
