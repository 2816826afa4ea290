"""A question with everything that is said beside it, and the answer as it grows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cabida import facts
from cabida.app.asking.slots import Slots, standing
from cabida.errors import InvalidInput
from cabida.report.answered import Answer, Figure, Taken
from cabida.text import number, problem

if TYPE_CHECKING:
    from cabida.plan import Decision

USUAL = {"input_tokens": 1000.0, "output_tokens": 300.0, "concurrency": 32.0}
SPLITS = (1, 2, 4, 8)  # of one machine
# codes of what is asked back, or can't be had
DECISION, MODEL, CARD, PAIR = "CB-Y020", "CB-Y021", "CB-Y022", "CB-Y023"
PURCHASE, FORMAT, NO_CARD = "CB-Y024", "CB-Y025", "CB-Y026"


@dataclass(frozen=True, slots=True)
class Beside:
    """What the flags say; ``None`` and "" = nothing."""

    model: str = ""
    gpu: tuple[str, ...] = ()
    weights: str = ""
    input_tokens: float | None = None
    output_tokens: float | None = None
    concurrency: float | None = None
    requests_per_month: float | None = None
    hours_per_day: float | None = None
    every_s: float | None = None
    method: str = ""
    target_tokens: float | None = None
    ttft_p95_ms: float | None = None
    tpot_p95_ms: float | None = None
    currency: str = ""
    brief: str = ""
    decision: str = ""


@dataclass
class Asked:
    """A question being answered: what it says, then what was found."""

    question: str
    intent: str
    slots: Slots
    beside: Beside
    as_of: str
    figures: list[Figure] = field(default_factory=list)
    taken: dict[str, Taken] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @cached_property
    def cards(self) -> tuple[tuple[str, int | None], ...]:
        """Accelerators of the flags, then of the question."""
        said = tuple((facts.accelerator(one).id, None) for one in self.beside.gpu)
        return tuple(dict.fromkeys((*self.slots.cards, *said)))

    @cached_property
    def model(self) -> str:
        """Id of the model of the flags or the question, "" when none is said."""
        if self.beside.model:
            return facts.model(self.beside.model).id
        if self.slots.models and self.slots.model_taken:
            self.take("model", self.slots.models[0], "--model")
        return self.slots.models[0] if self.slots.models else ""

    @property
    def currency(self) -> str:
        """Of all amounts."""
        return (self.beside.currency or self.slots.currency or "USD").upper()

    def take(self, name: str, value: str, flag: str) -> None:
        """Note what was taken for what was not said."""
        self.taken[name] = Taken(name, value, flag)

    def usual(self, name: str, usual: float, flag: str) -> float:
        """What the flags say of ``name``, else what is usual, noted."""
        said = getattr(self.beside, name)
        if said is not None:
            return float(said)
        self.take(name, number(usual, 6), flag)
        return usual

    def standing_model(self, params_b: float = 8.0) -> str:
        """The model that was said, else one of about this size, noted."""
        if self.model:
            return self.model
        taken = standing(params_b)
        self.take("model", taken, "--model")
        return taken

    def add(self, of: str, name: str, value: Any, unit: str, basis: str = "") -> None:
        """One figure: a number, a text, or ``{value, low, high, basis}``."""
        if isinstance(value, Mapping):
            made = Figure(of, name, value["value"], unit, value["low"], value["high"], value["basis"])
        else:
            made = Figure(of, name, value, unit, None, None, basis)
        self.figures.append(made)

    def command(self, words: str, flags: Mapping[str, Any]) -> str:
        """A command and its flags as typed; the day as asked."""
        told = [words, *(_flag(name, value) for name, value in flags.items() if value not in (None, "", ()))]
        made = " ".join(["cabida", *told, *([f"--as-of {self.as_of}"] if self.as_of else [])])
        if made not in self.commands:
            self.commands.append(made)
        return made

    def source(self, *told: str) -> None:
        """Where something was seen."""
        self.sources += [one for one in told if one and one not in self.sources]

    def answer(self, sentence: str) -> Answer:
        """The answer, whole."""
        said = {
            "cards": [list(one) for one in self.cards],
            "models": [self.model] if self.model else [],
            "formats": list(self.slots.formats),
        }
        return Answer(
            self.question, self.intent, sentence, self.currency, self.as_of, tuple(self.figures),
            tuple(self.taken.values()), tuple(self.commands), tuple(self.sources), tuple(self.notes), said,
        )  # fmt: skip

    @cached_property
    def decision(self) -> Decision | None:
        """The decision of --decision, or that of --brief decided now; ``None`` when neither is given."""
        from cabida import app

        if self.beside.decision:
            return app.load_decision(self.beside.decision)
        if self.beside.brief:
            return app.recommend(self.beside.brief, assume=True, as_of=self.as_of or None)
        return None


def _flag(name: str, value: Any) -> str:
    flag = f"--{name.replace('_', '-')}"
    if value is True:
        return flag
    if isinstance(value, list | tuple):
        return " ".join(f"{flag} {one}" for one in value)
    return f"{flag} {value:g}" if isinstance(value, float) and abs(value) < 1e6 else f"{flag} {_whole(value)}"


def _whole(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def missing(code: str) -> InvalidInput:
    """The question lacks something that is asked back."""
    return InvalidInput([problem(code)])


def name_of(card: str) -> str:
    """A card's name."""
    return facts.accelerator(card).name


def on(card: str, count: int | None) -> str:
    """``2 × H100 SXM5 80 GB``."""
    return f"{count} × {name_of(card)}" if (count or 1) > 1 else name_of(card)


def short(model: str) -> str:
    """A model without its organisation."""
    return model.rsplit("/", 1)[-1]
