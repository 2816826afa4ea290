"""``cabida cost``: every kind of output, parts that make wholes, and prices that move it the right way."""

import pytest
from click.testing import CliRunner

from cabida import app, facts
from cabida.errors import InvalidInput, UsageProblem
from cabida.faces.cli import cli
from cabida.report.slices import left_over

DAY = "2026-11-30"
SMALL = {"gpu": "l40s", "as_of": DAY}
ASKED = {
    "answers": ("llama-3.1-8b", {"weights": "fp8"}, "accepted_answer_money"),
    "a run": (
        "llama-3.1-8b",
        {"method": "lora", "target_tokens": 5e8, "seq_len": 2048, "micro_batch": 1},
        "accepted_model_money",
    ),
    "images": ("flux.1-dev", {"steps": 28}, "accepted_image_money"),
    "speech": ("whisper-large-v3", {}, "accepted_audio_hour_money"),
    "texts": ("bge-m3", {}, "accepted_text_money"),
}
TERMS = {"acceptance": 0.8, "failures": 0.03, "retries": 1, "review": 0.002, "moderation": 0.0005}


@pytest.mark.parametrize(("what", "flags", "unit"), ASKED.values(), ids=ASKED)
def test_lines_make_the_total_and_the_total_the_unit_cost(what, flags, unit):
    said = {"acceptance": 0.8} if "method" in flags else TERMS
    answer = app.cost(what, **SMALL, **flags, **said, bill=True)
    for row in answer["rows"]:
        period = "cost_per_run_money" if "method" in flags else "cost_per_month_money"
        assert sum(row["lines"].values()) == pytest.approx(row[period], rel=1e-9)
        one = row["metrics"][unit]
        assert 0 < one.low <= one.value <= one.high
    bill = answer["bill"]
    assert sum(line["money"] for line in bill["lines"]) == pytest.approx(bill["total_money"], rel=1e-9)
    assert sum(line["share_ratio"] for line in bill["lines"]) == pytest.approx(1.0)
    assert sum(line["per_output_money"] for line in bill["lines"]) == pytest.approx(bill["unit_money"])
    nodes = {node["id"]: node for node in bill["nodes"]}
    assert nodes[bill["total"]]["value"] == pytest.approx(bill["total_money"])
    assert nodes[bill["unit"]]["value"] == pytest.approx(bill["unit_money"])
    for line in bill["lines"]:
        assert nodes[line["node"]]["value"] == pytest.approx(line["money"]), line["key"]


def unit_of(answer, name="accepted_answer_money"):
    return answer["rows"][0]["metrics"][name].value


@pytest.mark.parametrize(
    "worse",
    [
        {"acceptance": 0.7},
        {"failures": 0.2},
        {"utilisation": 0.3},
        {"review": 0.01},
        {"assume": {"loaded_money_per_year": 200_000.0}},
        {"assume": {"egress_money_per_gb": 0.2}},
    ],
    ids=lambda worse: next(iter(worse)),
)
def test_each_of_these_makes_an_answer_dearer(worse):
    plain = unit_of(app.cost("llama-3.1-8b", **SMALL))
    assert unit_of(app.cost("llama-3.1-8b", **SMALL, **worse)) > plain * 1.001


def test_what_a_retry_of_a_reject_costs_and_covers():
    once = app.cost("llama-3.1-8b", **SMALL, acceptance=0.8)
    twice = app.cost("llama-3.1-8b", **SMALL, acceptance=0.8, retries=1)
    # as many attempts in the month, each accepted as often: the same money for as many accepted answers
    assert unit_of(twice) == pytest.approx(unit_of(once))
    assert once["rows"][0]["coverage_ratio"] == pytest.approx(0.8)
    assert twice["rows"][0]["coverage_ratio"] == pytest.approx(0.96)


def test_idle_comes_from_the_curve_of_the_day():
    asked = {"demand": 6.0, "objectives_ms": {"ttft_ms_p95": 800.0, "itl_ms_p95": 50.0}}
    flat = app.cost("llama-3.1-8b", **SMALL, **asked, capacity=["reserved"])
    day = [0.0] * 12 + [1.0] * 12
    half = app.cost("llama-3.1-8b", **SMALL, **asked, profile=day, capacity=["reserved"])
    assert half["fleet"]["replicas_by_hour"][:12] == [1] * 12  # one stands ready
    assert half["utilisation"] == pytest.approx(flat["utilisation"] / 2, rel=0.02)
    key = {row["provider"]: row for row in flat["rows"]}
    for row in half["rows"]:
        held = [key[row["provider"]]["lines"].get(name, 0.0) for name in ("compute", "idle")]
        assert row["lines"]["compute"] == pytest.approx(held[0] / 2, rel=0.02)
        assert row["lines"]["compute"] + row["lines"]["idle"] == pytest.approx(sum(held))


def test_the_options_of_a_decision_side_by_side():
    decision = app.recommend("examples/story-homelab-13b-3090.yaml", as_of=DAY, assume=True)
    answer = app.cost(decision, bill=True)
    assert [row["rank"] for row in answer["rows"]] == [one.rank for one in decision.options]
    for row in answer["rows"]:
        assert sum(row["lines"].values()) == pytest.approx(row["cost_per_month_money"])
        unit = row["metrics"]["accepted_answer_money"].value
        assert sum(row["per_output"].values()) == pytest.approx(unit)
    assert answer["bill"]["unit_money"] == pytest.approx(decision.options[0].unit_cost.value)


def test_a_model_wants_an_accelerator():
    with pytest.raises(UsageProblem) as caught:
        app.cost("llama-3.1-8b")
    assert caught.value.problems[0].code == "CB-U003"


@pytest.mark.parametrize(
    ("what", "flags", "code"),
    [
        ("llama-3.1-8b", {"gpu": "l40s", "dataset_bytes": 1e12}, "CB-U046"),
        ("llama-3.1-8b", {"gpu": "l40s", "runs": 3.0}, "CB-U046"),
        ("llama-3.1-8b", {"gpu": "l40s", "kept_months": 0.0}, "CB-U046"),
        ("llama-3.1-8b", {"gpu": "l40s", "profile": (1.0, 2.0) * 12}, "CB-U050"),
        ("llama-3.1-8b", {"gpu": "l40s", "spares": 2}, "CB-U050"),
        ("llama-3.1-8b", {"gpu": "l40s", "option": 2}, "CB-U050"),
        ("llama-3.1-8b", {"gpu": "l40s", **ASKED["a run"][1], "utilisation": 0.3}, "CB-U046"),
        ("llama-3.1-8b", {"gpu": "l40s", **ASKED["a run"][1], "review": 0.1}, "CB-U046"),
        ("brief.yaml", {"gpu": "l40s"}, "CB-U046"),
        ("brief.yaml", {"currency": "EUR"}, "CB-U046"),
        ("out/decision.json", {"utilisation": 0.3, "seq_len": 4096}, "CB-U046"),
    ],
)
def test_what_would_change_nothing_is_refused(what, flags, code):
    with pytest.raises(UsageProblem) as refused:
        app.cost(what, as_of=DAY, **flags)
    assert [one.code for one in refused.value.problems] == [code]


def test_the_filter_on_every_attempt_is_in_the_bill_of_answers():
    plain = unit_of(app.cost("llama-3.1-8b", **SMALL))
    assert unit_of(app.cost("llama-3.1-8b", **SMALL, moderation=0.001)) == pytest.approx(plain + 0.001)


def test_what_nobody_keeps_takes_no_disk():
    kept, gone = (app.cost("flux.1-dev", **SMALL, steps=28, kept_months=one) for one in (1.0, 0.0))
    assert gone["rows"][0]["lines"]["storage"] < kept["rows"][0]["lines"]["storage"]


@pytest.mark.parametrize(
    ("assume", "code"), [({"electricity_money_per_kwh": -1.0}, "CB-R075"), ({"decay_ratio": 1.0}, "CB-R075")]
)
def test_an_assumption_that_cannot_be_is_refused(assume, code):
    with pytest.raises(InvalidInput) as refused:
        app.cost("llama-3.1-8b", **SMALL, assume=assume)
    assert [one.code for one in refused.value.problems] == [code]


@pytest.mark.parametrize(
    "words",
    [("llama-3.1-8b", "--gpu", "l4", "--watts", "300", "--price", "0.2"), ("llama-3.1-8b", "--pue", "2")],
)
def test_electricity_goes_alone(words):
    assert CliRunner().invoke(cli, ["cost", *words]).exit_code == 2


def test_a_brief_on_the_command_line_says_everything_itself():
    done = CliRunner().invoke(cli, ["cost", "nowhere.yaml"])
    assert "CB-U046" not in done.output, "a flag's usual value was taken for something said"
    assert done.exit_code == 3


@pytest.mark.parametrize(
    ("language", "words"), [("en", "1 slice on 1 card)"), ("es", "1 porción en 1 tarjeta)")]
)
def test_a_slice_is_priced_as_if_the_rest_of_its_card_were_used_and_says_so(language, words):
    asked = ["cost", "llama-3.1-8b", "--gpu", "h100-sxm-80:3g.40gb", "--as-of", DAY, "--lang", language]
    told = " ".join(CliRunner().invoke(cli, asked).output.split())
    assert words in told
    answer = app.cost("llama-3.1-8b", gpu="h100-sxm-80:3g.40gb", as_of=DAY)
    assert answer["slices"] == {"slices_per_card": 2, "slices": 1, "cards": 1, "left": 1, "empty_ratio": 2.0}
    assert "slices" not in app.cost("llama-3.1-8b", **SMALL)


def test_slices_that_fill_their_cards_leave_nothing():
    cut = facts.accelerator("h100-sxm-80:3g.40gb")
    assert (left_over(cut, 4)["left"], left_over(cut, 4)["empty_ratio"]) == (0, 1.0)
    assert left_over(cut, 3)["empty_ratio"] == pytest.approx(4 / 3)
    assert left_over(facts.accelerator("l40s"), 3) is None
