"""From an evaluation brief to options: tasks as one batch by the deadline, every model in turn, and who judges.

A verdict is one sample of one run. Scoring likelihoods reads the prompt once (its choices share it through the prefix
cache) and writes nothing; written answers are decoded; judged ones are read again by a judge. All models listed are
evaluated, one after another on the same accelerators: the largest decides what is held, each takes its own time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from cabida import facts, memory, money
from cabida.brief import Brief
from cabida.brief.harness import ANSWER_TOKENS, Evaluation, EvaluationTask
from cabida.brief.needs import unsaid
from cabida.choose.ask import START_UP_HOURS
from cabida.choose.beside_told import harness_cautions, harness_measurements
from cabida.choose.harness_brief import (
    BLOCK_TOKENS,
    ENGINE_START_S,
    SPREAD_RATIO,
    batch_brief,
    request_tokens,
    soonest_s,
)
from cabida.choose.limits import Miss, missing, over_limits
from cabida.choose.means import Means
from cabida.choose.search import Search
from cabida.choose.serving import search_serving
from cabida.choose.worked import Worked
from cabida.evidence import book
from cabida.facts import api_book
from cabida.facts.model import Model
from cabida.memory import ServingMemory
from cabida.money.bills.evaluation import JudgeUse, judged_tree, judging_money, with_judge
from cabida.plan import Assumption, Caution, Deployment, Estimate, Load, Measurement, Parallel, Progress
from cabida.quantity import Quantity
from cabida.text import missed, tr
from cabida.timing import ServingSpeed
from cabida.timing.engine.steps import step_model
from cabida.timing.queues.simulate import simulate_model
from cabida.timing.spread import spread_of
from cabida.units import HOURS_PER_MONTH, S_PER_HOUR

JUDGE_SPLITS = (1, 2, 4, 8)
SIMULATED_REQUESTS = 400


@dataclass(frozen=True, slots=True)
class Harness:
    """What one option does with the harness, as the record shows it."""

    evaluation: Evaluation
    task_s: dict[str, float]  # seconds of each task, all replicas together, the models' mean
    judge_s: float  # of judging one model's answers on the same accelerators
    judge: JudgeUse | None
    judge_title: str
    month_money: float
    spread: tuple[float, float]

    @property
    def title(self) -> str:
        """Who judges, in words."""
        return self.judge_title

    @property
    def command(self) -> str:
        """Nothing beside the engine has to be started."""
        return ""

    @property
    def model_s(self) -> float:
        """One evaluation of one model, its judging included."""
        return sum(self.task_s.values()) + self.judge_s

    def metrics(self) -> dict[str, Estimate]:
        """Time and money of one evaluated model, and the time of each kind of task."""
        low, high = self.spread
        minutes = self.model_s / 60
        runs = self.evaluation.models_per_month or 1.0
        each = self.month_money / runs
        found = {
            "minutes_per_model": Estimate(minutes, minutes * low, minutes * high, "simulated"),
            "evaluated_model_money": Estimate(each, each * low, each * high, "derived"),
            "verdicts_per_model": _exactly(self.evaluation.verdicts_count),
        }
        for kind in dict.fromkeys(task.kind for task in self.evaluation.tasks):
            value = (
                sum(self.task_s.get(task.name, 0.0) for task in self.evaluation.tasks if task.kind == kind)
                / 60
            )
            found[f"minutes_{kind}"] = Estimate(value, value * low, value * high, "simulated")
        if self.judge_s:
            found["minutes_judging"] = Estimate(
                self.judge_s / 60, self.judge_s / 60 * low, self.judge_s / 60 * high, "simulated"
            )
        return found

    def grown(self, tree: dict[str, Quantity], means: Means) -> dict[str, Quantity]:
        """The cost tree with the judge."""
        return judged_tree(tree, self.judge, self.evaluation.models_per_month or 1.0, means.terms)

    def cautions(self) -> Iterator[Caution]:
        """What to doubt about the harness."""
        return harness_cautions(self.evaluation, self.judge_s)

    def measurements(self) -> Iterator[Measurement]:
        """What to measure of the verdicts."""
        return harness_measurements(self.evaluation)

    def trees(self) -> dict[str, Quantity]:
        """Nothing beyond the engine's own."""
        return {}


def search_evaluation(
    brief: Brief, means: Means, seed: int = 0, progress: Progress | None = None, *, exhaustive: bool = False
) -> Search:
    """Every option for an evaluation brief worth showing: what runs the tasks in time, and what judges."""
    evaluation = brief.evaluation
    if evaluation is None or not evaluation.tasks:
        message = "a completed evaluation brief has tasks"
        raise ValueError(message)
    chosen = [(facts.model(choice.id), next(iter(choice.weights), "")) for choice in brief.models]
    chosen.sort(key=lambda pair: _size(pair[0]), reverse=True)
    inner = batch_brief(brief, evaluation, chosen[0][0])
    found = search_serving(inner, replace(means, brief=inner), seed, progress, exhaustive=exhaustive)
    harnesses = Harnesses(brief, evaluation, means, chosen[1:], seed)
    worked = [harnesses.harnessed(one) for one in found.worked]
    ask = found.ask
    if ask is not None:
        ask = replace(ask, assumptions=(*ask.assumptions, *assumed_of(brief, evaluation)))
    return Search(worked, found.tally, ask)


def _size(model: Model) -> float:
    return (
        model.params_count
        or sum(group.layers_count for group in model.attention) * model.hidden_dim_count**2 * 12.0
    )


@dataclass(slots=True)
class Harnesses:
    """Options with the harness run on them; what depends on the deployment alone is worked out once."""

    brief: Brief
    evaluation: Evaluation
    means: Means
    others: list[tuple[Model, str]]  # each with its format, "" = as published
    seed: int
    known: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    judges: dict[str, float] = field(default_factory=dict)

    def harnessed(self, one: Worked) -> Worked:
        """The option with its tasks timed one by one, its other models, its judge, and the limits judged anew."""
        judges = list(self._judges(one))
        if self.evaluation.judge and self.evaluation.judgements_count and not judges:
            return replace(
                one, status="ruled_out", reasons=(tr("choose.misses.no_judge", name=self.evaluation.judge),)
            )
        if unfit := self._unfit(one):
            said = tr("choose.misses.other_model", name=unfit)
            return replace(one, status="ruled_out", reasons=(said,))
        times = self._times(one)
        slower = sum(times.values()) / (self._alone_s(one) or 1.0) if times else 1.0
        one = self._longer(one, slower)
        judge, seconds, title = min(
            judges, key=lambda pair: judging_money(pair[0], self.means.terms), default=(None, 0.0, "")
        )
        cost = with_judge(one.cost, judge, self.means.terms)
        spread = (1.0, 1.0)
        if isinstance(one.speed, ServingSpeed):
            low, high = one.speed.spread.get("requests_per_s", one.speed.spread.get("tpot_s", (1.0, 1.0)))
            spread = (1 / high, 1 / low)
        harness = Harness(self.evaluation, times, seconds, judge, title, cost.per_month_money, spread)
        candidate = replace(one.candidate, id=f"{one.candidate.id} + {title}" if title else one.candidate.id)
        made = replace(one, candidate=candidate, cost=cost, beside=harness)
        return self._judged(made, one, harness)

    def _judged(self, made: Worked, one: Worked, harness: Harness) -> Worked:
        if one.status == "ruled_out":
            return made
        limits = replace(self.brief.limits, power_w=None, needed_by="")
        misses = over_limits(made, replace(self.means, brief=replace(self.brief, limits=limits)))
        deadline = self.brief.objectives.deadline_s
        start_s = _start_s(one, deadline or 0.0)
        if deadline and harness.model_s + start_s > deadline:
            values = missed(harness.model_s + start_s, deadline)
            worst = (harness.model_s + start_s) / deadline
            misses.append(Miss(tr("choose.misses.evaluation_deadline", **values), worst))
        found = missing(replace(made, status="satisfies", reasons=(), miss_ratio=1.0), misses)
        if one.status == "misses":
            worst = max(one.miss_ratio, found.miss_ratio)
            return replace(found, status="misses", reasons=(*one.reasons, *found.reasons), miss_ratio=worst)
        return found if found.reasons else replace(found, reasons=one.reasons)

    def _alone_s(self, one: Worked) -> float:
        """Seconds of the main model's tasks when they are one batch, as the search sized it."""
        carried = one.capacity_requests_per_s * one.candidate.replicas_count
        return self.evaluation.verdicts_count / carried if carried else 0.0

    def _times(self, one: Worked) -> dict[str, float]:
        """Seconds of each task on all replicas, the mean of the models; nothing for an API."""
        by_model = self._by_model(one)
        replicas = one.candidate.replicas_count
        return {
            task.name: sum(task.verdicts_count / rates[task.name] for rates in by_model.values())
            / len(by_model)
            / replicas
            for task in self.evaluation.tasks
            if by_model
        }

    def _by_model(self, one: Worked) -> dict[str, dict[str, float]]:
        """Verdicts per second of each model in each task, where the option runs; empty for an API."""
        deployment = one.candidate.deployment
        if deployment is None:
            return {}
        key = f"{deployment.model.id} {_place(deployment)} {deployment.parallel} {deployment.weights.id}"
        if key not in self.known:
            runs = [deployment, *(_with_model(deployment, *other) for other in self.others)]
            self.known[key] = {run.model.id: self._rates(run) for run in runs}
        return self.known[key]

    def _unfit(self, one: Worked) -> str:
        """The first of the models that doesn't fit where the option runs; "" when all do."""
        return next((_short(facts.model(id)) for id, rates in self._by_model(one).items() if not rates), "")

    def _rates(self, run: Deployment) -> dict[str, float]:
        """Verdicts per second of one replica in each task; nothing where the model doesn't fit."""
        room = memory.serving(run)
        if room.verdict == "no":
            return {}
        steps, spread = step_model(run, room), spread_of(run)
        return {
            task.name: simulate_model(
                steps, _load(task), spread, self.seed, SIMULATED_REQUESTS
            ).requests_per_s
            for task in self.evaluation.tasks
        }

    def _longer(self, one: Worked, slower: float) -> Worked:
        """The bill for the hours that tasks one by one, and the other models, really take."""
        usage = one.usage
        if one.tenure is None or not isinstance(usage, money.Usage) or abs(slower - 1) < 0.01:
            return one
        on = min(float(HOURS_PER_MONTH), usage.active_hours_per_month * slower)
        used = replace(usage, active_hours_per_month=on)
        cost = money.serving_cost(one.candidate, used, self.means.terms, one.tenure)
        rate = one.capacity_requests_per_s / slower
        wanted = min(one.wanted_requests_per_s, rate * one.candidate.replicas_count)
        return replace(one, usage=used, cost=cost, capacity_requests_per_s=rate, wanted_requests_per_s=wanted)

    def _judges(self, one: Worked) -> Iterator[tuple[JudgeUse, float, str]]:
        """Ways to judge: by the call, where data may leave; on the same accelerators."""
        evaluation = self.evaluation
        calls = evaluation.judgements_count * (evaluation.models_per_month or 1.0)
        if not evaluation.judge or not calls:
            return
        judged = [task for task in evaluation.tasks if task.kind == "judged"]
        read = sum(task.verdicts_count * (task.prompt_tokens + task.output_tokens) for task in judged)
        mean = evaluation.rubric_tokens + read / sum(task.verdicts_count for task in judged)
        cached = evaluation.rubric_tokens / mean
        model = facts.model(evaluation.judge)
        limits = self.brief.limits
        if evaluation.where in ("api", "any") and not limits.countries and not limits.own_premises:
            offers = api_book.sold(book.current_api_offers(self.means.terms.as_of, {model.id}))
            uses = [
                JudgeUse(calls, mean, evaluation.judge_output_tokens, cached, offer=offer) for offer in offers
            ]
            best = min(uses, key=lambda use: judging_money(use, self.means.terms), default=None)
            if best is not None and best.offer is not None:
                yield best, 0.0, tr("choose.judge.api", provider=best.offer.provider, name=_short(model))
        if evaluation.where in ("own", "any"):
            yield from self._own_judge(one, model, calls, mean, cached)

    def _own_judge(
        self, one: Worked, model: Model, calls: float, mean: float, cached: float
    ) -> Iterator[tuple[JudgeUse, float, str]]:
        deployment, tenure = one.candidate.deployment, one.tenure
        if deployment is None or tenure is None:
            return
        count = deployment.parallel.accelerators_count * one.candidate.replicas_count
        key = f"{count} {_place(deployment)}"
        if key not in self.judges:
            self.judges[key] = self._judge_rate(deployment, model, count, mean)
        rate = self.judges[key]
        if rate <= 0:
            return
        seconds = self.evaluation.judgements_count / rate
        hours = calls / rate / float(S_PER_HOUR)
        price = (
            tenure.money_per_hour if tenure.scalable or tenure.capacity == "block" else 0.0
        )  # held all month: its hours are there already
        use = JudgeUse(calls, mean, self.evaluation.judge_output_tokens, cached, None, hours, count, price)
        yield use, seconds, tr("choose.judge.own", name=_short(model))

    def _judge_rate(self, deployment: Deployment, model: Model, count: int, mean: float) -> float:
        """Judgements per second of so many accelerators: the smallest split that holds the judge, side by side."""
        tokens = self.evaluation.judge_output_tokens
        load = Load(mean, tokens, concurrency=math.inf, input_spread_ratio=SPREAD_RATIO,
                    shared_prefix_tokens=self.evaluation.rubric_tokens)  # fmt: skip
        for split in JUDGE_SPLITS:
            if split > count:
                break
            run = replace(_with_model(deployment, model), parallel=Parallel(tp=split))
            room = memory.serving(run)
            if room.verdict == "no":
                continue
            speed = simulate_model(step_model(run, room), load, spread_of(run), self.seed, SIMULATED_REQUESTS)
            return speed.requests_per_s * (count // split)
        return 0.0


def _start_s(one: Worked, deadline_s: float) -> float:
    """Until the first task begins: a start as planned for, in no more than half of a short deadline, yet no miracle."""
    if one.tenure is None:
        return 0.0
    planned = min(START_UP_HOURS * float(S_PER_HOUR), deadline_s / 2)
    return max(planned, soonest_s(one.room.weights_bytes)) if isinstance(one.room, ServingMemory) else planned


def _place(deployment: Deployment) -> str:
    """All that another model in the same place is run with."""
    return (
        f"{deployment.accelerator.id} {deployment.engine} {deployment.engine_version} {deployment.kv_cache.id} "
        f"{deployment.settings}"
    )


def _with_model(deployment: Deployment, model: Model, weights: str = "") -> Deployment:
    """Another model in the same place, in a format, "" = as it is published."""
    return replace(
        deployment, model=model, weights=facts.weight_format(weights or model.native_format or "bf16")
    )


def _load(task: EvaluationTask) -> Load:
    """All of a task queued at once."""
    written = task.output_tokens > 1
    return Load(
        input_tokens=request_tokens(task),
        output_tokens=task.output_tokens,
        concurrency=math.inf,
        input_spread_ratio=SPREAD_RATIO,
        output_spread_ratio=SPREAD_RATIO if written else 0.0,
        shared_prefix_tokens=task.shared_tokens,
    )


def _exactly(value: float) -> Estimate:
    return Estimate(value, value, value, "derived")


def _short(model: Model) -> str:
    return model.id.rpartition("/")[2]


def assumed_of(brief: Brief, evaluation: Evaluation) -> Iterator[Assumption]:
    """What the harness takes for granted."""
    taken = {"evaluation.lengths": SPREAD_RATIO, "evaluation.start": ENGINE_START_S}
    if any(task.kind == "choices" for task in evaluation.tasks):
        taken["evaluation.choices"] = BLOCK_TOKENS
    lacking = (
        unsaid(brief, f"evaluation.tasks[{index}].output_tokens")
        for index, task in enumerate(evaluation.tasks)
        if task.kind != "choices"
    )
    if any(lacking):
        taken["evaluation.answers"] = ANSWER_TOKENS
    for name, value in taken.items():
        why, how = (tr(f"choose.assume.{name}.{part}") for part in ("why", "how"))
        yield Assumption(name, f"{value:g}", why, how)
