"""Every formula of the product: units that work out, a docstring with its source."""

import importlib
import pkgutil

import pytest

import cabida
from cabida.equation import check_dimensions
from cabida.quantity import FORMULAS


def all_formulas():
    for room in ("memory", "timing", "money", "checks", "procure", "choose"):
        package = importlib.import_module(f"cabida.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"cabida.{room}."):
            importlib.import_module(module.name)
    return sorted(name for name, made in FORMULAS.items() if made.raw.__module__.startswith("cabida."))


@pytest.mark.parametrize("name", all_formulas())
def test_formula_is_sound(name):
    made = FORMULAS[name]
    check_dimensions(made.equation)
    assert made.equation.doc, f"{name} has no docstring"
    assert made.text


def test_there_are_formulas_and_a_version():
    assert len(all_formulas()) > 60
    assert cabida.__version__
