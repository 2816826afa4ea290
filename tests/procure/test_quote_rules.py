"""One fault put into an honest quote is found by its rule, and by no rule before."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from cabida.evidence.quotes import Amount, Credit, Left, QuoteItem, read_quote
from cabida.procure import audit

FOLDER = Path(__file__).parent / "quotes"
HONEST = read_quote(FOLDER / "13-meridian-complete.yaml")
DAY = "2026-12-01"


def usd(value, currency="USD"):
    return Amount(Decimal(value), currency)


def line(what, quantity, price, total, unit="gpu_hour"):
    return QuoteItem(what, unit, Decimal(quantity), usd(price), usd(total), "quote.yaml:1")


ONE_FAULT = [
    ("CB-Q101", {"items": (line("H100 SXM5 80GB", "46720", "2.30", "117456"),)}),
    ("CB-Q102", {"items": (line("H100 SXM5", "10", "2", "20"), line("storage", "1", "5", "5")), "total_commit": None}),
    ("CB-Q103", {"monthly_price": usd("117456"), "total_commit": None, "minimum_commit_per_month": None}),
    ("CB-Q104", {"total_price": usd("2678944")}),
    ("CB-Q105", {"total_commit": usd("2600000")}),
    ("CB-Q106", {"discount_ratio": 0.2}),
    ("CB-Q107", {"discount_ratio": None, "list_unit_price": usd("2.00")}),
    ("CB-Q108", {"nodes_count": 7}),
    ("CB-Q109", {"quantity": 32.0}),
    ("CB-Q110", {"month_hours": 744.0}),
    ("CB-Q111", {"month_hours": 800.0}),
    ("CB-Q112", {"setup_fee": usd("100", "EUR")}),
    ("CB-Q113", {"minimum_commit_per_month": usd("200000")}),
    ("CB-Q114", {"minimum_quantity": 128.0}),
    ("CB-Q115", {"minimum_term_months": 36.0}),
    ("CB-Q116", {"setup_fee": usd("-5")}),
    ("CB-Q117", {"upfront_ratio": 1.2}),
    ("CB-Q119", {"currency": None, "unit_price": usd("2.30", "")}),
    ("CB-Q121", {"accelerator": "NVIDIA H100 PCIe 80GB"}),
    ("CB-Q122", {"accelerator_power_w": 350.0}),
    ("CB-Q122", {"memory_bandwidth_gb_per_s": 2039.0}),
    ("CB-Q123", {"accelerator_power_w": 500.0}),
    ("CB-Q124", {"accelerator_memory_usable_gib": 80.0}),
    ("CB-Q126", {"accelerator_memory_usable_gib": 60.0}),
    ("CB-Q127", {"tflops": 1979.0}),
    ("CB-Q128", {"tflops": 5000.0}),
    ("CB-Q129", {"tflops": 1200.0, "tflops_precision": "fp8"}),
    ("CB-Q131", {"gemm_tflops": 2500.0}),
    ("CB-Q132", {"gemm_tflops": 100.0}),
    ("CB-Q133", {"accelerator": "NVIDIA L40S 48GB", "form_factor": "PCIe", "accelerator_sku": None}),
    ("CB-Q134", {"nvlink": False, "nvlink_gb_per_s": None}),
    ("CB-Q135", {"nvlink_gb_per_s": 1800.0}),
    ("CB-Q136", {"nvlink_gb_per_s": 400.0}),
    ("CB-Q137", {"accelerator_sku": "HGX H800 8-GPU 80GB"}),
    ("CB-Q138", {"items": (line("H200 SXM 141GB, one month", "46720", "2.30", "107456"),)}),
    ("CB-Q142", {"accelerators_per_node_count": 16, "nodes_count": 4}),
    ("CB-Q143", {"node_power_kw": 4.0}),
    ("CB-Q145", {"node_power_kw": 6.5}),
    ("CB-Q146", {"rack_power_kw": 8.0}),
    ("CB-Q148", {"interconnect": "ethernet"}),
    ("CB-Q149", {"nics_per_node_count": 1}),
    ("CB-Q150", {"nic_speed_gbit_per_s": 25.0, "allreduce_gb_per_s": None}),
    ("CB-Q151", {"nic_speed_gbit_per_s": 4000.0}),
    ("CB-Q152", {"oversubscription_factor": 4.0}),
    ("CB-Q154", {"allreduce_gb_per_s": 900.0}),
    ("CB-Q155", {"storage_usable_tb": 300.0}),
    ("CB-Q156", {"storage_usable_tb": 278.0}),
    ("CB-Q160", {"expires": "2026-11-01"}),
    ("CB-Q161", {"expires": "2026-11-30"}),
    ("CB-Q163", {"issued": "2026-12-24"}),
    ("CB-Q164", {"delivery_date": "2026-11-01"}),
    ("CB-Q165", {"lead_time_days": 120.0}),
    ("CB-Q166", {"tax_treatment": "included", "tax_ratio": None}),
    ("CB-Q167", {"tax_treatment": "exempt"}),
    ("CB-Q168", {"notes": "All prices include VAT."}),
    ("CB-Q171", {"purpose": "rent", "minimum_term_months": 1.0, "billing_granularity_s": 9e6}),
    ("CB-Q172", {"billing_granularity_s": 86400.0}),
    ("CB-Q173", {"billing_start": "signature"}),
    ("CB-Q174", {"billing_start": "delivery", "acceptance_test": None, "acceptance_days": None}),
    ("CB-Q175", {"upfront_ratio": 1.0}),
    ("CB-Q176", {"idle_billing": False}),
    ("CB-Q178", {"early_exit_fee": usd("3000000")}),
    ("CB-Q180", {"includes": ("power", "storage", "support")}),
    ("CB-Q180", {"setup_fee": usd("5000"), "notes": "Installation at no cost."}),
    ("CB-Q181", {"items": (line("Support, included", "1", "500", "500"),)}),
    ("CB-Q182", {"auto_renewal": True, "renewal_notice_days": None}),
    ("CB-Q183", {"auto_renewal": True, "renewal_notice_days": 900.0}),
    ("CB-Q184", {"auto_renewal": True, "renewal_notice_days": 180.0}),
    ("CB-Q185", {"warranty_months": 12.0}),
    ("CB-Q186", {"price_adjustment_clause": "Follows CPI.", "price_adjustment_limit_ratio_per_year": None}),
    ("CB-Q187", {"price_adjustment_limit_ratio_per_year": 0.05}),
    ("CB-Q188", {"overage_unit_price": usd("4.00")}),
    ("CB-Q190", {"region": "Ashburn, Virginia"}),
    ("CB-Q191", {"data_residency": "Germany"}),
    ("CB-Q192", {"data_used_for_training": True}),
    ("CB-Q195", {"encryption_at_rest": False}),
    ("CB-Q196", {"isolation": "container"}),
    ("CB-Q197", {"notes": "Refurbished units may be delivered."}),
    ("CB-Q206", {"acceptance_test": "none", "burn_in_days": 0.0}),
    ("CB-Q208", {"notes": "The hall gives 15 kW per rack."}),
    ("CB-Q209", {"early_exit_fee_ratio": 1.0}),
    ("CB-Q210", {"notes": "Downtime is at most 40 hours per month."}),
    ("CB-Q211", {"notes": "We guarantee 99.99 % availability."}),
    ("CB-Q213", {"uptime_ratio": 0.999}),
    ("CB-Q214", {"uptime_ratio": 0.99, "goodput_ratio": None}),
    ("CB-Q215", {"credit_ladder": (Credit(0.995, 0.25), Credit(0.99, 0.10))}),
    ("CB-Q216", {"credit_cap_ratio": 0.10}),
    ("CB-Q217", {"node_replacement_hours": 48.0, "hot_spares_count": 0}),
    ("CB-Q218", {"goodput_ratio": 0.999}),
    ("CB-Q220", {"support_hours": "8x5"}),
    ("CB-Q221", {"uptime_ratio": 1.0, "credit_ladder": (Credit(1.0, 0.1),)}),
    ("CB-Q222", {"uptime_ratio": 0.9, "goodput_ratio": 0.8, "credit_ladder": (Credit(0.9, 0.1),)}),
    ("CB-Q240", {"unit_price": usd("0.30")}),
    ("CB-Q241", {"unit_price": usd("23.00")}),
    ("CB-Q250", {"left": (Left("quote.txt:9", "?", ""),)}),
]  # fmt: skip
PURCHASE = {
    "purpose": "buy", "unit": "node", "unit_price": usd("240000"), "quantity": 8.0, "total_price": usd("1920000"),
    "monthly_price": None, "total_commit": None, "minimum_commit_per_month": None, "term_months": None,
    "minimum_term_months": None, "minimum_quantity": None, "discount_ratio": None, "list_unit_price": None,
    "expansion_unit_price": None, "overage_unit_price": None, "items": (), "warranty_months": 36.0,
    "billing_granularity_s": None, "idle_billing": None,
}  # fmt: skip
PURCHASE_FAULTS = [
    ("CB-Q104", {"total_price": usd("2000000")}),
    ("CB-Q147", {"accelerator": "NVIDIA GB200 NVL72", "form_factor": None, "accelerator_sku": None}),
    ("CB-Q203", {"upfront_ratio": 1.0, "financing_months": 36.0}),
    ("CB-Q205", {"upfront_ratio": 0.4, "financing_months": 36.0, "monthly_price": usd("60000")}),
    ("CB-Q207", {"cooling": "liquid", "notes": "The customer's hall is air-cooled."}),
    ("CB-Q141", {"accelerator": "GeForce RTX 4090", "form_factor": "PCIe", "notes": "For your data centre."}),
    ("CB-Q139", {"accelerator": "GeForce RTX 3090", "form_factor": "PCIe"}),
    ("CB-Q140", {"accelerator": "NVIDIA L40S", "form_factor": "PCIe"}),
    ("CB-Q120", {"accelerator": "Quantum Processor X9", "form_factor": None}),
]  # fmt: skip
API = {
    "purpose": "api", "accelerator": None, "form_factor": None, "accelerator_sku": None, "unit_price": None,
    "unit": None,
    "model": "meta-llama/Llama-3.3-70B-Instruct", "context_tokens": 131072, "rate_limit_tokens_per_min": 2e6,
    "rate_limit_requests_per_min": 600.0, "input_price_per_million_tokens": usd("0.60"), "items": (),
    "output_price_per_million_tokens": usd("0.80"), "cached_input_price_per_million_tokens": usd("0.30"),
}  # fmt: skip
API_FAULTS = [
    ("CB-Q198", {"cached_input_price_per_million_tokens": usd("0.90")}),
    ("CB-Q199", {"output_price_per_million_tokens": usd("0.10")}),
    ("CB-Q200", {"rate_limit_tokens_per_min": 60000.0}),
    ("CB-Q201", {"rate_limit_requests_per_min": 2e5}),
    ("CB-Q202", {"model": "some-model-latest", "model_version_pinned": True}),
]


def codes(quote):
    return {one.code for one in audit(quote, DAY).findings}


@pytest.mark.parametrize(
    ("code", "fault"), ONE_FAULT, ids=[f"{at}-{code}" for at, (code, _) in enumerate(ONE_FAULT)]
)
def test_one_fault_in_an_honest_quote_is_found(code, fault):
    found = [one for one in audit(replace(HONEST, **fault), DAY).findings if one.code == code]
    assert found
    for one in found:
        assert "{" not in one.sentence
        assert "None" not in one.sentence
        assert one.severity in ("blocking", "important", "useful")


@pytest.mark.parametrize(("code", "fault"), PURCHASE_FAULTS, ids=[code for code, _ in PURCHASE_FAULTS])
def test_one_fault_in_a_purchase_is_found(code, fault):
    base = replace(HONEST, **PURCHASE)
    assert code not in codes(base)
    assert code in codes(replace(base, **fault))


@pytest.mark.parametrize(("code", "fault"), API_FAULTS, ids=[code for code, _ in API_FAULTS])
def test_one_fault_in_an_api_is_found(code, fault):
    base = replace(HONEST, **API)
    assert code not in codes(base)
    assert code in codes(replace(base, **fault))


def test_the_honest_quote_has_none_of_them():
    assert codes(HONEST) == set()


@pytest.mark.parametrize(
    "fault",
    [
        {"monthly_price": usd("107456.40")},  # rounding
        {"total_price": usd("2578944.00"), "total_commit": usd("2578944.40")},
        {"month_hours": None},
        {"accelerator": "H100", "form_factor": "SXM"},
        {"accelerator_memory_usable_gib": 79.0},
        {"tflops": 1979.0, "tflops_sparse": True},
        {"tflops": 1979.0, "tflops_precision": "fp8"},
        {"nvlink_gb_per_s": 450.0},
        {"notes": "Mellanox ConnectX-7 PCIe network cards in every node."},
        {"notes": "Support answers within 2 hours, 24x7."},
        {"data_residency": "EU"},
        {"region": "Dublin, Ireland"},
        {"notes": "Prices exclude VAT."},
        {"notes": "SLA credits need a ticket within 30 days."},
        {"cpu": "2 x AMD EPYC 9654, PCIe Gen5"},
    ],
    ids=range(15),
)
def test_what_is_right_is_not_refused(fault):
    assert not codes(replace(HONEST, **fault))
