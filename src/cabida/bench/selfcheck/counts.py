"""What the calibrated server tells of itself under /metrics: vLLM's names, and every figure true."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from cabida.bench.selfcheck.answers import whole

TTFT_BUCKETS_S = (
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
    160.0, 640.0, 2560.0,
)  # fmt: skip
E2E_BUCKETS_S = (
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0,
    1920.0, 7680.0,
)  # fmt: skip
LABELS = 'model_name="mock",engine="0"'


@dataclass(slots=True)
class Histogram:
    """Counts per bucket, not yet summed up."""

    bounds_s: tuple[float, ...]
    counts: list[int] = field(default_factory=list)
    sum_s: float = 0.0

    def add(self, value_s: float) -> None:
        """One more value."""
        if not self.counts:
            self.counts = [0] * (len(self.bounds_s) + 1)
        self.counts[bisect_left(self.bounds_s, value_s)] += 1
        self.sum_s += value_s

    def lines(self, name: str) -> list[str]:
        """As a Prometheus page has it."""
        counts, so_far = self.counts or [0] * (len(self.bounds_s) + 1), 0
        told = [f"# TYPE {name} histogram"]
        for bound, count in zip((*map(str, self.bounds_s), "+Inf"), counts, strict=True):
            so_far += count
            told.append(f'{name}_bucket{{le="{bound}",{LABELS}}} {so_far}')
        return [*told, f"{name}_count{{{LABELS}}} {so_far}", f"{name}_sum{{{LABELS}}} {self.sum_s!r}"]


@dataclass(slots=True)
class Counts:
    """What happened so far. ``cache_tokens`` is what the pretended cache holds; ``held_tokens`` what is in it."""

    cache_tokens: int
    received_count: int = 0
    running_count: int = 0
    waiting_count: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    held_tokens: int = 0
    endings: dict[str, int] = field(default_factory=dict)
    ttft: Histogram = field(default_factory=lambda: Histogram(TTFT_BUCKETS_S))
    e2e: Histogram = field(default_factory=lambda: Histogram(E2E_BUCKETS_S))
    queued: Histogram = field(default_factory=lambda: Histogram(E2E_BUCKETS_S))

    def page(self) -> bytes:
        """The response to ``GET /metrics``."""
        lines = [
            *_one("vllm:num_requests_running", "gauge", self.running_count),
            *_one("vllm:num_requests_waiting", "gauge", self.waiting_count),
            *_one("vllm:kv_cache_usage_perc", "gauge", self.held_tokens / self.cache_tokens),
            *_one("vllm:num_preemptions_total", "counter", 0),
            *_one("vllm:prompt_tokens_total", "counter", self.prompt_tokens),
            *_one("vllm:generation_tokens_total", "counter", self.output_tokens),
            "# TYPE vllm:request_success_total counter",
            *(
                f'vllm:request_success_total{{finished_reason="{reason}",{LABELS}}} {self.endings.get(ending, 0)}'
                for reason, ending in (("length", "done"), ("abort", "left"), ("error", "error"))
            ),
            "# TYPE vllm:cache_config_info gauge",
            f'vllm:cache_config_info{{block_size="16",num_gpu_blocks="{self.cache_tokens // 16}",engine="0"}} 1.0',
            *self.ttft.lines("vllm:time_to_first_token_seconds"),
            *self.e2e.lines("vllm:e2e_request_latency_seconds"),
            *self.queued.lines("vllm:request_queue_time_seconds"),
        ]
        text = "\n".join(lines) + "\n"
        return whole(200, text.encode("utf-8"), "text/plain; version=0.0.4; charset=utf-8")


def _one(name: str, kind: str, value: float) -> tuple[str, str]:
    return f"# TYPE {name} {kind}", f"{name}{{{LABELS}}} {float(value)!r}"
