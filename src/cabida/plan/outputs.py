"""What one output costs is often a thousandth of a cent: told per thousand or per million, the same everywhere."""

from __future__ import annotations

from collections.abc import Iterable

from cabida.brief import Brief
from cabida.text import has_text, money, tr

PER_THOUSAND_BELOW = 0.01
PER_MILLION_BELOW = 1e-5

DENOMINATORS = {
    "media-generation": "accepted_asset",
    "realtime-inference": "accepted_answer",
    "batch-inference": "accepted_record",
    "retrieval": "accepted_answer",
    "evaluation": "accepted_verdict",
    "adapter-finetune": "accepted_model",
    "full-finetune": "accepted_model",
    "pretraining": "completed_run",
}


def denominator_of(brief: Brief) -> str:
    """What a brief's cost is per: an accepted answer, record, model, asset, or hour of audio."""
    if brief.media is not None and brief.media.kind == "transcription":
        return "accepted_audio_hour"
    return DENOMINATORS[brief.workload]


def output_scale(amounts: Iterable[float]) -> float:
    """One scale (1, 1,000 or 1,000,000 outputs) for all of these costs of one output."""
    smallest = min((abs(one) for one in amounts if one), default=1.0)
    if smallest < PER_MILLION_BELOW:
        return 1e6
    return 1e3 if smallest < PER_THOUSAND_BELOW else 1.0


def per_output(denominator: str, scale: float) -> str:
    """``per accepted answer``, ``per thousand accepted answers``."""
    many = {1e3: tr("report.thousand"), 1e6: tr("report.million")}.get(scale, "")
    kind = "per_many" if many else "per"
    key = f"report.{kind}.{denominator}"
    if has_text(key):
        return tr(key, many=many)
    return tr(f"report.{kind}.other", name=denominator.replace("_", " "), many=many)


def output_cost(amount: float, currency: str, denominator: str, scale: float) -> str:
    """``0.74 EUR per thousand accepted answers``."""
    told = money(amount * scale, currency, 3 if scale == 1.0 else 2)
    return f"{told} {per_output(denominator, scale)}"
