"""Both catalogues are complete, every key in the code exists, numbers read as a person writes them."""

import json
import re
import string
from pathlib import Path

import pytest

from cabida.text import (
    closest,
    duration,
    language,
    locale,
    missed,
    money,
    number,
    problem,
    rate,
    size,
    tr,
    use_language,
)

SOURCE = Path(__file__).parents[2] / "src" / "cabida"
ROOMS = sorted(path.stem for path in (SOURCE / "locale" / "en").glob("*.json"))


def read(language, room):
    return json.loads((SOURCE / "locale" / language / f"{room}.json").read_text("utf-8"))


def fields(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("room", ROOMS)
def test_catalogues_match(room):
    english, spanish = read("en", room), read("es", room)
    assert set(english) == set(spanish)
    for key, text in english.items():
        assert text.strip(), key
        assert spanish[key].strip(), key
        assert fields(text) == fields(spanish[key]), key


def test_every_key_in_the_code_has_a_text():
    missing = []
    for path in SOURCE.rglob("*.py"):
        code = path.read_text("utf-8")
        for key in re.findall(r"""\btr\(\s*["']([a-z_]+\.[\w.-]+)["']\s*[,)]""", code):
            room, _, name = key.partition(".")
            if name not in read("en", room):
                missing.append(f"{path.name}: {key}")
        for known in re.findall(r"""\bproblem\(\s*["'](CB-[A-Z]\d{3})["']""", code):
            if not any(f"{known}.what" in read("en", room) for room in ROOMS):
                missing.append(f"{path.name}: {known}")
    assert not missing


def test_numbers_in_both_languages():
    assert [number(v) for v in (12345, 0.002123, 0.5, 99.96, 0)] == ["12,300", "0.00212", "0.5", "100", "0"]
    assert money(14900, "EUR") == "14,900 EUR"
    assert duration(0.54) == "540 ms"
    assert size(80 * 2**30) == "80 GiB"
    use_language("es")
    assert money(14900.4, "EUR") == "14.900 EUR"
    assert number(0.00212) == "0,00212"
    assert duration(86400 * 3) == "3 días"


def test_closest():
    assert closest("ttf_p95", ["ttft_p95", "itl_p95"]) == "ttft_p95"
    assert closest("zzz", ["ttft_p95"]) is None


def test_a_missed_time_is_told_apart_from_its_limit():
    assert missed(45.04, 45.0) == {"value": "45.04 s", "limit": "45 s"}
    assert missed(70.0, 45.0) == {"value": "70 s", "limit": "45 s"}
    assert duration(float("inf")) == "∞"


def test_what_comes_less_than_once_a_minute_is_told_by_the_day():
    assert rate(1.88) == "1.88 req/s"
    assert rate(0.000484) == "41.8 req/day"


def test_an_error_repeats_no_more_than_a_person_reads():
    told = problem("CB-F001", kind="accelerator", name="h" * 100_000, near="h100", ref="h" * 100_000)
    assert len(str(told)) < 4000
    assert "hhh…hhh" in str(told)


@pytest.mark.parametrize(("code", "one", "many"), [("en", "1 month", "6 months"), ("es", "1 mes", "6 meses")])
def test_a_counted_word_follows_its_count(code, one, many):
    use_language(code)
    assert [tr("hold.months", count=count) for count in (1, "1", 6, "6")] == [one, one, many, many]
    assert tr("hold.months", count="1,000") == f"1,000 {many.split()[1]}"


def test_commands_leave_their_language_behind_and_the_next_test_starts_in_english_1():
    use_language("es")


def test_commands_leave_their_language_behind_and_the_next_test_starts_in_english_2():
    assert language() == "en"


def test_spanish_of_mexico_has_spanish_words_and_a_point_before_the_decimals():
    use_language("es-MX")
    assert (language(), locale()) == ("es", "es-MX")
    assert number(1234.5, 6) == "1,234.5"
    assert tr("report.days") == "días"
    use_language("es")
    assert (language(), locale(), number(1234.5, 6)) == ("es", "es", "1.234,5")
    use_language("es-AR")
    assert locale() == "en"
