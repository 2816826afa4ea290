"""A quote written as an e-mail, a letter or the text of a PDF: labelled lines, tables and sentences.

What is taken from prose is graded and shown for confirmation; what isn't understood is listed, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Any

from cabida.errors import InvalidInput
from cabida.evidence.quotes.build import item_number, part_named, reason
from cabida.evidence.quotes.fields import BY_NAME, Field
from cabida.evidence.quotes.found import BULLET, Found, Line
from cabida.evidence.quotes.quote import Amount, Quote, QuoteItem, Seen
from cabida.evidence.quotes.sentences import MONEY, Phrase, item_of, phrases, validity_days
from cabida.evidence.quotes.values import Bad, Manner, clean, value
from cabida.evidence.quotes.words import field_named, unknown
from cabida.text import problem, tr

MOST_LINES = 5_000
MOST_LINE = 1_000
LONG = (  # fields that may go on for more than one sentence
    "acceptance_test", "delay_penalty", "export_control", "fx_clause", "incoterms", "notes", "price_adjustment_clause",
    "ramp_schedule", "sla_exclusions", "sub_processors",
)  # fmt: skip
WRAPPED_CHARS = 45  # a line this long goes on in the next one
_CELLS = re.compile(r"\s*\|\s*|\t+|\s{2,}")
_LABEL = re.compile(r"^([A-Za-zÀ-ÿ][^:=|]{0,60}?)\s*(?::|=|\s[-–—]\s)\s*(.*)$", re.DOTALL)
_SAID_TOO = re.compile(r"(?<=[.;])\s+(?=[A-ZÁÉÍÓÚ][^:.;\d]{2,40}:\s)")  # a second label in a line
_SENTENCE = re.compile(
    r"(?<!\bno\.)(?<!\bNo\.)(?<!\bn\.)(?<!\bref\.)(?<!\bRef\.)(?<=[.;!?])\s+(?=[A-ZÁÉÍÓÚÑ¿¡0-9])"
)
_SPANISH = re.compile(
    r"(?i)\b(?:el|la|los|las|de|del|por|precio|oferta|plazo|meses|garant[ií]a|fecha|incluye|disponibilidad|pago)\b"
)
_ENGLISH = re.compile(
    r"(?i)\b(?:the|of|and|per|price|quote|term|months|warranty|date|includes?|uptime|payment|with|for)\b"
)
_FIRM = re.compile(
    r"((?:[A-ZÁÉÍÓÚ][\w&.'-]*,?\s+){1,6}(?:Ltd|Limited|Inc|LLC|LLP|GmbH|AG|AS|ASA|AB|BV|B\.V\.|NV|SAS|SARL|SL|S\.L\.U?\.?|SA|S\.A\."
    r"(?: de C\.V\.)?|PLC|plc|Corp|Corporation|Oy|Pte\.? Ltd)\.?)(?=\s*$|\s*[-–|,(])"
)
_HEADED = re.compile(
    r"([A-Z][\w&. ]{1,40}?)\s+[-–|]\s+(?=(?:offer|quot|proposal|oferta|cotiza|presupuesto))", re.IGNORECASE
)
_TO = re.compile(r"(?i)^\s*(?:to|para|a la atenci[oó]n|attn|customer|cliente|bill to)\b")
_GREETING = re.compile(
    r"(?i)(?:hi|hello|dear|hola|estimad[oa]s?|buen[oa]s|thanks?|thank you|gracias|(?:best|kind|warm)?\s*regards|"
    r"(?:un )?(?:cordial )?saludos?|atentamente|sincerely|cheers|we look forward|quedamos)\b"
)
_ENDLESS = re.compile(r"\S{300,}")  # neither word nor figure, and slow to look for one in
_FIGURE = re.compile(rf"{MONEY}|\d[\d.,]*\s?%")


def read_prose(text: str, name: str, sha256: str, kind: str) -> Quote:
    """The quote that a text tells.

    Raises:
        InvalidInput: CB-Q004, nothing in it was understood; CB-Q005, it is too long.
    """
    lines = _lines(text, name, paged=kind == "pdf")
    found = Found(_manner(text))
    rest = _tables(lines, found)
    plain: list[Line] = []
    for line in rest:
        if not _labelled(line, found):
            plain.append(line)
    _signed(plain, found)
    for place, sentence in _sentences(plain, [one.place for one in lines]):
        _sentence(place, sentence, found)
    _until(found)
    if not found.values and not found.items:
        raise InvalidInput([problem("CB-Q004", file=name)])
    seen = tuple(found.seen[one] for one in BY_NAME if one in found.seen)
    return Quote(
        **found.values,
        items=tuple(found.items),
        seen=seen,
        left=tuple(found.left),
        file=name,
        form=kind,
        sha256=sha256,
    )


def _lines(text: str, name: str, *, paged: bool) -> list[Line]:
    found: list[Line] = []
    for page, part in enumerate(text.split("\f"), 1):
        for number, raw in enumerate(part.splitlines(), 1):
            if len(found) >= MOST_LINES:
                raise InvalidInput([problem("CB-Q005", file=name, most=MOST_LINES)])
            place = f"{name}:p{page}:{number}" if paged else f"{name}:{number}"
            found += [Line(place, part) for part in _SAID_TOO.split(raw[:MOST_LINE].rstrip())]
    return found


def _manner(text: str) -> Manner:
    """The language of a text, how it writes decimals, and the one currency of its figures."""
    from cabida import facts

    head = _ENDLESS.sub(" ", text[:100_000])
    spanish = len(_SPANISH.findall(head)) > len(_ENGLISH.findall(head))
    figures = _FIGURE.findall(head)[:2_000]
    comma = sum(bool(re.search(r"\d,\d{1,2}(?!\d)|\.\d{3},\d", one)) for one in figures)
    point = sum(bool(re.search(r"\d\.\d{1,2}(?!\d)|,\d{3}\.\d", one)) for one in figures)
    decimal_comma = None if bool(comma) == bool(point) else bool(comma)
    codes = {code for one in figures for code in re.findall(r"[A-Z]{3}", one) if code in facts.currencies()}
    codes |= {"EUR"} if any("€" in one or "euro" in one.lower() for one in figures) else set()
    codes |= {"GBP"} if any("£" in one for one in figures) else set()
    stated = re.search(
        r"(?im)^\W*(?:currency|moneda|divisa|all prices in|precios en)\s*[:\s]\s*([A-Z]{3})\b", head
    )
    language = "es" if spanish else "en"
    if stated and stated[1] in facts.currencies():
        return Manner(stated[1], decimal_comma, prose=True, language=language, day_first=_day_first(head))
    dollars = any("$" in one for one in figures)
    if dollars and not codes and not spanish:
        codes = {"USD"}
    code = codes.pop() if len(codes) == 1 else ""
    return Manner(code, decimal_comma, prose=True, language=language, day_first=_day_first(head))


def _day_first(text: str) -> bool | None:
    """Whether dates have the day first, as those of a text show that can be read in one way only."""
    pairs = [(int(a), int(b)) for a, b in re.findall(r"(?<!\d)(\d{1,2})[/.-](\d{1,2})[/.-]\d{4}(?!\d)", text)]
    first = any(a > 12 >= b for a, b in pairs)
    second = any(b > 12 >= a for a, b in pairs)
    return first if first != second else None


# ---- tables of lines with quantity and price


def _tables(lines: Sequence[Line], found: Found) -> list[Line]:
    """Take the rows under a header of items; the lines that are none."""
    rest: list[Line] = []
    head: dict[int, str] = {}
    for line in lines:
        cells = [cell.strip() for cell in _CELLS.split(line.raw.strip().strip("|")) if cell.strip()]
        parts = {at: part for at, cell in enumerate(cells) if (part := part_named(cell))}
        if len(set(parts.values())) >= 3 and "what" in parts.values():
            head = parts
            continue
        if head and set(line.raw.strip()) <= set("-=+| :"):
            if not line.raw.strip():
                head = head if not found.items else {}
            continue
        if head and len(cells) == max(head) and (glued := re.fullmatch(r"(.*\D)\s(\d{1,6})", cells[0])):
            cells = [glued[1], glued[2], *cells[1:]]  # a long name touches the quantity behind it
        if head and len(cells) > max(head) and _row(line, cells, head, found):
            continue
        rest.append(line)
    return rest


def _row(line: Line, cells: Sequence[str], head: dict[int, str], found: Found) -> bool:
    said = {part: cells[at] for at, part in head.items() if not unknown(cells[at])}
    return _item(line.place, said, line.text, found)


def _item(place: str, said: dict[str, str], words: str, found: Found) -> bool:
    held: dict[str, Any] = {}
    try:
        for part in ("unit_price", "total"):
            if part in said:
                held[part] = value(
                    BY_NAME["unit_price" if part == "unit_price" else "total_price"], said[part], found.manner
                )
        if "quantity" in said:
            held["quantity"] = item_number(said["quantity"], found.manner)
    except Bad as bad:
        found.leave(place, words, reason(bad))
        return False
    if not held:
        return False
    if len(found.items) < 200:
        found.items.append(QuoteItem(said.get("what", ""), said.get("unit"), place=place, **held))
    for phrase in phrases(said.get("what", "")):
        if phrase.field in (
            "accelerator",
            "form_factor",
            "accelerator_memory_gb",
            "condition",
            "interconnect",
        ):
            found.take(BY_NAME[phrase.field], phrase.text, place, words, "sentence")
    return True


# ---- labelled lines


def _labelled(line: Line, found: Found) -> bool:
    """Take a line that begins with the name of a field; whether it was one."""
    label, text = _split(line)
    one = field_named(label) if label else None
    if one is None:
        return False
    if not text or unknown(text.rstrip(".")):
        return bool(text) or not label
    if one.name not in LONG and one.kind not in ("ladder", "list"):
        text = _SENTENCE.split(text)[0]
    if one.name == "quote_id":  # and what follows it on the line is another matter
        text = re.split(r",\s|;\s|\s\(", text)[0]
    text = text if one.name.startswith("vendor") else text.rstrip(".;")
    if (days := validity_days(line.text)) is not None and one.name == "expires":
        found.days = (days, line.place, line.text)
        return True
    told = [one_told for one_told in phrases(line.text) if not _another_fee(one, one_told)]
    if one.name == "accelerator" and any(phrase.field == "accelerator" for phrase in told):
        _phrases(line.place, told, found, "labelled")
        return True
    before = len(found.left)
    if found.take(one, text, line.place, line.text, "labelled"):
        _phrases(line.place, [phrase for phrase in told if phrase.field != one.name], found, "sentence")
        return True
    if _phrases(line.place, told, found, "labelled"):
        del found.left[before : before + 1]  # the sentence says what the label alone did not
    return True


def _another_fee(labelled: Field, told: Phrase) -> bool:
    """Whether a phrase takes the price of a labelled line for the price of something else."""
    other = BY_NAME.get(told.field)
    return labelled.kind == "money" and other is not None and other.kind == "money" and other != labelled


def _split(line: Line) -> tuple[str, str]:
    text = line.text
    cells = [cell for cell in _CELLS.split(BULLET.sub("", line.raw).strip().strip("|")) if cell.strip()]
    if len(cells) == 2 and field_named(cells[0].rstrip(" :.")):
        return cells[0].rstrip(" :."), cells[1].strip()
    if found := re.match(r"^(.{2,60}?)\s*\.{3,}\s*(.+)$", text):
        return found[1], found[2]
    if found := _LABEL.match(text):
        return found[1].strip(" *_"), found[2].strip(" *_")
    return "", ""


# ---- sentences


def _signed(plain: list[Line], found: Found) -> None:
    """The firm that a letter is headed or signed with; a line after "to" or "customer" is somebody else's."""
    said = [line for line in plain if line.raw.strip()]
    for line in (*said[:3], *said[-5:]):
        name = _FIRM.match(line.text) or (_HEADED.match(line.text) if line is said[0] else None)
        if name is None or any(before is not line and _TO.match(before.text) for before in said[:3]):
            continue
        for field_name in ("vendor_legal_entity", "vendor") if name.re is _FIRM else ("vendor",):
            if field_name not in found.values:
                found.take(BY_NAME[field_name], name[1], line.place, line.text, "sentence")
        if name[1] == line.text:
            plain.remove(line)
        return


def _sentences(plain: Sequence[Line], order: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The sentences of what has no label, with the place where each begins; wrapped lines are joined."""
    at = {place: number for number, place in enumerate(order)}
    held: list[Line] = []
    for line in plain:
        goes_on = (
            held
            and at[line.place] == at[held[-1].place] + 1
            and len(held[-1].raw.strip()) >= WRAPPED_CHARS
            and not BULLET.match(line.raw)
            and held[-1].raw.strip()[-1:] not in ".:;"
        )
        if not line.raw.strip():
            yield from _parted(held)
            held = []
        elif goes_on:
            held.append(line)
        else:
            yield from _parted(held)
            held = [line]
    yield from _parted(held)


def _parted(held: Sequence[Line]) -> Iterator[tuple[str, str]]:
    if not held:
        return
    text = " ".join(line.text for line in held)
    ends, so_far = [], 0
    for line in held:
        so_far += len(line.text) + 1
        ends.append(so_far)
    start = 0
    for sentence in _SENTENCE.split(text):
        begins = text.find(sentence, start)
        start = begins + len(sentence)
        line = next((line for line, end in zip(held, ends, strict=True) if begins < end), held[-1])
        yield line.place, sentence


def _sentence(place: str, text: str, found: Found) -> None:
    if not re.search(r"\w", text) or (_GREETING.match(text) and not re.search(r"\d", text)):
        return
    if unknown(text.rpartition(":")[2].rstrip(".")) and ":" in text:
        return  # says that it isn't known
    known = len(found.left)
    if (days := validity_days(text)) is not None:
        found.days = found.days or (days, place, text)
    if (said := item_of(text)) is not None:
        _item(place, said, text, found)
    taken = _phrases(place, list(phrases(text)), found, "sentence") or days is not None or said is not None
    if re.search(r"(?i)\b(?:below|under|less than|<|inferior|por debajo|menos de)", text) and re.search(
        r"(?i)cr[eé]dit", text
    ):
        taken = found.take(BY_NAME["credit_ladder"], text, place, text, "sentence") or taken
    if not taken and len(found.left) == known:
        found.leave(place, text, tr("procure.why.not_understood"))


def _phrases(place: str, told: Sequence[Phrase], found: Found, grade: str) -> bool:
    """Take what phrases say: of each field the first; whether any was taken."""
    done: set[str] = set()
    of_room = any(phrase.field == "site_cooling" for phrase in told)
    taken = False
    for phrase in told:
        if phrase.field in done or phrase.field not in BY_NAME or (phrase.field == "cooling" and of_room):
            continue
        ok = found.take(BY_NAME[phrase.field], phrase.text, place, phrase.words, "sentence")
        if ok:
            done.add(phrase.field)
            if grade == "labelled" and phrase.field in found.seen and found.seen[phrase.field].place == place:
                one = found.seen[phrase.field]
                found.seen[phrase.field] = Seen(one.field, one.place, one.words, grade)
        taken = taken or ok
    return taken


def _until(found: Found) -> None:
    """The last day of a quote that holds for so many days from its date; the currency of its amounts."""
    issued = found.values.get("issued")
    if found.days and "expires" not in found.values:
        days, place, words = found.days
        if issued:
            last = date.fromisoformat(issued) + timedelta(days=days)
            found.values["expires"] = last.isoformat()
            found.seen["expires"] = Seen("expires", place, clean(words)[:300], "sentence")
        else:
            found.leave(place, words, tr("procure.why.no_issue_date"))
    if "currency" not in found.values and found.manner.currency:
        first = next(
            (one for name, one in found.seen.items() if isinstance(found.values[name], Amount)), None
        )
        if first is not None:
            found.values["currency"] = found.manner.currency
            found.seen["currency"] = Seen("currency", first.place, first.words, "sentence")
