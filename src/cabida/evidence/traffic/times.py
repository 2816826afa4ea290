"""When something happened, as logs write it."""

from __future__ import annotations

import re
from calendar import timegm
from datetime import UTC, datetime, tzinfo
from math import isfinite
from zoneinfo import ZoneInfo, available_timezones

from cabida.errors import InvalidInput
from cabida.text import closest, printable, problem

EARLIEST_S, LATEST_S = 946_684_800.0, 4_102_444_800.0  # 2000 to 2100: no log of an endpoint is older or newer
MONTHS = {name: at for at, name in enumerate(
    ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1)}  # fmt: skip
CACHED_MOST = 50_000
_CLF = re.compile(
    r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):(\d\d)(\.\d{1,6})?(?:\s*([+-])(\d\d):?(\d\d))?\Z"
)
_FRACTION = re.compile(r"[.,](\d+)")
_SHORT_ZONE = re.compile(r"([+-]\d\d)\Z")


def zone(name: str) -> tzinfo:
    """The timezone of this name.

    Raises:
        InvalidInput: CB-I008, there is none; the nearest is told.
    """
    if name.upper() in ("UTC", "Z", "GMT", ""):
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        near = closest(name[:60], available_timezones()) or "Europe/Madrid"
        raise InvalidInput([problem("CB-I008", name=printable(name)[:60], near=near)]) from None


class Clock:
    """Reads moments. Those that name no zone are of ``assumed``; how many there were is counted.

    Attributes:
        resolution_s: of the last moment read.
        naive_count: moments that named no zone.
    """

    def __init__(self, assumed: tzinfo = UTC) -> None:
        self.assumed = assumed
        self.resolution_s = 0.0
        self.naive_count = 0
        self._clf: dict[str | bytes, tuple[float, float, bool]] = {}

    def moment(self, value: object) -> float | None:
        """Seconds since 1970: a number (s, ms, µs or ns by its size), ISO 8601 or as web servers write it.

        ``None`` = it is no moment between 2000 and 2100.
        """
        if isinstance(value, str):
            text = value.strip()
            if text[:1].isdecimal() and text.replace(".", "", 1).isdecimal():
                return self._number(float(text), len(text.partition(".")[2]))
            return self._text(text)
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            return None
        return self._number(float(value), 0 if isinstance(value, int) or value == int(value) else 6)

    def _number(self, value: float, digits: int) -> float | None:
        for unit, below in ((1.0, 1e11), (1e-3, 1e14), (1e-6, 1e17), (1e-9, 1e20)):
            if value < below:
                self.resolution_s = unit * 10.0**-digits
                return _within(value * unit)
        return None

    def _text(self, text: str) -> float | None:
        if "/" in text[:3]:
            return self.clf(text)
        if len(text) < 10 or len(text) > 40:
            return None
        text = _SHORT_ZONE.sub(r"\1:00", text) if len(text) > 12 else text
        text = text.removesuffix(" UTC").removesuffix(" +0000")
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            fraction = _FRACTION.search(text)
            if not fraction:
                return None
            try:  # more than six digits, or another count than the reader of this Python takes
                found = datetime.fromisoformat(text.replace(fraction[0], f".{fraction[1][:6]:0<6}"))
            except ValueError:
                return None
        fraction = _FRACTION.search(text)
        self.resolution_s = 10.0 ** -len(fraction[1]) if fraction else 1.0 if ":" in text else 86_400.0
        if found.tzinfo is None:
            self.naive_count += 1
            found = found.replace(tzinfo=self.assumed)
        return _within(found.timestamp())

    def clf(self, text: str | bytes) -> float | None:
        """``30/Nov/2026:22:09:47 +0100``, of nginx, Apache and HAProxy: read once, remembered for its second."""
        known = self._clf.get(text)
        if known is None:
            known = self._read_clf(text if isinstance(text, str) else text.decode("ascii", "replace"))
            if known is None:
                return None
            if len(self._clf) >= CACHED_MOST:
                self._clf.clear()
            self._clf[text] = known
        at_s, self.resolution_s, naive = known
        self.naive_count += naive
        return at_s

    def _read_clf(self, text: str) -> tuple[float, float, bool] | None:
        found = _CLF.match(text)
        if not found or found[2] not in MONTHS:
            return None
        day, month, year = int(found[1]), MONTHS[found[2]], int(found[3])
        clock = int(found[4]), int(found[5]), min(59, int(found[6]))
        part = float(found[7]) if found[7] else 0.0
        resolution_s = 10.0 ** -(len(found[7]) - 1) if found[7] else 1.0
        try:
            plain = datetime(year, month, day, *clock, tzinfo=UTC if found[8] else self.assumed)
        except ValueError:
            return None
        if found[8]:
            east_s = (int(found[9]) * 3600 + int(found[10]) * 60) * (1 if found[8] == "+" else -1)
            at_s = timegm(plain.timetuple()) - east_s + part
        else:
            at_s = plain.timestamp() + part
        within = _within(at_s)
        return None if within is None else (within, resolution_s, not found[8])

    def yearless(self, month: int, day: int, clock: tuple[int, int, int], written_s: float) -> float | None:
        """A moment without its year: the last such that isn't after the file was written (and a day)."""
        newest = datetime.fromtimestamp(written_s + 86_400.0, self.assumed)
        for year in (newest.year, newest.year - 1):
            try:
                found = datetime(year, month, day, *clock, tzinfo=self.assumed)
            except ValueError:
                continue
            if found <= newest:
                self.resolution_s = 1.0
                self.naive_count += 1
                return _within(found.timestamp())
        return None


def _within(at_s: float) -> float | None:
    return at_s if EARLIEST_S <= at_s < LATEST_S else None
