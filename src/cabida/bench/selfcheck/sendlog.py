"""The calibrated server's own log: when each request was received and each answer truly sent.

One fixed record a request; times are nanoseconds of ``time.perf_counter_ns``, which processes of one machine share.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MAGIC = b"cabida/sends/1\n\0"
ENDINGS = ("done", "left", "cut", "reset", "error", "refused")  # left: the client went first
_RECORD = struct.Struct("<48sQQQQIIIfB")
_TIMES = struct.Struct("<48sI")
ID_BYTES = 48


@dataclass(frozen=True, slots=True)
class Sent:
    """One request as the server saw it.

    Attributes:
        id: as the request told it (``x-request-id`` or ``user``), "" when it told none.
        received_ns: when its last byte was read; turn_ns: when it was taken up (later, where it had to queue).
        first_ns, last_ns: just before the write of its first and its last token; 0 = there was none.
        tokens: sent; prompt_tokens: of the prompt as this server counts it.
        late_most_us: how late its latest token was against its plan, microseconds; late_mean_us on average.
        ending: one of ENDINGS.
    """

    id: str
    received_ns: int
    turn_ns: int
    first_ns: int
    last_ns: int
    tokens: int
    prompt_tokens: int
    late_most_us: int
    late_mean_us: float
    ending: str

    @property
    def ttft_s(self) -> float | None:
        """Receipt to first write, seconds."""
        return (self.first_ns - self.received_ns) / 1e9 if self.first_ns else None

    @property
    def tpot_s(self) -> float | None:
        """Seconds per token after the first; ``None`` of fewer than two."""
        if not self.first_ns or self.tokens < 2:
            return None
        return (self.last_ns - self.first_ns) / 1e9 / (self.tokens - 1)

    @property
    def e2e_s(self) -> float | None:
        """Receipt to last write, seconds."""
        return (self.last_ns - self.received_ns) / 1e9 if self.last_ns else None


class SendLog:
    """Writes records as requests end; ``flush`` hands them to the system. ``each`` also keeps every token's time."""

    def __init__(self, path: Path | None, each: Path | None = None) -> None:
        self.file: BinaryIO | None = path.open("wb", buffering=1 << 16) if path else None
        self.each: BinaryIO | None = each.open("wb", buffering=1 << 16) if each else None
        if self.file:
            self.file.write(MAGIC)
            self.file.flush()

    def write(
        self, sent: tuple[bytes, int, int, int, int, int, int, int, float, int], times: array[int] | None
    ) -> None:
        """One record, its fields in the order of :class:`Sent`; ``times`` of its tokens where they are kept."""
        if self.file:
            self.file.write(_RECORD.pack(*sent))
        if self.each and times is not None:
            self.each.write(_TIMES.pack(sent[0], len(times)))
            self.each.write(times.tobytes())

    def flush(self) -> None:
        """Hand over what was written so far."""
        for file in (self.file, self.each):
            if file:
                file.flush()

    def close(self) -> None:
        """Write the rest and close."""
        for file in (self.file, self.each):
            if file:
                file.close()


def read_sends(path: Path) -> list[Sent]:
    """All whole records of a log, in the order the requests ended; a last one written by half is left out.

    Raises:
        ValueError: the file is none of a calibrated server.
    """
    data = path.read_bytes()
    if not data.startswith(MAGIC):
        message = f"{path} is no log of the calibrated server"
        raise ValueError(message)
    whole = (len(data) - len(MAGIC)) // _RECORD.size * _RECORD.size
    records = _RECORD.iter_unpack(data[len(MAGIC) : len(MAGIC) + whole])
    return [
        Sent(
            id_.rstrip(b"\0").decode("utf-8", "replace"), received, turn, first, last, tokens, prompt, most, mean,
            ENDINGS[ending],
        )
        for id_, received, turn, first, last, tokens, prompt, most, mean, ending in records
    ]  # fmt: skip


def read_token_times(path: Path) -> Iterator[tuple[str, array[int]]]:
    """(id, nanoseconds of each token's write) of every request of a log of tokens."""
    with path.open("rb") as file:
        while len(head := file.read(_TIMES.size)) == _TIMES.size:
            id_, count = _TIMES.unpack(head)
            times = array("Q")
            times.frombytes(file.read(8 * count))
            yield id_.rstrip(b"\0").decode("utf-8", "replace"), times
