import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from cabida.truth.case import Case
from cabida.truth.predict import Prediction, interval_factors, memory_spread
from cabida.truth.score import scores

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("accuracy_script", ROOT / "calibration/accuracy.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "calibration")  # what it is run beside
        spec.loader.exec_module(module)
    return module


def a_prediction(ratio: float, metric: str = "tpot_ms", source: str = "a/b") -> Prediction:
    case = Case("x", "serving", source, "vllm", "h100-sxm-80", "m", {"measured": {}}, "f", 1)
    return Prediction(case, metric, 100 * ratio, 100.0, 80.0, 125.0)


def test_page_shows_what_validate_found(script):
    rows = [a_prediction(ratio) for ratio in (0.9, 1.0, 1.3)]
    found = {
        "answered": 3, "rows": 5, "skipped": [{"id": "a", "why": "not yet"}, {"id": "b", "why": "not yet"}],
        "metrics": scores(rows), "by": {"engine": {"vllm": {}}},
        "fits": {"n": 9, "correct": 7, "false_fits": 1, "false_refusals": 1, "undecided": 0},
    }  # fmt: skip
    page = script.page(
        found,
        {"training": {"left out models": {"n": 40, "median_error_ratio": 0.1, "p90_error_ratio": 0.3}}},
        ["## What we aim at"],
    )
    assert page.index("## What we aim at") < page.index("## Memory")
    assert "3 of 5 rows answered." in page
    assert "| `tpot_ms` | 3 | 1 | 11.1 % | 11.1 % |" in page
    assert "Of 9 runs" in page
    assert "| training | left out models | 40 | 10.0 % | 30.0 % |" in page
    assert "| not yet | 2 |" in page
    assert "aiconfigurator" in page


def test_interval_leaves_four_in_a_hundred_out_at_either_end(script):
    rows = [a_prediction(1 + 0.001 * step) for step in range(-100, 101)]
    low, high = script.factors_of(rows)
    assert (low, high) == (pytest.approx(0.908, abs=0.001), pytest.approx(1.092, abs=0.003))
    assert script.factors_of([a_prediction(1.0)]) == [0.99, 1.01]


def test_a_large_table_does_not_decide_an_interval(script):
    table = [a_prediction(1.0, source="large/table") for _ in range(400)]
    others = [a_prediction(1.3, source=f"a/{name}") for name in "bcd"]
    assert script.factors_of(table + others) == [0.99, 1.3]
    assert script.factors_of(table + others[:0]) == [0.99, 1.01]


def test_a_kind_that_few_pages_know_does_not_speak_for_itself(script):
    few = [a_prediction(1.0, source=f"a/{name}") for name in "bcd" for _ in range(10)]
    assert not script.speaks_for_itself(few)
    assert script.speaks_for_itself([*few, a_prediction(1.0, source="a/e")])


def test_reasons_are_counted_together(script):
    skipped = [{"id": str(n), "why": f"architecture of model {n} not known"} for n in range(3)]
    assert script.reasons(skipped) == [("architecture of ... not known", 3)]


def test_shipped_intervals_are_sound():
    for metric, kinds in memory_spread()["factors"].items():
        for kind, (low, high) in kinds.items():
            assert 0 < low < 1 < high, (metric, kind)
    assert interval_factors("weights_gib_per_gpu", "no such engine")[0] < 1


def test_page_names_its_sources_and_its_script():
    page = (ROOT / "docs/accuracy.md").read_text()
    assert "calibration/accuracy.py" in page
    held_out = json.loads((ROOT / "src/cabida/timing/data/training.json").read_text())["held_out"]
    assert held_out["left_out_sources"]["n"] > 400


@pytest.mark.long
def test_page_is_what_validate_says_today():
    told = subprocess.run(
        [sys.executable, "calibration/accuracy.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stdout
