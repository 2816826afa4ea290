"""Measured media rows: what is read from them, what is answered and how far it is off."""

import json
from pathlib import Path

import pytest

from cabida.truth.case import read_cases
from cabida.truth.media_case import media_figures, media_run
from cabida.truth.media_speed_case import as_run
from cabida.truth.names import Unanswerable
from cabida.truth.predict import answer
from cabida.truth.score import metric_score
from cabida.truth.validate import predicted, validate

CASES = Path("cases/media.jsonl")
ROW = {
    "id": "x", "kind": "media", "task": "t2v", "model": "Wan2.1-T2V-14B", "resolution": "720P", "frames": 81,
    "batch": 1, "precision": "bf16", "gpus": 8, "optimisations": ["FSDP", "xDiT USP"], "gpu": "h20-96",
    "measured": {"peak_mem_gib": 29.9}, "source": "somebody/else README.md",
}  # fmt: skip


def test_a_row_becomes_the_run_it_describes():
    run = media_run(ROW)
    assert (run.pipeline.id, run.width_count, run.height_count, run.frames_count) == (
        "wan2.1-t2v-14b",
        1280,
        720,
        81,
    )
    assert (run.accelerators_count, run.split, run.framework) == (8, "fsdp+sequence", "diffusers")
    assert media_run({**ROW, "source": "Wan-Video/Wan2.1 README"}).framework == "repository"


@pytest.mark.parametrize(
    ("model", "size", "frames"),
    [("HunyuanVideo-13B 544x960 129f", (544, 960), 129), ("SkyReels-V2-14B 540P T2V", (960, 544), 97)],
)
def test_sizes_and_lengths_in_a_name_are_read(model, size, frames):
    bare = {key: value for key, value in ROW.items() if key not in ("resolution", "frames")}
    run = media_run({**bare, "model": model})
    assert ((run.width_count, run.height_count), run.frames_count) == (size, frames)


def test_formats_of_torchao_scripts():
    run = media_run({**ROW, "task": "t2v", "model": "CogVideoX-5B", "precision": "fp6_e3m2",
                     "source": "sayakpaul/diffusers-torchao README.md"})  # fmt: skip
    assert run.weights.body_bits == run.text_weights.body_bits == 6.0
    assert not run.quantised_on_device


def test_an_unknown_pipeline_and_a_figure_of_speed_say_why():
    with pytest.raises(Unanswerable, match="no pipeline is known"):
        media_run({**ROW, "model": "Never-Heard-Of-It"})
    with pytest.raises(Unanswerable, match="steps"):
        media_figures(
            {"task": "t2i", "model": "FLUX.1-dev", "source": "x", "gpu": "l20", "measured": {"it_s": 1}}
        )


def test_kernels_caches_and_shares_are_read_from_what_people_call_them():
    row = {**ROW, "model": "FLUX.1-dev", "resolution": "1024x1024", "precision": "fp8dq", "gpu": "l20"}
    made = as_run(
        {**row, "gpus": 4}, media_run({**row, "gpus": 4, "optimisations": ["FBCache0.12+FP8 DQ+CP"]})
    )
    assert (made.multiplied, made.weights.id) == ("fp8", "fp8")
    sana = {
        **row,
        "model": "Sana-1.6B",
        "precision": "bf16",
        "optimisations": ["cfg2 ulysses2 pp2"],
        "gpus": 8,
    }
    shared = as_run(sana, media_run(sana))
    assert (shared.guidance_ranks_count, shared.stages_count, shared.split) == (2, 2, "sequence")
    runtime = {**row, "optimisations": ["OneDiff compile"], "precision": "fp16", "gpus": 1}
    assert as_run(runtime, media_run(runtime)).compiler == "graph"


def test_speed_of_the_carried_rows_within_the_aims():
    found = predicted([CASES])
    for metric, rows in (("seconds_per_item", 270), ("it_s", 210)):
        some = metric_score([one for one in found if one.metric == metric])
        assert some["n"] >= rows
        assert some["source_median_error_ratio"] < 0.15
        assert some["p90_error_ratio"] < 0.40
        assert 0.85 <= some["within_interval_ratio"] <= 0.97


def test_transcriptions_are_answered_within_their_interval():
    found = [one for one in predicted([CASES]) if one.case.row["task"] == "asr"]
    assert len(found) == 7
    assert sum(one.low <= one.measured <= one.high for one in found) >= 6


def test_odd_values_are_told_not_raised(tmp_path):
    values = ["many", "", [], {}, [1], True, 0, -3, 1e308, 10**400, "99999x99999", ["a", 3]]
    keys = ("task", "resolution", "frames", "steps", "batch", "precision", "gpus", "optimisations", "gpu")
    odd = [{**ROW, key: value} for key in keys for value in values]
    file = tmp_path / "odd.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in odd), encoding="utf-8")
    told = validate([file])
    assert told["answered"] + len(told["skipped"]) == len(odd)


def test_memory_of_the_carried_rows_within_the_aims():
    found = metric_score([one for one in predicted([CASES]) if one.metric == "peak_mem_gib"])
    assert found["n"] >= 220
    assert found["source_median_error_ratio"] < 0.10
    assert found["p90_error_ratio"] < 0.25
    assert found["within_interval_ratio"] >= 0.85


def test_every_row_with_a_memory_figure_is_answered():
    cases, _ = read_cases([CASES])
    asked = [one for one in cases if isinstance(one.measured.get("peak_mem_gib"), int | float)]
    assert len(asked) > 220
    assert all(answer(one).predictions for one in asked)


@pytest.mark.parametrize(
    ("said", "accelerators", "wanted"),
    [
        (
            ["enable_model_cpu_offload", "VAE tiling"],
            1,
            {"offload": "model", "vae_tiling": True, "split": "none"},
        ),
        (["sequential CPU offload"], 1, {"offload": "sequential"}),
        (["group offload"], 1, {"offload": "group"}),
        (["TP2"], 2, {"split": "tensor", "offload": "none"}),
        (["ulysses 4"], 4, {"split": "sequence"}),
        (["FSDP"], 4, {"split": "fsdp"}),
        ([], 4, {"split": "data"}),
    ],
)
def test_settings_as_people_call_them(said, accelerators, wanted):
    run = media_run({**ROW, "optimisations": said, "gpus": accelerators})
    assert {name: getattr(run, name) for name in wanted} == wanted


def test_a_batch_of_texts_with_a_memory_figure_is_answered(tmp_path):
    row = {"id": "e", "kind": "media", "task": "embed", "model": "BAAI/bge-m3", "precision": "fp16", "batch": 8,
           "measured": {"peak_mem_gib": 1.3}, "source": "somebody/else"}  # fmt: skip
    file = tmp_path / "embed.jsonl"
    file.write_text(json.dumps(row), encoding="utf-8")
    told = validate([file])
    assert told["answered"] == 1
    assert told["metrics"]["peak_mem_gib"]["median_error_ratio"] < 0.25
