"""Commands and options whose help comes from the catalogue, and the options every command has."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from cabida.text import LANGUAGES, LOCALES, has_text, problem, tr, use_language

F = TypeVar("F", bound=Callable[..., Any])
LEAST_FIGURE, MOST_FIGURE = 1e-12, 1e15
_FAR = re.compile(r"(\d+)<=x<=\d{7,}(\.0)?")  # a most that nobody comes near is no news


class Option(click.Option):
    """An option whose help is text ``faces.option.COMMAND.NAME``, else ``faces.option.NAME``.

    Args:
        heading: name of the section of the help that begins with this option (text ``faces.heading.NAME``).
    """

    def __init__(self, *names: Any, heading: str = "", **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.heading = heading

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Look the help up in the language in use, just before it is shown."""
        if self.hidden:
            return None
        key = f"faces.option.{ctx.info_name}.{self.name}"
        self.help = tr(key if has_text(key) else f"faces.option.{self.name}")
        record = super().get_help_record(ctx)
        if record is None:
            return None
        told = record[1].replace("[default:", f"[{tr('faces.default')}:")
        return record[0], _FAR.sub(r"x>=\1", told)

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """As click does, but nothing typed between the quotes (an unset shell variable) is no answer."""
        words = value if isinstance(value, list | tuple) else [value]
        if (
            any(isinstance(word, str) and not word.strip() for word in words)
            and ctx.get_parameter_source(self.name or "") == ParameterSource.COMMANDLINE
        ):
            raise click.BadParameter(tr("faces.empty"), ctx=ctx, param=self)
        return super().process_value(ctx, value)


class Figure(click.FloatRange):
    """A float within bounds that a person can mean: no NaN, no infinity, nothing that overflows what it divides."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """As click does, then the bounds of what can be meant."""
        found = super().convert(value, param, ctx)
        if not LEAST_FIGURE <= abs(found) <= MOST_FIGURE and found != 0:
            self.fail(tr("faces.no_figure", value=value), param, ctx)
        return found


class Spoken(click.Command):
    """Help in the language in use: text ``faces.command.NAME`` (or ``faces.command.PARENT.NAME``)."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The usage line."""
        pieces = " ".join(self.collect_usage_pieces(ctx))
        formatter.write_usage(ctx.command_path, pieces, prefix=f"{tr('faces.usage')}: ")

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What the command does."""
        parent = ctx.parent.info_name if ctx.parent else ""
        nested = f"faces.command.{parent}.{self.name}"
        key = nested if has_text(nested) else f"faces.command.{self.name}"
        for paragraph in tr(key).split("\n\n"):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(paragraph)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options, under a heading wherever one begins."""
        title = tr("faces.options")
        records: list[tuple[str, str]] = []
        for param in self.get_params(ctx):
            heading = getattr(param, "heading", "")
            if heading:
                _section(formatter, title, records)
                title, records = tr(f"faces.heading.{heading}"), []
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record:
                records.append(record)
        _section(formatter, title, records)

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """``--help``, told in the language in use and under the names of this context, whoever asked before."""
        self._help_option = None
        found = super().get_help_option(ctx)
        if found is not None:
            found.help = tr("faces.option.help")
        return found


def _section(formatter: click.HelpFormatter, title: str, records: list[tuple[str, str]]) -> None:
    if not records:  # the first option has a heading of its own
        return
    with formatter.section(title):
        formatter.write_dl(records)


class Command(Spoken):
    """A command that does something."""


class Group(Spoken, click.Group):
    """A group of commands."""

    command_class = Command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options, then the commands."""
        Spoken.format_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, each with the short text of its full name."""
        with formatter.section(tr("faces.commands")):
            formatter.write_dl(
                [
                    (name, tr(f"faces.command.{ctx.info_name}.{name}.short"))
                    for name in self.list_commands(ctx)
                ]
            )


class FarGroup(Group):
    """A group whose commands live in files of their own, each imported when it is called.

    ``elsewhere`` maps a name to its module under ``cabida.faces`` and its name there; ``order`` is that of the help:
    the group's own first where it is left out.
    """

    def __init__(
        self, *args: Any, elsewhere: Mapping[str, tuple[str, str]], order: Sequence[str] = (), **more: Any
    ) -> None:
        super().__init__(*args, **more)
        self.elsewhere = elsewhere
        self.order = order

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Its commands."""
        return list(self.order) or [*super().list_commands(ctx), *self.elsewhere]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of them."""
        if cmd_name not in self.elsewhere:
            return super().get_command(ctx, cmd_name)
        module, name = self.elsewhere[cmd_name]
        found: click.Command = getattr(import_module(f"cabida.faces.{module}"), name)
        return found


def option(*names: str, **settings: Any) -> Callable[[F], F]:
    """``click.option`` with its help in the catalogue."""
    return click.option(*names, cls=Option, **settings)


def shared(function: F) -> F:
    """The options every command takes: ``--json``, ``--lang``, ``--as-of``."""
    function = option("--as-of", callback=_date, metavar="YYYY-MM-DD")(function)
    function = option("--lang", type=click.Choice(LOCALES), callback=_language, expose_value=False)(function)
    return option("--json", "as_json", is_flag=True)(function)


def _language(_: click.Context, __: click.Parameter, code: str | None) -> None:
    if code:
        use_language(code)


def _date(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    if text is None:
        return None
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise click.BadParameter(str(problem("CB-U005", text=text).what)) from None


def pick_language(words: Sequence[str]) -> str:
    """The locale to speak in: ``--lang``, then CABIDA_LANG, LC_ALL, LC_MESSAGES, LANG; else English."""
    asked = [words[at + 1] for at, word in enumerate(words[:-1]) if word == "--lang"]
    asked += [word.partition("=")[2] for word in words if word.startswith("--lang=")]
    asked += [os.environ.get(name, "") for name in ("CABIDA_LANG", "LC_ALL", "LC_MESSAGES", "LANG")]
    chosen = next((one for one in asked if one), "en")
    if chosen.replace("_", "-")[:5].lower() == "es-mx":
        return "es-MX"
    return chosen[:2].lower() if chosen[:2].lower() in LANGUAGES else "en"
