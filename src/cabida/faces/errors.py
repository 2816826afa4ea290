"""How errors are told: located lines on stderr, the same as data on stdout with ``--json``, one exit code each."""

from __future__ import annotations

import json
import re
from contextlib import suppress

import click

from cabida.errors import CabidaError, InvalidInput, Problem
from cabida.text import closest, printable, problem, tr

_NO_CONTEXT = click.Context(click.Command("cabida"))
CLICK_SAYS = {
    r"(?P<value>.+) is not in the range (?P<range>.+)": "range",
    r"(?P<value>.+) is not one of (?P<choices>.+)": "choice",
    r"(?P<value>.+) is not a valid float(?: range)?": "number",
    r"(?P<value>.+) is not a valid integer(?: range)?": "whole",
    r"Option '(?P<name>.+)' requires an argument": "argument",
    r"Got unexpected extra arguments? \((?P<words>.+)\)": "extra",
}
MOST_TOLD = 20  # problems on the screen; --json has them all
WAITS = "CB-B040"  # the brief lacks something that the decision waits for


def exit_code_of(error: BaseException) -> int:
    """0 done, 1 unexpected, 2 usage, 3 invalid, 4 nothing satisfies, 5 endpoint, 6 audit; 7 is no error: it changed."""
    if isinstance(error, CabidaError):
        return error.exit_code
    if isinstance(error, OSError):
        return InvalidInput.exit_code
    return 2 if isinstance(error, click.ClickException) else 1


def _in_our_words(said: str) -> str:
    """What click says in English, in the language in use; what was said by us stays."""
    said = said.rstrip(".")
    for pattern, key in CLICK_SAYS.items():
        if found := re.fullmatch(pattern, said, re.DOTALL):
            return tr(f"faces.refused.{key}", **found.groupdict())
    return said


def problems_of(error: BaseException) -> tuple[Problem, ...]:
    """The error as problems, in the language in use."""
    if isinstance(error, CabidaError):
        return error.problems
    if isinstance(error, click.NoSuchOption):
        near = closest(error.option_name, error.possibilities or ()) or "--help"
        return (problem("CB-U002", name=error.option_name, near=near),)
    if isinstance(error, click.MissingParameter):
        param = error.param
        name = (
            param.get_error_hint(error.ctx).strip("'") if param and error.ctx else str(error.param_hint or "")
        )
        return (problem("CB-U003", name=name),)
    if isinstance(error, click.BadParameter):
        hint = (
            error.param_hint or (error.param and error.param.get_error_hint(error.ctx or _NO_CONTEXT)) or ""
        )
        name = " ".join([hint] if isinstance(hint, str) else hint).strip("'")
        return (problem("CB-U004", what=tr("faces.refused", name=name, why=_in_our_words(error.message))),)
    if isinstance(error, click.ClickException):
        return (problem("CB-U004", what=_in_our_words(error.format_message())),)
    if isinstance(error, OSError):
        why = (error.strerror or str(error)).lower()
        return (problem("CB-U017", place=str(error.filename or tr("faces.the_answer")), why=why),)
    return (problem("CB-U000", kind=type(error).__name__, what=str(error).partition("\n")[0]),)


def tell(error: BaseException, *, as_json: bool, assumed: bool = False) -> None:
    """Print the error's problems; ``assumed`` = defaults were allowed already."""
    problems = problems_of(error)
    if as_json:
        with suppress(OSError):  # stdout itself may be what can't be written
            told = {"errors": [one.as_dict() for one in problems]}
            click.echo(json.dumps(told, ensure_ascii=False, indent=1))
    waits = [one for one in problems if one.code == WAITS]
    if waits:
        click.echo(tr("faces.waits", count=len(waits)), err=True)
    for one in problems[:MOST_TOLD]:
        click.echo(printable(str(one)), err=True)
    if len(problems) > MOST_TOLD:
        click.echo(tr("faces.more_problems", count=len(problems) - MOST_TOLD), err=True)
    if waits and len(waits) == len(problems) and not assumed:
        click.echo(tr("faces.go_on", brief=waits[0].file), err=True)
    elif isinstance(error, InvalidInput) and len(problems) > 1:
        click.echo(tr("faces.faults", count=len(problems)), err=True)
