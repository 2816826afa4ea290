"""How long an image or a clip takes: text, steps of the denoiser, decoding, and what moves between host and card.

Written once for floats and for the tree (``cabida.memory.lens``). Coefficients: ``data/media.json``.
"""

from __future__ import annotations

from dataclasses import dataclass

from cabida import facts
from cabida.facts.media import Component
from cabida.memory.constants import Constant
from cabida.memory.lens import PLAIN, Explaining, Lens, Number
from cabida.memory.media_parts import DENOISER, PRECISION_BITS, TEXT, VAE, part_of
from cabida.memory.media_phases import latent_frames, patched_frames, picture_tokens
from cabida.plan.media import MediaRun
from cabida.quantity import Quantity, Source
from cabida.timing.devices.collectives import collective_s, pcie_bytes_per_s
from cabida.timing.devices.rates import best_matmul, memory_rate, vector_rate
from cabida.timing.stages import media_flops as work
from cabida.timing.stages import media_rates as rates
from cabida.timing.stages.media_rates import coefficient

CONTROL = "controlnet"
SLOT_RATIO = Constant(
    "slot_ratio", 0.83, 0.81, 0.88,
    Source("host to card, measured: 26.3 of 31.5 GB/s (A100), 51 to 55 of 63 (H100, H200)",
           "facts/data/measurements.jsonl", "2026-11-30", "measured"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MediaSpeed:
    """How fast a run makes its images or clips. ``item_s`` counts a batch's seconds over its items."""

    item_s: float
    batch_s: float
    step_s: float  # of the denoiser, all samples of the batch
    steps_per_s: float
    items_per_hour: float  # one run after the other, all accelerators of the run together
    parts: dict[str, float]  # seconds of a batch: start, text, denoise, decode, brought
    spread: dict[str, tuple[float, float]]  # metric -> factors of the 90 % interval
    basis: str  # calibrated | physics


def media_speed(run: MediaRun) -> MediaSpeed:
    """Seconds of one image or clip, with a 90 % interval.

    Args:
        run: what is made, on what, how.

    Source: work counted on published code; coefficients from ``cases/media.jsonl``, sources held out.
    """
    found = _seconds(run, PLAIN)
    spread = spread_of(run)
    whole, step = float(found["made_batch_s"]), float(found["denoise_step_s"])
    item = float(found["item_s"])
    return MediaSpeed(
        item_s=item,
        batch_s=whole,
        step_s=step,
        steps_per_s=1 / step,
        items_per_hour=3600.0 / item,
        parts={
            "start": float(found["start_s"]),
            "text": float(found["text_s"]),
            "denoise": step * run.steps_count,
            "decode": float(found["decode_s"]),
            "brought": float(found["brought_s"]),
        },
        spread=spread,
        basis="calibrated" if is_measured_kind(run) else "physics",
    )


def media_speed_tree(run: MediaRun) -> dict[str, Quantity]:
    """The figures of :func:`media_speed` with their provenance, by the names of their formulas."""
    found = _seconds(run, Explaining())
    return {name: node.named(name) for name, node in found.items() if isinstance(node, Quantity)}


def is_measured_kind(run: MediaRun) -> bool:
    """Whether runs on this card's architecture with this kind of network are among the measured ones."""
    denoiser = _denoiser(run)
    return run.accelerator.architecture.lower() in rates.shipped()["seen_with"].get(_kind(denoiser), ())


def spread_of(run: MediaRun) -> dict[str, tuple[float, float]]:
    """Factors of the 90 % interval of seconds and of steps a second, by regime."""
    table = rates.shipped()["spread"]["seen" if is_measured_kind(run) else "unseen"]
    low, high = table.get(regime(run)) or table["all"]
    faster = (1 / high, 1 / low)
    return {"seconds_per_item": (low, high), "it_s": faster, "requests_per_s": faster}


def regime(run: MediaRun) -> str:
    """Runs that err alike: how kernels are made, and what is done in several kernels that others fuse."""
    if run.compiler != "eager":
        return run.compiler
    return "scores" if run.attention == "eager" else "unfused" if run.multiplied == "int8" else "eager"


def _denoiser(run: MediaRun) -> Component:
    return next(one for one in facts.components_of(run.pipeline) if one.kind == DENOISER)


def _kind(one: Component) -> str:
    """How a network multiplies: convolutions, or matrices over tokens."""
    return "unet" if one.architecture == "unet" else "dit"


def _seconds(run: MediaRun, lens: Lens) -> dict[str, Number]:
    every = facts.components_of(run.pipeline)
    vae = next(one for one in every if one.kind == VAE)
    found: dict[str, Number] = {"denoise_step_s": _step(run, vae, lens)}
    found["text_s"] = _text(run, [one for one in every if one.kind == TEXT], lens)
    found["decode_s"] = _decode(run, vae, lens)
    found["brought_s"] = _brought(run, every, lens)
    found["start_s"] = lens.constant(coefficient("start_s"))
    found["made_batch_s"] = lens.of(work.made_batch_s)(
        found["start_s"], found["text_s"], found["denoise_step_s"],
        lens.setting("steps_count", run.steps_count), found["decode_s"], found["brought_s"],
    )  # fmt: skip
    copies = run.accelerators_count if run.split == "data" else 1
    found["item_s"] = lens.of(work.item_s)(
        found["made_batch_s"], lens.setting("items_count", run.batch_count * copies / run.guidance_ranks_count)
        if run.split == "data"
        else lens.setting("items_count", run.batch_count),
    )  # fmt: skip
    return found


def _step(run: MediaRun, vae: Component, lens: Lens) -> Number:
    """One step of the denoiser, and of a ControlNet that runs beside it."""
    working = [one for one in facts.components_of(run.pipeline) if one.kind in (DENOISER, CONTROL)]
    device = host = None
    for one in working:
        more, launched = _device(run, one, vae, lens), _host(run, one, lens)
        device = more if device is None else lens.of(work.after_s)(device, more)
        host = launched if host is None else lens.of(work.after_s)(host, launched)
    passes = lens.setting("passes_count", float(max(1, run.pipeline.passes_count // _split_passes(run))))
    return lens.of(work.denoise_step_s)(device, host, _streamed(run, lens), passes)


def _tokens(run: MediaRun, one: Component, vae: Component, lens: Lens) -> Number:
    frames = patched_frames(run.frames_count, vae, one)
    return lens.of(picture_tokens)(
        lens.setting("pixels_count", float(run.width_count * run.height_count)),
        lens.field(vae, "spatial_factor_count"), lens.field(one, "patch_count", max(1, one.patch_count)),
        lens.setting("latent_frames_count", frames),
    )  # fmt: skip


def _split_passes(run: MediaRun) -> int:
    """Accelerators' groups that take one pass of a guided step each."""
    return min(run.guidance_ranks_count, run.pipeline.passes_count)


def _samples(run: MediaRun, lens: Lens) -> Number:
    """Samples that one accelerator's group denoises together: guidance doubles them, unless it is split off."""
    ranks = min(run.guidance_ranks_count, run.pipeline.guidance_count)
    return lens.setting("samples_count", run.batch_count * run.pipeline.guidance_count / ranks)


def shares_count(run: MediaRun) -> int:
    """Accelerators that share out one sample's work."""
    if run.split in ("none", "data", "fsdp"):
        return 1
    return max(1, run.accelerators_count // run.guidance_ranks_count)


def _device(run: MediaRun, one: Component, vae: Component, lens: Lens) -> Number:
    tokens, samples = _tokens(run, one, vae, lens), _samples(run, lens)
    done = lens.setting("computed_ratio", run.computed_ratio)
    kind = rates.multiplying_kind(run)
    peak, reached = lens.setting("peak_flop_per_s", rates.multiplied_rate(run)), _reached(run, lens)
    convolved = lens.field(one, "convolved_ratio")
    flop = lens.of(work.denoised_flop)(
        tokens, lens.field(one, "flop_per_token"), lens.field(one, "fixed_flop"), samples, done
    )
    product = lens.of(work.product_s)(
        flop, convolved, peak, reached, lens.constant(coefficient("product_ratio")),
        lens.constant(coefficient("format_ratio", "formats", kind, run.compiler)),
    )  # fmt: skip
    moved = lens.of(work.moved_bytes)(
        tokens, lens.field(one, "moved_bytes_per_token"), _of_compiler(run, "fused_ratio", lens),
        lens.field(one, "copied_bytes_per_token"), _of_compiler(run, "copied_ratio", lens), samples,
        lens.setting("widening_ratio", PRECISION_BITS[run.precision] / 16), done,
    )  # fmt: skip
    moved = lens.of(work.added_bytes)(moved, _beside_products(run, one, tokens, samples, lens))
    return lens.of(work.device_step_s)(
        product, _convolved(run, lens.of(work.convolved_flop)(flop, convolved), peak, lens),
        _attention(run, one, tokens, samples, done, lens), _moved_s(run, moved, lens),
        lens.of(work.gaps_s)(lens.field(one, "kernels_count"), _of_compiler(run, "gap_s", lens)),
        lens.setting("shares_count", float(shares_count(run))), _exchange(run, one, tokens, samples, lens),
    )  # fmt: skip


def _of_compiler(run: MediaRun, name: str, lens: Lens) -> Number:
    return lens.constant(coefficient(name, "compilers", run.compiler, name))


def _reached(run: MediaRun, lens: Lens) -> Number:
    architecture = run.accelerator.architecture.lower()
    known = architecture if architecture in rates.shipped()["architectures"] else "other"
    return lens.of(work.reached_ratio)(
        lens.constant(best_matmul(run.accelerator)),
        lens.constant(coefficient("architecture_ratio", "architectures", known)),
    )


def _cycles(run: MediaRun, lens: Lens) -> Number:
    return lens.of(work.cycles_count_per_s)(
        lens.setting("vector_flop_per_s", vector_rate(run.accelerator)),
        lens.setting("lanes_count", rates.lanes_count(run.accelerator)),
    )


def _moved_s(run: MediaRun, moved: Number, lens: Lens) -> Number:
    return lens.of(work.moved_s)(
        moved, lens.setting("memory_bytes_per_s", memory_rate(run.accelerator)),
        lens.constant(coefficient("bandwidth_ratio")),
    )  # fmt: skip


def _convolved(run: MediaRun, flop: Number, peak: Number, lens: Lens) -> Number:
    return lens.of(work.convolved_s)(
        flop, peak, _reached(run, lens), lens.constant(coefficient("convolution_ratio")), _cycles(run, lens),
        _of_compiler(run, "fed_flop_count", lens),
    )  # fmt: skip


def head_dim(one: Component) -> float:
    """Width of one head of the largest attention; UNets widen where they halve the picture."""
    return float(one.hidden_dim_count / max(1, one.heads_count) / (one.attention_ratio or 1.0) ** 0.5)


def _attention(
    run: MediaRun, one: Component, tokens: Number, samples: Number, done: Number, lens: Lens
) -> Number:
    flop = lens.of(work.attended_flop)(
        tokens, lens.field(one, "pair_flop"), lens.field(one, "attended_flop_per_token"),
        lens.setting("kept_ratio", 1 - run.merged_ratio), samples, done,
    )  # fmt: skip
    return lens.of(work.attended_s)(
        flop, lens.setting("peak_flop_per_s", rates.plain_rate(run)), _reached(run, lens),
        lens.constant(coefficient("attention_ratio")), lens.setting("head_dim_count", head_dim(one)),
        _cycles(run, lens), lens.constant(coefficient("softmax_count")),
        lens.constant(coefficient("kernel_ratio", "attention_kernels", run.attention)),
    )  # fmt: skip


def _beside_products(run: MediaRun, one: Component, tokens: Number, samples: Number, lens: Lens) -> Number:
    """Weights unpacked in each step, and scores where attention keeps them."""
    only_weights = run.weights.family != "bf16" and not run.multiplied
    weights = lens.setting("unpacked_bytes", 0.0)
    if only_weights:
        weights = lens.of(work.unpacked_bytes)(
            lens.field(one, "params_count"), lens.setting("body_bits", run.weights.body_bits),
            _of_compiler(run, "wide_bits", lens),
        )  # fmt: skip
    if run.attention != "eager":
        return weights
    scores = lens.of(work.moved_scores_bytes)(
        tokens, lens.field(one, "pair_flop"), lens.setting("head_dim_count", head_dim(one)),
        lens.constant(coefficient("passes_count")), samples,
        lens.setting("body_bits", PRECISION_BITS[run.precision]),
    )  # fmt: skip
    return lens.of(work.added_bytes)(weights, scores)


def _host(run: MediaRun, one: Component, lens: Lens) -> Number:
    """Seconds the host needs to launch a step's kernels; steps that keep features launch fewer."""
    segment = run.accelerator.segment
    machine = segment if segment in rates.shipped()["hosts"] else "datacenter"
    return lens.of(work.host_s)(
        lens.field(one, "kernels_count"), _of_compiler(run, "launch_s", lens),
        lens.constant(coefficient("machine_ratio", "hosts", machine)),
        lens.constant(coefficient("launches_ratio", "launches", rates.multiplying_kind(run), run.compiler)),
        lens.setting("computed_ratio", run.computed_ratio),
    )  # fmt: skip


def _streamed(run: MediaRun, lens: Lens) -> Number:
    """Weights that come in anew in each step: block by block, or gathered from the ranks that hold them."""
    one = _denoiser(run)
    if run.offload not in ("group", "sequential"):
        return lens.setting("streamed_s", 0.0)
    return _from_host(run, part_of(run, one, lens).at_work, lens)


def _from_host(run: MediaRun, weights: Number, lens: Lens) -> Number:
    slot = lens.setting("slot_bytes_per_s", pcie_bytes_per_s(run.accelerator))
    return lens.of(work.brought_s)(weights, slot, lens.constant(SLOT_RATIO))


def _exchange(run: MediaRun, one: Component, tokens: Number, samples: Number, lens: Lens) -> Number:
    """What ranks send each other in a step: heads for tokens (Ulysses), or sums of partial products (tensor)."""
    ranks = shares_count(run)
    if ranks == 1 or run.stages_count == ranks:  # displaced patches travel behind the work (PipeFusion)
        return lens.setting("exchange_s", 0.0)
    tensor = run.split == "tensor"
    layers = lens.field(one, "layers_count", max(1, one.layers_count))
    sent = lens.of(work.exchange_bytes)(
        tokens, lens.field(one, "hidden_dim_count"), layers, lens.setting("tensors_count", 2.0 if tensor else 4.0),
        samples, lens.setting("ranks_count", 1.0 if tensor else float(ranks)),
        lens.setting("body_bits", PRECISION_BITS[run.precision]),
    )  # fmt: skip
    count = float(layers) * (2 if tensor else 4)
    kind = "all_reduce" if tensor else "all_to_all"
    seconds = count * collective_s(kind, float(sent) / count, ranks, run.accelerator)
    return lens.constant(
        Constant("exchange_s", seconds, 0.5 * seconds, 2 * seconds,
                 Source(f"{kind} of {float(sent):.3g} bytes in {count:.0f} messages (timing.collectives)", "", "",
                        "simulated"))
    )  # fmt: skip


def _text(run: MediaRun, encoders: list[Component], lens: Lens) -> Number:
    """All text encoders, one after the other."""
    samples = lens.setting("samples_count", run.batch_count * run.pipeline.guidance_count)
    ratio = best_matmul(run.accelerator).value * coefficient("product_ratio").value
    here = rates.plain_rate(run) * ratio
    slow = coefficient("cpu_flop_per_s")
    rate = lens.constant(slow) if run.text_on_cpu else lens.setting("flop_per_s", here)
    made = lens.setting("text_s", 0.0)
    for one in encoders:
        seconds = lens.of(work.text_s)(
            lens.of(work.text_flop)(
                lens.field(one, "params_count", one.params_count - one.kept_params_count),
                lens.setting("text_tokens", float(run.pipeline.text_tokens)), samples,
            ),
            rate, part_of(run, one, lens).whole, lens.setting("memory_bytes_per_s", memory_rate(run.accelerator)),
            lens.constant(coefficient("bandwidth_ratio")),
        )  # fmt: skip
        made = lens.of(work.after_s)(made, seconds)
    return made


def _decode(run: MediaRun, vae: Component, lens: Lens) -> Number:
    pixels = lens.setting("pixels_count", float(run.width_count * run.height_count))
    latents = run.width_count * run.height_count / vae.spatial_factor_count**2
    frames = lens.setting("latent_frames_count", float(latent_frames(run.frames_count, vae)))
    images = lens.setting("images_count", float(run.batch_count))
    wide = vae.native_bits > 16 or run.precision == "fp32"
    peak = rates.wide_rate(run.accelerator) if wide else rates.plain_rate(run)
    flop = lens.of(work.decode_flop)(
        pixels, frames, lens.field(vae, "pixel_flop"), lens.setting("latents_count", latents),
        lens.field(vae, "pair_flop"), images,
    )  # fmt: skip
    moved = lens.of(work.decode_bytes)(
        pixels, frames, lens.field(vae, "moved_pixel_bytes"), lens.field(vae, "copied_pixel_bytes"), images
    )
    return lens.of(work.decode_s)(
        _convolved(run, flop, lens.setting("peak_flop_per_s", peak), lens), _moved_s(run, moved, lens)
    )


def _brought(run: MediaRun, every: tuple[Component, ...], lens: Lens) -> Number:
    """Components that come onto the card anew for each batch."""
    if run.offload not in ("model", "text"):
        return lens.setting("brought_s", 0.0)
    moving = [one for one in every if run.offload == "model" or one.kind == TEXT]
    made: Number = lens.setting("held_bytes", 0.0)
    for one in moving:
        if not (run.text_on_cpu and one.kind == TEXT):
            made = lens.of(work.added_bytes)(made, part_of(run, one, lens).whole)
    return _from_host(run, made, lens)
