"""``quote``: vendors' quotes. Each command is imported when it is called."""

from __future__ import annotations

import click

from cabida.faces.words import FarGroup

ELSEWHERE = {  # name -> module and name there
    "audit": ("commands_quote_audit", "audit"),
    "compare": ("commands_quote_audit", "compare"),
}


@click.group(cls=FarGroup, elsewhere=ELSEWHERE)
def quote() -> None:
    """Vendors' quotes."""
