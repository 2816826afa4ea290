"""The example of drills: a plan that is read without a fault, and a configuration that HAProxy takes."""

import shutil
import subprocess
from pathlib import Path

from cabida.bench.drills.checks import described, faults
from cabida.bench.planned import read_plan

EXAMPLE = Path(__file__).parents[3] / "examples" / "drills"


def test_its_plan_is_sound():
    plan = read_plan(EXAMPLE / "plan.yaml")
    drills = plan.runs[0].drills
    assert [one.kind for one in drills] == ["kill", "drain", "bad-deploy", "slow-network"]
    for one in drills:
        assert {found.code for found in faults(one, has_proxy=True)} <= {
            "CB-D006"
        }  # systemctl isn't everywhere
        assert len(described(one)) >= 3


def test_its_proxy_is_configured_rightly():
    haproxy = shutil.which("haproxy") or "/usr/sbin/haproxy"
    done = subprocess.run(
        [haproxy, "-c", "-f", str(EXAMPLE / "haproxy.cfg")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
