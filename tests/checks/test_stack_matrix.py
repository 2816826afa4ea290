"""The software matrix: releases by day, parts by place, drivers, slices, this machine, pinned lines."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cabida
from cabida import facts
from cabida.checks.compatibility import compatibility
from cabida.checks.detected import stack_of
from cabida.checks.install import install
from cabida.checks.stack import RULES, check_stack, judge_stack, state_of
from cabida.checks.stack_parts import TITLES, Place, part_at
from cabida.checks.stack_words import NAMED, read_stack
from cabida.errors import InvalidInput
from cabida.evidence.machine import Card, Machine
from cabida.facts.releases import every_release, numbers, parts, release_at, releases, same
from cabida.plan import Deployment, Parallel, TrainingRun
from cabida.text import catalogue

MODEL = facts.model("llama-3.1-8b")


def codes(text, as_of=""):
    return {one.code: one for one in check_stack(text, as_of)}


def deployment(engine, card, weights="fp8", version="", tp=1):
    held, cache = facts.weight_format(weights), facts.weight_format("bf16")
    return Deployment(MODEL, facts.accelerator(card), Parallel(tp=tp), held, cache, engine, version)


def test_every_row_has_its_source_its_words_and_a_place_that_exists():
    known = {
        name.lower()
        for card in facts.accelerators().values()
        for name in (card.architecture, card.capability, card.vendor, card.segment, card.id)
    } | {"maxwell", "kepler", "rdna2", "apple-m1"}
    english, spanish = catalogue("en", "checks"), catalogue("es", "checks")
    for row in parts():
        assert row.source.what, row.id
        assert row.source.seen >= "2026-11-30", row.id
        assert set(row.places) | set(row.besides) <= known, row.id
        assert row.name in TITLES or row.name in ("forward-compat",), row.name
        if row.says:
            assert f"part.{row.says}" in english, row.says
            assert f"part.{row.says}" in spanish, row.says


def test_releases_stand_in_the_order_of_their_versions():
    for name in {one.name for one in every_release()}:
        versions = [numbers(one.version) for one in releases(name)]
        assert versions == sorted(versions), name
        days = [one.known_by for one in releases(name)]
        assert days == sorted(days), name  # a later version is not known earlier


def test_what_came_later_does_not_exist():
    assert release_at("vllm", "", "2026-06-01").version == "0.20.2"
    late = codes("vllm 0.28, H100", "2026-06-01")["CB-K230"]
    assert late.severity == "blocking"
    assert "2026-08-26" in late.sentence
    assert "CB-K230" not in codes("vllm 0.28, H100", "2026-09-01")
    assert "0.20.2" in codes("vllm 0.20.2, H100", "2026-06-01")["CB-K280"].sentence


@given(st.dates().map(str))
def test_an_earlier_day_never_knows_more(day):
    known = {one.id for one in releases("vllm", day)}
    assert known <= {one.id for one in releases("vllm")}
    assert all(one.known_by <= day for one in releases("vllm", day))


def test_a_version_newer_than_ours_behaves_as_the_latest_and_says_so():
    told = codes("vllm 7.1, H100")
    assert told["CB-K217"].severity == "info"
    assert releases("vllm")[-1].version in told["CB-K217"].sentence
    assert state_of(check_stack("vllm 7.1, H100")) == "runs"


@pytest.mark.parametrize(
    ("driver", "cuda", "card", "state", "says"),
    [
        ("570.124.06", "12.8", "H100", "runs", "CB-K226"),
        ("535.104.05", "12.8", "H100", "steps", "CB-K210"),  # minor-version compatibility, no PTX
        ("535.104.05", "13.0", "H100", "steps", "CB-K211"),  # forward-compatibility package
        ("535.104.05", "13.0", "RTX 4090", "no", "CB-K062"),  # not on GeForce
        ("560.35.05", "12.8", "RTX 5090", "no", "CB-K213"),  # the driver does not know the chip
        ("595.45.04", "12.6", "V100", "no", "CB-K214"),  # the driver has left it
        ("580.65.06", "13.0", "P40", "no", "CB-K216"),
        ("570.124.06", "12.4", "B200", "no", "CB-K215"),
    ],
)
def test_drivers_toolkits_and_chips(driver, cuda, card, state, says):
    text = f"driver {driver}, cuda {cuda}, {card}"
    assert state_of(check_stack(text)) == state
    assert says in codes(text)


@given(
    st.sampled_from(["525.60.13", "535.54.03", "550.54.14", "570.26", "580.65.06", "595.45.04", "610.43.02"])
)
def test_a_newer_driver_never_runs_less(driver):
    order = {"no": 0, "steps": 1, "runs": 2}
    older = order[state_of(check_stack(f"driver {driver}, cuda 12.8, H100"))]
    assert older <= order[state_of(check_stack("driver 620, cuda 12.8, H100"))]


@pytest.mark.parametrize(
    ("text", "card", "count"),
    [
        ("two RTX 4090s with vLLM", "rtx4090", 2),
        ("is 4x A100 80GB enough for Llama 70B in bf16 with SGLang?", "a100-sxm-80", 4),
        ("RTX 3090 x2, NVLink", "rtx3090", 2),
        ("Mixtral 8x7B on an L40S", "l40s", 1),
        ("GTX 1080 Ti, PCIe 3 x16", "gtx1080ti", 1),
        ("DGX Spark", "gb10-dgx-spark", 1),
    ],
)
def test_cards_and_their_number_as_people_say_them(text, card, count):
    stack = read_stack(text)
    assert [one.id for one in stack.cards] == [card]
    assert stack.count == count


def test_a_card_without_a_record_is_its_chip_family():
    card = read_stack("GTX 1070, cuda 12.6").cards[0]
    assert (card.architecture, card.capability, card.segment) == ("Pascal", "6.1", "consumer")


def test_what_no_source_says_is_unknown_and_not_yes():
    assert part_at("flashmla", Place(facts.accelerator("arc-b580-12"))) is None
    told = codes("FlashMLA, Arc B580")["CB-K203"]
    assert told.severity == "warning"


def test_slices_hold_what_fits_and_can_not_be_joined():
    told = codes("H100 SXM, MIG, 8B model, fp8")
    assert "1g.10gb" in told["CB-K255"].sentence
    assert "h100-sxm-80:" in told["CB-K255"].sentence
    assert state_of(check_stack("H100, MIG, 70B, bf16")) == "no"
    assert state_of(check_stack("H100, MIG, tensor parallel 2")) == "no"
    assert state_of(check_stack("L40S, MIG")) == "no"
    assert "CB-K251" in codes("A100, MIG, Windows")


def test_links_ecc_variants_and_the_licence():
    assert state_of(check_stack("L40S, NVLink")) == "no"
    assert state_of(check_stack("H100 SXM, NVLink")) == "runs"
    assert state_of(check_stack("RTX 4090, ECC")) == "no"
    assert "400" in codes("A800, NVLink")["CB-K265"].sentence
    clause = codes("RTX 4090, data centre")["CB-K270"]
    assert clause.severity == "warning"
    assert "geforce-license" in clause.source


def test_this_machine_is_judged_from_what_is_installed():
    card = Card(0, "NVIDIA GeForce RTX 5090", "NVIDIA", "nvml", total_bytes=32607 * 2.0**20)
    machine = Machine(
        "Linux", "6.8", "AMD EPYC 9354", 32, 2.0**38, 2.0**37, False,
        driver="550.54.14", cards=(card,), frameworks={"torch": "2.6.0+cu124"},
    )  # fmt: skip
    stack = stack_of(machine, cards=(facts.accelerator("rtx5090"),))
    assert (stack.versions["pytorch"], stack.versions["cuda"]) == ("2.6.0", "12.4")
    found = {one.code for one in judge_stack(stack) if one.severity == "blocking"}
    assert found == {"CB-K064", "CB-K213"}
    assert "CB-K280" not in {one.code for one in judge_stack(stack)}  # it is installed already


def test_here_asks_this_machine():
    assert cabida.check_software("here")
    assert cabida.check_software(" HERE ")


@pytest.mark.parametrize(
    ("engine", "version", "card", "lines"),
    [
        (
            "vllm",
            "0.31.0",
            "h100-sxm-80",
            ['"vllm==0.31.0" --torch-backend=cu130', "vllm/vllm-openai:v0.31.0"],
        ),
        ("vllm", "0.14.1", "v100-sxm2-32", ['"vllm==0.14.1" --torch-backend=cu128']),
        ("vllm", "0.18.0", "mi300x", ["https://wheels.vllm.ai/rocm/0.18.0/rocm700", "--python 3.12"]),
        ("sglang", "", "h200-sxm-141", ["sglang==", "--prerelease=allow", "lmsysorg/sglang:v"]),
        ("tensorrt-llm", "", "l40s", ["nvcr.io/nvidia/tensorrt-llm/release:1.2.1"]),
        ("llama.cpp", "", "rtx3090", ["ghcr.io/ggml-org/llama.cpp:server-cuda12-b"]),
        ("ollama", "", "rx7900xtx", ["ollama/ollama:0.40.12-rocm", "OLLAMA_VERSION=0.40.12"]),
    ],
)
def test_lines_are_pinned(engine, version, card, lines):
    found = install(engine, version, facts.accelerator(card))
    told = "\n".join(found.lines)
    assert all(one in told for one in lines), told
    assert found.source
    assert found.seen


def test_a_candidate_says_whether_it_runs_what_to_do_and_what_to_type():
    plain = compatibility(deployment("vllm", "h100-sxm-80", version="0.31.0"), "2026-11-30")
    assert (plain.state, plain.steps) == ("runs", ())
    assert "vllm==0.31.0" in plain.install[0]
    assert plain.source
    assert plain.seen
    assert compatibility(deployment("vllm", "a100-sxm-80"), "").state == "steps"
    assert compatibility(deployment("vllm", "v100-sxm2-32"), "").state == "no"
    pair = compatibility(deployment("vllm", "rtx4090", tp=2), "")
    assert pair.state == "steps"
    assert "NCCL_P2P_DISABLE" in " ".join(pair.steps)
    assert compatibility(None) is None
    assert compatibility(replace(deployment("vllm", "l4"), engine="nobody-knows"), "") is None


def test_a_training_run_too():
    run = TrainingRun(
        model=MODEL, accelerator=facts.accelerator("rtx5090"), accelerators_count=1, method="lora", precision="bf16",
        weights=facts.weight_format("bf16"), optimizer="adamw", sharding="none", seq_tokens=2048, micro_batch_count=1,
        global_batch_count=8, framework="unsloth",
    )  # fmt: skip
    told = compatibility(run, "2026-11-30")
    assert told.state == "runs"
    assert "570" in told.steps[0]  # the least driver of the chip
    assert "unsloth" in told.install[0]


def test_a_model_that_is_named_brings_its_size_its_heads_and_its_licence():
    stack = read_stack("Llama-3.1-8B on an RTX 4090, licence")
    assert (stack.model, stack.head_dim) == ("meta-llama/Llama-3.1-8B", 128)
    assert "CB-K206" in codes("head dim 512, FlashAttention 2, H100")
    assert "CB-K206" not in codes("gemma-2-9b, FlashAttention 2, A100")


def test_a_text_too_long_to_be_a_stack_is_refused():
    with pytest.raises(InvalidInput, match="CB-K059"):
        check_stack("vllm, H100 " * 1000)


def test_versions_are_one_whatever_their_zeros():
    assert same("0.31", "0.31.0")
    assert not same("0.31", "0.31.1")
    assert not same("nightly", "nightly")


@given(st.text(max_size=300))
def test_any_text_is_answered_or_refused_in_words(text):
    try:
        told = [one.sentence for one in check_stack(text)]
    except InvalidInput as error:
        told = [str(one) for one in error.problems]
    assert all(told)
    assert told


@given(
    st.lists(
        st.sampled_from([*NAMED, "vllm", "RTX 4090", "MI300X", "M2 Ultra", "windows", "fp8"]),
        min_size=1,
        max_size=6,
    )
)
def test_every_combination_of_parts_has_an_answer_with_a_source(words):
    try:
        found = check_stack(", ".join(words))
    except InvalidInput:
        return
    assert all(one.sentence and "{" not in one.sentence for one in found)
    unsourced = {"CB-K061", "CB-K074", "CB-K203"}  # what nobody wrote, and lists made of the tables
    assert all(one.source for one in found if one.code not in unsourced)


def test_rules_are_all_used():
    assert len(RULES) == 14


def test_an_engine_without_a_version_is_the_one_that_was_out_on_the_day():
    then = check_stack("vllm, V100", "2025-10-01")
    assert state_of(then) != "no"
    assert any("vLLM 0.10.2" in one.sentence for one in then)
    assert any('"vllm==0.10.2"' in one.sentence for one in then)
    assert state_of(check_stack("vllm, V100", "2026-12-01")) == "no"


def test_lines_that_pin_nothing_are_not_called_pinned():
    assert all(one.code != "CB-K280" for one in check_stack("vllm, V100", "2025-06-01"))
