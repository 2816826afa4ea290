"""Docker Compose: one replica on one machine (docs.docker.com/reference/compose-file, seen 2026-12-01)."""

from __future__ import annotations

import math
from typing import Any

from cabida.errors import InvalidInput
from cabida.launch.start import HEALTH, START_FACTOR, Start
from cabida.launch.yamls import as_text
from cabida.text import problem, tr

CACHE = "/root/.cache/huggingface"
AMD_DEVICES = ["/dev/kfd", "/dev/dri"]


def compose(start: Start) -> str:
    """A Compose file that starts one replica.

    Raises:
        InvalidInput: a replica takes several machines (CB-L004), or no image is published for it (CB-L005).
    """
    if start.nodes_count > 1:
        raise InvalidInput([problem("CB-L004", form="compose", nodes=start.nodes_count)])
    if not start.image:
        raise InvalidInput([problem("CB-L005", engine=start.engine, vendor=start.vendor)])
    service: dict[str, Any] = {
        "image": start.image,
        "entrypoint": [],
        "command": container_words(start),
        "ports": [f"127.0.0.1:{start.port}:{start.port}"],
        "environment": {"HF_TOKEN": "${HF_TOKEN:-}"},
        "volumes": [f"models:{CACHE}", "./:/work"],
        "working_dir": "/work",
        "ipc": "host",
        "restart": "unless-stopped",
        "healthcheck": healthcheck(start),
        **accelerators(start),
    }
    document = {"name": start.name, "services": {"engine": service}, "volumes": {"models": {}}}
    return as_text(document, (*notes_of(start), *one_replica(start)))


def notes_of(start: Start) -> tuple[str, ...]:
    """What every form says above: of what it is, and what has to be done first."""
    engine = f"{start.engine} {start.engine_version}".strip()
    key = "launch.file.made" if engine else "launch.file.made_alone"  # training names its program below
    return (tr(key, model=start.model, engine=engine), *start.notes)


def one_replica(start: Start) -> tuple[str, ...]:
    """What a form for one machine says besides."""
    count = start.replicas_count + start.spare_replicas_count
    return (
        tr("launch.file.replicas", count=count) if count > 1 else "",
        tr("launch.file.local", port=start.port),
    )


def container_words(start: Start) -> list[str]:
    """The command inside a container; a here-string needs bash, a dollar is doubled for Compose."""
    words = ["bash", "-c", with_host(start)] if start.script else list(start.words)
    return [word.replace("$", "$$") for word in words]


def with_host(start: Start) -> str:
    """A command that needs a shell, listening to other machines than its own."""
    before, sign, after = start.script.partition("<<<")
    return f"exec {before.strip()} --host 0.0.0.0 {sign}{after}"


def healthcheck(start: Start) -> dict[str, Any]:
    """Asked every ten seconds, and not before a slow start has had its time."""
    probe = (
        f"import urllib.request as u; u.urlopen('http://127.0.0.1:{start.port}{HEALTH}', timeout=5)"
        if start.engine != "llama.cpp"
        else ""
    )
    test = (
        ["CMD", "python3", "-c", probe]
        if probe
        else ["CMD", "curl", "-fsS", f"http://127.0.0.1:{start.port}{HEALTH}"]
    )
    return {
        "test": test,
        "interval": "10s",
        "timeout": "10s",
        "retries": 6,
        "start_period": f"{math.ceil(START_FACTOR * start.starts_s)}s",
    }


def accelerators(start: Start) -> dict[str, Any]:
    """How Compose gives a container its accelerators."""
    if start.vendor == "AMD":
        return {
            "devices": AMD_DEVICES,
            "group_add": ["video", "render"],
            "security_opt": ["seccomp:unconfined"],
        }
    if start.vendor == "Intel":
        return {"devices": ["/dev/dri"], "group_add": ["render"]}
    reserved = {"driver": "nvidia", "count": start.accelerators_per_node, "capabilities": ["gpu"]}
    return {"deploy": {"resources": {"reservations": {"devices": [reserved]}}}}


def docker_words(start: Start) -> list[str]:
    """The same as the words of one ``docker run``, for a unit of systemd."""
    devices = (
        [f"--device={one}" for one in AMD_DEVICES] + ["--group-add=video", "--group-add=render"]
        if start.vendor == "AMD"
        else ["--device=/dev/dri"]
        if start.vendor == "Intel"
        else ["--gpus", f"{start.accelerators_per_node}"]
    )
    words = ["bash", "-c", with_host(start)] if start.script else list(start.words)
    return [
        "docker", "run", "--rm", "--name", start.name, *devices, "--ipc=host",
        "-p", f"127.0.0.1:{start.port}:{start.port}", 
        "-v", f"{start.name}-models:{CACHE}", "-v", f"/srv/{start.name}:/work", "-w", "/work", "-e", "HF_TOKEN",
        "--entrypoint", words[0], start.image, *words[1:],
    ]  # fmt: skip
