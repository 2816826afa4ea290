"""What a decision's option starts, ready for any form: words of the command, image, accelerators, ports, probes.

A decision may come from a file, so nothing of it is trusted: names are checked, words are data in YAML and are quoted
in shell, and the image is worked out here again from the engine and its version.
"""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass
from typing import Any

from cabida import facts
from cabida.errors import InvalidInput
from cabida.plan import Decision, Option
from cabida.text import dns_label, problem, tr

PORTS = {"vllm": 8000, "sglang": 30000, "tensorrt-llm": 8000, "llama.cpp": 8080}
HEALTH = "/health"  # all four engines answer there: 200 once the model is loaded
# binds loopback or nothing stated unless told: docs of each engine, seen 2026-12-01
HOST_FLAGS = {"vllm": "--host", "sglang": "--host", "tensorrt-llm": "--host", "llama.cpp": "--host"}
RESOURCES = {"NVIDIA": "nvidia.com/gpu", "AMD": "amd.com/gpu", "Intel": "gpu.intel.com/xe"}
LONGEST_COMMAND = 20_000
MOST_COUNT = 100_000
MOST_MINUTES = 1e9
START_FACTOR = 5.0  # how much longer than predicted a start may take before it is given up
COLD_GB_PER_S, ENGINE_START_S = "cold_gb_per_s", "engine_start_s"
_VARIABLE = re.compile(r"\$\{([A-Z_]{1,40}):\?\}")


@dataclass(frozen=True, slots=True)
class Start:
    """One option to be started.

    Attributes:
        name: of the workload, lawful as a DNS label.
        words: of the engine's command, as a shell would pass them on.
        script: the command as text, for what needs a shell (a here-string); "" otherwise.
        notes: what has to be done first.
        image: container image with its tag; "" = none published for this engine on this accelerator.
        accelerators_per_node: of one machine; nodes_count: machines that make one replica.
        starts_s: until a replica answers, as assumed: weights over a disk's rate, and the engine.
        weights_gb: of one replica's checkpoint, decimal.
        text: the command on one line, as a shell takes it.
        install: pinned lines that install the engine, without its container.
        minutes_high: long end of a run's predicted time; step_s: of one optimizer step; 0 = nothing is trained.
    """

    name: str
    kind: str
    engine: str
    engine_version: str
    model: str
    words: tuple[str, ...]
    script: str
    notes: tuple[str, ...]
    image: str
    vendor: str
    resource: str
    product_names: tuple[str, ...]
    accelerators_per_node: int
    nodes_count: int
    replicas_count: int
    spare_replicas_count: int
    port: int
    starts_s: float
    weights_gb: float
    setup: dict[str, Any]
    accelerator: str
    capacity: str
    text: str
    install: tuple[str, ...]
    minutes_high: float
    step_s: float

    @property
    def serves(self) -> bool:
        """Whether it answers requests, rather than runs to an end."""
        return self.kind == "serving"

    @property
    def wanted(self) -> tuple[str, ...]:
        """Names of the variables that the command wants set."""
        return tuple(dict.fromkeys(name for word in self.words for name in _VARIABLE.findall(word)))


def start_of(decision: Decision, option: Option) -> Start:
    """An option as something to start.

    Raises:
        InvalidInput: an API has nothing to start (CB-L001), no command is known for it (CB-L002), or the decision's
            file holds what can't be launched (CB-L003).
    """
    if not option.accelerator:
        raise InvalidInput(
            [problem("CB-L001", option=option.title, provider=option.provider, model=option.model)]
        )
    if not option.command:
        raise InvalidInput([problem("CB-L002", option=option.title, engine=option.engine)])
    card = facts.accelerator(option.accelerator)
    vendor = card.vendor
    setup = _checked(option.setup)
    kind = str(setup.get("kind") or ("serving" if option.engine in PORTS else "training"))
    notes, text = _parted(option.command) if kind != "media" else ((), "")
    from cabida.launch.setups import split_over

    per_replica = _count(setup.get("gpus", option.accelerators_count), "gpus")
    nodes, each = split_over(
        per_replica, _count(setup.get("accelerators_per_node", 0), "accelerators_per_node") or None
    )
    weights = option.memory.get("weights", 0.0) * per_replica
    installed = install_lines(option, decision.as_of)
    return Start(
        name=dns_label(decision.name),
        kind=kind,
        engine=option.engine,
        engine_version=option.engine_version,
        model=option.model,
        words=_words(text, option.engine),
        script=text if "<<<" in text else "",
        notes=notes,
        image=image_in(installed),
        vendor=vendor,
        resource=_resource(option.accelerator, vendor),
        product_names=_products(option.accelerator, vendor),
        accelerators_per_node=each,
        nodes_count=nodes,
        replicas_count=_count(option.replicas_count, "replicas_count"),
        spare_replicas_count=_count(option.spare_replicas_count, "spare_replicas_count"),
        port=PORTS.get(option.engine, 8000),
        starts_s=starting_s(weights / 1e9),
        weights_gb=weights / 1e9,
        setup=setup,
        accelerator=option.accelerator,
        capacity=option.capacity,
        text=text,
        install=tuple(line for line in installed if not line.startswith("docker ")),
        minutes_high=_high(option, "minutes_to_target"),
        step_s=option.metrics["step_time_s"].value if "step_time_s" in option.metrics else 0.0,
    )


def starting_s(weights_gb: float) -> float:
    """Until a replica answers its first request, at the assumed rates of a cold start."""
    from cabida.money.assumptions import assumed_ranges
    from cabida.money.prices.serverless import cold_start_s

    ranges = assumed_ranges()
    return float(cold_start_s.raw(weights_gb, ranges[COLD_GB_PER_S].base, ranges[ENGINE_START_S].base))


def install_lines(option: Option, as_of: str) -> tuple[str, ...]:
    """What installs the option's engine on its accelerator, container included; () where nobody says."""
    from cabida.checks.install import install

    if option.engine not in facts.engines():
        return ()
    return install(option.engine, option.engine_version, facts.accelerator(option.accelerator), as_of).lines


def image_in(lines: tuple[str, ...]) -> str:
    """The maker's container image among the lines that install an engine; "" where there is none."""
    pulls = [line.removeprefix("docker pull ").strip() for line in lines if line.startswith("docker pull ")]
    return pulls[0] if pulls else ""


def _high(option: Option, metric: str) -> float:
    found = option.metrics.get(metric)
    return found.high if found is not None and 0 <= found.high < MOST_MINUTES else 0.0


def _parted(command: str) -> tuple[tuple[str, ...], str]:
    """Comments above a command, and the command on one line; what is to be started beside it becomes a note."""
    if len(command) > LONGEST_COMMAND or "\0" in command:
        raise InvalidInput([problem("CB-L003", where="command", found=f"{len(command)}")])
    first, *beside = command.split("\n\n")
    lines = first.splitlines()
    notes = [line.lstrip("# ").strip() for line in lines if line.startswith("#")]
    notes += [
        tr("launch.file.beside", command=" ".join(_joined(part.splitlines()).split())) for part in beside
    ]
    return tuple(notes), _joined(lines)


def _joined(lines: list[str]) -> str:
    return " ".join(line.rstrip("\\").strip() for line in lines if line and not line.startswith("#"))


def _plain_words(text: str) -> str:
    """The command when it is nothing but words: no second one, no redirection but a here-string, no substitution."""
    bare = re.sub(r"'[^']*'", "", text).replace("<<<", "", 1)
    odd = re.search(r"[;&|`()<>]|\$(?!\{[A-Z_]{1,40}:\?\})", bare)
    if odd:
        around = bare[max(0, odd.start() - 30) : odd.end() + 30].strip()
        raise InvalidInput([problem("CB-L003", where="command", found=f"…{around}…")])
    return text


def _words(text: str, engine: str) -> tuple[str, ...]:
    """The command's words, listening to other machines than its own."""
    try:
        words = shlex.split(_plain_words(text))
    except ValueError as error:
        raise InvalidInput([problem("CB-L003", where="command", found=str(error))]) from None
    flag = HOST_FLAGS.get(engine)
    listening = flag is None or any(word.split("=")[0] == flag for word in words) or "<<<" in words
    return tuple(words) if listening else (*words, str(flag), "0.0.0.0")


def _checked(setup: dict[str, Any]) -> dict[str, Any]:
    """The setup of a decision's file: short texts, numbers in bounds."""
    for name, value in setup.items():
        sound = isinstance(value, str | bool | int | float | list) and len(str(value)) <= 400
        if not sound or (isinstance(value, int | float) and not 0 <= value < 1e18):
            raise InvalidInput([problem("CB-L003", where=f"setup.{name}", found=str(value)[:60])])
    return dict(setup)


def _count(value: Any, where: str) -> int:
    if not isinstance(value, int | float) or not 0 <= value <= MOST_COUNT or value != math.floor(value):
        raise InvalidInput([problem("CB-L003", where=where, found=str(value)[:60])])
    return int(value)


def _resource(accelerator: str, vendor: str) -> str:
    """What Kubernetes calls it; a MIG slice under the mixed strategy of NVIDIA's device plugin."""
    profile = accelerator.partition(":")[2]
    if profile and vendor == "NVIDIA":
        return f"nvidia.com/mig-{profile.replace('+', '.')}"
    return RESOURCES.get(vendor, "")


def _products(accelerator: str, vendor: str) -> tuple[str, ...]:
    """Values of ``nvidia.com/gpu.product`` (GPU feature discovery): the driver's name, its spaces as hyphens."""
    if vendor != "NVIDIA":
        return ()
    from cabida.facts import store

    named = store.payload("names").get(accelerator.partition(":")[0], ())
    return tuple(
        name.replace(" ", "-") for name in named if name.startswith(("NVIDIA ", "Tesla ", "GeForce "))
    )
