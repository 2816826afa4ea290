"""What the runs of a plan are made from: the decision, its brief, and the precision asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from cabida.bench.planned.needed import log_sigma
from cabida.plan import Decision, Measurement, Option
from cabida.plan.bench import Expected, Turn
from cabida.plan.decision import QUANTILES
from cabida.text import money, tr
from cabida.units import MS_PER_S, S_PER_HOUR, S_PER_MONTH

HALF_WIDTH_RATIO = 0.10
SET_UP_S = (
    15 * 60.0
)  # image, weights and warm-up of a replica, paid before it answers (as choose counts a start)
USUAL_SIGMA = (
    0.5  # of the logarithm of a latency nobody predicted: between a steady and a crowded server; assumed
)
LATENCIES = ("ttft", "tpot", "itl", "e2e")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A decision with its brief as plain data, and how well latencies are to be known."""

    decision: Decision
    brief: Mapping[str, Any]
    half_width_ratio: float = HALF_WIDTH_RATIO

    def part(self, name: str) -> Mapping[str, Any]:
        """One section of the brief; empty where it has none."""
        found = self.brief.get(name)
        return found if isinstance(found, Mapping) else {}

    @property
    def is_image(self) -> bool:
        """Whether pictures are made, which have an API."""
        return bool(self.part("media").get("kind") == "image")

    @property
    def latency_s(self) -> Mapping[str, Mapping[str, float]]:
        """Objectives by metric and statistic, seconds."""
        found = self.part("objectives").get("latency_s") or {}
        return found if isinstance(found, Mapping) else {}

    def measurement(self, option: Option, driver: str) -> Measurement | None:
        """What the decision says of measuring a driver of an option."""
        said = (one for one in self.decision.measurements if (one.option, one.driver) == (option.id, driver))
        return next(said, None)

    def worth_money(self, option: Option, driver: str) -> float | None:
        """Over the horizon; ``None`` = nobody knows, or it wasn't worth recommending."""
        found = self.measurement(option, driver)
        return rounded(found.worth_money) if found and found.worth_money is not None else None

    def turns(self, option: Option, driver: str, metric: str) -> tuple[Turn, ...]:
        """Beyond which measured value another option is to be taken."""
        found = self.measurement(option, driver)
        if found is None or found.turns_at is None or not found.turns_to:
            return ()
        to = next((one for one in self.decision.options if one.id == found.turns_to), None)
        if to is None:
            return ()
        then = tr("planned.then.option", rank=to.rank, title=" ".join(to.title.split()))
        return (Turn(metric, found.turns_side, rounded(found.turns_at), then),)

    def cost_money(self, option: Option, seconds: float, requests: int = 0) -> float | None:
        """Of a run: accelerator time, or requests to an API at what the decision pays for one."""
        if option.replica is not None and option.replica.money_per_hour is not None:
            return rounded(option.replica.money_per_hour * seconds / float(S_PER_HOUR), 3)
        each = self._request_money(option)
        return rounded(each * requests, 3) if each is not None else None

    def _request_money(self, option: Option) -> float | None:
        traffic = self.part("traffic")
        mean = traffic.get("requests_per_s_mean")
        monthly = mean * float(S_PER_MONTH) if mean else (traffic.get("items_count") or 0) * (
            traffic.get("runs_per_month") or 0
        )  # fmt: skip
        if option.capacity != "api" or not monthly:
            return None
        paid = sum(line.money for line in option.cost_lines if line.key in ("compute", "retries_waste"))
        return paid / monthly

    def why(self, sentence: str, option: Option, driver: str, cost: float | None) -> str:
        """The sentence, and what knowing it is worth where the draws tell."""
        worth, currency = self.worth_money(option, driver), self.decision.currency
        if worth:
            shown = money(cost, currency) if cost is not None else "?"
            return f"{sentence} {tr('planned.why.worth', worth=money(worth, currency), cost=shown)}"
        return sentence

    def mean_over_peak_ratio(self) -> float:
        """The mean hour over the busiest."""
        traffic = self.part("traffic")
        mean, peak = traffic.get("requests_per_s_mean"), traffic.get("requests_per_s_peak")
        if mean and peak:
            return min(1.0, float(mean) / float(peak))
        return 1 / max([1.0, *(float(one) for one in traffic.get("profile") or ())])


def expected(option: Option, names: tuple[str, ...] | list[str], scale: float = 1.0) -> tuple[Expected, ...]:
    """Predicted figures of an option by metric name, each times ``scale``."""
    return tuple(
        Expected(
            name,
            rounded(one.value * scale),
            rounded(one.low * scale),
            rounded(one.high * scale),
            one.basis,
        )
        for name in names
        if (one := option.metrics.get(name)) is not None and one.low <= one.value <= one.high
    )


def sigma_near(option: Option, metric: str, share_ratio: float) -> float:
    """Spread of a predicted latency near a percentile: from its quantiles, else from its p50 and p95."""
    quantiles = option.latency_quantiles.get(f"{metric}_ms")
    if quantiles and len(quantiles) == len(QUANTILES):
        at = next((place for place, one in enumerate(QUANTILES) if one >= share_ratio), len(QUANTILES) - 1)
        below, above = max(0, at - 1), min(len(QUANTILES) - 1, at + 1)
        found = log_sigma(quantiles[below], quantiles[above], QUANTILES[below], QUANTILES[above])
        if found > 0:
            return found
    middle, high = option.metrics.get(f"{metric}_ms_p50"), option.metrics.get(f"{metric}_ms_p95")
    found = log_sigma(middle.value, high.value, 0.5, 0.95) if middle and high else 0.0
    return found or USUAL_SIGMA


def rounded(value: float, digits: int = 4) -> float:
    """With few significant digits: no more is known."""
    return float(f"{value:.{digits}g}")


def whole_minutes_s(seconds: float) -> float:
    """Seconds, up to whole minutes."""
    return 60.0 * ceil(seconds / 60.0 - 1e-9)


def seconds_of(option: Option, metric: str, otherwise: float) -> float:
    """A predicted latency in seconds."""
    found = option.metrics.get(metric)
    return found.value / float(MS_PER_S) if found else otherwise
