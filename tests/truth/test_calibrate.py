"""``cabida calibrate``: learning from one's own runs, on data left out, and taking it back."""

import json
from pathlib import Path

import pytest

from cabida import app
from cabida.errors import InvalidInput
from cabida.timing.own import calibration_digest, own_path, without_own
from cabida.truth import calibrate as learning
from cabida.truth import validate

A_RUN = {
    "id": "mine-1", "kind": "serving", "engine": "vllm", "engine_version": "0.10.0", "model": "meta-llama/Llama-3.1-8B",
    "weights": "bf16", "gpu": "h100-sxm-80", "gpus": 1, "tp": 1, "mode": "serve",
    "load": {"input_tokens": 1024, "output_tokens": 256, "concurrency": 8, "prompts": 80},
    "measured": {}, "quality": "A", "source": "own bench",
}  # fmt: skip


@pytest.fixture(autouse=True)
def apart(tmp_path, monkeypatch):
    monkeypatch.setenv("CABIDA_CALIBRATION", str(tmp_path / "data" / "calibration.json"))


def shipped(run: dict) -> dict[str, float]:
    from cabida.truth.case import case_of
    from cabida.truth.predict import answer

    asked = run | {"measured": {"tpot_ms_mean": 10.0, "ttft_ms_mean": 100.0, "output_tok_s": 1000.0}}
    with without_own():
        return {one.metric: one.predicted for one in answer(case_of(asked), 1e9).predictions}


def runs(tmp_path: Path, slower: float, clients=(2, 4, 8, 16)) -> Path:
    """Runs that take ``slower`` times what is predicted."""
    lines = []
    for count in clients:
        run = A_RUN | {"id": f"mine-{count}", "load": A_RUN["load"] | {"concurrency": count}}
        told = shipped(run)
        lines.append(run | {"measured": {"tpot_ms_mean": slower * told["tpot_ms_mean"]}})
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return path


def test_few_runs_bring_those_left_out_nearer(tmp_path):
    file = runs(tmp_path, 1.4)
    found = app.calibrate([file])
    assert found["added"] == 4
    assert found["digest"] == calibration_digest() == app.calibration()["digest"]
    assert found["before"]["step"] == pytest.approx(0.4, abs=0.01)
    assert found["after"]["step"] < 0.15
    before, after = (validate([file], calibrated=one)["metrics"]["tpot_ms_mean"] for one in (False, True))
    assert before["median_error_ratio"] == pytest.approx(0.4, abs=0.01)
    assert after["median_error_ratio"] < 0.12
    assert after["interval_high_over_low"] < before["interval_high_over_low"]


def test_it_is_taken_back_and_the_journal_keeps_it(tmp_path):
    app.calibrate([runs(tmp_path, 1.4)])
    assert calibration_digest()
    left = app.calibration(undo=True)
    assert (left["runs"], left["corrections"], calibration_digest()) == ([], [], "")
    assert len(left["undone"][0]["observations"]) == 4
    with pytest.raises(InvalidInput) as told:
        app.calibration(undo=True)
    assert told.value.problems[0].code == "CB-V015"


def test_a_dry_run_keeps_nothing(tmp_path):
    found = app.calibrate([runs(tmp_path, 1.4)], keep=False)
    assert found["corrections"]
    assert not own_path().exists()


def test_the_same_runs_given_twice_count_once(tmp_path):
    file = runs(tmp_path, 1.2)
    first, second = app.calibrate([file]), app.calibrate([file])
    assert first["digest"] == second["digest"]


@pytest.mark.parametrize(
    ("times", "code"), [(1 / 1000, "CB-V010"), (1000, "CB-V010"), (40, "CB-V011"), (1 / 60, "CB-V011")]
)
def test_units_mistaken_are_refused_where_they_stand(tmp_path, times, code):
    with pytest.raises(InvalidInput) as told:
        app.calibrate([runs(tmp_path, times, clients=(8,))])
    one = told.value.problems[0]
    assert (one.code, one.file, one.line) == (code, str(tmp_path / "runs.jsonl"), 1)
    assert not own_path().exists()


def test_prompts_counted_as_answers_are_refused(tmp_path):
    told = shipped(A_RUN)
    run = A_RUN | {
        "measured": {"tpot_ms_mean": told["tpot_ms_mean"], "output_tok_s": 5 * told["output_tok_s"]}
    }
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(run))
    with pytest.raises(InvalidInput) as refused:
        app.calibrate([path])
    assert refused.value.problems[0].code == "CB-V012"


def test_nothing_to_learn_from_is_said(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(A_RUN | {"measured": {"peak_gib_per_gpu": 70.0}}))
    with pytest.raises(InvalidInput) as told:
        app.calibrate([path])
    assert told.value.problems[0].code == "CB-V014"


def test_a_broken_file_is_told_not_raised(tmp_path):
    file = runs(tmp_path, 1.2)
    own_path().parent.mkdir()
    own_path().write_text("{")
    for ask in (app.calibration, lambda: app.calibrate([file])):
        with pytest.raises(InvalidInput) as told:
            ask()
        assert told.value.problems[0].code == "CB-V013"


def test_residuals_of_other_coefficients_are_worked_out_anew(tmp_path, monkeypatch):
    app.calibrate([runs(tmp_path, 1.4)])
    held = json.loads(own_path().read_text())
    held["coefficients"] = "of another release"
    own_path().write_text(json.dumps(held))
    assert calibration_digest() == ""
    assert not app.calibration()["current"]
    more = A_RUN | {"id": "mine-32", "load": A_RUN["load"] | {"concurrency": 32}}
    more["measured"] = {"tpot_ms_mean": 1.4 * shipped(more)["tpot_ms_mean"]}
    (tmp_path / "more.jsonl").write_text(json.dumps(more))
    app.calibrate([tmp_path / "more.jsonl"])
    left = app.calibration()
    assert left["current"]
    assert [len(one["observations"]) for one in left["runs"]] == [4, 1]
    assert learning.read_runs()["runs"][0]["observations"][0]["residuals"]["step"] == pytest.approx(
        0.336, abs=0.01
    )


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"engine": "banana"}, "engine = 'banana'"),
        ({"gpus": 0}, "gpus = 0"),
        ({"tp": 3, "gpus": 3}, "tp = 3, 32 heads"),
        ({"mode": "banana"}, "mode = 'banana'"),
        ({"spec_decode": 7}, "spec_decode = 7"),
        ({"date": "yesterday"}, "date = 'yesterday'"),
        ({"date": "2126-01-01"}, "date = '2126-01-01'"),
        ({"measured": {"tpot_ms_mean": 9.0, "ttft_ms_mean": 0}}, "measured.ttft_ms_mean = 0"),
        ({"measured": {"tpot_ms_mean": 9.0, "ttft_ms_mean": -1.5}}, "measured.ttft_ms_mean = -1.5"),
        ({"measured": {"tpot_ms_mean": 9.0, "req_s": True}}, "measured.req_s = True"),
        ({"measured": {"tpot_ms_mean": 9.0, "ttft_ms_mean": None}}, "measured.ttft_ms_mean = null"),
    ],
)
def test_values_that_cannot_be_meant_are_refused_by_line(tmp_path, said, told):
    path = tmp_path / "odd.jsonl"
    path.write_text("\n" + json.dumps(A_RUN | {"measured": {"tpot_ms_mean": 9.0}} | said) + "\n")
    with pytest.raises(InvalidInput) as refused:
        app.calibrate([path])
    (one,) = refused.value.problems
    assert (one.code, one.file, one.line) == ("CB-V005", str(path), 2)
    assert told in one.what
    assert not own_path().exists()


def test_nothing_is_learned_quicker_than_the_weights_are_read(tmp_path):
    run = A_RUN | {"gpu": "l40s", "load": A_RUN["load"] | {"concurrency": 1}}
    path = tmp_path / "quick.jsonl"
    for measured in ({"tpot_ms_mean": 2.0}, {"output_tok_s": 400.0}):  # 14 GB at 864 GB/s are 16 ms
        path.write_text(json.dumps(run | {"measured": measured}))
        with pytest.raises(InvalidInput) as refused:
            app.calibrate([path])
        assert [(one.code, one.line) for one in refused.value.problems] == [("CB-V017", 1)]
    drafted = {"spec_decode": "eagle3", "measured": {"tpot_ms_mean": 10.0, "accept_len": 3.0}}
    path.write_text(json.dumps(run | drafted))
    assert app.calibrate([path], keep=False)["added"] == 1


def test_what_is_far_off_is_learned_with_a_warning(tmp_path):
    near, far = (app.calibrate([runs(tmp_path, slower)], keep=False)["warnings"] for slower in (1.5, 6.0))
    assert near == []
    assert len(far) == 4
    assert "runs.jsonl:1: tpot_ms_mean" in far[0]


@pytest.mark.parametrize("ask", [app.calibrate, app.validate])
def test_a_file_without_a_case_is_refused(tmp_path, ask):
    path = tmp_path / "empty.jsonl"
    path.write_text("\n \n")
    with pytest.raises(InvalidInput) as refused:
        ask([path])
    assert [(one.code, one.file) for one in refused.value.problems] == [("CB-V016", str(path))]


def test_a_run_whose_weights_do_not_fit_is_neither_predicted_nor_learned_from(tmp_path):
    big = {"model": "meta-llama/Llama-3.3-70B-Instruct", "gpu": "l40s", "measured": {"tpot_ms_mean": 300.0}}
    path = tmp_path / "big.jsonl"
    path.write_text(json.dumps(A_RUN | big))
    found = validate([path])
    assert found["answered"] == 0
    assert "doesn't fit" in found["skipped"][0]["why"]
    with pytest.raises(InvalidInput, match="CB-V014"):
        app.calibrate([path])
    path.write_text(json.dumps(A_RUN | big | {"args": {"cpu_offload_gb": 100}}))
    assert validate([path])["answered"] + len(validate([path])["skipped"]) == 1
    assert "doesn't fit" not in str(validate([path])["skipped"])
