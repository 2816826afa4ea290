"""``fit`` over the catalogue: on which cards and how many of them, or which models at which format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from cabida import facts, memory
from cabida.checks.plan import WRITERS, refused_split
from cabida.errors import InvalidInput, Problem
from cabida.facts.model import Accelerator, Model
from cabida.plan import Setup
from cabida.plan.setup import deployment
from cabida.report.fit_changes import ladder
from cabida.report.fit_serving import serving_row
from cabida.report.fit_trial import ORDER, Trial, at_usual_context

COUNTS = (1, 2, 4, 8)  # accelerators tried for one replica when none are asked for


def over_cards(setup: Setup, model: Model, cards: list[Accelerator], sequences: int) -> list[dict[str, Any]]:
    """One row for each accelerator, with the fewest that hold the model; fewest and smallest first.

    Raises:
        InvalidInput: CB-K090, CB-K098: the split asked for goes on none of them.
    """
    rows = _lawful(_on_card(setup, model, card, sequences) for card in cards)
    return sorted(
        rows, key=lambda row: (not row["runs"], ORDER[row["verdict"]], row["gpus"], row["usable_gib"])
    )


def over_models(setup: Setup, cards: list[Accelerator], sequences: int) -> list[dict[str, Any]]:
    """One row for each model on each card, at the widest format that fits; largest model first.

    Models that the split asked for does not divide are left out.

    Raises:
        InvalidInput: CB-K090, CB-K098: it divides none.
    """
    models = [one for one in facts.models().values() if one.task in WRITERS]
    rows = _lawful(_best_format(setup, one, card, sequences) for one in models for card in cards)
    return sorted(
        rows, key=lambda row: (not row["runs"], ORDER[row["verdict"]], -row["params"], row["model"])
    )


def _lawful(found: Iterable[dict[str, Any] | list[Problem]]) -> list[dict[str, Any]]:
    """The rows; where every one was refused, the first refusal is raised."""
    rows: list[dict[str, Any]] = []
    refused: list[Problem] = []
    for one in found:
        if isinstance(one, list):
            refused = refused or one
        else:
            rows.append(one)
    if refused and not rows:
        raise InvalidInput(refused)
    return rows


def _on_card(setup: Setup, model: Model, card: Accelerator, sequences: int) -> dict[str, Any] | list[Problem]:
    """A row for the fewest that hold it; why none may be tried."""
    lawful: tuple[Trial, str, Trial] | None = None
    refused: list[Problem] = []
    for one in card_counts(setup, card):
        d = deployment(one, model, card)
        if wrong := refused_split(d):
            refused = refused or wrong
            continue
        lawful = at_usual_context(d, sequences)
        if lawful[0].verdict == "fits":
            break
    return serving_row(*lawful[:2]) if lawful else refused


def card_counts(setup: Setup, card: Accelerator) -> list[Setup]:
    """The numbers of accelerators to try: as asked, else up to a whole machine."""
    asked = (setup.gpus, setup.nodes, setup.tp, setup.pp, setup.dp, setup.cp)
    if any(one is not None for one in asked):
        return [setup]
    node = facts.node_for(card)
    room = node.accelerators_count if node else max(4, card.link_domain_count)
    return [replace(setup, gpus=count) for count in COUNTS if count <= room] or [replace(setup, gpus=1)]


def _best_format(
    setup: Setup, model: Model, card: Accelerator, sequences: int
) -> dict[str, Any] | list[Problem]:
    """The widest format that fits; else the one that nearly does, else the narrowest tried; why none may be tried."""
    formats = [setup.weights] if setup.weights else [one.id for one in ladder(model, card, setup)]
    found: list[tuple[Trial, str]] = []
    refused: list[Problem] = []
    for name in formats:
        d = deployment(replace(setup, weights=name), model, card)
        if wrong := refused_split(d):
            refused = refused or wrong
            continue
        trial, came_from, _ = at_usual_context(d, sequences)
        found.append((trial, came_from))
        if trial.verdict == "fits":
            break
    if not found:
        return refused
    trial, came_from = min(reversed(found), key=lambda one: ORDER[one[0].verdict])
    return serving_row(trial, came_from) | {"params": memory.params(model).total_count}
