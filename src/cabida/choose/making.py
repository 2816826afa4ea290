"""Every lawful way to make what a media brief wants: accelerator x count x format x compiler x what is kept off it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cabida import facts, memory, timing
from cabida.brief import Acceptance, Brief, ModelChoice
from cabida.brief.jobs import Media
from cabida.choose.splits import accelerators_per_node
from cabida.facts.media import Pipeline
from cabida.facts.model import Accelerator, Model, WeightFormat
from cabida.memory import MediaMemory, SpeechMemory
from cabida.plan import Deployment, Parallel
from cabida.plan.media import MediaRun
from cabida.plan.speech import SpeechRun
from cabida.timing import MediaSpeed, SpeechSpeed

TRANSCRIPTION = "transcription"
COUNTS = {"image": (1, 2, 4), "video": (1, 2, 4, 8)}  # accelerators that work on one item together
OFFLOADS = ("none", "text", "model", "group")
COMPILERS = ("compile", "eager")
NARROW = ("fp8", "int8", "nvfp4")  # tried beside 16 bit where the brief names no format
WINDOWS = (1, 8, 24)  # of a transcription, together
MULTIPLIED = {"fp8": "fp8", "int8": "int8", "fp4": "fp4"}
SPEECH_ENGINES = ("transformers", "ctranslate2")


@dataclass(frozen=True, slots=True)
class Made:
    """One way that fits: the deployment, its memory and its speed."""

    deployment: Deployment
    room: MediaMemory | SpeechMemory
    speed: MediaSpeed | SpeechSpeed
    acceptance: Acceptance
    item_s: float  # of one item when batches follow one another
    order_s: float  # from start to end of one order

    @property
    def accelerators_count(self) -> int:
        """Accelerators of one copy."""
        return self.deployment.parallel.accelerators_count


def as_model(one: Pipeline) -> Model:
    """A pipeline as money and choice see a model: a name, weights, a format."""
    parts = facts.components_of(one)
    return Model(
        id=one.id,
        aliases=one.aliases,
        architecture="",
        task=one.task,
        hidden_dim_count=0,
        vocab_count=0,
        tied_embeddings=False,
        attention=(),
        mlp=(),
        context_tokens=None,
        params_count=sum(part.params_count * part.copies_count for part in parts),
        active_params_count=None,
        extra_params_count=0.0,
        native_format=one.precision,
        unquantised_params_count=0.0,
        licence="",
        checkpoint_bytes=None,
        source=one.source,
    )


def formats_of(choice: ModelChoice, native: str, brief: Brief) -> dict[str, Acceptance]:
    """Formats of a model with their acceptance: the brief's, else its own (and narrow ones where risk is allowed)."""
    if choice.weights:
        return choice.weights
    taken = next((item for item in brief.assumed if item.path.startswith("models[")), None)
    kept = Acceptance(float(taken.default) if taken and taken.default else 1.0, "", "assumed")
    names = (native, *(NARROW if brief.limits.risk != "low" else ()))
    return dict.fromkeys(names, kept)


def runs_on(
    media: Media,
    pipeline: Pipeline,
    weights: WeightFormat,
    accelerator: Accelerator,
    count: int,
) -> Iterator[MediaRun]:
    """Ways to run a pipeline on ``count`` accelerators working on one item."""
    rates = accelerator.flop_per_s
    precision = pipeline.precision if pipeline.precision in rates else "fp16"
    if weights.id in ("bf16", "fp16", "fp32"):
        precision = weights.id
    multiplied = MULTIPLIED.get(weights.family, "")
    plain = facts.weight_format("bf16")
    batches = (media.batch_count,) if media.batch_count else (1, 4) if pipeline.task == "image" else (1,)
    for batch in batches:
        yield MediaRun(
            pipeline=pipeline,
            accelerator=accelerator,
            width_count=media.width_count or pipeline.width_count,
            height_count=media.height_count or pipeline.height_count,
            frames_count=media.frames_count or pipeline.frames_count,
            batch_count=batch,
            steps_count=media.steps_count or pipeline.steps_count,
            weights=weights if weights.family != "bf16" else plain,
            text_weights=plain,
            precision=precision,
            accelerators_count=count,
            split="sequence" if count > 1 else "none",
            multiplied=multiplied if multiplied in rates else "",
            safety_checker=False,
        )


def made_on(
    brief: Brief, media: Media, choice: ModelChoice, accelerator: Accelerator
) -> Iterator[tuple[Made | None, str]]:
    """Every way to make the brief's items on one kind of accelerator; ``None`` with its name where it does not fit."""
    if media.kind == TRANSCRIPTION:
        yield from _transcribed(brief, choice, accelerator)
        return
    pipeline = facts.pipeline(choice.id)
    model, node = as_model(pipeline), facts.node_for(accelerator)
    most = accelerators_per_node(accelerator, node)
    for name, acceptance in formats_of(choice, pipeline.precision, brief).items():
        weights = facts.weight_format(name)
        multiplies = accelerator.vendor == "NVIDIA" and "fp4" in accelerator.flop_per_s
        if name == "nvfp4" and not multiplies and not choice.weights:
            continue  # torchao multiplies it on Blackwell and newer alone: elsewhere only a brief's own wish
        if name in ("bf16", "fp16") and name not in accelerator.flop_per_s:
            yield None, f"{pipeline.id} {name} {accelerator.name}"
            continue
        for count in COUNTS[pipeline.task]:
            if count > most:
                break
            for run in runs_on(media, pipeline, weights, accelerator, count):
                placed = _placed(run)
                if placed is None:
                    yield None, f"{pipeline.id} {name} {count}×{accelerator.name}"
                    continue
                run, room = placed
                for compiler in COMPILERS:
                    kept = replace(run, compiled=compiler == "compile")
                    speed = timing.media_speed(kept)
                    deployment = Deployment(
                        model=model,
                        accelerator=accelerator,
                        parallel=Parallel(cp=count),
                        weights=weights,
                        kv_cache=facts.weight_format("bf16"),
                        engine="diffusers",
                        node=node,
                        making=kept,
                    )
                    yield Made(deployment, room, speed, acceptance, speed.item_s, speed.batch_s), ""


def _placed(run: MediaRun) -> tuple[MediaRun, MediaMemory] | None:
    """The run with as little kept off the card as surely fits; else what fits tightly."""
    tight: tuple[MediaRun, MediaMemory] | None = None
    for offload in OFFLOADS:
        tried = replace(run, offload=offload, vae_tiling=offload != "none")
        room = memory.media(tried, bounds=False)
        if room.verdict == "fits":
            return tried, room
        if room.verdict != "no" and tight is None:
            tight = tried, room
    return tight


def _transcribed(
    brief: Brief, choice: ModelChoice, accelerator: Accelerator
) -> Iterator[tuple[Made | None, str]]:
    """Every way to write down speech on one kind of accelerator: an item is an hour of audio."""
    model = facts.model(choice.id)
    for name, acceptance in formats_of(choice, "fp16", brief).items():
        weights = facts.weight_format(name)
        if weights.family not in ("bf16", "int8"):
            continue
        for engine in SPEECH_ENGINES:
            if weights.family == "int8" and engine != "ctranslate2":
                continue
            for batch in WINDOWS if engine == "transformers" else (1,):
                run = SpeechRun(
                    model=model,
                    accelerator=accelerator,
                    weights=weights,
                    framework=engine,
                    batch_count=batch,
                    precision=name if name in ("fp16", "fp32", "bf16") else "fp16",
                )
                room = memory.speech(run)
                if room.verdict == "no":
                    yield None, f"{model.id} {name} {accelerator.name}"
                    continue
                speed = timing.speech_speed(run)
                deployment = Deployment(
                    model=model,
                    accelerator=accelerator,
                    parallel=Parallel(),
                    weights=weights,
                    kv_cache=facts.weight_format("bf16"),
                    engine=engine,
                    node=facts.node_for(accelerator),
                    making=run,
                )
                seconds = speed.s_per_audio_hour
                yield Made(deployment, room, speed, acceptance, seconds, seconds), ""
