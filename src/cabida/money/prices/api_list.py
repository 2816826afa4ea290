"""A provider's price list read for one request: what it charges, as a function of the use and the time.

Lines of a list hold for a unit (tokens read, read from the cache, written to it, written as an answer ...), for prompts
longer than a threshold, at some hours, answered at once or in a batch. What a list does not price apart is charged as
the nearest thing it does: cached or images as input, reasoning as output. A long prompt pays its tier for all its
tokens, read and written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import erf, exp, log, sqrt

from cabida.facts.model import ApiOffer, ApiRate

PER = {"requests": 1000, "audio_hours": 1, "document_kpages": 1000, "mchars": 1_000_000}
TOKENS = 1_000_000
INSTEAD = {  # what is charged where a list has no line of its own
    "cache_read": "input",
    "cache_write": "input",
    "cache_write_1h": "cache_write",
    "reasoning": "output",
    "input_image": "input",
    "input_audio": "input",
    "output_image": "output",
    "output_audio": "output",
}
HOURS = 24


@dataclass(frozen=True, slots=True)
class ApiUse:
    """What one request uses. The finer counts are parts of ``input_tokens`` or ``output_tokens``, not beside them."""

    input_tokens: float
    cache_read_tokens: float = 0.0
    cache_write_tokens: float = 0.0
    cache_write_1h_tokens: float = 0.0
    input_image_tokens: float = 0.0
    input_audio_tokens: float = 0.0
    output_tokens: float = 0.0
    reasoning_tokens: float = 0.0
    output_image_tokens: float = 0.0
    output_audio_tokens: float = 0.0

    def counts(self) -> dict[str, float]:
        """Tokens by the unit they are charged under, each once.

        Raises:
            ValueError: the parts are more than the whole, or a count is below zero.
        """
        read = {
            "cache_read": self.cache_read_tokens,
            "cache_write": self.cache_write_tokens,
            "cache_write_1h": self.cache_write_1h_tokens,
            "input_image": self.input_image_tokens,
            "input_audio": self.input_audio_tokens,
        }
        written = {
            "reasoning": self.reasoning_tokens,
            "output_image": self.output_image_tokens,
            "output_audio": self.output_audio_tokens,
        }
        rest = self.input_tokens - sum(read.values()), self.output_tokens - sum(written.values())
        if min(*read.values(), *written.values(), *rest) < -1e-6:
            message = f"the parts of {self} are more than the whole"
            raise ValueError(message)
        return {"input": max(0.0, rest[0]), **read, "output": max(0.0, rest[1]), **written}


def rates_of(offer: ApiOffer) -> tuple[ApiRate, ...]:
    """The price list of an offer; of one that states single amounts, those as a list."""
    if offer.rates:
        return offer.rates
    stated = (
        ("input", offer.input_amount, 0, ""),
        ("output", offer.output_amount, 0, ""),
        ("cache_read", offer.cached_input_amount, 0, ""),
        ("cache_write", offer.cache_write_amount, 0, ""),
        ("input", offer.tier_input_amount, offer.tier_above_tokens or 0, ""),
        ("input", offer.batch_input_amount, 0, "batch"),
        ("output", offer.batch_output_amount, 0, "batch"),
    )
    return tuple(
        ApiRate(unit, amount, above, "", mode) for unit, amount, above, mode in stated if amount is not None
    )


def has_batch(offer: ApiOffer) -> bool:
    """Whether the provider sells this model by the batch."""
    return any(one.mode == "batch" for one in rates_of(offer))


def amount(offer: ApiOffer, unit: str, prompt_tokens: float = 0.0, hour_utc: float | None = None, *,
           batch: bool = False) -> Decimal:  # fmt: skip
    """What a million tokens (a thousand requests) of a unit cost in one request, in the offer's currency.

    Args:
        offer: whose list.
        unit: of :class:`ApiRate`.
        prompt_tokens: length of the prompt, cached part included: it picks the tier.
        hour_utc: 0 to 24; ``None`` = outside every window of hours.
        batch: at the batch price, where there is one.
    """
    rates = rates_of(offer)
    plain = _plain(rates, unit, prompt_tokens, hour_utc)
    if not batch:
        return plain
    lines = [one for one in rates if one.unit == unit and one.mode == "batch"]
    if not lines:
        instead = INSTEAD.get(unit)
        if instead is None:
            return plain
        return min(plain, amount(offer, instead, prompt_tokens, hour_utc, batch=True))
    found = _tier(lines, prompt_tokens)
    if not any(
        one.above_tokens for one in lines
    ):  # a batch list silent on long prompts: dearer as the plain one is
        short = _plain(rates, unit, 0.0, hour_utc)
        found = found * plain / short if short else found
    return found


def _plain(rates: Sequence[ApiRate], unit: str, prompt_tokens: float, hour_utc: float | None) -> Decimal:
    lines = [one for one in rates if one.unit == unit and not one.mode]
    if not lines:
        return _plain(rates, INSTEAD[unit], prompt_tokens, hour_utc) if unit in INSTEAD else Decimal(0)
    timed = [
        one for one in lines if one.hours_utc and hour_utc is not None and within(one.hours_utc, hour_utc)
    ]
    return _tier(timed or [one for one in lines if not one.hours_utc] or lines, prompt_tokens)


def _tier(lines: Sequence[ApiRate], prompt_tokens: float) -> Decimal:
    """Of the longest threshold reached; of the shortest where a list begins above it. Of several alike the dearest."""
    least = min(one.above_tokens for one in lines)
    reached = [one for one in lines if prompt_tokens > one.above_tokens or one.above_tokens == least]
    return max(reached, key=lambda one: (one.above_tokens, one.amount)).amount


def charge(offer: ApiOffer, use: ApiUse, at_hour: float | None = None, *, batch: bool = False) -> Decimal:
    """What one request costs, in the offer's currency: price = f(use, time), exact.

    Args:
        offer: whose list; its days were chosen with ``as_of``.
        use: what the request uses.
        at_hour: hour of the day, UTC; ``None`` = outside every window of hours.
        batch: sent as a batch.
    """
    prompt = use.input_tokens
    tokens = sum(
        (
            Decimal(repr(float(count))) * amount(offer, unit, prompt, at_hour, batch=batch)
            for unit, count in use.counts().items()
            if count
        ),
        Decimal(0),
    )
    return tokens / TOKENS + amount(offer, "requests", prompt, at_hour, batch=batch) / PER["requests"]


def edges(hours_utc: str) -> tuple[float, float]:
    """First and last hour of a window: ``"00:30-16:30"`` is 0.5 to 16.5."""
    start, end = hours_utc.split("-")
    return _hour(start), _hour(end)


def _hour(clock: str) -> float:
    hours, minutes = clock.split(":")
    return int(hours) + int(minutes) / 60


def within(hours_utc: str, hour_utc: float) -> bool:
    """Whether an hour lies in a window, which may cross midnight."""
    start, end = edges(hours_utc)
    return start <= hour_utc < end if start <= end else hour_utc >= start or hour_utc < end


def at(offer: ApiOffer, hour_utc: float) -> ApiOffer:
    """The same model at the price list of one hour of the day, as if it held at all hours."""
    rates = rates_of(offer)
    timed = [one for one in rates if one.hours_utc and not one.mode and within(one.hours_utc, hour_utc)]
    units = {one.unit for one in timed}
    others = [one for one in rates if one.mode or not (one.hours_utc or one.unit in units)]
    return replace(offer, rates=(*(replace(one, hours_utc="") for one in timed), *others))


def window_ratio(hours_utc: str, shares: Sequence[float]) -> float:
    """Share of the requests that arrives in a window; ``shares`` of each hour of the day, UTC; empty = even."""
    start, end = edges(hours_utc)
    spans = [(start, end)] if start <= end else [(start, float(HOURS)), (0.0, end)]
    weights = shares or (1 / HOURS,) * HOURS
    return sum(
        weight * max(0.0, min(hour + 1, last) - max(hour, first))
        for hour, weight in enumerate(weights)
        for first, last in spans
    )


def above_ratio(threshold_tokens: float, mean_tokens: float, spread_ratio: float) -> float:
    """Share of prompts longer than a threshold, their lengths log-normal: not whether the mean is."""
    if mean_tokens <= 0:
        return 0.0
    if spread_ratio <= 0 or threshold_tokens <= 0:
        return float(mean_tokens > threshold_tokens)
    middle = log(mean_tokens) - spread_ratio**2 / 2
    return 1 - _normal((log(threshold_tokens) - middle) / spread_ratio)


def above_token_ratio(threshold_tokens: float, mean_tokens: float, spread_ratio: float) -> float:
    """Share of all prompts' tokens that is in those longer than a threshold: E[L; L > t] / E[L]."""
    return above_ratio(threshold_tokens, mean_tokens * exp(spread_ratio**2), spread_ratio)


def _normal(score: float) -> float:
    return 0.5 * (1 + erf(score / sqrt(2)))
