"""Measured runs written in the forms of other tools, for the scripts people have around those.

``exported(form, runs)`` gives the texts of files by their name; each is read back by our own importers to the same
figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

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
    """Texts of files by their name, relative to the folder they go to; one whose file is another's gets a number.

    Raises:
        KeyError: the form is none of FORMS.
    """
    write = FORMS[form]
    taken: set[str] = set()
    named = []
    for at, one in enumerate(runs):
        count, name = 1, one.name
        while (file := reports.file_name(name, at)) in taken:
            count += 1
            name = f"{one.name[:60]}-{count}"
        taken.add(file)
        named.append(one if count == 1 else replace(one, name=name))
    return write(named)
