"""What every form of the record says in the same words: the page, Markdown and the terminal."""

from __future__ import annotations

import re

from cabida import text
from cabida.plan import Decision, Measurement, Option
from cabida.report import words as say
from cabida.report.origins import sources
from cabida.text import tr

MOST_OPTIONS = 40  # rows of the table; the JSON has them all

TIGHT_RATIO = 0.02  # of the memory: less is within what predictions of memory miss by


def headline(decision: Decision) -> str:
    """``realtime inference · prices as of 2026-11-30 · 12,365 candidates in 2.13 s``."""
    return tr(
        "report.headline",
        workload=say.workload(decision),
        as_of=decision.as_of,
        count=text.number(decision.candidates_count, 7),
        elapsed=text.duration(decision.elapsed_s),
    )


def first(decision: Decision) -> Option | None:
    """The option the decision is about: the chosen one, else the nearest."""
    chosen = [one for one in decision.options if one.status == "chosen"]
    return next(iter(chosen or decision.options), None)


def headroom_bytes(option: Option) -> float | None:
    """Usable memory that nothing fills, per accelerator; ``None`` for an API."""
    if not option.memory or option.usable_bytes <= 0:
        return None
    held_bytes = sum(value for key, value in option.memory.items() if key != "headroom")
    return float(round(option.usable_bytes - held_bytes))


def fits(option: Option) -> str:
    """``fits with 19 GiB to spare per GPU``, ``1.2 GiB short per GPU``, or nothing for an API."""
    spare = headroom_bytes(option)
    if spare is None:
        return ""
    told = "short" if spare < 0 else "tight" if spare < TIGHT_RATIO * (option.usable_bytes or 0.0) else "fits"
    return tr(f"report.{told}", size=text.size(abs(spare)))


def replicas(option: Option) -> str:
    """How many times the command is to be started; empty when once."""
    count = option.replicas_count + option.spare_replicas_count
    return tr("report.replicas", count=count) if count > 1 and option.command else ""


def chance(option: Option) -> str:
    """``best with probability 0.71``."""
    if option.best_probability <= 0:
        return ""
    return tr("report.best", probability=say.probability(option.best_probability))


def metrics_line(option: Option, decision: Decision) -> list[str]:
    """The headline metrics, each with its name and interval."""
    return [
        f"{say.label(name)} {say.figure(name, option.metrics[name], decision.currency)}"
        for name in say.headline(option, decision)
    ]


def capital(sentence: str) -> str:
    """With a capital first letter."""
    return sentence[:1].upper() + sentence[1:]


def measurement(one: Measurement, decision: Decision) -> str:
    """``One hour of your traffic. It settles 1 against 2. Worth 1,200 EUR, costs about 30 EUR; 40 min.``"""
    key = "report.measurement_worth" if one.worth_money is not None else "report.measurement"
    return tr(
        key if one.cost_money else f"{key}_free",
        worth=say.price(one.worth_money or 0.0, decision.currency),
        what=one.what.rstrip("."),
        decides=capital(one.decides).rstrip("."),
        duration=text.duration(one.duration_s),
        price=say.price(one.cost_money, decision.currency),
    )


def dated(decision: Decision) -> list[dict[str, str]]:
    """The sources one could go and look at: those with a date or an address, in the language in use."""
    return [one for one in sources(decision) if one.get("seen") or one.get("url")]


def safe_url(url: str) -> str:
    """``url`` when it is a plain web address, else nothing."""
    return url if re.fullmatch(r"https?://[^\s<>\"']+", url) else ""


def footer(decision: Decision) -> str:
    """What it takes to make the same decision again."""
    return tr(
        "report.footer",
        version=decision.version,
        digest=decision.facts_digest[:12],
        as_of=decision.as_of,
        seed=decision.seed,
        made_at=decision.made_at,
    )
