"""Each format read from exports as its tool writes them: what is kept, what it says, and what is left aside."""

import csv
import io
import json
import random
import re
import zipfile
from collections import Counter
from decimal import Decimal

import exports
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cabida.errors import InvalidInput
from cabida.evidence.prices import read
from cabida.evidence.prices.reading import FORMATS
from cabida.money.prices.api_list import ApiUse, amount, charge

TODAY = "2026-11-30"
ROWS = 90


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return exports.every(tmp_path_factory.mktemp("exports"), ROWS)


def of(path, **said):
    return read(path, today=TODAY, **said)


@pytest.mark.parametrize("name", ["skypilot", "gpuhunt", "ec2instances", "litellm", "openrouter", "opencost"])
def test_every_row_of_an_export_is_kept(files, name):
    found = of(files[name], currency="USD")
    assert found.format == name
    assert found.unread == []
    assert found.kept_count > 0
    assert len(found.offer_lines) == len(found.offers)
    assert len(found.api_lines) == len(found.api_offers)


def test_all_formats_have_an_export(files):
    assert {name.partition("-")[0] for name in files} == set(FORMATS)


def test_skypilot_prices_are_of_the_instance(files):
    found = of(files["skypilot"], as_of="2026-11-20")
    with files["skypilot"].open(newline="") as file:
        rows = list(csv.DictReader(file))
    first = found.offers[0]
    assert first.amount * 8 == Decimal(rows[0]["Price"])
    assert (first.provider, first.accelerator, first.accelerators_count) == ("AWS", "h100-sxm-80", 8)
    assert (first.region, first.country, first.node_shape, first.seen) == (
        "us-east-1",
        "US",
        "p5.48xlarge",
        "2026-11-20",
    )
    spots = sum(bool(row["SpotPrice"]) for row in rows)
    assert Counter(one.capacity for one in found.offers) == {"on-demand": ROWS, "spot": spots}
    a100 = {one.accelerator for one in found.offers if one.node_shape in ("p4d.24xlarge", "p4de.24xlarge")}
    assert a100 == {"a100-sxm-40", "a100-sxm-80"}  # told apart by the memory in GpuInfo, dict or JSON
    assert found.dated == "asked"
    assert found.offer_lines[0] == 2


def test_skypilot_memory_may_be_of_all_together(tmp_path):
    said = json.dumps({"Gpus": [{"Name": "A100", "MemoryInfo": {"SizeInMiB": 8 * 81920}}]})
    row = ("gpu_8x_a100", "A100", 8, 124, 1800, said, "14.32", "", "us-east-1", "", "")
    [one] = of(exports.write_csv(tmp_path / "lambda.csv", exports.SKYPILOT, [row])).offers
    assert (one.provider, one.accelerator, str(one.amount)) == ("Lambda", "a100-sxm-80", "1.79")


def test_gpuhunt_is_dated_by_its_name_and_spot_is_a_row(files):
    found = of(files["gpuhunt"])
    assert {one.seen for one in found.offers} == {"2026-11-07"}
    assert Counter(one.capacity for one in found.offers) == {"on-demand": ROWS // 2, "spot": ROWS // 2}
    assert found.dated == "name"


def test_ec2_reads_bands_and_terms(files):
    found = of(files["ec2instances"], as_of="2026-11-20")
    assert all(one.notes.startswith("interruption ") for one in found.offers if one.capacity == "spot")
    terms = {(one.term_months, one.upfront_ratio) for one in found.offers if one.capacity == "reserved"}
    assert terms == {(12, 0.0), (12, 0.5), (36, 1.0), (36, 0.0)}
    assert found.beside_count == ROWS // 6 + (ROWS % 6 > 0)  # Windows


def test_litellm_gives_prices_of_a_million_tokens(files):
    found = of(files["litellm"])
    tree = json.loads(files["litellm"].read_text())
    name, said = next(item for item in tree.items() if item[0] != "sample_spec")
    first = found.api_offers[0]
    assert first.model_name == name
    assert float(first.input_amount) == pytest.approx(said["input_cost_per_token"] * 1e6, rel=1e-12)
    assert first.output_amount == first.input_amount * 4
    assert first.batch_input_amount * 2 == first.cached_input_amount * 10 == first.input_amount
    assert (first.tier_above_tokens, first.tier_input_amount) == (200_000, first.input_amount * 2)


def test_openrouter_texts_are_exact_and_what_varies_is_left_aside(tmp_path):
    data = [
        {
            "id": "meta-llama/llama-3.1-8b-instruct",
            "pricing": {"prompt": "0.00000002", "completion": "0.00000003"},
        },
        {"id": "openrouter/auto", "pricing": {"prompt": "-1", "completion": "-1"}},
        {"id": "some/model:free", "pricing": {"prompt": "0", "completion": "0"}},
        {"id": "no/prices"},
    ]
    found = of(exports.write_json(tmp_path / "models-2026-11-02.json", {"data": data}))
    assert [(one.input_amount, one.output_amount, one.seen) for one in found.api_offers] == [
        (Decimal("0.02"), Decimal("0.03"), "2026-11-02")
    ]
    assert found.api_offers[0].model == "meta-llama/Llama-3.1-8B-Instruct"
    assert [(one.line, one.why) for one in found.unread] == [(2, "varies"), (3, "free"), (4, "shape")]


def test_a_bill_is_the_same_in_every_container(files):
    plain, packed, columns = (of(files[f"focus-{kind}"]) for kind in ("csv", "gz", "parquet"))
    assert plain.billing == packed.billing
    assert [one.effective for one in plain.billing] == [one.effective for one in columns.billing]
    for name in (
        "charge_start",
        "charge_end",
        "billed",
        "currency",
        "tags",
        "sku",
        "commitment_status",
        "region",
    ):
        assert [getattr(one, name) for one in plain.billing] == [
            getattr(one, name) for one in columns.billing
        ], name
    assert {one.amount for one in plain.offers} == {one.amount for one in columns.offers}


def test_a_bill_gives_the_prices_that_were_paid(tmp_path):
    rows = list(exports.focus_rows(720 * 9, seed=4))
    path = exports.write_csv(tmp_path / "focus.csv", (*exports.FOCUS, *exports.FOCUS_LATER), rows)
    found = of(path)
    assert len(found.billing) == len(rows)
    assert sum(one.billed for one in found.billing) == sum(Decimal(str(row["BilledCost"])) for row in rows)
    h100 = next(
        one for one in found.offers if one.accelerator == "h100-sxm-80" and one.capacity == "on-demand"
    )
    same = [
        row
        for row in rows
        if (row["SkuMeter"], row["RegionId"], row["PricingCategory"], row["ChargeCategory"])
        == ("BoxUsage:p5.48xlarge", h100.region, "Standard", "Usage")
    ]
    paid = sum(Decimal(str(row["EffectiveCost"])) for row in same) / len(same) / 8
    assert abs(h100.amount - paid) < Decimal("1e-9")
    assert (h100.sighting, h100.sample_count, h100.source.grade) == ("bill", len(same), "measured")
    assert h100.seen == max(row["ChargePeriodStart"][:10] for row in same)
    assert not any("Unused" in one.commitment_status for one in found.billing if one.consumed_quantity)


def parts_of_a_machine(charges):
    """An hour of a machine of eight GPUs whose cores, memory and GPUs are charged apart."""
    whole = next(iter(exports.focus_rows(1)))
    for text, quantity, unit, cost in charges:
        yield whole | {
            "ProviderName": "Google Cloud", "ChargeDescription": text, "PricingQuantity": quantity, "PricingUnit": unit,
            "ConsumedQuantity": quantity * 3600, "ConsumedUnit": "seconds", "EffectiveCost": cost, "BilledCost": cost,
            "SkuMeter": "", "ResourceName": "a2-highgpu-8g", "PricingCategory": "Standard",
        }  # fmt: skip


CORES, MEMORY = ("A2 Instance Core running in Iowa", 96.0, "hour", 3.0), (
    "A2 Instance Ram running in Iowa", 680.0, "gibibyte hour", 2.0,
)  # fmt: skip
GPUS = ("Nvidia Tesla A100 GPU running in Iowa", 8.0, "hour", 24.0)


@pytest.mark.parametrize(
    ("charges", "amount", "notes"),
    [
        ([CORES, MEMORY], None, ""),  # a core's hour is no machine's
        ([GPUS], 3.0, "1 h; host billed separately"),
        ([CORES, GPUS, MEMORY], 29 / 8, "1 h"),
        ([("a2-highgpu-8g with 96 vCPU and tensor core GPU", 1.0, "hour", 29.0)], 29 / 8, "1 h"),
        ([("GPU per hour", 8.0, "GPU Hours", 24.0)], 3.0, "1 h; host billed separately"),
    ],
)
def test_parts_of_a_machine_make_no_false_price(tmp_path, charges, amount, notes):
    rows = list(parts_of_a_machine(charges))
    found = of(exports.write_csv(tmp_path / "focus.csv", list(rows[0]), rows))
    assert len(found.billing) == len(charges)
    assert [float(one.amount) for one in found.offers] == ([pytest.approx(amount)] if amount else [])
    assert [one.notes for one in found.offers] == ([notes] if amount else [])


def test_later_names_of_focus_are_read(tmp_path):
    row = next(iter(exports.focus_rows(1)))
    row["ServiceProviderName"] = row.pop("ProviderName")
    found = of(exports.write_csv(tmp_path / "focus-1.3.csv", list(row), [row]))
    assert found.billing[0].provider == "AWS"
    lines = exports.write_json(tmp_path / "focus.jsonl", {})
    lines.write_text("\n".join(json.dumps({**row, "Tags": {"workload": "chat"}}) for _ in range(3)))
    found = of(lines)
    assert [one.tags for one in found.billing] == [{"workload": "chat"}] * 3


def test_allocations_are_effective_and_never_billed(files):
    with pytest.raises(InvalidInput) as error:
        of(files["opencost"])
    assert error.value.problems[0].code == "CB-E051"
    found = of(files["opencost"], currency="eur")
    assert {(one.billed, one.currency, one.consumed_unit) for one in found.billing} == {
        (None, "EUR", "GPU-Hours")
    }
    tree = json.loads(files["opencost"].read_text())
    total = sum(one["totalCost"] for each in tree["data"] for one in each.values())
    assert float(sum(one.effective for one in found.billing)) == pytest.approx(total)
    assert found.billing[0].tags["namespace"] == "namespace-0"


def test_a_price_list_is_the_same_as_csv_spreadsheet_and_in_spanish(files, tmp_path):
    english = of(files["plain-csv"])
    sheet = of(files["plain-xlsx"])
    spanish = of(
        exports.write_csv(tmp_path / "precios.csv", exports.PLAIN_ES, exports.plain_rows_es(ROWS), ";")
    )

    def told(found):
        return [
            (
                one.provider,
                one.accelerator,
                one.accelerators_count,
                one.capacity,
                one.amount,
                one.seen,
                one.unit,
            )
            for one in found.offers
        ]

    assert told(english) == told(sheet) == told(spanish)
    assert {one.currency for one in spanish.offers} == {"EUR"}


UNITS = [  # count, price, unit, capacity -> amount, unit, capacity
    (8, "24", "node-hour", "", "3", "accelerator_hour", "on-demand"),
    (8, "17520", "nodo/mes", "reservado", "3", "accelerator_hour", "reserved"),
    (1, "2190", "gpu-month", "", "3", "accelerator_hour", "on-demand"),
    (1, "26280", "per year", "reserved", "3", "accelerator_hour", "reserved"),
    (1, "0.0005", "second", "serverless", "1.8", "accelerator_hour", "serverless"),
    (8, "200000", "server", "buy", "25000", "accelerator", "buy"),
    (1, "1899.90", "gpu", "compra", "1899.9", "accelerator", "buy"),
    (1, "1899.90", "gpu", "", "1899.9", "accelerator", "buy"),
]


@pytest.mark.parametrize(("count", "price", "unit", "capacity", "amount", "kind", "held"), UNITS)
def test_units_of_a_price_list(tmp_path, count, price, unit, capacity, amount, kind, held):
    row = ("Shop", "H100", count, price, unit, capacity, "USD")
    path = exports.write_csv(
        tmp_path / "p.csv", ("provider", "gpu", "gpus", "price", "unit", "capacity", "currency"), [row]
    )
    [one] = of(path).offers
    assert (one.amount, one.unit, one.capacity) == (Decimal(amount), kind, held)


def test_a_quote_carries_its_conditions(tmp_path):
    header = (
        "provider",
        "gpu",
        "gpus",
        "price",
        "currency",
        "capacity",
        "term",
        "upfront",
        "vat",
        "valid until",
        "includes",
        "minimum",
    )
    row = (
        "Shop",
        "H100 SXM",
        8,
        "2,10",
        "EUR",
        "reserved",
        "1 year",
        "25%",
        "21 %",
        "2026-12-31",
        "storage; egress",
        "16",
    )
    [one] = of(exports.write_csv(tmp_path / "p.csv", header, [row])).offers
    assert (one.term_months, one.upfront_ratio, one.tax_ratio, one.until) == (12, 0.25, 0.21, "2026-12-31")
    assert (one.includes, one.minimum_count, one.sighting, one.form_factor) == (
        ("storage", "egress"),
        16,
        "quote",
        "SXM",
    )
    assert one.amount == Decimal("2.1")


def test_a_date_is_taken_from_the_row_then_as_asked_then_from_the_name(tmp_path):
    header = ("provider", "gpu", "price", "currency", "date")
    rows = [("A", "H100", 2, "USD", "2026-10-01"), ("B", "H100", 3, "USD", "")]
    path = exports.write_csv(tmp_path / "prices-20261015.csv", header, rows)
    assert [one.seen for one in of(path).offers] == ["2026-10-01", "2026-10-15"]
    assert [one.seen for one in of(path, as_of="2026-10-20").offers] == ["2026-10-01", "2026-10-20"]
    assert ("redated", {"day": "2026-10-20", "named": "2026-10-15"}) in of(path, as_of="2026-10-20").notes
    undated = of(exports.write_csv(tmp_path / "prices.csv", header, rows))
    assert [one.seen for one in undated.offers] == ["2026-10-01", ""]
    assert ("undated", {}) in undated.notes
    assert undated.offers[1].source.seen == TODAY


def test_a_currency_without_a_rate_is_left_aside(tmp_path):
    rows = [("RunPod", "H100", "2.5", code, "2026-11-01") for code in ("USD", "ARS", "eur", "XXX")]
    found = of(exports.write_csv(tmp_path / "p.csv", ("provider", "gpu", "price", "currency", "seen"), rows))
    assert [one.currency for one in found.offers] == ["USD", "EUR"]
    assert [(one.line, one.why) for one in found.unread] == [(3, "no_rate"), (5, "no_rate")]


def test_what_is_said_twice_is_counted_once(tmp_path):
    row = ("RunPod", "H100", "2.5", "USD", "2026-11-01")
    found = of(
        exports.write_csv(
            tmp_path / "p.csv", ("provider", "gpu", "price", "currency", "seen"), [row, row, row]
        )
    )
    assert (len(found.offers), found.repeated_count, found.rows_count) == (1, 2, 3)


MAKERS = {
    "skypilot": ("aws.csv", exports.SKYPILOT, exports.skypilot_rows),
    "gpuhunt": ("aws.csv", exports.GPUHUNT, exports.gpuhunt_rows),
    "focus": (
        "aws.csv",
        exports.FOCUS,
        lambda rows: ([row[name] for name in exports.FOCUS] for row in exports.focus_rows(rows)),
    ),
    "plain": ("aws.csv", exports.PLAIN, exports.plain_rows),
}


@pytest.mark.parametrize("name", MAKERS)
@given(seed=st.integers(0, 10**6), mark=st.sampled_from(",;\t|"))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_order_of_columns_says_the_same(tmp_path, name, seed, mark):
    file, header, make = MAKERS[name]
    rows = [list(row) for row in make(12)]
    order = random.Random(seed).sample(range(len(header)), len(header))

    def told(places):
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=mark)
        writer.writerows([row[at] for at in places] for row in [header, *rows])
        (tmp_path / file).write_text(text.getvalue(), encoding="utf-8", newline="")
        found = of(tmp_path / file)
        return found.offers, found.billing, found.unread, found.format

    assert told(order) == told(range(len(header)))


def test_a_spreadsheet_of_another_program_is_read(tmp_path):
    """Dates as numbers, formulas, names with a prefix, empty columns: as openpyxl and others write them."""
    from datetime import date

    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["Prices of November", None, None])
    book.active.append([])
    book.active.append(["provider", "gpu", "price", "", "currency", "date"])
    book.active.append(["A & B <GmbH>", "H100", 2.5, None, "EUR", date(2026, 11, 2)])
    book.active.append(["C", "L40S", "0,79 €", None, None, date(2026, 11, 3)])
    book.active["D9"] = "=1+1"
    path = tmp_path / "prices.xlsx"
    book.save(path)
    found = of(path)
    assert [(one.provider, str(one.amount), one.currency, one.seen) for one in found.offers] == [
        ("A & B <GmbH>", "2.5", "EUR", "2026-11-02"),
        ("C", "0.79", "EUR", "2026-11-03"),
    ]
    prefixed = tmp_path / "prefixed.xlsx"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(prefixed, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            if name.startswith("xl/worksheets/"):
                text = re.sub(rb"<(/?)(?=\w)", rb"<\1x:", text).replace(b"xmlns=", b"xmlns:x=")
            new.writestr(name, text)
    assert [one.amount for one in of(prefixed).offers] == [one.amount for one in found.offers]


def test_a_long_prompt_reasoning_and_a_request_are_charged_as_their_lists_say(tmp_path):
    use = ApiUse(300_000, output_tokens=2_000, reasoning_tokens=1_000)
    gemini = {
        "litellm_provider": "gemini", "mode": "chat",
        "input_cost_per_token": 1.25e-06, "input_cost_per_token_above_200k_tokens": 2.5e-06,
        "output_cost_per_token": 1e-05, "output_cost_per_token_above_200k_tokens": 1.5e-05,
        "output_cost_per_reasoning_token": 1.2e-05, "output_cost_per_token_batches": 5e-06,
    }  # fmt: skip
    [one] = of(exports.write_json(tmp_path / "litellm.json", {"gemini/gemini-2.5-pro": gemini})).api_offers
    assert charge(one, use) == Decimal("0.75") + Decimal("0.015") + Decimal("0.012")
    assert amount(one, "output", 300_000, batch=True) == Decimal("7.5")  # half, as of the plain one
    sonar = {"prompt": "0.000001", "completion": "0.000001", "request": "0.005", "internal_reasoning": "0"}
    tree = {"data": [{"id": "perplexity/sonar", "pricing": sonar}]}
    [one] = of(exports.write_json(tmp_path / "models.json", tree)).api_offers
    assert charge(one, use) == Decimal("0.302") + Decimal("0.005")


def test_a_number_beyond_all_numbers_is_no_price_of_nothing(tmp_path):
    path = tmp_path / "litellm.json"
    path.write_text('{"a/b": {"input_cost_per_token": 1e9999999999999999999, "output_cost_per_token": 1e-6}}')
    found = of(path)
    assert (found.api_offers, [one.why for one in found.unread]) == ([], ["not_finite"])


def test_a_percentage_is_of_a_hundred_however_a_sheet_keeps_it(tmp_path):
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["provider", "gpu", "price", "currency", "capacity", "vat", "upfront"])
    for tax in (0.21, 21, "21 %"):
        book.active.append(["A", "H100", 2.5, "EUR", "reserved", tax, 0.255])
    book.active["F2"].number_format, book.active["F3"].number_format = "0%", "0"
    for row in (2, 3, 4):
        book.active[f"G{row}"].number_format = "0.0%"
        book.active[f"C{row}"].value += row
    path = tmp_path / "prices.xlsx"
    book.save(path)
    assert [(one.tax_ratio, one.upfront_ratio) for one in of(path).offers] == [(0.21, 0.255)] * 3
    header = ("provider", "gpu", "price", "currency", "vat")
    found = of(exports.write_csv(tmp_path / "p.csv", header, [("A", "H100", 2, "EUR", "0.21")]))
    assert (found.offers, [one.why for one in found.unread]) == ([], ["bad_percent"])


def test_a_rent_without_a_time_is_no_purchase(tmp_path):
    header = ("provider", "gpu", "price", "currency", "capacity", "unit")
    rows = [("A", "H100", "2.5", "USD", held, "gpu") for held in ("on-demand", "spot", "")]
    found = of(exports.write_csv(tmp_path / "p.csv", header, rows))
    assert [one.why for one in found.unread] == ["bad_unit", "bad_unit"]
    assert [one.capacity for one in found.offers] == ["buy"]


@pytest.mark.parametrize(
    ("header", "gpus", "amount"),
    [
        ("Price per GPU-hour", 1, "2.5"),
        ("EUR / node-hour", 8, "2.5"),
        ("Precio por GPU y hora", 1, "2.5"),
        ("Hourly rate (€)", 1, "2.5"),
        ("price_eur_per_gpu_month", 1, "0.0034246575"),
    ],
)
def test_the_header_of_a_price_says_its_unit(tmp_path, header, gpus, amount):
    names = ("Supplier", "GPU", "GPUs", header, "Currency", "Commitment", "Valid until", "Date")
    row = (
        "Iberia Cloud",
        "NVIDIA H100 80GB SXM",
        gpus,
        "2.5",
        "EUR",
        "12 months reserved",
        "2026-12-31",
        "2026-11-25",
    )
    (one,) = of(exports.write_csv(tmp_path / "quotes.csv", names, [row])).offers
    assert (str(one.amount), one.currency, one.unit) == (
        amount if gpus == 1 else str(float(amount) / gpus),
        "EUR",
        "accelerator_hour",
    )
    assert (one.capacity, one.term_months, one.until, one.sighting) == ("reserved", 12, "2026-12-31", "quote")


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("3 años", ("reserved", 36)),
        ("Reserved 1-year", ("reserved", 12)),
        ("on demand", ("on-demand", 0)),
        ("6m", ("reserved", 6)),
    ],
)
def test_a_commitment_says_its_term(tmp_path, said, read):
    header = ("provider", "gpu", "price", "currency", "commitment")
    (one,) = of(exports.write_csv(tmp_path / "p.csv", header, [("A", "H100", "2.5", "USD", said)])).offers
    assert (one.capacity, one.term_months) == read


def test_a_header_that_is_no_price_is_none(tmp_path):
    header = ("provider", "gpu", "price list", "currency")
    with pytest.raises(InvalidInput, match="CB-E055"):
        of(exports.write_csv(tmp_path / "p.csv", header, [("A", "H100", "2.5", "USD")]))


def test_a_whole_list_comes_back_from_the_store(tmp_path):
    from cabida import app
    from cabida.evidence import book

    gemini = {
        "litellm_provider": "gemini", "mode": "chat", "input_cost_per_token": 1.25e-06,
        "output_cost_per_token": 1e-05, "output_cost_per_token_above_200k_tokens": 1.5e-05,
    }  # fmt: skip
    path = exports.write_json(tmp_path / "litellm.json", {"gemini/some-model": gemini})
    [read_one] = of(path, as_of="2026-11-20").api_offers
    app.import_prices([path], as_of="2026-11-20", store=tmp_path / "s.db")
    [kept] = [
        one
        for one in book.current_api_offers(TODAY, store=tmp_path / "s.db")
        if "some-model" in one.model_name
    ]
    assert kept.rates == read_one.rates
    assert amount(kept, "output", 300_000) == 15


@pytest.mark.parametrize(
    ("header", "unit", "amount"),
    [("price_hour", "gpu", "20"), ("precio hora", "nodo", "2.5"), ("price per node-hour", "gpu", "20"),
     ("price", "gpu-hour", "20"), ("hourly price", "", "20"), ("price/month", "gpu-hour", "20")],
)  # fmt: skip
def test_a_time_in_the_header_is_that_of_every_row_without_one(tmp_path, header, unit, amount):
    path = exports.write_csv(
        tmp_path / "p.csv", ("provider", "gpu", "gpus", header, "unit", "currency"),
        [("A", "H100", "8", "20", unit, "USD")],
    )  # fmt: skip
    [one] = of(path).offers
    assert (str(one.amount), one.unit, one.capacity) == (amount, "accelerator_hour", "on-demand")
