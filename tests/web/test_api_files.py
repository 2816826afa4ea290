"""What comes with a request as files, and what then is on the shelf: the same as when it is typed."""

import json
from pathlib import Path

from click.testing import CliRunner

from cabida.faces.cli import cli

ROOT = Path(__file__).parents[2]
DECISION = ROOT / "tests/report/golden/decision.en.json"
QUOTES = ROOT / "examples/quotes"
LOG = """\
INFO 11-20 10:00:01 [api_server.py:1712] vLLM API server version 0.11.0
INFO 11-20 10:00:09 [gpu_model_runner.py:2653] Model loading took 14.9889 GiB and 4.1 seconds
INFO 11-20 10:00:30 [kv_cache_utils.py:864] GPU KV cache size: 53,120 tokens
INFO 11-20 10:00:30 [gpu_worker.py:298] Available KV cache memory: 6.49 GiB
"""
BILL = """\
BillingCurrency,ChargePeriodStart,ChargePeriodEnd,BilledCost,EffectiveCost,ChargeCategory,PricingCategory,ServiceName,\
ConsumedQuantity,ConsumedUnit,Tags
EUR,2027-02-01T00:00:00Z,2027-03-01T00:00:00Z,39.60,39.60,Usage,Dynamic,GPU,110,Hours,"{""workload"": ""chat""}"
"""
TRAFFIC = "".join(
    json.dumps({
        "timestamp": 1_796_000_000 + 300 * at, "id": f"r{at}", "status_code": 200,
        "request": {"model": "small", "messages": [{"role": "user", "content": f"Order {at}?"}]},
        "response": {"usage": {"prompt_tokens": 100 + at, "completion_tokens": 20}},
    }) + "\n"
    for at in range(300)
)  # fmt: skip


def typed(*words):
    done = CliRunner().invoke(cli, [*(str(one) for one in words), "--json"])
    return json.loads(done.stdout), done.exit_code


def bare(data, folder):
    """Data without the folder of its files."""
    return json.loads(json.dumps(data).replace(f"{folder}/", ""))


def test_traffic_of_a_log(client, tmp_path):
    file = tmp_path / "requests.jsonl"
    file.write_text(TRAFFIC)
    answer = client.post(
        "/api/v1/traffic", files={"files": (file.name, TRAFFIC.encode())}, data={"timezone": "Europe/Madrid"}
    )
    assert answer.status_code == 200, answer.text
    assert answer.json() == bare(typed("traffic", file, "--timezone", "Europe/Madrid")[0], tmp_path)
    assert answer.json()["traffic"]


def test_a_log_is_observed_shown_and_forgotten(client, tmp_path):
    said = {"model": "llama-3.1-8b", "gpu": "rtx4090"}
    dry = client.post(
        "/api/v1/observations", files={"files": ("vllm.log", LOG)}, data={**said, "dry_run": "true"}
    )
    file = tmp_path / "vllm.log"
    file.write_text(LOG)
    printed, code = typed("observe", file, "--model", "llama-3.1-8b", "--gpu", "rtx4090", "--dry-run")
    assert dry.status_code == 200, dry.text
    assert dry.headers["Cabida-Exit-Code"] == str(code)
    assert dry.json()["files"] == bare(printed, tmp_path)["files"]
    kept = client.post("/api/v1/observations", files={"files": ("vllm.log", LOG)}, data=said)
    assert kept.status_code == 200
    rows = client.get("/api/v1/observations").json()["observations"]
    assert rows == typed("observations", "list")[0]["observations"]
    assert len(rows) == 1
    id = rows[0]["id"]
    assert client.get(f"/api/v1/observations/{id}").json() == typed("observations", "show", id)[0]
    gone = client.post("/api/v1/observations/forget", json={"ids": [id], "note": "a test"})
    assert gone.json() == {"forgotten": [id]} or gone.json()["forgotten"][0].startswith(id)
    assert client.get("/api/v1/observations").json()["observations"] == []
    assert client.get("/api/v1/observations/nothing").status_code == 404


def test_quotes_are_kept_audited_compared_and_answered(client, tmp_path):
    for name in ("reservation.yaml", "oferta-correo.txt"):
        sent = {"files": (name, (QUOTES / name).read_bytes())}
        added = client.post("/api/v1/quotes", files=sent)
        if added.status_code == 422:  # it doesn't say whose it is
            added = client.post("/api/v1/quotes", files=sent, data={"vendor": "Acme", "id": "A-1"})
        assert added.status_code == 200, added.text
    kept = client.get("/api/v1/quotes").json()
    assert kept == typed("quote", "list")[0]
    assert len(kept) >= 2
    assert client.get("/api/v1/quotes/q1").json() == typed("quote", "show", "q1")[0]
    audit = client.post(
        "/api/v1/quotes/audit", json={"quote": "q1", "as_of": "2026-11-30", "utilisation": 0.5}
    )
    printed, code = typed("quote", "audit", "q1", "--as-of", "2026-11-30", "--utilisation", "0.5")
    assert audit.status_code == 200, audit.text
    assert (audit.json(), audit.headers["Cabida-Exit-Code"]) == (printed, str(code))
    compared = client.post("/api/v1/quotes/compare", json={"quotes": ["q1", "q2"], "as_of": "2026-11-30"})
    assert compared.json() == typed("quote", "compare", "q1", "q2", "--as-of", "2026-11-30")[0]
    for kind in ("letter", "annex"):
        text = client.post(f"/api/v1/quotes/q1/{kind}", json={"as_of": "2026-11-30"})
        shown = CliRunner().invoke(cli, ["quote", "audit", "q1", "--as-of", "2026-11-30", f"--{kind}"])
        assert text.status_code == 200, text.text
        assert text.headers["content-type"].startswith("text/markdown")
        assert text.text.strip() == shown.stdout.strip()
    offer = client.get("/api/v1/quotes/q1/offer")
    printed, code = typed("quote", "show", "q1", "--as-offer")
    assert offer.status_code == (200 if code == 0 else 404)
    assert offer.json() == printed


def test_a_form_for_vendors(client):
    assert client.get("/api/v1/quotes/template?form=xlsx").content.startswith(b"PK")
    spanish = client.get("/api/v1/quotes/template", headers={"Accept-Language": "es"})
    shown = CliRunner().invoke(cli, ["quote", "template", "--lang", "es"])
    assert spanish.text == shown.stdout
    assert spanish.headers["content-type"].startswith("application/yaml")


def test_prices_that_are_imported(client, tmp_path):
    rows = "gpu,provider,price,currency,capacity,seen\nh100-sxm-80,acme,2.10,USD,on-demand,2026-11-20\n"
    file = tmp_path / "prices.csv"
    file.write_text(rows)
    printed, code = typed("prices", "import", file, "--dry-run", "--as-of", "2026-11-30")
    dry = client.post(
        "/api/v1/prices/import",
        files={"files": ("prices.csv", rows)},
        data={"dry_run": "true", "as_of": "2026-11-30"},
    )
    assert dry.status_code == 200, dry.text
    assert dry.json() == bare(printed, tmp_path)
    assert dry.headers["Cabida-Exit-Code"] == str(code)


def test_a_bill_beside_its_plan(client, tmp_path):
    bill = tmp_path / "focus.csv"
    bill.write_text(BILL)
    words = ["--tag", "workload=chat", "--accepted", "52000"]
    printed, code = typed("track", DECISION, "--billing", bill, *words)
    sent = client.post(
        "/api/v1/track",
        files={"files": ("focus.csv", BILL)},
        data={"decision": DECISION.read_text(), "tag": ["workload=chat"], "accepted": "52000"},
    )
    assert sent.status_code == (200 if code == 0 else 422), sent.text
    assert sent.json() == json.loads(
        json.dumps(bare(printed, tmp_path)).replace(str(DECISION), "decision.json")
    )


def test_cases_that_are_scored(client, tmp_path):
    with (ROOT / "cases/memory.jsonl").open() as lines:
        rows = "".join(line for _, line in zip(range(6), lines, strict=False))
    file = tmp_path / "cases.jsonl"
    file.write_text(rows)
    sent = client.post("/api/v1/validate", files={"files": ("cases.jsonl", rows)})
    printed, code = typed("validate", file)
    assert (sent.status_code, code) == (200, 0), sent.text
    assert sent.json() == bare(printed, tmp_path)


def test_nothing_of_a_file_name_leads_anywhere(client, tmp_path):
    sent = client.post(
        "/api/v1/traffic",
        files={"files": ("../../../etc/cron.d/requests.jsonl", TRAFFIC)},
        data={"timezone": "UTC"},
    )
    assert sent.status_code == 200
    assert sent.json()["files"]
    assert "etc" not in json.dumps(sent.json()["files"])


def test_here_tells_this_machine_and_nobody_else(client, team_of):
    found = client.get("/api/v1/here?model=llama-3.1-8b")
    assert found.status_code == 200
    assert set(found.json()) == set(typed("here", "llama-3.1-8b")[0])
    assert team_of("editor").get("/api/v1/here").status_code == 404
