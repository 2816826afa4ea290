"""What is bundled into a page is what its README says, and the page's policy lets that run and nothing else."""

import base64
import hashlib
import re
from importlib import resources

import pytest
from report_sample import decision

from cabida import report
from cabida.report import scripts

ASSETS = resources.files("cabida.report") / "assets"


@pytest.mark.parametrize("name", scripts.LIBRARY)
def test_the_library_is_the_one_published(name):
    digest = hashlib.sha256((ASSETS / name).read_bytes()).hexdigest()
    row = next(one for one in (ASSETS / "README.md").read_text("utf-8").splitlines() if f"`{name}`" in one)
    version = re.search(r"v(\d+\.\d+\.\d+)", (ASSETS / name).read_text("utf-8")[:80])[1]
    assert f"`{digest}`" in row
    assert f"| {version} |" in row
    assert "ISC" in row


@pytest.mark.parametrize("name", [*scripts.LIBRARY, *scripts.OURS])
def test_no_script_ends_its_element_or_names_an_address_to_load(name):
    text = (ASSETS / name).read_text("utf-8")
    assert not re.search(r"</script|<!--|<script", text, re.I)
    if name in scripts.OURS:
        assert not re.search(
            r"\beval\b|new Function|innerHTML *=|insertAdjacentHTML|document\.write|fetch\(|import\(", text
        )
        assert "http" not in text


def test_the_policy_names_the_digest_of_each_script_and_no_other_source():
    page = report.render(decision(), "html")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    directives = dict(one.strip().split(" ", 1) for one in policy.split(";"))
    run = re.findall(r"<script>(.*?)</script>", page, re.S)
    digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in run]
    assert directives["default-src"] == "'none'"
    assert directives["script-src"].split() == [f"'sha256-{one}'" for one in digests]
    assert len(run) == 4
    assert "unsafe-inline" not in directives["script-src"]
    assert "unsafe-eval" not in policy
    assert directives["base-uri"] == directives["form-action"] == "'none'"


def test_the_golden_page_is_the_page_without_what_is_bundled():
    page = report.render(decision(), "html")
    rest = scripts.without_bundled(page)
    assert len(page) - len(rest) > 490_000
    assert "what-if-data" in rest
    assert "Observable" not in rest
    assert scripts.without_bundled(rest) == rest
