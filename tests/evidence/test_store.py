"""The store only grows, survives a kill, two writers and a newer release, and says what is wrong with its cure."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import logs
import pytest

from cabida import app, evidence
from cabida.errors import InvalidInput
from cabida.evidence import connect, place, schema, store
from cabida.evidence.observation import of_row

HERE = Path(__file__).parent


@pytest.fixture
def where(tmp_path, monkeypatch):
    monkeypatch.delenv("CABIDA_STORE", raising=False)
    return tmp_path / "deep" / "store.db"


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "vllm.log"
    path.write_text(logs.VLLM_011 + "INFO a line of tomorrow\n")
    return path


def put(path, where, **said):
    return store.add(evidence.read_file(path, **said), where)


def count(where, table):
    with sqlite3.connect(where) as opened:
        return opened.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def test_what_goes_in_comes_out(where, log):
    (id,) = put(log, where, gpu="h100-sxm-80", note="rack 3")
    (found,) = store.stored(where)
    assert found.observation.id == id
    assert found.observation.setup["gpu"] == "h100-sxm-80"
    assert found.observation.note == "rack 3"
    assert found.file_name == "vllm.log"
    whole = store.one(id[:9], where)
    assert whole.observation.unknown == ((len(logs.VLLM_011.splitlines()) + 1, "INFO a line of tomorrow"),)
    assert whole.observation.unknown_count == 1


def test_the_same_again_changes_nothing(where, log, tmp_path):
    put(log, where)
    before = [count(where, table) for table in ("imports", "observations", "marks", "unknown_lines")]
    assert put(log, where) == []
    copy = tmp_path / "copy.log"
    copy.write_bytes(log.read_bytes().replace(b"\n", b"\r\n"))
    assert put(copy, where) == []
    assert [count(where, table) for table in ("imports", "observations", "marks", "unknown_lines")] == before


def test_a_file_read_with_more_said_supersedes_what_was_read_before(where, log):
    (old,) = put(log, where)
    (new,) = put(log, where, gpu="h100-sxm-80")
    assert [one.observation.id for one in store.stored(where)] == [new]
    marked = {one.observation.id: one.mark for one in store.stored(where, all=True)}
    assert marked == {old: "superseded", new: ""}
    assert put(log, where) == []  # the last thing said counts
    assert [one.observation.id for one in store.stored(where)] == [old]


def test_forgetting_marks_and_observing_again_brings_back(where, log):
    (id,) = put(log, where)
    assert store.forget([id[:10]], where, "wrong card") == [id]
    assert store.stored(where) == []
    (kept,) = store.stored(where, all=True)
    assert (kept.mark, kept.why) == ("forgotten", "wrong card")
    assert count(where, "observations") == 1
    put(log, where)
    assert len(store.stored(where)) == 1


def test_an_exported_observation_comes_back_as_itself(where, log, tmp_path):
    put(log, where, gpu="h100-sxm-80")
    exported = tmp_path / "cases.jsonl"
    exported.write_text("".join(json.dumps(one.observation.case()) + "\n" for one in store.stored(where)))
    other = tmp_path / "other.db"
    assert put(exported, other) == [one.observation.id for one in store.stored(where)]
    assert of_row(json.loads(exported.read_text())).row() == store.stored(where)[0].observation.row()


def test_a_file_may_hold_more_rows_than_one_question_can(where, tmp_path):
    path = tmp_path / "cases.jsonl"
    row = '{{"kind": "memory", "model": "m", "measured": {{"fits": true}}, "source": "s", "note": "{0}"}}\n'
    path.write_text("".join(row.format(at) for at in range(3 * store.MANY + 1)))
    assert len(put(path, where)) == 3 * store.MANY + 1
    assert put(path, where) == []


@pytest.mark.parametrize("id", ["zzzz", "obs-", "o"])
def test_an_id_that_names_none_is_refused(where, log, id):
    put(log, where)
    with pytest.raises(InvalidInput, match="CB-E020"):
        store.one(id, where)


def script(body, *words):
    code = "import sys\nfrom cabida import evidence\nfrom cabida.evidence import store\n" + textwrap.dedent(
        body
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def many(folder, count):
    """Logs that differ in one figure each."""
    for at in range(count):
        text = logs.VLLM_REFUSED.replace("4.51", f"4.{at + 10}")
        (folder / f"{at}.log").write_text(text)
    return [folder / f"{at}.log" for at in range(count)]


def test_an_import_killed_in_its_midst_loses_nothing_and_can_be_repeated(where, tmp_path):
    files = many(tmp_path, 3)
    child = script(
        """
        whole = store._supersede
        def stop_at_the_third(connection, sha256, ids):
            whole(connection, sha256, ids)
            stop_at_the_third.seen += 1
            if stop_at_the_third.seen == 3:  # its rows are written, its transaction is open
                print("inside", flush=True)
                sys.stdin.read()
        stop_at_the_third.seen = 0
        store._supersede = stop_at_the_third
        for file in sys.argv[2:]:
            store.add(evidence.read_file(file), sys.argv[1])
        """,
        where,
        *files,
    )
    assert child.stdout.readline() == "inside\n"
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdin.close()
    child.stdout.close()
    assert len(store.stored(where)) == 2
    assert [len(put(file, where)) for file in files] == [0, 0, 1]
    with sqlite3.connect(where) as opened:
        assert opened.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert opened.execute("PRAGMA foreign_key_check").fetchall() == []
    assert len(store.stored(where)) == 3


def test_two_writers_at_once_each_get_everything_in(where, tmp_path):
    """Both also try to make the store."""
    files = many(tmp_path, 24)
    body = """
    sys.stdin.readline()
    for file in sys.argv[2:]:
        store.add(evidence.read_file(file), sys.argv[1])
    """
    children = [script(body, where, *files[half::2]) for half in (0, 1)]
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        child.communicate()
        assert child.returncode == 0
    assert len(store.stored(where)) == 24
    assert count(where, "imports") == 24


def test_a_store_in_use_says_so(where, log, monkeypatch):
    put(log, where)
    monkeypatch.setattr(connect, "BUSY_S", 0.05)
    with sqlite3.connect(where) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(InvalidInput, match="CB-E010"):
            put(log, where, note="more")
        assert len(store.stored(where)) == 1  # reading goes on
    other.close()


def test_a_damaged_store_says_so(where, log):
    put(log, where)
    where.write_bytes(b"not a database at all, but long enough to be looked at" * 100)
    for act in (lambda: put(log, where), lambda: store.stored(where)):
        with pytest.raises(InvalidInput, match="CB-E012"):
            act()


def test_a_store_of_a_later_release_says_so(where, log):
    put(log, where)
    with sqlite3.connect(where) as opened:
        opened.execute("UPDATE alembic_version SET version_num = '9999'")
    opened.close()
    for act in (lambda: put(log, where), lambda: store.stored(where)):
        with pytest.raises(InvalidInput, match="CB-E014"):
            act()


def test_somebody_elses_database_is_left_alone(where, log):
    where.parent.mkdir()
    with sqlite3.connect(where) as opened:
        opened.execute("CREATE TABLE recipes (id)")
    opened.close()
    for act in (lambda: put(log, where), lambda: store.stored(where)):
        with pytest.raises(InvalidInput, match="CB-E016"):
            act()
    assert count(where, "recipes") == 0


@pytest.mark.parametrize("path", ["/dev/null/store.db", "/proc/none/store.db"])
def test_a_place_where_no_file_can_be_says_so(log, path):
    with pytest.raises(InvalidInput, match="CB-E011"):
        put(log, path)


@pytest.mark.parametrize(
    "address",
    [
        "mariadb://ana:opensesame@somewhere/cabida",
        "MySQL+x://ana:open/opensesame@x/y",
        "postgres:ana:opensesame@x",
    ],
)
def test_another_databases_address_is_no_file_and_its_password_is_never_told(
    log, monkeypatch, tmp_path, address
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CABIDA_STORE", address)
    for told in (address, Path(address), None):
        with pytest.raises(InvalidInput, match="CB-E017") as refused:
            put(log, told)
        assert "sesame" not in str(refused.value)
        with pytest.raises(InvalidInput, match="CB-E017") as refused:
            store.stored(told)
        assert "sesame" not in str(refused.value)
    assert [one.name for one in tmp_path.iterdir()] == ["vllm.log"]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("attempt to write a readonly database", "CB-E013"),
        ("database or disk is full", "CB-E015"),
        ("database disk image is malformed", "CB-E012"),
        ("unable to open database file", "CB-E011"),
        ("database is locked", "CB-E010"),
    ],
)
def test_every_failure_has_its_cure(said, code):
    (told,) = connect.refusal(Path("x.db"), said).problems
    assert told.code == code
    assert told.cure


def test_the_newest_migration_is_the_one_that_is_known(where):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from sqlalchemy import create_engine

    with connect.writing(where) as connection:
        assert connect.revision(connection) == schema.HEAD
    engine = create_engine(f"sqlite:///{where}")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.METADATA) == []
    engine.dispose()
    files = Path(connect.__file__).parent / "migrations" / "versions"
    assert max(one.name[:4] for one in files.glob("0*.py")) == schema.HEAD


LATER = '''
"""A later schema, for this test alone."""
import sqlalchemy as sa
from alembic import op
revision = "9999"
down_revision = "HEAD"
def upgrade():
    op.add_column("imports", sa.Column("host", sa.Text))
    op.execute("UPDATE imports SET host = 'here'")
'''.replace("HEAD", schema.HEAD)


def test_a_store_of_an_earlier_schema_is_upgraded_with_all_it_holds(where, log, tmp_path, monkeypatch):
    put(log, where)
    folder = tmp_path / "later"
    folder.mkdir()
    (folder / "9999_later.py").write_text(LATER)
    with connect.writing(where, [folder]) as connection:
        assert connect.revision(connection) == "9999"
    with sqlite3.connect(where) as opened:
        assert opened.execute("SELECT host FROM imports").fetchall() == [("here",)]
    opened.close()
    with pytest.raises(InvalidInput, match="CB-E014"):  # the release before doesn't know it
        store.stored(where)
    monkeypatch.setattr(schema, "HEAD", "9999")
    assert len(store.stored(where)) == 1


def test_an_upgrade_that_fails_leaves_the_store_as_it_was(where, log, tmp_path):
    put(log, where)
    folder = tmp_path / "later"
    folder.mkdir()
    (folder / "9999_later.py").write_text(LATER + "    op.execute('SELECT nothing FROM nowhere')\n")
    with pytest.raises(InvalidInput), connect.writing(where, [folder]):
        pass
    assert len(store.stored(where)) == 1
    assert put(log, where) == []


def test_where_the_store_is(monkeypatch, tmp_path):
    monkeypatch.delenv("CABIDA_STORE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert place.store_path() == tmp_path / "cabida" / "cabida.db"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert place.store_path() == tmp_path / ".local" / "share" / "cabida" / "cabida.db"
    monkeypatch.setenv("CABIDA_STORE", "~/mine.db")
    assert place.store_path() == tmp_path / "mine.db"
    monkeypatch.setenv("HOME", "")  # is not the root
    with pytest.raises(InvalidInput, match="CB-E011"):
        place.store_path()
    monkeypatch.delenv("CABIDA_STORE")
    with pytest.raises(InvalidInput, match="CB-E011"):
        place.store_path()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CABIDA_STORE", "~/mine.db")
    assert place.store_path("other.db") == Path("other.db")


def test_who_has_no_home_has_no_store_and_is_answered_all_the_same(monkeypatch):
    monkeypatch.setenv("CABIDA_STORE", "~nobody-of-that-name/mine.db")
    with pytest.raises(InvalidInput, match="CB-E011"):
        store.stored()
    assert "observed" in app.fit("qwen3-8b", gpu="h100-sxm-80")


def test_names_with_signs_of_an_address_are_names(tmp_path, log):
    odd = tmp_path / "a b?mode=rw#%20&c.db"
    put(log, odd)
    assert len(store.stored(odd)) == 1
    assert odd.exists()


def test_reading_needs_no_right_to_write(where, log):
    put(log, where)
    with store.reading(where) as connection, pytest.raises(Exception, match="readonly"):
        connection.exec_driver_sql("DELETE FROM observations")
    assert len(store.stored(where)) == 1
