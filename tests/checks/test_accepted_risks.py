"""Warnings accepted knowingly: in the brief, in every form, milder and never hidden, told when they are gone."""

import io
import json
from dataclasses import asdict, replace

import pytest
from click.testing import CliRunner

from cabida.brief import KnownRisk, parse_brief, render
from cabida.checks import brief_pitfalls, weighed
from cabida.checks.sentences import caution
from cabida.errors import InvalidInput
from cabida.faces.cli import cli
from cabida.plan import AcceptedRisk, Caution
from cabida.report.accepted import accepted, whole
from cabida.text import use_language

AS_OF = "2026-11-30"
BRIEF = """name: t
workload: realtime-inference
models: [{id: llama-3.1-8b, weights: {bf16: {acceptance: 0.93, how: measured on 400 tickets}}}]
traffic:
  requests_per_s: 2
  input_tokens: {p50: 900, p95: 3000}
  output_tokens: {p50: 200, p95: 600}
  growth: 30 %
objectives: {ttft_p95: 2 s}
horizon: 24 months
team: {platform_engineers: 1}
currency: USD
consider: {capacity: [on-demand], providers: any, accelerators: any, engines: any}
limits: {data: any, availability: none, risk: medium}
budget: {monthly: 9000 USD}
costs: {review_per_output: 0 USD}
"""
RISK = """accepted_risks:
- {code: cb-k300, by: Ana Ruiz, why: the source is a sensor that never sleeps, until: 2027-06-01}
"""


def read(more):
    return parse_brief(BRIEF + more, as_of=AS_OF)


def test_it_is_read_and_written_back():
    brief = read(RISK)
    assert brief.accepted_risks == (
        KnownRisk("CB-K300", "Ana Ruiz", "the source is a sensor that never sleeps", "2027-06-01"),
    )
    assert parse_brief(render(brief), as_of=AS_OF).accepted_risks == brief.accepted_risks


@pytest.mark.parametrize(
    ("row", "code", "line"),
    [
        ("{code: CB-K999, by: Ana, why: nobody minds it}", "CB-B065", 18),
        ("{code: CB-B006, by: Ana, why: an error is no warning}", "CB-B065", 18),
        ("{code: CB-K300, by: Ana, why: nobody minds it, until: 2026-01-01}", "CB-B066", 18),
        ("{code: CB-K300, by: Ana, why: nobody minds it, until: 2026-11-30}", "CB-B066", 18),
        ("{code: CB-K300, by: Ana, why: ok}", "CB-B067", 18),
        ("{code: CB-K300, by: Ana}", "CB-B014", 18),
        ("{code: CB-K300, by: Ana, why: nobody minds it, until: soon}", "CB-B010", 18),
    ],
)
def test_what_is_no_acceptance_is_told_with_its_line(row, code, line):
    with pytest.raises(InvalidInput) as refused:
        read(f"accepted_risks:\n- {row}\n")
    assert (refused.value.problems[0].code, refused.value.problems[0].line) == (code, line)


def test_accepted_twice():
    with pytest.raises(InvalidInput, match="CB-B068"):
        read(RISK + RISK.partition("\n")[2])


def test_it_is_one_step_milder_and_still_there():
    brief = read(RISK)
    plain = weighed(brief_pitfalls(brief, AS_OF), ())
    told = weighed(brief_pitfalls(brief, AS_OF), brief.accepted_risks)
    assert [one.code for one in plain] == [one.code for one in told] == ["CB-K300"]
    assert (plain[0].severity, told[0].severity) == ("warning", "info")
    assert told[0].accepted == AcceptedRisk(
        "Ana Ruiz", "the source is a sensor that never sleeps", "2027-06-01"
    )
    blocking = Caution("CB-K300", "x", "blocking")
    assert weighed([blocking], brief.accepted_risks)[0].severity == "warning"


def test_what_no_longer_occurs_is_told_only_when_everything_was_looked_for():
    risks = read(RISK).accepted_risks
    gone = weighed([], risks)
    assert [one.code for one in gone] == ["CB-K350"]
    assert all(told in gone[0].sentence for told in ("Ana Ruiz", "CB-K300"))
    assert weighed([], risks, whole=False) == ()


def test_a_warning_without_a_cure_gets_that_of_its_code():
    bare = Caution("CB-K300", "x")
    assert (
        weighed([bare], ())[0].cure == caution("CB-K300", rate="1", ratio="2").cure
        or weighed([bare], ())[0].cure
    )


def test_the_command_shows_who_accepts_it(tmp_path):
    file = tmp_path / "b.yaml"
    file.write_text(BRIEF + RISK, encoding="utf-8")
    done = CliRunner().invoke(cli, ["check", str(file), "--assume", "--as-of", AS_OF, "--json"])
    assert done.exit_code == 0, done.output
    found = {one["code"]: one for one in json.loads(done.stdout)["pitfalls"]}
    assert found["CB-K300"]["accepted"]["by"] == "Ana Ruiz"
    shown = CliRunner().invoke(cli, ["check", str(file), "--assume", "--as-of", AS_OF, "--lang", "es"])
    assert "Lo asume Ana Ruiz hasta el 2027-06-01" in " ".join(shown.stdout.split())  # codespell:ignore


def test_every_form_of_the_record_shows_it(golden_decision):
    from cabida.report.markdown import markdown
    from cabida.report.page import page

    by = AcceptedRisk("Ana <b>Ruiz</b>", "we know it", "2027-06-01")
    decision = replace(golden_decision, warnings=(Caution("CB-K012", "Idle.", "info", "Rent.", by),))
    text, html = markdown(decision), page(decision)
    for told in ("Accepted by Ana", "Rent", "until 2027"):
        assert told in text
    for told in ("Accepted by Ana &lt;b&gt;Ruiz&lt;/b&gt;", "Rent."):
        assert told in html
    assert asdict(decision)["warnings"][0]["accepted"]["why"] == "we know it"


def test_the_terminal_shows_an_accepted_note(golden_decision):
    from rich.console import Console

    from cabida.faces import show

    by = AcceptedRisk("Ana", "we know it")
    decision = replace(golden_decision, warnings=(Caution("CB-K012", "Idle.", "info", "Rent.", by),))
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(show.decision(decision, every=False, paths=[]))
    assert "Accepted by Ana: we know it." in console.export_text()


def test_control_characters_and_both_languages():
    one = Caution("CB-K012", "Idle.", "info", "", AcceptedRisk("A\x1b[31mna", "so it is."))
    assert accepted(one) == "Accepted by A[31mna: so it is."
    use_language("es")
    try:
        assert accepted(one) == "Lo asume A[31mna: so it is."  # codespell:ignore
    finally:
        use_language("en")
    assert whole(Caution("CB-K012", "Idle.")) == "Idle. [CB-K012]"
    assert accepted(Caution("CB-K012", "Idle.")) == ""


@pytest.fixture(scope="module")
def golden_decision():
    from pathlib import Path

    from cabida.report.store import load

    return load(Path(__file__).parents[1] / "report" / "golden" / "decision.en.json")
