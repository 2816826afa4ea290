"""The workbook: recalculated by LibreOffice with other inputs it says what a what-if says, and nothing in it is live
but its own formulas."""

import io
import os
import re
import subprocess
import zipfile
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import openpyxl
import pytest
from report_sample import decision as sample

import cabida
from cabida import report
from cabida.choose.levers import levers
from cabida.choose.what_if import what_if
from cabida.errors import InvalidInput
from cabida.plan import Assumption, Caution, SignOff
from cabida.report.sheet import workbook
from cabida.report.sheet_book import EXPLAIN_TOP, INPUTS_TOP, SHEETS, cell_text
from cabida.report.sheet_options import COST, DECIDED, RANK, TITLE, TOP, UNIT, VERDICT
from cabida.report.store import to_json
from cabida.text import speaking, tr

EXAMPLES = Path(__file__).parents[2] / "examples"
GOLDEN = Path(__file__).parent / "golden"
AS_OF = "2026-11-30"
BRIEFS = {  # a service with an API and what is held, a run, what is bought, and one where little keeps to the budget
    "story-startup-chatbot": "en",
    "qlora-70b": "es",
    "speech-transcription": "es",
    "story-homelab-13b-3090": "en",
}
SETTINGS = {  # inputs that are set, as a share of the way from their low to their high end
    "story-startup-chatbot": {"1.output_money_per_mtok": 0.4, "loaded_money_per_year": 0.02, "api_staff_count": 0.2},
    "qlora-70b": {"1.price_money_per_hour": 0.6, "loaded_money_per_year": 0.3, "model_acceptance_ratio": 0.4},
    "speech-transcription": {
        "1.price_money": 0.9, "electricity_money_per_kwh": 0.7, "wacc_ratio": 0.2, "life_years": 0.3,
        "review_money_per_output": 0.02,
    },
    "story-homelab-13b-3090": {"electricity_money_per_kwh": 0.05, "2.price_money": 0.01, "desktop_capital_money": 0.02},
}  # fmt: skip
EVIL = (
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1,1)",
    "\t=1",
    "\r=1",
    '=HYPERLINK("http://x.example","y")',
)
WRONG = ("#NAME?", "#REF!", "#VALUE!", "#DIV/0!", "#N/A", "#NUM!", "Err:")


@pytest.fixture(scope="module")
def decisions():
    return {
        name: cabida.recommend(EXAMPLES / f"{name}.yaml", as_of=AS_OF, language=language)
        for name, language in BRIEFS.items()
    }


def settings_of(name, decision):
    known = {one.name: one for one in levers(decision)}
    assert not any(known[lever].locked for lever in SETTINGS[name])
    return {
        lever: known[lever].low + (known[lever].high - known[lever].low) * share
        for lever, share in SETTINGS[name].items()
    }


@pytest.fixture(scope="module")
def recalculated(decisions, tmp_path_factory):
    """Name -> the decision with its inputs set, and its workbook with the same typed in, worked out by LibreOffice."""
    typed, worked = tmp_path_factory.mktemp("typed"), tmp_path_factory.mktemp("worked")
    for name, decision in decisions.items():
        book = openpyxl.load_workbook(io.BytesIO(workbook(decision)))
        type_in(book, decision, settings_of(name, decision))
        book.save(typed / f"{name}.xlsx")
    files = [str(file) for file in sorted(typed.glob("*.xlsx"))]
    profile = f"-env:UserInstallation={(tmp_path_factory.mktemp('profile') / 'user').as_uri()}"
    subprocess.run(
        ["soffice", "--headless", profile, "--convert-to", "xlsx", "--outdir", str(worked), *files],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    return {
        name: (
            what_if(decision, settings_of(name, decision)),
            openpyxl.load_workbook(worked / f"{name}.xlsx", data_only=True),
        )
        for name, decision in decisions.items()
    }


def type_in(book, decision, values):
    """Set inputs as a person would: in the blue cell beside the name."""
    sheet = book[names(decision)["assumptions"]]
    rows = {sheet.cell(row, 1).value: row for row in range(INPUTS_TOP + 1, sheet.max_row + 1)}
    for name, value in values.items():
        cell = sheet.cell(rows[name], 3)
        assert not cell.protection.locked
        assert cell.font.color.rgb.endswith("0000FF")
        cell.value = value


def names(decision):
    with speaking(decision.language):
        return {key: tr(f"report.sheet.name.{key}") for key in SHEETS}


@pytest.mark.parametrize("name", BRIEFS)
def test_every_cell_is_what_the_same_change_gives_in_the_decision(name, recalculated):
    tried, book = recalculated[name]
    sheet = book[names(tried)["explain"]]
    for row, node in enumerate(tried.trees, EXPLAIN_TOP + 1):
        assert sheet.cell(row, 2).value == node["name"]
        assert sheet.cell(row, 3).value == pytest.approx(node["value"], rel=1e-9, abs=0), node["name"]


@pytest.mark.parametrize("name", BRIEFS)
def test_bills_verdicts_and_ranks_follow(name, recalculated, decisions):
    tried, book = recalculated[name]
    sheet = book[names(tried)["options"]]
    now = {one.id: one for one in tried.options}
    for row, before in enumerate(decisions[name].options, TOP + 1):
        one = now[before.id]
        assert sheet.cell(row, DECIDED + 1).value == before.rank
        assert sheet.cell(row, COST + 1).value == pytest.approx(one.cost_per_month_money, rel=1e-9)
        assert sheet.cell(row, UNIT + 1).value == pytest.approx(one.unit_cost.value, rel=1e-9)
        able = one.status in ("chosen", "satisfies")
        assert sheet.cell(row, RANK + 1).value == (one.rank if able else "–")
        with speaking(tried.language):
            assert sheet.cell(row, VERDICT + 1).value == tr(f"report.status.{one.status}")
    front = book[names(tried)["decision"]]
    shown = {front.cell(row, 1).value: front.cell(row, 2).value for row in range(1, 16)}
    with speaking(tried.language):
        assert shown[tr("report.sheet.inputs_changed")] == len(SETTINGS[name])
        first = tried.options[0]
        told = first.title if first.status == "chosen" else tr("report.sheet.nothing")
        assert shown[tr("report.sheet.first_now")] == told


@pytest.mark.parametrize("name", BRIEFS)
def test_bills_sum_to_their_totals_line_by_line(name, recalculated, decisions):
    tried, book = recalculated[name]
    sheet = book[names(tried)["tco"]]
    with speaking(tried.language):
        off = next(row for row in range(5, 60) if sheet.cell(row, 1).value == tr("report.sheet.total_off"))
    now = {one.id: one for one in tried.options}
    for column, before in enumerate(decisions[name].options, 2):
        one = now[before.id]
        assert sheet.cell(off - 1, column).value == pytest.approx(one.cost_per_month_money, rel=1e-9)
        assert sheet.cell(off, column).value == pytest.approx(0, abs=1e-6)
        lines = [sheet.cell(row, column).value or 0.0 for row in range(5, off - 1)]
        assert sum(lines) == pytest.approx(one.cost_per_month_money, rel=1e-9)
        assert sorted(line for line in lines if line) == pytest.approx(
            sorted(line.money for line in one.cost_lines), rel=1e-9
        )


@pytest.mark.parametrize("name", BRIEFS)
def test_no_cell_is_an_error(name, recalculated):
    _, book = recalculated[name]
    wrong = [
        (sheet.title, cell.coordinate, cell.value)
        for sheet in book for row in sheet.iter_rows() for cell in row
        if isinstance(cell.value, str) and cell.value.startswith(WRONG)
    ]  # fmt: skip
    assert wrong == []


@pytest.mark.parametrize("name", BRIEFS)
def test_the_values_it_is_written_with_are_those_of_the_decision(name, decisions):
    """Who opens it in a viewer that works nothing out sees the same numbers."""
    decision = decisions[name]
    book = openpyxl.load_workbook(io.BytesIO(workbook(decision)), data_only=True)
    sheet = book[names(decision)["explain"]]
    for row, node in enumerate(decision.trees, EXPLAIN_TOP + 1):
        assert sheet.cell(row, 3).value == pytest.approx(node["value"], rel=1e-15)
    options = book[names(decision)["options"]]
    ranks = [options.cell(TOP + 1 + at, RANK + 1).value for at in range(len(decision.options))]
    able = [one.status in ("chosen", "satisfies") for one in decision.options]
    assert ranks == [at + 1 if may else "–" for at, may in enumerate(able)]


@pytest.mark.parametrize("name", BRIEFS)
def test_a_formula_for_every_node_that_is_made_and_every_input_that_may_move(name, decisions):
    decision = decisions[name]
    book = openpyxl.load_workbook(io.BytesIO(workbook(decision)))
    assert book.sheetnames == list(names(decision).values())
    sheet, known = book[names(decision)["explain"]], levers(decision)
    free = {at for one in known if not one.locked for at in one.nodes}
    made = 0
    for row, node in enumerate(decision.trees, EXPLAIN_TOP + 1):
        said = sheet.cell(row, 3).value
        live = bool(node["inputs"]) or node["id"] in free
        assert (isinstance(said, str) and said.startswith("=")) is live, node["name"]
        made += live
    assert made > 300
    inputs = book[names(decision)["assumptions"]]
    for row, lever in enumerate(known, INPUTS_TOP + 1):
        assert inputs.cell(row, 1).value == lever.name
        assert inputs.cell(row, 3).value == pytest.approx(lever.value, rel=1e-15)
        assert inputs.cell(row, 3).protection.locked is lever.locked
        assert bool(inputs.cell(row, 12).value) is lever.locked
    ranges = {
        str(one.sqref): (float(one.formula1), float(one.formula2))
        for one in inputs.data_validations.dataValidation
    }
    assert ranges == {
        f"C{row}": (pytest.approx(one.low), pytest.approx(one.high))
        for row, one in enumerate(known, INPUTS_TOP + 1) if not one.locked
    }  # fmt: skip
    assert all(book[sheet].protection.sheet for sheet in book.sheetnames)
    assert all(book[name].freeze_panes for name in book.sheetnames[1:])
    assert len(book[names(decision)["decision"]]._charts) == 1
    assert len(book[names(decision)["tco"]]._charts) == 1


@pytest.mark.parametrize("language", ["en", "es"])
def test_the_same_decision_gives_the_same_bytes(language, decisions):
    decision = replace(decisions["qlora-70b"], language=language)
    assert workbook(decision) == workbook(decision)
    assert report.render_bytes(decision, "xlsx") == workbook(decision)


def evil_decision(decision):
    """Names and sentences that a spreadsheet might run, wherever somebody else's text is shown."""
    bad = cycle(EVIL)
    trees = tuple(
        {**node, "source": {"what": next(bad), "url": "javascript:alert(1)", "seen": "=2"}}
        for node in decision.trees
    )
    return replace(
        decision,
        name="=cmd()&G&L&[Path]",
        answer="=1+1",
        currency="=A1",
        version="@v",
        trees=trees,
        options=tuple(
            replace(one, title=next(bad), provider=next(bad), reasons=(next(bad),)) for one in decision.options
        ),
        assumptions=tuple(Assumption(next(bad), next(bad), next(bad), next(bad)) for _ in range(5)),
        warnings=tuple(Caution("=1", each) for each in EVIL),
        sources=({"what": "=1", "url": "file:///etc/passwd", "seen": "+1", "grade": "@x"},
                 {"what": "x\x00\x1b[31m\u202e", "url": "https://a.example/x", "seen": "", "grade": ""}),
        sign_off=SignOff("=1", (("=role", "=name"), ("finance",)), "=2027", "@why"),
    )  # fmt: skip


def test_nothing_of_somebody_elses_is_run(decisions):
    made = workbook(evil_decision(decisions["speech-transcription"]))
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        parts = archive.namelist()
        texts = {
            part: archive.read(part).decode("utf-8") for part in parts if part.endswith((".xml", ".rels"))
        }
    assert not [
        part for part in parts if re.search(r"vba|external|embed|media|hyperlink|activeX|connection", part)
    ]
    assert not [part for part, text in texts.items() if "TargetMode" in text or "<hyperlink" in text]
    everything = "".join(texts.values())
    assert "javascript:" not in everything
    assert "file:///" not in everything
    assert not any(mark in everything for mark in ("\x1b", "\x00", "\u202e"))
    book = openpyxl.load_workbook(io.BytesIO(made))
    texts_seen = set()
    for sheet in book:
        for row in sheet.iter_rows():
            for cell in row:
                if cell.data_type == "f":
                    assert not re.search(r"HYPERLINK|cmd|WEBSERVICE|DDE|CALL|\[", str(cell.value)), (
                        cell.coordinate
                    )
                    assert str(cell.value) not in EVIL
                elif isinstance(cell.value, str):
                    texts_seen.add(cell.value)
    assert {cell_text(one) for one in EVIL} <= texts_seen
    for sheet in book:
        assert sheet.oddFooter.left.text == "=cmd()+G+L+[Path]"
    charts = "".join(text for part, text in texts.items() if "charts/" in part)
    ranges = re.findall(r"<c:f>(.*?)</c:f>", charts)
    assert ranges
    assert all(re.fullmatch(r"(?:'[^']+'|\w+)!\$[A-Z]+\$\d+(?::\$[A-Z]+\$\d+)?", said) for said in ranges)


def test_an_option_that_nothing_is_told_of_and_a_decision_without_any(decisions):
    bare = replace(decisions["qlora-70b"], options=(), trees=(), sources=(), assumptions=(), warnings=())
    assert openpyxl.load_workbook(io.BytesIO(workbook(bare))).sheetnames == list(names(bare).values())
    first = replace(decisions["qlora-70b"].options[0], trees={}, cost_lines=(), metrics={}, ledger=())
    assert workbook(replace(bare, options=(first,)))


def test_equations_that_are_none_are_refused(decisions):
    decision = decisions["qlora-70b"]
    trees = tuple({**one, "equation": "1;2 +"} if one["inputs"] else one for one in decision.trees)
    with pytest.raises(InvalidInput, match="CB-X095"):
        workbook(replace(decision, trees=trees))


def test_a_what_if_has_a_workbook_of_its_own(decisions, tmp_path):
    decision = decisions["qlora-70b"]
    file = tmp_path / "decision.json"
    file.write_text(to_json(decision), encoding="utf-8")
    made = cabida.record(file, "xlsx", {"loaded_money_per_year": 90000.0})
    book = openpyxl.load_workbook(io.BytesIO(made), data_only=True)
    tried = cabida.what_if(file, {"loaded_money_per_year": 90000.0})
    assert book[names(tried)["options"]].cell(TOP + 1, UNIT + 1).value == tried.options[0].unit_cost.value
    assert book[names(tried)["options"]].cell(TOP + 1, TITLE + 1).value == tried.options[0].title


@pytest.mark.parametrize("language", ["en", "es"])
def test_the_hand_made_decision_cell_by_cell(language):
    book = openpyxl.load_workbook(io.BytesIO(workbook(sample(language))))
    cells = [
        f"{sheet.title}!{cell.coordinate}: {cell.value}"
        for sheet in book for row in sheet.iter_rows() for cell in row if cell.value not in (None, "")
    ]  # fmt: skip
    told, file = "\n".join(cells) + "\n", GOLDEN / f"sheet.{language}.txt"
    if os.environ.get("CABIDA_UPDATE_GOLDEN") == "1":
        file.write_text(told, encoding="utf-8")
    assert told == file.read_text(encoding="utf-8")
