"""Of many that write at once over the same version exactly one wins, on both databases, from threads and processes."""

import json
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from threading import Barrier

import pytest

from cabida.errors import Conflict
from cabida.evidence import shelf, tracked

TEXT = "name: a\nworkload: batch-inference\n"
WRITERS, ROUNDS = 6, 4


def test_of_many_threads_one_wins_each_version(any_store):
    id = shelf.add_brief("start", TEXT, store=any_store).id
    together, newest = Barrier(WRITERS), []

    def write(who):
        won = []
        for version in range(1, ROUNDS + 1):
            together.wait(60)
            try:
                shelf.change_brief(id, version=version, name=f"{who} {version}", by=who, store=any_store)
                won.append(version)
            except Conflict as told:
                newest.append((version, told.newest))
            together.wait(60)
        return won

    with ThreadPoolExecutor(WRITERS) as pool:
        won = list(pool.map(write, (f"w{at}" for at in range(WRITERS))))
    assert sorted(version for one in won for version in one) == list(range(1, ROUNDS + 1))
    assert set(newest) == {(version, version + 1) for version in range(1, ROUNDS + 1)}
    assert len(newest) == ROUNDS * (WRITERS - 1)
    told = shelf.brief_versions(id, store=any_store)
    assert [one.version for one in told] == list(range(ROUNDS + 1, 0, -1))
    for at, versions in enumerate(won):
        for version in versions:
            kept = shelf.brief(id, version + 1, store=any_store)
            assert (kept.name, kept.changed_by) == (f"w{at} {version}", f"w{at}")
    assert shelf.check_audit(any_store) == shelf.AuditCheck(ROUNDS + 1)


WRITER = """
import json, sys
from cabida.errors import Conflict
from cabida.evidence import shelf
store, id, who = sys.argv[1:]
seen, won, lost, added = 1, 0, 0, []
print("ready", flush=True)
sys.stdin.readline()
while won < 3:
    added.append(shelf.add_brief(f"{who} {won} {lost}", "name: a", by=who, store=store).id)
    try:
        shelf.change_brief(id, version=seen, name=f"{who} {won}", by=who, store=store)
        won += 1
        seen += 1
    except Conflict as told:
        lost += 1
        seen = told.newest
print(json.dumps({"won": won, "added": added}))
"""


def test_of_many_processes_none_loses_a_write(any_store):
    id = shelf.add_brief("start", TEXT, store=any_store).id
    words = [sys.executable, "-c", textwrap.dedent(WRITER), any_store, id]
    running = [
        subprocess.Popen([*words, f"p{at}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for at in range(3)
    ]
    for one in running:
        assert one.stdout.readline() == "ready\n"
    for one in running:
        one.stdin.write("\n")
        one.stdin.flush()
    told = [json.loads(one.communicate(timeout=120)[0]) for one in running]
    assert [one.returncode for one in running] == [0, 0, 0]
    assert shelf.brief(id, store=any_store).version == 1 + 3 * 3
    names = [one.name for one in shelf.brief_versions(id, store=any_store)][:-1]
    assert sorted(names) == sorted(f"p{who} {at}" for who in range(3) for at in range(3))
    listed = {one.id for one in shelf.briefs(most=500, store=any_store).items}
    added = [one for each in told for one in each["added"]]
    assert listed == {id, *added}
    assert len(added) == len(set(added))
    assert shelf.check_audit(any_store) == shelf.AuditCheck(1 + 9 + len(added))


def test_a_waiting_job_is_claimed_once(any_store):
    asked = [shelf.add_job("recommend", {"at": at}, store=any_store).id for at in range(12)]

    def claim(server):
        found = []
        while (one := shelf.claim_job(server, store=any_store)) is not None:
            assert one.server == server
            found.append(one.id)
        return found

    with ThreadPoolExecutor(4) as pool:
        taken = list(pool.map(claim, [shelf.new_server() for _ in range(4)]))
    assert sorted(id for each in taken for id in each) == sorted(asked)


def test_one_key_is_one_job_however_often_it_is_asked_at_once(any_store):
    together = Barrier(6)

    def ask(_):
        together.wait(60)
        return shelf.add_job("recommend", {"text": TEXT}, by="Ana", key="once", store=any_store).id

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(ask, range(6)))) == 1
    assert len(shelf.jobs(store=any_store).items) == 1
    with pytest.raises(Conflict):
        shelf.add_job("recommend", {"text": "other"}, by="Ana", key="once", store=any_store)


def test_one_decision_added_at_once_is_one(any_store):
    plain = {"schema": "cabida/decision/1", "name": "a", "options": []}
    together = Barrier(4)

    def add(_):
        together.wait(60)
        return shelf.add_decision(plain, by="Ana", store=any_store).id

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(add, range(4)))) == 1
    assert len(shelf.audit_log(store=any_store).items) == 1


def test_all_kinds_of_changes_at_once_wait_for_each_other_and_none_is_lost(any_store, monkeypatch):
    monkeypatch.setattr(import_module("cabida.evidence.shelf.jobs"), "KEPT_COUNT", 3)
    id = shelf.add_brief("start", TEXT, store=any_store).id
    run = shelf.add_run("run", "plan: x\n", store=any_store).id

    def change(at):
        server = shelf.new_server()
        shelf.interrupt_jobs(server, store=any_store)
        for step in range(3):
            shelf.change_run(run, summary={"at": at, "step": step}, store=any_store)
            shelf.add_job("recommend", {"at": at, "step": step}, key=f"{step}-{at % 2}-{at}", store=any_store)
            if (one := shelf.claim_job(server, store=any_store)) is not None:
                shelf.end_job(one.id, "done", {}, store=any_store)
            token, _ = shelf.new_token(f"t {at} {step}", "reader", store=any_store)
            shelf.revoke_token(token.id, store=any_store)
            shelf.add_decision({"schema": "cabida/decision/1", "name": f"{step}"}, by="Ana", store=any_store)
            tracked.keep("d", "a", [{"month": f"20{step}", "at": at}], any_store)
            seen = shelf.brief(id, store=any_store).version
            with suppress(Conflict):
                shelf.change_brief(id, version=seen, name=f"{at} {step}", store=any_store)
        shelf.leave(server, store=any_store)
        return at

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(change, range(4))) == list(range(4))
    assert len(shelf.tokens(store=any_store)) == 12
    assert len(shelf.kept_decisions(store=any_store).items) == 3
    assert {one.state for one in shelf.jobs(store=any_store).items} <= {"done", "waiting"}
    assert shelf.check_audit(any_store).broken_at is None


def test_a_run_that_somebody_stopped_is_not_begun(any_store):
    run = shelf.add_run("run", "plan: x\n", store=any_store).id
    shelf.change_run(run, state="waiting", store=any_store)
    shelf.change_run(run, state="cancelled", by="Ana", store=any_store)
    kept = shelf.change_run(run, state="running", was="waiting", folder="/x", store=any_store)
    assert (kept.state, kept.folder, kept.changed_by) == ("cancelled", "", "Ana")
    shelf.change_run(run, state="waiting", store=any_store)
    assert shelf.change_run(run, state="running", was="waiting", store=any_store).state == "running"
