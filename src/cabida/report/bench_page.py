"""The report of a benchmark as one file of HTML that asks nothing of anybody: no script, no address."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from cabida.report import words as say
from cabida.report.bench_learnt import learnt
from cabida.report.bench_parts import parts
from cabida.text import language, tr

if TYPE_CHECKING:
    from jinja2 import Template


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("cabida.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"tr": tr}
    return environment.get_template("bench.html.j2")


def bench_page(answer: dict[str, Any], speaking: str = "en") -> str:
    """The whole report as HTML text.

    Args:
        answer: of :func:`cabida.report.bench.bench_answer`.
        speaking: "en" or "es".
    """
    from cabida import __version__

    with say.speaking(speaking):
        return _template().render(
            name=answer["name"],
            language=language(),
            version=__version__,
            learnt=learnt(answer),
            parts=parts(answer),
            journals=answer["journals"],
        )
