"""How the pages of docs/ become a site: one build for English, one for the pages of docs/es.

``build.py`` beside this file runs it. No page of the site asks anything of another one: the theme's fonts
are the reader's own, and the search is an index in a file.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = Path(os.environ.get("CABIDA_DOCS") or Path(__file__).resolve().parents[1])
SPANISH = DOCS / "es"
ENGLISH_ONLY = "<!-- english only -->"
LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\(<?([^)>\s]+)>?\)")

language = os.environ.get("CABIDA_SITE", "en")
project = "Cabida"
author = "Cabida"
extensions = ["myst_parser"]
root_doc = "index"
exclude_patterns = ["site/**", "es/**"] if language == "en" else []
myst_heading_anchors = 6
suppress_warnings = ["misc.highlighting_failure"]  # blocks that shorten what is printed
smartquotes = False  # two hyphens are those of an option
html_theme = "furo"
html_title = "Cabida"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_show_search_summary = False  # it would be fetched, which a page opened from a folder may not


def setup(app: Sphinx) -> None:
    """Connect what is done to each page's text before it is read."""
    app.connect("source-read", _prepare)


def _prepare(app: Sphinx, name: str, source: list[str]) -> None:
    text = source[0]
    if name == root_doc:
        text += _navigation()
    if ENGLISH_ONLY in text:
        text = text.replace(ENGLISH_ONLY, english_only())
    source[0] = _with_links(text, Path(app.srcdir) / f"{name}.md")


def navigation(of: str = language) -> dict[str, list[str]]:
    """The pages of each part of navigation.json that are there, by the part's title; empty parts left out."""
    here = DOCS if of == "en" else SPANISH
    parts = json.loads((Path(__file__).parent / "navigation.json").read_text(encoding="utf-8"))[of]
    found = {
        part["title"]: [
            path.relative_to(here).with_suffix("").as_posix()
            for pattern in part["pages"]
            for path in sorted(here.glob(f"{pattern}.md"))
        ]
        for part in parts
    }
    return {title: pages for title, pages in found.items() if pages}


def _navigation() -> str:
    return "".join(
        f"\n\n```{{toctree}}\n:caption: {title}\n:maxdepth: 1\n\n" + "\n".join(pages) + "\n```\n"
        for title, pages in navigation().items()
    )


def english_only() -> str:
    """A list of the pages that docs/es has no page of the same name for."""
    names = sorted(
        path.relative_to(DOCS).as_posix()
        for path in DOCS.rglob("*.md")
        if path.relative_to(DOCS).parts[0] not in ("es", "site")
        and not (SPANISH / path.relative_to(DOCS)).exists()
    )
    return "\n".join(f"- [{_title(DOCS / name)}](../{name})" for name in names)


def _title(page: Path) -> str:
    found = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return found.group(1).replace("[", "").replace("]", "") if found else page.stem


def _with_links(text: str, page: Path) -> str:
    """Links of the text, code left alone: to the other language's site, and none to files beyond docs/."""
    parts = re.split(r"(^```.*?^```[ ]*$)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(
        part if part.startswith("```") else LINK.sub(lambda found: _link(found, page), part) for part in parts
    )


def _link(found: re.Match[str], page: Path) -> str:
    words, target = found.groups()
    path, _, anchor = target.partition("#")
    if not path or "://" in target or target.startswith("mailto:"):
        return found[0]
    here = DOCS if language == "en" else SPANISH
    there = Path(os.path.normpath(page.parent / path))
    if there.suffix == ".md" and there.is_relative_to(DOCS):
        of = "es" if there.is_relative_to(SPANISH) else "en"
        if of == language:
            return found[0]
        root = SPANISH if of == "es" else DOCS
        up = "../" * len(page.relative_to(here).parts)
        address = f"{up}{of}/{there.relative_to(root).with_suffix('.html').as_posix()}"
        return f'<a href="{address}{"#" + anchor if anchor else ""}">{words}</a>'
    return found[0] if there.is_relative_to(here) else words
