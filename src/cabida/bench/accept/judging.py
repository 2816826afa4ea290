"""Rules put to outputs while a load runs: by a process apart, and by judges that are asked over the wire."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from dataclasses import asdict
from types import TracebackType
from typing import Any

import orjson

from cabida.bench.accept.apart import AT_ONCE
from cabida.bench.accept.judgement import Judgement, Output, Said, judgement
from cabida.bench.accept.opinion import Opinion, Spent
from cabida.bench.accept.rules import Rules, is_generated, output_of
from cabida.bench.clock import now_s
from cabida.bench.outcome import Ask, Outcome
from cabida.plan.bench import Policy
from cabida.text import locale, tr

ANSWERS_WITHIN_S = 15.0  # beside what commands may take
LONGEST_TEXT_CHARS = 8 * 2**20
WAITING_MOST = 256  # outputs under judgement at once; the next waits
APART_MOST = 2 * AT_ONCE  # of them in the process apart: none waits there longer than for one other
STARTS_MOST = 20  # of the process apart; a rule that kills it each time is given up


class Judging:
    """``async with Judging(rules) as judging: await judging.judged(outcome)``.

    Whatever an output holds, it is answered: a rule that hangs or dies is unjudged, and the next output is judged anew.
    """

    def __init__(self, rules: Rules, policy: Policy | None = None) -> None:
        self.rules = rules
        self.policy = policy or Policy()
        self.apart = Apart(rules) if len(rules.made) > len(rules.opinions) else None
        self.room = asyncio.Semaphore(WAITING_MOST)
        self.wires: dict[str, Any] = {}
        self.gates = {name: asyncio.Semaphore(one.at_once) for name, one in rules.opinions}

    async def __aenter__(self) -> Judging:
        from cabida.bench.wire.address import endpoint
        from cabida.bench.wire.exchange import Wire

        async with contextlib.AsyncExitStack() as stack:
            for name, one in self.rules.opinions:
                wire = Wire(endpoint(one.target), self.policy, keep_text=True)
                self.wires[name] = await stack.enter_async_context(wire)
            self.stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.apart is not None:
            await self.apart.close()
        await self.stack.aclose()

    @property
    def spent(self) -> dict[str, Spent]:
        """What each judge was asked and took, by the rule's name."""
        for _, one in self.rules.opinions:
            one.spent.money = one.money()
        return {name: one.spent for name, one in self.rules.opinions}

    async def judged(self, outcome: Outcome, *, prompt: str = "", reference: object = None) -> Judgement:
        """What all rules say of an outcome. Judges are asked only about what no other rule rejects."""
        if not is_generated(outcome):
            return self.rules.judgement(outcome)
        output = output_of(outcome, prompt=prompt, reference=reference)
        async with self.room:
            said = await self.apart.said(output) if self.apart is not None else []
            settled = any(one.met is False for _, _, one in said)
            for name, opinion in self.rules.opinions:
                if not settled:
                    said.append((name, False, await self._asked(name, opinion, output)))
        return judgement(said, generated=True)

    async def _asked(self, name: str, opinion: Opinion, output: Output) -> Said:
        from cabida.bench.wire.dialects.bodies import request_body

        spent = opinion.spent
        async with self.gates[name]:
            if opinion.most_count is not None and spent.asked_count >= opinion.most_count:
                return Said(None, tr("accept.judge_most"))
            spent.asked_count += 1
            body = request_body(opinion.target, opinion.question(output), opinion.output_tokens)
            ask = Ask(f"judge/{name}/{spent.asked_count}", body, now_s())
            answer: Outcome = await self.wires[name].ask(ask)
        if answer.verdict != "ok":
            spent.failed_count += 1
            return Said(None, tr("accept.judge_failed", verdict=answer.verdict))
        spent.add(answer.input_tokens, answer.output_tokens)
        return opinion.verdict(answer.text)


class Apart:
    """The process apart, started when it is first needed and again when it died."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.within_s = ANSWERS_WITHIN_S + 2.0 * rules.waits_s
        self.room = asyncio.Semaphore(APART_MOST)
        self.process: asyncio.subprocess.Process | None = None
        self.reading: asyncio.Task[None] | None = None
        self.waiting: dict[int, tuple[bytes, asyncio.Future[list[Any]]]] = {}
        self.starting = asyncio.Lock()
        self.count = self.starts_count = 0

    async def said(self, output: Output) -> list[tuple[str, bool, Said]]:
        """What every rule of the process says of an output."""
        if len(output.text) > LONGEST_TEXT_CHARS:
            return self._unjudged(tr("accept.text_too_long", limit=LONGEST_TEXT_CHARS))
        async with self.room:
            return await self._said(output)

    async def _said(self, output: Output) -> list[tuple[str, bool, Said]]:
        self.count += 1
        n = self.count
        asked = {
            "n": n, "id": output.id, "text": output.text, "finish_reason": output.finish_reason,
            "tokens": output.tokens, "reference": output.reference,
        }  # fmt: skip
        try:
            line = orjson.dumps(asked, default=str) + b"\n"
        except (TypeError, ValueError):  # half a character
            asked["text"] = output.text.encode("utf-8", "replace").decode("utf-8")
            line = orjson.dumps(asked | {"reference": str(output.reference)}) + b"\n"
        for is_last in (
            False,
            True,
        ):  # once more where the process died: another output may have been the reason
            future: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
            self.waiting[n] = (line, future)
            try:
                await self._send(line)
                found = await asyncio.wait_for(future, self.within_s)
            except TimeoutError:
                del self.waiting[n]
                await self._again()
                return self._unjudged(tr("accept.rule_timeout", seconds=f"{self.within_s:g}"))
            except ChildProcessError:
                if is_last:
                    break
            else:
                return [(name, form, Said(met, why)) for name, form, met, why in found]
            finally:
                self.waiting.pop(n, None)
        return self._unjudged(tr("accept.rule_died"))

    def _unjudged(self, why: str) -> list[tuple[str, bool, Said]]:
        return [
            (one.name, one.judge.form, Said(None, why))
            for one in self.rules.made
            if not isinstance(one.judge, Opinion)
        ]

    async def _send(self, line: bytes) -> None:
        async with self.starting:
            if self.process is None:
                await self._start()
            assert self.process
            assert self.process.stdin
            with contextlib.suppress(ConnectionError, RuntimeError):  # it died: the reader sees to that
                self.process.stdin.write(line)
                await self.process.stdin.drain()

    async def _start(self) -> None:
        """Start it and hand it the rules.

        Raises:
            ChildProcessError: it was started too often.
        """
        if self.starts_count >= STARTS_MOST:
            raise ChildProcessError
        self.starts_count += 1
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "cabida.bench.accept.apart",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=2**22,
        )  # fmt: skip
        listed = [asdict(one) for one in self.rules.plain if one.kind != "judge"]
        order = orjson.dumps({"language": locale(), "rules": listed}) + b"\n"
        assert self.process.stdin
        with contextlib.suppress(ConnectionError, RuntimeError):
            self.process.stdin.write(order)
        self.reading = asyncio.create_task(self._read(self.process))

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout
        while line := await process.stdout.readline():
            answer = orjson.loads(line)
            if (found := self.waiting.get(answer["n"])) is not None and not found[1].done():
                found[1].set_result(answer["said"])
        await process.wait()
        if process is self.process:  # it ended without being told to
            self.process = None
            for _, future in self.waiting.values():
                if not future.done():
                    future.set_exception(ChildProcessError())

    async def _again(self) -> None:
        """One output kept it for too long: end it, and put to another what it had not answered."""
        async with self.starting:
            await self._kill()
            lines = [line for line, future in self.waiting.values() if not future.done()]
            try:
                await self._start()
            except ChildProcessError:
                for _, future in self.waiting.values():
                    if not future.done():
                        future.set_exception(ChildProcessError())
                return
            assert self.process
            assert self.process.stdin
            with contextlib.suppress(ConnectionError, RuntimeError):
                for line in lines:
                    self.process.stdin.write(line)
                await self.process.stdin.drain()

    async def _kill(self) -> None:
        process, self.process = self.process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        if self.reading is not None:
            self.reading.cancel()

    async def close(self) -> None:
        """End it."""
        await self._kill()
