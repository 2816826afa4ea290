"""A release newer than any known is taken as the latest that is, said, and doubted more."""

import pytest

from cabida import app, facts
from cabida.plan import Setup
from cabida.report.fits import fits

LATEST = facts.engine("vllm").versions[-1]


def asked(engine, version):
    setup = Setup(model="Qwen/Qwen3-8B", engine=engine, engine_version=version)
    return fits(setup, ["h100-sxm-80"])


def codes(answer):
    return [one["code"] for one in answer["warnings"]]


@pytest.mark.parametrize(
    ("engine", "version"), [("vllm", "9.9"), ("vllm", " v1.0rc1\n"), ("sglang", "0.6.0")]
)
def test_a_newer_release_behaves_as_the_latest_with_a_wider_interval_and_says_so(engine, version):
    newer, known = asked(engine, version), asked(engine, facts.engine(engine).versions[-1])
    assert codes(newer) == ["CB-K102"]
    assert newer["headroom_gib"] == known["headroom_gib"]
    assert newer["margin_gib"].low < known["margin_gib"].low
    assert newer["margin_gib"].high > known["margin_gib"].high


@pytest.mark.parametrize("version", ["", "0.9.1", LATEST, "2026-12", "V1, 2026-12"])
def test_a_release_that_is_known_or_a_date_is_taken_without_a_word(version):
    assert codes(asked("vllm", version)) == []


def test_builds_by_number_are_no_releases():
    assert codes(asked("llama.cpp", "b99999")) == []


@pytest.mark.parametrize(("version", "told"), [("9.9", ["CB-K102"]), (LATEST, [])])
def test_speed_and_cost_say_so_too(version, told):
    for answer in (app.speed, app.cost):
        made = answer("Qwen/Qwen3-8B", gpu="h100-sxm-80", engine="vllm", engine_version=version)
        assert [one["code"] for one in made["warnings"]] == told
