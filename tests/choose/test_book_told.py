"""What a decision says of the price book it was made with."""

from dataclasses import replace
from decimal import Decimal

import pytest
from choose_briefs import AS_OF

from cabida import facts
from cabida.brief import complete, parse_brief
from cabida.choose import decide
from cabida.evidence import book
from cabida.evidence.prices import Read
from cabida.facts.model import Offer
from cabida.quantity import Source

TEXT = """
name: book
workload: realtime-inference
models: [{{id: meta-llama/Llama-3.1-8B-Instruct, weights: {{fp8: {{acceptance: 0.9, how: measured}}}}}}]
traffic: {{requests_per_s: {{mean: 1, peak: 3, profile: office-hours Europe/Madrid}},
  input_tokens: {{p50: 300, p95: 1200}}, output_tokens: {{p50: 150, p95: 500}}}}
objectives: {{ttft_p95: 1500 ms, itl_p95: 80 ms}}
limits: {{data: {data}, needed_by: 2027-03-01, availability: none, risk: medium}}
horizon: 12 months
team: {{platform_engineers: 0.1, loaded_cost: 90000 USD/year}}
consider: {{capacity: [on-demand], providers: any, accelerators: [{card}]}}
"""
SAID = Source("price list, mine.csv", "", "2026-11-20", "quoted")


def offer(amount, **more):
    plain = {
        "id": "mine", "provider": "Mine", "provider_kind": "neocloud", "accelerator": "l40s", "accelerators_count": 1,
        "region": "", "country": "", "capacity": "on-demand", "term_months": 0, "upfront_ratio": 0.0,
        "amount": Decimal(amount), "unit": "accelerator_hour", "currency": "USD", "seen": "2026-11-20",
        "effective": "", "sighting": "table", "sample_count": 1, "low_amount": None, "high_amount": None,
        "condition": "", "notes": "", "source": SAID,
    }  # fmt: skip
    return Offer(**(plain | more))


@pytest.fixture
def imported(tmp_path, monkeypatch):
    store = tmp_path / "store.db"
    monkeypatch.setenv("CABIDA_STORE", str(store))

    def keep(*offers):
        return book.add(Read("mine.csv", "price list", "a" * 64, offers=list(offers)), store)

    return keep


def decided(card="l40s", data="any"):
    read = parse_brief(TEXT.format(card=card, data=data), as_of=AS_OF)
    return decide(complete(read, assume=True, as_of=AS_OF), AS_OF).decision


def told(decision, code):
    return [one.sentence for one in decision.warnings if one.code == code]


def test_an_undated_price_may_be_cheapest_but_never_without_saying_so(imported, monkeypatch):
    from cabida.evidence import price_keeping

    class Clock(price_keeping.datetime):
        @classmethod
        def now(cls, zone=None):
            return cls(2026, 11, 29, tzinfo=zone)

    monkeypatch.setattr(price_keeping, "datetime", Clock)
    before = decided()
    imported(offer("0.30", seen=""))
    after = decided()
    first = after.options[0]
    assert (first.provider, first.price_seen) == ("Mine", "")
    (sentence,) = told(after, "CB-C101")
    assert "Mine" in sentence
    dated = before.options[0].unit_cost
    assert (
        first.unit_cost.high / first.unit_cost.value > dated.high / dated.value
    )  # nobody knows how old it is
    assert after.facts_digest != before.facts_digest == facts.digest()


def test_an_ended_quote_is_not_used_and_an_odd_one_is_used_and_told(imported):
    imported(
        offer("0.31", id="old", provider="Old Friend", sighting="quote", until="2026-10-01"),
        offer("0.05", id="odd", provider="Odd Friend", sighting="quote", until="2026-12-31"),
    )
    found = decided()
    assert found.options[0].provider == "Odd Friend"
    assert not any(one.provider == "Old Friend" for one in found.options)
    (ended,) = told(found, "CB-C121")
    assert "2026-10-01" in ended
    (odd,) = told(found, "CB-C122")
    assert "Odd Friend" in odd


def test_a_price_set_aside_is_counted_and_decides_nothing(imported):
    before = decided()
    imported(offer("0.01"), offer("0.02", id="b", provider="B"))
    after = decided()
    assert after.options[0].title == before.options[0].title
    (sentence,) = told(after, "CB-C120")
    ((count, _, of_count),) = [one.split()[:3] for one in told(before, "CB-C120")] or [("0", "", "")]
    assert sentence.split()[:3] == [str(int(count) + 2), "of", str(int(of_count) + 2)]
    assert "cabida prices aside" in sentence


def test_the_price_of_an_allowed_place_counts_though_another_is_cheaper(imported):
    imported(
        offer("0.40", id="us", country="US", region="us-east-1"),
        offer("0.45", id="de", country="DE", region="eu-central-1"),
    )
    assert decided(data="EU only").options[0].region == "eu-central-1"
    assert decided().options[0].region == "us-east-1"


def test_a_slice_of_a_card_is_no_card(imported):
    imported(replace(offer("0.08"), fraction_ratio=0.1))
    assert all(one.provider != "Mine" for one in decided().options)


def test_the_rate_that_figures_were_converted_at_is_shown_with_its_day(imported):
    imported(offer("0.30", id="eur", currency="EUR"))
    ratio, day, _ = facts.exchange_rate("EUR", "USD", AS_OF)
    (sentence,) = told(decided(), "CB-C123")
    assert "1 EUR = " in sentence
    assert day in sentence
    assert f"{ratio:.4f}"[:5] in sentence


@pytest.mark.parametrize(("until", "count"), [("2027-02-28", 1), ("2027-03-01", 0)])
def test_a_quote_that_ends_before_it_is_needed_is_told(imported, until, count):
    imported(offer("0.40", provider="Friend", sighting="quote", until=until))
    decision = decided()
    assert "Friend" in decision.options[0].title
    found = told(decision, "CB-C124")
    assert len(found) == count
    assert all(until in one and "2027-03-01" in one for one in found)


@pytest.mark.parametrize(("region", "said"), [("Madrid", "for Madrid"), ("", "does not say where")])
def test_a_place_without_a_country_is_told_by_its_name(imported, region, said):
    imported(offer("0.40", provider="Friend", region=region))
    (sentence,) = told(decided(data="EU"), "CB-X010")
    assert "Friend" in sentence
    assert said in sentence
