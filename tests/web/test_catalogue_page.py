"""The catalogue on its pages: accelerators, models, prices and facts, as the use cases tell them."""

import re
from html import escape

import pytest

from cabida import app, facts
from cabida.text import catalogue, number, tr

H100, LLAMA = "h100-sxm-80", "meta-llama/Llama-3.3-70B-Instruct"
DAY = "2026-12-01"
PATHS = (
    "/catalogue/gpus", f"/catalogue/gpus/{H100}", f"/catalogue/gpus/compare?id={H100}&id=mi300x",
    "/catalogue/models", f"/catalogue/models/{LLAMA}", "/catalogue/prices", "/catalogue/prices/api",
    "/catalogue/prices/api?model=gpt-4o", "/catalogue/prices/aside", "/catalogue/prices/rates",
    "/catalogue/prices/import", "/catalogue/facts", "/catalogue/facts/engines", "/catalogue/fact?id=vllm",
)  # fmt: skip


def shown(told):
    """A text as a page holds it."""
    return escape(told, quote=False).replace("'", "&#39;")


def rows_of(page):
    """The first links of a table's rows, in their order."""
    return re.findall(r'<th scope="row"><a href="([^"?]*)', page)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("language", ["en", "es"])
def test_every_page_is_whole_in_both_languages(client, path, language):
    answer = client.get(path, params={"lang": language} if "?" not in path else None)
    assert answer.status_code == 200
    page = answer.text
    assert page.count("<h1") == 1
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids)), [one for one in ids if ids.count(one) > 1]
    assert " style=" not in page
    assert not re.search(r"\son\w+=", page.replace("content=", ""))
    for label in re.findall(r'<label for="([^"]+)"', page):
        assert label in ids, label


def test_gpus_are_narrowed_and_sorted(client):
    page = client.get("/catalogue/gpus?q=h100 hopper&sort=rent_usd_per_hour").text
    paths = rows_of(page)
    assert paths
    assert all("h100" in path for path in paths)
    every = {one["id"]: one for one in app.compare(list(facts.accelerators()), DAY)["accelerators"]}
    for down in ("", "1"):
        page = client.get(f"/catalogue/gpus?sort=memory_gib&down={down}&as_of={DAY}").text
        memory = [every[path.rpartition("/")[2]]["memory_gib"] for path in rows_of(page)]
        assert len(memory) == len(every)
        assert memory == sorted(memory, reverse=bool(down))
    assert 'aria-sort="descending"' in page
    unpriced = client.get("/catalogue/gpus?priced=1").text
    assert len(rows_of(unpriced)) == sum(one["rent_usd_per_hour"] is not None for one in every.values())
    assert len(rows_of(client.get("/catalogue/gpus?memory=140").text)) == sum(
        one["memory_gib"] >= 140 for one in every.values()
    )


def test_nothing_found_says_so(client):
    assert tr("pages_catalogue.nothing") in client.get("/catalogue/gpus?q=nothing-like-it").text


def test_what_is_swapped_in_is_the_table_alone(client):
    for path in ("/catalogue/gpus", "/catalogue/models", "/catalogue/prices"):
        part = client.get(f"{path}?q=h", headers={"HX-Request": "true", "HX-Target": "div#found"})
        assert "<html" not in part.text
        assert "<table" in part.text
        assert "HX-Target" in part.headers["vary"]


def test_a_price_beyond_the_day_does_not_exist(client):
    early = client.get(f"/catalogue/gpus/{H100}?as_of=2025-04-01").text
    late = client.get(f"/catalogue/gpus/{H100}?as_of={DAY}").text
    assert "2026-08-22" in late
    assert "2026-08-22" not in early.partition('id="figures"')[0]
    assert client.get("/catalogue/gpus?as_of=soon").status_code == 422


def test_a_gpu_says_every_figure_with_its_source(client):
    page = client.get(f"/catalogue/gpus/{H100}").text
    one = facts.accelerator(H100)
    assert f"{number(one.flop_per_s['fp8'] / 1e12, 4)} TFLOPS" in page
    assert f"{number(one.memory_bytes_per_s / 1e9, 4)} GB/s" in page
    told = page.partition('id="figures"')[2]
    for source in {one.source.what, one.source_of("usable_bytes").what}:
        assert source.replace("&", "&amp;").replace("'", "&#39;") in told
    marks = {int(at) for at in re.findall(r'href="#source-(\d+)"', told)}
    assert marks == {int(at) for at in re.findall(r'id="source-(\d+)"', told)}
    for grade in ("vendor", "measured"):
        assert f'class="grade {grade}"' in told


def test_a_gpu_says_its_prices_history_and_what_fits(client):
    page = client.get(f"/catalogue/gpus/{H100}?as_of={DAY}").text
    prices = app.prices(H100, as_of=DAY, currency="USD", sort="price")
    assert page.partition('id="fits"')[0].count("/catalogue/price?id=") == len(prices)
    days = app.price_history(H100, as_of=DAY)["days"]
    assert page.count('class="dot chosen"') == len(days)
    first = app.fit(gpu=H100, as_of=DAY)["rows"][0]["model"]
    assert first in page
    assert "vLLM" in page.partition('id="engines"')[2]
    assert client.get(f"/catalogue/gpus/{H100}?model=Qwen3").text.count("/catalogue/models/Qwen/Qwen3") > 1
    pesos = client.get(f"/catalogue/gpus/{H100}?currency=MXN").text
    assert "MXN/GPU-h" in pesos
    assert "1 USD = " in pesos or "USD" in pesos.partition("MXN/GPU-h")[2]


@pytest.mark.parametrize("id", ["tpu-v6e", "m4-max", "gb300", "p40", "strix-halo-128", "gaudi3"])
def test_gpus_of_every_kind_have_their_page(client, id):
    answer = client.get(f"/catalogue/gpus/{id}")
    assert answer.status_code == 200
    assert facts.accelerator(id).name in answer.text


def test_gpus_side_by_side(client):
    page = client.get(f"/catalogue/gpus/compare?id={H100}&id=mi300x&id={H100}&as_of={DAY}").text
    answer = app.compare([H100, "mi300x"], DAY)
    for card in answer["accelerators"]:
        assert f"{number(card['bf16_tflops'])} TFLOPS" in page
    assert f"<b>{number(answer['accelerators'][1]['memory_gib'])} GiB</b>" in page
    for path in ("/catalogue/gpus/compare", f"/catalogue/gpus/compare?id={H100}&id=nothing"):
        assert client.get(path).status_code == 422


def test_models_are_searched_sheet_by_sheet(client):
    every = app.models("qwen")
    page = client.get("/catalogue/models?q=qwen&sort=params_count&down=1").text
    ids = [path.removeprefix("/catalogue/models/") for path in rows_of(page)]
    assert len(ids) == 60
    assert ids[0] == max(every, key=lambda one: one["params_count"] or 0)["id"]
    last = client.get("/catalogue/models?q=qwen&sheet=999").text
    assert len(rows_of(last)) == (len(every) % 60 or 60)
    assert len(rows_of(client.get("/catalogue/models?task=speech").text)) == sum(
        one["task"] == "speech" for one in app.models()
    )


def test_a_model_says_what_decides_its_memory(client):
    page = client.get(f"/catalogue/models/{LLAMA}?as_of={DAY}").text
    assert "320 KiB" in page  # 80 layers x 8 heads x (128 + 128) x 2 bytes
    assert "131 GiB" in page  # 70,553,706,496 weights of 16 bits
    assert "40 GiB" in page  # of 131,072 tokens
    rows = app.fit(LLAMA, as_of=DAY)["rows"]
    assert facts.accelerator(rows[0]["gpu"]).name in page
    held = client.get(f"/catalogue/models/{LLAMA}?weights=fp8&context=32768&requests=16&as_of={DAY}").text
    kept = app.fit(LLAMA, weights="fp8", min_context=32768, concurrency=16, as_of=DAY)
    assert shown(tr("pages_catalogue.left_out", count=number(kept["left_out"], 6))) in held
    assert 'class="num">80 ×' in page


@pytest.mark.parametrize(
    "asked", ["weights=nonsense", "context=many", "weights=q4_k_m&context=99999999999", "requests=1e9"]
)
def test_what_cant_be_asked_of_a_model_is_told(client, asked):
    answer = client.get(f"/catalogue/models/{LLAMA}?{asked}")
    assert answer.status_code in (200, 422)
    assert "CB-" in answer.text or tr("pages_catalogue.fits_nothing") in answer.text


def test_models_of_every_task_have_their_page(client):
    for task in ("vlm", "embedding", "rerank", "speech", "image", "video"):
        one = next(one for one in app.models() if one["task"] == task)
        answer = client.get(f"/catalogue/models/{one['id']}")
        assert answer.status_code == 200, one["id"]


def test_only_models_of_the_catalogue_are_looked_up(client, tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text('{"architectures": ["LlamaForCausalLM"], "hidden_size": 64}')
    monkeypatch.chdir(tmp_path)
    for path in (str(tmp_path), f"{tmp_path}/config.json", "config.json", "https://example.org/model"):
        assert client.get(f"/catalogue/models/{path}").status_code == 404, path
    assert client.get("/catalogue/gpus/..%2f..%2fetc%2fpasswd").status_code == 404


def test_prices_are_narrowed_by_gpu_provider_country_and_way(client):
    page = client.get(
        f"/catalogue/prices?gpu={H100}&capacity=on-demand&provider=run&as_of={DAY}&currency=EUR"
    ).text
    rows = app.prices(H100, capacity="on-demand", provider="run", as_of=DAY, currency="EUR")
    assert rows
    assert page.count("/catalogue/price?id=") == len(rows)
    assert f"{rows[0]['amount']:.2f} EUR/GPU-h" in page
    assert "European Central Bank" in page
    abroad = app.prices(region="EU", as_of=DAY)
    assert client.get(f"/catalogue/prices?region=EU&as_of={DAY}").text.count("/catalogue/price?id=") == min(
        60, len(abroad)
    )


def test_one_price_says_where_it_was_seen(client):
    row = app.prices(H100, as_of=DAY)[0]
    page = client.get("/catalogue/price", params={"id": row["id"]}).text
    assert row["source"].split(" (")[0] in page
    assert client.get("/catalogue/price").status_code == 404
    assert client.get("/catalogue/price?id=nothing-of-the-kind").status_code == 404


def test_apis_by_what_one_use_costs_and_how_they_moved(client):
    page = client.get(f"/catalogue/prices/api?model=o3&provider=openai&as_of={DAY}").text
    answer = app.api_prices("o3", provider="openai", as_of=DAY)
    assert f"{answer['rows'][0]['cost_per_month_money'].value:,.2f}" in page
    moved = page.partition('id="moved"')[2]
    assert "10.000 USD" in moved  # until 2025-06-10
    assert "2025-06-10" in moved
    early = client.get("/catalogue/prices/api?model=o3&provider=openai&as_of=2025-01-01").text
    assert (
        "2025-06-10" not in early.partition('id="moved"')[2].replace(tr("pages_catalogue.head.until"), "")
        or "10.000" in early
    )
    dear = client.get(
        f"/catalogue/prices/api?model={LLAMA}&own_money_per_month=900&requests_per_month=5000000"
    ).text
    assert tr("api.column.break_even", currency="USD") in dear
    for asked in ("model=nobody-sells-it", "model=gpt-4o&output_tokens=100&prefix_tokens=5000"):
        answer = client.get(f"/catalogue/prices/api?{asked}")
        assert 'role="alert"' in answer.text
        assert "CB-U0" in answer.text


def test_rates_and_what_is_set_aside(client):
    page = client.get(f"/catalogue/prices/rates?currency=MXN&as_of={DAY}").text
    rate = next(one for one in app.exchange_rates("MXN", as_of=DAY) if one["of"] == "USD")
    assert f">{number(rate['rate'], 5)}<" in page
    assert rate["seen"] in page
    aside = client.get(f"/catalogue/prices/aside?as_of={DAY}").text
    assert shown(tr("money.aside.below_market")) in aside
    assert client.get("/catalogue/prices/rates?currency=ZZZ").status_code == 422


LIST = """accelerator,provider,price,currency,capacity,seen
H100 SXM,Own Cloud,2.05,USD,on-demand,2026-11-28
Warp Drive 9,Own Cloud,1.00,USD,on-demand,2026-11-28
<script>alert(1)</script>,Own Cloud,1.00,USD,on-demand,2026-11-28
H100 SXM,Own Cloud,cheap,USD,on-demand,2026-11-28
"""


def test_a_price_list_is_kept_and_what_wasnt_understood_is_told(client):
    file = {"file": ("our prices.csv", LIST.encode())}
    looked = client.post("/catalogue/prices/import", files=file, data={"only_look": "1"}).text
    assert tr("pages_catalogue.only_looked") in looked
    assert not [one for one in app.prices(H100) if one["provider"] == "Own Cloud"]
    page = client.post("/catalogue/prices/import", files=file).text
    assert "our prices.csv" in page
    assert "Warp Drive 9" in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert(1)" not in page
    assert [one["amount"] for one in app.prices(H100) if one["provider"] == "Own Cloud"] == [2.05]
    assert "Own Cloud" in client.get(f"/catalogue/gpus/{H100}").text
    aside = client.get("/catalogue/prices/aside").text
    assert "Warp Drive 9" in aside
    assert "<script>alert(1)" not in aside


@pytest.mark.parametrize(
    ("name", "content", "fields", "code"),
    [
        ("", b"", {}, "CB-S066"),
        ("list.csv", b"colour,taste\nred,sweet\n", {}, "CB-E055"),
        ("list.csv", LIST.encode(), {"currency": "ZZZ"}, "CB-E057"),
        ("list.csv", LIST.encode(), {"seen": "yesterday"}, "CB-U005"),
        ("list.xlsx", b"PK\x03\x04 no book", {}, "CB-E05"),
        ("../../list.csv", b"\x00\x01\x02", {}, "CB-E05"),
    ],
)  # fmt: skip
def test_a_list_that_cant_be_read_is_told_and_nothing_is_kept(client, name, content, fields, code):
    answer = client.post("/catalogue/prices/import", files={"file": (name, content)}, data=fields)
    assert answer.status_code == 422
    assert code in answer.text
    assert "/tmp" not in answer.text
    from cabida.evidence import book

    assert book.imports() == ()


@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_a_list_to_fill_in_can_be_brought_back(client, form):
    made = client.get(f"/catalogue/prices/template.{form}")
    assert made.status_code == 200
    page = client.post("/catalogue/prices/import", files={"file": (f"prices.{form}", made.content)}).text
    assert '<h2 id="file-1"' in page
    assert client.get("/catalogue/prices/template.pdf").status_code == 404


def test_readers_bring_nothing_in(team_of):
    reader = team_of("reader")
    assert shown(tr("pages_catalogue.readers")) in reader.get("/catalogue/prices/import").text
    assert (
        reader.post("/catalogue/prices/import", files={"file": ("a.csv", LIST.encode())}).status_code == 403
    )


def test_facts_are_sound_or_told(client, tmp_path, monkeypatch):
    page = client.get("/catalogue/facts").text
    assert tr("pages_catalogue.facts_sound") in page
    assert facts.digest()[:16] in page
    (tmp_path / "offers.yaml").write_text("offers:\n- {id: mine, provider: P}\n")
    monkeypatch.setenv("CABIDA_FACTS", str(tmp_path))
    broken = client.get("/catalogue/facts")
    assert "CB-F005" in broken.text


@pytest.mark.parametrize(
    "kind",
    [
        *("accelerators", "classes", "nodes", "engines", "formats", "models", "pipelines", "components", "mig"),
        *("collectives", "energy"),
    ],
)  # fmt: skip
def test_every_kind_of_fact_is_listed_and_opens(client, kind):
    page = client.get(f"/catalogue/facts/{kind}").text
    rows = app.facts_list(kind)
    assert tr("pages_catalogue.found", count=number(len(rows), 6)) in page
    for path in re.findall(r'<th scope="row"><a href="([^"]+)"', page)[:2]:
        assert client.get(path.replace("&amp;", "&")).status_code == 200, path
    assert client.get("/catalogue/facts/secrets").status_code == 404


def test_answers_are_kept_only_as_long_as_the_prices_are_the_same(client):
    before = client.get("/catalogue/gpus?q=h100 sxm").text
    client.post("/catalogue/prices/import", files={"file": ("l.csv", LIST.replace("2.05", "1.05").encode())})
    after = client.get("/catalogue/gpus?q=h100 sxm").text
    assert before != after


# in a real browser


@pytest.mark.parametrize("language", ["en", "es"])
def test_in_a_browser_the_catalogue_is_walked(browser_page, language):
    from playwright.sync_api import expect

    page = browser_page
    words = catalogue(language, "pages_catalogue")
    page.goto(f"/look?language={language}&next=/catalogue/gpus")
    assert page.locator("h1").inner_text() == words["gpus"]
    every = page.locator("#found tbody input[name=id]").count()
    page.get_by_label(words["search"], exact=True).press_sequentially("mi300")
    expect(page.locator("#found input[name=id]")).to_have_count(2)
    assert every == len(facts.accelerators())
    assert "q=mi300" in page.url
    assert page.get_by_label(words["search"], exact=True).evaluate("one => one === document.activeElement")
    page.locator("#found thead").get_by_role("link", name=words["column.memory_gib"]).click()
    assert page.locator("[aria-sort]").count() == 1
    for box in page.locator("#found input[name=id]").all():
        box.check()
    page.get_by_role("button", name=words["compare_ticked"]).click()
    assert page.locator("h1").inner_text() == words["beside"]
    page.goto(f"/catalogue/gpus/{H100}")
    page.locator("#figures ~ .wide a").first.click()
    assert "#source-" in page.url
    page.goto("/catalogue/prices")
    page.get_by_label(words["head.name"], exact=True).select_option(H100)
    expect(page.locator(f"#found tbody th a:not([href$='{H100}'])")).to_have_count(0)
    page.goto("/catalogue/prices/import")
    page.get_by_label(words["list_file"], exact=True).set_input_files(
        {"name": "ours.csv", "mimeType": "text/csv", "buffer": LIST.encode()}
    )
    page.get_by_role("button", name=words["read_it"]).click()
    assert page.locator("#file-1").inner_text() == "ours.csv"
    assert "Warp Drive 9" in page.locator("main").inner_text()
    page.set_viewport_size({"width": 390, "height": 844})
    for path in PATHS:
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
