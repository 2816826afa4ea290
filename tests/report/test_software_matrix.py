"""The cards of engines and of parts of a stack: a cell is what the checker says, a release its day and its floors."""

import json

import pytest
from click.testing import CliRunner

from cabida import facts
from cabida.faces.cli import cli
from cabida.report.software_matrix import part_fact, software_matrix


@pytest.fixture(scope="module")
def vllm():
    return software_matrix("vllm")


@pytest.mark.parametrize(
    ("architecture", "weights", "cell"),
    [
        ("Hopper", "fp8", "native"),
        ("Ampere", "fp8", "weight-only"),
        ("Ada", "fp8-block", "steps"),
        ("Volta", "bf16", "no"),
        ("Blackwell", "int8-w8a8", "no"),
        ("Blackwell-RTX", "nvfp4", "steps"),
        ("CDNA3", "fp8", "steps"),
        ("CDNA3", "nvfp4", "no"),
    ],
)
def test_a_cell_is_the_answer_for_that_architecture(vllm, architecture, weights, cell):
    rows = {row["architecture"]: row for row in vllm["matrix"]}
    assert rows[architecture][weights] == cell


def test_releases_are_those_known_on_the_day(vllm):
    assert [row["version"] for row in vllm["releases"]][-1] == "0.33.0"
    assert [row["version"] for row in software_matrix("vllm", "2026-06-01")["releases"]][-1] == "0.20.2"
    assert all(row["known_by"] and row["source"] for row in vllm["releases"])


def test_every_engine_has_a_matrix_with_something_in_it():
    for id in facts.engines():
        rows = software_matrix(id)["matrix"]
        assert rows, id
        assert any(cell in ("native", "weight-only", "steps") for row in rows for cell in row.values()), id


def test_a_part_has_its_rows_and_what_is_neither_has_none():
    places = software_matrix("flash-attention-3")["places"]
    assert places[0]["state"] == "runs"
    assert places[0]["places"] == "hopper"
    assert all(row["source"] for row in places)
    assert part_fact("flash-attention-3")[0]["name"] == "FlashAttention 3"
    assert software_matrix("h100-sxm-80") == {}
    assert part_fact("nothing") is None


def test_the_screen_and_the_data_of_facts_show():
    told = CliRunner().invoke(cli, ["facts", "show", "vllm", "--lang", "es"])
    assert told.exit_code == 0
    assert "solo pesos" in " ".join(told.stdout.split())
    data = json.loads(CliRunner().invoke(cli, ["facts", "show", "vllm", "--json"]).stdout)
    assert {"matrix", "releases", "sources", "formats"} <= data.keys()
    part = json.loads(CliRunner().invoke(cli, ["facts", "show", "aiter", "--json"]).stdout)
    assert part["places"][0]["told"]
