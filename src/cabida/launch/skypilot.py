"""A SkyPilot task (docs.skypilot.co/en/stable/reference/yaml-spec.html): rented, wherever it is cheapest.

Of a serving task ``sky serve up`` takes the replicas; of a training task ``sky jobs launch`` brings it back after a
spot machine is taken away.
"""

from __future__ import annotations

import json
import math
from functools import cache
from importlib import resources
from typing import Any

from cabida.errors import InvalidInput
from cabida.launch.compose import notes_of, with_host
from cabida.launch.shell import quoted
from cabida.launch.start import HEALTH, START_FACTOR, Start
from cabida.launch.yamls import as_text
from cabida.text import problem, tr

IDLE_MINUTES = 30
DISK_GB = 100  # beside the weights: image, packages, checkpoints under way
RENTED = ("on-demand", "spot", "reserved", "serverless")


@cache
def names() -> dict[str, str]:
    """Accelerator ids -> SkyPilot's names, with where these were read under ``source``."""
    text = (resources.files("cabida") / "launch" / "skypilot_names.json").read_text(encoding="utf-8")
    found: dict[str, str] = json.loads(text)
    return found


def skypilot(start: Start) -> str:
    """A task that starts the option.

    Raises:
        InvalidInput: SkyPilot has no name for the accelerator that is known here (CB-L010).
    """
    called = names().get(start.accelerator)
    if called is None or start.accelerator == "source":
        known = ", ".join(id for id in names() if id != "source")
        raise InvalidInput([problem("CB-L010", accelerator=start.accelerator, known=known)])
    document: dict[str, Any] = {"name": start.name, "num_nodes": start.nodes_count}
    document["resources"] = _resources(start, called)
    wanted = {name: None for name in start.wanted if name not in ("NODE_RANK", "HEAD_ADDRESS")}
    if wanted:
        document["envs"] = dict.fromkeys(wanted, "")
    document["secrets"] = {"HF_TOKEN": ""}
    if start.serves and start.nodes_count == 1:
        document["service"] = {
            "readiness_probe": {
                "path": HEALTH,
                "initial_delay_seconds": math.ceil(START_FACTOR * start.starts_s),
            },
            "replicas": max(1, start.replicas_count + start.spare_replicas_count),
        }
    if start.install:
        document["setup"] = "\n".join(["pip install --quiet uv", *start.install])
    document["run"] = _run(start)
    return as_text(document, (*notes_of(start), tr(f"launch.file.sky_{'serve' if start.serves else 'job'}")))


def _resources(start: Start, called: str) -> dict[str, Any]:
    found: dict[str, Any] = {"accelerators": f"{called}:{start.accelerators_per_node}"}
    if start.capacity == "spot":
        found["use_spot"] = True
    found["disk_size"] = math.ceil(DISK_GB + 2 * start.weights_gb)
    if start.serves:
        found["ports"] = [start.port]
    else:
        found["autostop"] = {"idle_minutes": IDLE_MINUTES, "down": True}
    return found


def _run(start: Start) -> str:
    """The command, with rank and leader as SkyPilot tells them."""
    lines = ["set -euo pipefail"]
    if "NODE_RANK" in start.wanted:
        lines += [
            'export NODE_RANK="$SKYPILOT_NODE_RANK"',
            'HEAD_ADDRESS="$(echo "$SKYPILOT_NODE_IPS" | sed -n 1p)"',
        ]
        lines += ["export HEAD_ADDRESS"]
    if start.serves and start.engine == "vllm" and start.nodes_count > 1:
        lines += [
            'HEAD_ADDRESS="$(echo "$SKYPILOT_NODE_IPS" | sed -n 1p)"',
            'if [ "$SKYPILOT_NODE_RANK" != 0 ]; then exec ray start --address "$HEAD_ADDRESS:6379" --block; fi',
            "ray start --head --port 6379",
        ]
    return "\n".join([*lines, _command(start), ""])


def _command(start: Start) -> str:
    """The command as a shell takes it; a server listens to the probes and the balancer of other machines."""
    if not start.serves:
        return start.text
    return with_host(start) if start.script else " ".join(quoted(word) for word in start.words)
