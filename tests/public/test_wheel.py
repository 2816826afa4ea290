"""The wheel stands alone: installed elsewhere, it starts from its examples and decides."""

import json
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
    assert wheel.stat().st_size < 2e6


@pytest.mark.long
def test_a_core_install_decides_away_from_the_repository(wheel, tmp_path):
    venv.create(tmp_path / "venv", with_pip=True)
    scripts = tmp_path / "venv" / "bin"
    subprocess.run([scripts / "pip", "install", "--quiet", str(wheel)], check=True, capture_output=True)
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
