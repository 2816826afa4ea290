"""Questions about training: can a model be tuned on a card, and which card tunes it for least."""

from __future__ import annotations

from typing import Any

from cabida import app, facts
from cabida.app.asking.asked import CARD, MODEL, NO_CARD, Asked, missing, on, short
from cabida.app.asking.loads import price_source, seller, splits
from cabida.errors import InvalidInput
from cabida.report.answered import Answer
from cabida.report.metrics import plain
from cabida.text import duration, money, number, tr

METHODS = ("qlora", "lora", "full")
TOKENS = 1e8  # of a run, where none are said


def fine_tune(asked: Asked) -> Answer:
    """Which ways to tune a model fit on a card, with what batch and length."""
    if not asked.model:
        raise missing(MODEL)
    if not asked.cards:
        raise missing(CARD)
    card, count = asked.cards[0]
    said = asked.beside.method or asked.slots.method
    fits, misses = [], []
    for method in (said,) if said else METHODS:
        flags: dict[str, Any] = {"gpu": card, "method": method, "gpus": count if (count or 1) > 1 else None}
        if flags["gpus"]:
            flags["sharding"] = "fsdp"
        asked.command(f"fit {asked.model}", flags)
        kept = {name: value for name, value in flags.items() if value is not None}
        found = plain(app.fit(asked.model, as_of=asked.as_of or None, **kept))
        of = f"{method} · {on(card, count)}"
        asked.add(of, "peak_gib", found["metrics"]["peak_gib_per_gpu"], "gib")
        asked.add(of, "headroom_gib", found["margin_gib"], "gib")
        if found["verdict"] == "no" or not found["runs"]:
            misses.append(
                tr("asking.tune.miss", method=method, missing=number(max(0.0, -found["headroom_gib"])))
            )
        else:
            asked.add(of, "largest_seq", found["largest_seq_tokens"], "tokens")
            fits.append(tr("asking.tune.fit", method=method, free=number(found["headroom_gib"]),
                           tokens=number(found["largest_seq_tokens"] or 0, 6)))  # fmt: skip
        if found["cure"]:
            asked.notes.append(found["cure"])
        asked.take("seq_len", number(found["seq_len"], 6), "cabida fit --seq-len")
    asked.source(facts.accelerator(card).source.what)
    key = "asking.tune." + ("yes" if fits else "no")
    told = tr(key, model=short(asked.model), card=on(card, count), ways="; ".join(fits or misses))
    return asked.answer(
        told + (" " + tr("asking.tune.but", ways="; ".join(misses)) if fits and misses else "")
    )


def best_training(asked: Asked) -> Answer:
    """The card on which a run of a model costs least; of a brief its chosen option."""
    if asked.decision is not None:
        from cabida.app.asking.decided import chosen

        return chosen(asked)
    if not asked.model:
        from cabida.app.asking.classes import by_work

        return by_work(asked, ("adapter-finetune", "full-finetune", "pretraining"))
    method = asked.beside.method or asked.slots.method
    if not method:
        method = "lora"
        asked.take("method", method, "--method")
    tokens = asked.usual("target_tokens", TOKENS, "--target-tokens")
    made = []
    for card in _candidates(asked):
        found = _run(asked, card, method, tokens)
        if found is not None:
            made.append(found)
    if not made:
        raise missing(NO_CARD)
    made.sort(key=lambda one: one[2]["metrics"]["completed_run_money"]["value"])
    for card, count, row, _ in made[:6]:
        of = on(card, count)
        asked.add(of, "run_money", row["metrics"]["completed_run_money"], "money", seller(row))
        asked.add(of, "wall_s", row["metrics"]["wall_s"], "s")
    card, count, row, flags = made[0]
    asked.command(f"cost {asked.model}", flags)
    asked.source(price_source(asked, card, row))
    next_ = made[1] if len(made) > 1 else None
    return asked.answer(
        tr(
            "asking.best.training", model=short(asked.model), method=method, card=on(card, count),
            money=money(row["metrics"]["completed_run_money"]["value"], asked.currency), seller=seller(row),
            tokens=number(tokens, 3), wall=duration(row["metrics"]["wall_s"]["value"]),
            next=tr("asking.best.next", card=on(next_[0], next_[1]),
                    money=money(next_[2]["metrics"]["completed_run_money"]["value"], asked.currency)) if next_ else "",
        )
    )  # fmt: skip


def _candidates(asked: Asked) -> list[str]:
    if asked.cards:
        return [card for card, _ in asked.cards]
    from cabida.report.compare import row_of

    rows = [row_of(one, asked.as_of or None) for one in facts.accelerators(asked.as_of or None).values()]
    rented = [row for row in rows if row["rent_usd_per_pflops_hour"]]
    cheap = sorted(rented, key=lambda row: row["rent_usd_per_pflops_hour"])
    roomy = sorted(rented, key=lambda row: row["rent_usd_per_gib_hour"])
    return list(dict.fromkeys(row["id"] for pair in zip(cheap[:9], roomy[:9], strict=False) for row in pair))


def _run(
    asked: Asked, card: str, method: str, tokens: float
) -> tuple[str, int, dict[str, Any], dict[str, Any]] | None:
    counts = dict(asked.cards)
    for count in splits(card, counts.get(card)):
        flags: dict[str, Any] = {"gpu": card, "method": method}
        flags |= {"gpus": count, "sharding": "fsdp"} if count > 1 else {}
        try:
            held = app.fit(asked.model, as_of=asked.as_of or None, **flags)
            if held["verdict"] == "no" or not held["runs"]:
                continue
            flags |= {"target_tokens": tokens, "capacity": ("on-demand",)}
            flags |= {"currency": asked.currency} if asked.currency != "USD" else {}
            found = plain(app.cost(asked.model, as_of=asked.as_of, **flags))
        except InvalidInput:
            continue
        if found["rows"]:
            return card, count, found["rows"][0], flags
    return None
