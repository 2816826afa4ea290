"""What a question about serving speed can't mean: flags that nothing uses, requests that no engine takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from cabida import facts
from cabida.errors import UsageProblem
from cabida.plan import Load, Setup
from cabida.report.asked import load_of, refuse_load
from cabida.report.fit_asked import refuse_contradictions
from cabida.report.run_speed import as_typed
from cabida.text import problem
from cabida.units import S_PER_HOUR

if TYPE_CHECKING:
    from cabida.facts.model import Model
    from cabida.report.speed import Wants

LONGEST_REQUESTS = 2_000_000  # of one simulated day or week
# of a question that says nothing of its requests
USUAL = {"input_tokens": 1000.0, "output_tokens": 200.0, "concurrency": 1.0}


def profiled(
    profile: Sequence[float] | None, demand: float | None, flags: Mapping[str, Any]
) -> dict[str, Any]:
    """What hourly weights add to a load that has a mean rate: themselves, and requests for every hour of them."""
    rate = flags.get("requests_per_s")
    if rate is None or not profile or demand is not None:
        return {}
    once = rate * float(S_PER_HOUR) * len(profile)
    count = flags.get("prompts_count") or int(min(max(once, 1.0), LONGEST_REQUESTS))
    return {"hourly_weights": tuple(profile), "prompts_count": count}


def refuse_mismatch(
    model: str, gpu: str, flags: dict[str, Any], wants: Wants, *, traced: bool, typed_load: bool
) -> None:
    """Refuse what can't be meant, before anything is worked out.

    Args:
        model: id, alias or path.
        gpu: accelerator.
        flags: of the deployment and its load.
        wants: what is asked beside the latencies.
        traced: the requests come from a file.
        typed_load: a rate, a concurrency or a file was given.

    Raises:
        UsageProblem: CB-U050, CB-U009.
        InvalidInput: CB-U048 and the like of ``fit``; CB-U054, CB-U063, CB-U064.
    """
    load, rest = load_of(flags)
    setup = Setup(model=model, gpu=gpu, **rest)
    _passed_over(load, setup, wants, traced=traced, typed_load=typed_load)
    _impossible(setup, facts.model(model), load, draft=wants.draft, traced=traced)


def _passed_over(load: Load, setup: Setup, wants: Wants, *, traced: bool, typed_load: bool) -> None:
    """Flags that would be read and then passed over in silence."""
    nothing = Load(1.0, 1.0)
    searched = wants.capacity or wants.knee
    opened = load.requests_per_s is not None or searched
    several = wants.replicas > 1 or wants.readers > 0 or (setup.dp or 1) > 1
    lonely = [
        ("--acceptance", wants.acceptance is not None and not wants.draft, "--draft NAME"),
        ("--adapters", load.adapters_count > 0 and not setup.lora_slots, "--max-loras N"),
        ("--prefixes", load.prefixes_count > 1 and load.shared_prefix_tokens <= 0, "--shared-prefix-tokens N"),
        ("--turn-gap", load.turn_gap_s != nothing.turn_gap_s and load.turns_count <= 1, "--turns N"),
        ("--burst", load.burst_ratio != 1.0 and not opened, "--requests-per-s R"),
        ("--ramp", load.ramp_s > 0 and load.concurrency is None, "--concurrency N"),
        ("--routing", bool(wants.routing) and not several, "--replicas N"),
        (
            "--profile",
            len(wants.profile) > 1 and typed_load and load.requests_per_s is None
            and wants.demand_requests_per_s is None,
            "--requests-per-s R",
        ),
    ]  # fmt: skip
    if traced:
        lonely = [one for one in lonely if one[0] in ("--acceptance", "--adapters", "--routing")]
    wrong = [problem("CB-U050", one=name, other=other) for name, idle, other in lonely if idle]
    if traced and (shaped := _shaped(load)):
        wrong.append(problem("CB-U009", names=", ".join(["--trace", *map(as_typed, shaped)])))
    if wrong:
        raise UsageProblem(wrong)


def _shaped(load: Load) -> list[str]:
    """What was said of requests whose file says it already."""
    usual = {one.name: one.default for one in fields(Load)} | USUAL | {"adapters_count": load.adapters_count}
    return [name for name, value in usual.items() if getattr(load, name) != value]


def _impossible(setup: Setup, model: Model, load: Load, *, draft: str, traced: bool) -> None:
    """Deployments that contradict themselves, and requests longer than what reads them."""
    card = facts.accelerator(setup.gpu or "")
    refuse_contradictions(_drafting(setup, draft), model, [card], None, None)
    if not traced:
        refuse_load(setup, model, load)


def _drafting(setup: Setup, draft: str) -> Setup:
    return replace(setup, draft=draft or setup.draft, answer_tokens=None, shared_prefix_tokens=0)
