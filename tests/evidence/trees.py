"""Small trees that look like /sys and /proc, and folders of commands that answer as tools do."""

import os
import stat

from cabida.evidence.machine import Roots


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def card(root, number, maker, device, address, **files):
    """A card of the direct rendering manager on the bus at ``address``."""
    place = root / "sys" / "devices" / address
    for name, text in {
        "vendor": maker, "device": device, "uevent": f"DRIVER=x\nPCI_SLOT_NAME={address}\n", "class": "0x030000",
        "current_link_speed": "16.0 GT/s PCIe", "max_link_speed": "32.0 GT/s PCIe", "current_link_width": "16",
        "max_link_width": "16", **files,
    }.items():  # fmt: skip
        write(place / name, f"{text}\n")
    drm = root / "sys" / "class" / "drm" / f"card{number}"
    drm.mkdir(parents=True)
    (drm / "device").symlink_to(place)
    on_bus = root / "sys" / "bus" / "pci" / "devices"
    on_bus.mkdir(parents=True, exist_ok=True)
    (on_bus / address).symlink_to(place)
    return place


def compute_node(root, number, version, bus, links=0):
    """A node of the kernel's compute topology."""
    node = root / "sys" / "class" / "kfd" / "kfd" / "topology" / "nodes" / str(number)
    write(
        node / "properties",
        f"simd_count 304\ngfx_target_version {version}\nlocation_id {bus << 8}\ndomain 0\n",
    )
    for link in range(links):
        write(node / "io_links" / str(link) / "properties", "type 11\nweight 15\n")


def host(root, total_kib=65_000_000, free_kib=60_000_000):
    """Memory and processor of the machine."""
    write(root / "proc" / "meminfo", f"MemTotal: {total_kib} kB\nMemAvailable: {free_kib} kB\n")
    write(root / "proc" / "cpuinfo", "processor : 0\nmodel name : Test CPU 9000\n")
    write(root / "etc" / "os-release", 'NAME=Test\nPRETTY_NAME="Test OS 1"\n')


def program(folder, name, body):
    """A command that runs ``body`` in the shell."""
    path = write(folder / name, f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def roots(root, commands=None, **more):
    """Roots that see nothing of the real machine but its shell."""
    path = os.pathsep.join([str(commands), "/usr/bin", "/bin"]) if commands else "/nowhere"
    return Roots(**{"root": root, "path": path, "platform": "linux", "nvml": False, "limit_s": 8.0, **more})
