"""A name that begins with an underscore is its module's own: nobody else takes it."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src/cabida"
FILES = sorted(SOURCE.rglob("*.py"))


def private(name):
    return name.startswith("_") and not name.endswith("__")


def taken(tree):
    """Private names that a module takes from another of this package: ``room.module._name``."""
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cabida"):
            for one in node.names:
                if private(one.name):
                    yield f"{node.module}.{one.name}"
                modules[one.asname or one.name] = f"{node.module}.{one.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and private(node.attr):
            module = modules.get(node.value.id, "")
            if module and (SOURCE.parent / module.replace(".", "/")).with_suffix(".py").exists():
                yield f"{module}.{node.attr}"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from cabida.text import _load", ["cabida.text._load"]),
        ("from cabida import text\ntext._load()", ["cabida.text._load"]),
        ("from cabida import text\ntext.tr('a')\nother._load()", []),
    ],
)
def test_such_a_taking_is_seen(code, found):
    assert list(taken(ast.parse(code))) == found


def test_nobody_takes_what_is_anothers_own():
    found = {
        path.relative_to(SOURCE).as_posix(): names
        for path in FILES
        if (names := list(taken(ast.parse(path.read_text(encoding="utf-8")))))
    }
    assert len(FILES) > 500
    assert found == {}
