"""Quotes as vendors write them in mails, letters and PDF: what is taken is graded, what isn't is listed."""

from __future__ import annotations

import subprocess
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.errors import InvalidInput
from cabida.evidence.quotes import Amount, Credit, Quote, read_quote
from cabida.text import use_language

EXAMPLES = Path(__file__).parents[3] / "examples" / "quotes"
MAIL = """Subject: GPU capacity

Hi Ana,

Northgate Compute can offer 4 nodes of 8x NVIDIA H100 SXM5 80GB
(bare metal, 8 x 400 Gb/s NDR InfiniBand, non-blocking).
The price is USD 2.10 per GPU-hour on a 12-month commitment, 25 % upfront, Net 30.
Prices exclude VAT. The quote is valid until 31 December 2026.

Vendor: Northgate Compute AS
Quote number: Q-2211
Date: 1 December 2026
SLA: 99.5% monthly uptime per node
Setup fee: none
Delivery: 8-10 weeks
Warranty: TBD
Our office plant is called Bernard, he has 7 leaves.
"""


def read(text: str) -> Quote:
    return read_quote("mail.txt", text=text)


def test_a_mail_is_read_and_says_how_surely():
    quote = read(MAIL)
    assert quote.said() == {
        "quote_id": "Q-2211",
        "vendor": "Northgate Compute AS",
        "issued": "2026-12-01",
        "expires": "2026-12-31",
        "currency": "USD",
        "tax_treatment": "excluded",
        "accelerator": "NVIDIA H100 SXM5 80GB",
        "form_factor": "SXM",
        "accelerators_count": 32,
        "accelerators_per_node_count": 8,
        "nodes_count": 4,
        "accelerator_memory_gb": 80.0,
        "interconnect": "infiniband",
        "nics_per_node_count": 8,
        "nic_speed_gbit_per_s": 400.0,
        "oversubscription_factor": 1.0,
        "unit_price": Amount(Decimal("2.10"), "USD"),
        "unit": "gpu_hour",
        "term_months": 12.0,
        "upfront_ratio": 0.25,
        "payment_terms_days": 30.0,
        "setup_fee": Amount(Decimal(0), "USD"),
        "isolation": "bare_metal",
        "uptime_ratio": 0.995,
        "uptime_scope": "node",
    }
    assert quote.where("vendor").grade == "labelled"
    assert quote.where("unit_price").grade == "sentence"
    assert quote.where("unit_price").place == "mail.txt:7"
    assert "2.10" in quote.where("unit_price").words


def test_what_is_not_understood_is_listed_with_its_line():
    left = {one.place: one for one in read(MAIL).left}
    assert "Bernard" in left["mail.txt:17"].words
    assert "range" in left["mail.txt:15"].why  # 8 to 10 weeks are promised to nobody
    assert "mail.txt:16" not in left  # says that it isn't known
    assert read(MAIL).warranty_months is None
    assert read(MAIL).lead_time_days is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Precio unitario: 2,10 EUR por GPU-hora",
            {"unit_price": Amount(Decimal("2.10"), "EUR"), "unit": "gpu_hour"},
        ),
        (
            "Unit price: USD 2.10 per GPU-hour",
            {"unit_price": Amount(Decimal("2.10"), "USD"), "unit": "gpu_hour"},
        ),
        ("Price: $98.32 per node-hour", {"unit_price": Amount(Decimal("98.32"), "USD"), "unit": "node_hour"}),
        (
            "32 x H100 SXM5 80GB",
            {"accelerators_count": 32, "form_factor": "SXM", "accelerator_memory_gb": 80.0},
        ),
        ("3 nodos con 8 x H200 SXM 141GB cada uno", {"accelerators_count": 24, "nodes_count": 3}),
        ("64 H100, 8 GPUs per node", {"accelerators_per_node_count": 8}),
        ("Payment: Net 30", {"payment_terms_days": 30.0}),
        ("Pago a 60 días.", {"payment_terms_days": 60.0}),
        ("99.5 % uptime", {"uptime_ratio": 0.995}),
        ("Disponibilidad del 99,9 % por nodo", {"uptime_ratio": 0.999}),
        ("Plazo de entrega: 6 semanas", {"lead_time_days": 42.0}),
        ("Garantía: 3 años", {"warranty_months": 36.0}),
        (
            "36 months warranty with advance replacement",
            {"warranty_months": 36.0, "advance_replacement": True},
        ),
        ("El contrato se renueva automáticamente.", {"auto_renewal": True}),
        ("The contract does not renew automatically.", {"auto_renewal": False}),
        ("No egress fees.", {"egress_price_per_gb": Amount(Decimal(0), "")}),
        ("Egress: USD 20 per TB", {"egress_price_per_gb": Amount(Decimal("0.02"), "USD")}),
        ("IVA no incluido", {"tax_treatment": "excluded"}),
        ("Prices include VAT", {"tax_treatment": "included"}),
        ("SOC 2 Type II and ISO 27001", {"soc2": "type_2", "iso_27001": True}),
        ("Permanencia: 36 meses", {"minimum_term_months": 36.0}),
        (
            "Service credits: below 99.5 %: 10 %; below 99 %: 25 %",
            {"credit_ladder": (Credit(0.995, 0.10), Credit(0.99, 0.25))},
        ),
        (
            "Compensación: 5 % de la cuota por debajo del 99,9 %, 10 % por debajo del 99 %",
            {"credit_ladder": (Credit(0.999, 0.05), Credit(0.99, 0.10))},
        ),
        (
            "CUDA 12.8, driver 570.86.10, Ubuntu 24.04",
            {"accelerator_stack": "CUDA 12.8", "driver_version": "570.86.10"},
        ),
        (
            "Fully non-blocking, rail-optimized fabric",
            {"oversubscription_factor": 1.0, "rail_optimised": True},
        ),
        ("Early termination: 50 % of the remaining fees", {"early_exit_fee_ratio": 0.5}),
        ("Usable memory per GPU: 79.1 GiB", {"accelerator_memory_usable_gib": 79.1}),
    ],
)
def test_phrases_mean_what_they_say(text, said):
    found = read(f"Vendor: Northgate\n{text}\n").said()
    assert {name: found.get(name) for name in said} == said


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Precio unitario: 1.234 EUR por nodo", "unit_price"),  # a thousand in Spain, one in Mexico
        ("Fecha: 03/04/2026", "issued"),
        ("Term: 12-24 months", "term_months"),
        ("Setup fee: USD 500 per node", "setup_fee"),
        ("80 GiB per GPU", "interconnect"),  # no InfiniBand in a unit of memory
        ("Uptime: best effort", "uptime_ratio"),
        ("Delivery: ask us", "lead_time_days"),
    ],
)
def test_what_could_be_two_things_is_left(text, name):
    quote = read(f"Proveedor: Castell\nValidez de la oferta por escrito\n{text}\n")
    assert getattr(quote, name) is None
    assert any(text[:12] in one.words for one in quote.left)


def test_two_answers_to_one_question_are_both_told():
    quote = read("Vendor: Northgate\nUptime: 99.9 %\nRegion: Oslo\nUptime: 99.5 %\n")
    assert quote.uptime_ratio == 0.999
    (left,) = quote.left
    assert left.place == "mail.txt:4"
    assert "99.9 %" in left.why
    assert "mail.txt:2" in left.why


def test_dates_are_read_as_the_clear_ones_of_the_same_text():
    quote = read(
        "Proveedor: Sierra\nFecha: 01/12/2026\nVálida hasta: 15/12/2026\nPrecio unitario: 2,5 EUR por GPU-hora\n"
    )
    assert (quote.issued, quote.expires) == ("2026-12-01", "2026-12-15")


def test_days_of_validity_count_from_the_date_of_issue():
    assert read("Vendor: N\nDate: 20 November 2026\nValid for 30 days.\n").expires == "2026-12-20"
    assert read("Vendor: N\nValid for 30 days.\n").expires is None


def test_a_table_of_lines_is_read():
    quote = read_quote(EXAMPLES / "oferta-correo.txt")
    assert [(one.quantity, one.unit_price.value, one.total.value) for one in quote.items] == [
        (Decimal(2), Decimal("262000.00"), Decimal("524000.00")),
        (Decimal(1), Decimal("4500.00"), Decimal("4500.00")),
    ]
    assert quote.total_price == Amount(Decimal("528500.00"), "EUR")
    assert quote.left == ()


def test_the_example_of_a_form_is_whole():
    quote = read_quote(EXAMPLES / "reservation.yaml")
    assert len(quote.said()) > 80
    assert quote.unit_price.value * int(quote.quantity) * 730 == quote.monthly_price.value


def test_a_dollar_of_a_spanish_text_is_nobodys_until_it_is_named():
    assert read("Proveedor: Sierra\nPrecio unitario: $2.50 por GPU-hora\n").unit_price.currency == ""
    mexican = read("Proveedor: Sierra\nMoneda: MXN\nPrecio unitario: $45.50 por GPU-hora\n")
    assert mexican.unit_price == Amount(Decimal("45.50"), "MXN")


def test_reasons_are_in_the_language_of_whoever_reads():
    use_language("es")
    try:
        quote = read("Vendor: Northgate\nDelivery: 8-10 weeks\n")
    finally:
        use_language("en")
    assert "intervalo" in quote.left[0].why


def test_a_pdf_is_read_page_by_page(tmp_path):
    typst = pytest.importorskip("typst")
    source = tmp_path / "quote.typ"
    lines = [
        "Vendor: Northgate Compute",
        "Quote number: Q-7",
        "32 x H100 SXM5 80GB",
        "Unit price: USD 2.10 per GPU-hour",
    ]
    source.write_text("\n\n".join(lines) + "\n#pagebreak()\nWarranty: 36 months\n", encoding="utf-8")
    path = tmp_path / "quote.pdf"
    typst.compile(str(source), output=str(path))
    quote = read_quote(path)
    assert (quote.form, quote.vendor, quote.accelerators_count, quote.warranty_months) == (
        "pdf",
        "Northgate Compute",
        32,
        36.0,
    )
    assert quote.unit_price == Amount(Decimal("2.10"), "USD")
    assert quote.where("warranty_months").place.startswith("quote.pdf:p2:")


@pytest.mark.parametrize("cut", [60, 400])
def test_a_broken_pdf_is_refused(cut, tmp_path):
    typst = pytest.importorskip("typst")
    (tmp_path / "a.typ").write_text("Vendor: Northgate Compute and more of it", encoding="utf-8")
    typst.compile(str(tmp_path / "a.typ"), output=str(tmp_path / "a.pdf"))
    path = tmp_path / "cut.pdf"
    path.write_bytes((tmp_path / "a.pdf").read_bytes()[:cut])
    with pytest.raises(InvalidInput, match="CB-Q002"):
        read_quote(path)


def test_a_pdf_that_takes_too_long_is_let_go(tmp_path, monkeypatch):
    def forever(*_, **__):
        raise subprocess.TimeoutExpired("pdf", 1)

    monkeypatch.setattr("cabida.evidence.quotes.pdf.subprocess.run", forever)
    path = tmp_path / "slow.pdf"
    path.write_bytes(b"%PDF-1.7 and so on")
    with pytest.raises(InvalidInput, match="too long"):
        read_quote(path)


SAYS = (  # a field, and how a sentence tells its figure
    ("unit_price", "We charge USD {money} per GPU-hour for it."),
    ("unit_price", "El precio es de {money} EUR por nodo al mes."),
    ("setup_fee", "Setup fee: USD {money} per node, paid once."),
    ("setup_fee", "There is a one-time fee of USD {money}."),
    ("total_price", "Grand total: {money} EUR and no more."),
    ("monthly_price", "It comes to USD {money} per month."),
    ("payment_terms_days", "Payment within {count} days."),
    ("term_months", "A {count}-month commitment is asked for."),
    ("lead_time_days", "Lead time is {count} days."),
    ("warranty_months", "Warranty of {count} months."),
    ("cpu_cores_per_node_count", "It has {count} cores."),
    ("accelerators_count", "We offer {count} x H100 SXM5 80GB."),
    ("nodes_count", "There are {count} nodes of 8x H100 SXM5."),
    ("support_response_minutes", "With a {count} minute response."),
    ("uptime_ratio", "We promise {percent} % uptime."),
    ("upfront_ratio", "We ask for {percent} % upfront."),
    ("tax_ratio", "VAT at {percent} % is added."),
)


@pytest.mark.parametrize(
    ("name", "sentence"), SAYS, ids=[f"{name}-{at}" for at, (name, _) in enumerate(SAYS)]
)
@settings(max_examples=60, deadline=None)
@given(count=st.integers(1, 10**7), cents=st.integers(0, 99), grouped=st.booleans())
def test_a_figure_is_taken_whole_or_not_at_all(name, sentence, count, cents, grouped):
    whole = f"{count:,}" if grouped else str(count)
    said = sentence.format(money=f"{whole}.{cents:02}", count=whole, percent=f"{count}.{cents:02}")
    held = getattr(
        read(f"Vendor: Northgate. We write in English, and the price is as said.\n\n{said}\n"), name
    )
    if held is None:
        return
    if isinstance(held, Amount):
        assert held.value == Decimal(f"{count}.{cents:02}")
    elif "percent" in sentence:
        assert held == pytest.approx(float(f"{count}.{cents:02}") / 100)
    else:
        assert held == count
