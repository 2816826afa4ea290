"""What is said of one output: by one rule, and by all of them."""

from __future__ import annotations

from dataclasses import dataclass

WHY_CHARS = 300


@dataclass(frozen=True, slots=True)
class Said:
    """What one rule says. ``met`` ``None`` = it could not be judged, which is never a rejection; ``why`` tells."""

    met: bool | None
    why: str = ""


MET = Said(True)


@dataclass(frozen=True, slots=True)
class Output:
    """One answer as rules look at it.

    Attributes:
        text: the answer, without its reasoning.
        finish_reason: as told, "" when nobody said; tokens: of the answer, ``None`` when nobody counted them.
        prompt: what was asked, for a judge; reference: what was expected, where the prompts' file says so.
    """

    text: str
    finish_reason: str = ""
    tokens: int | None = None
    id: str = ""
    prompt: str = ""
    reference: object = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What all rules say of one output.

    Attributes:
        generated: an answer came whole.
        valid: it is well-formed too: the rules about form (json-schema, finish-reason) are met.
        accepted: valid and every rule met; ``None`` = no rule broken, but some could not be judged (or there are none).
        broken: names of the rules that are not met; unjudged: of those that could not be judged.
        why: by name, what is wrong.
    """

    generated: bool
    valid: bool | None
    accepted: bool | None
    broken: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    why: tuple[tuple[str, str], ...] = ()


def judgement(said: list[tuple[str, bool, Said]], generated: bool) -> Judgement:
    """All of it from what each rule says: (its name, whether it is about the form, what it says)."""
    broken = tuple(name for name, _, one in said if one.met is False)
    unjudged = tuple(name for name, _, one in said if one.met is None)
    forms = [one.met for _, form, one in said if form]
    valid: bool | None = generated
    if generated and any(met is False for met in forms):
        valid = False
    elif generated and None in forms:
        valid = None
    accepted: bool | None = None
    if not generated or broken:
        accepted = False
    elif said and not unjudged:
        accepted = True
    why = tuple((name, one.why[:WHY_CHARS]) for name, _, one in said if one.why)
    return Judgement(generated, valid, accepted if said else None, broken, unjudged, why)
