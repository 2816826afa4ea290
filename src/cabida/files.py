"""Files written whole or not at all, and only real ones read: no pipe or device hangs a reader or feeds it forever."""

from __future__ import annotations

import errno
import io
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from cabida.errors import InvalidInput
from cabida.text import problem, tr

HAND_KEPT_BYTES_MOST = 5_000_000  # of a file that a person writes


def opened(path: Path | str) -> BinaryIO:
    """A regular file opened for reading; its size is that of ``os.fstat``.

    Raises:
        OSError: it can't be opened, or is a directory, a pipe, a socket or a device.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, tr("facts.not_a_file"), str(path))
    return os.fdopen(handle, "rb")


def is_file(path: Path | str) -> bool:
    """Whether there is a regular file; ``False`` for a name that no disk takes."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):  # too long, or with a byte that is none of a name
        return False


def is_folder(path: Path | str) -> bool:
    """The same of a folder."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def home() -> Path:
    """The user's folder.

    Raises:
        RuntimeError: there is none, or HOME is empty: what would be kept in it doesn't belong in the root.
    """
    if os.environ.get("HOME") == "":
        raise RuntimeError(tr("facts.no_home"))
    return Path.home()


def read_bytes(path: Path | str, most_bytes: int) -> bytes:
    """All of a regular file that holds at most ``most_bytes``.

    Raises:
        OSError: what :func:`opened` refuses, or a file that is larger (EFBIG).
    """
    with _within(path, most_bytes) as file:
        return file.read(most_bytes)


def _within(path: Path | str, most_bytes: int) -> BinaryIO:
    file = opened(path)
    if os.fstat(file.fileno()).st_size > most_bytes:
        file.close()
        raise OSError(errno.EFBIG, tr("facts.too_large", limit=f"{most_bytes / 1e6:,.0f}"), str(path))
    return file


def read_text(path: Path | str, most_bytes: int) -> str:
    """All of a regular file of text in UTF-8, a byte order mark aside.

    Raises:
        OSError: what :func:`read_bytes` refuses.
        UnicodeDecodeError: it is no such text.
    """
    return read_bytes(path, most_bytes).decode("utf-8-sig")


def text_lines(path: Path | str, most_bytes: int, most_chars: int = 100_000) -> Iterator[str]:
    """The lines of a regular file of text in UTF-8, with their ends, as the CSV module takes them.

    Raises:
        OSError: what :func:`read_bytes` refuses, or a line longer than ``most_chars`` (EFBIG).
        UnicodeDecodeError: it is no such text.
    """
    with (
        _within(path, most_bytes) as file,
        io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as stream,
    ):
        while line := stream.readline(most_chars):
            if len(line) == most_chars and not line.endswith(("\n", "\r")):
                raise OSError(errno.EFBIG, tr("facts.long_line", limit=f"{most_chars:,}"), str(path))
            yield line


def write_text(path: Path | str, text: str) -> Path:
    """Write ``text`` to ``path`` through a new file beside it, making the folders that are missing.

    What a link leads to is written, the link stays; a device or a pipe takes the text as it is.

    Raises:
        InvalidInput: CB-R005, it can't be written there.
    """
    return write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path | str, content: bytes) -> Path:
    """The same of ``content`` as it is.

    Raises:
        InvalidInput: CB-R005, it can't be written there.
    """
    target = Path(path)
    try:
        if target.name and _replaceable(target):
            _through_a_new_file(target.resolve(), content)
        else:  # a pipe or a device is written to, never put aside
            target.write_bytes(content)
    except OSError as error:
        raise InvalidInput([problem("CB-R005", file=str(target), line=0, why=error.strerror or "")]) from None
    return target


def refuse_same(out: Path | str, read: Iterable[Path | str]) -> None:
    """Refuse to write over what is read.

    Raises:
        InvalidInput: CB-R014.
    """
    target = Path(out)
    for one in read:
        try:
            same = target.exists() and target.is_file() and target.samefile(one)
        except (OSError, ValueError):
            same = False
        if same:
            raise InvalidInput([problem("CB-R014", file=str(target), line=0)])


def _replaceable(target: Path) -> bool:
    """Whether a new file may take its place: there is none yet, or a regular one."""
    return target.is_file() or not target.exists()


def _through_a_new_file(target: Path, content: bytes) -> None:
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with beside.open("xb") as stream:
            stream.write(content)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
