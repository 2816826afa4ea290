"""What the user needs: reading, completing and classifying a brief."""

from cabida.brief.asking import Question, questions, template
from cabida.brief.completion import complete, missing
from cabida.brief.examples import example_names, example_text
from cabida.brief.jobs import Lengths, Media, Training
from cabida.brief.model import (
    WORKLOADS,
    Acceptance,
    Brief,
    Budget,
    Consider,
    Costs,
    Held,
    KnownRisk,
    Limits,
    Missing,
    ModelChoice,
    Objectives,
    Team,
    Traffic,
)
from cabida.brief.read import parse_brief, read_brief
from cabida.brief.render import render
from cabida.brief.workload import classify, not_yet
from cabida.brief.wrong_figures import claims, corrections

__all__ = [
    "WORKLOADS",
    "Acceptance",
    "Brief",
    "Budget",
    "Consider",
    "Costs",
    "Held",
    "KnownRisk",
    "Lengths",
    "Limits",
    "Media",
    "Missing",
    "ModelChoice",
    "Objectives",
    "Question",
    "Team",
    "Traffic",
    "Training",
    "claims",
    "classify",
    "complete",
    "corrections",
    "example_names",
    "example_text",
    "missing",
    "not_yet",
    "parse_brief",
    "questions",
    "read_brief",
    "render",
    "template",
]
