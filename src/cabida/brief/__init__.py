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
]
