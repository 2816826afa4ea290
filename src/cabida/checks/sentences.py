"""What a check says: its caution in the language in use, and how it names an option."""

from __future__ import annotations

from cabida.plan import Caution, Option
from cabida.text import tr


def caution(code: str, severity: str = "warning", **values: object) -> Caution:
    """The text ``checks.CODE`` with its values."""
    return Caution(code, tr(f"checks.{code}", **values), severity)


def short_title(option: Option) -> str:
    """An option inside a sentence: its number and what it is."""
    return tr("checks.option", rank=option.rank, what=option.title.partition(" · ")[0])
