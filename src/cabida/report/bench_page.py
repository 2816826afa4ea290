"""The report of a benchmark as one file of HTML that asks nothing of anybody: no script, no address."""

from __future__ import annotations

from typing import Any

from cabida.report.bench_learnt import learnt
from cabida.report.bench_parts import parts
from cabida.report.template import template
from cabida.text import locale, speaking


def bench_page(answer: dict[str, Any], spoken: str = "en") -> str:
    """The whole report as HTML text.

    Args:
        answer: of :func:`cabida.report.bench.bench_answer`.
        spoken: language of the page.
    """
    from cabida import __version__

    with speaking(spoken):
        return template("bench.html.j2").render(
            name=answer["name"],
            language=locale(),
            version=__version__,
            learnt=learnt(answer),
            parts=parts(answer),
            journals=answer["journals"],
        )
