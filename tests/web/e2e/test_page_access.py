"""No serious fault of access on the pages that can be opened at once: light and dark, desktop and phone, two languages.

What is filled in, wrong or under way is looked at where it comes to be: on the whole journey, at quotes, benchmarks."""

import hashlib
import re

import decision_sample as sample
import page_access
import pytest

from cabida.evidence import shelf

EMPTY = (
    "/", "/briefs", "/briefs/new", "/decisions", "/compare", "/quotes", "/people", "/log", "/api",
    "/catalogue/gpus", "/catalogue/models", "/catalogue/prices", "/nothing-here", "/decisions/nothing-here",
    "/briefs/new?workload=realtime-inference", "/briefs/new?example=chat-llama-70b", "/bench", "/bench/observations",
)  # fmt: skip
TAILS = ("", "/options/1", "/options/3", "/explain/unit_cost", "/what-if", "/options/3/launch")
LOOKS = [("light", 1280, "en"), ("dark", 1280, "es"), ("light", 390, "es"), ("dark", 390, "en")]
NOT_THERE = ("/nothing-here", "/decisions/nothing-here")


@pytest.fixture(scope="module")
def kept_at(served):
    """The address of a decision on the shelf."""
    return f"/decisions/{shelf.add_decision(sample.text_of('story-startup-chatbot'), store=served.store).id}"


def look(page, paths, scheme, width, language):
    """Faults of the pages at these addresses, by address."""
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    found = {}
    for path in paths:
        page.expected = ["404"] if path in NOT_THERE else page.expected
        answer = page.goto(f"{path}{'&' if '?' in path else '?'}lang={language}")
        assert answer.status == (404 if path in NOT_THERE else 200), path
        assert page.locator("html").get_attribute("lang") == language
        if faults := page_access.serious(page):
            found[path] = faults
        if page_access.too_wide(page):
            found[path] = [*found.get(path, []), "wider than the screen"]
    return found


def test_the_copy_of_axe_is_the_published_one():
    row = next(
        one for one in (page_access.VENDOR / "README.md").read_text().splitlines() if "axe.min.js" in one
    )
    digest = hashlib.sha256((page_access.VENDOR / "axe.min.js").read_bytes()).hexdigest()
    assert digest == re.findall(r"`(\w{64})`", row)[0]
    assert "axe v4.14.1" in page_access.AXE[:60]
    assert "Mozilla Public License" in (page_access.VENDOR / "axe.LICENSE").read_text()


def test_a_fault_would_be_found(browser_page):
    page = browser_page
    page.goto("/")
    assert page_access.serious(page) == []
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    assert [one[0] for one in page_access.serious(page)] == ["button-name"]


@pytest.mark.parametrize(("scheme", "width", "language"), LOOKS)
def test_pages_that_hold_nothing_yet(browser_page, scheme, width, language):
    assert look(browser_page, EMPTY, scheme, width, language) == {}


@pytest.mark.parametrize(("scheme", "width", "language"), LOOKS)
def test_a_decision_and_what_is_behind_it(browser_page, kept_at, scheme, width, language):
    id = kept_at.rpartition("/")[2]
    paths = [kept_at + tail for tail in TAILS] + [f"/compare?a={id}:1&b={id}:3", "/decisions"]
    assert look(browser_page, paths, scheme, width, language) == {}


def test_open_trees_have_none(browser_page, kept_at):
    page = browser_page
    for tail in ("", "/explain/unit_cost", "/what-if"):
        page.goto(kept_at + tail)
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        page.wait_for_load_state("networkidle")
        assert page_access.serious(page) == [], tail


def test_the_first_stop_of_tab_skips_to_the_page(browser_page):
    page = browser_page
    page.goto("/decisions")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')").startswith("#")
    box = page.evaluate(
        "(() => { const b = document.activeElement.getBoundingClientRect(); return [b.top, b.height] })()"
    )
    assert box[0] >= 0
    assert box[1] > 10
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("!document.activeElement.closest('header')")
