"""A vendor's quote read from whatever he sends: YAML, CSV, the filled-in spreadsheet, PDF, or text pasted."""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.brief.lines import Said, read_lines
from cabida.errors import InvalidInput
from cabida.evidence.quotes.build import Entry, Form, built
from cabida.evidence.quotes.fields import BY_NAME, GROUPS
from cabida.evidence.quotes.quote import Quote
from cabida.evidence.quotes.words import key
from cabida.evidence.secrets import redacted
from cabida.files import read_bytes
from cabida.text import printable, problem, tr

if TYPE_CHECKING:
    from collections.abc import Iterator

STDIN = "-"
MOST_BYTES = 10_000_000
MOST_TEXT_BYTES = 1_000_000
MOST_NAME = 120
HEADS = (
    (b"PK\x03\x04", "xlsx"),
    (b"%PDF", "pdf"),
    (b"\xd0\xcf\x11\xe0", "xls"),
    (b"\x1f\x8b", "packed"),
    (b"7z\xbc\xaf", "packed"),
    (b"BZh", "packed"),
)
MACROS = (".xlsm", ".xltm", ".xlam", ".xlsb", ".docm")


def read_quote(path: Path | str, *, text: str | None = None) -> Quote:
    """The one quote of a file.

    Args:
        path: YAML, CSV, XLSX, PDF or a text; ``-`` for standard input.
        text: what the file says, when it is given instead of read.

    Raises:
        InvalidInput: CB-Q001 to CB-Q014: it can't be read, holds what isn't read, or says what can't be taken, all
            with their places; CB-Q009, it holds several.
    """
    found = read_quotes(path, text=text)
    if len(found) > 1:
        names = ", ".join(one.vendor or one.quote_id or "?" for one in found)[:200]
        raise InvalidInput([problem("CB-Q009", file=str(path), count=len(found), names=names)])
    return found[0]


def read_quotes(path: Path | str, *, text: str | bytes | None = None) -> tuple[Quote, ...]:
    """The quotes of a file: one, or one for each column of values of a table.

    Args:
        path: as for :func:`read_quote`.
        text: what the file holds, as text or as its bytes, when it is given instead of read.

    Raises:
        InvalidInput: as :func:`read_quote`.
    """
    shown = str(path)
    name = redacted(printable(os.fsencode(Path(path).name).decode("utf-8", "replace"))[:MOST_NAME])
    if Path(path).suffix.lower() in MACROS:
        raise InvalidInput([problem("CB-Q006", file=shown)])
    if isinstance(text, bytes):
        raw = _sound(text, shown)
    else:
        raw = text.encode("utf-8", "replace") if text is not None else _bytes(path, shown)
    sha256 = hashlib.sha256(raw).hexdigest()
    kind = next((kind for mark, kind in HEADS if raw.startswith(mark)), "")
    if kind in ("xls", "packed"):
        raise InvalidInput([problem("CB-Q002", file=shown, line=0, why_not=tr(f"procure.why.{kind}"))])
    try:
        found = _of_kind(kind, raw, path, shown, name, sha256)
    except InvalidInput as error:  # told by the name that was typed
        raise InvalidInput([replace(one, file=shown) for one in error.problems]) from None
    return tuple(replace(one, file=name) for one in found)


def _bytes(path: Path | str, shown: str) -> bytes:
    if shown == STDIN:
        if sys.stdin is None:
            raise InvalidInput([problem("CB-Q001", file=shown, why_not="standard input is closed")])
        raw = sys.stdin.buffer.read(MOST_BYTES + 1)
    else:
        try:
            raw = read_bytes(path, MOST_BYTES)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise InvalidInput([problem("CB-Q001", file=shown, why_not=why)]) from None
    return _sound(raw, shown)


def _sound(raw: bytes, shown: str) -> bytes:
    """The bytes, where there are some and not too many."""
    if len(raw) > MOST_BYTES:
        raise InvalidInput([problem("CB-Q005", file=shown, most=f"{MOST_BYTES >> 20} MB")])
    if not raw.strip(b"\x00 \t\r\n\xef\xbb\xbf\xff\xfe"):
        raise InvalidInput([problem("CB-Q004", file=shown)])
    return raw


def _of_kind(kind: str, raw: bytes, path: Path | str, shown: str, name: str, sha256: str) -> list[Quote]:
    if kind == "xlsx":
        return _workbook(raw, name, sha256)
    if kind == "pdf":
        from cabida.evidence.quotes.pdf import text_of
        from cabida.evidence.quotes.prose import read_prose

        return [read_prose(text_of(raw, name), name, sha256, "pdf")]
    text = _decoded(raw, shown)
    suffix = Path(path).suffix.lower()
    if suffix in (".yaml", ".yml", ".json") or (
        suffix not in (".csv", ".tsv", ".txt", ".md", ".eml") and _is_yaml(text)
    ):
        return [built(_yaml_form(text, name), "yaml", sha256)]
    from cabida.evidence.quotes import sheets

    if suffix in (".csv", ".tsv") or (suffix not in (".txt", ".md", ".eml") and sheets.is_form(text)):
        return [built(form, "csv", sha256) for form in sheets.csv_forms(text, name)]
    from cabida.evidence.quotes.prose import read_prose

    return [read_prose(text, name, sha256, "text")]


def _workbook(raw: bytes, name: str, sha256: str) -> list[Quote]:
    import tempfile

    from cabida.evidence.quotes.sheets import workbook_forms

    with tempfile.TemporaryDirectory() as folder:  # the parser opens the file more than once
        kept = Path(folder) / "quote.xlsx"
        kept.write_bytes(raw)
        return [built(form, "xlsx", sha256) for form in workbook_forms(kept, name, sha256)]


def _decoded(raw: bytes, shown: str) -> str:
    if len(raw) > MOST_TEXT_BYTES:
        raise InvalidInput([problem("CB-Q005", file=shown, most=f"{MOST_TEXT_BYTES // 1_000_000} MB")])
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", "replace")
    if b"\x00" in raw:
        raise InvalidInput([problem("CB-Q002", file=shown, line=0, why_not=tr("procure.why.binary"))])
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def _is_yaml(text: str) -> bool:
    """Whether a text of no telling name is a form in YAML: keys of ours, each at the beginning of a line."""
    keys = [
        line.partition(":")[0].strip()
        for line in text.splitlines()[:400]
        if ":" in line and line[:1].isalpha()
    ]
    own = sum(one in BY_NAME or one in GROUPS or one == "items" for one in keys)
    return own >= 3 and own >= 0.8 * len(keys)


def _yaml_form(text: str, name: str) -> Form:
    """The entries of a form in YAML; groups may be mappings of their own.

    Raises:
        InvalidInput: CB-B002 to CB-B017 as for briefs; CB-Q015, a value is of another shape.
    """
    tree, problems = read_lines(text, name)
    form = Form(name)
    if problems:
        raise InvalidInput(problems)
    wrong = []
    for label, said, line in _flat(tree):
        if key(label) in ("items", "lines", "lineas", "partidas"):
            _yaml_items(form, said, name)
            continue
        held = _scalar(said)
        if held is None:
            wrong.append(problem("CB-Q015", file=name, line=line, label=label[:60]))
        else:
            form.say(Entry(label, held, f"{name}:{line}", line))
    if wrong:
        raise InvalidInput(wrong)
    return form


def _flat(tree: Said) -> Iterator[tuple[str, Said, int]]:
    for label, said in dict(tree.value).items() if isinstance(tree.value, dict) else ():
        if isinstance(said.value, dict) and label.lower() in (
            *GROUPS,
            "quote",
            "oferta",
            "cotización",
            "cotizacion",
        ):
            yield from _flat(said)
        else:
            yield label, said, said.line


def _scalar(said: Said) -> str | None:
    """The text of a value, a list joined; ``None`` when it is of a shape that no field has."""
    if said.value is None:
        return ""
    if isinstance(said.value, str):
        return said.raw if said.quoted else said.value
    if isinstance(said.value, list) and all(isinstance(one.value, str) for one in said.value):
        return "; ".join(str(one.value) for one in said.value)
    return None


def _yaml_items(form: Form, said: Said, name: str) -> None:
    rows: Any = said.value or []
    if not isinstance(rows, list) or not all(isinstance(one.value, dict) for one in rows):
        raise InvalidInput([problem("CB-Q015", file=name, line=said.line, label="items")])
    for number, row in enumerate(rows, 1):
        for label, part in row.value.items():
            text = _scalar(part)
            if text is None:
                raise InvalidInput(
                    [problem("CB-Q015", file=name, line=part.line, label=f"items.{label[:40]}")]
                )
            form.say(Entry(f"item.{number}.{label}", text, f"{name}:{part.line}", part.line))
