"""``cabida prices``: what is in force, how it moved, what is set aside, at which rates, and one price whole."""

import json
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

import cabida
from cabida import facts, money
from cabida.evidence import book
from cabida.evidence.prices import Read, Unread
from cabida.faces.cli import cli
from cabida.faces.price_screens import Moved
from cabida.money.prices.offers import believed_offers
from cabida.text import use_language

DAY = "2026-11-30"


@pytest.fixture(autouse=True)
def _english():
    yield
    use_language("en")


def run(*words, **env):
    return CliRunner().invoke(cli, ["prices", *words], env=env, catch_exceptions=False)


def rows(*words, **env):
    return json.loads(run(*words, "--json", **env).stdout)


def test_prices_in_force_are_the_last_of_each_thing_and_all_shows_the_rest():
    now, every = (
        rows("list", "h100-sxm-80", "--as-of", DAY),
        rows("list", "h100-sxm-80", "--all", "--as-of", DAY),
    )
    ids = {one["id"] for one in now}
    assert len(ids) == len(now) < len(every)
    assert ids < {one["id"] for one in every}
    assert {one["id"] for one in rows("aside", "h100-sxm-80", "--as-of", DAY)}.isdisjoint(ids)
    assert [one["amount"] for one in now] == sorted(one["amount"] for one in now)
    assert rows("list", "--gpu", "h100 sxm", "--as-of", DAY) == now


def test_a_familys_name_lists_every_form_and_one_forms_name_only_that():
    forms = {one["gpu"] for one in rows("list", "a100", "--as-of", DAY)}
    assert forms == {"a100-sxm-40", "a100-sxm-80", "a100-pcie-40", "a100-pcie-80"}
    assert {one["gpu"] for one in rows("list", "l40", "--as-of", DAY)} == {"l40"}
    assert {one["gpu"] for one in rows("list", "A100 PCIe", "--as-of", DAY)} == {
        "a100-pcie-40",
        "a100-pcie-80",
    }


@pytest.mark.parametrize("more", [(), ("--api",)])
def test_what_list_calls_a_price_is_what_show_takes(more):
    first = rows("list", "--as-of", DAY, *more)[0]
    assert first["short"] in run("list", "--as-of", DAY, *more).stdout
    assert rows("show", first["short"], "--as-of", DAY)["id"] == first["id"]


def test_what_embeds_writes_nothing_rather_than_for_nothing():
    told = run("list", "text-embedding-3", "--api", "--as-of", DAY).stdout
    assert "text-embedding-3" in told
    assert "0.000" not in told


@pytest.mark.parametrize(
    ("sort", "key"), [("provider", lambda row: row["provider"].lower()), ("gpu", lambda row: row["gpu"])]
)
def test_rows_are_sorted_as_asked(sort, key):
    found = [key(one) for one in rows("list", "--capacity", "spot", "--sort", sort, "--as-of", DAY)]
    assert found == sorted(found)
    seen = [one["seen"] for one in rows("list", "--as-of", DAY)]
    assert seen == sorted(seen, reverse=True)


def test_filters_narrow():
    found = rows("list", "h100", "--provider", "azure", "--region", "eastus", "--as-of", DAY)
    assert found
    assert {(one["provider"], one["region"]) for one in found} == {("Azure", "eastus")}
    assert rows("list", "llama", "--api", "--as-of", DAY)[0]["unit"] == "mtok"


def test_a_converted_price_shows_its_rate_and_day():
    (plain,), (euros,) = (
        rows(
            "list",
            "h100-sxm-80",
            "--provider",
            "azure",
            "--region",
            "eastus",
            "--capacity",
            "on-demand",
            *more,
            "--as-of",
            DAY,
        )
        for more in ((), ("--currency", "EUR"))
    )
    ratio, day, _ = facts.exchange_rate("USD", "EUR", DAY)
    assert euros["amount"] == pytest.approx(plain["amount"] * ratio)
    assert (euros["rate"], euros["rate_seen"], euros["sighted_currency"]) == (ratio, day, "USD")
    assert (
        "1 USD = " in run("list", "h100", "--provider", "azure", "--currency", "EUR", "--as-of", DAY).stdout
    )


@pytest.mark.parametrize("words", [("list", "h100"), ("history", "h100"), ("aside", "h100"), ("rates",)])
def test_a_currency_nobody_knows_lists_the_known(words):
    found = run(*words, "--currency", "XYZ")
    assert found.exit_code == 3
    assert "CB-F006" in found.stderr
    assert "EUR" in found.stderr
    assert "Traceback" not in found.output


def test_the_history_is_a_series_whose_quartiles_are_in_order():
    answer = rows("history", "h100", "--as-of", DAY)
    days = answer["days"]
    assert [one["seen"] for one in days] == sorted({one["seen"] for one in days})
    for one in days:
        assert one["low"] <= one["median"] <= one["high"]
        assert (one["p25"] is None) == (one["sellers"] == 1)
        assert one["p25"] is None or one["low"] <= one["p25"] <= one["median"] <= one["p75"] <= one["high"]
    assert 0 <= answer["again"]["rose"] + answer["again"]["fell"] <= answer["again"]["prices"]
    alone = rows("history", "h100", "--provider", "RunPod", "--as-of", DAY)
    assert {one["sellers"] for one in alone["days"]} == {1}
    earlier = rows("history", "h100", "--as-of", "2026-09-01")["days"]
    assert earlier
    assert all(one["seen"] <= "2026-09-01" for one in earlier)


def test_the_picture_of_a_day_spans_from_lowest_to_highest():
    answer = cabida.price_history("h100", as_of=DAY)
    drawn = Moved(answer)
    for one in answer["days"]:
        line = drawn.drawn(one)
        assert line.count("●") == 1
        assert len(line) == 32
        assert len(line.strip()) == drawn.place(one["high"]) - drawn.place(one["low"]) + 1
        assert drawn.drawn(one, plain=True).isascii()


def test_what_is_set_aside_has_its_reason_and_its_middle(tmp_path):
    store = str(tmp_path / "s.db")
    book.add(Read("mine.csv", "price list", "a" * 64, unread=[Unread(7, "x,FooGPU,2", "no_price")]), store)
    today = max(DAY, datetime.now(UTC).date().isoformat())  # what is imported now is known from today on
    found = rows("aside", "--store", store, "--as-of", today)
    assert {"below_market", "too_low", "unknown_part", "unread"} <= {one["reason"] for one in found}
    for one in found:
        assert (one["ratio"] is None) == (one["middle"] is None)
        assert one["ratio"] is None or one["ratio"] == pytest.approx(one["price_money"] / one["middle"])
    for language, word in (("en", "FooGPU"), ("es", "Filas que no se pudieron leer: 1")):
        assert word in run("aside", "--store", store, "--lang", language, "--as-of", today).stdout
    assert {one["seen"] for one in rows("aside", "--as-of", "2024-06-01")} <= {""} | {
        one["seen"] for one in found if one["seen"] <= "2024-06-01"
    }


def test_nothing_set_aside_is_an_answer():
    assert rows("aside", "mi300x", "--as-of", DAY) == []
    assert "Nothing is set aside." in run("aside", "mi300x", "--as-of", DAY).stdout


def test_rates_have_their_days_and_invert():
    euros = {one["of"]: one for one in rows("rates", "--currency", "eur", "--as-of", "2025-03-15")}
    dollars = {one["of"]: one for one in rows("rates", "--as-of", "2025-03-15")}
    assert euros["EUR"]["rate"] == 1
    assert euros["USD"]["rate"] * dollars["EUR"]["rate"] == pytest.approx(1)
    assert {one["seen"] for one in euros.values()} == {"2025-02-28"}


def test_one_price_is_shown_whole_by_its_id_or_the_beginning_of_it():
    one = rows("list", "h100", "--as-of", DAY)[0]
    shown = rows("show", one["id"])
    assert shown["id"] == one["id"]
    assert {"includes", "node_shape", "form_factor", "until", "tax_ratio"} <= set(shown)
    assert shown["sources"][""].startswith(one["source"])
    found = run("show", "no-such-price")
    assert (found.exit_code, "CB-U016" in found.stderr) == (3, True)


def test_an_imported_price_says_from_which_file_and_line(tmp_path):
    from dataclasses import replace

    store = str(tmp_path / "s.db")
    shipped = facts.offers()[0]
    mine = replace(shipped, id="mine", provider="Mine")
    book.add(Read("mine.csv", "price list", "a" * 64, offers=[mine], offer_lines=[42]), store)
    shown = rows("show", "mine-", "--store", store)
    assert (shown["imported_from"], shown["imported_line"]) == ("mine.csv", 42)
    assert shown["recorded_at"].endswith("+00:00")


def test_two_names_for_one_thing_and_none_are_told():
    assert "CB-U088" in run("list", "h100", "--gpu", "l4").stderr
    assert "CB-U089" in run("history").stderr
    assert "CB-U015" in run("history", "h100", "--provider", "nobody").stderr


def test_prices_in_several_currencies_are_sorted_by_what_they_are_worth(tmp_path):
    offers = [
        {
            "id": f"q{code}", "provider": "Mine", "provider_kind": "quote", "accelerator": "h100-sxm-80",
            "accelerators_count": 1, "capacity": "spot", "term_months": 0, "upfront_ratio": 0, "amount": amount,
            "unit": "accelerator_hour", "currency": code, "seen": "2026-11-20", "sighting": "user", "sample_count": 1,
            "node_shape": code, "source": {"what": "a quote", "seen": "2026-11-20"},
        }
        for code, amount in (("JPY", 300), ("USD", 3), ("INR", 150))
    ]  # fmt: skip
    (tmp_path / "own.yaml").write_text(json.dumps({"offers": offers}), "utf-8")
    told = ("list", "h100-sxm-80", "--capacity", "spot", "--provider", "Mine", "--as-of", DAY)
    found = rows(*told, CABIDA_FACTS=str(tmp_path))
    assert [one["currency"] for one in found] == ["INR", "JPY", "USD"]  # 1.7, 1.9 and 3 dollars
    one_money = rows(*told, "--currency", "EUR", CABIDA_FACTS=str(tmp_path))
    assert [one["id"] for one in one_money] == [one["id"] for one in found]
    assert [one["amount"] for one in one_money] == sorted(one["amount"] for one in one_money)


def test_prices_of_apis_are_converted_too():
    told = ("list", "claude-sonnet", "--api", "--provider", "anthropic", "--as-of", DAY)
    for dollars, euros in zip(rows(*told), rows(*told, "--currency", "eur"), strict=True):
        assert (euros["currency"], euros["sighted_currency"], euros["id"]) == ("EUR", "USD", dollars["id"])
        assert euros["amount"] == pytest.approx(dollars["amount"] * euros["rate"])
        assert euros["input_amount"] == pytest.approx(dollars["input_amount"] * euros["rate"])
    assert "1 USD =" in run(*told, "--currency", "eur").output


def test_a_price_seen_later_than_the_day_is_not_shown():
    one = rows("list", "h100-sxm-80", "--sort", "seen", "--as-of", DAY)[0]
    assert rows("show", one["id"], "--as-of", one["seen"])["id"] == one["id"]
    before = run("show", one["id"], "--as-of", "2025-01-01")
    assert "CB-U016" in before.output


def test_what_is_asked_now_is_in_force_or_aside_and_a_choice_is_made_from_no_other():
    card = facts.accelerator("h100-sxm-80")
    terms = money.terms("USD", as_of=DAY)
    chosen = {one.id for one in believed_offers(card, book.offers(DAY, [card.id]), terms)}
    listed = {one["id"] for one in rows("list", card.id, "--as-of", DAY)}
    aside = {one["id"]: one["reason"] for one in rows("aside", card.id, "--as-of", DAY)}
    assert listed <= chosen
    assert aside["vast.ai-h100-sxm-80-on-demand-1x-2026-08-22"] == "below_market"  # of what is asked since
    assert chosen.isdisjoint(aside)
