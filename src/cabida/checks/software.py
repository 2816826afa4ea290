"""Whether an engine runs a weight format on an accelerator, and with what gain, from the software facts.

A pair that no source affirms does not run here: better a question than a purchase that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from cabida import facts
from cabida.checks.verdict import Verdict, worst
from cabida.facts.model import Accelerator, Engine, WeightFormat
from cabida.facts.releases import numbers
from cabida.plan import Deployment, TrainingRun
from cabida.text import locale, tr

OWN_STACKS = {
    "apple": "MLX, llama.cpp",
    "tpu": "JAX, MaxText, vLLM TPU",
    "gaudi": "SynapseAI",
    "neuron": "Neuron SDK",
}
GGUF_ENGINES = ("llama.cpp", "ollama")
NO_FP8_CACHE = ("llama.cpp", "ollama", "exllamav2", "transformers")
DTYPE_OF = {"fp8": "fp8", "fp4": "nvfp4", "int8": "int8"}
FIRST_WITH = {
    "fp8": "8.9",
    "nvfp4": "10.0",
    "mxfp4": "10.0",
    "int8": "7.5",
}  # capability with such arithmetic


@dataclass(frozen=True, slots=True)
class Stack:
    """What is to run together."""

    engine: Engine
    version: str
    accelerator: Accelerator
    weights: WeightFormat
    kv_cache: WeightFormat

    @property
    def architecture(self) -> str:
        """Key into the software facts."""
        return self.accelerator.architecture.lower()

    @property
    def names(self) -> dict[str, str]:
        """What sentences may mention."""
        return {
            "engine": self.engine.name,
            "version": self.version,
            "accelerator": self.accelerator.name,
            "architecture": self.accelerator.architecture,
            "capability": self.accelerator.capability or "?",
            "weights": self.weights.id if self.weights.family != "gguf" else f"{self.weights.id} (GGUF)",
            "kv_cache": self.kv_cache.id,
        }


def runnable(deployment: Deployment) -> Verdict:
    """Whether a deployment's engine runs its weights and cache on its accelerator.

    Raises:
        InvalidInput: CB-F001, the engine is unknown.
    """
    d = deployment
    return _cached(d.engine, d.engine_version, d.accelerator, d.weights, d.kv_cache, locale())


def trainable(run: TrainingRun) -> Verdict:
    """Whether a run's framework trains in its precision on its accelerator."""
    held = run.weights.id if run.method == "qlora" else run.precision
    return _trainable(run.framework or "trl", run.framework_version, run.accelerator.id, held, locale())


def _cached(
    engine: str,
    version: str,
    accelerator: Accelerator,
    weights: WeightFormat,
    kv_cache: WeightFormat,
    spoken: str,
) -> Verdict:
    key = (engine, version, accelerator.id, weights.id, kv_cache.id, spoken)
    if key not in _VERDICTS:
        found = facts.engine(engine)
        _VERDICTS[key] = judge(Stack(found, version or found.versions[-1], accelerator, weights, kv_cache))
    return _VERDICTS[key]


_VERDICTS: dict[tuple[str, ...], Verdict] = {}


@lru_cache(maxsize=4096)
def _trainable(framework: str, version: str, accelerator: str, precision: str, spoken: str) -> Verdict:
    found = facts.engine(framework)
    held, cache = facts.weight_format(precision), facts.weight_format("bf16")
    return judge(Stack(found, version or found.versions[-1], facts.accelerator(accelerator), held, cache))


def judge(stack: Stack) -> Verdict:
    """The verdict of the first rule that refuses, else of the first that has something to say."""
    spoken = [verdict for rule in RULES for verdict in rule(stack)]
    if spoken:
        return worst(spoken)
    return Verdict("runs", tr("checks.runs", **stack.names), stack.engine.source.what, "runs")


def engines_for(accelerator: Accelerator, weights: WeightFormat, kind: str = "serve") -> list[str]:
    """Names of the engines that run this weight format on this accelerator."""
    architecture = accelerator.architecture.lower()
    return [
        engine.name
        for engine in facts.engines().values()
        if engine.kind == kind and architecture in engine.architectures(weights)
    ]


def _say(stack: Stack, state: str, rule: str, source: str = "", **more: str) -> Verdict:
    sentence = tr(f"checks.{rule}", **{**stack.names, **more})
    return Verdict(state, sentence, source or stack.engine.source.what, rule)


def _listed(stack: Stack) -> Iterator[Verdict]:
    """The engine's table names the architecture, and the format on it."""
    formats = stack.engine.formats
    if not any(stack.architecture in members for members in formats.values()):
        others, on = _instead(stack), _held_on(stack)
        yield _say(stack, "no", "engine_not_there", others=", ".join(others) or tr("checks.none"), on=on)
    elif stack.architecture not in stack.engine.architectures(stack.weights):
        others = engines_for(stack.accelerator, stack.weights, stack.engine.kind)
        held = [family for family, members in formats.items() if stack.architecture in members]
        yield _say(
            stack,
            "no",
            "format_not_there",
            others=", ".join(others) or tr("checks.none"),
            held=", ".join(held),
            on=", ".join(stack.engine.architectures(stack.weights)) or tr("checks.none"),
        )


def _held_on(stack: Stack) -> str:
    """Where the engine does run."""
    return ", ".join(dict.fromkeys(one for held in stack.engine.formats.values() for one in held))


def _instead(stack: Stack) -> list[str]:
    """What runs there instead: these weights, else any weights, else the maker's own stack."""
    engines = [engine for engine in facts.engines().values() if engine.kind == stack.engine.kind]
    there = [one.name for one in engines if any(stack.architecture in held for held in one.formats.values())]
    own = engines_for(stack.accelerator, stack.weights, stack.engine.kind)
    return own or there or _own_stack(stack.accelerator)


def _own_stack(accelerator: Accelerator) -> list[str]:
    architecture = accelerator.architecture.lower()
    return [stack for start, stack in OWN_STACKS.items() if architecture.startswith(start)]


def _capability(stack: Stack) -> Iterator[Verdict]:
    """CUDA compute capability at least the engine's; vLLM kept Volta until 0.14."""
    wanted, have = stack.engine.capability_min, stack.accelerator.capability
    if not wanted or not have[:1].isdigit():
        return
    if stack.engine.id == "vllm" and () < numbers(stack.version) < (0, 15):
        wanted = "7.0"
    if numbers(have) < numbers(wanted):
        others = _instead(stack)
        yield _say(
            stack, "no", "capability_too_low", wanted=wanted, others=", ".join(others) or tr("checks.none"),
            on=_held_on(stack),
        )  # fmt: skip


def _too_old(stack: Stack) -> Iterator[Verdict]:
    """Blackwell needs CUDA 12.8 and PyTorch 2.7, which vLLM has carried since 0.9."""
    known = numbers(stack.version)  # empty for a nightly build
    if stack.architecture.startswith("blackwell") and stack.engine.id == "vllm" and () < known < (0, 9):
        source = "PyTorch wheels: RTX 50 and B200 need CUDA 12.8 builds, PyTorch 2.7 or newer"
        yield _say(stack, "no", "engine_older_than_card", source)


def _gain(stack: Stack) -> Iterator[Verdict]:
    """A format whose arithmetic the chip lacks saves memory and nothing else."""
    wanted = "mxfp4" if stack.weights.id == "mxfp4-w4a4" else DTYPE_OF.get(stack.weights.compute)
    row = facts.software().get("hw_dtype", {}).get(stack.architecture)
    if wanted is None or row is None or stack.engine.id in GGUF_ENGINES:
        return
    answer = row.get(wanted, False)
    source = "NVIDIA, AMD and Transformer Engine tables of data types by architecture"
    if answer is False:
        rule = "weight_only" if stack.accelerator.vendor == "NVIDIA" else "weight_only_there"
        yield _say(stack, "steps", rule, source, dtype=wanted.upper(), first=FIRST_WITH.get(wanted, ""))
    elif "FNUZ" in str(answer):
        yield _say(stack, "steps", "fp8_fnuz", source)


def _vllm(stack: Stack) -> Iterator[Verdict]:
    """Rules of vLLM that its table of families can't hold."""
    if stack.engine.id != "vllm":
        return
    amd, capability = stack.accelerator.vendor == "AMD", stack.accelerator.capability
    if amd and stack.weights.id.startswith("nvfp4"):
        yield _say(stack, "no", "nvfp4_on_amd")
    if stack.weights.id == "int8-w8a8" and capability[:2] in ("10", "12"):
        yield _say(stack, "no", "int8_above_10")
    if stack.weights.id == "nvfp4" and capability[:2] == "12":
        yield _say(stack, "steps", "nvfp4_on_rtx", "vllm-project/vllm#43507 (0.24 on capability 12.0)")
    if amd and stack.weights.family == "int4":
        yield _say(stack, "steps", "int4_on_amd", "vllm/platforms/rocm.py against the documentation's table")
    if stack.weights.id == "fp8-block" and capability == "8.9":
        yield _say(stack, "steps", "fp8_block_triton")
    if stack.architecture.startswith("rdna"):
        yield _say(stack, "steps", "radeon_build")


def _sglang(stack: Stack) -> Iterator[Verdict]:
    if (
        stack.engine.id == "sglang"
        and stack.weights.id == "fp8-block"
        and stack.accelerator.capability[:2] == "12"
    ):
        yield _say(stack, "steps", "fp8_block_triton")
    if stack.engine.id == "sglang" and stack.weights.id == "nvfp4" and stack.accelerator.vendor == "AMD":
        yield _say(stack, "steps", "nvfp4_petit")


def _tensorrt(stack: Stack) -> Iterator[Verdict]:
    if stack.engine.id != "tensorrt-llm":
        return
    if stack.weights.id == "fp8-block" and stack.architecture in ("ada", "blackwell-rtx"):
        yield _say(stack, "no", "fp8_block_missing")


def _cache(stack: Stack) -> Iterator[Verdict]:
    """Where an FP8 cache of keys and values exists."""
    if stack.kv_cache.family != "fp8":
        return
    if stack.engine.id in NO_FP8_CACHE:
        yield _say(stack, "no", "fp8_cache_missing")
    elif stack.architecture in ("volta", "turing", "pascal"):
        yield _say(stack, "steps", "fp8_cache_unconfirmed")


Rule = Callable[[Stack], Iterator[Verdict]]
RULES: tuple[Rule, ...] = (_capability, _vllm, _listed, _too_old, _sglang, _tensorrt, _cache, _gain)
