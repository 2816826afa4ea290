"""A stack or a PC as people tell it, in a file or in so many words."""

from __future__ import annotations

import re
from pathlib import Path

from cabida.checks.parts import check_parts
from cabida.checks.sentences import caution
from cabida.checks.stack import check_stack
from cabida.errors import InvalidInput
from cabida.files import opened
from cabida.plan import Caution
from cabida.text import problem

ENDINGS = (".yaml", ".yml", ".txt")
LONGEST_BYTES = 64 * 1024
HERE = "here"  # instead of a stack: the one that this machine has


def check_software(stack: Path | str, *, as_of: str = "") -> tuple[Caution, ...]:
    """What of a software stack does not go together, each with the nearest that does and where that is written.

    Args:
        stack: a file (``.yaml``, ``.yml``, ``.txt``) whose lines name an engine, PyTorch, CUDA, the driver, the cards
            ... with their versions, such as ``driver: 570.26``; or the same in one text, separated by commas. ``here``
            is this machine: its driver, cards, system and installed packages, none of them imported.
        as_of: ISO date; releases that came later don't exist. All that is known when left out.

    Raises:
        InvalidInput: the file can't be read (CB-K082), or nothing in it is known (CB-K060).
    """
    if str(stack).strip().lower() == HERE:
        from cabida.checks.detected import stack_here
        from cabida.checks.stack import judge_stack

        return judge_stack(stack_here(as_of)) or (caution("CB-K061", "info"),)
    return check_stack(_words(stack), as_of)


def check_pc(parts: Path | str, *, as_of: str = "") -> tuple[Caution, ...]:
    """What keeps cards from working in a PC, or machines in a rack; what slows them, and what they need.

    Args:
        parts: a parts file (YAML with ``cards``, ``supply``, ``case``, ``board``, ``cpu``, ``circuit``, ``ups``,
            ``room``, ``nodes``, ``rack``), whose findings name their line; or a file or a text of words, as in
            :func:`check_software`, such as ``gpu: 2x RTX 4090`` and ``supply: 1600 W``.
        as_of: ISO date of ages and prices; today when left out.

    Raises:
        InvalidInput: the file can't be read (CB-K082), no card in it is known (CB-K080), or it has faults, all at
            once and each with its line.
    """
    if _is_file(parts):
        from cabida.checks.parts_check import check_build
        from cabida.checks.parts_file import read_build

        build = read_build(parts) if Path(parts).is_file() else None
        if build is not None:
            return check_build(build, as_of)
    return check_parts(_words(parts))


def check_rack(rack: Path | str, *, as_of: str = "") -> tuple[Caution, ...]:
    """The same of a rack: a file with ``nodes`` and ``rack``.

    Raises:
        InvalidInput: as :func:`check_pc`; CB-K085, the file has no machines.
    """
    from cabida.checks.parts_check import check_build
    from cabida.checks.parts_file import read_build

    build = read_build(rack) if _is_file(rack) else None
    if build is None or not build.nodes:
        raise InvalidInput(problem("CB-K085", file=str(rack)))
    return check_build(build, as_of)


def _is_file(told: Path | str) -> bool:
    return str(told).strip().lower().endswith(ENDINGS)


def _words(told: Path | str) -> str:
    """The text of a file without its comments and quotes; a text as it is."""
    if not _is_file(told):
        return str(told)
    try:
        with opened(told) as stream:
            text = stream.read(LONGEST_BYTES).decode("utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "UTF-8"
        raise InvalidInput(problem("CB-K082", file=str(told), why=why)) from None
    return re.sub(r"[\"']", "", re.sub(r"(?m)(?:^|\s)#.*$", "", text))
