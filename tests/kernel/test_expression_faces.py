"""An equation gives one value in Python, in a browser and in a spreadsheet: at bounds, at ends of tables, at steps."""

import math
import shutil
import subprocess
from pathlib import Path

import pytest
from openpyxl import Workbook, load_workbook
from playwright.sync_api import sync_playwright

from cabida.equation import NotAFormula
from cabida.expression import JAVASCRIPT_WORDS, expression

CHROMIUM = {"executable_path": "/usr/bin/chromium", "args": ["--no-sandbox"]}
XS, YS = [0.0, 1.0, 2.0, 4.0], [5.0, 10.0, 40.0, 20.0]
PAIRS = [(1.0, 2.0), (2.0, 2.0), (3.0, 2.0), (0.3, 0.1), (0.1 + 0.2, 0.1), (-1.5, 2.0), (700.0, 8.0)]
BY_HAND = [  # equation, what it is of a and b
    ("a + b", lambda a, b: a + b), ("a - b", lambda a, b: a - b), ("a * b", lambda a, b: a * b),
    ("a / b", lambda a, b: a / b), ("-a", lambda a, b: -a), ("b ** 2", lambda a, b: b**2),
    ("where(a < b, 1, 2)", lambda a, b: 1 if a < b else 2), ("where(a <= b, 1, 2)", lambda a, b: 1 if a <= b else 2),
    ("where(a > b, 1, 2)", lambda a, b: 1 if a > b else 2), ("where(a >= b, 1, 2)", lambda a, b: 1 if a >= b else 2),
    ("where(a == b, 1, 2)", lambda a, b: 1 if a == b else 2), ("least(a, b, 2.5)", lambda a, b: min(a, b, 2.5)),
    ("most(a, b, 2.5)", lambda a, b: max(a, b, 2.5)), ("total(a, b, a)", lambda a, b: a + b + a),
    ("sqrt(b)", lambda a, b: math.sqrt(b)), ("exp(b / 10)", lambda a, b: math.exp(b / 10)),
    ("log(b)", lambda a, b: math.log(b)), ("ceil_to(a, b)", lambda a, b: math.ceil(a / b - 1e-9) * b),
    ("half = a / 2; half * half + b", lambda a, b: a * a / 4 + b),
]  # fmt: skip
LOOKED_UP = {-1.0: 5.0, 0.0: 5.0, 0.5: 7.5, 1.0: 10.0, 1.5: 25.0, 2.0: 40.0, 3.0: 30.0, 4.0: 20.0, 9.0: 20.0}
TABLE = "lookup(a, xs, ys)"


def cases():
    for text, by_hand in BY_HAND:
        for a, b in PAIRS:
            yield text, {"a": a, "b": b}, float(by_hand(a, b))
    for a, value in LOOKED_UP.items():
        yield TABLE, {"a": a, "xs": XS, "ys": YS}, value


CASES = list(cases())


def test_in_python():
    for text, inputs, value in CASES:
        assert expression(text).value(inputs) == pytest.approx(value, rel=1e-12), (text, inputs)


def test_in_a_browser():
    said = [expression(text).javascript(lambda name: f"v.{name}") for text, _, _ in CASES]
    program = "(all) => {" + JAVASCRIPT_WORDS + "return all.map(([said, v]) => eval(said));}"
    with sync_playwright() as play:
        started = play.chromium.launch(**CHROMIUM)
        found = started.new_page().evaluate(
            program, [[one, inputs] for one, (_, inputs, _) in zip(said, CASES, strict=True)]
        )
        started.close()
    for got, (text, inputs, value) in zip(found, CASES, strict=True):
        assert got == pytest.approx(value, rel=1e-12), (text, inputs)


def test_in_a_spreadsheet(tmp_path):
    book = Workbook()
    sheet = book.active
    for row, (x, y) in enumerate(zip(XS, YS, strict=True), 1):
        sheet[f"F{row}"], sheet[f"G{row}"] = x, y
    for row, (text, inputs, _) in enumerate(CASES, 1):
        cells = {"a": f"$A${row}", "b": f"$B${row}", "xs": "$F$1:$F$4", "ys": "$G$1:$G$4"}
        sheet[f"A{row}"], sheet[f"B{row}"] = inputs["a"], inputs.get("b", 0.0)
        sheet[f"C{row}"] = "=" + expression(text).sheet(cells.__getitem__)
    path = tmp_path / "faces.xlsx"
    book.save(path)
    soffice = shutil.which("soffice") or shutil.which("libreoffice")
    assert soffice
    subprocess.run(
        [soffice, f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}", "--headless", "--convert-to",
         "xlsx:Calc MS Excel 2007 XML", "--outdir", str(tmp_path / "out"), str(path)],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    read = load_workbook(Path(tmp_path / "out" / "faces.xlsx"), data_only=True).active
    for row, (text, inputs, value) in enumerate(CASES, 1):
        assert read.cell(row, 3).value == pytest.approx(value, rel=1e-12), (text, inputs)


def test_an_equation_is_as_deep_as_is_allowed_and_no_deeper():
    assert expression("-" * 119 + "a").value({"a": 2.0}) == -2.0
    with pytest.raises(NotAFormula, match="deep"):
        expression("-" * 120 + "a")
