"""``quote``: vendors' quotes. Each command is imported when it is called."""

from __future__ import annotations

from importlib import import_module

import click

from cabida.faces.words import Group

ELSEWHERE = {  # name -> module and name there
    "audit": ("commands_quote_audit", "audit"),
    "compare": ("commands_quote_audit", "compare"),
}


class QuoteGroup(Group):
    """The group, whose larger commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Its commands, those from elsewhere last."""
        return [*super().list_commands(ctx), *ELSEWHERE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of them."""
        if cmd_name not in ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        module, name = ELSEWHERE[cmd_name]
        found: click.Command = getattr(import_module(f"cabida.faces.{module}"), name)
        return found


@click.group(cls=QuoteGroup)
def quote() -> None:
    """Vendors' quotes."""
