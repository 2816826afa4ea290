"""``cabida store``: what a person types and is told, in both languages, on either database."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

sys.path.append(str(Path(__file__).parent))

import filled

from cabida.evidence import shelf
from cabida.faces.cli import cli


def run(*words, code=0):
    done = CliRunner().invoke(cli, ["store", *map(str, words)])
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.output
    return done.output


def told(*words, code=0):
    return json.loads(run(*words, "--json", code=code))


@pytest.fixture
def full(any_store, tmp_path, monkeypatch):
    monkeypatch.setenv("CABIDA_STORE", any_store)
    filled.fill(any_store, tmp_path)
    return any_store


def test_where_it_is_without_making_it(any_store, monkeypatch):
    monkeypatch.setenv("CABIDA_STORE", any_store)
    before = told("where")
    assert (before["there"], before["rows"], before["schema"]) == (False, {}, None)
    assert "There is no store here yet" in run("where")
    assert told("upgrade")["before"] is None
    after = told("where")
    assert after["there"]
    assert after["schema"] == after["newest_schema"]
    assert after["size_bytes"] > 1000
    assert "s3cret" not in run("where") + json.dumps(after)
    assert "ya está en el esquema" in run("upgrade", "--lang", "es")


def test_a_copy_and_back(full, tmp_path):
    copied = told("backup", tmp_path / "copy.zip")
    assert copied["form"] == "zip"
    assert "read back" in " ".join(run("backup", tmp_path / "copy.zip", "--replace").split())
    run("backup", tmp_path / "copy.zip", code=3)
    run("restore", tmp_path / "copy.zip", code=3)
    assert told("restore", tmp_path / "copy.zip", "--replace")["aside"]
    restored = run("restore", tmp_path / "copy.zip", "--store", tmp_path / "new.db")
    assert "now holds" in " ".join(restored.split())
    assert told("where", "--store", tmp_path / "new.db")["rows"] == told("where")["rows"] | {"servers": 0}


def test_as_files_and_back(full, tmp_path):
    said = run("export", tmp_path / "out", "--lang", "es")
    assert "archivos" in said
    run("export", tmp_path / "out", code=3)
    taken = told("import", tmp_path / "out", "--store", tmp_path / "new.db")
    assert taken["left_out"] == ["tokens"]
    assert "left out" in run("import", tmp_path / "out", "--store", tmp_path / "new.db")
    again = told("import", tmp_path / "out", "--tokens", "--store", tmp_path / "new.db")
    assert {name for name, count in again["added"].items() if count} == {"tokens"}
    assert told("check", "--store", tmp_path / "new.db")["sound"]


def test_sound_or_not(full):
    from cabida.evidence import connect

    assert "is sound" in " ".join(run("check").split())  # wrapped where its path is long
    with connect.writing(full) as connection:
        connection.exec_driver_sql("UPDATE decisions SET brief_id = 'b-none'")
    assert "decisions.brief_id" in run("check", code=3)
    assert told("check", code=3)["sound"] is False


def test_who_changed_what(full):
    page = told("log", "--most", "3")
    assert len(page["lines"]) == 3
    assert page["next"]
    older = told("log", "--most", "500", "--after", page["next"])
    assert older["next"] == ""
    assert [one["id"] for one in older["lines"]] == list(range(len(older["lines"]), 0, -1))
    assert {one["by"] for one in told("log", "--by", "bo")["lines"]} == {"bo"}
    assert {one["kind"] for one in told("log", "--kind", "token")["lines"]} == {"token"}
    screen = run("log", "--lang", "es")
    assert "creó encargo" in screen
    assert "Crítica nocturna" in screen


def test_a_key_is_shown_once(any_store, monkeypatch):
    monkeypatch.setenv("CABIDA_STORE", any_store)
    assert "no tokens" in run("token", "list")
    made = told("token", "add", "CI", "--role", "editor", "--days", "7")
    assert shelf.token_of(made["secret"], store=any_store).role == "editor"
    everything = run("token", "list") + json.dumps(told("token", "list")) + run("log") + run("where")
    assert made["secret"] not in everything
    assert made["id"] in everything
    assert "ya no abre nada" in run("token", "revoke", made["id"], "--lang", "es")
    assert shelf.token_of(made["secret"], store=any_store) is None
    assert "revoked" in run("token", "list")
    run("token", "revoke", "t-none", code=3)
    run("token", "add", "x", "--days", "0", code=2)


@pytest.mark.parametrize("words", [("check",), ("backup", "x.zip"), ("export", "x")])
def test_nothing_to_copy_says_so(tmp_path, words, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "CB-E019" in run(*words, "--store", tmp_path / "none.db", "--json", code=3)
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_there_ends_with_five(tmp_path):
    said = run("where", "--store", "postgresql://ana:sesame@127.0.0.1:1/x", code=5)
    assert "sesame" not in said
