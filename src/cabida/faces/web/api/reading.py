"""A request's body looked at before it is read: of the kind that the operation takes, and JSON that can be read."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from cabida.faces.web.telling import Refused
from cabida.text import problem

JSON, FORM = "application/json", "multipart/form-data"
DEEPEST = 60  # brackets inside brackets


class Read(APIRoute):
    """A route that says 415 to a body of another kind and 400 to JSON that is none or too deep."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What answers a request."""
        answer = super().get_route_handler()
        field = self.body_field
        kind = getattr(getattr(field, "field_info", None), "media_type", JSON) if field is not None else ""

        async def looked_at(request: Request) -> Response:
            if kind:
                wanted = FORM if kind != JSON else JSON
                found = request.headers.get("content-type", "").partition(";")[0].strip().lower()
                if found != wanted:
                    told = found[:80] or "-"
                    raise Refused([problem("CB-S045", found=told, wanted=wanted)], 415)
                if wanted == JSON and too_deep(await request.body()):
                    raise Refused([problem("CB-S047", why=f"> {DEEPEST} [")], 400)
            return await answer(request)

        return looked_at


def too_deep(body: bytes) -> bool:
    """Whether brackets stand deeper in each other than anything that is asked for."""
    depth, inside, escaped = 0, False, False
    if body.count(b"[") + body.count(b"{") <= DEEPEST:
        return False
    for letter in body:
        if inside:
            if escaped:
                escaped = False
            elif letter == 0x5C:
                escaped = True
            elif letter == 0x22:
                inside = False
        elif letter == 0x22:
            inside = True
        elif letter in (0x5B, 0x7B):
            depth += 1
            if depth > DEEPEST:
                return True
        elif letter in (0x5D, 0x7D):
            depth -= 1
    return False
