"""docs/bench.md says every key that a plan may have, and the plans it shows can be read."""

import re
from pathlib import Path

import pytest
import yaml

from cabida.bench.drills.checks import faults
from cabida.bench.planned import fields, read_plan
from cabida.plan import bench

PAGE = (Path(__file__).parents[3] / "docs" / "bench.md").read_text(encoding="utf-8")
SHOWN = [
    pytest.param(text, id=f"block-{at}")
    for at, text in enumerate(re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE), 1)
]
PROSE = re.sub(r"^```.*?^```$", "", PAGE, flags=re.DOTALL | re.MULTILINE)
NAMED = set(re.findall(r"[\w-]+", " ".join(re.findall(r"`([^`]+)`", PROSE))))
BEGINNING = """
name: shown
contenders: [{name: node, target: {url: "http://127.0.0.1:8000/v1"}}]
"""


@pytest.mark.parametrize(
    "group",
    [
        fields.PLAN, fields.CONTENDER, fields.TARGET, fields.PROMPTS, fields.RULE, fields.POLICY, fields.LOAD,
        fields.DRILL, fields.JOB, fields.RUN, fields.STEP,
    ],
    ids=lambda one: one.name,
)  # fmt: skip
def test_every_key_is_said(group):
    assert set(group.fields) <= NAMED, set(group.fields) - NAMED


def test_every_kind_is_said():
    kinds = {*bench.APIS, *bench.LOADS, *bench.PHASES, *bench.RULES, *bench.DRILLS, *bench.PROMPTS}
    assert kinds <= NAMED, kinds - NAMED
    for metric in fields.METRICS:
        assert metric in NAMED
    for statistic in fields.STATISTICS:
        assert statistic in NAMED


@pytest.mark.parametrize("text", SHOWN)
def test_the_plans_it_shows_can_be_read(text, tmp_path):
    if not text.startswith(("runs:", "name:")):  # drills alone
        drills = "\n".join(f"      {line}" for line in text.splitlines())
        text = (
            "runs:\n  - name: drilled\n    phase: drill\n    candidate: node\n"
            "    load: {kind: poisson, requests_per_s: 2, duration: 20 min}\n    drills:\n" + drills + "\n"
        )
    file = tmp_path / "plan.yaml"
    file.write_text(text if text.startswith("name:") else BEGINNING + text, encoding="utf-8")
    plan = read_plan(file)
    assert len(plan.runs) == len(yaml.safe_load(text)["runs"])
    for one in plan.runs[0].drills:  # kubectl isn't everywhere
        assert {found.code for found in faults(one, has_proxy=True)} <= {"CB-D006"}
