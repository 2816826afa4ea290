"""Random but sensible briefs for the search's tests."""

import random

from cabida.brief import complete, parse_brief

AS_OF = "2026-11-30"
MODELS = (
    "meta-llama/Llama-3.1-8B-Instruct",
    "Qwen/Qwen3-32B",
    "openai/gpt-oss-20b",
    "meta-llama/Llama-3.3-70B-Instruct",
)
CARDS = (
    "rtx4090", "l4", "l40s", "a10", "a100-sxm-80", "a100-sxm-40", "h100-sxm-80", "h200-sxm-141", "b200-sxm-180",
    "mi300x", "rtxpro6000-server", "a6000", "rtx5090",
)  # fmt: skip


def random_brief(seed):
    """A realtime or batch brief over a few accelerators, complete."""
    draw = random.Random(seed)
    cards = ", ".join(draw.sample(CARDS, 3))
    mean = draw.choice([0.2, 1, 4, 15])
    words = draw.choice([(300, 1200, 150, 500), (1500, 6000, 300, 900), (100, 400, 400, 1200)])
    risk = draw.choice(["low", "medium", "high"])
    spare = draw.choice(["none", "n+1"])
    capacity = draw.choice(["[on-demand, reserved, buy]", "[on-demand, spot]", "any"])
    batch = draw.random() < 0.25
    traffic = (
        f"{{items: {draw.choice([20000, 300000])}, window: 8 h, every: day,"
        if batch
        else f"{{requests_per_s: {{mean: {mean}, peak: {mean * 3}, profile: office-hours Europe/Madrid}},"
    )
    objectives = (
        "{}" if batch else f"{{ttft_p95: {draw.choice([600, 1500])} ms, itl_p95: {draw.choice([40, 80])} ms}}"
    )
    text = f"""
name: random-{seed}
workload: {"batch-inference" if batch else "realtime-inference"}
models:
  - id: {draw.choice(MODELS)}
    weights: {{fp8: {{acceptance: 0.9, how: measured}}, awq-int4: {{acceptance: 0.86, how: measured}}}}
traffic: {traffic}
  input_tokens: {{p50: {words[0]}, p95: {words[1]}}}, output_tokens: {{p50: {words[2]}, p95: {words[3]}}}}}
objectives: {objectives}
limits: {{data: any, needed_by: 2027-03-01, availability: {spare}, risk: {risk}}}
horizon: 24 months
team: {{platform_engineers: {draw.choice([0.1, 0.5])}, loaded_cost: 90000 USD/year}}
consider: {{capacity: {capacity}, providers: any, accelerators: [{cards}]}}
"""
    return complete(parse_brief(text, as_of=AS_OF), assume=True, as_of=AS_OF)
