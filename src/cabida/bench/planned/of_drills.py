"""Failures worth making, by what the brief counts on: that a machine may fail, and that replicas come and go."""

from __future__ import annotations

from dataclasses import replace

from cabida.bench.planned.wanted import Wanted, rounded
from cabida.plan import Option
from cabida.plan.bench import Drill, Load, Run
from cabida.text import tr

BEFORE_S, WITHIN_S, AFTER_S = 60.0, 120.0, 60.0
PULLED_S = 20.0  # a faulty version is noticed and taken back
RATE_RATIO = 0.5  # of one replica's share: what is left must carry the others' too
COMING_AND_GOING = ("spot", "serverless")
SCRIPTS = "./drills"
HEALTH = "http://127.0.0.1:8000/health"


def drill_runs(wanted: Wanted, option: Option, name: str) -> list[Run]:
    """One run for each failure, so that what each cost can be told apart. Empty where nothing counts on it."""
    if option.capacity == "api" or option.replica is None or wanted.is_image:
        return []
    kinds: list[str] = []
    limits, objectives = wanted.part("limits"), wanted.part("objectives")
    if limits.get("availability") == "n+1" or objectives.get("error_ratio"):
        kinds += ["kill", "drain", "restart", "bad-deploy"]
    profile = {float(one) for one in wanted.part("traffic").get("profile") or ()}
    follows = option.capacity == "on-demand" and len(profile) > 1
    if option.capacity in COMING_AND_GOING or follows:
        kinds.append("cold-start")
    return [_run(wanted, option, name, kind) for kind in kinds]


def _run(wanted: Wanted, option: Option, name: str, kind: str) -> Run:
    lasts_s = BEFORE_S + WITHIN_S + AFTER_S
    replica = option.replica
    assert replica is not None
    rate = replica.requests_per_s or replica.capacity_requests_per_s or 1.0
    replicas = 2 if kind in ("kill", "drain") else 1
    cost = wanted.cost_money(option, lasts_s * replicas)
    return Run(
        name=f"{name} {kind}",
        phase="drill",
        candidate=name,
        load=Load("poisson", requests_per_s=rounded(rate * RATE_RATIO), duration_s=lasts_s),
        drills=(drill_of(kind),),
        duration_s=lasts_s,
        cost_money=cost,
        why=tr(f"planned.why.{kind}"),
    )


def drill_of(kind: str) -> Drill:
    """A failure in the middle of a load, with the files and commands it needs by the names they are expected under."""
    return replace(_MADE[kind], at_s=BEFORE_S, within_s=WITHIN_S)


_MADE = {
    "kill": Drill("kill", pid_file="replica-1.pid", signal="KILL"),
    "drain": Drill(
        "drain", command=(f"{SCRIPTS}/drain.sh",), undo=(f"{SCRIPTS}/undrain.sh",), lasts_s=PULLED_S
    ),
    "restart": Drill("restart", command=(f"{SCRIPTS}/restart.sh",), ready=HEALTH),
    "bad-deploy": Drill(
        "bad-deploy", command=(f"{SCRIPTS}/bad.sh",), undo=(f"{SCRIPTS}/good.sh",), lasts_s=PULLED_S
    ),
    "cold-start": Drill(
        "cold-start", command=(f"{SCRIPTS}/stop.sh",), undo=(f"{SCRIPTS}/start.sh",), ready=HEALTH
    ),
}
