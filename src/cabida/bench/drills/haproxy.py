"""HAProxy's admin socket: drain a server, wait until nothing runs on it, take it back; also as a drill's command.

``python -m cabida.bench.drills.haproxy SOCKET drain be/s1 --wait 30`` and ``... ready be/s1``, ``... states``.
The commands are those of the Runtime API: HAProxy Management Guide 2.6, section 9.3 ("set server", "show stat").
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from cabida.bench.clock import now_s
from cabida.errors import CabidaError, EndpointFailed, InvalidInput
from cabida.text import printable, problem, tr

ANSWER_BYTES_MOST = 1_048_576
ANSWER_S = 5.0
NAMED = re.compile(r"[\w.:-]{1,200}/[\w.:-]{1,200}")
STATES = ("drain", "ready", "maint")


@dataclass(frozen=True, slots=True)
class ServerState:
    """One server of a backend: ``status`` as HAProxy writes it (UP, DOWN, DRAIN, MAINT ...), sessions running now."""

    backend: str
    server: str
    status: str
    sessions_count: int


async def ask(path: str, text: str) -> str:
    """Send one command to an admin socket (a path, or ``host:port``) and return the answer.

    Raises:
        EndpointFailed: CB-D020, nobody answers there in time, or says too much.
    """
    try:
        async with asyncio.timeout(ANSWER_S):
            host, _, port = path.rpartition(":")
            if port.isdecimal() and "/" not in path:
                reader, writer = await asyncio.open_connection(host or "127.0.0.1", int(port))
            else:
                reader, writer = await asyncio.open_unix_connection(path)
            try:
                writer.write(text.encode() + b"\n")
                writer.write_eof()
                answer = await _all_of(reader)
            finally:
                writer.close()
    except (OSError, TimeoutError, ValueError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise EndpointFailed([problem("CB-D020", path=path, why=why)]) from None
    return answer.decode(errors="replace").strip()


async def _all_of(reader: asyncio.StreamReader) -> bytes:
    answer = b""
    while piece := await reader.read(65_536):
        answer += piece
        if len(answer) > ANSWER_BYTES_MOST:
            raise ValueError
    return answer


async def put(path: str, server: str, state: str) -> None:
    """Set a server (``backend/server``) to one of STATES.

    Raises:
        InvalidInput: CB-D021 it is no such name, CB-D022 HAProxy refuses.
        EndpointFailed: CB-D020.
    """
    if not NAMED.fullmatch(server) or state not in STATES:
        raise InvalidInput([problem("CB-D021", server=server, known=", ".join(STATES))])
    said = await ask(path, f"set server {server} state {state}")
    if said:
        raise InvalidInput([problem("CB-D022", server=server, why=printable(said)[:300])])


async def states(path: str) -> tuple[ServerState, ...]:
    """Every server of every backend.

    Raises:
        EndpointFailed: CB-D020.
    """
    page = (await ask(path, "show stat -1 4 -1")).removeprefix("# ")
    return tuple(
        ServerState(row["pxname"], row["svname"], row["status"], int(row["scur"] or 0))
        for row in csv.DictReader(page.splitlines())
        if row.get("status") and (row.get("scur") or "0").isdecimal()
    )


async def drained(path: str, server: str, within_s: float) -> float | None:
    """Set ``server`` to drain and wait until nothing runs on it: seconds taken, ``None`` = not within ``within_s``.

    Raises:
        InvalidInput, EndpointFailed: those of :func:`put`.
    """
    began_s = now_s()
    await put(path, server, "drain")
    while now_s() - began_s < within_s:
        of_it = [one for one in await states(path) if f"{one.backend}/{one.server}" == server]
        if of_it and all(one.sessions_count == 0 for one in of_it):
            return now_s() - began_s
        await asyncio.sleep(0.05)
    return None


async def _main(arguments: argparse.Namespace) -> int:
    try:
        if arguments.what == "states":
            for one in await states(arguments.socket):
                _say(f"{one.backend}/{one.server} {one.status} {one.sessions_count}")
        elif arguments.what == "drain":
            took_s = await drained(arguments.socket, arguments.server, arguments.wait)
            _say(
                tr("drills.not_drained") if took_s is None else tr("drills.drained", seconds=f"{took_s:.2f}")
            )
            return 5 if took_s is None else 0
        else:
            await put(arguments.socket, arguments.server, arguments.what)
    except CabidaError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def _say(text: str) -> None:
    sys.stdout.write(f"{printable(text)}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command of the module's docstring; returns its exit code."""
    reader = argparse.ArgumentParser(prog="python -m cabida.bench.drills.haproxy")
    reader.add_argument("socket")
    reader.add_argument("what", choices=(*STATES, "states"))
    reader.add_argument("server", nargs="?", default="")
    reader.add_argument("--wait", type=float, default=60.0)
    return asyncio.run(_main(reader.parse_args(arguments)))


if __name__ == "__main__":
    sys.exit(main())
