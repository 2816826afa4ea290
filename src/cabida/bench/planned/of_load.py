"""Runs against an endpoint: does it fit, how fast is it at the mean and at the peak, and how much does it carry."""

from __future__ import annotations

from math import ceil

from cabida.bench.planned.needed import (
    SHARES,
    half_width_ratio,
    mean_requests_count,
    percentile_requests_count,
    share_requests_count,
    verdict_requests_count,
)
from cabida.bench.planned.wanted import (
    LATENCIES,
    SET_UP_S,
    Wanted,
    expected,
    rounded,
    seconds_of,
    sigma_near,
    whole_minutes_s,
)
from cabida.plan import Option
from cabida.plan.bench import Load, Run, Turn
from cabida.plan.decision import STATISTICS
from cabida.text import duration, number, percent, tr
from cabida.units import MS_PER_S

LONGEST_RUN_S = 3600.0
WARM_UP_ANSWERS = 3.0  # answers one after another until a server is in its steady state
POINTS_COUNT = 12  # measurements a search is given time for
POINT_WIDTH_RATIO = 2.0  # a point of a search, or the mean, has to be known half as well as the peak
REPEATED_RATIO = 3.0  # a point that is left open is measured again for twice as long, and both count
RAMP_LEVELS = 8  # doublings of concurrency until the memory is full
RAMP_ROUNDS = 2  # contexts first, then the crowd
SOME_CONCURRENCY = 256
MOST_CONCURRENCY = 1024
IMAGES_COUNT = 60
EACH_COUNT = 20  # requests of each of a crowd that is told by its number alone
API_FEW_S = 60.0


def load_runs(wanted: Wanted, option: Option, name: str) -> list[Run]:
    """The runs of one contender, in the order to make them."""
    if option.capacity == "api":
        return [_burst(wanted, option, name, api=True)]
    if wanted.is_image:
        return _image_runs(wanted, option, name)
    memory = _memory(wanted, option, name)
    if wanted.decision.workload in ("batch-inference", "evaluation"):
        return [memory, _capacity(wanted, option, name)]
    return [memory, _mean(wanted, option, name), _burst(wanted, option, name), _search(wanted, option, name)]


def requests_planned(run: Run) -> int:
    """Requests that a run takes: those counted, those its rate brings in its time, else so many for each of a crowd."""
    load = run.load
    if run.job is not None:
        return 0
    if load.requests_count is not None:
        return load.requests_count
    if load.requests_per_s is not None:
        return ceil(load.requests_per_s * (run.duration_s or 0.0))
    return EACH_COUNT * (load.concurrency or 1)


def requests_count(wanted: Wanted, option: Option, width_ratio: float) -> tuple[int, str, float]:
    """Requests until every latency the brief limits is known so well; which takes the most, and its spread."""
    found: list[tuple[int, str, float]] = []
    gaps_count = max(1.0, float((wanted.part("traffic").get("output") or {}).get("mean_tokens") or 2.0) - 1.0)
    for metric, limits in wanted.latency_s.items():
        for statistic in limits:
            share = SHARES.get(statistic)
            sigma = sigma_near(option, metric, share or 0.5)
            count = (
                percentile_requests_count(share, sigma, width_ratio)
                if share
                else mean_requests_count(sigma, width_ratio)
            )
            if metric == "itl":  # every answer has as many gaps as tokens, less one
                count = ceil(count / gaps_count)
            found.append((count, f"{metric}_{statistic}", sigma))
    if not found:
        sigma = sigma_near(option, "e2e", 0.95)
        found.append((percentile_requests_count(0.95, sigma, width_ratio), "e2e_p95", sigma))
    return max(found)


def _memory(wanted: Wanted, option: Option, name: str) -> Run:
    """Context and concurrency to the edge: twice as many at once each time, each level about one answer long."""
    tokens = _tokens(wanted)
    pool = option.metrics.get("kv_cache_tokens")
    holds = int(pool.value / tokens) if pool and tokens else SOME_CONCURRENCY
    most = max(1, min(MOST_CONCURRENCY, 2 * holds))
    lasts_s = whole_minutes_s(RAMP_LEVELS * RAMP_ROUNDS * _answer_s(wanted, option))
    cost = wanted.cost_money(option, lasts_s + SET_UP_S)
    input_ = wanted.part("traffic").get("input") or {}
    context = number(round(float(input_.get("max_tokens") or tokens or 0)), 9)
    names = ["kv_cache_tokens"]
    return Run(
        name=f"{name} memory",
        phase="memory",
        candidate=name,
        load=Load("closed", concurrency=most, duration_s=lasts_s),
        duration_s=lasts_s,
        cost_money=cost,
        expected=expected(option, names),
        why=tr("planned.why.memory", model=option.model, context=context),
    )


def _answer_s(wanted: Wanted, option: Option) -> float:
    """Time of one answer that doesn't wait in a queue: its tokens at the predicted pace."""
    output = float((wanted.part("traffic").get("output") or {}).get("mean_tokens") or 0.0)
    pace_s = seconds_of(option, "tpot_ms_p95", 0.0)
    return output * pace_s or API_FEW_S


def _tokens(wanted: Wanted) -> float:
    traffic = wanted.part("traffic")
    return sum(float((traffic.get(key) or {}).get("mean_tokens") or 0.0) for key in ("input", "output"))


def _kind(wanted: Wanted) -> tuple[str, float]:
    burst = float(wanted.part("traffic").get("burst_ratio") or 1.0)
    return ("gamma", burst) if burst > 1.0 else ("poisson", 1.0)


def _paced(wanted: Wanted, option: Option, rate: float, count: int) -> Load:
    """An open load of so many requests after the warm-up, an hour at most."""
    kind, burst = _kind(wanted)
    warm_up_s = WARM_UP_ANSWERS * min(
        seconds_of(option, "e2e_ms_p95", API_FEW_S), 2 * _answer_s(wanted, option)
    )
    lasts_s = min(LONGEST_RUN_S, whole_minutes_s(count / rate + min(warm_up_s, LONGEST_RUN_S / 4)))
    return Load(kind, requests_per_s=rounded(rate), burst_ratio=burst, duration_s=lasts_s)


def _mean(wanted: Wanted, option: Option, name: str) -> Run:
    rate = _peak_rate(wanted, option) * wanted.mean_over_peak_ratio()
    count, _, _ = requests_count(wanted, option, wanted.half_width_ratio * POINT_WIDTH_RATIO)
    load = _paced(wanted, option, rate, count)
    return Run(
        name=f"{name} mean",
        phase="load",
        candidate=name,
        load=load,
        duration_s=load.duration_s,
        cost_money=wanted.cost_money(option, load.duration_s or 0.0),
        why=tr("planned.why.mean"),
    )


def _peak_rate(wanted: Wanted, option: Option) -> float:
    """Attempts per second of one replica at the peak; all of them where somebody else answers."""
    if option.replica is not None and option.replica.requests_per_s > 0:
        return option.replica.requests_per_s
    traffic = wanted.part("traffic")
    peak = traffic.get("requests_per_s_peak")
    mean = traffic.get("requests_per_s_mean")
    if peak or mean:
        return float(peak) if peak else float(mean or 1.0) / wanted.mean_over_peak_ratio()
    if option.replica is not None and option.replica.capacity_requests_per_s > 0:
        return option.replica.capacity_requests_per_s
    items, window_s = traffic.get("items_count"), traffic.get("window_s")
    return float(items / window_s) if items and window_s else 1.0


def _burst(wanted: Wanted, option: Option, name: str, *, api: bool = False) -> Run:
    """The peak as it comes, for as long as the objectives' percentiles need."""
    rate = _peak_rate(wanted, option)
    count, metric, sigma = requests_count(wanted, option, wanted.half_width_ratio)
    error = wanted.part("objectives").get("error_ratio")
    for_errors = share_requests_count(error) if error else 0
    load = _paced(wanted, option, rate, max(count, for_errors))
    made = ceil(rate * (load.duration_s or 0.0))
    if api:
        load = Load(load.kind, requests_per_s=load.requests_per_s, burst_ratio=load.burst_ratio,
                    duration_s=load.duration_s, requests_count=max(count, for_errors))  # fmt: skip
        made = min(made, load.requests_count or made)
    cost = wanted.cost_money(option, load.duration_s or 0.0, made)
    share = SHARES.get(metric.partition("_")[2], 0.5)
    reached = half_width_ratio(share, sigma, min(made, max(count, for_errors)))
    values = {
        "count": number(count, 6),
        "metric": f"{metric.partition('_')[0].upper()} {metric.partition('_')[2]}",
        "width": percent(wanted.half_width_ratio),
    }
    said = [tr("planned.why.api")] if api else []
    if made < count:
        shown = {
            "count": number(made, 6),
            "duration": duration(load.duration_s or 0.0),
            "width": percent(reached),
        }
        said.append(tr("planned.short", **(values | shown)))
    else:
        said.append(tr("planned.why.burst", **values))
    if for_errors:
        said.append(tr("planned.why.errors", count=number(for_errors, 6), ratio=percent(float(error or 0.0))))
    return Run(
        name=f"{name} peak",
        phase="load",
        candidate=name,
        load=load,
        duration_s=load.duration_s,
        cost_money=cost,
        worth_money=wanted.worth_money(option, "acceptance"),
        expected=()
        if api
        else expected(option, [f"{one}_ms_{statistic}" for one in LATENCIES for statistic in STATISTICS]),
        decides=(*_limits(wanted), *wanted.turns(option, "acceptance", "acceptance_ratio")),
        why=wanted.why(" ".join(said), option, "acceptance", cost),
    )


def _limits(wanted: Wanted) -> tuple[Turn, ...]:
    """The objectives: beyond them the plan doesn't hold."""
    return tuple(
        Turn(
            f"{metric}_ms_{statistic}",
            "above",
            rounded(limit_s * float(MS_PER_S), 6),
            tr("planned.then.slow"),
        )
        for metric, limits in wanted.latency_s.items()
        for statistic, limit_s in limits.items()
    )


def _search(wanted: Wanted, option: Option, name: str) -> Run:
    """Points at about the capacity predicted, each long enough to be judged; the search goes on where one is open."""
    start = option.replica.capacity_requests_per_s if option.replica else _peak_rate(wanted, option)
    count, _, _ = requests_count(wanted, option, wanted.half_width_ratio * POINT_WIDTH_RATIO)
    limits = [1 - SHARES[one] for some in wanted.latency_s.values() for one in some if one in SHARES]
    error = wanted.part("objectives").get("error_ratio")
    shares = [*limits, float(error)] if error else limits
    sure = max((verdict_requests_count(one) for one in shares), default=0)
    load = _paced(wanted, option, start, max(count, ceil(sure / REPEATED_RATIO)))
    lasts_s = POINTS_COUNT * (load.duration_s or 0.0)
    return _capacity_run(
        wanted, option, f"{name} search", "search", name, load, lasts_s, "planned.why.search"
    )


def _capacity(wanted: Wanted, option: Option, name: str) -> Run:
    """All that fit at once, for ten answers' time: the rate of a batch."""
    tokens, pool = _tokens(wanted), option.metrics.get("kv_cache_tokens")
    holds = int(pool.value / tokens) if pool and tokens else SOME_CONCURRENCY
    most = max(1, min(MOST_CONCURRENCY, holds))
    rate = option.replica.capacity_requests_per_s if option.replica else 1.0
    count = max(mean_requests_count(0.5, wanted.half_width_ratio), 10 * most)
    lasts_s = min(LONGEST_RUN_S, whole_minutes_s(count / max(rate, 1e-9)))
    load = Load("closed", concurrency=most, duration_s=lasts_s)
    return _capacity_run(
        wanted, option, f"{name} throughput", "load", name, load, lasts_s, "planned.why.capacity"
    )


def _capacity_run(
    wanted: Wanted,
    option: Option,
    name: str,
    phase: str,
    contender: str,
    load: Load,
    lasts_s: float,
    why: str,
) -> Run:
    cost = wanted.cost_money(option, lasts_s)
    scale = 1.0 / max(1, option.replicas_count)
    req_s = option.metrics.get("req_s")
    if req_s is not None and option.replica is not None and req_s.value > 0:
        scale = option.replica.capacity_requests_per_s / req_s.value
    return Run(
        name=name,
        phase=phase,
        candidate=contender,
        load=load,
        duration_s=lasts_s,
        cost_money=cost,
        worth_money=wanted.worth_money(option, "speed"),
        expected=expected(option, ["req_s"], scale),
        decides=wanted.turns(option, "speed", "req_s"),
        why=wanted.why(tr(why), option, "speed", cost),
    )


def _image_runs(wanted: Wanted, option: Option, name: str) -> list[Run]:
    """One order after another, then as many at once as are ordered together."""
    each_s = option.metrics["seconds_per_item"].value if "seconds_per_item" in option.metrics else API_FEW_S
    together = int(wanted.part("media").get("batch_count") or 1)
    runs = []
    for at_once in dict.fromkeys((1, max(1, together))):
        lasts_s = min(LONGEST_RUN_S, whole_minutes_s(IMAGES_COUNT * each_s + 60.0))
        cost = wanted.cost_money(option, lasts_s + (SET_UP_S if at_once == 1 else 0.0))
        decides = at_once == max(1, together)  # as they are ordered
        why = tr("planned.why.images")
        runs.append(Run(
            name=f"{name} images x{at_once}",
            phase="load",
            candidate=name,
            load=Load("closed", concurrency=at_once, duration_s=lasts_s, requests_count=IMAGES_COUNT),
            duration_s=lasts_s,
            cost_money=cost,
            worth_money=wanted.worth_money(option, "speed") if decides else None,
            expected=expected(option, ["seconds_per_item"]) if at_once == 1 else (),
            decides=wanted.turns(option, "speed", "req_s") if decides else (),
            why=wanted.why(why, option, "speed", cost) if decides else why,
        ))  # fmt: skip
    return runs
