"""The server's process: its socket, its signals, its end."""

from __future__ import annotations

import ctypes
import errno
import pkgutil
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from cabida.errors import InvalidInput
from cabida.faces import web
from cabida.faces.web import limits
from cabida.faces.web.application import application
from cabida.faces.web.ops import log_to
from cabida.text import problem

if TYPE_CHECKING:
    from types import FrameType

    from cabida.faces.web.settings import Settings

MOST_CONNECTIONS = 2000  # at once; who comes then is told to come back
KEPT_OPEN_S = 20  # a connection on which nothing is asked
M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8  # malloc.h
ROOMS = (
    "facts", "evidence", "brief", "plan", "checks", "procure", "choose", "money", "memory", "timing", "report",
    "launch", "app",
)  # fmt: skip


def run(settings: Settings, told: Callable[[str], None], *, log_json: bool = False) -> int:
    """Serve until told to stop; 0.

    Args:
        settings: of the server; port 0 = any that is free.
        told: gets the server's address once it listens.
        log_json: one line of JSON for each request; else only what goes wrong.

    Raises:
        InvalidInput: CB-S033, the address is taken or isn't this machine's.
    """
    log_to(as_json=log_json, requests=log_json)
    load_rooms()
    return_memory()
    sock = _listening(settings)
    url = address(settings, sock.getsockname()[1])
    app = application(settings)
    config = uvicorn.Config(
        app,
        http=_careful(settings.head_s),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=bool(settings.behind),
        forwarded_allow_ips=settings.proxies,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=KEPT_OPEN_S,
        timeout_graceful_shutdown=int(settings.stop_s) + 1,
        reset_contextvars=True,
    )

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            if self.should_exit:
                self.force_exit = sig == signal.SIGINT
                return
            self.should_exit = True
            threading.Thread(target=app.state.jobs.stop_taking, daemon=True).start()

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if not self.should_exit:
                told(url)

    server = Server(config)
    server.run(sockets=[sock])
    return 0 if server.started else 1


def load_rooms() -> None:
    """Import what answering a request would import late.

    Python lets two threads that import modules of one circle go on with one of them half made, so that the first
    requests of many at once would now and then not find a name.
    """
    for whole in (*(import_module(f"cabida.{room}") for room in ROOMS), web):
        for module in pkgutil.walk_packages(whole.__path__, f"{whole.__name__}."):
            if ".migrations" not in module.name:  # these are Alembic's to import
                import_module(module.name)


def return_memory() -> None:
    """Have the C library give back at once what large texts took: a decision is read as a megabyte of JSON.

    Settings of glibc (mallopt(3)); another library goes on as it does.
    """
    set_to = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if set_to is not None:
        set_to(M_MMAP_THRESHOLD, 256 * 1024)
        set_to(M_ARENA_MAX, 2)


def address(settings: Settings, port: int) -> str:
    """What people type to get here."""
    if settings.behind:
        return settings.behind + "/"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{port}/"


def _listening(settings: Settings) -> socket.socket:
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, protocol)
        with ExitStack() as closed:
            closed.callback(sock.close)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(place)
            closed.pop_all()
    except OSError as error:
        why = "taken" if error.errno == errno.EADDRINUSE else (error.strerror or str(error)).lower()
        raise InvalidInput([problem("CB-S033", host=settings.host, port=settings.port, why=why)]) from None
    return sock


def _careful(head_s: float) -> type[HttpToolsProtocol]:
    """The protocol of uvicorn that waits for headers only so long, and reads only so many of them."""

    class Careful(HttpToolsProtocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._in_head, self._head_bytes = True, 0
            self._patience = self.loop.call_later(head_s, self._sent_away)

        def connection_lost(self, exc: Exception | None) -> None:
            self._patience.cancel()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            before = self._head_bytes + len(data) if self._in_head else 0
            super().data_received(data)
            self._head_bytes = before if self._in_head else 0
            if self._head_bytes > limits.MOST_HEAD_BYTES:
                self._sent_away()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._in_head = True
            self._patience.cancel()
            self._patience = self.loop.call_later(head_s, self._sent_away)

        def on_headers_complete(self) -> None:
            self._in_head = False
            self._patience.cancel()
            super().on_headers_complete()

        def _sent_away(self) -> None:
            self.transport.close()

    return Careful


__all__ = ["address", "load_rooms", "return_memory", "run"]
