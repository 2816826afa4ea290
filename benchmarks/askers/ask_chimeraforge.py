"""Asks chimeraforge, inside its own environment: questions as JSON lines on stdin, answers as JSON lines on stdout.

It takes a request rate, not a number at once: each row is asked twice, first nearly idle, then at the rate that its own
latency makes of the row's concurrency. Taken is the plan of one replica in the row's format on the row's engine.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

COMMAND = Path(sys.executable).parent / "chimeraforge"
CARDS = {
    "h100-sxm-80": "H100 80GB", "a100-sxm-80": "A100 80GB", "h200-sxm-141": "H200 141GB", "b200-sxm-180": "B200 180GB",
    "b300-sxm-288": "B300 288GB",
}  # fmt: skip
QUANTS = {"bf16": "FP16", "fp8": "FP8", "fp4": "NVFP4"}
BACKENDS = {"vllm": "vllm", "sglang": "sglang", "trtllm": "tensorrt-llm"}


def plan(asked: dict, rate: float) -> dict:
    """The plan of one replica at a request rate."""
    if asked["experts"]:
        message = "experts can't be typed in"
        raise LookupError(message)
    done = subprocess.run(
        [
            COMMAND, "plan", "--model", asked["model"], "--params-b", f"{asked['params_b']:.2f}",
            "--n-layers", str(asked["layers"]), "--n-kv-heads", str(asked["kv_heads"]), "--d-head",
            str(asked["head_dim"]), "--hidden-size", str(asked["hidden"]), "--no-network", "--tp", str(asked["tp"]),
            "--hardware", CARDS.get(asked["gpu"], asked["gpu"]), "--prompt-tokens", str(asked["input_tokens"]),
            "--avg-tokens", str(asked["output_tokens"]), "--context-length",
            str(asked["input_tokens"] + asked["output_tokens"]), "--request-rate", f"{rate:.4f}",
            "--budget", "1000000000", "--quality-target", "0", "--latency-slo", "100000000", "--json",
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or done.stdout.strip())[:200])
    plans = json.loads(done.stdout)
    quant, backend = QUANTS.get(asked["weights"], asked["weights"]), BACKENDS[asked["engine"]]
    fitting = [one for one in plans if one["quant"].upper() == quant and one["n_agents"] == 1]
    found = [one for one in fitting if one["backend"] == backend] or fitting
    if not found:
        message = f"no plan of one replica in {quant}"
        raise LookupError(message)
    return dict(found[0])


def answer(asked: dict) -> dict:
    """What the tool says of one row."""
    idle = plan(asked, 0.01)
    latency_s = (idle["ttft_ms"] + asked["output_tokens"] * idle["tpot_ms"]) / 1000
    busy = plan(asked, asked["concurrency"] / latency_s / asked["dp"])
    return {"ttft_ms": float(busy["ttft_ms"]), "tpot_ms": float(busy["tpot_ms"])}


def main() -> None:
    """Answer until there are no more questions."""
    for line in sys.stdin:
        asked = json.loads(line)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        said: dict = {"id": asked["id"], "figures": {}, "why": ""}
        try:
            said["figures"] = answer(asked)
        except BaseException as error:
            said["why"] = f"{type(error).__name__}: {str(error)[:200]}"
        said["cpu_s"] = round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, 3)
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
