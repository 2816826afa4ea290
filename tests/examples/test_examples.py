"""Every example, from the brief to the record: what a decision must show whatever it decides."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from cabida.report.schema import schema
from cabida.report.store import load

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(file.stem for file in (ROOT / "examples").glob("*.yaml"))
CLASS_OF = {
    name: yaml.safe_load((ROOT / f"examples/{name}.yaml").read_text(encoding="utf-8"))["workload"]
    for name in EXAMPLES
}
SERVING = [
    name
    for name, kind in CLASS_OF.items()
    if kind.endswith("inference") or kind in ("retrieval", "evaluation")
]
TRAINING = [name for name, kind in CLASS_OF.items() if kind.endswith(("training", "finetune"))]
FIGURE = re.compile(r"\d")


@pytest.fixture(params=EXAMPLES)
def decision(request, decided):
    return decided(request.param)[0]


def own(decision):
    """The options that run on accelerators."""
    return [one for one in decision.options if one.capacity != "api"]


def test_there_are_the_examples_the_readme_promises():
    stories = {name for name in EXAMPLES if name.startswith("story-")}
    assert len(stories) == 4
    assert {
        "student-4090",
        "support-chat",
        "nightly-batch",
        "full-finetune-70b",
        "qlora-70b",
        "pretraining-7b",
        "rag-support",
        "rag-own-premises",
        "evaluation-nightly",
        "evaluation-three-models",
    } <= {*EXAMPLES}


def test_the_verdict_and_the_options_agree(decision):
    chosen = [one for one in decision.options if one.status == "chosen"]
    able = [one for one in decision.options if one.status in ("chosen", "satisfies")]
    if decision.verdict == "satisfied":
        assert chosen == list(decision.options[:1])
        assert chosen[0].title in decision.answer
    else:
        assert decision.verdict == "nothing_satisfies"
        assert not able
        assert all(one.reasons for one in decision.options[:1])


def test_options_are_ranked_by_what_an_accepted_output_costs(decision):
    assert [one.rank for one in decision.options] == list(range(1, len(decision.options) + 1))
    able = [one for one in decision.options if one.status in ("chosen", "satisfies")]
    if able and able[0].capacity == "have":  # it wins what is a tie in practice
        assert able[0].cost_per_month_money <= min(one.cost_per_month_money for one in able) * 1.01 + 1.01
        able = able[1:]
    costs = [one.unit_cost.value for one in able]
    assert costs == sorted(costs)
    order = [("chosen", "satisfies", "misses", "ruled_out").index(one.status) for one in decision.options]
    assert order == sorted(order)
    assert len(decision.options) >= 3
    assert len({one.id for one in decision.options}) == len(decision.options)


def test_titles_name_the_model_where_there_are_several(decision):
    models = {one.model for one in decision.options}
    if len(models) > 1:
        for one in decision.options:
            if one.capacity == "api":  # told as its seller prints it
                continue
            assert one.model.rpartition("/")[2].lower() in one.title.lower(), one.title
    titles = [f"{one.title} {one.kv_cache}" for one in decision.options]
    assert len(titles) == len(set(titles)), titles


def test_costs_add_up_and_have_an_interval(decision):
    for one in decision.options:
        assert one.unit_cost.low <= one.unit_cost.value <= one.unit_cost.high
        assert one.unit_cost.low < one.unit_cost.high
        assert sum(line.money for line in one.cost_lines) == pytest.approx(one.cost_per_month_money)
        assert one.cost_per_month_money > 0
    shown = sum(one.best_probability for one in decision.options)
    assert 0.5 < shown <= 1.0 + 1e-9  # the rest is won by kinds that are not shown
    assert all(one.expected_regret_money >= 0 for one in decision.options)


def test_memory_is_told_part_by_part(decision):
    for one in own(decision):
        parts = {name: size for name, size in one.memory.items() if name != "headroom"}
        assert {"weights", "activations", "other"} <= parts.keys()
        assert all(size >= 0 for size in parts.values())
        assert one.memory["headroom"] >= 0, one.title
        assert 0.5 * one.usable_bytes < sum(parts.values()) + one.memory["headroom"] < 1.01 * one.usable_bytes


def test_what_was_not_chosen_has_its_reason_with_a_number(decision):
    for one in decision.options:
        if one.status in ("misses", "ruled_out"):
            assert one.reasons, one.title
        else:  # only what is left to ask the seller, or which setting of the scheduler it runs with
            told = ("where its machines are", "the engine's own")
            assert all(any(part in reason for part in told) for reason in one.reasons), one.title
    for one in decision.rejections:
        assert one.count > 0
        assert FIGURE.search(one.sentence)
        assert one.sentence.endswith((".", ")")) or one.example


def test_every_candidate_is_accounted_for(decision):
    told = sum(one.count for one in decision.rejections) + len(decision.options)
    assert decision.candidates_count == told


def test_each_option_can_be_started(decision):
    for one in decision.options:
        assert bool(one.command) == (one.capacity != "api"), one.title
        assert "{" not in re.sub(r"\$\{[^}]*\}|'[^']*'|\{\"[^\n]*", "", one.command), one.command


def test_prices_are_dated_and_not_from_the_future(decision):
    for one in decision.options:
        assert one.price_seen <= decision.as_of
        assert one.price_seen or one.capacity == "have"
    assert decision.as_of == "2026-11-30"
    assert all(one["what"] for one in decision.sources)
    assert all(one["seen"] <= decision.as_of for one in decision.sources if one.get("seen"))


def test_figures_can_be_explained(decision):
    nodes = {node["id"]: node for node in decision.trees}
    first = decision.options[0]
    assert first.trees
    assert set(first.trees.values()) <= nodes.keys()
    for node in nodes.values():
        assert {child["id"] for child in node["inputs"]} <= nodes.keys()
        assert node["inputs"] or node["source"]["what"] or node["value"] == 0, node["name"]


@pytest.mark.parametrize("name", SERVING)
def test_serving_has_percentiles_with_intervals(name, decided):
    for one in own(decided(name)[0]):
        for kind in ("ttft", "itl", "e2e"):
            figures = [one.metrics[f"{kind}_ms_{which}"] for which in ("p50", "p95", "p99")]
            assert [f.value for f in figures] == sorted(f.value for f in figures)
            assert all(0 < f.low < f.value < f.high for f in figures), one.title
            quantiles = one.latency_quantiles[f"{kind}_ms"]
            assert list(quantiles) == sorted(quantiles)


@pytest.mark.parametrize("name", SERVING)
def test_a_percentile_can_be_explained_as_simulated(name, decided):
    decision = decided(name)[0]
    option = next(one for one in decision.options if one.capacity != "api" and one.trees)
    node = decision.trees[option.trees["ttft_ms_p95"]]
    figure = option.metrics["ttft_ms_p95"]
    assert node["grade"] == "simulated"
    assert [node[key] * 1000 for key in ("value", "low", "high")] == pytest.approx(
        [figure.value, figure.low, figure.high]
    )


@pytest.mark.parametrize("name", SERVING)
def test_serving_turns_are_told(name, decided):
    decision = decided(name)[0]
    flips = {one.name.split("_")[0]: one for one in decision.flips}
    if sum(one.status in ("chosen", "satisfies") for one in decision.options) == 1:
        assert "only" in flips  # nothing else may be taken, whatever turns
        return
    assert {"price", "utilisation", "acceptance"} <= flips.keys()
    for one in decision.flips:
        if one.name in ("paying", "mix"):  # side by side, no turn
            continue
        assert FIGURE.search(one.sentence) or one.at is None
        assert (one.at is None) == (one.flips_to == "")
        assert one.flips_to == "" or one.flips_to in {option.id for option in decision.options}
    first = decision.options[0]
    assert (first.provider if first.capacity == "api" else first.weights) in flips["acceptance"].sentence
    assert flips["acceptance"].now == pytest.approx(acceptance_in_brief(decision, first), abs=1e-9)


def acceptance_in_brief(decision, option):
    """The acceptance the brief gives the chosen format; an API serves the model's best."""
    brief = yaml.safe_load(decision.brief_text)
    if isinstance(brief["models"][0], str):  # an evaluation of models as they are published
        return brief["evaluation"]["accepted"]
    given = {choice["id"]: choice["weights"] for choice in brief["models"]}
    rows = given[option.model]
    found = [row["acceptance"] for key, row in rows.items() if key == option.weights]
    return found[0] if found else max(row["acceptance"] for row in rows.values())


@pytest.mark.parametrize("name", TRAINING)
def test_training_has_its_figures(name, decided):
    decision = decided(name)[0]
    for one in decision.options:
        figures = one.metrics
        assert {
            "tokens_s_per_gpu",
            "step_time_s",
            "minutes_to_target",
            "mfu_ratio",
            "peak_mem_gib",
        } <= figures.keys()
        assert all(figure.low <= figure.value <= figure.high for figure in figures.values())
        assert figures["tokens_s_per_gpu"].low < figures["tokens_s_per_gpu"].high
        assert 0.02 < figures["mfu_ratio"].value < 0.75, one.title
        used = sum(size for key, size in one.memory.items() if key not in ("headroom", "reserve"))
        assert figures["peak_mem_gib"].value == pytest.approx(used / 2**30)
    assert {"price", "speed"} <= {one.name for one in decision.flips}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_record_is_written_in_its_forms(name, decided):
    decision, folder = decided(name)
    files = {file.suffix: file for file in folder.iterdir()}
    assert set(files) == {".html", ".json", ".md", ".xlsx"}
    record = json.loads(files[".json"].read_text(encoding="utf-8"))
    jsonschema.validate(record, schema())
    assert load(files[".json"]) == decision
    answer = decision.options[0].title.replace("_", r"\_")
    assert answer in files[".md"].read_text(encoding="utf-8")
    page = files[".html"].read_text(encoding="utf-8")
    assert page.count("<svg") >= 2
    assert "</html>" in page
    assert not re.search(r"<(?:script|img|iframe|link)[^>]+(?:src|href)=", page)  # all in one file
