"""What a command is given: a file, or the id of something on the shelf."""

from __future__ import annotations

from pathlib import Path

from cabida.evidence.shelf.ids import is_id


def brief_named(given: Path | str) -> str | None:
    """The newest text of the brief whose id is given; ``None`` where a file is.

    Raises:
        NotThere: CB-E230, it is an id, and neither a file nor a brief that is kept has that name.
    """
    from cabida.evidence.shelf.briefs import brief

    return brief(str(given)).text if is_named(given, "b") else None


def decision_named(given: Path | str) -> str | None:
    """The JSON of the decision whose id is given; ``None`` where a file is.

    Raises:
        NotThere: CB-E238, it is an id, and neither a file nor a decision that is kept has that name.
    """
    from cabida.evidence.shelf.decisions import decision_text

    return decision_text(str(given)) if is_named(given, "d") else None


def is_named(given: Path | str, letter: str) -> bool:
    """Whether an id of this letter is given, and no file has that name."""
    return is_id(str(given), letter) and not Path(given).exists()
