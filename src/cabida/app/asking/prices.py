"""Questions about money: rent or API, rent or buy, is a price good, a used card, how not to buy too much."""

from __future__ import annotations

from math import ceil
from statistics import median
from typing import Any

from cabida import app, facts
from cabida.app.asking.asked import CARD, MODEL, NO_CARD, PURCHASE, Asked, missing, name_of, on, short
from cabida.app.asking.loads import cost_command, load_of, priced, seller
from cabida.app.asking.serving import FEW, S_PER_MONTH, ranked
from cabida.report.answered import Answer
from cabida.report.metrics import plain
from cabida.text import money, number, percent, rate, tr

HOURS = 24.0
WHOLE_FROM_MONEY = 60.0  # more than this is the price of a card, not of an hour of it


def rent_or_api(asked: Asked) -> Answer:
    """From how many requests a month a rented copy costs less than the cheapest API that sells the model."""
    if not asked.model:
        raise missing(MODEL)
    model, load = asked.model, load_of(asked)
    if asked.cards:
        own = priced(asked, model, *asked.cards[0], load)
    else:
        own = next(iter(ranked(asked, model, load, FEW)[:1]), None)
        if own:
            asked.take("gpu", name_of(own.card), "--gpu")
    if own is None:
        raise missing(NO_CARD)
    month = round(float(own.row["cost_per_month_money"]), 2)  # as it is typed
    said = asked.slots.requests_per_s
    volume = asked.beside.requests_per_month or (said * S_PER_MONTH if said else None)
    if volume is None:
        volume = asked.usual("requests_per_month", 1e6, "--requests-per-month")
    flags: dict[str, Any] = {
        "requests_per_month": volume, "input_tokens": load.input_tokens, "output_tokens": load.output_tokens,
        "currency": asked.currency,
    }  # fmt: skip
    found = plain(app.api_prices(model, own_money_per_month=month, as_of=asked.as_of or None, **flags))
    cost_command(asked, model, own)
    asked.command(f"prices api {model}", flags | {"own": month})
    of = on(own.card, own.count)
    asked.add(of, "per_month", own.row["cost_per_month_money"], "money", seller(own.row))
    most = own.found["metrics"]["req_s"]["value"] * S_PER_MONTH
    asked.add(of, "requests_month", most, "count", own.found["metrics"]["req_s"]["basis"])
    if not found["rows"]:
        return asked.answer(
            tr("asking.api.nobody", model=short(model), month=money(month, asked.currency), card=of)
        )
    api = found["rows"][0]
    asked.add(api["provider"], "per_month", api["cost_per_month_money"], "money")
    turn = api["break_even_requests_per_month"]
    asked.add(api["provider"], "break_even", turn, "count", "formula")
    asked.source(f"{api['source']['what']} ({api['seen']})")
    key = "never" if turn is None else "above_one" if turn > most else "answer"
    copies = max(1, ceil(volume / most))
    asked.add(of, "replicas", float(copies), "count", "formula")
    rented = copies * month
    cheaper = tr("asking.api.api" if api["cost_per_month_money"]["value"] < rented else "asking.api.rent")
    return asked.answer(
        tr(
            f"asking.api.{key}", model=short(model), provider=api["provider"], turn=number(turn or 0.0, 3), card=of,
            most=number(most, 3), volume=number(volume, 3), cheaper=cheaper, month=money(month, asked.currency),
            api=money(api["cost_per_month_money"]["value"], asked.currency),
        )
    )  # fmt: skip


def rent_or_buy(asked: Asked) -> Answer:
    """How many hours of use a day make owning a card cheaper than renting it."""
    if not asked.cards:
        raise missing(CARD)
    card, count = asked.cards[0]
    hours = asked.slots.hours_per_day or asked.beside.hours_per_day
    flags: dict[str, Any] = {"gpus": count, "currency": asked.currency}
    if asked.slots.money and asked.slots.money > WHOLE_FROM_MONEY:
        flags["price"] = asked.slots.money
    if hours:
        flags["utilisation"] = min(1.0, hours / HOURS)
    found = plain(
        app.own(card, as_of=asked.as_of or None, **{k: v for k, v in flags.items() if v is not None})
    )
    asked.command(f"own {card}", flags)
    of = on(card, found["gpus"])
    asked.add(
        of,
        "price",
        found["price"]["money"],
        "money",
        f"{found['price']['provider']}, {found['price']['seen']}",
    )
    asked.add(of, "owned_hour", found["ownership"]["useful_money_per_hour"], "money", "formula")
    turns = []
    for rent in found["ownership"]["rents"]:
        asked.add(tr(f"asking.rent.{rent['kind']}"), "rent", rent["money_per_hour"], "money", rent["seen"])
        ratio = rent["break_even_utilisation_ratio"]
        if ratio is not None:
            asked.add(
                tr(f"asking.rent.{rent['kind']}"),
                "break_even_hours",
                ratio * HOURS,
                "hours_per_day",
                "formula",
            )
        turns.append((rent["kind"], rent["money_per_hour"], ratio))
    asked.source(found["price"]["source"], found["ownership"]["residual_source"])
    asked.take("use", percent(found["ownership"]["utilisation_ratio"]), "--hours")
    asked.notes += found["advice"][:3]
    told = [_turn(kind, rent, ratio, asked.currency) for kind, rent, ratio in turns]
    if not told:
        return asked.answer(found["verdict"])
    return asked.answer(tr("asking.buy.answer", card=of, turns="; ".join(told)) + " " + found["verdict"])


def _turn(kind: str, rent: float, ratio: float | None, currency: str) -> str:
    key = "asking.buy." + ("hours" if ratio is not None and ratio <= 1.0 else "never")
    return tr(
        key, kind=tr(f"asking.rent.{kind}"), rent=money(rent, currency), hours=number((ratio or 0.0) * HOURS)
    )


def price(asked: Asked) -> Answer:
    """Where a price stands among those in force in the dated book."""
    if not asked.cards:
        raise missing(CARD)
    card, _ = asked.cards[0]
    said = asked.slots.money
    whole = said is not None and not asked.slots.hourly and said > WHOLE_FROM_MONEY
    capacity = "buy" if whole else "on-demand"
    flags = {"capacity": capacity, "currency": asked.currency}
    rows = [row for row in app.prices(card, as_of=asked.as_of or None, **flags) if row["gpu"] == card]
    asked.command(f"prices list {card}", flags)
    asked.command(f"prices history {card}", flags)
    if not rows:
        return asked.answer(tr("asking.price.none", card=name_of(card), kind=tr(f"asking.kind.{capacity}")))
    amounts = sorted(float(row["amount"]) / max(1, _pieces(row)) for row in rows)
    low, middle, high = amounts[0], median(amounts), amounts[-1]
    for name, value in (("lowest", low), ("median", middle), ("highest", high)):
        asked.add(name_of(card), name, value, "money", tr(f"asking.kind.{capacity}"))
    asked.add(
        name_of(card),
        "sellers",
        float(len(rows)),
        "count",
        f"{min(row['seen'] for row in rows)} – {max(row['seen'] for row in rows)}",
    )
    asked.source(*(row["source"] for row in sorted(rows, key=lambda row: row["amount"])[:3]))
    values = {
        "card": name_of(card), "low": money(low, asked.currency), "median": money(middle, asked.currency),
        "high": money(high, asked.currency), "count": str(len(rows)), "kind": tr(f"asking.kind.{capacity}"),
    }  # fmt: skip
    if said is None:
        asked.notes.append(tr("asking.price.say"))
        return asked.answer(tr("asking.price.book", **values))
    below = sum(one < said for one in amounts) / len(amounts)
    asked.add(name_of(card), "percentile", below, "ratio", "formula")
    key = "cheap" if below <= 0.25 else "dear" if below >= 0.75 else "usual"
    return asked.answer(
        tr(f"asking.price.{key}", price=money(said, asked.currency), below=percent(below), **values)
    )


def _pieces(row: dict[str, Any]) -> int:
    return int(row["sold_together"]) if row["unit"] == "node" else 1


def used(asked: Asked) -> Answer:
    """A used card: what the book asks for one, what it holds for that, whether owning it pays, what to know of it."""
    from cabida.checks.named import last_toolkit

    if not asked.cards:
        raise missing(CARD)
    card, count = asked.cards[0]
    paid = asked.slots.money
    flags: dict[str, Any] = {"gpus": count or 1, "in": "desk", "currency": asked.currency, "price": paid}
    called = {"in_" if name == "in" else name: value for name, value in flags.items() if value is not None}
    found = plain(app.own(card, as_of=asked.as_of or None, **called))
    asked.command(f"own {card}", flags)
    one, of = facts.accelerator(card), on(card, count)
    amount = float(found["price"]["money"])
    gib = one.usable_bytes / 2**30
    asked.add(of, "price", amount, "money", f"{found['price']['provider']}, {found['price']['seen']}")
    asked.add(of, "usable_gib", gib, "gib")
    asked.add(of, "per_gib", amount / gib, "money", "formula")
    asked.add(of, "owned_hour", found["ownership"]["useful_money_per_hour"], "money", "formula")
    for rent in found["ownership"]["rents"]:
        asked.add(tr(f"asking.rent.{rent['kind']}"), "rent", rent["money_per_hour"], "money", rent["seen"])
    if paid is None:
        asked.take("price", money(amount, asked.currency), "cabida own --price")
        asked.notes.append(tr("asking.used.say"))
    if asked.model:
        held = app.fit(asked.model, gpu=card, tp=count or 1)
        asked.add(
            f"{short(asked.model)} · {of}", "slice_fits", tr(f"asking.verdict.{held['verdict']}"), "text"
        )
        asked.command(f"fit {asked.model}", {"gpu": card, "tp": count if (count or 1) > 1 else None})
    asked.notes += [caution.sentence for caution in last_toolkit(one)] + [tr("asking.used.check")]
    asked.source(found["price"]["source"])
    return asked.answer(
        tr("asking.used.answer", card=of, price=money(amount, asked.currency), gib=number(gib),
           per_gib=money(amount / gib, asked.currency)) + " " + found["verdict"]
    )  # fmt: skip


def overbuy(asked: Asked) -> Answer:
    """How much room a choice leaves, how busy it is, and the mistakes it makes."""
    if asked.decision is not None:
        from cabida.app.asking.decided import room

        return room(asked)
    per_s = asked.slots.requests_per_s
    if asked.beside.requests_per_month is not None:
        per_s = asked.beside.requests_per_month / S_PER_MONTH
    if not asked.model or not asked.cards or per_s is None:
        raise missing(PURCHASE)
    card, count = asked.cards[0]
    load = load_of(asked)
    asked.taken.pop("concurrency", None)
    goals = {"ttft_p95_ms": asked.usual("ttft_p95_ms", 1000.0, "--ttft-p95-ms"),
             "tpot_p95_ms": asked.usual("tpot_p95_ms", 50.0, "--tpot-p95-ms")}  # fmt: skip
    found = priced(asked, asked.model, card, None, load, demand=per_s, **goals)
    if found is None:
        raise missing(NO_CARD)
    fleet = found.found["fleet"]
    needed = round(fleet["replicas"]["value"]) * found.count
    of = on(card, needed)
    asked.add(of, "needed", float(needed), "count", fleet["replicas"]["basis"])
    asked.add(of, "use", fleet["peak_use_ratio"], "ratio", "formula")
    asked.add(of, "requests_per_s", found.found["capacity"]["requests_per_s"], "req_s")
    asked.add(of, "per_month", found.row["cost_per_month_money"], "money", seller(found.row))
    cost_command(asked, asked.model, found)
    values = {
        "needed": of, "rate": rate(per_s), "use": percent(fleet["peak_use_ratio"]), "model": short(asked.model),
        "free": percent(max(0.0, 1.0 - fleet["peak_use_ratio"])), "said": on(card, count),
    }  # fmt: skip
    key = "too_many" if count and count > needed else "too_few" if count and count < needed else "answer"
    return asked.answer(tr(f"asking.overbuy.{key}", **values))
