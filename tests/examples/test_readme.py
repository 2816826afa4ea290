"""Both READMEs show what the demo says today, and have people type the same."""

import importlib.util
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cabida.text import catalogue, percent, size, use_language

ROOT = Path(__file__).parents[2]
READMES = {"en": ROOT / "README.md", "es": ROOT / "README.es.md"}


def script_of():
    spec = importlib.util.spec_from_file_location("readme_script", ROOT / "calibration/readme.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def shown(language):
    script = script_of()
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


@pytest.mark.parametrize("language", READMES)
def test_the_box_of_errors_is_the_last_measured(language):
    script = script_of()
    results = json.loads(script.RESULTS.read_text(encoding="utf-8"))
    box = script.box(language, results)
    assert script.BOX.search(READMES[language].read_text(encoding="utf-8"))[2] == box
    measured = next(one for one in results["table"] if one["rival"] == "aiconfigurator")["metrics"][0]
    assert percent(measured["ours_median"]) in box
    assert percent(measured["left_out"]["source"]["theirs_median"]) in box


@pytest.mark.parametrize("language", READMES)
def test_the_picture_is_of_todays_options(language, decided):
    drawing = script_of().PICTURES[language]
    assert f"(docs/pictures/{drawing.name})" in READMES[language].read_text(encoding="utf-8")
    said = "".join(ElementTree.fromstring(drawing.read_text(encoding="utf-8")).itertext())
    decision = decided("chat-llama-70b")[0]
    use_language(language)
    for option in decision.options[:5]:
        assert size(option.memory["headroom"]) in said
