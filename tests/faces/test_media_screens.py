"""``fit`` beyond language models, as people type it: flags, screens in both languages, JSON, and what is refused."""

import json

import pytest
from click.testing import CliRunner

from cabida import app, facts
from cabida.errors import CabidaError
from cabida.faces import media_options
from cabida.faces.cli import cli
from cabida.plan.index import KINDS, STORED_BITS
from cabida.text import use_language


def typed(*words, code=0):
    found = CliRunner().invoke(cli, list(words))
    assert found.exit_code == code, found.output
    return found.output


@pytest.fixture(autouse=True)
def _english():
    yield
    use_language("en")


QUESTIONS = [
    ("flux.1-dev", "--gpu", "rtx4090"),
    ("flux.1-dev", "--gpu", "rtx4090", "--gpu", "l40s"),
    ("sdxl",),
    (
        "Wan-AI/Wan2.2-T2V-A14B",
        "--gpu",
        "h100-sxm-80",
        "--offload",
        "model",
        "--vae-tiling",
        "--frames",
        "121",
    ),
    ("hunyuanvideo", "--gpu", "h100-sxm-80", "--gpus", "8", "--sharding", "fsdp"),
    ("bge-m3", "--gpu", "l4", "--batch", "32", "--input-tokens", "512"),
    ("Qwen/Qwen3-Embedding-0.6B", "--gpu", "l4", "--engine", "vllm"),
    ("BAAI/bge-reranker-v2-m3",),
    ("--gpu", "rtx4090", "--width", "768", "--height", "768"),
    ("--gpu", "rtx4090", "--frames", "49", "--offload", "model", "--vae-tiling"),
    ("--vectors", "10M", "--dims", "1024", "--index", "hnsw"),
    ("--vectors", "1.5B", "--dims", "96", "--index", "ivf-pq", "--gpu", "h100-sxm-80", "--keep-vectors"),
    ("bge-m3", "--vectors", "250k", "--replicas", "3", "--growth", "0.5"),
    ("--vectors", "10M", "--dims", "768", "--index", "cagra"),
]


@pytest.mark.parametrize("words", QUESTIONS)
def test_each_question_is_answered_on_the_screen_in_both_languages_and_in_json(words):
    assert "GiB" in typed("fit", *words)
    assert "GiB" in typed("fit", *words, "--lang", "es")
    answer = json.loads(typed("fit", *words, "--json"))
    for row in answer.get("rows", [answer]):
        peak = row["metrics"]["peak_mem_gib"]
        assert 0 < peak["low"] <= peak["value"] <= peak["high"]
        assert sum(row["parts_gib"].values()) == pytest.approx(peak["value"])
        assert row["verdict"] in ("fits", "tight", "no", "")


def test_an_image_model_has_no_cache_and_says_its_phases():
    answer = json.loads(typed("fit", "black-forest-labs/FLUX.1-dev", "--gpu", "h100-sxm-80", "--json"))
    assert answer["model"] == "flux.1-dev"
    assert set(answer["phases_gib"]) == {"text", "denoise", "decode"}
    assert {"peak_mem_gib", "weights_gib_total", "peak_gib_per_gpu", "peak_gib_total"} <= set(
        answer["metrics"]
    )
    assert "kv_cache" not in answer["parts_gib"]
    assert "KV" not in typed("fit", "flux.1-dev", "--gpu", "h100-sxm-80")


def test_rows_come_with_what_fits_first_and_cards_named_in_their_order():
    rows = app.fit("flux.1-dev")["rows"]
    verdicts = [row["verdict"] for row in rows]
    assert verdicts == sorted(verdicts, key=("fits", "tight", "no").index)
    assert [row["gpu"] for row in app.fit("sdxl", gpu=["l40s", "rtx4090"])["rows"]] == ["l40s", "rtx4090"]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("meta-llama/Llama-3.1-8B-Instruct", "--gpu", "l4", "--width", "512"), 2, "CB-U040"),
        (("--vectors", "10M"), 2, "CB-U041"),
        (("--vectors", "10M", "--dims", "8", "--gpu", "l4"), 3, "CB-U042"),
        (("--vectors", "nan", "--dims", "8"), 2, "CB-U004"),
        (("--vectors", "-3", "--dims", "8"), 2, "CB-U004"),
        (("--vectors", "1e99", "--dims", "8"), 2, "CB-U004"),
        (("flux.1-dev", "--gpu", "l4", "--offload", "sideways"), 3, "CB-U019"),
        (("flux.1-dev", "--gpu", "l4", "--framework", "magic"), 3, "CB-U019"),
        (("bge-m3", "--gpu", "l4", "--engine", "magic"), 3, "CB-U019"),
        (("flux.1-dev", "--gpu", "l4", "--width", "3"), 2, "CB-U004"),
        (("flux.1-dev", "--gpu", "l4", "--method", "lora"), 3, "CB-U044"),
        (("sana-1.6b", "--method", "full"), 3, "CB-U044"),
        (("flux.1-dev", "--gpu", "no-such-card"), 3, "CB-F001"),
        (("flux.1-dev", "--gpu", "l4", "--weights", "no-such-format"), 3, "CB-F014"),
    ],
)
def test_what_makes_no_sense_is_told_with_its_code(words, code, told):
    assert told in typed("fit", *words, code=code)


def test_a_name_of_an_embedder_nobody_recorded_is_taken_for_one():
    for name in (
        "Qwen/Qwen3-Reranker-8B",
        "intfloat/e5-mistral-7b-instruct",
        "Alibaba-NLP/gte-Qwen2-7B-instruct",
    ):
        assert app.fit(name, gpu="h100-sxm-80")["kind"] == "encoder"
    assert "kind" not in app.fit("Qwen/Qwen3-8B", gpu="h100-sxm-80")
    with pytest.raises(CabidaError):
        app.fit("nobody/unknown-embedder", gpu="l4")


@pytest.mark.parametrize("model", ["flux.1-dev", "BAAI/bge-m3"])
def test_here_says_where_to_ask_about_what_writes_no_tokens(model):
    assert "CB-U043" in typed("here", model, code=3)


def test_four_bit_weights_warn_of_their_loading():
    words = (
        "flux.2-dev",
        "--gpu",
        "rtx4090",
        "--weights",
        "nf4",
        "--text-weights",
        "nf4",
        "--offload",
        "model",
    )
    assert 'device_map="cpu"' in typed("fit", *words)
    answer = json.loads(typed("fit", *words, "--json"))
    assert answer["verdict"] == "fits"
    assert answer["loading_gib"] > 24


def test_which_pipelines_fit_a_card():
    pictures, clips = app.fit(gpu="rtx4090", width=1024)["rows"], app.fit(gpu="rtx4090", frames=25)["rows"]
    assert {"sdxl", "flux.1-dev"} <= {row["model"] for row in pictures}
    assert {row["task"] for row in pictures} == {"image"}
    assert {row["task"] for row in clips} == {"video"}


def test_a_small_index_is_told_in_mebibytes():
    told = typed("fit", "--vectors", "1000", "--dims", "384")
    assert "1.46 MiB" in told
    assert "0.00" not in told


def test_pictures_over_one_card_several_and_all_of_them():
    one = app.fit(gpu="l4", width=512, height=512)["rows"]
    several = app.fit(gpu=["l4", "h100"], width=512, height=512)["rows"]
    every = app.fit("sdxl", width=512, height=512)["rows"]
    assert {row["model"] for row in one} == {
        one.id for one in facts.pipelines().values() if one.task == "image"
    }
    assert [row for row in several if row["gpu"] == "l4"] == one
    assert {row["gpu"] for row in several} == {"l4", "h100-sxm-80"}
    assert {row["gpu"] for row in every} > {"l4", "h100-sxm-80"}
    on_l4 = next(row for row in one if row["model"] == "sdxl")
    assert next(row for row in every if row["gpu"] == "l4")["needed_gib"] == on_l4["needed_gib"]
    for words in (("--gpu", "l4"), ("--gpu", "l4", "--gpu", "h100"), ("sdxl",)):
        assert "512×512" in typed("fit", *words, "--width", "512", "--height", "512")
    assert "CB-U007" in typed("fit", "--width", "512", "--height", "512", code=2)


def test_choices_of_the_flags_are_those_of_the_nouns():
    assert media_options.KINDS == KINDS
    assert list(media_options.STORED) == list(STORED_BITS)


def test_pipelines_and_components_are_listed_and_shown():
    assert "flux.1-dev" in typed("facts", "list", "pipelines")
    assert "t5-xxl" in typed("facts", "list", "components", "--lang", "es")
    assert "FluxPipeline" in typed("facts", "show", "flux.1-dev")


REFUSED = [
    ("flux.1-dev", "--gpu", "rtx4090"),
    ("wan2.1-t2v-14b", "--gpu", "rtx4090"),
    ("sdxl", "--gpu", "rtx3060-12", "--width", "2048", "--height", "2048", "--batch", "4"),
    ("hunyuanvideo", "--gpu", "h100-sxm-80"),
    ("bge-m3", "--gpu", "l4", "--batch", "4000"),
    ("--vectors", "10M", "--dims", "1024", "--index", "cagra", "--gpu", "l4"),
]


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_offered_was_tried_and_does_it_as_it_is_typed(words):
    answer = json.loads(typed("fit", *words, "--json"))
    assert answer["verdict"] == "no"
    assert answer["changes"]
    screen = " ".join(typed("fit", *words).split())
    for change in answer["changes"]:
        assert change["flags"] in screen
        again = json.loads(typed("fit", *_over(words, change["flags"].split()), "--json"))
        assert again["verdict"] == change["verdict"] != "no"
        assert again["headroom_gib"] == pytest.approx(change["headroom_gib"])
    assert answer["changes"][0]["flags"] in answer["cure"] or answer["changes"][0]["verdict"] == "tight"


def _over(words, flags):
    """The command with flags typed in place of their former values."""
    given = list(words)
    for at, flag in enumerate(flags):
        if flag.startswith("--") and flag in given:
            del given[given.index(flag) : given.index(flag) + 2]
        assert at or flag.startswith("--")
    return [*given, *flags]


@pytest.mark.parametrize("words", [*REFUSED, ("sdxl", "--gpu", "rtx4090"), ("bge-m3", "--gpu", "l4")])
def test_the_picture_adds_up_to_the_card(words):
    answer = json.loads(typed("fit", *words, "--json"))
    parts = dict(answer["memory_gib"])
    missing = parts.pop("missing")
    assert sum(parts.values()) - missing == pytest.approx(answer["usable_gib"])
    assert missing == pytest.approx(max(0.0, -answer["headroom_gib"]))


def test_media_and_language_models_speak_alike():
    for words in REFUSED[:2]:
        screen = typed("fit", *words)
        assert "shown by the driver" in screen
        assert "What to change, least harm first" in screen
        assert "usable" not in screen
