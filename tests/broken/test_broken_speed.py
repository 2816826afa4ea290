"""Questions about speed that can't be meant: each is refused with its code, none is answered in part."""

from __future__ import annotations

import pytest

import cabida
from cabida.errors import CabidaError

CHAT = "meta-llama/Llama-3.1-8B-Instruct"
TRAINED = "meta-llama/Llama-3.1-8B"


@pytest.mark.parametrize(
    ("flags", "codes"),
    [
        ({"acceptance": 0.5}, {"CB-U050"}),
        ({"adapters_count": 4}, {"CB-U050"}),
        ({"prefixes_count": 7, "turn_gap_s": 5.0, "burst_ratio": 4.0, "routing": "random"}, {"CB-U050"}),
        ({"requests_per_s": 1.0, "ramp_s": 10.0}, {"CB-U050"}),
        ({"concurrency": 2, "profile": (1.0, 2.0) * 12}, {"CB-U050"}),
        ({"draft_tokens": 3}, {"CB-U050"}),
        ({"draft": "mtp"}, {"CB-U052"}),
        ({"gpus": 2, "nodes": 3}, {"CB-U048"}),
        ({"shared_prefix_tokens": 5000, "input_tokens": 1000.0}, {"CB-U054"}),
        ({"output_tokens": 1e9}, {"CB-U063"}),
        ({"max_model_len": 512, "input_tokens": 2000.0}, {"CB-U063"}),
        ({"turns_count": 100, "input_tokens": 5000.0}, {"CB-U063"}),
        ({"concurrency": 0.01}, {"CB-U064"}),
        ({"concurrency": 1.5}, {"CB-U064"}),
        ({"concurrency": 1e12}, {"CB-U064"}),
    ],
)
def test_what_serving_cannot_mean_is_refused(flags, codes):
    with pytest.raises(CabidaError) as refused:
        cabida.speed(CHAT, gpu="l40s", **flags)
    assert {one.code for one in refused.value.problems} == codes


@pytest.mark.parametrize(
    ("model", "gpu", "flags", "code"),
    [
        ("BAAI/bge-m3", "l4", {"gpus": 4}, "CB-U046"),
        ("BAAI/bge-m3", "l4", {"output_tokens": 4.0}, "CB-U046"),
        ("BAAI/bge-m3", "l4", {"method": "lora"}, "CB-U046"),
        ("BAAI/bge-m3", "l4", {"demand": 100.0}, "CB-U046"),
        ("BAAI/bge-m3", "l4", {"trace": "requests.csv"}, "CB-U046"),
        ("BAAI/bge-m3", "l4", {"input_tokens": 40_000.0}, "CB-U065"),
        ("flux.1-dev", "h100-sxm-80", {"frames": 100}, "CB-U046"),
        ("openai/whisper-large-v3", "rtx4090", {"gpus": 4}, "CB-U046"),
        (TRAINED, "h100-sxm-80", {"method": "lora", "optimizer": "banana"}, "CB-U018"),
        (TRAINED, "h100-sxm-80", {"method": "lora", "framework": "banana"}, "CB-U019"),
        (TRAINED, "h100-sxm-80", {"method": "lora", "precision": "int3"}, "CB-U019"),
        (TRAINED, "h100-sxm-80", {"method": "pretrain", "gpus": 64, "sharding": "fsdp", "global_batch": 9}, "CB-U053"),
    ],
)  # fmt: skip
def test_what_other_kinds_have_no_use_for_is_refused(model, gpu, flags, code):
    with pytest.raises(CabidaError) as refused:
        cabida.speed(model, gpu=gpu, **flags)
    assert [one.code for one in refused.value.problems] == [code]


def test_a_trace_says_the_lengths_itself(tmp_path):
    path = tmp_path / "requests.csv"
    path.write_text("arrival_s,input_tokens,output_tokens\n0,100,10\n")
    assert cabida.speed(CHAT, gpu="l40s", trace=path)["requests"] == 1
    with pytest.raises(CabidaError) as refused:
        cabida.speed(CHAT, gpu="l40s", trace=path, input_tokens=5.0)
    assert [one.code for one in refused.value.problems] == ["CB-U009"]


def test_what_is_looked_up_needs_no_model_to_draft():
    found = cabida.speed(CHAT, gpu="l40s", draft="ngram", draft_tokens=4, acceptance=0.4, concurrency=2)
    assert found["metrics"]["output_tok_s"].value > 0


def test_twenty_thousand_clients_wait_as_long_as_little_says():
    """Little 1961: clients = throughput x time from request to answer, whatever the number of clients."""
    clients = 20_000
    metrics = cabida.speed(CHAT, gpu="l40s", concurrency=clients)["metrics"]
    within = metrics["req_s"].value * metrics["e2e_ms_mean"].value / 1000
    assert within == pytest.approx(clients, rel=0.1)


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ({"concurrency": 1e9}, "CB-U064"),
        ({"concurrency": 0.01}, "CB-U064"),
        ({"output_tokens": 1e8}, "CB-U063"),
    ],
)
def test_a_price_is_not_worked_out_for_what_cannot_be_served(flags, code):
    with pytest.raises(CabidaError) as refused:
        cabida.cost(CHAT, gpu="l40s", **flags)
    assert [one.code for one in refused.value.problems] == [code]
