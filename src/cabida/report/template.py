"""Where pages of HTML come from: the templates, every value escaped, every missing name an error."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from cabida.text import tr

if TYPE_CHECKING:
    from jinja2 import Environment, Template


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("cabida.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"tr": tr}
    return environment


def template(name: str, **words: object) -> Template:
    """The template ``name`` of the folder ``templates``; ``words`` are what it may call beside what it is given."""
    return _environment().get_template(name, globals=words or None)
