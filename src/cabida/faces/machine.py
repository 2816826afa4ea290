"""The screen of ``here``: the machine, its cards, then what fits on them and what to know before starting."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from cabida import text
from cabida.faces import fits
from cabida.faces.grid import Fitting, clean, table
from cabida.report.here_hints import used_of
from cabida.report.metrics import GIB
from cabida.text import tr


def here(answer: dict[str, Any]) -> RenderableType:
    """Machine, cards, what fits, notes, what could not be read."""
    blocks: list[RenderableType] = [
        clean(_around(answer["machine"]), "bold"),
        clean(_software(answer)),
        Text(),
    ]
    if answer["cards"]:
        blocks += [_cards(answer["cards"]), Text()]
    told = _listed("notes", answer["notes"])
    fitting = _fit(answer) if answer["fit"] else _largest(answer)
    blocks += [*fitting, *told] if answer["counted"] else [*told, *fitting]  # without a card, that first
    blocks += _listed("hints", [f"{one['sentence']} [{one['code']}]" for one in answer["hints"]])
    return Group(*blocks, *_listed("not_read", _not_read(answer)))


def _around(row: dict[str, Any]) -> str:
    pieces = [row["release"] or row["system"], row["processor"]]
    if row["cores"]:
        pieces.append(tr("evidence.machine.cores", count=row["cores"]))
    if row["memory_gib"] is not None:
        key = "memory_limited" if row["memory_limited"] else "memory"
        pieces.append(
            tr(f"evidence.machine.{key}", total=_size(row["memory_gib"]), free=_size(row["memory_free_gib"]))
        )
    return " · ".join(piece for piece in pieces if piece)


def _software(answer: dict[str, Any]) -> str:
    row = answer["machine"]
    pieces = [tr("evidence.machine.driver", version=row["driver"])] if row["driver"] else []
    pieces += [f"{name} {row[key]}" for name, key in (("CUDA", "cuda"), ("ROCm", "rocm")) if row[key]]
    names = ", ".join(f"{name} {version}".strip() for name, version in answer["frameworks"].items())
    told = (
        tr("evidence.machine.installed", names=names) if names else tr("evidence.machine.nothing_installed")
    )
    return " · ".join([*pieces, told])


def _size(gib: float | None) -> str:
    return "?" if gib is None else text.size(gib * GIB)


def _cards(rows: list[dict[str, Any]]) -> RenderableType:
    cells = [_card(row) for row in rows]
    wide = ("card", "id", "memory", "used", "users", "links", "more")
    narrow = ("card", "id", "memory", "used")
    tables = [
        table(
            ["", *(tr(f"evidence.machine.head.{key}") for key in keys)],
            [
                (str(row["index"]), *(cell[key] for key in keys))
                for row, cell in zip(rows, cells, strict=True)
            ],
            right=(3, 4),
        )
        for keys in (wide, narrow)
    ]
    return Fitting(tables[0], tables[1])


def _card(row: dict[str, Any]) -> dict[str, str]:
    bus = row["pcie"]
    links = [f"PCIe {bus['generation_most'] or bus['generation']} x{bus['lanes']}"] if bus["lanes"] else []
    if row["peers"]:
        links.insert(0, f"{row['link']} → {_numbers(row['peers'])}")
    more = [tr(f"evidence.machine.{key}") for key in ("integrated", "unified", "display") if row[key]]
    more += ["ECC"] if row["ecc"] else []
    more += [f"MIG {', '.join(one['profile'] or '?' for one in row['slices'])}".strip()] if row["mig"] else []
    more += [tr("evidence.machine.lost")] if any(one["reason"] == "lost" for one in row["not_read"]) else []
    more += [f"{text.number(row['power_limit_w'])} W"] if row["power_limit_w"] else []
    return {
        "card": row["name"],
        "id": row["gpu"] or ("–" if row["integrated"] else tr("evidence.machine.unknown_id")),
        "memory": _size(row["memory_gib"]),
        "used": _size(row["used_gib"]),
        "users": used_of(row),
        "links": "; ".join(links),
        "more": ", ".join(more),
    }


def _fit(answer: dict[str, Any]) -> list[RenderableType]:
    """The answer of ``fit`` for the best way, then the others."""
    best = answer["fit"]
    cards = sorted(set(best["cards"]))
    key = "on_cards" if len(cards) > 1 else "on_card" if cards else "on_processor"
    where = tr(f"evidence.machine.{key}", cards=_numbers(cards))
    title = tr("evidence.machine.fits_here", model=best["model"])
    blocks: list[RenderableType] = [clean(f"{title} · {where}", "bold"), fits.one(best)]
    if best["start_with"] and best["verdict"] != "no":
        told = tr("evidence.machine.start_with", flags=best["start_with"], size=_size(best["used_gib"]))
        blocks += [Text(), clean(told)]
    if not best["installed"]:
        blocks += [Text(), clean(tr("evidence.machine.not_installed", engine=best["engine"]))]
    if best["cards"] and not best["speed_known"]:
        blocks += [Text(), clean(tr("evidence.machine.no_speed"))]
    if len(answer["rows"]) > 1:
        blocks += [Text(), clean(tr("evidence.machine.other_ways"), "bold"), _rows(answer["rows"])]
    return [*blocks, *_split(answer["split"]), Text()]


def _split(row: dict[str, Any] | None) -> list[RenderableType]:
    """A model over unequal cards, card by card."""
    if row is None:
        return []
    verdict = tr(f"faces.verdict_short.{row['verdict']}")
    title = tr("evidence.machine.split", engine=row["engine"], weights=row["weights"], verdict=verdict)
    told = [
        tr(
            f"evidence.machine.{'split_output' if one['output'] else 'split_card'}",
            card=one["index"],
            gpu=one["gpu"],
            layers=one["layers"],
            needed=_size(one["needed_gib"]),
            free=_size(one["free_gib"]),
        )
        for one in row["cards"]
    ]
    return [Text(), clean(title, "bold"), *(Padding(clean(one), (0, 0, 0, 2), expand=False) for one in told)]


def _largest(answer: dict[str, Any]) -> list[RenderableType]:
    if not answer["rows"]:
        return [clean(tr("evidence.machine.largest_none"), "bold"), Text()]
    return [clean(tr("evidence.machine.largest"), "bold"), _rows(answer["rows"]), Text()]


def _rows(rows: list[dict[str, Any]]) -> RenderableType:
    keys = ("model", "weights", "engine", "verdict", "headroom", "room")
    cells = [
        (
            f"{row['gpus']}×{row['gpu']}",
            row["model"],
            row["weights"],
            row["engine"] if row["runs"] else tr("faces.no_engine"),
            tr(f"faces.verdict_short.{row['verdict']}"),
            f"{text.number(row['headroom_gib'])} GiB",
            text.number(row["largest_context_tokens"], 6) if row["largest_context_tokens"] else "–",
        )
        for row in rows
    ]
    return table([tr("evidence.machine.where"), *(tr(f"faces.{key}") for key in keys)], cells, right=(5, 6))


def _numbers(cards: list[int]) -> str:
    """``0, 2-7``: runs of three and more in short."""
    runs: list[list[int]] = []
    for card in sorted(set(cards)):
        if runs and runs[-1][-1] == card - 1:
            runs[-1].append(card)
        else:
            runs.append([card])
    parts = (f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
    return ", ".join(parts)


def _not_read(answer: dict[str, Any]) -> list[str]:
    told = [one["sentence"] for one in answer["machine"]["not_read"]]
    for row in answer["cards"]:
        told += [
            f"{tr('evidence.machine.head.card')} {row['index']}: {one['sentence']}" for one in row["not_read"]
        ]
    return told


def _listed(key: str, sentences: list[str]) -> list[RenderableType]:
    if not sentences:
        return []
    title = clean(tr(f"evidence.machine.{key}"), "bold")
    return [title, *(Padding(clean(one), (0, 0, 0, 2), expand=False) for one in sentences), Text()]
