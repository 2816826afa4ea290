"""The price lists of the ``genai-prices`` package as plain rows: what each API charges, since when and at what hours.

The package (MIT, https://github.com/pydantic/genai-prices) keeps dated, Decimal prices per provider. Importing it takes
a fifth of a second, so its rows are compiled into the snapshot (``api_book``) and read from there while the installed
version is the one that was compiled.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Context, Decimal
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cabida.facts.names import compact_key, name_key

PACKAGE = "genai-prices"
# key of the package -> unit of a rate
UNITS = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cache_read",
    "cache_write_mtok": "cache_write",
    "cache_write_1h_mtok": "cache_write_1h",
    "output_reasoning_mtok": "reasoning",
    "input_image_mtok": "input_image",
    "output_image_mtok": "output_image",
    "input_audio_mtok": "input_audio",
    "output_audio_mtok": "output_audio",
    "requests_kcount": "requests",
    "audio_hours": "audio_hours",
    "input_audio_hours": "audio_hours",
    "input_document_kpages": "document_kpages",
    "input_mchars": "mchars",
}
BATCH = {"processing": "batch"}
MOST_REMARK = 320  # letters
MOVING = "-latest"  # an id that means another model after the next release
_BATCH_ENTRY = ":batch"
# builds of a model that answer like it: served faster, in fewer bits, or by another route
_SAME = re.compile(r"(?:-(?:lite|fp8|fast|maas|nitro|exacto)|(?<=-instruct)-turbo)+$")
_LLAMA = re.compile(r"^llama-?v?(?=\d)")
_BUILD = re.compile(r"(?<=-)(?:\d{4}|thinking)(?=-|$)")
_POINT = re.compile(r"(?<=\d)p(?=\d)")
_TUNED = ("-instruct", "-it", "-chat", "-chat-hf")
_SUFFIXES = ("-chat-hf", "-instruct", "-it", "-chat", "-hf")

Rate = tuple[str, str, int, str, str]  # unit, amount, above_tokens, hours_utc, mode
Period = tuple[
    str, str, list[Rate]
]  # first day ("" = unknown), first day no more ("" = none), the price list


@cache
def installed_version() -> str:
    """Version of the package that is installed, as the name of its record says; "" when there is none.

    Reading the record itself costs more than all that follows.
    """
    found = find_spec("genai_prices")
    if found is None or found.origin is None:
        return ""
    records = [one.name for one in Path(found.origin).parents[1].glob("genai_prices-*.dist-info")]
    if len(records) == 1:
        return records[0].removeprefix("genai_prices-").removesuffix(".dist-info")
    from importlib import metadata

    return metadata.version(PACKAGE)


def table(last_day: str) -> dict[str, Any]:
    """All of the package as JSON data.

    Args:
        last_day: ISO date; the latest price change not after it is the day the prices were seen.
    """
    import genai_prices.data as shipped

    body = Path(shipped.__file__).read_bytes()
    rows = [row for provider in shipped.providers for row in _rows(provider)]
    starts = {start for row in rows for start, _, _ in row[6] if start and start <= last_day}
    return {
        "version": installed_version(),
        "digest": hashlib.sha256(body).hexdigest(),
        "seen": max(starts, default=""),
        "providers": {one.id: [one.name, *(one.pricing_urls or ())[:1]] for one in shipped.providers},
        "rows": rows,
    }


def _rows(provider: Any) -> Iterator[list[Any]]:
    """Of each model: provider, id, model of the catalogue, other names, context, whether withdrawn, prices, remark."""
    batches = {one.id: one for one in provider.models if one.id.endswith(_BATCH_ENTRY)}
    ids = {one.id for one in provider.models}
    pathless = {name_key(id) for id in ids if "/" in id}
    for one in provider.models:
        if one.id in batches or ":free" in one.id:
            continue  # a mode of another row; a trial with a cap on requests, nothing to plan a service on
        if "/" not in one.id and name_key(one.id) in pathless:
            continue  # the same model's older entry
        apart = batches.get(one.id + _BATCH_ENTRY)
        periods = list(_periods(one, apart))
        if periods:
            names = sorted(set(_equal(one.match)) - {one.id} - ids)
            known = catalogued(one.id)
            told = _told(one.price_comments or "")
            yield [provider.id, one.id, known, names, one.context_window, bool(one.deprecated), periods, told]


def _told(comment: str) -> str:
    """What the package remarks on a price, cut at a sentence."""
    if len(comment) <= MOST_REMARK:
        return comment
    return comment[: comment.rfind(". ", 0, MOST_REMARK) + 1] or comment[:MOST_REMARK]


def _equal(clause: Any) -> Iterator[str]:
    """The names a match clause takes letter by letter."""
    if hasattr(clause, "equals"):
        yield clause.equals
    for part in getattr(clause, "or_", ()):
        yield from _equal(part)


@cache
def _catalogue() -> dict[str, str]:
    from cabida.facts.models import models

    return {name_key(name): id for name, id in models().names()}


def catalogued(name: str) -> str:
    """Id in the catalogue of the model an API calls ``name``; "" when it is none of them.

    The organisation, the way it is served and instruct endings may differ; dates, sizes, thinking and fine-tunes may
    not, and a moving name stands for no model at all. Of a model and its tuned build the tuned one is sold.
    """
    if name.endswith(MOVING):
        return ""
    known = _catalogue()
    key = _SAME.sub("", _POINT.sub(".", name_key(name)))
    short = _LLAMA.sub("llama-", key.removeprefix("meta-"))
    stem = next((short.removesuffix(ending) for ending in _SUFFIXES if short.endswith(ending)), short)
    tried = [
        key,
        short,
        *(f"{start}{stem}{ending}" for ending in (*_SUFFIXES, "") for start in ("", "meta-")),
    ]
    found = [known[one] for one in tried if one in known]
    alike = [id for id in found if compact_key(id) == compact_key(short) and _marks(id) >= _marks(short)]
    return next((id for id in alike if name_key(id).endswith(_TUNED)), alike[0] if alike else "")


def _marks(name: str) -> set[str]:
    """What makes two builds of one name two models: a date, or that it thinks first."""
    return set(_BUILD.findall(name_key(name)))


def _periods(one: Any, apart: Any) -> Iterator[Period]:
    """The stretches of days between changes of a model's price, each with its whole list.

    A price for some hours has no date of its own: it holds from the last change listed before it.
    """
    dated = list(_dated(one))
    variants = [
        (_start(each.constraint), each.prices) for each in one.price_variants or () if each.when == BATCH
    ]
    if apart is not None:
        variants += [(start, prices) for start, hours, prices in _dated(apart) if not hours][::-1]
    starts = sorted({start for start, _, _ in dated} | {start for start, _ in variants} | {""})
    for place, start in enumerate(starts):
        rates = list(_list(start, dated, variants))
        until = starts[place + 1] if place + 1 < len(starts) else ""
        if any(float(amount) > 0 for _, amount, *_ in rates):
            yield start, until, rates


def _dated(one: Any) -> Iterator[tuple[str, str, Any]]:
    """Each price list with its first day and the hours it holds."""
    if not isinstance(one.prices, list):
        yield "", "", one.prices
        return
    last = ""
    for each in one.prices:
        hours = _hours(each.constraint)
        last = last if hours else max(last, _start(each.constraint))
        yield last if hours else _start(each.constraint), hours, each.prices


def _start(constraint: Any) -> str:
    day: date | None = getattr(constraint, "start_date", None)
    return day.isoformat() if day else ""


def _hours(constraint: Any) -> str:
    if not hasattr(constraint, "start_time"):
        return ""
    return f"{constraint.start_time:%H:%M}-{constraint.end_time:%H:%M}"


def _list(
    start: str, dated: Iterable[tuple[str, str, Any]], variants: Iterable[tuple[str, Any]]
) -> Iterator[Rate]:
    """The price list in force from ``start``: of several that began, the last; each window of hours beside it."""
    begun = [(since, hours, prices) for since, hours, prices in dated if since <= start]
    whole = [(since, prices) for since, hours, prices in begun if not hours]
    if whole:
        since, prices = max(enumerate(whole), key=lambda item: (item[1][0], item[0]))[1]
        yield from _rates(prices, "", "")
        for from_, hours, other in begun:
            if hours and from_ == since:
                yield from _rates(other, hours, "")
    taken: set[str] = set()
    for since, prices in variants:  # the first that began wins, for each kind of use apart
        if since <= start:
            found = [rate for rate in _rates(prices, "", "batch") if rate[0] not in taken]
            yield from found
            taken |= {rate[0] for rate in found}


def _rates(prices: Any, hours: str, mode: str) -> Iterator[Rate]:
    priced = {
        UNITS[key]: value for key, value in prices.__dict__.items() if key in UNITS and value is not None
    }
    for unit, value in priced.items():
        yield unit, _plain(getattr(value, "base", value)), 0, hours, mode
        for tier in getattr(value, "tiers", ()):
            yield unit, _plain(tier.price), tier.start, hours, mode


def _plain(amount: Decimal) -> str:
    """A price without the noise of a binary fraction that some lists carry."""
    return f"{Context(prec=12).create_decimal(amount).normalize():f}"
