"""How long a measured run's texts are, as its flags or its note say."""

from __future__ import annotations

import re
from typing import Any

SHORT_TOKENS = 128  # a prompt and fifty new tokens


def benched(note: str) -> int | None:
    """The longest test of a llama-bench command that a note quotes: it allocates that much context."""
    if "llama-bench" not in note:
        return None
    listed = re.findall(r"\s-(?:p|n)\s+([\d,]+)", note)
    return max((int(one) for part in listed for one in part.split(",") if one), default=None)


def prefilled(note: str) -> int | None:
    """The length of the prompt that a benchmark's note states."""
    found = re.search(r"\bprefill (\d+)", note)
    return int(found.group(1)) if found else None


def talked(args: dict[str, Any], note: str) -> int | None:
    """The tokens of prompt and answer together, of a run without a pool."""
    if args.get("input_length"):
        return whole_flag(args, "input_length") + (whole_flag(args, "output_length") or 0)  # type: ignore[operator]
    return SHORT_TOKENS if "short context" in note else None


def prompted(args: dict[str, Any]) -> bool:
    """Whether a row says how long its prompts are."""
    return "input_length" in args


def whole_flag(args: dict[str, Any], *names: str) -> int | None:
    """The first of these flags that is given."""
    return next((int(args[name]) for name in names if args.get(name)), None)
