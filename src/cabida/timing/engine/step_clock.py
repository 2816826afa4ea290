"""The compiled form of the one function that times a step (``step_time.engine_step_s``)."""

from __future__ import annotations

from types import FunctionType

from cabida.timing.compiled import compiled
from cabida.timing.engine import step_time

table_s = compiled(step_time.table_s)
engine_step_s = compiled(  # the same text, calling the compiled forms of what it calls
    FunctionType(
        step_time.engine_step_s.__code__,
        vars(step_time) | {"table_s": table_s, "arithmetic": compiled(step_time.arithmetic)},
        "engine_step_s",
    )
)
