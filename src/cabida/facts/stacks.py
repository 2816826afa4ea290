"""The nouns of software that runs together: releases by date, and which part runs where.

A table of releases says what each was built with and needs; a table of parts says, row by row, where a kernel, a
library, a backend or a feature of the hardware is there, there with steps, or not there. The first row that applies
decides. What no row says is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cabida.facts.model import Sourced
from cabida.quantity import Source


@dataclass(frozen=True, slots=True)
class Release(Sourced):
    """One release of an engine or a framework, with its floors. "" and () = not printed."""

    id: str  # "vllm-0.31.0"
    name: str  # vllm, pytorch, ...: an Engine.id or the name of a part
    version: str
    source: Source
    released: str = ""  # ISO date or month it was out by; "" = only known from the day its source was seen
    python: str = ""  # ">=3.10 <3.15"
    torch: str = ""  # the PyTorch it is built for
    cuda: tuple[str, ...] = ()  # toolkits it is built with, the usual first
    rocm: str = ""
    capability_min: str = ""
    processors: tuple[str, ...] = ()  # x86_64, aarch64: with wheels
    image: str = ""  # container the maker publishes, with its tag
    rocm_image: str = ""
    field_sources: dict[str, Source] = field(default_factory=dict)

    @property
    def known_by(self) -> str:
        """ISO date from which one could know of it."""
        return (self.released + "-01")[:10] if self.released else self.source.seen


@dataclass(frozen=True, slots=True)
class Part(Sourced):
    """Where one part of a stack runs. Empty conditions apply to everything."""

    id: str
    name: str  # key of the part: flash-attention-3, xformers, peer, nvlink, ...
    kind: str  # kernel | library | backend | engine | feature
    state: str  # runs | steps | no
    source: Source
    places: tuple[
        str, ...
    ] = ()  # architectures, gfx names, capabilities, makers, segments, ids (all lower case)
    besides: tuple[str, ...] = ()  # the same, left out
    systems: tuple[str, ...] = ()  # linux, windows, wsl, mac
    processors: tuple[str, ...] = ()  # x86_64, aarch64
    dtypes: tuple[str, ...] = ()  # of the weights or the cache, by format family or id
    version_min: str = ""
    version_most: str = ""
    dims_most: int = 0  # of an attention head; 0 = not said
    needs: dict[str, str] = field(default_factory=dict)  # part -> lowest version: cuda, rocm, driver, pytorch
    says: str = ""  # key of the checks catalogue, "" = the usual sentence
    near: str = ""  # the nearest that runs, names only
    field_sources: dict[str, Source] = field(default_factory=dict)
