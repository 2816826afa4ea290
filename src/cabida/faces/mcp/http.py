"""The same server over streamable HTTP, behind the door that pages and API have: hosts, origins, tokens, limits."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from cabida.faces.mcp.held import Held
from cabida.faces.mcp.server import server_of
from cabida.faces.mcp.tool import Place
from cabida.text import locale

if TYPE_CHECKING:
    from starlette.routing import Route
    from starlette.types import ASGIApp, Receive, Scope, Send

    from cabida.faces.web.settings import Settings

PATH = "/mcp"
MOST_BODY_BYTES = 2 * 2**20


class Endpoint:
    """ASGI: what answers at ``/mcp``. Each request stands alone; whoever sent it was let in by the door before it."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._manager: Any = None
        self._running: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; the first one starts what answers."""
        manager = await self._started()
        await manager.asgi_app(scope, receive, send)

    async def _started(self) -> Any:
        loop = asyncio.get_running_loop()
        if self._manager is None or self._loop is not loop:
            from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

            self._manager = StreamableHTTPSessionManager(
                server_of(self.place), stateless=True, max_request_body_size=MOST_BODY_BYTES
            )
            ready = asyncio.Event()
            self._loop = loop
            self._ready = ready
            self._running = loop.create_task(self._run(self._manager, ready))
        await self._ready.wait()
        return self._manager

    @staticmethod
    async def _run(manager: Any, ready: asyncio.Event) -> None:
        async with manager.run():
            ready.set()
            await asyncio.Event().wait()  # until the loop ends


def place_of(settings: Settings, *, as_text: bool = False) -> Place:
    """What a server reached over HTTP may do: nothing on this machine's disk, nothing measured."""
    return Place(Held(), None, settings.store, as_text=as_text, language=locale())


def route(settings: Settings, *, as_text: bool = False) -> Route:
    """``/mcp`` for an application whose door tells who asks in ``request.state.person``.

    Each message is answered where it is sent, so there is no stream to open: GET is answered with 405, as the protocol
    has it, and nobody can hold connections open that never say anything.
    """
    from starlette.routing import Route

    return Route(PATH, Endpoint(place_of(settings, as_text=as_text)), methods=["POST"])


def http_app(settings: Settings, *, as_text: bool = False) -> ASGIApp:
    """An application of its own, door included: tokens of the shelf unless only this machine reaches it."""
    from starlette.applications import Starlette

    from cabida.faces.web import access, limits
    from cabida.faces.web.door import Door

    inside = Starlette(routes=[route(settings, as_text=as_text)])
    return Door(inside, settings, known=access.Known(), key=access.new_key(), guesses=limits.Guesses())
