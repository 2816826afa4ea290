"""What a decision says of an API's price: sources that disagree, names that move, ends, limits, and what is cached."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from cabida.choose.means import Means
from cabida.choose.worked import Worked
from cabida.facts import api_book
from cabida.facts.model import ApiOffer
from cabida.money import Plain, Terms, Usage, api_cached
from cabida.money.prices import api
from cabida.plan import Caution
from cabida.text import number, percent, tr
from cabida.units import S_PER_MONTH

DAYS_PER_MONTH = 365.0 / 12
S_PER_MINUTE = 60.0


def api_cautions(first: Worked, means: Means) -> Iterator[Caution]:
    """Of the first option, when it is somebody else's API; nothing of others."""
    offer, usage = first.candidate.api, first.usage
    if offer is None or not isinstance(usage, Usage):
        return
    yield from price_cautions(offer, means.terms)
    yield from use_cautions(offer, usage, means.terms, means.brief.traffic.requests_per_s_peak or 0.0)


def price_cautions(offer: ApiOffer, terms: Terms) -> Iterator[Caution]:
    """Two sources that disagree, a name that moves, a price that ends within the horizon."""
    for what, entry, out in offer.elsewhere:
        values = {"what": what, "input": entry, "output": out, "counted": offer.source.what}
        counted = {"own_input": str(offer.input_amount), "own_output": str(offer.output_amount)}
        yield Caution("CB-C140", tr("money.api.disagree", provider=offer.provider, **values, **counted))
    if api_book.is_moving(offer.model_name):
        yield Caution("CB-C141", tr("money.api.moving", name=offer.model_name, provider=offer.provider))
    if offer.until and offer.until <= _end(terms):
        values = {"provider": offer.provider, "name": offer.model_name, "until": offer.until}
        after = next((one for one in api_book.history(*_of(offer)) if one.effective == offer.until), None)
        if after is None:
            yield Caution("CB-C142", tr("money.api.ends", **values))
        elif (after.input_amount, after.output_amount) != (offer.input_amount, offer.output_amount):
            then = {"input": str(after.input_amount), "output": str(after.output_amount)}
            yield Caution("CB-C142", tr("money.api.ends_then", **values, **then, currency=after.currency))


def _of(offer: ApiOffer) -> tuple[str, str]:
    return offer.provider, offer.model_name


def _end(terms: Terms) -> str:
    """Last day of the horizon."""
    start = date.fromisoformat(terms.as_of)
    return (start + timedelta(days=terms.horizon_months * DAYS_PER_MONTH)).isoformat()


def use_cautions(
    offer: ApiOffer, usage: Usage, terms: Terms, peak_requests_per_s: float = 0.0
) -> Iterator[Caution]:
    """How much an account's limits must allow, and what of the prompts the provider keeps."""
    mean = usage.requests_per_month / float(S_PER_MONTH)
    peak = max(mean * max(usage.profile), peak_requests_per_s) * S_PER_MINUTE
    tokens = peak * (usage.input_tokens + usage.output_tokens)
    values = {"provider": offer.provider, "requests": number(peak), "tokens": number(tokens)}
    if not usage.batch:
        yield Caution("CB-C143", tr("money.api.limits", **values), "info")
    shared = usage.shared_prefix_tokens
    if not shared or offer.cached_input_amount is None:
        return
    rule = api_book.caching(offer.provider)
    prefix, hit = api_cached(Plain(terms), offer, usage)
    values = {"provider": offer.provider, "prefix": number(shared, 6), "least": number(rule.least_tokens, 6)}
    if not prefix:
        yield Caution("CB-C144", tr("money.api.too_short", **values), "info")
        return
    told = {"share": percent(hit), "minutes": number(rule.ttl_s / S_PER_MINUTE)}
    saved = api.cache_read_tokens.raw(prefix, hit) / usage.input_tokens
    key = "money.api.cached_assumed" if rule.source.grade == "assumed" else "money.api.cached"
    yield Caution("CB-C144", tr(key, **values, **told, saved=percent(saved)), "info")
