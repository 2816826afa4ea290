"""One whole way, from an empty brief to a record in hand and a link that a colleague opens, in both languages."""

import io
import json
import re
import socket

import openpyxl
import page_access
import pytest
from form_answers import SMALL_CHAT
from pypdf import PdfReader
from web_server import start, stop

from cabida import app
from cabida.choose.levers import levers
from cabida.evidence import shelf
from cabida.report.store import from_json
from cabida.text import catalogue

GIVEN = dict(SMALL_CHAT) | {"f-limits-needed_by": "2027-02-02", "f-consider-accelerators-0": "l40s"}
ANSWERS = {id: typed for id, typed in GIVEN.items() if id != "f-name"}


def words(language, room="pages_decision"):
    return catalogue(language, room)


@pytest.fixture(scope="module")
def team(served):
    """The same store as a server for others shows it, and a reader's token."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    _, secret = shelf.new_token("Rosa", "reader", days=1, store=served.store)
    server = start(served.store, "--port", str(port), "--behind", f"http://127.0.0.1:{port}")
    server.secret = secret
    yield server
    stop(server)


def answer(page):
    """Fill in the form as a person does."""
    for id, typed in ANSWERS.items():
        field = page.locator(f"[id='{id}']")
        field.fill(typed)
        field.press("Tab")


def moved(decision):
    """A lever, and an end of it that changes what the winner costs."""
    best = decision.options[0]
    for one in levers(decision):
        if one.locked:
            continue
        after = app.what_if(decision, {one.name: one.high})
        if after.options and after.options[0].cost_per_month_money != best.cost_per_month_money:
            return one, after
    return pytest.fail("no lever moves the cost")


def no_fault(page):
    assert page_access.serious(page) == []
    assert not page_access.too_wide(page)


@pytest.mark.parametrize(("language", "width"), [("en", 1280), ("es", 390)])
def test_from_an_empty_brief_to_a_record_and_a_colleague(browser_page, served, team, language, width):
    page, said, spoken = browser_page, words(language), words(language, "web")
    name = f"journey-{language}"
    page.set_viewport_size({"width": width, "height": 844})
    page.goto("/")
    page.locator(f"footer a[hreflang='{language}']").click()
    assert page.locator("html").get_attribute("lang") == language
    page.goto("/briefs/new")
    page.locator("a[href='/briefs/new?workload=realtime-inference']").first.click()
    page.wait_for_selector("#brief")
    page.fill("#f-name", name)
    empty = page.locator("#state").inner_text()
    answer(page)
    page.get_by_text(words(language, "pages_brief")["ready"].rstrip(".")).first.wait_for()
    assert page.locator("#state").inner_text() != empty
    no_fault(page)

    page.locator("#decide").click()
    page.wait_for_url(re.compile(r"/(jobs|decisions)/"))
    page.wait_for_url("**/decisions/d-*", timeout=120_000)
    at = page.url.partition("?")[0].removeprefix(served.url)
    id = at.rpartition("/")[2]
    decision = from_json(shelf.decision_text(id, store=served.store))
    best = decision.options[0]
    assert (decision.name, decision.language[:2]) == (name, language)
    assert decision.answer in page.locator("h1").inner_text()
    no_fault(page)

    page.goto(f"{at}/explain/unit_cost")
    first = page.locator(".explained summary").first
    first.focus()
    for _ in range(300):
        if page.locator(".explained a[rel~=noreferrer]").count():
            break
        page.keyboard.press("ArrowRight")
        page.wait_for_load_state("networkidle")
        page.keyboard.press("ArrowDown")
    leaf = page.locator(".leaf", has=page.locator("a[rel~=noreferrer]")).first
    assert leaf.locator("a[rel~=noreferrer]").first.get_attribute("href").startswith("http")
    assert re.search(r"20\d\d-\d\d-\d\d", leaf.inner_text())
    no_fault(page)

    lever, after = moved(decision)
    page.goto(f"{at}/what-if")
    box = page.locator(".lever", has=page.locator(f"[id='set-{lever.name}']"))
    while not box.is_visible():
        page.locator("details.group:not([open])", has=page.locator(f"[id='set-{lever.name}']")).first.locator(
            "> summary"
        ).click()
    box.locator("[type=range]").focus()
    page.keyboard.press("End")
    page.wait_for_url("**set.*")
    page.wait_for_load_state("networkidle")
    assert page.locator(".set-answer").inner_text() == after.answer
    no_fault(page)

    page.goto(at)
    page.locator("details.menu", has=page.locator("a[download]")).locator("> summary").click()
    held = {}
    for form in ("pdf", "xlsx", "md", "json", "html"):
        with page.expect_download() as got:
            page.locator(f"a[download][href='{at}/record.{form}']").click()
        held[form] = got.value.path().read_bytes()
    assert json.loads(held["json"]) == json.loads(shelf.decision_text(id, store=served.store))
    card = best.title.split(" · ")[0].split(" × ")[-1].split("× ")[-1]
    assert card in held["md"].decode()
    assert card in held["html"].decode()
    pdf = " ".join(page.extract_text() for page in PdfReader(io.BytesIO(held["pdf"])).pages)
    assert card in " ".join(pdf.split())
    book = openpyxl.load_workbook(io.BytesIO(held["xlsx"]), read_only=True)
    assert any(card in str(cell) for row in book.worksheets[0].iter_rows(values_only=True) for cell in row)
    book.close()

    page.locator("details.menu", has=page.locator("#link")).locator("> summary").click()
    link = page.locator("#link").input_value()
    assert link == f"{served.url}{at}"

    colleague = page.context.browser.new_context(base_url=team.url, locale=language)
    hers = colleague.new_page()
    hers.goto(at)
    assert "/login" in hers.url
    no_fault(hers)
    hers.locator("[name=token]").fill("cabida_" + "x" * 43)
    hers.keyboard.press("Enter")
    hers.locator("#token[aria-invalid=true]").wait_for()
    assert "/login" in hers.url
    hers.locator("[name=token]").fill(team.secret)
    hers.keyboard.press("Enter")
    hers.wait_for_url(f"**{at}")
    assert decision.answer in hers.locator("h1").inner_text()
    assert said["again"] not in hers.locator(".actions").first.inner_text()
    csrf = json.loads(hers.locator("body").get_attribute("hx-headers:inherited"))["X-CSRF-Token"]
    denied = hers.request.post(f"{at}/rerun", form={"csrf": csrf})
    assert denied.status == 403
    assert "CB-S005" in denied.text()
    hers.get_by_role("button", name=spoken["log_out"]).click()
    hers.wait_for_url("**/login**")
    hers.goto(at)
    assert "/login" in hers.url
    colleague.close()
