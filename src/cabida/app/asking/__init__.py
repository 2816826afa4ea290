"""Questions as people put them, answered by the computations of the other use cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput, UsageProblem
from cabida.text import iso_day, language, problem, use_language

if TYPE_CHECKING:
    from cabida.report.answered import Answer

WHERE = {
    "fit": "serving", "serve": "serving", "quantisation": "serving", "best_inference": "serving", "mig": "serving",
    "month_cost": "serving", "better": "versus", "instead": "versus", "either": "versus", "what_for": "classes",
    "fine_tune": "training", "best_training": "training", "rent_or_api": "prices", "rent_or_buy": "prices",
    "price": "prices", "used": "prices", "overbuy": "prices", "compatible": "software", "needed": "needed",
    "why": "decided", "why_not": "decided", "change": "decided", "sure": "decided", "measure": "decided",
    "profile": "decided",
}  # fmt: skip
CALLED = {"better": "versus", "instead": "versus", "either": "versus"}
LONGEST_CHARS = 600


def ask(
    question: str, *, gpu: str | Sequence[str] = (), as_of: str | None = None, lang: str = "", **beside: Any
) -> Answer:
    """A question answered by computation: a sentence, its figures, what was assumed and the commands behind it.

    Args:
        question: in English or Spanish: "does llama-3.3-70b fit on an H200?", "¿alquilar o comprar una 4090?".
        gpu: accelerators, beside those that the question names.
        as_of: ISO date; facts and prices seen later don't exist.
        lang: of the sentences; the one in use when left out.
        beside: ``model``, ``weights``, ``input_tokens``, ``output_tokens``, ``concurrency``, ``requests_per_month``,
            ``hours_per_day``, ``every_s`` (seconds from an answer to a user's next request), ``method``,
            ``target_tokens``, ``ttft_p95_ms``, ``tpot_p95_ms``, ``currency``, ``brief`` or ``decision`` (a file).

    Raises:
        UsageProblem: CB-Y010, it is none of the questions that can be answered: those nearest are named.
        InvalidInput: CB-Y020 to CB-Y026, something is missing, which is asked back; or a name is unknown.
    """
    from importlib import import_module

    from cabida.app.asking.asked import Asked, Beside
    from cabida.app.asking.intents import nearest, read
    from cabida.facts.known import as_known

    if lang:
        use_language(lang)
    if len(question) > LONGEST_CHARS:
        raise InvalidInput([problem("CB-Y027", most=str(LONGEST_CHARS))])
    gpus = (gpu,) if isinstance(gpu, str) else tuple(gpu)
    said = Beside(gpu=tuple(one for one in gpus if one), **beside)
    found = read(question, cards=len(said.gpu), model=bool(said.model))
    if found is None:
        raise UsageProblem([problem("CB-Y010", nearest="; ".join(nearest(question)))])
    day = iso_day(as_of or "")
    asked = Asked(question, found.intent, found.slots, said, day)
    module = import_module(f"cabida.app.asking.{WHERE[found.intent]}")
    answer: Answer
    if day:
        with as_known(day):
            answer = getattr(module, CALLED.get(found.intent, found.intent))(asked)
    else:
        answer = getattr(module, CALLED.get(found.intent, found.intent))(asked)
    told = answer.as_of or date.today().isoformat()
    return replace(answer, as_of=told, understood=answer.understood | {"language": language()})
