"""``fit``, and the flags it shares with ``speed`` (``commands_speed``) and ``cost`` (``commands_cost``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from cabida.errors import UsageProblem
from cabida.faces.media_options import beyond
from cabida.faces.output import emit
from cabida.faces.words import Command, Figure, option, shared
from cabida.text import problem, tr

F = TypeVar("F", bound=Callable[..., Any])
COUNT = click.IntRange(1, 10**9)
SIZE = Figure(min=0, min_open=True)
TOKENS = Figure(min=1, max=1e9)
LONGEST_VERSION = 100
MOST_BYTES = 2.0**60
SEED = click.IntRange(min=0)


def engine_version_of(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """Callback of ``--engine-version``: short, and with a digit."""
    if text and (len(text) > LONGEST_VERSION or not any(letter.isdigit() for letter in text)):
        raise click.BadParameter(tr("faces.no_version", text=text[:LONGEST_VERSION]))
    return text


def size_of(_: click.Context, __: click.Parameter, text: str) -> float:
    """Bytes of a size as people write it; refuses what is less than nothing."""
    from cabida.units import parse

    try:
        found = parse(text, "bytes")
    except ValueError:
        found = -1.0
    if not isinstance(found, float) or not 0 <= found < MOST_BYTES:
        raise click.BadParameter(tr("faces.no_size", text=text))
    return found


def _gib(_: click.Context, __: click.Parameter, size: float) -> float:
    """Bytes of what vLLM calls GB."""
    return size * 2.0**30


def _stages(_: click.Context, __: click.Parameter, text: str | None) -> tuple[int, ...]:
    """Layers of each pipeline stage: ``16,16,15,15``."""
    if text is None:
        return ()
    counts = [one.strip() for one in text.split(",")]
    if not all(one.isascii() and one.isdigit() and int(one[:9]) > 0 and len(one) < 5 for one in counts):
        raise click.BadParameter(tr("faces.no_stages", text=text[:60]))
    return tuple(int(one) for one in counts)


def setup(function: F) -> F:
    """The flags of a deployment, under the engines' own names, ``--gpu`` aside."""
    for declare in reversed(
        [
            option("--gpus", type=COUNT),
            option("--nodes", type=COUNT),
            option("--tp", type=COUNT),
            option("--pp", type=COUNT),
            option("--dp", type=COUNT),
            option("--ep", type=COUNT),
            option("--cp", type=COUNT),
            option("--weights", metavar="FORMAT"),
            option("--kv-cache", metavar="DTYPE"),
            option("--engine", metavar="NAME"),
            option("--engine-version", metavar="V", default="", callback=engine_version_of),
            option("--max-model-len", type=COUNT),
            option("--max-num-seqs", type=COUNT),
            option("--max-num-batched-tokens", type=COUNT),
            option("--gpu-memory-utilization", type=Figure(0, 1, min_open=True)),
            option("--enforce-eager", is_flag=True),
            option("--draft", metavar="NAME"),
            option("--draft-tokens", type=COUNT),
            option("--max-loras", "lora_slots", type=click.IntRange(min=0), default=0),
            option("--lora-rank", type=COUNT, default=16, show_default=True),
            option("--in-use", "used_bytes", metavar="SIZE", default="0 B", callback=size_of),
        ]
    ):
        function = declare(function)
    return function


def load(function: F) -> F:
    """The flags of a load."""
    for declare in (
        option("--requests-per-s", type=SIZE),
        option("--concurrency", type=SIZE),
        option("--output-tokens", type=TOKENS),
        option("--input-tokens", type=TOKENS),
    ):
        function = declare(function)
    return function


def placement(function: F) -> F:
    """Where layers, experts, cache and weights lie, when not as usual: it counts for memory alone."""
    for declare in reversed(
        [
            option("--layer-partition", metavar="N,N,...", callback=_stages),
            option("--redundant-experts", type=click.IntRange(0, 4096), default=0),
            option("--decode-context-parallel-size", type=COUNT, default=1),
            option("--language-model-only", is_flag=True),
            option("--skip-mm-profiling", is_flag=True),
            option("--cpu-offload-gb", "cpu_offload_bytes", type=Figure(0, 1e6), default=0, callback=_gib),
        ]
    ):
        function = declare(function)
    return function


@click.command(cls=Command)
@click.argument("model", required=False)
@option("--gpu", metavar="ID", multiple=True)
@setup
@placement
@option("--concurrency", type=COUNT, heading="load")
@option("--min-context", type=COUNT)
@option("--output-tokens", "answer_tokens", type=COUNT)
@option("--samples", type=COUNT, default=1)
@option("--shared-prefix-tokens", type=click.IntRange(min=0), default=0)
@option("--method", heading="training", type=click.Choice(["full", "lora", "qlora", "pretrain"]))
@option("--optimizer", metavar="NAME", default="adamw", show_default=True)
@option("--sharding", type=click.Choice(["none", "ddp", "zero-1", "zero-2", "zero-3", "fsdp", "hsdp"]))
@option("--shard-group", type=COUNT)
@option("--schedule", type=click.Choice(["1f1b", "interleaved", "gpipe", "zero-bubble"]), default="1f1b")
@option("--virtual-stages", type=COUNT, default=1)
@option("--seq-len", type=COUNT, default=2048, show_default=True)
@option("--micro-batch", type=COUNT, default=1, show_default=True)
@option("--recompute", type=click.Choice(["none", "selective", "full"]))
@option("--cross-entropy", metavar="HOW", default="whole", show_default=True)
@option("--precision", metavar="TYPE", default="bf16", show_default=True)
@option("--no-master-weights", is_flag=True)
@option("--adapter", metavar="NAME", default="lora", show_default=True)
@option("--lora-targets", metavar="NAMES", default="all", show_default=True)
@option("--offload", metavar="WHAT", default="none", show_default=True)
@option("--framework", metavar="NAME", default="")
@option("--global-batch", type=COUNT)
@beyond
@option("--all", "every", is_flag=True, heading="answer")
@shared
def fit(model: str | None, as_json: bool, as_of: str | None, every: bool, **flags: Any) -> None:
    """Does it fit? Without --gpu over all accelerators, without MODEL over all models."""
    from cabida import app

    flags["master_weights"] = not flags.pop("no_master_weights")
    answer = app.fit(model, as_of=as_of, **flags)

    def screen() -> Any:
        from cabida.faces import answers_media, fits

        return (answers_media.screen if "kind" in answer else fits.fit)(answer, every=every)

    emit(answer, screen, as_json=as_json)


def card_named(flags: dict[str, Any]) -> str:
    """The card of ``--gpu``, taken out of ``flags``.

    Raises:
        UsageProblem: none was named (CB-U003).
    """
    gpu = flags.pop("gpu")
    if not gpu:
        raise UsageProblem([problem("CB-U003", name="--gpu")])
    return str(gpu)


def one_load(flags: dict[str, Any]) -> None:
    """Refuse more than one way to say the load.

    Raises:
        UsageProblem: which were typed together (CB-U009).
    """
    given = [name for name in ("concurrency", "requests_per_s", "trace") if flags.get(name) is not None]
    if len(given) > 1:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageProblem([problem("CB-U009", names=names)])
