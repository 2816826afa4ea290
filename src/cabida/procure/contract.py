"""Whether an offer's terms agree with each other: dates, tax, billing, what is included, renewal and exit, data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta

from cabida.procure.nouns import Finding
from cabida.procure.subject import Subject, amount, shown, title_of
from cabida.text import number, percent, tr
from cabida.units import HOURS_PER_MONTH, S_PER_HOUR

LONGEST_VALID_DAYS = 400
DEARER_RATIO = 1.25  # more use at a quarter more an hour is asked about
HOURS_PER_MONTH_F = float(HOURS_PER_MONTH)
EU = frozenset(
    [
        "AT",
        "BE",
        "BG",
        "HR",
        "CY",
        "CZ",
        "DK",
        "EE",
        "FI",
        "FR",
        "DE",
        "GR",
        "HU",
        "IE",
        "IT",
        "LV",
        "LT",
        "LU",
        "MT",
        "NL",
        "PL",
        "PT",
        "RO",
        "SK",
        "SI",
        "ES",
        "SE",
    ]
)
_EU_WORDS = re.compile(r"\b(EU|UE|EEA|EEE|European Union|Unión Europea|Europe|Europa)\b")
# place in a region's name -> ISO country, for telling two places apart
PLACES = {
    "madrid": "ES", "spain": "ES", "españa": "ES", "barcelona": "ES", "paris": "FR", "parís": "FR", "france": "FR",
    "francia": "FR", "frankfurt": "DE", "germany": "DE", "alemania": "DE", "berlin": "DE", "munich": "DE",
    "dublin": "IE", "ireland": "IE", "irlanda": "IE", "amsterdam": "NL", "netherlands": "NL", "stockholm": "SE",
    "sweden": "SE", "helsinki": "FI", "finland": "FI", "milan": "IT", "milán": "IT", "italy": "IT", "lisbon": "PT",
    "lisboa": "PT", "portugal": "PT", "warsaw": "PL", "london": "GB", "londres": "GB", "oslo": "NO", "norway": "NO",
    "zurich": "CH", "switzerland": "CH", "reykjavik": "IS", "iceland": "IS", "virginia": "US", "ohio": "US",
    "oregon": "US", "texas": "US", "dallas": "US", "california": "US", "us-east": "US", "us-west": "US",
    "us-central": "US", "usa": "US", "united states": "US", "estados unidos": "US", "montreal": "CA", "toronto": "CA",
    "canada": "CA", "querétaro": "MX", "queretaro": "MX", "mexico": "MX", "méxico": "MX", "são paulo": "BR",
    "sao paulo": "BR", "brazil": "BR", "tokyo": "JP", "japan": "JP", "singapore": "SG", "mumbai": "IN", "india": "IN",
    "sydney": "AU", "eu-west-1": "IE", "eu-central-1": "DE", "eu-west-3": "FR", "eu-south-2": "ES",
}  # fmt: skip
KNOWN_CODES = frozenset(PLACES.values()) | EU
_FREE = r"(?:free|no charge|at no cost|included|gratis|sin coste|sin costo|incluid[oa]s?)"
INCLUDED = {  # words of "included" -> the price that contradicts them
    "storage_price_per_gb_month": r"storage|almacenamiento|disk",
    "egress_price_per_gb": r"egress|outbound|traffic|transfer|salida|tráfico|transferencia",
    "ingress_price_per_gb": r"ingress|inbound|entrada",
    "support_fee_per_month": r"support|soporte",
    "support_price_per_year": r"support|soporte",
    "setup_fee": r"set-?up|install|onboarding|puesta en marcha|instalación|alta",
    "public_ip_price_per_month": r"\bip\b|ips\b|public ip|ip pública",
    "licence_price_per_gpu_year": r"licen[cs]|enterprise|licencia",
}


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


def dates(s: Subject) -> Iterator[Finding]:
    """Expired, inverted, issued tomorrow, delivered before the order can be."""
    q = s.quote
    issued, expires, delivery, today = map(_day, (q.issued, q.expires, q.delivery_date, s.as_of))
    if issued and expires and expires < issued:
        yield s.find("CB-Q160", "blocking", ("issued", "expires"), issued=q.issued, expires=q.expires)
    elif expires and today and expires < today:
        yield s.find("CB-Q161", "blocking", ("expires",), expires=q.expires, days=number((today - expires).days, 6),
                     as_of=s.as_of)  # fmt: skip
    elif issued and expires and (expires - issued).days > LONGEST_VALID_DAYS:
        yield s.find("CB-Q162", "useful", ("issued", "expires"), days=number((expires - issued).days, 6))
    if issued and today and issued > today:
        yield s.find("CB-Q163", "important", ("issued",), issued=q.issued, as_of=s.as_of)
    if delivery and issued and delivery < issued:
        yield s.find(
            "CB-Q164", "blocking", ("delivery_date", "issued"), delivery=q.delivery_date, issued=q.issued
        )
    elif delivery and issued and q.lead_time_days and (delivery - issued).days < q.lead_time_days:
        ready = issued + timedelta(
            days=min(q.lead_time_days, (date.max - issued).days)
        )  # as far as calendars go
        yield s.find("CB-Q165", "blocking", ("delivery_date", "lead_time_days", "issued"),
                         delivery=q.delivery_date, lead=number(q.lead_time_days, 5), issued=q.issued,
                         ready=ready.isoformat())  # fmt: skip


_TAX = r"(vat|tax(?:es)?|iva|impuestos?)"
_TAX_OUT = re.compile(
    rf"(excl\w*\.?|plus|sin|más|\+|not? includ\w*|no inclu\w*)\s+(?:el |los )?{_TAX}\b|"
    rf"\b{_TAX}\s*(is |are |está |están )?(excl|not incl|no inclu|aparte)",
    re.IGNORECASE,
)
_TAX_IN = re.compile(
    rf"(?<!not )(?<!no )\binclu?\w*\.?\s+(?:el |los )?{_TAX}\b|\b{_TAX}\s*(is |are |está |están )?inclu",
    re.IGNORECASE,
)


def tax(s: Subject) -> Iterator[Finding]:
    """Tax said to be in and out at once, or in without a rate."""
    q = s.quote
    if q.tax_treatment == "included" and q.tax_ratio is None:
        yield s.find("CB-Q166", "important", ("tax_treatment",))
    if q.tax_treatment in ("exempt", "reverse_charge") and q.tax_ratio:
        yield s.find("CB-Q167", "important", ("tax_treatment", "tax_ratio"), rate=percent(q.tax_ratio, 3),
                     said=tr(f"procure.choice.{q.tax_treatment}"))  # fmt: skip
    words = {"excluded": _TAX_OUT, "included": _TAX_IN}
    for read in s.texts:
        text = read.quoted or read.shown
        for said, pattern in words.items():
            if q.tax_treatment in words and q.tax_treatment != said and pattern.search(text):
                yield s.find(
                    "CB-Q168",
                    "blocking",
                    ("tax_treatment",),
                    read,
                    field=tr(f"procure.choice.{q.tax_treatment}"),
                    text=tr(f"procure.choice.{said}"),
                )
                return


def billing(s: Subject) -> Iterator[Finding]:
    """Granularity against terms, the day billing starts, payment ahead."""
    q = s.quote
    least_s = (q.minimum_term_months or 0) * HOURS_PER_MONTH_F * float(S_PER_HOUR)
    fine_steps = q.billing_granularity_s and q.billing_granularity_s <= float(S_PER_HOUR)
    if fine_steps and least_s >= 28 * 86400 and s.purpose == "rent":
        yield s.find(
            "CB-Q170",
            "useful",
            ("billing_granularity_s", "minimum_term_months"),
            each=shown("billing_granularity_s", q.billing_granularity_s or 0.0),
            months=number(q.minimum_term_months or 0),
        )
    if q.billing_granularity_s and least_s and q.billing_granularity_s > least_s * 1.05:
        yield s.find(
            "CB-Q171",
            "important",
            ("billing_granularity_s", "minimum_term_months"),
            each=number(q.billing_granularity_s / 86400),
            months=number(q.minimum_term_months or 0),
        )
    hourly = (q.unit or "").endswith("_hour")
    if hourly and q.billing_granularity_s and q.billing_granularity_s > float(S_PER_HOUR) * 1.01:
        yield s.find("CB-Q172", "important", ("billing_granularity_s", "unit"), kind="trap",
                     hours=number(q.billing_granularity_s / float(S_PER_HOUR)))  # fmt: skip
    if q.billing_start in ("signature", "delivery") and s.purpose != "api":
        tested = q.acceptance_test not in (None, "none") or bool(q.acceptance_days)
        days = number(q.lead_time_days or 0, 5)
        lead = tr("procure.lead_days", days=days) if q.lead_time_days else tr("procure.unknown")
        yield s.find(
            "CB-Q173" if tested else "CB-Q174",
            "important",
            ("billing_start", "acceptance_test", "lead_time_days"),
            kind="contradiction" if tested else "trap",
            start=tr(f"procure.choice.{q.billing_start}"),
            lead=lead,
        )
    if q.upfront_ratio and q.upfront_ratio >= 0.999 and q.payment_terms_days:
        yield s.find("CB-Q175", "important", ("upfront_ratio", "payment_terms_days"),
                     days=number(q.payment_terms_days))  # fmt: skip
    if (
        q.idle_billing is False
        and (q.term_months or 0) >= 1
        and (q.total_commit or q.minimum_commit_per_month)
    ):
        yield s.find("CB-Q176", "important", ("idle_billing", "total_commit", "minimum_commit_per_month"))
    if q.early_exit_fee_ratio == 0 and q.total_commit and not q.early_exit_fee:
        yield s.find(
            "CB-Q177", "important", ("early_exit_fee_ratio", "total_commit"), total=amount(q.total_commit)
        )
    fee, total = q.early_exit_fee, q.total_commit
    if fee and total and fee.currency == total.currency and fee.value > total.value:
        yield s.find(
            "CB-Q178", "blocking", ("early_exit_fee", "total_commit"), fee=amount(fee), total=amount(total)
        )


def included(s: Subject) -> Iterator[Finding]:
    """Included, and priced."""
    q = s.quote
    said = " · ".join(q.includes or ()).lower()
    texts = [(one, (one.quoted or one.shown).lower()) for one in s.texts]
    for name, pattern in INCLUDED.items():
        price = s.get(name)
        if price is None or price.value <= 0:
            continue
        if re.search(pattern, said):
            yield s.find(
                "CB-Q180", "blocking", ("includes", name), title=title_of(name), price=shown(name, price)
            )
            continue
        for read, text in texts:
            if read.field in (name, "includes"):
                continue
            told = re.search(rf"{_FREE}[^.;]{{0,40}}({pattern})|({pattern})[^.;]{{0,30}}{_FREE}", text)
            if told and not re.search(r"\bnot included|no inclu", text):
                yield s.find(
                    "CB-Q180", "blocking", (name,), read, title=title_of(name), price=shown(name, price)
                )
                break
    for item in q.items:
        priced = item.total or item.unit_price
        if priced is not None and priced.value > 0 and re.search(r"\b(included|incluid[oa]|free of charge|gratis)\b",
                                                                  item.what, re.IGNORECASE):  # fmt: skip
            yield s.find("CB-Q181", "important", (), s.item_read(item), what=item.what, price=amount(priced))


_FINANCED = re.compile(
    r"(?:financ\w+|leas\w+|renting)[^.;\d]{0,40}?(\d+)\s*(months?|meses|years?|años?)", re.IGNORECASE
)


def renewal(s: Subject) -> Iterator[Finding]:
    """A renewal that needs more notice than there is, or names none; a warranty shorter than the term."""
    q = s.quote
    if q.auto_renewal and q.renewal_notice_days is None:
        yield s.find("CB-Q182", "important", ("auto_renewal",), kind="trap")
    if q.renewal_notice_days and q.term_months and q.renewal_notice_days > q.term_months * 30.4:
        yield s.find("CB-Q183", "blocking", ("renewal_notice_days", "term_months"), days=number(q.renewal_notice_days),
                     months=number(q.term_months))  # fmt: skip
    elif q.auto_renewal and q.renewal_notice_days and q.renewal_notice_days >= 90:
        yield s.find("CB-Q184", "important", ("auto_renewal", "renewal_notice_days"), kind="trap",
                     days=number(q.renewal_notice_days))  # fmt: skip
    lasts = {
        "term_months": q.term_months, "financing_months": q.financing_months, "buy_back_months": q.buy_back_months,
    }  # fmt: skip
    told = None
    if not q.financing_months:  # said in a sentence only
        told = next((one for one in s.texts if _FINANCED.search(one.quoted or one.shown)), None)
        found = _FINANCED.search(told.quoted or told.shown) if told else None
        lasts["financing_months"] = (
            float(found[1]) * (12 if found[2].lower()[0] in "ya" else 1) if found else None
        )
    for name, months in lasts.items():
        if q.warranty_months is not None and months and q.warranty_months < months:
            yield s.find(
                "CB-Q185",
                "important",
                ("warranty_months", name),
                *([told] if told and not s.get(name) else []),
                warranty=number(q.warranty_months),
                months=number(months),
                what=title_of(name),
            )
            break
    if (
        q.price_adjustment_clause
        and q.price_adjustment_limit_ratio_per_year is None
        and not is_fixed(q.price_adjustment_clause)
    ):
        yield s.find("CB-Q186", "important", ("price_adjustment_clause",), kind="trap",
                     clause=q.price_adjustment_clause[:200])  # fmt: skip
    limit = q.price_adjustment_limit_ratio_per_year
    if limit and q.price_adjustment_clause and is_fixed(q.price_adjustment_clause):
        yield s.find("CB-Q187", "blocking", ("price_adjustment_clause", "price_adjustment_limit_ratio_per_year"),
                     clause=q.price_adjustment_clause[:200], limit=percent(limit, 3))  # fmt: skip
    for name in ("overage_unit_price", "expansion_unit_price"):
        other = s.get(name)
        if (
            other
            and q.unit_price
            and other.currency == q.unit_price.currency
            and float(other.value) > DEARER_RATIO * float(q.unit_price.value)
        ):
            yield s.find("CB-Q188", "useful", (name, "unit_price"), kind="trap", title=title_of(name),
                         other=amount(other), price=amount(q.unit_price),
                         more=percent(float(other.value / q.unit_price.value) - 1, 2))  # fmt: skip


def is_fixed(clause: str) -> bool:
    """Whether a clause about the price says that it stays."""
    return bool(
        re.search(
            r"\b(none|fixed|firm|no (price )?(change|adjustment|increase)|fij[oa]s?|ningun[oa]|"
            r"sin (revisión|ajuste)|firme)\b",
            clause,
            re.IGNORECASE,
        )
    )


def _code_in(text: str) -> str:
    """The country of the longest place named in ``text``; "" for none."""
    low = text.lower()
    named = [word for word in PLACES if re.search(rf"(?<![a-zà-ÿ]){re.escape(word)}(?![a-zà-ÿ])", low)]
    if named:
        return PLACES[max(named, key=len)]
    codes = re.findall(r"\b([A-Z]{2})\b", text)
    return next((one for one in codes if one in KNOWN_CODES), "")


def country_of(s: Subject) -> str:
    """ISO code of where the machines stand; "" where nobody can tell."""
    country = (s.quote.country or "").strip()
    if len(country) == 2 and country.upper() != "EU":
        return country.upper()
    return _code_in(country) or _code_in(s.quote.region or "")


def places(s: Subject) -> Iterator[Finding]:
    """The region's country, the country said, and where data must stay."""
    q = s.quote
    region = _code_in(q.region or "")
    country = (q.country or "").strip()
    country = country.upper() if len(country) == 2 and country.upper() != "EU" else _code_in(country)
    if region and country and region != country:
        yield s.find(
            "CB-Q190", "blocking", ("region", "country"), region=q.region, country=q.country, found=region
        )
    here, kept = country or region, q.data_residency or ""
    kept_at = _code_in(kept)
    elsewhere = kept_at != here if kept_at else bool(_EU_WORDS.search(kept)) and here not in EU
    if here and elsewhere:
        yield s.find("CB-Q191", "blocking", ("data_residency", "region", "country"), kept=kept, here=here)


RULES = (dates, tax, billing, included, renewal, places)
