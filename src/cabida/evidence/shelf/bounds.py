"""What is taken: names, texts and plain data, bounded in size and depth; no secrets, nothing that drives a screen."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from cabida.errors import InvalidInput
from cabida.evidence.secrets import redacted
from cabida.text import problem

LONGEST_NAME_CHARS = 120
LONGEST_KEY_CHARS = 200
LARGEST_BRIEF_BYTES = 1_000_000  # the brief reader's own bound
LARGEST_DECISION_BYTES = 16_000_000  # one with every option is 3 MB
LARGEST_JOB_BYTES = 2_000_000
DEEPEST = 40  # levels of plain data
MOST_AT_ONCE = 500
MOST_TOLD = 20  # lines with a secret
MOST_SUSPECT_CHARS = (
    100_000  # looked at for secrets; a text that is nothing but words they come with isn't taken
)
BEFORE_CHARS, BEHIND_CHARS, WINDOW_CHARS = 110, 300, 900
SPACE, LONGEST_KEY = re.compile(r"\s"), 3_000
HINTS = (  # words and beginnings that every secret known to ``secrets`` comes with
    "key", "token", "passw", "secret", "credential", "authoriz", "_pat", "bearer", "basic", "://", "?sig", "&sig",
    "x-amz", "hf_", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "nvapi-", "akia", "asia", "xox", "aiza", "eyj",
    "glpat-", "cabida_",
)  # fmt: skip
LOWER = {ord(one): one.lower() for one in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def plain_name(name: str) -> str:
    """A name as it is kept: one line, no control characters, no more than 120 characters.

    Raises:
        InvalidInput: CB-E221, nothing is left of it; CB-E222, it is longer.
    """
    words = "".join(one if one.isprintable() else " " if one.isspace() else "" for one in str(name)).split()
    plain = unicodedata.normalize("NFC", " ".join(words))
    if not plain:
        raise InvalidInput([problem("CB-E221")])
    if len(plain) > LONGEST_NAME_CHARS:
        raise InvalidInput([problem("CB-E222", count=len(plain), most=LONGEST_NAME_CHARS)])
    refuse_secrets(plain, "name")
    return plain


def searchable(text: str) -> str:
    """A text without capitals and accents, as lists are searched."""
    apart = unicodedata.normalize("NFKD", text).casefold()
    return "".join(one for one in apart if not unicodedata.combining(one))


def cut(text: object, most: int) -> str:
    """A short text of somebody's file as it may be listed: printable, and no longer than this."""
    return "".join(one for one in str(text or "") if one.isprintable())[:most]


def refuse_secrets(text: str, file: str = "") -> None:
    """Refuse a text that holds what looks like a key, a token or a password.

    Raises:
        InvalidInput: CB-E223, with the line of each; never with what it is.
    """
    lines: list[int] = []
    looked_chars, after, line = 0, 0, 1
    for begin, end in _suspects(text):
        looked_chars += end - begin
        if looked_chars > MOST_SUSPECT_CHARS or redacted(text[begin:end]) != text[begin:end]:
            line, after = line + text.count("\n", after, begin), begin
            lines += [line] if line not in lines else []
            if len(lines) == MOST_TOLD:
                break
    if lines:
        raise InvalidInput([problem("CB-E223", file=file, line=at) for at in lines])


def _suspects(text: str) -> Iterator[tuple[int, int]]:
    """The places around every word that a secret comes with, each within its line; those that touch are one."""
    begin = end = -1
    for hint in _hints(text):
        earliest, latest = max(hint - BEFORE_CHARS, 0), hint + BEHIND_CHARS
        first = max(earliest, text.rfind("\n", earliest, hint) + 1)
        at = text.find("\n", hint, latest)
        last = at if at >= 0 else latest
        if first <= end and last - begin <= WINDOW_CHARS:
            end = last
            continue
        if begin >= 0:
            yield begin, end
        begin, end = first, last
    if begin >= 0:
        yield begin, end


def _word_end(text: str, at: int) -> int:
    """Where the word that a window would cut ends, so that none of a long key is left."""
    found = SPACE.search(text, at, at + LONGEST_KEY)
    return found.start() if found else min(at + LONGEST_KEY, len(text))


def _hints(text: str) -> list[int]:
    """Where the words stand that a secret comes with, in order."""
    low, found = text.translate(LOWER), []
    for word in HINTS:
        at = low.find(word)
        while at >= 0:
            found.append(at)
            at = low.find(word, at + 1)
    return sorted(found)


def blanked(value: Any) -> Any:
    """Plain data with keys, tokens and passwords in its texts blanked."""
    if isinstance(value, str):
        return _blanked_text(value)
    if isinstance(value, dict):
        return {str(key): blanked(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [blanked(one) for one in value]
    return value


def _blanked_text(text: str) -> str:
    parts, done = [], 0
    for begin, end in _suspects(text):
        first, last = max(begin, done), _word_end(text, max(end, done))
        parts += [text[done:first], redacted(text[first:last])]
        done = last
    return "".join(parts) + text[done:]


def plain_json(value: Any, what: str, most_bytes: int = LARGEST_JOB_BYTES) -> str:
    """Plain data as JSON text, its keys in order.

    Raises:
        InvalidInput: CB-E224, it is too large, too deep or no plain data.
    """
    refuse_depth(value, what)
    try:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)
        size_bytes = len(text.encode("utf-8"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput([problem("CB-E224", what=what, why=str(error)[:200])]) from None
    refuse_size(size_bytes, most_bytes, what)
    return text


def refuse_size(size_bytes: int, most_bytes: int, what: str) -> None:
    """Refuse what is larger.

    Raises:
        InvalidInput: CB-E225.
    """
    if size_bytes > most_bytes:
        size_mb, most_mb = f"{size_bytes / 1e6:,.1f}", f"{most_bytes / 1e6:g}"
        raise InvalidInput([problem("CB-E225", what=what, size_mb=size_mb, most_mb=most_mb)])


def refuse_depth(value: Any, what: str) -> None:
    """Refuse plain data of more than 40 levels.

    Raises:
        InvalidInput: CB-E224.
    """
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise InvalidInput([problem("CB-E224", what=what, why=f"> {DEEPEST}")])
        level = [
            inner
            for one in level
            if isinstance(one, dict | list | tuple)
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, dict | list | tuple)
        ]


def most_of(most: int) -> int:
    """How many of a list are given at once: as asked, from 1 to 500."""
    return min(max(int(most), 1), MOST_AT_ONCE)
