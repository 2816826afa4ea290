"""Flags of ``fit`` about images and clips, embedders and vector indexes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from cabida.faces.words import Figure, option
from cabida.text import tr

F = TypeVar("F", bound=Callable[..., Any])
SIDE = click.IntRange(64, 16384)
COUNT = click.IntRange(1, 1 << 20)
# plan.index has them too; help must load nothing heavy
KINDS = ("flat", "hnsw", "ivf-flat", "ivf-pq", "cagra")
STORED = ("fp32", "fp16", "int8", "binary")
MANY = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9}
MOST_VECTORS = 1e12


def _many(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """A number of vectors as people say it: ``10M``, ``250k``, ``1.5B``, ``1e6``."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?(?:e\d{1,2})?)\s*([kmb]?)\s*", text.lower().replace("_", ""))
    count = float(found[1]) * MANY[found[2]] if found else 0.0
    if not 1 <= count <= MOST_VECTORS:
        raise click.BadParameter(tr("faces.no_vectors", text=text[:60]))
    return count


def beyond(function: F) -> F:
    """What a language model has no use for."""
    for declare in reversed(
        [
            option("--width", type=SIDE, heading="media"),
            option("--height", type=SIDE),
            option("--frames", type=click.IntRange(1, 4096)),
            option("--batch", type=COUNT),
            option("--steps", type=click.IntRange(1, 1000)),
            option("--text-weights", metavar="FORMAT"),
            option("--text-on-cpu", is_flag=True),
            option("--vae-tiling", is_flag=True),
            option("--vae-slicing", is_flag=True),
            option("--eager-attention", is_flag=True),
            option("--no-safety-checker", is_flag=True),
            option("--input-tokens", heading="encoders", type=click.IntRange(1, 1 << 24)),
            option("--vectors", metavar="N", callback=_many, heading="index"),
            option("--dims", type=click.IntRange(1, 65536)),
            option("--index", type=click.Choice(KINDS)),
            option("--stored", type=click.Choice(STORED)),
            option("--links", type=click.IntRange(2, 1024)),
            option("--lists", type=click.IntRange(1, 1 << 30)),
            option("--codes", type=click.IntRange(1, 65536)),
            option("--graph-degree", type=click.IntRange(1, 1024)),
            option("--intermediate-degree", type=click.IntRange(1, 2048)),
            option("--keep-vectors", is_flag=True),
            option("--payload-bytes", type=Figure(0, 1e9)),
            option("--growth", type=Figure(0, 1000)),
            option("--replicas", type=click.IntRange(1, 10000)),
        ]
    ):
        function = declare(function)
    return function
