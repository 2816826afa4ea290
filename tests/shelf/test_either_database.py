"""What the store keeps is the same on SQLite and on PostgreSQL, whoever writes beside."""

import json
import subprocess
import sys
import threading
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "evidence"))

import logs
from test_price_book import api, offer, price_file

from cabida import evidence
from cabida.errors import EndpointFailed, InvalidInput
from cabida.evidence import book, connect, schema, store, tracked
from cabida.evidence.place import Address, shown, store_path
from cabida.evidence.prices import Unread

ADDED_ONLY = (
    "price_imports", "price_sources", "price_sightings", "api_sightings", "price_unread", "tracked_months", "quotes",
    "brief_versions", "decision_texts", "audit",
)  # fmt: skip


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "vllm.log"
    path.write_text(logs.VLLM_011 + "INFO a line of \0 tomorrow\n")
    return path


def test_observations_come_back_and_are_marked(any_store, log):
    assert not connect.exists(any_store)
    (old,) = store.add(evidence.read_file(log), any_store)
    assert connect.exists(any_store)
    assert store.add(evidence.read_file(log), any_store) == []
    (new,) = store.add(evidence.read_file(log, gpu="h100-sxm-80"), any_store)
    assert [one.observation.id for one in store.stored(any_store)] == [new]
    assert {one.observation.id: one.mark for one in store.stored(any_store, all=True)} == {
        old: "superseded",
        new: "",
    }
    assert store.one(new, any_store).observation.unknown[-1][1] == "INFO a line of  tomorrow"
    store.forget([new], any_store, "wrong card")
    assert store.stored(any_store) == []


def test_prices_come_back_by_both_dates(any_store):
    made = [offer(), offer(seen=""), offer(region="us-1", country="US")]
    added = book.add(price_file(*made, apis=[api()], unread=[Unread(3, "junk", "no_price")]), any_store)
    assert (added.new_count, added.known_count) == (4, 0)
    assert [replace(one, id="mine") for one in book.imported(store=any_store)] == made
    assert [one.seen for one in book.imported("2026-11-20", store=any_store)] == ["2026-11-20"] * 2
    assert len(book.imported("2026-11-20", ["l40s"], once=True, store=any_store)) == 2
    assert book.imported("2026-11-19", store=any_store) == ()
    assert book.imported(None, ["t4"], store=any_store) == ()
    first = book.imported(store=any_store)[0]
    assert str(first.amount) == "1.2300"
    assert book.where_from(first.id, any_store)[:2] == ("mine.csv", 2)
    (served,) = [one for one in book.api_offers(store=any_store) if one.provider == "Served"]
    assert replace(served, id="served") == api()
    assert book.where_from(served.id, any_store)[:2] == ("mine.csv", 2)
    assert book.sellers(any_store) == ("Mine", "Served")
    assert [one.line for one in book.unread(any_store)] == [3]
    before = book.digest_over("facts", store=any_store)
    assert book.add(price_file(*made, sha="b" * 64), any_store).import_id == 0
    assert book.digest_over("facts", store=any_store) == before != "facts"
    grown = book.add(price_file(*made, offer(amount=Decimal(9)), sha="c" * 64), any_store)
    assert (grown.import_id, grown.new_count, grown.known_count) == (2, 1, 3)
    assert len(book.imported(store=any_store)) == 4
    assert book.digest_over("facts", store=any_store) != before


def test_both_databases_cite_the_same_book(postgres_store, tmp_path):
    digests = set()
    for place in (tmp_path / "s.db", postgres_store):
        book.add(price_file(offer(), offer(amount=Decimal(3))), place)
        digests.add(book.digest_over("facts", store=place))
    assert len(digests) == 1


def test_months_and_quotes_come_back(any_store):
    from cabida.evidence.quotes import keeping
    from cabida.evidence.quotes.reading import read_quote

    assert tracked.kept("d", "o", any_store) == []
    assert keeping.kept(store=any_store) == ()
    assert (
        tracked.keep("d", "o", [{"month": "2027-02", "n": 1}, {"month": "2027-02", "n": 2}], any_store) == 2
    )
    assert [one["n"] for one in tracked.kept("d", "o", any_store)] == [2]
    text = "vendor: Aïda\nquote_id: Q-1\npurpose: buy\naccelerator: l40s\naccelerators_count: 8\n"
    quote = read_quote("q.yaml", text=text)
    (kept,) = keeping.keep([quote], any_store)
    assert kept.new
    (again,) = keeping.keep([quote], any_store)
    assert (again.new, again.id) == (False, kept.id)
    (later,) = keeping.keep([read_quote("q.yaml", text=text.replace("8", "16"))], any_store)
    assert later.supersedes == kept.id
    assert [one.id for one in keeping.kept(store=any_store)] == [later.id]
    assert keeping.quote_named(kept.id, any_store).quote.vendor == "Aïda"


def cell(column):
    kind = str(column.type)
    return b"x" if "BLOB" in kind else "x" if kind == "TEXT" else 7


@pytest.mark.parametrize("table", ADDED_ONLY)
def test_no_row_is_ever_changed_or_removed(any_store, table):
    made = schema.METADATA.tables[table]
    with connect.writing(any_store) as connection:
        postgres = connection.dialect.name == "postgresql"
        switch = "SET LOCAL session_replication_role = {}" if postgres else "PRAGMA defer_foreign_keys = {}"
        with connection.begin_nested() as inside:
            connection.exec_driver_sql(
                switch.format("replica" if postgres else "ON")
            )  # a row that points nowhere
            connection.execute(made.insert().values({one.name: cell(one) for one in made.columns}))
            if postgres:
                connection.exec_driver_sql(switch.format("origin"))
            name = made.columns.keys()[-1]
            orders = [f'UPDATE {table} SET "{name}" = "{name}"', f"DELETE FROM {table}"]
            for order in [*orders, *([f"TRUNCATE {table} CASCADE"] if postgres else [])]:
                with pytest.raises(Exception, match="only ever added"), connection.begin_nested():
                    connection.exec_driver_sql(order)
            inside.rollback()


def test_the_schema_is_what_the_code_says(any_store):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with connect.writing(any_store) as connection:
        assert connect.revision(connection) == schema.HEAD
        found = compare_metadata(MigrationContext.configure(connection), schema.METADATA)
        if connection.dialect.name == "postgresql":  # there a foreign key says besides that it may wait
            pairs = [
                (one[0], one[1].table.name, *one[1].column_keys)
                for one in found
                if str(one[0]).endswith("_fk")
            ]
            added, removed = (
                {one[1:] for one in pairs if one[0] == kind} for kind in ("add_fk", "remove_fk")
            )
            assert added == removed
            found = [one for one in found if not str(one[0]).endswith("_fk")]
        assert found == []


def test_a_failure_in_the_midst_keeps_nothing(any_store):
    def half():
        with connect.writing(any_store) as connection:
            connection.execute(
                schema.TRACKED.insert().values(decision="d", option="o", month="m", at="a", row="{}")
            )
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert tracked.kept("d", "o", any_store) == []


def test_who_reads_sees_one_moment_and_can_write_nothing(any_store):
    tracked.keep("d", "o", [{"month": "1"}], any_store)
    count = "SELECT count(*) FROM tracked_months"
    with connect.reading(any_store) as connection:
        assert connection.exec_driver_sql(count).scalar() == 1
        tracked.keep("d", "o", [{"month": "2"}], any_store)
        assert connection.exec_driver_sql(count).scalar() == 1
    with pytest.raises(InvalidInput, match=r"CB-E0(13|28)"), connect.reading(any_store) as connection:
        connection.exec_driver_sql("DELETE FROM marks")


def test_many_threads_make_the_store_and_write_at_once(any_store):
    failed = []

    def write(number):
        try:
            tracked.keep("d", "o", [{"month": f"{number}"}], any_store)
            book.add(price_file(offer(region=f"r{number}"), sha=f"{number:064}"), any_store)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(12)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failed == []
    assert len(tracked.kept("d", "o", any_store)) == 12
    assert [one.id for one in book.imports(any_store)] == list(range(1, 13))
    assert len(book.imported(store=any_store)) == 12


def test_a_shared_store_is_made_only_by_writing(postgres_server, postgres_store):
    assert store.stored() == []
    assert book.imported(store=postgres_store) == ()
    assert tracked.kept("d", "o", postgres_store) == []
    with pytest.raises(InvalidInput, match="CB-E019"):
        store.stored(postgres_store)
    name = postgres_store.rpartition("/")[2]
    assert postgres_server.order("SELECT count(*) FROM pg_class WHERE relname = 'alembic_version'", name) == [
        (0,)
    ]


def test_a_database_of_something_else_is_left_alone(postgres_server, postgres_store):
    name = postgres_store.rpartition("/")[2]
    postgres_server.order("CREATE TABLE recipes (id int)", name)
    with pytest.raises(InvalidInput, match="CB-E016"):
        tracked.keep("d", "o", [{"month": "1"}], postgres_store)
    postgres_server.order("CREATE TABLE alembic_version (version_num text)", name)
    postgres_server.order("INSERT INTO alembic_version VALUES ('abc')", name)
    with pytest.raises(InvalidInput, match=r"CB-E01[46]"):
        tracked.keep("d", "o", [{"month": "1"}], postgres_store)


def test_a_later_releases_shared_store_says_so(postgres_server, postgres_store):
    tracked.keep("d", "o", [{"month": "1"}], postgres_store)
    postgres_server.order(
        "UPDATE alembic_version SET version_num = '9999'", postgres_store.rpartition("/")[2]
    )
    connect.close(postgres_store)
    for act in (
        lambda: tracked.keep("d", "o", [{"month": "1"}], postgres_store),
        lambda: tracked.kept("d", "o", postgres_store),
        lambda: book.imported(store=postgres_store),
    ):
        with pytest.raises(InvalidInput, match="CB-E014"):
            act()


def refused(url, kind=InvalidInput):
    with pytest.raises(kind) as told:
        tracked.keep("d", "o", [{"month": "1"}], url)
    assert "s3cret" not in str(told.value)
    assert "sesame" not in str(told.value)
    (one,) = told.value.problems
    assert one.cure
    return one.code, told.value.exit_code


def test_each_way_of_not_getting_in_has_its_cure(postgres_server):
    assert refused(postgres_server.url(password="opensesame")) == ("CB-E022", 3)
    assert refused(postgres_server.url(user="nobody-known")) == ("CB-E022", 3)
    assert refused(postgres_server.url("no_such")) == ("CB-E023", 3)
    assert refused("postgresql://u:opensesame@127.0.0.1:1/x", EndpointFailed) == ("CB-E021", 5)
    assert refused("postgresql://u:opensesame@no-such-host.invalid/x", EndpointFailed) == ("CB-E021", 5)
    assert refused("postgresql://u:opensesame@127.0.0.1:port/x")[0] == "CB-E029"
    assert refused("postgresql://u:opensesame@127.0.0.1/x?colour=red")[0] == "CB-E029"
    url = postgres_server.make("latin", "LATIN1")
    assert refused(url) == ("CB-E025", 3)
    connect.close(url)
    postgres_server.drop("latin")


def test_a_store_in_use_or_without_rights_says_so(postgres_server, postgres_store, monkeypatch):
    import psycopg

    from cabida.evidence import connect_server

    tracked.keep("d", "o", [{"month": "1"}], postgres_store)
    monkeypatch.setattr(connect_server, "WAIT_MS", 100)
    with psycopg.connect(postgres_store) as other:
        other.execute("LOCK TABLE tracked_months IN ACCESS EXCLUSIVE MODE")
        assert refused(postgres_store) == ("CB-E010", 3)
    monkeypatch.setattr(connect_server, "STATEMENT_MS", 100)
    with pytest.raises(InvalidInput, match="CB-E026"), connect.reading(postgres_store) as connection:
        connection.exec_driver_sql("SELECT pg_sleep(5)")
    name = postgres_store.rpartition("/")[2]
    postgres_server.order("DROP ROLE IF EXISTS guest")
    postgres_server.order("CREATE ROLE guest LOGIN PASSWORD 'opensesame'")
    guest = postgres_server.url(name, "guest", "opensesame")
    assert refused(guest) == ("CB-E028", 3)
    connect.close(guest)


def test_a_password_may_come_as_libpq_takes_it(postgres_server, postgres_store, monkeypatch, tmp_path):
    from postgres_cluster import PASSWORD, USER

    bare = f"postgresql://{USER}@127.0.0.1:{postgres_server.port}/{postgres_store.rpartition('/')[2]}"
    assert refused(bare) == ("CB-E022", 3)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert tracked.keep("d", "o", [{"month": "1"}], bare) == 1
    connect.close(bare)
    monkeypatch.delenv("PGPASSWORD")
    kept = tmp_path / "pgpass"
    kept.write_text(f"127.0.0.1:*:*:{USER}:{PASSWORD}\n")
    kept.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(kept))
    assert tracked.kept("d", "o", bare)
    connect.close(bare)


def test_text_that_the_database_cannot_keep_says_so(postgres_store):
    with pytest.raises(InvalidInput, match="CB-E027"):
        tracked.keep("d\0", "o", [{"month": "1"}], postgres_store)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("postgresql://ana:op@sesame@host:5433/db", "postgresql://ana@host:5433/db"),
        ("postgres:/ana:sesame@host/db", "postgresql://ana@host/db"),
        ("postgresql+psycopg://host/db?password=sesame&sslmode=require", "postgresql://host/db?password=...&sslmode=require"),
        ("POSTGRESQL://:sesame@/db?host=/run", "postgresql:///db?host=/run"),
    ],
)  # fmt: skip
def test_an_address_is_shown_without_its_password(said, told, monkeypatch):
    assert shown(said) == told
    assert str(store_path(said)) == told
    assert "sesame" not in repr(store_path(said))
    monkeypatch.setenv("CABIDA_STORE", said)
    assert isinstance(store_path(), Address)
    assert store_path(Path(said)) == store_path(said)


def test_without_psycopg_the_cure_names_the_extra(tmp_path):
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from cabida.evidence import tracked\n"
        "from cabida.errors import InvalidInput\n"
        "try: tracked.kept('d', 'o', 'postgresql://h/x')\n"
        "except InvalidInput as told: print(told)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'cabida[postgres]'" in done.stdout
    assert "CB-E024" in done.stdout


def test_a_likeness_is_found_on_either(any_store, log, monkeypatch):
    from cabida import app

    store.add(evidence.read_file(log, gpu="h100-sxm-80"), any_store)
    (kept,) = store.stored(any_store)
    monkeypatch.setenv("CABIDA_STORE", any_store)
    setup = kept.observation.setup
    assert setup["gpu"] == "h100-sxm-80"
    with connect.reading(any_store) as connection:
        (row,) = connection.exec_driver_sql('SELECT "row" FROM observations').scalars()
    assert json.loads(row)["gpu"] == "h100-sxm-80"
    assert isinstance(app.fit("qwen3-8b", gpu="h100-sxm-80")["observed"], list)
