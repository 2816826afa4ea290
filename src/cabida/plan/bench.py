"""A benchmark as it is planned: what is asked of which endpoint, how hard, for how long, and what it would settle.

All of it is plain data: a plan is written as YAML, edited by hand, and read back. Times are seconds, lengths tokens,
money the plan's currency. ``None`` and "" mean "not said".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SCHEMA = "cabida/bench/1"
APIS = ("chat", "completions", "embeddings", "rerank", "images")
LOADS = ("closed", "poisson", "gamma", "steps", "profile", "trace")
PHASES = ("memory", "load", "search", "drill", "training")
RULES = ("json-schema", "regex", "length", "finish-reason", "exact", "numeric", "command", "judge")
DRILLS = (
    "kill", "drain", "restart", "bad-deploy", "slow-network", "cut-network", "checkpoint", "cold-start", "command",
)  # fmt: skip
PROMPTS = ("synthetic", "jsonl", "sharegpt")


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go.

    Attributes:
        url: up to and with the version: ``http://127.0.0.1:8000/v1``.
        model: as the endpoint names it.
        api: one of APIS.
        key: where the key is, never the key: ``env:NAME`` or ``keyring:SERVICE/USER``; "" = none is needed.
        body: merged into the body of every request (temperature, stop, ...).
        tokenizer: folder or file of the model's tokenizer, to count where the server doesn't say.
        metrics: address of a Prometheus page; log: path of the engine's log on this machine.
        ca: path of a PEM file with the authority of the server's certificate.
    """

    url: str
    model: str = ""
    api: str = "chat"
    stream: bool = True
    key: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    tokenizer: str = ""
    metrics: str = ""
    log: str = ""
    ca: str = ""


@dataclass(frozen=True, slots=True)
class Spread:
    """Lengths as a log-normal law of this mean and standard deviation of ln(length); 0 = all alike."""

    mean_tokens: float
    spread_ratio: float = 0.0
    most_tokens: float | None = None


@dataclass(frozen=True, slots=True)
class Prompts:
    """What is asked. ``source`` is one of PROMPTS; a ``file`` gives the texts of the two others.

    ``prefixes_count`` different beginnings of ``shared_prefix_tokens`` tokens are dealt out evenly; 0 = none shared.
    """

    source: str = "synthetic"
    file: str = ""
    input: Spread = Spread(512.0)
    output: Spread = Spread(128.0)
    shared_prefix_tokens: float = 0.0
    prefixes_count: int = 1
    exact_output: bool = (
        False  # ask the engine to write to the length wanted (ignore_eos), where it knows how
    )


@dataclass(frozen=True, slots=True)
class Load:
    """How requests arrive. Closed: ``concurrency`` at once, each followed by the next. The others are open.

    Attributes:
        kind: one of LOADS.
        requests_per_s: mean rate of poisson and gamma, highest hour of profile.
        burst_ratio: squared coefficient of variation of the gaps (gamma).
        steps: (requests per second, seconds) one after another.
        profile: 24 or 168 hourly weights with mean 1, run in ``duration_s`` altogether.
        trace: CSV ``arrival_s,input_tokens,output_tokens``; ``speed_ratio`` 2 = in half the time.
        duration_s, requests_count: it ends with the first of them that is reached.
        warm_up_s: left out of the figures; ``None`` = found from the measurements.
    """

    kind: str = "closed"
    concurrency: int | None = None
    requests_per_s: float | None = None
    burst_ratio: float = 1.0
    steps: tuple[tuple[float, float], ...] = ()
    profile: tuple[float, ...] = ()
    trace: str = ""
    speed_ratio: float = 1.0
    duration_s: float | None = None
    requests_count: int | None = None
    warm_up_s: float | None = None
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Policy:
    """What the client allows and repeats.

    Attributes:
        retries_count: further attempts after one that failed for a reason worth repeating.
        backoff_s: wait before the first repetition, doubled each time; a server's Retry-After goes before it.
        connect_s, first_token_s, idle_s, total_s: time-outs; idle is between two reads.
        connections_most: sockets open at once; requests wait for one, and their wait counts.
        requests_per_s_most: a limit of the endpoint that is kept.
        requests_most: ceiling of the whole benchmark, attempts counted; ``None`` only on loopback.
        response_bytes_most: of one response; more ends it.
    """

    retries_count: int = 0
    backoff_s: float = 0.5
    connect_s: float = 10.0
    first_token_s: float = 120.0
    idle_s: float = 60.0
    total_s: float = 600.0
    connections_most: int = 4096
    requests_per_s_most: float | None = None
    requests_most: int | None = None
    response_bytes_most: int = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Rule:
    """What makes an output acceptable. ``kind`` is one of RULES; ``value`` is what that kind takes."""

    kind: str
    value: Any = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Drill:
    """A failure made on purpose, ``at_s`` seconds into the load.

    Attributes:
        kind: one of DRILLS.
        command, undo: argument lists, run without a shell; or
        pid_file, signal: whom to signal and how ("KILL", "TERM").
        ready: address that answers 200 when the service is back; "" = judged by requests alone.
        delay_s, jitter_s, bytes_per_s, cut_after_bytes: what the proxy does to each connection.
        lasts_s: until the fault is undone.
        within_s: recovery is a failure of the drill beyond it.
    """

    kind: str
    name: str = ""
    at_s: float = 0.0
    command: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    pid_file: str = ""
    signal: str = "KILL"
    ready: str = ""
    delay_s: float = 0.0
    jitter_s: float = 0.0
    bytes_per_s: float | None = None
    cut_after_bytes: int | None = None
    lasts_s: float = 0.0
    within_s: float = 120.0


@dataclass(frozen=True, slots=True)
class Job:
    """A training job started by command; ``patterns`` find its figures in what it prints, by metric name."""

    command: tuple[str, ...]
    patterns: dict[str, str] = field(default_factory=dict)
    folder: str = ""
    duration_s: float | None = None
    warm_up_steps: int = 10
    checkpoint: str = ""  # path whose appearance marks a finished checkpoint


@dataclass(frozen=True, slots=True)
class Expected:
    """What is predicted for a metric of a run, with its 90 % interval."""

    metric: str
    value: float
    low: float
    high: float
    basis: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a result would decide: beyond ``at`` of ``metric`` (``side`` below or above) ``then`` is to be taken."""

    metric: str
    side: str
    at: float
    then: str


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one phase against one candidate.

    ``worth_money`` is the expected value of knowing its result, over the decision's horizon; ``cost_money`` what the
    run itself costs in accelerator time or API use.
    """

    name: str
    phase: str
    candidate: str  # name of a Contender
    load: Load = Load()
    drills: tuple[Drill, ...] = ()
    job: Job | None = None
    duration_s: float | None = None
    cost_money: float | None = None
    worth_money: float | None = None
    expected: tuple[Expected, ...] = ()
    decides: tuple[Turn, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Contender:
    """A candidate that is measured: where it answers, and what stands behind that address.

    ``setup`` has the keys of an observation (engine, engine_version, model, weights, kv_cache, gpu, gpus, tp, ...).
    """

    name: str
    target: Target
    option: str = ""  # id of the decision's option
    title: str = ""
    setup: dict[str, Any] = field(default_factory=dict)
    replicas_count: int = 1
    price_money_per_hour: float | None = None  # all of what answers at the address
    launch: str = ""  # the command that starts it, for whoever sets it up


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """The runs that would settle a decision, in the order to make them."""

    name: str
    contenders: tuple[Contender, ...]
    runs: tuple[Run, ...]
    prompts: Prompts = Prompts()
    rules: tuple[Rule, ...] = ()
    policy: Policy = Policy()
    objectives: dict[str, dict[str, float]] = field(default_factory=dict)  # {"ttft": {"p95": 0.8}}, seconds
    error_ratio_most: float | None = None
    decision: str = ""  # file it was made from
    currency: str = "USD"
    denominator: str = ""
    keep_samples: str = "redacted"  # redacted | full | none: what is kept of outputs
    seed: int = 1
    where: dict[str, int] = field(default_factory=dict)  # path in the file -> line
    file: str = ""
    schema: str = SCHEMA
