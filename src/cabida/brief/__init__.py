"""What the user needs: reading, completing and classifying a brief."""

from cabida.brief.model import (
    WORKLOADS,
    Acceptance,
    Brief,
    Budget,
    Consider,
    Costs,
    Held,
    Lengths,
    Limits,
    Media,
    Missing,
    ModelChoice,
    Objectives,
    Team,
    Traffic,
    Training,
)
from cabida.brief.read import parse_brief, read_brief
from cabida.brief.workload import classify, not_yet

__all__ = [
    "WORKLOADS",
    "Acceptance",
    "Brief",
    "Budget",
    "Consider",
    "Costs",
    "Held",
    "Lengths",
    "Limits",
    "Media",
    "Missing",
    "ModelChoice",
    "Objectives",
    "Team",
    "Traffic",
    "Training",
    "classify",
    "not_yet",
    "parse_brief",
    "read_brief",
]
