"""What a check says: its caution in the language in use, with its cure, and how it names an option."""

from __future__ import annotations

from cabida.plan import Caution, Option
from cabida.text import ROOM_OF_CODE, has_text, tr


def caution(
    code: str, severity: str = "warning", *, where: str = "", source: str = "", **values: object
) -> Caution:
    """The text ``checks.CODE`` with its values, and its cure where there is one."""
    cure = cure_of(code, **values)
    return Caution(code, tr(f"checks.{code}", **values), severity, cure, source=source, where=where)


def cure_of(code: str, **values: object) -> str:
    """What to do about a warning: the text ``ROOM.CODE.cure``; "" where nobody wrote one."""
    key = f"{ROOM_OF_CODE.get(code[3:4], '')}.{code}.cure"
    return tr(key, **values) if has_text(key) else ""


def short_title(option: Option) -> str:
    """An option inside a sentence: its number and what it is."""
    return tr("checks.option", rank=option.rank, what=option.title.partition(" · ")[0])
