"""Results of measuring tools, one file a tool; keys, units and definitions are those of each tool's own writer.

A tool has a ``NAME``, words of which a file of its has one (``SIGNS``), ``known``, whether a file is its, and
``read``. Logs of MLPerf are read line by line instead, as engines' logs are (:mod:`.mllog`, :mod:`.loadgen`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cabida.errors import InvalidInput
from cabida.evidence.importers.benches import (
    aiperf,
    guidellm,
    inference_perf,
    inferencex,
    llama_bench,
    llmperf,
    locust,
    sglang_bench,
    vllm_bench,
)
from cabida.evidence.importers.benches.opening import Opened, whole
from cabida.evidence.importers.benches.result import Result, run_of
from cabida.evidence.importers.run import Run
from cabida.evidence.notes import spoken
from cabida.text import problem


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool's results."""

    name: str
    signs: tuple[str, ...]
    known: Callable[[Opened], bool]
    read: Callable[[Opened], list[Result]]


TOOLS = tuple(
    Tool(module.NAME, module.SIGNS, module.known, module.read)
    for module in (
        vllm_bench,
        sglang_bench,
        guidellm,
        aiperf,
        inference_perf,
        llmperf,
        locust,
        llama_bench,
        inferencex,
    )
)
SIGNS = tuple(sign for tool in TOOLS for sign in tool.signs)


def tools_of(found: Opened) -> list[Tool]:
    """Every tool that takes a file for its own: one, or none."""
    return [tool for tool in TOOLS if tool.known(found)]


@dataclass(frozen=True, slots=True)
class Results:
    """What a tool's file gave."""

    name: str
    runs: list[Run]
    lines_count: int


def results(path: Path) -> Results | None:
    """The results of a file, or ``None`` when no tool wrote it.

    Raises:
        InvalidInput: CB-E001, CB-E002, CB-E005 it can't be read; CB-E200 it is too large; CB-E201 it is broken;
            CB-E202 nothing in it can be taken.
    """
    found = whole(path, lambda opened: bool(tools_of(opened)), SIGNS)
    if found is None:
        return None
    tool = tools_of(found)[0]
    made = tool.read(found)
    runs = [run_of(one) for one in made]
    if not any(_says(run) for run in runs):
        told = "; ".join(dict.fromkeys(spoken(note) for one in made for note in one.notes)) or "-"
        raise InvalidInput([problem("CB-E202", file=str(path), format=tool.name, why=told[:2000])])
    runs = [run for run in runs if _says(run)]
    for line in found.broken:
        runs[0].keep(line)
    return Results(tool.name, runs, found.lines_count)


def _says(run: Run) -> bool:
    """Whether anything was measured: the share of requests that failed is."""
    return bool(run.measured)
