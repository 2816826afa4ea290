"""Asks ftuneai, inside its own environment: questions as JSON lines on stdin, answers as JSON lines on stdout."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

COMMAND = Path(sys.executable).parent / "ftune"
TWINS = {  # models of one shape, under the name that the tool has
    "llama3-8b": "meta-llama/Llama-3.1-8B", "meta-llama/Meta-Llama-3-8B": "meta-llama/Llama-3.1-8B",
    "mistral-7b": "mistralai/Mistral-7B-v0.3", "Qwen/Qwen2.5-7B-Instruct": "Qwen/Qwen2.5-7B",
    "deepseek-ai/DeepSeek-R1-0528-Qwen3-8B": "Qwen/Qwen3-8B",
}  # fmt: skip


def answer(asked: dict) -> dict:
    """What the tool says of one row."""
    quantised = {"qlora": "4bit"}.get(asked["method"], "none")
    model = TWINS.get(asked["model"], asked["model"])
    done = subprocess.run(
        [
            COMMAND, "estimate", "--model", model, "--method", asked["method"], "--quantization", quantised,
            "--batch-size", str(asked["micro_batch"]), "--seq-length", str(asked["seq_len"]),
            "--lora-rank", str(asked["lora_rank"]), "--lora-target", asked["targets"],
            "--optimizer", asked["optimizer"], "--grad-ckpt" if asked["recompute"] else "--no-grad-ckpt",
            "--output", "json",
        ],
        capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    if done.returncode:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip(" │╭╮╰╯─")]
        raise RuntimeError((said or ["no answer"])[-1].strip(" │")[:200])
    total = float(json.loads(done.stdout[done.stdout.index("{") :])["memory"]["total_gb"])
    return {"peak_mem_gib": total}


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
