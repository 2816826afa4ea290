"""The shelf over the API: what is kept, by whom and in which version; nobody writes over what they haven't seen."""

import json
from pathlib import Path

from click.testing import CliRunner

from cabida.faces.cli import cli

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "examples/student-4090.yaml").read_text()
GOLDEN = ROOT / "tests/report/golden/decision.en.json"
DECISION = json.loads(GOLDEN.read_text())


def test_a_brief_has_versions(client):
    made = client.post("/api/v1/briefs", json={"name": "Chat", "text": TEXT})
    assert (made.status_code, made.headers["ETag"]) == (201, '"1"')
    place = made.headers["Location"]
    assert client.get(place).json() == made.json()
    changed = client.put(place, json={"name": "Chat 2"}, headers={"If-Match": '"1"'})
    assert (changed.status_code, changed.headers["ETag"], changed.json()["text"]) == (200, '"2"', TEXT)
    late = client.put(place, json={"name": "Chat 3"}, headers={"If-Match": '"1"'})
    assert (late.status_code, late.json()["errors"][0]["code"]) == (412, "CB-E231")
    assert client.put(place, json={"name": "x"}).status_code == 428
    assert client.put(place, json={"name": "x"}, headers={"If-Match": "new"}).status_code == 400
    assert [one["version"] for one in client.get(f"{place}/versions").json()["items"]] == [2, 1]
    assert client.get(f"{place}?version=1").json()["name"] == "Chat"
    assert client.get(f"{place}?version=9").status_code == 404
    assert (
        client.post("/api/v1/check", json={"brief_id": made.json()["id"], "assume": True}).status_code == 200
    )
    assert client.delete(place, headers={"If-Match": '"1"'}).status_code == 412
    assert client.delete(place, headers={"If-Match": '"2"'}).status_code == 200
    assert client.get("/api/v1/briefs").json()["items"] == []
    told = [(one["what"], one["kind"]) for one in client.get("/api/v1/log").json()["items"]]
    assert told == [("dropped", "brief"), ("changed", "brief"), ("made", "brief")]


def test_lists_come_by_pages(client):
    for number in range(5):
        client.post("/api/v1/briefs", json={"name": f"Brief {number}", "text": TEXT})
    seen, place = [], "/api/v1/briefs?most=2"
    while place:
        page = client.get(place)
        seen += [one["name"] for one in page.json()["items"]]
        assert bool(page.json()["next"]) == ("Link" in page.headers)
        place = page.headers["Link"].partition(">")[0][1:] if "Link" in page.headers else ""
    assert seen == [f"Brief {number}" for number in (4, 3, 2, 1, 0)]
    assert [one["name"] for one in client.get("/api/v1/briefs?search=f%203").json()["items"]] == ["Brief 3"]
    assert client.get("/api/v1/briefs?after=nonsense").status_code == 422
    assert client.get("/api/v1/briefs?most=100000").status_code == 422


def test_a_decision_is_kept_and_opened_by_its_id(client):
    made = client.post("/api/v1/decisions", json={"decision": DECISION})
    assert made.status_code == 201, made.text
    id = made.json()["id"]
    assert client.get(f"/api/v1/decisions/{id}").json() == DECISION
    explained = client.post("/api/v1/explain", json={"decision_id": id, "name": "weights_bytes"})
    typed = CliRunner().invoke(cli, ["explain", str(GOLDEN), "weights_bytes", "--json"])
    assert explained.json() == json.loads(typed.stdout)
    for form, begins in (("html", b"<!doctype html>"), ("md", b"# "), ("xlsx", b"PK"), ("json", b"{")):
        record = client.get(f"/api/v1/decisions/{id}/record?format={form}")
        assert record.status_code == 200
        assert record.content.startswith(begins)
        assert f'.{form}"' in record.headers["Content-Disposition"]
    shown = CliRunner().invoke(cli, ["record", str(GOLDEN)]).stdout
    assert client.get(f"/api/v1/decisions/{id}/record?format=md").text.strip() == shown.strip()
    assert client.get(f"/api/v1/decisions/{id}/about").json()["name"] == DECISION["name"]
    assert client.delete(f"/api/v1/decisions/{id}").status_code == 200
    assert client.get("/api/v1/decisions").json()["items"] == []


def test_what_is_no_decision_is_not_kept(client):
    for decision in ({}, {"schema": "cabida/decision/1"}, {**DECISION, "options": "none"}):
        answer = client.post("/api/v1/decisions", json={"decision": decision})
        assert answer.status_code == 422
        assert answer.json()["errors"]
    assert client.get("/api/v1/decisions").json()["items"] == []


def test_an_input_set_otherwise(client):
    """Levers, and what one of them set otherwise makes: as the library says it."""
    from cabida import app
    from cabida.report.store import from_json, to_dict

    read = from_json(GOLDEN.read_text())
    levers = client.post("/api/v1/levers", json={"decision": DECISION}).json()
    assert [one["name"] for one in levers] == [one.name for one in app.levers(read)]
    free = [one for one in app.levers(read) if not one.locked]
    changes = {free[0].name: free[0].value} if free else {}
    found = client.post("/api/v1/what-if", json={"decision": DECISION, "set": changes})
    assert found.status_code == 200, found.text
    assert found.json() == to_dict(app.what_if(read, changes))
    wrong = client.post("/api/v1/what-if", json={"decision": DECISION, "set": {"no_such_input": 1}})
    assert (wrong.status_code, wrong.json()["errors"][0]["code"]) == (422, "CB-X090")


def test_tokens_are_told_once(client):
    made = client.post("/api/v1/tokens", json={"name": "ci", "role": "reader", "days": 30})
    assert made.status_code == 201
    secret, id = made.json()["secret"], made.json()["token"]["id"]
    assert secret.startswith("cabida_")
    assert secret not in client.get("/api/v1/tokens").text + client.get("/api/v1/log").text
    assert client.delete(f"/api/v1/tokens/{id}").json()["revoked_at"]
    assert client.delete("/api/v1/tokens/t-nothing").status_code == 404
    assert client.post("/api/v1/tokens", json={"name": "ci", "role": "owner"}).status_code == 422


def test_a_reader_asks_and_changes_nothing(team_of):
    """Readers may ask whatever keeps nothing; everything that keeps something is for editors."""
    reader = team_of("reader")
    asked = {"model": "llama-3.1-8b", "gpu": ["h100-sxm-80"]}
    assert reader.post("/api/v1/fit", json=asked).status_code == 200
    assert reader.post("/api/v1/levers", json={"decision": DECISION}).status_code == 200
    assert reader.get("/api/v1/briefs").status_code == 200
    for path, body in (
        ("briefs", {"name": "x", "text": TEXT}), ("decisions", {"decision": DECISION}), ("recommend", {"brief": TEXT}),
        ("tokens", {"name": "x", "role": "editor"}), ("observations/forget", {"ids": ["x"]}), ("calibration", {}),
    ):  # fmt: skip
        refused = reader.post(f"/api/v1/{path}", json=body)
        assert (refused.status_code, refused.json()["errors"][0]["code"]) == (403, "CB-S005")
    assert reader.get("/api/v1/tokens").status_code == 403
    kept = reader.post(
        "/api/v1/track",
        files={"files": ("a.csv", "x")},
        data={"decision": json.dumps(DECISION), "keep": "true"},
    )
    assert kept.status_code == 403
    nobody = team_of("")
    answer = nobody.post("/api/v1/fit", json=asked)
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")


def test_who_changes_something_is_named(team_of):
    editor = team_of("editor")
    made = editor.post("/api/v1/briefs", json={"name": "Chat", "text": TEXT})
    assert made.json()["made_by"] == "an editor" or made.json()["made_by"] == "a editor"
    assert editor.get("/api/v1/log").json()["items"][0]["by"] == made.json()["made_by"]


def test_a_benchmark_is_planned_and_kept(client):
    """The plan that settles a decision, kept as it was written; one that can't be read is not."""
    planned = client.post("/api/v1/bench/plan", json={"decision": DECISION})
    assert planned.status_code == 200, planned.text
    made = client.post("/api/v1/runs", json={"name": "Chat", "plan": planned.json()["text"]})
    assert made.status_code == 201, made.text
    assert "folder" not in made.json()
    assert client.get(made.headers["Location"]).json() == made.json()
    assert [one["name"] for one in client.get("/api/v1/runs").json()["items"]] == ["Chat"]
    wrong = client.post("/api/v1/runs", json={"name": "Chat", "plan": "nothing: 1"})
    assert wrong.status_code == 422
    assert {one["file"] for one in wrong.json()["errors"]} == {"plan.yaml"}
    assert client.get(f"{made.headers['Location']}/report").status_code == 404
