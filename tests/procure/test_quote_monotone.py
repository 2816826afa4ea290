"""Saying less never makes an offer look better, asking more of it never makes it cheaper, and blanks are never zero."""

from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.evidence.quotes import FIELDS, Amount, Credit, Quote, read_quote
from cabida.procure import audit, compare, letter
from cabida.procure.known import answered, completeness, data, gaps
from cabida.procure.letter import plain, questions
from cabida.procure.nouns import Finding
from cabida.procure.subject import Subject

FOLDER = Path(__file__).parent / "quotes"
HONEST = read_quote(FOLDER / "13-meridian-complete.yaml")
DAY = "2026-12-01"
PURPOSES = ("rent", "reserve", "buy", "api", "cluster")
NAMES = [one.name for one in FIELDS if one.name != "purpose"]
KNOWN = {"utilisation_ratio": 0.5, "stored_gb": 10_000.0, "egress_gb_per_month": 1000.0, "staff_count": 1.0}


def some(field):
    """A value of a field that says something."""
    of = {
        "text": "said", "list": ("said",), "flag": True, "date": "2026-11-01", "whole": 8, "number": 12.0,
        "ratio": 0.5, "money": Amount(Decimal(3), "USD"), "ladder": (Credit(0.99, 0.1),),
    }  # fmt: skip
    return field.choices[0] if field.choices else of[field.kind]


SOME = {one.name: some(one) for one in FIELDS}


def usd(value):
    return Amount(Decimal(value), "USD")


@given(st.sets(st.sampled_from(NAMES)), st.sampled_from(NAMES), st.sampled_from(PURPOSES))
def test_a_blank_never_makes_an_offer_more_complete(said, name, purpose):
    quote = Quote(purpose=purpose, **{one: SOME[one] for one in said | {name}})
    full, less = (completeness(Subject(one, DAY)) for one in (quote, replace(quote, **{name: None})))
    assert less.score_ratio <= full.score_ratio
    assert less.asked == full.asked
    assert all(less.said[severity] <= full.said[severity] for severity in less.said)


def test_an_offer_that_says_nothing_but_its_purpose_has_said_that():
    found = completeness(Subject(Quote(purpose="rent"), DAY))
    assert found.said == {"blocking": 0, "important": 1, "useful": 0}
    weights = data()["weights"]
    whole = sum(weights[severity] * count for severity, count in found.asked.items())
    assert found.score_ratio == pytest.approx(weights["important"] / whole)


def test_fields_count_by_what_it_costs_not_to_know_them():
    """One that blocks weighs five, one that matters two, a useful one one; what is no and nothing is said too."""
    full = completeness(Subject(HONEST, DAY))
    whole = 5 * full.asked["blocking"] + 2 * full.asked["important"] + full.asked["useful"]
    for field in FIELDS:
        if getattr(HONEST, field.name) is None or field.name == "purpose":
            continue
        bare = Subject(replace(HONEST, **{field.name: None}), DAY)
        lost = sum(
            {"blocking": 5, "important": 2, "useful": 1, "": 0}[one.severity("reserve")]
            for one in FIELDS
            if answered(Subject(HONEST, DAY), one.name) and not answered(bare, one.name)
        )
        assert completeness(bare).score_ratio == pytest.approx(1 - lost / whole), field.name
    no = Quote(purpose="rent", auto_renewal=False, setup_fee=usd(0))
    assert {"auto_renewal", "setup_fee"}.isdisjoint(one.field for one in gaps(Subject(no, DAY)))


@pytest.mark.parametrize("purpose", PURPOSES)
def test_every_missing_field_that_blocks_is_asked_for(purpose):
    asked = [one for one in FIELDS if one.severity(purpose) == "blocking"]
    assert len(asked) >= 5
    for field in asked:
        quote = Quote(purpose=purpose, **{one.name: SOME[one.name] for one in asked if one is not field})
        made = audit(quote, DAY)
        open_ = {one.field: one for one in made.gaps if one.severity == "blocking"}
        if field.name not in open_:  # something said answers it
            assert any(rule for rule in data()["answered_by"].get(field.name, ())), field.name
            continue
        assert made.verdict == "blocked"
        assert open_[field.name].question in questions(made)["blocking"]
        assert plain(open_[field.name].question) in letter(made)


def test_the_letter_of_an_empty_offer_asks_for_all_that_blocks():
    for purpose in PURPOSES:
        made = audit(Quote(purpose=purpose), DAY)
        text = letter(made)
        missing = [one for one in made.gaps if one.severity == "blocking"]
        assert len(missing) == made.completeness.asked["blocking"]
        assert all(plain(one.question) in text for one in missing)


PRICES = {  # field of an offer -> the line of a month's cost that it is in
    "unit_price": "compute", "storage_price_per_gb_month": "storage", "egress_price_per_gb": "egress",
    "support_fee_per_month": "support", "setup_fee": "setup", "licence_price_per_gpu_year": "licence",
}  # fmt: skip


def priced(purpose, **said):
    base = {
        "accelerator": "H100", "form_factor": "SXM", "accelerators_count": 16, "accelerators_per_node_count": 8,
        "currency": "USD", "unit": "system" if purpose == "buy" else "gpu_hour", "term_months": 12.0,
        "purpose": purpose,
    }  # fmt: skip
    return Quote(**{**base, **said})


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(sorted(PRICES)), st.decimals("0.01", "1e5", places=2), st.decimals("1.05", "20", places=2),
    st.sampled_from(("rent", "reserve", "buy")), st.sampled_from(("excluded", "included")),
)  # fmt: skip
def test_a_dearer_price_never_makes_an_offer_cheaper(name, value, times, purpose, tax):
    said = {one: usd(10) for one in PRICES} | {name: usd(value), "tax_treatment": tax, "tax_ratio": 0.21}
    cheap = audit(priced(purpose, **said), DAY, needs=KNOWN)
    dear = audit(priced(purpose, **said | {name: usd(value * times)}), DAY, needs=KNOWN)
    assert dear.price.useful_money_per_hour > cheap.price.useful_money_per_hour
    assert dear.price.useful_low_money_per_hour >= cheap.price.useful_low_money_per_hour
    assert dear.price.useful_high_money_per_hour >= cheap.price.useful_high_money_per_hour
    for one, other in zip(cheap.price.lines, dear.price.lines, strict=True):
        assert other.money >= one.money
    line = {one.key: one.money for one in dear.price.lines}
    assert line[PRICES[name]] > {one.key: one.money for one in cheap.price.lines}[PRICES[name]]
    assert dear.liability.total_money >= cheap.liability.total_money
    beside = compare([replace(dear, quote_id="dear"), replace(cheap, quote_id="cheap")])
    assert [one.quote_id for one in beside.rows] == ["cheap", "dear"]
    assert beside.winner == 0


UNSAID = [
    (name, purpose)
    for name in PRICES
    for purpose in ("rent", "reserve", "buy")
    if name != "unit_price"
    and (name, purpose) != ("egress_price_per_gb", "buy")  # nobody sells one's own line
]


@pytest.mark.parametrize(("name", "purpose"), UNSAID)
def test_a_price_that_nobody_says_is_a_range_and_no_gift(name, purpose):
    said = {one: usd(10) for one in PRICES} | {"unit_price": usd(2)}
    blank = audit(priced(purpose, **{one: value for one, value in said.items() if one != name}), DAY)
    line = next(one for one in blank.price.lines if one.key == PRICES[name])
    assert not line.known
    assert line.high_money > 0
    assert line.key in blank.price.unknown
    free = audit(priced(purpose, **said | {name: usd(0)}), DAY, needs=KNOWN)
    line = next(one for one in free.price.lines if one.key == PRICES[name])
    assert line.known
    assert line.money == 0


def test_what_can_be_owed_is_unknown_where_nobody_says_and_nothing_where_nothing_is_said():
    bare = dict(audit(priced("reserve", unit_price=usd(2)), DAY).liability.parts)
    assert {key for key, value in bare.items() if value is None} == {
        "setup", "exit", "renewal", "overage", "adjustment",
    }  # fmt: skip
    clear = priced("reserve", unit_price=usd(2), setup_fee=usd(0), auto_renewal=False, early_exit_fee=usd(0),
                   price_adjustment_clause="Fixed")  # fmt: skip
    parts = dict(audit(clear, DAY).liability.parts)
    assert {key for key, value in parts.items() if value == 0} == {"setup", "exit", "renewal", "adjustment"}
    assert audit(priced("reserve", unit_price=usd(2)), DAY).sla.down_hours is None


@pytest.mark.parametrize("days", [0.0, 31.0, 3650.0, 1e9, 1e15])
def test_bills_that_are_due_in_a_thousand_years_are_few_rows(days):
    made = audit(priced("reserve", unit_price=usd(2), upfront_ratio=0.1, payment_terms_days=days), DAY)
    months = made.liability.months
    assert 12 < len(months) <= 12 + 120 + 1
    assert sum(one.cash_money for one in months) == pytest.approx(2 * 16 * 730 * 12)


@cache
def offer(price):
    return audit(replace(HONEST, unit_price=usd(price), monthly_price=None, total_price=None), DAY)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from([str(one / 10) for one in range(5, 90, 5)]), min_size=2, max_size=6, unique=True)
)
def test_offers_go_by_their_useful_hour_and_percentiles_by_their_price(prices):
    made = [replace(offer(one), quote_id=one) for one in prices]
    beside = compare(made)
    assert [one.quote_id for one in beside.rows] == sorted(prices, key=float)
    shares = [one.percentile_ratio for one in beside.rows]
    assert shares == sorted(shares)


@pytest.mark.parametrize(
    ("rate", "each", "found"),
    [
        (0.12, "888.49", False),  # 10,000 in twelve months at one per cent a month
        (0.12, "833.33", True),
        (None, "833.33", False),
        (0.0, "833.33", False),
        (1e-300, "833.33", False),
        (0.0, "950.00", True),
        (-0.5, "833.33", False),
        (3.0, "2684.48", False),  # a quarter a month over a year
    ],
)
def test_instalments_are_the_annuity_of_the_rate_said(rate, each, found):
    quote = Quote(purpose="buy", currency="USD", total_price=usd(10_000), monthly_price=usd(each),
                  financing_months=12.0, financing_rate_per_year=rate)  # fmt: skip
    assert ("CB-Q205" in {one.code for one in audit(quote, DAY).findings}) == found


def test_instalments_of_what_costs_nothing_are_told():
    gift = Quote(
        purpose="buy", currency="USD", total_price=usd(0), monthly_price=usd(5), financing_months=12.0
    )
    assert "CB-Q205" in {one.code for one in audit(gift, DAY).findings}


def test_what_is_asked_as_blocking_is_not_asked_again_as_useful():
    made = offer("2.00")
    asks = [
        Finding("CB-Q101", "blocking", "contradiction", "s1", "Which is it?"),
        Finding("CB-Q102", "useful", "contradiction", "s2", "Which is it?"),
        Finding("CB-Q103", "useful", "contradiction", "s3", "And this?"),
        Finding("CB-Q104", "useful", "contradiction", "s4", "And this?"),
        Finding("CB-Q105", "useful", "contradiction", "s5", ""),
    ]
    found = replace(made, findings=tuple(asks), gaps=())
    assert questions(found) == {"blocking": ("Which is it?",), "important": (), "useful": ("And this?",)}
    assert letter(found).count("Which is it?") == letter(found).count("And this?") == 1
