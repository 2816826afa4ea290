"""The guides' arithmetic and the figures they get wrong, asked of the functions and of the command."""

import json

import pytest
from click.testing import CliRunner

import cabida
from cabida import app, facts, memory
from cabida.brief import corrections
from cabida.faces.cli import cli

GIB = 2**30
AS_OF = "2026-11-30"


def told(*words):
    done = CliRunner().invoke(cli, [*words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def both(command, model="", **flags):
    """The same question put to the function and to the command; the answers must agree."""
    words = [f"--{name.replace('_', '-')}={value}" for name, value in flags.items()]
    asked = getattr(cabida, command)(model, **flags)
    answer = told(command, model, *words)
    for name, figure in asked["metrics"].items():
        assert answer["metrics"][name]["value"] == pytest.approx(figure.value), name
    return answer


def params(model):
    return memory.params(facts.model(model)).total_count


def test_400_w_all_year_at_15_cents_is_525_60_and_buys_this_many_tokens():
    spent = app.energy(400, 0.15, as_of=AS_OF)
    answer = told("cost", "energy", "--watts", "400", "--price", "0.15", "--as-of", AS_OF)
    assert answer["kwh"] == pytest.approx(0.4 * 8760)
    assert answer["cost_money"]["value"] == pytest.approx(525.60) == spent["cost_money"].value
    seventies = [row for row in answer["api"] if "llama-3.3-70b" in row["model"].lower()]
    assert seventies
    for row in answer["api"]:
        assert row["mtok"] * row["money_per_mtok"] == pytest.approx(525.60)
        assert row["seen"] <= AS_OF
    assert 300 < seventies[0]["mtok"] < 10_000  # millions of tokens: 0.05 to 1.75 USD a million


@pytest.mark.parametrize("model", ["huggyllama/llama-30b", "Qwen/Qwen3-32B", "Qwen/Qwen3-30B-A3B"])
def test_30b_in_fp16_does_not_fit_24_gb_and_the_4_bit_does(model):
    wide = both("fit", model, gpu="rtx3090", weights="fp16")
    assert wide["verdict"] == "no"
    assert wide["metrics"]["weights_gib_total"]["value"] == pytest.approx(2 * params(model) / GIB, rel=0.02)
    assert wide["metrics"]["weights_gib_total"]["value"] * GIB > 59e9  # the guide says 60 GB of weights
    assert wide["cure"]
    narrow = both("fit", model, gpu="rtx3090", weights="q4_k_m", max_model_len=2048)
    assert narrow["verdict"] == "fits"
    assert narrow["largest_context_tokens"] >= 2048
    assert narrow["metrics"]["weights_gib_total"]["value"] < 20


@pytest.mark.parametrize(
    "model",
    ["meta-llama/Llama-2-7b-hf", "mistralai/Mistral-7B-v0.3", "Qwen/Qwen2.5-7B-Instruct", "google/gemma-7b"],
)
def test_7b_with_adamw_holds_16_bytes_a_parameter_before_activations(model):
    answer = both("fit", model, gpu="h200-sxm-141", method="full", optimizer="adamw")
    parts = answer["parts_gib"]
    state = (parts["weights"] + parts["gradients"] + parts["optimizer"]) * GIB
    assert state == pytest.approx(16 * params(model))
    assert parts["activations"] > 0
    assert parts["weights"] == pytest.approx(parts["gradients"])
    assert parts["optimizer"] == pytest.approx(6 * parts["weights"])


def test_seven_thousand_million_parameters_are_112_gb_of_state():
    answer = cabida.fit("meta-llama/Llama-2-7b-hf", gpu="h200-sxm-141", method="full")
    parts = answer["parts_gib"]
    state = (parts["weights"] + parts["gradients"] + parts["optimizer"]) * GIB
    assert state / params("meta-llama/Llama-2-7b-hf") * 7e9 == pytest.approx(112e9)
    assert (
        cabida.fit("meta-llama/Llama-2-7b-hf", gpu="a100-sxm-80", method="full", recompute="full")["verdict"]
        == "no"
    )
    assert (
        cabida.fit("meta-llama/Llama-2-7b-hf", gpu="rtx3090", method="qlora", recompute="full")["verdict"]
        == "fits"
    )


@pytest.mark.parametrize("weights", ["q4_k_m", "awq-int4", "gptq-int4"])
def test_llama_2_13b_in_4_bit_fits_a_3090_with_its_largest_context_told(weights):
    answer = both("fit", "meta-llama/Llama-2-13b-hf", gpu="rtx3090", weights=weights)
    assert answer["verdict"] == "fits"
    most = answer["largest_context_tokens"]
    assert (
        4096 < most < 24e9 / (2 * 40 * 40 * 128 * 2)
    )  # a token keeps 2 x 40 layers x 40 heads x 128 x 2 bytes
    full = cabida.fit("meta-llama/Llama-2-13b-hf", gpu="rtx3090", weights=weights, max_model_len=int(most))
    assert full["verdict"] in ("fits", "tight")
    over = cabida.fit(
        "meta-llama/Llama-2-13b-hf", gpu="rtx3090", weights=weights, max_model_len=int(most * 1.1)
    )
    assert over["verdict"] == "no"
    screen = CliRunner().invoke(
        cli, ["fit", "meta-llama/Llama-2-13b-hf", "--gpu", "rtx3090", "--weights", weights]
    )
    assert f"{most:,.0f}" in screen.stdout


@pytest.mark.parametrize(
    ("card", "figures"),
    [  # dense, from the vendors' data sheets
        ("h100-sxm-80", {"memory_bytes_per_s": 3.35e12, "tdp_w": 700, "link_bytes_per_s": 450e9, "bf16": 989.4e12,
                         "fp8": 1978.9e12}),
        ("h200-sxm-141", {"memory_bytes_per_s": 4.8e12, "tdp_w": 700, "bf16": 989.4e12}),
        ("a100-sxm-40", {"memory_bytes_per_s": 1.555e12, "bf16": 312e12}),
        ("a100-pcie-80", {"memory_bytes_per_s": 1.935e12, "tdp_w": 300, "bf16": 312e12}),
        ("a100-sxm-80", {"memory_bytes_per_s": 2.039e12, "tdp_w": 400, "bf16": 312e12}),
        ("rtx6000-ada", {"memory_bytes_per_s": 0.96e12, "tdp_w": 300, "fp32": 91.1e12}),
        ("rtx3090", {"memory_bytes_per_s": 0.936e12, "tdp_w": 350}),
        ("rtx4090", {"memory_bytes_per_s": 1.008e12, "tdp_w": 450}),
        ("l4", {"memory_bytes_per_s": 0.3e12, "tdp_w": 72}),
    ],
)  # fmt: skip
def test_cards_have_their_data_sheets_dense_figures(card, figures):
    shown = told("facts", "show", card)
    known = facts.accelerator(card)
    for name, figure in figures.items():
        have = shown["flop_per_s"][name] if name in shown["flop_per_s"] else shown[name]
        assert have == pytest.approx(figure, rel=0.006), (card, name)
        assert have == (known.flop_per_s[name] if name in known.flop_per_s else getattr(known, name))
    assert shown["sources"][""]


@pytest.mark.parametrize(
    ("claim", "right"),
    [
        ("The A100 reaches 1.6 TB/s.", "1.555"),
        ("An A100 gives 624 TFLOPS with tensor cores.", "312"),
        ("The RTX 6000 Ada has 900 GB/s and 40 TFLOPS.", "960"),
        ("The RTX 6000 Ada has 16 to 24 GB.", "48"),
        ("Intel Xe HPC: 16 GB per chip.", "128"),
        ("A 30B runs in 24 GB in FP16.", "60 GB"),
        ("Training 7B needs more than 16 GB.", "112 GB"),
        ("MI100 is the open source choice with vLLM.", "MI2"),
        ("INT8 is fast on B300.", "INT8"),
        ("Look for bandwidth above 800 GB/s.", "L4"),
    ],
)
def test_what_the_guides_get_wrong_is_put_right_with_its_source(claim, right):
    found = corrections(claim)
    assert found, claim
    assert any(right in one.right for one in found), [one.right for one in found]
    assert all(one.source for one in found)


def test_the_800_gb_s_rule_would_reject_a_card_that_often_wins():
    cards = facts.accelerators()
    assert cards["l4"].memory_bytes_per_s < 800e9
    small = {"input_tokens": 200.0, "output_tokens": 50.0, "requests_per_s": 0.2}
    answer = cabida.cost("meta-llama/Llama-3.1-8B-Instruct", gpu="l4", weights="fp8", as_of=AS_OF, **small)
    dear = cabida.cost(
        "meta-llama/Llama-3.1-8B-Instruct", gpu="h100-sxm-80", weights="fp8", as_of=AS_OF, **small
    )
    cheapest = [rows["rows"][0]["cost_per_month_money"] for rows in (answer, dear)]
    assert cheapest[0] < cheapest[1]
    assert answer["metrics"]["tpot_ms_p95"].value < 100


def test_the_catalogue_says_how_many_parameters_each_model_has():
    rows = {row["id"]: row for row in cabida.models()}
    language = [row for row in rows.values() if row["task"] in ("llm", "vlm")]
    assert all(row["params_count"] >= 1e7 for row in language)
    assert rows["huggyllama/llama-30b"]["params_count"] == pytest.approx(32.5e9, rel=0.01)
    assert rows["Qwen/Qwen3-30B-A3B"]["active_params_count"] == pytest.approx(3.3e9, rel=0.05)
