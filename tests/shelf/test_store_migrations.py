"""A store of each released schema, with data, comes up to this one on either database, its data as it was."""

import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

import filled

from cabida.evidence import book, checking, connect, schema, store, tracked
from cabida.evidence.portable.into import count_on
from cabida.evidence.quotes import keeping

OLD = Path(__file__).parent / "old"
RELEASES = sorted(one.stem for one in OLD.glob("*.sql"))
VERSIONS = Path(connect.__file__).parent / "migrations" / "versions"


def old_file(release, path):
    """A store as that release wrote it."""
    with closing(sqlite3.connect(path)) as made:
        made.executescript((OLD / f"{release}.sql").read_text(encoding="utf-8"))
    return path


def contents(connection, names):
    """Every row of the tables, as text of its columns in the order of their names."""
    found = {}
    for name in names:
        rows = connection.exec_driver_sql(f"SELECT * FROM {name}").mappings()
        found[name] = sorted(repr(sorted(row.items())) for row in rows)
    return found


def of_file(path):
    with closing(sqlite3.connect(path)) as opened:
        opened.row_factory = sqlite3.Row
        names = [row[0] for row in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: [dict(row) for row in opened.execute(f"SELECT * FROM {name}")] for name in names}
    del rows["alembic_version"]
    return rows


def old_server(release, rows, url):
    """The same in PostgreSQL: that release's tables, its rows."""
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import MetaData, create_engine, insert

    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(VERSIONS.parent))
        config.attributes["connection"] = connection
        command.upgrade(config, release)
        there = MetaData()
        there.reflect(connection)
        for table in there.sorted_tables:
            if table.name == "alembic_version":
                continue
            if table.name == "audit_end":  # a migration begins it
                connection.execute(table.delete())
            if rows[table.name]:
                connection.execute(insert(table), rows[table.name])
        have = [one for one in there.sorted_tables if one.name in rows]
        for table in have:
            if [one.name for one in table.primary_key.columns] == [
                "id"
            ] and table.c.id.server_default is not None:
                connection.exec_driver_sql(
                    f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), (SELECT max(id) FROM {table.name}))"
                )
    engine.dispose()


def test_each_release_left_a_store():
    assert (
        RELEASES == sorted(one.name[:4] for one in VERSIONS.glob("0*.py")) == [f"{n:04}" for n in range(1, 6)]
    )
    for release in RELEASES:
        rows = of_file_in_memory(release)
        assert all(rows[name] for name in rows if name != "servers"), release


def of_file_in_memory(release):
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript((OLD / f"{release}.sql").read_text(encoding="utf-8"))
        names = [row[0] for row in made.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: made.execute(f"SELECT * FROM {name}").fetchall() for name in names}


@pytest.mark.parametrize("how", ["writing", "reading"])
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize("release", RELEASES)
def test_it_comes_up_with_all_it_holds(release, database, how, tmp_path, request):
    place = old_file(release, tmp_path / "old.db")
    rows = of_file(place)
    if database == "postgresql":
        shutil.move(place, tmp_path / "kept.db")
        place = request.getfixturevalue("postgres_store")
        old_server(release, rows, place)
    with connect.looking_at(place) as connection:
        assert connect.revision(connection) == release
        before = contents(connection, rows)
    assert all(before[name] for name in before if name != "servers")
    with (connect.writing if how == "writing" else connect.reading)(place) as connection:
        assert connect.revision(connection) == schema.HEAD
        assert contents(connection, rows) == before
    assert checking.check(place)["wrong"] == []
    assert {one.mark for one in store.stored(place, all=True)} == {"", "superseded"}
    assert len(store.stored(place)) == (2 if release < "0005" else 1)
    if release >= "0002":
        assert len(book.imported(store=place)) == 4
        assert len(book.imports(place)) == 2
        assert [one.text for one in book.unread(place)] == ["junk; 'x'"]
    if release >= "0003":
        assert len(tracked.kept("dec", "opt", place)) == 2
    if release >= "0004":
        assert [one.quote.vendor for one in keeping.kept(store=place, every=True)] == ["Aïda"] * 2
    tracked.keep("then", "o", [{"month": "1"}], place)  # and it goes on
    book.add(filled.price_file(filled.offer(region="new"), sha="d" * 64), place)
    assert checking.check(place)["wrong"] == []


@pytest.mark.parametrize("release", RELEASES[:-1])
def test_looking_upgrades_nothing(release, tmp_path):
    place = old_file(release, tmp_path / "old.db")
    before = place.read_bytes()
    told = checking.place_of(place)
    assert (told["schema"], told["newest_schema"]) == (release, schema.HEAD)
    assert len(book.imported(store=place)) == (4 if release >= "0002" else 0)
    assert place.read_bytes() == before


def test_two_who_upgrade_at_once_both_get_through(tmp_path, postgres_store):
    import threading

    old_server("0001", of_file(old_file("0001", tmp_path / "old.db")), postgres_store)
    failed = []

    def write(number):
        try:
            tracked.keep(f"d{number}", "o", [{"month": "1"}], postgres_store)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failed == []
    assert checking.place_of(postgres_store)["rows"]["tracked_months"] == 8


def test_counting_goes_on_behind_what_is_there(postgres_store):
    with connect.writing(postgres_store) as connection:
        table = schema.METADATA.tables["tracked_months"]
        connection.execute(
            table.insert().values(id=41, decision="d", option="o", month="m", at="a", row="{}")
        )
        count_on(connection)
        connection.execute(table.insert().values(decision="d", option="o", month="n", at="a", row="{}"))
        assert connection.exec_driver_sql("SELECT max(id) FROM tracked_months").scalar() == 42
