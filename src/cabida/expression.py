"""The text of a formula, worked out again and said in other languages: spreadsheet, JavaScript, TeX.

A decision keeps its equations as text, so a decision read from a file can be worked out with other inputs. The text
is not trusted: only arithmetic over the closed vocabulary is ever read, and nothing of it is run as Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any

from cabida import quantity, units
from cabida.equation import VOCABULARY, NotAFormula
from cabida.units import Fixed

LONGEST_CHARS = 4_000  # of one equation; the longest of ours has a quarter of it
DEEPEST = 120  # levels of one expression
LARGEST = 1e300  # of a number in it
LONGEST_SAID_CHARS = 20_000  # in another language, assignments put in
CONSTANTS: dict[str, float] = {
    name: float(value) for name, value in vars(units).items() if isinstance(value, Fixed)
}
WORDS: dict[str, Callable[..., Any]] = {word: getattr(quantity, word) for word in VOCABULARY}
PARTS_COUNT = {
    "where": 3,
    "lookup": 3,
    "ceil_to": 2,
    "sqrt": 1,
    "exp": 1,
    "log": 1,
}  # the others take any number
ARITHMETIC: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==",
}  # fmt: skip

# how another language says each word of the vocabulary; lookup is put together where it is said
SHEET = {
    "least": "MIN({})", "most": "MAX({})", "where": "IF({})", "total": "SUM({})", "sqrt": "SQRT({})", "exp": "EXP({})",
    "log": "LN({})",
}  # fmt: skip
JAVASCRIPT = {
    "least": "Math.min({})", "most": "Math.max({})", "sqrt": "Math.sqrt({})", "exp": "Math.exp({})",
    "log": "Math.log({})",
}  # fmt: skip
TEX = {
    "least": r"\min\left({}\right)", "most": r"\max\left({}\right)", "total": r"\sum\left({}\right)",
    "sqrt": r"\sqrt{{{}}}", "exp": r"\exp\left({}\right)", "log": r"\ln\left({}\right)",
    "where": r"\operatorname{{where}}\left({}\right)", "ceil_to": r"\operatorname{{ceil}}\left({}\right)",
    "lookup": r"\operatorname{{lookup}}\left({}\right)",
}  # fmt: skip
SHEET_SIGNS = {"==": "="}
JAVASCRIPT_SIGNS = {"==": "==="}
TEX_SIGNS = {"<=": r"\le", ">=": r"\ge", "==": "="}
# what JavaScript needs beside the expressions
JAVASCRIPT_WORDS = """\
const ceilTo = (value, step) => Math.ceil(value / step - 1e-9) * step;
const lookup = (value, xs, ys) => {
  if (value <= xs[0]) return ys[0];
  for (let at = 1; at < xs.length; at++)
    if (value <= xs[at]) return ys[at - 1] + (value - xs[at - 1]) / (xs[at] - xs[at - 1]) * (ys[at] - ys[at - 1]);
  return ys[ys.length - 1];
};
"""


@dataclass(frozen=True)
class Expression:
    """An equation read from its text: assignments in order, then the result."""

    text: str
    assignments: tuple[tuple[str, ast.expr], ...]
    result: ast.expr

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The inputs, in the order in which they are first read; neither constants nor what it assigns."""
        made = {name for name, _ in self.assignments}
        parts = [value for _, value in self.assignments] + [self.result]
        read = [one.id for part in parts for one in _names(part)]
        return tuple(dict.fromkeys(name for name in read if name not in made and name not in CONSTANTS))

    def value(self, inputs: Mapping[str, Any]) -> Any:
        """The result for these inputs: numbers, or lists where ``lookup`` wants them.

        Raises:
            KeyError: an input is missing.
            ArithmeticError: a division by zero, or a result beyond floats.
        """
        known: dict[str, Any] = {**CONSTANTS, **inputs}
        for name, part in self.assignments:
            known[name] = _value(part, known)
        return _value(self.result, known)

    def sheet(self, cell: Callable[[str], str]) -> str:
        """As a spreadsheet formula without its ``=``; ``cell`` gives the address (or range) of an input."""
        return self._said(_Sheet(cell))

    def javascript(self, variable: Callable[[str], str]) -> str:
        """As one JavaScript expression over ``JAVASCRIPT_WORDS``; ``variable`` gives what stands for an input."""
        return self._said(_JavaScript(variable))

    def tex(self) -> str:
        """As TeX, assignments first, one a line."""
        face = _Tex(lambda name: rf"\mathit{{{name.replace('_', chr(92) + '_')}}}")
        lines = [f"{face.variable(name)} = {face.say(part)}" for name, part in self.assignments]
        return r" \\ ".join([*lines, face.say(self.result)])

    def _said(self, face: _Face) -> str:
        for name, part in self.assignments:
            face.known[name] = _bounded(f"({face.say(part)})")
        return _bounded(face.say(self.result))


def _bounded(said: str) -> str:
    """What was said, unless assignments put into each other have made it endless."""
    if len(said) > LONGEST_SAID_CHARS:
        message = f"an equation of {len(said)} characters"
        raise NotAFormula(message)
    return said


@lru_cache(maxsize=4096)
def expression(text: str) -> Expression:
    """An equation from its text.

    Raises:
        NotAFormula: too long, no arithmetic, or a word outside the vocabulary.
    """
    if len(text) > LONGEST_CHARS:
        message = f"an equation of {len(text)} characters"
        raise NotAFormula(message)
    try:
        body = ast.parse(text.replace("; ", "\n")).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        message = f"no equation: {text[:80]}"
        raise NotAFormula(message) from None
    assignments = []
    for line in body[:-1]:
        if not (
            isinstance(line, ast.Assign) and len(line.targets) == 1 and isinstance(line.targets[0], ast.Name)
        ):
            message = f"no named assignment: {_shown(line)}"
            raise NotAFormula(message)
        assignments.append((line.targets[0].id, line.value))
    if not body or not isinstance(body[-1], ast.Expr):
        message = f"no result: {text[:80]}"
        raise NotAFormula(message)
    read = Expression(text, tuple(assignments), body[-1].value)
    for part in [*(value for _, value in assignments), read.result]:
        _check(part)
    return read


def _check(node: ast.expr, left: int = DEEPEST) -> None:
    if not left:
        message = f"an equation nested more than {DEEPEST} deep"
        raise NotAFormula(message)
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Name():
            return None
        case ast.Constant(value=int() | float() as value) if abs(value) <= LARGEST:
            return None
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _check(operand, left - 1)
        case ast.BinOp(left=first, op=op, right=right) if type(op) in ARITHMETIC or isinstance(op, ast.Pow):
            _check(first, left - 1)
            return _check(right, left - 1)
        case ast.Compare(left=first, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
            _check(first, left - 1)
            return _check(right, left - 1)
        case ast.Call(func=ast.Name(id=word), args=parts, keywords=[]) if word in WORDS and _fits(
            word, parts
        ):
            for part in parts:
                _check(part, left - 1)
            return None
    message = f"{_shown(node)} is outside the vocabulary"
    raise NotAFormula(message)


def _shown(node: ast.AST) -> str:
    """The beginning of what was written there."""
    try:
        return ast.unparse(node)[:80]
    except (RecursionError, ValueError):  # nested without end, or a number of thousands of digits
        return "…"


def _fits(word: str, parts: list[ast.expr]) -> bool:
    """Whether a word is given as many parts as it takes."""
    return len(parts) == PARTS_COUNT[word] if word in PARTS_COUNT else bool(parts)


def _names(node: ast.expr) -> Iterator[ast.Name]:
    called = {id(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}
    yield from (one for one in ast.walk(node) if isinstance(one, ast.Name) and id(one) not in called)


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return known[name]
        case ast.UnaryOp(operand=operand):
            return -_value(operand, known)
        case ast.BinOp(left=left, op=op, right=right):
            return _combined(op, _value(left, known), _value(right, known))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(op, _value(left, known), _value(right, known))
        case ast.Call(func=ast.Name(id=word), args=parts):
            return _worded(word, [_value(part, known) for part in parts])
    raise NotAFormula(ast.unparse(node))


def _worded(word: str, parts: list[Any]) -> Any:
    try:
        return _real(WORDS[word](*parts))
    except (TypeError, ValueError, IndexError) as error:  # the logarithm of a negative number, points of none
        raise ArithmeticError(str(error)) from None


def _real(value: Any) -> Any:
    """A value as it is, unless it is the root of a negative number."""
    if isinstance(value, complex):
        message = "the root of a negative number"
        raise ArithmeticError(message)  # noqa: TRY004 - a result, not an argument
    return value


def _combined(op: ast.operator, one: Any, two: Any) -> Any:
    match op:
        case ast.Add():
            return one + two
        case ast.Sub():
            return one - two
        case ast.Mult():
            return one * two
        case ast.Div():
            return one / two
    return _real(float(one) ** float(two))


def _compared(op: ast.cmpop, one: Any, two: Any) -> bool:
    match op:
        case ast.Lt():
            return bool(one < two)
        case ast.LtE():
            return bool(one <= two)
        case ast.Gt():
            return bool(one > two)
        case ast.GtE():
            return bool(one >= two)
    return bool(one == two)


class _Face:
    """One language for expressions: how it says a variable, a power, a comparison and each word."""

    words: Mapping[str, str] = MappingProxyType({})
    compares: Mapping[str, str] = MappingProxyType({})

    def __init__(self, variable: Callable[[str], str]) -> None:
        self.variable = variable
        self.known: dict[str, str] = {name: repr(value) for name, value in CONSTANTS.items()}

    def say(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=value):
                return repr(value)
            case ast.Name(id=name):
                return self.known.get(name) or self.variable(name)
            case ast.UnaryOp(operand=operand):
                return f"(-{self.say(operand)})"
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self.power(self.say(left), self.say(right))
            case ast.BinOp(left=left, op=op, right=right):
                return self.arithmetic(op, self.say(left), self.say(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                sign = COMPARISONS[type(op)]
                return f"{self.say(left)} {self.compares.get(sign, sign)} {self.say(right)}"
            case ast.Call(func=ast.Name(id=word), args=parts):
                return self.word(word, [self.say(part) for part in parts])
        raise NotAFormula(ast.unparse(node))

    def arithmetic(self, op: ast.operator, one: str, two: str) -> str:
        return f"({one} {ARITHMETIC[type(op)]} {two})"

    def power(self, base: str, exponent: str) -> str:
        return f"({base} ** {exponent})"

    def word(self, word: str, parts: list[str]) -> str:
        return self.words[word].format(", ".join(parts))


class _Sheet(_Face):
    words = SHEET
    compares = SHEET_SIGNS

    def say(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant):
            return (
                f"{node.value:.17g}".replace("e", "E") if isinstance(node.value, float) else str(node.value)
            )
        return super().say(node)

    def power(self, base: str, exponent: str) -> str:
        return f"POWER({base},{exponent})"

    def word(self, word: str, parts: list[str]) -> str:
        if word == "ceil_to":  # INT rounds down, below zero too
            return f"(-INT(-({parts[0]}/{parts[1]}-1E-9))*{parts[1]})"
        if word == "lookup":
            value, xs, ys = parts
            at = f"MIN(MATCH({value},{xs},1),ROWS({xs})-1)"
            rise = f"(INDEX({ys},{at}+1)-INDEX({ys},{at}))/(INDEX({xs},{at}+1)-INDEX({xs},{at}))"
            inside = f"INDEX({ys},{at})+({value}-INDEX({xs},{at}))*{rise}"
            beyond = f"IF({value}>=INDEX({xs},ROWS({xs})),INDEX({ys},ROWS({xs})),{inside})"
            return f"IF({value}<=INDEX({xs},1),INDEX({ys},1),{beyond})"
        return self.words[word].format(",".join(parts))


class _JavaScript(_Face):
    words = JAVASCRIPT
    compares = JAVASCRIPT_SIGNS

    def word(self, word: str, parts: list[str]) -> str:
        if word == "where":
            return f"({parts[0]} ? {parts[1]} : {parts[2]})"
        if word == "total":
            return f"({' + '.join(parts)})"
        if word in ("ceil_to", "lookup"):
            return f"{'ceilTo' if word == 'ceil_to' else word}({', '.join(parts)})"
        return super().word(word, parts)


class _Tex(_Face):
    words = TEX
    compares = TEX_SIGNS

    def __init__(self, variable: Callable[[str], str]) -> None:
        super().__init__(variable)
        self.known = {}

    def arithmetic(self, op: ast.operator, one: str, two: str) -> str:
        if isinstance(op, ast.Div):
            return rf"\frac{{{one}}}{{{two}}}"
        if isinstance(op, ast.Mult):
            return rf"{one} \cdot {two}"
        return rf"\left({one} {ARITHMETIC[type(op)]} {two}\right)"

    def power(self, base: str, exponent: str) -> str:
        return f"{{{base}}}^{{{exponent}}}"
