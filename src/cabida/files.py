"""Files written whole or not at all: a reader never sees half of one."""

from __future__ import annotations

import secrets
from pathlib import Path

from cabida.errors import InvalidInput
from cabida.text import problem


def write_text(path: Path | str, text: str) -> Path:
    """Write ``text`` to ``path`` through a new file beside it, making the folders that are missing.

    Raises:
        InvalidInput: CB-R005, it can't be written there.
    """
    target = Path(path)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with beside.open("x", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise InvalidInput([problem("CB-R005", file=str(target), line=0, why=error.strerror or "")]) from None
    return target
