"""The guided brief in a real browser: from nothing to "Decide" with the keyboard alone, in both languages."""

import re
import time

import pytest
from form_answers import SMALL_CHAT

from cabida.evidence import shelf

TEXTS = {
    "en": {"ready": "Ready to decide", "decide": "Decide"},
    "es": {"ready": "Listo para decidir", "decide": "Decidir"},
}


def tab_to(page, id):
    """Press Tab until the field has the focus."""
    for _ in range(60):
        if page.evaluate("document.activeElement && document.activeElement.id") == id:
            return
        page.keyboard.press("Tab")
    pytest.fail(f"{id} is not reached with Tab")


def until(page, what, wait_s=25.0):
    """Wait until an expression of the page holds; the page itself evaluates no text."""
    end = time.monotonic() + wait_s
    while not page.evaluate(what):
        told = f"{what}\n{page.text_content('.panel')}\n{page.input_value('#yaml')}"
        assert time.monotonic() < end, told
        page.wait_for_timeout(60)


def ask_in(page, language):
    page.set_extra_http_headers({"Accept-Language": language})


@pytest.mark.parametrize("language", ["en", "es"])
def test_from_nothing_to_decide_with_the_keyboard_alone(browser_page, served, language):
    page, said = browser_page, TEXTS[language]
    ask_in(page, language)
    page.goto("/briefs/new")
    page.locator("main").focus()
    for _ in range(30):
        page.keyboard.press("Tab")
        if (
            page.evaluate("document.activeElement.getAttribute('href')")
            == "/briefs/new?workload=realtime-inference"
        ):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("#brief")
    for id, answer in SMALL_CHAT:
        tab_to(page, id)
        if id == "f-limits-needed_by":
            page.keyboard.type("02022027")  # the same day in whichever order this browser asks
        page.keyboard.type(answer)
    tab_to(page, "f-consider-accelerators-0")
    page.keyboard.type("l40s")
    until(page, "document.getElementById('yaml').value.includes('l40s')")
    until(page, f"document.getElementById('state').textContent.includes('{said['ready']}')")
    text = page.input_value("#yaml")
    assert "requests_per_s: {mean: 2, peak: 6}" in text
    assert "ttft_p95: 900 ms" in text
    assert "monthly: 9000 EUR" in text
    assert "accelerators: [l40s]" in text or "accelerators: l40s" in text
    assert re.search(r"needed_by: 2027-02-02", text)
    tab_to(page, "decide")
    assert page.evaluate("document.activeElement.textContent") == said["decide"]
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/(jobs|decisions)/"))
    kept = list(shelf.briefs(search="little-chat", store=served.store).items)
    assert kept
    assert shelf.brief(kept[0].id, store=served.store).text == text


def test_text_and_form_follow_each_other_and_what_is_being_typed_stays(browser_page):
    page = browser_page
    page.goto("/briefs/new?example=chat-llama-70b")
    page.fill("#f-horizon", "36")
    page.press("#f-horizon", "Tab")
    until(page, "document.getElementById('yaml').value.includes('horizon: 36 months')")
    assert "# system prompt" in page.input_value("#yaml")
    page.fill(
        "#yaml",
        page.input_value("#yaml")
        .replace("monthly: 18000 EUR", "monthly: 7 EUR")
        .replace("risk: low", "risk: high"),
    )
    until(page, "document.getElementById('f-budget-monthly').value === '7'")
    until(page, "document.getElementById('f-limits-risk').value === 'high'")
    page.fill("#f-name", "x")  # goes out, and while it is away the next is typed
    page.press("#f-name", "Tab")
    page.locator("#f-models-0-id").focus()
    page.keyboard.press("End")
    page.keyboard.type("-nonsense", delay=60)
    until(page, "document.getElementById('yaml').value.includes('name: x')")
    assert page.input_value("#f-models-0-id").endswith("-nonsense")
    page.locator("#f-models-0-id").press("Tab")
    page.wait_for_selector("#f-models-0-id-wrong .wrong")
    page.click(".found.faults a")
    assert page.evaluate("document.activeElement.id") == "f-models-0-id"


def test_an_answer_that_comes_late_writes_over_nothing(browser_page):
    page = browser_page
    waiting = []
    page.goto("/briefs/new?workload=realtime-inference")
    page.route("**/briefs/check", lambda route: route.continue_() if waiting else waiting.append(route))
    page.locator("#f-models-0-id").focus()
    page.keyboard.type("Q")
    for _ in range(100):
        page.wait_for_timeout(50)
        if waiting:
            break
    late = waiting[0].fetch()
    page.keyboard.type("wen/Qwen3-14B")
    page.keyboard.press("Tab")
    waiting[0].fulfill(response=late)
    until(page, "document.getElementById('yaml').value.includes('Qwen/Qwen3-14B')")
    assert page.input_value("#f-models-0-id") == "Qwen/Qwen3-14B"


def test_rows_come_and_go_without_leaving_the_page(browser_page):
    page = browser_page
    page.goto("/briefs/new?example=chat-llama-70b")
    page.click("#f-models-1 > summary")
    page.fill("#f-models-1-id", "Qwen/Qwen3-32B")
    page.press("#f-models-1-id", "Tab")
    until(page, "document.getElementById('yaml').value.includes('Qwen/Qwen3-32B')")
    page.wait_for_selector("details#f-models-2")
    page.locator("fieldset#f-models-0 > button.remove").click()
    until(page, "!document.getElementById('yaml').value.includes('Llama-3.3-70B')")
    assert page.input_value("#f-models-0-id") == "Qwen/Qwen3-32B"
    assert page.url.endswith("example=chat-llama-70b")


def test_a_draft_outlives_a_closed_page_and_a_lost_connection(browser_page):
    page = browser_page
    page.expected = ["ERR_INTERNET_DISCONNECTED", "Failed to fetch", "NetworkError"]
    page.goto("/briefs/new?workload=realtime-inference")
    page.context.set_offline(True)
    page.fill("#f-name", "kept-here")
    page.press("#f-name", "Tab")
    page.wait_for_timeout(900)
    page.context.set_offline(False)
    page.goto("/briefs/new?workload=realtime-inference")
    page.click("[data-draft=use]")
    until(page, "document.getElementById('f-name').value === 'kept-here'")
    assert "name: kept-here" in page.input_value("#yaml")
    page.click("button[value=save]")
    page.wait_for_url(re.compile(r"/briefs/b-"))
    assert "Saved as version 1." in page.text_content("#kept")
    page.goto("/briefs/new?workload=realtime-inference")
    assert page.is_hidden("#draft")


def test_a_kept_brief_is_saved_as_it_grows_until_somebody_else_changes_it(browser_page, served):
    page = browser_page
    page.expected = ["409"]
    one = shelf.add_brief("ours", "name: ours\nworkload: realtime-inference\n", store=served.store)
    page.goto(f"/briefs/{one.id}")
    page.fill("#f-horizon", "12")
    page.press("#f-horizon", "Tab")
    until(page, "document.getElementById('kept').textContent.startsWith('Saved')")
    kept = shelf.brief(one.id, store=served.store)
    assert kept.version == 2
    assert "horizon: 12 months" in kept.text
    shelf.change_brief(one.id, version=2, text=kept.text + "currency: MXN\n", by="Ana", store=served.store)
    page.fill("#f-horizon", "18")
    page.press("#f-horizon", "Tab")
    until(page, "document.getElementById('yaml').value.includes('18 months')")
    page.click("button[value=save]")
    page.wait_for_selector(".diff")
    assert "Ana" in page.text_content("main")
    page.click("text=Keep mine as the newest")
    page.wait_for_url(re.compile("saved=1"))
    assert "18 months" in shelf.brief(one.id, store=served.store).text


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize(
    "path",
    ["/briefs", "/briefs/new", "/briefs/new?example=chat-three-models", "/briefs/new?workload=evaluation"],
)
def test_nothing_is_wider_than_the_screen(browser_page, path, width):
    page = browser_page
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(path)
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_the_same_form_works_without_script(browser_page, served):
    context = browser_page.context.browser.new_context(base_url=served.url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/briefs/new?workload=batch-inference")
    page.fill("#f-name", "no-script")
    page.fill("#f-models-0-id", "Qwen/Qwen3-14B")
    page.fill("#f-horizon", "12")
    page.click("#text button[value=check]")
    assert "horizon: 12 months" in page.input_value("#yaml")
    assert page.locator("#f-models-1").count() == 1
    page.click("#save")
    assert "/briefs/b-" in page.url
    assert "Saved as version 1." in page.text_content("#kept")
    page.goto("/briefs?q=no-script")
    assert page.get_by_role("link", name="no-script").count() == 1
    context.close()
