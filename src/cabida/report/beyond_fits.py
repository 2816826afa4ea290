"""``fit`` beyond language models: images and clips, embedders and rerankers, vector indexes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from cabida import facts
from cabida.errors import InvalidInput, UsageProblem
from cabida.facts.known import names_only
from cabida.facts.model import Model
from cabida.facts.models import find_model
from cabida.plan import Setup
from cabida.report.fit_asked import flag, refuse_idle, refuse_unknown
from cabida.text import problem

ENCODERS = ("embedding", "rerank")
MEDIA = ("image", "video")


@dataclass(frozen=True, slots=True)
class Beyond:
    """Flags that a language model has no use for, as typed. ``None`` = the usual."""

    width: int | None = None
    height: int | None = None
    frames: int | None = None
    batch: int | None = None
    steps: int | None = None
    text_weights: str | None = None
    text_on_cpu: bool = False
    vae_tiling: bool = False
    vae_slicing: bool = False
    eager_attention: bool = False
    no_safety_checker: bool = False
    input_tokens: int | None = None
    vectors: float | None = None
    dims: int | None = None
    index: str | None = None
    stored: str | None = None
    links: int | None = None
    lists: int | None = None
    codes: int | None = None
    graph_degree: int | None = None
    intermediate_degree: int | None = None
    keep_vectors: bool = False
    payload_bytes: float | None = None
    growth: float | None = None
    replicas: int | None = None

    @property
    def names(self) -> list[str]:
        """The fields that were typed."""
        return [one.name for one in fields(self) if getattr(self, one.name) not in (None, False)]

    @property
    def given(self) -> list[str]:
        """The flags that were typed."""
        return [flag(name) for name in self.names]


def parted(flags: dict[str, Any]) -> tuple[Beyond, dict[str, Any]]:
    """The flags of this file, and those of :class:`Setup`."""
    names = {one.name for one in fields(Beyond)}
    own = {name: value for name, value in flags.items() if name in names}
    return Beyond(**own), {name: value for name, value in flags.items() if name not in names}


def beyond_fit(
    setup: Setup, own: Beyond, gpus: Sequence[str], as_of: str | None, also: Sequence[str] = ()
) -> dict[str, Any] | None:
    """The answer, when what is asked about is no language model; ``None`` when it is one.

    Args:
        setup: what was typed.
        own: the flags of this file.
        gpus: accelerators by id or name.
        as_of: leaves out accelerators that came later.
        also: other flags that were typed, by name.

    Raises:
        UsageProblem: CB-U040, CB-U046, flags that don't go with what is asked about.
        InvalidInput: something named is unknown, or training of what makes images or clips is asked about (CB-U044).
    """
    refuse_unknown(setup, gpus, own.text_weights)
    more = [*own.names, *also]
    if own.vectors is not None or own.index is not None:
        refuse_idle(own.index or "hnsw", setup, more)
        from cabida.report.index_fits import index_fit

        return index_fit(setup, own, gpus, as_of)
    if setup.model is None and gpus and own.given and not setup.method:
        from cabida.report.media_fits import every_pipeline

        refuse_idle("video" if own.frames else "image", setup, more)
        return every_pipeline(setup, own, gpus)
    pipeline = None
    if setup.model and not _is_path(setup.model):
        pipeline = facts.find_pipeline(setup.model)
    if pipeline is not None and setup.method:
        raise InvalidInput([problem("CB-U044", model=(setup.model or "")[:100])])
    if pipeline is not None:
        from cabida.report.media_fits import media_fit

        refuse_idle(pipeline.task, setup, more)
        return media_fit(setup, own, pipeline, gpus, as_of)
    model = facts.model(setup.model) if setup.model else None
    if model is not None and setup.method and model.task in MEDIA and not model.context_tokens:
        raise InvalidInput([problem("CB-U044", model=(setup.model or "")[:100])])
    if model is not None and not setup.method and encodes(setup.model or "", model):
        from cabida.report.encoder_fits import encoder_fit

        refuse_idle("encoder", setup, more)
        return encoder_fit(setup, own, model, gpus, as_of)
    if model is not None and model.task in MEDIA and not setup.method and not model.context_tokens:
        raise InvalidInput([problem("CB-F050", ref=model.id, nearest=", ".join([*facts.pipelines()][:3]))])
    if own.given and (setup.model or gpus):
        raise UsageProblem([problem("CB-U040", flags=", ".join(own.given), model=setup.model or "MODEL")])
    return None


def refuse_beyond(ref: str) -> None:
    """``here`` looks for what runs language models: anything else is asked about card by card.

    Raises:
        InvalidInput: CB-U043, ``ref`` makes images or clips, or encodes texts.
    """
    model = find_model(ref) if ref and not _is_path(ref) else None
    encoder = model is not None and encodes(ref, model)
    if encoder or (ref and not _is_path(ref) and facts.find_pipeline(ref) is not None):
        raise InvalidInput([problem("CB-U043", model=ref[:100])])


def encodes(ref: str, model: Model) -> bool:
    """Whether a model is an embedder or a reranker: by its record, or by its name where a decoder is recorded."""
    return model.task in ENCODERS or bool(
        re.search(r"embed|rerank|\b(e5|gte|bge)-", ref.lower().rsplit("/", 1)[-1])
    )


def _is_path(ref: str) -> bool:
    try:
        return ref.startswith((".", "/", "~")) or (not names_only() and Path(ref).exists())
    except (OSError, ValueError):
        return True
