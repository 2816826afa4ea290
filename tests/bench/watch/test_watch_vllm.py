"""The ramp against a real vLLM of which the cache is small: its limit, where it preempts, and how it dies."""

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from llama_small import free_port

from cabida.bench.clock import now_s
from cabida.bench.outcome import Ask
from cabida.bench.watch import MemoryLimits, Tried, log_facts, ramp, watched, watcher
from cabida.bench.watch.memory import judged
from cabida.bench.wire import Wire, endpoint, request_body
from cabida.plan.bench import Policy, Target

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[3]
MODEL = ROOT / "tests" / "bench" / "engines" / "tiny_model.py"
# 24 blocks of 128 tokens, one of which vLLM keeps: 7 requests of 324 tokens fill 21 of them, an 8th cannot grow
FLAGS = ("--max-model-len", "1024", "--max-num-seqs", "64", "--num-gpu-blocks-override", "24", "--enforce-eager",
         "--no-enable-prefix-caching", "--dtype", "bfloat16")  # fmt: skip
OFFLINE = {
    "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "OMP_NUM_THREADS": "1", "DO_NOT_TRACK": "1",
    "VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind",
}  # fmt: skip
INPUT, ANSWER = 200, 128


@pytest.fixture(scope="module")
def vllm(tmp_path_factory):
    folder, port = tmp_path_factory.mktemp("vllm"), free_port()
    env, programs = {**os.environ, **OFFLINE}, ROOT / ".vllm" / "bin"
    assert (programs / "vllm").exists(), "vLLM isn't there: make vllm"
    subprocess.run(
        [programs / "python", MODEL, folder / "tiny"], check=True, env=env, timeout=300, capture_output=True
    )
    log = folder / "vllm.log"
    words = [programs / "vllm", "serve", folder / "tiny", "--served-model-name", "tiny", "--host", "127.0.0.1",
             "--port", str(port), *FLAGS]  # fmt: skip
    with log.open("wb") as out:
        engine = subprocess.Popen(words, stdout=out, stderr=out, env=env, start_new_session=True)
    try:
        until = time.monotonic() + 400
        while True:
            assert engine.poll() is None, log.read_text(errors="replace")[-2000:]
            with (
                contextlib.suppress(URLError, OSError),
                urlopen(f"http://127.0.0.1:{port}/health", timeout=2),
            ):
                break
            assert time.monotonic() < until
            time.sleep(0.5)
        yield Target(f"http://127.0.0.1:{port}/v1", "tiny", api="completions", log=str(log)), engine
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(engine.pid, signal.SIGKILL)
        engine.wait()


async def asked(wire, watching, context_tokens, concurrency, turn, meanwhile=None):
    answer = ANSWER if concurrency > 1 else 1
    waiting = []
    for at in range(concurrency):
        body = request_body(
            wire.endpoint.target, f"{turn} {at}" + " the" * (context_tokens - 6), answer, True
        )
        waiting.append(
            asyncio.ensure_future(wire.ask(Ask(f"{turn}/{at}", body, now_s(), context_tokens, answer)))
        )
    rows = []
    while any(not one.done() for one in waiting):
        rows += await watching.sample()
        if meanwhile is not None:
            meanwhile()
            meanwhile = None
        await asyncio.wait(waiting, timeout=0.1)
    rows += await watching.sample()
    return Tried(tuple([await one for one in waiting]), tuple(rows))


def test_the_edge_of_a_small_cache_is_where_vllm_preempts(vllm):
    target, _ = vllm
    rows = []

    async def run():
        found = endpoint(target)
        watching = watcher(target, endpoint=found, every_s=0.5)
        await watching.begin()
        async with Wire(found, Policy(total_s=120.0)) as wire:

            async def ask_at(context_tokens, concurrency):
                tried = await asked(wire, watching, context_tokens, concurrency, len(rows))
                rows.extend(tried.rows)
                return tried

            limits = MemoryLimits(context_target_tokens=INPUT, concurrency_most=32)
            edge = await ramp(ask_at, limits, facts=watching.facts)
        watching.close()
        return watching, edge

    watching, edge = asyncio.run(run())
    assert watching.facts["kv_tokens"] == 24 * 128
    assert "kv_reserved_bytes" not in watching.facts  # what it reserved is not what 24 blocks take
    assert (edge.context_told_tokens, edge.context_verified) == (1024, True)
    assert 990 <= edge.context_tokens_most <= 1023
    assert edge.concurrency_ended_by == "preempted"
    assert 6 <= edge.concurrency_most <= 7
    assert edge.safe_concurrency == int(edge.concurrency_most * 0.9)
    assert edge.kv_unused_ratio > 0.05  # blocks of 128 tokens, the last of each partly filled
    assert watched(rows).increases["preemptions_count"] >= 1
    facts = log_facts(target.log)
    assert (facts.engine, facts.setup["args"]["max_model_len"]) == ("vllm", 1024)


def test_an_engine_core_that_is_killed_is_a_crash_and_no_refusal(vllm):
    target, engine = vllm
    group = subprocess.run(
        ["ps", "-o", "pid=,args=", "-g", str(engine.pid)], capture_output=True, text=True, check=True
    )
    core = next(int(line.split()[0]) for line in group.stdout.splitlines() if "EngineCore" in line)

    async def run():
        watching = watcher(target, every_s=0.5)
        await watching.begin()
        async with Wire(endpoint(target), Policy(total_s=30.0)) as wire:
            tried = await asked(wire, watching, INPUT, 2, "kill", lambda: os.kill(core, signal.SIGKILL))
        watching.close()
        return tried

    tried = asyncio.run(run())
    assert all(one.verdict != "ok" for one in tried.outcomes)
    assert judged("concurrency", INPUT, 2, tried).verdict == "crash"
