"""The nouns of an evaluation job: tasks, how often, and who judges."""

from __future__ import annotations

from dataclasses import dataclass

JUDGE_OUTPUT_TOKENS, RUBRIC_TOKENS = 250.0, 600.0
ANSWER_TOKENS = 256.0  # of a written answer, where a task says nothing


@dataclass(frozen=True, slots=True)
class EvaluationTask:
    """One task of a harness.

    Attributes:
        kind: choices (likelihood of each answer: prompts are read, nothing is written), generated (an answer is
            written and checked by a program), judged (an answer is written and a model judges it).
        samples_count: questions; runs_count: how often each is asked (seeds, temperatures).
        prompt_tokens: of a question by itself; shared_tokens: instructions and worked examples before all of them.
        output_tokens: written per answer; choices_count: answers whose likelihood is scored.
    """

    name: str
    kind: str
    samples_count: float
    prompt_tokens: float
    shared_tokens: float = 0.0
    output_tokens: float = 1.0
    choices_count: int = 4
    runs_count: float = 1.0

    @property
    def verdicts_count(self) -> float:
        """Samples scored in one evaluation of a model."""
        return self.samples_count * self.runs_count

    @property
    def requests_count(self) -> float:
        """Requests the evaluated model gets: one for each choice, else one for each run."""
        return self.verdicts_count * (self.choices_count if self.kind == "choices" else 1)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A harness: tasks, how many models it is run on, and the judge.

    Attributes:
        models_per_month: evaluations a month: checkpoints, candidates, nightly runs.
        judge: model id, "" = none; where: api, own or any; votes_count: judgements per answer.
        rubric_tokens: of the judge's own instructions, the same each time; judge_output_tokens: what it writes.
        accepted_ratio: share of verdicts that stand: parsed, and agreeing with people where they were compared.
    """

    tasks: tuple[EvaluationTask, ...] = ()
    models_per_month: float | None = None
    judge: str = ""
    where: str = "any"
    votes_count: float = 1.0
    rubric_tokens: float = RUBRIC_TOKENS
    judge_output_tokens: float = JUDGE_OUTPUT_TOKENS
    accepted_ratio: float | None = None

    @property
    def verdicts_count(self) -> float:
        """Samples scored in one evaluation of a model."""
        return sum(task.verdicts_count for task in self.tasks)

    @property
    def judgements_count(self) -> float:
        """Calls of the judge in one evaluation of a model."""
        return self.votes_count * sum(task.verdicts_count for task in self.tasks if task.kind == "judged")
