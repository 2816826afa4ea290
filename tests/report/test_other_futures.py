"""The front, freedom to change and turning assumptions in every form of the record, in both languages."""

import io
from dataclasses import replace

import pytest
from report_sample import decision
from rich.console import Console

from cabida import report
from cabida.faces import show
from cabida.plan import Flexibility, Flip
from cabida.plan.mix import Mix, MixPart
from cabida.report.flexibility import cells, flexibility, front, turning
from cabida.report.money_sections import money_sections
from cabida.report.store import from_json, to_json
from cabida.text import speaking

BOUND = Flexibility(14.5, 1.31, 32_768, 84.5e9, 4200.0, 0.0, 0.21)
FREE = Flexibility(None, 1.2, None, None, 0.0, 9100.0, 1.0)


def made(language):
    base = decision(language)
    first, second, *others = base.options
    options = (
        replace(first, on_front=True, flexibility=BOUND),
        replace(second, on_front=True, flexibility=FREE),
        *others,
    )
    flips = (
        Flip("wacc_ratio", "%", 0.1, 0.22, second.id, "S1."),
        Flip("storage_money_per_gb_per_month", "money", 0.1, None, "", "S2."),
    )
    promise = Flip("flexibility", "", 0.3, 0.6, second.id, "S3.")
    return replace(base, options=options, assumption_flips=flips, flips=(*base.flips, promise))


def part(accelerator, capacity, share):
    return MixPart(
        f"{accelerator} {capacity}", f"1×{accelerator} · m fp8 · {capacity}", "id", accelerator, capacity, "P",
        0.0, 4.0, 1, 3, 3, 100.0, share,
    )  # fmt: skip


@pytest.mark.parametrize("language", ["en", "es"])
def test_sections_stand_in_markdown_and_on_the_page(language):
    one = made(language)
    with speaking(language):
        sections = {section.key: section for section in money_sections(one)}
    assert {"front", "flexibility", "turning"} <= sections.keys()
    for form in ("md", "html"):
        told = report.render(one, form)
        for key in ("front", "flexibility", "turning"):
            for table in sections[key].tables:
                for row in table.rows:
                    assert all(cell.split("[")[0].strip()[:12] in told.replace("\\", "") for cell in row)


def test_an_option_says_what_it_still_does():
    with speaking("en"):
        assert cells(replace(decision().options[0], flexibility=BOUND), "EUR") == (
            "1.31×", "in 14.5 months", "32,768 tokens", "84.5 billion parameters", "21 %", "4,200 EUR", "0 EUR",
        )  # fmt: skip
        assert cells(replace(decision().options[0], flexibility=FREE), "EUR")[2:4] == ("–", "–")
        assert cells(replace(decision().options[0], flexibility=None), "EUR") == ("–",) * 7
    with speaking("es"):
        assert cells(replace(decision("es").options[0], flexibility=BOUND), "EUR")[1] == "en 14,5 meses"


def test_what_is_not_known_is_left_out():
    plain = decision()
    assert front(plain) is flexibility(plain) is turning(plain) is None
    assert not {"front", "flexibility", "turning"} & {one.key for one in money_sections(plain)}


def test_a_promise_is_told_by_its_flip_and_freedom_by_its_worth():
    with speaking("en"):
        bound = made("en")
        assert flexibility(bound).sentences[0] == "S3."
        free = replace(
            bound, options=(replace(bound.options[0], flexibility=FREE), *bound.options[1:]), flips=()
        )
        assert "9,100 EUR" in flexibility(free).sentences[0]


def test_assumptions_that_never_turn_the_answer_are_sentences_and_the_others_rows():
    with speaking("en"):
        found = turning(made("en"))
    assert found.sentences[1:] == ("S2.",)
    assert len(found.tables[0].rows) == 1
    assert found.tables[0].rows[0][1:3] == ("10 %", "22 %")


def test_it_is_read_back_the_same():
    one = made("en")
    assert from_json(to_json(one)) == one


@pytest.mark.parametrize(("language", "word"), [("en", "cheaper mixed"), ("es", "más barata combinada")])
def test_a_fleet_is_a_row_on_the_screen(language, word):
    parts = (part("l40s", "on-demand", 0.7), part("rtx4090", "have", 0.3))
    mix = Mix(parts, (), (), (), 900.0, 0.001, 1e6, 9e5, 0.0, 0.2, 0.0, True, 1)
    base = decision(language)
    flip = Flip("mix", "EUR", 0.002, 0.001, "", "M.")
    one = replace(base, mix=mix, flips=(*base.flips, flip))
    stream = io.StringIO()
    Console(file=stream, width=120).print(show.decision(one))
    assert word in stream.getvalue()
    assert word in report.render(one, "md")
    assert word not in report.render(base, "md")
