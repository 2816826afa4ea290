"""What one answer has told so far, whichever dialect it speaks.

Everything here comes from a server and is taken for what it may be: any field may be missing or of the wrong type.
"""

from __future__ import annotations

from typing import Any

MALFORMED, OVERSIZE, TRUNCATED, STREAM_ERROR, RESET = (
    "malformed",
    "oversize",
    "truncated",
    "stream-error",
    "reset",
)
TOKENS_MOST = 1_000_000_000
BROKEN_FINISHES = ("abort", "error")  # reasons that engines give for an answer they gave up
GAPS_MOST = 4096
_THOUGHT = ("reasoning_content", "reasoning", "thinking")
_INPUT, _OUTPUT = ("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")
_INPUT_ALONE = (
    *_INPUT,
    "total_tokens",
)  # of vectors and scores: nothing is written, so the total is what was read
_FAULTS = (AttributeError, TypeError, KeyError, IndexError, ValueError, OverflowError, RecursionError)


class Ended(Exception):
    """The answer is over before its end: ``verdict`` and ``why`` of the outcome."""

    def __init__(self, verdict: str, why: str) -> None:
        super().__init__(verdict, why)
        self.verdict, self.why = verdict, why


class Answer:
    """Times of its pieces, tokens as told, and its text when that is kept.

    Times are those of the reads that held the pieces. ``is_streamed`` is set by whoever finds out. ``had_choice``:
    something came that belongs to an answer; ``is_done``: ``[DONE]`` came.
    """

    __slots__ = (
        "cached_tokens", "calls", "events_count", "finish_reason", "finished_count", "first_s", "gaps", "gaps_most",
        "had_choice", "highest_index", "input_tokens", "is_done", "is_streamed", "items_count", "keep", "last_s",
        "output_tokens", "reasoning", "reasoning_tokens", "text", "usage_count",
    )  # fmt: skip

    def __init__(self, keep: bool = False, gaps_most: int = GAPS_MOST) -> None:
        self.keep, self.gaps_most = keep, gaps_most
        self.is_streamed = self.is_done = self.had_choice = False
        self.events_count = self.finished_count = self.highest_index = self.usage_count = 0
        self.first_s: float | None = None
        self.last_s: float | None = None
        self.gaps: list[float] = []
        self.finish_reason = ""
        self.input_tokens: int | None = None
        self.cached_tokens: int | None = None
        self.output_tokens: int | None = None
        self.reasoning_tokens: int | None = None
        self.items_count: int | None = None
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.calls: list[str] = []

    @property
    def is_whole(self) -> bool:
        """Whether the server has said that nothing follows: ``[DONE]``, or every choice has its finish_reason."""
        return self.is_done or 0 < self.finished_count > self.highest_index

    def event(self, event: Any, at_s: float) -> None:
        """Take one event of a stream, read at ``at_s``.

        Raises:
            Ended: it tells an error, or is nothing that an answer is made of.
        """
        try:
            self._event(event, at_s)
        except _FAULTS:
            raise Ended(MALFORMED, "event") from None

    def _event(self, event: Any, at_s: float) -> None:
        choices = event.get("choices")
        if choices:
            self.had_choice = True
            has_content = False
            for choice in choices:
                if self._choice(choice, choice.get("delta")):
                    has_content = True
            if has_content:
                self.events_count += 1
                if self.first_s is None:
                    self.first_s = self.last_s = at_s
                elif at_s != self.last_s:
                    if len(self.gaps) < self.gaps_most:
                        self.gaps.append(at_s - self.last_s)  # type: ignore[operator]
                    self.last_s = at_s
        if "usage" in event or "timings" in event or "x_groq" in event:
            self.usage(event)
        if not choices or "error" in event:
            self._beside(event, at_s)

    def _choice(self, choice: dict[str, Any], part: Any) -> bool:
        """Whether a choice brings a piece of the answer; ``part`` is its delta or message."""
        if choice.get("finish_reason"):
            self._finish(choice)
        if choice.get("index"):
            self.highest_index = max(self.highest_index, min(int(choice["index"]), 1024))
        if not part:
            text = choice.get("text")
            if text and self.keep:
                self.text.append(str(text))
            return bool(text)
        has_content = False
        if text := part.get("content"):
            has_content = self._content(text)
        for name in _THOUGHT:
            if name in part and (thought := part[name]):
                has_content = True
                if self.keep:
                    self.reasoning.append(_spelt(thought))
                break  # some engines give the same words under two names
        return has_content or self._calls(part)

    def _content(self, text: Any) -> bool:
        if isinstance(text, str):
            if self.keep:
                self.text.append(text)
            return True
        has_content = False  # a list of parts, some of them thoughts
        for one in text:
            said, thought = one.get("text"), one.get("thinking")
            has_content = has_content or bool(said or thought)
            if self.keep:
                self.text.append(_spelt(said))
                self.reasoning.append(_spelt(thought))
        return has_content

    def _calls(self, part: dict[str, Any]) -> bool:
        """Calls of tools, and refusals: pieces of an answer too."""
        if refusal := part.get("refusal"):
            if self.keep:
                self.text.append(_spelt(refusal))
            return True
        calls = part.get("tool_calls") or ()
        legacy = part.get("function_call")
        functions = [one.get("function") or {} for one in calls] + ([legacy] if legacy else [])
        if self.keep:
            self.calls.extend(_spelt(one.get("arguments")) for one in functions)
        return bool(functions) or bool(part.get("audio"))

    def _finish(self, choice: dict[str, Any]) -> None:
        reason = str(choice["finish_reason"])[:40]
        self.finished_count += 1
        self.finish_reason = self.finish_reason or reason
        if reason in BROKEN_FINISHES:
            error = choice.get("error")
            raise Ended(STREAM_ERROR, told(error) if error else f"finish_reason {reason}")

    def _beside(self, event: dict[str, Any], at_s: float) -> None:
        """An event without choices: an error, usage alone, a picture, or something that may be passed over."""
        error = event.get("error")
        if error or event.get("object") == "error" or event.get("error_code"):
            raise Ended(STREAM_ERROR, told(error or event))
        kind = str(event.get("type", ""))
        if kind.startswith("image_") and event.get("b64_json"):
            self.had_choice = True
            self.events_count += 1
            self.first_s = at_s if self.first_s is None else self.first_s
            self.last_s = at_s
            if kind.endswith(".completed"):
                self.items_count = (self.items_count or 0) + 1
                self.finished_count += 1

    def whole(self, body: Any) -> None:
        """Take an answer that came in one piece.

        Raises:
            Ended: it tells an error, or is nothing that an answer is made of.
        """
        try:
            self._whole(body)
        except _FAULTS:
            raise Ended(MALFORMED, "no-answer") from None

    def _whole(self, body: Any) -> None:
        if isinstance(body, list):  # text-embeddings-inference: scores or vectors alone
            body = {"data": body}
        if body.get("error") or body.get("object") == "error":
            raise Ended(STREAM_ERROR, told(body.get("error") or body))
        self.usage(body)
        if choices := body.get("choices"):
            self.had_choice = True
            for choice in choices:
                self._choice(choice, choice.get("message"))
            return
        items = body.get("data") if body.get("data") is not None else body.get("results")
        if not isinstance(items, list) or not items:
            raise Ended(MALFORMED, "no-answer")
        self.had_choice = True
        self.items_count = len(items)

    def usage(self, event: dict[str, Any]) -> None:
        """Tokens as the server tells them: the last that it told of each, for some tell as they go."""
        usage = _fields(event.get("usage")) or _fields(_fields(event.get("x_groq")).get("usage"))
        if usage:
            self.usage_count += 1
            read = _fields(usage.get("prompt_tokens_details") or usage.get("input_tokens_details"))
            written = _fields(usage.get("completion_tokens_details") or usage.get("output_tokens_details"))
            names = _INPUT if "choices" in event or "type" in event else _INPUT_ALONE
            self.input_tokens = _tokens(usage, names) or self.input_tokens
            self.output_tokens = _tokens(usage, _OUTPUT) or self.output_tokens
            self.cached_tokens = _first(
                _count(read.get("cached_tokens")),
                _count(usage.get("prompt_cache_hit_tokens")),
                self.cached_tokens,
            )
            self.reasoning_tokens = _first(
                _count(written.get("reasoning_tokens")),
                _count(usage.get("reasoning_tokens")),
                self.reasoning_tokens,
            )
        elif timings := _fields(event.get("timings")):  # llama.cpp
            cached, new = _count(timings.get("cache_n")), _count(timings.get("prompt_n"))
            self.output_tokens = self.output_tokens or _tokens(timings, ("predicted_n",))
            if self.input_tokens is None and new is not None:
                self.input_tokens = new + (cached or 0) or None
            self.cached_tokens = _first(self.cached_tokens, cached)


def _fields(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def told(error: Any) -> str:
    """What an error says, whatever its shape; still the server's words."""
    if isinstance(error, dict):
        for name in ("message", "detail", "error", "msg", "title", "text"):
            if error.get(name):
                return told(error[name])
        return ""
    if isinstance(error, list) and error:
        return told(error[0])
    return str(error)[:400]


def _spelt(text: Any) -> str:
    if isinstance(text, str):
        return text
    if isinstance(text, list):
        return "".join(_spelt(one) for one in text[:1000])
    return _spelt(text.get("text", "")) if isinstance(text, dict) else ""


def _count(value: Any) -> int | None:
    """A count of tokens, if that is what ``value`` is."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= TOKENS_MOST:
        return None
    return int(value)


def _tokens(usage: dict[str, Any], names: tuple[str, ...]) -> int | None:
    """The first of ``names`` that tells a count above zero: a zero is a place held, not a count."""
    for name in names:
        if count := _count(usage.get(name)):
            return count
    return None


def _first(*counts: int | None) -> int | None:
    return next((one for one in counts if one is not None), None)
