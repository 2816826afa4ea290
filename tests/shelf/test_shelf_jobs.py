"""Jobs on the shelf: asked once, worked on by one living server, ended once, the last thousand remembered."""

import os
import subprocess
import sys
from importlib import import_module

import pytest

from cabida.errors import Conflict, InvalidInput, NotThere
from cabida.evidence import connect, shelf

ASKED = {"text": "name: a\n", "assume": True}
jobs = import_module("cabida.evidence.shelf.jobs")
claims = import_module("cabida.evidence.shelf.job_claims")


def code(refused):
    return [one.code for one in refused.value.problems]


def states(store):
    return {one.id: one.state for one in shelf.jobs(store=store).items}


def test_a_job_goes_its_way(any_store):
    server = shelf.new_server()
    shelf.beat(server, store=any_store)
    asked = shelf.add_job("recommend", ASKED, by="Ana", store=any_store)
    assert (asked.state, asked.asked, asked.by, asked.over) == ("waiting", ASKED, "Ana", False)
    assert not shelf.tell_job(asked.id, {"share": 0.1}, store=any_store)  # nobody works on it yet
    begun = shelf.begin_job(asked.id, server, store=any_store)
    assert (begun.state, begun.server) == ("running", server)
    assert begun.began_at
    assert shelf.tell_job(asked.id, {"share": 0.5}, store=any_store)
    assert shelf.job(asked.id, store=any_store).progress == {"share": 0.5}
    done = shelf.end_job(asked.id, "done", {"decision": "d-1"}, store=any_store)
    assert (done.state, done.result, done.over) == ("done", {"decision": "d-1"}, True)
    assert done.ended_at
    assert shelf.end_job(asked.id, "failed", errors=[{"code": "x"}], store=any_store) == done
    assert shelf.cancel_job(asked.id, store=any_store) == done
    assert not shelf.tell_job(asked.id, {"share": 0.9}, store=any_store)
    with pytest.raises(Conflict) as refused:
        shelf.begin_job(asked.id, server, store=any_store)
    assert code(refused) == ["CB-E237"]
    assert [one.what for one in shelf.audit_log(of=asked.id, store=any_store).items] == ["done", "asked"]


def test_a_cancelled_job_stays_cancelled_whatever_its_worker_says(any_store):
    server = shelf.new_server()
    id = shelf.add_job("recommend", ASKED, by="Ana", store=any_store).id
    shelf.begin_job(id, server, store=any_store)
    assert shelf.cancel_job(id, by="Luis", store=any_store).state == "cancelled"
    assert not shelf.tell_job(id, {}, store=any_store)
    assert shelf.end_job(id, "done", {}, store=any_store).state == "cancelled"
    assert shelf.audit_log(of=id, store=any_store).items[0].by == "Luis"


def test_the_same_key_gives_the_job_back_and_another_asking_is_refused(any_store):
    first = shelf.add_job("recommend", ASKED, by="Ana", key="k-1", store=any_store)
    again = shelf.add_job("recommend", dict(reversed(ASKED.items())), by="Ana", key="k-1", store=any_store)
    assert again == first
    for kind, asked in (("recommend", ASKED | {"assume": False}), ("bench", ASKED)):
        with pytest.raises(Conflict) as refused:
            shelf.add_job(kind, asked, by="Ana", key="k-1", store=any_store)
        assert code(refused) == ["CB-E235"]
    others = [
        shelf.add_job("recommend", ASKED, by="Luis", key="k-1", store=any_store),
        shelf.add_job("recommend", ASKED, by="Ana", key="k-2", store=any_store),
        shelf.add_job("recommend", ASKED, by="Ana", store=any_store),
        shelf.add_job("recommend", ASKED, by="Ana", store=any_store),
    ]
    assert len({first.id, *(one.id for one in others)}) == 5
    ended = shelf.end_job(first.id, "failed", store=any_store)
    assert shelf.add_job("recommend", ASKED, by="Ana", key="k-1", store=any_store) == ended


def test_the_oldest_that_waits_is_claimed_by_who_may(any_store):
    one, other = shelf.new_server(), shelf.new_server()
    asked = [
        shelf.add_job("bench", ASKED, store=any_store),
        shelf.add_job("recommend", ASKED, store=any_store),
        shelf.add_job("recommend", ASKED, server=other, store=any_store),
    ]
    assert shelf.claim_job(one, ("recommend",), store=any_store).id == asked[1].id
    assert shelf.claim_job(one, ("recommend",), store=any_store) is None
    assert shelf.claim_job(one, store=any_store).id == asked[0].id
    with pytest.raises(Conflict):
        shelf.begin_job(asked[2].id, one, store=any_store)
    assert shelf.claim_job(other, store=any_store).id == asked[2].id


def test_a_dead_server_leaves_its_jobs_and_a_living_one_keeps_them(any_store):
    living, dead, here = shelf.new_server(), shelf.new_server(), shelf.new_server()
    for server in (living, dead, here):
        shelf.beat(server, store=any_store)
    of_living, of_dead = (
        shelf.begin_job(shelf.add_job("recommend", ASKED, store=any_store).id, server, store=any_store).id
        for server in (living, dead)
    )
    queued = shelf.add_job("recommend", ASKED, server=dead, store=any_store).id
    free = shelf.add_job("recommend", ASKED, store=any_store).id
    assert shelf.interrupt_jobs(here, store=any_store) == []
    with connect.writing(any_store) as connection:
        connection.exec_driver_sql(
            f"UPDATE servers SET beat_at = '2020-01-01T00:00:00+00:00' WHERE id = '{dead}'"
        )
    assert sorted(shelf.interrupt_jobs(here, store=any_store)) == sorted([of_dead, queued])
    assert states(any_store) == {
        of_living: "running",
        of_dead: "interrupted",
        queued: "interrupted",
        free: "waiting",
    }
    assert not shelf.tell_job(of_dead, {}, store=any_store)  # it lives after all, and stops
    assert shelf.leave(living, store=any_store) == [of_living]


def test_a_server_whose_process_is_no_more_is_dead_at_once(any_store):
    words = (
        "import sys; from cabida.evidence import shelf; s = shelf.new_server(); shelf.beat(s, store=sys.argv[1]); "
        "j = shelf.add_job('recommend', {}, store=sys.argv[1]); print(shelf.begin_job(j.id, s, store=sys.argv[1]).id)"
    )
    done = subprocess.run(
        [sys.executable, "-c", words, any_store], capture_output=True, text=True, check=True
    )
    id = done.stdout.strip()
    assert shelf.job(id, store=any_store).state == "running"
    assert shelf.interrupt_jobs(shelf.new_server(), store=any_store) == [id]


def test_a_process_elsewhere_is_judged_by_its_beat_alone(tmp_path, monkeypatch):
    store = tmp_path / "s.db"
    away = shelf.new_server()
    with monkeypatch.context() as patched:
        patched.setattr(claims, "_host", lambda: "elsewhere")
        patched.setattr(os, "getpid", lambda: 2**22 + 1)
        shelf.beat(away, store=store)
        id = shelf.begin_job(shelf.add_job("recommend", {}, store=store).id, away, store=store).id
    assert shelf.interrupt_jobs(shelf.new_server(), store=store) == []
    assert shelf.job(id, store=store).state == "running"


def test_what_is_over_is_forgotten_but_for_the_last(any_store, monkeypatch):
    monkeypatch.setattr(jobs, "KEPT_COUNT", 3)
    waiting = shelf.add_job("recommend", ASKED, store=any_store).id
    ended = [
        shelf.end_job(shelf.add_job("recommend", ASKED, store=any_store).id, "done", store=any_store).id
        for _ in range(6)
    ]
    last = shelf.add_job("recommend", ASKED, store=any_store).id
    assert [one.id for one in shelf.jobs(store=any_store).items] == [last, *ended[:2:-1], waiting]
    with pytest.raises(NotThere) as refused:
        shelf.job(ended[0], store=any_store)
    assert code(refused) == ["CB-E236"]
    assert shelf.check_audit(any_store).broken_at is None


@pytest.mark.parametrize(
    ("asked", "key", "said"),
    [
        ({"text": "a: b\npassword: hunter22\n"}, "", "CB-E223"),
        ({"deep": {"list": ["x", "Bearer abcdefghijklmnop"]}}, "", "CB-E223"),
        ({"x": float("inf")}, "", "CB-E224"),
        ({"x": object()}, "", "CB-E224"),
        ({"x": "y" * 2_000_001}, "", "CB-E225"),
        ({}, "k" * 201, "CB-E227"),
        ({}, "k\x00", "CB-E227"),
    ],
)
def test_what_is_not_taken_is_refused(tmp_path, asked, key, said):
    with pytest.raises(InvalidInput) as refused:
        shelf.add_job("recommend", asked, key=key, store=tmp_path / "s.db")
    assert code(refused) == [said]
    assert "hunter22" not in str(refused.value)


def test_depth_is_bounded(tmp_path):
    deep = {}
    for _ in range(100_000):
        deep = {"x": deep}
    with pytest.raises(InvalidInput) as refused:
        shelf.add_job("recommend", {"deep": deep}, store=tmp_path / "s.db")
    assert code(refused) == ["CB-E224"]


def test_a_key_in_an_error_is_blanked(any_store):
    id = shelf.add_job("bench", {"key": "env:NAME"}, store=any_store).id
    told = shelf.end_job(
        id,
        "failed",
        errors=[{"code": "CB-W001", "what": "Authorization: Bearer abcdefghijklmnop"}],
        store=any_store,
    )
    assert "abcdefghijklmnop" not in str(told.errors)
    assert told.errors[0]["code"] == "CB-W001"


def test_lists_of_jobs(any_store):
    mine = shelf.add_job("recommend", {}, by="Ana", store=any_store)
    theirs = shelf.add_job("bench", {}, by="Luis", store=any_store)
    shelf.cancel_job(theirs.id, store=any_store)

    def found(**asked):
        return [one.id for one in shelf.jobs(**asked, store=any_store).items]

    assert found() == [theirs.id, mine.id]
    assert found(state="waiting") == found(by="Ana") == found(kind="recommend") == [mine.id]
    assert found(after=theirs.id) == [mine.id]
    page = shelf.jobs(most=1, store=any_store)
    assert page.next == theirs.id
    for id in ("j-000000000000000", "x", "j-\x00"):
        with pytest.raises(NotThere):
            shelf.job(id, store=any_store)
        with pytest.raises(NotThere):
            shelf.cancel_job(id, store=any_store)
