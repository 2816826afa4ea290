"""All pitfalls in one list: code, name, where it is looked for, how serious, and the cure."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from string import Formatter

from cabida.text import catalogue, tr

BRIEF, DECISION, QUOTE = "brief", "decision", "quote"
BOTH = (BRIEF, DECISION)
PLACES: dict[str, tuple[str, ...]] = {
    **{f"CB-K{index:03d}": (DECISION,) for index in (*range(1, 16), 17, 19, 31)},
    "CB-K016": (BRIEF, DECISION, QUOTE),
    "CB-K018": (DECISION, QUOTE),
    **{f"CB-K{index}": BOTH for index in (*range(300, 315), 316, 317, 319)},
    "CB-K315": (BRIEF, DECISION, QUOTE),
    "CB-K318": (BRIEF, DECISION, QUOTE),
    "CB-K330": (BRIEF, DECISION, QUOTE),
    "CB-K331": (BRIEF, DECISION, QUOTE),
    **{f"CB-K{index}": (DECISION,) for index in (*range(332, 346), 350)},
    **{f"CB-K{index}": (QUOTE,) for index in range(360, 372)},
}


@dataclass(frozen=True, slots=True)
class Pitfall:
    """One of them. ``sentence`` is what is said when it is found, ``…`` where its numbers go."""

    code: str
    name: str
    looked_for_in: tuple[str, ...]
    sentence: str
    cure: str


def pitfall_list() -> tuple[Pitfall, ...]:
    """Every pitfall, by code, in the language in use."""
    return tuple(
        Pitfall(
            code,
            tr(f"checks.name.{code}"),
            places,
            _blank(tr(f"checks.{code}")),
            _blank(tr(f"checks.{code}.cure")),
        )
        for code, places in sorted(PLACES.items())
        if code in catalogue("en", "checks")
    )


START, END = "<!-- catalogue -->", "<!-- /catalogue -->"


def page(text: str) -> str:
    """A page with the catalogue in it, between its two marks, as it is today.

    Raises:
        ValueError: it lacks a mark.
    """
    before, rest = text[: text.index(START)], text[text.index(END) :]
    rows = ["| code | mistake | looked for in | what to do |", "| --- | --- | --- | --- |"]
    rows += [
        f"| {one.code} | {_cell(one.name)} | {', '.join(one.looked_for_in)} | {_cell(one.cure)} |"
        for one in pitfall_list()
    ]
    return f"{before}{START}\n\n" + "\n".join(rows) + f"\n\n{rest}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _blank(text: str) -> str:
    """``text`` with its fields left open; words that follow a count are those of many."""
    return "".join(
        literal + ("" if name is None else _open(spec or ""))
        for literal, name, spec, _ in Formatter().parse(text)
    )


def _open(spec: str) -> str:
    return spec.partition("|")[2] or "…"


if __name__ == "__main__":
    from cabida.files import write_text

    written = Path(sys.argv[1])
    write_text(written, page(written.read_text(encoding="utf-8")))
