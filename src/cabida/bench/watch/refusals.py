"""What an engine says when it is asked for too much: a prompt beyond its context, no memory left, too many at once."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cabida.bench.watch.tail import signs

LOOKED_AT = 4000
_N = r"(\d[\d,_]{0,11})"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A prompt was too long.

    Attributes:
        limit_tokens: what the engine says it takes; some count the answer's room too, some the prompt alone.
        asked_tokens: what it says it was asked for; ``None`` = it doesn't.
    """

    limit_tokens: int
    asked_tokens: int | None = None


_LENGTH = rf"maximum context length (?:is|of) {_N} tokens?"
# wording of the engines: shape, group of the limit, group of what was asked (0 = none)
_SHAPES: tuple[tuple[re.Pattern[str], int, int], ...] = tuple(
    (re.compile(shape, re.IGNORECASE), limit, asked)
    for shape, limit, asked in (
        # vLLM, OpenAI, LMDeploy
        (rf"{_LENGTH}.{{0,80}}?requested {_N} output tokens.{{0,60}}?contains(?: at least)? {_N}", 1, 3),
        (rf"{_LENGTH}.{{0,80}}?request(?:ed|s)?(?: has| contains| a total of)? {_N}", 1, 2),
        (rf"{_LENGTH}.{{0,120}}?(?:resulted in|has|contains(?: at least)?) {_N}", 1, 2),
        (rf"prompt \(length {_N}\) is longer than the maximum model length of {_N}", 2, 1),
        (rf"maximum model length of {_N}", 1, 0),
        # SGLang
        (rf"input \({_N} tokens\) is longer than the model's context length \({_N} tokens\)", 2, 1),
        (rf"context length of {_N} tokens", 1, 0),
        # llama.cpp
        (rf"request \({_N} tokens\) exceeds the available context size \({_N} tokens\)", 2, 1),
        (rf"\"n_prompt_tokens\": ?{_N},? ?\"n_ctx\": ?{_N}", 2, 1),
        (rf"exceeds the available context size \(?{_N}", 1, 0),
        # TensorRT-LLM
        (rf"prompt length \({_N}\).{{0,80}}?max_tokens \({_N}\) should not exceed max_seq_len \({_N}\)", 3, 1),
        (rf"should not exceed max_(?:seq_len|num_tokens|input_len) \({_N}\)", 1, 0),
        (rf"prompt length \({_N}\) exceeds maximum input length \({_N}\)", 2, 1),
        # TGI
        (rf"`?inputs`? tokens \+ `?max_new_tokens`? must be <= {_N}\. Given: {_N}", 1, 2),
        (rf"`?inputs`? must have less than {_N} tokens\. Given: {_N}", 1, 2),
        # gateways and others
        (rf"prompt is too long: {_N} tokens > {_N}", 2, 1),
        (rf"maximum prompt length is {_N}.{{0,60}}?contains {_N}", 1, 2),
        (rf"Prompt contains {_N} tokens.{{0,60}}?with {_N} maximum context length", 2, 1),
        (rf"maximum context length (?:is|of) {_N}", 1, 0),
    )
)  # fmt: skip
_TOO_LONG = re.compile(
    r"exceed_context_size|context_length_exceeded|exceeds? the (?:available )?context|too many tokens"
    r"|prompt is too long|larger than the context|exceeds? max_input|context window",
    re.IGNORECASE,
)
_FULL = re.compile(
    r"too many requests|queue is full|max_num_queued|overloaded|no slots? available|capacity|try again later",
    re.IGNORECASE,
)


def refusal(text: str) -> Refusal | None:
    """What a message says of a prompt that was too long; ``None`` = it isn't about that, or says no limit."""
    text = text[:LOOKED_AT]
    for shape, limit, asked in _SHAPES:
        if found := shape.search(text):
            most = _count(found[limit])
            if most > 0:
                return Refusal(most, _count(found[asked]) if asked else None)
    return None


def is_too_long(text: str) -> bool:
    """Whether a message says that a prompt was too long, with or without a limit."""
    return refusal(text) is not None or _TOO_LONG.search(text[:LOOKED_AT]) is not None


def is_out_of_memory(text: str) -> bool:
    """Whether a message says that an accelerator or its machine had no memory left."""
    text = text[:LOOKED_AT]
    memory = next(one for one in signs() if one.sign == "out-of-memory")
    return any(word in text for word in memory.words) or "out of memory" in text.lower()


def is_dead(text: str) -> bool:
    """Whether a message says that the engine behind the server has died."""
    crash = next(one for one in signs() if one.sign == "crash")
    return any(word in text[:LOOKED_AT] for word in crash.words)


def is_full(text: str) -> bool:
    """Whether a message says that as many requests as the server takes are there already."""
    return _FULL.search(text[:LOOKED_AT]) is not None


def _count(text: str) -> int:
    return int(text.replace(",", "").replace("_", ""))
