"""Which modules a quantised checkpoint's lists name: exact names, prefixes, shell patterns and expressions."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

from cabida.facts.fields import Fields

PATTERNS_MOST = 100_000
WILDCARDS_MOST = 4
EXPRESSION_MOST = 200


def ignores(settings: dict[str, Any], f: Fields) -> Callable[[str], bool]:
    """Tells of a module's name whether the config leaves it alone.

    The lists are written as exact names, prefixes, shell patterns or ``re:`` expressions; families prefix the names
    of their layers differently, so they are compared from the layer number on.
    """
    listed: list[str] = []
    for key in (
        "modules_to_not_convert",
        "ignore",
        "exclude_modules",
        "ignored_layers",
        "llm_int8_skip_modules",
    ):
        value = settings.get(key)
        if isinstance(value, list):
            listed += [entry for entry in value[:PATTERNS_MOST] if isinstance(entry, str)]
    return named_by(listed + _excluded(settings), f)


def named_by(listed: list[str], f: Fields) -> Callable[[str], bool]:
    """Tells of a module's name whether these entries name it; the class ``Linear`` names every matrix."""
    if "Linear" in listed:
        return lambda name: True
    exact = {tail(entry) for entry in listed if "*" not in entry and not entry.startswith("re:")}
    shells = [tail(entry) for entry in listed if "*" in entry and not entry.startswith("re:")]
    expressions = [_compiled(entry[3:], f) for entry in listed if entry.startswith("re:")]
    everywhere = {entry for entry in exact if not entry[:1].isdigit() and "." not in entry}

    def left(name: str) -> bool:
        parts = name.split(".")
        if any(".".join(parts[: i + 1]) in exact for i in range(len(parts))) or everywhere & set(parts):
            return True
        if any(fnmatchcase(name, _open(shell)) for shell in shells):
            return True
        return any(expression.match(f"model.layers.{name}") for expression in expressions)

    return left


def _excluded(settings: dict[str, Any]) -> list[str]:
    """What GPTQModel's dynamic rules and AutoRound's extra settings leave alone."""
    dynamic, extra = settings.get("dynamic"), settings.get("extra_config")
    keys = list(dynamic)[:PATTERNS_MOST] if isinstance(dynamic, dict) else []
    rules = [f"re:{key[2:]}" for key in keys if key.startswith("-:") and safe(key[2:])]
    wide = [
        name
        for name, entry in (extra.items() if isinstance(extra, dict) else ())
        if isinstance(entry, dict) and isinstance(entry.get("bits"), int) and entry["bits"] >= 16
    ]
    return (rules + wide)[:PATTERNS_MOST]


def tail(entry: str) -> str:
    """The name from the layer number on, in one spelling for all families."""
    for marker in ("layers.", "blocks.", "h."):
        head, found, tail = entry.partition(marker)
        if found and (not head or head.endswith(".")):
            entry = tail
            break
    entry = entry.replace("block_sparse_moe", "mlp")
    return (
        entry.replace("shared_expert.", "shared_experts.")
        .replace(".attn", ".self_attn")
        .replace(".ffn", ".mlp")
    )


def _open(shell: str) -> str:
    """A shell pattern that also covers what lies below the name."""
    return shell if shell.endswith("*") else f"{shell}*"


def safe(expression: str) -> bool:
    """Whether an expression may be tried: no repeated groups, few wildcards, no back references."""
    wild = expression.count("*") + expression.count("+") + expression.count("{")
    odd = re.search(r"\)[*+{?]|\\[1-9]|\(\?", expression)
    return len(expression) <= EXPRESSION_MOST and wild <= WILDCARDS_MOST and odd is None


def _compiled(expression: str, f: Fields) -> re.Pattern[str]:
    if not safe(expression):
        raise f.wrong(expression, "quantization_config.ignore", f"re: {EXPRESSION_MOST}, {WILDCARDS_MOST} *")
    try:
        return re.compile(expression)
    except (re.error, OverflowError, RecursionError) as error:
        raise f.wrong(expression, "quantization_config.ignore", "re:") from error
