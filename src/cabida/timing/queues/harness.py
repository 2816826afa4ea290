"""How measuring tools load a server: lengths they draw, how often each client sends, how they start. Rows of data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Harness:
    """One measuring tool's habits."""

    name: str
    low_ratio: float = 1.0  # lengths are uniform between these, over the nominal ones
    high_ratio: float = 1.0
    prompts_per_client_count: float = 10.0  # unless a run says
    fewest_prompts_count: int = 0
    source: str = ""

    def prompts_count(self, clients: float) -> int:
        """Prompts of a run with so many clients that says nothing of them."""
        return int(max(self.prompts_per_client_count * clients, self.fewest_prompts_count))

    @property
    def mean_ratio(self) -> float:
        """Mean length over the nominal one."""
        return 0.5 * (self.low_ratio + self.high_ratio)

    @property
    def spread_ratio(self) -> float:
        """Standard deviation of a length over its mean: of a uniform distribution."""
        return float((self.high_ratio - self.low_ratio) / 12**0.5 / self.mean_ratio)


ROWS = (
    Harness("inferencex", 0.8, 1.0, 10.0,
            source="InferenceX benchmark_serving.py: random-range-ratio 0.8, 10 prompts a client, after 2 to warm up"),
    Harness("gap-analysis", 1.0, 1.0, 4.0,
            source="first tokens of two engines in NVIDIA's gap analysis agree on four prompts per client"),
    Harness("sglang-bench", 0.0, 1.0, 10.0, 1000,
            source="sglang bench_serving.py: random-range-ratio 0, 1,000 prompts, one warm-up request"),
    Harness("mlperf-server", source="MLPerf inference rules: Poisson arrivals, for ten minutes and more: no end"),
    Harness("mlperf-offline", source="MLPerf inference rules: all at once, for ten minutes and more: no end"),
)  # fmt: skip
PLAIN = Harness("", source="a closed loop: every client sends again when answered")


@cache
def harness_of(name: str) -> Harness:
    """A tool's habits by its name; those of a plain closed loop for a name nobody knows."""
    return next((row for row in ROWS if row.name == name), PLAIN)
