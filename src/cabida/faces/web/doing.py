"""What is worked out in the background: each kind of job, from what was asked to what it leaves on the shelf."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import date
from importlib import import_module
from typing import Any

from cabida.errors import InvalidInput
from cabida.text import LOCALES, iso_day, problem, use_language

Tell = Callable[
    [str, int, int], None
]  # what is being done, how many are done, of how many (0 = nobody knows)
Doing = Callable[[dict[str, Any], Tell], dict[str, Any]]
MOST_SCENARIOS = 10_000


def recommend(asked: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """A decision on a brief of the shelf, or on a text, kept on the shelf.

    Args:
        asked: ``brief_id`` (with ``brief_version``, 0 = the newest) or ``text``; ``name``, ``assume``, ``as_of``,
            ``language``, ``all``, ``scenarios``, ``seed``.
        tell: of the progress.

    Returns:
        ``decision``, its id, and ``exit_code``: 0 = something satisfies the brief, 4 = nothing does.

    Raises:
        InvalidInput: the brief has faults or lacks something.
    """
    from cabida.app.deciding import decided
    from cabida.brief import parse_brief
    from cabida.evidence import book, shelf
    from cabida.facts.known import as_known
    from cabida.report.store import to_json

    language = asked.get("language") or "en"
    use_language(language if language in LOCALES else "en")
    brief_id, version = str(asked.get("brief_id") or ""), int(asked.get("brief_version") or 0)
    text = str(asked.get("text") or "")
    if brief_id:
        kept = shelf.brief(brief_id, version or None)
        text, version = kept.text, kept.version
    scenarios = int(asked.get("scenarios") or 0)
    if not 0 <= scenarios <= MOST_SCENARIOS:
        raise InvalidInput([problem("CB-S025", count=str(scenarios), most=str(MOST_SCENARIOS))])
    flags = {"assume": bool(asked.get("assume")), "all": bool(asked.get("all")), "scenarios": scenarios}
    day = iso_day(str(asked.get("as_of") or "")) or date.today().isoformat()
    with as_known(day):
        brief = parse_brief(text, file=str(asked.get("name") or "brief"), as_of=day, sellers=book.sellers)
        made = decided(brief, day, flags, seed=int(asked.get("seed") or 0), progress=tell)
    tell("keep", 0, 0)
    kept_one = shelf.add_decision(to_json(made), brief_id=brief_id, brief_version=version)
    return {"decision": kept_one.id, "exit_code": kept_one.exit_code or 0}


def rerun(asked: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """A kept decision made again on another day, kept beside it.

    Args:
        asked: ``decision`` (its id), ``as_of`` ("" = today), ``language``.
        tell: of the progress.

    Returns:
        ``decision``, the id of the new one, ``before`` and ``exit_code``.
    """
    from cabida.app.rerunning import rerun as made_again
    from cabida.evidence import shelf
    from cabida.report.store import from_json, to_json

    before = shelf.kept_decision(str(asked.get("decision") or ""))
    day = iso_day(str(asked.get("as_of") or ""))
    made = made_again(from_json(shelf.decision_text(before.id)), as_of=day or None, progress=tell)
    kept = shelf.add_decision(
        to_json(made.decision), brief_id=before.brief_id, brief_version=before.brief_version
    )
    return {"decision": kept.id, "before": before.id, "exit_code": kept.exit_code or 0}


DOINGS: dict[str, Doing] = {"recommend": recommend, "rerun": rerun}
ELSEWHERE: dict[str, str] = {
    "remake": "cabida.faces.web.api.doings:remake",
    "calibrate": "cabida.faces.web.api.doings:calibrate",
    "bench": "cabida.faces.web.doing_bench:bench",
}  # kind -> "module:function", for what is imported only when it is asked for
LONGEST_S: Mapping[str, float] = {"recommend": 300.0, "rerun": 300.0, "bench": 24 * 3600.0}
LONG: frozenset[str] = frozenset(
    {"bench"}
)  # kinds that wait for the world more than they reckon: a worker of their own


def kinds() -> list[str]:
    """Every kind of job there is."""
    return sorted({*DOINGS, *ELSEWHERE})


def doing(kind: str) -> Doing:
    """What works out a kind of job.

    Raises:
        InvalidInput: CB-S023, there is no such kind.
    """
    if kind in DOINGS:
        return DOINGS[kind]
    if kind in ELSEWHERE:
        module, _, name = ELSEWHERE[kind].partition(":")
        found: Doing = getattr(import_module(module), name)
        return found
    raise InvalidInput([problem("CB-S023", kind=kind[:60], kinds=", ".join(kinds()))])


def as_text(value: Any) -> str:
    """What was asked, in one order, so that the same asked twice reads the same."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
