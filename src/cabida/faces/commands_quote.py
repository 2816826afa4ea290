"""``quote``: vendors' quotes. Each command is imported when it is called."""

from __future__ import annotations

import click

from cabida.faces.words import FarGroup

ELSEWHERE = {  # name -> module and name there
    "template": ("commands_quote_keep", "template"),
    "add": ("commands_quote_keep", "add"),
    "list": ("commands_quote_keep", "list_"),
    "show": ("commands_quote_keep", "show"),
    "audit": ("commands_quote_audit", "audit"),
    "compare": ("commands_quote_audit", "compare"),
}


@click.group(cls=FarGroup, elsewhere=ELSEWHERE)
def quote() -> None:
    """Vendors' quotes."""
