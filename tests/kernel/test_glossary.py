"""One word per thing in Spanish, one register, and sentences that begin and end as sentences do."""

import ast
import json
import re
from pathlib import Path

import pytest

from cabida.brief.needs import NEEDS
from cabida.money.assumptions import assumed_ranges
from cabida.report import words
from cabida.text import speaking

SOURCE = Path(__file__).parents[2] / "src" / "cabida"
LOCALE = SOURCE / "locale"
GLOSSARY = json.loads((LOCALE / "glossary.json").read_text("utf-8"))
ROOMS = sorted(path.stem for path in (LOCALE / "en").glob("*.json"))
IMPERATIVES = (
    "acorta|añade|baja|busca|cambia|compara|comprueba|corrige|cuenta|deja|di|elige|empieza|escribe|guarda|indica|lee|mide"
    "|mira|nombra|permite|pide|pon|prueba|pregunta|quita|reparte|revisa|sube|usa|vuelve"
)
STOPPED = re.compile(r"[.?!…)]$|\{(why|how|cure|what|reason|why_not)\}$|cabida [\w ]+[\w-]*$|ARCHIVO$|FILE$")
NOT_PROSE = re.compile(
    r"\{[^}]*\}|`[^`]*`|\b\w+(?:\.\w+)+\b|cabida [a-z ]+(?:[A-Z]+ )?|--[a-z-]+"
    r"|\w+://\S+|«[^»]*»|(?<!\w)'[^']*'(?!\w)|driver 570"
)
SENTENCES = re.compile(
    r"\.CB-[A-Z]\d{3}\.(what|why|cure)$|^choose\..*\.(why|how|decides)$"
    r"|^choose\.(flip|misses|ruled_out|answer|caution)\.|^brief\.need\.|^money\.(find_out|flag|note)\.|^checks\.CB-"
)


def read(language, room):
    return json.loads((LOCALE / language / f"{room}.json").read_text("utf-8"))


def bare(text):
    """The text without its placeholders, keys, code and file names."""
    return NOT_PROSE.sub(" ", text)


def both():
    for room in ROOMS:
        spanish = read("es", room)
        for key, text in read("en", room).items():
            yield f"{room}.{key}", text, spanish[key]


@pytest.mark.parametrize("english", GLOSSARY["terms"])
def test_a_term_has_one_translation(english):
    spanish = GLOSSARY["terms"][english]
    stem = re.escape(spanish[:-1] if spanish[-1] in "aeo" else spanish).replace(r"\ ", r"\w*\s(?:\w+\s)?")
    wrong = [
        key
        for key, text, translated in both()
        if re.search(rf"\b{re.escape(english)}s?\b", bare(text), re.IGNORECASE)
        and not re.search(rf"\b{stem}|\b{re.escape(spanish)}", translated, re.IGNORECASE)
    ]
    assert wrong == []


def test_no_other_word_is_used_and_nobody_is_addressed_as_tu():
    found = [
        f"{key}: {word} -> {instead}"
        for key, _, text in both()
        for word, instead in GLOSSARY["avoid"].items()
        if re.search(rf"(?<![\w.-]){word}(?![\w=])", bare(text), re.IGNORECASE)
    ]
    assert found == []


def test_orders_are_given_to_usted():
    starts = re.compile(rf"(?:^|[.:;?] )({IMPERATIVES})\b", re.IGNORECASE)
    spoken = [
        f"{key}: {found[1]}"
        for key, _, text in both()
        if not re.match(r"faces\.(command|option)|report\.flips_at", key)
        if (found := starts.search(text)) and not text.lower().startswith(("baja ", "cuenta de", "parte "))
    ]
    assert spoken == []


@pytest.mark.parametrize("language", ["en", "es"])
def test_sentences_start_with_a_capital_and_end_with_a_stop(language):
    bad = []
    for room in ROOMS:
        for key, text in read(language, room).items():
            if not SENTENCES.search(f"{room}.{key}") or re.fullmatch(r"\{\w+\}", text):
                continue
            if re.match(r"[a-záéíóúñ]+ (?!is |dice )", text) and not text.startswith("bitsandbytes"):
                bad.append(f"{room}.{key} starts small")
            if not STOPPED.search(text):
                bad.append(f"{room}.{key} has no stop")
    assert bad == []


def assumption_names():
    """Names of every assumption that the code can make."""
    found = set(assumed_ranges()) | {need.path for need in NEEDS}
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Assumption" and node.args:
                first = node.args[0]
                found |= {first.value} if isinstance(first, ast.Constant) else set()
    return sorted(found)


@pytest.mark.parametrize("language", ["en", "es"])
def test_every_assumption_has_a_label_in_words(language):
    with speaking(language):
        assert [name for name in assumption_names() if words.assumption(name) == name and "_" in name] == []
        assert words.assumption("models[0].weights.fp8") != "models[0].weights.fp8"
