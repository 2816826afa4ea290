"""Copies of a store: the same on either database and back, whole or not at all, whatever somebody made of the files."""

import hashlib
import json
import os
import sqlite3
import sys
import zipfile
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

import filled

from cabida.errors import InvalidInput
from cabida.evidence import backup, book, checking, connect, shelf, store, tracked
from cabida.evidence.place import store_path
from cabida.evidence.portable import forms, into, opened, out


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A store in a file with something in every table."""
    folder = tmp_path_factory.mktemp("full")
    filled.fill(folder / "s.db", folder)
    return folder / "s.db"


@pytest.fixture
def exported(full, tmp_path):
    out.export(tmp_path / "out", full)
    return tmp_path / "out"


def files_of(folder):
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def again(folder, name, change):
    """Change a file of an export and let its manifest say so."""
    path = folder / name
    path.write_bytes(change(path.read_bytes()))
    manifest = json.loads((folder / "manifest.json").read_text())
    content = path.read_bytes()
    manifest["files"][name] = {"sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content)}
    if name.endswith(".jsonl"):
        manifest["rows"][name.removesuffix(".jsonl")] = content.count(b"\n")
    (folder / "manifest.json").write_text(json.dumps(manifest))


def refused(code, folder, where):
    with pytest.raises(InvalidInput, match=code) as told:
        into.take(folder, where, tokens=True)
    assert told.value.problems[0].cure
    if connect.exists(where):
        rows = checking.place_of(where)["rows"]
        assert {name for name, count in rows.items() if count} <= {"audit_end"}


def test_every_table_holds_something_here(full):
    rows = checking.place_of(full)["rows"]
    assert [name for name, count in rows.items() if not count] == ["servers"]
    assert checking.check(full)["wrong"] == []


def test_from_file_to_server_and_back_is_the_same_to_the_byte(exported, postgres_store, tmp_path):
    first = files_of(exported)
    told = into.take(exported, postgres_store, tokens=True)
    assert sum(told["added"].values()) > 40
    assert checking.check(postgres_store)["wrong"] == []
    out.export(tmp_path / "again", postgres_store)
    assert files_of(tmp_path / "again") == first
    assert sum(into.take(exported, postgres_store, tokens=True)["added"].values()) == 0
    into.take(tmp_path / "again", tmp_path / "b.db", tokens=True)
    out.export(tmp_path / "third", tmp_path / "b.db")
    assert files_of(tmp_path / "third") == first


def test_what_was_taken_goes_on(exported, any_store, tmp_path):
    into.take(exported, any_store, tokens=True)
    before = checking.place_of(any_store)["rows"]
    (tmp_path / "more").mkdir()
    log = tmp_path / "more" / "r.log"
    log.write_text(filled.logs.VLLM_REFUSED)
    store.add(filled.evidence.read_file(log), any_store)
    tracked.keep("d2", "o", [{"month": "1"}], any_store)
    book.add(filled.price_file(filled.offer(region="new"), sha="d" * 64), any_store)
    shelf.add_brief("Otra", filled.BRIEF, by="cy", store=any_store)
    after = checking.place_of(any_store)["rows"]
    assert {name for name in after if after[name] > before[name]} >= {
        "imports", "observations", "tracked_months", "price_sightings", "briefs", "audit",
    }  # fmt: skip
    assert checking.check(any_store)["wrong"] == []


def test_files_are_what_people_can_read(exported):
    (brief,) = exported.glob("briefs/*-v1.yaml")
    assert brief.read_text(encoding="utf-8") == filled.BRIEF
    (decision,) = exported.glob("decisions/*.json")
    assert decision.read_text(encoding="utf-8") == filled.DECISION
    assert "Aïda" in (exported / "quotes" / "q1.yaml").read_text(encoding="utf-8")
    row = json.loads((exported / "observations.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert row["row"]["engine"] == "vllm"
    assert (exported.stat().st_mode & 0o777) == 0o700


def test_keys_to_the_server_come_only_when_asked(exported, tmp_path, full):
    told = into.take(exported, tmp_path / "b.db")
    assert told["left_out"] == ["tokens"]
    assert shelf.tokens(store=tmp_path / "b.db") == ()
    into.take(exported, tmp_path / "b.db", tokens=True)
    assert [one.name for one in shelf.tokens(store=tmp_path / "b.db")] == ["CI"]


def test_other_things_under_the_same_names_are_refused(exported, tmp_path, any_store):
    tracked.keep("other", "o", [{"month": "1"}], any_store)
    with pytest.raises(InvalidInput, match="CB-E065"):
        into.take(exported, any_store)
    assert checking.place_of(any_store)["rows"]["observations"] == 0


def test_a_changed_file_is_refused(exported, any_store):
    path = exported / "marks.jsonl"
    path.write_bytes(path.read_bytes().replace(b"superseded", b"supersedes"))
    refused("CB-E062", exported, any_store)


def swapped(old, new):
    return lambda content: content.replace(old, new)


def first_line(content):
    return content.splitlines(True)[0]


def without_the_last_but_one(content):
    *lines, _, last = content.splitlines(True)
    return b"".join([*lines, last])


ONE = b'"id": 1'
BROKEN = {
    "no JSON": ("marks.jsonl", lambda _: b"{'a'}\n", "CB-E063"),
    "no row": ("marks.jsonl", lambda _: b"[1]\n", "CB-E063"),
    "deep": ("marks.jsonl", lambda _: b"[" * 100_000 + b"\n", "CB-E063"),
    "a column too many": ("marks.jsonl", swapped(b'"why"', b'"wh"'), "CB-E063"),
    "a wrong type": ("imports.jsonl", swapped(ONE, b'"id": "1; DROP"'), "CB-E063"),
    "a huge number": ("imports.jsonl", swapped(ONE, b'"id": 1e400'), "CB-E063"),
    "a digit too many": ("imports.jsonl", swapped(ONE, ONE + b"0" * 30), "CB-E063"),
    "nothing where something must be": ("imports.jsonl", swapped(ONE, b'"id": null'), "CB-E063"),
    "a NUL": ("marks.jsonl", swapped(b"superseded", b"\\u0000"), "CB-E063"),
    "a name that drives a screen": ("briefs.jsonl", swapped(b"nocturna", b"\\u001b[2J"), "CB-E063"),
    "a job that waits for a server": ("jobs.jsonl", swapped(b'"done"', b'"waiting"'), "CB-E063"),
    "another decision": ("decisions/*", swapped(b"EUR", b"USD"), "CB-E063"),
    "another quote": ("quotes/q1.yaml", swapped(b"8", b"9"), "CB-E063"),
    "a brief in no known letters": ("briefs/*-v1.yaml", lambda content: content + b"\xff\xfe", "CB-E063"),
    "a row that points nowhere": ("imports.jsonl", first_line, "CB-E066"),
    "a line of the log lost": ("audit.jsonl", without_the_last_but_one, "CB-E066"),
    "another name in the log": ("audit.jsonl", swapped(b'"bo"', b'"ed"'), "CB-E066"),
    "the same twice": ("marks.jsonl", lambda content: content * 2, "CB-E065"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_what_no_store_could_hold_is_refused(exported, tmp_path, how):
    pattern, change, code = BROKEN[how]
    (path,) = exported.glob(pattern)
    before = path.read_bytes()
    again(exported, str(path.relative_to(exported)), change)
    assert path.read_bytes() != before
    refused(code, exported, tmp_path / "b.db")


def test_the_server_refuses_the_same(exported, postgres_store):
    again(exported, "imports.jsonl", first_line)
    refused("CB-E066", exported, postgres_store)


def test_no_file_leads_out_of_the_folder(exported, tmp_path):
    secret = tmp_path / "secret.yaml"
    (brief,) = exported.glob("briefs/*-v1.yaml")
    secret.write_bytes(brief.read_bytes())
    brief.unlink()
    brief.symlink_to(secret)
    refused("CB-E062", exported, tmp_path / "b.db")
    brief.unlink()
    os.mkfifo(brief)
    refused("CB-E062", exported, tmp_path / "b.db")
    folder = exported / "briefs"
    brief.unlink()
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    refused("CB-E062", exported, tmp_path / "b.db")


@pytest.mark.parametrize(
    "name",
    [
        "../secret.jsonl",
        "/etc/passwd",
        "briefs/../../x.yaml",
        "a/b/c.yaml",
        "con\n.json",
        "x" * 200 + ".json",
    ],
)
def test_a_manifest_names_only_files_of_an_export(exported, tmp_path, name):
    manifest = json.loads((exported / "manifest.json").read_text())
    manifest["files"][name] = {"sha256": "0" * 64, "size_bytes": 1}
    (exported / "manifest.json").write_text(json.dumps(manifest))
    refused("CB-E064", exported, tmp_path / "b.db")


@pytest.mark.parametrize("said", ["", "[]", "{}", "null", "[" * 100_000, '{"form": "cabida/store/1"}'])
def test_a_manifest_that_is_none_is_refused(exported, tmp_path, said):
    (exported / "manifest.json").write_text(said)
    refused("CB-E064", exported, tmp_path / "b.db")


def test_a_later_releases_export_says_so(exported, tmp_path):
    text = (exported / "manifest.json").read_text()
    (exported / "manifest.json").write_text(text.replace('"schema": "0', '"schema": "9'))
    refused("CB-E014", exported, tmp_path / "b.db")


def test_a_bomb_is_refused_before_it_is_unpacked(full, tmp_path, monkeypatch):
    backup.backup(tmp_path / "s.zip", full)
    with zipfile.ZipFile(tmp_path / "s.zip") as whole:
        members = {name: whole.read(name) for name in whole.namelist()}
    manifest = json.loads(members["manifest.json"])
    big = b'{"id": 1}' + b" " * 9_000_000 + b"\n"
    for size in (len(big), len(members["marks.jsonl"]), 10**15):
        manifest["files"]["marks.jsonl"] = {"sha256": hashlib.sha256(big).hexdigest(), "size_bytes": size}
        with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as made:
            for name, content in (
                members | {"marks.jsonl": big, "manifest.json": json.dumps(manifest).encode()}
            ).items():
                made.writestr(name, content)
        assert (tmp_path / "bomb.zip").stat().st_size < 300_000
        with pytest.raises(InvalidInput, match=r"CB-E06[234]"):
            into.take(tmp_path / "bomb.zip", tmp_path / "b.db")
    monkeypatch.setattr(opened, "FILES_MOST", 3)
    with pytest.raises(InvalidInput, match="CB-E064"):
        into.take(tmp_path / "s.zip", tmp_path / "b.db")


def test_a_copy_of_a_file_is_whole_while_others_write(full, tmp_path):
    told = backup.backup(tmp_path / "copy.db", full)
    assert (told["form"], checking.place_of(tmp_path / "copy.db")["rows"]) == (
        "sqlite",
        checking.place_of(full)["rows"],
    )
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    assert sorted(one.name for one in tmp_path.iterdir()) == ["copy.db"]
    with pytest.raises(InvalidInput, match="CB-E067"):
        backup.backup(tmp_path / "copy.db", full)
    backup.backup(tmp_path / "copy.db", full, replace=True)
    with pytest.raises(InvalidInput, match="CB-R014"):
        backup.backup(full, full, replace=True)
    with pytest.raises(InvalidInput, match="CB-E019"):
        backup.backup(tmp_path / "x.db", tmp_path / "none.db")
    with pytest.raises(InvalidInput, match="CB-E061"):
        backup.backup("/proc/nowhere/x.db", full)


@pytest.mark.parametrize("form", ["db", "zip"])
def test_a_copy_comes_back_on_either_database(full, tmp_path, any_store, form):
    backup.backup(tmp_path / f"copy.{form}", full)
    assert backup.restore(tmp_path / f"copy.{form}", any_store)["aside"] == ""
    out.export(tmp_path / "one", full)
    out.export(tmp_path / "two", any_store)
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")
    assert checking.check(any_store)["wrong"] == []
    with pytest.raises(InvalidInput, match="CB-E068"):
        backup.restore(tmp_path / f"copy.{form}", any_store)


def test_what_a_copy_takes_the_place_of_is_kept_aside(full, tmp_path, any_store, request):
    backup.backup(tmp_path / "copy.zip", full)
    tracked.keep("mine", "o", [{"month": "1"}], any_store)
    told = backup.restore(tmp_path / "copy.zip", any_store, replace=True)
    assert tracked.kept("mine", "o", any_store) == []
    assert len(tracked.kept("dec", "opt", any_store)) == 2
    if isinstance(store_path(any_store), Path):
        assert len(tracked.kept("mine", "o", told["aside"])) == 1
        assert len(backup.restore(told["aside"], any_store, replace=True)["aside"]) > 5
        assert len(tracked.kept("mine", "o", any_store)) == 1
    else:
        server, name = request.getfixturevalue("postgres_server"), any_store.rpartition("/")[2]
        assert server.order(f"SELECT count(*) FROM {told['aside']}.tracked_months", name) == [(1,)]
    tracked.keep("then", "o", [{"month": "1"}], any_store)


def test_a_copy_that_is_broken_changes_nothing(full, tmp_path, any_store):
    backup.backup(tmp_path / "copy.zip", full)
    backup.backup(tmp_path / "copy.db", full)
    tracked.keep("mine", "o", [{"month": "1"}], any_store)
    for name in ("copy.zip", "copy.db"):
        content = bytearray((tmp_path / name).read_bytes())
        content[len(content) // 2 : len(content) // 2 + 3000] = b"\0" * 3000
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidInput, match=r"CB-E0(12|6[2-6])"):
            backup.restore(tmp_path / name, any_store, replace=True)
        assert len(tracked.kept("mine", "o", any_store)) == 1
    (tmp_path / "text.db").write_text("no copy at all")
    for name in ("text.db", "none.db"):
        with pytest.raises(InvalidInput, match="CB-E064"):
            backup.restore(tmp_path / name, any_store, replace=True)
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE songs (name)")
    other.close()
    with pytest.raises(InvalidInput, match="CB-E016"):
        backup.restore(tmp_path / "other.db", any_store, replace=True)


def test_a_damaged_store_gives_way_to_its_copy(full, tmp_path):
    backup.backup(tmp_path / "copy.db", full)
    place = tmp_path / "s.db"
    place.write_bytes(b"not a database at all, but long enough to be looked at" * 100)
    with pytest.raises(InvalidInput, match="CB-E068"):
        backup.restore(tmp_path / "copy.db", place)
    told = backup.restore(tmp_path / "copy.db", place, replace=True)
    assert Path(told["aside"]).read_bytes().startswith(b"not a database")
    assert checking.check(place)["wrong"] == []


def test_who_has_the_file_open_sees_the_copy(full, tmp_path):
    backup.backup(tmp_path / "copy.db", full)
    place = tmp_path / "s.db"
    tracked.keep("mine", "o", [{"month": "1"}], place)
    with sqlite3.connect(place) as open_already:
        assert open_already.execute("SELECT count(*) FROM quotes").fetchone() == (0,)
        backup.restore(tmp_path / "copy.db", place, replace=True)
        assert open_already.execute("SELECT count(*) FROM quotes").fetchone() == (2,)
    open_already.close()


def test_damage_is_found(full, tmp_path):
    backup.backup(tmp_path / "s.db", full)
    with sqlite3.connect(tmp_path / "s.db") as opened_:
        for (name,) in opened_.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            opened_.execute(f"DROP TRIGGER {name}")
        opened_.execute("UPDATE quotes SET content = content || ' ' WHERE id = 1")
        opened_.execute("UPDATE price_sightings SET amount = '1' WHERE id = 1")
        opened_.execute("UPDATE observations SET \"row\" = '{}' WHERE place = 0")
        opened_.execute("UPDATE audit SET by_whom = 'ed' WHERE id = 3")
        opened_.execute("DELETE FROM price_sources WHERE id = 1")
    opened_.close()
    wrong = "\n".join(checking.check(tmp_path / "s.db")["wrong"])
    for word in ("q1", "price_sightings 1", "obs-", "price_sources", "line 3"):
        assert word in wrong


def test_an_export_goes_into_a_new_folder_only(full, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "file").touch()
    for name in ("full", "link", "file"):
        with pytest.raises(InvalidInput, match="CB-E060"):
            out.export(tmp_path / name, full)
    with pytest.raises(InvalidInput, match="CB-E061"):
        out.export("/proc/nowhere", full)
    with pytest.raises(InvalidInput, match="CB-E019"):
        out.export(tmp_path / "new", tmp_path / "none.db")
    (tmp_path / "empty").mkdir()
    out.export(tmp_path / "empty", full)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["empty", "file", "full", "link"]


def test_each_row_is_a_line_and_back(full):
    with connect.reading(full) as connection:
        for table in forms.tables():
            apart = forms.APART.get(table.name)
            for row in connection.execute(table.select()).mappings():
                told = forms.row_of(table, json.loads(forms.line_of(table, dict(row))))
                assert told == dict(row) | ({apart.column: ""} if apart else {})
