"""A serving option's bill over a million tokens read, written and of both, beside what an accepted answer costs."""

import io

import pytest
from rich.console import Console

from cabida import app
from cabida.faces import cost_screens

AS_OF = "2026-11-30"


def answer(**asked):
    return app.cost(
        "meta-llama/Llama-3.1-8B", gpu="h100-sxm-80", as_of=AS_OF, capacity=("on-demand",), **asked
    )


def test_the_bill_over_tokens_read_written_and_of_both():
    found = answer(input_tokens=1500, output_tokens=300)
    for row in found["rows"]:
        each = row["metrics"]["accepted_answer_money"]
        for name, tokens in (("input", 1500), ("output", 300), ("total", 1800)):
            figure = row["metrics"][f"{name}_mtok_money"]
            assert figure.value == pytest.approx(each.value * 1e6 / tokens)
            assert figure.low <= figure.value <= figure.high


def test_the_screen_says_the_three_and_that_they_are_no_sum():
    console = Console(width=300, record=True, file=io.StringIO())
    console.print(cost_screens.screen(answer()))
    shown = console.export_text()
    line = next(line for line in shown.splitlines() if "per million input tokens" in line)
    assert "per million output tokens" in line
    assert "they do not add up" in line
