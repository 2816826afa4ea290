"""Every text that the record, the launches and the commands name is in the catalogues, and none is left over."""

import ast
import re
from pathlib import Path

import pytest

from cabida.text import catalogue

CODE = re.compile(r"CB-[A-Z]\d{3}")
ROOMS = (
    "choose", "checks", "report", "launch", "faces", "speed",
    "bench", "wire", "load", "accept", "keep", "watch", "drills", "planned", "traffic", "asking",
    "living", "procure",
)  # fmt: skip
NO_TEXTS = ("html", "json", "md", "trace")  # files report.html ..., and a field of plans, load.trace
SOURCE = Path(__file__).parents[2] / "src" / "cabida"
WRITTEN = "\n".join(
    file.read_text(encoding="utf-8") for kind in ("*.py", "*.j2") for file in sorted(SOURCE.rglob(kind))
)


@pytest.mark.parametrize("room", [one for one in ROOMS if one != "traffic"])  # as a brief's fields begin too
def test_texts_named_in_the_code_exist(room):
    written = re.findall(rf'"{room}\.([\w.-]+?)(?:"|\.{{)', WRITTEN)
    named = {one for one in written if not one.endswith((".", ".j2", "yaml")) and one not in NO_TEXTS}
    assert named
    known = catalogue("en", room)
    assert [one for one in named if not any(f"{name}.".startswith(f"{one}.") for name in known)] == []


@pytest.mark.parametrize("room", ROOMS)
def test_both_languages_say_the_same_things_with_the_same_values(room):
    english, spanish = catalogue("en", room), catalogue("es", room)
    assert english.keys() == spanish.keys()
    for name, text in english.items():
        assert set(re.findall(r"{(\w+)}", text)) == set(re.findall(r"{(\w+)}", spanish[name])), name


def literals():
    """Every text in the code, its pieces around what is filled in: ``("report.metric.", "")``."""
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                filled = (one.value if isinstance(one, ast.Constant) else "\0" for one in node.values)
                yield tuple("".join(filled).split("\0"))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield (node.value,)
    for file in SOURCE.rglob("*.j2"):
        for written in re.findall(r'"([\w.]+)"', file.read_text(encoding="utf-8")):
            yield (written,)


LITERALS = set(literals())
NAMED = re.compile(  # texts as the code writes them, anything standing where something is filled in
    "|".join(
        "[^/]+".join(map(re.escape, pieces)) + r"(?:\.?[^.]+)?"
        for pieces in LITERALS
        if re.fullmatch(r"[\w. -]+", "".join(pieces)) and re.match(r"\w+\.\w", pieces[0])
    )
)


def is_said(room, name):
    """Whether the code writes the name of a text, every part of it, or all after the first part."""
    if code := CODE.match(name):
        return code[0] in WRITTEN
    parts = name.split(".")
    if NAMED.fullmatch(f"{room}.{name}") or (".".join(parts[1:]) or None,) in LITERALS:
        return True
    return all((part,) in LITERALS for part in parts)


@pytest.mark.parametrize("room", ROOMS)
def test_no_text_is_left_over(room):
    assert [name for name in catalogue("en", room) if not is_said(room, name)] == []


@pytest.mark.parametrize("name", ["title.nobody", "nobody", "CB-X999.what", "flip.nobody.at"])
def test_a_text_left_over_would_be_found(name):
    assert not is_said("choose", name)
