"""Asks llmfit, inside its own environment: questions as JSON lines on stdin, answers as JSON lines on stdout.

It is told the card's memory; a card's bandwidth can't be said on its command line. It knows one user at a time.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

COMMAND = Path(sys.executable).parent / "llmfit"
QUANTS = {
    "q4_k_m": "Q4_K_M", "f16": "F16", "bf16": "F16", "int4-awq": "AWQ-4bit", "gptq4-g128": "GPTQ-Int4", "int8": "Q8_0",
    "q2_k": "Q2_K", "q4_0": "Q4_0", "q5_0": "Q5_0", "mxfp4": "MXFP4",
}  # fmt: skip


TWINS = {  # models of one shape, under the name that the tool has
    "meta-llama/Meta-Llama-3-8B-Instruct": "meta-llama/Llama-3.1-8B-Instruct",
    "meta-llama/Meta-Llama-3-70B-Instruct": "meta-llama/Llama-3.1-70B-Instruct",
    "meta-llama/Llama-2-7b-hf": "meta-llama/Llama-2-7b-chat-hf",
    "Open-Orca/Mistral-7B-OpenOrca": "mistralai/Mistral-7B-Instruct-v0.3",
    "TinyLlama/TinyLlama-1.1B": "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
}  # fmt: skip


def answer(asked: dict) -> dict:
    """What the tool says of one row."""
    room = f"{asked['memory_gb']:.0f}G"
    model = TWINS.get(asked["model"], asked["model"])
    done = subprocess.run(
        [
            COMMAND, "--memory", room, "--ram", "128G", "--json", "plan", model, "--context",
            str(max(512, asked["input_tokens"] + asked["output_tokens"])), "--quant",
            QUANTS.get(asked["weights"], asked["weights"].upper()),
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no answer"])[-1][:200])
    paths = json.loads(done.stdout)["run_paths"]
    on_card = next(one for one in paths if one["path"] == "gpu")
    if not on_card["feasible"] or not on_card["estimated_tps"]:
        message = "it says that the model does not fit"
        raise LookupError(message)
    return {"decode_tok_s": float(on_card["estimated_tps"])}


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
