"""What to know of this machine before starting anything: software that does not go together, cards to mind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from cabida.checks.software import runnable
from cabida.checks.stack import SoftwareStack, judge_stack
from cabida.evidence.machine import Card, Machine
from cabida.facts.mig import FORM
from cabida.plan import Deployment
from cabida.report.here_pools import BUILDS, ENGINES, Pool
from cabida.text import number, size, tr

SYSTEMS = {"Linux": "linux", "Darwin": "mac", "Windows": "windows"}
_CUDA = re.compile(r"\+cu(\d\d)(\d+)")
_ROCM = re.compile(r"\+rocm([\d.]+)")
SHORT_LIST = 3
WORTH_TELLING_BYTES = 2**28  # below this a driver's own


def hints(machine: Machine, held: list[Pool], chosen: list[Deployment]) -> list[dict[str, str]]:
    """What the software matrix says against what is installed here, blocking first."""
    found = [
        {"code": one.code, "severity": one.severity, "sentence": one.sentence}
        for one in judge_stack(_stack(machine, held))
        if one.severity != "info"
    ]
    for d in chosen:
        verdict = runnable(d)
        if verdict.state != "runs" and verdict.rule != "engine_not_there":  # fit says that one itself
            severity = "blocking" if verdict.state == "no" else "warning"
            found.append({"code": "CB-K073", "severity": severity, "sentence": verdict.sentence})
    once = {one["sentence"]: one for one in found}
    return sorted(once.values(), key=lambda one: one["severity"] != "blocking")


def _stack(machine: Machine, held: list[Pool]) -> SoftwareStack:
    torch = machine.frameworks.get("torch", "")
    versions = {"pytorch": torch.partition("+")[0]} if torch else {}
    if built := _CUDA.search(torch):
        versions["cuda"] = f"{built[1]}.{built[2]}"
    if machine.driver:
        versions["driver"] = machine.driver
    if rocm := (_ROCM.search(torch) or re.match(r"([\d.]+)", machine.rocm)):
        versions["rocm"] = rocm[1]
    engines = {
        engine: machine.frameworks[name] if name in BUILDS else ""
        for name, engine in ENGINES.items()
        if name in machine.frameworks
    }
    cards = tuple(pool.accelerator for pool in held if pool.known)
    return SoftwareStack(versions, engines, cards, None, SYSTEMS.get(machine.system, ""))


def notes(machine: Machine, held: list[Pool]) -> list[str]:
    """Sentences about the cards, what matters most first."""
    return [
        *_lost(machine),
        *_none(machine, held),
        *_cards(machine, held),
        *_each(machine),
        *_hidden(machine),
    ]


def _lost(machine: Machine) -> Iterator[str]:
    for card in machine.cards:
        if any(one.reason == "lost" for one in card.troubles):
            yield tr("evidence.machine.note.lost", card=card.index)


def _none(machine: Machine, held: list[Pool]) -> Iterator[str]:
    if any(pool.cards for pool in held):
        return
    silent = next(
        (one.detail for one in machine.troubles if one.reason == "no_driver" and one.probe == "nvidia"), ""
    )
    yield tr("evidence.machine.note.none")
    if silent:
        yield tr("evidence.machine.note.no_driver", ids=silent)
    if any(one.reason == "mismatch" for one in machine.troubles):
        yield tr("evidence.machine.note.mismatch")
    if held:
        yield tr("evidence.machine.note.processor", size=size(held[0].accelerator.usable_bytes))


def _cards(machine: Machine, held: list[Pool]) -> Iterator[str]:
    slices = sum(len(pool.cards) for pool in held if pool.accelerator.form_factor == FORM)
    if slices:
        yield tr("evidence.machine.note.slices", count=slices)
    whole = [pool for pool in held if pool.cards and pool.accelerator.form_factor != FORM]
    if len(whole) > 1:
        yield tr("evidence.machine.note.unequal")
    for pool in held:
        name = pool.accelerator.name
        if pool.cards and not pool.known:
            yield tr("evidence.machine.note.unknown", name=name)
        cut = pool.accelerator.form_factor == FORM
        if len(pool.cards) > 1 and not cut and not pool.linked and pool.accelerator.form_factor != "unified":
            key = "pairs" if pool.peers else "bus"
            yield tr(f"evidence.machine.note.{key}", name=name, cards=", ".join(map(str, sorted(pool.cards))))


def _each(machine: Machine) -> Iterator[str]:
    for card in machine.cards:
        if card.integrated:
            yield tr("evidence.machine.note.integrated", name=card.name)
            continue
        if card.mig and not card.slices:
            yield tr("evidence.machine.note.uncut", card=card.index)
        if card.users:
            yield tr("evidence.machine.note.users", card=card.index, users=_users(card))
        elif card.users is None and (card.used_bytes or 0.0) > WORTH_TELLING_BYTES:
            yield tr("evidence.machine.note.held", card=card.index, size=size(card.used_bytes or 0.0))
        if card.pcie_lanes and card.pcie_lanes_max and card.pcie_lanes < card.pcie_lanes_max:
            yield tr(
                "evidence.machine.note.lanes",
                card=card.index,
                lanes=card.pcie_lanes,
                most=card.pcie_lanes_max,
            )


def _hidden(machine: Machine) -> Iterator[str]:
    for name, value in machine.hides.items():
        if machine.cards:
            yield tr("evidence.machine.note.hidden", name=name, value=value or '""')


def _users(card: Card) -> str:
    users = card.users or ()
    told = [
        f"{one.name} ({one.pid}: {size(one.used_bytes) if one.used_bytes is not None else '?'})"
        for one in users[:SHORT_LIST]
    ]
    rest = len(users) - SHORT_LIST
    return ", ".join(told) + (f", +{number(rest, 4)}" if rest > 0 else "")


def has_engine(machine: Machine, engine: str) -> bool:
    """Whether a framework that is this engine was found."""
    return any(ENGINES.get(name) == engine for name in machine.frameworks)


def used_of(row: dict[str, Any]) -> str:
    """Who holds a card's memory, in short, from its row."""
    users = row["users"]
    if users is None:
        return tr("evidence.machine.not_readable")
    return ", ".join(one["name"] for one in users[:SHORT_LIST]) + ("…" if len(users) > SHORT_LIST else "")
