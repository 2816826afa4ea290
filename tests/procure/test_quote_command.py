"""``cabida quote audit`` and ``quote compare`` from the command line."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cabida.faces.cli import cli
from cabida.text import use_language

FOLDER = Path(__file__).parent / "quotes"
HONEST, FAULTY = FOLDER / "13-meridian-complete.yaml", FOLDER / "01-northgate-h100-reserve.yaml"


def run(*words):
    done = CliRunner().invoke(cli, ["quote", *map(str, words)])
    use_language("en")
    return done


def test_an_honest_quote_ends_well_and_a_faulty_one_with_six():
    assert run("audit", HONEST, "--as-of", "2026-12-01").exit_code == 0
    faulty = run("audit", FAULTY, "--as-of", "2026-12-01")
    assert faulty.exit_code == 6
    assert "119,792.00" in faulty.output


@pytest.mark.parametrize(("flag", "first"), [("--letter", "**Questions about"), ("--annex", "## Annex")])
def test_letter_and_annex_are_printed_alone(flag, first):
    assert run("audit", FAULTY, "--as-of", "2026-12-01", flag).output.startswith(first)


def test_json_is_the_audit():
    made = json.loads(run("audit", FAULTY, "--as-of", "2026-12-01", "--json").output)
    assert made["schema"] == "cabida/audit/1"
    assert made["verdict"] == "blocked"
    assert made["price"]["listed_money_per_hour"] == pytest.approx(2.35)


def test_what_is_known_narrows_the_price():
    wide, near = (
        json.loads(run("audit", HONEST, "--as-of", "2026-12-01", "--json", *more).output)["price"]
        for more in ((), ("--utilisation", "0.8", "--stored", "1000", "--people", "0.2", "--migration", "3"))
    )
    span = [one["useful_high_money_per_hour"] - one["useful_low_money_per_hour"] for one in (wide, near)]
    assert span[1] < span[0]
    assert "utilisation" not in near["unknown"]


def test_a_folder_holds_every_form(tmp_path):
    run("audit", FAULTY, "--as-of", "2026-12-01", "--out", tmp_path / "out", "--lang", "es")
    names = {path.name.split(".", 1)[1] for path in (tmp_path / "out").iterdir()}
    assert names == {"audit.md", "audit.html", "audit.json", "letter.md", "annex.md"}
    page = next((tmp_path / "out").glob("*.html")).read_text(encoding="utf-8")
    assert '<html lang="es">' in page
    assert "http" not in page.split("</style>")[1].split("<footer>")[0].replace("https://github.com", "")


def test_two_quotes_side_by_side():
    found = json.loads(run("compare", HONEST, FAULTY, "--as-of", "2026-12-01", "--json").output)
    assert [one["quote_id"] for one in found["rows"]] == ["MC-2026-2051", "NG-26-1187"]
    shown = run("compare", HONEST, FAULTY, "--as-of", "2026-12-01")
    assert shown.exit_code == 0
    assert "Side by side" in shown.output
