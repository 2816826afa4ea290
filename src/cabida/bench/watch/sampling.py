"""An endpoint watched while a load runs: its metrics page, its accelerators and its log, once a second.

Each source works in a thread of its own, so that a server that hangs or a driver that is stuck costs the load nothing
and the run goes on; what is lost is a row of its own. Rows are plain data, times those of ``bench.clock``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cabida.bench.clock import now_s
from cabida.bench.watch.aside import Aside, Late
from cabida.bench.watch.capacity import sizes
from cabida.bench.watch.fetching import HTML, PAGES, STATUS, Address, NoPage, addresses
from cabida.bench.watch.gpus import Cards, opened
from cabida.bench.watch.source import Seen, Source, card_events, cards_in, together
from cabida.bench.watch.tail import Tail
from cabida.evidence.machine.nouns import Roots
from cabida.evidence.pages import engine_title
from cabida.plan.bench import Contender, Target
from cabida.text import printable, tr

if TYPE_CHECKING:
    from cabida.bench.wire.address import Endpoint

Row = dict[str, Any]
EVERY_S = 1.0
LEAST_S = 0.5  # what a source is waited for; what comes later counts for the next sample
LATE_S = 5.0  # without an answer a source is lost
FIRST_S = 10.0  # a driver that wakes eight cards takes seconds


class Watcher:
    """What an endpoint and its machine do, as rows.

    Attributes:
        notices: sentences to read before the run, in the language in use; filled by :meth:`begin`.
        facts: what stands still: engine, models, kv_tokens, block_size_tokens, cards; filled by :meth:`begin`.
        every_s: between two samples.
    """

    def __init__(
        self, pages: list[Address], *, model: str, log: str, gpus: bool, every_s: float, roots: Roots | None
    ) -> None:
        """Nothing is looked at yet; use :func:`watcher`."""
        self.notices: list[str] = []
        self.facts: Row = {}
        self.every_s = every_s
        self._pages = [Source(one, model) for one in pages]
        self._tail = Tail(Path(log)) if log else None
        self._log = Aside("log", self._tail.sample) if self._tail else None
        self._roots, self._wanted = roots, gpus
        self._cards: Cards | None = None
        self._gpus: Aside[tuple[Row, list[Row]]] | None = None
        self._lost: set[str] = set()
        self._late: dict[str, float] = {}
        self._before: dict[str, float] = {}

    async def begin(self) -> list[Row]:
        """The first look: what answers, what doesn't, what stands still. Takes seconds at most; never raises."""
        told: list[Row] = []
        if self._tail and not self._tail.begin():
            self.notices.append(tr("watch.no_log", file=printable(str(self._tail.path))))
        for rows in await asyncio.gather(*(self._first(one) for one in self._pages)):
            told += rows
        self._pages = [one for one in self._pages if not one.gone]
        if self._wanted:
            told += await self._look()
        if not self._pages:
            self.notices.append(tr("watch.no_page"))
        if self.facts:
            told.append({"event": "facts", **self.facts})
        return [{"at_s": now_s(), **one} for one in told]

    async def _first(self, source: Source) -> list[Row]:
        shown = source.address.shown
        try:
            page = await source.aside.ask(FIRST_S)
        except (Late, NoPage) as error:
            why, detail = (error.why, error.detail) if isinstance(error, NoPage) else ("slow", "")
            other = await self._other(source) if why in (STATUS, HTML) else None
            if other is None:
                source.gone = why in (STATUS, HTML)  # nothing else will come of it; who is down may come back
                self._lost.add(source.key)
                self.notices.append(tr("watch.page_lost", address=shown, why=said_why(why, detail)))
                return [{"event": "page-lost", "page": shown, "why": why, "detail": detail}]
            page = other
        if not page.known:
            page = await self._other(source) or page
        await self._sizes(source, page.engine)
        self._note(source, page)
        models = list(page.models)
        told: list[Row] = [{"event": "page", "page": shown, "engine": page.engine, "models": models}]
        if not page.known:
            self.notices.append(tr("watch.page_unknown", address=shown))
            told.append({"event": "page-unknown", "page": shown})
        if page.missing:
            names = ", ".join(page.missing)
            self.notices.append(tr("watch.missing", engine=engine_title(page.engine), names=names))
            told.append({"event": "metrics-missing", "page": shown, "names": list(page.missing)})
        return told

    async def _sizes(self, source: Source, engine: str) -> None:
        """What the server tells of its sizes elsewhere, where its page doesn't."""
        asking = Aside("sizes", lambda: sizes(source.address, engine))
        with contextlib.suppress(Late):
            source.facts = await asking.ask(FIRST_S)
        asking.close()

    def _note(self, source: Source, page: Seen) -> None:
        """What stands still of all servers, as long as they aren't others."""
        source.noted = bool(page.engine)
        source.facts |= page.facts
        source.engine, source.models = page.engine, page.models
        known = [one for one in self._pages if one.engine or one.facts]
        self.facts |= together([one.facts for one in known]) if known else {}
        engines = list(dict.fromkeys(one.engine for one in known if one.engine))
        if engines:
            self.facts["engine"] = engines[0]
            self.facts["engines_count"] = sum(bool(one.engine) for one in known)
            self.facts["models"] = sorted({name for one in known for name in one.models})

    async def _other(self, source: Source) -> Seen | None:
        """The page at the other usual path (trtllm-serve's /metrics is JSON), where that has what is known."""
        path = urlsplit(source.address.url).path
        if path != PAGES[0]:
            return None
        usual = source.address.url
        source.address.url = usual.replace(PAGES[0], PAGES[1])
        with contextlib.suppress(Late, NoPage):
            page = await source.aside.ask(FIRST_S)
            if page.known:
                return page
        source.address.url = usual
        return None

    async def _look(self) -> list[Row]:
        """Find the cards, in the thread that will read them."""

        def call() -> tuple[Row, list[Row]]:
            if self._cards is None:
                self._cards = opened(self._roots)
                return {}, []
            return self._cards.sample()

        self._gpus = Aside("gpus", call)
        try:
            await self._gpus.ask(FIRST_S)
        except Exception as error:  # a driver's library may throw anything
            why = "slow" if isinstance(error, Late) else type(error).__name__
            self._gpus = None
            self.notices.append(tr("watch.gpus_stuck", why=why))
            return [{"event": "gpus-lost", "why": why}]
        cards = self._cards
        if cards is None or not cards.known:
            trouble = cards.trouble if cards else ""
            key = "watch.no_driver" if trouble else "watch.no_gpu"
            self.notices.append(tr(key, why=trouble) if trouble else tr(key))
            self._gpus = None
            return [{"event": "no-gpu", "why": trouble}]
        self.facts["gpus"] = cards.known
        return []

    async def sample(self) -> list[Row]:
        """One row of figures, and one for everything that happened since the last. Never raises."""
        at_s = now_s()
        limit_s = max(LEAST_S, self.every_s * 0.9)
        row: Row = {"at_s": at_s}
        told: list[Row] = []
        asked = [self._page(source, limit_s) for source in self._pages]
        if self._log:
            asked.append(self._other_source("log", self._log, limit_s))
        if self._gpus:  # last: of this machine's cards the driver knows best
            asked.append(self._other_source("gpus", self._gpus, limit_s))
        answers = await asyncio.gather(*asked)
        late_count = sum(figures.pop("late_count", 0) for figures, _ in answers)
        pages = [figures for figures, _ in answers[: len(self._pages)]]
        if any(pages):  # of one that is gone the counters stand, or those of all would fall
            each = [one or source.grown for one, source in zip(pages, self._pages, strict=True)]
            merged = together(each, [source.cards_count for source in self._pages])
            told += card_events(self._before, merged) if self._gpus is None else []
            self._before = merged
            row |= merged
        for at, (figures, events) in enumerate(answers):
            row |= figures if at >= len(pages) else {}
            told += events
        if late_count:
            row["late_count"] = late_count
        row["took_s"] = round(now_s() - at_s, 6)
        return [row, *({"at_s": at_s, **one} for one in told)]

    async def run(self, told: Callable[[Row], None], stop: asyncio.Event) -> None:
        """Sample until ``stop`` is set, and once more then; every row goes to ``told``. Never raises.

        A sample that took longer than its interval isn't made up for: the next is taken when its turn comes. The last
        one is taken again where something was late for it, as the counters of a run end there.
        """
        next_s = now_s()
        while True:
            rows = await self.sample()
            if stop.is_set() and "late_count" in rows[0]:
                rows += await self.sample()
            for row in rows:
                told(row)
            if stop.is_set():
                return
            next_s += self.every_s
            if (late_s := now_s() - next_s) > 0:
                next_s += (late_s // self.every_s + 1) * self.every_s
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), max(0.0, next_s - now_s()))

    def close(self) -> None:
        """Let connections and drivers go; nothing is waited for."""
        for source in self._pages:
            source.aside.close()
            source.address.close()
        if self._log:
            self._log.close()
        if self._gpus:
            self._gpus.close()
            if self._cards is not None and not self._gpus.busy:
                self._cards.close()

    async def _page(self, source: Source, limit_s: float) -> tuple[Row, list[Row]]:
        shown = source.address.shown
        try:
            page = await source.aside.ask(limit_s)
        except Late:
            return self._waited(source.key, {"event": "page-lost", "page": shown, "why": "slow"})
        except NoPage as error:
            lost = {"event": "page-lost", "page": shown, "why": error.why, "detail": error.detail}
            return {}, self._gone(source.key, lost)
        except Exception as error:  # a page that breaks the reader is lost, the run isn't
            return {}, self._gone(
                source.key, {"event": "page-lost", "page": shown, "why": type(error).__name__}
            )
        told = self._back(source.key, {"event": "page-back", "page": shown})
        if page.restarts_count > source.restarts:
            source.restarts = page.restarts_count
            told.append({"event": "server-restarted", "page": shown})
            source.noted = False
        if page.several and not source.several:
            source.several = True
            told.append({"event": "several-servers", "page": shown})
        if not source.noted and page.engine:
            self._note(source, page)
            told.append({"event": "facts", **self.facts})
        source.grown, source.cards_count = page.grown, max(source.cards_count, cards_in(page.figures))
        return dict(page.figures), told

    async def _other_source(
        self, name: str, aside: Aside[tuple[Row, list[Row]]], limit_s: float
    ) -> tuple[Row, list[Row]]:
        try:
            row, told = await aside.ask(limit_s)
        except Late:
            return self._waited(name, {"event": f"{name}-lost", "why": "slow"})
        except Exception as error:  # a driver's library may throw anything
            return {}, self._gone(name, {"event": f"{name}-lost", "why": type(error).__name__})
        return row, self._back(name, {"event": f"{name}-back"}) + told

    def _waited(self, source: str, row: Row) -> tuple[Row, list[Row]]:
        """A source that is late for one sample is only late; for LATE_S, it is lost."""
        now = now_s()
        if now - self._late.setdefault(source, now) > LATE_S:
            return {}, self._gone(source, row)
        return {"late_count": 1}, []

    def _gone(self, source: str, row: Row) -> list[Row]:
        """A loss is told when it begins, not every second."""
        if source in self._lost:
            return []
        self._lost.add(source)
        return [row]

    def _back(self, source: str, row: Row) -> list[Row]:
        self._late.pop(source, None)
        if source not in self._lost:
            return []
        self._lost.discard(source)
        return [row]


def watcher(
    target: Target,
    contender: Contender | None = None,
    *,
    gpus: bool | None = None,
    every_s: float = EVERY_S,
    endpoint: Endpoint | None = None,
    loopback: bool | None = None,
    roots: Roots | None = None,
) -> Watcher:
    """Who watches this endpoint.

    Args:
        target: Its ``metrics`` are the addresses of pages, parted by spaces (an engine's, a DCGM exporter's); of an
            endpoint on this machine the usual ones are tried. Its ``log`` is followed.
        contender: Whose target it is; not needed.
        gpus: Whether this machine's cards are the endpoint's; ``None`` = where it is on this machine.
        every_s: Seconds between samples.
        endpoint: What ``bench.wire.endpoint`` made of the target: its key and authority go with a page of the same
            host and port, nowhere else.
        loopback: Whether it is on this machine; ``None`` = as ``endpoint`` says, else by its address.
        roots: Where the machine is looked at; tests look elsewhere.

    Raises:
        InvalidInput: CB-H001, CB-H002: an address of metrics is none, or holds a login. All that are wrong at once.
    """
    target = contender.target if contender is not None and not target.url else target
    if loopback is None:
        loopback = endpoint.loopback if endpoint is not None else on_this_machine(target.url)
    own = loopback if gpus is None else gpus
    found = Watcher(
        addresses(target.metrics, target.url, endpoint, loopback=loopback),
        model=target.model,
        log=target.log,
        gpus=own,
        every_s=every_s,
        roots=roots,
    )
    if not own and gpus is None:
        found.notices.append(tr("watch.remote_gpu"))
    return found


def on_this_machine(url: str) -> bool:
    """Whether an address never leaves this machine."""
    from cabida.bench.wire.address import is_loopback, resolved

    host = urlsplit(url).hostname or ""
    places = resolved(host, 80)
    return bool(places) and all(map(is_loopback, places))


def said_why(why: str, detail: object = "") -> str:
    """Why there is no page, in the language in use."""
    from cabida.text import has_text

    key = f"watch.page.{why}"
    return tr(key, detail=detail) if has_text(key) else f"{why} {detail}".strip()
