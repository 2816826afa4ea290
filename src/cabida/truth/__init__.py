"""Predictions against measurements: reading cases, predicting them, scoring the difference."""

from cabida.truth.case import Case, read_cases
from cabida.truth.validate import validate

__all__ = ["Case", "read_cases", "validate"]
