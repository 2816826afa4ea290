"""The page asks nothing of the network, can be read without seeing it, and lets no text become markup."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from report_sample import decision

from cabida import report
from cabida.plan import CostLine
from cabida.report import charts
from cabida.report.scripts import without_bundled
from cabida.text import language, use_language

SCRIPTS_COUNT = 5  # data, equations, two of the library, ours
EVIL = '</style><script>alert(1)</script><img src="http://evil.example/x" onerror=alert(1)>'


class Reader(HTMLParser):
    VOID = {"meta", "link", "br", "img", "hr", "input"}

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open, tag
        assert self.open.pop() == tag


def bare(**changes):
    """A decision with nothing but what it must have."""
    empty = dict.fromkeys(("options", "rejections", "assumptions", "warnings", "flips", "measurements"), ())
    return replace(decision(), **empty, sources=(), trees=(), brief={}, brief_text="", **changes)


@pytest.mark.parametrize("language", ["en", "es"])
def test_page_is_well_formed_and_alone(language):
    page = report.render(decision(language), "html")
    read = Reader(page)
    assert not read.open
    assert ("html", "lang", language) in read.attributes
    loads = [one for one in read.attributes if one[1] in ("src", "srcset", "data", "action", "background")]
    assert loads == []
    assert [one for one in read.attributes if one[1] in ("href", "xlink:href") and one[0] != "a"] == []
    assert not re.search(r"@import|url\((?!#)", without_bundled(page))
    assert not {"iframe", "object", "embed", "link", "form", "base"} & set(read.tags)
    assert next(tag for tag in read.tags if re.fullmatch(r"h[1-6]", tag)) == "h1"
    assert read.tags.count("h1") == 1


def test_every_picture_has_a_title_and_a_table():
    page = report.render(decision(), "html")
    for chart in charts.charts(decision()):
        assert f'id="figure-{chart.key}"' in page
        assert f'<title id="{chart.key}-t">' in chart.svg
        assert chart.rows
        assert all(len(row) == len(chart.header) for row in chart.rows)
        assert chart.svg in page


def test_order_is_answer_options_why_rest():
    page = report.render(decision(), "html")
    order = [
        "<h1",
        '<h2 id="options"',
        '<h2 id="why"',
        'id="rejected"',
        'id="flips"',
        'id="measure"',
        'id="careful"',
    ]
    order += ['id="assumptions"', 'id="command"', 'id="sources"', 'id="numbers"']
    places = [page.index(one) for one in order]
    assert places == sorted(places)


@pytest.mark.parametrize("form", ["html", "md"])
def test_no_text_becomes_markup(form):
    made = decision()
    option = replace(made.options[0], title=EVIL, id=EVIL, provider=EVIL, command=EVIL, accelerator=EVIL)
    option = replace(option, reasons=(EVIL,), cost_lines=(CostLine(EVIL, 5.0, EVIL),), memory={EVIL: 2.0**30})
    option = replace(option, metrics={EVIL: option.metrics["ttft_ms_p95"]})
    trees = tuple(node | {"name": EVIL, "equation": EVIL, "grade": EVIL} for node in made.trees)
    parts = {
        name: tuple(replace(one, **{field: EVIL}) for one in getattr(made, name))
        for name, field in (
            ("rejections", "example"),
            ("assumptions", "why"),
            ("warnings", "code"),
            ("flips", "name"),
        )
    }
    sources = ({"what": EVIL, "url": "javascript:alert(1)", "seen": EVIL, "grade": EVIL},)
    evil = replace(
        made,
        name=EVIL,
        answer=EVIL,
        workload=EVIL,
        denominator=EVIL,
        brief_text=EVIL,
        currency=EVIL,
        options=(option, *made.options[1:]),
        trees=trees,
        sources=sources,
        **parts,
    )
    text = report.render(evil, form)
    if form == "html":
        read = Reader(text)
        assert read.tags.count("script") == SCRIPTS_COUNT
        assert "img" not in read.tags
        assert not [one for one in read.attributes if one[1].startswith("on") or "javascript:" in one[2]]
    else:
        prose = re.sub(r"(`{3,})[a-z]*\n.*?\n *\1", "", text, flags=re.S)
        assert "script" in prose
        assert not re.search(r"(?<!\\)<(script|img)", prose)
        assert "](<javascript" not in text


@pytest.mark.parametrize("form", report.FORMS)
def test_a_decision_with_nothing_still_has_a_record(form):
    text = report.render(bare(verdict="nothing_satisfies"), form)
    assert decision().answer.split(":")[0] in text


def test_an_api_alone_and_a_training_run():
    api = replace(decision().options[3], status="chosen", rank=1, reasons=())
    page = report.render(replace(decision(), options=(api,)), "html")
    assert "Model API, provider B" in page
    run = replace(decision(), workload="full-finetune", denominator="completed_run")
    assert "14,900 EUR/run" in report.render(run, "md")


def test_language_of_the_caller_is_left_alone():
    use_language("en")
    report.render(decision("es"), "html")
    assert language() == "en"


def test_names_of_files_stay_in_the_folder(tmp_path):
    paths = report.write(replace(decision(), name="../../etc/pass wd"), tmp_path)
    assert {path.parent for path in paths} == {tmp_path}
    assert {path.suffix for path in paths} == {".html", ".md", ".json", ".xlsx"}


def test_hundreds_of_options_are_cut_in_the_page_and_kept_in_the_record():
    one = decision().options[1]
    many = tuple(replace(one, rank=rank, id=str(rank)) for rank in range(1, 301))
    page = report.render(replace(decision(), options=many), "html")
    assert "and 260 more" in page
    assert page.count('class="rank"') == 40
    assert "and 260 more" in report.render(replace(decision(), options=many), "md")
    assert report.render(replace(decision(), options=many), "json").count('"rank"') == 300
