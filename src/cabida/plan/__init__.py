"""The shared nouns of a decision. No arithmetic lives here."""

from cabida.plan.decision import (
    Assumption,
    Caution,
    CostLine,
    Decision,
    Estimate,
    Flip,
    Measurement,
    Option,
    Rejection,
    Replica,
)
from cabida.plan.deployment import Candidate, Deployment, Load, Parallel, Settings
from cabida.plan.progress import Progress
from cabida.plan.setup import Setup
from cabida.plan.training import TrainingRun

__all__ = [
    "Assumption",
    "Candidate",
    "Caution",
    "CostLine",
    "Decision",
    "Deployment",
    "Estimate",
    "Flip",
    "Load",
    "Measurement",
    "Option",
    "Parallel",
    "Progress",
    "Rejection",
    "Replica",
    "Settings",
    "Setup",
    "TrainingRun",
]
