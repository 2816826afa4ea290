"""The catalogue's cards and pictures: their figures by hand, and as the questions one by one answer them."""

import re

import pytest

from cabida import app, facts
from cabida.app.quoting import quote_price
from cabida.report.api_moves import api_history
from cabida.report.cards import engines_on, gpu_cards, gpu_figures, model_card
from cabida.report.catalogue_pictures import memory_and_price, price_moves

DAY = "2026-12-01"


def test_a_cache_by_hand():
    card = model_card("meta-llama/Llama-3.3-70B-Instruct")
    each = 80 * 8 * (128 + 128) * 2  # layers, key-value heads, a key and a value, bytes
    assert card["caches"][0]["bytes_per_token"] == each
    assert [one["bytes"] for one in card["caches"][0]["contexts"]] == [
        each * n for n in (8192, 32768, 131072)
    ]
    assert card["caches"][1]["bytes_per_token"] == each / 2


def test_a_latent_cache_and_a_window_by_hand():
    latent = model_card("deepseek-ai/DeepSeek-V3")["caches"][0]
    assert latent["bytes_per_token"] == 61 * (512 + 64) * 2
    (windowed, _) = model_card("openai/gpt-oss-120b")["caches"]
    half = 18 * 8 * (64 + 64) * 2  # half the layers look back 128 tokens
    assert (windowed["bytes_per_token"], windowed["window_bytes_per_token"]) == (half, half)
    assert windowed["contexts"][0]["bytes"] == 8192 * half + 128 * half


@pytest.mark.parametrize("id", ["meta-llama/Llama-3.3-70B-Instruct", "Qwen/Qwen3-8B"])
def test_weights_are_those_that_fit_finds_but_for_what_an_engine_leaves_in_the_host(id):
    card = model_card(id)
    held = {row["format"]: row["bytes"] for row in card["weights"]}
    assert held["bf16"] == pytest.approx(2 * card["params_count"], rel=1e-4)
    for name, size_bytes in held.items():
        found = app.fit(id, gpu="b300-sxm-288", weights=name)
        less = size_bytes - found["metrics"]["weights_gib_total"].value * 2**30
        table_bytes = (
            card["vocab_count"] * card["hidden_dim_count"] * 8.5 / 8
        )  # llama.cpp keeps it in the host
        room = table_bytes if found["engine"] == "llama.cpp" else 0.005 * size_bytes
        assert -0.005 * size_bytes <= less <= room, name


def test_every_model_has_a_card():
    for id in [*facts.models()][::9]:
        card = model_card(id)
        assert card["weights"] == [] or min(one["bytes"] for one in card["weights"]) > 0, id


def test_cards_hold_the_span_of_what_is_asked():
    cards = gpu_cards(DAY)
    assert {one["id"] for one in cards} == set(facts.accelerators(DAY))
    priced = [one for one in cards if one["rent_usd_per_hour"] is not None]
    assert len(priced) > 30
    for one in priced:
        assert one["rent_low_usd_per_hour"] <= one["rent_usd_per_hour"] <= one["rent_high_usd_per_hour"]
    assert len(gpu_cards("2020-01-01")) < len(cards)
    assert all(one["rent_usd_per_hour"] is None for one in gpu_cards("2020-01-01"))


def test_engines_are_those_of_the_software_facts():
    held = {row["engine"]: row for row in engines_on("h100-sxm-80")}
    assert held["vllm"]["fp8"] == "native"
    assert held["vllm"]["nvfp4"] == "weight-only"
    assert held["llama.cpp"]["fp8"] == "no"
    assert "vllm" not in {row["engine"] for row in engines_on("m4-max")}
    assert engines_on("tpu-v6e") == []


def test_every_figure_has_its_source():
    for id in facts.accelerators():
        rows = gpu_figures(id)
        assert {"usable_bytes", "vendor"} <= {row["field"] for row in rows}
        assert all(row["what"] and row["seen"] and row["grade"] for row in rows), id


def test_the_picture_shows_each_priced_accelerator_once_and_escapes():
    cards = gpu_cards(DAY)
    cards[0] = cards[0] | {"name": "<b>&'\"", "rent_usd_per_hour": 1.0}
    chart = memory_and_price(cards)
    priced = [one for one in cards if one["rent_usd_per_hour"]]
    assert chart.svg.count("<circle") == len(priced) == len(chart.rows)
    assert "<b>" not in chart.svg
    places = [(float(x), float(y)) for x, y in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', chart.svg)]
    assert all(62 <= x <= 520 and 0 <= y <= 301 for x, y in places)
    assert memory_and_price([]) is None


def test_the_picture_of_a_price_has_a_point_a_day():
    answer = app.price_history("h100-sxm-80", as_of=DAY)
    chart = price_moves(answer)
    assert chart.svg.count('class="dot chosen"') == len(answer["days"])
    assert len(chart.rows) == len(answer["days"])
    one = price_moves({**answer, "days": answer["days"][:1]})
    assert one.svg.count("<circle") == 1
    assert price_moves({**answer, "days": []}) is None


def test_prices_behind_an_api_move():
    rows = [one for one in api_history("o3", as_of=DAY) if one["provider"] == "openai"]
    assert [(one["since"], one["until"], one["input_amount"]) for one in rows][:2] == [
        ("", "2025-06-10", 10.0), ("2025-06-10", "2026-10-14", 2.0)
    ]  # fmt: skip
    assert all(one["since"] <= "2025-01-01" for one in api_history("o3", as_of="2025-01-01"))
    assert api_history("nobody-sells-it", as_of=DAY) == []


@pytest.mark.parametrize("name", ["01-northgate-h100-reserve.yaml", "03-castell-h100-purchase.yaml"])
def test_a_quote_s_price_is_in_the_book_of_either_database_once(any_store, name):
    from pathlib import Path

    path = Path(__file__).parents[1] / "procure" / "quotes" / name
    first, again = (quote_price(path, store=any_store) for _ in range(2))
    assert (first["new"], again["new"]) == (True, False)
    assert first["id"] == again["id"]
    fields, sources = app.price(first["id"], store=any_store)
    assert fields["amount"] == first["row"]["amount"]
    assert fields["sighting"] == "quote"
    assert "quote" in sources[""]
