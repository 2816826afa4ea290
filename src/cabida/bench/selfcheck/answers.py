"""The bytes that the calibrated server sends, built once and used over: heads, events, whole answers, pages."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import orjson

from cabida.bench.selfcheck.manner import Manner

STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
)
PING = b": ping\n\n"
LAST_CHUNK = b"0\r\n\r\n"
DONE = b"data: [DONE]\n\n"
REASONS = {
    200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 411: "Length Required",
    413: "Content Too Large", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
    500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
}  # fmt: skip
TYPES = {"chat": "chat.completion", "completions": "text_completion"}
VECTOR_ITEMS = 8
PICTURE = (  # one grey pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="
)


def whole(status: int, body: bytes, kind: str = "application/json", extra: str = "") -> bytes:
    """A complete response; ``extra`` holds further header lines, each with its end."""
    head = (
        f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(body)}\r\n{extra}\r\n"
    )
    return head.encode("ascii") + body


def failure(status: int, message: str, retry_s: int = 0) -> bytes:
    """An error as OpenAI-compatible servers tell it, with Retry-After where there is one."""
    body = orjson.dumps({"error": {"message": message, "type": "injected", "code": status}})
    return whole(status, body, extra=f"Retry-After: {retry_s}\r\n" if retry_s else "")


def chunk(data: bytes) -> bytes:
    """One piece of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def usage(prompt_tokens: int, output_tokens: int, reasoning_tokens: int = 0) -> dict[str, Any]:
    """The counts as a server tells them."""
    told: dict[str, Any] = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": prompt_tokens + output_tokens,
    }
    if reasoning_tokens:
        told["completion_tokens_details"] = {"reasoning_tokens": reasoning_tokens}
    return told


def event(api: str, delta: dict[str, str] | None, finish: str, counts: dict[str, Any] | None) -> bytes:
    """One event of a stream; ``delta`` ``None`` leaves the choices empty, as a last chunk with usage does."""
    kind = "chat.completion.chunk" if api == "chat" else TYPES[api]
    choices: list[dict[str, Any]] = []
    if delta is not None:
        reason = finish or None
        if api == "chat":
            choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
        else:
            choices = [
                {"index": 0, "text": delta.get("content", ""), "logprobs": None, "finish_reason": reason}
            ]
    told: dict[str, Any] = {
        "id": "calibrated",
        "object": kind,
        "created": 1,
        "model": "mock",
        "choices": choices,
    }
    if counts is not None:
        told["usage"] = counts
    return b"data: " + orjson.dumps(told) + b"\n\n"


@lru_cache(maxsize=4096)
def plain_event(api: str, text: str, channel: str = "content") -> bytes:
    """An event with text and nothing else, as a chunk."""
    return chunk(event(api, {channel: text}, "", None))


@lru_cache(maxsize=64)
def role_event(api: str) -> bytes:
    """The first event of many engines: the role, and no text yet."""
    return chunk(event(api, {"role": "assistant", "content": ""}, "", None))


def pieces(text: str, n: int) -> tuple[str, ...]:
    """``text`` in ``n`` pieces of like length; some are empty when it has fewer characters."""
    return tuple(text[len(text) * i // n : len(text) * (i + 1) // n] for i in range(n))


def answer_text(how: Manner, say: int, n: int) -> str:
    """The visible text of a whole answer."""
    return how.say[say] if how.say else how.word * max(n - how.reasoning, 0)


def text_between(how: Manner, say: int, n: int, at: int, upto: int) -> str:
    """The visible text of tokens ``at`` to ``upto`` of ``n``."""
    if not how.say:
        return how.word * (upto - at)
    visible = max(n - how.reasoning, 1)
    return "".join(pieces(how.say[say], visible)[max(at - how.reasoning, 0) : max(upto - how.reasoning, 0)])


def ending(
    api: str, how: Manner, delta: dict[str, str], prompt_tokens: int, n: int, tell_usage: bool
) -> bytes:
    """What ends a stream: the last token with its reason, the counts, ``[DONE]``, and the end of the body."""
    counts = usage(prompt_tokens, n, how.reasoning)
    finish = "" if how.finish == "none" else how.finish
    on_finish = counts if how.usage in ("finish", "each") else None
    data = chunk(event(api, delta, finish, on_finish))
    if tell_usage and how.usage == "last":
        data += chunk(event(api, None, "", counts))
    return data + (chunk(DONE) if how.done else b"") + LAST_CHUNK


def complete(api: str, how: Manner, say: int, prompt_tokens: int, n: int) -> bytes:
    """A whole answer that is not streamed."""
    text, finish = answer_text(how, say, n), None if how.finish == "none" else how.finish
    told: dict[str, Any] = {"id": "calibrated", "object": TYPES[api], "created": 1, "model": "mock"}
    if api == "chat":
        message = {"role": "assistant", "content": text}
        if how.reasoning:
            message["reasoning_content"] = how.word * min(how.reasoning, n)
        told["choices"] = [{"index": 0, "message": message, "finish_reason": finish}]
    else:
        told["choices"] = [{"index": 0, "text": text, "logprobs": None, "finish_reason": finish}]
    if how.usage != "none":
        told["usage"] = usage(prompt_tokens, n, how.reasoning)
    return whole(200, orjson.dumps(told))


def items(api: str, asked: dict[str, Any], prompt_tokens: int) -> bytes:
    """Vectors, scores or pictures, as many as were asked for."""
    counts = {"prompt_tokens": prompt_tokens, "total_tokens": prompt_tokens}
    if api == "embeddings":
        texts = asked.get("input")
        count = len(texts) if isinstance(texts, list) else 1
        data: list[dict[str, Any]] = [
            {"object": "embedding", "index": i, "embedding": [0.125] * VECTOR_ITEMS} for i in range(count)
        ]
        told: dict[str, Any] = {"object": "list", "data": data, "model": "mock", "usage": counts}
    elif api == "rerank":
        count = len(asked.get("documents") or ())
        scores = [{"index": i, "relevance_score": 1 - i / max(count, 1)} for i in range(count)]
        told = {"id": "calibrated", "model": "mock", "results": scores, "usage": counts}
    else:
        wanted = asked.get("n")
        count = wanted if isinstance(wanted, int) else 1
        told = {"created": 1, "data": [{"b64_json": PICTURE}] * min(max(count, 1), 64)}
    return whole(200, orjson.dumps(told))


MODELS = whole(
    200,
    orjson.dumps(
        {
            "object": "list",
            "data": [
                {"id": "mock", "object": "model", "created": 1, "owned_by": "cabida", "max_model_len": 131072}
            ],
        }
    ),
)
HEALTHY = whole(200, b'{"status":"ok"}')
PAGE = whole(200, b"<!DOCTYPE html><title>Sign in</title><p>Please sign in.", "text/html; charset=utf-8")
BROKEN_EVENT = chunk(b'data: {"error": {"message": "injected", "type": "server_error", "code": 500}}\n\n')
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
