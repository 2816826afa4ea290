"""An offer audited on a day: what it lacks, what contradicts itself, what it costs, what can be owed, what to test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cabida.checks.pitfalls_quote import quote_pitfalls
from cabida.evidence.quotes.quote import Quote
from cabida.plan import Decision
from cabida.procure import against, amounts, arithmetic, contract, hardware, machines, promises, service
from cabida.procure.annex import annex, clauses
from cabida.procure.known import completeness, gaps
from cabida.procure.nouns import SEVERITIES, Audit, Finding, Gap, blocking_count
from cabida.procure.owed import liability, service_level
from cabida.procure.placed import far, placed
from cabida.procure.prices import Reckoned, reckoned
from cabida.procure.subject import Subject
from cabida.quantity import tree_nodes
from cabida.text import iso_day, locale, number, percent, tr

RULES = (
    *amounts.RULES,
    *arithmetic.RULES,
    *hardware.RULES,
    *machines.RULES,
    *contract.RULES,
    *promises.RULES,
    *service.RULES,
)
SAME = {  # a trap that an own finding tells with more figures
    "CB-K016": ("CB-Q127",),
    "CB-K018": ("CB-Q141",),
    "CB-K360": ("CB-Q122", "CB-Q123"),
    "CB-K361": ("CB-Q122", "CB-Q123"),
    "CB-K362": ("CB-Q124", "CB-Q125"),
    "CB-K363": ("CB-Q148", "CB-Q149"),
    "CB-K364": ("CB-Q152",),
    "CB-K366": ("CB-Q182", "CB-Q183", "CB-Q184"),
    "CB-K370": ("CB-Q143", "CB-Q145"),
    "CB-K017": ("CB-Q137",),
}
LEVEL = {"blocking": "blocking", "warning": "important", "info": "useful"}
GENERAL = ("CB-K361", "CB-K371")  # advice for everybody, no finding of this offer


def audit(
    quote: Quote,
    as_of: str,
    decision: Decision | None = None,
    *,
    currency: str = "",
    needs: Mapping[str, float] | None = None,
) -> Audit:
    """Audit an offer, in the language in use.

    Args:
        quote: as it was read.
        as_of: ISO date of the audit; prices seen later don't exist.
        decision: what is to be bought, when there is one.
        currency: of the answer; the offer's own when empty, the decision's with one.
        needs: what is known instead of assumed (``prices.NEEDS``): utilisation_ratio, stored_gb, egress_gb_per_month,
            staff_count, loaded_money_per_year, migration_days, wacc_ratio, unrecovered_tax_ratio ...

    Raises:
        InvalidInput: CB-U005, ``as_of`` is no date.
    """
    s = Subject(quote, iso_day(as_of), decision)
    found = reckoned(s, (currency or (decision.currency if decision else "")).upper(), needs)
    paid = _purchase_money(found)
    place = placed(s, found.price.listed_money_per_hour, found.terms, paid)
    price = paid if s.purpose == "buy" else found.price.listed_money_per_hour
    findings = [*_findings(s), *far(s, place, price, found.price.currency), *against.needs(s, found)]
    owed = liability(s, found)
    nodes, figures = tree_nodes(found.roots) if found.roots else ([], {})
    open_ = gaps(s)
    ordered = tuple(sorted(_once(findings), key=lambda one: SEVERITIES.index(one.severity)))
    made = completeness(s)
    blocking = blocking_count(open_, ordered)
    verdict = "blocked" if blocking else "doubts" if ordered or open_ else "sound"
    return Audit(
        quote.quote_id or "",
        quote.vendor or "",
        title(s),
        s.as_of,
        locale(),
        s.purpose,
        verdict,
        _answer(verdict, made.score_ratio, open_, ordered),
        made,
        open_,
        ordered,
        found.price,
        place,
        owed,
        service_level(s, found),
        annex(s),
        _held_against(s),
        tuple(nodes),
        figures,
        quote.sha256,
        file=quote.file,
        accelerator=s.card.id if s.card else "",
        clauses=clauses(s),
    )


def _purchase_money(found: Reckoned) -> float | None:
    """Of a purchase, what one accelerator costs."""
    if found.listed is None:
        return None
    return next((float(one) for one in found.listed.nodes() if one.name == "purchase_money"), None)


def _findings(s: Subject) -> Iterator[Finding]:
    own = [one for rule in RULES for one in rule(s)]
    yield from own
    codes = {one.code for one in own}
    for trap in quote_pitfalls(s.quote.said()):
        if trap.code in GENERAL or codes & {*SAME.get(trap.code, ())}:
            continue
        yield Finding(trap.code, LEVEL[trap.severity], "trap", trap.sentence, "", (), trap.cure)
    if s.quote.left:
        yield s.find("CB-Q250", "useful", (), kind="gap", count=number(len(s.quote.left)))


def _once(findings: Sequence[Finding]) -> list[Finding]:
    """Each sentence once."""
    return list({one.sentence: one for one in findings}.values())


def title(s: Subject) -> str:
    """``32 × H100 SXM5 80 GB · reservation · 12 months``."""
    name = s.card.name if s.card else s.quote.accelerator or s.quote.model or tr("procure.unknown")
    count = f"{number(s.accelerators_count, 7)} × " if s.accelerators_count else ""
    term = f" · {tr('procure.term', months=number(s.term_months))}" if s.term_months else ""
    return f"{count}{name} · {tr(f'procure.purpose.{s.purpose}')}{term}"


def _answer(verdict: str, score: float, open_: Sequence[Gap], findings: Sequence[Finding]) -> str:
    gaps_ = sum(one.severity == "blocking" for one in open_)
    faults = sum(one.severity == "blocking" for one in findings)
    return tr(f"procure.verdict.{verdict}", score=percent(score, 3), gaps=gaps_, faults=faults, doubts=len(findings),
              open=len(open_))  # fmt: skip


def _held_against(s: Subject) -> dict[str, Any] | None:
    if s.decision is None:
        return None
    option = against.option_for(s, s.decision)
    return {
        "decision": s.decision.name,
        "as_of": s.decision.as_of,
        "option": option.id if option else "",
        "title": option.title if option else "",
        "price": None,
    }
