"""What a page of the catalogue or of quotes is asked: the day, the money, the sheet of a long table, an upload."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from cabida.errors import InvalidInput
from cabida.text import iso_day, problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from starlette.datastructures import FormData, UploadFile
    from starlette.requests import Request

ROWS = 60  # of one sheet of a long table
LONGEST = 120  # letters of anything searched for
MOST_FIELDS = 200
NUMBER = re.compile(r"\d{1,15}(?:[.,]\d{1,9})?")


def store_of(request: Request) -> str | None:
    """The store that the server keeps; ``None`` = where the environment says."""
    return request.app.state.settings.store or None


def day_of(request: Request) -> str:
    """The ISO date that prices are asked for; today when none is given.

    Raises:
        InvalidInput: CB-U005, it is none.
    """
    return iso_day(said(request, "as_of")) or date.today().isoformat()


def currency_of(request: Request, usual: str = "USD") -> str:
    """The ISO code of the money asked for.

    Raises:
        InvalidInput: CB-E057, nobody publishes a rate for it.
    """
    from cabida import facts

    code = said(request, "currency").upper() or usual
    if code and code not in facts.currencies():
        known = ", ".join(sorted(facts.currencies()))
        raise InvalidInput([problem("CB-E057", currency=code, known=known)])
    return code


def said(request: Request, name: str) -> str:
    """One thing of the address's query, bounded."""
    return request.query_params.get(name, "").strip()[:LONGEST]


def figure(request: Request, name: str) -> float | None:
    """A number of the query, ``None`` where there is none; a comma may stand before its decimals.

    Raises:
        InvalidInput: CB-S060, it is no number.
    """
    text = said(request, name)
    if not text:
        return None
    if not NUMBER.fullmatch(text):
        raise InvalidInput([problem("CB-S060", name=name, text=text[:40])])
    return float(text.replace(",", "."))


def address(path: str, query: Mapping[str, Any], **changed: Any) -> str:
    """``path`` with a query, some of it changed; what is empty is left out."""
    whole = {**query, **changed}
    told = urlencode({name: value for name, value in whole.items() if value not in ("", None)}, doseq=True)
    return f"{path}?{told}" if told else path


def part(request: Request, name: str, template: str) -> tuple[str, dict[str, str]]:
    """The template to answer with: its table alone where htmx swaps in ``name``; and what the answer varies by."""
    alone = request.headers.get("hx-target", "").rpartition("#")[2] == name
    return (template.replace(".html", "_table.html") if alone else template), {"Vary": "HX-Target"}


@dataclass(frozen=True, slots=True)
class Sheet:
    """One sheet of a long table: its rows, and the sheets there are. ``at`` counts from 1."""

    rows: Sequence[Any]
    at: int
    sheets_count: int
    rows_count: int


def sheet(request: Request, rows: Sequence[Any], most: int = ROWS) -> Sheet:
    """The rows of the sheet asked for; one beyond the last is the last."""
    count = max(1, -(-len(rows) // most))
    text = said(request, "sheet")
    at = min(max(1, int(text)), count) if text.isdecimal() and len(text) < 7 else 1
    return Sheet(rows[(at - 1) * most : at * most], at, count, len(rows))


def form_of(request: Request) -> AbstractAsyncContextManager[FormData]:
    """The form that was sent, bounded; its files are gone afterwards."""
    return request.form(max_files=4, max_fields=MOST_FIELDS, max_part_size=2**20)


async def upload_of(request: Request, form: FormData, name: str) -> tuple[str, bytes] | None:
    """An uploaded file's name, without folders, and its bytes; ``None`` where none was chosen.

    Raises:
        InvalidInput: CB-S061, it is larger than the server takes.
    """
    file: UploadFile | str | None = form.get(name)
    if file is None or isinstance(file, str) or not file.filename:
        return None
    most = request.app.state.settings.most_upload_bytes
    content = await file.read(most + 1)
    shown = plain_name(file.filename)
    if len(content) > most:
        raise InvalidInput([problem("CB-S061", file=shown, most=f"{most >> 20} MB")])
    return shown, content


def plain_name(name: str) -> str:
    """A file's name without folders and signs that a disk or a page could take for something else."""
    last = re.split(r"[\\/]", name)[-1]
    return re.sub(r"[^\w.,()+ -]+", "-", last).strip(". ")[-LONGEST:] or "file"


def texts_of(form: FormData, *names: str) -> dict[str, str]:
    """Fields of a form as text, bounded."""
    found = {name: form.get(name) for name in names}
    return {name: value.strip()[:LONGEST] if isinstance(value, str) else "" for name, value in found.items()}
