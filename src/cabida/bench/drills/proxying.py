"""The proxy as a command: ``python -m cabida.bench.drills.proxy LISTEN TO [--delay 0.2 ...]``, changed by lines typed.

A line is ``delay=0.2 jitter=0.05``, ``bandwidth=20000``, ``cut-after=500 reset``, ``stall``, ``half-open``,
``refuse``, ``clear``, ``cut`` or ``cut reset`` (what is open, now), ``counts`` or ``quit``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ipaddress
import math
import os
import signal
import stat
import sys
from collections.abc import Sequence
from dataclasses import asdict

from cabida.bench.drills.proxy import Fault, Proxy, place
from cabida.errors import EndpointFailed
from cabida.text import closest, number, printable, problem, tr

LINE_BYTES_MOST = 4096
FIGURES = {
    "delay": "delay_s",
    "jitter": "jitter_s",
    "bandwidth": "bytes_per_s",
    "cut-after": "cut_after_bytes",
}
FLAGS = {"reset": "reset", "stall": "stall", "half-open": "half_open", "refuse": "refuse"}
WORDS = (*FIGURES, *FLAGS, "clear", "cut", "counts", "quit")


def fault_of(words: Sequence[str]) -> Fault:
    """The fault that words describe, ``name=value`` or a flag; ``clear`` or none = transparent.

    Raises:
        ValueError: a word that is none of these, or a value that can't be; its text is for people.
    """
    said: dict[str, float | int | bool] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name in FLAGS and not value:
            said[FLAGS[name]] = True
        elif name in FIGURES:
            said[FIGURES[name]] = _figure(name, value)
        elif word != "clear":
            raise ValueError(
                tr(
                    "drills.proxy_word",
                    word=printable(word)[:60],
                    near=closest(name, WORDS) or ", ".join(WORDS),
                )
            )
    return Fault(**said)  # type: ignore[arg-type]


def _figure(name: str, text: str) -> float | int:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0 or (name == "bandwidth" and value == 0):
        raise ValueError(tr("drills.proxy_value", name=name, value=printable(text)[:60]))
    return int(value) if name == "cut-after" else value


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def serve(listen: str, to: str, fault: Fault, seed: int) -> int:
    """Run the proxy until ``quit``, SIGTERM or Ctrl-C; returns the exit code.

    Raises:
        EndpointFailed: CB-D035, it can't listen there.
    """
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for which in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(which, ended.set)
    try:
        async with Proxy(listen, to, fault, seed) as proxy:
            _say(tr("drills.proxy_listens", listen=proxy.address, to=to))
            typing = asyncio.ensure_future(_typed(proxy, ended))
            await ended.wait()
            typing.cancel()
            await asyncio.gather(typing, return_exceptions=True)
            _say(_counts(proxy))
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise EndpointFailed([problem("CB-D035", listen=printable(listen), why=why)]) from None
    return 0


def places(listen: str, to: str) -> tuple[str, str]:
    """The hosts of both addresses.

    Raises:
        ValueError: one is none, or nobody could be reached by it; its text is for people.
    """
    here, there = place(listen), place(to)
    if there[1] == 0:
        raise ValueError(tr("drills.proxy_place", text=printable(to)[:100]))
    if here == there:
        raise ValueError(tr("drills.proxy_itself", text=printable(to)[:100]))
    return here[0], there[0]


def _is_typed() -> bool:
    """Whether lines can come: of a file, or of nothing, the loop of events can't wait for any."""
    mode = os.fstat(0).st_mode
    return os.isatty(0) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


async def _typed(proxy: Proxy, ended: asyncio.Event) -> None:
    """Lines of standard input; its end leaves the proxy as it is."""
    reader = asyncio.StreamReader(limit=LINE_BYTES_MOST)
    loop = asyncio.get_running_loop()
    try:
        if not _is_typed():
            return
        source = os.fdopen(os.dup(0), "rb", buffering=0)
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)
    except (OSError, ValueError):  # a file or nothing: there is nobody who types
        return
    try:
        while line := await reader.readline():
            words = line.decode(errors="replace").split()
            if not words:
                continue
            if words[0] == "quit":
                ended.set()
                return
            if words[0] == "cut":
                _say(tr("drills.proxy_cut", count=proxy.cut(reset="reset" in words)))
            elif words[0] == "counts":
                _say(_counts(proxy))
            else:
                await _changed(proxy, words)
    except ValueError:  # a line without end
        return
    finally:
        transport.close()


async def _changed(proxy: Proxy, words: list[str]) -> None:
    try:
        await proxy.change(fault_of(words))
        _say(tr("drills.proxy_changed", fault=_shown(proxy.fault)))
    except ValueError as error:
        _say(str(error))
    except OSError as error:
        _say(tr("drills.proxy_no_place", listen=proxy.address, why=error.strerror or ""))


def _shown(fault: Fault) -> str:
    names = {field: name for name, field in (FIGURES | FLAGS).items()}
    parts = [
        names[field] if value is True else f"{names[field]}={number(value)}"
        for field, value in asdict(fault).items()
        if value
    ]
    return " ".join(parts) or "clear"


def _counts(proxy: Proxy) -> str:
    counts = {name: f"{value:,}" for name, value in asdict(proxy.counts).items()}
    return tr("drills.proxy_counts", **counts)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code: 2 for what can't be meant, 5 where it can't listen."""
    reader = argparse.ArgumentParser(prog="python -m cabida.bench.drills.proxy")
    reader.add_argument("listen", metavar="LISTEN")
    reader.add_argument("to", metavar="TO")
    for name in FIGURES:
        reader.add_argument(f"--{name}")
    for name in FLAGS:
        reader.add_argument(f"--{name}", action="store_true")
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("--yes", action="store_true")
    said = vars(reader.parse_args(arguments))
    words = [name for name in FLAGS if said[name.replace("-", "_")]]
    words += [f"{name}={said[key]}" for name in FIGURES if said[key := name.replace("-", "_")] is not None]
    try:
        fault = fault_of(words)
        hosts = places(said["listen"], said["to"])
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if not said["yes"] and not all(is_loopback(host) for host in hosts):
        sys.stderr.write(f"{tr('drills.proxy_yes')}\n")
        return 2
    try:
        return asyncio.run(serve(said["listen"], said["to"], fault, said["seed"]))
    except EndpointFailed as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
