"""A benchmark in a real browser against a real llama.cpp server: planned, watched, stopped, and its report."""

import json
import re
import sys
from pathlib import Path

import httpx2 as httpx
import pytest

from cabida.evidence import shelf, stored
from cabida.text import catalogue

sys.path.insert(0, str(Path(__file__).parents[1] / "bench" / "watch"))
from llama_small import serving

SECRET = "Zq81jfQx71mmZpQ0aLw2"


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("llama"), slots=2, context=512) as server:
        yield server


def plan_of(llama, *, duration="8 s", requests=None, name="small model"):
    count = f", requests: {requests}" if requests else ""
    return f"""\
name: {name}
contenders:
  - name: node
    target: {{url: "{llama.url}/v1", model: small, api: completions}}
    setup: {{model: HuggingFaceTB/SmolLM2-135M-Instruct, engine: llama.cpp}}
prompts: {{input_tokens: 12, output_tokens: 6}}
runs:
  - name: two at once
    phase: load
    candidate: node
    load: {{kind: closed, concurrency: 2, duration: {duration}{count}, warm_up: 0 s}}
    duration: {duration}
"""


def words(language, key):
    return catalogue(language, "pages_bench")[key]


def planned(page, language, plan):
    page.goto(f"/look?language={language}&next=/bench")
    page.get_by_text(words(language, "paste"), exact=True).click()
    page.locator("#plan").fill(plan)
    page.get_by_role("button", name=words(language, "plan_it"), exact=True).click()
    page.wait_for_url(re.compile(r"/bench/r-"))


@pytest.mark.parametrize("language", ["en", "es"])
def test_a_run_is_watched_and_reported(browser_page, served, llama, language):
    page = browser_page
    planned(page, language, plan_of(llama, name=f"small {language}"))
    page.locator("#key").fill(SECRET)
    page.get_by_role("button", name=words(language, "start"), exact=True).click()
    page.locator(".so-far td").first.wait_for()
    assert page.locator(".tiles dd b").count() >= 3
    assert "two at once" in page.locator(".standing").inner_text()
    page.locator("ul.learnt li").first.wait_for()
    run = shelf.kept_run(page.url.rpartition("/")[2].partition("?")[0], store=served.store)
    assert run.state == "done"
    assert run.summary["requests_count"] > 0
    assert page.get_by_text(words(language, "state.done"), exact=True).is_visible()
    assert page.locator("section table").count() >= 2
    kept = shelf.kept_runs(store=served.store).items
    assert len(stored(served.store)) == sum((one.summary or {}).get("stored_count", 0) for one in kept)
    for file in served.store.parent.rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file


def test_a_run_is_stopped_and_what_was_measured_is_kept(browser_page, served, llama):
    page = browser_page
    planned(page, "en", plan_of(llama, duration="10 min", name="a long one"))
    page.get_by_role("button", name=words("en", "start"), exact=True).click()
    page.locator(".so-far td").first.wait_for()
    page.get_by_role("button", name=words("en", "stop"), exact=True).click()
    page.locator("ul.learnt li").first.wait_for()
    run = shelf.kept_run(page.url.rpartition("/")[2], store=served.store)
    assert run.state == "cancelled"
    assert (Path(run.folder) / "journal.jsonl").stat().st_size > 0 or list(Path(run.folder).iterdir())
    assert page.get_by_role("button", name=words("en", "resume"), exact=True).is_visible()


def test_a_program_begins_one_follows_it_and_reads_what_it_showed(served, llama):
    with httpx.Client(base_url=served.url, timeout=60) as program:
        plan = plan_of(llama, duration="3 s", requests=4, name="by a program")
        made = program.post("/api/v1/runs", json={"name": "by a program", "plan": plan}).json()
        begun = program.post(f"/api/v1/runs/{made['id']}/start", json={"key": SECRET})
        assert begun.status_code == 202, begun.text
        assert begun.json()["kind"] == "bench"
        again = program.post(f"/api/v1/runs/{made['id']}/start", json={})
        assert again.json()["id"] == begun.json()["id"]
        with program.stream("GET", f"{begun.headers['Location']}/events") as told:
            assert "event: end" in list(told.iter_lines())
        assert program.get(begun.headers["Location"]).json()["state"] == "done"
        report = program.get(f"/api/v1/runs/{made['id']}/report").json()
        assert report["runs"][0]["summary"]["all_requests_count"] >= 4
        assert SECRET not in json.dumps(report)
        assert program.post(f"/api/v1/runs/{made['id']}/stop").json()["state"] == "done"
        longer = plan_of(llama, duration="60 s", name="cut short")
        made = program.post("/api/v1/runs", json={"name": "cut short", "plan": longer}).json()
        begun = program.post(f"/api/v1/runs/{made['id']}/start", json={})
        with program.stream("GET", f"{begun.headers['Location']}/events") as told:
            lines = told.iter_lines()
            assert next(one for one in lines if '"state": "running"' in one)
            assert program.post(f"/api/v1/runs/{made['id']}/stop").status_code == 200
            assert "event: end" in list(lines)
        assert shelf.kept_run(made["id"], store=served.store).state == "cancelled"


@pytest.mark.parametrize(
    ("plan", "code"),
    [
        ("prompts: {source: jsonl, file: /etc/passwd}", "CB-S090"),
        ("rules: [{kind: command, value: [id]}]", "CB-S090"),
    ],
)
def test_what_the_page_refuses_a_program_is_refused_too(served, llama, plan, code):
    with httpx.Client(base_url=served.url, timeout=60) as program:
        text = re.sub(r"^prompts:.*\n", "", plan_of(llama), flags=re.MULTILINE) + plan + "\n"
        made = program.post("/api/v1/runs", json={"name": "x", "plan": text})
        assert made.status_code == 201, made.text
        refused = program.post(f"/api/v1/runs/{made.json()['id']}/start", json={})
        assert refused.status_code == 422
        assert [one["code"] for one in refused.json()["errors"]] == [code]


def test_nothing_is_wider_than_a_phone(browser_page, served):
    page = browser_page
    page.set_viewport_size({"width": 390, "height": 844})
    run = shelf.kept_runs(store=served.store).items[0]
    for path in ("/bench", f"/bench/{run.id}", "/bench/observations"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
