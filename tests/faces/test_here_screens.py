"""The screen of ``here`` over machines of every kind, in both languages; what software does not go together."""

import json

import pytest
from click.testing import CliRunner

from cabida import text
from cabida.evidence.machine import Card, Machine, Slice, Trouble, User
from cabida.faces.cli import cli
from cabida.report import here as room
from cabida.report.here_hints import hints
from cabida.report.here_pools import pools, split_of

GIB = 2**30


def card(index=0, name="NVIDIA GeForce RTX 4090", gib=23.99, used=0.0, capability="8.9", **more):
    total = gib * GIB
    return Card(
        index, "NVIDIA", name, "nvml", total_bytes=total, used_bytes=used * GIB, free_bytes=total - used * GIB,
        capability=capability, pcie_gen=4, pcie_gen_max=4, pcie_lanes=16, pcie_lanes_max=16,
        **{"users": (), **more},
    )  # fmt: skip


def machine(*cards, frameworks=None, troubles=(), **more):
    given = {"driver": "580.65.06", "cuda": "13.0", **more}
    return Machine(
        "Linux", "Test OS 1", "Test CPU", 16, 128 * GIB, 100 * GIB, False,
        frameworks=frameworks or {}, cards=cards, troubles=troubles, **given,
    )  # fmt: skip


H100 = [
    card(at, "NVIDIA H100 80GB HBM3", 79.65, capability="9.0", link_kind="nvlink", links_count=18,
         peers=tuple(one for one in range(8) if one != at))
    for at in range(8)
]  # fmt: skip
KINDS = {
    "desktop": machine(card(used=1.2, display=True, users=(User(1, "Xorg", GIB, True), User(2, "game", None)))),
    "eight": machine(*H100, frameworks={"vllm": "0.11.2", "torch": "2.8.0+cu128"}),
    "unequal": machine(card(0), card(1, "NVIDIA GeForce RTX 3060", 12.0, capability="8.6")),
    "cut": machine(card(0, "NVIDIA A100-SXM4-80GB", 80.0, capability="8.0", mig=True,
                        slices=(Slice("1g.10gb", "MIG-1", 9.5 * GIB, 0.0, 9.5 * GIB),))),
    "uncut": machine(card(0, "NVIDIA A100-SXM4-80GB", 80.0, capability="8.0", mig=True)),
    "lost": machine(card(0), Card(1, "NVIDIA", "NVIDIA GPU", "nvml", troubles=(Trouble("nvml", "lost", "gone"),))),
    "unknown": machine(card(0, "NVIDIA GeForce RTX 9090", 64.0, capability="14.0")),
    "unread": machine(card(0, used=3.0, users=None, troubles=(Trouble("nvml: processes", "no_permission"),))),
    "refused": machine(troubles=(Trouble("nvidia-smi", "failed", "NVML: Driver/library version mismatch"),)),
    "none": machine(troubles=(Trouble("nvidia", "no_driver", "10de:2684"),), driver="", cuda=""),
    "hidden": machine(card(0), hides={"CUDA_VISIBLE_DEVICES": ""}),
    "bare": Machine("", "", "", None, 8 * GIB, None, False),
    "rude": machine(card(0, "\x1b[31mevil\x07 name" + "x" * 400, 24.0)),
}  # fmt: skip


@pytest.fixture
def on(monkeypatch):
    """Runs ``cabida here`` on a machine."""

    def run(which, *words):
        monkeypatch.setattr(room, "look", lambda roots: KINDS[which])
        done = CliRunner().invoke(cli, ["here", *words], env={"COLUMNS": "140", "LANG": "C"})
        text.use_language("en")
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done

    return run


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("which", KINDS)
def test_every_machine_has_a_screen_in_both_languages(on, which, language):
    for words in ((), ("Qwen/Qwen3-8B", "--max-model-len", "4096")):
        done = on(which, *words, "--lang", language)
        assert done.exit_code == 0, done.output
        assert "\x1b" not in done.output
        assert "\x07" not in done.output
        assert "None" not in done.output.replace("None fits", "")


@pytest.mark.parametrize("which", KINDS)
def test_every_machine_has_an_answer_in_json(on, which):
    found = json.loads(on(which, "Qwen/Qwen3-8B", "--json").output)
    parts = {"machine", "frameworks", "cards", "pools", "rows", "fit", "split", "hints", "notes", "counted"}
    assert parts <= found.keys()
    assert found["fit"]["verdict"] in ("fits", "tight", "no")


def test_the_engine_that_is_installed_answers_at_its_version(on):
    found = json.loads(on("eight", "Qwen/Qwen3-32B", "--json").output)["fit"]
    assert (found["engine"], found["engine_version"], found["installed"]) == ("vllm", "0.11.2", True)
    plain = json.loads(on("desktop", "Qwen/Qwen3-4B", "--json").output)["fit"]
    assert plain["installed"] is False


def test_runs_of_cards_are_told_short(on):
    assert "nvlink → 1-7" in on("eight").output
    assert "nvlink → 0-1, 3-7" not in on("eight").output  # two in a row stay two
    assert "nvlink → 0, 1, 3-7" in on("eight").output


def test_the_largest_models_fit_with_a_usual_context(on):
    rows = json.loads(on("eight", "--json").output)["rows"]
    assert {row["gpus"] for row in rows} == {1, 8}
    for row in rows:
        assert row["verdict"] == "fits"
        assert row["largest_context_tokens"] >= min(8192, row["model_context_tokens"] or 8192)
    sizes = [row["params"] for row in rows if row["gpus"] == 8]
    assert sizes == sorted(sizes, reverse=True)
    assert max(row["params"] for row in rows if row["gpus"] == 1) < sizes[0]


@pytest.mark.parametrize(
    ("frameworks", "gpu", "capability", "driver", "code"),
    [
        (
            {"torch": "2.6.0+cu124"},
            "NVIDIA GeForce RTX 5090",
            "12.0",
            "580.65.06",
            "CB-K064",
        ),  # no code for the chip
        (
            {"torch": "2.9.0+cu130"},
            "NVIDIA GeForce RTX 4090",
            "8.9",
            "550.54.14",
            "CB-K062",
        ),  # the driver is older
        ({"vllm": "0.8.5"}, "NVIDIA GeForce RTX 5090", "12.0", "580.65.06", "CB-K073"),  # older than the card
    ],
)
def test_software_that_does_not_go_together_is_told(frameworks, gpu, capability, driver, code):
    size = 31.84 if "5090" in gpu else 23.99
    here = machine(card(0, gpu, size, capability=capability), frameworks=frameworks, driver=driver)
    found = hints(here, pools(here), [])
    assert code in [one["code"] for one in found]
    assert found[0]["severity"] == "blocking"


def test_software_that_goes_together_needs_no_words():
    here = machine(card(0), frameworks={"torch": "2.8.0+cu128", "vllm": "0.11.0"})
    assert hints(here, pools(here), []) == []


def test_two_of_four_bridged_cards_are_a_bridged_pair_and_the_emptier_one():
    """0-3 and 1-2 are bridged; card 1 is full, so 0 and 3 are taken although 2 is emptier than 3."""
    used = {0: 0.0, 1: 9.0, 2: 0.1, 3: 0.5}
    bridged = {0: (3,), 3: (0,), 1: (2,), 2: (1,)}
    here = machine(
        *(
            card(at, "NVIDIA RTX A6000", 47.99, used[at], "8.6", peers=bridged[at], link_kind="nvlink")
            for at in range(4)
        )
    )
    [pool] = pools(here)
    assert sorted(pool.cards[at] for at in pool.chosen(2)) == [0, 3]
    assert pool.used(2) == 0.5 * GIB
    assert pool.used(1) == 0.0
    assert pool.used(4) == 9.0 * GIB
    assert pool.linked is False


OPEN = (None, None)


@pytest.mark.parametrize(
    ("count", "split"), [(1, OPEN), (2, OPEN), (3, (1, 3)), (6, (2, 3)), (8, OPEN), (12, (4, 3))]
)
def test_cards_are_split_by_tensor_as_far_as_two_divides_them(count, split):
    assert split_of(count) == split
