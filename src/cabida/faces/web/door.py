"""The door every request comes in by: looked at, recognised, let in or sent away, and its answer sealed."""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse

from cabida.errors import CabidaError
from cabida.faces.web import access, limits
from cabida.faces.web.settings import LOOPBACK
from cabida.faces.web.telling import Forbidden, NeedsToken, Refused, for_programs, told
from cabida.text import LANGUAGES, LOCALES, problem, use_language

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from cabida.faces.web.settings import Settings

UNSAFE = ("POST", "PUT", "PATCH", "DELETE")
METHODS = ("GET", "HEAD", "OPTIONS", *UNSAFE)
ANYBODY = ("/static/", "/healthz", "/readyz", "/login", "/look")  # needs nobody to be known
PROBES = ("/healthz", "/readyz")  # asked by address, whatever the host is called
LANGUAGE, THEME = "cabida_language", "cabida_theme"
POINTS = ("mx", "us", "gt", "hn", "sv", "ni", "pa", "do", "pr", "419")  # Spanish with a point before decimals
FORWARDED = ("x-forwarded-for", "forwarded", "x-real-ip", "x-forwarded-host")
FIELD = re.compile(rb'(?:^|&)csrf=([\w-]{10,80})(?:&|$)|name="csrf"\r\n\r\n([\w-]{10,80})\r\n')
SEALS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=(), browsing-topics=()",
}
POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class Door:
    """ASGI: the application behind it sees only requests whose sender is known and may ask that."""

    def __init__(
        self, app: ASGIApp, settings: Settings, known: access.Known, key: bytes, guesses: limits.Guesses
    ) -> None:
        self.app, self.settings, self.known, self.key, self.guesses = app, settings, known, key, guesses
        self.buckets = limits.Buckets(settings.requests_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        state = scope.setdefault("state", {})
        state["nonce"] = secrets.token_urlsafe(12)
        use_language(language_of(request))
        state["theme"] = theme_of(request)
        sealed = _sealing(send, scope, self.settings)
        try:
            receive = await self._let_in(request, receive)
        except Refused as refusal:
            await _answered(
                told(request, refusal), scope, receive, sealed, close=refusal.status in (408, 413)
            )
        except NeedsToken as refusal:
            answer = (
                told(request, refusal)
                if for_programs(request) or request.method != "GET" or request.headers.get("hx-request")
                else RedirectResponse(f"/login?next={quote(_asked(request))}", 303)
            )
            await _answered(answer, scope, receive, sealed)
        except CabidaError as refusal:  # it may not be asked, or nobody can be looked up just now
            await _answered(told(request, refusal), scope, receive, sealed)
        else:
            await self._through(scope, receive, sealed)

    async def _through(self, scope: Scope, receive: Receive, send: Send) -> None:
        from cabida.evidence.shelf import acting
        from cabida.facts.known import by_name_only

        person, begun = scope["state"]["person"], False

        async def noticed(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        with acting(person.name if person else "-"), by_name_only():
            try:
                await self.app(scope, receive, noticed)
            except Exception as error:
                answer = told(Request(scope, receive), error)  # which logs it
                if not begun:
                    await _answered(answer, scope, receive, send)

    async def _let_in(self, request: Request, receive: Receive) -> Receive:
        """Who asks, in ``request.state``; the body, when there is one, read whole and in bounds.

        Raises:
            Refused, Forbidden, NeedsToken: the request goes no further.
        """
        limits.head_sound(request.scope)
        if request.method not in METHODS:
            raise Refused([problem("CB-S002", method=request.method[:20], path=request.url.path[:200])], 405)
        self._host_known(request)
        where = limits.place_of(request.client.host if request.client else "")
        state, path = request.state, request.scope["path"]  # ``url`` is made of Host too
        session = request.cookies.get(access.SESSION, "")
        person = None if path in PROBES else await self._person(request, session, where)
        state.person, state.session = person, session if person else ""
        state.csrf = access.form_token(self.key, state.session, person)
        if person is None and not path.startswith(ANYBODY):
            raise NeedsToken([problem("CB-S004")])
        local = person is not None and not person.token
        if not local and not path.startswith("/static/"):
            who = f"token {person.token}" if person else where
            if waits := self.buckets.take(who):
                raise limits.too_many(waits)
        if request.method not in UNSAFE:
            return receive
        _from_our_own_page(request, self.settings)
        if person is not None and not person.may_edit and path not in access.CHANGES_NOTHING:
            raise Forbidden([problem("CB-S005", name=person.name)])
        most = self.settings.most_upload_bytes + 65_536  # what a form carries beside the file
        if limits.stated_bytes(request.scope) > most:
            raise limits.too_large(self.settings.most_upload_bytes)
        body = await limits.whole_body(receive, most, self.settings.body_s)
        if not _by_header(request) and (state.session or not path.startswith(("/api/", "/mcp"))):
            _carries(request, body, state.csrf)
        return limits.again(body, receive)

    def _host_known(self, request: Request) -> None:
        """Refuse a name that isn't ours: somebody else's name made to stand for this address reads our pages.

        Raises:
            Forbidden: CB-S006, or CB-S007: a proxy stands before a server that takes everybody for its own person.
        """
        settings = self.settings
        host = host_of(request.headers.get("host", ""))
        if request.scope["path"] in PROBES:
            return
        if settings.open_to_loopback_only:
            if host not in (*LOOPBACK, settings.host):
                raise Forbidden([problem("CB-S006", host=host[:100])])
            if any(name in request.headers for name in FORWARDED):
                raise Forbidden([problem("CB-S007")])
            return
        own = (urlsplit(settings.behind).hostname or "").lower()
        if not host or not (host in (*LOOPBACK, settings.host, own) or _is_address(host) or not own):
            raise Forbidden([problem("CB-S006", host=host[:100])])

    async def _person(self, request: Request, session: str, where: str) -> access.Person | None:
        """Who asks: by their token, by their session, or because this machine is theirs; ``None`` = nobody knows.

        Raises:
            Refused: too many wrong tokens came from there (429).
            NeedsToken: CB-S008, a token that doesn't hold.
        """
        stated = request.headers.get("authorization", "")
        if stated:
            kind, _, secret = stated.partition(" ")
            person = None
            if kind.lower() == "bearer" and 0 < len(secret) <= 200:
                person = await run_in_threadpool(self.known.holder, secret.strip())
            if person is None:  # a right one is let in however many wrong ones came from there
                if waits := self.guesses.waits_s(where):
                    raise limits.too_many(waits)
                self.guesses.wrong(where)
                raise NeedsToken([problem("CB-S008")])
            self.guesses.right(where)
            return person
        if self.settings.open_to_loopback_only:
            return access.this_person()
        if session and not self.known.is_over(session):
            token = access.token_of_session(self.key, session)
            return await run_in_threadpool(self.known.holder_of, token) if token else None
        return None


def _by_header(request: Request) -> bool:
    return request.headers.get("authorization", "")[:7].lower() == "bearer "


def _carries(request: Request, body: bytes, token: str) -> None:
    """Refuse a form without the token that our own pages put in.

    Raises:
        Forbidden: CB-S009.
    """
    given = request.headers.get("x-csrf-token", "")
    if not given and (found := FIELD.search(body[: 2**20]) or FIELD.search(body[-4096:])):
        given = (found[1] or found[2]).decode("ascii", "replace")
    if not hmac.compare_digest(given.encode("utf-8", "replace"), token.encode()):
        raise Forbidden([problem("CB-S009")])


def _from_our_own_page(request: Request, settings: Settings) -> None:
    """Refuse what another site has a browser send.

    Raises:
        Forbidden: CB-S009.
    """
    site = request.headers.get("sec-fetch-site", "same-origin")
    origin = request.headers.get("origin")
    scheme = "https" if settings.https else request.url.scheme
    ours = {f"{scheme}://{request.headers.get('host', '')}", settings.behind.rstrip("/")} - {""}
    if site not in ("same-origin", "none") or (origin is not None and origin not in ours):
        raise Forbidden([problem("CB-S009")])


def host_of(header: str) -> str:
    """The name in a Host header, without its port, in lower case; "" when it is none."""
    found = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[\w.-]+)\.?(?::\d{1,5})?", header)
    return found[1].strip("[]").rstrip(".").lower() if found else ""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def language_of(request: Request) -> str:
    """The language of an answer: ``?lang=``, the cookie, the browser's; English else."""
    for asked in (request.query_params.get("lang", ""), request.cookies.get(LANGUAGE, "")):
        if asked in LOCALES:
            return asked
    ranked = []
    for at, one in enumerate(request.headers.get("accept-language", "")[:200].split(",")[:12]):
        tag, _, weight = one.strip().partition(";q=")
        try:
            ranked.append((-float(weight or 1), at, tag.strip().lower()))
        except ValueError:
            continue
    for _, _, tag in sorted(ranked):
        if tag[:2] == "es":
            return "es-MX" if tag[3:] in POINTS else "es"
        if tag[:2] in LANGUAGES:
            return tag[:2]
    return "en"


def theme_of(request: Request) -> str:
    """The look somebody chose: light, dark, or "" = as their system."""
    chosen = request.cookies.get(THEME, "")
    return chosen if chosen in ("light", "dark") else ""


def _asked(request: Request) -> str:
    query = request.url.query
    return request.url.path + (f"?{query}" if query else "")


async def _answered(
    answer: ASGIApp, scope: Scope, receive: Receive, send: Send, *, close: bool = False
) -> None:
    async def closing(message: Message) -> None:
        if close and message["type"] == "http.response.start":
            MutableHeaders(scope=message)["Connection"] = "close"
        await send(message)

    await answer(scope, receive, closing)


def _sealing(send: Send, scope: Scope, settings: Settings) -> Callable[[Message], Awaitable[None]]:
    """``send`` that gives each answer the headers that keep it where it belongs, unless it has its own."""

    async def sealed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SEALS.items():
                headers.setdefault(name, value)
            headers.setdefault("Content-Security-Policy", POLICY.format(nonce=scope["state"]["nonce"]))
            if settings.https:
                headers.setdefault("Strict-Transport-Security", "max-age=31536000")
            if not scope["path"].startswith("/static/"):
                keep = "private, no-cache" if settings.open_to_loopback_only else "no-store"
                headers.setdefault("Cache-Control", keep)
                headers.add_vary_header("Cookie, Accept-Language, HX-Request")
        await send(message)

    return sealed
