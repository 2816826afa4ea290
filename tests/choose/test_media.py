"""Media generation and transcription from the brief to the record: everything is paid, and copies keep the date."""

import re
from dataclasses import replace

import pytest

from cabida.brief import complete, not_yet, parse_brief
from cabida.choose import decide
from cabida.choose.ask import ask_of
from cabida.choose.making import made_on
from cabida.choose.means import means_of
from cabida.choose.media import as_service, copies_for
from cabida.errors import InvalidInput
from cabida.facts import accelerator, pipeline
from cabida.launch import command
from cabida.report.store import from_json, to_json
from cabida.timing.queues.queueing import done_s

AS_OF = "2026-11-30"
TEXT = """
name: pictures
workload: media-generation
models: [{id: black-forest-labs/FLUX.1-dev, weights: {bf16: {acceptance: 0.8, how: measured}}}]
media:
  kind: image
  items_per_month: 100000
  steps: 28
  review_per_output: 0.02 USD
  reviewed: 50 %
  moderation_per_output: 0.001 USD
  item_size: 2 MB
  kept: 3 months
objectives: {e2e_p95: 60 s}
acceptance: {retries: 2, failure_rate: 1 %}
limits: {data: any, needed_by: 2027-02-01}
horizon: 12 months
team: {platform_engineers: 0.2, loaded_cost: 90000 USD/year}
consider: {accelerators: [h100-sxm-80, l40s], capacity: [on-demand]}
currency: USD
"""


def decided(text=TEXT):
    return decide(complete(parse_brief(text, as_of=AS_OF), as_of=AS_OF), AS_OF)


@pytest.fixture(scope="module")
def found():
    return decided()


def test_every_term_of_the_guides_bill_is_paid_and_adds_up(found):
    for option in found.decision.options:
        lines = {line.key: line.money for line in option.cost_lines}
        assert {
            "compute",
            "idle",
            "retries_waste",
            "storage",
            "network",
            "moderation",
            "review",
        } <= lines.keys()
        assert sum(lines.values()) == pytest.approx(option.cost_per_month_money)
        accepted = 100_000 * (1 - 0.2**3)
        assert option.unit_cost.value == pytest.approx(option.cost_per_month_money / accepted, rel=1e-6)
        assert lines["review"] == pytest.approx(accepted * 0.5 * 0.02, rel=1e-6)
        attempts = (1 - 0.2**3) / 0.8 / 0.99
        assert lines["moderation"] == pytest.approx(100_000 * attempts * 0.001, rel=1e-6)
    assert found.decision.denominator == "accepted_asset"
    assert "per accepted asset" in found.decision.answer


def test_the_tree_under_the_unit_cost_says_the_same(found):
    decision = found.decision
    first = decision.options[0]
    node = decision.trees[first.trees["unit_cost"]]
    assert node["value"] == pytest.approx(first.unit_cost.value, rel=1e-9)
    item = decision.trees[first.trees["item_s"]]
    assert item["value"] == pytest.approx(first.metrics["seconds_per_item"].value, rel=1e-9)
    assert from_json(to_json(decision)) == decision


def test_copies_keep_the_time_from_order_to_picture():
    brief = complete(parse_brief(TEXT, as_of=AS_OF), as_of=AS_OF)
    ask = replace(ask_of(as_service(brief, brief.media)), objectives={})
    made = next(one for one, _ in made_on(brief, brief.media, brief.models[0], accelerator("l40s")) if one)
    copies, carried = copies_for(made, brief, ask, 0.8)
    wanted = ask.wanted_requests_per_s(0.8)
    assert done_s(copies, wanted, made.order_s) <= 60.0
    assert copies == 1 or done_s(copies - 1, wanted, made.order_s) > 60.0
    assert -(-wanted // carried) == copies
    tight = replace(
        brief, objectives=replace(brief.objectives, latency_s={"e2e": {"p95": made.order_s * 1.05}})
    )
    assert copies_for(made, tight, ask, 0.8)[0] > copies
    never = replace(
        brief, objectives=replace(brief.objectives, latency_s={"e2e": {"p95": made.order_s * 0.9}})
    )
    assert copies_for(made, never, ask, 0.8) == (0, 0.0)


def test_half_the_acceptance_costs_more_than_the_same_pictures():
    worse = decided(TEXT.replace("acceptance: 0.8", "acceptance: 0.4")).decision.options[0]
    assert worse.unit_cost.value > decided().decision.options[0].unit_cost.value * 1.1


def test_a_window_makes_a_batch_and_spot_is_let_in():
    text = TEXT.replace("objectives: {e2e_p95: 60 s}", "traffic: {window: 8 h, every: day}")
    option = decided(text.replace("[on-demand]", "[on-demand, spot]")).decision.options[0]
    assert "e2e_ms_p95" not in option.metrics
    per_day = option.metrics["items_per_day"].value
    assert per_day / 3 >= 100_000 / 30.4  # eight hours of them make a night's share
    assert option.capacity == "spot"


def test_each_option_starts_with_lines_of_its_library(found):
    for one in found.worked:
        text = command(one.candidate.thing)
        assert "DiffusionPipeline.from_pretrained" in text
        assert "num_inference_steps=28" in text
        body = re.search(r"<<'END'\n(.*)\nEND", text, re.DOTALL)[1]
        compile(body, "launch", "exec")


def test_lines_of_several_cards_and_of_weights_that_stream_in(found):
    """A script that several processes run is a file; what streams is told where to; the denoiser by its own name."""
    thing = found.worked[0].candidate.thing
    shared = command(replace(thing, making=replace(thing.making, accelerators_count=2)))
    assert shared.startswith("cat > make.py <<'END'")
    assert shared.endswith("END\ntorchrun --nproc-per-node 2 make.py")
    assert "pipe.transformer.enable_parallelism" in shared
    streamed = command(replace(thing, making=replace(thing.making, offload="group")))
    assert (
        "pipe.enable_group_offload(torch.device('cuda'), offload_type='leaf_level', use_stream=True)"
        in streamed
    )
    clips = replace(thing.making, pipeline=pipeline("wan2.1-t2v-1.3b"), batch_count=2, compiled=True)
    text = command(replace(thing, making=clips))
    assert "num_videos_per_prompt=2" in text
    old = command(replace(thing, making=replace(thing.making, pipeline=pipeline("sd-1.5"), compiled=True)))
    assert "pipe.unet = torch.compile(pipe.unet)" in old


@pytest.mark.parametrize("name", ["sd-1.5-controlnet", "wan2.1-i2v-14b", "qwen-image-edit"])
def test_what_takes_a_picture_is_started_with_one(found, name):
    thing = found.worked[0].candidate.thing
    text = command(replace(thing, making=replace(thing.making, pipeline=pipeline(name))))
    assert "from diffusers.utils import load_image" in text
    assert "image=load_image(" in text
    assert ("controlnet=control" in text) == ("controlnet" in name)
    compile(re.search(r"<<'END'\n(.*)\nEND", text, re.DOTALL)[1], "launch", "exec")


def test_encoders_that_leave_do_so_alone(found):
    thing = found.worked[0].candidate.thing
    text = command(replace(thing, making=replace(thing.making, offload="text")))
    assert "enable_model_cpu_offload" not in text
    assert "apply_group_offloading(part" in text
    assert "load_image" not in text


def test_four_bits_unasked_only_where_the_chip_multiplies_them():
    unnamed = TEXT.replace(", weights: {bf16: {acceptance: 0.8, how: measured}}", "")
    brief = complete(parse_brief(unnamed, as_of=AS_OF), as_of=AS_OF, assume=True)
    tried = {
        card: {
            made.deployment.weights.id
            for made, _ in made_on(brief, brief.media, brief.models[0], accelerator(card))
            if made
        }
        for card in ("l40s", "b200-sxm-180", "mi355x")
    }
    assert "fp8" in tried["l40s"]
    assert "nvfp4" in tried["b200-sxm-180"]
    assert "nvfp4" not in tried["l40s"] | tried["mi355x"]
    named = decided(TEXT.replace("bf16: {", "nvfp4: {").replace("h100-sxm-80, ", ""))
    text = command(named.worked[0].candidate.thing)
    assert "from torchao.prototype.mx_formats import NVFP4WeightOnlyConfig" in text


def test_hours_of_audio_are_transcribed():
    text = """
name: calls
workload: media-generation
models: [{id: openai/whisper-large-v3, weights: {fp16: {acceptance: 0.9}, int8: {acceptance: 0.9}}}]
media: {kind: transcription, items_per_month: 5000, review_per_output: 0.5 USD, item_size: 60 kB}
traffic: {window: 6 h, every: day}
limits: {data: any, needed_by: 2027-02-01}
horizon: 12 months
team: {platform_engineers: 0.1, loaded_cost: 90000 USD/year}
consider: {accelerators: [l4, h100-sxm-80], capacity: [on-demand]}
"""
    found = decided(text)
    decision = found.decision
    assert decision.verdict == "satisfied"
    assert decision.denominator == "accepted_audio_hour"
    assert decision.options[0].metrics["audio_hours_per_h"].value > 5
    for one in found.worked:
        assert "whisper" in command(one.candidate.thing).lower()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("black-forest-labs/FLUX.1-dev", "Wan-AI/Wan2.1-T2V-14B"), "CB-B051"),
        (("  steps: 28\n", "  frames: 81\n"), "CB-B052"),
        (("black-forest-labs/FLUX.1-dev", "no/such-pipeline"), "CB-B038"),
        (("black-forest-labs/FLUX.1-dev", "meta-llama/Llama-3.1-8B-Instruct"), "CB-B051"),
        (("  steps: 28\n", "  width: 7\n"), "CB-B011"),
        (("  steps: 28\n", "  height: 20000\n"), "CB-B011"),
        (("kind: image", "kind: transcription\n  width: 640"), "CB-B055"),
    ],
)
def test_what_a_media_brief_cannot_mean_is_refused(change, code):
    assert change[0] in TEXT
    with pytest.raises(InvalidInput) as caught:
        parse_brief(TEXT.replace(*change), as_of=AS_OF)
    assert code in {one.code for one in caught.value.problems}
    assert all(one.line for one in caught.value.problems)


def test_making_audio_comes_later():
    later = not_yet(parse_brief(TEXT.replace("kind: image", "kind: audio"), as_of=AS_OF))
    assert later.code == "CB-B050"
    assert "0.2" in later.what


def test_means_are_those_of_the_brief():
    brief = complete(parse_brief(TEXT, as_of=AS_OF), as_of=AS_OF)
    assert {"h100-sxm-80", "l40s"} <= means_of(brief, AS_OF).priced
