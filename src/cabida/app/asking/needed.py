"""How much memory a model takes, to serve it or to tune it, and the smallest cards that hold it."""

from __future__ import annotations

import re
from typing import Any

from cabida import app, facts
from cabida.app.asking.asked import MODEL, NO_CARD, Asked, missing, name_of, on, short
from cabida.app.asking.slots import plain as plain_words
from cabida.app.asking.training import METHODS
from cabida.report.answered import Answer
from cabida.report.metrics import plain
from cabida.text import number, tr

SMALLEST = 3  # cards that are named
TUNING = re.compile(r"\b(fine-?)?tun(e|ing)|\btrain|\bentren|\bafin|\bajust")
ROOMY = "b300-sxm-288"  # what a run takes is asked of a card that holds most of them


def needed(asked: Asked) -> Answer:
    """Weights, cache and working memory of a model, and the smallest cards that hold it; of tuning it, each way's peak.

    Raises:
        InvalidInput: no model is named (CB-Y021), or no card holds it (CB-Y026).
    """
    if not asked.model:
        raise missing(MODEL)
    if asked.beside.method or asked.slots.method or TUNING.search(plain_words(asked.question)):
        return _tuned(asked)
    at_once = asked.beside.concurrency or asked.slots.users
    flags: dict[str, Any] = {
        "weights": asked.beside.weights or next(iter(asked.slots.formats), None),
        "min_context": asked.slots.context_tokens,
        "concurrency": round(at_once) if at_once else None,
    }
    said = {name: value for name, value in flags.items() if value is not None}
    rows = app.fit(asked.model, as_of=asked.as_of or None, **said)["rows"]
    fits = [row for row in rows if row["verdict"] == "fits" and row["runs"]]
    if not fits:
        raise missing(NO_CARD)
    smallest = fits[0]
    said |= {"gpu": smallest["gpu"]} | ({"gpus": smallest["gpus"]} if smallest["gpus"] > 1 else {})
    asked.command(f"fit {asked.model}", flags)
    asked.command(
        f"fit {asked.model}", flags | {name: said[name] for name in ("gpu", "gpus") if name in said}
    )
    found = plain(app.fit(asked.model, as_of=asked.as_of or None, **said))
    parts = {name: size * found["gpus"] for name, size in found["memory_gib"].items()}
    working = sum(
        parts.get(name, 0.0) for name in ("activations", "graphs", "other", "state", "draft", "encoder")
    )
    total = parts["weights"] + parts["cache"] + working
    of = short(asked.model)
    for name, size in (
        ("weights_all", parts["weights"]),
        ("cache_all", parts["cache"]),
        ("working_all", working),
    ):
        asked.add(of, name, size, "gib", "formula")
    for row in fits[:SMALLEST]:
        asked.add(on(row["gpu"], row["gpus"]), "headroom_gib", row["headroom_gib"], "gib", "formula")
    if not asked.slots.context_tokens:
        asked.take("context", number(found["context_tokens"], 6), "cabida fit --min-context")
    asked.source(facts.accelerator(smallest["gpu"]).source.what)
    return asked.answer(
        tr(
            "asking.needed.serve", model=of, weights=found["weights"], total=number(total),
            held=number(parts["weights"]), cache=number(parts["cache"]), sequences=number(found["sequences"], 6),
            context=number(found["context_tokens"], 6), working=number(working),
            cards=", ".join(on(row["gpu"], row["gpus"]) for row in fits[:SMALLEST]),
        )
    )  # fmt: skip


def _tuned(asked: Asked) -> Answer:
    told = []
    method = asked.beside.method or asked.slots.method
    for way in (method,) if method else METHODS:
        found = plain(app.fit(asked.model, as_of=asked.as_of or None, gpu=ROOMY, method=way))
        asked.command(f"fit {asked.model}", {"gpu": ROOMY, "method": way})
        peak = found["metrics"]["peak_gib_per_gpu"]
        asked.add(way, "peak_gib", peak, "gib")
        asked.take("seq_len", number(found["seq_len"], 6), "cabida fit --seq-len")
        told.append(tr("asking.needed.way", method=way, size=number(peak["value"])))
    asked.take("gpu", name_of(ROOMY), "--gpu")
    return asked.answer(tr("asking.needed.tune", model=short(asked.model), ways="; ".join(told)))
