"""From a media brief to options: what makes an asset, how many copies keep the date, and what an accepted one costs.

An order is one item, or a batch of them made together. Orders wait for a free copy (M/G/c) where the brief limits the
time from order to asset (``objectives.e2e_p95``); with a window (``traffic.window``, ``objectives.deadline``) they are
a batch; without either, copies only have to keep up, at most :data:`BUSY_RATIO` busy in the peak hour.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from cabida import memory, money, timing
from cabida.brief import Brief, ModelChoice
from cabida.brief.jobs import Lengths, Media
from cabida.choose.ask import Ask, ask_of, shift_of, usage_of
from cabida.choose.enumerate_serving import accelerators_in_reach
from cabida.choose.limits import missing, over_limits, placed, risks
from cabida.choose.making import TRANSCRIPTION, Made, made_on
from cabida.choose.means import Means
from cabida.choose.search import Search
from cabida.choose.tally import Tally
from cabida.choose.worked import Worked
from cabida.facts.model import Accelerator
from cabida.money import Tenure, Usage
from cabida.money.bills.media import Assets, assets_tree, with_assets
from cabida.plan import Assumption, Candidate, Caution, Estimate, Measurement, Progress
from cabida.plan.media import MediaRun
from cabida.plan.speech import SpeechRun
from cabida.quantity import Quantity
from cabida.text import duration, missed, number, tr
from cabida.timing.queues.queueing import MOST_SERVERS, done_s, most_jobs_per_s, servers_for
from cabida.units import (
    BITS_PER_BYTE,
    BYTES_PER_GB,
    BYTES_PER_GIB,
    HOURS_PER_MONTH,
    MS_PER_S,
    S_PER_DAY,
    S_PER_HOUR,
)

BUSY_RATIO = 0.85  # of the peak hour, where no time from order to asset is asked for: assumed
# ways of one model, format and accelerator that are priced: the others take more accelerator-hours
WAYS_KEPT = 3
LATE = {"p50": 0.5, "p95": 0.05, "p99": 0.01, "mean": 0.5}
# PNG of a megapixel; seconds of H.264; text: assumed
ITEM_BYTES = {"image": 1.5e6, "video": 12e6, TRANSCRIPTION: 60e3}
RUNS_PER_MONTH = 30.0  # of a batch with a window, where the brief says nothing: a day each
ONE = Lengths(1.0, 1.0, 1.0, 1.0, 1.0, 0.0)


@dataclass(frozen=True, slots=True)
class Renderer:
    """What one option makes and how fast, as the record shows it."""

    made: Made
    copies_count: int
    jobs_per_s: float  # all copies together, repeats included
    assets: Assets
    usage: Usage
    batch: bool

    @property
    def title(self) -> str:
        """Nothing beside what the title says."""
        return ""

    @property
    def command(self) -> str:
        """Nothing beside the engine has to be started."""
        return ""

    def metrics(self) -> dict[str, Estimate]:
        """Seconds, items a day and memory, under the names of the measured cases where there are such."""
        low, high = self.made.speed.spread["seconds_per_item"]
        basis, item = self.made.speed.basis, self.made.item_s
        per_day = self.copies_count * float(S_PER_DAY) / item
        found = {
            "seconds_per_item": Estimate(item, item * low, item * high, basis),
            "items_per_day": Estimate(per_day, per_day / high, per_day / low, basis),
        }
        if isinstance(self.made.speed, timing.MediaSpeed):
            pace = self.made.speed.steps_per_s
            found["it_s"] = Estimate(pace, pace / high, pace / low, basis)
        else:
            hours = float(S_PER_HOUR) / item
            found["audio_hours_per_h"] = Estimate(hours, hours / high, hours / low, basis)
        if not self.batch:
            value = self._done_ms()  # held to as many copies as its speed turns out to need
            found["e2e_ms_p95"] = Estimate(value, value * low, value * high, basis)
        room, gib = self.made.room, float(BYTES_PER_GIB)
        found["peak_mem_gib"] = Estimate(
            room.needed_bytes / gib,
            min(room.least_needed_bytes, room.needed_bytes) / gib,
            max(room.most_needed_bytes, room.needed_bytes) / gib,
            "formula",
        )
        return found

    def _done_ms(self) -> float:
        """95th percentile from order to asset."""
        return done_s(self.copies_count, self.jobs_per_s, self.made.order_s) * float(MS_PER_S)

    def grown(self, tree: dict[str, Quantity], means: Means) -> dict[str, Quantity]:
        """The cost tree with moderation."""
        return assets_tree(tree, self.usage, self.assets, means.terms)

    def cautions(self) -> Iterator[Caution]:
        """What to doubt about its speed: an architecture nobody measured, weights that come over the bus."""
        run, speed = self.made.deployment.making, self.made.speed
        values = {"card": self.made.deployment.accelerator.name}
        if speed.basis == "physics":
            yield Caution("CB-X051", tr("choose.caution.unseen_media", **values), "info")
        if isinstance(run, MediaRun) and run.offload in ("model", "group", "text"):
            yield Caution("CB-X052", tr("choose.caution.offloaded", **values), "info")
        if isinstance(run, MediaRun) and run.multiplied and run.compiler == "eager":
            yield Caution("CB-X053", tr("choose.caution.unfused", format=run.weights.id))

    def measurements(self) -> Iterator[Measurement]:
        """The seconds of one item are what a measurement of speed already asks for."""
        return iter(())

    def trees(self) -> dict[str, Quantity]:
        """Memory and seconds, down to the published code they were counted on."""
        run = self.made.deployment.making
        if isinstance(run, MediaRun):
            return memory.media_tree(run) | timing.media_speed_tree(run)
        if isinstance(run, SpeechRun):
            return memory.speech_tree(run) | timing.speech_speed_tree(run)
        return {}


def as_service(brief: Brief, media: Media) -> Brief:
    """The brief as a service (or a batch) whose requests are items, so that demand, hours and people count alike."""
    traffic = brief.traffic
    window = traffic.window_s or brief.objectives.deadline_s
    items = media.items_per_month or 0.0
    if window:
        runs = traffic.runs_per_month or RUNS_PER_MONTH
        return replace(
            brief,
            workload="batch-inference",
            traffic=replace(
                traffic, input=ONE, output=ONE, items_count=items / runs, window_s=window, runs_per_month=runs
            ),
        )
    mean = items / (float(HOURS_PER_MONTH) * float(S_PER_HOUR))
    return replace(
        brief,
        workload="realtime-inference",
        traffic=replace(
            traffic,
            input=ONE,
            output=ONE,
            requests_per_s_mean=mean,
            requests_per_s_peak=max(mean * max(traffic.profile), traffic.requests_per_s_peak or 0.0),
        ),
    )


def search_media(
    brief: Brief, means: Means, progress: Progress | None = None, *, exhaustive: bool = False
) -> Search:
    """Every option for a media brief worth showing, cheapest per accepted asset first."""
    media = brief.media
    if media is None or not media.items_per_month:
        message = "a completed media brief says what is made, and how many"
        raise ValueError(message)
    review = media.review_money_per_output
    if review is not None:
        brief = replace(
            brief, costs=replace(brief.costs, review_money_per_output=review * media.reviewed_ratio)
        )
    ask = replace(ask_of(as_service(brief, media)), objectives={})
    tally, worked = Tally(), list[Worked]()
    tell = progress or (lambda stage, done, total: None)
    reach = accelerators_in_reach(brief, set(means.held_counts), means.priced)
    for choice in brief.models:
        for index, accelerator in enumerate(reach):
            tell("screen", index, len(reach))
            for made in _worthwhile(brief, media, choice, accelerator, means, tally, exhaustive=exhaustive):
                worked += _priced(made, brief, media, ask, means, tally)
    return Search(worked, tally, replace(ask, assumptions=(*ask.assumptions, *_assumptions(media))))


def _worthwhile(
    brief: Brief,
    media: Media,
    choice: ModelChoice,
    accelerator: Accelerator,
    means: Means,
    tally: Tally,
    *,
    exhaustive: bool,
) -> list[Made]:
    """Of each format the ways that take the fewest accelerator-seconds an item, and the fastest one."""
    groups: dict[str, list[Made]] = {}
    for made, name in made_on(brief, media, choice, accelerator):
        if made is None:
            tally.reject("media_does_not_fit", means.ways_count(accelerator, 1), name, 0.0)
        else:
            groups.setdefault(made.deployment.weights.id, []).append(made)
    kept: list[Made] = []
    for ways in groups.values():
        ways.sort(key=lambda one: one.item_s * one.accelerators_count)
        fastest = min(ways, key=lambda one: one.order_s)
        best = (
            ways
            if exhaustive
            else [*ways[:WAYS_KEPT], *([fastest] if fastest not in ways[:WAYS_KEPT] else [])]
        )
        kept += best
        for one in ways:
            if one not in best:
                count = means.ways_count(accelerator, one.accelerators_count)
                values = {"value": duration(one.item_s)}
                tally.reject(
                    "slower_making", count, _name(one), -one.item_s * one.accelerators_count, **values
                )
    return kept


def _name(one: Made) -> str:
    return f"{one.deployment.model.id} {one.deployment.name}"


def copies_for(made: Made, brief: Brief, ask: Ask, acceptance: float) -> tuple[int, float]:
    """Copies that carry the peak within the limit on time, and what each of them then carries; 0 = none can."""
    wanted = ask.wanted_requests_per_s(acceptance)
    if ask.batch:
        carried = 1 / made.item_s
        return max(1, math.ceil(wanted / carried)), carried
    limits = brief.objectives.latency_s.get("e2e", {})
    batch = made.order_s / made.item_s
    carried = BUSY_RATIO / made.item_s
    found = max(1, math.ceil(wanted / carried))
    for statistic, limit_s in limits.items():
        late = LATE.get(statistic, 0.05)
        needed = servers_for(wanted / batch, made.order_s, limit_s, late)
        if not needed:
            return 0, 0.0
        found = max(found, needed)
        carried = min(carried, most_jobs_per_s(found, made.order_s, limit_s, late) * batch / found)
    if found > 1:  # more servers together carry more each: fewer of them would not do
        carried = min(carried, wanted / (found - 1) * (1 - 1e-6))
    return found, max(carried, wanted / found)


def _priced(made: Made, brief: Brief, media: Media, ask: Ask, means: Means, tally: Tally) -> list[Worked]:
    ratio = made.acceptance.ratio if made.acceptance.ratio is not None else 1.0
    copies, carried = copies_for(made, brief, ask, ratio)
    each = made.accelerators_count
    if not copies:
        limit = min(brief.objectives.latency_s["e2e"].values())
        if made.order_s <= limit:  # alone it is quick enough
            tally.reject("too_many_orders", means.ways_count(made.deployment.accelerator, each), _name(made),
                         -made.order_s, most=number(MOST_SERVERS), limit=duration(limit))  # fmt: skip
            return []
        values = missed(made.order_s, limit)
        tally.reject("too_slow_an_item", means.ways_count(made.deployment.accelerator, each), _name(made),
                     -made.order_s, **values)  # fmt: skip
        return []
    spare = 1 if brief.limits.availability == "n+1" and not ask.batch else 0
    count = each * (copies + spare)
    most = brief.consider.accelerators_max_count
    if most and count > most:
        tally.reject("too_many", means.ways_count(made.deployment.accelerator, each), _name(made), -count,
                     needed=number(count), most=most)  # fmt: skip
        return []
    shift = shift_of(ask, carried, ratio)
    assets = Assets(
        media.item_bytes or ITEM_BYTES.get(media.kind, 0.0),
        media.kept_months,
        media.moderation_money_per_output or 0.0,
    )
    usage = usage_of(ask, ratio, shift)
    accepted = usage.requests_per_month * ratio
    held_bits = (made.deployment.model.params_count or 0.0) * made.deployment.weights.body_bits
    held_gb = held_bits / BITS_PER_BYTE / float(BYTES_PER_GB) * copies
    usage = replace(
        usage,
        stored_gb=means.terms.base("extra_stored_gb") + held_gb + assets.stored_gb(accepted),
        egress_gb_per_month=assets.sent_gb(accepted),
    )
    wanted = ask.wanted_requests_per_s(ratio)
    renderer = Renderer(made, copies, wanted / (made.order_s / made.item_s), assets, usage, ask.batch)
    found = []
    for tenure in means.tenures(made.deployment.accelerator, count, each):
        candidate = Candidate(
            id=f"{_name(made)} {each}x {_how(made)} @ {tenure.id}",
            deployment=made.deployment,
            offer=tenure.offer,
            replicas_count=shift.replicas_count,
            spare_replicas_count=spare,
        )
        cost = with_assets(money.serving_cost(candidate, usage, means.terms, tenure), usage, assets)
        found.append(
            _judged(
                Worked(
                    candidate=candidate,
                    cost=cost,
                    usage=usage,
                    acceptance=made.acceptance,
                    acceptance_ratio=ratio,
                    tenure=tenure,
                    room=made.room,
                    speed=made.speed,
                    capacity_requests_per_s=carried,
                    wanted_requests_per_s=wanted,
                    replicas_most_count=_most(tenure, each, means),
                    beside=renderer,
                ),
                means,
            )
        )
    return found


def _how(made: Made) -> str:
    run = made.deployment.making
    if isinstance(run, MediaRun):
        return f"{run.compiler} b{run.batch_count} {run.offload}"
    return f"b{run.batch_count}" if run else ""


def _most(tenure: Tenure, each: int, means: Means) -> float:
    if tenure.capacity != "have":
        return float("inf")
    return float(means.way_counts.get(tenure.offer.id, 0) // each)


def _judged(worked: Worked, means: Means) -> Worked:
    """Ruled out by risk, missing a limit, or fine."""
    ruled = risks(worked.tenure, as_realtime(means.brief)) if worked.tenure else ()
    if ruled:
        return replace(worked, status="ruled_out", reasons=ruled)
    return missing(placed(worked, means.brief), over_limits(worked, means))


def as_realtime(brief: Brief) -> Brief:
    """Orders with a limit on their time are a service: what is taken away at any moment is too risky for one."""
    return replace(brief, workload="realtime-inference") if brief.objectives.latency_s.get("e2e") else brief


def _assumptions(media: Media) -> list[Assumption]:
    found = []
    if media.item_bytes is None:
        size = f"{ITEM_BYTES.get(media.kind, 0.0) / 1e6:g} MB"
        found.append(
            Assumption(
                "media.item_size", size, tr("choose.assume.item_size.why"), tr("choose.assume.item_size.how")
            )
        )
    if media.review_money_per_output is None:
        found.append(
            Assumption(
                "media.review_per_output", "0", tr("choose.assume.review.why"), tr("choose.assume.review.how")
            )
        )
    return found
