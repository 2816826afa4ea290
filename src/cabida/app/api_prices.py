"""What one use costs behind every API that sells a model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from cabida.report.within import MONEY, PART, Within, refuse_beyond

TOKENS = Within(0, 1e8)
BOUNDS = {
    "requests_per_month": Within(0, 1e12, above=True), "input_tokens": TOKENS, "output_tokens": TOKENS,
    "prefix_tokens": TOKENS, "reasoning_tokens": TOKENS, "input_p95": Within(0, 1e8, above=True),
    "failures": Within(0, 0.99), "acceptance": PART, "retries": Within(0, 20), "own_money_per_month": MONEY,
}  # fmt: skip


def api_prices(
    model: str,
    *,
    provider: str = "",
    requests_per_month: float = 1e6,
    input_tokens: float = 1000.0,
    output_tokens: float = 200.0,
    prefix_tokens: float = 0.0,
    reasoning_tokens: float = 0.0,
    input_p95: float | None = None,
    profile: Sequence[float] | None = None,
    timezone: str = "",
    failures: float = 0.0,
    acceptance: float = 1.0,
    retries: int = 0,
    batch: bool = False,
    currency: str = "USD",
    own_money_per_month: float | None = None,
    as_of: str | None = None,
) -> dict[str, Any]:
    """Providers of a model by what a month of this use really costs at each, cheapest first.

    Args:
        model: id in the catalogue, or a name that a provider uses ("gpt-5", "llama-3.3-70b").
        provider: only those whose name contains it.
        requests_per_month: first attempts.
        input_tokens: mean prompt; prompts are all alike unless ``input_p95`` says otherwise.
        output_tokens: mean answer, reasoning included.
        prefix_tokens: of the prompt, the same in every request: the provider may keep them.
        reasoning_tokens: of the answer.
        input_p95: prompt length that one in twenty exceeds: dearer tiers are weighed over all lengths.
        profile: 24 or 168 hourly weights, at the clock of ``timezone``: for prices by the hour and for the cache.
        timezone: IANA name; UTC when left out.
        failures: share of attempts that fail and are repeated.
        acceptance: share of answers that is kept.
        retries: further tries of what was not.
        batch: the answers may wait, so that a batch price counts where there is one.
        currency: of all amounts.
        own_money_per_month: what a month of one's own service costs, for the break-even volume.
        as_of: ISO date; prices that began or were seen later don't exist. Today when left out.

    Raises:
        InvalidInput: CB-U085, nobody sells it; CB-U066, CB-U067, CB-U086 and CB-U087, what was said can't be;
            CB-F006, no rate.
    """
    from cabida.report.api_prices import api_prices as answered
    from cabida.report.api_prices import usage_of

    said = {
        "requests_per_month": requests_per_month, "input_tokens": input_tokens, "output_tokens": output_tokens,
        "prefix_tokens": prefix_tokens, "reasoning_tokens": reasoning_tokens, "input_p95": input_p95,
        "failures": failures, "acceptance": acceptance, "retries": retries,
        "own_money_per_month": own_money_per_month,
    }  # fmt: skip
    refuse_beyond(said, BOUNDS, profile=profile)
    usage = usage_of(
        requests_per_month,
        input_tokens,
        output_tokens,
        prefix_tokens=prefix_tokens,
        reasoning_tokens=reasoning_tokens,
        input_p95=input_p95,
        profile=profile,
        timezone=timezone,
        failures=failures,
        acceptance=acceptance,
        retries=retries,
        batch=batch,
    )
    return answered(
        model,
        usage,
        provider=provider,
        currency=currency.upper(),
        as_of=as_of or date.today().isoformat(),
        own_money_per_month=own_money_per_month,
    )
