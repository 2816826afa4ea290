"""Every lawful way to serve the brief's models: format x accelerator x split x cache x engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cabida import facts
from cabida.brief import Acceptance, Brief
from cabida.choose.splits import serving_splits
from cabida.facts.model import Accelerator, Model, WeightFormat
from cabida.plan import Deployment, Settings
from cabida.quantity import ceil_to

SERVER_ENGINES = ("vllm", "sglang", "tensorrt-llm")
SEGMENTS_WITHOUT_SERVERS = ("apple", "tpu")
CONTEXT_STEP_TOKENS = 256


@dataclass(frozen=True, slots=True)
class Served:
    """A model in one weight format with the acceptance the brief knows for it."""

    model: Model
    weights: WeightFormat
    acceptance: Acceptance


def served_models(brief: Brief) -> list[Served]:
    """The brief's models in each weight format it allows; all that make sense when it names none."""
    found: list[Served] = []
    for choice in brief.models:
        model = facts.model(choice.id)
        named = choice.weights or dict.fromkeys(_usual_formats(model), Acceptance())
        found += [Served(model, facts.weight_format(name), acceptance) for name, acceptance in named.items()]
    return found


def _usual_formats(model: Model) -> tuple[str, ...]:
    """What people serve a model in when nobody says: its own checkpoint, FP8, four bits, and a GGUF."""
    if model.container == "gguf":
        return (model.native_format,)
    return tuple(dict.fromkeys((model.native_format or "bf16", "bf16", "fp8", "awq-int4", "nvfp4", "q4_k_m")))


def accelerators_in_reach(brief: Brief, held: set[str], priced: set[str]) -> list[Accelerator]:
    """Accelerators the brief permits and that can be had: owned, contracted, or under an offer."""
    allowed = set(brief.consider.accelerators)
    return [
        accelerator
        for accelerator in facts.accelerators().values()
        if (accelerator.id in priced and (not allowed or accelerator.id in allowed)) or accelerator.id in held
    ]


def engines_for(
    accelerator: Accelerator, weights: WeightFormat, brief: Brief, container: str = ""
) -> tuple[str, ...]:
    """Engines worth trying: llama.cpp for GGUF, the servers for all else; none of these where they don't exist."""
    engines: tuple[str, ...] = SERVER_ENGINES
    if "gguf" in (weights.family, container):
        engines = ("llama.cpp",)
    elif accelerator.segment in SEGMENTS_WITHOUT_SERVERS:
        engines = ()
    return tuple(name for name in engines if not brief.consider.engines or name in brief.consider.engines)


def caches_for(accelerator: Accelerator, weights: WeightFormat, brief: Brief) -> tuple[str, ...]:
    """Key-value cache types: 16 bit always; FP8 where the card has it and the brief takes some risk."""
    if weights.family == "gguf":
        return ("fp16",)
    judged = brief.evaluation is not None  # a model is judged as it is, not with a narrower cache
    wide = "bf16" if accelerator.flop_per_s.get("bf16") else "fp16"
    return (
        (wide, "fp8")
        if "fp8" in accelerator.flop_per_s and brief.limits.risk != "low" and not judged
        else (wide,)
    )


def context_needed_tokens(brief: Brief) -> int:
    """Room one request needs: its longest prompt and answer, rounded up; the p99 when no maximum was said."""
    traffic = brief.traffic
    lengths = [part for part in (traffic.input, traffic.output) if part is not None]
    longest = sum(part.max_tokens if "max" in part.said else part.p99_tokens for part in lengths)
    return int(ceil_to(max(longest, 1.0), CONTEXT_STEP_TOKENS))


def serving_deployments(
    served: list[Served], accelerators: list[Accelerator], brief: Brief
) -> Iterator[tuple[Deployment, Served]]:
    """All lawful deployments of one replica, with the model and acceptance each serves."""
    context = context_needed_tokens(brief)
    desktops = {held.accelerator for held in brief.have if held.desktop}
    for one in served:
        for accelerator in accelerators:
            node = facts.node_for(accelerator)
            settings = Settings(max_model_len=context, desktop=accelerator.id in desktops)
            for parallel in serving_splits(one.model, accelerator, node):
                if (
                    brief.consider.accelerators_max_count
                    and parallel.accelerators_count > brief.consider.accelerators_max_count
                ):
                    continue
                for engine in engines_for(accelerator, one.weights, brief, one.model.container):
                    for cache in caches_for(accelerator, one.weights, brief):
                        yield (
                            Deployment(
                                model=one.model,
                                accelerator=accelerator,
                                parallel=parallel,
                                weights=one.weights,
                                kv_cache=facts.weight_format(cache),
                                engine=engine,
                                settings=settings,
                                node=node,
                            ),
                            one,
                        )
