"""The catalogue as rows: facts of one kind, one fact with its sources, models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

from cabida import facts
from cabida.errors import InvalidInput, Problem
from cabida.facts import mig, overlay
from cabida.report.software_matrix import part_fact
from cabida.text import closest, problem, tr


def facts_list(kind: str, as_of: str | None = None) -> list[dict[str, Any]]:
    """Facts of one kind, a few fields of each; of classes what each is for and what not."""
    if kind == "classes":
        return [_class(row) for row in facts.classes()]
    shown = {
        "accelerators": ("id", "name", "architecture", "usable_bytes", "memory_kind", "year", "confidence"),
        "nodes": ("id", "provider", "accelerator", "accelerators_count", "fabric", "network_kind"),
        "engines": ("id", "name", "kind", "capability_min"),
        "formats": ("id", "family", "body_bits", "compute"),
        "models": ("id", "architecture", "params_count", "native_format"),
        "pipelines": ("id", "name", "task", "width_count", "height_count", "frames_count", "steps_count"),
        "components": ("id", "kind", "architecture", "params_count", "layers_count", "hidden_dim_count"),
        "mig": ("id", "name", "usable_bytes", "instances_count"),
        "collectives": (
            "op",
            "link",
            "accelerators_count",
            "nodes_count",
            "payload_bytes",
            "bus_bytes_per_s",
        ),
        "energy": ("kind", "place", "value", "unit", "date"),
    }[kind]
    made: dict[str, Any] = {"accelerators": partial(facts.accelerators, as_of), "mig": mig.every}
    found: Any = made[kind]() if kind in made else getattr(facts, kind)()
    records = found.values() if hasattr(found, "values") else found
    return [{name: getattr(one, name) for name in shown} | {"seen": one.source.seen} for one in records]


def _class(row: dict[str, Any]) -> dict[str, Any]:
    said = f"facts.class.{row['id']}"
    return {
        "id": row["id"],
        "members": ", ".join(row["members"]),
        "for": tr(f"{said}.for"),
        "not_for": tr(f"{said}.not_for"),
    }


def fact(ref: str) -> tuple[dict[str, Any], dict[str, str]]:
    """One fact's fields, and the source of each ("" = all): an accelerator, machine, engine, part of a stack, model ...

    Raises:
        InvalidInput: nothing is called that (CB-U016 names the nearest).
    """
    kinds: dict[str, Any] = {
        kind: getattr(facts, kind)()
        for kind in ("accelerators", "nodes", "engines", "formats", "models", "pipelines", "components")
    }
    one: Any = next((table[ref] for table in kinds.values() if ref in table), None)
    one = one or facts.find_accelerator(ref) or facts.find_pipeline(ref) or mig.every().get(ref)
    if one is None and (part := part_fact(ref)) is not None:
        return part
    if one is None:
        near = f"cabida facts list {ref}" if ref in (*kinds, "mig", "collectives", "energy") else None
        near = near or closest(ref, [name for table in kinds.values() for name in table]) or "–"
        raise InvalidInput([problem("CB-U016", ref=ref, near=near)])
    fields = {name: value for name, value in asdict(one).items() if name not in ("source", "field_sources")}
    sources = {"": said(one.source)} | {name: said(source) for name, source in one.field_sources.items()}
    return fields, sources


def facts_check() -> list[Problem]:
    """Everything that is wrong with the facts in use, and one's own prices that lie far from what others ask."""
    found = facts.check()
    try:
        return [*found, *_slips()]
    except InvalidInput:  # one's own files can't be read: that is among what was found
        return found


def _slips() -> Iterator[Problem]:
    own = {one.id: one.accelerator for one in overlay.own("offers")}
    if not own:
        return
    from cabida import money
    from cabida.money.prices.believed import judged

    terms = money.terms()
    known = facts.currencies()
    offers = [
        one for one in facts.offers() if one.accelerator in own.values() and one.currency.upper() in known
    ]
    found = judged(offers, terms)
    for one in (*found.aside, *found.doubted):
        if one.offer.id in own and one.middle_money:
            middle = f"{one.middle_money / terms.rate(one.offer.currency).ratio:.4g}"
            offer = one.offer
            yield problem(
                "CB-F036", record=offer.id, amount=offer.amount, currency=offer.currency, middle=middle
            )


def said(source: Any) -> str:
    """A source in one line."""
    return " · ".join(part for part in (source.what, source.url, source.seen, source.grade) if part)


def models(match: str = "") -> list[dict[str, Any]]:
    """Known models whose id or alias contains ``match``."""
    wanted = match.lower()
    names = (
        "id",
        "architecture",
        "task",
        "params_count",
        "active_params_count",
        "context_tokens",
        "native_format",
    )
    return [
        {name: getattr(one, name) for name in (*names, "licence")} | _counted(one)
        for one in facts.models().values()
        if any(wanted in name.lower() for name in (one.id, *one.aliases))
    ]


def _counted(model: Any) -> dict[str, float]:
    """Parameters worked out from the architecture, where nobody states them."""
    from cabida import memory

    if model.task not in ("llm", "vlm") or (model.params_count and model.active_params_count):
        return {}
    counts = memory.params(model)
    return {
        "params_count": model.params_count or float(counts.total_count),
        "active_params_count": model.active_params_count or float(counts.active_count),
    }
