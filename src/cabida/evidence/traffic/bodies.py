"""What a request and its response say of themselves: tokens, whether it ended well, and what was asked.

Usage as the OpenAI API reports it (https://platform.openai.com/docs/api-reference/chat/object, and
``/docs/api-reference/responses/object``), as Anthropic's does, whose ``input_tokens`` leave out what the cache gave
(https://docs.anthropic.com/en/api/messages), and as DeepSeek counts its cache
(https://api-docs.deepseek.com/guides/kv_cache).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from cabida.evidence.traffic.columns import whole_tokens

ASKED = ("messages", "prompt", "input")
DEPTH_MOST = 6
PROMPT_CHARS_MOST = 4_000_000
EVENTS_LOOKED_AT = 50  # of a stream that was logged as text, from its end


@dataclass(slots=True)
class Usage:
    """Tokens of one exchange; ``None`` = not said. ``input`` is all of the prompt, what a cache gave included."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None


def usage_of(said: object) -> Usage:
    """The tokens in a ``usage`` object, whoever's API it is of."""
    if not isinstance(said, dict):
        return Usage()
    details = said.get("prompt_tokens_details") or said.get("input_tokens_details")
    cached = whole_tokens(details.get("cached_tokens")) if isinstance(details, dict) else None
    if cached is None:
        cached = whole_tokens(said.get("prompt_cache_hit_tokens"))
    asked = whole_tokens(said.get("prompt_tokens"))
    answered = whole_tokens(said.get("completion_tokens"))
    if asked is None and (asked := whole_tokens(said.get("input_tokens"))) is not None:
        read = whole_tokens(said.get("cache_read_input_tokens"))
        made = whole_tokens(said.get("cache_creation_input_tokens"))
        if read is not None or made is not None:
            asked, cached = asked + (read or 0) + (made or 0), read or 0
    elif cached is None:
        cached = whole_tokens(said.get("cache_read_input_tokens"))
    if answered is None:
        answered = whole_tokens(said.get("output_tokens"))
    if answered is None and asked is not None and whole_tokens(said.get("total_tokens")) == asked:
        answered = 0  # embeddings
    return Usage(asked, answered, cached)


def opened(value: object) -> Any:
    """A value that may be JSON in a text, as tables and gateways keep bodies; what is none stays as it is."""
    if isinstance(value, str) and value[:1] in "{[":
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


@dataclass(slots=True)
class Answer:
    """What a response says. ``cut``: it is a stream that has no end; ``None`` = it doesn't show."""

    usage: Usage
    model: str = ""
    created: object = None
    cut: bool | None = None
    failed: bool = False
    id: str = ""


def answer_of(value: object) -> Answer:
    """A response body: an object, the chunks of a stream in a list, or a stream as it went over the line."""
    value = opened(value)
    if isinstance(value, str) and "data:" in value[:200]:
        return _stream([opened(one.strip()) for one in value.split("data:")[1:]])
    if isinstance(value, list):
        return _stream(value)
    if not isinstance(value, dict):
        return Answer(Usage())
    inner = value.get("response")  # the last event of a stream of the Responses API
    if isinstance(inner, dict) and "usage" in inner:
        value = inner
    failed = bool(value.get("error")) or value.get("status") == "failed"
    return Answer(
        usage_of(value.get("usage")),
        _text(value.get("model")),
        value.get("created") or value.get("created_at"),
        _cut(value),
        failed,
        _text(value.get("id")),
    )


def _stream(chunks: list[Any]) -> Answer:
    """What the chunks of a stream say together, looked at from the end."""
    found = Answer(Usage(), cut=True)
    for chunk in reversed(chunks[-EVENTS_LOOKED_AT:] + chunks[:1]):
        if isinstance(chunk, str):
            found.cut = found.cut and not chunk.startswith("[DONE]")
        if not isinstance(chunk, dict):
            continue
        one = answer_of(chunk)
        found.failed = found.failed or one.failed
        found.model, found.id = found.model or one.model, found.id or one.id
        found.created = one.created or found.created
        found.cut = found.cut and one.cut is not False
        if found.usage.output is None:
            found.usage = one.usage
    return found


def _cut(value: Mapping[str, Any]) -> bool | None:
    choices = value.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        reason = choices[0].get("finish_reason", "")
        return None if reason == "" else reason is None
    if value.get("stop_reason") or value.get("status") in ("completed", "incomplete"):
        return False
    return None


def prompt_of(request: object) -> str:
    """What was asked, as one text: roles and contents one after another; "" = the log doesn't hold it."""
    request = opened(request)
    if isinstance(request, str):
        return request[:PROMPT_CHARS_MOST]
    if isinstance(request, list):
        return _flat(request, 0)[:PROMPT_CHARS_MOST]
    if not isinstance(request, dict):
        return ""
    parts = [
        _flat(request.get(name), 0)
        for name in ("system", "instructions", "tools", *ASKED)
        if request.get(name)
    ]
    return "\x1e".join(parts)[:PROMPT_CHARS_MOST]


def _flat(value: object, depth: int) -> str:
    """Texts of messages and their parts; a picture counts by its address or data like any other text."""
    if isinstance(value, str):
        return value
    if depth > DEPTH_MOST or value is None:
        return ""
    if isinstance(value, list):
        return "\x1e".join(_flat(one, depth + 1) for one in value)
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: (name != "role", str(name)))
        return "\x1f".join(_flat(value[name], depth + 1) for name in names)
    return str(value)


def replayed(request: object, output_tokens: int | None) -> dict[str, Any] | None:
    """A request as a benchmark asks it again: ``prompt`` or ``messages``, and ``output_tokens`` where known."""
    request = opened(request)
    found: dict[str, Any] = {}
    if isinstance(request, str) and request:
        found["prompt"] = request
    elif isinstance(request, list) and request and isinstance(request[0], dict):
        found["messages"] = request
    elif isinstance(request, dict):
        messages, prompt = request.get("messages"), request.get("prompt") or request.get("input")
        if isinstance(messages, list) and messages:
            system = request.get("system")
            found["messages"] = [*([{"role": "system", "content": system}] if system else []), *messages]
        elif isinstance(prompt, str) and prompt:
            found["prompt"] = prompt
        elif isinstance(prompt, list) and prompt and isinstance(prompt[0], dict):
            found["messages"] = prompt
    if not found:
        return None
    if output_tokens:
        found["output_tokens"] = output_tokens
    return found


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
