"""One run while its log is being read: what was said of it so far, by accelerator where the log tells them apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from cabida.evidence.lines import Numbered
from cabida.evidence.notes import sentence
from cabida.evidence.secrets import redacted

MOST_KEPT = 400  # lines nobody understood, of one run
ALL_KEPT = 10_000  # of all runs of a log: an engine that restarts all night says the same each time
LINE_KEPT = 500  # characters of each
MOST = 1e15
MOST_NOTES = 12
SPLITS, MOST_CARDS = ("gpus", "tp", "pp", "dp", "ep", "cp"), 1 << 20
_OF_USERS = re.compile(  # prompts that engines log, and access logs
    r"Received request|prompt: |prompt_token_ids|['\"](?:messages|prompt|content|inputs?)['\"]\s*:|GenerateReqInput|"
    r"\"(?:GET|POST|PUT|DELETE|OPTIONS|HEAD) /"
)
_DATED = re.compile(r"(?<!\d)(20\d\d)[-/](\d\d)[-/](\d\d)(?=[ T_])")
_WORKER = re.compile(  # vLLM: (Worker_PP0_TP1 pid=7), (VllmWorker rank=1 pid=7), (RayWorkerWrapper pid=7, ip=10.0.0.1)
    r"\((?P<who>\w*Worker(?:Process|Wrapper|Proc)?|EngineCore)(?P<where>(?:[_ ](?:DP|PP|TP|EP|DCP|PCP)\d+)*)(?:_\d+)?"
    r"(?: rank=(?P<rank>\d+))?(?: pid=(?P<pid>\d+)[^)]*)?\)"
)
_BRACKET = re.compile(  # SGLang: [2025-03-25 16:37:06 DP0 TP1], [gpu_id=1]; TensorRT-LLM: [RANK 1]
    r"\[(?:[\d :,.-]*?(?P<where>(?:(?:DP|PP|TP|EP|ATTN)\d+ ?)+)|gpu_id=(?P<gpu>\d+)|RANK (?P<rank>\d+))\]"
)
# of these a run has what its tightest accelerator has; of everything else what the fullest has
SCARCE = (
    "kv_cache_gib_per_gpu", "kv_cache_tokens", "max_concurrency", "free_gib_at_start", "estimated_max_model_len",
    "num_gpu_blocks", "avail_after_load_gib", "avail_after_pool_gib",
)  # fmt: skip


@dataclass(slots=True)
class Run:
    """What a log says of one start-up. ``measured`` fills up from ``by_rank`` when the run ends."""

    engine: str
    setup: dict[str, Any] = field(default_factory=dict)
    args: dict[str, Any] = field(default_factory=dict)
    measured: dict[str, Any] = field(default_factory=dict)
    by_rank: dict[str, dict[str, float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unit: str = ""
    quality: str = "A"
    date: str = ""
    kept: list[Numbered] = field(default_factory=list)
    unknown_count: int = 0
    more: dict[str, Any] = field(default_factory=dict)
    state: dict[Any, Any] = field(default_factory=dict)  # what a reader remembers from line to line
    rank: str = ""  # that the line being read names
    room: int = MOST_KEPT  # for lines nobody understood

    def put(self, metric: str, value: float, *, rank: str | None = None) -> None:
        """One figure of the accelerator the line is about; the tightest or fullest of several counts."""
        if value < 0 and metric not in SCARCE:  # what is left may be less than nothing, what is held may not
            message = f"{metric} is below zero"
            raise ValueError(message)
        place = self.by_rank.setdefault(metric, {})
        key = self.rank if rank is None else rank
        if key in place:
            pick = min if metric in SCARCE else max
            value = pick(place[key], value)
        place[key] = value

    def first(self, metric: str, value: float) -> None:
        """One figure, unless this accelerator has said it before (a draft model repeats the lines of its target)."""
        if self.rank not in self.by_rank.get(metric, {}):
            self.put(metric, value)

    def say(self, key: str, value: Any) -> None:
        """One thing of the setup, unless it was said before."""
        if key in SPLITS and not (isinstance(value, int) and 1 <= value <= MOST_CARDS):
            return
        if isinstance(value, int | float) and value < 0:  # nothing that is set up is less than nothing
            return
        if value not in (None, "", "None"):
            self.setup.setdefault(key, redacted(value) if isinstance(value, str) else value)

    def flag(self, key: str, value: Any) -> None:
        """One flag of the engine, unless it was said before."""
        if value not in (None, "", "None"):
            self.args.setdefault(key, value)

    def failed(self, key: str, **values: object) -> None:
        """It didn't start, or died; the note says why."""
        self.measured["fits"] = False
        self.note(key, **values)

    def started(self) -> None:
        """It runs, unless it was said to have failed."""
        self.measured.setdefault("fits", True)

    def note(self, key: str, **values: object) -> None:
        """A note of the catalogue kept beside the figures, once."""
        short = redacted(sentence(key, **values)).strip()[:LINE_KEPT]
        if short not in self.notes and len(self.notes) < MOST_NOTES:
            self.notes.append(short)

    def keep(self, line: Numbered) -> None:
        """A line that nothing understood; what users of the engine asked is counted and not kept."""
        self.unknown_count += 1
        if len(self.kept) < self.room and not _OF_USERS.search(line[1]):
            self.kept.append((line[0], redacted(line[1])[:LINE_KEPT]))

    def gather(self) -> None:
        """Bring what the accelerators said into one figure a metric."""
        for metric, place in self.by_rank.items():
            if place and metric not in self.measured:
                chosen = min(place.values()) if metric in SCARCE else max(place.values())
                self.measured[metric] = int(chosen) if float(chosen).is_integer() and chosen > 1e4 else chosen

    @property
    def empty(self) -> bool:
        """Whether nothing was measured."""
        return not self.measured and not self.by_rank


@dataclass(frozen=True, slots=True)
class Step:
    """One kind of line: a word it must have (looked for first, it is quick), its shape, and what it says of a run."""

    word: str
    shape: re.Pattern[str]
    take: Callable[[Run, re.Match[str]], None]


def step(shape: str, take: Callable[[Run, re.Match[str]], None], word: str = "") -> Step:
    """A kind of line; without a word of its own, the text its shape begins with (a shape is no list of others)."""
    start = re.match(r"[\w #,:=\-/]+(?![?*{|])", shape)
    return Step(word or (start.group(0) if start else ""), re.compile(shape), take)


def saying(take: Callable[[Run, re.Match[str]], None], *texts: str) -> tuple[Step, ...]:
    """Lines that hold one of these texts, each taken alike."""
    return tuple(Step(text, re.compile(re.escape(text)), take) for text in texts)


def rank_of(text: str) -> str:
    """The accelerator a line is about, as its prefix names it: ``PP0 TP3``, ``1``; "" when it names none."""
    if "(" in text and (found := _WORKER.search(text)):
        if found["where"]:
            return found["where"].strip("_ ").replace("_", " ")
        worker = found["pid"] and found["who"] != "EngineCore"
        return found["rank"] or (f"pid {found['pid']}" if worker else "")
    if "[" in text and (found := _BRACKET.search(text)):
        return (found["where"] or found["gpu"] or found["rank"]).strip()
    return ""


def take(run: Run, steps: Sequence[Step], line: Numbered) -> bool:
    """Let every kind of line that this one is speak of the run; whether there was any."""
    text, known = line[1], False
    for one in steps:
        if one.word in text and (found := one.shape.search(text)):
            if not known:
                run.rank = rank_of(text)
            with suppress(
                ValueError, OverflowError
            ):  # digits that are no number, as in a line cut and joined
                one.take(run, found)
                known = True
    if known and not run.date and (day := _DATED.search(text)):
        run.date = "-".join(day.groups())
    return known


def read_runs(
    lines: Iterable[Numbered], engine: str, steps: Sequence[Step], begins: Callable[[Run, str], bool]
) -> list[Run]:
    """The runs of a log, each from where ``begins`` says that a new one starts.

    Args:
        lines: Cleaned, numbered.
        engine: Its name.
        steps: The kinds of line it prints.
        begins: Whether a line starts another run than the one being read.
    """
    run, room = Run(engine), ALL_KEPT
    runs = [run]
    for line in lines:
        if begins(run, line[1]):
            run = Run(engine)
            runs.append(run)
            room -= len(runs[-2].kept)
            run.room = max(0, min(MOST_KEPT, room))
        if not take(run, steps, line):
            run.keep(line)
    for one in runs:
        one.gather()
    told = [one for one in runs if not one.empty]
    return told or runs[:1]


def number(text: str) -> float:
    """A figure as printed, thousands and all.

    Raises:
        ValueError: it is none that memory could have.
    """
    value = float(text.replace(",", ""))
    if not abs(value) < MOST:
        message = f"{text[:40]} is no figure"
        raise ValueError(message)
    return value


def whole(text: str) -> int:
    """The same for what is counted."""
    return int(number(text))


def figure(metric: str, group: int = 1) -> Callable[[Run, re.Match[str]], None]:
    """What most lines do: one figure of one accelerator."""

    def put(run: Run, found: re.Match[str]) -> None:
        run.put(metric, number(found[group]))

    return put


def version(run: Run, found: re.Match[str]) -> None:
    """The engine's version, as printed."""
    run.say("engine_version", found[1].rstrip("."))


def card(run: Run, found: re.Match[str]) -> None:
    """The accelerator's name, from the name of a file of tuned kernels."""
    run.say("gpu_raw", found[1].replace("_", " "))


CARD = step(r"device_name=([\w.+-]+?)(?:,dtype|,block|\.json|,|'|\"|\]|$)", card)


def over_replicas(run: Run, metric: str, count: int) -> None:
    """A figure that each replica of data parallelism prints for itself becomes that of all; unsaid where one lacks."""
    if count <= 1 or metric not in run.measured:
        return
    told: dict[str, float] = {}
    for rank, value in run.by_rank.get(metric, {}).items():
        if found := re.match(r"DP\d+", rank):
            told[found[0]] = min(value, told.get(found[0], value))
    if len(told) == count:
        run.measured[metric] = int(sum(told.values()))
    elif told:
        run.measured.pop(metric)
