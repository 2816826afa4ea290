"""What may go wrong: software that does not run, splits that are not lawful, classic mistakes, cards that don't fit."""

from cabida.checks.living_with import weighed
from cabida.checks.parts import check_parts
from cabida.checks.physical import Machine, housing_problems, supply_w
from cabida.checks.pitfalls import pitfalls
from cabida.checks.pitfalls_brief import brief_pitfalls
from cabida.checks.pitfalls_quote import quote_pitfalls
from cabida.checks.plan import judge_split
from cabida.checks.software import engines_for, runnable, trainable
from cabida.checks.stack import check_stack
from cabida.checks.told import check_pc, check_rack, check_software
from cabida.checks.verdict import Verdict

__all__ = [
    "Machine",
    "Verdict",
    "brief_pitfalls",
    "check_parts",
    "check_pc",
    "check_rack",
    "check_software",
    "check_stack",
    "engines_for",
    "housing_problems",
    "judge_split",
    "pitfalls",
    "quote_pitfalls",
    "runnable",
    "supply_w",
    "trainable",
    "weighed",
]
