"""The simulation gives the same numbers compiled and interpreted."""

import json
import os
import subprocess
import sys

import pytest

ASK = """
import json, cabida
from cabida.timing.queues import queue
open_ = cabida.speed("meta-llama/Llama-3.1-8B-Instruct", gpu="l40s", weights="fp8", input_tokens=700.0,
                     output_tokens=120.0, requests_per_s=6.0, seed=5)
closed = cabida.speed("Qwen/Qwen3-30B-A3B", gpu="h100-sxm-80", weights="fp8", input_tokens=1500.0,
                      output_tokens=60.0, concurrency=24.0, seed=5)
print(json.dumps([{name: [one.value, one.low, one.high] for name, one in answer["metrics"].items()}
                  for answer in (open_, closed)] + [{"compiled": [float(hasattr(queue.run, "py_func"))] * 3}]))
"""
WITHOUT = "import sys; sys.modules['numba'] = None\n"  # as where the extra is not installed


def asked(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_compiled_switched_off_and_not_installed_agree():
    *compiled, how = asked(ASK)
    assert how["compiled"][0] == 1.0
    *off, _ = asked(ASK, NUMBA_DISABLE_JIT="1")
    *absent, how = asked(WITHOUT + ASK)
    assert how["compiled"][0] == 0.0
    for others in (off, absent):
        for answer, other in zip(compiled, others, strict=True):
            assert answer.keys() == other.keys()
            for name, figures in answer.items():
                assert figures == pytest.approx(other[name], rel=1e-9), name
