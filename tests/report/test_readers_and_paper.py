"""Sections for three readers, signatures beside a decision, and the record on paper, in both languages."""

import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import pypdf
import pytest
from click.testing import CliRunner
from rich.console import Console

from cabida import app
from cabida.app.signing import file_of, sign, signed
from cabida.brief.read import parse_brief
from cabida.choose.signed import by_whom
from cabida.errors import InvalidInput
from cabida.faces import show
from cabida.faces.cli import cli
from cabida.plan import Assumption, Compatibility, Flexibility, SignOff
from cabida.report import render, render_bytes
from cabida.report.pdf import _widths, chart_style
from cabida.report.readers import finance, platform, product, signing
from cabida.report.store import load, save
from cabida.text import speaking, tr, use_language, with_marks

GOLDEN = Path(__file__).parent / "golden"
HOSTILE = '#panic() $x$ @ref \\ "q" <label> *b* _i_ `c` [x] // c /* d */ \x07\u202e#{1/0} = h'


@pytest.fixture(params=["en", "es"])
def decision(request):
    found = load(GOLDEN / f"decision.{request.param}.json")
    best = replace(
        found.options[0],
        compatibility=Compatibility("steps", ("First.",), ("pip install x==1",), "Docs", "2026-11-30"),
        flexibility=Flexibility(7.0, 1.2, 9000, 1e9, 0.0, 5.0, 0.8),
    )  # fmt: skip
    told = SignOff("Ana", (("finance", "Bo"), ("platform", ""), ("product", "")), "2027-02-28", "Why.")
    return replace(found, options=(best, *found.options[1:]), sign_off=told)


def words(content):
    reader = pypdf.PdfReader(io.BytesIO(content))
    return " ".join(" ".join(page.extract_text() for page in reader.pages).split()), reader


def test_each_reader_finds_what_is_his(decision):
    with speaking(decision.language):
        money, runs, users = finance(decision), platform(decision), product(decision)
    option = decision.options[0]
    assert any(option.title in one for one in money.sentences)
    assert any(option.price_seen in one for one in money.sentences)
    assert any(option.engine in one for one in runs.sentences)
    assert runs.letters == ("pip install x==1", "cabida launch support-chat.json --out start")
    assert len(users.sentences) >= 3
    assert any("80" in one for one in users.sentences)


def test_finance_reads_what_leaving_costs_and_what_owning_is_worth(decision):
    with speaking(decision.language):
        told = finance(decision).sentences
        leaving = tr("report.readers.left", money="|").partition("|")[0]
    assert any(one.startswith(leaving) for one in told)
    assert len(told) == len(set(told))


def test_what_the_paper_leaves_out_is_said(decision):
    many = tuple(replace(decision.options[0], rank=at + 1, id=str(at)) for at in range(45))
    sources = tuple({"what": f"list {at}", "seen": "2026-11-30"} for at in range(1041))
    text, _ = words(render_bytes(replace(decision, options=many, sources=sources), "pdf"))
    with speaking(decision.language):
        assert tr("report.more_options", count=25)[2:] in text
        assert tr("report.more_options", count=with_marks("1,001"))[2:] in text


def test_who_stands_behind_it_is_a_table_with_open_lines(decision):
    with speaking(decision.language):
        told = signing(decision)
    assert "2027-02-28" in told.sentences[0]
    assert [row[1] for row in told.tables[0].rows] == ["Ana", "Bo", "", ""]


@pytest.mark.parametrize("form", ["md", "html"])
def test_every_form_has_the_sections_and_no_key_of_a_text(decision, form):
    text = render(decision, form)
    heads = ("For finance", "For product", "Who stands behind it", "By whom")
    if decision.language == "es":
        heads = ("Para finanzas", "Para producto", "Quién responde de ella", "De quién")
    assert all(head in text for head in heads)
    assert "report.readers" not in text


def test_the_terminal_has_them_with_all(decision):
    stream = io.StringIO()
    console = Console(file=stream, width=100, highlight=False, markup=False, no_color=True)
    console.print(show.decision(decision, every=True))
    said = stream.getvalue()
    with speaking(decision.language):
        parts = [finance(decision), platform(decision), product(decision), signing(decision)]
        heads = [tr(f"report.section.{one.key}") for one in parts]
    assert [said.index(one) for one in heads] == sorted(said.index(one) for one in heads)
    assert "pip install x==1" in said
    assert "Ana" in said
    assert "2027-02-28" in said


def test_columns_of_the_paper_have_room_for_their_longest_word():
    table = {"header": ["#", "Veredicto", "Opción"], "rows": [["1", "cumple", "x " * 200]]}
    widths = _widths(table)
    assert sum(widths) == pytest.approx(482, abs=0.1)
    assert widths[1] > 8 + 4.5 * len("Veredicto")
    assert widths[2] > 200


def test_the_paper_has_the_words_of_the_other_forms(decision):
    text, reader = words(render_bytes(decision, "pdf"))
    assert reader.metadata.title == decision.name
    assert reader.metadata.author == "Ana"
    head = "For finance" if decision.language == "en" else "Para finanzas"
    assert head in text
    assert decision.options[0].title.split(" · ")[0] in text
    assert "pip install x==1" in text
    assert f"1 / {len(reader.pages)}" in text
    assert reader.trailer["/Root"]["/Lang"] == decision.language
    assert reader.trailer["/Root"]["/MarkInfo"]["/Marked"]


def test_the_same_decision_is_the_same_bytes(decision):
    assert render_bytes(decision, "pdf") == render_bytes(decision, "pdf")


def test_paper_is_that_of_the_country(decision):
    widths = []
    for code in ("es", "es-MX"):
        _, reader = words(render_bytes(replace(decision, language=code), "pdf"))
        widths.append(round(float(reader.pages[0].mediabox.width)))
    assert widths == [595, 612]


def test_what_a_decision_says_is_never_markup_on_paper(decision):
    first = replace(decision.options[0], title=HOSTILE, provider=HOSTILE)
    odd = replace(
        decision, name=HOSTILE, answer=HOSTILE, options=(first, *decision.options[1:]),
        sign_off=SignOff(HOSTILE, (("finance", HOSTILE),), HOSTILE, HOSTILE),
    )  # fmt: skip
    text, _ = words(render_bytes(odd, "pdf"))
    assert "#panic()" in text
    assert "\x07" not in text
    assert "\u202e" not in text


def test_drawings_bring_their_colours():
    assert "var(" not in chart_style()
    assert ".part-1{fill:#34558b}" in chart_style()


def test_without_typst_it_says_what_to_install(decision, monkeypatch):
    monkeypatch.setitem(sys.modules, "typst", None)
    with pytest.raises(InvalidInput, match=r"cabida\[pdf\]"):
        render_bytes(decision, "pdf")


def test_assumptions_say_whose_they_are():
    told = by_whom([Assumption("a", "1", "w", "h"), Assumption("b", "1", "w", "h", "quoted", "Ana")])
    assert [one.by for one in told] == ["cabida", "Ana"]


def test_a_brief_names_who_signs_and_when_it_is_looked_at_again():
    text = (Path(__file__).parents[2] / "examples" / "student-4090.yaml").read_text()
    text += "sign_off: {author: Ana, approvers: {finance: Bo, product: Cy}, review_after: 2 months}\n"
    brief = parse_brief(text)
    assert brief.sign_off.author == "Ana"
    assert brief.sign_off.approvers == (("finance", "Bo"), ("product", "Cy"))
    assert brief.sign_off.review_after_months == 2
    with pytest.raises(InvalidInput, match=r":\d+: .*finanse"):
        parse_brief(text.replace("finance: Bo", "finanse: Bo"))


@pytest.fixture
def file(decision, tmp_path):
    return save(decision, tmp_path / "chat.json")


def test_a_signature_stands_beside_the_decision_and_of_another_text_is_stale(file):
    before = file.read_bytes()
    assert sign(file, {"finance": "Eva", "legal": "Max"}) == file_of(file)
    assert file.read_bytes() == before
    told = signed(load(file), file).sign_off.approvers
    assert [one[:2] for one in told] == [
        ("finance", "Eva"),
        ("platform", ""),
        ("product", ""),
        ("legal", "Max"),
    ]
    assert {one[3] for one in told if len(one) > 3} == {"valid"}
    file.write_bytes(before + b"\n")
    sign(file, {"legal": "Max"})
    states = {one[0]: one[3] for one in signed(load(file), file).sign_off.approvers if len(one) > 3}
    assert states == {"finance": "stale", "legal": "valid"}
    assert len(file_of(file).read_text().splitlines()) == 3
    assert "Eva" in app.record(file, "md")


@pytest.mark.parametrize(
    "row", ["x", "{}", "[1]", '{"role": 1, "name": "a", "at": "b", "sha256": "c"}', "\xff"]
)
def test_damaged_signatures_are_told(file, row):
    file_of(file).write_bytes(row.encode("latin-1") + b"\n")
    with pytest.raises(InvalidInput, match="CB-R092"):
        app.record(file, "md")


@pytest.mark.parametrize("pair", [{"": "x"}, {"finance": ""}, {"finance": "x" * 200}, {"r" * 80: "x"}])
def test_what_is_no_signature_is_not_written(file, pair):
    with pytest.raises(InvalidInput, match="CB-R091"):
        sign(file, pair)
    assert not file_of(file).exists()


def test_the_command_signs_and_prints(file):
    done = CliRunner().invoke(cli, ["record", str(file), "--sign", "finance=Eva Ruiz"])
    use_language("en")
    assert done.exit_code == 0
    assert "Eva Ruiz" in done.output
    assert json.loads(file_of(file).read_text())["name"] == "Eva Ruiz"
    paper = CliRunner().invoke(
        cli, ["record", str(file), "--format", "pdf", "--out", str(file.with_suffix(".pdf"))]
    )
    assert paper.exit_code == 0
    assert "Eva Ruiz" in words(file.with_suffix(".pdf").read_bytes())[0]
    assert CliRunner().invoke(cli, ["record", str(file), "--format", "pdf"]).exit_code == 2
