"""What takes long over the API: asked once, followed, waited for, cancelled; and what it answers in the end."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from cabida.faces.cli import cli

ROOT = Path(__file__).parents[2]
BRIEF = ROOT / "examples/student-4090.yaml"
DECISION = json.loads((ROOT / "tests/report/golden/decision.en.json").read_text())
DAY = "2026-11-30"
TIMED = ("made_at", "elapsed_s")
BAD = "name: x\nworkload: realtime-inference\ntrafic: 3\n"


def untimed(text):
    """A decision without its moment, its brief under one name."""
    decision = json.loads(text.replace(str(BRIEF), "brief.yaml"))
    return {name: value for name, value in decision.items() if name not in TIMED}


def test_a_decision_is_what_the_command_line_makes(client):
    """The same decision, waited for; then on the shelf, in every form, and made again the same."""
    body = {"brief": BRIEF.read_text(), "assume": True, "as_of": DAY, "name": "brief.yaml"}
    made = client.post("/api/v1/recommend?wait=60", json=body)
    assert made.status_code == 200, made.text
    typed = CliRunner().invoke(cli, ["recommend", str(BRIEF), "--assume", "--as-of", DAY, "--json"])
    assert untimed(made.text) == untimed(typed.stdout)
    assert made.headers["Cabida-Exit-Code"] == str(typed.exit_code)
    job = client.get(made.headers["Location"]).json()
    assert job["state"] == "done"
    id = job["result"]["decision"]
    assert client.get(f"/api/v1/decisions/{id}").json() == made.json()
    again = client.post(f"/api/v1/decisions/{id}/rerun?wait=60", json={"same": True})
    assert again.status_code == 200, again.text
    assert (again.json()["identical"], again.headers["Cabida-Exit-Code"]) == (True, "0")


def test_a_job_is_asked_once_under_a_key(client):
    body, key = {"brief": BAD}, {"Idempotency-Key": "k-1"}
    first = client.post("/api/v1/recommend", json=body, headers=key)
    assert first.status_code == 202
    assert first.headers["Location"] == f"/api/v1/jobs/{first.json()['id']}"
    second = client.post("/api/v1/recommend", json=body, headers=key)
    assert second.json()["id"] == first.json()["id"]
    other = client.post("/api/v1/recommend", json={"brief": BAD + "seed: 1\n"}, headers=key)
    assert other.status_code == 409
    assert other.json()["errors"][0]["code"] == "CB-E235"
    assert len(client.get("/api/v1/jobs").json()["items"]) == 1
    assert client.post("/api/v1/recommend", json=body, headers={"Idempotency-Key": "a b"}).status_code == 422


def test_what_fails_is_told_with_its_problems(client):
    waited = client.post("/api/v1/recommend?wait=30", json={"brief": BAD})
    assert waited.status_code == 422
    codes = {one["code"] for one in waited.json()["errors"]}
    assert "CB-B003" in codes
    job = client.get("/api/v1/jobs?state=failed").json()["items"][0]
    assert {one["code"] for one in job["errors"]} == codes
    spanish = client.post("/api/v1/recommend?wait=30", json={"brief": BAD}, headers={"Accept-Language": "es"})
    assert spanish.json()["errors"][0]["what"] != waited.json()["errors"][0]["what"]


def test_events_tell_the_end(client):
    job = client.post("/api/v1/recommend", json={"brief": BAD}).json()
    with client.stream("GET", f"/api/v1/jobs/{job['id']}/events") as told:
        assert told.headers["content-type"].startswith("text/event-stream")
        text = "".join(told.iter_text())
    events = re.findall(r"id: \d+\nevent: (\w+)\ndata: (.+)\n\n", text)
    name, data = events[-1]
    assert name == "end"
    assert json.loads(data)["state"] == "failed"
    assert "text" not in json.loads(data)["asked"]
    assert client.get("/api/v1/jobs/j-nothing/events").status_code == 404


def test_a_job_that_is_over_stays_so(client):
    job = client.post("/api/v1/recommend", json={"brief": BAD}).json()
    client.get(f"/api/v1/jobs/{job['id']}/events")
    assert client.delete(f"/api/v1/jobs/{job['id']}").json()["state"] == "failed"
    assert client.delete("/api/v1/jobs/j-nothing").status_code == 404


def test_a_brief_that_names_a_file_is_refused(client):
    """Whatever a brief says, no file of the server is read for it; nor for the brief inside a decision."""
    text = "name: x\nworkload: realtime-inference\ntraffic: {trace: /etc/passwd}\n"
    for path in ("/api/v1/check", "/api/v1/recommend?wait=30", "/api/v1/mix"):
        answer = client.post(path, json={"brief": text})
        assert answer.status_code == 422
        assert "CB-S040" in {one["code"] for one in answer.json()["errors"]}
        assert "root:" not in answer.text
    kept = client.post("/api/v1/decisions", json={"decision": {**DECISION, "brief_text": text}})
    assert kept.status_code == 201, kept.text
    again = client.post(f"/api/v1/decisions/{kept.json()['id']}/rerun?wait=30", json={})
    assert again.status_code == 422
    assert "CB-S040" in {one["code"] for one in again.json()["errors"]}


def test_what_is_learned_needs_something_to_learn_from(client):
    answer = client.post("/api/v1/calibration?wait=30", json={"dry_run": True})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["code"].startswith("CB-")


@pytest.mark.parametrize(
    "body", [{}, {"brief": BAD, "brief_id": "b-0"}, {"brief_id": "../etc"}, {"out": "/tmp/x"}]
)
def test_what_is_no_request(client, body):
    answer = client.post("/api/v1/recommend", json=body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["code"] in ("CB-S041", "CB-S046")
