"""``cabida here`` against an NVML that tells stories: a library built from C, the command in a process of its own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """(folder with the library, folder with that of an old driver)."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "a C compiler is needed: make dev installs one"
    folders = []
    for name, more in (("new", ()), ("old", ("-DOLD",))):
        folder = tmp_path_factory.mktemp(name)
        made = folder / "libnvidia-ml.so.1"
        words = [
            compiler,
            "-shared",
            "-fPIC",
            "-O1",
            "-Wall",
            "-Werror",
            *more,
            "-o",
            made,
            HERE / "fake_nvml.c",
        ]
        subprocess.run(words, check=True)
        folders.append(folder)
    return tuple(folders)


def run(folder, story, *words, **env):
    told = {
        "PATH": os.defpath,
        "LD_LIBRARY_PATH": str(folder),
        "FAKE_NVML": story,
        "PYTHONPATH": os.pathsep.join(one for one in sys.path if one),
        "LANG": "C.UTF-8",
        **env,
    }
    command = [sys.executable, "-m", "cabida", "here", *words]
    done = subprocess.run(command, capture_output=True, text=True, env=told, timeout=60)
    assert "Traceback" not in done.stderr
    return done


def answer(folder, story, *words, **env):
    done = run(folder, story, *words, "--json", **env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_desktop_card_is_known_with_who_holds_it_and_only_its_free_memory_counts(library):
    found = answer(library[0], "desktop", "Qwen/Qwen3-8B")
    [card] = found["cards"]
    assert (card["gpu"], card["display"], card["capability"]) == ("rtx4090", True, "8.9")
    assert [one["name"] for one in card["users"]] == ["Xorg", "python3"]
    assert sum(one["used_gib"] for one in card["users"]) == pytest.approx(1180 / 1024)
    assert card["pcie"] == {"generation": 4, "lanes": 8, "generation_most": 4, "lanes_most": 16}
    assert found["machine"]["driver"] == "580.65.06"
    assert found["machine"]["cuda"] == "13.0"
    fit = found["fit"]
    assert fit["usable_gib"] == pytest.approx(24564 / 1024)
    assert fit["used_gib"] == pytest.approx(1180 / 1024)
    assert fit["verdict"] == "fits"
    assert all(change["gpus"] == 1 for change in fit["changes"])  # there is no second card to offer


def test_eight_linked_cards_are_one_pool_that_a_model_may_span(library):
    found = answer(library[0], "hgx", "meta-llama/Llama-3.3-70B-Instruct")
    assert [card["gpu"] for card in found["cards"]] == ["h100-sxm-80"] * 8
    assert found["cards"][3]["peers"] == [0, 1, 2, 4, 5, 6, 7]
    [pool] = found["pools"]
    assert (pool["cards"], pool["linked"], pool["together"]) == ([*range(8)], True, 8)
    assert [row["gpus"] for row in found["rows"]] == [1, 2, 4, 8]
    assert found["rows"][0]["verdict"] == "no"  # 131 GiB of weights on one card of 80
    assert found["fit"]["verdict"] == "fits"
    assert found["fit"]["gpus"] in (2, 4)
    assert found["split"] is None


def test_where_nothing_fits_the_nearest_is_shown_and_only_what_is_here_is_offered(library):
    found = answer(library[0], "hgx", "deepseek-ai/DeepSeek-R1")
    assert {row["verdict"] for row in found["rows"]} == {"no"}
    assert found["fit"]["gpus"] == 8
    assert all(change["gpus"] <= 8 for change in found["fit"]["changes"])


def test_unequal_cards_are_never_one_pool(library):
    found = answer(library[0], "unequal", "Qwen/Qwen3-32B", "--engine", "llama.cpp")
    assert [(pool["gpu"], pool["together"]) for pool in found["pools"]] == [("rtx4090", 1), ("rtx3060-12", 1)]
    assert {row["gpus"] for row in found["rows"]} == {1}
    split = found["split"]
    assert split["verdict"] == "fits"
    assert sum(one["layers"] for one in split["cards"]) == 64
    assert [one["output"] for one in split["cards"]] == [False, True]
    for one in split["cards"]:
        assert one["needed_gib"] < one["free_gib"]


def test_tensor_parallel_over_unequal_cards_is_not_offered(library):
    found = answer(library[0], "unequal", "Qwen/Qwen3-14B", "--engine", "vllm")
    assert found["split"] is None
    assert all(row["gpus"] == 1 for row in found["rows"])


def test_an_engine_that_takes_a_share_is_told_the_share_that_is_free(library):
    """8000 of the 24093 MiB a process sees are taken: vLLM would not start with its 0.92, nor with more than 0.66."""
    fit = answer(library[0], "busy", "Qwen/Qwen3-4B", "--max-model-len", "8192")["fit"]
    assert fit["engine"] == "vllm"
    flag, share = fit["start_with"].split()
    assert flag == "--gpu-memory-utilization"
    assert 0.58 < float(share) <= 0.66
    assert fit["budget_gib"] <= (24564 - 8000) / 1024
    assert fit["verdict"] == "fits"
    low = answer(
        library[0], "busy", "Qwen/Qwen3-4B", "--max-model-len", "8192", "--gpu-memory-utilization", "0.5"
    )
    assert low["fit"]["start_with"] == ""
    assert low["fit"]["budget_gib"] < fit["budget_gib"]
    other = answer(library[0], "busy", "Qwen/Qwen3-4B", "--max-model-len", "8192", "--engine", "llama.cpp")[
        "fit"
    ]
    assert other["start_with"] == ""
    assert other["budget_gib"] == pytest.approx(fit["usable_gib"] - 8000 / 1024, abs=0.6)


def test_three_equal_cards_split_by_stage_and_the_emptiest_go_first(library):
    found = answer(library[0], "three", "Qwen/Qwen3-32B")
    rows = [row for row in found["rows"] if row["cards"]]
    assert [(row["gpus"], row["split"]) for row in rows] == [(1, {}), (2, {"tp": 2}), (3, {"pp": 3})]
    assert sorted(rows[1]["cards"]) == [0, 2]
    assert rows[1]["used_gib"] < 0.1 < rows[2]["used_gib"]
    assert found["rows"][-1]["gpu"] == "cpu"  # no card holds it in 16 bit: host memory is the other way
    assert any("PCIe" in note for note in found["notes"])


def test_slices_count_each_alone_and_the_card_they_are_cut_from_does_not(library):
    found = answer(library[0], "cut", "Qwen/Qwen3-4B")
    assert found["cards"][0]["mig"] is True
    assert [one["profile"] for one in found["cards"][0]["slices"]] == ["3g.40gb", "1g.10gb", "1g.10gb"]
    assert [(pool["gpu"], len(pool["cards"]), pool["together"]) for pool in found["pools"]] == [
        ("a100-sxm-80:3g.40gb", 1, 1),
        ("a100-sxm-80:1g.10gb", 2, 1),
    ]
    assert found["pools"][0]["usable_gib"] == pytest.approx(40192 / 1024)  # as measured, not as in the table
    assert {row["gpu"] for row in found["rows"]} == {"a100-sxm-80:3g.40gb", "a100-sxm-80:1g.10gb"}


def test_a_lost_card_is_told_and_the_other_still_answers(library):
    found = answer(library[0], "lost", "Qwen/Qwen3-8B")
    assert [one["reason"] for one in found["cards"][1]["not_read"]] == ["lost"]
    assert found["counted"] == 1
    assert found["fit"]["cards"] == [0]
    assert found["fit"]["verdict"] == "fits"
    assert any("Xid" in note for note in found["notes"])


def test_what_needs_rights_is_not_readable_and_the_rest_is(library):
    [card] = answer(library[0], "denied")["cards"]
    assert card["users"] is None
    assert card["power_limit_w"] is None
    assert {one["reason"] for one in card["not_read"]} == {"no_permission"}
    assert card["memory_gib"] == pytest.approx(24564 / 1024)


def test_an_old_driver_lacks_functions_and_answers_all_the_same(library):
    [card] = answer(library[1], "desktop")["cards"]
    assert card["gpu"] == "rtx4090"
    assert [one["name"] for one in card["users"]] == ["Xorg", "python3"]
    assert card["used_gib"] == pytest.approx((1180 + 300) / 1024)  # it counts what it keeps as used
    assert card["not_read"] == []


@pytest.mark.parametrize(("story", "name"), [("laptop", "laptop"), ("newer", "7090")])
def test_a_card_nobody_listed_is_answered_by_its_measured_memory(library, story, name):
    found = answer(library[0], story, "Qwen/Qwen3-0.6B")
    assert found["cards"][0]["gpu"] is None
    assert name in found["fit"]["gpu"]
    assert found["fit"]["usable_gib"] == pytest.approx(found["cards"][0]["memory_gib"])
    assert found["fit"]["speed_known"] is False
    assert found["fit"]["verdict"] == "fits"
    assert any("cabida-facts/accelerators.yaml" in note for note in found["notes"])


def test_a_card_that_lives_in_host_memory_has_the_machines(library):
    found = answer(library[0], "unified")
    [card] = found["cards"]
    assert (card["gpu"], card["unified"]) == ("gb10-dgx-spark", True)
    assert card["memory_gib"] == found["machine"]["memory_gib"]


@pytest.mark.parametrize(("story", "language", "told"), [
    ("none", "en", "No graphics card that computes was found"),
    ("no_driver", "es", "ningún controlador"),
    ("mismatch", "en", "restart the machine"),
])  # fmt: skip
def test_without_a_card_the_processor_is_the_honest_answer(library, story, language, told):
    done = run(library[0], story, "Qwen/Qwen3-0.6B", "--lang", language, COLUMNS="200")
    assert done.returncode == 0
    assert told in done.stdout
    assert "llama.cpp" in done.stdout


def test_a_driver_that_hangs_holds_nothing_up(library):
    found = answer(library[0], "hang", CABIDA_PROBE_S="0.5")
    assert {"probe": "nvidia", "reason": "timeout"}.items() <= found["machine"]["not_read"][0].items()
    assert found["cards"] == []


def test_the_answer_of_a_healthy_machine_takes_no_second_of_work(library):
    """Processor time, for the wall clock belongs to whoever else is running."""
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert run(library[0], "desktop", "--json").returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.5
