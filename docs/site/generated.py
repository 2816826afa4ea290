"""The pages made of the product itself: ``python docs/site/generated.py`` writes them, and says which changed.

Formulas, facts and errors are read where they are kept; nothing of those pages is typed by hand.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import cabida
from cabida import errors, facts
from cabida.faces.reference import EXIT_CODES, reference
from cabida.files import write_text
from cabida.quantity import FORMULAS, Formula, Source
from cabida.text import catalogue, speaking, tr
from cabida.units import unit_of

DOCS = Path(__file__).resolve().parents[1]
CODE = re.compile(r"CB-[A-Z]\d{3}")
CODES_OF_AUDITS = {"blocking": "6", "important": "0", "useful": "0"}
FACTS_CUT_CHARS = 110
ERRORS = {
    "en": {
        "title": "Errors",
        "intro": "Written by `python docs/site/generated.py` from the texts of the product. Each problem has a code "
        "that stays; `…` is where its own names and numbers go. Where no exit code stands, the problem is found by a "
        "check and told with others: exit code 3 where it stops the command, else a line of the answer.",
        "exits": "Exit codes",
        "exit": "exit code",
        "means": "what it means",
        "rooms": "Problems that begin with",
        "what": "what is said",
        "cure": "what to do",
        "notes": "Codes told as warnings or notes, without a refusal, are listed on [pitfalls]({up}pitfalls.md) "
        "and in the record of a decision.",
    },
    "es": {
        "title": "Errores",
        "intro": "Escrito por `python docs/site/generated.py` a partir de los textos del producto. Cada problema tiene "
        "un código fijo; `…` marca el sitio de sus nombres y números. Donde falta el código de salida, el problema lo "
        "encuentra una comprobación que los cuenta todos juntos: la salida es 3 si detiene la orden; si no, es una "
        "línea de la respuesta.",
        "exits": "Códigos de salida",
        "exit": "código de salida",
        "means": "qué significa",
        "rooms": "Problemas que empiezan por",
        "what": "qué se dice",
        "cure": "qué hacer",
        "notes": "Los códigos que solo avisan, sin rechazar nada, están en [pitfalls]({up}pitfalls.md), en inglés, "
        "y en el registro de cada decisión.",
    },
}


def pages() -> dict[str, Callable[[], str]]:
    """What writes each page, by its path under docs/."""
    return {
        "formulas.md": formulas_page,
        "facts.md": facts_page,
        "errors.md": lambda: errors_page("en"),
        "es/errors.md": lambda: errors_page("es"),
        "es/commands.md": lambda: reference("es"),
    }


def every_formula() -> list[Formula]:
    """All formulas of the product, by room, file and place in it."""
    for module in pkgutil.walk_packages(cabida.__path__, "cabida."):
        room = module.name.split(".")[1]
        if room in ("memory", "timing", "money", "checks", "procure", "choose"):
            importlib.import_module(module.name)
    ours = [made for made in FORMULAS.values() if made.raw.__module__.startswith("cabida.")]
    return sorted(ours, key=lambda made: (made.raw.__module__, made.raw.__code__.co_firstlineno))


def formulas_page() -> str:
    """Every formula with its room, equation, units and docstring."""
    found = every_formula()
    blocks = [
        "# Formulas",
        "Written by `python docs/site/generated.py` from the functions themselves: each equation stands as the product "
        "works it out. A name ends in its unit; where the sources of a formula are known, its text names them. "
        "`cabida explain` shows the same equations with the numbers of a decision.",
        f"{len(found)} formulas.",
        "`least` and `most` are the smallest and the largest of their arguments, `where(c, a, b)` is a where c holds "
        "and b elsewhere, `ceil_to(x, step)` the next multiple, `total` a sum, `lookup` a straight line "
        "between points.",
    ]
    room = file = ""
    for made in found:
        parts = made.raw.__module__.split(".")
        if parts[1] != room:
            room = parts[1]
            blocks.append(f"## {room}")
        if made.raw.__module__ != file:
            file = made.raw.__module__
            blocks.append(f"In `{'/'.join(['src', *parts])}.py`:")
        blocks.append(_formula(made))
    return "\n\n".join(blocks) + "\n"


def _formula(made: Formula) -> str:
    equation = made.equation
    steps = [f"{name} = {ast.unparse(value)}" for name, value in equation.assignments]
    steps.append(f"{made.name} = {ast.unparse(equation.result)}")
    text = " ".join(equation.doc.split())
    taken = ", ".join(f"`{name}`{_unit(name)}" for name in equation.params) or "nothing"
    return (
        f"### {made.name}\n\n{_plain(text)}\n\n```text\n" + "\n".join(steps) + "\n```\n\n"
        f"Takes {taken}. Gives{_unit(made.name) or ' a plain number'}."
    )


def _unit(name: str) -> str:
    unit = unit_of(name)
    return f" {unit.text}" if unit and unit.text else ""


def facts_page() -> str:
    """Accelerators, machines, models and engines as they are known."""
    cards, machines = _rows(facts.accelerators()), _rows(facts.nodes())
    models, engines = _rows(facts.models()), _rows(facts.engines())
    blocks = [
        "# Facts",
        "Written by `python docs/site/generated.py` from the facts that come with Cabida. Every row has the day it was "
        "seen and how far its source is trusted: measured, vendor, quoted, derived or assumed, best first. A field may "
        "have a source of its own; `cabida facts show NAME` has them all. Prices are on [their own page](prices.md).",
        f"{len(cards)} accelerators, {len(machines)} machines, {len(models)} models, "
        f"{len(engines)} engines and frameworks.",
        "## Accelerators",
        "Rates are dense, as the vendor gives them. Memory is what the driver shows.",
        _table(
            "id|name|year|memory, GiB|memory, GB/s|bf16, TFLOPS|fp8, TFLOPS|power, W|grade|seen|source",
            (
                (
                    *(f"`{one.id}`", _plain(one.name), one.year, _scaled(one.usable_bytes, 2**30)),
                    *(_scaled(one.memory_bytes_per_s, 1e9), _scaled(one.flop_per_s.get("bf16"), 1e12)),
                    *(_scaled(one.flop_per_s.get("fp8"), 1e12), _scaled(one.tdp_w, 1), *_origin(one.source)),
                )
                for one in cards
            ),
        ),
        "## Machines",
        _table(
            "id|provider|accelerators|inside, GB/s|to others, GB/s|power, kW|grade|seen|source",
            (
                (
                    *(f"`{one.id}`", _plain(one.provider), f"{one.accelerators_count} × `{one.accelerator}`"),
                    *(_scaled(one.link_bytes_per_s, 1e9), _scaled(one.network_bytes_per_s, 1e9)),
                    *(_scaled(one.power_w, 1e3), *_origin(one.source)),
                )
                for one in machines
            ),
        ),
        "## Models",
        "Parameters as published; empty where they are worked out from the shapes.",
        _table(
            "id|task|parameters, 10⁹|active, 10⁹|layers|context, tokens|native format|licence|grade|seen|source",
            (
                (
                    *(f"`{one.id}`", one.task, _scaled(one.params_count, 1e9)),
                    *(_scaled(one.active_params_count, 1e9), one.layers_count, one.context_tokens),
                    *(one.native_format, _plain(one.licence), *_origin(one.source)),
                )
                for one in models
            ),
        ),
        "## Engines and frameworks",
        _table(
            "id|name|kind|oldest known|newest known|versions|weight formats|grade|seen|source",
            (
                (
                    *(f"`{one.id}`", _plain(one.name), one.kind, *(one.versions[:1] or ("",))),
                    *(*(one.versions[-1:] or ("",)), len(one.versions), ", ".join(one.formats)),
                    *_origin(one.source),
                )
                for one in engines
            ),
        ),
    ]
    return "\n\n".join(blocks) + "\n"


def _rows(found: Mapping[str, Any] | Iterable[Any]) -> list[Any]:
    return list(found.values()) if isinstance(found, Mapping) else list(found)


def _scaled(value: float | None, unit: float) -> str:
    return "" if value is None else f"{value / unit:,.4g}" if value / unit < 1e4 else f"{value / unit:,.0f}"


def _origin(source: Source) -> tuple[str, str, str]:
    words = source.what
    if len(words) > FACTS_CUT_CHARS:
        words = words[:FACTS_CUT_CHARS].rsplit(" ", 1)[0] + " …"
    words = _plain(words)
    return source.grade, source.seen, f"[{words}]({source.url})" if source.url else words


def _table(head: str, rows: Iterable[Iterable[object]]) -> str:
    names = head.split("|")
    lines = [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}"]
    lines += [f"| {' | '.join('' if cell is None else str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Text of which Markdown makes nothing of its own."""
    text = re.sub(r"``([^`]*)``", r"`\1`", text)
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part.replace("|", "\\|")
        if part.startswith("`")
        else re.sub(r"([\\*_\[\]|])", r"\\\1", part).replace("<", "&lt;")
        for part in parts
    )


def errors_page(language: str) -> str:
    """Every problem with its text, its cure and its exit code, in a language."""
    words = ERRORS[language]
    up = "" if language == "en" else "../"
    with speaking(language):
        exits = [(code, tr(f"faces.exit.{code}")) for code in EXIT_CODES]
        blocks = [f"# {words['title']}", words["intro"], f"## {words['exits']}"]
        blocks.append(_table(f"{words['exit']}|{words['means']}", exits))
        blocks.append(words["notes"].format(up=up))
        by_start: dict[str, list[tuple[str, str]]] = {}
        for code, room in sorted(error_codes().items()):
            by_start.setdefault(code[:4], []).append((code, room))
        for start, codes in by_start.items():
            rows = [
                (code, _said(room, code, "what", "why"), _said(room, code, "cure"), exit_code(code))
                for code, room in codes
            ]
            blocks.append(f"## {words['rooms']} {start}")
            blocks.append(_table(f"code|{words['what']}|{words['cure']}|{words['exit']}", rows))
    return "\n\n".join(blocks) + "\n"


@cache
def error_codes() -> dict[str, str]:
    """The room whose catalogue has each problem's text, by its code."""
    folder = Path(cabida.__file__).parent / "locale" / "en"
    return {
        key.removesuffix(".what"): file.stem
        for file in folder.glob("*.json")
        for key in catalogue("en", file.stem)
        if key.endswith(".what") and CODE.fullmatch(key.removesuffix(".what"))
    }


def _said(room: str, code: str, *parts: str) -> str:
    texts = [tr(f"{room}.{code}.{part}") for part in parts if f"{code}.{part}" in catalogue("en", room)]
    return _plain(" ".join(_open(text) for text in texts)).replace("\n", " ")


def _open(text: str) -> str:
    """The text with its fields left open; words that follow a count are those of many."""
    return re.sub(r"\{\w*(?:![rs])?(?::([^{}]*))?\}", lambda f: (f[1] or "").partition("|")[2] or "…", text)


def exit_code(code: str) -> str:
    """The exit codes with which a problem ends a command; empty where a check gathers it with others."""
    return ", ".join(sorted(_raised().get(code, ())))


@cache
def _raised() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in Path(cabida.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for code, ended in _endings(ast.parse(text)) if CODE.search(text) else ():
            found.setdefault(code, set()).add(ended)
    return found


def _endings(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Each code that the file raises with a class of the family, or hands to a function that gives one."""
    nodes = list(ast.walk(tree))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    gives = {node.name: node.returns.id for node in functions if isinstance(node.returns, ast.Name)}
    for node in nodes:
        name = ""
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            called = node.exc.func
            name = called.id if isinstance(called, ast.Name) else ""
        elif isinstance(node, ast.FunctionDef) and isinstance(node.returns, ast.Name):
            name = node.returns.id
        ended = _ending(gives.get(name, name))
        if ended:
            yield from ((code, ended) for code in _codes_in(node))
        if isinstance(node, ast.Call) and len(node.args) > 1:
            first, second = (getattr(one, "value", None) for one in node.args[:2])
            if isinstance(first, str) and CODE.fullmatch(first) and second in CODES_OF_AUDITS:
                yield first, CODES_OF_AUDITS[second]


def _ending(name: str) -> str:
    kind = getattr(errors, name, None)
    return (
        str(kind.exit_code) if inspect.isclass(kind) and issubclass(kind, errors.CabidaError) and name else ""
    )


def _codes_in(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and CODE.fullmatch(one.value):
            yield one.value


def main() -> None:
    """Write every page that isn't as it should be."""
    for name, made in pages().items():
        file, text = DOCS / name, made()
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.parent.mkdir(exist_ok=True)
            write_text(file, text)
            sys.stdout.write(f"docs/{name} written\n")


if __name__ == "__main__":
    main()
