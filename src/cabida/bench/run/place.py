"""One candidate made ready to be asked: its endpoint, what it told of itself, and what a word is to it in tokens."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from cabida.bench.accept.judging import Judging
from cabida.bench.accept.rules import Rules, put
from cabida.bench.clock import now_s
from cabida.bench.drills.proxy import Proxy
from cabida.bench.keep.journal import Journal
from cabida.bench.load.health import Health, HealthSample, coarser
from cabida.bench.load.lengths import Calibrated, calibrate
from cabida.bench.load.limits import Budget
from cabida.bench.load.prompts import Deck, Prompt, body_of, prompts
from cabida.bench.outcome import Ask, Outcome
from cabida.bench.run.followers import Followers
from cabida.bench.run.sketches import Sketches
from cabida.bench.watch.sampling import Watcher, watcher
from cabida.bench.wire.address import Endpoint, endpoint
from cabida.bench.wire.dialects.bodies import request_body
from cabida.bench.wire.exchange import Wire
from cabida.bench.wire.probe import REQUESTS_MOST, Probe
from cabida.bench.wire.tokens import counted, token_counter
from cabida.bench.wire.words import problem_of, why_text
from cabida.errors import EndpointFailed, Problem
from cabida.plan.bench import BenchPlan, Contender, Run
from cabida.text import printable, problem, tr

LOOK_EVERY_S, JUDGED_WITHIN_S = 1.0, 5.0
OUTCOMES_MOST = 40_000  # kept for what is found from them; the journal has all
SAMPLES_MOST = 28_800  # of the client's health: two hours of them, then coarser ones
TOKEN_APIS = ("chat", "completions")


@dataclass(slots=True)
class Going:
    """What lasts for the whole benchmark."""

    journal: Journal
    plan: BenchPlan
    stop: asyncio.Event
    budget: Budget
    rules: Rules
    done: frozenset[str] = frozenset()
    spent_s: dict[str, float] = field(default_factory=dict)  # run -> how long an earlier part of it lasted
    known: dict[str, Calibrated] = field(default_factory=dict)  # contender -> what its words are in tokens
    keeping: dict[str, bool] = field(default_factory=dict)  # contender -> whether it keeps connections open
    followers: Followers | None = None  # processes that share the loads
    salt: str = ""  # of this benchmark's prompts, so that a server asked before hasn't cached them

    def contender(self, run: Run) -> Contender:
        """Whom a run measures."""
        return next(one for one in self.plan.contenders if one.name == run.candidate)


@dataclass(slots=True)
class Outcomes:
    """Those of a part of a run, every so-many-th where there are very many."""

    rows: list[Outcome] = field(default_factory=list)
    stride: int = 1
    seen_count: int = 0

    def add(self, one: Outcome) -> None:
        """Keep it, or let it go; of its pauses their mean is kept, of its texts nothing."""
        if self.seen_count % self.stride == 0:
            one.text = one.reasoning = ""
            one.gaps_s = (fmean(one.gaps_s),) if one.gaps_s else ()
            self.rows.append(one)
            if len(self.rows) > OUTCOMES_MOST:
                self.rows, self.stride = self.rows[::2], self.stride * 2
        self.seen_count += 1


@dataclass(slots=True)
class Place:
    """A candidate while a run asks it."""

    going: Going
    contender: Contender
    endpoint: Endpoint
    wire: Wire
    watcher: Watcher
    health: Health
    judging: Judging | None
    measured: Calibrated | None
    count: Callable[[str], int] | None
    proxy: Proxy | None
    outcomes: Outcomes = field(default_factory=Outcomes)
    samples: list[HealthSample] = field(default_factory=list)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    sketches: Sketches = field(default_factory=Sketches)  # of this process's share
    asked: Deck | None = None  # the latest; what its file asks and expects is the same in all

    def deck(self, seed: int, *, salt: str = "", lengths: Any = None, repeated: bool = False) -> Deck:
        """Prompts of a run; ``repeated``: an earlier one has asked those of the file already."""
        plan, target, salt = self.going.plan.prompts, self.contender.target, f"{self.going.salt} {salt}"
        known = self.asked or prompts(plan, target, seed, measured=self.measured)
        self.asked = known.again(seed, salt=salt, lengths=lengths, repeated=repeated)
        return self.asked

    def body(self, prompt: Prompt) -> bytes:
        """A prompt as the endpoint wants it."""
        return body_of(self.going.plan.prompts, self.contender.target)(prompt)

    def told(self, one: Outcome) -> None:
        """An attempt ended: keep it at once, its tokens counted, and have its answer judged."""
        if self.count is not None and one.output_tokens is None and (one.text or one.reasoning):
            self._later(self._counted(one, self.count))
        else:
            self._told(one)

    async def _counted(self, one: Outcome, count: Callable[[str], int]) -> None:
        """Tokens are counted beside the load: thousands of them take milliseconds."""
        try:
            await asyncio.to_thread(counted, one, count, True)
        finally:
            self._told(one)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def _told(self, one: Outcome) -> None:
        if self.judging is None or not one.final:
            self.going.journal.request(one)
            self.outcomes.add(one)
            return
        self.going.journal.request(one, judging=True)
        self._later(self._judge(one, self.judging))

    def told_own(self, one: Outcome) -> None:
        """The same for an attempt of this process, where others share the load."""
        self.sketches.add(one)
        self.told(one)

    async def _judge(self, one: Outcome, judging: Judging) -> None:
        one.unjudged_rules = tuple(
            each.name for each in self.going.rules.made
        )  # until they have said something
        try:
            number = one.id.rpartition("/")[2]
            deck = self.asked if number.isdecimal() else None
            prompt, reference = deck.expected(int(number)) if deck else ("", None)
            put(one, await judging.judged(one, prompt=prompt, reference=reference))
        except Exception as error:  # whatever a rule may come to, the request counts
            why = f"{type(error).__name__}: {error}"
            self.going.journal.event("note", id=one.id, text=tr("bench.not_judged", why=printable(why)[:300]))
        finally:
            self.going.journal.judged(one)
            self.outcomes.add(one)

    async def judged(self) -> None:
        """Wait for what is still being counted and judged; once the benchmark is to stop, a moment only."""
        while self.tasks:
            is_last = self.going.stop.is_set()
            _, left = await asyncio.wait(
                tuple(self.tasks), timeout=JUDGED_WITHIN_S if is_last else LOOK_EVERY_S
            )
            if is_last:
                for task in left:
                    task.cancel()

    def begin_part(self) -> None:
        """Forget what came before: a point of a search stands for itself."""
        self.outcomes = Outcomes()
        self.samples = []


@contextlib.asynccontextmanager
async def place(going: Going, run: Run, *, watched: bool = True) -> AsyncIterator[Place]:
    """Open everything that a run needs, and close it whatever happens.

    Raises:
        InvalidInput: the target or its tokenizer can't be used.
        EndpointFailed: CB-N004, the endpoint doesn't answer as its API promises.
    """
    contender = going.contender(run)
    target = contender.target
    journal = going.journal
    count = token_counter(target.tokenizer) if target.tokenizer and target.api in TOKEN_APIS else None
    async with contextlib.AsyncExitStack() as stack:
        found = endpoint(target)
        proxy = None
        if any(one.kind in ("slow-network", "cut-network") for one in run.drills):
            host = f"[{found.host}]" if ":" in found.host else found.host
            proxy = await stack.enter_async_context(
                Proxy("127.0.0.1:0", f"{host}:{found.port}", seed=going.plan.seed)
            )
            through = int(proxy.address.rpartition(":")[2])
            found = replace(found, addresses=("127.0.0.1",), port=through)
        keep = going.plan.keep_samples != "none" or bool(going.rules.made)
        wire = await stack.enter_async_context(Wire(found, going.plan.policy, keep_text=keep))
        measured = await _first_look(going, contender, wire)
        going.keeping[contender.name] = await wire.settle(going.keeping.get(contender.name, False))
        if going.followers is not None:
            await going.followers.begin(going.plan, target, measured, keep_text=keep)
        judging = None
        if going.rules.made:
            judging = await stack.enter_async_context(Judging(going.rules, going.plan.policy))
        one = Place(
            going, contender, found, wire, watcher(target, contender, endpoint=found), Health(), judging,
            measured, count, proxy,
        )  # fmt: skip
        await stack.enter_async_context(_watched(one, run, going=watched))
        one.health = await stack.enter_async_context(Health(lambda sample: _healthy(one, sample)))
        try:
            yield one
        finally:
            await one.judged()
        for name, spent in (judging.spent if judging else {}).items():
            journal.event("note", name=name, text=tr("bench.judge_asked", name=name), spent=_plain(spent))


def _plain(spent: Any) -> dict[str, Any]:
    return {name: getattr(spent, name) for name in getattr(spent, "__slots__", None) or vars(spent)}


def _healthy(one: Place, sample: HealthSample) -> None:
    one.samples.append(sample)
    if len(one.samples) > SAMPLES_MOST:
        lasted_s = sample.at_s - one.samples[0].at_s
        one.samples = coarser(one.samples, 2.0 * lasted_s / SAMPLES_MOST)
    row = sample.plain()
    for name in ("lags_s", "lates_s"):  # for percentiles, which the run's end tells
        row.pop(name, None)
    at_s = one.going.journal.at(row.pop("at_s"))
    one.going.journal.event("health", at_s=at_s, lag_s=row.pop("lag_s_most", None), **row)


@contextlib.asynccontextmanager
async def _watched(one: Place, run: Run, *, going: bool) -> AsyncIterator[None]:
    """The first look, and a sample every second until the run is over; ``going`` False: whoever runs it samples."""
    ended = asyncio.Event()
    for row in await one.watcher.begin():
        keep_row(one, row, run.name)
    for text in dict.fromkeys((*one.endpoint.notices, *one.watcher.notices)):
        one.going.journal.event("note", run=run.name, text=text)
    task = None
    if going:
        task = asyncio.ensure_future(one.watcher.run(lambda row: keep_row(one, row, run.name), ended))
    try:
        yield
    finally:
        ended.set()
        if task is not None:
            await asyncio.gather(task, return_exceptions=True)
        one.watcher.close()


def keep_row(one: Place, row: dict[str, Any], run: str) -> None:
    """A row of the watcher into the journal."""
    plain = dict(row)
    at_s = one.going.journal.at(plain.pop("at_s"))
    plain.pop("kind", None)
    one.going.journal.event("watch", at_s=at_s, run=run, **plain)


async def _first_look(going: Going, contender: Contender, wire: Wire) -> Calibrated | None:
    """Whether a candidate answers, asked once; and what its words are in tokens, where nothing else tells."""
    if contender.name in going.known:
        return going.known[contender.name]
    left = going.budget.left_count
    if left is not None and left < REQUESTS_MOST:  # a ceiling holds for what isn't measured too
        going.journal.event(
            "note", candidate=contender.name, text=tr("bench.not_looked_at", left=left, most=REQUESTS_MOST)
        )
        return None
    probe = await wire.probe()
    _spend(going, probe.requests_count)
    going.journal.event(
        "probe", candidate=contender.name, server=probe.server, engine=probe.engine, models=list(probe.models)[:20],
        usage_told=probe.usage_told, ends_with_done=probe.ends_with_done, is_streaming=probe.is_streaming,
        context_tokens=probe.context_tokens, requests_count=probe.requests_count,
    )  # fmt: skip
    if not probe.is_answering:
        raise EndpointFailed([_unfit(probe, contender, wire)])
    measured = await _words(going, contender, wire)
    going.known[contender.name] = measured or Calibrated()
    return measured


def _unfit(probe: Probe, contender: Contender, wire: Wire) -> Problem:
    """Why an endpoint can't be measured, and what to do."""
    target, url = contender.target, wire.endpoint.url
    if probe.is_listed is False:
        models = ", ".join(probe.models[:5])
        return problem("CB-N012", url=url, model=target.model or "–", models=models)
    told = problem_of(probe.first, url, target.key, target.ca)
    return told or problem("CB-N004", url=url, why=why_text(probe.first))


async def _words(going: Going, contender: Contender, wire: Wire) -> Calibrated | None:
    """What a prompt of so many words is in the server's tokens: three short requests."""
    if going.plan.prompts.source != "synthetic" or contender.target.api not in TOKEN_APIS:
        return None
    deck = prompts(going.plan.prompts, contender.target, going.plan.seed, salt=f"{going.salt} calibrate")

    async def count(words: int) -> int | None:
        if not _spend(going, 1):
            return None
        body = request_body(contender.target, deck.of_words(words, words), 1)
        answer = await wire.ask(Ask(f"calibrate/{words}", body, now_s()))
        return answer.input_tokens if answer.verdict == "ok" else None

    found = await calibrate(count)
    going.journal.event(
        "note",
        candidate=contender.name,
        text=tr("bench.words_counted") if found else tr("bench.words_unknown"),
        tokens_per_word=found.tokens_per_word if found else None,
    )
    return found


def _spend(going: Going, count: int) -> bool:
    taken = [going.budget.take() for _ in range(count)]
    return all(taken)
