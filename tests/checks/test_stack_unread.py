"""What nobody understood of a stack is told, and no silence about it is an all-clear."""

from pathlib import Path

import pytest
import yaml

from cabida.checks import check_pc, check_software
from cabida.checks.stack_unread import unread
from cabida.errors import InvalidInput

QUESTIONS = yaml.safe_load((Path(__file__).parent / "questions.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("vllm banana", ("banana",)),
        ("vllm -1", ("-1",)),
        ("driver -570, cuda 12.8", ("-570",)),
        ("vllm 0.19, frobnicator 3", ("frobnicator 3",)),
        ("vllm 0.19, torch 2.10, cuda 12.8, driver 570, RTX 5090", ()),
        ("RTX 5080, nvfp4, vLLM 0.24", ()),
    ],
)
def test_what_is_left_is_told(text, left):
    assert unread(text) == left
    told = [one for one in check_software(text) if one.code == "CB-K057"]
    assert bool(told) == bool(left)
    assert all(word in told[0].sentence for word in left)
    if left:
        assert "CB-K061" not in {one.code for one in check_software(text)}


@pytest.mark.parametrize("one", QUESTIONS, ids=lambda one: one["id"])
def test_nothing_of_a_real_question_is_left(one):
    assert unread(one["ask"]) == ()


def test_two_versions_of_one_part_are_refused():
    with pytest.raises(InvalidInput, match=r"CB-K058.*|0\.19, 0\.6"):
        check_software("vllm 0.19, vllm 0.6")
    check_software("torch 2.10 cu128, cuda 12.8, vllm 0.19")


@pytest.mark.parametrize("count", ["-2", "0", "99999999", "100"])
def test_counts_that_no_machine_holds_are_refused(count):
    with pytest.raises(InvalidInput, match="CB-K089"):
        check_pc(f"{count}x RTX 4090, 1600 W")


def test_a_count_of_two_digits_is_read():
    assert any("12x" in one.sentence for one in check_pc("12x RTX 4090, 1600 W"))
