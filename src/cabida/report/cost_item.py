"""What an accepted image, clip, hour of speech or text costs under each offer (B7)."""

from __future__ import annotations

from typing import Any

from cabida import facts
from cabida.choose.making import as_model
from cabida.choose.media import ITEM_BYTES
from cabida.facts.media import Pipeline
from cabida.facts.model import Model
from cabida.money.bills.media import Assets
from cabida.plan import Deployment, Parallel
from cabida.report.cost_rows import Billing, Service, service_rows
from cabida.report.encoder_speed import encoder_speed_answer
from cabida.report.run_speed import run_speed_answer
from cabida.units import BYTES_PER_GB, S_PER_HOUR, S_PER_MONTH

UNITS = {"image": "accepted_image", "video": "accepted_clip"}
VECTOR_VALUE_BYTES = 4.0  # an embedding leaves as 32-bit floats


def items_answer(pipeline: Pipeline, gpu: str, billing: Billing, flags: dict[str, Any]) -> dict[str, Any]:
    """The answer of ``cabida cost`` for images and clips: made one after another, as busy as said."""
    own = {name: flags.pop(name, None) for name in ("item_bytes", "kept_months")}
    told = run_speed_answer(pipeline, gpu, flags)
    each = ITEM_BYTES.get(pipeline.task, 0.0) if own["item_bytes"] is None else own["item_bytes"]
    kept_months = 1.0 if own["kept_months"] is None else own["kept_months"]
    assets = Assets(each, kept_months, billing.moderation_money_per_output)
    deployment = Deployment(
        as_model(pipeline), facts.accelerator(told["gpu"]), Parallel(cp=told["gpus"]),
        facts.weight_format(told["weights"]), facts.weight_format("bf16"), "diffusers",
    )  # fmt: skip
    return _answer(told, deployment, told["metrics"]["seconds_per_item"].value, billing,
                   UNITS[pipeline.task], assets)  # fmt: skip


def speech_answer(model: Model, gpu: str, billing: Billing, flags: dict[str, Any]) -> dict[str, Any]:
    """The answer of ``cabida cost`` for transcription: an output is an hour of audio written down."""
    told = run_speed_answer(model, gpu, flags)
    assets = Assets(ITEM_BYTES["transcription"], 1.0, billing.moderation_money_per_output)
    deployment = Deployment(
        model, facts.accelerator(told["gpu"]), Parallel(), facts.weight_format(told["weights"]),
        facts.weight_format("bf16"), told["framework"],
    )  # fmt: skip
    return _answer(told, deployment, told["metrics"]["s_per_audio_hour"].value, billing,
                   "accepted_audio_hour", assets)  # fmt: skip


def texts_answer(model: str, gpu: str, billing: Billing, flags: dict[str, Any]) -> dict[str, Any]:
    """The answer of ``cabida cost`` for an embedder or a reranker: an output is a text, or a pair."""
    told = encoder_speed_answer(model, gpu, flags)
    found = facts.model(told["model"])
    sent = found.hidden_dim_count * VECTOR_VALUE_BYTES if found.task == "embedding" else VECTOR_VALUE_BYTES
    deployment = Deployment(
        found, facts.accelerator(told["gpu"]), Parallel(), facts.weight_format(told["weights"]),
        facts.weight_format("bf16"), told["engine"],
    )  # fmt: skip
    return _answer(told, deployment, 1 / told["metrics"]["items_s"].value, billing,
                   "accepted_text", Assets(sent, 0.0, billing.moderation_money_per_output))  # fmt: skip


def _answer(
    told: dict[str, Any],
    deployment: Deployment,
    item_s: float,
    billing: Billing,
    unit: str,
    assets: Assets,
) -> dict[str, Any]:
    tried = billing.utilisation_ratio * float(S_PER_MONTH) / item_s
    asked_for = tried / billing.attempts_ratio()
    terms = billing.terms()
    accepted = asked_for * (1 - (1 - billing.acceptance_ratio) ** (1 + billing.retries_count))
    held_gb = (deployment.model.params_count or 0.0) * deployment.weights.body_bits / 8 / float(BYTES_PER_GB)
    usage = billing.usage(
        asked_for,
        stored_gb=terms.base("extra_stored_gb") + held_gb + assets.stored_gb(accepted),
        egress_gb_per_month=assets.sent_gb(accepted),
    )
    return {
        **told,
        "as_of": billing.as_of,
        "currency": billing.currency,
        "utilisation": billing.utilisation_ratio,
        "items_per_hour": float(S_PER_HOUR) / item_s,
        **service_rows(Service(deployment, usage, f"{unit}_money", assets=assets), billing, terms),
    }
