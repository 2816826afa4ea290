"""Stacks and parts lists in words: what does not go together is refused, with the nearest that does."""

import pytest

from cabida import checks
from cabida.checks.parts import read_parts
from cabida.checks.stack import read_stack
from cabida.errors import InvalidInput


def found(text, check=checks.check_stack):
    return {caution.code: caution for caution in check(text)}


@pytest.mark.parametrize(
    ("text", "code", "near"),
    [
        ("cuda 13.0, driver 560, RTX 4090", "CB-K062", "12.6.3"),
        ("torch 2.6, cuda 12.8", "CB-K063", "2.7"),
        ("torch 2.6, cuda 12.4, RTX 5090", "CB-K064", "PyTorch 2.14"),
        ("torch 2.14, cuda 13.0, V100", "CB-K064", "CUDA 12.6"),
        ("torch 2.11, cuda 12.8, V100", "CB-K064", "CUDA 12.6"),
        ("rocm 6.3, RX 9070 XT", "CB-K065", "6.4.3"),
        ("rocm 6.3, RTX 4090", "CB-K066", "CUDA"),
        ("flash-attn 3, A100", "CB-K200", "FlashAttention 2"),
        ("sglang, windows, RTX 4090", "CB-K204", "WSL2"),
        ("jax, macos, M3 Ultra", "CB-K200", "MLX"),
        ("torch 2.14, python 3.9", "CB-K070", "3.10"),
        ("tensorflow, Arc B580", "CB-K200", "NVIDIA"),
        ("sglang, RX 7900 XTX", "CB-K073", "llama.cpp"),
        ("vllm 0.8.5, B200", "CB-K073", "0.9"),
    ],
)
def test_what_does_not_go_together_is_refused_with_the_nearest(text, code, near):
    caution = found(text)[code]
    assert caution.severity == "blocking"
    assert near in caution.sentence


@pytest.mark.parametrize(
    "text",
    [
        "vllm 0.19, torch 2.10, cuda 12.8, driver 570.124.06, H100",
        "torch 2.10, cuda 12.8, V100",
        "torch 2.8, cuda 12.8, RTX 4090, python 3.11",
        "torch 2.14, cuda 13.0, driver 580.95.05, RTX 5090, linux",
        "llama.cpp, P40",
        "rocm 7.0, MI300X, vllm, fp8",
        "flash-attn 3, H100",
        "vllm, wsl2, RTX 4090",
    ],
)
def test_what_goes_together_is_not_refused(text):
    assert all(caution.severity != "blocking" for caution in checks.check_stack(text)), text


def test_a_stack_is_read_as_people_write_it():
    stack = read_stack("PyTorch==2.7.1 + cu128, driver=570.26; vLLM v0.19.1; 2x RTX 5090; fp8")
    assert (stack.versions["pytorch"], stack.versions["driver"]) == ("2.7.1", "570.26")
    assert stack.engines == {"vllm": "0.19.1"}
    assert [card.id for card in stack.cards] == ["rtx5090"]
    assert stack.weights is not None
    assert stack.weights.id == "fp8"


def test_nothing_known_is_an_error_with_an_example():
    with pytest.raises(InvalidInput, match=r"CB-K060") as raised:
        checks.check_stack("my computer")
    assert "RTX 5090" in raised.value.problems[0].cure
    with pytest.raises(InvalidInput, match=r"CB-K080"):
        checks.check_parts("1000 W")


def test_a_pc_that_does_not_hold_its_cards():
    told = found("2x RTX 4090, 1000 W ATX 3.0, 4 slots, 300 mm, PCIe 3, 1x 12VHPWR", checks.check_parts)
    assert set(told) == {"CB-K040", "CB-K041", "CB-K042", "CB-K044", "CB-K045", "CB-K081"}
    assert "1,460 W" in told["CB-K040"].sentence


def test_a_pc_that_does():
    assert set(found("RTX 3090, 1000 W, 400 mm, 4 slots, 3x 8-pin", checks.check_parts)) == {"CB-K081"}


def test_parts_are_read_as_people_write_them():
    cards, machine = read_parts("RTX 3090 x2; Ryzen 9 7950X 170 W; 1.200 W ATX 2.4; 380 mm; PCIe gen 4")
    assert [card.id for card in cards] == ["rtx3090", "rtx3090"]
    assert (machine.supply_w, machine.processor_w, machine.atx3) == (1200.0, 170.0, False)
    assert (machine.length_mm, machine.pcie_gen) == (380.0, 4)


@pytest.mark.parametrize(
    ("card", "severity"),
    [("MI300X", "warning"), ("MI250X", "warning"), ("RX 7900 XTX", "warning"), ("Arc B580", "blocking")],
)
def test_tensorflow_runs_on_amd_from_amds_own_packages(card, severity):
    found = checks.check_software(f"TensorFlow, {card}")
    assert found[0].severity == severity
    assert ("AMD's own build" in found[0].sentence + found[0].cure) is (severity == "warning")
