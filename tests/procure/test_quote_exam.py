"""Quotes with planted faults by somebody who had not read the audit: each fault is named, the honest one passes."""

import re
from pathlib import Path

import pytest
import yaml

from cabida.evidence.quotes import read_quote
from cabida.procure import audit

FOLDER = Path(__file__).parent / "quotes"
EXPECTED = yaml.safe_load((FOLDER / "expected.yaml").read_text(encoding="utf-8"))
DAY = str(EXPECTED["as_of"])
AUDITS = {}


def audited(file):
    if file not in AUDITS:
        AUDITS[file] = audit(read_quote(FOLDER / file), DAY)
    return AUDITS[file]


def plain(text):
    """Thousands with or without a mark are the same figure."""
    return re.sub(r"(?<=\d)[.,](?=\d{3}(?!\d))", "", str(text)).lower()


def told(finding):
    return plain(f"{finding.sentence} {finding.question}")


FAULTS = [
    pytest.param(quote["file"], fault, id=f"{quote['file'].split('-')[0]}-{at}")
    for quote in EXPECTED["quotes"]
    for at, fault in enumerate(quote["faults"])
]


@pytest.mark.parametrize(("file", "fault"), FAULTS)
def test_each_planted_fault_is_found(file, fault):
    found = audited(file).findings
    assert any(all(plain(word) in told(one) for word in fault["mention"]) for one in found), [
        one.sentence for one in found
    ]


def test_there_are_faults_and_every_faulty_quote_is_refused():
    assert len(FAULTS) >= 36
    faulty = [quote["file"] for quote in EXPECTED["quotes"] if quote["faults"]]
    assert len(faulty) == 12
    assert {audited(file).verdict for file in faulty} == {"blocked"}


@pytest.mark.parametrize("file", [quote["file"] for quote in EXPECTED["quotes"]])
def test_what_a_quote_leaves_blank_is_unknown_and_never_nothing(file):
    quote = read_quote(FOLDER / file)
    expected = next(one for one in EXPECTED["quotes"] if one["file"] == file)
    for name in expected["unknown"]:
        value = getattr(quote, name)
        assert value is None or value == "none", name  # "none" is what was said


def test_an_honest_quote_passes_without_a_word():
    made = audited("13-meridian-complete.yaml")
    assert made.verdict == "sound"
    assert made.findings == ()
    assert made.gaps == ()
    assert made.completeness.score_ratio == 1.0
    assert made.blocking == 0
