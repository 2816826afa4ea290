"""A sound brief to break, and the command line to break it on."""

from pathlib import Path

from click.testing import CliRunner, Result

from cabida.faces.cli import cli

ROOT = Path(__file__).parents[2]
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
TRAINING = (ROOT / "examples" / "student-4090.yaml").read_text(encoding="utf-8")
BRIEF = """\
name: support-chat
workload: realtime-inference
models:
  - id: meta-llama/Llama-3.1-8B-Instruct
    weights:
      bf16: {acceptance: 0.945, how: measured}
      fp8: {acceptance: 0.94, how: measured}
traffic:
  requests_per_s: {mean: 4, peak: 12}
  input_tokens: {p50: 900, p95: 3500}
  output_tokens: {p50: 250, p95: 700}
  shared_prefix_tokens: 600
objectives: {ttft_p95: 800 ms, itl_p95: 50 ms, error_rate: 0.1 %}
acceptance: {retries: 1, failure_rate: 0.2 %}
have:
  - {accelerator: l40s, count: 4, owned: true, resale: 4500 EUR each}
limits: {data: EU, needed_by: 2027-02-01, availability: none, risk: low}
budget: {monthly: 18000 EUR}
horizon: 24 months
team: {platform_engineers: 0.5, loaded_cost: 85000 EUR/year}
consider: {capacity: [on-demand, reserved], providers: any, accelerators: [l40s]}
"""


def changed(text: str, old: str, new: str) -> str:
    """``text`` with the first ``old`` made ``new``; it has to be there."""
    assert old in text, old
    return text.replace(old, new, 1)


def run(*words: str) -> Result:
    """What the command says and how it ends; a traceback would surface here."""
    done = CliRunner().invoke(cli, ["--lang", "en", *words], env={"LANG": "en", "CABIDA_DEBUG": "1"})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert "Traceback" not in done.output
    return done
