"""Plans of benchmarks: read and written as YAML, and made from a decision or a brief."""

from cabida.bench.planned.of_brief import plan_of_brief, plan_of_target
from cabida.bench.planned.of_decision import plan_of_decision, setup_of
from cabida.bench.planned.read import parse_plan, read_plan
from cabida.bench.planned.write import plan_yaml

__all__ = [
    "parse_plan",
    "plan_of_brief",
    "plan_of_decision",
    "plan_of_target",
    "plan_yaml",
    "read_plan",
    "setup_of",
]
