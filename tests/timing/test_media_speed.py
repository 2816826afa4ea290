"""Images and clips: work counted by hand, properties that physics wants, and the tree that agrees with the number."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida import facts, timing
from cabida.plan.media import MediaRun
from cabida.timing.stages import media_flops as work
from cabida.timing.stages.media_caches import computed_ratio
from cabida.timing.stages.media_rates import multiplied_rate

PLAIN = facts.weight_format("bf16")


def run(name="flux.1-dev", card="h100-sxm-80", **changes):
    pipeline = facts.pipeline(name)
    made = MediaRun(
        pipeline=pipeline, accelerator=facts.accelerator(card), width_count=pipeline.width_count,
        height_count=pipeline.height_count, frames_count=pipeline.frames_count, batch_count=1,
        steps_count=pipeline.steps_count, weights=PLAIN, text_weights=PLAIN, precision=pipeline.precision,
    )  # fmt: skip
    return replace(made, **changes)


def seconds(made):
    return timing.media_speed(made).item_s


@pytest.mark.parametrize(
    ("id", "layers", "width", "matrices"),
    [("flux.1-dev-dit", 57, 3072, 12), ("sd3-medium-mmdit", 24, 1536, 12)],
)
def test_a_transformer_multiplies_its_blocks_matrices_once_a_token(id, layers, width, matrices):
    found = facts.components()[id]
    assert found.flop_per_token == pytest.approx(2 * layers * matrices * width**2, rel=0.02)
    assert found.pair_flop == pytest.approx(4 * layers * width, rel=0.001)


def test_a_unet_of_stable_diffusion_takes_0_8_tflop_a_sample():
    found = facts.components()["sd-1.5-unet"]
    tokens = 64 * 64.0
    flop = work.denoised_flop.raw(tokens, found.flop_per_token, found.fixed_flop, 1.0, 1.0)
    flop += work.attended_flop.raw(tokens, found.pair_flop, found.attended_flop_per_token, 1.0, 1.0, 1.0)
    assert flop == pytest.approx(0.80e12, rel=0.03)  # 401 GMAC, as its model cards and profilers have it


def test_every_pipeline_has_a_speed_on_every_card_with_a_tensor_rate():
    for name in facts.pipelines():
        for card in ("rtx3060-12", "h100-sxm-80", "mi300x", "b200-sxm-180", "m4-max"):
            found = timing.media_speed(run(name, card))
            low, high = found.spread["seconds_per_item"]
            assert 0 < found.item_s < 1e6, (name, card)
            assert low < 1 < high


def test_the_tree_says_the_same_as_the_number():
    for made in (
        run(),
        run("wan2.1-t2v-1.3b", "l20", accelerators_count=4, split="sequence"),
        run(offload="model"),
    ):
        tree = timing.media_speed_tree(made)
        assert tree["item_s"].value == pytest.approx(seconds(made), rel=1e-12)
        assert all(one.source.what for node in tree.values() for one in node.leaves() if one.value)


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(["flux.1-dev", "sdxl", "sd-1.5", "wan2.1-t2v-1.3b", "sana-1.6b"]),
    steps=st.integers(1, 80),
    side=st.integers(4, 24),
)
def test_more_steps_and_larger_pictures_are_never_faster(name, steps, side):
    made = run(name, "rtx4090", steps_count=steps, width_count=64 * side, height_count=64 * side)
    assert seconds(replace(made, steps_count=steps + 1)) > seconds(made)
    assert seconds(replace(made, width_count=64 * side + 64)) > seconds(made)


@settings(max_examples=30, deadline=None)
@given(faster=st.floats(1.0, 4.0), wider=st.floats(1.0, 4.0), compiled=st.booleans())
def test_more_flops_or_bandwidth_never_lengthen_a_step(faster, wider, compiled):
    made = run("sdxl", "a100-sxm-80", compiled=compiled)
    card = made.accelerator
    rates = {name: rate * faster for name, rate in card.flop_per_s.items()}
    better = replace(card, flop_per_s=rates, memory_bytes_per_s=card.memory_bytes_per_s * wider)
    assert seconds(replace(made, accelerator=better)) <= seconds(made) * (1 + 1e-12)


def test_accelerators_that_share_a_clip_save_less_over_a_bus():
    def shared(card, count):
        return run("hunyuanvideo", card, accelerators_count=count, split="sequence")

    linked = seconds(shared("h100-sxm-80", 1)) / seconds(shared("h100-sxm-80", 4))
    bus = seconds(shared("l20", 1)) / seconds(shared("l20", 4))
    assert 1.5 < bus < linked < 4.0


def test_a_guided_step_can_be_shared_out_in_two():
    made = run("sana-1.6b", "a100-sxm-80", width_count=4096, height_count=4096)
    halved = replace(made, accelerators_count=2, split="sequence", guidance_ranks_count=2)
    assert 1.8 < timing.media_speed(made).step_s / timing.media_speed(halved).step_s <= 2.05


def test_a_batch_is_no_slower_an_item_and_a_cache_does_less():
    assert seconds(run("sd-1.5", "a100-sxm-80", batch_count=8)) < seconds(run("sd-1.5", "a100-sxm-80"))
    assert computed_ratio("deepcache i=3") == pytest.approx((1 + 2 * 0.18) / 3, abs=0.04)
    assert computed_ratio("compile") == 1.0
    assert seconds(run(computed_ratio=0.5)) < 0.6 * seconds(run())


def test_compilers_and_kernels_shorten_a_step_and_unfused_int8_is_a_trap():
    plain = run(steps_count=28)
    int8 = replace(plain, weights=facts.weight_format("int8"), multiplied="int8")
    assert seconds(replace(plain, compiled=True)) < 0.8 * seconds(plain)
    assert seconds(replace(plain, attention="sage")) < seconds(replace(plain, attention="flash"))
    assert seconds(replace(plain, attention="eager")) > seconds(plain)
    assert seconds(int8) > 3 * seconds(plain)  # measured: 6.6 s and 55 to 130 s
    assert seconds(replace(int8, compiled=True)) < seconds(replace(plain, compiled=True))


def test_weights_that_come_over_the_bus_cost_their_way():
    made = run("flux.1-dev", "rtx4090")
    brought = timing.media_speed(replace(made, offload="model")).parts["brought"]
    assert brought == pytest.approx(33.8e9 / 25.2e9, rel=0.05)  # PCIe 4 x16 at four fifths of its rate
    streamed = timing.media_speed(replace(made, offload="sequential", steps_count=1)).step_s
    assert streamed > 0.9 * 23.8e9 / 25.2e9


def test_half_accumulation_doubles_consumer_cards_alone():
    consumer, server = (
        run("sd-1.5", "rtx4090", framework="onediff"),
        run("sd-1.5", "a100-sxm-80", framework="onediff"),
    )
    assert multiplied_rate(consumer) == 2 * multiplied_rate(replace(consumer, framework="diffusers"))
    assert multiplied_rate(server) == multiplied_rate(replace(server, framework="diffusers"))
