"""The value of a rule, taken apart: every fault of it is told at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from cabida.text import closest, tr

T = TypeVar("T")
MISSING = object()


class Faults(ValueError):
    """What is wrong with a rule's value; its ``told`` are whole sentences."""

    def __init__(self, told: list[str]) -> None:
        self.told = told
        super().__init__(" ".join(told))


class Options:
    """A mapping with known keys; anything else stands for the key ``alone``.

    Faults gather until ``check`` raises them.
    """

    def __init__(self, value: Any, alone: str, known: tuple[str, ...]) -> None:
        self.told: list[str] = []
        if isinstance(value, dict):
            self.said = value
        else:
            self.said = {} if value is None or not alone else {alone: value}
            if value is not None and not alone:
                self.told.append(tr("accept.wants_mapping", keys=", ".join(known)))
        for key in self.said:
            if key not in known:
                near = closest(str(key), known)
                self.told.append(tr("accept.unknown_key", key=str(key)[:40], known=near or ", ".join(known)))

    def wrong(self, key: str, value: object, expected: str) -> None:
        """One fault more."""
        self.told.append(tr("accept.wrong_value", key=key, value=str(value)[:80], expected=expected))

    def get(self, key: str, default: Any = None) -> Any:
        """As it was said."""
        value = self.said.get(key, default)
        return default if value is None else value

    def text(self, key: str, default: Any = MISSING) -> str:
        """A text; "" where it is wrong."""
        value = self.get(key, default)
        if isinstance(value, str):
            return value
        if value is MISSING:
            self.told.append(tr("accept.lacks_key", key=key))
        else:
            self.wrong(key, value, tr("accept.a_text"))
        return ""

    def texts(self, key: str, default: Any = MISSING) -> tuple[str, ...]:
        """A list of texts, or a single one."""
        value = self.get(key, default)
        if isinstance(value, str):
            return (value,)
        if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
            return tuple(value)
        if value is MISSING:
            self.told.append(tr("accept.lacks_key", key=key))
        else:
            self.wrong(key, value, tr("accept.a_list"))
        return ()

    def flag(self, key: str, default: bool = False) -> bool:
        """True or false."""
        value = self.get(key, default)
        if not isinstance(value, bool):
            self.wrong(key, value, "true, false")
            return default
        return value

    def number(self, key: str, default: float | None, *, low: float, high: float) -> Any:
        """A number from ``low`` to ``high``; ``default`` where it was not said or is wrong."""
        value = self.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            self.wrong(key, value, tr("accept.a_number", low=f"{low:g}", high=f"{high:g}"))
            return default
        return value

    def one_of(self, key: str, words: tuple[str, ...], default: str) -> str:
        """One of a few words."""
        value = self.get(key, default)
        if value not in words:
            self.wrong(key, value, ", ".join(words))
            return default
        return str(value)

    def made(self, key: str, make: Callable[[], T]) -> T | None:
        """What ``make`` gives; its ValueError becomes a fault of ``key``. Not tried when there are faults already."""
        if self.told:
            return None
        try:
            return make()
        except ValueError as error:
            self.told.append(tr("accept.not_made", key=key, why=str(error)[:300]))
            return None

    def check(self) -> None:
        """Raises every fault.

        Raises:
            Faults: there are some.
        """
        if self.told:
            raise Faults(self.told)
