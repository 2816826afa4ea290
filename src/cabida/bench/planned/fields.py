"""The one table of what a benchmark's plan may say."""

from __future__ import annotations

from cabida.bench.planned import kinds as own
from cabida.brief import kinds
from cabida.brief.fields import METRICS, STATISTICS
from cabida.brief.kinds import Kind, word
from cabida.brief.shapes import Group, Listing, OneOf
from cabida.plan import bench

SIDES = ("below", "above")
SAMPLES = ("redacted", "full", "none")
MOST_CONTENDERS_COUNT = 50
MOST_RUNS_COUNT = 500


def _one(kind: Kind) -> OneOf:
    return OneOf(scalar=kind)


def _some(group: Group, longest: int) -> OneOf:
    return OneOf(sequence=Listing(OneOf(mapping=group), longest=longest))


FREE = OneOf(scalar=kinds.TEXT)  # read by ``free``, as YAML has it: any shape

TARGET = Group(
    "target",
    {
        "url": _one(own.URL),
        "model": _one(kinds.text("model", longest=400)),
        "api": _one(word(*bench.APIS)),
        "stream": _one(kinds.FLAG),
        "key": _one(own.KEY),
        "headers": FREE,
        "body": FREE,
        "tokenizer": _one(own.PATH),
        "metrics": _one(own.URL),
        "log": _one(own.PATH),
        "ca": _one(own.PATH),
    },
    required=("url",),
)
CONTENDER = Group(
    "contender",
    {
        "name": _one(own.NAME),
        "option": _one(own.LINE),
        "title": _one(kinds.text("name", longest=1000)),
        "target": OneOf(mapping=TARGET),
        "setup": FREE,
        "replicas": _one(kinds.COUNT),
        "price": _one(kinds.money("hour")),
        "launch": FREE,
    },
    required=("name", "target"),
)
SPREAD = OneOf(
    scalar=own.LENGTH,
    shorthand="mean",
    mapping=Group(
        "spread",
        {"mean": _one(own.LENGTH), "spread": _one(kinds.FACTOR), "max": _one(own.LENGTH)},
        required=("mean",),
    ),
)
PROMPTS = Group(
    "prompts",
    {
        "source": _one(word(*bench.PROMPTS)),
        "file": _one(own.PATH),
        "input_tokens": SPREAD,
        "output_tokens": SPREAD,
        "shared_prefix_tokens": _one(own.LENGTH),
        "prefixes": _one(kinds.COUNT),
        "exact_output": _one(kinds.FLAG),
    },
)
RULE = Group(
    "rule", {"kind": _one(word(*bench.RULES)), "value": FREE, "name": _one(own.LINE)}, required=("kind",)
)
POLICY = Group(
    "policy",
    {
        "retries": _one(kinds.WHOLE),
        "backoff": _one(own.TIME),
        "connect_timeout": _one(kinds.DURATION),
        "first_token_timeout": _one(kinds.DURATION),
        "idle_timeout": _one(kinds.DURATION),
        "total_timeout": _one(kinds.DURATION),
        "connections": _one(kinds.COUNT),
        "requests_per_s": _one(kinds.RATE),
        "requests": _one(own.COUNT),
        "response_size": _one(kinds.BYTES),
    },
)
STEP = Group(
    "step",
    {"requests_per_s": _one(kinds.RATE), "duration": _one(kinds.DURATION)},
    required=("requests_per_s", "duration"),
)
LOAD = Group(
    "load",
    {
        "kind": _one(word(*bench.LOADS)),
        "concurrency": _one(kinds.COUNT),
        "requests_per_s": _one(kinds.RATE),
        "burst": _one(kinds.FACTOR),
        "steps": _some(STEP, 1000),
        "profile": OneOf(scalar=kinds.PROFILE, sequence=Listing(_one(kinds.FACTOR), longest=168)),
        "trace": _one(own.PATH),
        "speed": _one(kinds.POSITIVE),
        "duration": _one(kinds.DURATION),
        "requests": _one(own.COUNT),
        "warm_up": _one(own.TIME),
        "seed": _one(own.WHOLE),
    },
    required=("kind",),
)
DRILL = Group(
    "drill",
    {
        "kind": _one(word(*bench.DRILLS)),
        "name": _one(own.LINE),
        "at": _one(own.TIME),
        "command": FREE,
        "undo": FREE,
        "pid_file": _one(own.PATH),
        "signal": _one(own.SIGNAL),
        "ready": _one(own.URL),
        "delay": _one(own.TIME),
        "jitter": _one(own.TIME),
        "bandwidth": _one(own.SPEED),
        "cut_after": _one(kinds.BYTES),
        "lasts": _one(own.TIME),
        "within": _one(kinds.DURATION),
    },
    required=("kind",),
)
JOB = Group(
    "job",
    {
        "command": FREE,
        "patterns": FREE,
        "folder": _one(own.PATH),
        "duration": _one(kinds.DURATION),
        "warm_up_steps": _one(kinds.WHOLE),
        "checkpoint": _one(own.PATH),
    },
)
EXPECTED = Group(
    "expected",
    {
        "metric": _one(own.LINE),
        "value": _one(own.NUMBER),
        "low": _one(own.NUMBER),
        "high": _one(own.NUMBER),
        "basis": _one(own.LINE),
    },
    required=("metric", "value", "low", "high"),
)
TURN = Group(
    "turn",
    {
        "metric": _one(own.LINE),
        "side": _one(word(*SIDES)),
        "at": _one(own.NUMBER),
        "then": _one(kinds.text("name", longest=1000)),
    },
    required=("metric", "side", "at", "then"),
)
RUN = Group(
    "run",
    {
        "name": _one(own.NAME),
        "phase": _one(word(*bench.PHASES)),
        "candidate": _one(own.LINE),
        "load": OneOf(mapping=LOAD),
        "drills": _some(DRILL, 100),
        "job": OneOf(mapping=JOB),
        "duration": _one(own.TIME),
        "cost": _one(kinds.money()),
        "worth": _one(kinds.money()),
        "expected": _some(EXPECTED, 200),
        "decides": _some(TURN, 100),
        "why": _one(kinds.TEXT),
    },
    required=("name", "phase", "candidate"),
)
OBJECTIVES = Group(
    "bench_objectives",
    {f"{metric}_{statistic}": _one(kinds.DURATION) for metric in METRICS for statistic in STATISTICS}
    | {"error_rate": _one(kinds.SHARE)},
)
PLAN = Group(
    "plan",
    {
        "schema": _one(word(bench.SCHEMA)),
        "name": _one(own.NAME),
        "decision": _one(own.PATH),
        "currency": _one(kinds.CURRENCY),
        "denominator": _one(own.LINE),
        "seed": _one(own.WHOLE),
        "keep_samples": _one(word(*SAMPLES)),
        "contenders": OneOf(sequence=Listing(OneOf(mapping=CONTENDER), MOST_CONTENDERS_COUNT, 1)),
        "prompts": OneOf(mapping=PROMPTS),
        "rules": _some(RULE, 200),
        "policy": OneOf(mapping=POLICY),
        "objectives": OneOf(mapping=OBJECTIVES),
        "runs": OneOf(sequence=Listing(OneOf(mapping=RUN), MOST_RUNS_COUNT, 1)),
    },
)
WHOLE_PLAN = OneOf(mapping=PLAN)
