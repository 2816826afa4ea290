"""What a model costs on an accelerator under a stated load: the call of ``fit`` and ``cost``, and its command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cabida import app, facts
from cabida.app.asking.asked import SPLITS, USUAL, Asked
from cabida.errors import InvalidInput
from cabida.report.metrics import plain

NO_ANSWER = ("CB-U015", "CB-U011", "CB-U022", "CB-F018")  # no price, does not fit


@dataclass(frozen=True, slots=True)
class Load:
    """Requests as a service gets them."""

    input_tokens: float
    output_tokens: float
    concurrency: float

    @property
    def flags(self) -> dict[str, Any]:
        """As ``speed`` and ``cost`` take it."""
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "concurrency": self.concurrency,
        }

    @property
    def context_tokens(self) -> int:
        """That each request needs."""
        return round(self.input_tokens + self.output_tokens)


@dataclass(frozen=True, slots=True)
class Priced:
    """A model on ``count`` cards: plain answer of ``cost`` and its cheapest offer."""

    card: str
    count: int
    found: dict[str, Any]
    row: dict[str, Any]
    flags: dict[str, Any]

    @property
    def unit_money(self) -> float:
        """Money per million output tokens."""
        return float(self.row["metrics"]["output_mtok_money"]["value"])


def load_of(asked: Asked) -> Load:
    """The load that was said, else the usual one, noted."""
    if asked.beside.concurrency is None and asked.slots.users is not None and asked.intent != "serve":
        concurrency = asked.slots.users
    else:
        concurrency = asked.usual("concurrency", USUAL["concurrency"], "--concurrency")
    return Load(
        asked.usual("input_tokens", USUAL["input_tokens"], "--input-tokens"),
        asked.usual("output_tokens", USUAL["output_tokens"], "--output-tokens"),
        concurrency,
    )


def splits(card: str, count: int | None) -> tuple[int, ...]:
    """How many cards may be tried: as said, else those of one machine."""
    if count:
        return (count,)
    node = facts.node_for(card)
    most = node.accelerators_count if node else 4
    return tuple(one for one in SPLITS if one <= most) or (1,)


def held(asked: Asked, model: str, card: str, count: int | None, load: Load) -> int | None:
    """The fewest cards whose memory holds the load, ``None`` when none of one machine do."""
    for tp in splits(card, count):
        try:
            found = app.fit(
                model, gpu=card, tp=tp, weights=asked.beside.weights or None, as_of=asked.as_of or None,
                concurrency=max(1, round(load.concurrency)), min_context=load.context_tokens,
            )  # fmt: skip
        except InvalidInput:  # heads that don't divide, an accelerator that came later
            continue
        if found["runs"] and found["verdict"] == "fits":
            return tp
    return None


def priced(asked: Asked, model: str, card: str, count: int | None, load: Load, **more: Any) -> Priced | None:
    """What the model costs on a card under a load, on demand; ``None`` where it doesn't fit or nobody rents it."""
    tp = held(asked, model, card, count, load)
    if tp is None:
        return None
    flags: dict[str, Any] = {
        "gpu": card,
        "tp": tp if tp > 1 else None,
        "weights": asked.beside.weights or None,
    }
    flags |= load.flags if "demand" not in more else {**load.flags, "concurrency": None}
    flags |= {"capacity": ("on-demand",), **more}
    flags["currency"] = asked.currency if asked.currency != "USD" else ""
    try:
        said = {name: value for name, value in flags.items() if value not in (None, "")}
        found = plain(app.cost(model, as_of=asked.as_of, **_called(said)))
    except InvalidInput as error:
        if all(one.code.startswith(("CB-U", "CB-F", "CB-K", "CB-C")) for one in error.problems):
            return None
        raise
    rows = [row for row in found["rows"] if row["metrics"]]
    return Priced(card, tp, found, rows[0], flags) if rows else None


def _called(flags: dict[str, Any]) -> dict[str, Any]:
    """As the function takes them: objectives go together."""
    objectives = {name: flags.pop(said) for said, name in OBJECTIVES.items() if said in flags}
    return flags | ({"objectives_ms": objectives} if objectives else {})


OBJECTIVES = {"ttft_p95_ms": "ttft_ms_p95", "tpot_p95_ms": "tpot_ms_p95"}


def cost_command(asked: Asked, model: str, one: Priced) -> None:
    """The command that gives the same figures."""
    asked.command(f"cost {model}", one.flags)
    asked.source(price_source(asked, one.card, one.row))


def price_source(asked: Asked, card: str, row: dict[str, Any]) -> str:
    """Who asks the price, when it was seen, and where that is written."""
    rows = app.prices(card, capacity=row["capacity"], provider=row["provider"], as_of=asked.as_of or None)
    what = next((one["source"] for one in rows if one["seen"] == row["seen"]), "")
    return f"{row['provider']}, {row['seen']}{': ' if what else ''}{what}"


def seller(row: dict[str, Any]) -> str:
    """``RunPod, 2026-08-22``."""
    return f"{row['provider']}, {row['seen']}"
