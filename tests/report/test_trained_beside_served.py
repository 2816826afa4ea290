"""Why training takes so much more than serving, in the answer itself."""

import pytest
from click.testing import CliRunner

from cabida import fit
from cabida.faces.cli import cli
from cabida.facts import model
from cabida.memory import params

GIB = 2.0**30
LLAMA = "meta-llama/Llama-3.1-8B"


def test_full_training_of_16_bit_weights_against_the_same_model_at_rest():
    count = params(model(LLAMA)).total_count
    told = fit(LLAMA, gpu="a100-sxm-80", method="full", seq_len=2048)
    beside = told["served"]
    assert beside["weights_gib"] == pytest.approx(2 * count / GIB, rel=0.01)
    # 32 layers, keys and values, 8 heads of 128, two bytes each
    assert beside["kv_cache_gib"] == pytest.approx(32 * 2 * 8 * 128 * 2 * 2048 / GIB)
    peak = sum(told["parts_gib"].values())
    assert beside["times"] == pytest.approx(peak / (beside["weights_gib"] + beside["kv_cache_gib"]))
    # AdamW of mixed precision: a copy of the weights and two moments, four bytes each
    assert beside["part"] == "optimizer"
    assert beside["part_gib"] == pytest.approx(12 * count / GIB, rel=0.01)


def test_every_sequence_in_work_has_its_cache():
    one = fit(LLAMA, gpu="h100-sxm-80", method="full", gpus=8, sharding="zero-3")["served"]
    four = fit(LLAMA, gpu="h100-sxm-80", method="full", gpus=8, sharding="zero-3", micro_batch=4)["served"]
    assert one["kv_cache_gib"] == pytest.approx(8 * 32 * 2 * 8 * 128 * 2 * 2048 / GIB)
    assert four["kv_cache_gib"] == pytest.approx(4 * one["kv_cache_gib"])


@pytest.mark.parametrize(("language", "said"), [("en", "To serve it"), ("es", "Para servirlo")])
def test_it_is_said_where_the_limits_are(language, said):
    words = ["fit", LLAMA, "--gpu", "a100-sxm-80", "--method", "lora", "--lang", language]
    out = CliRunner().invoke(cli, words).output
    assert said in out
    assert "14" in out.partition(said)[2].splitlines()[0]
