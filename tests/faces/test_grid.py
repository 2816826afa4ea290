"""Tables: what is a number or a day is never cut, whatever the terminal."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from cabida.faces.grid import Fitting, table

HEADER = ["Provider", "Capacity", "an hour of useful work", "month", "Seen"]
ROWS = [
    ["DigitalOcean NYC / TOR / AMS", "on demand", "0.87 [0.57–1.3]", "-10,133,560", "2026-08-22"],
    ["huggingface_nscale", "reserved for 12 months", "1.2", "9,838", "2026-11-09"],
]


def shown(what, width):
    stream = io.StringIO()
    Console(file=stream, width=width, highlight=False, markup=False, no_color=True).print(what)
    return stream.getvalue()


@given(st.integers(24, 160))
def test_no_number_and_no_day_is_cut_at_any_width(width):
    told = shown(table(HEADER, ROWS, right=(2, 3), whole=(1, 2, 3, 4)), width)
    assert all(len(line) <= width for line in told.splitlines())
    for row in ROWS:
        for cell in (row[3], row[4], *row[2].split()):
            assert cell in told


def test_headers_fold_before_cells_and_cells_between_words():
    told = shown(table(HEADER, ROWS, right=(2, 3), whole=(1, 2, 3, 4)), 96).splitlines()
    assert "an hour of useful" in told[0]
    assert "work" not in told[0]
    assert sum("DigitalOcean NYC / TOR / AMS" in line for line in told) == 1
    narrower = shown(table(HEADER, ROWS, right=(2, 3), whole=(1, 2, 3, 4)), 76).splitlines()
    assert not any("DigitalOcean NYC / TOR / AMS" in line for line in narrower)


def test_long_names_fold_after_a_stroke():
    rows = [["meta-llama/Llama-3.3-70B-Instruct", "1,234.50 USD"]]
    told = [line.split() for line in shown(table(["Model", "a month"], rows, right=(1,)), 28).splitlines()]
    assert told[2][0][-1] in "-/_"


def test_without_room_for_words_each_row_is_told_below_the_other():
    told = shown(table(HEADER, ROWS, right=(2, 3)), 30).splitlines()
    assert told[0] == ROWS[0][0]
    assert "  month: -10,133,560" in [line.rstrip() for line in told]


@pytest.mark.parametrize("width", [60, 200])
def test_the_wide_table_is_taken_where_its_words_fit(width):
    wide = table(["a", "b"], [["one " * 3, "x" * 80]], right=(1,))
    narrow = table(["a"], [["narrow"]])
    assert ("narrow" in shown(Fitting(wide, narrow, least=10), width)) == (width == 60)
