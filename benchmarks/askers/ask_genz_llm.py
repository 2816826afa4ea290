"""Asks GenZ, inside its own environment: questions as JSON lines on stdin, answers as JSON lines on stdout.

A model and a card by their figures (its classes take them), efficiency 0.8 (its own
examples'), one full batch decoding at the middle of the answer, one prompt alone for the first token.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time

with contextlib.redirect_stdout(io.StringIO()):
    from GenZ import decode_moddeling, prefill_moddeling
    from GenZ.Models.default_models import ModelConfig

BITS = {"bf16": "bf16", "fp8": "fp8", "fp4": "fp4", "mxfp4": "fp4"}
EFFICIENCY = 0.8


def answer(asked: dict) -> dict:
    """What the tool says of one row."""
    bits = BITS.get(asked["weights"])
    if bits is None:
        message = f"no type is named {asked['weights']}"
        raise LookupError(message)
    moe = {}
    if asked["experts"]:
        moe = {
            "num_experts": asked["experts"], "expert_top_k": asked["experts_per_token"],
            "moe_intermediate_size": asked["intermediate"],
        }  # fmt: skip
    model = ModelConfig(
        model=asked["model"], vocab_size=asked["vocab"], hidden_size=asked["hidden"],
        intermediate_size=asked["intermediate"], num_ffi=2, num_decoder_layers=asked["layers"],
        num_attention_heads=asked["heads"], num_key_value_heads=asked["kv_heads"], head_dim=asked["head_dim"], **moe,
    )  # fmt: skip
    card = asked["card"]
    system = {
        "Flops": card["bf16_tflops"], "Memory_size": card["memory_gb"], "Memory_BW": card["memory_gb_per_s"],
        "ICN": card["link_gb_per_s"], "real_values": True,
    }  # fmt: skip
    tp, ep = asked["tp"], min(asked["ep"], asked["tp"])
    how = {
        "model": model, "system_name": system, "system_eff": EFFICIENCY, "bits": bits,
        "tensor_parallel": tp // ep, "expert_parallel": ep, "pipeline_parallel": asked["pp"],
        "parallelism_heirarchy": f"TP{{{tp // ep}}}_EP{{{ep}}}_PP{{{asked['pp']}}}",
    }  # fmt: skip
    batch = max(1, round(asked["concurrency"] / asked["dp"]))
    decode = decode_moddeling(
        batch_size=batch,
        Bb=1,
        input_tokens=asked["input_tokens"],
        output_tokens=asked["output_tokens"] // 2,
        **how,
    )
    prompt = prefill_moddeling(batch_size=1, input_tokens=asked["input_tokens"], **how)
    return {"ttft_ms": float(prompt["Latency"]), "tpot_ms": float(decode["Latency"])}


def main() -> None:
    """Answer until there are no more questions."""
    for line in sys.stdin:
        asked, begun = json.loads(line), time.process_time()
        said: dict = {"id": asked["id"], "figures": {}, "why": ""}
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                said["figures"] = answer(asked)
        except BaseException as error:
            said["why"] = f"{type(error).__name__}: {str(error)[:200]}"
        said["cpu_s"] = round(time.process_time() - begun, 3)
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
