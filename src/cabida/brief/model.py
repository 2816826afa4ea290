"""The nouns of a brief: what somebody needs, in base units, with the line each thing was said on.

Money is in the brief's reporting currency (``Brief.currency``). ``None`` means "not said", never zero.
An empty tuple in ``Consider`` means "any".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cabida.brief.ahead import Future
from cabida.brief.corpus import Retrieval
from cabida.brief.harness import Evaluation
from cabida.brief.jobs import Lengths, Media, Training
from cabida.units import S_PER_MONTH

WORKLOADS = (
    "pretraining",
    "full-finetune",
    "adapter-finetune",
    "realtime-inference",
    "batch-inference",
    "retrieval",
    "media-generation",
    "evaluation",
)
TRAINING_WORKLOADS = ("pretraining", "full-finetune", "adapter-finetune")
SERVED_WORKLOADS = WORKLOADS
FLAT_PROFILE = (1.0,) * 24
HELD_KINDS = ("owned", "contracted", "credit", "commitment", "quota")


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Share of outputs that are kept after quality filters, for one model in one weight format.

    Attributes:
        ratio: 0 to 1; ``None`` when nobody knows yet.
        how: how it was found out, in the user's words ("measured 2026-10-12 on 400 tickets").
        grade: measured, quoted, derived or assumed.
    """

    ratio: float | None = None
    how: str = ""
    grade: str = "assumed"


@dataclass(frozen=True, slots=True)
class AcceptanceRule:
    """What makes an output acceptable, as a benchmark puts it to each: ``value`` is what the kind takes, plain data."""

    kind: str
    value: Any = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model that would do the job and the weight formats it may be served in.

    Attributes:
        id: hub id, alias, or a path to a config, a directory or a GGUF file.
        weights: weight format as written -> acceptance; empty = any format that runs.
    """

    id: str
    weights: dict[str, Acceptance] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Traffic:
    """What arrives, how often and how long it is.

    Attributes:
        requests_per_s_mean: mean over the whole profile (a week or a day).
        requests_per_s_peak: the highest sustained rate that must be held.
        concurrency: requests in flight at once, when that is what is known (closed arrivals).
        items_count: outputs wanted in one batch run.
        window_s: time one batch run may take.
        runs_per_month: how often the batch or the evaluation comes back.
        profile: 24 (a day) or 168 (a week, from Monday 0 h) hourly weights whose mean is 1.
        profile_name: "flat", "office-hours", "evening" or "custom"; timezone is a label.
        trace: path of a CSV ``arrival_s,input_tokens,output_tokens``.
        burst_ratio: squared coefficient of variation of inter-arrival times; 1 = Poisson.
    """

    requests_per_s_mean: float | None = None
    requests_per_s_peak: float | None = None
    concurrency: float | None = None
    items_count: float | None = None
    window_s: float | None = None
    runs_per_month: float | None = None
    input: Lengths | None = None
    output: Lengths | None = None
    shared_prefix_tokens: float = 0.0
    profile: tuple[float, ...] = FLAT_PROFILE
    profile_name: str = "flat"
    timezone: str = ""
    trace: str = ""
    burst_ratio: float = 1.0
    growth_per_year_ratio: float = 0.0

    @property
    def requests_per_month(self) -> float | None:
        """Requests (or batch items) in a month of 730 hours; ``None`` when no rate was said."""
        if self.requests_per_s_mean is not None:
            return self.requests_per_s_mean * S_PER_MONTH
        if self.items_count is not None and self.runs_per_month is not None:
            return self.items_count * self.runs_per_month
        return None


@dataclass(frozen=True, slots=True)
class Objectives:
    """What has to be kept. ``latency_s``: {"ttft": {"p95": 0.8}, "itl": ..., "tpot": ..., "e2e": ...}."""

    latency_s: dict[str, dict[str, float]] = field(default_factory=dict)
    error_ratio: float | None = None
    throughput_tokens_per_s: float | None = None  # output tokens, the whole service
    deadline_s: float | None = None  # one batch run, or the training run, from start to end
    time_to_target_s: float | None = None  # training: until the target score is reached


@dataclass(frozen=True, slots=True)
class Limits:
    """What rules a path out.

    Attributes:
        countries: ISO 3166 codes, or "EU"/"EEA", where data may be; empty = anywhere.
        own_premises: data may not leave machines of one's own.
        needed_by: ISO date, "" when not said.
        availability: "none" or "n+1"; risk: "low", "medium" or "high".
        power_w: what the room can feed and cool, all accelerators and their machines together.
        lead_s: way to hold ("buy", "reserved") -> how long suppliers say it takes to arrive.
    """

    countries: tuple[str, ...] = ()
    own_premises: bool = False
    needed_by: str = ""
    availability: str = "none"
    risk: str = "medium"
    power_w: float | None = None
    lead_s: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that may be spent: per month, or all together over the horizon (or for the run).

    Attributes:
        financed_ratio: share of a purchase paid with a loan, at ``interest_ratio`` a year over ``loan_months``.
    """

    monthly_money: float | None = None
    total_money: float | None = None
    financed_ratio: float = 0.0
    interest_ratio: float | None = None
    loan_months: float | None = None


@dataclass(frozen=True, slots=True)
class Team:
    """Who looks after it."""

    platform_engineers_fte: float = 0.0
    loaded_cost_per_year_money: float | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """Something already there: accelerators, money to spend at a provider, or leave to take so many.

    Attributes:
        accelerator: id in the facts; "" of a credit, commitment or quota for whatever its provider sells.
        kind: one of HELD_KINDS.
        until: ISO date a contract, credit or commitment ends, or what is owned is at the end of its life; "" for none.
        resale_money: what one would bring today, each.
        price_money_per_hour: what a contracted one costs, each.
        credit_money: what is left of a credit.
        desktop: the card also drives a screen.
        bought, paid_money: when an owned one was bought, and for how much, each.
        resale_fall_ratio: what its resale loses a year; ``None`` = as of what is bought new.
        book_money: what an owned one stands at in the accounts today, each.
        committed_ratio: share of a contract that is owed whether it is used or not; ``None`` = all of one with an end,
            nothing of one without.
        sublet_ratio: share of its price that others would pay for what is contracted and not used.
        upfront_money: already paid on a contract for the time to come, all of it.
        spend_money_per_month: what was promised to spend at a provider, used or not; ``discount_ratio`` what it earns.
    """

    accelerator: str
    count: int
    kind: str = "owned"
    until: str = ""
    resale_money: float | None = None
    price_money_per_hour: float | None = None
    credit_money: float | None = None
    desktop: bool = False
    provider: str = ""
    region: str = ""
    bought: str = ""
    paid_money: float | None = None
    resale_fall_ratio: float | None = None
    book_money: float | None = None
    committed_ratio: float | None = None
    sublet_ratio: float = 0.0
    upfront_money: float | None = None
    spend_money_per_month: float | None = None
    discount_ratio: float = 0.0

    @property
    def owed_ratio(self) -> float:
        """Share of a contract that is paid whether it is used or not."""
        return (1.0 if self.until else 0.0) if self.committed_ratio is None else self.committed_ratio


@dataclass(frozen=True, slots=True)
class Consider:
    """What may be looked at; an empty tuple means any."""

    capacity: tuple[str, ...] = ()  # on-demand, reserved, spot, block, serverless, buy, api
    providers: tuple[str, ...] = ()
    accelerators: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    accelerators_max_count: int | None = None


@dataclass(frozen=True, slots=True)
class Costs:
    """One's own figures in place of the shipped ones. ``None`` = use the facts or a graded default."""

    electricity_money_per_kwh: float | None = None
    pue_ratio: float | None = None
    colocation_money_per_kw_month: float | None = None
    wacc_ratio: float | None = None
    depreciation_months: float | None = None
    storage_money_per_month: float | None = None
    network_money_per_month: float | None = None
    egress_money_per_month: float | None = None
    observability_money_per_month: float | None = None
    serving_stack_money_per_month: float | None = None
    review_money_per_output: float | None = None
    market_carbon_g_per_kwh: float | None = None  # of a contract for one's own electricity
    income_tax_ratio: float | None = None
    resale_ratio: float | None = None  # of its price, what an accelerator bought brings when it is sold


@dataclass(frozen=True, slots=True)
class KnownRisk:
    """A warning, by its code, that somebody accepts knowingly: by whom, why, until when ("" = for good)."""

    code: str
    by: str
    why: str
    until: str = ""


@dataclass(frozen=True, slots=True)
class Missing:
    """Something this workload needs and the brief leaves open.

    Attributes:
        path: where it belongs in the brief ("traffic.output_tokens").
        why: why it matters, one sentence.
        how_to_find_out: what to do to know it.
        default: what ``--assume`` takes, as it would be written in the brief; "" = nothing sensible.
        grade: grade of that default.
        blocking: the decision waits for it unless assumptions were allowed.
        line: line where it says ``unknown``; 0 when it is absent.
    """

    path: str
    why: str
    how_to_find_out: str
    default: str = ""
    grade: str = "assumed"
    blocking: bool = True
    line: int = 0


@dataclass(frozen=True, slots=True)
class Signing:
    """Who stands behind a decision: its author, ``(role, name)`` of who approves, months until a review."""

    author: str = ""
    approvers: tuple[tuple[str, str], ...] = ()
    review_after_months: float | None = None


@dataclass(frozen=True, slots=True)
class Brief:
    """A workload, its objectives and its limits.

    Attributes:
        retries_count: further attempts an output that is not accepted gets.
        failure_ratio: share of attempts that fail technically.
        where: path in the file -> line ("traffic.input_tokens.p50" -> 9).
        unknown: paths that say ``unknown``.
        assumed: what was taken for missing things when assumptions were allowed.
        text: the YAML as written; file: its name as the user typed it.
    """

    name: str
    workload: str
    models: tuple[ModelChoice, ...]
    traffic: Traffic = Traffic()
    objectives: Objectives = field(default_factory=Objectives)
    retries_count: int = 0
    failure_ratio: float = 0.0
    limits: Limits = Limits()
    budget: Budget = Budget()
    currency: str = "USD"
    exchange_rates: dict[str, float] = field(default_factory=dict)  # reporting money one unit of it buys
    horizon_months: float | None = None
    team: Team = Team()
    have: tuple[Held, ...] = ()
    consider: Consider = Consider()
    costs: Costs = Costs()
    training: Training | None = None
    media: Media | None = None
    retrieval: Retrieval | None = None
    evaluation: Evaluation | None = None
    notes: str = ""
    claims: tuple[str, ...] = ()
    where: dict[str, int] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    assumed: tuple[Missing, ...] = ()
    text: str = ""
    file: str = ""
    rules: tuple[AcceptanceRule, ...] = ()  # of acceptance, for whoever measures
    accepted_risks: tuple[KnownRisk, ...] = ()
    future: Future | None = None
    sign_off: Signing | None = None
    acceptance_least_ratio: float | None = None  # models and formats accepted less often are not considered

    @property
    def is_training(self) -> bool:
        """Whether the job trains a model rather than serving one."""
        return self.workload in TRAINING_WORKLOADS

    def line(self, path: str) -> int:
        """Line of ``path``, or of the nearest part of it that the file has; 0 when nothing of it is there."""
        while path:
            if path in self.where:
                return self.where[path]
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return 0
