"""What we say of a measured transcription: seconds that its audio takes."""

from __future__ import annotations

import re
from typing import Any

from cabida import facts
from cabida.plan.speech import SpeechRun
from cabida.text import tr
from cabida.timing.stages.speech import speech_speed
from cabida.truth.case import Figures
from cabida.truth.names import Unanswerable, accelerator_of, known_model, reading
from cabida.units import S_PER_HOUR


@reading
def speech_figures(row: dict[str, Any]) -> Figures:
    """Seconds of a transcription, with their interval.

    Raises:
        Unanswerable: the model or the card isn't one we know, or the length of the audio isn't said.
    """
    model = known_model(str(row["model"])) or known_model(
        re.sub(r"^whisper-(?=distil)", "", str(row["model"]))
    )
    if model is None:
        why = tr("truth.why.unknown_model", model=row["model"])
        raise Unanswerable(why)
    audio_s = row["measured"].get("audio_seconds")
    if not audio_s:
        why = tr("truth.why.audio")
        raise Unanswerable(why)
    text = " ".join(str(one).lower() for one in row.get("optimisations") or ())
    batch = re.search(r"batch\s*(\d+)", text)
    precision = str(row.get("precision") or "fp16")
    native = precision in ("fp16", "bf16", "fp32")
    flash = any(word in text for word in ("fa2", "flash", "sdpa"))
    run = SpeechRun(
        model=model,
        accelerator=accelerator_of(row),
        weights=facts.weight_format("bf16" if native else precision),
        framework="ctranslate2" if "faster" in text or "ctranslate" in text else "transformers",
        batch_count=int(batch[1]) if batch else int(row.get("batch") or 1),
        precision=precision if native else "fp16",
        attention="flash" if flash or "faster" in text else "eager",
    )
    found = speech_speed(run)
    seconds = found.s_per_audio_hour * float(audio_s) / float(S_PER_HOUR)
    low, high = found.spread["seconds_per_item"]
    return {"seconds_per_item": (seconds, seconds * low, seconds * high)}
