"""Plans of benchmarks: read and written as YAML, and made from a decision or a brief."""

from cabida.bench.planned.read import parse_plan, read_plan
from cabida.bench.planned.write import plan_yaml

__all__ = ["parse_plan", "plan_yaml", "read_plan"]
