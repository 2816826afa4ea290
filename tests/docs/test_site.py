"""The site of the pages: everything in it once, built without a warning, searched, and asking nothing of others."""

import importlib.util
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import snowballstemmer

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SITE = DOCS / "site"
KNOWN = {"en": ("english", "denominator", "choosing"), "es": ("spanish", "veredicto", "fit")}
OUTSIDE = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|input)\b[^>]*\bsrc(?:set)?=["']?(?:https?:)?//"""
    r"""|<link\b(?![^>]*rel=["'](?:canonical|license)["'])[^>]*\bhref=["']?(?:https?:)?//"""
    r"""|<object\b[^>]*\bdata=["']?(?:https?:)?//"""
    r"""|url\(\s*["']?(?:https?:)?//|@import\s+(?:url\()?["']?(?:https?:)?//""",
    re.IGNORECASE,
)


@cache
def script(name):
    spec = importlib.util.spec_from_file_location(f"site_{name}", SITE / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def pages_in(folder, *but):
    found = {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.md")}
    return {name for name in found if name != "index" and not name.startswith(but)}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, str(SITE / "build.py"), str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(
    ("language", "folder", "but"), [("en", DOCS, ("es/", "site/")), ("es", DOCS / "es", ())]
)
def test_every_page_is_in_the_navigation_once(language, folder, but):
    parts = script("conf").navigation(language)
    named = [page for pages in parts.values() for page in pages]
    assert sorted(named) == sorted(pages_in(folder, *but))


def test_what_the_navigation_names_is_there():
    for language, folder in (("en", DOCS), ("es", DOCS / "es")):
        for part in json.loads((SITE / "navigation.json").read_text(encoding="utf-8"))[language]:
            for page in part["pages"]:
                assert "*" in page or (folder / f"{page}.md").is_file(), page


@pytest.mark.parametrize("name", sorted(script("generated").pages()))
def test_generated_pages_are_todays(name):
    made = script("generated").pages()[name]()
    assert (DOCS / name).read_text(encoding="utf-8") == made, f"docs/{name} is stale: make docs"


def test_an_error_has_its_text_its_cure_and_how_it_ends():
    page = (DOCS / "errors.md").read_text(encoding="utf-8")
    row = re.search(r"^\| CB-U005 \| (.+) \| (.*) \| (\d+) \|$", page, re.MULTILINE)
    assert row
    assert row[3] == "3"
    assert len(re.findall(r"^\| CB-[A-Z]\d{3} \|", page, re.MULTILINE)) == len(
        script("generated").error_codes()
    )


@pytest.mark.parametrize("language", KNOWN)
def test_the_search_finds_a_word(site, language):
    stemmer, word, page = KNOWN[language]
    text = (site / language / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    numbers = index["terms"][snowballstemmer.stemmer(stemmer).stemWord(word)]
    names = [index["docnames"][number] for number in ([numbers] if isinstance(numbers, int) else numbers)]
    assert page in names
    assert "aardvark" not in index["terms"]


def test_pages_lead_to_the_other_language(site):
    assert 'href="../es/index.html"' in (site / "en/index.html").read_text(encoding="utf-8")
    told = (site / "es/english-only.html").read_text(encoding="utf-8")
    listed = re.findall(r'href="\.\./en/([\w/.-]+)"', told)
    assert "uncertainty.html" in listed
    assert "fit.html" not in listed
    pages = [page for page in site.rglob("*.html") if page.parent != site]
    for page in pages:
        for target in re.findall(r'href="((?:\.\./)+(?:en|es)/[^"#]+)', page.read_text(encoding="utf-8")):
            assert (page.parent / target).is_file(), (page.name, target)


def test_nothing_is_asked_of_another_site(site):
    assert OUTSIDE.search('<script src="https://a.example/b.js">')
    assert OUTSIDE.search("@font-face { src: url(//a.example/f.woff2) }")
    files = [path for ending in ("html", "css") for path in site.rglob(f"*.{ending}")]
    assert len(files) > 60
    for file in files:
        found = OUTSIDE.search(file.read_text(encoding="utf-8"))
        assert not found, (file.relative_to(site).as_posix(), found and found[0])
