"""``cabida prices import`` end to end: what it keeps, says and exits with."""

import json
from decimal import Decimal
from pathlib import Path

import exports
import pytest
from click.testing import CliRunner

from cabida.evidence import book
from cabida.faces.cli import cli

BROKEN = Path(__file__).parent / "broken"


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store.db"


def typed(*words):
    return CliRunner().invoke(cli, ["prices", "import", *map(str, words)])


def test_prices_are_kept_once(tmp_path, store):
    files = exports.every(tmp_path / "files", 30)
    names = ("skypilot", "gpuhunt", "ec2instances", "litellm", "openrouter", "focus-csv", "plain-xlsx")
    words = [*(files[name] for name in names), "--as-of", "2026-11-20", "--store", store, "--json"]
    done = typed(*words)
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["errors"] == []
    assert [one["format"] for one in answer["files"]] == [name.partition("-")[0] for name in names]
    assert all(one["new_count"] > 0 and one["unread_count"] == 0 for one in answer["files"])
    kept = book.imported(store=store)
    assert len(kept) == sum(one["offers_count"] - one["known_count"] for one in answer["files"])
    assert {one.seen for one in kept if one.sighting == "catalogue"} == {"2026-11-20"}
    again = json.loads(typed(*words).stdout)
    assert [one["new_count"] for one in again["files"]] == [0] * len(names)
    assert len(book.imported(store=store)) == len(kept)


def test_an_imported_price_comes_out_as_it_was_read(tmp_path, store):
    typed(BROKEN / "azure-20261107-2.csv", "--store", store)
    sixth = next(one for one in book.imported(store=store) if one.node_shape == "Standard_NV6ads_A10_v5")
    assert (sixth.amount, sixth.seen, sixth.provider, round(sixth.fraction_ratio, 4)) == (
        Decimal("0.454"),
        "2026-11-07",
        "Azure",
        0.1667,
    )


def test_faulty_rows_are_shown_and_the_rest_is_kept(store):
    done = typed(BROKEN / "rows.csv", "--store", store)
    assert done.exit_code == 0
    assert "line 10" in done.output
    assert "nearest" in done.output
    assert len(book.imported(store=store)) == 1
    assert {one.line for one in book.unread(store)} == {3, 4, 6, 7, 8, 9, 10, 11}


def test_exit_3_only_when_nothing_could_be_read(store):
    mixed = typed(BROKEN / "marked.csv", BROKEN / "empty.csv", "--store", store)
    assert mixed.exit_code == 0
    assert "CB-E050" in mixed.stderr
    for name in ("empty.csv", "ambiguous.csv", "nowhere.csv"):
        done = typed(BROKEN / name, "--store", store)
        assert done.exit_code == 3, name
        assert "Traceback" not in done.output


def test_a_dry_run_keeps_nothing(store):
    done = typed(BROKEN / "marked.csv", "--dry-run", "--store", store)
    assert done.exit_code == 0
    assert "dry run" in done.stdout
    assert not store.exists()


def test_what_is_missing_can_be_said(store):
    assert typed(BROKEN / "no-currency.csv", "--currency", "eur", "--store", store).exit_code == 0
    assert book.imported(store=store)[-1].currency == "EUR"
    assert typed(BROKEN / "no-provider.csv", "--provider", "aws", "--store", store).exit_code == 0
    assert book.imported(store=store)[-1].provider == "AWS"
    unknown = typed(BROKEN / "no-currency.csv", "--currency", "XYZ", "--store", store)
    assert unknown.exit_code == 3
    assert "USD" in unknown.stderr


def test_usage(store, tmp_path):
    assert typed().exit_code == 2
    assert typed("a.csv", "--template", tmp_path / "t.csv").exit_code == 2
    assert typed("--template", tmp_path / "t.txt").exit_code == 3


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_template_is_read_back(tmp_path, store, language, kind):
    path = tmp_path / f"prices.{kind}"
    assert typed("--template", path, "--lang", language).exit_code == 0
    answer = json.loads(typed(path, "--dry-run", "--json").stdout)
    assert (answer["files"][0]["offers_count"], answer["files"][0]["unread_count"]) == (3, 0)
    if kind == "xlsx":
        import openpyxl

        assert openpyxl.load_workbook(path).active.max_row == 4


def test_a_price_far_from_all_others_is_told(tmp_path, store):
    header = ("provider", "gpu", "price", "currency", "seen", "kind")
    rows = [
        ("RunPod", "H100", "2.50", "USD", "2026-11-01", "page"),
        ("RunPod", "H100", "0.02", "USD", "2026-11-01", "page"),
    ]
    path = exports.write_csv(tmp_path / "p.csv", header, rows)
    answer = json.loads(typed(path, "--store", store, "--json").stdout)
    aside = answer["files"][0]["aside"]
    assert aside["count"] == 1
    assert aside["first"][0]["line"] == 3
    assert aside["first"][0]["ratio"] < 0.1
    assert "prices aside" in typed(path, "--store", store).stdout


def test_spanish(store):
    done = typed(BROKEN / "rows.csv", "--store", store, "--lang", "es")
    assert "línea 10" in done.stdout
    assert "lista de precios" in " ".join(done.stdout.split())
