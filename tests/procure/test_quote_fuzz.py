"""Whatever a quote says, an audit answers: no field's value, alone or with others, ends in an error."""

import json
from dataclasses import asdict
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.evidence.quotes import FIELDS, Amount, Credit, Quote, QuoteItem
from cabida.procure import annex, audit, compare, letter
from cabida.report.quote import compared, head, markdown, parts
from cabida.report.quote_page import quote_page

MONEY = st.builds(
    Amount,
    st.decimals("-1e6", "1e9", places=2),
    st.sampled_from(["USD", "EUR", "", "XAF", "usd"]),
)
NUMBER = st.floats(1e-3, 1e9) | st.sampled_from([0.0, 1.0, 8.0, 730.0])
WORDS = st.sampled_from([
    "", "none", "H100", "NVIDIA H100 SXM5 80GB", "L40S", "GeForce RTX 4090", "GB200 NVL72", "Madrid, Spain", "EU",
    "fixed", "99.99 % uptime, 5 hours of downtime per month", "NVLink, 1979 TFLOPS", "\x00\x1b[0m|<b>", "é" * 400,
])  # fmt: skip
DATES = st.sampled_from(["2026-01-01", "2027-12-31", "2026-11-30", "0001-01-01", "9999-12-31"])


def values(field):
    of = {
        "text": WORDS, "list": st.lists(WORDS, max_size=3).map(tuple), "flag": st.booleans(), "date": DATES,
        "whole": st.integers(0, 10**6), "number": NUMBER, "ratio": st.floats(-1, 3), "money": MONEY,
        "ladder": st.lists(st.builds(Credit, st.floats(0, 1), st.floats(0, 2)), max_size=4).map(tuple),
        "choice": st.sampled_from(field.choices) if field.choices else WORDS,
    }  # fmt: skip
    return st.none() | of[field.kind]


ITEM = st.builds(
    QuoteItem,
    WORDS,
    st.none() | WORDS,
    st.none() | st.decimals("0", "1e6", places=1),
    st.none() | MONEY,
    st.none() | MONEY,
)
QUOTES = st.fixed_dictionaries(
    {}, optional={one.name: values(one) for one in FIELDS} | {"items": st.lists(ITEM, max_size=4).map(tuple)}
).map(lambda said: Quote(**said))


@settings(max_examples=30, deadline=None)
@given(QUOTES)
def test_any_quote_is_audited(quote):
    made = audit(quote, "2026-12-01")
    assert made.verdict in ("sound", "doubts", "blocked")
    json.dumps(asdict(made), allow_nan=False)
    for text in (markdown(*head(made), parts(made)), letter(made), annex(made), quote_page(made)):
        assert "<b>" not in text
        assert "\x1b" not in text
    price = made.price
    if price.useful_money_per_hour is None:
        assert price.why_not
    compared(compare([made, made]))


def test_a_quote_that_says_nothing_is_all_gaps():
    made = audit(Quote(), "2026-12-01")
    assert made.verdict == "blocked"
    assert made.completeness.said["blocking"] == 0
    assert made.price.listed_money_per_hour is None
    assert made.liability.total_money is None
    assert made.sla.availability_ratio is None
    assert audit(
        Quote(unit_price=Amount(Decimal("0"), "USD"), unit="gpu_hour", accelerators_count=8), "2026-12-01"
    )
