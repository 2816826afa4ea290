"""Parts of serving and of media counted apart from the code: what a lost term or a swapped key would change."""

from dataclasses import replace

import pytest
from memory_world import (
    BF16,
    DEEPSEEK,
    GIB,
    HYBRID_27B,
    LLAMA_7B,
    LLAMA_70B,
    RTX3090,
    card,
    deployment,
    fmt,
    full,
    model,
)

from cabida import facts, memory
from cabida.facts.model import AttentionLayers, MlpLayers
from cabida.memory.beside import adapter_dims
from cabida.memory.budget import static_chunk
from cabida.memory.engines import rules
from cabida.memory.lens import PLAIN
from cabida.memory.media import LARGEST_SIDE, _largest_picture, needed_of, peak_of
from cabida.memory.media_constants import FURTHER_IMAGE_RATIO, MEDIA_CONTEXT_BYTES, MEDIA_SLACK_RATIO
from cabida.memory.media_parts import driver_bytes, part_of
from cabida.memory.media_phases import decoding
from cabida.memory.pages import _page_group
from cabida.memory.served import accelerators_enough
from cabida.memory.unequal import Share, shares_verdict
from cabida.plan.media import MediaRun

Q8 = fmt("q8_0", 8.5, family="gguf")


# --- serving --------------------------------------------------------------------------------------
def test_a_pool_below_nothing_has_no_room_for_any_state():
    over = memory.serving(deployment(HYBRID_27B, RTX3090, version="0.19.0"))
    assert over.kv_pool_bytes < 0
    assert (over.state_slots_count, over.verdict) == (0, "no")
    assert over.max_num_seqs >= 1


def test_all_pools_together_are_one_times_their_number_and_never_less_than_nothing():
    roomy = memory.serving(deployment(LLAMA_7B, tp=4, version="0.19.0"))
    assert roomy.kv_cache_total_bytes == pytest.approx(4 * roomy.kv_pool_bytes)
    over = memory.serving(deployment(LLAMA_70B, RTX3090, tp=2, version="0.19.0"))
    assert over.kv_pool_bytes < 0 == over.kv_cache_total_bytes


def test_sequences_are_the_engines_own_number_or_as_many_as_there_are_states_for():
    few = memory.serving(deployment(HYBRID_27B, card(70.0), version="0.19.0"))
    assert few.max_num_seqs == min(256, few.state_slots_count) > 1


def test_llama_cpp_unpacks_the_layer_with_the_most_keys_and_values_not_the_most_heads():
    """Grouped queries: 32 heads share 2 keys in one kind of layer, 8 heads have 8 in the other."""
    mixed = model("mixed", 2048, 32000, [full(4, 32, 2, 128), full(4, 8, 8, 128)], [MlpLayers(8, 4096)])
    plain, packed = (
        memory.serving(deployment(mixed, engine="llama.cpp", version="b7000", kv=kv, max_model_len=8192))
        for kv in (BF16, Q8)
    )
    assert packed.activation_bytes - plain.activation_bytes == pytest.approx(8192 * 8 * (128 + 128) * 2)


def test_slots_of_adapters_are_shared_out_over_stages_like_the_layers():
    def slots(pp):
        with_slots, without = (
            memory.serving(deployment(LLAMA_7B, pp=pp, **more)).weights_bytes
            for more in ({"lora_slots": 4, "lora_rank": 64}, {})
        )
        return with_slots - without

    assert slots(1) > 0
    assert slots(2) == pytest.approx(slots(1) / 2)


def test_as_many_accelerators_as_weights_and_cache_ask_for():
    d = deployment(LLAMA_70B, card(24.0), version="0.10.0", max_model_len=8192)
    count = accelerators_enough(memory.serving(d))
    said = {
        tp: memory.serving(replace(d, parallel=replace(d.parallel, tp=tp))).verdict
        for tp in (count // 2, count)
    }
    assert said[count] != "no"
    assert said[count // 2] != "fits"
    long = replace(d, settings=replace(d.settings, max_model_len=65_536))  # 2.5 GiB of cache on each of eight
    assert accelerators_enough(memory.serving(long)) == 2 * count


def test_no_number_of_accelerators_is_named_that_an_engine_refuses():
    odd = replace(LLAMA_70B, attention=tuple(replace(one, heads_count=63) for one in LLAMA_70B.attention))
    m = memory.serving(deployment(odd, card(24.0), version="0.10.0", max_model_len=8192))
    assert accelerators_enough(m) is None
    assert m.cure


@pytest.mark.parametrize(("needed", "said"), [(90.0, "fits"), (94.9, "fits"), (95.1, "tight"), (100.1, "no")])
def test_unequal_shares_are_sure_5_percent_below_the_limit_of_each(needed, said):
    assert shares_verdict([Share(4, False, 10.0, 100.0), Share(4, True, needed, 100.0)]) == said


def test_shares_of_nothing_are_no_answer():
    assert shares_verdict([]) == "no"


@pytest.mark.parametrize(("few", "many", "page"), [(10, 12, 12), (10, 13, 10), (10, 20, 10), (10, 10, 10)])
def test_groups_of_layers_close_in_number_are_padded_to_the_larger(few, many, page):
    """vLLM: padded when the larger has less than a quarter more layers. v1/core/kv_cache_utils.py."""
    sliding = AttentionLayers("sliding", many, 8, 4, 128, 128, window_tokens=1024)
    mixed = model("mixed", 2048, 32000, [full(few, 8, 4, 128), sliding], [MlpLayers(few + many, 4096)])
    assert _page_group(mixed, rules("vllm", "0.11.0"), 1) == page


@pytest.mark.parametrize(
    ("gib", "ranks", "told"),
    [(15.5, 1, (2048, 8)), (24, 1, (2048, 24)), (24, 4, (2048, 80)), (44, 2, (4096, 32)), (44, 8, (4096, 160)),
     (79.6, 1, (8192, 256)), (79.6, 8, (8192, 512)), (140, 3, (8192, 256)), (180, 8, (16384, 512))],
)  # fmt: skip
def test_sglangs_chunk_and_largest_graph_go_by_card_and_split(gib, ranks, told):
    """sglang/srt/server_args.py, _handle_gpu_memory_settings."""
    assert static_chunk(gib * GIB, ranks) == told


def test_adapters_of_latent_attention_divide_what_heads_divide():
    """Twice the heads: as much again of queries, keys and values up, and of the output's input; latents stay."""
    (one,) = DEEPSEEK.attention
    (whole, divided), (again, more) = (
        adapter_dims(replace(DEEPSEEK, attention=(replace(one, heads_count=heads),))) for heads in (128, 256)
    )
    assert again == whole
    up, out = 128 * (192 + 128), 128 * 128
    assert more - divided == pytest.approx(61 * (up + out))


# --- images and clips -----------------------------------------------------------------------------
def picture(id="flux.1-dev", **changed):
    one = facts.pipeline(id)
    made = MediaRun(
        one, facts.accelerator("h100-sxm-80"), one.width_count, one.height_count, one.frames_count, 1,
        one.steps_count, facts.weight_format("bf16"), facts.weight_format("bf16"), one.precision, safety_checker=False,
    )  # fmt: skip
    return replace(made, **changed)


def part(run, kind):
    return next(one for one in facts.components_of(run.pipeline) if one.kind == kind)


def test_the_driver_shows_tensors_what_the_allocator_keeps_and_the_process():
    assert driver_bytes.raw(10.0, 0.1, 2.0, 20.0) == pytest.approx(13.0)
    assert driver_bytes.raw(10.0, 0.1, 2.0, 12.25) == pytest.approx(12.25)  # what is kept beside gives way
    assert driver_bytes.raw(10.0, 0.1, 2.0, 11.0) == pytest.approx(12.0)  # and tensors don't
    run = picture()
    shown = peak_of(run) * (1 + MEDIA_SLACK_RATIO.value) + MEDIA_CONTEXT_BYTES.value
    assert needed_of(run) == pytest.approx(shown)


def test_sequential_offloading_has_one_block_there_and_groups_have_two():
    one, two = (
        part_of(run, part(run, "denoiser"), PLAIN).streamed
        for run in (picture(offload="sequential"), picture(offload="group"))
    )
    assert two == pytest.approx(2 * one)
    denoiser = part(picture(), "denoiser")
    assert one == pytest.approx(2 * denoiser.block_params_count, rel=0.01)


def test_slices_are_decoded_one_after_another_and_further_images_cost_less_than_the_first():
    vae = part(picture(), "vae")
    one, four, sliced = (
        decoding(picture(**how), vae, PLAIN)
        for how in ({}, {"batch_count": 4}, {"batch_count": 4, "vae_slicing": True})
    )
    assert sliced == pytest.approx(one)
    assert four == pytest.approx(one * (1 + 3 * FURTHER_IMAGE_RATIO.value), rel=0.01)
    assert one == pytest.approx(1024 * 1024 * vae.chunk_pixel_bytes, rel=0.05)


def test_a_decoder_of_images_is_given_both_frames_of_a_clip_of_two():
    run = picture("latte-1")
    vae = part(run, "vae")
    one, two, eight = (decoding(replace(run, frames_count=frames), vae, PLAIN) for frames in (1, 2, 8))
    assert one < two < eight
    both = min(2, vae.decoded_frames_count or 2)
    assert two == pytest.approx(one * (1 + (both - 1) * FURTHER_IMAGE_RATIO.value), rel=0.02)


def test_no_picture_is_larger_than_the_largest_that_is_tried():
    wide = picture(width_count=1024, height_count=512)
    assert _largest_picture(wide, 1e18) == (LARGEST_SIDE, LARGEST_SIDE // 2)
    assert _largest_picture(wide, 0.0) == (0, 0)
    side, other = _largest_picture(wide, 60 * GIB)
    assert needed_of(replace(wide, width_count=side, height_count=other)) <= 60 * GIB
    assert side % 16 == other % 16 == 0
