"""A stack or a PC as people tell it, in a file or in so many words."""

from __future__ import annotations

import re
from pathlib import Path

from cabida.checks.parts import check_parts
from cabida.checks.stack import check_stack
from cabida.errors import InvalidInput
from cabida.files import opened
from cabida.plan import Caution
from cabida.text import problem

ENDINGS = (".yaml", ".yml", ".txt")
LONGEST_BYTES = 64 * 1024


def check_software(stack: Path | str) -> tuple[Caution, ...]:
    """What of a software stack does not go together, each with the nearest that does.

    Args:
        stack: a file (``.yaml``, ``.yml``, ``.txt``) whose lines name an engine, PyTorch, CUDA, the driver, the cards
            ... with their versions, such as ``driver: 570.26``; or the same in one text, separated by commas.

    Raises:
        InvalidInput: the file can't be read (CB-K082), or nothing in it is known (CB-K060).
    """
    return check_stack(_words(stack))


def check_pc(parts: Path | str) -> tuple[Caution, ...]:
    """What keeps the cards from working in a PC, what slows them, and what they need.

    Args:
        parts: a file or a text, as in :func:`check_software`, such as ``gpu: 2x RTX 4090`` and ``supply: 1600 W``.

    Raises:
        InvalidInput: the file can't be read (CB-K082), or no card in it is known (CB-K080).
    """
    return check_parts(_words(parts))


def _words(told: Path | str) -> str:
    """The text of a file without its comments and quotes; a text as it is."""
    if not str(told).strip().lower().endswith(ENDINGS):
        return str(told)
    try:
        with opened(told) as stream:
            text = stream.read(LONGEST_BYTES).decode("utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "UTF-8"
        raise InvalidInput(problem("CB-K082", file=str(told), why=why)) from None
    return re.sub(r"[\"']", "", re.sub(r"(?m)(?:^|\s)#.*$", "", text))
