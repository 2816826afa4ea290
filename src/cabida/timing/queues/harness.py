"""How measuring tools load a server: lengths they draw, how often each client sends, how they start. Rows of data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from cabida.plan import Load


@dataclass(frozen=True, slots=True)
class Harness:
    """One measuring tool's habits."""

    name: str
    low_ratio: float = 1.0  # lengths are uniform between these, over the nominal ones
    high_ratio: float = 1.0
    prompts_per_client_count: float = 10.0  # unless a run says
    fewest_prompts_count: int = 0
    warm_up_per_client_count: float = 0.0  # sent and answered before the clock starts
    ramp_s: float = 0.0  # over which clients start
    duration_s: float = 0.0  # of a run by time
    open: bool = False  # Poisson arrivals; else a closed loop
    source: str = ""

    @property
    def mean_ratio(self) -> float:
        """Mean length over the nominal one."""
        return 0.5 * (self.low_ratio + self.high_ratio)

    @property
    def spread_ratio(self) -> float:
        """Standard deviation of a length over its mean: of a uniform distribution."""
        return float((self.high_ratio - self.low_ratio) / 12**0.5 / self.mean_ratio)


ROWS = (
    Harness("inferencex", 0.8, 1.0, 10.0, warm_up_per_client_count=2.0,
            source="InferenceX benchmark_serving.py: random-range-ratio 0.8, 10 prompts and 2 warm-ups per client"),
    Harness("gap-analysis", 1.0, 1.0, 4.0,
            source="first tokens of two engines in NVIDIA's gap analysis agree on four prompts per client"),
    Harness("vllm-bench", 1.0, 1.0, 10.0, 1000,
            source="vllm bench serve: 1,000 prompts, random-range-ratio 0, --max-concurrency, all at once"),
    Harness("sglang-bench", 0.0, 1.0, 10.0, 1000,
            source="sglang bench_serving.py: random-range-ratio 0, 1,000 prompts, one warm-up request"),
    Harness("genai-perf", 1.0, 1.0, 10.0, 100, 1.0,
            source="genai-perf and aiperf: --concurrency, request-count 10 per client, warm-up requests of their own"),
    Harness("mlperf-server", 1.0, 1.0, duration_s=600.0, open=True,
            source="MLPerf inference rules: Poisson arrivals, at least ten minutes"),
    Harness("mlperf-offline", 1.0, 1.0, duration_s=600.0,
            source="MLPerf inference rules: all samples are sent at once, at least ten minutes"),
)  # fmt: skip
PLAIN = Harness("", source="a closed loop: every client sends again when answered")


@cache
def harness_of(name: str) -> Harness:
    """A tool's habits by its name; those of a plain closed loop for a name nobody knows."""
    return next((row for row in ROWS if row.name == name), PLAIN)


def clients_of(
    harness: Harness,
    input_tokens: float,
    output_tokens: float,
    concurrency: float,
    prompts_count: int | None = None,
) -> Load:
    """The load of a closed loop as a tool drives it.

    Args:
        harness: the tool.
        input_tokens: nominal prompt length.
        output_tokens: nominal answer length.
        concurrency: clients; infinite = everything at once.
        prompts_count: of the run, when it says.
    """
    rounds = int(max(harness.prompts_per_client_count * concurrency, harness.fewest_prompts_count))
    return Load(
        input_tokens=input_tokens * harness.mean_ratio,
        output_tokens=output_tokens * harness.mean_ratio,
        concurrency=concurrency,
        input_spread_ratio=harness.spread_ratio,
        output_spread_ratio=harness.spread_ratio,
        prompts_count=prompts_count or rounds,
        harness=harness.name,
        ramp_s=harness.ramp_s,
    )
