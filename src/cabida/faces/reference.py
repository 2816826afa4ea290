"""docs/commands.md, written from the commands themselves: ``python -m cabida.faces.reference docs/commands.md``.

A second word is the language: ``python -m cabida.faces.reference docs/es/commands.md es``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from cabida.faces.cli import cli
from cabida.text import speaking, tr

EXIT_CODES = (0, 1, 2, 3, 4, 5, 6, 7, 130)


def reference(language: str = "en") -> str:
    """The page: every command's help, and the exit codes, in a language."""
    with speaking(language):
        blocks = [f"# {tr('faces.reference.title')}", tr("faces.reference.intro")]
        root = click.Context(
            cli, info_name="cabida", terminal_width=88, max_content_width=88, **cli.context_settings
        )
        blocks += [f"```text\n{cli.get_help(root)}\n```"]
        for path, help_text in _pages(cli, root):
            blocks += [f"## {path}", f"```text\n{help_text}\n```"]
        rows = [f"| {code} | {tr(f'faces.exit.{code}')} |" for code in EXIT_CODES]
        blocks += [f"## {tr('faces.reference.exits')}", "\n".join(["| | |", "| --- | --- |", *rows])]
    return "\n\n".join(blocks) + "\n"


def _pages(group: click.Group, above: click.Context) -> Iterator[tuple[str, str]]:
    for name in group.list_commands(above):
        command = group.get_command(above, name)
        if command is None:
            continue
        context = click.Context(
            command, info_name=name, parent=above, terminal_width=88, max_content_width=88
        )
        yield context.command_path, command.get_help(context)
        if isinstance(command, click.Group):
            yield from _pages(command, context)


if __name__ == "__main__":
    from cabida.files import write_text

    write_text(Path(sys.argv[1]), reference(*sys.argv[2:3]))
