"""Quotes in the store: added once, never changed, the last version counts; and a row of one's own price book."""

import json
import re
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from cabida import app, facts
from cabida.errors import InvalidInput
from cabida.evidence.quotes import keep, kept, read_quote
from cabida.evidence.quotes.keeping import is_name, quote_named
from cabida.faces.cli import cli
from cabida.facts.known import as_known
from cabida.text import use_language

QUOTES = Path(__file__).parents[2] / "procure" / "quotes"
WHOLE = QUOTES / "13-meridian-complete.yaml"


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("CABIDA_STORE", str(tmp_path / "store.db"))
    return tmp_path / "store.db"


@pytest.mark.parametrize("path", sorted(QUOTES.glob("[0-9]*.*")), ids=lambda path: path.name)
def test_what_is_kept_is_what_was_read(path, store):
    read = read_quote(path)
    (one,) = keep([replace(read, vendor=read.vendor or "Somebody")])
    back = quote_named(one.id).quote
    assert back.said() == replace(read, vendor=read.vendor or "Somebody").said()
    assert (back.seen, back.left, back.sha256, back.form) == (read.seen, read.left, read.sha256, read.form)
    assert [item.total for item in back.items] == [item.total for item in read.items]


def test_the_same_again_is_one_row_and_a_new_version_takes_its_place(store):
    read = read_quote(WHOLE)
    assert [one.new for one in keep([read, read])] == [True, True]
    assert [one.new for one in keep([read])] == [False]
    dearer = replace(read, term_months=36, issued="2026-11-28")
    (newer,) = keep([dearer])
    assert newer.supersedes == "q1"
    assert [one.id for one in kept()] == ["q2"]
    assert [one.id for one in kept(every=True)] == ["q1", "q2"]
    assert [one.id for one in kept("2026-11-25")] == ["q1"]
    assert kept("2026-11-01") == ()
    with as_known(recorded_by="2026-01-01T00:00:00+00:00"):
        assert kept() == ()


def test_nothing_of_it_is_ever_changed(store):
    keep([read_quote(WHOLE)])
    with sqlite3.connect(store) as opened, pytest.raises(sqlite3.DatabaseError, match="only ever added"):
        opened.execute("UPDATE quotes SET vendor = 'x'")
    with sqlite3.connect(store) as opened, pytest.raises(sqlite3.DatabaseError, match="only ever added"):
        opened.execute("DELETE FROM quotes")


def test_a_quote_without_a_vendor_or_an_id_that_nobody_has_is_told(store):
    with pytest.raises(InvalidInput, match="CB-Q020"):
        keep([replace(read_quote(WHOLE), vendor=None)])
    with pytest.raises(InvalidInput, match="CB-Q021"):
        quote_named("q9")
    assert kept() == ()


@pytest.mark.parametrize(
    ("text", "is_one"), [("q1", True), ("q١", False), ("q", False), ("quote.yaml", False)]
)
def test_an_id_is_told_from_a_file(text, is_one, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert is_name(text) is is_one
    (tmp_path / "q1").touch()
    assert not is_name("q1")


@pytest.mark.parametrize("name", ["13-meridian-complete.yaml", "01-northgate-h100-reserve.yaml", "10"])
def test_a_price_becomes_a_row_that_is_ranked(name, tmp_path, monkeypatch):
    path = next(QUOTES.glob(f"{name}*"))
    row = yaml.safe_load(app.quote_offer(path))
    folder = tmp_path / "facts"
    folder.mkdir()
    (folder / "offers.yaml").write_text(yaml.safe_dump(row))
    monkeypatch.setenv("CABIDA_FACTS", str(folder))
    (mine,) = [one for one in facts.offers("2026-12-01") if one.id == row["offers"][0]["id"]]
    read = read_quote(path)
    assert mine.provider == read.vendor
    assert mine.until == read.expires
    listed = app.quote_audit(read, as_of="2026-12-01").price.listed_money_per_hour
    if mine.unit == "accelerator_hour":
        assert float(mine.amount) == pytest.approx(listed, rel=1e-4)


def test_a_quote_that_prices_nothing_is_no_offer():
    nothing = dict.fromkeys(("unit_price", "monthly_price", "total_price", "total_commit"))
    with pytest.raises(InvalidInput, match="CB-Q022"):
        app.quote_offer(replace(read_quote(WHOLE), **nothing))


def run(*words):
    done = CliRunner().invoke(cli, ["quote", *map(str, words)])
    use_language("en")
    return done


def test_the_commands(store, tmp_path):
    assert "No quote is kept" in run("list").output
    assert "Kept as q1" in run("add", WHOLE).output
    assert "Ya estaba como q1" in run("add", WHOLE, "--lang", "es").output
    assert "expired" in run("list", "--as-of", "2028-01-01").output
    assert "MC-2026-2051" in run("list").output
    shown = run("show", "q1").output
    assert "MC-2026-2051" in shown
    assert "13-meridian" in shown
    assert json.loads(run("show", "q1", "--json").output)["vendor"] == "Meridian Compute"
    assert run("audit", "q1", "--as-of", "2026-12-01").exit_code == 0
    assert "CB-Q021" in run("audit", "q7").output + str(run("audit", "q7").exception)
    form = tmp_path / "form.xlsx"
    assert run("template", "--form", "xlsx").exit_code == 2
    assert run("template", "--form", "xlsx", "--purpose", "reserve", "--out", form).exit_code == 0
    assert read_quote(form).purpose == "reserve"
    assert run("template", "--form", "csv", "--lang", "es").output.startswith("# Cotización del proveedor")


def test_what_a_quote_says_is_told_in_spanish(store):
    run("add", WHOLE)
    told = run("show", "q1", "--lang", "es").output
    assert "reserva" in told
    assert re.search(r"\d (días|meses)", told)
    assert not re.search(r"\b(reserve|excluded)\b|[A-Z]{3}/month", told)
    form = run("template", "--form", "csv", "--lang", "es").output
    assert "(días)" in form
    assert "(days)" not in form


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("32 x H100 SXM5 80GB, 8 per node", (32, 8, None)),
        ("4 nodes of 8x H100 SXM5 80GB", (32, 8, 4)),
        ("64 H100 SXM (8 por nodo)", (64, 8, None)),
    ],
)
def test_accelerators_of_a_machine_are_no_machines(text, counts):
    read = read_quote("mail.txt", text=f"From: V\nQuote number: Q-7, issued 2026-11-25\n{text}\n")
    assert (read.accelerators_count, read.accelerators_per_node_count, read.nodes_count) == counts
    assert read.quote_id == "Q-7"


def test_whose_quote_it_is_may_be_said_but_not_overruled(store):
    text = store.parent / "mail.txt"
    text.write_text("32 x H100 SXM5 80GB\nUnit price: USD 2.10 per GPU-hour\n", encoding="utf-8")
    (one,) = app.quote_add(text, vendor="Northgate", quote_id="Q-7")
    assert (one.quote.vendor, one.quote.quote_id) == ("Northgate", "Q-7")
    assert one.quote.where("vendor").words == "Northgate"
    with pytest.raises(InvalidInput, match="CB-Q017"):
        app.quote_add(WHOLE, vendor="Somebody else")
