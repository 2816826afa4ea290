"""A training job started by command: its steps read from what it prints, summed up once it has warmed up."""

from __future__ import annotations

import asyncio
import codecs
import math
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import regex

from cabida.bench.clock import now_s
from cabida.bench.drills.formats import FORMATS, Format, format_named
from cabida.bench.drills.process import end_group, shown
from cabida.errors import EndpointFailed, InvalidInput
from cabida.plan.bench import Job
from cabida.text import closest, printable, problem

if TYPE_CHECKING:
    from cabida.bench.keep.statistics import Figure

LINE_CHARS_MOST = 16_384  # of one line; the rest of it is left out
READ_BYTES = 65_536
MATCH_S = 0.05  # a pattern that takes longer on a line is given up for that line
SLOW_MATCHES_MOST = 3  # and after so many lines for good
STEPS_MOST = 1_000_000
MULTIPLES = {"step_time_ms": ("step_time_s", 1e-3), "peak_mib_per_gpu": ("peak_gib_per_gpu", 1 / 1024)}
METRICS = (
    "step_time_s",
    "tokens_s_per_gpu",
    "tokens_s",
    "samples_s",
    "tflops_per_gpu",
    "loss",
    "peak_gib_per_gpu",
)
COUNTED = tuple(one for one in METRICS if one != "loss")  # nothing of them is less than nothing
TAIL_LINES = 20
REST_S = 2.0  # for reading what a job printed before it ended


@dataclass(frozen=True, slots=True)
class Step:
    """What one line told: when it was read (clock), which step, and its figures by metric."""

    at_s: float
    step: int | None
    values: dict[str, float]


@dataclass(frozen=True, slots=True)
class Trained:
    """A job that ran.

    Attributes:
        format: the framework whose lines were recognised; "" = the plan's own patterns.
        figures: mean by metric after the warm-up, with its 90 % interval; ``loss`` is that of the last step,
            ``peak_gib_per_gpu`` the most.
        loss_first: of the first step that told one.
        code: exit code; ``None`` = it was ended here (time, or the user).
        output: the last lines it printed, without secrets.
    """

    format: str
    steps: tuple[Step, ...]
    warm_up_steps: int
    figures: dict[str, Figure]
    loss_first: float | None = None
    code: int | None = None
    took_s: float = 0.0
    lines_count: int = 0
    output: str = ""


@dataclass(slots=True)
class _Finder:
    metric: str
    pattern: Any
    factor: float
    slow_count: int = 0

    def find(self, line: str) -> float | None:
        """The figure in a line; a pattern that is too slow is given up."""
        if self.slow_count >= SLOW_MATCHES_MOST:
            return None
        try:
            match = self.pattern.search(line, timeout=MATCH_S)
        except TimeoutError:
            self.slow_count += 1
            return None
        if match is None:
            return None
        text = next((group for group in match.groups() if group is not None), "")
        try:
            value = float(text.replace(",", "")) * self.factor
        except ValueError:
            return None
        told = math.isfinite(value) and (value >= 0 or self.metric not in COUNTED)
        return value if told else None


class Reading:
    """Lines of a job turned into steps.

    Args:
        patterns: metric -> regular expression whose group is the figure; ``step`` finds the step's number; the key
            ``format`` names a built-in one instead of finding it out. Empty = the built-in ones, by what is printed.

    Raises:
        InvalidInput: CB-D030 a pattern that is none or has no group, CB-D031 no such format.
    """

    def __init__(self, patterns: Mapping[str, str]) -> None:
        self.format = ""
        self._step: int | None = None
        self._finders: list[_Finder] = []
        self._stepper: _Finder | None = None
        self._markers: list[tuple[Any, Format]] = []
        own = dict(patterns)
        name = own.pop("format", "")
        faults = []
        if name:
            if known := format_named(name):
                self._use(known)
            else:
                names = [one.name for one in FORMATS]
                faults.append(
                    problem("CB-D031", name=printable(name), near=closest(name, names) or ", ".join(names))
                )
        for metric, text in own.items():
            try:
                self._add(metric, text)
            except (regex.error, ValueError) as error:
                faults.append(problem("CB-D030", metric=printable(metric), why=printable(str(error))[:200]))
        if faults:
            raise InvalidInput(faults)
        if not patterns:
            self._markers = [(regex.compile(one.marker), one) for one in FORMATS]

    @property
    def given_up(self) -> tuple[str, ...]:
        """Metrics whose pattern was too slow."""
        every = [*self._finders, *([self._stepper] if self._stepper else [])]
        return tuple(one.metric for one in every if one.slow_count >= SLOW_MATCHES_MOST)

    def _add(self, metric: str, text: str) -> None:
        pattern = regex.compile(text)
        if not pattern.groups:
            why = "( )"
            raise ValueError(why)
        if metric == "step":
            self._stepper = _Finder("step", pattern, 1.0)
            return
        to, factor = MULTIPLES.get(metric, (metric, 1.0))
        self._finders.append(_Finder(to, pattern, factor))

    def _use(self, one: Format) -> None:
        self.format = one.name
        self._stepper = _Finder("step", regex.compile(one.step), 1.0)
        self._finders = [_Finder(name, regex.compile(text), by) for name, (text, by) in one.values.items()]

    def read(self, line: str, at_s: float) -> Step | None:
        """What a line tells; ``None`` = nothing."""
        if self._markers:
            self._recognise(line)
        told = self._stepper.find(line) if self._stepper else None
        if told is not None:
            self._step = int(told)
        values = {one.metric: value for one in self._finders if (value := one.find(line)) is not None}
        return Step(at_s, self._step, values) if values or told is not None else None

    def _recognise(self, line: str) -> None:
        for marker, one in self._markers:
            try:
                if marker.search(line, timeout=MATCH_S):
                    self._use(one)
                    self._markers = []
                    return
            except TimeoutError:
                continue


@dataclass(frozen=True, slots=True)
class Started:
    """A job that runs, and what it prints. The pipe is ours: a process's end is seen though a child holds it open."""

    process: asyncio.subprocess.Process
    output: asyncio.StreamReader
    transport: asyncio.ReadTransport

    async def end(self) -> None:
        """End its whole group and let the pipe go."""
        await end_group(self.process)
        self.transport.close()

    async def ended(self) -> int:
        """Wait until the process has ended by itself; its exit code."""
        return await self.process.wait()


async def started_job(job: Job) -> Started:
    """The job's command, without a shell, in a process group of its own.

    Raises:
        EndpointFailed: CB-D032, it can't be started.
    """
    reading, writing = os.pipe()
    output = asyncio.StreamReader(limit=READ_BYTES)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(output), os.fdopen(reading, "rb", buffering=0)
    )
    try:
        process = await asyncio.create_subprocess_exec(
            *job.command,
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=subprocess.STDOUT,
            cwd=job.folder or None,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        transport.close()
        why = getattr(error, "strerror", None) or str(error)
        command = " ".join(job.command)[:200]
        raise EndpointFailed([problem("CB-D032", command=shown(command), why=why)]) from None
    finally:
        os.close(writing)
    return Started(process, output, transport)


async def lines(output: asyncio.StreamReader) -> AsyncIterator[tuple[float, str]]:
    """What a process prints, line by line, with the moment it was read; a carriage return ends a line too."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    rest = ""
    while piece := await output.read(READ_BYTES):
        at_s = now_s()
        *whole, rest = (rest + decoder.decode(piece)).replace("\r", "\n").split("\n")
        rest = rest[:LINE_CHARS_MOST]
        for line in whole:
            if line:
                yield at_s, line[:LINE_CHARS_MOST]
    if rest:
        yield now_s(), rest


async def train(
    job: Job, *, told: Callable[[Step], None] | None = None, stop: asyncio.Event | None = None
) -> Trained:
    """Run a job to its end, for ``job.duration_s``, or until ``stop`` is set; its process group is ended in any case.

    Args:
        job: its command, patterns and limits.
        told: called with each step as it is read.
        stop: ends it.

    Raises:
        InvalidInput: CB-D030, CB-D031, a pattern can't be used.
        EndpointFailed: CB-D032 it can't be started, CB-D033 it ended with an error, CB-D034 nothing it printed tells
            of steps.
    """
    reading = Reading(job.patterns)
    began_s = now_s()
    running = await started_job(job)
    steps: list[Step] = []
    last: list[str] = []
    counted = [0]

    async def follow() -> None:
        async for at_s, line in lines(running.output):
            counted[0] += 1
            last.append(line[:500])
            del last[:-TAIL_LINES]
            if (step := reading.read(line, at_s)) is not None and len(steps) < STEPS_MOST:
                steps.append(step)
                if told:
                    told(step)

    following = asyncio.ensure_future(follow())
    ending = asyncio.ensure_future(running.ended())
    stopping = asyncio.ensure_future((stop or asyncio.Event()).wait())
    try:
        await asyncio.wait((ending, stopping), timeout=job.duration_s, return_when=asyncio.FIRST_COMPLETED)
        ended_here = not ending.done()
        if not ended_here:  # what it printed last; a child that keeps its output open is not waited for
            await asyncio.wait((following,), timeout=REST_S)
    finally:
        await asyncio.shield(running.end())
        for one in (following, ending, stopping):
            one.cancel()
        await asyncio.gather(following, ending, stopping, return_exceptions=True)
    output = shown("\n".join(last))
    code = None if ended_here else running.process.returncode
    if code:
        raise EndpointFailed([problem("CB-D033", exit_code=code, output=output[-600:])])
    if not steps:
        names = ", ".join(one.name for one in FORMATS)
        raise EndpointFailed([problem("CB-D034", count=counted[0], known=names, output=output[-300:])])
    return Trained(
        reading.format, tuple(steps), job.warm_up_steps, summed_up(steps, job.warm_up_steps),
        next((one.values["loss"] for one in steps if "loss" in one.values), None),
        code, now_s() - began_s, counted[0], output,
    )  # fmt: skip


def summed_up(steps: list[Step], warm_up_steps: int) -> dict[str, Figure]:
    """Means by metric after the warm-up. Where no line tells the time of a step, it is that between their lines."""
    import numpy as np

    from cabida.bench.keep.statistics import Figure, mean

    steady = _steady(steps, warm_up_steps)
    by: dict[str, list[float]] = {}
    for one in steady:
        for metric, value in one.values.items():
            by.setdefault(metric, []).append(value)
    if "step_time_s" not in by and (times := step_times_s(steady)):
        by["step_time_s"] = times
    figures = {metric: mean(np.asarray(values, dtype=np.float64)) for metric, values in by.items()}
    if "loss" in by:
        figures["loss"] = Figure(by["loss"][-1], None, None, len(by["loss"]))
    peaks = [one.values["peak_gib_per_gpu"] for one in steps if "peak_gib_per_gpu" in one.values]
    if peaks:  # the warm-up allocates too
        figures["peak_gib_per_gpu"] = Figure(max(peaks), None, None, len(peaks))
    return figures


def _steady(steps: list[Step], warm_up_steps: int) -> list[Step]:
    first = next((one.step for one in steps if one.step is not None), None)
    if first is None:
        return steps[warm_up_steps:]
    return [one for one in steps if one.step is not None and one.step >= first + warm_up_steps]


def step_times_s(steps: list[Step]) -> list[float]:
    """Seconds per step between lines that tell of later and later ones."""
    numbered: list[Step] = []
    for one in steps:
        if one.step is not None and (not numbered or one.step > (numbered[-1].step or 0)):
            numbered.append(one)
    return [
        (later.at_s - earlier.at_s) / ((later.step or 0) - (earlier.step or 0))
        for earlier, later in pairwise(numbered)
    ]
