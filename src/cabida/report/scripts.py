"""The scripts inside a page, and the policy that lets these run and nothing else."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources

LIBRARY = ("d3.min.js", "plot.umd.min.js")  # Plot finds D3 where it left itself
OURS = ("words.js", "model.js", "drawn.js", "sliders.js")
BUNDLED, END_OF_BUNDLED = "<!--bundled-->", "<!--/bundled-->"  # between them nothing is of the decision


@dataclass(frozen=True, slots=True)
class Scripts:
    """Script elements as markup, with the sources that a content security policy has to name."""

    markup: str
    sources: str  # 'sha256-...' 'sha256-...'


def scripts(functions: str) -> Scripts:
    """The library and the page's own script after ``functions``: JavaScript made of a decision's equations."""
    ours = "\n".join(_asset(name) for name in OURS)
    parts = [*(_asset(name) for name in LIBRARY), f'(() => {{\n"use strict";\n{ours}}})();']
    equations = f'"use strict";\n{functions}\n'
    bundled = "\n".join(f"<script>{one}</script>" for one in parts)
    return Scripts(
        f"<script>{equations}</script>\n{BUNDLED}\n{bundled}\n{END_OF_BUNDLED}",
        " ".join(_hash(one) for one in (equations, *parts)),
    )


def without_bundled(page: str) -> str:
    """A page without what every page carries alike: the library, our script and the digests of both."""
    before, found, after = page.partition(BUNDLED)
    rest = after.partition(END_OF_BUNDLED)[2] if found else ""
    return before + rest


@cache
def _asset(name: str) -> str:
    return (resources.files("cabida.report") / "assets" / name).read_text(encoding="utf-8")


@cache
def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
