"""``cabida mix``: its screen in both languages, its JSON, its exit codes."""

import json

import pytest
from click.testing import CliRunner
from test_mixing import AS_OF, BRIEF

import cabida
from cabida.faces.cli import cli

NARROW = {
    "capacity": "[on-demand, reserved]",
    "data": "any",
    "cards": "l40s",
    "profile": "office-hours Europe/Madrid",
}


@pytest.fixture
def brief(tmp_path):
    def made(**said):
        path = tmp_path / "brief.yaml"
        path.write_text(BRIEF.format(**(NARROW | said)), encoding="utf-8")
        return path

    return made


def run(*words):
    return CliRunner().invoke(cli, ["mix", *map(str, words), "--assume", "--as-of", AS_OF])


def test_json_is_what_the_function_returns_and_the_screen_tells_it(brief):
    path = brief()
    done = run(path, "--json", "--scenarios", "3", "--seed", "4")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.output)
    same = cabida.mix(path, scenarios=3, seed=4, assume=True, as_of=AS_OF)
    assert json.loads(json.dumps(same)) == answer
    assert answer["mix"]["draws"]["count"] == 3
    shown = run(path, "--lang", "es")
    assert shown.exit_code == 0
    assert "Una mezcla de" in shown.output
    assert "equipos y pasarelas" in shown.output
    assert "Traceback" not in shown.output


def test_a_type_without_an_option_is_named_with_those_there_are(brief):
    done = run(brief(), "--types", "l40s,b200-sxm-180")
    assert done.exit_code == 3
    assert "b200-sxm-180" in done.output
    assert "CB-X074" in done.output
    assert run(brief(), "--types", "no-such-card").exit_code == 3


def test_nothing_within_the_budget_is_exit_4_with_the_nearest(brief):
    path = brief()
    path.write_text(path.read_text(encoding="utf-8") + "budget: {monthly: 5 USD}\n", encoding="utf-8")
    done = run(path)
    assert done.exit_code == 4
    assert "CB-X070" in done.output
    assert "L40S" in done.output


def test_work_that_is_not_requests_is_refused(tmp_path):
    path = tmp_path / "tune.yaml"
    path.write_text((cabida.init("adapter-finetune")), encoding="utf-8")
    done = run(path)
    assert done.exit_code == 3
    assert "CB-X073" in done.output


def test_a_decision_may_carry_the_full_mix(brief):
    decision = cabida.recommend(brief(), assume=True, as_of=AS_OF, scenarios=2)
    assert decision.mix.draws.count == 2
    assert len(decision.mix.scenarios) == 9
