"""Questions put to other tools say what was measured; errors are those of the cases; the page is of the results."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks"


@pytest.fixture(scope="module", autouse=True)
def _found():
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


def script(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def accuracy(_found):
    return script("accuracy")


def a_row(**more):
    load = {"input_tokens": 1024, "output_tokens": 512, "concurrency": 64}
    return {"id": "x", "model": "deepseek-ai/DeepSeek-V3", "weights": "fp8", "gpu": "b200-sxm-180", "engine": "sglang",
            "load": load} | more  # fmt: skip


@pytest.mark.parametrize(
    ("printed", "split"),
    [
        ({"gpus": 8, "tp": 64, "dp": 1, "ep": 8}, (8, 1, 8)),  # tensor times expert parallel was printed
        ({"gpus": 72, "tp": 72, "dp": 1, "ep": 1}, (1, 72, 72)),  # wider than a machine: attention by data
        ({"gpus": 8, "tp": 4, "dp": 2, "ep": 4}, (4, 2, 4)),
        ({"gpus": 4, "tp": 4, "dp": None, "ep": None}, (4, 1, 1)),
    ],
)
def test_a_question_has_the_split_that_ran(accuracy, printed, split):
    asked = script("rows").serving_question(a_row(**printed))
    assert (asked["tp"], asked["dp"], asked["ep"]) == split
    assert asked["moe"]


def test_a_sample_is_part_of_a_larger_one(accuracy):
    rows = script("rows")
    few, many = ({row["id"] for row in rows.aggregated(count, 0)} for count in (20, 60))
    assert few < many
    assert len(many) == 60


def test_an_error_is_as_large_low_as_high_and_refusals_count(accuracy):
    assert accuracy.error(50, 100) == pytest.approx(accuracy.error(200, 100)) == pytest.approx(1.0)
    points = [
        {"id": "a", "measured": 100.0, "hidden": False, "theirs": 110.0, "ours": 105.0},
        {"id": "b", "measured": 100.0, "hidden": True, "theirs": 300.0, "ours": 100.0},
        {"id": "c", "measured": 100.0, "hidden": False, "ours": 150.0},
    ]
    found = accuracy.summary(points)
    assert (found["asked"], found["answered"], found["ours_answered"], found["both"]) == (3, 2, 3, 2)
    assert found["theirs_unhidden_median"] == pytest.approx(0.1)
    assert found["ours_p90"] == pytest.approx(0.05)


def test_what_was_left_out_is_told_apart_from_what_was_fitted(accuracy, tmp_path):
    file = tmp_path / "residuals.jsonl"
    lines = [("a", "model", 0.1), ("b", "model", -0.3), ("a", "fitted", 0.0), ("c", "card", 0.2)]
    told = [{"id": one, "metric": "tpot_s", "way": way, "log_error": error} for one, way, error in lines]
    file.write_text("".join(json.dumps(one) + "\n" for one in told), encoding="utf-8")
    found = accuracy.left_out("tpot_ms", {"a": 0.5, "b": 0.7}, accuracy.held_out(file))
    assert set(found) == {"model"}
    assert found["model"]["rows"] == 2
    assert found["model"]["ours_p90"] == pytest.approx(2.718281828**0.3 - 1)
    assert found["model"]["theirs_p90"] == 0.7
    assert accuracy.held_out(None) == {}


def test_the_page_is_that_of_the_last_results(accuracy):
    page, pictures = script("page").written(json.loads((FOLDER / "results/accuracy.json").read_text("utf-8")))
    assert (ROOT / "docs/rivals.md").read_text("utf-8") == page, "docs/rivals.md is stale: make docs"
    for name, drawn in pictures.items():
        assert (ROOT / "docs/pictures" / name).read_text("utf-8") == drawn


def test_rivals_keep_their_answers_and_a_dead_one_loses_one_question(accuracy, tmp_path, monkeypatch):
    rivals = script("rivals")
    monkeypatch.setenv("CABIDA_BENCHMARKS", str(tmp_path))
    monkeypatch.setattr(rivals, "ASKERS", tmp_path)
    monkeypatch.setattr(rivals, "python_of", lambda rival: sys.executable)
    (tmp_path / "ask_dummy.py").write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    if asked['n'] == 1: sys.exit(3)\n"
        "    print(json.dumps({'id': asked['id'], 'figures': {'tpot_ms': asked['n'] + 1.0}, 'why': ''}), flush=True)\n",
        encoding="utf-8",
    )
    dummy = rivals.Rival("dummy", "1", (), "agg", ("tpot_ms",), "MIT")
    asked = [{"id": str(n), "n": n} for n in range(4)]
    first = rivals.ask(dummy, asked)
    assert {one: said["figures"].get("tpot_ms") for one, said in first.items()} == {
        "0": 1.0,
        "1": None,
        "2": 3.0,
        "3": 4.0,
    }
    assert "ended" in first["1"]["why"]
    (tmp_path / "ask_dummy.py").write_text("raise SystemExit(1)\n", encoding="utf-8")
    assert rivals.ask(dummy, asked) == first
