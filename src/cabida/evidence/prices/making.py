"""Offers out of rows: one source for a file, one id for what is said once, a share where a share is sold."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from cabida.errors import InvalidInput
from cabida.evidence.prices.nouns import Asked, Odd, Read, Why
from cabida.evidence.prices.numbers import each, stamped, tidy
from cabida.evidence.prices.parts import Part, Parts, known, provider, provider_in, shared
from cabida.facts.market import currencies
from cabida.facts.model import ApiOffer, ApiRate, Offer
from cabida.facts.models import find_model, models
from cabida.quantity import Source
from cabida.text import printable, problem

MTOK = Decimal(1_000_000)


@dataclass(slots=True)
class Making:
    """What the offers of one file share while it is read."""

    read: Read
    asked: Asked
    title: str  # what the source is called
    sighting: str
    grade: str = "quoted"
    parts: Parts = field(default_factory=Parts)
    _sources: dict[tuple[str, str], Source] = field(default_factory=dict)
    _seen: set[tuple[Any, ...]] = field(default_factory=set)
    _providers: dict[str, tuple[str, str]] = field(default_factory=dict)
    _models: dict[str, str] = field(default_factory=dict)
    _told_future: bool = False

    def source(self, seen: str, url: str = "") -> Source:
        """Where the file's figures were read, on the day they were seen, else on the day of the reading."""
        key = (seen, url)
        if key not in self._sources:
            day = seen or self.asked.today
            self._sources[key] = Source(f"{self.title}, {self.read.name}", url, day, self.grade)
        return self._sources[key]

    def provider(self, name: str) -> tuple[str, str]:
        """A provider's name and kind."""
        if name not in self._providers:
            self._providers[name] = provider(name)
        return self._providers[name]

    def offer(
        self,
        line: int,
        provider: str,
        part: Part,
        count: Decimal,
        total: Decimal,
        capacity: str,
        *,
        seen: str,
        region: str = "",
        country: str = "",
        machine: str = "",
        currency: str = "USD",
        term_months: int = 0,
        upfront_ratio: float = 0.0,
        unit: str = "accelerator_hour",
        notes: str = "",
        url: str = "",
        sighting: str = "",
        sample_count: int = 1,
        condition: str = "",
        form_factor: str = "",
        **more: Any,
    ) -> None:
        """One price of ``total`` for ``count`` of a part sold together; said again, it is only counted.

        Raises:
            Odd: ``zero``, ``no_rate``, or a count that can't be.
        """
        if not total:
            raise Odd(Why.ZERO)
        if currency not in rated():
            raise Odd(Why.NO_RATE)
        self._past(seen)
        part, units = shared(part, count)
        if not (seller := shown(provider)):
            raise Odd(Why.NO_PROVIDER)
        name, kind = self.provider(seller)
        if not f"{region}{machine}{notes}{url}{condition}{form_factor}".isprintable():
            region, machine, notes, url = shown(region), shown(machine), shown(notes), shown(url)
            condition, form_factor = shown(condition), shown(form_factor)
        count_sold = int(units)
        key = (
            name, part.accelerator, part.fraction_ratio, count_sold, total, capacity, region, machine, seen, currency,
            term_months, upfront_ratio, unit, sample_count, condition, form_factor, *more.values(),
        )  # fmt: skip
        if key in self._seen:
            self.read.repeated_count += 1
            return
        self._seen.add(key)
        id = f"{_slug(name)}-{part.accelerator}-{capacity}-{count_sold}x-{seen or 'undated'}"
        self.read.offer_lines.append(line)
        self.read.offers.append(
            Offer(
                id=id,
                provider=name,
                provider_kind=kind,
                accelerator=part.accelerator,
                accelerators_count=count_sold,
                region=region,
                country=country or country_of(region),
                capacity=capacity,
                term_months=term_months,
                upfront_ratio=upfront_ratio,
                amount=each(total, units),
                unit=unit,
                currency=currency,
                seen=seen,
                effective="",
                sighting=sighting or self.sighting,
                sample_count=sample_count,
                low_amount=None,
                high_amount=None,
                condition=condition,
                notes=notes,
                source=self.source(seen, url),
                form_factor=form_factor or part.form_factor,
                fraction_ratio=part.fraction_ratio,
                node_shape=machine,
                **more,
            )
        )

    def api_offer(
        self, line: int, provider: str, name: str, prompt: Decimal, answer: Decimal, *, seen: str, **more: Any
    ) -> None:
        """One price of a model behind an API, per token; said again, it is only counted.

        ``rates`` is the whole list, where single amounts don't tell all of it.

        Raises:
            Odd: ``free``: what costs nothing has limits that no price tells.
        """
        rates: tuple[ApiRate, ...] = more.pop("rates", ())
        if not prompt and not answer and not any(one.amount for one in rates):
            raise Odd(Why.FREE)
        currency, notes, url = more.pop("currency", "USD"), more.pop("notes", ""), more.pop("url", "")
        until = more.pop("until", "")
        provider, name, notes, url = shown(provider), shown(name), shown(notes), shown(url)
        above: int | None = more.pop("tier_above_tokens", None)
        key = (provider, name, prompt, answer, seen, currency, above, rates, *more.values())
        if key in self._seen:
            self.read.repeated_count += 1
            return
        self._past(seen)
        self._seen.add(key)
        self.read.api_lines.append(line)
        offer = ApiOffer(
            id=f"{_slug(provider)}-{_slug(name)}-{seen or 'undated'}",
            provider=provider,
            model=self.model(name),
            model_name=name,
            input_amount=per_mtok(prompt),
            output_amount=per_mtok(answer),
            cached_input_amount=_per_mtok(more.get("cached")),
            batch_input_amount=_per_mtok(more.get("batch_input")),
            batch_output_amount=_per_mtok(more.get("batch_output")),
            currency=currency,
            seen=seen,
            effective="",
            notes=notes,
            source=self.source(seen, url),
            until=until,
            tier_above_tokens=above,
            tier_input_amount=_per_mtok(more.get("tier_input")),
            cache_write_amount=_per_mtok(more.get("cache_write")),
            rates=rates,
        )
        self.read.api_offers.append(offer)

    def _past(self, seen: str) -> None:
        """Say once of a file that it tells prices of days that have not come."""
        if seen > self.asked.today and not self._told_future and seen != self.read.seen:
            self._told_future = True
            self.read.note("future", day=seen)

    def model(self, name: str) -> str:
        """The id of the model that is served, or its name as printed where it is none we know."""
        if name not in self._models:
            bare = name.rsplit("/", 1)[-1].partition(":")[0]
            found = find_model(bare) if _family(bare) in _families() else None
            self._models[name] = found.id if found else name
        return self._models[name]


def shown(text: str) -> str:
    """A text without what drives a terminal or turns a line around: names stand on screens and in records."""
    return text if text.isprintable() else " ".join(printable(text).split())


@cache
def rated() -> frozenset[str]:
    """Currencies a rate is known for: a price in another could be held against no other."""
    return frozenset(currencies())


@lru_cache(maxsize=10_000)  # lists of many models have few prices
def per_mtok(price: Decimal) -> Decimal:
    """A price by token as one of a million of them."""
    return tidy(price * MTOK)


def _per_mtok(price: Decimal | None) -> Decimal | None:
    return None if price is None else per_mtok(price)


def _family(name: str) -> str:
    """The letters a model's name begins with, which builds and variants of it share."""
    found = re.match(r"[a-z]+", name.rsplit("/", 1)[-1].lower())
    return found[0] if found else ""


@cache
def _families() -> frozenset[str]:
    return frozenset(_family(name) for name, _ in models().names())


_slugs: dict[str, str] = {}


def _slug(name: str) -> str:
    if name not in _slugs:
        if len(_slugs) > 100_000:
            _slugs.clear()
        _slugs[name] = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")[:60] or "x"
    return _slugs[name]


AMERICAN = re.compile(
    r"us$|.*, usa?$|us[-_ ]?(gov[-_])?(north|south|east|west|central|midwest)"
)  # whoever's cloud


@lru_cache(maxsize=10_000)
def country_of(region: str) -> str:
    """The country of a cloud's region (ISO code), "" when it isn't one of those known."""
    bare = region.strip().lower()
    found: str = known()["countries"].get(bare, "")
    return found or ("US" if AMERICAN.match(bare) else "")


def dated(read: Read, asked: Asked, path: Path, inside: str = "") -> str:
    """The day the undated rows of a file were seen: as asked, as it says inside, as it is named; "" for none."""
    for how, day in (("asked", asked.as_of), ("inside", inside), ("name", _named_day(path))):
        if day:
            read.dated, read.seen = how, day
            break
    else:
        read.dated, read.seen = "", ""
    named = _named_day(path)
    if read.dated == "asked" and named and named != read.seen:
        read.note("redated", day=read.seen, named=named)
    if read.seen > asked.today:
        read.note("future", day=read.seen)
    return read.seen


def _named_day(path: Path) -> str:
    return stamped(path.name) or next((day for one in path.parts[-4:-1] if (day := stamped(one))), "")


def whose(asked: Asked, path: Path) -> str:
    """Whose prices a file without a column for it gives: as asked, as the file or one of its folders is named.

    Raises:
        InvalidInput: CB-E052, nothing says.
    """
    if asked.provider:
        return asked.provider
    words = [path.name.partition(".")[0], *re.split(r"[-_. ]+", path.name), *reversed(path.parts[-4:-1])]
    found = next((name for word in words if (name := provider_in(word))), "")
    if not found:
        raise InvalidInput([problem("CB-E052", file=str(path))])
    return found


def money_of(asked: Asked, path: Path) -> str:
    """The currency of a file that gives none.

    Raises:
        InvalidInput: CB-E051, nobody said.
    """
    if not asked.currency:
        raise InvalidInput([problem("CB-E051", file=str(path))])
    return asked.currency.upper()
