"""The exact command that starts what was decided."""

from __future__ import annotations

from cabida.launch.media import making
from cabida.launch.serve import serving
from cabida.launch.train import training
from cabida.plan import Deployment, TrainingRun


def command(what: Deployment | TrainingRun) -> str:
    """Shell text that starts one replica of a deployment, or a training run.

    One option a line, joined by backslashes; whatever needs doing first stands above as a comment.
    Empty for an engine whose command line isn't known.
    """
    if isinstance(what, Deployment):
        return making(what) if what.making else serving(what)
    return training(what)


__all__ = ["command", "making", "serving", "training"]
