"""Measured runs written in the forms of other tools, for the scripts people have around those.

``exported(form, runs)`` gives the texts of files by their name; each is read back by our own importers to the same
figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cabida.evidence.exports import reports, serving, tables
from cabida.evidence.exports.measured import Measured, measured_of

FORMS: dict[str, Callable[[Sequence[Measured]], dict[str, str]]] = {
    "vllm": serving.vllm,
    "sglang": serving.sglang,
    "guidellm": reports.guidellm,
    "aiperf": reports.aiperf,
    "inference-perf": reports.inference_perf,
    "llmperf": reports.llmperf,
    "locust": tables.locust,
    "csv": tables.table,
    "cases": tables.cases,
}

__all__ = ["FORMS", "Measured", "exported", "measured_of"]


def exported(form: str, runs: Sequence[Measured]) -> dict[str, str]:
    """Texts of files by their name, relative to the folder they go to; a name in use gets a number.

    Raises:
        KeyError: the form is none of FORMS.
    """
    write = FORMS[form]
    seen: dict[str, int] = {}
    named = []
    for one in runs:
        count = seen[one.name] = seen.get(one.name, 0) + 1
        named.append(one if count == 1 else _renamed(one, f"{one.name}-{count}"))
    return write(named)


def _renamed(one: Measured, name: str) -> Measured:
    from dataclasses import replace

    return replace(one, name=name)
