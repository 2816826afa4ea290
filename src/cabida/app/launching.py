"""``launch``: from a decision to the files that start one of its options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cabida.errors import InvalidInput
from cabida.text import closest, problem, speaking

if TYPE_CHECKING:
    from cabida.plan import Decision, Option


def launch_files(
    decision: Path | str | Decision, *, option: str = "", form: str = "all", out: Path | str | None = None
) -> dict[str, str]:
    """The files that start an option of a decision, by name.

    Args:
        decision: JSON of a decision, or the decision.
        option: by rank or id; the first when left out.
        form: shell, compose, kubernetes, systemd, skypilot, slurm, torchrun, accelerate or deepspeed, as far as the
            kind of work has it; ``all`` = each that applies.
        out: folder to write them into.

    Raises:
        InvalidInput: no such option (CB-L009), nothing of it can be started (CB-L001 to CB-L003), or the form isn't of
            its kind of work or can't hold it (CB-L004 to CB-L008).
    """
    from cabida.files import write_text
    from cabida.launch.written import files
    from cabida.report.store import load

    read = load(decision) if isinstance(decision, Path | str) else decision
    with speaking(read.language):
        found = files(read, option_named(read, option), form)
    if out is not None:
        for name, text in found.items():
            path = write_text(Path(out) / name, text)
            if text.startswith("#!"):
                path.chmod(0o755)
    return found


def option_named(decision: Decision, name: str) -> Option:
    """An option by its rank or id; the first of "".

    Raises:
        InvalidInput: CB-L009, there is none.
    """
    known = {key: one for one in decision.options for key in (str(one.rank), one.id)}
    if not name and decision.options:
        return decision.options[0]
    if name not in known:
        ranks = ", ".join(str(one.rank) for one in decision.options) or "–"
        near = closest(name, known) or ranks
        raise InvalidInput([problem("CB-L009", option=name[:60], near=near, known=ranks)])
    return known[name]
