"""Whether an offer's amounts have one currency, and its shares are shares."""

from __future__ import annotations

from collections.abc import Iterator

from cabida.procure.nouns import Finding
from cabida.procure.subject import Subject, amount, shown, title_of
from cabida.text import tr

MONEY_FIELDS = (
    "unit_price", "monthly_price", "total_price", "list_unit_price", "minimum_commit_per_month", "total_commit",
    "early_exit_fee", "expansion_unit_price", "overage_unit_price", "egress_price_per_gb", "ingress_price_per_gb",
    "storage_price_per_gb_month", "public_ip_price_per_month", "credits", "setup_fee", "support_fee_per_month",
    "input_price_per_million_tokens", "output_price_per_million_tokens", "cached_input_price_per_million_tokens",
    "licence_price_per_gpu_year", "support_price_per_year",
)  # fmt: skip


def currencies(s: Subject) -> Iterator[Finding]:
    """One currency for all amounts."""
    found: dict[str, list[str]] = {}
    for name in MONEY_FIELDS:
        value = s.get(name)
        if value is not None and value.currency:
            found.setdefault(value.currency.upper(), []).append(name)
    for item in s.quote.items:
        for value in (item.unit_price, item.total):
            if value is not None and value.currency:
                found.setdefault(value.currency.upper(), [])
    if s.quote.currency:
        found.setdefault(s.quote.currency.upper(), []).append("currency")
    if len(found) > 1:
        fields = tuple(name for names in found.values() for name in names[:2])
        listed = "; ".join(
            f"{code}: {', '.join(title_of(name) for name in names[:4]) or tr('procure.template.items')}"
            for code, names in sorted(found.items())
        )
        yield s.find("CB-Q112", "blocking", fields, listed=listed, count=len(found),
                     codes=", ".join(sorted(found)))  # fmt: skip


def unnamed_currency(s: Subject) -> Iterator[Finding]:
    """Amounts without a currency, and none for the whole."""
    bare = [name for name in MONEY_FIELDS if (value := s.get(name)) is not None and not value.currency]
    if bare and not s.quote.currency:
        listed = ", ".join(f"{title_of(name)} {amount(s.get(name))}" for name in bare[:6])
        yield s.find("CB-Q119", "blocking", tuple(bare[:6]), listed=listed)


def ratios(s: Subject) -> Iterator[Finding]:
    """Shares beyond the whole."""
    names = (
        "upfront_ratio", "discount_ratio", "uptime_ratio", "credit_cap_ratio", "goodput_ratio", "early_exit_fee_ratio",
        "buy_back_ratio", "batch_discount_ratio", "tax_ratio",
    )  # fmt: skip
    for name in names:
        value = s.get(name)
        if value is not None and not 0 <= value <= 1:
            yield s.find("CB-Q117", "blocking", (name,), title=title_of(name), value=shown(name, value))
    for one in s.quote.credit_ladder or ():
        if not 0 <= one.credit_ratio <= 1 or not 0 <= one.below_ratio <= 1:
            yield s.find("CB-Q117", "blocking", ("credit_ladder",), title=title_of("credit_ladder"),
                         value=shown("credit_ladder", (one,)))  # fmt: skip


RULES = (currencies, unnamed_currency, ratios)
