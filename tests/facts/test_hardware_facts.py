"""Accelerators, nodes, links and engines: what they say, and how they are found by name."""

import pytest

from cabida import facts
from cabida.errors import InvalidInput
from cabida.facts import store
from cabida.facts.releases import numbers, releases


def test_the_market_is_covered():
    assert len(facts.accelerators()) >= 98
    assert len(facts.nodes()) >= 80
    assert len(facts.collectives()) >= 240
    assert {"vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers", "exllamav2", "lmdeploy"} <= set(
        facts.engines()
    )
    assert {"torchtitan", "megatron", "deepspeed", "unsloth", "maxtext"} <= set(facts.engines())


def test_h100_sxm_is_what_the_datasheet_and_the_driver_say():
    card = facts.accelerator("h100-sxm-80")
    assert card.flop_per_s["bf16"] == 989.4e12
    assert card.flop_per_s["fp8"] == 1978.9e12
    assert card.memory_bytes_per_s == 3350e9
    assert card.usable_bytes == 81559 * 2**20
    assert card.label_memory_bytes == 80 * 2**30
    assert (card.link_kind, card.link_bytes_per_s, card.link_domain_count) == ("nvlink4", 450e9, 8)
    assert (card.tdp_w, card.capability, card.architecture, card.mig_instances_count) == (
        700,
        "9.0",
        "Hopper",
        7,
    )
    assert card.matmul_ratio == pytest.approx(794.5 / 989.4, abs=1e-4)
    assert card.source_of("usable_bytes").grade == "measured"
    assert card.source_of("memory_bytes_per_s").grade == "vendor"


@pytest.mark.parametrize(
    ("id", "field", "value"),
    [
        ("a100-sxm-80", "memory_bytes_per_s", 2039e9),  # the guide says 1.6 TB/s
        ("a100-sxm-40", "memory_bytes_per_s", 1555e9),
        ("rtx6000-ada", "memory_bytes_per_s", 960e9),  # the guide says 900
        ("mi300x", "memory_bytes_per_s", 5300e9),  # a database says 10,300
        ("b200-sxm-180", "memory_bytes_per_s", 7700e9),
        ("b300-sxm-288", "usable_bytes", 275040 * 2**20),
        ("l40s", "usable_bytes", 46068 * 2**20),  # ECC on
        ("mi325x", "label_memory_bytes", 256 * 2**30),
        ("max1550", "label_memory_bytes", 128 * 2**30),  # the guide says 16 GB
        ("rtx5090", "capability", "12.0"),
        ("mi300x", "link_bytes_per_s", 448e9),
    ],
)
def test_where_sources_disagree_the_right_one_was_taken(id, field, value):
    assert getattr(facts.accelerator(id), field) == value


def test_int8_of_b300_is_the_cut_one_and_tensor_rates_of_geforce_are_halved():
    assert facts.accelerator("b300-sxm-288").flop_per_s["int8"] == 153.5e12
    assert facts.accelerator("rtx4090").flop_per_s["bf16"] == 165.2e12
    assert "fp8" not in facts.accelerator("a100-sxm-80").flop_per_s


def test_cards_without_a_link_say_so():
    for id in ("rtx4090", "l40s", "rtx6000-ada", "rtxpro6000-server"):
        card = facts.accelerator(id)
        assert (card.link_kind, card.link_bytes_per_s, card.link_domain_count) == ("none", None, 1)


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("NVIDIA H100 80GB HBM3", "h100-sxm-80"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm-80"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80"),
        ("NVIDIA GeForce RTX 4090", "rtx4090"),
        ("h100", "h100-sxm-80"),
        ("H100 SXM5 80 GB", "h100-sxm-80"),
        ("L40S", "l40s"),
        ("AMD Instinct MI300X", "mi300x"),
        ("3090", "rtx3090"),
        ("RTX 3070", "rtx3070"),
        ("NVIDIA GeForce RTX 4060 Ti", "rtx4060ti-16"),
        ("RTX 4060 Ti 8GB", "rtx4060ti-8"),
        ("GTX 1080 Ti", "gtx1080ti"),
        ("DGX Spark", "gb10-dgx-spark"),
        ("RTX 4090 24GB", "rtx4090"),
        ("GeForce RTX 3090 24 GB", "rtx3090"),
        ("NVIDIA H200 141GB HBM3e", "h200-sxm-141"),
        ("L40S 48GiB", "l40s"),
    ],
)
def test_found_by_the_names_drivers_and_people_use(name, id):
    assert facts.accelerator(name).id == id


@pytest.mark.parametrize(
    "name", ["RTX 4090 48GB", "H100 0GB", "H100 40GB", "L40S 24GB", "24GB", "RTX 3080 8GB"]
)
def test_a_card_of_another_size_is_another_card(name):
    assert facts.find_accelerator(name) is None


def test_no_name_means_two_accelerators():
    seen: dict[str, str] = {}
    for id, names in store.payload("names").items():
        for name in names:
            assert seen.setdefault(name.lower(), id) == id
            assert facts.accelerator(name).id == id


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(InvalidInput, match=r"h100-sxm-80.*CB-F001"):
        facts.accelerator("h10O")
    with pytest.raises(InvalidInput, match=r"vllm.*CB-F001"):
        facts.engine("vlm")
    with pytest.raises(InvalidInput, match=r"CB-F001"):
        facts.node("dgx-h10")


def test_usable_memory_of_the_unseen_follows_a_stated_rule():
    derived = [
        card
        for card in facts.accelerators().values()
        if card.source_of("usable_bytes").what.startswith("rule:")
    ]
    assert len(derived) > 50
    for card in derived:
        source = card.source_of("usable_bytes")
        stated = float(source.what.removeprefix("rule: ").split(" ", 1)[0])
        assert source.grade == "derived"
        assert card.usable_bytes / card.label_memory_bytes == pytest.approx(stated, abs=2e-4)


def test_as_of_leaves_out_what_was_not_yet_sold():
    then = facts.accelerators("2021-06-30")
    assert "a100-sxm-80" in then
    assert "h100-sxm-80" not in then


def test_the_usual_machine_of_an_accelerator():
    node = facts.node_for(facts.accelerator("h100-sxm-80"))
    assert (node.accelerators_count, node.link_bytes_per_s, node.network_bytes_per_s) == (8, 450e9, 400e9)
    assert facts.node_for("gb200").accelerators_count == 72
    assert facts.node_for("rtx4090") is None
    for card in facts.accelerators().values():
        node = facts.node_for(card)
        assert node is None or node.accelerator == card.id


def test_measured_collectives_stay_near_what_the_link_carries():
    reached: dict[tuple[str, str, int, int], float] = {}
    for one in facts.collectives():
        assert one.source.grade == "measured"
        key = (one.link_kind, one.op, one.accelerators_count, one.nodes_count)
        reached[key] = max(reached.get(key, 0.0), one.bus_bytes_per_s)
    for link_kind, per_s in (("nvlink3", 300e9), ("nvlink4", 450e9), ("nvlink5", 900e9)):
        best = reached[link_kind, "all_reduce", 8, 1]
        assert 0.5 * per_s < best < 1.3 * per_s  # in-switch reduction may pass the wire
    assert reached["nvlink5", "all_reduce", 32, 4] < reached["nvlink5", "all_reduce", 8, 1]
    two, eight = reached["xgmi", "all_reduce", 2, 1], reached["xgmi", "all_reduce", 8, 1]
    assert eight > 6 * two  # a pair of MI300X shares one link of seven


def test_what_is_installed_is_known_as_a_version_of_its_engine():
    for engine in facts.engines().values():
        known = [numbers(one) for one in engine.versions if engine.kind == "serve"]
        for one in releases(engine.id):
            assert one.version in engine.versions
        assert engine.id == "ollama" or known == sorted(known), (
            engine.id
        )  # its first is the year it was seen in


def test_engines_know_what_they_run_on():
    vllm = facts.engine("vllm")
    assert "hopper" in vllm.formats["fp8"]
    assert "blackwell" not in vllm.formats["int8"]
    assert vllm.versions[-1] == releases("vllm")[-1].version
    assert "apple-m2" in facts.engine("llama.cpp").formats["gguf"]
    four_bits = [facts.weight_format(name) for name in ("mxfp4", "nvfp4")]
    assert ["cpu" in facts.engine("llama.cpp").architectures(one) for one in four_bits] == [True, False]
    architectures = {card.architecture.lower() for card in facts.accelerators().values()}
    families = {name for record in facts.formats().values() for name in (record.family, record.id)}
    for engine in facts.engines().values():
        assert set(engine.formats) <= families
        # RDNA2 and the processor have no card in the catalogue, but software supports them
        assert {name for names in engine.formats.values() for name in names} <= architectures | {
            "rdna2",
            "cpu",
        }


def test_the_software_matrix_knows_every_architecture_it_speaks_of():
    matrix = facts.software()
    assert set(matrix["hw_dtype"]) - {"geforce_note", "sources"} <= set(matrix["architectures"])
    assert matrix["hw_dtype"]["hopper"]["fp8"] is True
    assert matrix["hw_dtype"]["ampere"]["fp8"] is False


def test_every_accelerator_has_a_class_with_both_texts():
    from cabida.text import tr, use_language

    for language in ("es", "en"):
        use_language(language)
        for card in facts.accelerators().values():
            found = facts.describe(card)
            assert tr(found.for_key) != tr(found.not_for_key)
    assert facts.describe("h200-sxm-141").id == "h200"
