"""The hand-made decision in every form and both languages, against files kept in git.

CABIDA_UPDATE_GOLDEN=1 writes them anew; look at the difference before you keep it.
"""

import io
import os
import re
from pathlib import Path

import pypdf
import pytest
from report_sample import decision
from rich.console import Console

from cabida import report
from cabida.faces import show
from cabida.report.scripts import without_bundled

GOLDEN = Path(__file__).parent / "golden"


def plain(page):
    """The page without the chart library, our script and the digests of both, which are the same in every page."""
    return re.sub(r"script-src [^;]*;", "script-src …;", without_bundled(page))


def agree(name, text):
    file = GOLDEN / name
    text = plain(text) if name.endswith(".html") else text
    if os.environ.get("CABIDA_UPDATE_GOLDEN") == "1":
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("form", ["json", "md", "html"])
def test_record(form, language):
    agree(f"decision.{language}.{form}", report.render(decision(language), form))


@pytest.mark.parametrize("language", ["en", "es"])
def test_terminal(language):
    stream = io.StringIO()
    console = Console(file=stream, width=100, highlight=False, markup=False, no_color=True)
    console.print(show.decision(decision(language), paths=[Path("out/support-chat.html")]))
    agree(
        f"decision.{language}.txt", "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"
    )


@pytest.mark.parametrize("language", ["en", "es"])
def test_paper(language):
    """Its words in their order; where lines and pages break is Typst's business."""
    pages = pypdf.PdfReader(io.BytesIO(report.render_bytes(decision(language), "pdf"))).pages
    words = " ".join(" ".join(page.extract_text() for page in pages).split())
    agree(f"decision.{language}.pdf.txt", words.replace(" • ", "\n• ") + "\n")
