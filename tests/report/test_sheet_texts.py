"""Texts of a workbook are never formulas: in cells, in names of charts, inside formulas."""

import io
import zipfile
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_sample import decision

from cabida.report.sheet import workbook
from cabida.report.sheet_book import cell_text, chart_text, number_format, quoted

EVIL = ("=1+1", "+1", "-1", "@SUM(A1)", "  =1+1", "=cmd|' /C calc'!A1", '=HYPERLINK("http://x")')


@pytest.mark.parametrize("said", EVIL)
def test_the_name_of_a_chart_begins_as_no_formula(said):
    assert chart_text(said)[:1] not in ("=", "+", "-", "@", " ")
    assert chart_text(f"EUR {said}").startswith("EUR ")
    assert "!A" not in chart_text(said)


@pytest.mark.parametrize("currency", EVIL)
def test_a_decision_whose_currency_is_a_formula_gives_a_workbook_without_it(currency):
    book = zipfile.ZipFile(io.BytesIO(workbook(replace(decision("en"), currency=currency))))
    for name in book.namelist():
        if name.startswith("xl/charts/"):
            text = book.read(name).decode()
            formulas = [part.partition("</c:f>")[0] for part in text.split("<c:f>")[1:]]
            assert formulas
            assert all(one.startswith(("'", "Options", "TCO")) for one in formulas), formulas


@given(st.text(max_size=400))
def test_text_inside_a_formula_stays_inside_it(said):
    made = quoted(said)
    assert made[0] == made[-1] == '"'
    assert made[1:-1].replace('""', "").count('"') == 0 or len(made) >= 252
    assert "\r" not in cell_text(said)


@pytest.mark.parametrize(
    ("unit", "value", "form"),
    [("money", 12.0, "#,##0.00"), ("money", 0.05, "0.0000"), ("money/h", 0.0, "#,##0.00"), ("EUR", 0.001, "0.00000000"),
     ("", 5.0, "#,##0"), ("", 1234.5, "#,##0.0"), ("", 1.5, "#,##0.00##"), ("", 0.5, "0.000000"),
     ("", 1e-9, "0.000E+00"),
     ("", 2e15, "0.000E+00")],
)  # fmt: skip
def test_figures_have_the_digits_they_deserve(unit, value, form):
    assert number_format(unit, value) == form
