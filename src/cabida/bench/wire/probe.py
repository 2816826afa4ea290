"""What a server is and how it speaks, found with a handful of short requests before anything is measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from cabida.bench.outcome import Ask, Outcome
from cabida.bench.wire.awaited import Exchange
from cabida.bench.wire.dialects.answer import MALFORMED, Answer, Ended
from cabida.bench.wire.dialects.bodies import request_body
from cabida.text import printable

if TYPE_CHECKING:
    from cabida.bench.wire.exchange import Wire

MODELS_MOST, MODEL_CHARS_MOST = 1000, 200
REQUESTS_MOST = 4
SHORT_TOKENS, EXACT_TOKENS = 16, 24
_PROMPT = "Answer with one word: yes."
_WRITES = ("chat", "completions")
_OWNERS = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llamacpp", "llama.cpp": "llamacpp", "library": "ollama",
           "tensorrt_llm": "tensorrt-llm", "tensorrt-llm": "tensorrt-llm"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Probe:
    """What a few requests told.

    Attributes:
        is_answering: the last but least that matters: a request was answered as the API promises.
        models: as listed; empty where the server doesn't list. model: the target's, or the only one listed.
        is_listed: whether ``model`` is in the list; ``None`` = there is no list.
        context_tokens: the longest context of ``model``, as listed.
        server: the Server header. engine: guessed from the list, "" = unknown.
        is_streaming: a stream was asked for and came as one.
        ends_with_done: whether the stream ended with ``[DONE]``.
        usage_told: "always", "asked" (with stream_options only), "never", "" = not found out.
        usage_each_event: whether it is told with every event.
        honours_exact_output: whether ``ignore_eos`` makes the answer as long as wanted.
        takes_stream_options: whether requests with ``stream_options`` are accepted.
        first: the request that a benchmark would send; its verdict says whether one can begin.
        requests_count: all that were sent, the list's included.
    """

    is_answering: bool
    first: Outcome
    requests_count: int
    models: tuple[str, ...] = ()
    model: str = ""
    is_listed: bool | None = None
    context_tokens: int | None = None
    server: str = ""
    engine: str = ""
    is_streaming: bool | None = None
    ends_with_done: bool | None = None
    usage_told: str = ""
    usage_each_event: bool | None = None
    honours_exact_output: bool | None = None
    takes_stream_options: bool | None = None


class _Listed(Answer):
    """Keeps the JSON as it is."""

    __slots__ = ("content",)

    def whole(self, body: Any) -> None:
        self.content = body

    def event(self, event: Any, at_s: float) -> None:
        raise Ended(MALFORMED, "not-json")


async def probe(wire: Wire) -> Probe:
    """Ask for the models, then at most three short answers; nothing is raised for what the server does.

    They count against the ceiling of requests like any other: see ``requests_count``.
    """
    listed, server = await _models(wire)
    rows = listed.get("data") if isinstance(listed, dict) else listed
    rows = [one for one in rows if isinstance(one, dict)][:MODELS_MOST] if isinstance(rows, list) else []
    names = tuple(printable(str(one.get("id") or one.get("name") or ""))[:MODEL_CHARS_MOST] for one in rows)
    model = wire.endpoint.target.model or (names[0] if len(names) == 1 else "")
    asked = _Asked(wire, model)
    first, answer = await asked("first")
    found: dict[str, Any] = {
        "models": names,
        "model": model,
        "is_listed": model in names if names else None,
        "context_tokens": _context_tokens(rows, model),
        "server": printable(server),
        "engine": _engine(rows, server),
    }
    if wire.endpoint.target.api in _WRITES:
        found |= await _habits(wire, asked, first, answer)
    is_answering = first.verdict == "ok" or found.get("takes_stream_options") is False
    return Probe(is_answering=is_answering, first=first, requests_count=asked.count + 1, **found)


class _Asked:
    """Short requests, counted."""

    def __init__(self, wire: Wire, model: str) -> None:
        self.wire, self.model, self.count = wire, model, 0

    async def __call__(
        self, name: str, tokens: int = SHORT_TOKENS, exact: bool = False, without_options: bool = False
    ) -> tuple[Outcome, Answer]:
        target = replace(self.wire.endpoint.target, model=self.model)
        if without_options:
            target = replace(target, body={**target.body, "stream_options": None})
        body = request_body(target, _PROMPT, tokens, exact)
        self.count += 1
        return await self.wire.ask_fully(Ask(f"probe/{name}", body, perf_counter(), output_tokens=tokens))


async def _habits(wire: Wire, asked: _Asked, first: Outcome, answer: Answer) -> dict[str, Any]:
    """What is found out of a server that writes."""
    target = wire.endpoint.target
    found: dict[str, Any] = {}
    asks_usage = target.stream and target.body.get("stream_options", True) is not None
    told_asked = first.counted_by == "usage"
    outcome = first
    if asks_usage and first.verdict in ("rejected", "server-error", "ok"):
        outcome, plain = await asked("plain", without_options=True)
        told_plain = outcome.counted_by == "usage"
        found["takes_stream_options"] = (
            True if first.verdict == "ok" else False if outcome.verdict == "ok" else None
        )
        if outcome.verdict == "ok":
            found["usage_told"] = "always" if told_plain else "asked" if told_asked else "never"
        if first.verdict != "ok":
            answer = plain
    elif first.verdict == "ok":
        found["usage_told"] = "always" if told_asked else "never"
    if first.verdict != "ok" and outcome.verdict != "ok":
        return found
    found |= {
        "is_streaming": answer.is_streamed if target.stream else None,
        "ends_with_done": answer.is_done if answer.is_streamed else None,
        "usage_each_event": answer.usage_count > 1 if answer.is_streamed and answer.usage_count else None,
    }
    exact, _ = await asked("exact", EXACT_TOKENS, True, found.get("takes_stream_options") is False)
    if exact.verdict == "rejected" or exact.output_tokens is not None:
        found["honours_exact_output"] = exact.output_tokens == EXACT_TOKENS
    return found


async def _models(wire: Wire) -> tuple[Any, str]:
    endpoint = wire.endpoint
    listed = _Listed()
    listed.content = None
    exchange = Exchange(listed, wire.policy, "models", False, perf_counter())
    exchange.answer_bytes_most = 4 * 2**20
    await wire.send(endpoint.head("/models", "GET") + b"\r\n", exchange)
    return listed.content, exchange.server


def _context_tokens(rows: list[dict[str, Any]], model: str) -> int | None:
    for one in rows:
        if one.get("id") == model:
            inner = one.get("meta")
            meta: dict[str, Any] = inner if isinstance(inner, dict) else {}
            told = (one.get("max_model_len"), one.get("context_length"), one.get("context_window"),
                    meta.get("n_ctx"), meta.get("n_ctx_train"))  # fmt: skip
            counts = [c for c in told if isinstance(c, int) and not isinstance(c, bool) and 0 < c < 10**9]
            return counts[0] if counts else None
    return None


def _engine(rows: list[dict[str, Any]], server: str) -> str:
    for one in rows:
        if known := _OWNERS.get(str(one.get("owned_by", "")).lower()):
            return known
    return "llamacpp" if "llama.cpp" in server.lower() else ""
