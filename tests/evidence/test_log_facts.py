"""What an engine's log says of its start-up, for phase 1 of a benchmark, on the lines of every engine."""

import logs
import pytest

from cabida.bench.watch import log_facts


@pytest.mark.parametrize(
    ("text", "engine", "metrics"),
    [
        (logs.VLLM_07, "vllm", {"weights_gib_per_gpu", "kv_cache_gib_per_gpu", "activation_peak_gib"}),
        (logs.VLLM_011, "vllm", {"weights_gib_per_gpu", "kv_cache_tokens"}),
        (logs.SGLANG, "sglang", {"weights_gib_per_gpu", "kv_cache_tokens"}),
        (logs.LLAMA_NEW, "llama.cpp", {"weights_gib_total", "kv_cache_tokens", "peak_gib_total"}),
        (logs.TRTLLM, "tensorrt-llm", {"weights_gib_per_gpu", "kv_cache_tokens"}),
    ],
)
def test_weights_and_cache(tmp_path, text, engine, metrics):
    log = tmp_path / "engine.log"
    log.write_text(text)
    facts = log_facts(log)
    assert facts.engine == engine
    assert metrics <= facts.measured.keys()
    assert facts.why == ""


@pytest.mark.parametrize("text", [logs.VLLM_REFUSED, logs.LLAMA_OOM])
def test_an_engine_that_did_not_start(tmp_path, text):
    log = tmp_path / "engine.log"
    log.write_text(text)
    facts = log_facts(log)
    assert facts.measured["fits"] is False
    assert facts.notes


def test_a_log_of_nothing_known(tmp_path):
    log = tmp_path / "engine.log"
    log.write_text("hello\nCUDA out of memory\n")
    facts = log_facts(log)
    assert (facts.engine, facts.measured) == ("", {})
    assert facts.signs == {"out-of-memory": 1}
    assert facts.why
