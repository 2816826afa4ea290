"""Decisions in a real browser: sorted, filtered, opened down to a source, moved, shared, printed; by keyboard too."""

import re
from itertools import pairwise

import decision_sample as sample
import pytest

from cabida import app
from cabida.choose.levers import levers
from cabida.evidence import shelf
from cabida.text import catalogue


@pytest.fixture(scope="module")
def kept(served):
    """Addresses of decisions on the shelf of the server: an API won, and a training run."""
    names = ("story-startup-chatbot", "qlora-70b")
    return {
        name: f"/decisions/{shelf.add_decision(sample.text_of(name), store=served.store).id}"
        for name in names
    }


def ranks(page):
    """Ranks of the rows in sight."""
    return [int(one) for one in page.locator("table.candidates .rank").all_inner_texts()]


def words(language, key, room="pages_decision"):
    return catalogue(language, room)[key]


@pytest.mark.parametrize("language", ["en", "es"])
def test_candidates_are_sorted_and_filtered_in_place(browser_page, kept, language):
    made = sample.decided("story-startup-chatbot")
    page = browser_page
    page.goto(f"{kept['story-startup-chatbot']}?lang={language}")
    assert ranks(page) == [one.rank for one in made.options]
    page.evaluate("window.mark = 1")  # is lost when the page is loaded anew
    page.locator("#sort-cost").click()
    page.wait_for_url("**sort=cost**")
    by_cost = [one.rank for one in sorted(made.options, key=lambda one: one.cost_per_month_money)]
    page.locator("[aria-sort=ascending]").wait_for()
    assert ranks(page) == by_cost
    page.locator("#sort-cost").focus()
    page.keyboard.press("Enter")
    page.locator("[aria-sort=descending]").wait_for()
    assert ranks(page) == [
        one.rank for one in sorted(made.options, key=lambda one: one.cost_per_month_money, reverse=True)
    ]
    assert page.evaluate("document.activeElement.id") == "sort-cost"
    page.locator("#filter-capacity").select_option("spot")
    spot = {one.rank for one in made.options if one.capacity == "spot"}
    page.locator("table.candidates .rank").nth(len(spot)).wait_for(state="detached")
    assert set(ranks(page)) == spot
    assert "capacity=spot" in page.url
    assert page.evaluate("window.mark") == 1
    page.go_back()
    page.reload()
    assert len(ranks(page)) == len(made.options)


def test_columns_are_chosen_with_the_keyboard(browser_page, kept):
    page = browser_page
    page.goto(kept["qlora-70b"])
    assert page.locator("#sort-region").count() == 0
    page.locator(".columns > summary").focus()
    page.keyboard.press("Enter")
    page.locator(".columns input[value=region]").focus()
    page.keyboard.press("Space")
    page.locator("#sort-region").wait_for()
    assert page.locator(".columns").get_attribute("open") is not None
    page.keyboard.press("Escape")
    assert page.locator(".columns").get_attribute("open") is None
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


@pytest.mark.parametrize("language", ["en", "es"])
def test_a_number_is_opened_down_to_a_source(browser_page, kept, language):
    page = browser_page
    page.goto(f"{kept['qlora-70b']}?lang={language}")
    page.locator("#numbers + p + ul a[href$='/explain/unit_cost']").click()
    page.wait_for_url("**/explain/unit_cost")
    first = page.locator(".explained summary").first
    first.focus()
    for _ in range(200):  # right opens, then goes in; down where there is nothing to open
        if page.locator(".explained a[rel~=noreferrer]").count():
            break
        before = page.evaluate("document.activeElement.innerText")
        page.keyboard.press("ArrowRight")
        page.wait_for_load_state("networkidle")
        page.keyboard.press("ArrowDown")
        if page.evaluate("document.activeElement.innerText") == before:
            break
    source = page.locator(".explained a[rel~=noreferrer]").first
    assert source.get_attribute("href").startswith("http")
    line = page.locator(".leaf", has=page.locator("a[rel~=noreferrer]")).first
    assert re.search(r"20\d\d-\d\d-\d\d", line.inner_text())


@pytest.mark.parametrize("language", ["en", "es"])
def test_a_slider_turns_the_answer_and_the_link_keeps_it(browser_page, kept, language):
    made = sample.decided("story-startup-chatbot")
    name = next(
        one.name
        for one in levers(made)
        if not one.locked and app.what_if(made, {one.name: one.high}).options[0].id != made.options[0].id
    )
    page = browser_page
    page.goto(f"{kept['story-startup-chatbot']}/what-if?lang={language}")
    lever = page.locator(".lever", has=page.locator(f"[id='set-{name}']"))
    while not lever.is_visible():
        folded = page.locator("details.group:not([open])", has=page.locator(f"[id='set-{name}']"))
        folded.first.locator("> summary").click()
    slider = lever.locator("[type=range]")
    first = page.locator(".after tbody tr").first
    assert first.locator(".rank").inner_text() == "1"
    was = first.locator("a").inner_text()
    slider.focus()
    page.keyboard.press("End")
    page.locator(".set-answer.turned").wait_for()
    now = app.what_if(made, {name: next(one.high for one in levers(made) if one.name == name)})
    assert page.locator(".set-answer").inner_text() == now.answer
    assert (
        page.locator(".after tbody tr a").first.inner_text() == now.options[0].title.split(" · ", 1)[0] != was
    )
    page.wait_for_url("**set.*")
    link = page.locator("#kept-link").get_attribute("href")
    page.goto(link)
    assert page.locator(".set-answer").inner_text() == now.answer
    lever.locator(".reset").evaluate("one => one.click()")
    page.locator(".set-answer.turned").wait_for(state="detached")
    assert page.locator(".set-answer").inner_text() == made.answer


def test_two_ticked_options_are_compared(browser_page, kept):
    page = browser_page
    page.goto(kept["qlora-70b"])
    for rank in (1, 2, 3):  # a third tick takes the place of the first
        page.locator(f"[name=pick][value$=':{rank}']").check()
    assert page.locator("[name=pick]:checked").count() == 2
    page.locator("[data-pick]").click()
    page.wait_for_url("**/compare**")
    assert page.locator(".beside thead .rank").all_inner_texts() == ["2", "3"]
    assert page.locator("tr.differs").count() > 3


def test_a_point_of_the_picture_leads_to_its_row(browser_page, kept):
    page = browser_page
    page.goto(kept["qlora-70b"])
    page.locator(".pareto svg a[href='#option-3']").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.closest('tr').id") == "option-3"
    page.goto(f"{kept['qlora-70b']}?q=nothing-like-it")
    page.locator(".pareto svg a[href='#option-3']").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/options/3")


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark")])
def test_nothing_is_wider_than_the_screen(browser_page, kept, width, scheme):
    page = browser_page
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme=scheme)
    at = kept["story-startup-chatbot"]
    id = at.rpartition("/")[2]
    for path in (
        "/decisions", at, f"{at}/options/3", f"{at}/explain/unit_cost", f"{at}/what-if", f"{at}/options/3/launch",
        f"/compare?a={id}:1&b={id}:4", "/compare",
    ):  # fmt: skip
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.locator("h1").count() == 1
        levels = [
            int(one[1])
            for one in page.evaluate(
                "[...document.querySelectorAll('h1,h2,h3,h4')].map((one) => one.tagName)"
            )
        ]
        assert all(two - one <= 1 for one, two in pairwise(levels)), (path, levels)


def test_pages_are_whole_without_a_script(browser_page, served, kept):
    browser = browser_page.context.browser
    context = browser.new_context(base_url=served.url, java_script_enabled=False)
    page = context.new_page()
    at = kept["story-startup-chatbot"]
    made = sample.decided("story-startup-chatbot")
    page.goto(at)
    page.locator("#sort-cost").click()
    assert ranks(page)[0] == min(made.options, key=lambda one: one.cost_per_month_money).rank
    page.locator("#q").fill("zzz")
    page.locator("#candidates .filters button").click()
    assert ranks(page) == []
    name = next(one.name for one in levers(made) if not one.locked and one.value != one.high)
    high = next(one.high for one in levers(made) if one.name == name)
    page.goto(f"{at}/what-if")
    for summary in page.locator("details.group > summary").all():
        summary.click()
    page.locator(f"[id='set-{name}']").fill(f"{high!r}")
    page.locator("#levers button[data-without-script]").click()
    assert page.locator(".set-answer").inner_text() == app.what_if(made, {name: high}).answer
    page.goto(f"{at}/explain/unit_cost")
    page.locator(".explained details:not([open]) > summary").first.click()
    page.locator(
        ".explained details[open] li a", has_text=words("en", "open_node").split("(")[0].strip()
    ).first.click()
    assert "/nodes/" in page.url
    context.close()


def test_the_page_prints(browser_page, kept, tmp_path):
    import pypdf

    page = browser_page
    page.goto(kept["qlora-70b"])
    paper = tmp_path / "decision.pdf"
    page.pdf(path=str(paper), format="A4")
    told = " ".join(one.extract_text() for one in pypdf.PdfReader(paper).pages)
    for one in sample.decided("qlora-70b").options:
        assert one.title.split(" · ")[0] in " ".join(told.split())
    assert words("en", "clear") not in told
