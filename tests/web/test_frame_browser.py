"""The frame in a real browser: nothing in the console, nothing asked of elsewhere, wide and narrow, by keyboard."""

import json
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "report" / "golden" / "decision.en.json"
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


@pytest.mark.parametrize("size", SIZES)
def test_no_page_of_the_frame_is_wider_than_the_screen(browser_page, served, size):
    from cabida.evidence.shelf import add_decision, new_token

    add_decision(GOLDEN.read_text(encoding="utf-8"), store=served.store)
    new_token("a name as long as " + "m" * 50, "reader", days=3, store=served.store)
    width, height = SIZES[size]
    browser_page.set_viewport_size({"width": width, "height": height})
    for path in ("/", "/people", "/log"):
        browser_page.goto(path)
        assert browser_page.locator("h1").count() == 1
        assert browser_page.evaluate("document.documentElement.scrollWidth") <= width, path
    for scheme in ("dark", "light"):
        browser_page.emulate_media(color_scheme=scheme)
        shades = browser_page.evaluate(
            "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
        )
        assert (sum(shades) < 200) is (scheme == "dark")


def test_a_token_is_made_and_revoked_by_keyboard_and_asks_before(browser_page):
    browser_page.goto("/people")
    browser_page.keyboard.press("Tab")
    assert browser_page.evaluate("document.activeElement.className") == "skip"
    browser_page.keyboard.press("Enter")
    assert browser_page.evaluate("location.hash") == "#main"
    browser_page.get_by_role("textbox", name="Name").fill("Eva <b>")
    browser_page.keyboard.press("Enter")
    secret = browser_page.locator("#secret").inner_text()
    assert secret.startswith("cabida_")
    asked = []
    browser_page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    revoke = browser_page.get_by_label("Revoke: Eva <b>")
    revoke.click()
    assert "Eva <b>" in asked[0]
    assert revoke.count() == 1
    browser_page.once("dialog", lambda dialog: dialog.accept())
    revoke.click()
    browser_page.wait_for_load_state()
    assert revoke.count() == 0
    assert "revoked" in browser_page.locator("main").inner_text()


def test_language_and_look_are_chosen_and_stay(browser_page):
    browser_page.goto("/")
    browser_page.get_by_role("link", name="Español", exact=True).click()
    assert browser_page.locator("html").get_attribute("lang") == "es"
    browser_page.get_by_role("link", name="Oscuro").click()
    assert browser_page.locator("html").get_attribute("data-theme") == "dark"
    browser_page.goto("/log")
    assert "Registro de cambios" in browser_page.title()


def test_a_decision_is_watched_until_it_is_there(browser_page):
    """From the click to the decision's page, its stages shown as they end: the real use case in a real worker."""
    from cabida.brief.examples import example_text

    asked = {"brief": example_text("nightly-batch"), "assume": True, "as_of": "2026-11-30"}
    browser_page.goto("/")
    answer = browser_page.request.post(
        "/api/v1/recommend", data=json.dumps(asked), headers={"Content-Type": "application/json"}
    )
    assert answer.status == 202
    shown = browser_page.goto(f"/jobs/{answer.json()['id']}")
    if "/jobs/" in shown.url:
        assert "Simulating the best" in shown.text()
        assert "<progress" in shown.text()
    browser_page.wait_for_url("**/decisions/d-*", timeout=60_000)
    assert browser_page.locator("h1").count() == 1
