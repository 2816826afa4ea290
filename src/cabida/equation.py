"""Reading a formula: its text, and the units it works out to.

A formula is straight-line arithmetic: named assignments and one ``return`` over parameters, numbers,
named unit constants and a closed vocabulary. That small grammar is what lets its units be worked out,
and its text be shown as it stands.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from cabida.units import Dimensions, Fixed, canonical, unit_of

VOCABULARY = ("least", "most", "where", "ceil_to", "total", "lookup", "sqrt", "exp", "log")
_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq)


class NotAFormula(TypeError):
    """The function is not straight-line arithmetic over the closed vocabulary, or its units don't work out."""


@dataclass(frozen=True, slots=True)
class Equation:
    """The parsed text of one formula: assignments in order, then the result."""

    name: str
    params: tuple[str, ...]
    assignments: tuple[tuple[str, ast.expr], ...]
    result: ast.expr
    constants: dict[str, Fixed]
    doc: str

    @property
    def text(self) -> str:
        """As written: ``2 * layers_count * ...``; assignments first, separated by semicolons."""
        lines = [f"{name} = {ast.unparse(value)}" for name, value in self.assignments]
        return "; ".join([*lines, ast.unparse(self.result)])


def read_equation(function: Callable[..., Any]) -> Equation:
    """Parse ``function``'s source.

    Raises:
        NotAFormula: it has loops, branches, calls outside the vocabulary, or names without a unit.
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    if not isinstance(tree, ast.FunctionDef):
        message = f"{function.__name__} is not a function"
        raise NotAFormula(message)
    body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]
    params = tuple(argument.arg for argument in (*tree.args.args, *tree.args.kwonlyargs))
    assignments: list[tuple[str, ast.expr]] = []
    for node in body[:-1]:
        if not (
            isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        ):
            message = f"{function.__name__}: line {node.lineno} is not a named assignment"
            raise NotAFormula(message)
        assignments.append((node.targets[0].id, node.value))
    last = body[-1] if body else None
    if not isinstance(last, ast.Return) or last.value is None:
        message = f"{function.__name__} does not end in one return"
        raise NotAFormula(message)
    constants = {name: value for name, value in function.__globals__.items() if isinstance(value, Fixed)}
    equation = Equation(
        function.__name__, params, tuple(assignments), last.value, constants, inspect.getdoc(function) or ""
    )
    nameless = [
        name for name in (*params, *(name for name, _ in assignments), equation.name) if not unit_of(name)
    ]
    if nameless:
        message = f"{equation.name}: no unit suffix on {', '.join(nameless)}"
        raise NotAFormula(message)
    return equation


def check_dimensions(equation: Equation) -> None:
    """Infer the dimensions of every step and of the result from the names' units.

    Raises:
        NotAFormula: a sum of unlike units, or a result that is not what the name says.
    """
    known = {name: _dimensions_named(name) for name in equation.params}
    known |= {name: value.unit.dimensions for name, value in equation.constants.items()}
    for name, value in (*equation.assignments, (equation.name, equation.result)):
        found = _infer(value, known, equation)
        wanted = _dimensions_named(name)
        if found is not None and found != wanted:
            message = f"{equation.name}: {name} should be {_show(wanted)}, its expression is {_show(found)}"
            raise NotAFormula(message)
        known[name] = wanted


def _dimensions_named(name: str) -> Dimensions:
    unit = unit_of(name)
    return unit.dimensions if unit else ()


def _show(dimensions: Dimensions) -> str:
    return (
        " ".join(f"{name}^{power}" if power != 1 else name for name, power in dimensions) or "a bare number"
    )


def _same(parts: list[Dimensions | None], equation: Equation, node: ast.expr) -> Dimensions | None:
    real = [part for part in parts if part is not None]
    if any(part != real[0] for part in real[1:]):
        message = f"{equation.name}: unlike units in {ast.unparse(node)}: {', '.join(_show(p) for p in real)}"
        raise NotAFormula(message)
    return real[0] if real else None


def _scaled(left: Dimensions, right: Dimensions, sign: int) -> Dimensions:
    powers = dict(left)
    for name, power in right:
        powers[name] = powers.get(name, Fraction(0)) + sign * power
    return canonical(powers)


def _infer(node: ast.expr, known: dict[str, Dimensions], equation: Equation) -> Dimensions | None:
    """Dimensions of ``node``; ``None`` for a literal zero, which agrees with anything."""
    match node:
        case ast.Constant(value=value):
            return None if value == 0 else ()
        case ast.Name(id=name):
            if name not in known:
                message = f"{equation.name}: {name} is neither a parameter nor a named unit constant"
                raise NotAFormula(message)
            return known[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _infer(operand, known, equation)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return _same([_infer(left, known, equation), _infer(right, known, equation)], equation, node)
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as op, right=right):
            one, two = _infer(left, known, equation), _infer(right, known, equation)
            return _scaled(one or (), two or (), 1 if isinstance(op, ast.Mult) else -1)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_infer(left, known, equation) or (), right, known, equation)
        case ast.Compare(left=left, ops=ops, comparators=comparators) if len(ops) == 1 and isinstance(
            ops[0], _COMPARISONS
        ):
            _same([_infer(part, known, equation) for part in (left, comparators[0])], equation, node)
            return ()
        case ast.Call(func=ast.Name(id=word), args=arguments) if word in VOCABULARY and not node.keywords:
            return _infer_call(word, [_infer(part, known, equation) for part in arguments], equation, node)
    message = f"{equation.name}: {ast.unparse(node)} is outside the vocabulary"
    raise NotAFormula(message)


def _power(
    base: Dimensions, exponent: ast.expr, known: dict[str, Dimensions], equation: Equation
) -> Dimensions | None:
    if _infer(exponent, known, equation):
        message = f"{equation.name}: an exponent has a unit in {ast.unparse(exponent)}"
        raise NotAFormula(message)
    if not base:
        return ()
    try:
        times = Fraction(str(ast.literal_eval(exponent)))
    except ValueError:
        message = f"{equation.name}: a quantity with a unit needs a literal exponent"
        raise NotAFormula(message) from None
    return canonical({name: power * times for name, power in base})


def _infer_call(
    word: str, parts: list[Dimensions | None], equation: Equation, node: ast.expr
) -> Dimensions | None:
    if word in ("least", "most", "total", "ceil_to"):
        return _same(parts, equation, node)
    if word == "where":
        return _same(parts[1:], equation, node)
    if word == "lookup":
        _same(parts[:2], equation, node)
        return parts[2]
    if word == "sqrt":
        return canonical({name: power / 2 for name, power in parts[0] or ()})
    if parts[0]:
        message = f"{equation.name}: {word} of a quantity with a unit in {ast.unparse(node)}"
        raise NotAFormula(message)
    return ()
