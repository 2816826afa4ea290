"""Names that lead elsewhere, that can't be, or that would deceive who reads them; streams that are closed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cabida import app
from cabida.bench.planned.read import parse_plan
from cabida.bench.planned.write import plan_yaml
from cabida.bench.selfcheck.starting import calibrated
from cabida.errors import InvalidInput

PLAN = """\
name: {name}
contenders:
  - name: target
    target: {{url: "{url}", model: "mock,ttft=1,itl=1,n=2"}}
prompts: {{input_tokens: 16, output_tokens: 2}}
runs:
  - name: first
    phase: load
    candidate: target
    load: {{kind: closed, concurrency: 1, requests: 5}}
"""
URL = "http://127.0.0.1:9/v1"


@pytest.mark.parametrize("name", ["../../etc/x", "a b", "...", "ñandú", "/"])
def test_a_plan_s_name_leads_nowhere_else(tmp_path, name):
    file = tmp_path / "plan.yaml"
    file.write_text(PLAN.format(name=f'"{name}"', url=URL), encoding="utf-8")
    folder = Path(app.bench_run(file, dry_run=True)["folder"])
    assert folder.parts == (folder.name,)
    assert folder.name.startswith("bench-")


@pytest.mark.parametrize("old", ["name: broken", "- name: target", "- name: first"])
def test_results_are_kept_under_a_name(old):
    text = PLAN.format(name="broken", url=URL)
    head = old.partition(": ")[0]
    with pytest.raises(InvalidInput, match="CB-B010"):
        parse_plan(text.replace(old, f'{head}: " "'))


@pytest.mark.parametrize("model", ["a\nruns: []", "\x1b[31mred", "x" * 500])
def test_a_model_that_no_plan_may_name_is_refused_where_it_is_typed(model):
    with pytest.raises(InvalidInput, match="--model"):
        app.bench_plan(None, target=URL, model=model)


def test_what_turns_a_line_around_is_written_so_that_it_is_seen():
    text = app.bench_plan(None, target=URL, model="m\u202egpj")["text"]
    assert "\u202e" not in text
    again = parse_plan(text)
    assert again.contenders[0].target.model == "m\u202egpj"
    assert parse_plan(plan_yaml(again)).contenders == again.contenders


@pytest.mark.parametrize("streams", ["2>&1 >/dev/null | head -c 5", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_cost_no_measurement(tmp_path, streams):
    file, out = tmp_path / "plan.yaml", tmp_path / "out"
    with calibrated() as server:
        file.write_text(PLAN.format(name="closed", url=server.url), encoding="utf-8")
        command = f"{sys.executable} -m cabida bench run {file} --out {out} {streams}"
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            capture_output=True,
            text=True,
            timeout=60,
            env=os.environ | {"CABIDA_STORE": str(tmp_path / "store.db")},
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    rows = (out / "journal.jsonl").read_bytes()
    assert rows.count(b'"kind":"request"') == 5
    assert rows.count(b'"kind":"end"') == 1
