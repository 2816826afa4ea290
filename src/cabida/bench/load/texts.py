"""Prompts of a file, found again by number: the file is looked through once, and only places are kept in memory."""

from __future__ import annotations

import io
import json
import os
import tempfile
from array import array
from collections.abc import Iterator
from typing import IO, Any

import orjson

from cabida.errors import InvalidInput, Problem
from cabida.files import opened
from cabida.text import printable, problem, tr

LARGEST_FILE_BYTES = 2_000_000_000
LARGEST_LINE_BYTES = 8_000_000
PROMPTS_MOST = 1_000_000
CONVERSATIONS_MOST = 200_000
MESSAGES_MOST = 2_000
MOST_FAULTS = 20
PORTION_CHARS = 1 << 20
CHARS_PER_TOKEN = 4.0  # English in vocabularies of today: 4 to 4.7
ROLES = ("system", "developer", "user", "assistant", "tool")
ASKER, ANSWERER = ("human", "user"), ("gpt", "assistant", "chatgpt", "bard", "bing")


class Texts:
    """The prompts of a file of JSON lines that is held open."""

    def __init__(self, file: IO[bytes], places: array[int], path: str) -> None:
        self._file, self._places, self._path = file, places, path

    def __len__(self) -> int:
        return len(self._places)

    def at(self, index: int) -> tuple[str, tuple[dict[str, Any], ...], int | None]:
        """Text, messages and output tokens of one.

        Raises:
            InvalidInput: CB-G007, the file has changed since it was looked through.
        """
        self._file.seek(self._places[index])
        found = _understood(self._file.readline(LARGEST_LINE_BYTES))
        if isinstance(found, str):
            raise InvalidInput(_wrong(self._path, 0, tr("load.file_changed")))
        return found

    def expected(self, index: int) -> tuple[str, Any]:
        """What is asked in one (of messages, the last), and its ``reference``: what is expected, ``None`` = unsaid."""
        self._file.seek(self._places[index])
        row = orjson.loads(self._file.readline(LARGEST_LINE_BYTES).removeprefix(b"\xef\xbb\xbf"))
        asked = row.get("prompt") or row["messages"][-1]["content"]
        return asked if isinstance(asked, str) else orjson.dumps(asked).decode(), row.get("reference")

    def __del__(self) -> None:
        self._file.close()


def texts(path: str, source: str) -> Texts:
    """The prompts of a file that is "jsonl" or "sharegpt".

    Raises:
        InvalidInput: CB-G007, it can't be read, has no prompt, or lines that are none (the first twenty).
    """
    try:
        file = opened(path)
        size_bytes = os.fstat(file.fileno()).st_size
        if size_bytes > LARGEST_FILE_BYTES:
            file.close()
            raise InvalidInput(_wrong(path, 0, tr("load.file_large", most=f"{LARGEST_FILE_BYTES / 1e9:.0f}")))
        if source == "jsonl":
            return _indexed(file, path)
        with file, io.TextIOWrapper(file, encoding="utf-8-sig") as stream:
            spooled = _spooled(stream, path)
        return _indexed(spooled, path)
    except UnicodeDecodeError:
        raise InvalidInput(problem("CB-B007", file=path)) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(_wrong(path, 0, printable(why)[:200])) from None


def _indexed(file: IO[bytes], path: str) -> Texts:
    places, faults = array("q"), list[Problem]()
    file.seek(0)
    place, number = 0, 0
    while line := file.readline(LARGEST_LINE_BYTES + 1):
        number += 1
        if len(line) > LARGEST_LINE_BYTES:
            faults.append(_wrong(path, number, tr("load.line_long", most=f"{LARGEST_LINE_BYTES / 1e6:.0f}")))
            break
        if line.strip():
            found = _understood(line)
            if isinstance(found, str):
                faults.append(_wrong(path, number, found))
            else:
                places.append(place)
        if len(faults) >= MOST_FAULTS or len(places) >= PROMPTS_MOST:
            break
        place += len(line)
    if not places and not faults:
        faults.append(_wrong(path, 0, tr("load.no_prompts")))
    if faults:
        file.close()
        raise InvalidInput(faults)
    return Texts(file, places, path)


def _understood(line: bytes) -> tuple[str, tuple[dict[str, Any], ...], int | None] | str:
    """Text, messages and output tokens of a line, or what is wrong with it."""
    try:
        row = orjson.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError:
        return tr("load.no_json")
    if not isinstance(row, dict):
        return tr("load.no_object")
    tokens = row.get("output_tokens")
    if tokens is not None and (isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 1):
        return tr("load.output_tokens")
    text, messages = row.get("prompt"), row.get("messages")
    if isinstance(text, str) and text and messages is None:
        return text, (), tokens
    if text is None and isinstance(messages, list) and 0 < len(messages) <= MESSAGES_MOST:
        sound = all(
            isinstance(one, dict) and one.get("role") in ROLES and isinstance(one.get("content"), str | list)
            for one in messages
        )
        return ("", tuple(messages), tokens) if sound else tr("load.messages")
    return tr("load.prompt_or_messages")


def _spooled(stream: io.TextIOWrapper, path: str) -> IO[bytes]:
    """Conversations as JSON lines in a file without a name, which is gone when it is closed."""
    out = tempfile.TemporaryFile()  # noqa: SIM115 - held by Texts
    try:
        _spool(stream, path, out)
    except BaseException:
        out.close()
        raise
    return out


def _spool(stream: io.TextIOWrapper, path: str, out: IO[bytes]) -> None:
    kept = 0
    for row in _objects(stream, path):
        if (pair := _first_pair(row)) is not None:
            question, reply = pair
            tokens = max(1, round(len(reply) / CHARS_PER_TOKEN))
            line = orjson.dumps({"prompt": question, "output_tokens": tokens})
            if len(line) < LARGEST_LINE_BYTES:
                out.write(line + b"\n")
                kept += 1
        if kept >= CONVERSATIONS_MOST:
            break
    out.flush()


def _first_pair(row: Any) -> tuple[str, str] | None:
    """First question and its reply, of a conversation that begins with them."""
    turns = row.get("conversations", row.get("conversation")) if isinstance(row, dict) else None
    if not isinstance(turns, list):
        return None
    said = [(one.get("from", one.get("role")), one.get("value", one.get("content"))) for one in turns[:3]
            if isinstance(one, dict)]  # fmt: skip
    if said and said[0][0] == "system":
        said = said[1:]
    if len(said) < 2 or said[0][0] not in ASKER or said[1][0] not in ANSWERER:
        return None
    question, reply = said[0][1], said[1][1]
    return (question, reply) if isinstance(question, str) and isinstance(reply, str) and question else None


def _objects(stream: io.TextIOWrapper, path: str) -> Iterator[Any]:
    """Values of a JSON array, or of lines, read in portions."""
    decode = json.JSONDecoder().raw_decode
    buffer, place, begun = stream.read(PORTION_CHARS), 0, False
    while True:
        while place < len(buffer) and (buffer[place] in " \t\r\n," or (not begun and buffer[place] == "[")):
            begun = begun or buffer[place] == "["
            place += 1
        if place < len(buffer) and buffer[place] == "]":
            return
        begun = True
        try:
            value, place = decode(buffer, place)
        except RecursionError:
            raise InvalidInput(_wrong(path, 0, tr("load.no_json"))) from None
        except json.JSONDecodeError as error:
            rest = buffer[place:]
            more = stream.read(max(PORTION_CHARS, len(rest)))
            if not more and not rest.strip():
                return
            if not more or len(rest) > LARGEST_LINE_BYTES:
                raise InvalidInput(_wrong(path, 0, f"{tr('load.no_json')} ({error.msg})")) from None
            buffer, place = rest + more, 0
            continue
        yield value


def _wrong(path: str, line: int, what: str) -> Problem:
    return problem("CB-G007", file=path, line=line, what=what)
