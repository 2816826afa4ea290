"""Each kind of question is answered with the figures of the command it names, and moves when facts and prices do."""

import json
import shlex
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner

import cabida
from cabida import facts
from cabida.app.asking import CALLED, WHERE
from cabida.app.asking.intents import names
from cabida.errors import InvalidInput, UsageProblem
from cabida.faces.cli import cli
from cabida.report import answered
from cabida.text import number, tr, use_language

DAY = "2026-11-30"
DECISION = str(Path(__file__).parents[1] / "report" / "golden" / "decision.en.json")
OF_DECISION = {"why", "why_not", "change", "sure", "measure"}
# intent -> figures that its commands print as they are
PRINTED = {
    "fit": {"usable_gib", "weights_gib", "headroom_gib"},
    "serve": {"requests_per_s", "in_flight", "output_tok_s", "ttft_p95", "tpot_p95"},
    "better": {"output_mtok", "pflops_hour"}, "instead": {"output_mtok", "pflops_hour"},
    "either": {"output_mtok", "pflops_hour"},
    "month_cost": {"per_month", "output_mtok", "replicas", "use"},
    "what_for": {"usable_gib", "bandwidth", "rent"},
    "fine_tune": {"peak_gib", "headroom_gib", "largest_seq"},
    "best_training": {"run_money", "wall_s"}, "best_inference": {"output_mtok", "output_tok_s"},
    "quantisation": {"output_mtok", "output_tok_s"}, "mig": {"slices"},
    "rent_or_api": {"per_month", "break_even"}, "rent_or_buy": {"price", "owned_hour", "rent"},
    "price": {"lowest", "highest"}, "used": {"price", "owned_hour", "rent"},
    "overbuy": {"per_month", "use", "requests_per_s"}, "compatible": {"found"},
}  # fmt: skip
FIRST = {
    "best_training",
    "best_inference",
    "quantisation",
    "better",
    "instead",
    "either",
}  # only the first's command


def run(*words):
    return CliRunner().invoke(cli, [*words])


def values(told):
    """Every number and text of some JSON."""
    if isinstance(told, dict):
        for one in told.values():
            yield from values(one)
    elif isinstance(told, list):
        for one in told:
            yield from values(one)
    elif isinstance(told, int | float | str) and not isinstance(told, bool):
        yield told


def asked(name, **more):
    beside = {"decision": DECISION} if name in OF_DECISION else {}
    return cabida.ask(tr(f"asking.example.{name}").split("(--")[0], as_of=DAY, **beside, **more)


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_the_figures_are_those_of_the_commands(name):
    answer = asked(name)
    assert answer.intent == name
    printed = []
    for command in answer.commands:
        found = run(*shlex.split(command)[1:], "--json")
        assert found.exit_code in (0, 6), (command, found.output)
        printed += list(values(json.loads(found.stdout)))
    numbers = [one for one in printed if not isinstance(one, str)]
    wanted = [one for one in answer.figures if one.name in PRINTED[name] and one.value is not None]
    assert {one.name for one in wanted} == PRINTED[name]
    matched = [
        one.value in printed
        if isinstance(one.value, str)
        else one.value in (pytest.approx(n, rel=1e-9) for n in numbers)
        for one in wanted
    ]
    assert matched
    assert any(matched) if name in FIRST else all(matched), [
        one for one, is_in in zip(wanted, matched, strict=True) if not is_in
    ]


def test_what_would_change_is_named_in_words_with_its_unit():
    use_language("es")
    try:
        rows = answered.rows(asked("change"))
    finally:
        use_language("en")
    assert rows
    assert {row[0] for row in rows} & {"precio", "velocidad", "menos tráfico", "más tráfico"}
    assert not any("_" in row[0] or row[4] for row in rows)


@pytest.mark.parametrize("name", sorted(OF_DECISION))
def test_a_decision_is_asked_about_itself(name):
    answer = asked(name)
    decision = json.loads(Path(DECISION).read_text(encoding="utf-8"))
    told = list(values(decision))
    assert answer.intent == name
    assert answer.currency == decision["currency"]
    shown = [one for one in answer.figures if one.name in ("unit_cost", "per_month", "costs", "turns_at")]
    assert shown
    assert all(one.value in told for one in shown)


@pytest.mark.parametrize("name", sorted(OF_DECISION))
def test_without_a_decision_it_is_asked_back(name):
    with pytest.raises(InvalidInput, match="CB-Y020"):
        cabida.ask(tr(f"asking.example.{name}").split("(--")[0])


def test_a_student_gets_the_answer_of_the_example():
    answer = asked("profile")
    assert answer.figures
    assert any("recommend student-4090.yaml" in one for one in answer.commands)


def test_every_kind_has_a_function():
    from importlib import import_module

    assert set(WHERE) == set(names())
    for name, room in WHERE.items():
        assert callable(getattr(import_module(f"cabida.app.asking.{room}"), CALLED.get(name, name)))


def test_a_cheaper_offer_of_ones_own_moves_the_answer(tmp_path, monkeypatch):
    question = {"model": "llama-3.1-8b", "as_of": DAY}
    before = cabida.ask("is the price of an H100 fair at 1 USD per hour", as_of=DAY)
    month = cabida.ask("how much does llama-3.1-8b cost on an H100", **question)
    offer = {
        "id": "ours", "provider_kind": "neocloud", "term_months": 0, "upfront_ratio": 0, "sighting": "quote",
        "sample_count": 1, "provider": "Ours", "accelerator": "h100-sxm-80", "accelerators_count": 1,
        "capacity": "on-demand", "amount": 1.5, "currency": "USD", "unit": "accelerator_hour", "seen": "2026-11-20",
        "source": {"what": "our contract", "seen": "2026-11-20", "grade": "quoted"},
    }  # fmt: skip
    (tmp_path / "ours.yaml").write_text(json.dumps({"offers": [offer]}), "utf-8")
    monkeypatch.setenv("CABIDA_FACTS", str(tmp_path))
    after = cabida.ask("is the price of an H100 fair at 1 USD per hour", as_of=DAY)
    assert figure(before, "lowest") > figure(after, "lowest") == 1.5
    cheaper = cabida.ask("how much does llama-3.1-8b cost on an H100", **question)
    assert figure(cheaper, "per_month") < figure(month, "per_month")
    assert "Ours" in cheaper.answer


def figure(answer, name):
    return next(one.value for one in answer.figures if one.name == name)


def test_what_the_flags_say_is_not_assumed_and_changes_the_figures():
    usual = cabida.ask("how many users can an H100 serve with llama-3.1-8b", as_of=DAY)
    longer = cabida.ask("how many users can an H100 serve with llama-3.1-8b", as_of=DAY, output_tokens=900)
    assert {one.name for one in usual.taken} - {one.name for one in longer.taken} == {"output_tokens"}
    assert figure(longer, "requests_per_s") < figure(usual, "requests_per_s")


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("rent or api?", "CB-Y021"), ("rent or buy?", "CB-Y022"), ("is it always better than H100", "CB-Y023"),
        ("how not to overbuy", "CB-Y024"), ("does an A100 support it", "CB-Y025"), ("x" * 700, "CB-Y027"),
    ],
)  # fmt: skip
def test_what_is_missing_is_asked_back(question, code):
    with pytest.raises(InvalidInput, match=code):
        cabida.ask(question)


def test_what_is_not_understood_names_questions_that_are():
    with pytest.raises(UsageProblem, match="CB-Y010") as raised:
        cabida.ask("sing me a song")
    assert raised.value.exit_code == 2
    assert "?" in str(raised.value)


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize(
    "name", ["fit", "price", "compatible", "rent_or_buy", "fine_tune", "mig", "what_for", "why"]
)
def test_every_text_of_an_answer_is_there_in_both_languages(name, language):
    use_language(language)
    answer = asked(name)
    assert answer.answer.strip()
    rows = answered.rows(answer)
    assert len(rows) == len(answer.figures) > 0
    assert all(len(answered.assumed(answer)) == len(answer.taken) for _ in rows[:1])
    found = run("ask", tr(f"asking.example.{name}").split("(--")[0], "--as-of", DAY, "--lang", language,
                *(["--decision", DECISION] if name in OF_DECISION else []))  # fmt: skip
    assert found.exit_code == 0, found.output
    assert answer.answer[:40] in found.output


def test_the_json_of_the_command_is_the_answer_of_the_function():
    found = run("ask", "does llama-3.1-8b fit on an L4?", "--as-of", DAY, "--json")
    answer = cabida.ask("does llama-3.1-8b fit on an L4?", as_of=DAY)
    assert json.loads(found.stdout) == json.loads(json.dumps(asdict(answer)))


def test_a_smaller_card_wins_where_it_would_idle_less():
    """Full, the larger card makes the cheaper token; with few requests the month of the smaller one costs less."""
    answer = cabida.ask("When an L40S instead of an H100?", as_of=DAY)
    small, large = answer.answer.split(". H100", 1)
    assert small.startswith("L40S costs less in 2 of 9")
    assert small.count("few requests") == 2
    assert "few requests" not in large
    months = {one.of: one.value for one in answer.figures if one.name == "per_month"}
    assert len(months) == 4
    for of, money in months.items():
        if of.endswith("L40S"):
            assert money < min(
                value for other, value in months.items() if "H100" in other and other[:9] == of[:9]
            )


@pytest.mark.parametrize("question", ["Does an A100 support FP4?", "Does an RTX 4090 support mxfp4?"])
def test_a_format_without_arithmetic_is_no_plain_yes(question):
    answer = cabida.ask(question, as_of=DAY)
    assert answer.answer.startswith("With a limit")
    assert "weight-only" in answer.answer
    assert tr("asking.no_units") in [one.value for one in answer.figures]


def test_what_a_model_takes_adds_up_and_is_what_fit_says():
    answer = cabida.ask("How much VRAM does qwen3-32b need in 4 bits at 32k context?", as_of="2026-11-30")
    parts = {one.name: one.value for one in answer.figures if one.name.endswith("_all")}
    assert number(sum(parts.values())) in answer.answer
    smallest = cabida.fit("qwen3-32b", weights="awq-int4", min_context=32768, as_of="2026-11-30")["rows"][0]
    assert facts.accelerator(smallest["gpu"]).name in answer.answer
    # 64 layers, keys and values, 8 heads of 128, two bytes each
    assert parts["cache_all"] == pytest.approx(64 * 2 * 8 * 128 * 2 * 32768 / 2**30)


def test_what_tuning_takes_is_told_way_by_way():
    answer = cabida.ask("¿Cuánta VRAM necesita entrenar llama-3.1-8b?", as_of="2026-11-30")
    sizes = {one.of: one.value for one in answer.figures if one.name == "peak_gib"}
    assert sizes["qlora"] < sizes["lora"] < sizes["full"]
