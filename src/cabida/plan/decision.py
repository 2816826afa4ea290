"""A decision and its parts: the versioned contract between choosing, reporting and people's scripts.

All of it is plain data, so a decision read back from JSON is the same object. Figures that can be
explained live in ``trees``: a list of nodes, each ``{id, name, value, unit, equation, inputs, source,
grade, low, high}``, where ``inputs`` are ids; ``Option.trees`` maps a figure's name to its node.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cabida.plan.ledger import LedgerMonth, WalkAway
from cabida.plan.mix import Mix
from cabida.plan.ownership import Ownership
from cabida.plan.swing import Swing, VolumeCurve

SCHEMA = "cabida/decision/1"
LATENCIES = ("ttft", "tpot", "itl", "e2e")
STATISTICS = ("mean", "p50", "p95", "p99")  # a metric of each latency: ttft_ms_p95
QUANTILES = (0.01, 0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99)  # shares of latency_quantiles


@dataclass(frozen=True, slots=True)
class Estimate:
    """A predicted figure, its 90 % interval and basis: measured, calibrated, physics, formula, simulated, assumed."""

    value: float
    low: float
    high: float
    basis: str

    def __str__(self) -> str:
        """``1.004 [0.7296–4.072] (simulated)``, as a notebook or a script prints it."""
        return f"{self.value:.4g} [{self.low:.4g}–{self.high:.4g}] ({self.basis})"


@dataclass(frozen=True, slots=True)
class CostLine:
    """One term of a cost, in the reporting currency per month (serving) or per run (training)."""

    key: str  # compute, idle, storage, network, platform_labour, ... : label is text key cost.<key>
    money: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica of an option, as a benchmark of it would load it. Of training: the whole run, rates 0.

    Attributes:
        requests_per_s: its share of the attempts at the peak, as simulated.
        capacity_requests_per_s: the most it carries within the objectives, as predicted.
        money_per_hour: of its accelerators, in the decision's currency; ``None`` = not priced by the hour.
    """

    accelerators_count: int
    requests_per_s: float
    capacity_requests_per_s: float
    money_per_hour: float | None = None


@dataclass(frozen=True, slots=True)
class Compatibility:
    """Whether an option's software goes together on its accelerator, and what to type for it.

    Attributes:
        state: runs | steps | no.
        steps: what to do or to know first, one sentence each.
        install: pinned lines for a shell; empty where nobody publishes what to install.
        source: where that is written.
        seen: ISO date that was read.
    """

    state: str
    steps: tuple[str, ...] = ()
    install: tuple[str, ...] = ()
    source: str = ""
    seen: str = ""


@dataclass(frozen=True, slots=True)
class Flexibility:
    """What an option still does when the future is not as planned.

    Attributes:
        lasts_months: until the planned growth outgrows what it can be grown to; ``None`` = beyond the horizon.
        growth_ratio: demand over today's that the same accelerators still carry.
        largest_context_tokens: each request may grow to, as deployed; ``None`` = not known.
        largest_model_params_count: of a successor in the same weight format that still fits; ``None`` = not known.
        left_money: what ending it half way through the horizon would cost beyond what was used; 0 = free to leave.
        worth_money: expected saving, over the horizon, of being able to leave or to change; ``None`` = not reckoned.
        score_ratio: share of the drawn futures in which it needs no other purchase, 0 to 1.
    """

    lasts_months: float | None = None
    growth_ratio: float | None = None
    largest_context_tokens: int | None = None
    largest_model_params_count: float | None = None
    left_money: float | None = None
    worth_money: float | None = None
    score_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class AcceptedRisk:
    """A warning that somebody has read and lives with: by whom, why, until when (ISO date; "" = for good)."""

    by: str
    why: str
    until: str = ""


@dataclass(frozen=True, slots=True)
class SignOff:
    """Who stands behind a decision, and when it is looked at again.

    Attributes:
        author: who made it; approvers: ``(role, name)`` of finance, platform, product; name "" = still open.
        review_on: ISO date; review_why: what brings it forward.
    """

    author: str = ""
    approvers: tuple[tuple[str, ...], ...] = ()
    review_on: str = ""
    review_why: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """One candidate worked out. Metric names are the ones of the measured cases (``ttft_ms_p95`` ...)."""

    rank: int
    id: str
    title: str
    status: str  # chosen | satisfies | misses | ruled_out
    reasons: tuple[str, ...]  # sentences, each with its number: why it misses or is ruled out
    accelerator: str  # "" for an API
    accelerators_count: int  # all replicas together
    replicas_count: int
    spare_replicas_count: int
    split: str  # "tp2", "tp8 pp2", "fsdp"
    weights: str
    kv_cache: str
    engine: str
    engine_version: str
    model: str
    provider: str
    capacity: str
    region: str
    price_seen: str
    metrics: dict[str, Estimate]
    memory: dict[str, float]  # bytes per accelerator: weights, kv_cache, activations, ... , headroom
    usable_bytes: float
    latency_quantiles: dict[str, tuple[float, ...]]  # "ttft_ms": values at QUANTILES
    cost_lines: tuple[CostLine, ...]
    cost_per_month_money: float  # per run for training
    unit_cost: Estimate  # money per unit of the brief's denominator
    best_probability: float
    expected_regret_money: float  # mean of what one output costs over the cheapest of each draw
    command: str  # exact engine command or training launch
    trees: dict[str, int] = field(default_factory=dict)
    ledger: tuple[LedgerMonth, ...] = ()  # month 0 first; empty where nothing is told
    walk_away: WalkAway | None = None
    ownership: Ownership | None = None  # of a bought option
    unit_cost_quantiles: tuple[float, ...] = ()  # of the draws, at QUANTILES; empty where none were made
    replica: Replica | None = None  # None = nothing of one's own answers
    setup: dict[str, Any] = field(
        default_factory=dict
    )  # under Setup's names, as fit and speed take it; {} = an API
    compatibility: Compatibility | None = None
    flexibility: Flexibility | None = None
    on_front: bool = False  # nothing else is at least as good in cost, latency and risk, and better in one


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a group of candidates fell: one sentence with its number, and how many it took out."""

    code: str
    sentence: str
    count: int
    example: str = ""


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something the brief or the facts left open, what was taken instead, and how it would be found out."""

    name: str
    value: str
    why: str
    how_to_find_out: str
    grade: str = "assumed"
    by: str = ""  # brief, facts, Cabida, or a name


@dataclass(frozen=True, slots=True)
class Flip:
    """The value of an input at which the winner changes. ``flips_to`` is "" when it never does in range."""

    name: str  # price, utilisation, acceptance, ...
    unit: str
    now: float
    at: float | None
    flips_to: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measurement that would settle something, with its price and what it decides.

    Attributes:
        worth_money: expected saving from deciding after it instead of now, over the horizon (all runs, for training);
            ``None`` = not in the draws, so nobody knows.
        worth_per_month_money: the same a month, or a run.
        perfect_money: what knowing it without error would be worth, over the horizon.
        option: id of the option that is measured; driver: what of it: speed, acceptance or price.
        turns_at: the value beyond which ``turns_to`` (an option's id) is to be taken, on the side ``turns_side``
            (below or above): requests per second of a replica, tokens per second of an accelerator, a share, or money
            per accelerator and hour.
    """

    what: str
    decides: str
    duration_s: float
    cost_money: float
    command: str
    worth_money: float | None = None
    worth_per_month_money: float | None = None
    perfect_money: float | None = None
    option: str = ""
    driver: str = ""
    turns_at: float | None = None
    turns_side: str = ""
    turns_to: str = ""


@dataclass(frozen=True, slots=True)
class Caution:
    """A classic mistake or a doubt about the inputs, with its code."""

    code: str
    sentence: str
    severity: str = "warning"  # info | warning | blocking
    cure: str = ""
    accepted: AcceptedRisk | None = None
    source: str = ""  # where that is written, and when it was read; "" = reckoned here
    where: str = ""  # of the file it is about: "parts.yaml:4", "" when it is about the whole


@dataclass(frozen=True, slots=True)
class Decision:
    """The dated answer to a brief."""

    name: str
    workload: str
    verdict: str  # satisfied | nothing_satisfies
    answer: str  # the answer in one sentence, in the language asked for
    language: str
    brief: dict[str, Any]  # as read, after defaults
    brief_text: str  # the YAML as written
    as_of: str
    made_at: str
    version: str
    facts_digest: str
    seed: int
    currency: str
    denominator: str  # accepted_answer | accepted_record | accepted_model | completed_run ...
    candidates_count: int
    elapsed_s: float
    options: tuple[Option, ...]
    rejections: tuple[Rejection, ...]
    assumptions: tuple[Assumption, ...]
    warnings: tuple[Caution, ...]
    flips: tuple[Flip, ...]
    measurements: tuple[Measurement, ...]
    sources: tuple[dict[str, str], ...]  # what, url, seen, grade
    trees: tuple[dict[str, Any], ...] = ()
    schema: str = SCHEMA
    swings: tuple[Swing, ...] = ()  # drivers of the cost moved alone, the widest first
    draws_count: int = 0  # draws behind the probabilities, regrets and intervals; 0 = none
    curves: tuple[
        VolumeCurve, ...
    ] = ()  # the best of each way to pay: rent, reservation, purchase, held, API
    mix: Mix | None = None  # several ways to hold several types at once, when it was worked out
    measurements_note: str = ""  # what needs no measuring, and why: one sentence
    sign_off: SignOff | None = None
    flags: dict[str, Any] = field(
        default_factory=dict
    )  # what recommend was told beside the brief: assume, all ...
    assumption_flips: tuple[Flip, ...] = ()  # one for each assumption, by its name: where another option wins

    @property
    def best(self) -> Option | None:
        """The option that is chosen; ``None`` = nothing satisfies the brief."""
        return next((one for one in self.options if one.status == "chosen"), None)

    def option(self, name: int | str) -> Option:
        """An option by its rank or its id.

        Raises:
            KeyError: there is none.
        """
        found = next((one for one in self.options if name in (one.rank, one.id)), None)
        if found is None:
            raise KeyError(name)
        return found
