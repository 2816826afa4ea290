"""Token lengths as a log-normal law, fitted through whatever figures were said."""

from __future__ import annotations

from math import exp, log, sqrt

from cabida.brief.jobs import Lengths

Z95 = 1.6448536269514722  # standard normal quantiles
Z99 = 2.3263478740408408
WIDEST_SPREAD_RATIO = 4.0  # p95 over median = 720: more is a slip of the pen, not a law
SPREAD_WHEN_UNSAID_RATIO = 0.8  # assumed: chat traces lie between 0.6 and 1.2


def fixed(tokens: float) -> Lengths:
    """All alike."""
    return Lengths(tokens, tokens, tokens, tokens, tokens, 0.0, ("fixed",))


def spread_of(said: dict[str, float]) -> float:
    """Standard deviation of ln(length) that the figures imply.

    The median with the mean or a percentile fixes it exactly. A mean with a percentile z gives
    s from s**2/2 - z*s + ln(p/mean) = 0 (smaller root); beyond p/mean = exp(z**2/2) no log-normal
    reaches and s = z is the widest.
    """
    mean, p50 = said.get("mean"), said.get("p50")
    upper = next(((said[key], z) for key, z in (("p95", Z95), ("p99", Z99)) if said.get(key)), None)
    if p50 and upper:
        return max(0.0, log(upper[0] / p50) / upper[1])
    if p50 and mean:
        return sqrt(max(0.0, 2.0 * log(mean / p50)))
    if mean and upper:
        tail, z = log(upper[0] / mean), upper[1]
        return z - sqrt(z * z - 2.0 * tail) if 0.0 <= tail <= z * z / 2.0 else z if tail > 0.0 else 0.0
    if said.get("p95") and said.get("p99"):
        return max(0.0, log(said["p99"] / said["p95"]) / (Z99 - Z95))
    return SPREAD_WHEN_UNSAID_RATIO


def fit(said: dict[str, float]) -> Lengths | None:
    """The law through ``{"p50": 900, "p95": 3500}``; figures that were said are kept as said.

    ``{"fixed": n}`` is a single length. Without any middle (no mean, no percentile) there is no law.
    """
    if "fixed" in said:
        return fixed(said["fixed"])
    nothing = bool(said) and not any(said.values())
    said = {key: max(1.0, value) for key, value in said.items() if value}
    if not any(said.get(key) for key in ("mean", "p50", "p95", "p99")):
        return fixed(0.0) if nothing else None
    spread = min(spread_of(said), WIDEST_SPREAD_RATIO)
    log_median = _log_median(said, spread)
    figures = {
        "mean": exp(log_median + spread * spread / 2.0),
        "p50": exp(log_median),
        "p95": exp(log_median + Z95 * spread),
        "p99": exp(log_median + Z99 * spread),
    }
    longest = said.get("max") or said.get("p99") or figures["p99"]
    figures = {key: said.get(key) or min(value, longest) for key, value in figures.items()}
    return Lengths(
        mean_tokens=figures["mean"],
        p50_tokens=figures["p50"],
        p95_tokens=figures["p95"],
        p99_tokens=figures["p99"],
        max_tokens=longest,
        spread_ratio=spread,
        said=tuple(key for key in ("mean", "p50", "p95", "p99", "max") if said.get(key)),
    )


def _log_median(said: dict[str, float], spread: float) -> float:
    if said.get("p50"):
        return log(said["p50"])
    if said.get("mean"):
        return log(said["mean"]) - spread * spread / 2.0
    if said.get("p95"):
        return log(said["p95"]) - Z95 * spread
    return log(said["p99"]) - Z99 * spread
