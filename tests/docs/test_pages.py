"""What the pages print can be typed, what they point to is there, and what they say is today's."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from cabida.faces.cli import COMMANDS, cli

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "README.es.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
MARKED = re.compile(r"<!-- run -->\n```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FENCED = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS = [
    pytest.param(kind, code, id=f"{page.name}-{number}")
    for page in PAGES
    for number, (kind, code) in enumerate(MARKED.findall(page.read_text(encoding="utf-8")), 1)
]


def named(page):
    return page.relative_to(ROOT).as_posix()


@cache
def anchors(page):
    """What a link may name after its #: the page's headings, as they are turned into addresses."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    }


def typed(page):
    """Every line of shell a page shows, and every inline code span."""
    text = page.read_text(encoding="utf-8")
    lines = [line for block in FENCED.findall(text) for line in block.splitlines()]
    return lines + re.findall(r"`([^`\n]+)`", text)


def test_there_is_something_to_run():
    assert {block.values[0] for block in BLOCKS} == {"sh", "python"}
    assert "<!-- run -->" not in MARKED.sub("", "\n".join(page.read_text(encoding="utf-8") for page in PAGES))


@pytest.mark.parametrize(("kind", "code"), BLOCKS)
def test_each_marked_block_runs(kind, code, tmp_path, monkeypatch):
    work = tmp_path / "clone"
    work.mkdir()
    for shown in ("examples", "cases"):
        (work / shown).symlink_to(ROOT / shown)
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    words = (
        ["bash", "-euo", "pipefail", "-c", code]
        if kind == "sh"
        else [sys.executable, "-W", "error", "-c", code]
    )
    done = subprocess.run(
        words, cwd=work, env=os.environ | {"PATH": search}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_and_their_options_exist(page):
    asked = CliRunner()
    for line in typed(page):
        for words in re.findall(r"(?:^|[\s/])cabida ((?!\.)[a-z]+(?: [^#|&;\n]*)?)", line):
            command, *rest = words.split()
            if command not in COMMANDS and not line.startswith(("cabida ", ".venv/bin/cabida ")):
                continue  # prose
            assert command in COMMANDS, line
            told = asked.invoke(cli, [command, "--help"]).output
            nested = [
                asked.invoke(cli, [command, word, "--help"]).output
                for word in rest[:1]
                if command in ("facts", "prices", "bench", "quote", "store")
            ]
            if [command, *rest[:1]] == ["store", "token"]:
                nested.append(asked.invoke(cli, [command, *rest[:2], "--help"]).output)
            for option in re.findall(r"(?<!\S)--[a-z][\w-]+", " ".join(rest)):
                assert option in told + " ".join(nested), line


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for line in typed(page):
        for target in re.findall(r"(?:^|\s)make ([a-z][\w-]*)", line):
            assert target in targets, line


def test_scripts_the_makefile_runs_exist():
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8")
    scripts = re.findall(r"python ([\w/]+\.py)", recipe)
    assert scripts
    assert all((ROOT / script).is_file() for script in scripts), scripts
    for module in re.findall(r"python -m (cabida[\w.]*)", recipe):
        assert importlib.util.find_spec(module)
    assert "reference docs/commands.md" in recipe


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_and_paths_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(<?([^)>\s]+)>?\)", text):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        assert not path or (page.parent / path).exists(), target
        if anchor:
            assert anchor in anchors(page.parent / path if path else page), target
    for path in re.findall(r"`((?:src|docs|cases|examples|calibration|benchmarks|tests)/[\w./-]*)`", text):
        assert (ROOT / path).exists(), path


def test_ci_runs_the_test_command_of_the_readme(tmp_path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command = re.search(r"<!-- test-command -->\n```sh\n(.*)\n```", readme).group(1)
    clone = tmp_path / "clone"
    (clone / ".ci").mkdir(parents=True)
    for name in (".ci/run", "README.md"):
        shutil.copy(ROOT / name, clone / name)
    stub = tmp_path / "make"
    stub.write_text(f'#!/bin/sh\necho "$PWD make $*" >> "{tmp_path}/asked"\n', encoding="utf-8")
    stub.chmod(0o755)
    search = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    words = [str(clone / ".ci/run")]
    done = subprocess.run(words, cwd=tmp_path, env=os.environ | {"PATH": search}, check=False)
    assert done.returncode == 0
    assert (tmp_path / "asked").read_text(encoding="utf-8") == f"{clone} {command}\n"
    stub.write_text("#!/bin/sh\nexit 7\n", encoding="utf-8")
    failed = subprocess.run(words, cwd=tmp_path, env=os.environ | {"PATH": search}, check=False)
    assert failed.returncode == 7


def test_the_accuracy_page_is_of_these_cases_and_coefficients(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "calibration")  # what it is run beside
    spec = importlib.util.spec_from_file_location("accuracy_page", ROOT / "calibration/accuracy.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    page = (ROOT / "docs/accuracy.md").read_text(encoding="utf-8")
    assert f"`{script.inputs_digest()}`" in page, "docs/accuracy.md is stale: make docs"
