"""The accelerator behind a name in a price file, and a refusal where it would be a guess."""

from decimal import Decimal

import pytest

from cabida import facts
from cabida.evidence.prices.making import country_of
from cabida.evidence.prices.nouns import Odd
from cabida.evidence.prices.parts import known, part, provider, shared

NAMED = [  # name, GiB, machine -> accelerator, form
    ("H100-80GB-HBM3", None, "", "h100-sxm-80", ""),
    ("NVIDIA H100 80GB HBM3", None, "", "h100-sxm-80", ""),
    ("H100-MEGA-80GB", None, "", "h100-sxm-80", ""),
    ("H100-NVLINK-80GB", None, "", "h100-sxm-80", "SXM"),
    ("H100 PCIe", None, "", "h100-pcie-80", "PCIe"),
    ("H100 NVL", None, "", "h100-nvl-94", "NVL"),
    ("H100", None, "Standard_NC40ads_H100_v5", "h100-nvl-94", ""),
    ("H100", 94, "", "h100-nvl-94", ""),
    ("A100-SXM4-80GB", None, "", "a100-sxm-80", "SXM"),
    ("A100", 40, "", "a100-sxm-40", ""),
    ("A100", 80, "", "a100-sxm-80", ""),
    ("A100", None, "p4d.24xlarge", "a100-sxm-40", ""),
    ("A100", 80, "Standard_NC24ads_A100_v4", "a100-pcie-80", ""),
    ("NVIDIA L40S", None, "", "l40s", ""),
    ("RTX4090", 24, "", "rtx4090", ""),
    ("RTX6000-Ada", None, "", "rtx6000-ada", ""),
    ("V100-32GB", None, "", "v100-sxm2-32", ""),
    ("NVIDIA T4 Tensor Core", None, "", "t4", ""),
    ("MI300X", None, "", "mi300x", ""),
    ("AWS Trainium2", None, "", "trainium2", ""),
]
LEFT = [
    ("K80", None, "", "unknown_part"),
    ("Trainium", None, "", "unknown_part"),
    ("tpu-v4-8", None, "", "unknown_part"),
    ("H100X9000", None, "", "unknown_part"),
    ("", None, "", "unknown_part"),
    ("A10", 4, "", "other_memory"),
    ("A100", 20, "", "other_memory"),
    ("RTX4090", 48, "", "other_memory"),
    ("AMD Instinct MI25", None, "Standard_NV8as_v4", "unknown_part"),
]


@pytest.mark.parametrize(("name", "gib", "machine", "id", "form"), NAMED)
def test_a_name_is_a_part(name, gib, machine, id, form):
    found = part(name, gib and Decimal(gib), machine)
    assert (found.accelerator, found.form_factor, found.fraction_ratio) == (id, form, 1.0)


@pytest.mark.parametrize(("name", "gib", "machine", "why"), LEFT)
def test_what_would_be_a_guess_is_refused(name, gib, machine, why):
    with pytest.raises(Odd) as odd:
        part(name, gib and Decimal(gib), machine)
    assert odd.value.why == why


def test_the_nearest_name_is_told():
    with pytest.raises(Odd) as odd:
        part("H100-SMX")
    assert odd.value.near.startswith("h100")


def test_a_share_is_never_a_whole():
    sixth = part("A10", Decimal(4), "Standard_NV6ads_A10_v5")
    assert (sixth.accelerator, round(sixth.fraction_ratio, 6)) == ("a10", round(1 / 6, 6))
    eighth, units = shared(part("L4"), Decimal("0.125"))
    assert (eighth.fraction_ratio, units) == (0.125, 1)
    slice_, _ = shared(part("A100-80GB MIG 1g.10gb"), Decimal(1))
    assert slice_.accelerator == "a100-sxm-80"
    assert 0.1 < slice_.fraction_ratio < 0.15
    with pytest.raises(Odd):
        shared(part("L4"), Decimal("1.5"))


def test_a_slice_of_tpus_counts_its_chips():
    assert [part(name).units for name in ("tpu-v5litepod-8", "tpu-v6e-16", "tpu-v5p-8")] == [8, 16, 4]


def test_every_part_and_machine_listed_exists():
    table, ids = known(), facts.accelerators()
    listed = [
        *table["parts"].values(),
        *table["instances"],
        *(id for sizes in table["memory_gib"].values() for id in sizes.values()),
    ]
    listed += [id for id, _ in table["fractions"].values() if id]
    assert set(listed) <= set(ids)
    machines = [name for names in table["instances"].values() for name in names]
    assert len(machines) == len(set(machines))
    shipped = {
        one.id.partition("-")[2].lower(): one
        for one in facts.nodes().values()
        if one.provider in ("AWS", "GCP", "Azure")
    }
    for id, names in table["instances"].items():
        for name, count in names.items():
            if node := shipped.get(name.lower()):
                assert (node.accelerator, node.accelerators_count) == (id, count), name


def test_providers_have_the_names_of_the_book():
    assert provider("amazon web services") == ("AWS", "hyperscaler")
    assert provider("datacrunch")[0] == "Verda"
    assert provider("Nobody We Know") == ("Nobody We Know", "neocloud")
    shipped = {one.provider for one in facts.offers()}
    assert {"AWS", "Azure", "GCP", "OCI", "Lambda", "RunPod", "Vast.ai", "Nebius", "Verda"} <= shipped


@pytest.mark.parametrize(
    ("region", "country"),
    [
        ("us-east-1", "US"),
        ("us-midwest-1", "US"),
        ("US-EAST-04A", "US"),
        ("Texas, US", "US"),
        ("us", "US"),
        ("Los Angeles, CA", ""),
        ("australia-east-9", ""),
        ("usti-nad-labem", ""),
        ("", ""),
    ],
)
def test_a_region_that_names_its_country(region, country):
    assert country_of(region) == country
