"""A folder that a server may name files of, and a server beside the test."""

import json
import os
import sys

import pytest
from mcp_calls import ROOT, served_over_http

from mcp import StdioServerParameters


@pytest.fixture(scope="module")
def mcp_folder(tmp_path_factory):
    """The files that calls name."""
    folder = tmp_path_factory.mktemp("root")
    first = (ROOT / "cases/memory.jsonl").read_text(encoding="utf-8").splitlines()[:2]
    (folder / "rows.jsonl").write_text("\n".join(first) + "\n", encoding="utf-8")
    rows = (
        {
            "timestamp": 1_796_000_000.0 + 30 * at, "id": f"r{at}", "status_code": 200 if at % 50 else 500,
            "request": {"model": "small", "messages": [{"role": "user", "content": f"Order {at}?"}]},
            "response": {"usage": {"prompt_tokens": 400 + at % 90, "completion_tokens": 120 + at % 40}},
        }
        for at in range(400)
    )  # fmt: skip
    (folder / "requests.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "focus.csv").write_text(
        "BillingCurrency,ChargePeriodStart,ChargePeriodEnd,BilledCost,EffectiveCost,ChargeCategory,PricingCategory,"
        "ServiceName,ConsumedQuantity,ConsumedUnit\n"
        "EUR,2027-02-01T00:00:00Z,2027-03-01T00:00:00Z,39.60,39.60,Usage,Dynamic,GPU,110,Hours\n",
        encoding="utf-8",
    )
    return folder


@pytest.fixture(scope="module")
def mcp_journal(mcp_folder):
    """A benchmark's folder, as one that was run leaves it."""
    sys.path.insert(0, str(ROOT / "tests/bench/keep"))
    from kept_trials import outcome, plan, poisson

    from cabida.bench.keep import Journal
    from cabida.plan.bench import Load, Run

    run = Run("steady", "load", "here", load=Load("poisson", requests_per_s=20.0))
    with Journal(mcp_folder / "journal", plan(run)) as journal:
        start = -journal.at(0.0)
        journal.event("run", run=run.name, candidate="here", phase="load", at_s=0.0)
        for at, due in enumerate(poisson(40.0, 20.0)):
            journal.request(outcome(at, start + due, run=run.name, accepted=at % 2 == 0))
        journal.event(
            "run-end", run=run.name, at_s=41.0, steady_from_s=5.0, steady_until_s=39.0, client_bound=False
        )
        journal.event("end", at_s=42.0)
    return mcp_folder / "journal"


@pytest.fixture(scope="module")
def mcp_env(tmp_path_factory):
    """The environment of a server: a store of its own."""
    home = tmp_path_factory.mktemp("home")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CABIDA_")}
    return kept | {
        "CABIDA_STORE": str(home / "store.db"), "XDG_DATA_HOME": str(home), "OMP_NUM_THREADS": "1",
        "CABIDA_ONLINE": "0", "LANG": "C.UTF-8",
    }  # fmt: skip


@pytest.fixture(scope="module")
def stdio(mcp_folder, mcp_journal, mcp_env):
    """How the server is started beside an assistant."""
    assert mcp_journal
    words = ["-m", "cabida", "mcp", "--root", str(mcp_folder), "--allow-bench"]
    return StdioServerParameters(command=sys.executable, args=words, env=mcp_env)


@pytest.fixture(scope="module")
def over_http(mcp_env):
    """The address of a server over HTTP that only this machine reaches."""
    with served_over_http(mcp_env) as url:
        yield url
