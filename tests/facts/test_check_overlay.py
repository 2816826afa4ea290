"""What must hold of the facts, and a user's own files over the shipped ones."""

import json
import os
from pathlib import Path

import pytest

from cabida import app, facts
from cabida.errors import InvalidInput
from cabida.text import use_language

OWN = """\
accelerators:
  - id: h100-sxm-80
    tdp_w: 650 W
    source: {what: our power cap, seen: 2026-11-01, grade: measured}
  - id: n1
    name: Nouvelle One
    vendor: Nouvelle
    architecture: Hopper
    form_factor: PCIe
    segment: datacenter
    label_memory_bytes: 64 GiB
    usable_bytes: 63 GiB
    memory_kind: HBM3
    memory_bytes_per_s: 2 TB/s
    flop_per_s: {bf16: 500 TFLOPS}
    link_kind: "none"
    link_domain_count: 1
    confidence: B
    source: {what: vendor's sheet, seen: 2026-11-02, grade: vendor}
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.setenv("CABIDA_FACTS", str(tmp_path))

    def write(text, name="mine.yaml"):
        (tmp_path / name).write_text(text, "utf-8")
        return tmp_path / name

    return write


def test_the_quote_in_the_guide_is_an_offer(own):
    page = (Path(__file__).parents[2] / "docs/own-facts.md").read_text("utf-8")
    own(page.partition("```yaml\n")[2].partition("```")[0])
    found = next(one for one in facts.offers() if one.id == "quote-4711")
    assert (found.accelerator, found.currency, str(found.amount)) == ("h200-sxm-141", "EUR", "1.90")
    assert facts.check() == []


def codes(problems):
    return [found.code for found in problems]


def test_the_shipped_facts_hold():
    assert [str(found) for found in facts.check()] == []


def test_own_fields_lie_over_shipped_ones_with_their_own_source(own):
    shipped = facts.accelerator("h100-sxm-80")
    own(OWN)
    card = facts.accelerator("h100-sxm-80")
    assert (shipped.tdp_w, card.tdp_w) == (700, 650)
    assert card.source_of("tdp_w").what == "our power cap"
    assert card.source == shipped.source
    assert card.usable_bytes == shipped.usable_bytes
    assert card.source_of("usable_bytes") == shipped.source_of("usable_bytes")


def test_own_accelerators_join_the_catalogue(own):
    own(OWN)
    card = facts.accelerator("Nouvelle One")
    assert (card.id, card.flop_per_s["bf16"], card.memory_bytes_per_s) == ("n1", 500e12, 2e12)
    assert card.year is None
    assert "n1" in facts.accelerators()
    assert facts.check() == []


def test_an_edit_is_seen_at_once(own):
    path = own(OWN)
    assert facts.accelerator("n1").usable_bytes == 63 * 2**30
    path.write_text(OWN.replace("63 GiB", "62 GiB"), "utf-8")
    os.utime(path, ns=(1, 1))
    assert facts.accelerator("n1").usable_bytes == 62 * 2**30


def test_every_mistake_is_told_at_once_with_its_line(own):
    path = own(
        "accelerators:\n"
        "  - id: n2\n"
        "    name: N2\n"
        "    usable_byte: 63 GiB\n"
        "    memory_bytes_per_s: 2 parsecs\n"
        "    confidence: D\n"
    )
    with pytest.raises(InvalidInput) as caught:
        facts.accelerators()
    told = {(found.code, found.line) for found in caught.value.problems}
    assert {("CB-F003", 4), ("CB-F004", 5), ("CB-F004", 6), ("CB-F005", 2)} <= told
    assert all(found.file == str(path) for found in caught.value.problems)
    assert "usable_bytes" in next(str(found) for found in caught.value.problems if found.code == "CB-F003")
    assert "CB-F003" in codes(facts.check())


def test_a_change_without_a_source_is_refused(own):
    own("accelerators:\n  - {id: h100-sxm-80, tdp_w: 650 W}\n")
    with pytest.raises(InvalidInput, match=r"h100-sxm-80: source is missing.*CB-F005"):
        facts.accelerators()


def test_unknown_tables_and_broken_yaml_are_located(own):
    own("accelerator: []\n", "a.yaml")
    own("nodes: [\n", "b.yaml")
    with pytest.raises(InvalidInput) as caught:
        facts.nodes()
    assert codes(caught.value.problems) == ["CB-F007", "CB-F002"]
    assert "accelerators" in str(caught.value.problems[0])


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("usable_bytes: 90 GiB", "CB-F032"),
        ("flop_per_s: {bf16: 1978.9 TFLOPS, fp8: 3958 TFLOPS}", "CB-F037"),
        ("flop_per_s: {bf16: 989 TFLOPS, fp8: 500 TFLOPS}", "CB-F033"),
        ("link_domain_count: 1", "CB-F034"),
        ('link_kind: "none"', "CB-F034"),
    ],
)
def test_check_finds_what_cannot_be(own, change, code):
    own(f"accelerators:\n  - id: h100-sxm-80\n    {change}\n    source: {{what: a slip, seen: 2026-11-01}}\n")
    assert code in codes(facts.check())


def test_check_finds_lost_references(own):
    own(
        "nodes:\n  - {id: mine, provider: us, accelerator: h101, accelerators_count: 8,"
        " source: {what: our rack, seen: 2026-11-01}}\n"
    )
    assert codes(facts.check()) == ["CB-F035"]


def test_check_finds_slipped_prices(own):
    own(
        "offers:\n  - {id: slip, provider: us, provider_kind: quote, accelerator: h100-sxm-80, accelerators_count: 8,"
        " capacity: on-demand, term_months: 0, upfront_ratio: 0, amount: 290, unit: accelerator_hour, currency: USD,"
        " seen: 2026-11-01, sighting: quote, sample_count: 1, source: {what: offer 12, seen: 2026-11-01}}\n"
    )
    assert facts.check() == []
    (told,) = app.facts_check()
    assert (told.code, "290 USD" in told.what) == ("CB-F036", True)
    own("nodes: [3]\n")
    assert codes(app.facts_check()) == codes(facts.check()) != []


def quote(**changed):
    """One user's sighting of an H100 by the hour, as a file holds it."""
    row = {
        **{"id": "mine", "provider": "Nube", "provider_kind": "quote", "accelerator": "h100-sxm-80"},
        **{
            "accelerators_count": 1,
            "capacity": "on-demand",
            "term_months": 0,
            "upfront_ratio": 0,
            "amount": 2.5,
        },
        **{"unit": "accelerator_hour", "currency": "EUR", "sighting": "user", "sample_count": 1},
        "source": {"what": "our quote 12", "seen": "2026-11-20"},
    }
    return json.dumps({"offers": [{**row, **changed}]})


def test_a_sighting_without_a_day_was_seen_when_its_source_was(own):
    own(quote())
    assert facts.offers("2026-11-30")[-1].seen == "2026-11-20"
    assert "mine" not in {one.id for one in facts.offers("2026-11-19")}
    own(quote(seen="2026-11-02"))
    assert facts.offers()[-1].seen == "2026-11-02"


def test_check_compares_prices_across_currencies_and_tells_those_without_a_rate(own):
    own(quote(amount=400, currency="JPY"))
    assert app.facts_check() == []
    own(quote(currency="ARS"))
    (told,) = facts.check()
    assert told.code == "CB-F038"
    assert "ARS" in told.what


def test_texts_exist_in_both_languages(own):
    own(
        "accelerators:\n  - {id: h100-sxm-80, usable_bytes: 90 GiB, source: {what: a slip, seen: 2026-11-01}}\n"
    )
    use_language("es")
    try:
        assert "memoria utilizable" in str(facts.check()[0])
    finally:
        use_language("en")


def test_add_keeps_a_record_and_refuses_a_bad_one(own, tmp_path):
    row = {
        "id": "l40s",
        "tdp_w": "300 W",
        "source": {"what": "our cap", "seen": "2026-11-03", "grade": "measured"},
    }
    path = facts.add("accelerators", [row])
    assert path == tmp_path / "accelerators.yaml"
    assert facts.accelerator("l40s").tdp_w == 300
    with pytest.raises(InvalidInput, match="CB-F004"):
        facts.add("accelerators", [{**row, "tdp_w": "warm"}])
    assert facts.accelerator("l40s").tdp_w == 300


def test_a_folder_is_made_and_an_empty_variable_means_the_one_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CABIDA_FACTS", "new/folder")
    row = {"id": "l40s", "tdp_w": "300 W", "source": {"what": "our cap", "seen": "2026-11-03"}}
    assert facts.add("accelerators", [row]) == Path("new/folder/accelerators.yaml")
    monkeypatch.setenv("CABIDA_FACTS", "")
    assert facts.accelerator("l40s").tdp_w == 350
    assert facts.add("accelerators", [row]) == Path("cabida-facts/accelerators.yaml")
    assert facts.accelerator("l40s").tdp_w == 300


def test_nothing_is_added_to_a_file_with_a_fault(own):
    path = own("- not a table\n", "offers.yaml")
    with pytest.raises(InvalidInput, match="CB-F007"):
        facts.add("offers", [json.loads(quote())["offers"][0]])
    assert path.read_text("utf-8") == "- not a table\n"


def test_own_facts_change_the_digest_a_decision_cites(own):
    shipped = facts.digest()
    own(OWN)
    with_own = facts.digest()
    own(OWN.replace("650 W", "640 W"))
    assert len({shipped, with_own, facts.digest()}) == 3


@pytest.mark.parametrize(
    ("was", "now", "field"),
    [
        ("until: 2026-12-28", "until: soon", "until"),
        ("until: 2026-12-28", "until: 2026-02-30", "until"),
        ("upfront_ratio: 0", "upfront_ratio: 0\n    fraction_ratio: 0", "fraction_ratio"),
        ("upfront_ratio: 0", "upfront_ratio: 0\n    minimum_count: 0", "minimum_count"),
        ("capacity: on-demand", "capacity: borrowed", "capacity"),
        ("amount: 1.90", "amount: NaN", "amount"),
        ("amount: 1.90", "amount: -1.90", "amount"),
    ],
)
def test_a_quote_that_can_not_be_is_refused_with_its_line(own, was, now, field):
    page = (Path(__file__).parents[2] / "docs/own-facts.md").read_text("utf-8")
    text = page.partition("```yaml\n")[2].partition("```")[0]
    assert was in text
    own(text.replace(was, now, 1))
    (found,) = facts.check()
    assert found.code == "CB-F004"
    assert field in str(found)
    assert found.line > 1
