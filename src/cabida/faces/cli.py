"""The ``cabida`` command: a group whose commands are imported only when they are called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from cabida.errors import CabidaError, UsageProblem
from cabida.faces.errors import exit_code_of, tell
from cabida.faces.words import Group, Option, pick_language
from cabida.text import LOCALES, closest, problem, tr, use_language

# name -> module under cabida.faces; the order is the order of help
COMMANDS = {
    "init": "commands_brief",
    "check": "commands_brief",
    "recommend": "commands_brief",
    "fit": "commands_ask",
    "here": "commands_here",
    "speed": "commands_speed",
    "cost": "commands_cost",
    "hold": "commands_hold",
    "own": "commands_own",
    "mix": "commands_mix",
    "ask": "commands_question",
    "compare": "commands_facts",
    "facts": "commands_facts",
    "models": "commands_facts",
    "prices": "commands_prices",
    "quote": "commands_quote",
    "explain": "commands_record",
    "record": "commands_record",
    "launch": "commands_launch",
    "rerun": "commands_living",
    "diff": "commands_living",
    "bench": "commands_bench",
    "track": "commands_track",
    "traffic": "commands_traffic",
    "validate": "commands_record",
    "calibrate": "commands_calibrate",
    "observe": "commands_observe",
    "observations": "commands_observe",
    "store": "commands_store",
    "serve": "commands_serve",
    "mcp": "commands_mcp",
}

# what a group named without a command raises, its message the help; click 8.1 shows the help itself
BARE: type[click.UsageError] = getattr(
    click.exceptions, "NoArgsIsHelpError", type("Bare", (click.UsageError,), {})
)


class Cabida(Group):
    """The root group: lazy commands, one way of telling errors, documented exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the flow."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now; ``None`` when there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"cabida.faces.{COMMANDS[cmd_name]}")
        found: click.Command = getattr(module, cmd_name)
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        """As click does, but an unknown command names the nearest."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = closest(args[0], COMMANDS) or "cabida --help"
            raise UsageProblem([problem("CB-U001", name=args[0], near=near)])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands from the catalogue alone, so that help imports none of them."""
        with formatter.section(tr("faces.commands")):
            formatter.write_dl([(name, tr(f"faces.command.{name}.short")) for name in COMMANDS])

    def invoke(self, ctx: click.Context) -> Any:
        """As click does, but a reader that goes away (``| head``) is no error."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            sink = os.open(os.devnull, os.O_WRONLY)
            os.dup2(sink, sys.stdout.fileno())
            ctx.exit(0)

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> NoReturn:
        """Run; every error becomes text on stderr (and JSON on stdout with ``--json``) and an exit code."""
        words = list(sys.argv[1:] if args is None else args)
        use_language(pick_language(words))
        options["standalone_mode"] = False
        try:
            code = super().main(words, *rest, **options)
        except (KeyboardInterrupt, click.exceptions.Abort):
            click.echo(tr("faces.interrupted"), err=True)
            sys.exit(130)
        except click.exceptions.Exit as done:
            sys.exit(done.exit_code)
        except BARE as bare:
            click.echo(bare.format_message(), err=True)
            sys.exit(bare.exit_code)
        except Exception as error:
            if os.environ.get("CABIDA_DEBUG") == "1" and not isinstance(
                error, CabidaError | click.ClickException
            ):
                raise
            tell(error, as_json="--json" in words, assumed="--assume" in words)
            sys.exit(exit_code_of(error))
        sys.exit(code if isinstance(code, int) else 0)


def _make_streams_safe() -> None:
    """A closed stream swallows what is written; an alphabet without ``×`` shows a question mark instead."""
    for handle in range(3):  # else a file opened later takes its number, and another process writes into it
        try:
            os.fstat(handle)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
        else:
            stream.reconfigure(encoding="utf-8" if "--json" in sys.argv else None, errors="replace")


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from cabida import __version__, facts

    click.echo(f"cabida {__version__} (facts {facts.digest()[:12]})")
    ctx.exit()


@click.group(cls=Cabida, name="cabida", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, cls=Option)
@click.option("--lang", type=click.Choice(LOCALES), expose_value=False, cls=Option)
def cli() -> None:
    """Root; its help is text ``faces.command.cabida``."""


def main() -> NoReturn:
    """Entry point of the console script."""
    try:
        _make_streams_safe()
        cli.main(prog_name="cabida")
    except KeyboardInterrupt:  # before the group listens
        click.echo(tr("faces.interrupted"), err=True)
        sys.exit(130)
