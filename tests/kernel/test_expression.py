"""The text of a formula gives what the formula gives, in Python and in JavaScript's words."""

from __future__ import annotations

import math
import random

import pytest

from cabida import choose, launch, report  # noqa: F401  every formula of the house is read
from cabida.equation import NotAFormula
from cabida.expression import CONSTANTS, expression
from cabida.quantity import FORMULAS


def _inputs(formula, seed):
    drawn = random.Random(seed)
    return {name: drawn.uniform(0.1, 0.9) for name in formula.params}


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_the_text_works_out_to_what_the_formula_does(name):
    formula = FORMULAS[name]
    if "lookup(" in formula.text:
        return
    for seed in range(5):
        inputs = _inputs(formula, seed)
        try:
            wanted = formula.raw(**inputs)
        except (ArithmeticError, TypeError, ValueError):
            continue
        if isinstance(wanted, complex):  # the root of a negative number
            with pytest.raises(ArithmeticError):
                expression(formula.text).value(inputs)
            continue
        assert expression(formula.text).value(inputs) == pytest.approx(wanted, rel=1e-15)


def test_formulas_are_read_at_all():
    assert len(FORMULAS) > 100
    assert "HOURS_PER_MONTH" in CONSTANTS


@pytest.mark.parametrize(
    "text",
    ["__import__('os')", "a.b", "a[0]", "lambda: 1", "least", "least()", "'a'", "True", "a if b else c", "x = 1",
     "least(a, key=b)", "f(a)", "a; b", "1 +", "a" * 5000, "(" * 400 + "a" + ")" * 400, "a // b", "", "[a]"],
)  # fmt: skip
def test_only_arithmetic_is_read(text):
    if text == "least":
        assert expression(text).names == ("least",)
        return
    with pytest.raises(NotAFormula):
        expression(text)


def test_names_are_inputs_alone():
    read = expression("part_s = a_s * 2; most(part_s, b_s) * HOURS_PER_MONTH")
    assert read.names == ("a_s", "b_s")
    assert read.value({"a_s": 1.0, "b_s": 3.0}) == 3.0 * CONSTANTS["HOURS_PER_MONTH"]


def test_other_languages_say_the_same():
    read = expression("part_s = ceil_to(a_s, 8) ** 2; where(part_s <= b_s, part_s / 2, log(b_s))")
    assert read.sheet(str.upper) == (
        "IF((POWER((-INT(-(A_S/8-1E-9))*8),2)) <= B_S,((POWER((-INT(-(A_S/8-1E-9))*8),2)) / 2),LN(B_S))"
    )
    assert read.javascript(lambda name: f"v.{name}") == (
        "(((ceilTo(v.a_s, 8) ** 2)) <= v.b_s ? (((ceilTo(v.a_s, 8) ** 2)) / 2) : Math.log(v.b_s))"
    )
    assert r"\frac{\mathit{part\_s}}{2}" in read.tex()


def test_lookup_reads_lists():
    read = expression("lookup(a_ratio, xs_ratio, ys_s)")
    points = {"xs_ratio": [0.0, 1.0, 2.0], "ys_s": [0.0, 10.0, 40.0]}
    assert read.value({"a_ratio": 1.5, **points}) == 25.0
    assert math.isclose(read.value({"a_ratio": 9.0, **points}), 40.0)
    assert "MATCH(A,X,1)" in read.sheet({"a_ratio": "A", "xs_ratio": "X", "ys_s": "Y"}.__getitem__)


DOUBLING = "; ".join(f"a{at + 1} = a{at} + a{at}" for at in range(150)) + "; a150"


@pytest.mark.parametrize(
    "text",
    ["+".join(["x"] * 1500), "x" + "*x" * 1900, "-" * 3000 + "x", DOUBLING],
    ids=["long-sum", "long-product", "deep", "doubling"],
)
def test_an_equation_that_would_never_end_is_refused(text):
    with pytest.raises(NotAFormula):
        expression(text).javascript(lambda name: name)
