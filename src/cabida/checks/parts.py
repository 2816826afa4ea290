"""A PC in words ("2x RTX 4090, 1600 W ATX 3.0, 8 slots, 360 mm, PCIe 5"): will it hold and feed its cards."""

from __future__ import annotations

import re
from math import inf

from cabida.checks.claims import named_cards
from cabida.checks.physical import PLUG, REST_W, Machine, housing_problems, supply_w
from cabida.checks.sentences import caution
from cabida.errors import InvalidInput
from cabida.facts.model import Accelerator
from cabida.plan import Caution
from cabida.text import number, problem

MOST_CARDS = 64  # of one machine told in words
MOST_CHARS, MOST_FIGURE = 4_000, 1e6  # of the words, and of watts, millimetres or slots in them
_PROCESSOR = re.compile(r"\bcpu\b|processor|procesador|ryzen|core|xeon|epyc", re.IGNORECASE)


def read_parts(text: str) -> tuple[list[Accelerator], Machine]:
    """The cards and the machine that a parts list tells, part by part (separated by commas, ``;`` or lines).

    Raises:
        InvalidInput: CB-K080, no card in it is known; CB-K086, it says a figure that is none; CB-K087, it is too long.
    """
    if len(text) > MOST_CHARS:
        raise InvalidInput(problem("CB-K087", count=f"{len(text):,}", most=f"{MOST_CHARS:,}"))
    parts = [part.strip() for part in re.split(r"[,;+\n]", text) if part.strip()]
    cards: list[Accelerator] = []
    rest: list[str] = []
    for part in parts:
        found = named_cards(part)
        if found:
            cards += [found[0]] * _count(part)
        else:
            rest.append(part)
    if not cards:
        raise InvalidInput(problem("CB-K080", text=text.strip()[:60]))
    return cards, _machine(rest)


def check_parts(text: str) -> tuple[Caution, ...]:
    """What keeps the cards from working in the PC (blocking), what slows them (warning), what it needs (info)."""
    cards, machine = read_parts(text)
    needed = supply_w([card.tdp_w or 0.0 for card in cards], machine.processor_w, atx3=machine.atx3)
    heat = sum(card.tdp_w or 0.0 for card in cards) + machine.processor_w + REST_W
    summary = caution("CB-K081", "info", cards=_listed(cards), supply=number(needed), heat=number(heat))
    return (*housing_problems(cards, machine), summary)


def _listed(cards: list[Accelerator]) -> str:
    counts: dict[str, int] = {}
    for card in cards:
        counts[card.name] = counts.get(card.name, 0) + 1
    return ", ".join(f"{count}x {name}" for name, count in counts.items())


def _count(part: str) -> int:
    """How many of a card: ``2x RTX 4090``, ``RTX 4090 x2``.

    Raises:
        InvalidInput: CB-K089, a count that no machine holds.
    """
    found = re.search(
        r"(?:^|(?<=[\s:]))([-−]?\d+)\s*[x×](?=\s|\d{4})|[x×]\s*(\d{1,2})\b", part, re.IGNORECASE
    )
    if found is None:
        return 1
    said = (found.group(1) or found.group(2)).replace("−", "-")
    if len(said) > 4 or not 1 <= int(said) <= MOST_CARDS:
        raise InvalidInput(problem("CB-K089", count=said[:20], most=MOST_CARDS))
    return int(said)


def _machine(parts: list[str]) -> Machine:
    text = "\n".join(parts)
    processor = next((part for part in parts if _PROCESSOR.search(part)), "")
    supply = next((part for part in parts if part != processor and re.search(r"\d\s*W\b", part)), "")
    plugs = re.findall(rf"(?:(\d)\s*[x×]\s*)?({PLUG})", text, re.IGNORECASE)
    return Machine(
        supply_w=_figure(supply, r"(\d[\d.,]*)\s*W\b"),
        atx3="atx 2" not in text.lower(),
        processor_w=_figure(processor, r"(\d[\d.,]*)\s*W\b") or Machine().processor_w,
        slots_count=_whole(_figure(text, r"(\d+)\s*(?:slots?|ranuras?)")),
        length_mm=_figure(text, r"(\d[\d.,]*)\s*mm\b"),
        plugs=tuple(name for count, name in plugs for _ in range(int(count or 1))),
        pcie_gen=_whole(_figure(text, r"PCIe?\s*(?:gen\s*)?(\d)")),
        server_airflow=bool(re.search(r"server|rack|servidor", text, re.IGNORECASE)),
        spikes_tested=bool(re.search(r"atx\s*3", text, re.IGNORECASE)) and _sixteen(plugs),
    )


def _sixteen(plugs: list[tuple[str, str]]) -> bool:
    return any(name.lower() in ("12vhpwr", "12v-2x6", "16-pin") for _, name in plugs)


def _figure(text: str, pattern: str) -> float | None:
    found = re.search(pattern, text, re.IGNORECASE)
    if found is None:
        return None
    try:
        value = float(re.sub(r"[.,](?=\d{3}\b)", "", found.group(1)).replace(",", "."))
    except ValueError:  # 1.5.2
        value = inf
    if value > MOST_FIGURE:
        raise InvalidInput(problem("CB-K086", text=found.group(0)[:40]))
    return value


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
