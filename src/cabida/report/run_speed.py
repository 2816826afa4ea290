"""How fast a training run is, how long an image, a clip or an hour of speech takes: ``cabida speed`` beyond serving."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from cabida import facts, memory, timing
from cabida.errors import InvalidInput, UsageProblem
from cabida.facts.media import Pipeline
from cabida.facts.model import Model
from cabida.facts.models import find_model
from cabida.plan import Estimate, Setup, TrainingRun
from cabida.plan.speech import SpeechRun
from cabida.report.beyond_fits import Beyond
from cabida.report.fit_asked import refuse_contradictions
from cabida.report.fit_training import lawful_run
from cabida.report.media_fits import media_run
from cabida.report.preference_speed import preference_answer
from cabida.text import problem, tr
from cabida.timing.runs.preference import KINDS
from cabida.timing.runs.training_answer import TrainingAnswer

TRAINING = (
    "method", "optimizer", "sharding", "seq_len", "micro_batch", "global_batch", "recompute", "target_tokens",
)  # fmt: skip
SIZES = ("width", "height", "frames", "batch", "steps")  # of images and clips
OF_MODEL = ("gpus", "nodes", "tp", "pp", "dp", "ep", "cp", "weights", "lora_rank", "used_bytes")
PREFERENCE = ("trains", "input_tokens", "output_tokens", "precision", "framework", "offload")
BOTH = ("precision", "framework", "offload", "storage", "cluster")
# that ``cabida fit`` takes too
FIT_FLAGS = {*TRAINING, *SIZES, *OF_MODEL, "precision", "framework", "offload"} - {
    "target_tokens",
    "used_bytes",
}
SPEECH_BATCH = 16
TYPED = {
    "within_s": "within", "start_s": "start", "compiled": "compile", "input_spread_ratio": "input_spread",
    "output_spread_ratio": "output_spread", "burst_ratio": "burst", "prompts_count": "prompts",
    "cached_ratio": "cached", "prefixes_count": "prefixes", "turns_count": "turns",
    "turn_gap_s": "turn_gap", "adapters_count": "adapters",
    "ramp_s": "ramp", "lora_slots": "max_loras", "used_bytes": "in_use",
}  # fmt: skip
PLAN = (
    "bytes",
    "write_s",
    "restore_s",
    "stop_s",
    "young_s",
    "interval_s",
    "goodput_ratio",
    "storage",
    "cluster",
)
SPEECH_FRAMEWORKS = ("ctranslate2", "transformers")
IDLE_DEFAULTS: dict[str, Any] = {
    "burst_ratio": 1.0, "prefixes_count": 1, "turns_count": 1, "turn_gap_s": 30.0, "replicas": 1, "lora_rank": 16,
    "optimizer": "adamw", "seq_len": 2048, "micro_batch": 1, "precision": "bf16", "offload": "none",
}  # fmt: skip


def beyond_serving(model: str, flags: Mapping[str, Any]) -> Pipeline | Model | None:
    """The pipeline or speech model that a name stands for; the model itself when training is asked about."""
    pipeline = None if "/" in model and model.startswith((".", "/")) else facts.find_pipeline(model)
    if pipeline is not None:
        return pipeline
    if flags.get("method"):
        return facts.model(model)
    found = None if model.startswith((".", "/")) else find_model(model)
    return found if found is not None and found.task == "speech" else None


def run_speed_answer(about: Pipeline | Model, gpu: str, flags: dict[str, Any]) -> dict[str, Any]:
    """The answer of ``cabida speed`` for a training run, a pipeline or a transcription.

    Args:
        about: as :func:`beyond_serving` gives it.
        gpu: accelerator.
        flags: of :class:`Setup`, ``Beyond``, and ``storage`` and ``cluster`` of a training run.

    Raises:
        UsageProblem: CB-U046, flags that nothing in such a question uses.
        InvalidInput: an unknown word, a split that doesn't add up, an accelerator without the rate it needs.
    """
    said = _said(flags)
    if isinstance(about, Pipeline):
        used = {*SIZES, *OF_MODEL, "precision", "framework", "offload", "compiled", "text_weights"}
        if about.task == "video":
            refuse_unused(said, used, "media")
        else:
            refuse_unused(said, used - {"frames"}, "image")
        return _media(about, gpu, said)
    if said.get("method") in KINDS:
        used = {*TRAINING, *OF_MODEL, *PREFERENCE} - {"target_tokens"}
        if KINDS[said["method"]].generates:
            refuse_unused(said, used, "preference")
        else:
            refuse_unused(said, used - {"input_tokens", "output_tokens"}, "pairs")
        return preference_answer(about, gpu, said)
    if said.get("method"):
        return training_worked(about, gpu, said)[0]
    if said.get("gpus") == 1:
        del said["gpus"]
    refuse_unused(said, {"weights", "batch", "precision", "framework"}, "speech")
    return _speech(about, gpu, said)


def _said(flags: Mapping[str, Any]) -> dict[str, Any]:
    """What was typed, without what stands at its default."""
    return {
        name: value
        for name, value in flags.items()
        if value not in (None, "", 0, 0.0, False, ()) and value != IDLE_DEFAULTS.get(name)
    }


def refuse_unused(said: Mapping[str, Any], used: set[str], kind: str) -> None:
    """Refuse what a question of this kind has no use for.

    Raises:
        UsageProblem: CB-U046, with all of it.
    """
    if idle := [name for name in said if name not in used]:
        names = ", ".join(map(as_typed, idle))
        about, cure = tr(f"speed.about.{kind}"), tr(f"speed.takes.{kind}")
        raise UsageProblem([problem("CB-U046", flags=names, kind=about, cure=cure)])


def as_typed(name: str) -> str:
    """A flag as it is typed; objectives are named for their metrics (``ttft_ms_p95``)."""
    metric, _, statistic = name.partition("_ms_")
    words = f"{metric}_{statistic}_ms" if statistic else TYPED.get(name, name)
    return f"--{words.replace('_', '-')}"


def _fits(name: str, verdict: str, gpu: str, said: Mapping[str, Any]) -> None:
    """Refuse what does not fit, with the command that says what to change: the same flags, asked of ``fit``.

    Raises:
        InvalidInput: CB-U011.
    """
    if verdict == "no":
        typed = [f"{as_typed(flag)} {value}" for flag, value in said.items() if flag in FIT_FLAGS]
        command = " ".join(["cabida fit", name, "--gpu", gpu, *typed])
        raise InvalidInput([problem("CB-U011", name=name, how=tr("speed.ask_fit", command=command))])


def training_worked(
    model: Model, gpu: str, flags: Mapping[str, Any]
) -> tuple[dict[str, Any], TrainingRun, TrainingAnswer]:
    """The answer for a training run, with the run and its figures; raises as :func:`run_speed_answer`."""
    said = _said(flags)
    refuse_unused(said, {*TRAINING, *OF_MODEL, *BOTH}, "training")
    storage = {name: said.pop(name) for name in ("storage", "cluster") if name in said}
    setup = Setup(model=model.id, gpu=gpu, **said)
    refuse_contradictions(setup, model, [facts.accelerator(gpu)], None, None)
    run = lawful_run(setup, model, facts.accelerator(gpu))
    mem = memory.training(run)
    _fits(run.model.id, mem.verdict, run.accelerator.id, said)
    answer = timing.training_answer(run, mem, **storage)
    plan = answer.checkpoints
    told = {
        "kind": "training",
        "model": run.model.id,
        "gpu": run.accelerator.id,
        "gpus": run.accelerators_count,
        "method": run.method,
        "split": {name: size for name in ("tp", "pp", "cp", "ep") if (size := getattr(run, name)) > 1},
        "sharding": run.sharding,
        "precision": run.precision,
        "recompute": run.recompute,
        "seq_len": run.seq_tokens,
        "micro_batch": run.micro_batch_count,
        "global_batch": run.global_batch_count,
        "metrics": {
            name: Estimate(one.value, one.low, one.high, one.basis) for name, one in answer.metrics.items()
        },
        "parts_s": dict(answer.parts_s),
        "mfu_by_convention": answer.mfu_by_convention,
        "peak": answer.peak,
        "checkpoints": {name: getattr(plan, name) for name in PLAN},
        "scaling": {
            "strong": [asdict(one) for one in answer.strong],
            "weak": [asdict(one) for one in answer.weak],
        },
        "wall_ratio": Estimate(**asdict(answer.wall_ratio)),
        "warnings": [],
    }
    return told, run, answer


def _media(pipeline: Pipeline, gpu: str, said: dict[str, Any]) -> dict[str, Any]:
    typed = dict(said)
    own = Beyond(**{name: said.pop(name) for name in (*SIZES, "text_weights") if name in said})
    compiled = bool(said.pop("compiled", False))
    setup = Setup(model=pipeline.id, gpu=gpu, **said)
    run = replace(media_run(setup, own, pipeline, facts.accelerator(gpu)), compiled=compiled)
    _fits(pipeline.id, memory.media(run, bounds=False).verdict, run.accelerator.id, typed)
    found = timing.media_speed(run)
    spread = {"seconds_per_item": (1.0, 1.0), "it_s": (1.0, 1.0)} | found.spread

    def near(name: str, value: float) -> Estimate:
        low, high = spread[name]
        return Estimate(value, value * low, value * high, found.basis)

    low, high = spread["seconds_per_item"]
    made = near("seconds_per_item", found.batch_s)  # of a batch, or of a copy: what one waits for
    return {
        "kind": "media",
        "model": pipeline.id,
        "task": pipeline.task,
        "gpu": run.accelerator.id,
        "gpus": run.accelerators_count,
        "width": run.width_count,
        "height": run.height_count,
        "frames": run.frames_count,
        "steps": run.steps_count,
        "batch": run.batch_count,
        "weights": run.weights.id,
        "precision": run.precision,
        "compiler": run.compiler,
        "metrics": {
            **({"made_s": made} if found.batch_s > 1.001 * found.item_s else {}),
            "seconds_per_item": near("seconds_per_item", found.item_s),
            "it_s": near("it_s", found.steps_per_s),
            "items_per_hour": Estimate(
                found.items_per_hour, found.items_per_hour / high, found.items_per_hour / low, found.basis
            ),
        },
        "parts_s": {name: value for name, value in found.parts.items() if value > 0},
        "warnings": [],
    }


def _speech(model: Model, gpu: str, said: dict[str, Any]) -> dict[str, Any]:
    from cabida.timing.stages.speech import speech_speed

    framework = said.get("framework", "ctranslate2")
    if framework not in SPEECH_FRAMEWORKS:
        known = ", ".join(SPEECH_FRAMEWORKS)
        raise UsageProblem([problem("CB-U019", flag="--framework", name=framework, known=known)])
    run = SpeechRun(
        model=model,
        accelerator=facts.accelerator(gpu),
        weights=facts.weight_format(said.get("weights", "fp16")),
        framework=framework,
        batch_count=said.get("batch", SPEECH_BATCH),
        precision=said.get("precision", "fp16"),
    )
    found = speech_speed(run)
    low, high = found.spread.get("s_per_audio_hour") or next(iter(found.spread.values()), (1.0, 1.0))
    seconds, ratio = found.s_per_audio_hour, found.real_time_ratio
    return {
        "kind": "speech",
        "model": model.id,
        "gpu": run.accelerator.id,
        "gpus": 1,
        "weights": run.weights.id,
        "precision": run.precision,
        "framework": framework,
        "batch": run.batch_count,
        "metrics": {
            "s_per_audio_hour": Estimate(seconds, seconds * low, seconds * high, found.basis),
            "real_time_ratio": Estimate(ratio, ratio / high, ratio / low, found.basis),
        },
        "parts_s": {name: value for name, value in found.parts.items() if value > 0},
        "warnings": [],
    }


def serving_flags(flags: Mapping[str, Any]) -> dict[str, Any]:
    """The flags of a deployment that serves; those of runs and pipelines must not have been typed.

    Raises:
        UsageProblem: CB-U046, with all that were.
    """
    others = {*TRAINING, *SIZES, *BOTH, "trains", "compiled", "text_weights"}
    idle = [name for name in others if flags.get(name) and flags[name] != IDLE_DEFAULTS.get(name)]
    if idle:
        names = ", ".join(map(as_typed, sorted(idle)))
        about, cure = tr("speed.about.serving"), tr("speed.takes.serving")
        raise UsageProblem([problem("CB-U046", flags=names, kind=about, cure=cure)])
    return {name: value for name, value in flags.items() if name not in others}
