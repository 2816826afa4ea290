"""Jobs: asked once, worked out by processes that may die, told to whoever watches, ended once."""

import asyncio
import json
import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from cabida.errors import Conflict, InvalidInput
from cabida.evidence import shelf
from cabida.faces.web import board, doing, jobs, ops
from cabida.faces.web.access import Person
from cabida.faces.web.settings import Settings
from cabida.faces.web.telling import Refused
from cabida.faces.web.worker import work

MARIA, JUAN = Person("María", "editor"), Person("Juan", "editor")
GOLDEN = Path(__file__).parents[1] / "report" / "golden" / "decision.en.json"


@pytest.fixture
def doings(monkeypatch):
    """Kinds of jobs that end at once, wait for the test, or fail."""
    gate = threading.Event()

    def quick(asked, tell):
        for at in range(3):
            tell("screen", at, 3)
        return {"answer": asked["n"]}

    def held(asked, tell):
        tell("simulate", 1, 2)
        assert gate.wait(20)
        return {"answer": 1}

    def wrong(asked, tell):
        from cabida.text import problem

        raise InvalidInput([problem("CB-S023", kind="x", kinds="y")])

    def broken(asked, tell):
        raise ZeroDivisionError("divided")

    def hungry(asked, tell):
        raise MemoryError

    made = {"quick": quick, "held": held, "wrong": wrong, "broken": broken, "hungry": hungry}
    monkeypatch.setattr(doing, "DOINGS", made)
    yield gate
    gate.set()


def with_jobs(test, **settings):
    """Run an async test with jobs in a thread of this process."""

    async def run():
        async with jobs.Jobs(Settings(jobs_here=True, stop_s=1.0, **settings), ops.Counts()) as these:
            return await asyncio.wait_for(test(these), 30)

    return asyncio.run(run())


def test_a_job_is_worked_out_and_kept(web_store, doings):
    async def test(these):
        job = these.submit("quick", {"n": 7}, MARIA)
        assert (job.state, job.by) == ("waiting", "María")
        done = await these.ended(job.id, 10)
        assert (done.state, done.result) == ("done", {"answer": 7})
        assert done.progress["stages"] == [{"what": "screen", "done": 2, "of": 3}]
        return done.id

    id = with_jobs(test)
    assert shelf.job(id).result == {"answer": 7}


@pytest.mark.parametrize(
    ("kind", "code"), [("wrong", "CB-S023"), ("broken", "CB-U000"), ("hungry", "CB-S019")]
)
def test_what_fails_says_why(web_store, doings, kind, code):
    async def test(these):
        return await these.ended(these.submit(kind, {"language": "es"}, MARIA).id, 10)

    job = with_jobs(test)
    assert job.state == "failed"
    assert job.errors[0]["code"] == code
    assert "Traceback" not in json.dumps(job.errors)


def test_an_unknown_kind_is_refused(web_store):
    async def test(these):
        with pytest.raises(InvalidInput, match="CB-S023"):
            these.submit("nonsense", {}, MARIA)

    with_jobs(test)


def test_the_same_key_is_the_same_job(web_store, doings):
    async def test(these):
        first = these.submit("quick", {"n": 1}, MARIA, key="k")
        assert these.submit("quick", {"n": 1}, MARIA, key="k").id == first.id
        await these.ended(first.id, 10)
        assert these.submit("quick", {"n": 1}, MARIA, key="k").id == first.id
        assert these.submit("quick", {"n": 1}, JUAN, key="k").id != first.id
        with pytest.raises(Conflict):
            these.submit("quick", {"n": 2}, MARIA, key="k")

    with_jobs(test)


def test_too_many_jobs_are_told_when_to_come_back(web_store, doings):
    async def test(these):
        running = these.submit("held", {}, MARIA)
        while these.job(running.id).state != "running":
            await asyncio.sleep(0.01)
        these.submit("quick", {"n": 1}, MARIA)
        with pytest.raises(Refused) as refused:  # her own share is full
            these.submit("quick", {"n": 2}, MARIA)
        assert (refused.value.status, refused.value.problems[0].code) == (429, "CB-S015")
        assert refused.value.after_s >= 1
        these.submit("quick", {"n": 3}, JUAN)
        with pytest.raises(Refused):  # all of it is
            these.submit("quick", {"n": 4}, Person("Ana", "editor"))
        these.count()
        assert these.counts.waiting._value.get() == 2
        assert these.counts.running._value.get() == 1
        doings.set()

    with_jobs(test, most_waiting=2, most_waiting_each=1)


def test_a_job_that_waits_can_be_cancelled(web_store, doings):
    async def test(these):
        running = these.submit("held", {}, MARIA)
        waiting = these.submit("quick", {"n": 1}, MARIA)
        assert these.cancel(waiting.id, JUAN).state == "cancelled"
        doings.set()
        assert (await these.ended(running.id, 10)).state == "done"
        assert these.cancel(running.id, JUAN).state == "done"
        assert these.job(waiting.id).result is None

    with_jobs(test)


def test_who_watches_is_told_each_change_and_the_end(web_store, doings):
    async def test(these):
        job = these.submit("held", {}, MARIA)
        seen = []
        async for change in these.follow(job.id):
            seen.append(change)
            if change and change[1].progress:
                doings.set()
        states = [job.state for _, job in seen]
        assert states[-1] == "done"
        assert "running" in states
        numbers = [seq for seq, _ in seen]
        assert numbers == sorted(set(numbers))
        later = [one async for one in these.follow(job.id, after=numbers[-1])]
        assert [one[1].state for one in later] == ["done"]  # who comes late still hears the end
        assert not these.board.live[job.id].watchers

    with_jobs(test)


def test_a_sign_of_life_comes_while_nothing_changes(web_store, doings, monkeypatch):
    monkeypatch.setattr(board, "BEAT_S", 0.05)

    async def test(these):
        job = these.submit("held", {}, MARIA)
        quiet = 0
        async for change in these.follow(job.id):
            quiet += change is None
            if quiet == 3:
                doings.set()
        assert quiet >= 3

    with_jobs(test)


def test_a_job_of_another_server_is_followed_on_the_shelf(web_store, doings, monkeypatch):
    monkeypatch.setattr(board, "LOOK_AGAIN_S", 0.02)

    async def test(these):
        there = shelf.add_job("quick", {"n": 1}, by="María", server="")
        seen = []
        async for change in these.follow(there.id):
            seen.append(change[1].state)
            if len(seen) == 1:
                shelf.begin_job(there.id, these.server)
            elif seen[-1] == "running":
                shelf.end_job(there.id, "done", {"answer": 2})
        assert seen == ["waiting", "running", "done"]

    with_jobs(test)


def test_what_waits_when_the_server_stops_is_interrupted(web_store, doings):
    kept = {}

    async def test(these):
        kept["running"] = these.submit("held", {}, MARIA).id
        kept["waiting"] = these.submit("quick", {"n": 1}, MARIA).id
        while these.job(kept["running"]).state != "running":
            await asyncio.sleep(0.01)
        these.stop_taking()
        with pytest.raises(Refused) as refused:
            these.submit("quick", {"n": 1}, MARIA)
        assert refused.value.status == 503
        assert [one async for one in these.follow(kept["running"])]  # and ends, although the job goes on

    with_jobs(test)
    waited = shelf.job(kept["waiting"])
    assert (waited.state, waited.errors[0]["code"]) == ("interrupted", "CB-S018")
    assert shelf.job(kept["running"]).state == "interrupted"


def test_a_server_that_dies_later_is_noticed_by_another(web_store, doings, monkeypatch):
    monkeypatch.setattr(jobs, "BEAT_S", 0.05)

    async def test(these):
        other = shelf.new_server()
        shelf.beat(other)
        left = shelf.add_job("quick", {"n": 1}, by="Ana").id
        shelf.begin_job(left, other)
        await asyncio.sleep(0.3)
        assert shelf.job(left).state == "running"  # it lives
        monkeypatch.setattr("cabida.evidence.shelf.job_claims._is_dead", lambda row: row["id"] == other)
        while shelf.job(left).state == "running":
            await asyncio.sleep(0.02)
        assert shelf.job(left).state == "interrupted"

    with_jobs(test)


def test_a_decision_is_kept_with_its_brief(web_store, monkeypatch):
    """The use case itself is tried elsewhere; here, what of it is asked and what is left on the shelf."""
    from cabida.report.store import from_json

    golden, seen = from_json(GOLDEN.read_text(encoding="utf-8")), {}

    def decided(brief, day, flags, **more):
        seen.update(brief=brief, day=day, flags=flags, seed=more["seed"])
        more["progress"]("screen", 1, 2)
        return golden

    monkeypatch.setattr("cabida.app.deciding.decided", decided)
    from cabida.brief.examples import example_text

    brief = shelf.add_brief("a chat", example_text("support-chat"), by="María")
    told = []
    asked = {"brief_id": brief.id, "assume": True, "as_of": "2026-11-30", "seed": 5, "language": "es"}
    end = work("recommend", asked, "María", lambda *one: told.append(one))
    assert end["state"] == "done", end
    kept = shelf.kept_decision(end["result"]["decision"])
    assert (kept.brief_id, kept.brief_version, kept.made_by) == (brief.id, 1, "María")
    assert (seen["day"], seen["seed"], seen["flags"]["assume"]) == ("2026-11-30", 5, True)
    assert [one[0] for one in told] == ["screen", "keep"]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"text": "name: x\nworkload: nonsense"}, "CB-B"),
        ({"brief_id": "b-none"}, "CB-E"),
        ({"text": "name: x", "as_of": "yesterday"}, "CB-U005"),
        ({"text": "name: x", "scenarios": 10**9}, "CB-S025"),
    ],
)
def test_what_can_t_be_decided_is_told_as_problems(web_store, asked, code):
    end = work("recommend", asked, "María", lambda *_: None)
    assert end["state"] == "failed"
    assert end["errors"][0]["code"].startswith(code)
    assert shelf.kept_decisions().items == ()


def test_no_file_of_the_server_is_read_for_a_brief(web_store, tmp_path):
    from cabida.brief.examples import example_text

    (tmp_path / "trace.csv").write_text("arrival_s,input_tokens,output_tokens\n0,1,1\n")
    text = example_text("support-chat").replace("traffic:\n", f"traffic:\n  trace: {tmp_path}/trace.csv\n", 1)
    end = work("recommend", {"text": text, "assume": True}, "María", lambda *_: None)
    assert end["state"] == "failed"
    assert "CB-S040" in {one["code"] for one in end["errors"]}


def with_workers(test, monkeypatch, **settings):
    """Run an async test with a real worker process."""
    monkeypatch.setitem(doing.ELSEWHERE, "slow", "slow_job:slow")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))

    async def run():
        told = Settings(workers=1, warm=False, stop_s=0.5, **settings)
        async with jobs.Jobs(told, ops.Counts()) as these:
            return await asyncio.wait_for(test(these), 60)

    return asyncio.run(run())


async def seen_running(these, id):
    while not (stages := these.job(id).progress.get("stages")):
        await asyncio.sleep(0.02)
    return stages[0]["done"]


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"


def test_workers_that_die_are_cancelled_or_grow_are_replaced(web_store, monkeypatch):
    async def test(these):
        first = (await these.ended(these.submit("slow", {}, MARIA).id, 60)).result["pid"]
        dead = await these.ended(these.submit("slow", {"die": "SIGKILL"}, MARIA).id, 60)
        assert (dead.state, dead.errors[0]["code"]) == ("failed", "CB-S016")
        assert "SIGKILL" in dead.errors[0]["what"]
        second = (await these.ended(these.submit("slow", {}, MARIA).id, 60)).result["pid"]
        assert second != first

        going = these.submit("slow", {"s": 60}, MARIA)
        pid = await seen_running(these, going.id)
        assert pid != first
        assert these.cancel(going.id, JUAN).state == "cancelled"
        assert not is_alive(pid)
        assert shelf.job(going.id).state == "cancelled"
        third = await these.ended(these.submit("slow", {}, MARIA).id, 60)
        assert third.result["pid"] not in (first, pid)

        hungry = await these.ended(these.submit("slow", {"eat": 8 * 2**30}, MARIA).id, 60)
        assert (hungry.state, hungry.errors[0]["code"]) == ("failed", "CB-S019")
        last = these.submit("slow", {"s": 60}, MARIA)
        return await seen_running(these, last.id), last.id

    pid, id = with_workers(test, monkeypatch, worker_bytes=2**30)
    assert not is_alive(pid)  # the server's end is its workers'
    ended = shelf.job(id)
    assert (ended.state, ended.errors and ended.errors[0]["code"]) == ("interrupted", "CB-S018")


def test_a_job_that_takes_too_long_is_stopped(web_store, monkeypatch):
    monkeypatch.setattr(doing, "LONGEST_S", {"slow": 0.3})

    async def test(these):
        job = await these.ended(these.submit("slow", {"s": 60}, MARIA).id, 60)
        assert (job.state, job.errors[0]["code"]) == ("failed", "CB-S017")

    with_workers(test, monkeypatch)


def test_a_worker_ends_when_nobody_listens():
    from cabida.faces.web.workers import Worker

    worker = Worker(Settings(), warm=False)
    while "warm" not in (worker.hear(30) or {}):
        pass
    worker.process.stdin.close()
    assert worker.process.wait(timeout=20) == 0


def test_events_of_a_job_reach_pages_and_programs(client, monkeypatch):
    monkeypatch.setattr(
        doing, "DOINGS", {"recommend": lambda asked, tell: tell("screen", 1, 2) or {"decision": "d-1"}}
    )
    these = client.app.state.jobs
    job = these.submit("recommend", {"name": "<b>chat"}, MARIA)
    told = client.get(f"/api/jobs/{job.id}/events")
    assert told.headers["content-type"].startswith("text/event-stream")
    assert told.headers["cache-control"] == "no-store"
    assert "content-encoding" not in told.headers
    end = json.loads(told.text.split("event: end\n")[1].split("data: ")[1])
    assert end == {"id": job.id, "state": "done", "result": {"decision": "d-1"}, "errors": []}
    part = client.get(f"/jobs/{job.id}/parts", headers={"Last-Event-ID": "99"})
    assert '"go": "/decisions/d-1"' in part.text
    gone = client.get(f"/jobs/{job.id}", follow_redirects=False)
    assert (gone.status_code, gone.headers["location"]) == (303, "/decisions/d-1")
    page = client.get(f"/jobs/{job.id}?stay=1")
    assert "&lt;b&gt;chat" in page.text
    assert client.get("/api/jobs/j-none/events").status_code == 404


def test_nobody_follows_more_than_their_share(client, doings, monkeypatch):
    from cabida.faces.web.access import this_person

    these = client.app.state.jobs
    job = these.submit("quick", {"n": 1}, MARIA)
    for _ in range(3):
        client.get(f"/api/jobs/{job.id}/events")
    assert not these.board.watching  # each that ended is let go
    these.board.watching[this_person().name] = 50
    answer = client.get(f"/api/jobs/{job.id}/events")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (429, "CB-S010")


def test_a_failed_job_s_page_says_why_and_a_running_one_refreshes_without_script(client, doings):
    these = client.app.state.jobs
    failed = these.submit("wrong", {"brief_id": "b-1"}, MARIA)
    client.get(f"/api/jobs/{failed.id}/events")
    page = client.get(f"/jobs/{failed.id}")
    assert "CB-S023" in page.text
    assert "/briefs/b-1" in page.text
    held = these.submit("held", {}, MARIA)
    while not these.job(held.id).progress:
        time.sleep(0.01)
    page = client.get(f"/jobs/{held.id}")
    assert '<noscript><meta http-equiv="refresh"' in page.text
    assert "1 / 2" in page.text
    waiting = these.submit("quick", {"n": 1}, MARIA)
    assert "Waiting for a free worker" in client.get(f"/jobs/{waiting.id}").text
    answer = client.post(f"/jobs/{waiting.id}/cancel", follow_redirects=False)
    assert answer.headers["location"] == f"/jobs/{waiting.id}?stay=1"
    assert these.job(waiting.id).state == "cancelled"
    doings.set()


def test_progress_is_written_to_the_shelf_now_and_then(web_store, doings, monkeypatch):
    monkeypatch.setattr(board, "KEPT_AGAIN_S", 0.0)

    async def test(these):
        job = these.submit("held", {}, MARIA)
        while not shelf.job(job.id).progress:
            await asyncio.sleep(0.01)
        assert shelf.job(job.id).progress == {"stages": [{"what": "simulate", "done": 1, "of": 2}]}
        shelf.cancel_job(job.id, by="at another server")
        doings.set()
        assert (await these.ended(job.id, 10)).state == "cancelled"

    with_jobs(test)


def test_over_jobs_are_forgotten_in_memory_and_kept_on_the_shelf(web_store, doings, monkeypatch):
    monkeypatch.setattr(board, "KEPT_OVER", 2)

    async def test(these):
        ids = []
        for n in range(5):
            ids.append(these.submit("quick", {"n": n}, SimpleNamespace(name="María")).id)
            await these.ended(ids[-1], 10)
        assert len(these.board.live) <= 4
        assert these.job(ids[0]).result == {"answer": 0}

    with_jobs(test)
