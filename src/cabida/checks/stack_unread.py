"""What of a stack in words nobody understood: told, so that silence about it is no all-clear."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cabida import facts
from cabida.checks.stack_words import (
    ALIASES,
    NAMED,
    PROCESSORS,
    SYSTEMS,
    VERSIONED,
    read_stack,
)
from cabida.errors import InvalidInput
from cabida.text import printable, problem

SHORT = 3  # words of a piece that is looked through word by word; longer ones are sentences
MOST_TOLD = 6
_PIECES = re.compile(r"[,;\n]+")
_NEGATIVE = re.compile(r"(?:(?<=[\s:=])|^)[-−]\d[\d.]*\b")
_BESIDE = re.compile(  # what other rules read: formats, sizes, counts, kinds of use
    r"(?i)(?:[a-z]*(?:fp|bf|int|mx|nv|nf|w\d|e\d)\w*|q\d\w*|gguf|awq\w*|gptq\w*|marlin|quant\w*|kv|cache|tp|pp|dp|ep|\d\S*|[x×]\d*"
    r"|gpus?|cards?|servers?|nodes?|tarjetas?|tensor|parallel\w*|native|container|docker|image|wheel|nightly|latest|on|with|and|or"
    r"|in|for|the|of|a|an|to|from|de|en|con|para|y|el|la|one|two|dual|four|eight|dos|cuatro|pro|ti|xtx?|super|max|ultra|mps|hip|gaudi|tpu|transformer|flash\w*|attention|sxm\d?|pcie"
    r"|nvl\d*|geforce|nvidia|amd|radeon|intel|apple|tesla|rtx|gtx|rx|arc|gb|gib|tb|head|dim|dtype|checkpoint|model|weights?|training"
    r"|inference|serving|toolkit|driver|engine|version|stack|gpu|accelerator)"
)


def unread(text: str) -> tuple[str, ...]:
    """Pieces and words of a stack that no part, version, card or format was read from, in their order."""
    found = [told for piece in _PIECES.split(text) for told in _of_piece(piece.strip())]
    return tuple(dict.fromkeys(printable(one)[:40] for one in found))[:MOST_TOLD]


def _of_piece(piece: str) -> Iterator[str]:
    if not piece:
        return
    yield from _NEGATIVE.findall(piece)
    words = [word.strip("().:=\"'") for word in piece.split()]
    words = [word for word in words if word]
    if not _means(piece):
        yield piece
        return
    if len(words) > SHORT:
        return
    yield from (
        word for word in words if word.isalpha() and not _BESIDE.fullmatch(word) and not _part_of(word, words)
    )


def _part_of(word: str, words: list[str]) -> bool:
    """Whether a word means something, alone or together with those beside it."""
    if _means(word):
        return True
    rest = " ".join(one for one in words if one != word)
    return bool(rest) and not _means(rest)  # without it the others mean nothing: it belongs to a name


def _means(piece: str) -> bool:
    spelled = [ALIASES.get(id, re.escape(id).replace(r"\-", "[- ]")) for id in facts.engines()]
    known = (
        *VERSIONED.values(),
        *NAMED.values(),
        *map(re.escape, NAMED),
        *SYSTEMS.values(),
        *PROCESSORS.values(),
        *spelled,
    )
    if any(re.search(rf"(?<![\w-])(?:{one})", piece, re.IGNORECASE) for one in known):
        return True
    if all(_BESIDE.fullmatch(word) for word in re.findall(r"[^\s/()+]+", piece)):
        return True
    try:
        read = read_stack(f"{piece}, linux, ecc")  # with something known beside it
    except InvalidInput:
        return False
    return bool(
        read.cards or read.weights or read.kv_cache or read.model or read.head_dim or read.params_count
    )


def refuse_twice(text: str) -> None:
    """Refuse a stack that names two versions of one part.

    Raises:
        InvalidInput: CB-K058, with the part and both versions.
    """
    twice = []
    named = {**VERSIONED, **{id: ALIASES.get(id, re.escape(id)) for id in facts.engines()}}
    for part, words in named.items():
        if part == "cuda":  # a wheel's and the toolkit's are two things
            continue
        said = re.findall(rf"(?i)(?<![\w-])(?:{words})[ =:v]+(\d+(?:\.\d+)+)(?![\w-])", text)
        different = list(dict.fromkeys(one for one in said if one))
        if len(different) > 1:
            twice.append(problem("CB-K058", part=part, versions=", ".join(different[:4])))
    if twice:
        raise InvalidInput(twice)
