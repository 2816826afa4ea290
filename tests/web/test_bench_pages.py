"""Benchmarks on their pages: planned, refused, a typed key held nowhere; observations taken in and forgotten."""

import re
import sys
from pathlib import Path

import pytest

from cabida.evidence import shelf, stored
from cabida.faces.web import doing_bench
from cabida.text import catalogue, tr

sys.path.insert(0, str(Path(__file__).parents[1] / "evidence"))
import logs

PLAN = """\
name: a short one
contenders:
  - name: node
    target: {url: "http://127.0.0.1:9/v1", api: completions}
runs:
  - name: two at once
    phase: load
    candidate: node
    load: {kind: closed, concurrency: 2, requests: 4}
    duration: 3 s
"""
SECRET = "Kf93jfQx71mmZpQ0aLw2"


def kept_plan(client, text=PLAN):
    answer = client.post("/bench", data={"plan": text})
    assert answer.status_code == 200, answer.text
    return answer.url.path


def test_an_address_alone_becomes_a_plan(client):
    answer = client.post("/bench", data={"target": "http://127.0.0.1:9/v1", "model": "m", "api": "chat"})
    run = shelf.kept_run(answer.url.path.rpartition("/")[2])
    assert run.state == "planned"
    assert "http://127.0.0.1:9/v1" in run.plan_text
    assert tr("pages_bench.start") in answer.text


def test_nothing_given_is_told(client):
    answer = client.post("/bench", data={"target": ""})
    assert answer.status_code == 422
    assert "CB-S095" in answer.text
    assert shelf.kept_runs().items == ()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("prompts: {source: jsonl, file: /etc/passwd}", "CB-S090"),
        ("rules: [{kind: command, value: [id]}]", "CB-S090"),
        ("nonsense: 1", "CB-B"),
    ],
)
def test_a_plan_that_reaches_into_the_machine_is_refused(client, change, code):
    answer = client.post("/bench", data={"plan": f"{PLAN}{change}\n"})
    assert answer.status_code == 422
    assert code in answer.text
    assert shelf.kept_runs().items == ()


def test_drills_are_left_out_and_said(client):
    drill = (
        "  - {name: dying, phase: drill, candidate: node, load: {kind: closed, concurrency: 1, requests: 1},"
        " drills: [{kind: command, command: [id], at: 0 s}]}\n"
    )
    page = client.get(kept_plan(client, PLAN + drill)).text
    assert tr("pages_bench.left_out", count="1") in page
    assert [one.name for one in doing_bench.plan_for_server(PLAN + drill).runs] == ["two at once"]


def test_a_team_server_asks_no_private_address_and_uses_no_key_of_its_machine(team_of):
    client = team_of("editor")
    answer = client.post("/bench", data={"target": "http://127.0.0.1:9/v1", "api": "chat"})
    assert answer.status_code == 422
    assert "CB-S022" in answer.text
    keyed = PLAN.replace("127.0.0.1:9", "93.184.215.14").replace("api:", 'key: "env:HOME", api:')
    answer = client.post("/bench", data={"plan": keyed})
    assert answer.status_code == 422
    assert "CB-S093" in answer.text
    allowed = client.post("/bench", data={"plan": keyed.replace("env:HOME", "env:CABIDA_BENCH_OURS")})
    assert allowed.status_code == 303


def test_readers_start_nothing(team_of):
    client = team_of("reader")
    run = shelf.add_run("one", PLAN)
    assert client.get(f"/bench/{run.id}").status_code == 200
    for path in ("/bench", f"/bench/{run.id}/start", f"/bench/{run.id}/stop", "/bench/observations/learn"):
        assert client.post(path, data={}).status_code == 403, path
    assert shelf.kept_run(run.id).state == "planned"


def test_a_run_that_can_reach_nothing_says_so_and_its_key_is_nowhere(client, web_store, caplog):
    path = kept_plan(client)
    answer = client.post(f"{path}/start", data={"key": SECRET, "plan": PLAN})
    id = answer.url.path.rpartition("/")[2]
    job = client.portal.call(client.app.state.jobs.ended, shelf.kept_run(id).job, 60.0)
    assert job.state in ("done", "failed")
    page = client.get(f"/bench/{id}")
    assert tr("pages_bench.went_wrong") in page.text
    assert SECRET not in page.text
    assert SECRET not in caplog.text
    assert client.app.state.jobs.held == {}
    for file in web_store.parent.rglob("*"):
        if file.is_file():
            assert SECRET.encode() not in file.read_bytes(), file
    assert shelf.kept_run(id).state == "failed"


def test_a_key_that_cant_be_one_is_not_repeated(client):
    answer = client.post(f"{kept_plan(client)}/start", data={"key": f"{SECRET} and more", "plan": PLAN})
    assert answer.status_code == 422
    assert "CB-S094" in answer.text
    assert SECRET not in answer.text


def test_a_changed_plan_is_a_run_of_its_own(client, monkeypatch):
    monkeypatch.setattr(client.app.state.jobs, "submit", lambda *_, **__: shelf.add_job("bench", {}, by="x"))
    path = kept_plan(client)
    new = client.post(f"{path}/start", data={"plan": PLAN.replace("requests: 4", "requests: 5")}).url.path
    assert new != path
    assert "requests: 5" in shelf.kept_run(new.rpartition("/")[2]).plan_text
    assert shelf.kept_run(path.rpartition("/")[2]).gone


def test_an_observation_comes_in_and_is_forgotten_with_a_reason(client):
    answer = client.post("/bench/observations", files={"file": ("vllm.log", logs.VLLM_011.encode())})
    assert answer.status_code == 200, re.sub(r"<[^>]+>", "", answer.text)[:2000]
    found = stored()
    assert found
    assert "vllm.log" in answer.text
    path = f"/bench/observations/{found[0].observation.id}"
    assert client.get(path).status_code == 200
    assert client.post(f"{path}/forget", data={"why": ""}).status_code == 422
    gone = client.post(f"{path}/forget", data={"why": "a trial <b>run</b>"})
    assert gone.status_code == 200
    assert len(stored()) == len(found) - 1
    assert "a trial &lt;b&gt;run" in client.get(path).text


def test_what_gives_nothing_is_told(client):
    answer = client.post("/bench/observations", files={"file": ("notes.txt", b"nothing of the kind\n")})
    assert answer.status_code == 422
    assert "notes.txt" in answer.text
    assert client.post("/bench/observations", data={"model": "x"}).status_code == 422
    assert stored() == []


def test_both_languages_say_the_same_keys():
    assert catalogue("en", "pages_bench").keys() == catalogue("es", "pages_bench").keys()
