"""One card against another: what an output costs on each, over workloads that are stated."""

from __future__ import annotations

from dataclasses import replace

from cabida import app
from cabida.app.asking.asked import PAIR, Asked, missing, on, short
from cabida.app.asking.loads import Load, Priced, cost_command, priced
from cabida.app.asking.serving import with_weights
from cabida.report.answered import Answer, Figure
from cabida.text import money, number, tr

# name -> prompt, answer and requests in flight: short answers to many, long prompts to few, what may wait
LOADS = {
    "chat": Load(1000.0, 300.0, 16.0),
    "long": Load(16000.0, 500.0, 8.0),
    "batch": Load(500.0, 500.0, 128.0),
}
SIZES_B = (8.0, 70.0)  # of the models that are tried when none is named
SMALL = "awq-int4"  # what is tried where neither card holds a model otherwise
EVEN_RATIO = 0.03  # costs nearer than this are called even
Way = tuple[str, int | None]


def versus(asked: Asked) -> Answer:
    """Where one of two cards costs less, full or hardly used, and where the other does."""
    if len(asked.cards) < 2:
        raise missing(PAIR)
    counted = any(count for _, count in asked.cards[:2])
    ways = tuple((card, count or (1 if counted else None)) for card, count in asked.cards[:2])
    won: dict[Way | None, list[str]] = {way: [] for way in ways} | {None: []}
    for model in _models(asked):
        for name, load in _loads(asked).items():
            label = f"{short(model)}, {_told(name, load)}"
            found, label = _priced(asked, model, load, label, ways)
            costs = {way: one.unit_money for way, one in found.items()}
            if costs:
                won[_winner(costs)].append(
                    f"{short(model)}, {tr(f'asking.shape.{name}')}{_by(costs, asked.currency)}"
                )
            if len(found) == len(ways) and name in ("chat", "said"):
                _few(asked, f"{short(model)}, {tr(f'asking.shape.{name}')}", found, load, won)
    _arithmetic(asked, ways, won)
    return asked.answer(_sentence(asked, ways, won))


def _priced(
    asked: Asked, model: str, load: Load, label: str, ways: tuple[Way, ...]
) -> tuple[dict[Way, Priced], str]:
    """The model on each that holds the load: in 4 bits where neither does otherwise."""
    trial, found = asked, {way: priced(asked, model, *way, load) for way in ways}
    if not any(found.values()) and not asked.beside.weights:
        trial, label = with_weights(asked, SMALL), f"{label}, {SMALL}"
        found = {way: priced(trial, model, *way, load) for way in ways}
    held = {}
    for way, one in found.items():
        of = f"{label} · {on(way[0], one.count if one else way[1])}"
        if one is None:
            asked.add(of, "output_mtok", None, "money")
            continue
        held[way] = one
        asked.add(of, "output_mtok", one.row["metrics"]["output_mtok_money"], "money")
        asked.add(of, "output_tok_s", one.found["metrics"]["output_tok_s"], "tok_s")
        if len(asked.commands) < len(ways):
            cost_command(trial, model, one)
    return held, label


def _few(
    asked: Asked, of: str, found: dict[Way, Priced], load: Load, won: dict[Way | None, list[str]]
) -> None:
    """Who costs less a month while requests are so few that one replica of either carries them: most of it idles."""
    months = {way: float(one.row["cost_per_month_money"]) for way, one in found.items()}
    most = min(one.found["metrics"]["output_tok_s"]["value"] / load.output_tokens for one in found.values())
    few = tr("asking.load.few", most=number(most))
    for way, one in found.items():
        asked.add(f"{of}, {few} · {on(way[0], one.count)}", "per_month", months[way], "money")
    won[_winner(months)].append(f"{of}, {few}{_by(months, asked.currency)}")


def _models(asked: Asked) -> list[str]:
    if asked.model:
        return [asked.model]
    taken = [replace(asked, taken={}).standing_model(size) for size in SIZES_B]
    asked.take("models", ", ".join(short(one) for one in taken), "--model")
    return taken


def _loads(asked: Asked) -> dict[str, Load]:
    b = asked.beside
    if b.input_tokens or b.output_tokens or b.concurrency:
        usual = LOADS["chat"]
        said = Load(
            b.input_tokens or usual.input_tokens, b.output_tokens or usual.output_tokens,
            b.concurrency or usual.concurrency,
        )  # fmt: skip
        return {"said": said}
    asked.take(
        "loads",
        "; ".join(_told(*one) for one in LOADS.items()),
        "--input-tokens --output-tokens --concurrency",
    )
    return LOADS


def _told(name: str, load: Load) -> str:
    return tr(
        f"asking.load.{name}", input=number(load.input_tokens, 6), output=number(load.output_tokens, 6),
        concurrency=number(load.concurrency),
    )  # fmt: skip


def _winner(costs: dict[Way, float]) -> Way | None:
    if len(costs) < 2:
        return next(iter(costs), None)
    least, most = min(costs.values()), max(costs.values())
    return None if most <= least * (1 + EVEN_RATIO) else min(costs, key=lambda way: costs[way])


def _by(costs: dict[Way, float], currency: str) -> str:
    if len(costs) == 1:
        return f" ({tr('asking.versus.alone')})"
    low, high = sorted(costs.values())
    return f" ({money(low, currency)} / {money(high, currency)})"


def _arithmetic(asked: Asked, ways: tuple[Way, ...], won: dict[Way | None, list[str]]) -> None:
    """What training that is bound by arithmetic pays: money for each petaflop/s and hour."""
    found = app.compare([card for card, _ in ways], asked.as_of or None)["accelerators"]
    by_card = {row["id"]: row["rent_usd_per_pflops_hour"] for row in found}
    costs = {way: by_card[way[0]] for way in ways if by_card.get(way[0])}
    for way, value in costs.items():
        asked.figures.append(_pflops(way, value))
    if len(costs) == len(ways) and ways[0][0] != ways[1][0]:
        won[_winner(costs)].append(tr("asking.load.arithmetic") + _by(costs, "USD"))
    asked.command("compare " + " ".join(dict.fromkeys(card for card, _ in ways)), {})
    asked.source(*(row["source"] for row in found))


def _pflops(way: Way, value: float) -> Figure:
    """In USD, as ``compare`` tells it."""
    return Figure(on(way[0], 1), "pflops_hour", value, "money", None, None, tr("asking.median_rent"))


def _sentence(asked: Asked, ways: tuple[Way, ...], won: dict[Way | None, list[str]]) -> str:
    one, other = ways
    total = sum(len(cases) for cases in won.values())
    parts = [
        tr(
            "asking.versus.where",
            card=on(*way),
            count=str(len(won[way])),
            of=str(total),
            cases="; ".join(won[way]),
        )
        for way in ways
        if won[way]
    ]
    if won[None]:
        parts.append(tr("asking.versus.even", cases="; ".join(won[None])))
    if not total:
        return tr("asking.versus.nothing", one=on(*one), other=on(*other))
    head = ""
    if asked.intent == "better":
        first = "yes" if len(won[one]) == total else "no" if won[other] or won[None] else "yes"
        head = tr(f"asking.versus.{first}", one=on(*one), other=on(*other)) + " "
    return head + " ".join(parts)
