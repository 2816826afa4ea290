"""``mix``: the cheapest way to serve a brief by several types held in several ways at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput, NothingSatisfies
from cabida.plan import Progress
from cabida.text import problem, use_language

if TYPE_CHECKING:
    from cabida.brief import Brief
    from cabida.choose import Outcome
    from cabida.plan.mix import Mix


def mix(
    brief: Path | str,
    *,
    types: Sequence[str] = (),
    scenarios: int = 0,
    on: str = "here",
    assume: bool = False,
    as_of: str | None = None,
    language: str = "",
    seed: int = 0,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """The cheapest mix for a brief, over its profile, growth and drift of prices, beside every other path.

    Args:
        brief: the YAML file, of a realtime or batch service.
        types: accelerators to mix; the cheapest that keep the objectives when left out.
        scenarios: futures drawn by seed on top, to see how often the mix pays.
        on: where those are worked out: here, or ray.
        assume: go on with graded defaults where the brief leaves something open.
        as_of: ISO date; facts and prices seen later don't exist. Today when left out.
        language: of the sentences; the one in use when left out.
        seed: of every draw and simulation.
        progress: told what is being done.

    Returns:
        ``name``, ``as_of``, ``seed``, ``currency``, ``denominator``, ``version``, ``facts_digest`` and ``mix``.

    Raises:
        InvalidInput: a faulty brief, another class of work (CB-X073), a type without an option (CB-X074), no Ray.
        NothingSatisfies: nothing lawful holds the demand within the limits (CB-X070).
    """
    from cabida import brief as briefs
    from cabida import facts
    from cabida.app import load_brief
    from cabida.choose import decide
    from cabida.choose.mixing import WORKLOADS
    from cabida.report.mix import mix_answer

    if language:
        use_language(language)
    day = as_of or date.today().isoformat()
    read = load_brief(brief, as_of=day)
    if read.workload not in WORKLOADS:
        line = read.line("workload")
        raise InvalidInput([problem("CB-X073", file=read.file, line=line, workload=read.workload)])
    whole = briefs.complete(read, assume=assume, as_of=day)
    wanted = [facts.accelerator(name).id for name in types]
    outcome = decide(whole, day, seed, progress)
    found = mixed(whole, outcome, wanted, scenarios, on)
    return mix_answer(outcome.decision, found)


def drawn_mix(brief: Brief, outcome: Outcome, scenarios: int, on: str) -> Mix | None:
    """The full mix behind a decision with ``scenarios`` futures drawn; ``None`` where nothing can be mixed."""
    return mixed(brief, outcome, (), scenarios, on) if outcome.decision.mix is not None else None


def mixed(brief: Brief, outcome: Outcome, types: Sequence[str], scenarios: int, on: str) -> Mix:
    """The full mix of the options behind a decision."""
    from cabida.app.cluster import placed
    from cabida.choose.ask import ask_of
    from cabida.choose.means import means_of
    from cabida.choose.mix_told import full_mix

    decision = outcome.decision
    ask, means = ask_of(brief), means_of(brief, decision.as_of)
    worked_ids = {one.candidate.thing.accelerator.id for one in outcome.everything if one.candidate.thing}
    if missing := [name for name in types if name not in worked_ids]:
        known = ", ".join(sorted(worked_ids))
        raise InvalidInput([problem("CB-X074", file=brief.file, names=", ".join(missing), known=known)])
    with placed(on) as each:
        found = full_mix(
            brief,
            outcome.everything,
            ask,
            means,
            types=types,
            draws_count=scenarios,
            seed=decision.seed,
            each=each,
        )
    if found is None:
        raise NothingSatisfies([problem("CB-X070", file=brief.file, nearest=decision.answer)])
    return found
