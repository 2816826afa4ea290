"""What makes an output acceptable: the rules of a plan, checked before anything is asked, then put to each output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from cabida.bench.accept.commands import Command
from cabida.bench.accept.forms import Form
from cabida.bench.accept.judgement import Judgement, Output, Said, judgement
from cabida.bench.accept.measures import Exact, Finish, Length, Numeric
from cabida.bench.accept.opinion import Opinion
from cabida.bench.accept.options import Faults
from cabida.bench.accept.patterns import Pattern
from cabida.bench.outcome import Outcome
from cabida.errors import InvalidInput, Problem
from cabida.plan.bench import RULES, Rule
from cabida.text import closest, problem, tr

MOST_RULES = 200


class Judge(Protocol):
    """One rule made ready. ``form`` = it is about the answer being whole and well-formed."""

    form: bool

    def judge(self, output: Output) -> Said:
        """What it says of an output; never raises for what an output holds."""
        ...


KINDS: Mapping[str, type] = {
    "json-schema": Form,
    "regex": Pattern,
    "length": Length,
    "finish-reason": Finish,
    "exact": Exact,
    "numeric": Numeric,
    "command": Command,
    "judge": Opinion,
}


@dataclass(frozen=True, slots=True)
class Made:
    """A rule by its name. ``rule`` is as the plan has it."""

    name: str
    rule: Rule
    judge: Judge


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules of a benchmark, made ready."""

    made: tuple[Made, ...] = ()

    @property
    def plain(self) -> tuple[Rule, ...]:
        """As the plan has them, each with its name."""
        return tuple(Rule(one.rule.kind, one.rule.value, one.name) for one in self.made)

    @property
    def opinions(self) -> tuple[tuple[str, Opinion], ...]:
        """Those that another endpoint judges."""
        return tuple((one.name, one.judge) for one in self.made if isinstance(one.judge, Opinion))

    @property
    def waits_s(self) -> float:
        """Time that commands and patterns may take with one output before they are given up, seconds."""
        return sum(one.judge.timeout_s for one in self.made if isinstance(one.judge, Command | Pattern))

    def said(self, output: Output) -> list[tuple[str, bool, Said]]:
        """What each rule says of an output, but for those that another endpoint judges. Commands are waited for."""
        return [
            (one.name, one.judge.form, one.judge.judge(output))
            for one in self.made
            if not isinstance(one.judge, Opinion)
        ]

    def judge(self, outcome: Outcome, *, reference: object = None) -> tuple[bool | None, tuple[str, ...]]:
        """Whether an outcome is accepted by the rules that can be asked here and now, and which it breaks.

        ``None`` = it could not be judged altogether (a rule that another endpoint judges never can here).
        """
        found = self.judgement(outcome, reference=reference)
        return found.accepted, found.broken

    def judgement(self, outcome: Outcome, *, prompt: str = "", reference: object = None) -> Judgement:
        """The same with everything that is known, in this process and without asking anybody."""
        if not is_generated(outcome):
            return judgement([(one.name, one.judge.form, Said(None)) for one in self.made], generated=False)
        said = self.said(output_of(outcome, prompt=prompt, reference=reference))
        later = [(name, False, Said(None, tr("accept.judge_not_asked"))) for name, _ in self.opinions]
        return judgement([*said, *later], generated=True)


def is_generated(outcome: Outcome) -> bool:
    """Whether a whole answer came: text, reasoning, or the items that the API gives."""
    return outcome.verdict == "ok" and bool(
        outcome.text or outcome.reasoning or outcome.items_count or outcome.output_tokens
    )


def output_of(outcome: Outcome, *, prompt: str = "", reference: object = None) -> Output:
    """What rules look at."""
    return Output(outcome.text, outcome.finish_reason, outcome.output_tokens, outcome.id, prompt, reference)


def put(outcome: Outcome, found: Judgement) -> None:
    """Note a judgement on its outcome."""
    outcome.accepted, outcome.broken_rules = found.accepted, found.broken
    outcome.valid, outcome.unjudged_rules = found.valid, found.unjudged


def rules(
    *listed: Iterable[Rule | Mapping[str, Any]], where: Mapping[str, int] | None = None, file: str = ""
) -> Rules:
    """Rules of a plan and of a brief, made ready; mappings have the keys kind, value and name.

    Args:
        listed: lists of rules, one after another; a rule that comes twice is taken once.
        where: path (``rules[0]``, of the first list) -> line of the file.
        file: what problems call that file.

    Raises:
        InvalidInput: with every rule that can't be put to an output, CB-A001 to CB-A003.
    """
    problems: list[Problem] = []
    made: list[Made] = []
    seen: list[tuple[str, Any]] = []
    for at_list, several in enumerate(listed):
        for at, one in enumerate(several):
            rule = one if isinstance(one, Rule) else _rule(one)
            path = f"rules[{at}]"
            line = (where or {}).get(path, 0) if at_list == 0 else 0
            if (rule.kind, rule.value) in seen:
                continue
            seen.append((rule.kind, rule.value))
            if rule.kind not in KINDS:
                near = closest(rule.kind, RULES) or ", ".join(RULES)
                problems.append(
                    problem("CB-A001", file=file, line=line, path=path, kind=rule.kind, near=near)
                )
                continue
            try:
                judge = KINDS[rule.kind](rule.value)
            except Faults as faults:
                said = " ".join(faults.told)
                problems.append(problem("CB-A002", file=file, line=line, path=path, kind=rule.kind, why=said))
                continue
            made.append(Made(_name(rule, made), rule, judge))
    if len(seen) > MOST_RULES:
        problems.append(problem("CB-A003", file=file, count=len(seen), limit=MOST_RULES))
    if problems:
        raise InvalidInput(problems)
    return Rules(tuple(made))


def _rule(said: Mapping[str, Any]) -> Rule:
    return Rule(str(said.get("kind") or ""), said.get("value"), str(said.get("name") or ""))


def _name(rule: Rule, made: list[Made]) -> str:
    """Its own name, else its kind; a number keeps names apart."""
    name, taken = rule.name or rule.kind, {one.name for one in made}
    return (
        name
        if name not in taken
        else next(f"{name} {k}" for k in range(2, 10**6) if f"{name} {k}" not in taken)
    )
