"""How fast preference tuning goes: ``cabida speed --method dpo`` and its kin."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from cabida import facts, memory
from cabida.errors import InvalidInput
from cabida.facts.model import Accelerator, Model
from cabida.plan import Estimate, Load, Setup, TrainingRun
from cabida.plan.setup import deployment
from cabida.report.asked import refuse_load
from cabida.report.fit_asked import refuse_contradictions
from cabida.report.fit_training import lawful_run
from cabida.text import problem, size, tr
from cabida.timing.runs import preference
from cabida.timing.spread import spread_of

PHYSICS = "physics"  # no run of this kind has been measured: passes are counted, generation is simulated


def preference_answer(model: Model, gpu: str, said: dict[str, Any]) -> dict[str, Any]:
    """The answer of ``cabida speed`` for a method of :data:`cabida.timing.runs.preference.KINDS`.

    A micro-batch and the global batch count examples: pairs of dpo and orpo, answers of the others.

    Args:
        model: the policy.
        gpu: accelerator.
        said: flags of :class:`Setup`; ``trains`` = full, lora or qlora; lengths of prompt and answer.

    Raises:
        InvalidInput: names nobody knows (CB-U018, CB-U019), splits and batches that don't add up (CB-U053), answers
            longer than the model reads (CB-U063); CB-T055 the length of answers isn't said; CB-T056 no replica that
            generates fits on these accelerators; CB-T057 what is held beside the policy doesn't fit.
    """
    kind = preference.KINDS[said.pop("method")]
    trains = said.pop("trains", "full")
    prompt, answer = (said.pop(name, 0) for name in ("input_tokens", "output_tokens"))
    if kind.generates and not answer:
        raise InvalidInput(problem("CB-T055", name=kind.name))
    if kind.generates:
        said.setdefault("seq_len", prompt + answer)
    setup, card = Setup(model=model.id, gpu=gpu, method=trains, **said), facts.accelerator(gpu)
    if kind.generates:
        refuse_load(Setup(model=model.id, gpu=gpu), model, Load(prompt, answer))
    refuse_contradictions(setup, model, [card], None, None)
    run = lawful_run(setup, model, card)
    _fits(run, kind)
    rate, ends, warnings = 0.0, (1.0, 1.0), []
    if kind.generates:
        rate, ends = _generated(run, prompt, answer)
        warnings.append(tr("speed.preference.moved"))
    found = preference.preference_step(
        run, kind.name, output_tokens=answer, output_tokens_per_s=rate, judge_ratio=1.0
    )
    return {
        "kind": "preference",
        "model": run.model.id,
        "gpu": run.accelerator.id,
        "gpus": run.accelerators_count,
        "method": kind.name,
        "trains": run.method,
        "split": {name: count for name in ("tp", "pp", "cp", "ep") if (count := getattr(run, name)) > 1},
        "sharding": run.sharding,
        "precision": run.precision,
        "recompute": run.recompute,
        "seq_len": run.seq_tokens,
        "micro_batch": run.micro_batch_count,
        "global_batch": run.global_batch_count,
        "metrics": _metrics(found, ends),
        "parts_s": dict(found.parts),
        "warnings": warnings,
    }


def _metrics(found: preference.PreferenceStep, ends: tuple[float, float]) -> dict[str, Estimate]:
    """Step and rates; the interval is that of training, and of serving for what is generated."""
    generated = found.parts.get("generation", 0.0)
    learnt = found.step_s - generated
    fast_s, slow_s = (
        learnt / found.high_ratio + generated / ends[1],
        learnt / found.low_ratio + generated / ends[0],
    )
    return {
        "step_time_s": Estimate(found.step_s, fast_s, slow_s, PHYSICS),
        **{
            name: Estimate(rate, rate * found.step_s / slow_s, rate * found.step_s / fast_s, PHYSICS)
            for name, rate in (("examples_s", found.examples_per_s), ("tokens_s", found.tokens_per_s))
        },
    }


def _fits(run: TrainingRun, kind: preference.PreferenceKind) -> None:
    """Refuse what doesn't fit: the policy's training, and the models that are held beside it.

    Raises:
        InvalidInput: CB-T057.
    """
    room = memory.training(replace(run, micro_batch_count=run.micro_batch_count * kind.sequences_count))
    beside = preference.beside_bytes(run, kind.name)
    if beside > room.headroom_bytes:
        told = problem(
            "CB-T057",
            name=run.model.id,
            policy=size(room.peak_bytes),
            beside=size(beside),
            free=size(room.usable_bytes),
        )
        raise InvalidInput(told)


def _generated(run: TrainingRun, prompt: int, answer: int) -> tuple[float, tuple[float, float]]:
    """Answer tokens/s of all accelerators of the run, by the smallest replica that fits, and its interval."""
    count = 1
    while count < run.accelerators_count and not _holds(run.model, run.accelerator, count):
        count *= 2
    d = deployment(_replica(run.model, run.accelerator, count), run.model, run.accelerator)
    rate = preference.generated_tokens_per_s(
        d,
        memory.serving(d),
        input_tokens=prompt,
        output_tokens=answer,
        sequences_count=run.global_batch_count,
        accelerators_count=run.accelerators_count,
    )
    return rate, spread_of(d, Load(prompt, answer, concurrency=math.inf))["output_tokens_per_s"]


def _replica(model: Model, accelerator: Accelerator, count: int) -> Setup:
    return Setup(model=model.id, gpu=accelerator.id, gpus=count, weights="bf16")


def _holds(model: Model, accelerator: Accelerator, count: int) -> bool:
    return memory.serving(deployment(_replica(model, accelerator, count), model, accelerator)).verdict != "no"
