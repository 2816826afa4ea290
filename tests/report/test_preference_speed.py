"""``speed`` of preference tuning: passes add up, what is generated is simulated, what doesn't fit is refused."""

import pytest

from cabida import app
from cabida.errors import InvalidInput, UsageProblem

MODEL, GPU = "meta-llama/Llama-3.1-8B", "h100-sxm-80"


def asked(method: str, **flags: object) -> dict:
    plain = {"gpus": 8, "sharding": "fsdp", "seq_len": 2048, "global_batch": 64}
    return app.speed(MODEL, gpu=GPU, method=method, **(plain | flags))


def test_dpo_is_orpo_and_a_forward_of_the_reference():
    dpo, orpo = asked("dpo"), asked("orpo")
    assert set(dpo["parts_s"]) == {"training", "reference_forward"}
    assert sum(dpo["parts_s"].values()) == pytest.approx(dpo["metrics"]["step_time_s"].value)
    ratio = dpo["metrics"]["step_time_s"].value / orpo["metrics"]["step_time_s"].value
    assert 1.25 < ratio < 4 / 3  # a forward beside three passes, without optimizer and fixed time
    assert dpo["metrics"]["examples_s"].value == pytest.approx(64 / dpo["metrics"]["step_time_s"].value)
    for one in dpo["metrics"].values():
        assert one.low < one.value < one.high


def test_longer_answers_take_longer_to_generate():
    short, long = (
        asked("grpo", trains="lora", seq_len=None, input_tokens=256, output_tokens=tokens)
        for tokens in (256, 1024)
    )
    assert (short["seq_len"], long["seq_len"]) == (512, 1280)
    assert long["parts_s"]["generation"] > 2 * short["parts_s"]["generation"] > 0
    assert long["warnings"]


def test_what_does_not_fit_beside_the_policy_is_refused():
    with pytest.raises(InvalidInput, match="CB-T057"):
        asked("ppo", sharding="ddp", gpus=8, input_tokens=10, output_tokens=100)
    with pytest.raises(InvalidInput, match="CB-T055"):
        asked("grpo", trains="lora")
    with pytest.raises(UsageProblem, match="CB-U046"):
        asked("dpo", concurrency=4)


def test_what_cannot_be_meant_is_refused():
    with pytest.raises(InvalidInput, match="CB-U019"):
        asked("dpo", framework="banana")
    with pytest.raises(UsageProblem, match="CB-U046"):
        asked("dpo", output_tokens=10**9)  # pairs are there: nothing is generated
    with pytest.raises(InvalidInput, match="CB-U063"):
        asked("grpo", trains="lora", seq_len=None, input_tokens=500, output_tokens=10**9)
    with pytest.raises(InvalidInput, match="CB-U053"):
        asked("dpo", global_batch=12)
