"""Reading: what is said arrives in base units, and what is wrong comes back with its line and its cure."""

import itertools
import re
from pathlib import Path

import pytest

from cabida.brief import read_brief
from cabida.brief.lines import LARGEST_FILE_BYTES
from cabida.brief.read import parse_brief
from cabida.errors import InvalidInput
from cabida.text import use_language

AS_OF = "2026-11-30"
CHAT = """\
name: support-chat
workload: realtime-inference
models:
  - id: meta-llama/Llama-3.3-70B-Instruct
    weights: {fp8: {acceptance: 0.94, how: measured 2026-10-12 on 400 tickets}, awq-int4: {acceptance: unknown}}
traffic:
  requests_per_s: {mean: 4, peak: 12, profile: office-hours Europe/Madrid}
  input_tokens:  {p50: 900, p95: 3500}
  output_tokens: {p50: 250, p95: 700}
  shared_prefix_tokens: 600
objectives: {ttft_p95: 800 ms, itl_p95: 50 ms, error_rate: 0.1 %}
acceptance: {retries: 1}
have:
  - {accelerator: l40s, count: 4, owned: true, resale: 4500 EUR each}
limits: {data: EU only, needed_by: 2027-02-01, availability: n+1, risk: low}
budget: {monthly: 18000 EUR}
horizon: 24 months
team: {platform_engineers: 0.5, loaded_cost: 85000 EUR/year}
consider: {capacity: [on-demand, reserved, spot, buy, api], providers: any, accelerators: any}
"""


def problems(text, **kwargs):
    with pytest.raises(InvalidInput) as caught:
        parse_brief(text, file="b.yaml", as_of=AS_OF, **kwargs)
    assert caught.value.exit_code == 3
    return [(item.code, item.line) for item in caught.value.problems]


def codes(text):
    return [code for code, _ in problems(text)]


def test_the_brief_of_the_notes_in_base_units():
    brief = parse_brief(CHAT, as_of=AS_OF)
    assert brief.models[0].weights["fp8"].ratio == 0.94
    assert brief.models[0].weights["fp8"].grade == "measured"
    assert brief.models[0].weights["awq-int4"].ratio is None
    assert brief.traffic.requests_per_s_peak == 12
    assert len(brief.traffic.profile) == 168
    assert sum(brief.traffic.profile) / 168 == pytest.approx(1)
    assert brief.traffic.timezone == "Europe/Madrid"
    assert brief.traffic.input.p50_tokens == 900
    assert brief.objectives.latency_s == {"ttft": {"p95": 0.8}, "itl": {"p95": 0.05}}
    assert brief.objectives.error_ratio == pytest.approx(0.001)
    assert brief.have[0].resale_money == 4500
    assert brief.limits.countries == ("EU",)
    assert brief.budget.monthly_money == 18000
    assert brief.currency == "EUR"
    assert brief.horizon_months == 24
    assert brief.consider.capacity == ("on-demand", "reserved", "spot", "buy", "api")
    assert brief.consider.providers == ()


def test_every_value_knows_its_line():
    brief = parse_brief(CHAT, as_of=AS_OF)
    assert brief.where["traffic.input_tokens.p50"] == 8
    assert brief.line("models[0].weights.fp8.acceptance") == 5
    assert brief.line("have[0].until") == 14  # not said: the line of the nearest part that is
    assert brief.unknown == ("models[0].weights.awq-int4.acceptance",)


def test_ten_faults_give_ten_located_errors():
    text = """\
name: broken
workload: realtime-inferense
models: [meta-llama/Llama-3.3-70B-Instruct]
traffic:
  requests_per_s: {mean: 12, peak: 4}
  input_tokens: {p50: 900, p95: 350}
  output_tokens: -5
  output_tokens: 300
objectives: {ttf_p95: 800 ms, itl_p95: 50}
have:
  - {accelerator: l40z, count: 4}
limits: {needed_by: 2020-01-01}
budget: {monthly: 18000 EUT}
"""
    assert problems(text) == [
        ("CB-B018", 2),
        ("CB-B022", 5),
        ("CB-B021", 6),
        ("CB-B011", 7),
        ("CB-B002", 8),
        ("CB-B003", 9),
        ("CB-B015", 9),
        ("CB-B028", 11),
        ("CB-B023", 12),
        ("CB-B024", 13),
    ]


def test_the_two_errors_of_the_notes_word_for_word():
    text = CHAT.replace("p95: 3500", "p95: 350").replace("ttft_p95", "ttf_p95")
    with pytest.raises(InvalidInput) as caught:
        parse_brief(text, file="support-chat.yaml", as_of=AS_OF)
    assert str(caught.value).splitlines() == [
        "support-chat.yaml:8: traffic.input_tokens.p50 (900) is above p95 (350). "
        "A higher percentile can't be smaller than a lower one; did you mean 3500? [CB-B021]",
        "support-chat.yaml:11: objectives: ttf_p95 is not a key it knows. Closest: ttft_p95. [CB-B003]",
    ]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("traffic: {concurrency: .nan}", "CB-B010"),
        ("traffic: {concurrency: .inf}", "CB-B010"),
        ("traffic: {concurrency: 1e999}", "CB-B011"),
        ("traffic: {requests_per_s: -1}", "CB-B011"),
        ("traffic: {input_tokens: 18.000}", "CB-B013"),
        ("traffic: {growth: '0,2'}", "CB-B013"),
        ("traffic: {profile: [1, 2, 3]}", "CB-B027"),
        ("traffic: {requests_per_s: 3, requests_per_day: 9000}", "CB-B036"),
        ("traffic: {input_tokens: 500, shared_prefix_tokens: 600}", "CB-B029"),
        ("traffic: [1, 2]", "CB-B012"),
        ("objectives: {ttft_p95: 1 s, ttft_p50: 2 s}", "CB-B025"),
        ("objectives: {ttft_p95: 2 s, e2e_p95: 1 s}", "CB-B019"),
        ("objectives: {e2e_p95: 800}", "CB-B015"),
        ("objectives: {e2e_p95: 8 bananas}", "CB-B010"),
        ("budget: {monthly: 100 EUR, total: 50 EUR}", "CB-B035"),
        ("budget: 5", "CB-B012"),
        ("have: [{count: 2}]", "CB-B014"),
        ("have: [{accelerator: unknown}]", "CB-B014"),
        ("have: [{accelerator: l40s, owned: true, price: 2 USD/h}]", "CB-B031"),
        ("have: [{accelerator: l40s, kind: contracted, price: 1 USD/h, until: 2026-01-01}]", "CB-B023"),
        ("have: [{accelerator: l40s, count: 2.5}]", "CB-B010"),
        ("have: [{accelerator: l40s, owned: perhaps}]", "CB-B010"),
        ("consider: {engines: [vlmm]}", "CB-B032"),
        ("consider: {providers: [lambada]}", "CB-B020"),
        ("consider: {accelerators: [h100-sxn-80]}", "CB-B028"),
        ("consider: {capacity: [rent]}", "CB-B018"),
        ("models: [{id: meta-llama/Llama-3.3-70B-Instruct, weights: {fp9: 0.9}}]", "CB-B034"),
        ("models: [{id: meta-llama/Llama-3.3-70B-Instruct, weights: {fp8: 1.2}}]", "CB-B011"),
        ("models: [someone/never-heard-of-this-model]", "CB-B038"),
        ("limits: {needed_by: 30/11/2027}", "CB-B010"),
        ("limits: {data: Atlantis}", "CB-B010"),
        ("horizon: 24", "CB-B015"),
        ("training: {method: lora}", "CB-B030"),
        ("media: {kind: image}", "CB-B030"),
        ("exchange_rates: {EUR: 0}", "CB-B011"),
        ("budget: {monthly: 100 UYU, total: 5000 EUR}\ncurrency: EUR", "CB-B026"),
    ],
)
def test_each_fault_has_its_code(line, code):
    found = problems(f"name: x\nworkload: realtime-inference\n{line}\n")
    assert [item for item, _ in found] == [code]
    assert all(at >= 2 for _, at in found)


@pytest.mark.parametrize("line", ["training: {seq_len: 9000000}", "training: {seq_len: 4096, method: qlora}"])
def test_training_that_contradicts(line):
    text = f"workload: full-finetune\nmodels: [meta-llama/Llama-2-13b-hf]\n{line}\n"
    assert codes(text) == ["CB-B033" if "9000000" in line else "CB-B030"]


def test_latency_objectives_of_a_training_job_contradict_it():
    assert codes("workload: pretraining\nobjectives: {ttft_p95: 1 s}\n") == ["CB-B030"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "CB-B008"),
        ("# only a comment\n", "CB-B008"),
        ("- a\n- b\n", "CB-B008"),
        ("just words", "CB-B008"),
        ("a: [1, 2", "CB-B006"),
        ("a: 1\n\tb: 2\n", "CB-B006"),
        ("--- \na: 1\n--- \nb: 2\n", "CB-B006"),
        ("a: !!python/object/apply:os.system [ls]", "CB-B006"),
        ("name: a\x00b", "CB-B007"),
        ("notes: " + "[" * 40 + "]" * 40, "CB-B017"),
        ("notes: [" + "1," * 30000 + "]", "CB-B009"),
        ("a: &a [*a]", "CB-B004"),
    ],
)
def test_what_is_not_a_brief_at_all(text, code):
    assert codes(text) == [code]


def test_an_alias_bomb_costs_nothing():
    lines = ['a: &a ["x","x","x","x","x","x","x","x","x"]']
    names = "abcdefghij"
    for before, here in itertools.pairwise(names):
        lines.append(f"{here}: &{here} [" + ",".join([f"*{before}"] * 9) + "]")
    assert codes("\n".join(lines)) == ["CB-B004"]


def test_a_50_mb_file_is_refused_unread(tmp_path):
    huge = tmp_path / "huge.yaml"
    with huge.open("wb") as file:
        file.truncate(50_000_000)  # sparse: reading it would show nothing but zeros
    with pytest.raises(InvalidInput) as caught:
        read_brief(huge)
    assert [item.code for item in caught.value.problems] == ["CB-B005"]
    assert "50.0 MB" in str(caught.value)
    assert codes("name: " + "x" * LARGEST_FILE_BYTES) == ["CB-B005"]


@pytest.mark.parametrize(
    ("content", "code", "line"), [(b"name: a\nnotes: \xff\xfe\n", "CB-B007", 2), (b"\x00\x01", "CB-B007", 1)]
)
def test_bytes_that_are_not_text(tmp_path, content, code, line):
    file = tmp_path / "b.yaml"
    file.write_bytes(content)
    with pytest.raises(InvalidInput) as caught:
        read_brief(file)
    assert [(item.code, item.line) for item in caught.value.problems] == [(code, line)]


def test_absent_files_and_folders(tmp_path):
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(InvalidInput) as caught:
            read_brief(path)
        assert [item.code for item in caught.value.problems] == ["CB-B001"]
        assert str(path) in str(caught.value)


def test_words_stay_words():
    brief = parse_brief("name: no\nworkload: realtime-inference\nnotes: 2026-01-01\n", as_of=AS_OF)
    assert (brief.name, brief.notes) == ("no", "2026-01-01")


def test_a_byte_order_mark_is_no_fault(tmp_path):
    file = tmp_path / "b.yaml"
    file.write_text("name: x\n", encoding="utf-8-sig")
    assert read_brief(file).name == "x"


@pytest.mark.parametrize(
    ("said", "mean"),
    [("4", 4), ("240/min", 4), ("{mean: 4}", 4), ("{peak: 4}", 4), ("14400/hour", 4), ("345600/day", 4)],
)
def test_ways_to_say_a_rate(said, mean):
    brief = parse_brief(f"traffic: {{requests_per_s: {said}}}", as_of=AS_OF)
    assert brief.traffic.requests_per_s_mean == pytest.approx(mean)
    assert brief.traffic.requests_per_s_peak == pytest.approx(4)


def test_a_peak_that_was_not_said_follows_the_profile():
    brief = parse_brief("traffic: {requests_per_s: {mean: 4, profile: office-hours}}", as_of=AS_OF)
    assert brief.traffic.requests_per_s_peak == pytest.approx(4 * max(brief.traffic.profile))
    assert brief.traffic.requests_per_month == pytest.approx(4 * 730 * 3600)


@pytest.mark.parametrize(
    ("said", "money"),
    [
        ("18000 EUR", 18000),
        ("18000", 18000),
        ("18 k EUR", 18000),
        ("216000 EUR/year", 18000),
        ("18,000 EUR", 18000),
    ],
)
def test_ways_to_say_a_budget(said, money):
    brief = parse_brief(f"budget: {{monthly: '{said}'}}\ncurrency: EUR", as_of=AS_OF)
    assert brief.budget.monthly_money == pytest.approx(money)


def test_units_in_spanish():
    brief = parse_brief(
        "horizon: 2 años\ntraffic: {items: 1.2 millones, window: 6 horas, growth: 20 %/año}\n"
        "team: {loaded_cost: 900000 MXN/año}\nbudget: {monthly: 60 mil MXN/mes}\n"
        "have: [{accelerator: l40s, resale: 4500 EUR cada una}]\ncurrency: MXN\nexchange_rates: {EUR: 21}\n",
        as_of=AS_OF,
    )
    assert brief.horizon_months == 24
    assert (brief.traffic.items_count, brief.traffic.window_s) == (1.2e6, 21600)
    assert brief.traffic.growth_per_year_ratio == pytest.approx(0.2)
    assert brief.team.loaded_cost_per_year_money == 900000
    assert brief.budget.monthly_money == 60000
    assert brief.have[0].resale_money == 4500 * 21


def test_another_currency_is_converted_at_the_users_rate_or_the_days():
    text = "budget: {monthly: 100 USD}\ncurrency: EUR\n"
    assert parse_brief(text + "exchange_rates: {USD: 0.5}", as_of=AS_OF).budget.monthly_money == 50
    found = parse_brief(text, as_of=AS_OF)
    assert found.budget.monthly_money == pytest.approx(100 * found.exchange_rates["USD"])
    assert 0.5 < found.exchange_rates["USD"] < 1.5


def test_a_decision_is_in_the_currency_of_the_budget_unless_said():
    assert parse_brief("budget: {monthly: 5 MXN}\nteam: {loaded_cost: 9 EUR}", as_of=AS_OF).currency == "MXN"
    assert parse_brief("team: {loaded_cost: 9 EUR}", as_of=AS_OF).currency == "EUR"
    assert parse_brief("name: x", as_of=AS_OF).currency == "USD"


def test_shorthands():
    brief = parse_brief(
        "models: [meta-llama/Llama-3.3-70B-Instruct, {id: Qwen/Qwen3-14B, weights: [fp8, awq]}]\n"
        "traffic: {input_tokens: 500}\n"
        "consider: {engines: vllm}\n",
        as_of=AS_OF,
    )
    assert [choice.id for choice in brief.models] == ["meta-llama/Llama-3.3-70B-Instruct", "Qwen/Qwen3-14B"]
    assert list(brief.models[1].weights) == ["fp8", "awq"]
    assert brief.traffic.input.spread_ratio == 0
    assert brief.consider.engines == ("vllm",)


def test_accelerators_under_peoples_names_become_ids():
    brief = parse_brief(
        "have: [{accelerator: RTX 4090}]\nconsider: {providers: [lambda, RUNPOD]}", as_of=AS_OF
    )
    assert (brief.have[0].accelerator, brief.have[0].count) == ("rtx4090", 1)
    assert brief.consider.providers == ("Lambda", "RunPod")


def test_unknown_is_legal_everywhere():
    keys = "workload models traffic training objectives acceptance have limits budget horizon team consider costs"
    text = "".join(f"{key}: unknown\n" for key in keys.split())
    brief = parse_brief(text, as_of=AS_OF)
    assert set(brief.unknown) == set(keys.split())


def test_errors_speak_spanish():
    use_language("es")
    try:
        with pytest.raises(
            InvalidInput, match=r"traffic: concurrenzy no es una clave .* Lo más parecido: concurrency"
        ):
            parse_brief("traffic: {concurrenzy: 3}", as_of=AS_OF)
    finally:
        use_language("en")


def test_every_code_that_is_raised_has_its_texts():
    from cabida.text import catalogue

    folder = Path(__file__).parents[2] / "src/cabida/brief"
    raised = {code for file in folder.glob("*.py") for code in re.findall(r"CB-B\d{3}", file.read_text())}
    for language in ("en", "es"):
        texts = catalogue(language, "brief")
        assert {f"{code}.what" for code in raised} <= set(texts)
