"""Dates as people write them in English and Spanish; one that could be two days is refused."""

from __future__ import annotations

import re
import unicodedata
from datetime import date

from cabida.evidence.prices.nouns import Odd
from cabida.evidence.prices.numbers import day as plain_day
from cabida.evidence.quotes.manner import refuse
from cabida.evidence.quotes.words import words

_ISO = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ][\d:.]{5,12}Z?)?")
_WORDY = re.compile(r"(?:(\d{1,2})(?:st|nd|rd|th|º)?\s*(?:de\s+)?([a-z]{3,10})\.?,?\s*(?:de[l]?\s+)?(\d{4}))|"
                    r"(?:([a-z]{3,10})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4}))")  # fmt: skip


def day(text: str, day_first: bool | None = None) -> str:
    """An ISO date from ISO, ``31/12/2026``, ``1 December 2026``, ``December 1, 2026`` or ``1 de diciembre de 2026``.

    ``day_first`` is how other dates of the same text are written, ``None`` when none tells.

    Raises:
        Bad: it is none, or could be two.
    """
    if iso := _ISO.fullmatch(text):
        text = iso[1]
    if found := _WORDY.fullmatch(key_of_day(text)):
        number, name, year = (found[1], found[2], found[3]) if found[1] else (found[5], found[4], found[6])
        month = words()["months"].get(name)
        try:
            if month:
                return date(int(year), month, int(number)).isoformat()
        except ValueError:
            pass
        refuse("date")
    if day_first is not None and (two := re.fullmatch(r"(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})", text)):
        of_month, month_of = (two[1], two[2]) if day_first else (two[2], two[1])
        text = f"{two[3]}-{int(month_of):02}-{int(of_month):02}"
    try:
        said = plain_day(text)
        if not said or not "1990" <= said < "2200":
            refuse("date")
        return date.fromisoformat(said).isoformat()
    except Odd as odd:
        refuse("two_dates" if odd.why == "ambiguous_date" else "date")
    except (ValueError, OverflowError):
        refuse("date")


def key_of_day(text: str) -> str:
    """Lower case, no accents: the names of months are compared so."""
    bare = unicodedata.normalize("NFKD", text.lower())
    return "".join(one for one in bare if not unicodedata.combining(one)).replace("º", "").strip()
