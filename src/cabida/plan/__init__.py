"""The shared nouns of a decision. No arithmetic lives here."""

from cabida.plan.decision import (
    AcceptedRisk,
    Assumption,
    Caution,
    Compatibility,
    CostLine,
    Decision,
    Estimate,
    Flexibility,
    Flip,
    Measurement,
    Option,
    Rejection,
    Replica,
    SignOff,
)
from cabida.plan.deployment import Candidate, Deployment, Load, Parallel, Settings
from cabida.plan.progress import Progress
from cabida.plan.setup import Setup
from cabida.plan.training import TrainingRun

__all__ = [
    "AcceptedRisk",
    "Assumption",
    "Candidate",
    "Caution",
    "Compatibility",
    "CostLine",
    "Decision",
    "Deployment",
    "Estimate",
    "Flexibility",
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
    "SignOff",
    "TrainingRun",
]
