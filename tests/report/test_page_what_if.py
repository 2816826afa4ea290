"""The sliders of a real record, moved in a real browser, against the same what-if worked out in Python."""

import random
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from cabida import app, report
from cabida.choose.levers import levers
from cabida.choose.what_if import what_if
from cabida.report.words import price, unit_cost
from cabida.text import number, speaking, use_language

EXAMPLES = Path(__file__).parents[2] / "examples"
BRIEFS = {"chat": ("chat-llama-70b.yaml", "es"), "run": ("qlora-70b.yaml", "en")}
SETTINGS_COUNT = 100
CHROMIUM = {"executable_path": "/usr/bin/chromium", "args": ["--no-sandbox"]}


@pytest.fixture(scope="module")
def decisions():
    found = {}
    for name, (file, language) in BRIEFS.items():
        use_language(language)
        found[name] = app.recommend(EXAMPLES / file, as_of="2026-11-30")
    use_language("en")
    return found


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as play:
        started = play.chromium.launch(**CHROMIUM)
        yield started
        started.close()


@pytest.fixture
def opened(browser, decisions, tmp_path):
    """``opened(name, hash)`` is the page of a decision; at the end nothing was said, asked for or thrown."""
    told, contexts = [], []

    def of(name, address="", **settings):
        file = tmp_path / f"{name}.html"
        file.write_text(report.render(decisions[name], "html"), encoding="utf-8")
        context = browser.new_context(**settings)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on(
            "request",
            lambda request: None if request.url.startswith(file.as_uri()) else told.append(request.url),
        )
        page.goto(file.as_uri() + address)
        page.wait_for_selector("#what-if:not([hidden])")
        return page

    yield of
    for context in contexts:
        context.close()
    assert told == []


def free(decision):
    return [one for one in levers(decision) if not one.locked]


def settings_of(decision, count, seed):
    draw = random.Random(seed)
    known = free(decision)
    for _ in range(count):
        some = draw.sample(known, draw.randint(1, min(5, len(known))))
        yield {one.name: draw.uniform(one.low, one.high) for one in some}


READ = """settings => settings.map(set => {
  const found = cabida.set(set);
  return {
    order: found.order, cost: found.options.map(one => one.cost), unit: found.options.map(one => one.unit),
    status: found.options.map(one => one.status), lines: found.options.map(one => one.lines.map(line => line.money)),
    rows: [...document.querySelectorAll("tr[data-option]")].map(row => Number(row.dataset.option)),
  };
})"""


def agree(decision, settings, found):
    for setting, seen in zip(settings, found, strict=True):
        then = what_if(decision, setting)
        ids = [one.id for one in decision.options]
        assert [ids[at] for at in seen["order"]] == [one.id for one in then.options], setting
        assert seen["rows"] == seen["order"], setting
        for at, id in enumerate(ids):
            one = next(option for option in then.options if option.id == id)
            assert seen["cost"][at] == pytest.approx(one.cost_per_month_money, rel=1e-9, abs=1e-12), setting
            unit = [one.unit_cost.value, one.unit_cost.low, one.unit_cost.high]
            assert seen["unit"][at] == pytest.approx(unit, rel=1e-9, abs=1e-15), setting
            assert seen["status"][at] == one.status, setting
            lines = [line.money for line in one.cost_lines]
            assert seen["lines"][at] == pytest.approx(lines, rel=1e-9, abs=1e-12), setting


@pytest.mark.parametrize("name", list(BRIEFS))
def test_a_hundred_random_settings_are_those_of_python(opened, decisions, name):
    decision, page = decisions[name], opened(name)
    settings = list(settings_of(decision, SETTINGS_COUNT, seed=7))
    agree(decision, settings, page.evaluate(READ, settings))
    assert len({tuple(one["order"]) for one in page.evaluate(READ, settings)}) > 1


@pytest.mark.parametrize("name", list(BRIEFS))
def test_every_slider_at_its_ends(opened, decisions, name):
    decision, page = decisions[name], opened(name)
    ends = [{one.name: end} for one in free(decision) for end in (one.low, one.high)]
    agree(decision, ends, page.evaluate(READ, ends))


def until(page, condition, most_s=10.0):
    """Ask again and again: the page's policy lets no test wait inside it."""
    ends = time.monotonic() + most_s
    while not page.evaluate(condition):
        assert time.monotonic() < ends, condition
        page.wait_for_timeout(30)


def text_of(page, selector):
    return page.locator(selector).first.inner_text()


def test_a_slider_moves_the_bills_the_answer_and_the_pictures(opened, decisions):
    decision, page = decisions["run"], opened("run")
    lever = next(one for one in free(decision) if one.name == "1.price_money_per_hour")
    row = page.locator(f'.lever[data-name="{lever.name}"]')
    before = {
        part: text_of(page, part) for part in ("#tiles", "#figure-bills .live", "#figure-frontier .live")
    }
    assert page.locator("[data-what-if]:visible").count() == 0
    row.locator("[type=range]").press("End")
    then = what_if(decision, {lever.name: lever.high})
    assert then.options[0].id != decision.options[0].id
    assert then.options[0].title in text_of(page, ".set-answer.first")
    assert "instead of" in text_of(page, ".set-answer.first")
    assert text_of(page, "tr[data-option] .title") == then.options[0].title.partition(" · ")[0]
    assert page.locator(".bar").is_visible()
    assert all(text_of(page, part) != told for part, told in before.items())
    command = text_of(page, "#what-if-command")
    assert command == f"cabida record {decision.name}.json --format html --set {lever.name}={lever.high:g}"
    until(page, "document.getElementById('what-if-spoken').textContent.includes('instead of')")
    assert page.locator("#what-if-spoken").get_attribute("aria-live") == "polite"
    row.locator("button").click()
    assert {part: text_of(page, part) for part in before} == before
    assert page.locator("[data-what-if]:visible").count() == 0


def test_what_is_typed_is_kept_within_its_range_and_in_the_address(opened, decisions):
    decision, page = decisions["run"], opened("run")
    lever = next(one for one in free(decision) if one.name == "1.price_money_per_hour")
    box = page.locator(f'.lever[data-name="{lever.name}"] [type=number]')
    box.fill("1e9")
    box.press("Enter")
    assert float(box.input_value()) == pytest.approx(lever.high, rel=1e-5)
    until(page, "location.hash.startsWith('#set&')")
    assert page.evaluate("location.hash") == f"#set&{lever.name}={lever.high:g}"
    page.locator("#what-if [data-reset-all]").click()
    until(page, "location.hash === ''")


@pytest.mark.parametrize(
    "address", ["", "#set&nobody=3&__proto__=1&1.price_money_per_hour=x&constructor=", "#options"]
)
def test_an_address_with_nothing_in_it_sets_nothing(opened, decisions, address):
    page = opened("run", address)
    assert page.locator("[data-what-if]:visible").count() == 0
    assert page.evaluate("document.querySelector('tr[data-option]').dataset.option") == "0"


def test_a_link_carries_the_values(opened, decisions):
    decision = decisions["run"]
    lever = next(one for one in free(decision) if one.name == "1.price_money_per_hour")
    page = opened("run", f"#set&{lever.name}={lever.high!r}")
    assert what_if(decision, {lever.name: lever.high}).options[0].title in text_of(page, ".set-answer.first")


def test_untouched_figures_are_written_as_the_record_wrote_them(opened, decisions):
    for name, decision in decisions.items():
        page = opened(name)
        with speaking(decision.language):
            month = [price(one.cost_per_month_money, decision.currency) for one in decision.options]
            unit = [unit_cost(one, decision) for one in decision.options]
        said = page.evaluate("""cabida.compute({}).options.map(one =>
            [cabida.words.money(one.cost), cabida.words.unitCost(one.unit).join(" ").trim()])""")
        assert said == [list(pair) for pair in zip(month, unit, strict=True)]


def test_numbers_are_written_by_locale(opened, decisions, monkeypatch):
    written = {}
    for locale in ("en", "es", "es-MX"):
        monkeypatch.setitem(decisions, locale, replace(decisions["run"], language=locale))
        page = opened(locale)
        written[locale] = page.evaluate(
            "[1234567.891, 0.01234, 12345].map(one => cabida.words.number(one, 6))"
        )
        with speaking(locale):
            assert written[locale] == [number(one, 6) for one in (1234567.891, 0.01234, 12345)]
    assert written["es"][0] == "1.234.570"
    assert written["es-MX"] == written["en"]


def test_a_spanish_page_has_no_english_in_what_moves(opened, decisions):
    page = opened("chat")
    page.evaluate("cabida.set({loaded_money_per_year: 200000})")
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    for part in (
        "header",
        "#what-if",
        ".options",
        "#figure-bills",
        "#figure-frontier",
        "#figure-swings",
        "#figure-latency",
    ):
        told = text_of(page, part)
        assert not re.findall(r"\b(?:the|and|of|with|is|are|what|which|one)\b", told, re.I), part
    assert page.locator("html").get_attribute("lang") == "es"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_without_scrolling_sideways(opened, scheme):
    page = opened(
        "chat",
        "#set&loaded_money_per_year=200000",
        viewport={"width": 390, "height": 844},
        color_scheme=scheme,
    )
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    small = page.evaluate("""[...document.querySelectorAll(".lever button, .lever [type=range]")]
        .filter(one => one.checkVisibility()).filter(one => one.getBoundingClientRect().height < 30).length""")
    assert small == 0


def test_print_shows_the_values_set_and_no_slider(opened):
    page = opened("run", "#set&loaded_money_per_year=200000")
    page.emulate_media(media="print")
    assert page.locator("#what-if-changes").is_visible()
    assert "200,000" in text_of(page, "#what-if-changes")
    assert page.locator(".lever:visible, .bar:visible").count() == 0
    page.evaluate("cabida.set({})")
    assert page.locator("#what-if:visible, .live:visible").count() == 0
    assert page.locator(".still:visible").count() >= 4


def test_paper_is_no_phone_and_cuts_no_table(opened):
    page = opened("chat", viewport={"width": 700, "height": 1000})  # A4 less its margins
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('.options')).display") == "table"
    beyond = """() => [...document.querySelectorAll('table')].map(
        each => each.getBoundingClientRect().right - innerWidth)"""
    assert max(page.evaluate(beyond)) <= 1


def test_every_slider_has_a_name_and_is_reached_by_keyboard(opened):
    page = opened("run")
    unnamed = page.evaluate("""[...document.querySelectorAll("#what-if input, #what-if button")]
        .map(one => one.getAttribute("aria-label") || one.labels?.[0]?.textContent.trim() || one.textContent.trim())
        .filter(name => !name).length""")
    assert unnamed == 0
    page.locator(".lever [type=range]").first.focus()
    before = page.evaluate("document.activeElement.getAttribute('aria-valuetext')")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.getAttribute('aria-valuetext')") != before
    assert page.locator(".bar").is_visible()


EVIL = (
    "</script><script>hacked=1</script>\"><img src=x onerror='hacked=1'><svg onload=hacked=1> "
    "javascript:hacked=1 \u2028 ]]> <!--/bundled-->"
)


def spoiled(decision):
    """The decision with markup wherever somebody's file may have text."""
    lines = [replace(one.cost_lines[0], key=EVIL, note=EVIL) for one in decision.options]
    options = tuple(
        replace(
            one, title=EVIL, id=f"{EVIL}{at}", reasons=(EVIL,), provider=EVIL, accelerator=EVIL, weights=EVIL,
            cost_lines=(line, *one.cost_lines[1:]), metrics={EVIL: next(iter(one.metrics.values())), **one.metrics},
        )
        for at, (one, line) in enumerate(zip(decision.options, lines, strict=True))
    )  # fmt: skip
    trees = tuple(
        node | {"source": node["source"] | {"what": EVIL, "url": "javascript:hacked=1"}}
        for node in decision.trees
    )
    swings = tuple(replace(one, name=EVIL, unit=EVIL, sentence=EVIL) for one in decision.swings)
    sources = ({"what": EVIL, "url": "javascript:hacked=1", "seen": EVIL, "grade": EVIL},)
    return replace(
        decision, name=EVIL, answer=EVIL, options=options, trees=trees, swings=swings, sources=sources, currency=EVIL
    )  # fmt: skip


def test_text_of_a_file_is_text_in_the_page(opened, decisions, monkeypatch):
    monkeypatch.setitem(decisions, "evil", spoiled(decisions["run"]))
    page = opened("evil")
    page.evaluate("Object.entries(JSON.parse(document.getElementById('what-if-data').textContent).levers)"
                  ".forEach(([name, one]) => cabida.set({[name]: one.high}))")  # fmt: skip
    assert page.evaluate("typeof hacked") == "undefined"
    assert page.evaluate("document.querySelectorAll('img, iframe, object, embed').length") == 0
    assert (
        page.evaluate("[...document.querySelectorAll('a')].filter(one => !/^https?:/.test(one.href)).length")
        == 0
    )
    assert page.evaluate("document.querySelectorAll('script').length") == 5
    attributes = "[...document.querySelectorAll('*')].flatMap(one => one.getAttributeNames())"
    assert [name for name in page.evaluate(attributes) if name.startswith("on")] == []
    assert "onerror" in text_of(page, ".set-answer.first")


@pytest.mark.parametrize(
    "equation",
    [
        "alert(1)",
        "a.constructor",
        "(lambda: 1)()",
        "x; fetch('http://x')",
        "`1`",
        "a0 + a0" * 900,
        "__import__('os')",
    ],
    ids=range(7),
)
def test_an_equation_of_a_file_is_no_program(browser, decisions, tmp_path, equation):
    made = decisions["run"]
    trees = tuple(node | {"equation": equation} if node["inputs"] else node for node in made.trees)
    file = tmp_path / "page.html"
    file.write_text(report.render(replace(made, trees=trees), "html"), encoding="utf-8")
    context = browser.new_context()
    page, told = context.new_page(), []
    page.on("pageerror", lambda error: told.append(str(error)))
    page.goto(file.as_uri())
    assert page.locator("#what-if, .lever").count() == 0
    assert page.locator("#figure-bills .live svg").count() == 1
    context.close()
    assert told == []


def test_a_page_of_many_options_stays_small(decisions):
    made = decisions["chat"]
    many = tuple(
        replace(one, rank=at + 1, id=f"{one.id} {at}")
        for at, one in enumerate(made.options * (360 // len(made.options)))
    )
    page = report.render(replace(made, options=many), "html")
    assert 500_000 < len(page.encode()) < 2_000_000
    assert len(report.render(made, "html").encode()) < 1_300_000


def test_a_record_of_a_what_if_moves_on_from_there_and_names_no_command(opened, decisions, monkeypatch):
    made = decisions["run"]
    tried = what_if(made, {"loaded_money_per_year": 200_000.0})
    monkeypatch.setitem(decisions, "tried", tried)
    page = opened("tried")
    settings = list(settings_of(tried, 5, seed=3))
    agree(tried, settings, page.evaluate(READ, settings))
    assert page.locator("#what-if-changes").is_visible()
    assert page.locator("#what-if-command").count() == 0
    assert opened("run").locator("#what-if-command").count() == 1
