"""A metrics page fetched again and again over one connection: bounded in time and size, following nobody elsewhere."""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cabida.errors import InvalidInput, Problem
from cabida.evidence.pages.page import PAGE_BYTES_MOST
from cabida.evidence.secrets import redacted
from cabida.text import printable, problem

if TYPE_CHECKING:
    from cabida.bench.wire.address import Endpoint

LIMIT_S = 5.0  # a page of an engine under load takes a second
BLOCK_BYTES = 65_536
PAGES_MOST = 64
ACCEPT = "text/plain;version=0.0.4, application/openmetrics-text;version=1.0.0;q=0.5, */*;q=0.1"
LARGE, SLOW, STATUS, HTML, NO_NAME, REFUSED, FAILED = (
    "large",
    "slow",
    "status",
    "html",
    "no_name",
    "refused",
    "failed",
)
PAGES = ("/metrics", "/prometheus/metrics")  # the second is trtllm-serve's


class NoPage(Exception):
    """There is no page to be had. ``why`` names a text (``watch.page.<why>``); ``detail`` is what goes into it."""

    def __init__(self, why: str, detail: object = "") -> None:
        super().__init__(f"{why} {detail}".strip())
        self.why, self.detail = why, str(detail)


@dataclass(slots=True)
class Address:
    """Where a page is. Headers may hold a key, and are never shown.

    Attributes:
        url: http or https, without login.
        tls: context of https; ``None`` = the system's authorities.
        limit_s: for the whole page, connecting included.
    """

    url: str
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    limit_s: float = LIMIT_S
    _connection: http.client.HTTPConnection | None = field(default=None, repr=False)

    @property
    def shown(self) -> str:
        """The address as it may be printed."""
        return printable(redacted(self.url))[:200]

    def fetch(self, path: str = "", *, method: str = "GET") -> str:
        """The page, over the connection of last time where that still stands.

        Raises:
            NoPage: nobody listens, it takes too long, or what comes is no page of text.
        """
        until = time.monotonic() + self.limit_s
        for again in (False, True):
            kept = self._connection is not None
            try:
                return self._fetch(path, method, until)
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError) as error:
                self.close()
                if again or not kept:  # a connection kept from last time may have been closed since
                    raise _unreachable(error) from None
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.close()
                raise _unreachable(error) from None
            except NoPage:
                self.close()
                raise
        raise AssertionError

    def close(self) -> None:
        """Let the connection go."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _fetch(self, path: str, method: str, until: float) -> str:
        parts = urlsplit(self.url)
        connection = self._connection or self._connect(parts.scheme, parts.hostname or "", parts.port)
        self._connection = connection
        where = path or (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request(
            method, where, headers={"Accept": ACCEPT, "Accept-Encoding": "identity", **self.headers}
        )
        blocks: list[bytes] = []
        size = 0
        with connection.getresponse() as answer:  # closed however it ends: it holds the socket too
            while block := answer.read1(BLOCK_BYTES):
                blocks.append(block)
                size += len(block)
                if size > PAGE_BYTES_MOST:
                    raise NoPage(LARGE)
                left = until - time.monotonic()
                if left <= 0:
                    raise NoPage(SLOW)
                if connection.sock is not None:
                    connection.sock.settimeout(left)
        if answer.will_close:
            self.close()
        text = b"".join(blocks).decode("utf-8", "replace")
        if answer.status != 200:
            raise NoPage(STATUS, answer.status)
        kind = (answer.getheader("content-type") or "").lower()
        if "html" in kind or text.lstrip()[:1] == "<":
            raise NoPage(HTML)
        return text

    def _connect(self, scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
        if scheme == "https":
            context = self.tls or ssl.create_default_context()
            return http.client.HTTPSConnection(host, port, timeout=self.limit_s, context=context)
        if scheme != "http" or not host:
            message = "no http address"
            raise ValueError(message)
        return http.client.HTTPConnection(host, port, timeout=self.limit_s)


def addresses(metrics: str, url: str, endpoint: Endpoint | None, *, loopback: bool) -> list[Address]:
    """The pages to read: those named, parted by spaces; of an endpoint on this machine else its usual ones.

    Whoever the endpoint's key is for gets it with a page of the same host and port, nobody else.

    Raises:
        InvalidInput: CB-H001, CB-H002.
    """
    named = metrics.split()
    root = "://".join(urlsplit(url)[:2])
    if not named and loopback:
        named = [root]
    problems: list[Problem] = []
    found = []
    for one in named[:PAGES_MOST]:
        text = _sound(one if "://" in one else f"http://{one}", problems)
        own = endpoint is not None and urlsplit(text)[:2] == urlsplit(url)[:2]
        found.append(
            Address(
                text,
                tls=endpoint.tls if endpoint is not None and own else None,
                headers=_headers(endpoint) if endpoint is not None and own else {},
            )
        )
    if problems:
        raise InvalidInput(problems)
    return found


def _sound(url: str, problems: list[Problem]) -> str:
    """The address of a page, with the usual path where it has none."""
    shown = printable(redacted(url))[:200]
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not url.isprintable():
        problems.append(problem("CB-H001", url=shown))
        return ""
    if parts.username is not None or parts.password is not None:
        problems.append(problem("CB-H002"))
        return ""
    return parts._replace(path=parts.path if parts.path not in ("", "/") else PAGES[0], fragment="").geturl()


def _headers(endpoint: Endpoint) -> dict[str, str]:
    """The endpoint's own headers, key included, without what every request says of itself."""
    lines = endpoint.head("", "GET").decode("latin-1").split("\r\n")[1:]
    pairs = (line.partition(": ") for line in lines if line)
    return {
        name: value for name, _, value in pairs if name.lower() not in ("host", "accept", "accept-encoding")
    }


def _unreachable(error: BaseException) -> NoPage:
    if isinstance(error, TimeoutError):
        return NoPage(SLOW)
    if isinstance(error, socket.gaierror):
        return NoPage(NO_NAME)
    if isinstance(error, ConnectionRefusedError):
        return NoPage(REFUSED)
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return NoPage(FAILED, printable(redacted(str(text)))[:160])
