"""Whether promises about data, an API's limits, instalments, tests and leaving can hold together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import expm1, log1p

from cabida.procure.arithmetic import near
from cabida.procure.nouns import Finding
from cabida.procure.subject import Subject, amount, whole
from cabida.text import number, percent, tr


def governance(s: Subject) -> Iterator[Finding]:
    """What is done with data, and promises that undo each other."""
    q = s.quote
    if q.data_used_for_training:
        yield s.find("CB-Q192", "blocking", ("data_used_for_training",), kind="trap")
    if q.data_used_for_training is False and re.search(
        r"(improve|mejorar|train)[^.]{0,60}(model|service|servicio)", q.notes or "", re.IGNORECASE
    ):
        yield s.find("CB-Q193", "blocking", ("data_used_for_training", "notes"))
    if q.deletion_certificate and q.retention_days and q.retention_days > 365:
        yield s.find(
            "CB-Q194", "useful", ("deletion_certificate", "retention_days"), days=number(q.retention_days)
        )
    if q.key_management == "customer" and q.encryption_at_rest is False:
        yield s.find("CB-Q195", "blocking", ("key_management", "encryption_at_rest"))
    if q.isolation in ("container", "shared") and s.card is not None and q.root_access:
        yield s.find("CB-Q196", "important", ("isolation", "root_access"), isolation=q.isolation)
    if q.condition == "new" and any(
        _used(one.quoted or one.shown) for one in s.texts if one.field != "condition"
    ):
        yield s.find("CB-Q197", "blocking", ("condition",))


def _used(text: str) -> bool:
    return bool(
        re.search(
            r"\b(refurbished|second[- ]hand|pre-?owned|reacondicionad[oa]s?|segunda mano|used (gpu|card|unit))",
            text,
            re.IGNORECASE,
        )
    )


def apis(s: Subject) -> Iterator[Finding]:
    """Prices of tokens and limits that can't be together."""
    q = s.quote
    if s.purpose != "api":
        return
    cached, given, out = (
        q.cached_input_price_per_million_tokens, q.input_price_per_million_tokens, q.output_price_per_million_tokens,
    )  # fmt: skip
    if cached and given and cached.currency == given.currency and cached.value > given.value:
        yield s.find(
            "CB-Q198",
            "important",
            ("cached_input_price_per_million_tokens", "input_price_per_million_tokens"),
            cached=amount(cached),
            given=amount(given),
        )
    if out and given and out.currency == given.currency and out.value < given.value:
        yield s.find("CB-Q199", "useful", ("output_price_per_million_tokens", "input_price_per_million_tokens"),
                     out=amount(out), given=amount(given))  # fmt: skip
    if q.rate_limit_tokens_per_min and q.context_tokens and q.rate_limit_tokens_per_min < q.context_tokens:
        yield s.find("CB-Q200", "important", ("rate_limit_tokens_per_min", "context_tokens"),
                     limit=number(q.rate_limit_tokens_per_min, 7), context=number(q.context_tokens, 7))  # fmt: skip
    if q.rate_limit_tokens_per_min and q.rate_limit_requests_per_min:
        each = q.rate_limit_tokens_per_min / q.rate_limit_requests_per_min
        if each < 50:
            yield s.find("CB-Q201", "important", ("rate_limit_tokens_per_min", "rate_limit_requests_per_min"),
                         each=number(each), tokens=number(q.rate_limit_tokens_per_min, 7),
                         requests=number(q.rate_limit_requests_per_min, 7))  # fmt: skip
    if q.model and q.model_version_pinned and re.search(r"latest|preview|newest", q.model, re.IGNORECASE):
        yield s.find("CB-Q202", "important", ("model", "model_version_pinned"), model=q.model)


def financed(s: Subject) -> Iterator[Finding]:
    """A purchase paid in full up front, and financed."""
    q = s.quote
    if q.financing_months and q.upfront_ratio and near(q.upfront_ratio, 1.0):
        yield s.find(
            "CB-Q203", "important", ("financing_months", "upfront_ratio"), months=number(q.financing_months)
        )
    yield from _financing(s)
    if q.buy_back_ratio and q.condition == "used" and q.buy_back_ratio > 0.8:
        yield s.find("CB-Q204", "useful", ("buy_back_ratio",), part=percent(q.buy_back_ratio, 2))


def _financing(s: Subject) -> Iterator[Finding]:
    """What is paid ahead and the instalments against the price: the annuity of the rate said, or the price itself."""
    q = s.quote
    price, each, months = q.total_price, q.monthly_price, q.financing_months
    if price is None or each is None or not months or price.currency != each.currency:
        return
    ahead = (q.upfront_ratio or 0.0) * float(price.value)
    paid = ahead + float(each.value) * months
    rate = (q.financing_rate_per_year or 0.0) / 12
    lent = float(price.value) - ahead
    worth_ratio = -expm1(-months * log1p(rate)) if rate > 0 else 0.0  # interest too small to be any is none
    due = ahead + (lent * rate * months / worth_ratio if worth_ratio else lent)
    if near(paid, due, 0.01):
        return
    yield s.find(
        "CB-Q205",
        "blocking",
        ("upfront_ratio", "monthly_price", "financing_months", "total_price", "financing_rate_per_year"),
        ahead=whole(ahead),
        months=number(months),
        each=amount(each),
        paid=whole(paid),
        price=amount(price),
        due=whole(due),
        currency=price.currency,
        more=percent(paid / float(price.value) - 1, 3) if price.value else tr("procure.unknown"),
        rate=percent(q.financing_rate_per_year, 3)
        if q.financing_rate_per_year is not None
        else tr("procure.unknown"),
    )


def untested(s: Subject) -> Iterator[Finding]:
    """Neither a test of acceptance nor a burn-in, and money paid before either could fail."""
    q = s.quote
    test = (q.acceptance_test or "").strip().lower()
    refused = test in ("none", "no", "ninguna", "ninguno", "sin prueba", "not included") or (
        q.acceptance_test is None and q.acceptance_days == 0
    )
    if refused and not q.burn_in_days and s.purpose != "api":
        ahead = percent(q.upfront_ratio, 3) if q.upfront_ratio is not None else tr("procure.unknown")
        yield s.find(
            "CB-Q206",
            "important",
            ("acceptance_test", "burn_in_days", "upfront_ratio"),
            kind="trap",
            ahead=ahead,
        )


def leaving(s: Subject) -> Iterator[Finding]:
    """An exit that costs all that is left is none."""
    q = s.quote
    if q.early_exit_fee_ratio is not None and 0.999 <= q.early_exit_fee_ratio <= 1:
        yield s.find(
            "CB-Q209",
            "important",
            ("early_exit_fee_ratio", "term_months", "minimum_term_months"),
            kind="trap",
            part=percent(q.early_exit_fee_ratio, 3),
            months=number(s.term_months) if s.term_months else tr("procure.unknown"),
        )


RULES = (governance, apis, financed, untested, leaving)
