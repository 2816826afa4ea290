"""Scripts in every text that somebody can send, looked at in a real browser whose content policy is switched off."""

# ruff: noqa: E501, PT019
import json

import decision_sample as sample
import pytest

from cabida.evidence import shelf

MARK = "<xss-mark></xss-mark>"
EVIL = (
    f"\"'>{MARK}</script></title></textarea><img src=x onerror=window.pwned=1><script>window.pwned=1</script>"
)
LINK = "javascript:window.pwned=1//"
SHORT = f"a{MARK}<img src=x onerror=window.pwned=1>"
BRIEF = f"schema: cabida.brief/1\nname: {json.dumps(EVIL)}\nnotes: {json.dumps(EVIL)}\nworkload: {json.dumps(EVIL)}\n"
LOOKED = """() => ({
  marks: document.querySelectorAll('xss-mark').length, ran: window.pwned === 1,
  links: [...document.querySelectorAll('[href],[src],[action],[formaction]')].filter(one =>
    ['href', 'src', 'action', 'formaction'].some(
      name => /^\\s*(javascript|data:text|vbscript):?/i.test(one.getAttribute(name) || ''))).length,
  handlers: [...document.querySelectorAll('*')].filter(one =>
    [...one.attributes].some(said => /^on/i.test(said.name))).length})"""
CLEAN = {"marks": 0, "ran": False, "links": 0, "handlers": 0}
QUOTE = f"""schema: cabida.quote/1
vendor: {json.dumps(EVIL)}
quote_id: {json.dumps(SHORT)}
currency: USD
gpu: {json.dumps(EVIL)}
notes: {json.dumps(EVIL)}
items:
  - name: {json.dumps(EVIL)}
    amount: 12
"""


@pytest.fixture
def naked_page(_chromium, served):
    """A page whose content policy is off: what is not escaped runs."""
    context = _chromium.new_context(base_url=served.url, bypass_csp=True)
    page = context.new_page()
    page.set_default_timeout(30_000)
    yield page
    context.close()


def poisoned(value, key=""):
    """Every free text of a decision with a script behind it; words that mean something to the program stay."""
    if isinstance(value, dict):
        return {name: poisoned(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [poisoned(one, key) for one in value]
    if isinstance(value, str) and value.startswith("http"):
        return LINK + value
    if isinstance(value, str) and " " in value:
        return value + EVIL
    return value


@pytest.fixture(scope="module")
def poisoned_decision(served):
    """The address of a decision on the shelf whose every sentence, title and link is hostile."""
    made = poisoned(json.loads(sample.golden()))
    made["name"] = EVIL
    return f"/decisions/{shelf.add_decision(json.dumps(made), store=served.store).id}"


def looked(page, path):
    """What of a page is hostile; pages that refuse are looked at like others."""
    answer = page.goto(path)
    assert answer.status < 500, path
    page.wait_for_timeout(30)
    return page.evaluate(LOOKED)


@pytest.mark.parametrize(
    "tail", ["", "/options/1", "/options/2", "/what-if", "/explain/cost_per_month_money", "/options/1/launch"]
)
def test_nothing_of_a_decision_runs(naked_page, poisoned_decision, tail):
    assert looked(naked_page, poisoned_decision + tail) == CLEAN


def test_nothing_of_a_decision_runs_in_lists_comparisons_and_records(naked_page, poisoned_decision, served):
    page, id = naked_page, poisoned_decision.rpartition("/")[2]
    other = shelf.add_decision(sample.golden(), store=served.store).id
    for path in (
        "/",
        "/decisions",
        f"/compare?decision={id}&decision={other}",
        f"/compare?ids={id}&ids={other}",
        f"/compare?decision={id}&option=1&option=2",
    ):
        assert looked(page, path) == CLEAN, path
    record = page.request.get(f"{poisoned_decision}/record.html").text()
    page.goto("/static/web.css")
    page.set_content(record)  # as whoever opens the file has it: no header guards it
    page.wait_for_timeout(100)
    assert page.evaluate(LOOKED) == CLEAN


def test_nothing_that_is_sent_to_the_shelf_runs(naked_page, served):
    page, store = naked_page, served.store
    brief = shelf.add_brief(EVIL[:190], BRIEF, by=EVIL[:90], store=store)
    shelf.new_token(SHORT, "reader", days=2, by=SHORT, store=store)
    job = shelf.add_job("recommend", {"name": EVIL, "text": EVIL, "brief_id": EVIL}, by=SHORT, store=store)
    shelf.end_job(
        job.id,
        "failed",
        None,
        [{"code": EVIL, "what": EVIL, "why": EVIL, "cure": EVIL, "file": EVIL, "line": 1}],
        store=store,
    )
    shelf.add_run(EVIL[:190], f"name: {json.dumps(EVIL)}", store=store)
    paths = (
        "/briefs",
        f"/briefs/{brief.id}",
        f"/briefs/{brief.id}?version=1",
        "/people",
        "/log",
        f"/jobs/{job.id}",
        f"/jobs/{job.id}/parts",
        "/bench",
        "/",
    )
    for path in paths:
        assert looked(page, path) == CLEAN, path


def test_nothing_of_what_is_uploaded_or_typed_runs(naked_page, served):
    """Each text field of each form filled with a script and sent; each page looked at as it comes back."""
    page = naked_page
    for path in (
        "/briefs/new",
        "/quotes",
        "/people",
        "/catalogue/prices/import",
        "/briefs",
        "/decisions",
        "/log",
        "/compare",
        "/catalogue/gpus",
        "/catalogue/models",
        "/catalogue/prices",
    ):
        page.goto(path)
        count = page.locator("main form").count()
        for at in range(count):
            page.goto(path)
            if at >= page.locator("main form").count():  # a token that was revoked has no form any more
                break
            form = page.locator("main form").nth(at)
            form.evaluate(
                """(form, evil) => { for (const one of form.elements) {
                     if (one.type === 'file' || one.type === 'hidden' || one.type === 'submit') continue;
                     if (one.tagName === 'TEXTAREA' || ['text', 'search', 'url', 'number', ''].includes(one.type)) one.value = evil;
                     one.required = false; } form.noValidate = true; }""", SHORT,
            )  # fmt: skip
            with page.expect_navigation(wait_until="load"):
                form.evaluate("form => HTMLFormElement.prototype.submit.call(form)")
            assert page.evaluate(LOOKED) == CLEAN, (path, at, page.url)


@pytest.mark.parametrize(
    "name", [f"{MARK}.yaml", f"{MARK}<img src=x onerror=window.pwned=1>.csv", f"{MARK}.pdf", f"{MARK}.xlsx"]
)
@pytest.mark.parametrize("path", ["/quotes", "/catalogue/prices/import", "/briefs"])
def test_nothing_of_an_uploaded_file_or_its_name_runs(naked_page, path, name):
    page = naked_page
    page.goto(path)
    chosen = page.locator("main input[type=file]").first
    content = (QUOTE if path == "/quotes" else EVIL + "," + EVIL + "\n" + EVIL).encode()
    chosen.set_input_files({"name": name, "mimeType": "text/html", "buffer": content})
    form = page.locator("main form:has(input[type=file])").first
    with page.expect_navigation(wait_until="load"):
        form.evaluate("form => HTMLFormElement.prototype.submit.call(form)")
    assert page.evaluate(LOOKED) == CLEAN
    assert looked(page, "/quotes") == CLEAN


def test_nothing_of_an_address_runs(naked_page):
    from urllib.parse import quote

    page, evil = naked_page, quote(EVIL, safe="")
    names = "q search after lang as_of model gpu currency next of by sort workload filter option version mine"
    asked = "&".join(f"{name}={evil}" for name in names.split())
    paths = (
        "/nowhere",
        "/login",
        "/decisions",
        "/briefs",
        "/log",
        "/quotes",
        "/compare",
        "/catalogue/gpus",
        "/catalogue/models",
        "/catalogue/prices",
        "/catalogue/facts",
        "/catalogue/price",
        "/catalogue/fact",
        "/api",
    )
    for path in paths:
        assert looked(page, f"{path}?{asked}") == CLEAN, path
    for path in (
        "/",
        "/briefs/",
        "/decisions/",
        "/jobs/",
        "/quotes/",
        "/catalogue/gpus/",
        "/catalogue/models/",
        "/catalogue/facts/",
        "/static/",
    ):
        assert looked(page, path + evil.replace("%2F", "-")) == CLEAN, path


def test_objects_of_a_page_take_nothing_of_an_address(naked_page, poisoned_decision):
    page = naked_page
    for path in ("/", poisoned_decision, "/briefs/new", "/catalogue/gpus", "/api"):
        page.goto(
            f"{path}?__proto__[pwned]=1&constructor.prototype.pwned=1#__proto__[pwned]=1&__proto__.pwned=1"
        )
        assert page.evaluate("({}).pwned === undefined && window.pwned === undefined"), path


def test_no_page_can_be_framed(_chromium, served):
    context = _chromium.new_context()
    page = context.new_page()
    page.route(
        "https://evil.example/**",
        lambda route: route.fulfill(
            content_type="text/html", body=f'<iframe src="{served.url}/people"></iframe>'
        ),
    )
    page.goto("https://evil.example/")
    page.wait_for_timeout(300)
    assert all("evil" in one.url or "chrome-error" in one.url for one in page.frames)
    context.close()


def test_another_site_changes_nothing_whatever_it_sends(_chromium, served):
    """Forms, fetches and images of another site, as a real browser sends them."""
    context = _chromium.new_context()
    page = context.new_page()
    page.route("https://evil.example/**", lambda route: route.fulfill(content_type="text/html", body="<p>"))
    before = len(shelf.tokens(store=served.store)), len(shelf.briefs(store=served.store).items)
    page.goto("https://evil.example/")
    seen = page.evaluate(
        """async url => { const found = [];
          const send = async (path, options) => { try { const answer = await fetch(url + path, options);
            found.push(answer.type === 'opaque' ? 'opaque' : await answer.text()); } catch { found.push('refused'); } };
          for (const mode of ['no-cors', 'cors']) for (const kind of ['text/plain', 'application/x-www-form-urlencoded', 'application/json'])
            for (const path of ['/people/tokens', '/api/v1/briefs', '/api/v1/tokens', '/logout', '/mcp'])
              await send(path, {method: 'POST', mode, headers: {'Content-Type': kind}, credentials: 'include',
                body: kind.includes('json') ? '{"name":"evil","text":"a: 1","role":"editor"}' : 'name=evil&role=editor&days=9&text=x'});
          const files = new FormData(); files.append('files', new File(['a: 1'], 'a.yaml'));
          for (const path of ['/quotes', '/api/v1/quotes', '/api/v1/prices/import', '/briefs/upload', '/catalogue/prices/import'])
            await send(path, {method: 'POST', mode: 'no-cors', body: files, credentials: 'include'});
          for (const path of ['/people', '/api/v1/tokens', '/metrics', '/api/v1/briefs']) await send(path, {credentials: 'include'});
          return found; }""",
        served.url,
    )  # fmt: skip
    assert set(seen) <= {"refused", "opaque"}  # nothing of an answer was read
    frame = f'<form method=post action="{served.url}/people/tokens"><input name=name value=evil><input name=role value=editor><input name=days value=9></form>'
    page.set_content(frame)
    with page.expect_navigation():
        page.evaluate("document.forms[0].submit()")
    after = len(shelf.tokens(store=served.store)), len(shelf.briefs(store=served.store).items)
    assert before == after
    context.close()
