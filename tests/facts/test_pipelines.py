"""Media pipelines as facts: what they are made of, by which names they are found, and where figures come from."""

import pytest

from cabida import facts
from cabida.errors import InvalidInput
from cabida.facts.media import Component, Pipeline
from cabida.quantity import GRADES


@pytest.mark.parametrize("id", sorted(facts.pipelines()))
def test_every_pipeline_has_a_denoiser_a_decoder_and_defaults(id):
    one = facts.pipelines()[id]
    kinds = [part.kind for part in facts.components_of(one)]
    assert kinds.count("denoiser") == kinds.count("vae") == 1
    assert (one.frames_count > 1) == (one.task == "video")
    assert min(one.width_count, one.height_count, one.steps_count, one.guidance_count) >= 1
    assert set(one.apart) <= set(one.components)
    assert facts.pipeline(one.name) is one
    assert all(facts.pipeline(alias) is one for alias in one.aliases)


@pytest.mark.parametrize("id", sorted(facts.components()))
def test_every_component_has_its_figures_and_their_source(id):
    one = facts.components()[id]
    assert 1e6 < one.params_count < 1e11
    assert one.kept_params_count + one.wide_params_count < one.params_count
    assert one.block_params_count <= one.params_count
    if one.kind == "denoiser":
        assert one.token_bytes > 0
        assert one.latent_channels_count
    if one.kind == "vae":
        assert one.chunk_pixel_bytes + one.latent_pixel_bytes > 0
        assert one.latent_channels_count
    for source in (one.source, *one.field_sources.values()):
        assert source.what
        assert source.grade in GRADES
        assert source.seen == "2026-11-30"


def test_denoiser_and_decoder_of_a_pipeline_share_their_latents():
    for one in facts.pipelines().values():
        parts = {part.kind: part for part in facts.components_of(one)}
        assert parts["denoiser"].latent_channels_count == parts["vae"].latent_channels_count, one.id


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("black-forest-labs/FLUX.1-dev", "flux.1-dev"), ("FLUX.1", "flux.1-dev"), ("flux2", "flux.2-dev"),
        ("Wan-AI/Wan2.1-T2V-14B-Diffusers", "wan2.1-t2v-14b"), ("wan2.2", "wan2.2-t2v-a14b"), ("SDXL", "sdxl"),
        ("stabilityai/stable-diffusion-xl-base-1.0", "sdxl"), ("SD-1.5", "sd-1.5"),
        ("LTXV-13B-distilled", "ltx-video-13b"),
    ],
)  # fmt: skip
def test_names_people_use(name, id):
    assert facts.pipeline(name).id == id


def test_an_unknown_name_is_told_with_the_nearest():
    with pytest.raises(InvalidInput, match=r"flux\.1-dev") as caught:
        facts.pipeline("flux-1-devv")
    assert caught.value.problems[0].code == "CB-F050"
    assert facts.find_pipeline("meta-llama/Llama-3.1-8B-Instruct") is None


def test_the_catalogue_of_models_leads_to_a_pipeline():
    pictures = [one for one in facts.models().values() if one.task in ("image", "video")]
    known = [one.id for one in pictures if facts.find_pipeline(one.id)]
    assert len(known) >= len(pictures) - 1  # Emu3 writes its picture token by token


def test_schemas_are_made_from_the_nouns():
    assert "token_bytes" in facts.schema(Component)["properties"]
    assert "guidance_count" in facts.schema(Pipeline)["properties"]
