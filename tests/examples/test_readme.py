"""Both READMEs show what the demo says today, and have people type the same."""

import importlib.util
import re
from pathlib import Path

import pytest

from cabida.text import catalogue

ROOT = Path(__file__).parents[2]
READMES = {"en": ROOT / "README.md", "es": ROOT / "README.es.md"}


def shown(language):
    spec = importlib.util.spec_from_file_location("readme_script", ROOT / "calibration/readme.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    block = script.BLOCK.search(READMES[language].read_text(encoding="utf-8"))[2]
    return script.answer(block), block


def test_the_answer_in_the_readme_is_the_demos(decided):
    answer, block = shown("en")
    assert answer == decided("chat-llama-70b")[0].answer, "README.md is stale: make docs"
    assert catalogue("en", "report")["section.flips"] in block


def test_the_spanish_one_tells_the_same_figures():
    english, spanish = shown("en")[0], shown("es")[0]
    figures = [re.findall(r"\d[\d.,]*\d|\d", one) for one in (english, spanish)]
    assert [one.translate(str.maketrans(".,", ",.")) for one in figures[1]] == figures[0]
    assert catalogue("es", "report")["section.flips"] in shown("es")[1]


@pytest.mark.parametrize("kind", ["sh", "python"])
def test_both_have_people_type_the_same(kind):
    typed = [
        re.findall(rf"^```{kind}\n(.*?)^```$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        for path in READMES.values()
    ]
    assert typed[0] == typed[1]


def test_each_leads_to_the_other():
    assert "(README.es.md)" in READMES["en"].read_text(encoding="utf-8")
    assert "(README.md)" in READMES["es"].read_text(encoding="utf-8")
