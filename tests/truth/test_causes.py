"""Where errors beyond an aim come from, and every line of the accuracy page."""

import importlib.util
import math
import sys
from pathlib import Path

import pytest

from cabida.truth.causes import Residual, accelerators_word, causes, concurrency_word

ROOT = Path(__file__).parents[2]


def rows(count, error, **known):
    return [Residual(error, known.get("source", "s"), tuple(known.items())) for _ in range(count)]


def test_the_group_that_carries_the_excess_is_named_with_what_is_left_without_it():
    wrong = rows(10, math.log(2), card="bad", engine="x")
    right = rows(60, math.log(1.05), card="good", engine="x") + rows(
        30, math.log(1.05), card="good", engine="y"
    )
    [found] = causes(wrong + right, 0.28)
    assert (found.way, found.group, found.rows) == ("card", "bad", 10)
    assert found.rows_ratio == pytest.approx(0.1)
    assert found.excess_ratio == found.beyond_ratio == pytest.approx(1.0)
    assert found.bias_ratio == pytest.approx(2.0)
    assert found.median_without == found.p90_without == pytest.approx(0.05)
    assert found.is_one_sided


def test_errors_that_go_both_ways_have_no_side():
    wrong = rows(5, math.log(2), card="bad") + rows(5, -math.log(2), card="bad")
    [found] = causes(wrong + rows(90, 0.01, card="good"), 0.28)
    assert found.one_side_ratio == pytest.approx(0.5)
    assert not found.is_one_sided


def test_a_second_name_for_the_same_rows_is_not_a_second_cause():
    wrong = rows(10, math.log(2), card="bad", model="m")
    found = causes(wrong + rows(90, 0.01, card="good", model="n"), 0.28)
    assert len(found) == 1


def test_within_the_aim_nothing_is_to_blame_and_few_rows_are_no_group():
    assert causes(rows(50, 0.1, card="a"), 0.28) == []
    assert causes(rows(3, 1.0, card="bad") + rows(60, 0.01, card="good"), 0.28) == []


@pytest.mark.parametrize(
    ("clients", "word"),
    [(1, "up to 4"), (32, "5 to 32"), (4096, "over 1,024"), ("offline", "offline"), (None, "not stated")],
)
def test_clients_are_put_into_words(clients, word):
    assert concurrency_word(clients) == word


@pytest.mark.parametrize(
    ("count", "word"), [(1, "1"), (8, "2 to 8"), (16, "9 to 64"), (512, "over 64"), (None, "not stated")]
)
def test_accelerators_are_put_into_words(count, word):
    assert accelerators_word(count) == word


@pytest.fixture(scope="module")
def aims():
    spec = importlib.util.spec_from_file_location("accuracy_lines", ROOT / "calibration/accuracy_lines.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["accuracy_lines"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_a_line_is_met_by_both_its_figures(aims):
    good = aims.Line("what", "held", (0.1, 0.3), 5, 1, (0.08, 0.29))
    assert good.met
    assert not aims.Line("what", "held", (0.1, 0.3), 5, 1, (0.08, 0.31)).met
    assert not aims.Line("what", "held", (0.1, 0.3), 5, 1, (0.11, 0.29)).met
    assert aims.missed([good]) == []
    assert "met" in aims.shown(good)


def test_every_aim_stands_on_the_page_beside_todays_figure():
    page = (ROOT / "docs/accuracy.md").read_text(encoding="utf-8")
    part = page.partition("## What we aim at")[2].partition("## What is missed")[0]
    lines = [line.split(" | ") for line in part.splitlines() if line.startswith("| ")][2:]
    for what in (
        "weights per GPU, 16-bit", "weights per GPU, quantised", "KV bytes per token", "KV tokens and GiB at start-up",
        "peak memory, llama.cpp", "peak memory, fine-tuning", "verdicts: false fits", "verdicts: false refusals",
        "verdicts: undecided", "TPOT and throughput, version known", "TPOT and throughput, otherwise",
        "TTFT, up to 256 clients", "percentiles of a request trace", "training tokens/s", "MLPerf minutes",
        "image and video seconds", "90 % intervals", "width of the interval, `tpot_ms`",
        "width of the interval, `ttft_ms`",
    ):  # fmt: skip
        of = [line for line in lines if line[0].removeprefix("| ").startswith(what)]
        assert of, what
        assert all(line[6] in ("met", "missed") for line in of), of
    for line in lines:
        if line[6] == "missed" and "%" in line[5] and " / " in line[5]:
            name = line[0].removeprefix("| ")
            assert f"### {name} ({line[3]})" in page, name
