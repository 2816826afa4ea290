"""A card's name and memory become our accelerator, or an accelerator of what was measured."""

import pytest

from cabida import facts
from cabida.evidence.machine import Card, Machine, Roots, Slice, match, match_slice, processor
from cabida.plan.setup import runs

GIB = 2**30


def seen(name, gib, vendor="NVIDIA", capability="", **more):
    return Card(0, vendor, name, "nvml", total_bytes=gib * GIB, capability=capability, **more)


@pytest.mark.parametrize(
    ("name", "gib", "id"),
    [
        ("NVIDIA GeForce RTX 4090", 23.99, "rtx4090"),
        ("NVIDIA GeForce RTX 4090 D", 23.99, "rtx4090d"),
        ("NVIDIA A100-SXM4-80GB", 80.0, "a100-sxm-80"),
        ("NVIDIA A100-SXM4-40GB", 39.83, "a100-sxm-40"),
        ("NVIDIA A100 80GB PCIe", 80.0, "a100-pcie-80"),
        ("NVIDIA H100 80GB HBM3", 79.65, "h100-sxm-80"),
        ("NVIDIA H100 NVL", 93.6, "h100-nvl-94"),
        ("NVIDIA H100 PCIe", 79.66, "h100-pcie-80"),
        ("Tesla V100-SXM2-32GB", 31.75, "v100-sxm2-32"),
        ("NVIDIA RTX 6000 Ada Generation", 47.99, "rtx6000-ada"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", 95.59, "rtxpro6000-server"),
        ("NVIDIA L40S", 44.99, "l40s"),
        ("NVIDIA L40S", 47.99, "l40s"),  # ECC off
        ("NVIDIA GeForce RTX 3060", 12.0, "rtx3060-12"),
    ],
)
def test_nvidias_names_are_known(name, gib, id):
    found = match(seen(name, gib))
    assert (found.accelerator.id, found.known) == (id, True)
    assert found.accelerator.usable_bytes == gib * GIB
    assert found.accelerator.source_of("usable_bytes").grade == "measured"
    assert found.accelerator.memory_bytes_per_s == facts.accelerator(id).memory_bytes_per_s


@pytest.mark.parametrize(
    ("name", "gib", "capability", "architecture"),
    [
        ("NVIDIA GeForce RTX 4090 Laptop GPU", 15.99, "8.9", "ada"),
        ("NVIDIA GeForce RTX 3060", 8.0, "8.6", "ampere"),  # the 8 GB one
        ("NVIDIA GeForce RTX 3080", 12.0, "8.6", "ampere"),
        ("NVIDIA A100-SXM4-80GB", 39.2, "8.0", "ampere"),  # a slice handed to a virtual machine
        ("NVIDIA GeForce GTX 1050", 2.0, "6.1", "pascal"),
        ("NVIDIA GeForce RTX 9090", 64.0, "14.0", "sm_140"),
        ("?!", 5.0, "", "unknown"),
    ],
)
def test_another_memory_is_another_card_of_which_only_memory_is_known(name, gib, capability, architecture):
    found = match(seen(name, gib, capability=capability))
    assert found.known is False
    assert found.accelerator.architecture == architecture
    assert found.accelerator.usable_bytes == gib * GIB
    assert found.accelerator.memory_bytes_per_s is None
    assert found.accelerator.flop_per_s == {}


def test_a_laptop_of_a_known_architecture_runs_what_its_architecture_runs():
    laptop = match(seen("NVIDIA GeForce RTX 4090 Laptop GPU", 16, capability="8.9")).accelerator
    assert runs("vllm", laptop, facts.weight_format("fp8"))


def test_two_radeons_of_one_chip_and_memory_are_not_guessed_between():
    card = seen("AMD GPU 1002:7550", 15.9, vendor="AMD", capability="gfx1201")
    found = match(card)
    assert (found.known, found.accelerator.architecture) == (False, "rdna4")


def test_a_card_of_ones_own_facts_is_known_by_the_drivers_name(tmp_path, monkeypatch):
    (tmp_path / "accelerators.yaml").write_text(
        """accelerators:
  - {id: mine, name: NVIDIA GeForce RTX 9090, vendor: NVIDIA, architecture: Blackwell-RTX, capability: "12.0",
     form_factor: desktop, segment: consumer, label_memory_bytes: 64 GiB, usable_bytes: 65400 MiB, memory_kind: GDDR7,
     memory_bytes_per_s: 2 TB/s, flop_per_s: {bf16: 400 TFLOPS}, link_kind: none, link_domain_count: 1, confidence: C,
     source: {what: its box, seen: 2026-11-30}}
"""
    )
    monkeypatch.setenv("CABIDA_FACTS", str(tmp_path))
    found = match(seen("NVIDIA GeForce RTX 9090", 63.8, capability="12.0"))
    assert (found.accelerator.id, found.known) == ("mine", True)
    assert found.accelerator.memory_bytes_per_s == 2e12


def test_half_of_a_board_is_no_other_card():
    half = seen("AMD Instinct MI250X", 63.98, vendor="AMD", capability="gfx90a")
    assert match(half).known is False
    assert match(half).accelerator.architecture == "cdna2"


def test_graphics_on_the_processor_are_no_card():
    assert match(seen("AMD Radeon Graphics", 0.5, vendor="AMD", integrated=True)) is None


def test_a_card_of_unknown_name_and_memory_is_nothing():
    assert match(Card(0, "NVIDIA", "NVIDIA GPU", "nvml")) is None


def test_a_slice_takes_its_measured_memory_and_its_share_of_the_rest():
    whole = seen("NVIDIA A100-SXM4-80GB", 80.0, capability="8.0")
    found = match_slice(whole, Slice("3g.40gb", "MIG-1", 39.25 * GIB, 0.0, 39.25 * GIB))
    assert (found.accelerator.id, found.known) == ("a100-sxm-80:3g.40gb", True)
    assert found.accelerator.usable_bytes == 39.25 * GIB
    assert found.accelerator.memory_bytes_per_s == facts.accelerator("a100-sxm-80").memory_bytes_per_s / 2
    odd = match_slice(whole, Slice("9g.99gb", "MIG-2", 12 * GIB, 0.0, 12 * GIB))
    assert (odd.known, odd.accelerator.form_factor) == (False, "MIG slice")
    assert match_slice(whole, Slice("9g.99gb", "MIG-3", None, None, None)) is None


def test_the_processor_has_what_is_free_now_and_only_llama_cpp():
    machine = Machine("Linux", "Test", "CPU", 8, 64 * GIB, 20 * GIB, False)
    found = processor(machine).accelerator
    assert found.usable_bytes == 20 * GIB
    q4 = facts.weight_format("q4_k_m")
    assert [one for one in facts.engines() if runs(one, found, q4)] == ["llama.cpp", "ollama"]
    assert processor(Machine("", "", "", None, None, None, False)) is None


@pytest.mark.parametrize(
    ("said", "waits"), [("2.5", 2.5), ("", 8.0), ("soon", 8.0), ("nan", 8.0), ("-3", 0.1), ("1e9", 600.0)]
)
def test_patience_can_be_set_within_reason(monkeypatch, said, waits):
    monkeypatch.setenv("CABIDA_PROBE_S", said)
    assert Roots().limit_s == waits
