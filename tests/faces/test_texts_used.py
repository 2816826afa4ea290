"""Every text that the record, the launches and the commands name is in the catalogues, and none is left over."""

import re
from pathlib import Path

import pytest

from cabida.text import catalogue

SOURCE = Path(__file__).parents[2] / "src" / "cabida"
WRITTEN = "\n".join(
    file.read_text(encoding="utf-8") for kind in ("*.py", "*.j2") for file in sorted(SOURCE.rglob(kind))
)


@pytest.mark.parametrize("room", ["report", "launch", "faces"])
def test_texts_named_in_the_code_exist(room):
    named = {one for one in re.findall(rf'"{room}\.([\w.-]+)"', WRITTEN) if not one.endswith(".")}
    assert named
    assert named <= set(catalogue("en", room))


@pytest.mark.parametrize("room", ["report", "launch", "faces"])
def test_both_languages_say_the_same_things_with_the_same_values(room):
    english, spanish = catalogue("en", room), catalogue("es", room)
    assert english.keys() == spanish.keys()
    for name, text in english.items():
        assert set(re.findall(r"{(\w+)}", text)) == set(re.findall(r"{(\w+)}", spanish[name])), name


@pytest.mark.parametrize("room", ["report", "launch", "faces"])
def test_no_text_is_left_over(room):
    for name in catalogue("en", room):
        last = re.split(r"[.]", name)[-1]
        pieces = (f"{room}.{name}", name.rpartition(".")[0] or last, last)
        assert any(
            f'{piece}"' in WRITTEN or f"{piece}'" in WRITTEN or f"{piece}." in WRITTEN for piece in pieces
        ), name
