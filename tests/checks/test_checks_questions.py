"""Stacks as people type them, written with their sources by someone who had not read the checkers."""

from pathlib import Path

import pytest
import yaml

from cabida.checks.stack import check_stack, state_of
from cabida.text import use_language

QUESTIONS = yaml.safe_load((Path(__file__).parent / "questions.yaml").read_text("utf-8"))
DISPUTED = {  # the two sources read for one chip and format say different things
    "mi300x-sglang-fp8": "SGLang's table says it runs; the chip's FP8 is FNUZ, which is something to know (as of vLLM)",
}


def asked(question):
    reason = DISPUTED.get(question["id"])
    marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
    return pytest.param(question, id=question["id"], marks=marks)


@pytest.mark.parametrize("question", [asked(one) for one in QUESTIONS])
def test_a_stack_is_judged_as_its_source_says(question):
    found = check_stack(question["ask"])
    told = " ".join(f"{one.sentence} {one.source}" for one in found).lower()
    assert state_of(found) == question["expect"], told
    assert [word for word in question["mention"] if word.lower() not in told] == []


def test_there_are_enough_of_them_and_each_has_a_source():
    assert len(QUESTIONS) >= 60
    assert all(one["source"] and one["seen"] and one["mention"] for one in QUESTIONS)
    assert {one["expect"] for one in QUESTIONS} == {"runs", "steps", "no"}


@pytest.mark.parametrize("question", [pytest.param(one, id=one["id"]) for one in QUESTIONS])
def test_the_verdict_is_the_same_in_spanish(question):
    english = check_stack(question["ask"])
    use_language("es")
    try:
        spanish = check_stack(question["ask"])
    finally:
        use_language("en")
    assert [one.code for one in spanish] == [one.code for one in english]
    assert [one.severity for one in spanish] == [one.severity for one in english]
    assert all(one.sentence != other.sentence for one, other in zip(spanish, english, strict=True))
