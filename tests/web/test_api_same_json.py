"""What the API answers is what the command line prints with ``--json``: each use case asked both ways."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from cabida.faces.cli import cli
from cabida.faces.web.api.usecases import USE_CASES

HERE = Path(__file__).parent
DECISION = HERE.parent / "report" / "golden" / "decision.en.json"
BRIEF = HERE.parents[1] / "examples/chat-llama-70b.yaml"
GPU, MODEL, DAY = "h100-sxm-80", "llama-3.1-8b", "2026-11-30"

# operation -> its request, and the command as typed; FILE names stand for what the request sends
READ = {
    "get_compare": ({"ids": [GPU, "h200-sxm-141"]}, ["compare", GPU, "h200-sxm-141"]),
    "get_facts": ({"kind": "engines"}, ["facts", "list", "engines"]),
    "get_facts_check": ({}, ["facts", "check"]),
    "get_facts_one": ({"id": "vllm"}, ["facts", "show", "vllm"]),
    "get_models": ({"match": "mixtral"}, ["models", "mixtral"]),
    "get_prices": (
        {"gpu": GPU, "as_of": DAY, "currency": "EUR"},
        ["prices", "list", GPU, "--as-of", DAY, "--currency", "EUR"],
    ),
    "get_prices_history": ({"gpu": GPU, "as_of": DAY}, ["prices", "history", GPU, "--as-of", DAY]),
    "get_prices_aside": ({"gpu": GPU, "as_of": DAY}, ["prices", "aside", GPU, "--as-of", DAY]),
    "get_prices_rates": ({"currency": "EUR", "as_of": DAY}, ["prices", "rates", "--currency", "EUR", "--as-of", DAY]),
    "get_prices_api": (
        {"model": "llama-3.3-70b", "as_of": DAY, "input_tokens": 500, "batch": "true"},
        ["prices", "api", "llama-3.3-70b", "--as-of", DAY, "--input-tokens", "500", "--batch"],
    ),
    "get_init": ({"workload": "batch-inference"}, ["init", "--workload", "batch-inference"]),
    "get_pitfalls": ({}, ["check", "--pitfalls"]),
    "get_observations": ({}, ["observations", "list"]),
    "get_calibration": ({}, ["calibrate", "--list"]),
    "get_quotes": ({"as_of": DAY}, ["quote", "list", "--as-of", DAY]),
}  # fmt: skip
ASKED = {
    "post_fit": (
        {"model": MODEL, "gpu": [GPU], "tp": 2, "max_model_len": 8192, "in_use": "2 GB"},
        ["fit", MODEL, "--gpu", GPU, "--tp", "2", "--max-model-len", "8192", "--in-use", "2 GB"],
    ),
    "post_speed": (
        {"model": MODEL, "gpu": GPU, "requests_per_s": 2.5, "ttft_p95_ms": 800, "trace": None},
        ["speed", MODEL, "--gpu", GPU, "--requests-per-s", "2.5", "--ttft-p95-ms", "800"],
    ),
    "post_cost": (
        {"what": MODEL, "gpu": GPU, "requests_per_s": 2, "as_of": DAY, "capacity": ["spot", "on-demand"],
         "assume": {"rent_staff_count": 0.5}},
        ["cost", MODEL, "--gpu", GPU, "--requests-per-s", "2", "--as-of", DAY, "--capacity", "spot",
         "--capacity", "on-demand", "--assume", "rent_staff_count=0.5"],
    ),
    "post_hold": (
        {"gpu": GPU, "mean": 3, "reserved": {"12": 1.5}, "as_of": DAY},
        ["hold", GPU, "--mean", "3", "--reserved", "12=1.5", "--as-of", DAY],
    ),
    "post_own": ({"gpu": GPU, "gpus": 8, "as_of": DAY}, ["own", GPU, "--gpus", "8", "--as-of", DAY]),
    "post_ask": (
        {"question": ["does llama-3.3-70b fit on an H200?"], "as_of": DAY},
        ["ask", "does llama-3.3-70b fit on an H200?", "--as-of", DAY],
    ),
    "post_check": ({"brief": "FILE", "assume": True, "as_of": DAY}, ["check", str(BRIEF), "--assume", "--as-of", DAY]),
    "post_check_software": ({"software": "vllm 0.5 cuda 11.8"}, ["check", "--software", "vllm 0.5 cuda 11.8"]),
    "post_check_pc": ({"pc": "gpu: 2x RTX 4090, supply: 850 W"}, ["check", "--pc", "gpu: 2x RTX 4090, supply: 850 W"]),
    "post_explain": ({"decision": "FILE", "name": "weights_bytes"}, ["explain", str(DECISION), "weights_bytes"]),
    "post_launch": ({"decision": "FILE", "as": "compose"}, ["launch", str(DECISION), "--as", "compose"]),
    "post_diff": ({"before": "FILE", "after": "FILE"}, ["diff", str(DECISION), str(DECISION)]),
    "post_bench_plan": ({"decision": "FILE", "precision": 0.2}, ["bench", "plan", str(DECISION), "--precision", "0.2"]),
}  # fmt: skip
LATER = {  # said elsewhere: by the machine, by what is kept, by a file
    "get_here", "get_prices_one", "get_observations_one", "get_quotes_one", "get_quotes_one_offer",
    "delete_calibration", "post_observations", "post_observations_forget", "post_quotes", "post_quotes_audit",
    "post_quotes_compare", "post_prices_import", "post_track", "post_traffic", "post_validate", "post_check_rack",
    "post_mix",
}  # fmt: skip
PATHS = {one.operation_id: one for one in USE_CASES}


def typed(words):
    """What the command line prints with ``--json``, and its exit code."""
    done = CliRunner().invoke(cli, [*words, "--json"])
    return json.loads(done.stdout), done.exit_code


def same(found, printed, *files):
    """The same data, but for where files lie."""
    text, other = json.dumps(found, sort_keys=True), json.dumps(printed, sort_keys=True)
    other = re.sub(r'"/[^"]*/(calibration\.json)"', r'"\1"', other)
    for one in files:
        other = other.replace(str(one), "FILE")
        text = (
            text.replace("before.json", "FILE").replace("after.json", "FILE").replace("decision.json", "FILE")
        )
    assert text == other


def test_every_use_case_is_compared():
    assert set(PATHS) == {*READ, *ASKED, *LATER}


@pytest.mark.parametrize("name", READ)
def test_what_is_read(client, name):
    asked, words = READ[name]
    query = dict(asked)
    path = PATHS[name].path.replace("{id}", str(query.pop("id", "")) if "{id}" in PATHS[name].path else "")
    answer = client.get(f"/api/v1{path}", params=query)
    printed, code = typed(words)
    assert answer.status_code == 200, answer.text
    assert answer.headers["Cabida-Exit-Code"] == str(code)
    same(answer.json(), printed)


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked(client, name):
    asked, words = ASKED[name]
    body = {key: value for key, value in asked.items() if value is not None}
    for key in ("decision", "before", "after"):
        if body.get(key) == "FILE":
            body[key] = json.loads(DECISION.read_text())
    if body.get("brief") == "FILE":
        body["brief"] = BRIEF.read_text()
    answer = client.post(f"/api/v1{PATHS[name].path}", json=body)
    printed, code = typed(words)
    assert answer.status_code == 200, answer.text
    assert answer.headers["Cabida-Exit-Code"] == str(code)
    same(answer.json(), printed, DECISION)


def test_the_same_refusal(client):
    """A mistake is told in the same words, whichever way it came."""
    answer = client.post("/api/v1/fit", json={"model": "no-such-model", "gpu": [GPU]})
    printed, code = typed(["fit", "no-such-model", "--gpu", GPU])
    assert (answer.status_code, code) == (422, 3)
    assert answer.json() == printed


def test_a_price_that_is_kept(client):
    id = client.get("/api/v1/prices", params={"gpu": GPU}).json()[0]["id"]
    answer = client.get(f"/api/v1/prices/{id}")
    assert answer.json() == typed(["prices", "show", id])[0]


def test_a_rack(client, tmp_path):
    rack = tmp_path / "rack.yaml"
    rack.write_text("nodes: 2x DGX H100\nrack: 10 kW\n")
    answer = client.post("/api/v1/check/rack", json={"rack": rack.read_text()})
    printed, code = typed(["check", "--rack", str(rack)])
    assert (answer.status_code == 200) == (code in (0, 6)), (answer.text, printed)
    assert json.dumps(answer.json()) == json.dumps(printed).replace(f"{tmp_path}/", "")
