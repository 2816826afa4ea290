"""The files that start an option, by form."""

from __future__ import annotations

from collections.abc import Callable

from cabida.errors import InvalidInput
from cabida.launch.compose import compose
from cabida.launch.distributed import accelerate, deepspeed, torchrun
from cabida.launch.kubernetes import kubernetes
from cabida.launch.skypilot import skypilot
from cabida.launch.slurm import slurm
from cabida.launch.start import Start, start_of
from cabida.launch.systemd import systemd
from cabida.plan import Decision, Option
from cabida.text import has_text, problem, tr

# form -> of what kinds of work, file name, what writes it
Writer = Callable[[Start], str]
FORMS: dict[str, tuple[tuple[str, ...], str, Writer]] = {
    "compose": (("serving",), "compose.yaml", compose),
    "kubernetes": (("serving",), "kubernetes.yaml", kubernetes),
    "systemd": (("serving",), "{name}.service", systemd),
    "skypilot": (("serving", "training"), "skypilot.yaml", skypilot),
    "slurm": (("training",), "{name}.sbatch", slurm),
    "torchrun": (("training",), "torchrun.sh", torchrun),
    "accelerate": (("training",), "accelerate.yaml", accelerate),
    "deepspeed": (("training",), "deepspeed.json", deepspeed),
}


def forms_of(kind: str) -> tuple[str, ...]:
    """The forms that a kind of work has: ``shell`` always, it is the option's own command."""
    return ("shell", *(form for form, (kinds, _, _) in FORMS.items() if kind in kinds))


def files(decision: Decision, option: Option, form: str) -> dict[str, str]:
    """Text by file name.

    Args:
        decision: that the option is of.
        option: what is to be started.
        form: one of ``forms_of`` its kind, or ``all`` of them that apply.

    Raises:
        InvalidInput: nothing of it can be started (CB-L001 to CB-L003), the form isn't one of its kind (CB-L008), or
            what the form asks isn't known of it (CB-L004 to CB-L007).
    """
    start = start_of(decision, option)
    known = forms_of(start.kind)
    if form != "all" and form not in known:
        kind = tr(f"launch.kind.{start.kind}") if has_text(f"launch.kind.{start.kind}") else start.kind
        raise InvalidInput([problem("CB-L008", form=form, kind=kind, known=", ".join(known))])
    found: dict[str, str] = {}
    for one in known if form == "all" else (form,):
        if one == "shell":
            found |= _shell(start, option.command)
            continue
        _, name, write = FORMS[one]
        try:
            found[name.format(name=start.name)] = write(start)
        except InvalidInput:
            if form != "all":
                raise
    return found


def _shell(start: Start, command: str) -> dict[str, str]:
    """The option's own command: a script of Python where something is made with diffusers or the like."""
    if start.kind == "media":
        return {f"{start.name}.py": f"{command}\n"}
    return {f"{start.name}.sh": f"#!/usr/bin/env bash\nset -euo pipefail\n{command}\n"}
