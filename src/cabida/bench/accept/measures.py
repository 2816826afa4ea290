"""Rules that compare: how long an answer is, why it ended, what it says, which number it gives."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

from cabida.bench.accept.judgement import MET, Output, Said
from cabida.bench.accept.options import Options
from cabida.text import tr

UNITS = ("characters", "words", "tokens")
LONGEST_NUMBER_CHARS = 60
LOOKED_AT_CHARS = 1_000_000
_GROUPED = r"\d{1,3}(?:[ \u00a0\u202f'’]\d{3}(?!\d))+"  # 12 345, 12'345
_NUMBER = re.compile(
    rf"(?<![\w.,])[-+\u2212]?(?:{_GROUPED}|\d[\d.,]{{0,50}})(?:[.,]\d{{1,30}})?(?:[eE][-+]?\d{{1,3}})?"
)
_ENDS = " \t\r\n.,;:!?¡¿\"'`«»“”‘’()[]{}*_"


class Length:
    """Kind ``length``: least and most characters, words or tokens: ``{min_words: 5, max_words: 200}``."""

    form = False

    def __init__(self, value: Any) -> None:
        keys = tuple(f"{bound}_{unit}" for unit in UNITS for bound in ("min", "max"))
        said = Options(value, "", keys)
        self.bounds = {
            unit: (
                said.number(f"min_{unit}", 0, low=0, high=1e9),
                said.number(f"max_{unit}", math.inf, low=0, high=1e9),
            )
            for unit in UNITS
            if f"min_{unit}" in said.said or f"max_{unit}" in said.said
        }
        if not self.bounds:
            said.told.append(tr("accept.lacks_key", key=" / ".join(keys)))
        for unit, (least, most) in self.bounds.items():
            if least > most:
                said.wrong(f"min_{unit}", f"{least:g}", f"<= max_{unit} ({most:g})")
        said.check()

    def judge(self, output: Output) -> Said:
        """Whether it is met; tokens that nobody counted can't be judged."""
        unknown = False
        for unit, (least, most) in self.bounds.items():
            length = measured(output, unit)
            if length is None:
                unknown = True
            elif not least <= length <= most:
                return Said(False, tr(f"accept.length_{unit}", length=length))
        return Said(None, tr("accept.tokens_unknown")) if unknown else MET


def measured(output: Output, unit: str) -> int | None:
    """Length of an answer in characters (code points), words (between blanks) or tokens."""
    if unit == "tokens":
        return output.tokens
    return len(output.text) if unit == "characters" else len(output.text.split())


class Finish:
    """Kind ``finish-reason``: why the answer ended is one of these; "stop" when none is named."""

    form = True

    def __init__(self, value: Any) -> None:
        said = Options(value, "reasons", ("reasons",))
        self.reasons = said.texts("reasons", ("stop",))
        said.check()

    def judge(self, output: Output) -> Said:
        """Whether it is met; an engine that tells no reason can't be judged."""
        if not output.finish_reason:
            return Said(None, tr("accept.finish_unknown"))
        if output.finish_reason in self.reasons:
            return MET
        return Said(False, tr("accept.finish_other", reason=output.finish_reason[:40]))


class Exact:
    """Kind ``exact``: the answer is one of these texts, or the reference of its prompt (``{reference: true}``).

    Compared normalised unless ``normalised: false``: see :func:`normalised`.
    """

    form = False

    def __init__(self, value: Any) -> None:
        said = Options(value if not isinstance(value, list | tuple) else {"text": value}, "text",
                       ("text", "reference", "normalised"))  # fmt: skip
        self.reference = said.flag("reference")
        self.normalised = said.flag("normalised", True)
        self.texts = said.texts("text", ()) if self.reference else said.texts("text")
        said.check()

    def judge(self, output: Output) -> Said:
        """Whether it is met; a prompt without a reference can't be judged."""
        wanted = [*self.texts, *(references(output) if self.reference else ())]
        if not wanted:
            return Said(None, tr("accept.no_reference"))
        form = normalised if self.normalised else str
        return (
            MET if form(output.text) in {form(one) for one in wanted} else Said(False, tr("accept.not_equal"))
        )


def references(output: Output) -> list[str]:
    """What the prompt's line expects, as texts."""
    said = output.reference
    several = said if isinstance(said, list | tuple) else () if said is None else (said,)
    return [str(one) for one in several]


def normalised(text: str) -> str:
    """Compatible characters made one (NFKC), case folded, blanks run together, marks at the ends left out."""
    return " ".join(unicodedata.normalize("NFKC", text[:LOOKED_AT_CHARS]).casefold().split()).strip(_ENDS)


class Numeric:
    """Kind ``numeric``: the last (``which: first``, ``only``) number of the answer is the one wanted.

    ``value`` is a number or ``{value | reference: true, tolerance, relative, decimal, which}``. ``tolerance`` is
    absolute, ``relative`` a share of the number wanted; either suffices. ``decimal`` is "." or ","; where it is not
    said, a number that can be read both ways ("1,234") is read both ways.
    """

    form = False

    def __init__(self, value: Any) -> None:
        known = ("value", "reference", "tolerance", "relative", "decimal", "which")
        said = Options(value, "value", known)
        self.reference = said.flag("reference")
        self.wanted: float | None = said.number("value", None, low=-1e300, high=1e300)
        if self.wanted is None and not self.reference and not said.told:
            said.told.append(tr("accept.lacks_key", key="value"))
        self.tolerance: float = said.number("tolerance", 0.0, low=0, high=1e300)
        self.relative: float = said.number("relative", 0.0, low=0, high=10)
        self.decimal = said.one_of("decimal", ("", ".", ","), "")
        self.which = said.one_of("which", ("last", "first", "only"), "last")
        said.check()

    def judge(self, output: Output) -> Said:
        """Whether it is met."""
        wanted = [self.wanted] if self.wanted is not None else []
        for one in references(output) if self.reference else ():
            wanted += [value for readings in numbers_of(one, ".")[-1:] for value in readings]
        if not wanted:
            return Said(None, tr("accept.no_reference"))
        found = numbers_of(output.text, self.decimal)
        if not found:
            return Said(False, tr("accept.no_number"))
        if self.which == "only" and len(found) > 1:
            return Said(False, tr("accept.several_numbers", count=len(found)))
        readings = found[0] if self.which == "first" else found[-1]
        near = any(self.is_near(value, goal) for value in readings for goal in wanted)
        return MET if near else Said(False, tr("accept.other_number"))

    def is_near(self, value: float, wanted: float) -> bool:
        """Within the tolerance; a rounding of the last bit is none."""
        allowed = max(self.tolerance, self.relative * abs(wanted), 1e-12 * abs(wanted))
        return abs(value - wanted) <= allowed


def numbers_of(text: str, decimal: str = "") -> list[tuple[float, ...]]:
    """The numbers in a text, in order, each in every way it can be read (one way when ``decimal`` says which)."""
    found = []
    for match in _NUMBER.finditer(text[-LOOKED_AT_CHARS:]):
        written = match[0].rstrip(".,")
        readings = sorted(
            {value for mark in (decimal or ".", decimal or ",") for value in read_number(written, mark)}
        )
        if readings:
            found.append(tuple(readings))
    return found


def read_number(written: str, decimal: str) -> tuple[float, ...]:
    """``written`` with ``decimal`` as its decimal mark and the other one between thousands; nothing if it is none."""
    other = "," if decimal == "." else "."
    plain = re.sub("[ \u00a0\u202f'’]", "", written).replace("\u2212", "-")
    whole, mark, rest = plain.partition(decimal)
    groups = whole.lstrip("+-").split(other)
    grouped = len(groups) > 1
    if grouped and not (1 <= len(groups[0]) <= 3 and all(len(one) == 3 for one in groups[1:])):
        return ()
    if decimal in rest or other in rest:
        return ()
    try:
        value = float(whole.replace(other, "") + (f".{rest}" if mark else ""))
    except ValueError:
        return ()
    return (value,) if math.isfinite(value) else ()
