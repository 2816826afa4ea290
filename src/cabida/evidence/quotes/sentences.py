"""What sentences of a quote say, in English and Spanish: phrases with a value in them, and phrases that are one.

A named group is the field that its text goes to; the fields beside a phrase are what the phrase itself means.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from cabida.evidence.prices.nouns import Odd
from cabida.evidence.prices.parts import part

WHOLE = r"(?<![\d.,'])"  # before a figure: it begins here, and no shorter end of it is one
COUNT = r"(?:\d{1,3}(?:[.,]\d{3})++|\d{1,6}+)(?!\d)"  # of things: no part of one is ever named
MONEY = (  # the figure is taken whole or not at all: part of an amount is another amount
    r"(?:(?:(?-i:[A-Z]{3})\s?\$?|US\$|[$€£])\s?\d[\d.,']*+(?:\s\d{3}(?!\d))*+"
    rf"|{WHOLE}\d[\d.,']*+(?:\s\d{{3}}(?!\d))*+\s?(?:(?-i:[A-Z]{{3}})\b|€|\$|£|euros?\b|d[oó]lares\b|pesos\b))"
)
DATE = (
    r"(?<!\d)(?:\d{4}-\d{2}-\d{2}|\d{1,2}[/.]\d{1,2}[/.]\d{4}|\d{1,2}(?:st|nd|rd|th)?\s+(?:de\s+)?[A-Za-z]{3,10}\.?,?\s+(?:de\s+)?\d{4}"
    r"|[A-Z][a-z]{2,9}\.?\s+\d{1,2}(?:st|nd|rd|th)?,?\s+\d{4})"
)
SPAN = WHOLE + r"\d{1,3}[- ]?(?:months?|years?|meses|mes|a[nñ]os?)"
DAYS = WHOLE + r"\d{1,3}[- ]?(?:calendar |natural )?(?:days?|weeks?|d[ií]as?|semanas?)"
THING = r"(?:GPU|accelerator|card|node|server|rack|instance|acelerador|tarjeta|nodo|servidor|bastidor|instancia)s?"
TIME = r"(?:hour|hr|h|month|year|hora|mes|a[nñ]o)"
TO = r"(?:/|\bper\b|\bpor\b|\bal\b|\ba la\b|\bfor each\b|\bcada\b)"
SHARE = WHOLE + r"\d{1,3}(?:[.,]\d{1,4})?\s?(?:%|percent\b|por ciento\b)"
OTHER_FEE = re.compile(  # before a price: it is of something beside the machines
    r"(?i)\b(?:set-?up|one-time|install\w*|support|licen[cs]\w*|storage|egress|overage|expansion|list price|deposit"
    r"|penalty|alta|instalaci[oó]n|soporte|licencias?|almacenamiento|exceso|ampliaci[oó]n|precio de lista"
    r"|penalizaci[oó]n)\b[^.;]{0,40}$"
)
SIGNS = re.compile(r"\b(?:H|A|B|L|V|T|GB|MI|GH)\d{1,3}[A-Z]{0,2}\b|RTX|\bTITAN\b|Gaudi", re.IGNORECASE)
_PART = re.compile(
    r"(?:(?:NVIDIA|AMD|Intel|GeForce|Instinct|Tesla|Quadro|RTX|PRO|DGX|HGX)\s+)*"
    r"(?<![A-Za-z0-9])(?:GB300|GB200|GH200|B300|B200|B100|H200|H100|H800|H20|A800|A100|A10G|A10|A16|A2|A30|A40|L40S|L40|L20|L4|T4|V100|P100"
    r"|MI\d{3}[XA]?|Gaudi\s?\d|RTX\s?(?:PRO\s?)?[A-Z]?\d{4}|A[456]000"
    r"|(?:(?<=RTX\s)|(?<=GTX\s)|(?<=GeForce\s))[3-5]0[6-9]0)(?!\d|[A-RT-Z]|s[a-z])"
    r"(?:[ -](?:SXM\d?|PCIe|NVL\d*|OAM|HGX|Ti|SUPER|D|Ada|Blackwell|Server|Max-Q|Generation|Edition|Workstation)\b)*"
    r"(?:[ -](?:\d{2,3}\s?GB)\b)?(?:[ -](?:SXM\d?|PCIe|NVL|OAM)\b)?(?:\s+(?:HBM\d\w?|GDDR\d\w?)\b)?",
    re.IGNORECASE,
)
_COUNT = re.compile(
    rf"{WHOLE}({COUNT})\s?(?:[x×*]|units? of|unidades de|de|of|pcs)?\s*(?:GPUs?\s+|tarjetas\s+|cards\s+)?$",
    re.IGNORECASE,
)
_NODES = re.compile(
    rf"{WHOLE}({COUNT})\s*(?:[x×]\s*)?(?:(?!per\b|por\b|each\b|cada\b|in\b|en\b|a\b)\w+[- ]){{0,2}}?"
    r"(?:nodes?|servers?|systems?|nodos?|servidores|sistemas)\b",
    re.IGNORECASE,
)
_EACH = re.compile(
    r"^\s*(?:GPUs?\s*)?(?:per|/|por|in each|en cada|each|cada uno)\s*(?:node|server|nodo|servidor|uno)?",
    re.IGNORECASE,
)
_FORM = re.compile(r"\b(SXM|PCIe|NVL|OAM)\d*\b", re.IGNORECASE)
_MEMORY = re.compile(r"\b(\d{2,3})\s?GB\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase found: the field, its text, and the words around it."""

    field: str
    text: str
    words: str


@cache
def _compiled() -> tuple[tuple[re.Pattern[str], dict[str, str]], ...]:
    """The phrases of ``phrases.json``, where ``<MONEY>`` and the like stand for the patterns above."""
    text = (resources.files("cabida.evidence.quotes") / "phrases.json").read_text(encoding="utf-8")
    named = {
        "MONEY": MONEY, "DATE": DATE, "SPAN": SPAN, "DAYS": DAYS, "THING": THING, "TIME": TIME, "TO": TO,
        "SHARE": SHARE,
    }  # fmt: skip

    def whole(pattern: str) -> str:
        pattern = re.sub(r"(\(\?P<\w+>)(?=\\d|\(\?:9)", lambda found: found[1] + WHOLE, pattern)
        return re.sub(r"<([A-Z]{2,5})>", lambda found: named[found[1]], pattern)

    return tuple((re.compile(whole(pattern), re.IGNORECASE), fixed) for pattern, fixed in json.loads(text))


def phrases(text: str) -> Iterator[Phrase]:
    """Everything that a sentence says, in the order of the table."""
    yield from hardware(text)
    for pattern, fixed in _compiled():
        if found := pattern.search(text):
            words = found[0]
            for name, value in found.groupdict().items():
                if value and not (name == "unit_price" and OTHER_FEE.search(text[: found.start()])):
                    yield Phrase(name, value, words)
            for name, value in fixed.items():
                yield Phrase(name, value, words)


def hardware(text: str) -> Iterator[Phrase]:
    """The accelerator that is named, its form and memory, and how many: ``4 nodes of 8x H100 SXM5 80GB``."""
    if not SIGNS.search(text):
        return
    for found in _PART.finditer(text):
        name = found[0].strip()
        if not _known(name):
            continue
        words = text[max(0, found.start() - 40) : found.end() + 30].strip()
        yield Phrase("accelerator", name, words)
        if form := _FORM.search(name):
            yield Phrase("form_factor", form[1], words)
        if memory := _MEMORY.search(name):
            yield Phrase("accelerator_memory_gb", f"{memory[1]} GB", words)
        yield from _counted(text, found, words)
        return


def _counted(text: str, found: re.Match[str], words: str) -> Iterator[Phrase]:
    before, after = text[: found.start()], text[found.end() :]
    nodes = _NODES.search(before) or _NODES.search(after)
    count = _COUNT.search(before)
    if nodes:
        yield Phrase("nodes_count", _plain(nodes[1]), words)
    if count is None or (nodes and nodes.end() == count.end()):
        return
    each = _plain(count[1])
    if nodes and nodes.string is before:
        yield Phrase("accelerators_per_node_count", each, words)
        yield Phrase("accelerators_count", str(int(each) * int(_plain(nodes[1]))), words)
    elif _EACH.match(after):
        yield Phrase("accelerators_per_node_count", each, words)
    else:
        yield Phrase("accelerators_count", each, words)


def _plain(count: str) -> str:
    """A count without what groups its thousands."""
    return re.sub(r"[.,]", "", count)


@cache
def _known(name: str) -> bool:
    try:
        part(re.sub(r"(?i)\b(?:DGX|HGX)\b", "", name))
    except Odd as odd:
        return str(odd.why) == "other_memory"
    return True


def validity_days(text: str) -> int | None:
    """For how many days from its issue the quote holds, when it says so."""
    found = re.search(
        r"(?i)\b(?:valid(?:ity)?|v[aá]lid[ao]|validez|vigencia)\b[^.\d]{0,25}?(\d{1,3})\s+(?:calendar\s+|natural(?:es)?\s+)?(?:days|d[ií]as)\b",
        text,
    )
    return int(found[1]) if found else None


def item_of(text: str) -> dict[str, Any] | None:
    """A line of a quote inside a sentence: ``4 x DGX H100 @ USD 310,000 = USD 1,240,000``."""
    found = re.search(
        rf"{WHOLE}(?P<quantity>{COUNT})\s?[x×]\s+(?P<what>[^@=]{{2,80}}?)\s*(?:@|\bat\b|\ba\b)\s*(?P<unit_price>{MONEY})"
        rf"(?:\s*(?:each|ea\.?|cada un[oa]|c/u))?(?:\s*=\s*(?P<total>{MONEY}))?",
        text,
    )
    return {key: value for key, value in found.groupdict().items() if value} if found else None
