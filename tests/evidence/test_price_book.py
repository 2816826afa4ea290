"""Imported prices: kept as they were read, once, whole or not at all, never changed; read by two dates."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from dataclasses import fields, replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cabida import evidence, facts
from cabida.errors import InvalidInput
from cabida.evidence import book, connect
from cabida.evidence.price_rows import COLUMNS
from cabida.evidence.prices import Read, Unread
from cabida.facts.model import ApiOffer, Offer
from cabida.quantity import Source

SAID = Source("price list, mine.csv", "https://example.org", "2026-11-20", "quoted")
TABLES = ("price_imports", "price_sources", "price_sightings", "api_sightings", "price_unread")


def offer(**more):
    plain = {
        "id": "mine", "provider": "Mine", "provider_kind": "neocloud", "accelerator": "l40s", "accelerators_count": 8,
        "region": "eu-1", "country": "DE", "capacity": "reserved", "term_months": 12, "upfront_ratio": 0.25,
        "amount": Decimal("1.2300"), "unit": "accelerator_hour", "currency": "EUR", "seen": "2026-11-20",
        "effective": "2026-11-01", "sighting": "catalogue", "sample_count": 7, "low_amount": Decimal("1.1"),
        "high_amount": Decimal("1.5"), "condition": "new", "notes": "a; b", "source": SAID, "form_factor": "PCIe",
        "field_sources": {"amount": replace(SAID, what="page 3")}, "fraction_ratio": 0.5, "node_shape": "g6e",
        "minimum_count": 2, "includes": ("host", "egress"), "median_amount": Decimal("1.25"), "until": "2027-01-31",
        "tax_ratio": 0.21,
    }  # fmt: skip
    return Offer(**(plain | more))


def api(**more):
    plain = {
        "id": "served", "provider": "Served", "model": "meta-llama/Llama-3.1-8B-Instruct", "model_name": "llama-8b",
        "input_amount": Decimal("0.20"), "output_amount": Decimal("0.60"), "cached_input_amount": None,
        "batch_input_amount": Decimal("0.10"), "batch_output_amount": None, "currency": "USD", "seen": "2026-11-20",
        "effective": "", "notes": "", "source": SAID, "tier_above_tokens": 200000,
    }  # fmt: skip
    return ApiOffer(**(plain | more))


def price_file(*offers, apis=(), unread=(), sha="a" * 64):
    return Read(
        "mine.csv", "price list", sha, 100, len(offers), offers=list(offers), api_offers=list(apis),
        unread=list(unread), offer_lines=list(range(2, 2 + len(offers))), api_lines=list(range(2, 2 + len(apis))),
    )  # fmt: skip


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store.db"


def counts(store):
    with sqlite3.connect(store) as opened:
        found = [opened.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES]
    opened.close()
    return found


def test_every_field_of_an_offer_has_its_column_and_comes_back(store):
    assert {*COLUMNS, "id", "source", "field_sources"} == {own.name for own in fields(Offer)}
    assert book.add(price_file(offer(), apis=[api()]), store).new_count == 2
    (found,) = book.imported(store=store)
    assert replace(found, id="mine") == offer()
    assert found.id.startswith("mine-")
    assert str(found.amount) == "1.2300"
    (served,) = [one for one in book.api_offers(store=store) if one.provider == "Served"]
    assert replace(served, id="served") == api()
    assert book.where_from(found.id, store)[:2] == ("mine.csv", 2)
    assert book.where_from(served.id, store)[:2] == ("mine.csv", 2)
    assert book.where_from("somebody-elses", store) == ("", 0, "")
    alike = f"somebody-elses-{found.id[-8:]}", f"mine-{found.id[-8]}", "mine-", found.id[-8:]
    assert {book.where_from(one, store) for one in alike} == {("", 0, "")}


def test_the_same_again_adds_nothing_and_a_grown_file_only_what_is_new(store):
    first = price_file(offer(), unread=[Unread(3, "junk", "no_price")])
    book.add(first, store)
    before = counts(store)
    again = book.add(first, store)
    assert (again.import_id, again.new_count, again.known_count) == (0, 0, 1)
    assert counts(store) == before
    copied = price_file(
        offer(id="other name", source=replace(SAID, what="price list, copy.csv")), sha="b" * 64
    )
    assert book.add(copied, store).new_count == 0
    grown = price_file(offer(), offer(seen="2026-11-27"), sha="c" * 64)
    assert book.add(grown, store).new_count == 1
    assert len(book.imported(store=store)) == 2
    assert [one.kept_count for one in book.imports(store)] == [1, 1]


def test_rows_that_nobody_could_read_are_kept_with_their_line_and_no_secret(store):
    row = Unread(7, "x,hf_abcdefghijklmnopqrstuvwxyz0123," + "y" * 900, "unknown_gpu", "L40S")
    book.add(price_file(unread=[row]), store)
    (found,) = book.unread(store)
    assert (found.line, found.why, found.near, found.file_name) == (7, "unknown_gpu", "L40S", "mine.csv")
    assert len(found.text) <= 500
    assert "hf_abc" not in found.text
    book.add(price_file(unread=[row]), store)
    assert len(book.unread(store)) == 1


@pytest.mark.parametrize("table", TABLES)
def test_no_row_is_ever_changed_or_removed(store, table):
    book.add(price_file(offer(), apis=[api()], unread=[Unread(1, "x", "y")]), store)
    with sqlite3.connect(store) as opened:
        for order in (f"UPDATE {table} SET id = id", f"DELETE FROM {table}"):
            with pytest.raises(sqlite3.IntegrityError, match="only ever added"):
                opened.execute(order)
    opened.close()


def test_the_code_holds_no_order_to_change_or_remove():
    folder = Path(evidence.__file__).parent
    for name in ("book.py", "price_keeping.py", "price_rows.py"):
        text = (folder / name).read_text(encoding="utf-8").upper()
        assert "UPDATE " not in text.replace("HASHED.UPDATE", "")
        assert "DELETE " not in text
        assert "DROP " not in text


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.dates(), st.booleans(), st.decimals("0.01", "99", places=4)), max_size=12),
    st.dates(),
    st.dates(),
)
def test_a_later_day_never_knows_less(tmp_path_factory, sightings, one, other):
    store = tmp_path_factory.mktemp("book") / "s.db"
    made = [offer(seen=day.isoformat() if dated else "", amount=amount) for day, dated, amount in sightings]
    book.add(price_file(*made), store)
    early, late = sorted([one.isoformat(), other.isoformat()])
    before = {found.id for found in book.imported(early, store=store)}
    assert before <= {found.id for found in book.imported(late, store=store)}
    assert all(found.seen <= early for found in book.imported(early, store=store) if found.seen)
    assert before <= {found.id for found in book.imported(store=store)}


def test_an_undated_price_is_known_from_the_day_it_was_recorded(store):
    today = book.add(price_file(offer(seen="")), store).at[:10]
    assert len(book.imported(today, store=store)) == 1
    assert book.imported("2026-01-01" if today > "2026-01-01" else "2000-01-01", store=store) == ()


def test_a_file_with_an_undated_row_is_cited_from_its_first_dated_one(store):
    book.add(price_file(offer(seen="2026-11-20"), offer(seen="", region="eu-2")), store)
    assert len(book.imported("2026-11-21", store=store)) == 1
    assert book.digest_over("facts", "2026-11-21", store=store) != "facts"
    assert book.digest_over("facts", "2026-11-19", store=store) == "facts"


def test_a_decision_made_again_finds_the_book_it_was_made_with(store, monkeypatch):
    from cabida.evidence import price_keeping

    class Clock(price_keeping.datetime):
        @classmethod
        def now(cls, zone=None):
            return cls(2026, 11, 25, 12, 0, 0, tzinfo=zone)

    monkeypatch.setattr(price_keeping, "datetime", Clock)
    book.add(price_file(offer()), store)
    made_at = "2026-11-26T09:00:00+00:00"
    before = book.digest_over("facts", "2026-11-30", store=store)
    monkeypatch.undo()
    book.add(price_file(offer(seen="2026-11-21"), sha="b" * 64), store)
    assert len(book.imported("2026-11-30", store=store)) == 2
    assert len(book.imported("2026-11-30", recorded_by=made_at, store=store)) == 1
    assert book.digest_over("facts", "2026-11-30", recorded_by=made_at, store=store) == before
    assert book.digest_over("facts", "2026-11-30", store=store) != before
    assert book.digest_over("facts", "2026-11-19", store=store) == "facts"  # nothing of it was seen by then
    assert before != "facts"


def test_only_the_parts_asked_for_are_read(store):
    book.add(price_file(offer(), offer(accelerator="a10"), offer(accelerator="t4")), store)
    assert {one.accelerator for one in book.imported(None, ["a10", "t4"], store=store)} == {"a10", "t4"}
    assert book.imported(None, [], store=store) == ()
    listed = book.offers("2026-11-30", ["l40s"], store=store)
    assert {one.accelerator for one in listed} == {"l40s"}
    assert len(listed) == len(book.offers("2026-11-30", ["l40s"], store=store.with_name("none.db"))) + 1
    with sqlite3.connect(store) as opened:
        plan = opened.execute(
            "EXPLAIN QUERY PLAN SELECT * FROM price_sightings AS o WHERE o.accelerator IN ('a10')"
        ).fetchall()
    opened.close()
    assert "price_sightings_by_part" in str(plan)


def test_prices_alike_but_for_their_region_are_read_once_where_that_is_all_one_needs(store):
    same = [offer(region=f"eu-{at}", node_shape=f"m{at}") for at in range(5)]
    book.add(price_file(*same, offer(region="us-1", country="US"), offer(amount=Decimal(2))), store)
    assert len(book.imported(store=store)) == 7
    found = book.imported(once=True, store=store)
    assert [(one.country, one.amount) for one in found] == [("DE", Decimal("1.2300")), ("US", Decimal("1.2300")),
                                                           ("DE", Decimal(2))]  # fmt: skip


def test_the_last_imported_api_price_stands_beside_the_listed_one(store):
    listed = facts.api_offers("2026-11-30")[0]
    dear = replace(
        listed,
        id="x",
        seen="2026-11-29",
        input_amount=Decimal(90),
        output_amount=Decimal(99),
        source=SAID,
        rates=(),
    )
    dearer = replace(dear, seen="2020-01-01", output_amount=Decimal(999))
    book.add(
        price_file(apis=[dear, dearer, replace(dear, model="unheard-of", model_name="unheard-of")]), store
    )
    found = {one.model_name: one for one in book.current_api_offers("2026-11-30", store=store)}
    assert found[listed.model_name].output_amount == Decimal(99)  # the dearer of the last ones
    assert found[listed.model_name].elsewhere
    assert found["unheard-of"].output_amount == Decimal(99)
    before = {one.model_name: one for one in book.current_api_offers("2026-11-28", store=store)}
    assert "unheard-of" not in before


def test_a_price_one_wrote_down_counts_whatever_an_imported_list_says(store, tmp_path, monkeypatch):
    row = {
        "id": "ours", "provider": "Served", "model": "unheard-of", "model_name": "unheard-of", "input_amount": 0.1,
        "output_amount": 0.3, "currency": "USD", "seen": "2026-11-02",
        "source": {"what": "our contract", "seen": "2026-11-02", "grade": "quoted"},
    }  # fmt: skip
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "ours.yaml").write_text(json.dumps({"api_offers": [row]}), "utf-8")
    book.add(price_file(apis=[api(model="unheard-of", model_name="unheard-of")]), store)
    before = {one.model_name: one for one in book.current_api_offers("2026-11-30", store=store)}
    assert before["unheard-of"].output_amount == Decimal("0.60")
    monkeypatch.setenv("CABIDA_FACTS", str(tmp_path / "own"))
    found = {one.model_name: one for one in book.current_api_offers("2026-11-30", store=store)}
    assert found["unheard-of"].output_amount == Decimal("0.3")


def test_a_store_of_the_first_schema_has_no_prices_yet_and_takes_some(store, tmp_path):
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import create_engine

    engine = create_engine(f"sqlite:///{store}")
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(Path(connect.__file__).parent / "migrations"))
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    engine.dispose()
    assert book.imported(store=store) == ()
    assert book.digest_over("facts", store=store) == "facts"
    assert book.add(price_file(offer()), store).new_count == 1
    assert len(book.imported(store=store)) == 1


def test_a_broken_store_is_told_not_passed_over(store):
    store.write_bytes(b"not a database, by far: " * 400)
    with pytest.raises(InvalidInput, match="CB-E012"):
        book.offers(store=store)


def test_without_a_store_nothing_of_a_database_is_imported(tmp_path):
    code = (
        "import sys; from cabida.evidence import book; n = len(book.offers('2026-11-30', ['l40s'])); "
        "assert n > 3; assert book.digest_over('x') == 'x'; "
        "print([m for m in sys.modules if m.startswith(('sqlalchemy', 'alembic'))])"
    )
    env = os.environ | {"CABIDA_STORE": str(tmp_path / "none.db")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


KILLED = """
import os, signal, sys
from cabida.evidence import book, price_keeping
sys.path.insert(0, {here!r})
from test_price_book import offer, price_file
real = price_keeping._insert
def insert(connection, table, columns, rows):
    done = real(connection, table, columns, rows)
    if table == {table!r}:
        os.kill(os.getpid(), signal.SIGKILL)
    return done
price_keeping._insert = insert
from cabida.evidence.prices import Unread
book.add(price_file(*(offer(region=str(n)) for n in range(3000)), unread=[Unread(1, "x", "y")]), {store!r})
"""


@pytest.mark.parametrize("table", ["price_sources", "price_sightings", "price_unread"])
def test_killed_in_the_middle_the_store_has_nothing_of_the_file(store, table):
    book.add(price_file(offer(provider="Before"), sha="0" * 64), store)
    code = textwrap.dedent(KILLED).format(here=str(Path(__file__).parent), table=table, store=str(store))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert [one.provider for one in book.imported(store=store)] == ["Before"]
    assert counts(store) == [1, 1, 1, 0, 0]
    again = price_file(*(offer(region=str(n)) for n in range(3000)), unread=[Unread(1, "x", "y")])
    assert book.add(again, store).new_count == 3000


WRITER = """
import sys
sys.path.insert(0, {here!r})
from test_price_book import offer, price_file
from cabida.evidence import book
many = [offer(provider={name!r}, region=str(n)) for n in range(2000)]
assert book.add(price_file(*many, sha={name!r} * 64), {store!r}).new_count == 2000
"""


def test_two_who_import_at_once_both_keep_everything(store):
    words = [
        [sys.executable, "-c", WRITER.format(here=str(Path(__file__).parent), name=name, store=str(store))]
        for name in "ab"
    ]
    running = [subprocess.Popen(one, stderr=subprocess.PIPE, text=True) for one in words]
    assert [(one.communicate()[1], one.returncode) for one in running] == [("", 0), ("", 0)]
    assert len(book.imported(store=store)) == 4000
    assert sorted(one.kept_count for one in book.imports(store)) == [2000, 2000]


@pytest.mark.long
def test_a_hundred_thousand_prices_are_kept_within_seconds(store):
    many = [offer(region=f"r{at}") for at in range(100_000)]
    began = time.process_time()
    assert book.add(price_file(*many), store).new_count == 100_000
    assert time.process_time() - began < 4
    began = time.process_time()
    assert len(book.imported(None, ["l40s"], store=store)) == 100_000
    assert time.process_time() - began < 4
    began = time.process_time()
    assert book.imported(None, ["a10"], store=store) == ()
    assert time.process_time() - began < 0.2


def test_what_is_no_store_of_this_release_is_told_not_passed_over(store, tmp_path):
    book.add(price_file(offer()), store)
    with sqlite3.connect(store) as later:
        later.execute("UPDATE alembic_version SET version_num = '9999'")
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE songs (name)")
    for path, code in (
        (store, "CB-E014"),
        (tmp_path / "other.db", "CB-E016"),
        ("/dev/null", "CB-E011"),
        (tmp_path, "CB-E011"),
    ):
        with pytest.raises(InvalidInput) as refused:
            book.offers(store=path)
        assert refused.value.problems[0].code == code
    (tmp_path / "empty.db").touch()
    assert book.imported(store=tmp_path / "empty.db") == ()


def test_a_brief_may_name_who_is_only_in_imported_prices(store, tmp_path, monkeypatch):
    from cabida import app
    from cabida.brief import complete

    example = Path(__file__).parents[2] / "examples" / "nightly-batch.yaml"
    text = example.read_text(encoding="utf-8")
    brief = tmp_path / "brief.yaml"
    brief.write_text(text.replace("providers: any", "providers: [my <Cloud>]"), encoding="utf-8")
    monkeypatch.setenv("CABIDA_STORE", str(store))
    with pytest.raises(InvalidInput, match="CB-B020"):
        app.load_brief(brief)
    book.add(price_file(offer(provider="My <Cloud>")), store)
    read = app.load_brief(brief)
    assert read.consider.providers == ("My <Cloud>",)
    assert complete(read, assume=True).consider.providers == ("My <Cloud>",)


@pytest.mark.parametrize("change", ["amount = 'much'", "more = '{'", "more = '{\"songs\": 1}'"])
def test_a_row_that_somebody_changed_is_damage(store, change):
    book.add(price_file(offer()), store)
    with sqlite3.connect(store) as opened:
        for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            opened.execute(f"DROP TRIGGER {name}")
        opened.execute(f"UPDATE price_sightings SET {change}")
    with pytest.raises(InvalidInput, match="CB-E012"):
        book.imported(store=store)
