"""How the calibrated server answers, read from the model's name: ``mock,ttft=100,itl=10,n=50,cut=20``.

Each request says so for itself, so that one server serves every test at once.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from cabida.text import closest

LONGEST_NAME = 4096
MOST_TOKENS = 1_000_000
USAGES = ("last", "finish", "each", "none")
SERVICES = ("fixed", "exp")
PLAIN_WORD = " tok"
ACCENTED_WORD = " añ"


@dataclass(frozen=True, slots=True)
class Manner:
    """One way to answer. Times are milliseconds, as in the name; a fault at 0 never happens.

    Attributes:
        ttft, itl: from the request's receipt (or its turn, see ``slots``) to the first event; between tokens.
        n: tokens of the answer; ``None`` = as the request asks, else 64.
        coalesce: tokens in one event. jitter: each token is off its time by up to this share of ``itl``, without drift.
        role: an event with the role alone goes first, at once. early: the head of the answer goes at once.
        split: each event in two writes, the cut inside a character where ``utf8`` gives it several bytes.
        ping: a comment before each event. reasoning: so many tokens go through the reasoning channel.
        usage: where the counts are: in a last chunk, on the finishing chunk, in each, nowhere.
        done: whether ``[DONE]`` ends the stream; finish: the reason told, "none" = none.
        say: the answer itself, percent-encoded; several apart by ``|`` are dealt out in turn.
        slots: so many requests are served at once, the others wait in the order of their receipt; 0 = no limit.
        service: time in a slot, "fixed" (ttft + itl x (n - 1)) or "exp" (exponential of that mean).
        odds: share of requests that the faults below befall, evenly dealt (0.25 = each fourth).
        status: answered instead of 200, with ``retry`` seconds of Retry-After; html: 200 with a page of HTML.
        cut, reset, error, stall: after so many tokens the socket is closed, is reset, an error is told inside the
            stream (500 where nothing is streamed), nothing comes for ``pause`` seconds.
        hang: no answer at all. close: closed after each answer.
    """

    ttft: float = 50.0
    itl: float = 10.0
    n: int | None = None
    coalesce: int = 1
    jitter: float = 0.0
    role: bool = False
    early: bool = False
    split: bool = False
    utf8: bool = False
    ping: bool = False
    reasoning: int = 0
    usage: str = "last"
    done: bool = True
    finish: str = "length"
    say: tuple[str, ...] = ()
    slots: int = 0
    service: str = "fixed"
    odds: float = 1.0
    status: int = 200
    retry: int = 0
    html: bool = False
    cut: int = 0
    reset: int = 0
    error: int = 0
    stall: int = 0
    pause: float = 10.0
    hang: bool = False
    close: bool = False

    @property
    def word(self) -> str:
        """The text of one token."""
        return ACCENTED_WORD if self.utf8 else PLAIN_WORD

    @property
    def has_faults(self) -> bool:
        """Whether anything goes wrong at all."""
        return bool(
            self.status != 200 or self.html or self.cut or self.reset or self.error or self.stall or self.hang
        )


_TYPES = {one.name: one.type for one in fields(Manner)}


@lru_cache(maxsize=1024)
def manner(name: str) -> Manner:
    """The manner that a model's name asks for.

    Raises:
        ValueError: an unknown word or a value out of bounds: the message says which and what is known.
    """
    if len(name) > LONGEST_NAME:
        message = f"a model's name has at most {LONGEST_NAME} characters"
        raise ValueError(message)
    said: dict[str, Any] = {}
    for part in name.split(",")[1:]:
        key, _, value = part.partition("=")
        if key not in _TYPES:
            near = closest(key, _TYPES)
            message = f"unknown word {key!r}" + (f", did you mean {near!r}?" if near else "")
            raise ValueError(message)
        said[key] = _value(key, value)
    return Manner(**said)


def _value(key: str, text: str) -> Any:
    if key == "say":
        return tuple(unquote(one) for one in text.split("|"))
    if key == "usage":
        return _one_of(key, text, USAGES)
    if key == "service":
        return _one_of(key, text, SERVICES)
    if key == "finish":
        return text
    if _TYPES[key] == "bool":
        return _one_of(key, text or "1", ("0", "1")) == "1"
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    whole = _TYPES[key] != "float"
    if not 0 <= value <= MOST_TOKENS or (whole and value != int(value)):
        message = f"{key}={text[:40]} is no {'whole ' if whole else ''}number from 0 to {MOST_TOKENS}"
        raise ValueError(message)
    return int(value) if whole else value


def _one_of(key: str, text: str, words: tuple[str, ...]) -> str:
    if text in words:
        return text
    message = f"{key}={text[:40]} is none of {', '.join(words)}"
    raise ValueError(message)
