"""The sliders of a real record, moved in a real browser, against the same what-if worked out in Python."""

import random
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from cabida import app, report
from cabida.choose.levers import levers
from cabida.choose.what_if import what_if
from cabida.text import use_language

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
            lines = [line.money for line in one.cost_lines][: len(seen["lines"][at])]
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
