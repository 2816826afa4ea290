"""What things cost: one deployment, run or item under every offer, the options of a decision, and electricity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from cabida.errors import UsageProblem
from cabida.plan import Decision
from cabida.report.within import MONEY, PART, Within, refuse_beyond
from cabida.text import problem, tr

BRIEFS, DECISIONS = (".yaml", ".yml"), (".json",)
BOUNDS = {
    "utilisation": PART, "acceptance": PART, "failures": Within(0, 0.99), "retries": Within(0, 20),
    "review": Within(0, 1e9), "moderation": Within(0, 1e9), "demand": Within(0, 1e12, above=True),
    "spares": Within(0, 1e6),
}  # fmt: skip
BOUNDS_OF_ENERGY = {
    "watts": Within(0, 1e12),
    "price": MONEY,
    "hours": Within(0, 1e12),
    "pue": Within(1, 1e12),
}


def cost(
    what: str | Path | Decision,
    *,
    gpu: str = "",
    currency: str = "USD",
    as_of: str = "",
    utilisation: float = 0.6,
    acceptance: float = 1.0,
    failures: float = 0.0,
    retries: int = 0,
    review: float = 0.0,
    moderation: float = 0.0,
    capacity: Sequence[str] = (),
    country: str = "",
    assume: Mapping[str, float] | None = None,
    demand: float | None = None,
    profile: Sequence[float] | None = None,
    objectives_ms: Mapping[str, float] | None = None,
    spares: int = 0,
    bill: bool = False,
    option: int | None = None,
    seed: int = 0,
    **flags: Any,
) -> dict[str, Any]:
    """What one accepted output costs, with every line of the bill, under each way to hold the accelerators.

    Args:
        what: a brief or a decision (its options side by side); else a model, a pipeline or an encoder.
        gpu: accelerator, of a model.
        currency: what amounts are in; a brief and a decision have their own.
        as_of: ISO date; prices seen later don't exist. Today when left out.
        utilisation: share of the month that one copy is busy, where no ``demand`` says it.
        acceptance: share of the attempts that did not fail which is accepted; of a training run, of completed runs.
        failures: share of attempts that fail and are repeated.
        retries: further tries of what was rejected.
        review: money per accepted output for people who look at it.
        moderation: money per attempt for a filter bought by the call.
        capacity: ways to hold; empty = all.
        country: ISO code, for the price of electricity.
        assume: assumption -> value in place of the shipped one (``electricity_money_per_kwh``).
        demand: requests/s of the busiest hour; with it all replicas are billed, idle as the profile leaves them.
        profile: 24 or 168 hourly weights of that demand.
        objectives_ms: most of each latency, by ``ttft_ms_p95`` ...: what a replica may carry.
        spares: replicas beyond need.
        bill: also the lines of the cheapest, each with its formula.
        option: of a decision, the rank whose bill is explained.
        seed: of the simulation.
        flags: as of ``speed``; a training run needs ``method`` and ``target_tokens``, and may say ``dataset_bytes``
            and ``runs`` a month; an item ``item_bytes`` and ``kept_months``.

    Raises:
        UsageProblem: what was said does not go together. InvalidInput: unknown names, what does not fit, no offer,
            CB-U066 and CB-U067 figures that can't be meant.
    """
    from cabida.evidence.shelf.named import is_named
    from cabida.report.cost_rows import Billing

    of_options = isinstance(what, Decision) or Path(what).suffix.lower() in (*BRIEFS, *DECISIONS)
    of_options = of_options or is_named(str(what), "b") or is_named(str(what), "d")
    said = {
        "utilisation": utilisation, "acceptance": acceptance, "failures": failures, "retries": retries,
        "review": review, "moderation": moderation, "demand": demand, "spares": spares,
    }  # fmt: skip
    refuse_beyond(said, BOUNDS, profile=profile)
    day = as_of or date.today().isoformat()
    billing = Billing(
        currency, day, utilisation, acceptance, failures, retries, review, moderation, tuple(capacity), country,
        dict(assume or {}), bill,
    )  # fmt: skip
    if of_options:
        from cabida.report.cost_asked import refuse_beside_options

        beside = {"demand": demand, "profile": profile, "objectives": objectives_ms, "spares": spares}
        refuse_beside_options(gpu, billing, flags, beside)
        return _options(what, 1 if bill and option is None else option, as_of, seed)
    if option is not None:
        raise UsageProblem([problem("CB-U050", one="--option", other=tr("cost.a_brief"))])
    if not gpu:
        raise UsageProblem([problem("CB-U003", name="--gpu")])
    from cabida.report.cost import cost_answer

    return cost_answer(
        str(what), gpu, billing, flags, demand=demand, profile=tuple(profile or (1.0,)), objectives_ms=objectives_ms,
        spares=spares, seed=seed,
    )  # fmt: skip


def _options(what: str | Path | Decision, option: int | None, as_of: str, seed: int) -> dict[str, Any]:
    from cabida import app
    from cabida.evidence.shelf.named import is_named
    from cabida.report.cost_options import options_answer

    if isinstance(what, Decision):
        return options_answer(what, option)
    if Path(what).suffix.lower() in DECISIONS or is_named(what, "d"):
        return options_answer(app.load_decision(what), option)
    return options_answer(app.recommend(what, as_of=as_of or None, seed=seed), option)


def energy(watts: float, price: float, **more: Any) -> dict[str, Any]:
    """What a steady draw of ``watts`` costs a year at ``price`` per kWh, and the API tokens that would buy."""
    from cabida.report.electricity import energy as work_out

    said = {"watts": watts, "price": price, "hours": more.get("hours"), "pue": more.get("pue")}
    refuse_beyond(said, BOUNDS_OF_ENERGY)
    return work_out(watts, price, **more)
