"""``bench selftest`` and ``bench proxy``: the client's own error, and a network that can be made bad."""

from __future__ import annotations

from typing import Any

import click

from cabida.errors import UsageProblem
from cabida.faces.output import emit, watched
from cabida.faces.words import Command, option, shared
from cabida.text import problem

HONEST, NOT_HONEST = 0, 1


def _streams(_: click.Context, __: click.Parameter, text: str) -> tuple[int, ...]:
    """``1,64,256`` as numbers."""
    try:
        found = tuple(sorted({int(one) for one in text.split(",") if one.strip()}))
    except ValueError:
        found = (0,)
    if any(not 1 <= one <= 4096 for one in found):
        raise click.BadParameter(str(problem("CB-N007", text=text).what))
    return found


@click.command(cls=Command)
@option("--streams", metavar="N,N,...", default="", callback=_streams)
@shared
def selftest(streams: tuple[int, ...], as_json: bool, as_of: str | None) -> None:
    """The client against a server that knows the truth. Exit 1 where it was wrong and didn't say so."""
    from cabida import app

    with watched() as progress:
        done = 0

        def told(_: Any) -> None:
            nonlocal done
            done += 1
            if progress is not None:
                progress("selftest", done, 0)

        found = app.bench_selftest(streams, told=told)

    def screen() -> Any:
        from cabida.faces import bench_screens

        return bench_screens.selftest(found)

    emit(found.as_dict(), screen, as_json=as_json)
    click.get_current_context().exit(HONEST if found.is_honest else NOT_HONEST)


@click.command(cls=Command)
@click.argument("listen")
@click.argument("to")
@click.argument("faults", nargs=-1, metavar="[FAULT]...")
@option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@option("--yes", is_flag=True)
@shared
def proxy(
    listen: str, to: str, faults: tuple[str, ...], seed: int, yes: bool, as_json: bool, as_of: str | None
) -> None:
    """A TCP proxy between a client and a server, whose faults change as it is told on standard input."""
    import asyncio

    from cabida.bench.drills.proxying import fault_of, is_loopback, places, serve

    try:
        fault = fault_of(list(faults))
        hosts = places(listen, to)
    except ValueError as error:
        raise UsageProblem([problem("CB-N008", why=str(error))]) from None
    if not yes and not all(is_loopback(host) for host in hosts):
        raise UsageProblem([problem("CB-N009")])
    click.get_current_context().exit(asyncio.run(serve(listen, to, fault, seed)))
