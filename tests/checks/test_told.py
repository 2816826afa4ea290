"""A stack and a PC told in a file or in words, through the functions and the command."""

import json

import pytest
from click.testing import CliRunner

import cabida
from cabida.errors import InvalidInput
from cabida.faces.cli import cli

STACK = """# what we mean to install
engine: "vllm 0.19"
torch: 2.6          # the image's
cuda: '12.4'
driver: 550.54
gpu: RTX 5090
"""
PARTS = """gpu: 2x RTX 4090
supply: 1000 W ATX 3.0
case: 360 mm, 8 slots
cpu: Ryzen 9 7950X 170 W   # idle most of the time
board: PCIe 4
"""


def run(*words):
    return CliRunner().invoke(cli, ["check", *words])


@pytest.fixture
def files(tmp_path):
    (tmp_path / "stack.yaml").write_text(STACK, encoding="utf-8")
    (tmp_path / "parts.yaml").write_text(PARTS, encoding="utf-8")
    return tmp_path


def test_a_file_says_what_its_words_say(files):
    written = cabida.check_software(files / "stack.yaml")
    assert written == cabida.check_software("vllm 0.19, torch 2.6, cuda 12.4, driver 550.54, RTX 5090")
    refused = {one.code for one in written if one.severity == "blocking"}
    assert refused == {
        "CB-K064",
        "CB-K213",
        "CB-K232",
    }  # no code for the chip, driver too old, not vLLM's PyTorch
    assert cabida.check_pc(files / "parts.yaml") == cabida.check_pc(
        "2x RTX 4090, 1000 W ATX 3.0, 360 mm, 8 slots, Ryzen 9 7950X 170 W, PCIe 4"
    )


def test_what_blocks_is_exit_6_and_told_first(files):
    done = run("--software", str(files / "stack.yaml"))
    assert done.exit_code == 6
    assert done.stdout.startswith("does not go: ")
    assert "RTX 5090" in done.stdout
    as_data = run("--pc", str(files / "parts.yaml"), "--json")
    assert as_data.exit_code == 6
    found = json.loads(as_data.stdout)["found"]
    assert {"code", "sentence", "severity", "cure", "where", "accepted"} <= found[0].keys()
    assert "CB-K040" in {one["code"] for one in found if one["severity"] == "blocking"}  # 1000 W


def test_what_goes_together_is_exit_0():
    assert run("--software", "vllm 0.19, torch 2.10, cuda 12.8, driver 570.124.06, H100").exit_code == 0
    fine = run("--pc", "RTX 3090, 1000 W, 400 mm, 4 slots, 3x 8-pin", "--lang", "es")
    assert fine.exit_code == 0
    assert fine.stdout.startswith("nota: ")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ([], 2, "BRIEF"),
        (["b.yaml", "--pc", "RTX 3090"], 2, "CB-U009"),
        (["--software", "my computer"], 3, "CB-K060"),
        (["--software", "none.yaml"], 3, "none.yaml"),
        (["--pc", "1000 W"], 3, "CB-K080"),
    ],
)
def test_what_cannot_be_checked_says_why(words, code, told):
    done = run(*words)
    assert done.exit_code == code
    assert told in done.stderr
    assert done.stdout == ""


def test_a_file_that_is_not_text(tmp_path):
    (tmp_path / "s.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="CB-K082"):
        cabida.check_software(tmp_path / "s.yaml")
