"""What a dry run tells: each run that would be made and, line by line, what its drills would do and undo."""

import pytest
from click.testing import CliRunner

from cabida.faces.cli import cli

PLAN = """
schema: cabida/bench/1
name: dry
contenders: [{name: a, target: {url: "http://127.0.0.1:9/v1", model: m}}]
runs:
  - name: faults
    phase: drill
    candidate: a
    load: {kind: poisson, requests_per_s: 2, duration: 1 min}
    drills:
      - {kind: slow-network, name: slow, at: 5 s, delay: 200 ms, lasts: 4 s}
      - {kind: restart, name: again, at: 20 s, command: [sh, again.sh]}
"""


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("slow, 5 s into the load", "delay 200 ms", "run sh again.sh", "nothing undoes it")),
        ("es", ("slow, a los 5 s", "retardo de 200 ms", "ejecutar sh again.sh", "nada lo deshace")),
    ],
)
def test_a_dry_run_tells_what_each_drill_would_do(tmp_path, language, words):
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN, encoding="utf-8")
    done = CliRunner().invoke(cli, ["--lang", language, "bench", "drill", str(plan), "--dry-run"])
    assert done.exit_code == 0, done.output
    assert [one for one in words if one not in done.output] == []
    assert list(tmp_path.iterdir()) == [plan]
