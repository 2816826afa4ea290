"""From a retrieval brief to options: generators as for any service, each with the front that keeps the whole request.

Objectives are on the whole request, so a generator is searched under what a usual front leaves of them; then each
generator is paired with the cheapest front whose convolved latency keeps every objective, its own queue included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace

from cabida import money
from cabida.brief import Brief
from cabida.brief.corpus import Retrieval
from cabida.brief.needs import unsaid
from cabida.choose.ask import Ask, ask_of
from cabida.choose.beside_told import front_cautions, front_measurements
from cabida.choose.encoders import passages_tokens, texts_of
from cabida.choose.enumerate_serving import served_models
from cabida.choose.front_shared import sharing
from cabida.choose.front_stages import front_metrics
from cabida.choose.fronts import Front, fronts_of, hosted_index
from cabida.choose.limits import Miss, missing, over_limits, slow_answers
from cabida.choose.means import Means
from cabida.choose.search import Search
from cabida.choose.serving import search_serving
from cabida.choose.tally import Tally
from cabida.choose.worked import Worked
from cabida.money.bills.retrieval import stages_tree, with_stages
from cabida.plan import Assumption, Caution, Estimate, Measurement, Progress
from cabida.plan.encoding import EncoderRun
from cabida.quantity import Quantity
from cabida.text import number, tr
from cabida.timing import ServingSpeed
from cabida.timing.intervals import factors
from cabida.timing.stages.encoders import encoder_speed_tree
from cabida.timing.stages.pipeline import joined, measured_stage
from cabida.timing.stages.vector_search import search_tree
from cabida.units import BYTES_PER_GIB

WHOLE = ("ttft", "e2e")  # metrics that the stages before generation are part of
USUAL_SHARE = 0.5  # of the tightest objective, of the front that generators are searched beside: assumed
LEAST_SHARE = (
    0.05  # of an objective that is left to a generator however slow the front: judged on the whole later
)


@dataclass(frozen=True, slots=True)
class Beside:
    """The front of one option, as the record shows it."""

    front: Front
    retrieval: Retrieval
    shared: bool = False

    @property
    def id(self) -> str:
        """Stable name of the placement."""
        return "shared" if self.shared else self.front.id

    @property
    def title(self) -> str:
        """The placement in words."""
        return (
            tr("choose.front.shared", kind=self.front.index.kind.upper()) if self.shared else self.front.title
        )

    @property
    def command(self) -> str:
        """What starts the encoders; empty on a host, where the index's own library runs them."""
        runs = [run for run in (self.front.embed, self.front.rerank) if run is not None]
        return "\n".join(encoder_command(run) for run in runs)

    def metrics(self) -> dict[str, Estimate]:
        """Figures of the stages."""
        return front_metrics(self.front)

    def grown(self, tree: dict[str, Quantity], means: Means) -> dict[str, Quantity]:
        """The generator's cost tree with the stages' bill."""
        return stages_tree(tree, self.front.use, means.terms)

    def cautions(self) -> Iterator[Caution]:
        """What to doubt about the stages."""
        return front_cautions(self.front, self.retrieval)

    def measurements(self) -> Iterator[Measurement]:
        """What to measure of the stages."""
        held = self.front.use.tenure
        return front_measurements(self.front, self.retrieval, held.money_per_hour if held else 0.0)

    def trees(self) -> dict[str, Quantity]:
        """Where the stages' seconds come from."""
        front, retrieval = self.front, self.retrieval
        found = search_tree(front.index, front.host, retrieval.recall_ratio, retrieval.candidates_count)
        texts = texts_of(retrieval)
        for name, run, kind in (("embed", front.embed, "query"), ("rerank", front.rerank, "pair")):
            if run is not None:
                alone = replace(
                    run,
                    batch_count=1 if name == "embed" else retrieval.candidates_count,
                    max_batch_tokens=None,
                )
                made = encoder_speed_tree(alone, texts[kind], batch_limit=False)
                found[f"{name}_s"] = made["encode_batch_s"].named(f"{name}_s")
        return found


def encoder_command(run: EncoderRun) -> str:
    """What starts an encoder: text-embeddings-router or infinity_emb, as their documentation has it."""
    if run.engine == "tei":
        return f"text-embeddings-router --model-id {run.model.id} --dtype float16"
    return f"infinity_emb v2 --model-id {run.model.id} --dtype float16 --batch-size {run.batch_count}"


def search_retrieval(
    brief: Brief, means: Means, seed: int = 0, progress: Progress | None = None, *, exhaustive: bool = False
) -> Search:
    """Every option for a retrieval brief worth showing: a generator, a front, a way to hold both."""
    retrieval = brief.retrieval
    if retrieval is None:
        message = "a completed retrieval brief says what is searched"
        raise ValueError(message)
    whole = ask_of(brief)
    ratios = [one.acceptance.ratio or 1.0 for one in served_models(brief)] or [1.0]
    fronts = fronts_of(brief, whole, means, min(ratios))
    if not fronts:
        return Search([], _nothing(brief), whole)
    inner = generator_brief(brief, retrieval, usual_front(fronts, whole))
    found = search_serving(inner, replace(means, brief=inner), seed, progress, exhaustive=exhaustive)
    pairs = Pairs(
        brief, retrieval, whole, means, fronts, min(ratios), found.ask.objectives if found.ask else {}
    )
    worked = [pairs.paired(one) for one in found.worked]
    inner_ask = found.ask or whole
    worked += [
        pairs.finished(alone, Beside(front, retrieval, shared=True), together_speed, late)
        for alone, front, together_speed, late in _shared(worked, pairs, inner_ask, seed)
    ]
    ask = found.ask or whole
    told = (*ask.assumptions, *_assumptions(brief, retrieval, fronts[0]))
    return Search(worked, found.tally, replace(ask, objectives=whole.objectives, assumptions=told))


def usual_front(fronts: Sequence[Front], ask: Ask) -> Front:
    """The cheapest front that leaves half of the tightest objective to the generator; else the fastest."""
    limits = [limit for name, limit in ask.objectives.items() if name.startswith(WHOLE)]
    tightest = min(limits, default=float("inf"))
    able = [one for one in fronts if one.latency.p95 <= USUAL_SHARE * tightest]
    return able[0] if able else min(fronts, key=lambda one: one.latency.p95)


def generator_brief(brief: Brief, retrieval: Retrieval, front: Front) -> Brief:
    """The brief of the generator alone: prompts grown by passages, objectives less what the front takes of them.

    A front's own percentile is set aside for the same percentile of the whole: the safe side, since percentiles add
    to more than that of the sum. The budget is judged later, on the whole bill.
    """
    traffic, more = brief.traffic, passages_tokens(retrieval)
    if traffic.input is None:
        message = "a completed retrieval brief has token lengths"
        raise ValueError(message)
    grown = traffic.input.mean_tokens + more
    ratio = grown / traffic.input.mean_tokens
    spread = (
        traffic.input.spread_ratio / ratio
    )  # passages are of one length: only the question's own part varies
    lengths = replace(
        traffic.input,
        mean_tokens=grown,
        p50_tokens=traffic.input.p50_tokens + more,
        p95_tokens=traffic.input.p95_tokens + more,
        p99_tokens=traffic.input.p99_tokens + more,
        max_tokens=traffic.input.max_tokens + more,
        spread_ratio=spread,
    )
    latency = {
        metric: {
            statistic: max(LEAST_SHARE * limit, limit - getattr(front.latency, statistic, front.latency.p95))
            for statistic, limit in limits.items()
        }
        if metric in WHOLE
        else limits
        for metric, limits in brief.objectives.latency_s.items()
    }
    return replace(
        brief,
        workload="realtime-inference",
        traffic=replace(traffic, input=lengths),
        objectives=replace(brief.objectives, latency_s=latency),
        budget=replace(brief.budget, monthly_money=None, total_money=None),
    )


@dataclass(slots=True)
class Pairs:
    """Generators with fronts. Latencies of a pair are worked out once, however many ways there are to hold it."""

    brief: Brief
    retrieval: Retrieval
    ask: Ask
    means: Means
    fronts: list[Front]
    acceptance_ratio: float  # the least of the brief's
    inner: dict[str, float]  # objectives that generators were searched under
    known: dict[tuple[int, str], tuple[ServingSpeed, list[Miss]]] = field(default_factory=dict)

    def paired(self, one: Worked) -> Worked:
        """A generator with the cheapest front that keeps every objective, or the fastest when none does."""
        tried: list[tuple[Front, ServingSpeed | None, list[Miss]]] = []
        for front in self.fronts:
            tried.append(self._joined(one, front))
            if not tried[-1][2]:
                break
        best = min(tried, key=lambda pair: max((miss.ratio for miss in pair[2]), default=0.0))
        return self.finished(one, Beside(best[0], self.retrieval), best[1], best[2])

    def _joined(self, one: Worked, front: Front) -> tuple[Front, ServingSpeed | None, list[Miss]]:
        speed = one.speed if isinstance(one.speed, ServingSpeed) else None
        if speed is None or speed.saturated:
            return front, speed, []
        key = id(speed), front.id
        if key not in self.known:
            whole = together(speed, front)
            self.known[key] = whole, slow_answers(whole, self.ask.objectives)
        return front, *self.known[key]

    def finished(self, one: Worked, beside: Beside, speed: ServingSpeed | None, late: list[Miss]) -> Worked:
        """The option with the whole bill, judged anew where the whole decides."""
        candidate = replace(one.candidate, id=f"{one.candidate.id} + {beside.id}")
        use = beside.front.use
        if isinstance(one.usage, money.Usage):
            use = replace(use, attempted_requests_per_month=money.attempted_requests(one.usage))
        beside = replace(beside, front=replace(beside.front, use=use))
        cost = with_stages(one.cost, use, self.means.terms)
        made = replace(one, candidate=candidate, cost=cost, speed=speed or one.speed, beside=beside)
        if one.status == "ruled_out":
            return made
        limits = replace(self.brief.limits, power_w=None, needed_by="")
        budget = over_limits(made, replace(self.means, brief=replace(self.brief, limits=limits)))
        found = missing(replace(made, status="satisfies", reasons=(), miss_ratio=1.0), [*late, *budget])
        if one.status != "misses":
            return found if found.reasons else replace(found, reasons=one.reasons)
        before = self._still(one)
        if not before:
            return found
        worst = max(one.miss_ratio, found.miss_ratio)
        return replace(found, status="misses", reasons=(*before, *found.reasons), miss_ratio=worst)

    def _still(self, one: Worked) -> tuple[str, ...]:
        """What a generator misses by itself, its latencies left aside: those are judged on the whole."""
        if not isinstance(one.speed, ServingSpeed):
            return one.reasons
        alone = {miss.sentence for miss in slow_answers(one.speed, self.inner)}
        return tuple(sentence for sentence in one.reasons if sentence not in alone)


def together(speed: ServingSpeed, front: Front) -> ServingSpeed:
    """A generator's speed with a front before it: first token and end as convolutions, pace as it was."""
    before = measured_stage("front", front.latency)
    first = joined([before, measured_stage("generate", speed.ttft_s)])
    last = joined([before, measured_stage("generate", speed.e2e_s)])
    if first is None or last is None:
        return speed
    spread = copy(speed.spread)
    for name, whole in (("ttft_s", first), ("e2e_s", last)):
        share = min(1.0, front.latency.mean / max(whole.mean, 1e-9))
        for figure, statistic in ((name, "mean"), (f"{name}_tail", "p95")):
            low, high = factors(speed.spread, name, statistic)
            spread[figure] = (
                low * (1 - share) + front.spread[0] * share,
                high * (1 - share) + front.spread[1] * share,
            )
    return replace(speed, ttft_s=first, e2e_s=last, spread=spread)


def _shared(
    worked: Sequence[Worked], pairs: Pairs, inner: Ask, seed: int
) -> Iterator[tuple[Worked, Front, ServingSpeed, list[Miss]]]:
    """Generators with the encoders on their own cards, with as many replicas as keep the objectives."""
    base = hosted_index(pairs.brief, pairs.retrieval, pairs.ask, pairs.means, pairs.acceptance_ratio)
    if base is None:
        return
    for one, tried in sharing(worked, base, pairs.retrieval, inner, pairs.means, seed):
        for alone, front in tried:
            if isinstance(alone.speed, ServingSpeed) and not alone.speed.saturated:
                whole = together(alone.speed, front)
                late = slow_answers(whole, pairs.ask.objectives)
                if not late:
                    yield replace(alone, replicas_most_count=one.replicas_most_count), front, whole, late
                    break


def _nothing(brief: Brief) -> Tally:
    tally = Tally()
    tally.reject("no_front", 1, brief.retrieval.embedder if brief.retrieval else "", 0.0)
    return tally


def _assumptions(brief: Brief, retrieval: Retrieval, front: Front) -> list[Assumption]:
    """What the stages take for granted: of the corpus, what the brief doesn't say of it."""
    host = front.host
    values: dict[str, object] = {
        "cores": host.cores_count,
        "memory": number(host.memory_bytes / float(BYTES_PER_GIB)),
        "price": number(host.money_per_hour),
    }
    found: list[tuple[str, str, dict[str, object]]] = [
        ("retrieval.host", f"{number(host.money_per_hour)} {host.currency}/h", values),
        ("retrieval.recall", number(retrieval.recall_ratio), {}),
        ("retrieval.passages", number(passages_tokens(retrieval)), {"count": retrieval.passages_count}),
    ]
    corpus = {
        "document_tokens": retrieval.document_tokens,
        "chunk_tokens": retrieval.chunk_tokens,
        "candidates": retrieval.candidates_count,
    }
    found += [
        (f"retrieval.{name}", number(value), {})
        for name, value in corpus.items()
        if unsaid(brief, f"retrieval.{name}")
    ]
    return [
        Assumption(name, value, tr(f"choose.assume.{name}.why", **said), tr(f"choose.assume.{name}.how"))
        for name, value, said in found
    ]
