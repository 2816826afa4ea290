"""What may be changed in a decision without searching again, and what is locked with its reason."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cabida.choose.lever_names import (
    FREE,
    LOCKED,
    MONEY,
    NEAR,
    OF_AN_OPTION,
    PRICE,
    PUE,
    SHARE,
    SPOT,
    STAFF,
    YEARS,
)
from cabida.choose.recompute import tidy
from cabida.plan import Decision
from cabida.text import has_text, tr

PRICE_FACTOR = 10.0  # a price is tried from a tenth of itself to ten times itself
NEAR_FACTOR = 3.0
WIDE_FACTOR = 20.0
MOST_STAFF_COUNT = 20.0
LONGEST_YEARS = 15.0
LARGEST_PUE_RATIO = 3.0
LEAST_SHARE_RATIO, MOST_SHARE_RATIO = 0.01, 0.99
MOST_OUTPUT_FACTOR = 10.0  # what is paid for an output beside the machines, over what one costs today
WHOLE = frozenset(
    {"acceptance_ratio", "model_acceptance_ratio", "busy_power_ratio", "api_failed_charged_ratio"}
)
NEVER_ZERO = frozenset({"acceptance_ratio", "model_acceptance_ratio", "wacc_ratio", "spot_price_ratio"})


@dataclass(frozen=True, slots=True)
class Lever:
    """An input of a decision's bills.

    Attributes:
        name: what ``--set`` takes: the input's name; ``RANK.name`` where options have it with different values.
        title: in words, in the language in use.
        unit: as the decision's nodes say it (``money/h``: in the decision's currency).
        low: least value that may be tried, ``high`` the most; the value itself where it is locked.
        nodes: ids of the leaves that it sets.
        option: id of the only option it is of; "" = of several.
        locked: whether the search or a simulation read it; ``why`` says so in one sentence.
    """

    name: str
    title: str
    unit: str
    value: float
    low: float
    high: float
    nodes: tuple[int, ...]
    option: str
    locked: bool
    why: str


def levers(decision: Decision) -> tuple[Lever, ...]:
    """Every input of the decision's bills and footprints once: the free ones first, then the locked ones.

    Inputs with the same name, value and source are one lever; a price is one for each option. Inputs of memory and
    speed alone are not among them: nothing of a bill reads them but through the search.
    """
    decision = replace(decision, trees=tidy(decision.trees))
    by_id = {node["id"]: node for node in decision.trees}
    users = _users(decision, by_id)
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for node in decision.trees:
        if node["inputs"] or isinstance(node["value"], list) or node["id"] not in users:
            continue
        found.setdefault(_same(node, users[node["id"]]), []).append(node)
    named = _named(found.values(), users, [option.rank for option in decision.options])
    made = [_lever(decision, name, nodes, users) for name, nodes in named]
    return tuple(sorted(made, key=lambda one: one.locked))


def reason_locked(node: Mapping[str, Any], decision: Decision) -> str:
    """Why an input may not be moved, as the last part of text ``choose.lever.why``; "" where it may be.

    ``unknown`` is an input nobody has classed.
    """
    name = str(node["name"])
    if node["grade"] == "simulated":
        return "simulated"
    if not node["source"]["what"]:
        return "absent"
    for reason, names in LOCKED.items():
        if name in names:
            return reason
    if name not in FREE:
        return "unknown"
    if name in SPOT and any("cost_per_run" in option.trees for option in decision.options):
        return "time"
    if name == "acceptance_ratio" and _tries(decision):
        return "tries"
    return "charged_nothing" if FREE[name] == PRICE and node["value"] <= 0 else ""


def bounds(node: Mapping[str, Any], decision: Decision) -> tuple[float, float]:
    """Least and most that may be tried for a free input."""
    name, value = str(node["name"]), float(node["value"])
    kind = FREE[name]
    if kind == MONEY:
        low, high = 0.0, value * PRICE_FACTOR or _room(name, decision)
    elif kind == STAFF:
        low, high = 0.0, MOST_STAFF_COUNT
    elif kind == SHARE:
        low = LEAST_SHARE_RATIO if name in NEVER_ZERO else 0.0
        high = 1.0 if name in WHOLE else MOST_SHARE_RATIO
    elif kind == PUE:
        low, high = 1.0, LARGEST_PUE_RATIO
    elif kind == YEARS:
        low, high = 1.0, LONGEST_YEARS
    else:
        factor = {PRICE: PRICE_FACTOR, NEAR: NEAR_FACTOR}.get(kind, WIDE_FACTOR)
        low, high = value / factor, value * factor
    known = [
        float(node[end]) for end in ("low", "high") if node[end] is not None and math.isfinite(node[end])
    ]
    return min(low, value, *known), max(high, value, *known)


def bills_of(roots: Mapping[str, int]) -> dict[str, int]:
    """Among an option's figures those that hang on its bill or footprint, which a lever may move."""
    return {name: at for name, at in roots.items() if _is_bill(name)}


def _is_bill(name: str) -> bool:
    return (
        name.startswith(("cost.", "cost_per_", "energy_", "carbon_"))
        or name.endswith("_money")
        or name == "unit_cost"
    )


def _users(decision: Decision, by_id: Mapping[int, Mapping[str, Any]]) -> dict[int, tuple[int, ...]]:
    """For each node under a bill the places of the options whose bill it is in."""
    users: dict[int, list[int]] = {}
    for place, option in enumerate(decision.options):
        waiting, seen = list(bills_of(option.trees).values()), set()
        while waiting:
            at = waiting.pop()
            if at in seen or at not in by_id:
                continue
            seen.add(at)
            users.setdefault(at, []).append(place)
            waiting += [part["id"] for part in by_id[at]["inputs"]]
    return {at: tuple(places) for at, places in users.items()}


def _same(node: Mapping[str, Any], places: Sequence[int]) -> tuple[Any, ...]:
    source = node["source"]
    said = f"{source['what']} {source['seen']}".strip()
    key = (node["name"], node["value"], node["unit"], node["grade"], said)
    if node["name"] in OF_AN_OPTION:
        return (*key, node["low"], node["high"], places)
    return (*key, node["low"], node["high"], None)


def _named(
    groups: Iterable[list[dict[str, Any]]], users: Mapping[int, Sequence[int]], ranks: Sequence[int]
) -> list[tuple[str, list[dict[str, Any]]]]:
    """A name for each group: its own, with the rank of its first option where there are several, numbered then."""
    by_name: dict[str, list[list[dict[str, Any]]]] = {}
    for nodes in groups:
        by_name.setdefault(str(nodes[0]["name"]), []).append(nodes)
    named = []
    for name, several in by_name.items():
        counts: dict[str, int] = {}
        for nodes in several:
            rank = ranks[min(users[node["id"]][0] for node in nodes)]
            own = f"{rank}.{name}" if len(several) > 1 or name in OF_AN_OPTION else name
            counts[own] = counts.get(own, 0) + 1
            named.append((own if counts[own] == 1 else f"{own}.{counts[own]}", nodes))
    return named


def _lever(
    decision: Decision, name: str, nodes: Sequence[dict[str, Any]], users: Mapping[int, Sequence[int]]
) -> Lever:
    node = nodes[0]
    reason = reason_locked(node, decision)
    value = float(node["value"])
    low, high = (value, value) if reason else bounds(node, decision)
    places = sorted({place for one in nodes for place in users[one["id"]]})
    return Lever(
        name=name,
        title=title_of_input(str(node["name"])),
        unit=str(node["unit"]),
        value=value,
        low=low,
        high=high,
        nodes=tuple(one["id"] for one in nodes),
        option=decision.options[places[0]].id if len(places) == 1 else "",
        locked=bool(reason),
        why=tr(f"choose.lever.why.{reason}") if reason else "",
    )


def title_of_input(name: str) -> str:
    """An input in words; its own name where there are none."""
    for key in (f"choose.lever.{name}", f"money.assumption.{name}"):
        if has_text(key):
            return tr(key)
    return name


def _tries(decision: Decision) -> bool:
    """Whether what is rejected is tried again, so that acceptance changes how much has to be carried."""
    return any(node["name"] == "tries_count" and float(node["value"]) != 1.0 for node in decision.trees)


def _room(name: str, decision: Decision) -> float:
    """The most for an amount that is nothing today: as much again as the first option's bill, or ten of its outputs."""
    if not decision.options:
        return 1.0
    first = decision.options[0]
    each = name.endswith(("_per_output", "_per_request"))
    most = first.unit_cost.value * MOST_OUTPUT_FACTOR if each else first.cost_per_month_money
    return most if math.isfinite(most) and most > 0 else 1.0
