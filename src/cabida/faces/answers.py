"""The screens of one question at a time: does it fit, how fast is it, what does it cost."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from cabida import text
from cabida.faces.grid import Grid, clean, table
from cabida.plan import Estimate
from cabida.report import words as say
from cabida.text import has_text, tr

OFFERS_WIDE = 116  # columns from which the whole table of offers breaks no word


def metrics(found: dict[str, Estimate], currency: str = "") -> Grid:
    """Metrics with their intervals."""
    header = [tr("report.metric_head"), tr("faces.value"), tr("faces.basis")]
    return table(
        header,
        [(say.label(k), say.figure(k, one, currency), say.grade(one.basis)) for k, one in found.items()],
    )


def setup_line(answer: dict[str, Any], replicas_count: int = 1) -> str:
    """``meta-llama/Llama-3.3-70B-Instruct · 2×h100-sxm-80 tp2 · fp8 · KV bf16 · vllm``."""
    parts = " ".join(f"{name}{size}" for name, size in answer.get("split", {}).items())
    engine = f"{answer.get('engine', '')} {answer.get('engine_version', '')}".strip()
    cache = f"KV {answer['kv_cache']}" if answer.get("kv_cache") else ""
    said = (answer.get(key) for key in ("method", "sharding", "optimizer"))
    method = " ".join(str(one) for one in said if one and one != "none")
    cards = f"{answer['gpus']}×{answer['gpu']} {parts}".strip()
    if replicas_count > 1:
        cards = tr("choose.title.replicas", replicas=text.number(replicas_count, 15), each=cards)
    pieces = [
        answer["model"],
        cards,
        answer["weights"],
        cache,
        method,
        engine,
        context(answer),
    ]
    return " · ".join(piece for piece in pieces if piece)


def context(answer: dict[str, Any]) -> str:
    """The context or the batch an answer is about, and who chose it."""
    if answer.get("seq_len"):
        count, tokens = (text.number(answer[key], 15) for key in ("micro_batch", "seq_len"))
        return tr("faces.fit.batch_of", count=count, tokens=tokens)
    asked = answer.get("context_tokens") or answer.get("max_model_len")
    came_from = answer.get("context_from", "")
    if not asked:
        asked, came_from = answer.get("model_context_tokens"), "window"
    if not asked:
        return ""
    key = "context_longest" if came_from == "window" else "context_of"
    told = tr(f"faces.{key}", tokens=text.number(asked, 15))
    many = answer.get("sequences", 1)
    return told if many == 1 else tr("faces.fit.many", count=text.number(many, 15), context=told)


def carried(answer: dict[str, Any]) -> list[Text]:
    """The load that the figures are about, also when nobody named one, and what to know before believing them."""
    load = answer.get("load")
    doubts = [clean(f"{tr('faces.check.warning')}: {one['sentence']}") for one in answer["warnings"]]
    if note := answer.get("calibration"):
        key = "here" if note["same_setup"] else "alike"
        count = text.number(note["observations"], 7)
        doubts.append(clean(tr(f"faces.calibrate.used_{key}", count=count, digest=note["digest"])))
    if not load:
        return doubts
    how = "at_once" if load["concurrency"] is not None else "each_second"
    if load["concurrency"] == "offline":
        told = tr(
            "speed.queued", **{key: text.number(load[f"{key}_tokens"], 7) for key in ("input", "output")}
        )
        return [clean(told), *doubts]
    shape = tr(
        f"faces.load.{how}",
        count=text.number(load["concurrency"] if how == "at_once" else load["requests_per_s"]),
        read=text.number(load["input_tokens"], 7),
        written=text.number(load["output_tokens"], 7),
    )
    return [clean(shape), *doubts]


def held(capacity: str) -> str:
    """How capacity is held, in words."""
    key = f"choose.capacity.{capacity}"
    return tr(key) if has_text(key) else capacity


def energy(answer: dict[str, Any], most: int = 10) -> RenderableType:
    """A year's electricity and the API tokens it would buy."""
    currency, spent = answer["currency"], answer["cost_money"].value
    told = tr(
        "faces.energy",
        watts=text.number(answer["watts"], 6),
        hours=text.number(answer["hours"], 6),
        pue=tr("faces.energy_pue", pue=text.number(answer["pue"])) if answer["pue"] != 1 else "",
        kwh=text.number(answer["kwh"], 6),
        money=f"{say.decimal(spent, 2)} {currency}",
    )
    rows = [
        (
            row["model"],
            row["provider"],
            text.money(row["money_per_mtok"], currency),
            f"{text.number(row['mtok'])} M",
            row["seen"],
        )
        for row in answer["api"][:most]
    ]
    header = [tr(f"faces.{key}") for key in ("model", "provider", "mtok", "tokens_bought", "seen")]
    blocks: list[RenderableType] = [clean(told, "bold")]
    return Group(*blocks, Text(), table(header, rows, right=(2, 3))) if rows else Group(*blocks)
