"""A filled form is read back as what it was filled with, whatever form it has; every field is named and asked for."""

from __future__ import annotations

from dataclasses import fields, replace
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cabida.errors import InvalidInput
from cabida.evidence.quotes import FIELDS, Amount, Credit, Quote, QuoteItem, read_quote, read_quotes, template
from cabida.evidence.quotes.fields import GROUPS, PURPOSES
from cabida.evidence.quotes.values import value, written
from cabida.evidence.quotes.words import field_named, unknown
from cabida.text import has_text, printable, tr, use_language

CURRENCIES = ("USD", "EUR", "MXN", "GBP")
PLAIN = ("quote_id", "vendor")


def plain_text() -> st.SearchStrategy[str]:
    def tidy(text: str) -> str:
        return " ".join(printable(text).split())[:200]

    return (
        st.text(min_size=1, max_size=60)
        .map(tidy)
        .filter(lambda text: text and not unknown(text) and not text.startswith("#"))
    )


def amounts() -> st.SearchStrategy[Amount]:
    value = st.decimals(min_value=0, max_value=10**9, places=4).map(lambda one: one.normalize() + 0)
    return st.builds(Amount, value, st.sampled_from(CURRENCIES))


def ratios() -> st.SearchStrategy[float]:
    return st.integers(0, 200_000).map(lambda count: count / 100_000)


def of_field(field) -> st.SearchStrategy:
    if field.name == "currency":
        return st.sampled_from(CURRENCIES)
    ladder = st.lists(st.builds(Credit, ratios(), ratios()), min_size=1, max_size=4).map(tuple)
    words = plain_text().map(lambda text: " ".join(text.replace(";", "").replace(",", "").split()))
    words = words.filter(lambda text: text and not unknown(text))
    return {
        "text": plain_text(),
        "list": st.lists(words, min_size=1, max_size=4)
        .map(tuple)
        .filter(lambda one: not unknown("; ".join(one))),
        "choice": st.sampled_from(field.choices) if field.choices else st.nothing(),
        "flag": st.booleans(),
        "date": st.dates(
            min_value=__import__("datetime").date(2020, 1, 1),
            max_value=__import__("datetime").date(2040, 12, 31),
        ).map(str),
        "whole": st.integers(0, 10**6),
        "number": st.floats(0, 10**9)
        .map(lambda one: float(f"{one:.9g}"))
        .filter(lambda one: one == 0 or one > 1e-9),
        "ratio": ratios(),
        "money": amounts(),
        "ladder": ladder,
    }[field.kind]


def items() -> st.SearchStrategy[QuoteItem]:
    count = st.decimals(min_value=0, max_value=10**6, places=2)
    return st.builds(
        QuoteItem,
        what=plain_text(),
        unit=st.none() | plain_text(),
        quantity=st.none() | count,
        unit_price=st.none() | amounts(),
        total=st.none() | amounts(),
    )


@st.composite
def quotes(draw) -> Quote:
    said = {one.name: draw(st.none() | of_field(one)) for one in FIELDS}
    said["vendor"] = said["vendor"] or "Northgate"
    return Quote(**said, items=tuple(draw(st.lists(items(), max_size=4))))


def same(read: Quote, filled: Quote) -> None:
    assert read.said() == filled.said()
    assert [replace(one, place="") for one in read.items] == list(filled.items)


@pytest.mark.parametrize("form", ["yaml", "csv", "xlsx"])
@pytest.mark.parametrize("language", ["en", "es"])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(filled=quotes())
def test_a_filled_form_round_trips(form, language, filled, tmp_path_factory):
    made = template(form, language, quote=filled)
    path = tmp_path_factory.mktemp("form") / f"quote.{form}"
    path.write_bytes(made if isinstance(made, bytes) else made.encode("utf-8"))
    read = read_quote(path)
    same(read, filled)
    assert {one.field for one in read.seen} == set(filled.said())
    assert all(one.place and one.grade == "stated" for one in read.seen)


@pytest.mark.parametrize("field", FIELDS, ids=lambda one: one.name)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_what_is_written_of_a_field_is_read_back(field, data):
    held = data.draw(of_field(field))
    assert value(field, written(field, held)) == held


@pytest.mark.parametrize("field", FIELDS, ids=lambda one: one.name)
def test_a_field_is_named_and_asked_for_in_both_languages(field):
    assert field.name in {one.name for one in fields(Quote)}
    assert field.group in GROUPS
    assert len(field.severities) == len(PURPOSES)
    texts = set()
    for language in ("en", "es"):
        use_language(language)
        try:
            assert has_text(field.title)
            assert has_text(field.question)
            texts.add(tr(field.question))
            assert tr(field.question).endswith("?")
            assert field_named(tr(field.title)) == field
        finally:
            use_language("en")
    assert len(texts) == 2
    assert field_named(field.name) == field


@pytest.mark.parametrize("form", ["yaml", "csv", "xlsx"])
@pytest.mark.parametrize("purpose", PURPOSES)
def test_an_empty_form_states_its_purpose_and_nothing_else(form, purpose, tmp_path):
    made = template(form, purpose=purpose)
    path = tmp_path / f"quote.{form}"
    path.write_bytes(made if isinstance(made, bytes) else made.encode())
    assert read_quote(path).said() == {"purpose": purpose}
    assert template(form, purpose=purpose) == made


@pytest.mark.parametrize(
    "blank", ["", "TBD", "n/a", "por definir", "To be confirmed", "-", "?", "N.D.", "<TBD>", "pendiente"]
)
@pytest.mark.parametrize(
    "name", ["setup_fee", "term_months", "uptime_ratio", "warranty_months", "auto_renewal", "region"]
)
def test_a_blank_is_unknown_and_never_zero(name, blank):
    read = read_quote("quote.yaml", text=f'vendor: Northgate\n{name}: "{blank}"\n')
    assert getattr(read, name) is None
    assert read.where(name) is None


def test_zero_and_included_are_said():
    read = read_quote("quote.yaml", text="currency: EUR\nsetup_fee: included\negress_price_per_gb: 0 EUR\n")
    assert read.setup_fee == Amount(Decimal(0), "EUR")
    assert read.egress_price_per_gb == Amount(Decimal(0), "EUR")


@pytest.mark.parametrize(
    ("name", "text", "held"),
    [
        ("unit_price", "1.234,56 EUR", Amount(Decimal("1234.56"), "EUR")),
        ("unit_price", "USD 1,234.56", Amount(Decimal("1234.56"), "USD")),
        ("unit_price", "$2.10/GPU-hour", Amount(Decimal("2.10"), "USD")),
        ("unit_price", "2,10 € por GPU-hora", Amount(Decimal("2.10"), "EUR")),
        ("egress_price_per_gb", "20 USD/TB", Amount(Decimal("0.02"), "USD")),
        ("storage_price_per_gb_month", "60 USD per TB per month", Amount(Decimal("0.06"), "USD")),
        ("lead_time_days", "6 weeks", 42.0),
        ("term_months", "3 años", 36.0),
        ("support_response_minutes", "1 h", 60.0),
        ("billing_granularity_s", "1 hour", 3600.0),
        ("nic_speed_gbit_per_s", "400 Gb/s", 400.0),
        ("memory_bandwidth_gb_per_s", "3.35 TB/s", 3350.0),
        ("allreduce_gb_per_s", "400 Gb/s", 50.0),
        ("oversubscription_factor", "1:1", 1.0),
        ("uptime_ratio", "99,5 %", 0.995),
        ("uptime_ratio", "99.9%", 0.999),
        ("issued", "31/12/2026", "2026-12-31"),
        ("issued", "1 December 2026", "2026-12-01"),
        ("issued", "Dec 1, 2026", "2026-12-01"),
        ("issued", "1 de diciembre de 2026", "2026-12-01"),
        ("isolation", "Bare metal", "bare_metal"),
        ("soc2", "SOC 2 Type II", "type_2"),
        ("unit", "per node per month", "node_month"),
        ("unit", "GPU-hora", "gpu_hour"),
        ("auto_renewal", "sí", True),
        ("credit_ladder", "< 99.5 %: 10 %; < 99 %: 25 %", (Credit(0.995, 0.10), Credit(0.99, 0.25))),
    ],
)
def test_values_are_read_as_people_write_them(name, text, held):
    from cabida.evidence.quotes.fields import BY_NAME

    assert value(BY_NAME[name], text) == held


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("unit_price", "1,234", "two_numbers"),
        ("issued", "03/04/2026", "two_dates"),
        ("uptime_ratio", "99.5", "percent"),
        ("uptime_ratio", "0.995", "percent"),
        ("setup_fee", "-5 USD", "negative"),
        ("setup_fee", "500 USD per node", "unit"),
        ("egress_price_per_gb", "20 USD per month", "unit"),
        ("accelerators_count", "3.5", "whole"),
        ("lead_time_days", "2 months", "unit"),
        ("lead_time_days", "8-10 weeks", "range"),
        ("auto_renewal", "perhaps", "flag"),
        ("isolation", "cloud", "choice"),
        ("issued", "soon", "date"),
        ("cpu", "#REF!", "error_cell"),
        ("accelerators_count", "1e9", "unit"),
    ],
)
def test_what_could_be_two_things_or_none_is_refused(name, text, why):
    from cabida.evidence.quotes.fields import BY_NAME
    from cabida.evidence.quotes.values import Bad

    with pytest.raises(Bad) as caught:
        value(BY_NAME[name], text)
    assert caught.value.why == why


def test_every_fault_of_a_form_is_told_at_once_with_its_line():
    text = "vendor: Northgate\nuptime_ratio: 99.5\nissued: 03/04/2026\nprise: 4 USD\nsetup_fee: minus two\n"
    with pytest.raises(InvalidInput) as caught:
        read_quote("quote.yaml", text=text)
    assert [one.line for one in sorted(caught.value.problems, key=lambda one: one.line)] == [2, 3, 4, 5]
    assert all(one.file == "quote.yaml" and one.cure for one in caught.value.problems)


def test_a_column_is_a_quote():
    text = "field,Northgate,Lumen\nvendor,Northgate,Lumen\nunit_price,2.10 USD,2.40 USD\nunit,gpu_hour,gpu_hour\n"
    found = read_quotes("quotes.csv", text=text)
    assert [(one.vendor, one.unit_price.value) for one in found] == [
        ("Northgate", Decimal("2.10")),
        ("Lumen", Decimal("2.40")),
    ]
    with pytest.raises(InvalidInput, match="CB-Q009"):
        read_quote("quotes.csv", text=text)


def test_a_spanish_table_with_semicolons_is_read():
    text = "campo;valor\nProveedor;Castell\nMoneda;EUR\nPrecio unitario;1.234,50\nUnidad;nodo-mes\n"
    text += "Disponibilidad;99,9 %\n"
    read = read_quote("oferta.csv", text=text)
    assert read.unit_price == Amount(Decimal("1234.50"), "EUR")
    assert (read.unit, read.uptime_ratio) == ("node_month", 0.999)


def test_two_units_of_a_price_are_a_contradiction():
    with pytest.raises(InvalidInput, match="CB-Q013"):
        read_quote("q.yaml", text="unit_price: 2 USD/GPU-hour\nunit: node_hour\n")
