"""Exports as the tools write them, built from their documented formats: as many rows as are asked for, by seed."""

import csv
import gzip
import io
import json
import random
import zipfile
from datetime import datetime, timedelta
from pathlib import Path
from xml.sax.saxutils import escape

CARDS = (  # SkyPilot's name, gpuhunt's name, GiB, instance, count, dollars an hour of the instance
    ("H100", "H100", 80, "p5.48xlarge", 8, 55.04),
    ("A100", "A100", 40, "p4d.24xlarge", 8, 21.96),
    ("A100-80GB", "A100", 80, "p4de.24xlarge", 8, 27.45),
    ("A10G", "A10G", 24, "g5.12xlarge", 4, 5.672),
    ("L4", "L4", 24, "g6.xlarge", 1, 0.8048),
    ("L40S", "L40S", 48, "g6e.12xlarge", 4, 10.493),
    ("T4", "T4", 16, "g4dn.xlarge", 1, 0.526),
    ("V100-32GB", "V100", 32, "p3dn.24xlarge", 8, 31.212),
    ("H200", "H200", 141, "p5en.48xlarge", 8, 63.296),
)
REGIONS = ("us-east-1", "us-west-2", "eu-west-1", "eu-central-1", "ap-northeast-1")
SKYPILOT = (
    "InstanceType", "AcceleratorName", "AcceleratorCount", "vCPUs", "MemoryGiB", "GpuInfo", "Price", "SpotPrice",
    "Region", "AvailabilityZone", "Arch",
)  # fmt: skip
GPUHUNT = (
    "instance_name", "location", "price", "cpu", "memory", "gpu_count", "gpu_name", "gpu_memory", "spot", "disk_size",
    "gpu_vendor", "flags", "cpu_arch", "provider_data",
)  # fmt: skip
FOCUS = (  # version 1.0
    "AvailabilityZone", "BilledCost", "BillingAccountId", "BillingAccountName", "BillingCurrency", "BillingPeriodEnd",
    "BillingPeriodStart", "ChargeCategory", "ChargeClass", "ChargeDescription", "ChargeFrequency", "ChargePeriodEnd",
    "ChargePeriodStart", "CommitmentDiscountCategory", "CommitmentDiscountId", "CommitmentDiscountName",
    "CommitmentDiscountStatus", "CommitmentDiscountType", "ConsumedQuantity", "ConsumedUnit", "ContractedCost",
    "ContractedUnitPrice", "EffectiveCost", "InvoiceIssuerName", "ListCost", "ListUnitPrice", "PricingCategory",
    "PricingQuantity", "PricingUnit", "ProviderName", "PublisherName", "RegionId", "RegionName", "ResourceId",
    "ResourceName", "ResourceType", "ServiceCategory", "ServiceName", "SkuId", "SkuPriceId", "SubAccountId",
    "SubAccountName", "Tags",
)  # fmt: skip
BY_UNIT = ("PricingQuantity", "PricingUnit", "ListUnitPrice", "ContractedUnitPrice", "SkuId", "SkuPriceId")
FOCUS_LATER = (
    "CapacityReservationId",
    "CapacityReservationStatus",
    "SkuPriceDetails",
    "SkuMeter",
    "InvoiceId",
    "ServiceSubcategory",
)  # 1.1, 1.2


def info(name, gib, count, python):
    said = {
        "Gpus": [
            {
                "Name": name,
                "Manufacturer": "NVIDIA",
                "Count": float(count),
                "MemoryInfo": {"SizeInMiB": gib * 1024},
            }
        ],
        "TotalGpuMemoryInMiB": gib * 1024 * count,
    }
    return repr(said) if python else json.dumps(said)


def skypilot_rows(rows, seed=1):
    draw = random.Random(seed)
    for at in range(rows):
        name, _, gib, instance, count, price = CARDS[at % len(CARDS)]
        paid = round(price * draw.uniform(0.9, 1.1), 5)
        region = REGIONS[at % len(REGIONS)]
        yield (
            instance, name, float(count), 192.0, 2048.0, info(name.partition("-")[0], gib, count, at % 2), paid,
            round(paid * draw.uniform(0.3, 0.6), 5) if at % 3 else "", region, f"{region}{'abc'[at % 3]}", "x86_64",
        )  # fmt: skip


def gpuhunt_rows(rows, seed=1):
    draw = random.Random(seed)
    for at in range(rows):
        _, name, gib, instance, count, price = CARDS[at % len(CARDS)]
        spot = at % 2 == 1
        paid = round(price * draw.uniform(0.9, 1.1) * (0.4 if spot else 1.0), 5)
        yield (
            instance, REGIONS[at % len(REGIONS)], paid, 192, 2048.0, count, name, float(gib), str(spot), "", "nvidia",
            "",
            "x86", "{}",
        )  # fmt: skip


def ec2_tree(rows, seed=1):
    """Instances whose regions together hold about as many prices as rows."""
    draw = random.Random(seed)
    found, prices = [], 0
    while prices < rows:
        name, _, gib, instance, count, price = CARDS[len(found) % len(CARDS)]
        pricing = {}
        for region in REGIONS:
            paid = price * draw.uniform(0.9, 1.1)
            pricing[region] = {
                "linux": {
                    "ondemand": f"{paid:.6f}",
                    "spot_avg": f"{paid * 0.4:.6f}",
                    "spot_min": f"{paid * 0.3:.6f}",
                    "spot_max": f"{paid * 0.5:.6f}",
                    "pct_interrupt": draw.choice(("<5%", "5-10%", "10-15%", "15-20%", ">20%")),
                    "pct_savings_od": 60,
                    "reserved": {
                        "yrTerm1Standard.noUpfront": f"{paid * 0.7:.6f}",
                        "yrTerm1Standard.partialUpfront": f"{paid * 0.68:.6f}",
                        "yrTerm3Standard.allUpfront": f"{paid * 0.45:.6f}",
                        "yrTerm3Convertible.noUpfront": f"{paid * 0.5:.6f}",
                    },
                },
                "mswin": {"ondemand": f"{paid * 1.2:.6f}"},
            }
            prices += 6
        found.append(
            {
                "instance_type": instance,
                "family": "GPU instance",
                "GPU": count,
                "GPU_model": f"NVIDIA {name.partition('-')[0]}",
                "GPU_memory": gib * count,
                "pricing": pricing,
            }
        )
    return found


def litellm_tree(rows, seed=1):
    draw = random.Random(seed)
    found = {
        "sample_spec": {
            "litellm_provider": "one of https://docs.litellm.ai/docs/providers",
            "mode": "one of: chat, embedding",
        }
    }
    for at in range(rows):
        price = draw.randint(5, 900) / 1e8
        found[f"maker/model-{at % 500}-{at}"] = {
            "litellm_provider": ("openai", "anthropic", "together_ai")[at % 3],
            "mode": "chat",
            "input_cost_per_token": price,
            "output_cost_per_token": price * 4,
            "cache_read_input_token_cost": price / 10,
            "input_cost_per_token_batches": price / 2,
            "output_cost_per_token_batches": price * 2,
            "input_cost_per_token_above_200k_tokens": price * 2,
            "max_input_tokens": 200_000,
            "supports_function_calling": True,
        }
    return found


def openrouter_tree(rows, seed=1):
    draw = random.Random(seed)
    data = []
    for at in range(rows):
        price = draw.randint(5, 900) / 1e8
        pricing = {
            "prompt": f"{price:.10f}",
            "completion": f"{price * 4:.10f}",
            "request": "0",
            "image": "0",
            "input_cache_read": f"{price / 10:.10f}",
        }
        data.append(
            {
                "id": f"maker/model-{at}",
                "name": f"Model {at}",
                "created": 1760000000,
                "context_length": 131072,
                "pricing": pricing,
            }
        )
    return {"data": data}


def focus_rows(rows, seed=1, later=True):
    """Charges hour by hour: on-demand, spot, used and unused commitments, storage, a tax, a credit and a refund."""
    draw = random.Random(seed)
    start = datetime(2026, 9, 1)
    for at in range(rows):
        _, _, _, instance, count, price = CARDS[at % len(CARDS)]
        hour = start + timedelta(hours=at % 720)
        kind = ("Standard", "Dynamic", "Committed", "Standard")[at % 4]
        paid = round(
            price * {"Standard": 1.0, "Dynamic": 0.4, "Committed": 0.65}[kind] * draw.uniform(0.95, 1.05), 6
        )
        committed = kind == "Committed"
        row = {
            "AvailabilityZone": f"{REGIONS[at % 5]}a",
            "BilledCost": 0.0 if committed else paid,
            "BillingAccountId": "account-123456789012",
            "BillingAccountName": "Example",
            "BillingCurrency": "USD",
            "BillingPeriodEnd": "2026-10-01T00:00:00Z",
            "BillingPeriodStart": "2026-09-01T00:00:00Z",
            "ChargeCategory": "Usage",
            "ChargeClass": "",
            "ChargeDescription": f"${price} per On Demand Linux {instance} Instance Hour",
            "ChargeFrequency": "Usage-Based",
            "ChargePeriodEnd": (hour + timedelta(hours=1)).isoformat() + "Z",
            "ChargePeriodStart": hour.isoformat() + "Z",
            "CommitmentDiscountCategory": "Spend" if committed else "",
            "CommitmentDiscountId": "arn:aws:savingsplans::123456789012:savingsplan/abc" if committed else "",
            "CommitmentDiscountName": "",
            "CommitmentDiscountStatus": ("Unused" if at % 40 == 2 else "Used") if committed else "",
            "CommitmentDiscountType": "Compute Savings Plan" if committed else "",
            "ConsumedQuantity": 1.0,
            "ConsumedUnit": "Hours",
            "ContractedCost": price,
            "ContractedUnitPrice": price,
            "EffectiveCost": paid,
            "InvoiceIssuerName": "AWS",
            "ListCost": price,
            "ListUnitPrice": price,
            "PricingCategory": kind,
            "PricingQuantity": 1.0,
            "PricingUnit": "Hours",
            "ProviderName": "AWS",
            "PublisherName": "AWS",
            "RegionId": REGIONS[at % 5],
            "RegionName": REGIONS[at % 5],
            "ResourceId": f"i-{at % 40:017x}",
            "ResourceName": "",
            "ResourceType": "Instance",
            "ServiceCategory": "Compute",
            "ServiceName": "Amazon Elastic Compute Cloud",
            "SkuId": f"SKU{at % len(CARDS)}",
            "SkuPriceId": f"SKU{at % len(CARDS)}.JRTCKXETXF",
            "SubAccountId": "account-210987654321",
            "SubAccountName": "ml",
            "Tags": json.dumps({"workload": ("chat", "batch")[at % 2], "team": "ml"}),
        }
        unused = row["CommitmentDiscountStatus"] == "Unused"
        if at % 50 in (7, 8) or unused:
            row |= {"ConsumedQuantity": "", "ConsumedUnit": ""}
        if at % 50 == 7:
            row |= dict.fromkeys(BY_UNIT, "") | {"ChargeCategory": "Tax", "PricingCategory": ""}
        if at % 50 == 8:
            row |= {
                "ChargeCategory": "Credit",
                "BilledCost": -paid,
                "EffectiveCost": -paid,
                "PricingCategory": "",
            }
        if later:
            row |= {
                "CapacityReservationId": "",
                "CapacityReservationStatus": "",
                "SkuPriceDetails": json.dumps({"InstanceType": instance, "GpuCount": count}),
                "SkuMeter": f"BoxUsage:{instance}",
                "InvoiceId": "",  # the bill of a month that isn't invoiced yet
                "ServiceSubcategory": "Virtual Machines",
            }
            if row["ChargeCategory"] == "Tax":
                row |= {"SkuPriceDetails": "", "SkuMeter": ""}
        yield row


def opencost_tree(rows, seed=1):
    draw = random.Random(seed)
    sets, start = [], datetime(2026, 9, 1)
    for day in range(0, rows, 200):
        window = {
            "start": (start + timedelta(days=day // 200 % 30)).isoformat() + "Z",
            "end": (start + timedelta(days=day // 200 % 30 + 1)).isoformat() + "Z",
        }
        one = {}
        for at in range(day, min(day + 200, rows)):
            name = "__idle__" if at % 200 == 199 else f"cluster/namespace-{at % 9}/pod-{at}"
            gpu = draw.uniform(1, 90)
            one[name] = {
                "name": name,
                "properties": {"cluster": "cluster", "node": f"node-{at % 7}", "namespace": f"namespace-{at % 9}",
                               "labels": {"app": "chat", "topology_kubernetes_io_region": "us-east-1"}},
                "window": window, "start": window["start"], "end": window["end"], "minutes": 1440.0,
                "cpuCost": 0.3, "gpuCount": 1.0, "gpuHours": 24.0, "gpuCost": gpu, "ramCost": 0.2,
                "pvCost": 0.0, "networkCost": 0.0,
                "totalCost": gpu + 0.5, "totalEfficiency": 0.4,
            }  # fmt: skip
        sets.append(one)
    return {"code": 200, "data": sets}


PLAIN = ("provider", "gpu", "gpus", "region", "capacity", "price", "unit", "currency", "seen", "notes")


def plain_rows(rows, seed=1):
    draw = random.Random(seed)
    for at in range(rows):
        name, _, _, _, count, price = CARDS[at % len(CARDS)]
        each = price / count * draw.uniform(0.9, 1.1)
        yield (
            "RunPod",
            name,
            count,
            REGIONS[at % 5],
            ("on-demand", "spot")[at % 2],
            f"{each:.4f}",
            "gpu-hour",
            "USD",
            "2026-11-01",
            "as told",
        )


def plain_rows_es(rows, seed=1):
    for row in plain_rows(rows, seed):
        yield (
            *row[:4],
            ("bajo demanda", "spot")[row[4] == "spot"],
            row[5].replace(".", ",") + " €",
            "gpu/hora",
            "EUR",
            row[8],
            row[9],
        )


PLAIN_ES = (
    "proveedor",
    "gpu",
    "cantidad",
    "región",
    "modalidad",
    "precio",
    "unidad",
    "moneda",
    "fecha",
    "notas",
)


def write_csv(path, header, rows, delimiter=",", encoding="utf-8"):
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow(header)
    writer.writerows([row[name] for name in header] if isinstance(row, dict) else row for row in rows)
    data = text.getvalue().encode(encoding)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def write_json(path, tree):
    path.write_text(json.dumps(tree), encoding="utf-8")
    return path


def write_xlsx(path, header, rows):
    """As spreadsheet programs write it: texts shared, numbers as numbers."""
    shared = {}

    def cell(value):
        if isinstance(value, int | float):
            return f"<c><v>{value}</v></c>"
        return f'<c t="s"><v>{shared.setdefault(str(value), len(shared))}</v></c>'

    lines = [
        f'<row r="{at}" spans="1:9" x14ac:dyDescent="0.25">{"".join(map(cell, row))}</row>'
        for at, row in enumerate([header, *rows], 1)
    ]
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    excel = 'xmlns:x14ac="http://schemas.microsoft.com/office/spreadsheetml/2009/9/ac"'
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr(
            "[Content_Types].xml",
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        )
        book.writestr(
            "xl/workbook.xml",
            f'<workbook {main} xmlns:r="{office}"><sheets>'
            '<sheet name="A" sheetId="1" r:id="rId1"/></sheets></workbook>',
        )
        book.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" '
            f'Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        )
        book.writestr(
            "xl/worksheets/sheet1.xml",
            f"<worksheet {main} {excel}><sheetData>{''.join(lines)}</sheetData></worksheet>",
        )
        texts = "".join(f"<si><t>{escape(text)}</t></si>" for text in shared)
        book.writestr("xl/sharedStrings.xml", f"<sst {main}>{texts}</sst>")
    return path


def write_parquet(path, header, rows):
    """As a cloud writes a bill: times as times, costs as decimals or floats, tags as a map."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = {name: [] for name in header}
    for row in rows:
        for name in header:
            columns[name].append(row[name])
    costs = (
        "BilledCost",
        "EffectiveCost",
        "ListCost",
        "ContractedCost",
        "ConsumedQuantity",
        "PricingQuantity",
        "ListUnitPrice",
        "ContractedUnitPrice",
    )
    made = {}
    for name, values in columns.items():
        if name in costs:
            made[name] = pa.array([None if one == "" else float(one) for one in values], pa.float64())
        elif name.endswith(("Start", "End")):
            made[name] = pa.array(
                [datetime.fromisoformat(one) for one in values], pa.timestamp("us", tz="UTC")
            )
        elif name == "Tags":
            made[name] = pa.array(
                [list(json.loads(one).items()) for one in values], pa.map_(pa.string(), pa.string())
            )
        else:
            made[name] = pa.array([one or None for one in values], pa.string())
    parquet.write_table(pa.table(made), path)
    return path


FILES = {  # format: the file's name, how it is written, and what is written in it
    "skypilot": ("aws/vms.csv", write_csv, SKYPILOT, skypilot_rows),
    "gpuhunt": ("aws-20261107-2.csv", write_csv, GPUHUNT, gpuhunt_rows),
    "ec2instances": ("instances.json", write_json, ec2_tree),
    "litellm": ("model_prices_and_context_window.json", write_json, litellm_tree),
    "openrouter": ("models.json", write_json, openrouter_tree),
    "focus-csv": ("focus.csv", write_csv, (*FOCUS, *FOCUS_LATER), focus_rows),
    "focus-gz": ("focus.csv.gz", write_csv, (*FOCUS, *FOCUS_LATER), focus_rows),
    "focus-parquet": ("focus.parquet", write_parquet, (*FOCUS, *FOCUS_LATER), focus_rows),
    "opencost": ("allocation.json", write_json, opencost_tree),
    "plain-csv": ("prices.csv", write_csv, PLAIN, plain_rows),
    "plain-xlsx": ("prices.xlsx", write_xlsx, PLAIN, plain_rows),
}


def one(folder, form, rows, seed=1):
    """One export of a format; its path."""
    name, write, *header, made = FILES[form]
    path = Path(folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return write(path, *header, made(rows, seed))


def every(folder, rows, seed=1):
    """One export of each format; path by name."""
    return {form: one(folder, form, rows, seed) for form in FILES}
