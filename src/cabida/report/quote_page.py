"""An audited offer as one file of HTML that asks nothing of anybody, and all that an audit leaves in a folder."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

from cabida.procure import Audit, annex, letter
from cabida.report.quote import head, markdown, parts
from cabida.report.template import template
from cabida.text import locale, printable, tr


def quote_page(made: Audit) -> str:
    """The audit as HTML text, in the language in use."""
    from cabida import __version__

    name, answer = head(made)
    return template("quote.html.j2").render(
        name=printable(name), answer=answer, parts=parts(made), language=locale(), version=__version__,
        as_of=made.as_of, digest=made.digest[:12],
    )  # fmt: skip


def file_name(made: Audit) -> str:
    """What the files of an audit are called: the quote's number, else the file it came from."""
    stem = made.quote_id or Path(made.file).stem or tr("procure.quote")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.")[:60] or "quote"


def files(made: Audit) -> dict[str, str]:
    """File name -> text: the audit as Markdown, page and JSON, the letter and the annex."""
    stem = file_name(made)
    shown = json.dumps(asdict(made), ensure_ascii=False, indent=1, allow_nan=False)
    found = {
        f"{stem}.audit.md": markdown(*head(made), parts(made)),
        f"{stem}.audit.html": quote_page(made),
        f"{stem}.audit.json": shown + "\n",
        f"{stem}.letter.md": letter(made),
    }
    return found | ({f"{stem}.annex.md": annex(made)} if made.annex else {})
