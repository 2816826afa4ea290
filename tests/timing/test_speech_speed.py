"""Transcription: the encoder's work by hand, memory, and what makes it faster."""

from dataclasses import replace

import pytest

from cabida import facts, memory, timing
from cabida.plan.speech import SpeechRun
from cabida.timing.stages.speech import (
    decoder_layers_count,
    encoder_flop,
    encoder_layers_count,
    encoder_params_count,
    window_bytes,
)

PLAIN = facts.weight_format("bf16")


def run(name="openai/whisper-large-v3", card="a100-sxm-80", **changes):
    return replace(SpeechRun(facts.model(name), facts.accelerator(card), PLAIN, "transformers"), **changes)


def test_the_shape_of_whisper_large_is_read_off_its_layers():
    made = run()
    assert (encoder_layers_count(made), decoder_layers_count(made)) == (32, 32)
    assert encoder_params_count(made) == pytest.approx(635e6, rel=0.02)  # Radford et al. 2022, table 1
    assert decoder_layers_count(run("distil-whisper/distil-large-v3")) == 2
    flop = encoder_flop.raw(encoder_params_count(made), 1500.0, 32.0, 1280.0)
    assert flop == pytest.approx(2.26e12, rel=0.03)


def test_a_token_reads_keys_and_values_of_its_whole_window_in_every_layer():
    assert window_bytes.raw(1500.0, 1280.0, 32.0, 16.0, 1.0) == 1500 * 1280 * 32 * 2 * 2
    assert window_bytes.raw(1500.0, 1280.0, 32.0, 8.0, 3.0) == 1500 * 1280 * 32 * 2 * 3


def test_batches_fewer_layers_and_better_cards_are_faster():
    def hours(made):
        return timing.speech_speed(made).real_time_ratio

    assert hours(run(batch_count=24)) > 3 * hours(run())
    assert hours(run("distil-whisper/distil-large-v3")) > hours(run())
    assert hours(run(card="h200-sxm-141")) > hours(run(card="t4"))
    assert hours(run(attention="eager", batch_count=24)) < hours(run(batch_count=24))
    assert hours(run(precision="fp32")) < hours(run())


def test_the_tree_and_memory_agree_with_the_numbers():
    made = run(framework="ctranslate2", weights=facts.weight_format("int8"))
    tree = timing.speech_speed_tree(made)
    assert tree["transcribed_s"].value == pytest.approx(timing.speech_speed(made).s_per_audio_hour)
    room = memory.speech(made)
    assert room.parts["weights"] == pytest.approx(1.543e9, rel=0.01)
    assert memory.speech_tree(made)["weights_bytes"].value == room.parts["weights"]
    assert memory.speech(run(batch_count=4096)).verdict == "no"
