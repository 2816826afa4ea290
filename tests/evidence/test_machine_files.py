"""AMD, Intel, Apple and NVIDIA without its library: by the files and the tools that are there."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import card, compute_node, host, program, roots, write

from cabida import app
from cabida.evidence.machine import Trouble, amd, look, match
from cabida.evidence.machine.probing import asked, command, count_of, number_of

GIB = 2**30
AMD, INTEL, NVIDIA = "0x1002", "0x8086", "0x10de"


def found(root, commands=None, **more):
    host(root)
    return look(roots(root, commands, **more))


def test_eight_instincts_by_the_kernels_files_alone(tmp_path):
    for at in range(2):
        bus = 0x10 + at
        card(
            tmp_path, at, AMD, "0x74a1", f"0000:{bus:02x}:00.0", mem_info_vram_total=196592 * 2**20,
            mem_info_vram_used=300 * 2**20, unique_id=f"a{at}", product_name="AMD Instinct MI300X OAM",
        )  # fmt: skip
        compute_node(tmp_path, at + 1, 90402, bus, links=7)
    machine = found(tmp_path)
    assert [one.capability for one in machine.cards] == ["gfx942"] * 2
    one = machine.cards[0]
    assert (one.link_kind, one.links_count, one.pcie_gen, one.pcie_gen_max, one.pcie_lanes) == (
        "xgmi",
        7,
        4,
        5,
        16,
    )
    assert one.used_bytes == 300 * 2**20
    assert match(one).accelerator.id == "mi300x"


def test_who_computes_on_an_amd_card_is_told_where_the_kernel_says(tmp_path):
    card(
        tmp_path,
        0,
        AMD,
        "0x74a1",
        "0000:10:00.0",
        mem_info_vram_total=196592 * 2**20,
        mem_info_vram_used=9 * GIB,
    )
    compute_node(tmp_path, 1, 90402, 0x10)
    [one] = found(tmp_path).cards
    assert one.users is None
    kfd = tmp_path / "sys" / "class" / "kfd" / "kfd"
    write(kfd / "topology" / "nodes" / "1" / "gpu_id", "51234\n")
    write(kfd / "proc" / "777" / "vram_51234", f"{8 * GIB}\n")
    write(kfd / "proc" / "778" / "vram_51234", "0\n")
    write(tmp_path / "proc" / "777" / "comm", "vllm\n")
    [one] = found(tmp_path).cards
    assert [(user.pid, user.name, user.used_bytes) for user in one.users] == [(777, "vllm", 8 * GIB)]


def test_a_nameless_radeon_is_known_by_chip_and_memory_and_the_graphics_on_the_processor_is_no_card(tmp_path):
    card(
        tmp_path,
        0,
        AMD,
        "0x744c",
        "0000:03:00.0",
        mem_info_vram_total=24560 * 2**20,
        mem_info_vram_used=2**30,
    )
    card(tmp_path, 1, AMD, "0x164e", "0000:0e:00.0", mem_info_vram_total=2 * GIB, mem_info_vram_used=2**28)
    compute_node(tmp_path, 1, 110000, 0x03)
    compute_node(tmp_path, 2, 100306, 0x0E)
    machine = found(tmp_path)
    assert [(one.capability, one.integrated) for one in machine.cards] == [
        ("gfx1100", False),
        ("gfx1036", True),
    ]
    assert match(machine.cards[0]).accelerator.id == "rx7900xtx"
    assert match(machine.cards[1]) is None
    answer = app.here("Qwen/Qwen3-8B", roots=roots(tmp_path), max_model_len=8192)
    assert [pool["gpu"] for pool in answer["pools"]] == ["rx7900xtx"]
    assert answer["counted"] == 1
    assert any("isn't counted" in note for note in answer["notes"])


@pytest.mark.parametrize(
    ("version", "chip"), [(90402, "gfx942"), (90010, "gfx90a"), (110501, "gfx1151"), (120001, "gfx1201")]
)
def test_the_kernels_number_of_a_chip_is_its_name(version, chip):
    assert amd.chip_of(version) == chip


def test_a_unified_radeon_has_its_carve_out_and_what_it_may_map(tmp_path):
    card(
        tmp_path, 0, AMD, "0x1586", "0000:c5:00.0", mem_info_vram_total=GIB // 2, mem_info_vram_used=0,
        mem_info_gtt_total=96 * GIB, mem_info_gtt_used=GIB, product_name="AMD Radeon 8060S",
    )  # fmt: skip
    compute_node(tmp_path, 1, 110501, 0xC5)
    [one] = found(tmp_path).cards
    assert (one.unified, one.integrated) == (True, False)
    assert one.total_bytes == 96.5 * GIB
    assert match(one).accelerator.id == "strix-halo-128"


def test_rocm_smi_names_a_card_that_no_file_names(tmp_path):
    card(tmp_path, 0, AMD, "0x7550", "0000:03:00.0", mem_info_vram_total=16304 * 2**20, mem_info_vram_used=0)
    compute_node(tmp_path, 1, 120001, 0x03)
    told = {"card0": {"Card Series": "AMD Radeon RX 9070", "PCI Bus": "0000:03:00.0"}}
    program(tmp_path / "bin", "rocm-smi", f"echo 'WARNING: something'; echo '{json.dumps(told)}'")
    [one] = found(tmp_path, tmp_path / "bin").cards
    assert match(one).accelerator.id == "rx9070"


def test_intel_cards_by_device_and_window_and_never_the_one_on_the_processor(tmp_path):
    window = f"0x0000004000000000 0x{0x4000000000 + 24 * GIB - 1:016x} 0x000000000014220c"
    card(tmp_path, 0, INTEL, "0xa780", "0000:00:02.0")
    card(tmp_path, 1, INTEL, "0xe211", "0000:04:00.0", resource=f"0x1 0x2 0x0\n{window}")
    machine = found(tmp_path)
    assert [one.integrated for one in machine.cards] == [True, False]
    assert match(machine.cards[1]).accelerator.id == "arc-pro-b60-24"
    assert machine.cards[1].total_bytes == 24 * GIB


def test_a_window_that_shows_a_part_only_is_no_size(tmp_path):
    window = f"0x0000004000000000 0x{0x4000000000 + 2**28 - 1:016x} 0x000000000014220c"
    card(tmp_path, 0, INTEL, "0xe20b", "0000:04:00.0", resource=window)
    [one] = found(tmp_path).cards
    assert one.total_bytes is None
    assert match(one).measured is False  # the catalogue's memory, for the card is known
    assert match(one).accelerator.id == "arc-b580-12"


def test_xpu_smi_tells_name_and_memory(tmp_path):
    card(tmp_path, 0, INTEL, "0x0bd5", "0000:29:00.0")
    listed = {
        "device_list": [
            {
                "device_id": 0,
                "device_name": "Intel(R) Data Center GPU Max 1550",
                "pci_bdf_address": "0000:29:00.0",
            }
        ]
    }
    more = {"memory_physical_size_byte": str(128 * GIB)}
    program(
        tmp_path / "bin", "xpu-smi",
        f"case \"$*\" in *-d*) echo '{json.dumps(more)}';; *) echo '{json.dumps(listed)}';; esac",
    )  # fmt: skip
    [one] = found(tmp_path, tmp_path / "bin").cards
    assert one.total_bytes == 128 * GIB
    assert match(one).accelerator.id == "max1550"


def mac(folder, chip, memory, limit=None):
    told = {"SPDisplaysDataType": [{"_name": chip, "sppci_model": chip, "spdisplays_ndrvs": [{}]}]}
    program(folder, "system_profiler", f"echo '{json.dumps(told)}'")
    known = {"hw.memsize": memory, "hw.ncpu": 16, "machdep.cpu.brand_string": chip}
    known |= {} if limit is None else {"iogpu.wired_limit_mb": limit}
    cases = "".join(f"{name}) echo '{name}: {value}';; " for name, value in known.items())
    program(folder, "sysctl", f'case "$1" in {cases}*) echo "unknown oid" >&2; exit 1;; esac')


@pytest.mark.parametrize(
    ("memory", "limit", "gib"),
    [(128 * GIB, None, 96), (16 * GIB, None, 16 * 2 / 3), (64 * GIB, 0, 48), (64 * GIB, 57344, 56)],
)
def test_a_mac_may_wire_three_quarters_or_what_its_owner_allows(tmp_path, memory, limit, gib):
    mac(tmp_path / "bin", "Apple M4 Max", memory, limit)
    machine = look(roots(tmp_path, tmp_path / "bin", platform="darwin"))
    [one] = machine.cards
    assert one.total_bytes == pytest.approx(gib * GIB)
    assert (one.unified, match(one).accelerator.id) == (True, "m4-max")
    assert match(one).accelerator.usable_bytes == pytest.approx(gib * GIB)
    assert machine.memory_bytes == memory


def test_a_mac_nobody_listed_runs_llama_cpp_by_its_memory(tmp_path):
    mac(tmp_path / "bin", "Apple M3 Max", 64 * GIB)
    answer = app.here("Qwen/Qwen3-8B", roots=roots(tmp_path, tmp_path / "bin", platform="darwin"))
    assert answer["fit"]["engine"] == "llama.cpp"
    assert answer["fit"]["runs"] is True
    assert answer["fit"]["usable_gib"] == pytest.approx(48)
    assert answer["fit"]["speed_known"] is False


def smi(folder, rows, refuses=""):
    told = "\n".join(rows)
    program(
        folder, "nvidia-smi",
        f"""case "$*" in
*{refuses or "nosuchfield"}*) echo 'Field "compute_cap" is not a valid field to query.'; exit 2;;
*query-gpu*) cat <<'ROWS'
{told}
ROWS
;;
*query-compute-apps*) echo 'GPU-1, 4242, /opt/python3, 10240';;
*) echo '| NVIDIA-SMI 550.54   Driver Version: 550.54   CUDA Version: 12.4 |';;
esac""",
    )  # fmt: skip


BASIC = "0, NVIDIA L40S, GPU-1, 00000000:41:00.0, 46068, 10300, 35768, 550.54.15"


def test_nvidia_smi_stands_in_for_the_library(tmp_path):
    smi(tmp_path / "bin", [f"{BASIC}, 4, 4, 16, 16, 350.00, Enabled, Disabled, [N/A], 8.9"])
    machine = found(tmp_path, tmp_path / "bin")
    [one] = machine.cards
    assert (machine.driver, machine.cuda) == ("550.54.15", "12.4")
    assert (one.seen_by, one.capability, one.ecc, one.mig, one.power_limit_w) == (
        "nvidia-smi",
        "8.9",
        True,
        None,
        350,
    )
    assert [(user.name, user.used_bytes) for user in one.users] == [("python3", 10 * GIB)]
    assert match(one).accelerator.id == "l40s"


def test_an_old_nvidia_smi_is_asked_for_less(tmp_path):
    smi(tmp_path / "bin", [BASIC], refuses="compute_cap")
    [one] = found(tmp_path, tmp_path / "bin").cards
    assert (one.capability, one.pcie_gen, one.total_bytes) == ("", None, 46068 * 2**20)


@pytest.mark.parametrize(
    "row",
    [
        "Unable to determine the device handle for GPU 0000:41:00.0: GPU is lost.  Reboot the system",
        "0, [N/A], [GPU is lost], ERR!, [N/A], [N/A], [N/A], [N/A]",
        "\x1b[31m, ,,,,,,",
        "0, NVIDIA L40S, GPU-1, 00000000:41:00.0, -5, nan, inf, 1e400",
    ],
)
def test_what_nvidia_smi_prints_of_a_broken_card_breaks_nothing(tmp_path, row):
    smi(tmp_path / "bin", [row])
    answer = app.here("Qwen/Qwen3-0.6B", roots=roots(tmp_path, tmp_path / "bin"))
    assert answer["counted"] in (0, 1)
    assert answer["fit"]["verdict"] in ("fits", "tight", "no")


def test_a_command_that_hangs_is_ended_with_what_it_started(tmp_path):
    program(tmp_path / "bin", "nvidia-smi", "sleep 100 & sleep 100")
    machine = found(tmp_path, tmp_path / "bin", limit_s=0.6)
    assert Trouble("nvidia-smi", "timeout") in machine.troubles


def test_a_card_on_the_bus_without_a_driver_is_told(tmp_path):
    card(tmp_path, 0, NVIDIA, "0x2684", "0000:01:00.0")
    machine = found(tmp_path)
    assert Trouble("nvidia", "no_driver", "10de:2684") in machine.troubles
    answer = app.here("Qwen/Qwen3-0.6B", roots=roots(tmp_path))
    assert any("load the NVIDIA driver" in note for note in answer["notes"])
    assert answer["fit"]["gpu"] == "cpu"


def test_a_container_has_what_it_is_allowed(tmp_path):
    (tmp_path / "sys" / "fs" / "cgroup").mkdir(parents=True)
    (tmp_path / "sys" / "fs" / "cgroup" / "memory.max").write_text(f"{8 * GIB}\n")
    (tmp_path / "sys" / "fs" / "cgroup" / "memory.current").write_text(f"{3 * GIB}\n")
    machine = found(tmp_path)
    assert (machine.memory_limited, machine.memory_bytes, machine.memory_free_bytes) == (
        True,
        8 * GIB,
        5 * GIB,
    )


def test_an_empty_world_has_nothing_and_says_so(tmp_path):
    machine = look(roots(tmp_path))
    assert machine.cards == ()
    assert machine.release


def test_a_probe_that_throws_is_a_trouble_and_the_others_answer():
    told = asked({"bad": lambda: 1 / 0, "good": lambda: 7}, 5.0)
    assert told["good"] == 7
    assert told["bad"].reason == "failed"
    assert "ZeroDivisionError" in told["bad"].detail


def test_a_command_that_fails_says_why_and_one_that_is_not_there_is_none(tmp_path):
    program(tmp_path / "bin", "broken", "echo 'no driver' ; exit 9")
    assert command(["broken"], roots(tmp_path, tmp_path / "bin")) == Trouble("broken", "failed", "no driver")
    assert command(["nothing-of-that-name"], roots(tmp_path, tmp_path / "bin")) is None


@given(st.text(max_size=40))
def test_any_text_is_a_number_or_none(text):
    value, count = number_of(text), count_of(text)
    assert value is None or 0 <= value < 1e18
    assert (value is None) == (count is None)
