"""How a file writes its values, and the one way in which a value is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn


class Bad(ValueError):
    """A value can't be taken; ``why`` is a key of the texts ``procure.why.*`` with its values."""

    def __init__(self, why: str, **values: str) -> None:
        super().__init__(why)
        self.why, self.values = why, values


def refuse(why: str, **values: str) -> NoReturn:
    """Leave a value aside.

    Raises:
        Bad: always.
    """
    raise Bad(why, **values)


@dataclass(frozen=True, slots=True)
class Manner:
    """How a file writes: its currency, whether its decimals come after a comma (``None`` = not told), its language."""

    currency: str = ""
    decimal_comma: bool | None = None
    prose: bool = False
    language: str = ""
    day_first: bool | None = None


PLAIN = Manner()
