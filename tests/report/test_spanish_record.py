"""A Spanish record in every form: no English word but names and code, no key of a text, numbers of the country."""

import io
import re
from html import unescape
from pathlib import Path

import openpyxl
import pypdf
import pytest
from english_words import CODE, ENGLISH, WORD
from rich.console import Console

from cabida import app
from cabida.faces import show
from cabida.report import render, render_bytes

ROOT = Path(__file__).parents[2]
NAMES = re.compile(r"\(per GPU, NVL72\)|Ada\s+Generation|SF\s+Compute|compute-company plans|v0.6 as_of")
FORMS = ("md", "html", "terminal", "xlsx", "pdf")


@pytest.fixture(scope="module", params=["qlora-70b", "student-4090", "rag-own-premises"])
def decided(request):
    return app.recommend(ROOT / "examples" / f"{request.param}.yaml", as_of="2026-11-30", language="es-MX")


def said(decision, form):
    if form == "terminal":
        stream = io.StringIO()
        console = Console(file=stream, width=4000, highlight=False, markup=False, no_color=True)
        console.print(show.decision(decision, every=True))
        return stream.getvalue()
    if form == "xlsx":
        book = openpyxl.load_workbook(io.BytesIO(render_bytes(decision, "xlsx")))
        cells = (cell.value for sheet in book for row in sheet.iter_rows() for cell in row)
        return "\n".join(one for one in cells if isinstance(one, str) and not one.startswith("="))
    if form == "pdf":
        pages = pypdf.PdfReader(io.BytesIO(render_bytes(decision, "pdf"))).pages
        return "\n".join(page.extract_text() for page in pages)
    return unescape(re.sub(CODE, " ", render(decision, form)) if form == "html" else render(decision, form))


@pytest.mark.parametrize("form", FORMS)
def test_no_english_but_names_and_code(decided, form):
    text = said(decided, form)
    plain = NAMES.sub(" ", CODE.sub("", text) if form == "md" else CODE.sub(" ", text))
    for one in decided.options:  # code that isn't marked as such in every form
        for line in one.command.splitlines():
            plain = plain.replace(line.strip(), " ")
    found = {word for word in WORD.findall(plain) if word.lower() in ENGLISH}
    assert found == set()


def test_english_would_be_found():
    told = "The price comes from a list of the provider, and nobody checked it."
    assert {"the", "price", "from", "of", "and", "nobody"} <= {
        word.lower() for word in WORD.findall(told) if word.lower() in ENGLISH
    }


@pytest.mark.parametrize("form", FORMS)
def test_no_key_of_a_text(decided, form):
    keys = r"\b(?:report|choose|money|checks|brief|faces|origins|living)\.[a-z_]+\.[a-z_.]+\b"
    assert not re.findall(keys, CODE.sub(" ", said(decided, form)))


def test_numbers_are_those_of_mexico(decided):
    text = said(decided, "pdf")
    assert not re.search(r"\d,\d{1,2}\b(?!\d)", re.sub(r"\d{1,3}(?:,\d{3})+", "", text))


def test_no_hyphen_of_a_name_is_doubled_where_a_line_breaks(decided):
    assert not re.search(r"\w-\s+-\w", said(decided, "pdf"))
