"""A folder of texts is a language: what it says comes out, what it leaves out comes in English."""

import json
import subprocess
import sys
from string import Formatter

import pytest

from cabida import text
from cabida.text import LANGUAGES, LOCALES, number, of_language, speaking

CODE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from cabida.faces.words import pick_language
from cabida.text import LANGUAGES, LOCALES, duration, number, of_language, problem, speaking, tr
with speaking("pt"):
    said = [tr("report.days"), tr("report.unit.day"), number(1234.5, 6), duration(86400 * 3)]
print(json.dumps([LANGUAGES, LOCALES, said, of_language("name", "pt"), of_language("browser", "pt"),
    pick_language(["--lang", "pt"]), pick_language(["--lang=xx"])]))
"""


def test_a_new_folder_is_a_new_language(tmp_path):
    package = tmp_path / "cabida"
    source = text._FOLDER
    for path in (source.parent).rglob("*.py"):
        target = package / path.relative_to(source.parent)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(path)
    (package / "locale").mkdir()
    for code in ("en", "es"):
        (package / "locale" / code).symlink_to(source / code)
    new = package / "locale" / "pt"
    new.mkdir()
    (package / "locale" / "notes.txt").write_text("no language", encoding="utf-8")
    (new / "report.json").write_text('{"days": "dias"}', encoding="utf-8")
    own = {"name": "Português", "browser": "pt-PT", "decimal": ",", "grouping": " ", "days": "dias"}
    (new / "language.json").write_text(json.dumps(own), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    languages, locales, said, name, browser, *picked = json.loads(done.stdout)
    assert languages == ["en", "es", "pt"]
    assert locales == ["en", "es", "pt", "es-MX"]
    with speaking("en"):
        english = text.tr("report.unit.day")
    assert said == ["dias", english, "1 234,5", "3 dias"]
    assert (name, browser, picked) == ("Português", "pt-PT", ["pt", "en"])


def test_the_languages_whose_texts_are_all_there_come_first():
    assert LANGUAGES[:2] == ("en", "es")
    assert (*LANGUAGES, "es-MX") == LOCALES
    assert [of_language("name", code) for code in LANGUAGES[:2]] == ["English", "Español"]
    shown = []
    for code in ("en", "es", "es-MX"):
        with speaking(code):
            shown.append(number(1234.5, 6))
    assert shown == ["1,234.5", "1.234,5", "1,234.5"]


def values(written):
    return {name for _, name, _, _ in Formatter().parse(written) if name}


def faults(folder, english):
    """What a language says under a key that English hasn't, or with other values in braces, or not as JSON."""
    found = []
    for path in sorted(folder.glob("*.json")):
        theirs, ours = (json.loads(one.read_text(encoding="utf-8")) for one in (path, english / path.name))
        found += [f"{path.name}: {key}" for key in theirs if key not in ours]
        found += [
            f"{path.name}: {key}"
            for key, said in theirs.items()
            if key in ours and ((not said.strip() and key != "grouping") or values(said) != values(ours[key]))
        ]
    return found


@pytest.mark.parametrize("code", LANGUAGES[1:])
def test_a_language_has_the_keys_and_values_of_the_english_one(code):
    english = text._FOLDER / "en"
    assert {path.name for path in (text._FOLDER / code).iterdir()} <= {
        path.name for path in english.iterdir()
    }
    assert faults(text._FOLDER / code, english) == []
    assert set(json.loads((text._FOLDER / code / "language.json").read_text(encoding="utf-8"))) == set(
        json.loads((english / "language.json").read_text(encoding="utf-8"))
    )


def test_a_fault_of_a_language_is_found(tmp_path):
    (tmp_path / "report.json").write_text(
        '{"days": "dias", "dais": "dias", "unit.day": "{count} dia"}', encoding="utf-8"
    )
    assert faults(tmp_path, text._FOLDER / "en") == ["report.json: dais", "report.json: unit.day"]
