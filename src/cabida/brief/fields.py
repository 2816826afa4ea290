"""The one table of what a brief may say. Reading, the editor's schema and the template all come from it."""

from __future__ import annotations

from cabida.brief import kinds
from cabida.brief.accepted import ACCEPTED_RISKS
from cabida.brief.evaluation import EVALUATION
from cabida.brief.future import FUTURE
from cabida.brief.held import HELD
from cabida.brief.kinds import Kind, number, word
from cabida.brief.model import WORKLOADS
from cabida.brief.retrieval import RETRIEVAL
from cabida.brief.shapes import Group, Listing, OneOf, Table
from cabida.brief.signing import SIGN_OFF
from cabida.units import HOURS_PER_DAY, HOURS_PER_MONTH

METRICS = ("ttft", "tpot", "itl", "e2e")
STATISTICS = ("mean", "p50", "p90", "p95", "p99")
EVERY = {  # how often -> runs in a month of 730 hours
    "once": 0.0,
    "hour": float(HOURS_PER_MONTH),
    "day": HOURS_PER_MONTH / HOURS_PER_DAY,
    "weekday": HOURS_PER_MONTH / HOURS_PER_DAY * 5 / 7,
    "week": HOURS_PER_MONTH / (7 * HOURS_PER_DAY),
    "month": 1.0,
}
RULES = ("json-schema", "regex", "length", "finish-reason", "exact", "numeric", "command", "judge")
CAPACITIES = ("on-demand", "reserved", "spot", "block", "serverless", "buy", "api")
OPTIMIZERS = ("adamw", "adamw-8bit", "adamw-paged-8bit", "adafactor", "sgd", "muon", "lion", "any")
SHARDINGS = ("none", "ddp", "zero-1", "zero-2", "zero-3", "fsdp", "hsdp", "any")


def _one(kind: Kind) -> OneOf:
    return OneOf(scalar=kind)


def _words(kind: Kind) -> OneOf:
    """A list of words, a single one, or "any"."""
    return OneOf(sequence=Listing(_one(kind), shortest=1), spread=True)


LENGTHS = OneOf(
    scalar=kinds.LENGTH,
    shorthand="fixed",
    mapping=Group("lengths", {key: _one(kinds.LENGTH) for key in ("mean", "p50", "p95", "p99", "max")}),
)
HOURLY = OneOf(scalar=kinds.PROFILE, sequence=Listing(_one(kinds.FACTOR), longest=168))

ACCEPTANCE = OneOf(
    scalar=kinds.KEPT,
    shorthand="acceptance",
    mapping=Group(
        "acceptance_of_format",
        {
            "acceptance": _one(kinds.KEPT),
            "how": _one(kinds.TEXT),
            "grade": _one(word("measured", "quoted", "derived", "assumed")),
        },
    ),
)
RULE = OneOf(
    mapping=Group(
        "acceptance_rule",
        {
            "kind": _one(word(*RULES)),
            "value": OneOf(free=True),
            "name": _one(kinds.text("name", longest=120)),
        },
        required=("kind",),
    )
)
MODEL = OneOf(
    scalar=kinds.text("model", longest=240),
    shorthand="id",
    mapping=Group(
        "model",
        {
            "id": _one(kinds.text("model", longest=240)),
            "weights": OneOf(
                mapping=Table(kinds.text("format"), ACCEPTANCE),
                sequence=Listing(_one(kinds.text("format"))),
                spread=True,
            ),
        },
        required=("id",),
    ),
)
TRAFFIC = Group(
    "traffic",
    {
        "requests_per_s": OneOf(
            scalar=kinds.RATE,
            shorthand="mean",
            mapping=Group("rate", {"mean": _one(kinds.RATE), "peak": _one(kinds.RATE), "profile": HOURLY}),
        ),
        "requests_per_day": _one(kinds.AMOUNT),
        "concurrency": _one(kinds.POSITIVE),
        "profile": HOURLY,
        "trace": _one(kinds.text("path", longest=240)),
        "items": _one(kinds.AMOUNT),
        "window": _one(kinds.DURATION),
        "every": _one(word(*EVERY)),
        "input_tokens": LENGTHS,
        "output_tokens": LENGTHS,
        "shared_prefix_tokens": _one(kinds.TOKENS),
        "burst": _one(kinds.FACTOR),
        "growth": _one(kinds.GROWTH),
    },
)
OBJECTIVES = Group(
    "objectives",
    {f"{metric}_{statistic}": _one(kinds.DURATION) for metric in METRICS for statistic in STATISTICS}
    | {
        "error_rate": _one(kinds.SHARE),
        "throughput": _one(kinds.TOKEN_RATE),
        "deadline": _one(kinds.DURATION),
        "time_to_target": _one(kinds.DURATION),
    },
)
LIMITS = Group(
    "limits",
    {
        "data": OneOf(scalar=kinds.PLACE, sequence=Listing(_one(kinds.PLACE))),
        "needed_by": _one(kinds.DATE),
        "availability": _one(word("none", "n+1")),
        "risk": _one(word("low", "medium", "high")),
        "power": _one(kinds.POWER),
        "lead": OneOf(mapping=Table(word(*CAPACITIES, name="word"), _one(kinds.DURATION))),
    },
)
CONSIDER = Group(
    "consider",
    {
        "capacity": _words(word(*CAPACITIES)),
        "providers": _words(kinds.text("provider")),
        "accelerators": _words(kinds.text("accelerator")),
        "engines": _words(kinds.text("engine")),
        "max_accelerators": _one(kinds.COUNT),
    },
)
COSTS = Group(
    "costs",
    {
        "electricity": _one(kinds.money("kwh")),
        "pue": _one(kinds.PUE),
        "colocation_per_kw": _one(kinds.money("month")),
        "wacc": _one(kinds.YEAR_RATE),
        "depreciation": _one(number("months", "months", low=1, high=600, needs_unit=True)),
        "storage": _one(kinds.money("month")),
        "network": _one(kinds.money("month")),
        "egress": _one(kinds.money("month")),
        "observability": _one(kinds.money("month")),
        "serving_stack": _one(kinds.money("month")),
        "review_per_output": _one(kinds.money("output")),
        "market_carbon": _one(kinds.CARBON),
        "income_tax": _one(kinds.TAX),
        "resale": _one(kinds.KEPT),
    },
)
TRAINING = Group(
    "training",
    {
        "method": _one(word("pretrain", "full", "lora", "qlora")),
        "tokens": _one(number("tokens", "tokens", low=1, high=1e18, likely_whole=True)),
        "samples": _one(kinds.AMOUNT),
        "epochs": _one(number("factor", "count", above=True, high=10_000)),
        "sample_tokens": LENGTHS,
        "seq_len": _one(kinds.WHOLE_TOKENS),
        "global_batch": _one(kinds.COUNT),
        "optimizer": _one(word(*OPTIMIZERS)),
        "sharding": _one(word(*SHARDINGS)),
        "recompute": _one(word("none", "selective", "full", "any")),
        "precision": _one(word("bf16", "fp16", "fp8", "nvfp4", "fp32")),
        "offload": _one(word("none", "optimizer", "all", "any")),
        "framework": _one(kinds.text("engine")),
        "lora_rank": _one(kinds.COUNT),
        "lora_targets": _one(word("all", "attention")),
        "target": OneOf(
            mapping=Group(
                "target", {"metric": _one(kinds.TEXT), "value": _one(number("factor", "count", low=-1e9))}
            )
        ),
        "evaluation": OneOf(
            scalar=kinds.WHOLE,
            shorthand="passes",
            mapping=Group("evaluation", {"passes": _one(kinds.WHOLE), "tokens": _one(kinds.TOKENS)}),
        ),
        "checkpoint": OneOf(
            scalar=kinds.DURATION,
            shorthand="interval",
            mapping=Group("checkpoint", {"interval": _one(kinds.DURATION), "size": _one(kinds.BYTES)}),
        ),
        "dataset": _one(kinds.BYTES),
        "failed_runs": _one(kinds.LOST),
        "accepted_runs": _one(kinds.KEPT),
        "runs": _one(kinds.POSITIVE),
    },
)
MEDIA = Group(
    "media",
    {
        "kind": _one(word("image", "video", "audio", "transcription")),
        "items_per_month": _one(kinds.AMOUNT),
        "width": _one(kinds.SIDE),
        "height": _one(kinds.SIDE),
        "frames": _one(kinds.COUNT),
        "steps": _one(kinds.COUNT),
        "batch": _one(kinds.COUNT),
        "review_per_output": _one(kinds.money("output")),
        "reviewed": _one(kinds.SHARE),
        "moderation_per_output": _one(kinds.money("output")),
        "item_size": _one(kinds.BYTES),
        "kept": _one(kinds.MONTHS),
    },
    required=("kind",),
)
BRIEF = Group(
    "brief",
    {
        "name": _one(kinds.text("name", longest=120)),
        "workload": _one(word(*WORKLOADS)),
        "models": OneOf(sequence=Listing(MODEL), mapping=MODEL.mapping, spread=True),
        "traffic": OneOf(mapping=TRAFFIC),
        "training": OneOf(mapping=TRAINING),
        "media": OneOf(mapping=MEDIA),
        "retrieval": OneOf(mapping=RETRIEVAL),
        "evaluation": OneOf(mapping=EVALUATION),
        "objectives": OneOf(mapping=OBJECTIVES),
        "acceptance": OneOf(
            mapping=Group(
                "acceptance",
                {
                    "retries": _one(kinds.WHOLE),
                    "failure_rate": _one(kinds.LOST),
                    "least": _one(kinds.KEPT),
                    "rules": OneOf(sequence=Listing(RULE, longest=200), mapping=RULE.mapping, spread=True),
                },
            )
        ),
        "have": OneOf(sequence=Listing(HELD), spread=True),
        "limits": OneOf(mapping=LIMITS),
        "budget": OneOf(
            mapping=Group(
                "budget",
                {
                    "monthly": _one(kinds.money("month")),
                    "total": _one(kinds.money()),
                    "financed": _one(kinds.SHARE),
                    "interest": _one(kinds.YEAR_RATE),
                    "loan": _one(kinds.MONTHS),
                },
            )
        ),
        "currency": _one(kinds.CURRENCY),
        "exchange_rates": OneOf(mapping=Table(kinds.CURRENCY, _one(kinds.EXCHANGE))),
        "horizon": _one(kinds.MONTHS),
        "team": OneOf(
            mapping=Group(
                "team", {"platform_engineers": _one(kinds.FACTOR), "loaded_cost": _one(kinds.money("year"))}
            )
        ),
        "future": OneOf(mapping=FUTURE),
        "consider": OneOf(mapping=CONSIDER),
        "costs": OneOf(mapping=COSTS),
        "notes": _one(kinds.TEXT),
        "claims": OneOf(sequence=Listing(_one(kinds.TEXT)), spread=True),
        "accepted_risks": ACCEPTED_RISKS,
        "sign_off": OneOf(mapping=SIGN_OFF),
    },
)
WHOLE_BRIEF = OneOf(mapping=BRIEF)
