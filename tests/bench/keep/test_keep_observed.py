"""A run that was measured becomes evidence: stored, scored, and learned from, unless it had better not be."""

import json
from dataclasses import replace

import pytest
from kept_trials import SETUP, failed, outcome, plan, poisson, written

from cabida.bench.keep import Journal, observation, read_file_of, read_journal, summary
from cabida.bench.keep.figures import summaries
from cabida.bench.keep.observed import observations, offered
from cabida.evidence import add, stored
from cabida.plan.bench import Contender, Load, Run, Target
from cabida.timing.own import without_own

CONTENDER = Contender("here", Target("http://127.0.0.1:8000/v1"), setup={**SETUP, "gpu": "h100-sxm-80"})
CLIENTS = (2, 4, 8, 16)
TTFT_S, TOKENS, INPUT = 0.05, 200, 1024


@pytest.fixture(autouse=True)
def apart(tmp_path, monkeypatch):
    monkeypatch.setenv("CABIDA_CALIBRATION", str(tmp_path / "data" / "calibration.json"))


def shipped_tpot_ms(clients: int) -> float:
    from cabida.truth.case import case_of
    from cabida.truth.predict import answer

    load = {"input_tokens": INPUT, "output_tokens": TOKENS, "concurrency": clients, "prompts": 60}
    row = {"id": "x", "kind": "serving", "mode": "serve", "source": "s", **CONTENDER.setup, "load": load}
    with without_own():
        found = answer(case_of(row | {"measured": {"tpot_ms_mean": 10.0}}), 1e9).predictions
    return found[0].predicted


def measured(folder, slower: float):
    """A journal of four closed runs on a server ``slower`` times slower than predicted; they take turns."""
    runs = tuple(Run(f"at-{n}", "load", "here", load=Load("closed", concurrency=n)) for n in CLIENTS)
    of = replace(plan(*runs), contenders=(CONTENDER,))
    with Journal(folder, of) as journal:
        start = -journal.at(0.0)
        for turn, clients in enumerate(CLIENTS):
            tpot_s = slower * shipped_tpot_ms(clients) / 1e3
            takes_s = TTFT_S + tpot_s * (TOKENS - 1) + 0.002
            begin = 1000.0 * turn
            journal.event("run", run=f"at-{clients}", candidate="here", at_s=begin)
            rounds = max(60 // clients, round(12 / takes_s))
            for at in range(rounds * clients):
                due = start + begin + (at // clients) * takes_s
                journal.request(
                    outcome(at, due, ttft_s=TTFT_S, tpot_s=tpot_s, tokens=TOKENS, input_tokens=INPUT,
                            run=f"at-{clients}")
                )  # fmt: skip
            until = begin + rounds * takes_s
            journal.event(
                "run-end", run=f"at-{clients}", at_s=until, steady_from_s=begin, steady_until_s=until,
                client_bound=False,
            )  # fmt: skip
        journal.event("end")
    return read_journal(folder)


def test_what_was_measured_is_stored_scored_and_learned_from(tmp_path):
    from click.testing import CliRunner

    from cabida.faces.cli import cli
    from cabida.truth.observed import beside, validate_stored

    kept = measured(tmp_path / "out", 1.4)
    found = observations(kept, summaries(kept), [CONTENDER])
    assert [one.refused for one in found] == [""] * 4
    first = found[0].observation
    assert first.load == {"concurrency": 2, "input_tokens": INPUT, "output_tokens": TOKENS} | {
        "prompts": first.load["prompts"]
    }
    assert first.measured["ttft_ms_mean"] == pytest.approx(1e3 * TTFT_S, rel=1e-3)
    assert beside(first).figures["tpot_ms_mean"]["error_ratio"] == pytest.approx(0.4, abs=0.05)
    store = tmp_path / "evidence.db"
    file = read_file_of(kept, found)
    assert len(add(file, store)) == 4
    assert add(file, store) == []
    assert validate_stored(store)["metrics"]["tpot_ms_mean"]["n"] == 4
    done = CliRunner().invoke(cli, ["calibrate", "--store", str(store), "--json"])
    assert done.exit_code == 0, done.output
    learned = json.loads(done.output)
    assert learned["added"] == 4
    assert learned["before"]["step"] > 0.3
    assert learned["after"]["step"] < 0.5 * learned["before"]["step"]
    assert validate_stored(store, calibrated=True)["metrics"]["tpot_ms_mean"]["median_error_ratio"] < 0.15


def of_run(tmp_path, outcomes, *, run=None, **ended):
    given = run or Run("steady", "load", "here", load=Load("poisson", requests_per_s=20.0))
    written(tmp_path, outcomes, of=replace(plan(given), contenders=(CONTENDER,)), **ended)
    return summary(read_journal(tmp_path), "steady")


def stream(seconds=40.0, per_s=20.0, **more):
    return [outcome(at, due, **more) for at, due in enumerate(poisson(seconds, per_s))]


def test_runs_that_would_teach_nonsense_are_refused(tmp_path):
    jammed, free = [], 0.0
    for at, due in enumerate(poisson(60, 30)):
        free = max(free, due) + 0.05
        jammed.append(outcome(at, due, ttft_s=free - due, tpot_s=0.001, tokens=2))
    ill = stream() + [failed(90_000 + at, at * 0.1) for at in range(300)]
    said = {
        "client_bound": of_run(tmp_path / "a", stream(), client_bound=True),
        "saturated": of_run(tmp_path / "b", jammed, window=(0.0, 60.0)),
        "short": of_run(tmp_path / "c", stream(1.0)),
        "failing": of_run(tmp_path / "d", ill),
    }
    for why, one in said.items():
        assert offered(one, CONTENDER).refused == why
    good = of_run(tmp_path / "e", stream(), client_bound=False)
    assert offered(good, CONTENDER).refused == ""
    nameless = replace(CONTENDER, setup={"gpu": "h100-sxm-80"})
    assert offered(good, nameless).refused == "no_model"
    kept = read_journal(tmp_path / "e")
    file = read_file_of(kept, [offered(one, CONTENDER) for one in said.values()] + [offered(good, CONTENDER)])
    assert len(file.observations) == 1
    add(file, tmp_path / "evidence.db")
    assert stored(tmp_path / "evidence.db")[0].observation.load["requests_per_s"] == pytest.approx(
        20.0, rel=0.1
    )


def test_what_several_replicas_do_together_is_no_figure_of_one(tmp_path):
    measured(tmp_path / "j", 1.0)
    kept = read_journal(tmp_path / "j")
    one = summary(kept, "at-2")
    assert offered(one, CONTENDER).observation is not None
    found = offered(one, replace(CONTENDER, replicas_count=2))
    assert (found.observation, found.refused) == (None, "replicas")


def test_where_the_client_was_slow_no_latency_is_told(tmp_path):
    one = observation(of_run(tmp_path, stream(), client_bound=True), CONTENDER)
    assert not any("_ms_" in name for name in one.measured)


@pytest.mark.parametrize(
    ("phase", "figures"),
    [
        ("memory", {"kv_cache_tokens": 120_000.0, "peak_gib_per_gpu": 70.5}),
        ("training", {"tokens_s_per_gpu": 9100.0}),
    ],
)
def test_memory_and_training_are_kinds_of_their_own(tmp_path, phase, figures):
    one = of_run(tmp_path, [], run=Run("steady", phase, "here"), measured=figures)
    found = offered(one, CONTENDER)
    assert found.observation.kind == phase
    assert found.observation.measured == figures
    assert found.refused == ""


def test_the_same_figures_under_two_folders_are_one_observation(tmp_path):
    ids = set()
    for name in ("one", "two"):
        folder = tmp_path / name
        one = of_run(folder, stream(), window=(0.0, 40.0), client_bound=False)
        made = observation(one, CONTENDER, source=name)
        ids.add(json.dumps({k: round(v, 3) for k, v in made.measured.items()}))
    assert len(ids) == 1
