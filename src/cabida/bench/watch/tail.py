"""An engine's log while it runs: memory, preemptions and crashes in it; and what its start-up said of sizes."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from cabida import files
from cabida.errors import InvalidInput
from cabida.evidence.secrets import redacted
from cabida.text import printable

Row = dict[str, Any]
READ_BYTES = 1 << 18  # of one look; what a log writes beyond is skipped and said
FACTS_BYTES = 256 << 20  # of a log that is read for its start-up
LINE_CHARS = 300  # kept of a line
LINE_LOOKED_AT = 2000
LINES_KEPT = 5  # of one sign in one look
IDS_BYTES = 512 << 20
# lines that may hold what people asked or were answered: counted, never kept
_OF_USERS = re.compile(
    r"Received request|prompt: |prompt_token_ids|['\"](?:messages|prompt|content|inputs?|text)['\"]\s*:"
)
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


@dataclass(frozen=True, slots=True)
class Sign:
    """What some words in a line mean; with ``also`` one of those must be there too."""

    sign: str
    words: tuple[str, ...]
    also: tuple[str, ...]


@cache
def signs() -> tuple[Sign, ...]:
    """What lines may mean, the gravest first; a line means one thing."""
    return tuple(
        Sign(one["sign"], tuple(one["words"]), tuple(one.get("also", ()))) for one in _data()["signs"]
    )


@cache
def _figures() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    return tuple((one["engine"], one["word"], re.compile(one["shape"])) for one in _data()["figures"])


@cache
def _data() -> dict[str, Any]:
    text = resources.files("cabida.bench.watch").joinpath("log_signs.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def sign_of(line: str) -> str:
    """What a line means (out-of-memory, preemption, gpu-lost, crash, refused, started, error), or ""."""
    text = line[:LINE_LOOKED_AT]
    if _OF_USERS.search(text):
        return ""
    for one in signs():
        if any(word in text for word in one.words) and (
            not one.also or any(word in text for word in one.also)
        ):
            return one.sign
    return ""


def figures_of(line: str) -> dict[str, float]:
    """What an engine's periodic line says of its queue and cache: running_count, waiting_count, kv_used_ratio."""
    for _, word, shape in _figures():
        if word in line and (found := shape.search(line[:LINE_LOOKED_AT])):
            said = {name: float(value) for name, value in found.groupdict().items() if _is_number(value)}
            percent = said.pop("kv_used_percent", None)
            return said | ({} if percent is None else {"kv_used_ratio": percent / 100})
    return {}


@dataclass(slots=True)
class Tail:
    """The end of a growing log, over rotation and truncation. Reading it never raises.

    Attributes:
        path: the log. offset: how far it has been read, in bytes.
    """

    path: Path
    offset: int = 0
    _file: tuple[int, int] | None = None
    _rest: bytes = b""
    _lost: bool = False

    def begin(self) -> bool:
        """Look at what comes from now on only; whether there is a log yet."""
        try:
            with files.opened(self.path) as stream:
                at = os.fstat(stream.fileno())
        except (OSError, ValueError):
            return False
        self.offset, self._file = at.st_size, (at.st_dev, at.st_ino)
        return True

    def sample(self) -> tuple[Row, list[Row]]:
        """Figures of the last periodic line, and what happened: one row a sign, with how often and some lines."""
        told: list[Row] = []
        try:
            lines, skipped_bytes = self._read()
        except OSError as error:
            if not self._lost:
                told.append({"event": "log-lost", "why": (error.strerror or "")[:120]})
            self._lost = True
            return {}, told
        if self._lost:
            told.append({"event": "log-back"})
        self._lost = False
        if skipped_bytes:
            told.append({"event": "log-skipped", "bytes": skipped_bytes})
        figures: dict[str, float] = {}
        counts: dict[str, int] = {}
        kept: dict[str, list[str]] = {}
        for line in lines:
            figures = figures_of(line) or figures
            if sign := sign_of(line):
                counts[sign] = counts.get(sign, 0) + 1
                place = kept.setdefault(sign, [])
                if len(place) < LINES_KEPT:
                    place.append(clean(line))
        told += [
            {"event": "log", "sign": sign, "count": count, "lines": kept[sign]}
            for sign, count in counts.items()
        ]
        return {f"log.{name}": value for name, value in figures.items()}, told

    def _read(self) -> tuple[list[str], int]:
        with files.opened(self.path) as stream:
            at = os.fstat(stream.fileno())
            if self._file != (at.st_dev, at.st_ino) or at.st_size < self.offset:
                self.offset, self._rest = 0, b""  # another file, or the same begun again
            self._file = (at.st_dev, at.st_ino)
            skipped = max(0, at.st_size - self.offset - READ_BYTES)
            self.offset += skipped
            stream.seek(self.offset)
            block = stream.read(READ_BYTES)
        self.offset += len(block)
        whole, mark, rest = ((b"" if skipped else self._rest) + block).rpartition(b"\n")
        self._rest = rest[-LINE_LOOKED_AT:]
        lines = whole.decode("utf-8", "replace").splitlines() if mark else []
        return (lines[1:] if skipped else lines), skipped


def clean(line: str) -> str:
    """A line as it may be kept and shown: no colours, no keys, not too long."""
    text = _CONTROL.sub("", line[:LINE_LOOKED_AT]).replace("\n", " ")
    return redacted(printable(text))[:LINE_CHARS].strip()


def _is_number(text: str | None) -> bool:
    return bool(text) and bool(re.fullmatch(r"\d{1,15}(?:\.\d{0,9})?", text or ""))


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What an engine's log says of its last start-up, under the names of an observation.

    Attributes:
        engine: as the log's reader names it; "" = nothing was recognised.
        setup, measured: of the last run in the log: ``weights_gib_per_gpu``, ``kv_cache_tokens``, ``fits`` ...
        notes: sentences beside them. runs_count: start-ups in what was read.
        signs: how often each sign occurs in what was read.
        until_offset: where reading ended, bytes.
        why: why there are no figures, in the words of a problem; "" = there are.
    """

    engine: str = ""
    setup: dict[str, Any] = field(default_factory=dict)
    measured: dict[str, Any] = field(default_factory=dict)
    notes: str = ""
    runs_count: int = 0
    signs: dict[str, int] = field(default_factory=dict)
    until_offset: int = 0
    why: str = ""


def log_facts(path: Path | str, from_offset: int = 0) -> LogFacts:
    """What a log of vLLM, SGLang, llama.cpp, TensorRT-LLM (or another that is known) says from an offset on.

    Reads up to FACTS_BYTES; loads the catalogue of cards, so not during a load. Never raises for what a file holds.
    """
    from cabida.evidence.read import read_file

    try:
        with files.opened(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            start = from_offset if 0 <= from_offset <= size else 0
            stream.seek(start)
            with tempfile.TemporaryDirectory() as folder:
                copy = Path(folder) / "engine.log"
                left = FACTS_BYTES
                with copy.open("wb") as out:
                    while left > 0 and (block := stream.read(min(left, READ_BYTES))):
                        out.write(block)
                        left -= len(block)
                until = start + FACTS_BYTES - left
                counts = _counted(copy)
                try:
                    found = read_file(copy)
                except InvalidInput as error:
                    why = "; ".join(one.what for one in error.problems).replace(copy.name, Path(path).name)
                    return LogFacts(signs=counts, until_offset=until, why=why)
    except (OSError, ValueError) as error:
        return LogFacts(why=getattr(error, "strerror", None) or str(error))
    last = found.observations[-1]
    return LogFacts(
        engine=found.format,
        setup=dict(last.setup),
        measured=dict(last.measured),
        notes=last.note,
        runs_count=len(found.observations),
        signs=counts,
        until_offset=until,
    )


def _counted(path: Path) -> dict[str, int]:
    counts: dict[str, int] = {}
    with path.open("rb") as stream:
        while line := stream.readline(LINE_LOOKED_AT):
            if sign := sign_of(line.decode("utf-8", "replace")):
                counts[sign] = counts.get(sign, 0) + 1
    return counts


def found_ids(path: Path | str, ids: Iterable[str], from_offset: int = 0) -> set[str]:
    """Which of these request ids a log holds from an offset on; none where it can't be read.

    Whether what a request cost can still be charged after a failure rests on this: ids of at least 8 characters.
    """
    wanted = {one.encode() for one in ids if len(one) >= 8}
    found: set[bytes] = set()
    longest = max((len(one) for one in wanted), default=0)
    try:
        with files.opened(path) as stream:
            stream.seek(max(0, from_offset))
            rest, left = b"", IDS_BYTES
            while wanted and left > 0 and (block := stream.read(min(left, READ_BYTES))):
                left -= len(block)
                text = rest + block
                here = {one for one in wanted if one in text}
                found |= here
                wanted -= here
                rest = text[-longest:]
    except (OSError, ValueError):
        pass
    return {one.decode() for one in found}
