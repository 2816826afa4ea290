"""Cards watched through a stand-in for NVML that is scripted while it runs, and through the files of amdgpu."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cabida.bench.watch.gpus import amd, slowed
from cabida.bench.watch.summing import watched
from cabida.evidence.machine.nouns import Roots

LIBRARY = Path(__file__).parents[2] / "evidence" / "fake_nvml.c"
# reads what to write into the state from its input, line by line, and prints one sample each
PROGRAM = """
import json, sys
from cabida.bench.watch.gpus import opened
cards = opened()
print(json.dumps([cards.known, cards.trouble]), flush=True)
for line in sys.stdin:
    with open(sys.argv[1], "w") as state:
        state.write(json.loads(line))
    print(json.dumps(cards.sample()), flush=True)
cards.close()
"""


@pytest.fixture(scope="session")
def nvml(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "a C compiler is needed: make dev installs one"
    folders = []
    for more in ((), ("-DOLD",)):
        folder = tmp_path_factory.mktemp("nvml")
        made = folder / "libnvidia-ml.so.1"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", *more, "-o", made, LIBRARY], check=True)
        folders.append(folder)
    return folders


def sampled(folder, tmp_path, *states, story="scripted"):
    """What is known of the cards, and a sample after each state was written."""
    state = tmp_path / "state"
    state.write_text(states[0] if states else "")
    env = {
        "PATH": os.defpath,
        "LD_LIBRARY_PATH": str(folder),
        "FAKE_NVML": story,
        "FAKE_NVML_STATE": str(state),
        "PYTHONPATH": os.pathsep.join(one for one in sys.path if one),
    }
    told = "".join(f"{json.dumps(one)}\n" for one in states)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(state)],
        input=told,
        capture_output=True,
        text=True,
        env=env,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    known, *samples = [json.loads(line) for line in done.stdout.splitlines()]
    return known, samples


def test_power_memory_clocks_and_the_rest(nvml, tmp_path):
    state = (
        "power_mw=312500 limit_mw=700000 busy=91 memory_busy=40 used_mib=40960 sm_mhz=1755 mem_mhz=2619 temp=61 "
        "energy_mj=5000 throttle=0 uncorrected=0 corrected=2 replays=3\n"
        "power_mw=70000\n"
    )
    (known, trouble), [(row, told)] = sampled(nvml[0], tmp_path, state)
    assert trouble == ""
    assert [card["power_limit_w"] for card in known] == [700, 450]
    assert known[0]["memory_total_bytes"] == 81559 * 2**20
    assert row["gpu.0.power_w"] == 312.5
    assert row["gpu.0.memory_used_bytes"] == 40 * 2**30  # without what the driver keeps for itself
    assert row["gpu.0.busy_ratio"] == pytest.approx(0.91)
    assert row["gpu.0.clock_hz"] == 1.755e9
    assert row["gpu.0.memory_clock_hz"] == 2.619e9
    assert row["gpu.0.temperature_c"] == 61
    assert row["gpu.0.energy_j"] == 5
    assert (row["gpu.0.ecc_corrected_count"], row["gpu.0.pcie_replays_count"]) == (2, 3)
    assert row["gpu.1.power_w"] == 70
    assert "gpu.1.temperature_c" not in row  # not supported is not zero
    assert told == []


def test_throttling_is_told_when_it_begins_and_ends(nvml, tmp_path):
    hot, cold = "power_mw=1 throttle=36\n", "power_mw=1 throttle=1\n"  # power cap and heat; idle
    _, samples = sampled(nvml[0], tmp_path, cold, hot, hot, cold)
    events = [told for _, told in samples]
    assert events[0] == []
    assert [one["event"] for one in events[1]] == ["slowed"]
    assert events[1][0]["reasons"] == ["power-cap", "thermal"]
    assert events[2] == []
    assert [one["event"] for one in events[3]] == ["full-speed"]


def test_errors_of_memory_and_xids_are_told_once(nvml, tmp_path):
    states = ("uncorrected=4\n", "uncorrected=6 xid=48\n", "uncorrected=6 xid=48\n")
    _, samples = sampled(nvml[0], tmp_path, *states)
    assert [told for _, told in samples] == [
        [],
        [{"event": "ecc", "gpu": 0, "count": 2}, {"event": "xid", "gpu": 0, "code": 48}],
        [],
    ]


def test_a_card_that_is_lost_leaves_the_other_and_may_come_back(nvml, tmp_path):
    both, one = "power_mw=100000\npower_mw=200000\n", "lost=1\npower_mw=200000\n"
    _, samples = sampled(nvml[0], tmp_path, both, one, one, both)
    assert [[row.get("event") for row in told] for _, told in samples] == [[], ["gpu-lost"], [], ["gpu-back"]]
    assert "gpu.0.power_w" not in samples[1][0]
    assert samples[1][0]["gpu.1.power_w"] == 200


def test_an_old_driver_tells_what_it_can(nvml, tmp_path):
    _, [(row, _)] = sampled(nvml[1], tmp_path, "power_mw=5000 throttle=4 used_mib=100\n")
    assert row["gpu.0.power_w"] == 5
    assert row["gpu.0.throttle_bits"] == 4  # by the name of before
    assert row["gpu.0.memory_used_bytes"] == 400 * 2**20  # what it keeps for itself counts as used there


def test_no_card_no_driver_and_no_library(nvml, tmp_path):
    assert sampled(nvml[0], tmp_path, story="none")[0] == [[], ""]
    known, trouble = sampled(nvml[0], tmp_path, story="no_driver")[0]
    assert (known, trouble) == ([], "Driver Not Loaded")
    assert sampled(tmp_path, tmp_path)[0] == [[], ""]


def test_reasons():
    assert slowed(0) == ()
    assert slowed(0x1) == ()
    assert slowed(0x4 | 0x40) == ("power-cap", "hardware-thermal")


def write(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


def test_amd_cards_by_their_files(tmp_path):
    device = tmp_path / "sys" / "class" / "drm" / "card0" / "device"
    write(
        device,
        vendor="0x1002",
        product_name="AMD Instinct MI300X",
        mem_info_vram_used=2**30,
        mem_info_vram_total=2**36,
        gpu_busy_percent=55,
        hwmon__hwmon3__power1_average=750_000_000,
        hwmon__hwmon3__temp1_input=40_000,
        hwmon__hwmon3__temp2_input=60_000,
        hwmon__hwmon3__freq1_input=2_100_000_000,
        ras__umc_err_count="ue: 1\nce: 7",
    )
    cards = amd(Roots(root=tmp_path))
    assert cards.known[0]["name"] == "AMD Instinct MI300X"
    row, told = cards.sample()
    assert row == {
        "gpu.0.memory_used_bytes": 2**30,
        "gpu.0.memory_total_bytes": 2**36,
        "gpu.0.busy_ratio": pytest.approx(0.55),
        "gpu.0.power_w": 750,
        "gpu.0.temperature_c": 60,
        "gpu.0.clock_hz": 2.1e9,
        "gpu.0.ecc_uncorrected_count": 1,
        "gpu.0.ecc_corrected_count": 7,
    }
    assert told == []
    write(device, ras__umc_err_count="ue: 3\nce: 7")
    assert cards.sample()[1] == [{"event": "ecc", "gpu": 0, "count": 2}]


def test_energy_by_counter_and_by_power():
    rows = [{"at_s": float(at), "gpu.0.power_w": 100.0, "gpu.1.power_w": 50.0} for at in range(11)]
    found = watched(rows)
    assert (found.energy_j, found.energy_from, found.power_mean_w) == (1500, "power", 150)
    for at, row in enumerate(rows):
        row |= {"gpu.0.energy_j": 1000.0 + 101 * at, "gpu.1.energy_j": 51.0 * at}
    found = watched(rows)
    assert (found.energy_j, found.energy_from) == (1520, "counter")
    del rows[0]["gpu.1.energy_j"], rows[10]["gpu.1.power_w"]
    assert watched(rows, 2, 5).energy_j == 3 * 152
    one = watched([{"at_s": 0.0, "gpu.0.power_w": 1.0}])
    assert (one.energy_j, one.energy_from) == (None, "")


def test_slow_clocks_and_peaks_of_a_stretch():
    rows = [
        {
            "at_s": float(at),
            "gpu.0.throttle_bits": 4.0 if at > 5 else 0.0,
            "gpu.0.memory_used_bytes": 1e9 * at,
        }
        for at in range(10)
    ]
    found = watched(rows)
    assert found.slowed_ratio == {"gpu.0.power-cap": pytest.approx(0.4)}
    assert found.memory_most_bytes == {"gpu.0": 9e9}
    assert watched(rows, 0, 5).slowed_ratio == {}
