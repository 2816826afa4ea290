"""What a month behind each provider's API costs for one use, part by part; from which volume one's own is cheaper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cabida import money
from cabida.choose.api_told import price_cautions, use_cautions
from cabida.choose.ask import hours_utc
from cabida.errors import InvalidInput
from cabida.evidence import book
from cabida.facts import api_book
from cabida.facts.model import ApiOffer
from cabida.facts.names import name_key
from cabida.money.bills import unit
from cabida.money.bills.service_api import api_cached, by_batch, mean_price, request_money
from cabida.money.prices import api, api_list
from cabida.plan import Caution, Estimate
from cabida.text import closest, number, problem, tr

PARTS = ("input", "cache_read", "cache_write", "output", "fee", "repeats", "around")


def api_prices(
    model: str,
    usage: money.Usage,
    *,
    provider: str = "",
    currency: str = "USD",
    as_of: str,
    own_money_per_month: float | None = None,
) -> dict[str, Any]:
    """Providers of a model by what ``usage`` really costs at each, cheapest first.

    Args:
        model: id in the catalogue, or a name that a provider uses.
        usage: a month: requests, lengths, hours, shared prefix, failures and tries.
        provider: only those whose name contains it.
        currency: of all amounts.
        as_of: ISO date; prices that began or were seen later don't exist.
        own_money_per_month: what a month of one's own service costs, for the volume from which it is cheaper.

    Returns:
        ``rows`` (one a provider), ``other_units`` (prices not by the token), ``source`` (the price book's version).

    Raises:
        InvalidInput: CB-U085, nobody's API is known to sell it; CB-F006, a currency without a rate.
    """
    terms = money.terms(currency, as_of=as_of)
    known = api_book.sold(book.current_api_offers(as_of))
    offers = [one for one in api_book.named(known, model) if provider.lower() in one.provider.lower()]
    other = [
        row for row in api_book.by_other_units(name_key(model), as_of) if provider.lower() in row[0].lower()
    ]
    if not offers and not other:
        names = [one.model_name.rpartition("/")[2] for one in known] + [one.model for one in known]
        near = closest(name_key(model), names)
        refused = problem("CB-U085", name=model[:80], near=near)
        raise InvalidInput([refused if near else replace(refused, why="")])
    rows = [_row(one, model, usage, terms, own_money_per_month) for one in offers]
    rows.sort(key=lambda row: (row["cost_per_month_money"].value, row["provider"]))
    return {
        "model": model,
        "as_of": as_of,
        "currency": currency,
        "requests_per_month": usage.requests_per_month,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "shared_prefix_tokens": usage.shared_prefix_tokens or 0.0,
        "batch": usage.batch,
        "own_money_per_month": own_money_per_month,
        "rows": rows,
        "other_units": [
            {
                "provider": who,
                "model": name,
                "unit": rate.unit,
                "amount": float(rate.amount),
                "batch": bool(rate.mode),
            }
            for who, name, rate in other
        ],
        "source": api_book.version(),
    }


def _row(
    offer: ApiOffer, asked: str, usage: money.Usage, terms: money.Terms, own: float | None
) -> dict[str, Any]:
    cost = money.api_cost(offer, usage, terms)
    scale = cost.accepted_per_month
    whole = Estimate(
        cost.per_month_money, cost.per_accepted_low * scale, cost.per_accepted_high * scale, "formula"
    )
    parts = parts_of(offer, usage, terms, cost)
    told = [*price_cautions(offer, terms), *use_cautions(offer, usage, terms)]
    if api_book.is_moving(asked) and not api_book.is_moving(offer.model_name):
        values = {"name": asked, "id": offer.model_name, "provider": offer.provider}
        told.insert(0, Caution("CB-C141", tr("money.api.resolves", **values)))
    prefix, hit = api_cached(money.Plain(terms), offer, usage)
    row: dict[str, Any] = {
        "provider": offer.provider,
        "model": offer.model_name,
        "model_id": offer.model,
        "seen": offer.seen,
        "effective": offer.effective,
        "until": offer.until,
        "batch": by_batch(offer, usage),
        "prices": {
            name: mean_price(money.Plain(terms), offer, name, usage)
            for name in ("input", "cache_read", "cache_write", "output")
        },
        "listed": [
            {
                "unit": rate.unit,
                "amount": float(rate.amount),
                "above_tokens": rate.above_tokens,
                "hours_utc": rate.hours_utc,
                "mode": rate.mode,
            }
            for rate in api_list.rates_of(offer)
        ],
        "listed_currency": offer.currency,
        "cached_ratio": prefix * hit / usage.input_tokens if usage.input_tokens else 0.0,
        "cost_per_month_money": whole,
        "accepted_answer_money": Estimate(
            cost.per_accepted_money, cost.per_accepted_low, cost.per_accepted_high, "formula"
        ),
        "parts": parts,
        "disagrees": [
            {"source": what, "input_amount": float(entry), "output_amount": float(out)}
            for what, entry, out in offer.elsewhere
        ],
        "cautions": [{"code": one.code, "sentence": one.sentence, "severity": one.severity} for one in told],
        "notes": offer.notes,
        "source": {"what": offer.source.what, "url": offer.source.url, "seen": offer.source.seen},
    }
    if own is not None:
        row["break_even_requests_per_month"] = break_even(offer, usage, terms, own)
    return row


def parts_of(offer: ApiOffer, usage: money.Usage, terms: money.Terms, cost: money.Cost) -> dict[str, float]:
    """A month's bill by what is charged: they make the whole.

    First attempts by kind of token; ``repeats`` holds further attempts, less what failed ones are not charged;
    ``around`` the gateway and the people.
    """
    plain = money.Plain(terms)
    prefix, hit = api_cached(plain, offer, usage)
    read, written = api.cache_read_tokens.raw(prefix, hit), api.cache_written_tokens.raw(prefix, hit)
    tokens = {
        "input": usage.input_tokens - read - written,
        "cache_read": read,
        "cache_write": written,
        "output": usage.output_tokens,
    }
    month = usage.requests_per_month / 1e6
    parts = {name: month * count * mean_price(plain, offer, name, usage) for name, count in tokens.items()}
    parts["fee"] = usage.requests_per_month * request_money(plain, offer, usage) - sum(parts.values())
    paid = cost.line("compute") + cost.line("retries_waste")
    parts["repeats"] = paid - sum(parts.values())
    parts["around"] = cost.per_month_money - paid
    return {name: 0.0 if abs(value) < 1e-9 * cost.per_month_money else value for name, value in parts.items()}


def break_even(offer: ApiOffer, usage: money.Usage, terms: money.Terms, own_money_per_month: float) -> float:
    """Requests a month from which one's own service, at so much a month, costs less than this API.

    Its bill is taken as fixed and large enough for that volume; the API's is gateway and people, and a price for each
    request with its repeats. At or below zero one's own is never dearer.
    """
    cost = money.api_cost(offer, usage, terms)
    paid = cost.line("compute") + cost.line("retries_waste")
    each = paid / usage.requests_per_month
    review = usage.review_money_per_output * unit.coverage_ratio.raw(
        usage.acceptance_ratio, usage.tries_count
    )
    fixed = cost.per_month_money - paid - review * usage.requests_per_month
    return float(api.break_even_requests_per_month.raw(own_money_per_month, fixed, each, 0.0))


def usage_of(
    requests_per_month: float,
    input_tokens: float,
    output_tokens: float,
    *,
    prefix_tokens: float = 0.0,
    reasoning_tokens: float = 0.0,
    input_p95: float | None = None,
    profile: Sequence[float] | None = None,
    timezone: str = "",
    failures: float = 0.0,
    acceptance: float = 1.0,
    retries: int = 0,
    batch: bool = False,
) -> money.Usage:
    """A month of an API's use, as the command and the function say it.

    Raises:
        InvalidInput: CB-U086, a part is longer than the whole; CB-U087, no such timezone.
    """
    faults = [
        problem("CB-U086", part=part, whole=whole)
        for part, whole, more in (
            ("prefix-tokens", "input-tokens", prefix_tokens > input_tokens),
            ("reasoning-tokens", "output-tokens", reasoning_tokens > output_tokens),
        )
        if more
    ]
    if input_p95 is not None and input_p95 < input_tokens:
        faults.append(
            problem(
                "CB-U054",
                one="--input-tokens",
                value=number(input_tokens),
                other="--input-p95",
                most=number(input_p95),
            )
        )
    if not input_tokens and not output_tokens:
        faults.append(problem("CB-U050", one="--input-tokens 0", other="--output-tokens"))
    if timezone and not _known(timezone):
        faults.append(problem("CB-U087", zone=timezone[:60]))
    if faults:
        raise InvalidInput(faults)
    plain = money.Usage(
        requests_per_month=requests_per_month,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        acceptance_ratio=acceptance,
        failure_ratio=failures,
        tries_count=1.0 + retries,
        batch=batch,
        shared_prefix_tokens=prefix_tokens,
        reasoning_tokens=reasoning_tokens,
    )
    if input_p95 is not None:
        from cabida.brief.lengths import spread_of

        plain = replace(plain, input_spread_ratio=spread_of({"mean": input_tokens, "p95": input_p95}))
    if profile is not None:
        plain = replace(plain, profile=tuple(profile), hours_utc=hours_utc(tuple(profile), timezone))
    return plain


def _known(timezone: str) -> bool:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
