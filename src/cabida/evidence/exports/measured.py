"""One measured run as plain figures, ready to be written in the form of any tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cabida.evidence.secrets import redacted

MS_PER_S = 1e3


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run showed, of the window that counts.

    Attributes:
        name: of the run.
        model, engine: as the endpoint, or whoever set it up, names them.
        started_s: Unix time; ``None`` = not known.
        duration_s: of the window.
        completed_count: answers that came whole in it.
        failed_count: requests that failed for good.
        input_tokens_mean, output_tokens_mean: of an answered request.
        concurrency: clients of a closed load; ``None`` for an open one.
        requests_per_s: what an open load offered; ``None`` for a closed one.
        burst_ratio: squared coefficient of variation of its gaps.
        figures: under the names of the case format (``ttft_ms_p50``, ``output_tok_s`` ...); what isn't known is
            absent.
        case: the run as a row of a case file; {} = there is none.
        url: the address that was asked, without what it may hold of a login.
    """

    name: str
    model: str = ""
    engine: str = ""
    started_s: float | None = None
    duration_s: float = 0.0
    completed_count: int = 0
    failed_count: int = 0
    input_tokens_mean: float | None = None
    output_tokens_mean: float | None = None
    concurrency: int | None = None
    requests_per_s: float | None = None
    burst_ratio: float = 1.0
    figures: Mapping[str, float] = field(default_factory=dict)
    case: Mapping[str, Any] = field(default_factory=dict)
    url: str = ""

    def figure(self, name: str, times: float = 1.0) -> float | None:
        """A figure in another unit; ``None`` = not known."""
        value = self.figures.get(name)
        return None if value is None else float(f"{value * times:.12g}")

    @property
    def input_tokens_count(self) -> int | None:
        """Tokens read, of all answered requests."""
        mean = self.input_tokens_mean
        return None if mean is None else round(mean * self.completed_count)

    @property
    def output_tokens_count(self) -> int | None:
        """Tokens written that came in the window."""
        rate = self.figures.get("output_tok_s")
        if rate is not None and self.duration_s > 0:
            return round(rate * self.duration_s)
        mean = self.output_tokens_mean
        return None if mean is None else round(mean * self.completed_count)


def measured_of(
    summary: Mapping[str, Any],
    *,
    model: str = "",
    engine: str = "",
    started_s: float | None = None,
    case: Mapping[str, Any] | None = None,
    url: str = "",
) -> Measured:
    """A run's summary as plain data (``Summary.plain()`` of ``cabida.bench.keep``) as what is exported.

    Counts are those that came in the window at the measured rates, so that count over time is the rate, as every
    tool has it.

    Args:
        summary: its ``metrics`` are tables with ``value``, ``None`` where a figure isn't known.
        model: what answered at the address.
        engine: which engine it was.
        started_s: Unix time of the run.
        case: the run as a row of a case file.
        url: the address that was asked.
    """
    load = summary.get("load") or {}
    closed = load.get("kind", "closed") == "closed"
    figures = {
        name: float(one["value"])
        for name, one in (summary.get("metrics") or {}).items()
        if isinstance(one, Mapping) and one.get("value") is not None
    }
    error = (summary.get("error_ratio") or {}).get("value")
    if error is not None:
        figures["error_ratio"] = float(error)
    verdicts = summary.get("verdicts") or {}
    done, window_s = int(verdicts.get("ok", 0)), float(summary["until_s"]) - float(summary["from_s"])
    failed = int(summary.get("requests_count") or 0) - done - int(verdicts.get("cancelled", 0))
    rate = figures.get("req_s")
    if rate and window_s > 0:
        done = max(1, round(rate * window_s))
        window_s = done / rate
        if error is not None and error < 1:
            failed = round(error / (1 - error) * done)
    means = [summary.get("input_tokens_mean"), summary.get("output_tokens_mean")]
    offered = summary.get("offered_req_s") or load.get("requests_per_s")
    return Measured(
        name=str(summary.get("run") or ""),
        model=model,
        engine=engine,
        started_s=started_s,
        duration_s=window_s,
        completed_count=done,
        failed_count=max(0, failed),
        input_tokens_mean=means[0],
        output_tokens_mean=means[1],
        concurrency=load.get("concurrency") if closed else None,
        requests_per_s=None if closed or offered is None else float(offered),
        burst_ratio=float(load.get("burst_ratio") or 1.0),
        figures=figures,
        case=case or {},
        url=redacted(url),
    )
