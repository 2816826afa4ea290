"""Questions about serving: does it fit, how many does it serve, which format, which card, slices, a month's cost."""

from __future__ import annotations

from typing import Any

from cabida import app, facts
from cabida.app.asking.asked import CARD, MODEL, NO_CARD, Asked, missing, name_of, on, short
from cabida.app.asking.loads import Load, Priced, cost_command, held, load_of, priced, seller
from cabida.report.answered import Answer
from cabida.report.metrics import plain
from cabida.text import money, number, rate, tr

TRIED = ("bf16", "fp8", "int8-w8a8", "awq-int4", "gptq-int4", "nvfp4", "mxfp4")
SHORTLIST = 8
FEW = 4  # where more is worked out of each
S_PER_MONTH = 730.0 * 3600.0


def fit(asked: Asked) -> Answer:
    """Does a model fit on a card, with how much context and how many at once."""
    model, cards = _model(asked), _cards(asked)
    sentence = ""
    for card, count in cards:
        tokens = asked.slots.context_tokens
        at_once = asked.beside.concurrency or asked.slots.users
        weights = asked.beside.weights or next(iter(asked.slots.formats), "")
        flags: dict[str, Any] = {
            "gpu": card, "tp": count if (count or 1) > 1 else None, "weights": weights or None,
            "min_context": tokens, "concurrency": round(at_once) if at_once else None,
        }  # fmt: skip
        said = {name: value for name, value in flags.items() if value is not None}
        found = plain(app.fit(model, as_of=asked.as_of or None, **said))
        asked.command(f"fit {model}", flags)
        of = on(card, count)
        asked.add(of, "weights_gib", found["metrics"]["weights_gib_per_gpu"], "gib")
        asked.add(of, "usable_gib", found["usable_gib"], "gib", found.get("budget_rule", ""))
        asked.add(of, "headroom_gib", found["margin_gib"], "gib")
        if found["verdict"] != "no":
            asked.add(of, "largest_context", found["largest_context_tokens"], "tokens")
            for row in found["concurrency"]:
                name = tr("asking.at_context", tokens=number(row["context_tokens"], 6))
                asked.add(f"{of}, {name}", "sequences", row["sequences"], "count")
        if found["cure"]:
            asked.notes.append(found["cure"])
        asked.notes += [_said(one) for one in found["warnings"]]
        asked.source(facts.accelerator(card).source.what)
        key = "asking.fit." + ("no" if found["verdict"] == "no" or not found["runs"] else found["verdict"])
        told = tr(
            key, model=short(model), weights=found["weights"], card=of, free=number(abs(found["headroom_gib"])),
            context=number(found["largest_context_tokens"] or 0, 6), sequences=_at_once(found),
        )  # fmt: skip
        sentence += (" " if sentence else "") + told
    return asked.answer(sentence)


def _at_once(found: dict[str, Any]) -> str:
    rows = found["concurrency"]
    return f"{number(rows[0]['sequences'], 4)} × {number(rows[0]['context_tokens'], 6)}" if rows else "0"


def serve(asked: Asked) -> Answer:
    """How many requests and users a card serves with a model within stated latencies."""
    model, load = _model(asked), load_of(asked)
    asked.taken.pop("concurrency", None)  # the most that keeps the latencies is searched
    card, count = _cards(asked)[0]
    tp = held(asked, model, card, count, Load(load.input_tokens, load.output_tokens, 1.0))
    if tp is None:
        return fit(asked)
    ttft = asked.usual("ttft_p95_ms", 1000.0, "--ttft-p95-ms")
    tpot = asked.usual("tpot_p95_ms", 50.0, "--tpot-p95-ms")
    every = asked.usual("every_s", 60.0, "--every")
    flags: dict[str, Any] = {
        "gpu": card, "tp": tp if tp > 1 else None, "weights": asked.beside.weights or None,
        "input_tokens": load.input_tokens, "output_tokens": load.output_tokens,
    }  # fmt: skip
    said = {name: value for name, value in flags.items() if value is not None}
    goals = {"ttft_ms_p95": ttft, "tpot_ms_p95": tpot}
    found = plain(app.speed(model, objectives_ms=goals, **said))
    asked.command(f"speed {model}", flags | {"ttft_p95_ms": ttft, "tpot_p95_ms": tpot})
    capacity, of = found["capacity"], on(card, tp)
    if not capacity or not capacity["requests_per_s"]["value"]:
        asked.notes.append(tr("asking.serve.loosen"))
        return asked.answer(
            tr("asking.serve.none", model=short(model), card=of, ttft=number(ttft), tpot=number(tpot))
        )
    asked.add(of, "requests_per_s", capacity["requests_per_s"], "req_s")
    asked.add(of, "in_flight", capacity["batch_mean"], "count", "simulated")
    asked.add(of, "output_tok_s", capacity["output_tok_s"], "tok_s")
    e2e = capacity["metrics"]["e2e_ms_mean"]
    rates = capacity["requests_per_s"]
    asked.add(of, "ttft_p95", capacity["metrics"]["ttft_ms_p95"], "ms")
    asked.add(of, "tpot_p95", capacity["metrics"]["tpot_ms_p95"], "ms")
    users = {end: users_count(rates[end], every, e2e["value"] / 1000.0) for end in ("value", "low", "high")}
    asked.add(of, "users", users | {"basis": rates["basis"]}, "count")
    return asked.answer(
        tr(
            "asking.serve.answer", card=of, model=short(model), rate=rate(rates["value"]), low=rate(rates["low"]),
            users=number(users["value"], 2), every=number(every), limit=tr(f"asking.limit.{capacity['limited_by']}")
            if capacity["limited_by"] in ("ttft_ms_p95", "tpot_ms_p95") else str(capacity["limited_by"]),
        )
    )  # fmt: skip


def users_count(requests_per_s: float, pause_s: float, answer_s: float) -> float:
    """People served when each asks again ``pause_s`` after an answer (Little's law)."""
    return requests_per_s * (pause_s + answer_s)


def quantisation(asked: Asked) -> Answer:
    """The weight formats that run on a card, what each holds and how fast it is; the cheapest output that is left."""
    model, load = _model(asked), load_of(asked)
    card, count = _cards(asked)[0]
    ways: list[tuple[str, Priced]] = []
    for weights in TRIED:
        trial = with_weights(asked, weights)
        found = priced(trial, model, card, count, load)
        if found is None:
            asked.notes.append(tr("asking.quantisation.out", weights=weights, card=on(card, count)))
            continue
        ways.append((weights, found))
        of = f"{weights} · {on(card, found.count)}"
        asked.add(of, "output_tok_s", found.found["metrics"]["output_tok_s"], "tok_s")
        asked.add(of, "output_mtok", found.row["metrics"]["output_mtok_money"], "money")
    if not ways:
        raise missing(NO_CARD)
    weights, best = min(ways, key=lambda way: way[1].unit_money)
    cost_command(asked, model, best)
    plainest = next((one for name, one in ways if name == "bf16"), None)
    asked.notes.append(tr("asking.quantisation.quality"))
    gain = plainest.unit_money / best.unit_money if plainest else None
    key = "asking.quantisation." + ("answer" if gain and weights != "bf16" else "alone")
    return asked.answer(
        tr(
            key, model=short(model), card=on(card, best.count), weights=weights, gain=number(gain or 1.0, 2),
            price=money(best.unit_money, asked.currency), tokens=number(best.found["metrics"]["output_tok_s"]["value"]),
        )
    )  # fmt: skip


def with_weights(asked: Asked, weights: str) -> Asked:
    """The same question of weights in another format; its answer grows in the same place."""
    from dataclasses import replace

    return replace(asked, beside=replace(asked.beside, weights=weights))


def best_inference(asked: Asked) -> Answer:
    """The card whose output of a model costs least under the stated load; of a brief its chosen option."""
    if asked.decision is not None:
        from cabida.app.asking.decided import chosen

        return chosen(asked)
    if not asked.model:
        from cabida.app.asking.classes import by_work

        return by_work(asked, ("realtime-inference", "batch-inference"))
    model, load = asked.model, load_of(asked)
    found = ranked(asked, model, load)
    if not found:
        raise missing(NO_CARD)
    for one in found[:6]:
        of = on(one.card, one.count)
        asked.add(of, "output_mtok", one.row["metrics"]["output_mtok_money"], "money")
        asked.add(of, "output_tok_s", one.found["metrics"]["output_tok_s"], "tok_s")
        asked.add(of, "per_hour", one.row["price_money_per_hour"] * one.count, "money", seller(one.row))
    best, *others = found
    cost_command(asked, model, best)
    next_ = others[0] if others else None
    asked.notes.append(tr("asking.best.brief"))
    return asked.answer(
        tr(
            "asking.best.inference" if next_ else "asking.best.only",
            model=short(model), card=on(best.card, best.count),
            price=money(best.unit_money, asked.currency), seller=seller(best.row),
            next=on(next_.card, next_.count) if next_ else "",
            next_price=money(next_.unit_money, asked.currency) if next_ else "", count=str(len(found)),
        )
    )  # fmt: skip


def ranked(asked: Asked, model: str, load: Load, most: int = SHORTLIST) -> list[Priced]:
    """Cards by what an output costs on them, of those with the most bandwidth and memory for their rent."""
    from cabida.report.compare import row_of

    named = {card for card, _ in asked.cards}
    rows = [
        row_of(one, asked.as_of or None)
        for one in facts.accelerators(asked.as_of or None).values()
        if not named or one.id in named
    ]
    rented = [row for row in rows if row["rent_usd_per_hour"] and row["bandwidth_gb_s"]]
    per_money = sorted(rented, key=lambda row: row["rent_usd_per_hour"] / row["bandwidth_gb_s"])
    fits: list[str] = []
    for row in per_money:
        if len(fits) == most:
            break
        if held(asked, model, row["id"], None, load):
            fits.append(row["id"])
    made = [found for card in fits if (found := priced(asked, model, card, None, load)) is not None]
    return sorted(made, key=lambda one: one.unit_money)


def month_cost(asked: Asked) -> Answer:
    """What a model costs a month, at a demand where one is said."""
    model, load = _model(asked), load_of(asked)
    per_s = asked.slots.requests_per_s
    if asked.beside.requests_per_month is not None:
        per_s = asked.beside.requests_per_month / S_PER_MONTH
    more: dict[str, Any] = {}
    if per_s is not None:
        asked.taken.pop("concurrency", None)
        more = {"demand": per_s, "ttft_p95_ms": asked.usual("ttft_p95_ms", 1000.0, "--ttft-p95-ms"),
                "tpot_p95_ms": asked.usual("tpot_p95_ms", 50.0, "--tpot-p95-ms")}  # fmt: skip
        asked.take("flat", tr("asking.flat"), "cabida cost --profile")
    if asked.cards:
        card, count = asked.cards[0]
        found = priced(asked, model, card, count, load, **more)
    else:
        best = ranked(asked, model, load, FEW)[:1]
        tried = [priced(asked, model, one.card, one.count, load, **more) for one in best] if more else best
        priced_ones = [one for one in tried if one is not None]
        found = min(priced_ones, key=lambda one: one.row["cost_per_month_money"], default=None)
        if found:
            asked.take("gpu", name_of(found.card), "--gpu")
    if found is None:
        raise missing(NO_CARD)
    fleet = found.found.get("fleet")
    replicas = fleet["replicas"]["value"] if fleet else 1
    of = on(found.card, found.count)
    asked.add(of, "per_month", found.row["cost_per_month_money"], "money", seller(found.row))
    asked.add(of, "replicas", replicas, "count", "formula")
    asked.add(of, "output_mtok", found.row["metrics"]["output_mtok_money"], "money")
    asked.add(of, "use", found.found["utilisation"], "ratio", "formula")
    for key, amount in found.row["lines"].items():
        asked.add(
            of, "line", f"{tr(f'report.cost.{key}')}: {money(amount, asked.currency)}", "text", "formula"
        )
    if not fleet:
        asked.take("utilisation", "60 %", "cabida cost --utilisation")
    cost_command(asked, model, found)
    return asked.answer(
        tr(
            "asking.month.demand" if fleet else "asking.month.one", model=short(model), card=of,
            month=money(found.row["cost_per_month_money"], asked.currency), seller=seller(found.row),
            replicas=number(replicas), rate=rate(per_s or 0.0),
            price=money(found.unit_money, asked.currency),
        )
    )  # fmt: skip


def mig(asked: Asked) -> Answer:
    """What a card can be cut into, and which slices hold a model."""
    from cabida.facts import mig as slices

    card, _ = _cards(asked)[0]
    profiles = slices.profiles(card)
    asked.command("facts list mig", {})
    if not profiles:
        return asked.answer(tr("asking.mig.none", card=name_of(card)))
    least = ""
    for one in profiles:
        verdict = ""
        if asked.model:
            ref = f"{card}:{one.name}"
            verdict = app.fit(asked.model, gpu=ref)["verdict"]
            least = least or (one.name if verdict in ("fits", "tight") else "")
            asked.add(one.name, "slice_fits", tr(f"asking.verdict.{verdict}"), "text", "formula")
        asked.add(one.name, "slice_gib", one.usable_bytes / 2**30, "gib", "measured")
        asked.add(one.name, "slices", one.instances_count, "count")
    asked.source(profiles[0].source.what)
    if asked.model and least:
        asked.command(f"fit {asked.model}", {"gpu": f"{card}:{least}"})
    key = "asking.mig." + ("model" if asked.model and least else "no_model" if asked.model else "answer")
    return asked.answer(
        tr(key, card=name_of(card), count=str(len(profiles)), model=short(asked.model), slice=least,
           least=profiles[0].name, most=str(max(one.instances_count for one in profiles)))
    )  # fmt: skip


def _model(asked: Asked) -> str:
    if not asked.model:
        raise missing(MODEL)
    return asked.model


def _cards(asked: Asked) -> tuple[tuple[str, int | None], ...]:
    if not asked.cards:
        raise missing(CARD)
    return asked.cards


def _said(one: Any) -> str:
    return str(one.get("sentence", one)) if isinstance(one, dict) else str(getattr(one, "sentence", one))
