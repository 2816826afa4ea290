"""Offers of vendors audited and compared, held against a decision, with the letter and the annex that go back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput
from cabida.text import money, problem, speaking, tr

if TYPE_CHECKING:
    from cabida.evidence.quotes import Quote
    from cabida.plan import Decision
    from cabida.procure import Audit, Comparison

NEEDED = {  # from and to, as the command takes them
    "utilisation_ratio": (0.0, 1.0), "staff_count": (0.0, 1e4), "migration_days": (0.0, 1000.0),
    "wacc_ratio": (0.0, 1.0), "unrecovered_tax_ratio": (0.0, 1.0), "life_years": (0.0, 100.0), "pue_ratio": (1.0, 10.0),
}  # fmt: skip
ABOVE_NOTHING = ("utilisation_ratio", "life_years")


def quote_audit(
    quote: Quote | Path | str,
    *,
    decision: Decision | Path | str | None = None,
    as_of: str | None = None,
    currency: str = "",
    language: str = "",
    **needs: float,
) -> Audit:
    """Audit a vendor's quote: completeness, contradictions, price, percentile, worst case, service level, tests.

    Args:
        quote: itself, or its file (YAML, CSV, XLSX, text, PDF).
        decision: what it is to be bought for, itself or the path of its JSON.
        as_of: ISO date; prices seen later don't exist. Today when left out.
        currency: of the answer; the decision's, else the quote's own.
        language: en or es; the one in use when empty.
        needs: what is known instead of assumed: ``utilisation_ratio``, ``stored_gb``, ``egress_gb_per_month``,
            ``staff_count``, ``loaded_money_per_year``, ``migration_days``, ``wacc_ratio``, ``unrecovered_tax_ratio``.

    Raises:
        InvalidInput: a file that can't be read; CB-Q290, several quotes in one file; CB-Q292, a need that can't be.
    """
    from cabida.procure import audit

    _only_known(needs)
    with speaking(language):
        read = _one(quote)
        held = _decision(decision)
        made = audit(read, as_of or date.today().isoformat(), held, currency=currency, needs=needs)
        return _with_price(made, held) if held is not None else made


def quote_letter(made: Audit) -> str:
    """The questions to send back to the vendor, by severity, numbered; Markdown in the language of the audit."""
    from cabida.procure import letter

    with speaking(made.language):
        return letter(made)


def quote_annex(made: Audit) -> str:
    """The acceptance tests with their floors as an annex to the contract; Markdown in the language of the audit."""
    from cabida.procure import annex

    with speaking(made.language):
        return annex(made)


def quote_compare(
    quotes: Sequence[Quote | Path | str],
    *,
    decision: Decision | Path | str | None = None,
    as_of: str | None = None,
    currency: str = "",
    language: str = "",
    **needs: float,
) -> Comparison:
    """Quotes side by side in one currency: price, all-in, completeness, worst case, service level, what each lacks.

    Args:
        quotes: as for :func:`quote_audit`; a file may hold several.
        decision: what they are to be bought for, itself or the path of its JSON.
        as_of: ISO date; prices seen later don't exist. Today when left out.
        currency: of all; that of the first quote that names one when empty.
        language: en or es; the one in use when empty.
        needs: as for :func:`quote_audit`.

    Raises:
        InvalidInput: CB-Q291, fewer than two quotes; what :func:`quote_audit` raises.
    """
    from cabida.procure import audit, compare

    _only_known(needs)
    with speaking(language):
        read = [one for each in quotes for one in _all(each)]
        if len(read) < 2:
            raise InvalidInput([problem("CB-Q291", count=len(read))])
        held = _decision(decision)
        day = as_of or date.today().isoformat()
        named = next((one.currency for one in read if one.currency), "")
        wanted = currency or (held.currency if held else "") or named
        return compare([audit(one, day, held, currency=wanted, needs=needs) for one in read])


def _only_known(needs: Mapping[str, float]) -> None:
    from cabida.procure.prices import NEEDS

    odd = sorted(needs.keys() - set(NEEDS))
    if odd:
        message = f"unexpected {', '.join(odd)}; what may be known: {', '.join(NEEDS)}"
        raise TypeError(message)
    beyond = [
        problem("CB-Q292", name=name, value=f"{value:g}", low=f"{low:g}", high=f"{high:g}")
        for name, value in needs.items()
        for low, high in (NEEDED.get(name, (0.0, 1e12)),)
        if not low <= value <= high or (name in ABOVE_NOTHING and value == 0)
    ]
    if beyond:
        raise InvalidInput(beyond)


def _one(quote: Quote | Path | str) -> Quote:
    found = _all(quote)
    if len(found) != 1:
        raise InvalidInput([problem("CB-Q290", file=str(quote), count=len(found))])
    return found[0]


def _all(quote: Quote | Path | str) -> tuple[Quote, ...]:
    """The quotes of a file, or the one that is given."""
    from cabida.evidence.quotes import Quote as Noun
    from cabida.evidence.quotes import read_quotes
    from cabida.evidence.quotes.keeping import is_name, quote_named

    if isinstance(quote, Noun):
        return (quote,)
    if is_name(str(quote)):
        return (quote_named(str(quote)).quote,)
    return read_quotes(quote)


def _decision(decision: Decision | Path | str | None) -> Decision | None:
    from cabida.plan import Decision as Noun

    if decision is None or isinstance(decision, Noun):
        return decision
    from cabida.report.store import load

    return load(decision)


def _with_price(made: Audit, decision: Decision) -> Audit:
    """What the decision becomes when its option on this part costs what is quoted."""
    told = dict(made.against or {})
    told["price"] = _moved(made, decision, str(told.get("option") or ""))
    return replace(made, against=told)


def _moved(made: Audit, decision: Decision, option_id: str) -> dict[str, Any]:
    price = made.price.listed_money_per_hour
    if price is None:
        return _unmoved(made.price.why_not)
    if made.price.currency != decision.currency:
        return _unmoved(tr("procure.part.other_currency"))
    from cabida.choose.levers import levers
    from cabida.choose.what_if import what_if
    from cabida.plan.outputs import output_scale, per_output

    lever = next(
        (
            one
            for one in levers(decision)
            if one.option == option_id and one.name.endswith("price_money_per_hour") and not one.locked
        ),
        None,
    )
    option = next((one for one in decision.options if one.id == option_id), None)
    if lever is None or option is None or made.purpose == "buy" or option.accelerator != made.accelerator:
        return _unmoved(tr("procure.part.other_part"))
    try:
        after = what_if(decision, {lever.name: price})
    except InvalidInput as error:
        return _unmoved("; ".join(one.what for one in error.problems))
    before = next(one for one in decision.options if one.id == option_id)
    now = next(one for one in after.options if one.id == option_id)
    scale = output_scale(one.unit_cost.value for one in decision.options)
    sentence = tr(
        "procure.part.moved",
        price=money(price, decision.currency),
        old=money(lever.value, decision.currency),
        new_cost=money(now.unit_cost.value * scale, decision.currency),
        old_cost=money(before.unit_cost.value * scale, decision.currency),
        per=per_output(decision.denominator, scale),
        winner=after.options[0].title,
    )
    return {
        "lever": lever.name,
        "old_money_per_hour": lever.value,
        "new_money_per_hour": price,
        "old_rank": before.rank,
        "new_rank": now.rank,
        "old_unit_cost_money": before.unit_cost.value,
        "new_unit_cost_money": now.unit_cost.value,
        "winner": after.options[0].id,
        "winner_changes": after.options[0].id != decision.options[0].id,
        "sentence": sentence,
    }


def _unmoved(why: str) -> dict[str, Any]:
    return {"sentence": tr("procure.part.not_moved", why=why.rstrip(".") + "."), "why": why}
