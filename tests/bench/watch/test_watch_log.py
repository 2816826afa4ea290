"""An engine's log followed while it is written, and what it says of its start-up."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.bench.watch import Tail, found_ids, log_facts, tail
from cabida.bench.watch.refusals import Refusal, is_full, is_out_of_memory, is_too_long, refusal
from cabida.bench.watch.tail import clean, figures_of, sign_of, signs

OOM = "ERROR 11-30 torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
VLLM_STATS = (
    "INFO 11-30 20:00:00 [loggers.py:127] Engine 000: Avg prompt throughput: 8.0 tokens/s, Avg generation throughput: "
    "12.1 tokens/s, Running: 3 reqs, Waiting: 2 reqs, GPU KV cache usage: 97.5%, Prefix cache hit rate: 0.0%"
)
SGLANG_STATS = (
    "[2026-11-30 16:06:07 TP0] Decode batch, #running-req: 66, #token: 87282, token usage: 0.98, cuda graph: False, "
    "gen throughput (token/s): 2574.67, #queue-req: 11"
)
STARTUP = """\
INFO 11-30 09:00:00 [api_server.py:1896] vLLM API server version 0.11.0
INFO 11-30 09:00:20 [gpu_model_runner.py:2653] Model loading took 14.9889 GiB and 3.2 seconds
INFO 11-30 09:00:30 [gpu_worker.py:298] Available KV cache memory: 18.25 GiB
INFO 11-30 09:00:31 [kv_cache_utils.py:1087] GPU KV cache size: 149,488 tokens
INFO 11-30 09:00:31 [kv_cache_utils.py:1091] Maximum concurrency for 8,192 tokens per request: 18.25x
"""


@pytest.mark.parametrize(
    ("line", "sign"),
    [
        (OOM, "out-of-memory"),
        ("CUDA error: out of memory", "out-of-memory"),
        ("ggml_backend_cuda_buffer_type: allocating 512.00 MiB on device 0: cudaMalloc failed: out of memory",
         "out-of-memory"),
        ("WARNING scheduler.py:1057] Sequence group 0 is preempted by PreemptionMode.RECOMPUTE mode", "preemption"),
        ("KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_token_ratio: 0.99 -> 1.0", "preemption"),
        ("NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus.", "gpu-lost"),
        ("(EngineCore pid=7) ERROR EngineCore encountered a fatal error.", "crash"),
        ("srv    send_error: task id = 5, error: request (601 tokens) exceeds the available context size (512 tokens)",
         "refused"),
        ("INFO:     Application startup complete.", "started"),
        ("srv          init: server is listening on http://127.0.0.1:8080", "started"),
        ("2026-11-30 ERROR something", "error"),
        ("Engine core proc started", ""),
        ("INFO 11-30 Received request cmpl-1: prompt: 'CUDA out of memory'", ""),
        ('{"messages": [{"content": "Segmentation fault"}]}', ""),
        ("INFO everything is fine", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_signs(line, sign):
    assert sign_of(line) == sign


def test_every_sign_has_a_sentence_and_a_source():
    from cabida.text import has_text

    for one in signs():
        assert has_text(f"watch.event.log_{one.sign.replace('-', '_')}")
    assert all(one["source"] for one in tail._data()["signs"] + tail._data()["figures"])


def test_periodic_lines_tell_queue_and_cache_where_no_page_does():
    assert figures_of(VLLM_STATS) == {"running_count": 3, "waiting_count": 2, "kv_used_ratio": 0.975}
    assert figures_of(SGLANG_STATS) == {"running_count": 66, "waiting_count": 11, "kv_used_ratio": 0.98}
    assert figures_of("Running: many reqs, KV cache usage: x%") == {}


def test_a_log_is_followed_from_where_it_stands(tmp_path):
    log = tmp_path / "engine.log"
    log.write_text(f"{OOM}\n")
    one = Tail(log)
    one.begin()
    assert one.sample() == ({}, [])
    with log.open("a") as out:
        out.write(f"{VLLM_STATS}\n{OOM}\n{OOM}\nCUDA err")
    figures, told = one.sample()
    assert figures["log.waiting_count"] == 2
    assert [(row["sign"], row["count"]) for row in told] == [("out-of-memory", 2)]
    with log.open("a") as out:
        out.write("or: out of memory\n")  # the rest of a line that was cut
    assert [row["sign"] for row in one.sample()[1]] == ["out-of-memory"]
    assert one.sample() == ({}, [])


def test_a_log_that_is_rotated_cut_or_gone(tmp_path):
    log = tmp_path / "engine.log"
    log.write_text("old\n" * 100)
    one = Tail(log)
    one.begin()
    log.rename(tmp_path / "engine.log.1")
    assert [row["event"] for row in one.sample()[1]] == ["log-lost"]
    assert one.sample()[1] == []  # told once
    log.write_text(f"{OOM}\n")
    back, found = one.sample()[1]
    assert (back["event"], found["sign"]) == ("log-back", "out-of-memory")
    log.write_text("x\n")  # cut and begun again
    assert one.sample()[1] == []
    with log.open("a") as out:
        out.write(f"{OOM}\n")
    assert len(one.sample()[1]) == 1


def test_a_log_that_comes_too_fast_is_skipped_and_said(tmp_path, monkeypatch):
    monkeypatch.setattr(tail, "READ_BYTES", 1000)
    log = tmp_path / "engine.log"
    log.write_text("")
    one = Tail(log)
    one.begin()
    log.write_text("y" * 99 + "\n" + "x" * 99_899 + f"\n{OOM}\n")
    told = one.sample()[1]
    assert told[0]["event"] == "log-skipped"
    assert told[0]["bytes"] == log.stat().st_size - 1000
    assert told[1]["sign"] == "out-of-memory"


def test_what_is_no_log_hangs_nobody(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert [row["event"] for row in Tail(tmp_path / "pipe").sample()[1]] == ["log-lost"]
    assert log_facts(tmp_path / "pipe").why
    assert log_facts(tmp_path / "nothing").why
    assert found_ids(tmp_path / "nothing", ["cmpl-12345678"]) == set()


def test_lines_are_kept_without_keys_colours_and_control_characters():
    shown = clean("\x1b[31mERROR\x1b[0m api_key='sk-abcdefghijklmnopqrstuvwx' \x07" + "z" * 9000)
    assert "sk-abc" not in shown
    assert shown.startswith("ERROR")
    assert len(shown) <= 300
    assert shown.isprintable()


def test_facts_of_a_start_up(tmp_path):
    log = tmp_path / "engine.log"
    log.write_text(STARTUP + f"{OOM}\n")
    facts = log_facts(log)
    assert facts.engine == "vllm"
    assert facts.setup["engine_version"] == "0.11.0"
    assert facts.measured["weights_gib_per_gpu"] == pytest.approx(14.9889)
    assert facts.measured["kv_cache_tokens"] == 149_488
    assert facts.signs == {"out-of-memory": 1}
    assert facts.until_offset == log.stat().st_size
    with log.open("a") as out:
        out.write(STARTUP.replace("149,488", "100,000"))
    assert log_facts(log).measured["kv_cache_tokens"] == 100_000  # the last of two start-ups
    assert log_facts(log, facts.until_offset).runs_count == 1
    assert log_facts(log, facts.until_offset).signs == {}


def test_ids_in_a_log(tmp_path, monkeypatch):
    monkeypatch.setattr(tail, "READ_BYTES", 100)
    log = tmp_path / "engine.log"
    log.write_text("x" * 95 + "cmpl-aaaaaaaa1" + "y" * 300 + "cmpl-bbbbbbbb2\n")
    assert found_ids(log, ["cmpl-aaaaaaaa1", "cmpl-bbbbbbbb2", "cmpl-cccccccc3", "x"]) == {
        "cmpl-aaaaaaaa1",
        "cmpl-bbbbbbbb2",
    }
    assert found_ids(log, ["cmpl-aaaaaaaa1"], from_offset=110) == set()


@pytest.mark.parametrize(
    ("text", "limit", "asked"),
    [
        ("This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4900 in the "
         "messages, 100 in the completion).", 4096, 5000),
        ("This model's maximum context length is 1024 tokens. However, your request has 2048 input tokens. Please",
         1024, 2048),
        ("This model's maximum context length is 8192 tokens. However, you requested 128 output tokens and your prompt "
         "contains at least 8100 input tokens", 8192, 8100),
        ("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
         8192, 9000),
        ("The decoder prompt (length 12324) is longer than the maximum model length of 8192.", 8192, 12324),
        ("The input (5000 tokens) is longer than the model's context length (4096 tokens).", 4096, 5000),
        ("Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of "
         "5000 tokens", 4096, 5000),
        ("request (601 tokens) exceeds the available context size (512 tokens), try increasing it", 512, 601),
        ("The sum of prompt length (4000) and query length (0) max_tokens (2048) should not exceed max_seq_len (4096)",
         4096, 4000),
        ("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
         4096, 5000),
        ("Input validation error: `inputs` must have less than 4095 tokens. Given: 5000", 4095, 5000),
        ("prompt is too long: 150000 tokens > 128000 maximum", 128000, 150000),
        ("This model's maximum context length is 131,072 tokens", 131072, None),
    ],
)  # fmt: skip
def test_what_engines_say_of_prompts_that_are_too_long(text, limit, asked):
    found = refusal(text)
    assert isinstance(found, Refusal)
    assert found.limit_tokens == limit
    assert found.asked_tokens == asked
    assert is_too_long(text)


def test_what_else_servers_say():
    assert refusal("model `x` does not exist") is None
    assert not is_too_long("invalid temperature")
    assert is_too_long('{"type": "exceed_context_size_error"}')
    assert is_out_of_memory("CUDA out of memory. Tried to allocate 2 GiB")
    assert not is_out_of_memory("too many tokens")
    assert is_full("Too Many Requests: queue is full")


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=500)
    | st.text(alphabet="maximum context length is of tokens 0123456789(){}.,", max_size=500)
)
def test_no_line_breaks_the_readers(text):
    sign_of(text)
    figures_of(text)
    refusal(text)
    assert "\n" not in clean(text)
