"""The wheel stands alone: installed elsewhere, it starts from its examples and decides."""

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from the tree as it is; needs the build backend from a package index."""
    folder = tmp_path_factory.mktemp("wheel")
    words = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(words, check=True, capture_output=True)
    return next(folder.glob("cabida-*.whl"))


@pytest.mark.long
def test_the_wheel_has_the_data_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for example in (ROOT / "examples").glob("*.yaml"):
        assert f"cabida/examples/{example.name}" in names
    assert {"cabida/py.typed", "cabida/brief/brief.schema.json", "cabida/locale/es/faces.json"} <= set(names)
    for migration in ("0001_first", "0002_prices"):
        assert f"cabida/evidence/migrations/versions/{migration}.py" in names
    assert not [name for name in names if not name.startswith(("cabida/", "cabida-"))]
    assert wheel.stat().st_size < 3e6


@pytest.fixture(scope="module")
def scripts(wheel, tmp_path_factory):
    """Where a core install, without any extra, has its programs."""
    folder = tmp_path_factory.mktemp("core") / "venv"
    venv.create(folder, with_pip=True)
    subprocess.run(
        [folder / "bin" / "pip", "install", "--quiet", str(wheel)], check=True, capture_output=True
    )
    return folder / "bin"


@pytest.mark.long
def test_a_core_install_decides_away_from_the_repository(scripts, tmp_path):
    packages = subprocess.run([scripts / "pip", "list"], check=True, capture_output=True, text=True).stdout
    assert "numba" not in packages
    work = tmp_path / "elsewhere"
    work.mkdir()
    run = {"cwd": work, "check": True, "capture_output": True, "text": True}
    subprocess.run([scripts / "cabida", "init", "my.yaml", "--from", "story-homelab-13b-3090"], **run)
    assert json.loads((work / "brief.schema.json").read_text(encoding="utf-8"))["properties"]
    assert (
        (work / "my.yaml")
        .read_text(encoding="utf-8")
        .startswith("# yaml-language-server: $schema=./brief.schema.json")
    )
    told = subprocess.run(
        [scripts / "cabida", "recommend", "my.yaml", "--as-of", "2026-11-30", "--json"], **run
    )
    assert json.loads(told.stdout)["options"][0]["accelerator"] == "rtx3090"


@pytest.mark.long
def test_a_core_install_measures_and_names_the_extras_it_lacks(scripts, tmp_path):
    from cabida.bench.selfcheck.starting import calibrated

    environment = {"PATH": os.defpath, "CABIDA_STORE": str(tmp_path / "store.db")}

    def typed(*words):
        return subprocess.run(
            [scripts / "cabida", "bench", *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )

    tested = typed("selftest", "--streams", "1", "--json")
    assert tested.returncode == 0, tested.stderr
    with calibrated() as server:
        aim = ("--target", server.url, "--model", "mock,ttft=20,itl=2,n=8")
        assert typed("plan", *aim, "--out", "plan.yaml").returncode == 0
        plan = tmp_path / "plan.yaml"
        plan.write_text(
            plan.read_text(encoding="utf-8").replace("duration: 2 min", "duration: 2 s"), encoding="utf-8"
        )
        run = typed("run", "plan.yaml", "--only", "x1", "--out", "run", "--json")
        assert run.returncode == 0, run.stderr
        assert json.loads(run.stdout)["journals"][0]["requests_count"] > 5
        assert typed("report", "run").returncode == 0
        assert typed("export", "run").returncode == 0
        ray = typed("run", "plan.yaml", "--only", "x1", "--workers", "2", "--on", "ray", "--out", "ray")
        assert (ray.returncode, "cabida[cluster]" in ray.stderr) == (3, True)
        whole = plan.read_text(encoding="utf-8")
        for more, extra in (("key: keyring:a/b", "keyring"), ("tokenizer: .", "tokens")):
            plan.write_text(whole.replace("api: chat", f"api: chat\n      {more}", 1), encoding="utf-8")
            lacks = typed("run", "plan.yaml", "--only", "x1", "--out", extra)
            assert (lacks.returncode, f"cabida[{extra}]" in lacks.stderr) == (3, True), lacks.stderr
