"""``fit`` over the catalogue: on which cards and how many of them, or which models at which format."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cabida import facts, memory
from cabida.checks.plan import WRITERS, refused_split
from cabida.facts.model import Accelerator, Model
from cabida.plan import Setup
from cabida.plan.setup import deployment
from cabida.report.fit_changes import ladder
from cabida.report.fit_serving import serving_row
from cabida.report.fit_trial import ORDER, Trial, at_usual_context

COUNTS = (1, 2, 4, 8)  # accelerators tried for one replica when none are asked for


def over_cards(setup: Setup, model: Model, cards: list[Accelerator], sequences: int) -> list[dict[str, Any]]:
    """One row for each accelerator, with the fewest that hold the model; fewest and smallest first."""
    rows = [_on_card(setup, model, card, sequences) for card in cards]
    return sorted(
        rows, key=lambda row: (not row["runs"], ORDER[row["verdict"]], row["gpus"], row["usable_gib"])
    )


def over_models(setup: Setup, cards: list[Accelerator], sequences: int) -> list[dict[str, Any]]:
    """One row for each model on each card, at the widest format that fits; largest model first."""
    models = [one for one in facts.models().values() if one.task in WRITERS]
    rows = [_best_format(setup, one, card, sequences) for one in models for card in cards]
    return sorted(
        rows, key=lambda row: (not row["runs"], ORDER[row["verdict"]], -row["params"], row["model"])
    )


def _on_card(setup: Setup, model: Model, card: Accelerator, sequences: int) -> dict[str, Any]:
    lawful, last = None, None
    for one in card_counts(setup, card):
        d = deployment(one, model, card)
        last = last or at_usual_context(d, sequences)
        if refused_split(d):
            continue
        lawful = at_usual_context(d, sequences)
        if lawful[0].verdict == "fits":
            break
    trial, came_from, _ = lawful or last or _nothing()
    return serving_row(trial, came_from)


def _nothing() -> tuple[Trial, str, Trial]:
    message = "no number of accelerators to try"
    raise AssertionError(message)


def card_counts(setup: Setup, card: Accelerator) -> list[Setup]:
    """The numbers of accelerators to try: as asked, else up to a whole machine."""
    asked = (setup.gpus, setup.nodes, setup.tp, setup.pp, setup.dp, setup.cp)
    if any(one is not None for one in asked):
        return [setup]
    node = facts.node_for(card)
    room = node.accelerators_count if node else max(4, card.link_domain_count)
    return [replace(setup, gpus=count) for count in COUNTS if count <= room] or [replace(setup, gpus=1)]


def _best_format(setup: Setup, model: Model, card: Accelerator, sequences: int) -> dict[str, Any]:
    """The widest format that fits; else the one that nearly does, else the narrowest tried."""
    formats = [setup.weights] if setup.weights else [one.id for one in ladder(model, card, setup)]
    found = []
    for name in formats:
        d = deployment(replace(setup, weights=name), model, card)
        trial, came_from, _ = at_usual_context(d, sequences)
        row_runs = not refused_split(d)
        found.append((row_runs, trial, came_from))
        if row_runs and trial.verdict == "fits":
            break
    _, trial, came_from = min(reversed(found), key=lambda one: (not one[0], ORDER[one[1].verdict]))
    return serving_row(trial, came_from) | {"params": memory.params(model).total_count}
