"""The GitHub Action: its file is one, and its script comments on a change of brief in a real repository."""

import json
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema
from jsonschema import Draft7Validator

ROOT = Path(__file__).parents[2]
BRIEF = (Path(__file__).parents[2] / "examples" / "student-4090.yaml").read_text()


def test_the_action_is_one_by_its_schema():
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    schema = get_builtin_schema("vendor.github-actions")
    assert not list(Draft7Validator(schema).iter_errors(action))
    assert list(Draft7Validator(schema).iter_errors({**action, "runs": {"using": "composite"}}))
    steps = action["runs"]["steps"]
    assert not [one for one in steps if "${{" in one.get("run", "")]  # nothing of an input becomes shell


def test_the_script_is_one():
    subprocess.run(["bash", "-n", ROOT / "action" / "compare.sh"], check=True)


@pytest.fixture
def pull_request(tmp_path):
    """A repository with a brief, a commit that changes it, and a ``gh`` that writes down what it is asked."""
    here = tmp_path / "repo"
    here.mkdir()
    tools = tmp_path / "bin"
    tools.mkdir()
    asked = tmp_path / "asked"
    (tools / "cabida").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m cabida "$@"\n')
    gh = 'for word; do case $word in body=@*) cp "${word#body=@}" ' + f"{asked}.body;; esac; done\n"
    (tools / "gh").write_text(f'#!/bin/sh\necho "$@" >> {asked}\n{gh}')
    for tool in tools.iterdir():
        tool.chmod(tool.stat().st_mode | stat.S_IEXEC)

    def git(*words):
        done = subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=here, check=True, capture_output=True,
            text=True,
        )  # fmt: skip
        return done.stdout.strip()

    git("init", "--quiet")
    (here / "student.brief.yaml").write_text(BRIEF)
    (here / "gone.brief.yaml").write_text(BRIEF)
    git("add", ".")
    git("commit", "--quiet", "-m", "a brief")
    base = git("rev-parse", "HEAD")

    def act(**said):
        git("add", "--all")
        git("commit", "--quiet", "-m", "changed")
        environment = {
            **os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "BASE": base, "AS_OF": "2026-11-30",
            "PULL_REQUEST": "12", "GITHUB_REPOSITORY": "we/briefs", "GITHUB_OUTPUT": str(tmp_path / "output"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"), "GH_TOKEN": "x", **said,
        }  # fmt: skip
        done = subprocess.run(
            ["bash", ROOT / "action" / "compare.sh"],
            cwd=here,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        output = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
        body = Path(f"{asked}.body")
        return (
            done,
            output,
            body.read_text() if body.exists() else "",
            asked.read_text() if asked.exists() else "",
        )

    return here, act


def test_a_change_that_moves_the_winner_is_commented_on(pull_request):
    here, act = pull_request
    alone = BRIEF.replace("{accelerator: rtx4090,", "{accelerator: rtx3060-12,")
    assert alone != BRIEF
    (here / "student.brief.yaml").write_text(alone)
    (here / "gone.brief.yaml").unlink()
    done, output, body, asked = act(FAIL_ON_CHANGE="true")
    assert done.returncode == 7, done.stdout + done.stderr
    assert output["winner-changed"] == "true"
    assert body.startswith("<!-- cabida: briefs -->")
    assert "### student.brief.yaml" in body
    assert "The winner changes" in body
    assert "gone.brief" not in body
    assert "POST repos/we/briefs/issues/12/comments" in asked
    assert "student.brief.yaml" in Path(output["comment-file"]).read_text()


def test_new_broken_and_hostile_briefs_are_told_as_text(pull_request):
    here, act = pull_request
    (here / "new.brief.yaml").write_text(BRIEF.replace("name: student-4090", "name: second"))
    (here / "bad.brief.yaml").write_text("name: <img src=x onerror=alert(1)>\nworkload: nonsense\n")
    (here / "-$(touch pwned)`id`.brief.yaml").write_text("name: x\n")
    done, output, body, _ = act(SPOKEN="es", COMMENT="false")
    assert done.returncode == 3
    assert body == ""
    said = Path(output["comment-file"]).read_text()
    assert "second" in said
    assert "CB-B" in said
    assert not list(here.rglob("pwned"))
    assert all(line.startswith("    ") for line in said.splitlines() if "onerror" in line)


def test_no_link_is_followed_and_no_line_is_a_command_to_the_runner(pull_request, tmp_path):
    here, act = pull_request
    (tmp_path / "secret").write_text("token: hunter2\n")
    (here / "link.brief.yaml").symlink_to(tmp_path / "secret")
    (here / "::error::x\n\n# <b>@all.brief.yaml").write_text("name: x\n")
    done, _, body, _ = act(BRIEFS="*.yaml")
    assert done.returncode == 3
    assert "A link is not followed" in body
    assert "hunter2" not in body + done.stdout + done.stderr
    assert not [line for line in body.splitlines() if line.startswith("# <b>")]
    before, _, rest = done.stdout.partition("::stop-commands::")
    assert "::error::x" not in before
    word, _, rest = rest.partition("\n")
    assert len(word) == 32
    assert "::error::x" not in rest.partition(f"\n::{word}::\n")[2]


def test_no_change_says_nothing(pull_request):
    here, act = pull_request
    (here / "readme.txt").write_text("x")
    done, output, body, asked = act()
    assert done.returncode == 0
    assert output == {"winner-changed": "false", "comment-file": ""}
    assert body == asked == ""


def test_an_earlier_comment_is_changed_not_repeated(pull_request, tmp_path):
    here, act = pull_request
    gh = tmp_path / "bin" / "gh"
    gh.write_text(gh.read_text() + 'case "$*" in *--paginate*) echo 345;; esac\n')
    (here / "student.brief.yaml").write_text(BRIEF.replace("runs: 5", "runs: 6"))
    done, output, body, asked = act()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PATCH repos/we/briefs/issues/comments/345" in asked
    assert "POST" not in asked
    assert json.dumps(output)
    assert "training.runs" in body
