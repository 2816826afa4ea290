"""A folder of texts is a language: what it says comes out, what it leaves out comes in English."""

import json
import subprocess
import sys

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


def test_the_shipped_languages_are_the_two_that_are_whole():
    assert LANGUAGES == ("en", "es")
    assert LOCALES == ("en", "es", "es-MX")
    assert [of_language("name", code) for code in LANGUAGES] == ["English", "Español"]
    shown = []
    for code in LOCALES:
        with speaking(code):
            shown.append(number(1234.5, 6))
    assert shown == ["1,234.5", "1.234,5", "1,234.5"]
