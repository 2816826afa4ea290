"""Reading parts of files over HTTPS with bounds on everything: time, size, redirects, and where a request may go."""

from __future__ import annotations

import http.client
import re
import socket
import ssl
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import SplitResult, urljoin, urlsplit

from cabida import __version__
from cabida.facts.dial import Refused, dial, is_loopback
from cabida.text import tr

REQUEST_S, QUESTION_S = 20.0, 90.0
REDIRECTS_MOST = 5
DOCUMENT_BYTES_MOST = 48 * 10**6
PIECE_BYTES = 2**16
Key = tuple[str, str, int]  # scheme, host, port
UNREACHABLE, REFUSED, ABSENT, WRONG = "unreachable", "refused", "absent", "wrong"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server gave: the bytes asked for, how large the whole file is (``None`` = untold), its headers."""

    body: bytes
    total_bytes: int | None
    headers: dict[str, str]  # names in lower case


@dataclass(frozen=True, slots=True)
class Wanted:
    """A document of at most ``most`` bytes; or ``count`` bytes of a file from ``first`` on."""

    most: int = DOCUMENT_BYTES_MOST
    first: int | None = None
    count: int = 0


class Unanswered(Exception):
    """A request that gave nothing usable: unreachable, refused (401, 403), absent (404) or a wrong answer."""

    def __init__(self, kind: str, reason: str, url: str, headers: dict[str, str] | None = None) -> None:
        self.kind, self.reason, self.url, self.headers = kind, reason, url, headers or {}
        super().__init__(reason)


class Web:
    """One endpoint and the questions put to it, with connections that are used again.

    Args:
        endpoint: ``https://host[:port][/path]``; plain http only on this machine's loopback.
        token: sent to the endpoint's own host alone, never after a redirect to another.

    One request may take ``REQUEST_S``, all of them together ``QUESTION_S``.
    """

    def __init__(self, endpoint: str, token: str = "") -> None:
        self.endpoint = endpoint.rstrip("/")
        parts = _split(self.endpoint)
        self.own = _key(parts)
        self.loopback = is_loopback(self.own[1])
        self.token = token if re.fullmatch(r"[\x21-\x7e]+", token) else ""
        self.ends = time.monotonic() + QUESTION_S
        self._idle: dict[Key, list[http.client.HTTPConnection]] = {}
        self._lock = threading.Lock()
        self._context: ssl.SSLContext | None = None

    def get(self, path: str, wanted: Wanted | None = None) -> Answer:
        """The document at ``path``, or the part of it that is wanted.

        Raises:
            Unanswered: the server can't be reached, refuses, has no such file, or answers what can't be.
        """
        wanted = wanted or Wanted()
        url = f"{self.endpoint}/{path}"
        for _ in range(REDIRECTS_MOST + 1):
            self._permitted(url)
            answer = self._once(url, wanted)
            if isinstance(answer, Answer):
                return answer
            try:
                url = urljoin(url, answer)
            except ValueError:  # an address that is none
                raise Unanswered(WRONG, tr("facts.web.address"), answer[:200]) from None
        raise Unanswered(WRONG, tr("facts.web.redirects", most=REDIRECTS_MOST), url)

    def close(self) -> None:
        """Let go of all connections."""
        with self._lock:
            for idle in self._idle.values():
                for connection in idle:
                    connection.close()
            self._idle.clear()

    def _permitted(self, url: str) -> None:
        """Only https, or http within this machine when the endpoint itself is there."""
        try:
            scheme, host, _ = _key(_split(url))
        except ValueError:
            raise Unanswered(WRONG, tr("facts.web.address"), url[:200]) from None
        if scheme != "https" and not (self.loopback and is_loopback(host)):
            raise Unanswered(WRONG, tr("facts.web.not_https"), url[:200])

    def _once(self, url: str, wanted: Wanted) -> Answer | str:
        """One request: its answer, or where it sends us."""
        limit_s = min(REQUEST_S, self.ends - time.monotonic())
        if limit_s <= 0:
            raise Unanswered(UNREACHABLE, tr("facts.web.slow"), url)
        watch = _Watch(limit_s)
        try:
            return self._asked(url, wanted, watch, limit_s)
        except (OSError, http.client.HTTPException, ValueError, Unanswered) as error:
            if watch.rang or isinstance(error, TimeoutError):
                raise Unanswered(UNREACHABLE, tr("facts.web.slow"), url) from error
            if isinstance(error, Unanswered):
                raise
            raise Unanswered(
                UNREACHABLE if isinstance(error, OSError) else WRONG, _why(error), url
            ) from error
        finally:
            watch.off()

    def _asked(self, url: str, wanted: Wanted, watch: _Watch, limit_s: float) -> Answer | str:
        """Ask over a connection at hand; one gone stale is opened anew."""
        parts = _split(url)
        key = _key(parts)
        while True:
            connection, reused = self._connection(key, limit_s, watch)
            try:
                connection.request("GET", _target(parts), headers=self._headers(key, wanted))
                response = connection.getresponse()
            except (ConnectionError, http.client.BadStatusLine):
                connection.close()
                if not reused or watch.rang:
                    raise
                continue
            except BaseException:
                connection.close()
                raise
            whole = False
            try:
                answer = _read(response, url, wanted)
                whole = response.isclosed() and not response.will_close
                return answer
            finally:
                response.close()
                if whole:
                    with self._lock:
                        self._idle.setdefault(key, []).append(connection)
                else:
                    connection.close()

    def _headers(self, key: Key, wanted: Wanted) -> dict[str, str]:
        headers = {"User-Agent": f"cabida/{__version__}", "Accept-Encoding": "identity"}
        if wanted.first is not None:
            headers["Range"] = f"bytes={wanted.first}-{wanted.first + wanted.count - 1}"
        if self.token and key == self.own:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers

    def _connection(self, key: Key, limit_s: float, watch: _Watch) -> tuple[http.client.HTTPConnection, bool]:
        """A connection, and whether it was used before."""
        with self._lock:
            idle = self._idle.get(key)
            if idle:
                connection = idle.pop()
                watch.on(connection.sock)
                return connection, True
        scheme, host, port = key
        if scheme == "https" and self._context is None:
            self._context = ssl.create_default_context()
        trusted = host == self.own[1] or (self.loopback and is_loopback(host))
        connection = http.client.HTTPConnection(host, port)
        connection.auto_open = 0  # never past dial: neither unchecked nor in plain text
        context = self._context if scheme == "https" else None
        connection.sock = dial(host, port, limit_s, context, watch.on, trusted=trusted)
        return connection, False


class _Watch:
    """Shuts a connection down when its time is up, however slowly the other side keeps talking."""

    def __init__(self, limit_s: float) -> None:
        self.rang = False
        self._socket: socket.socket | None = None
        self._timer = threading.Timer(limit_s, self._ring)
        self._timer.daemon = True
        self._timer.start()

    def on(self, connected: socket.socket) -> None:
        """Watch over this one, unless its time was up before it was there."""
        self._socket = connected
        if self.rang:
            self._ring()

    def off(self) -> None:
        """No need any more."""
        self._timer.cancel()

    def _ring(self) -> None:
        self.rang = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


def _read(response: http.client.HTTPResponse, url: str, wanted: Wanted) -> Answer | str:
    """What the response gives, or where it sends us."""
    headers = {name.lower(): value for name, value in response.getheaders()}
    if response.status in (301, 302, 303, 307, 308):
        return headers.get("location", "")
    if response.status not in (200, 206):
        raise _refusal(response.status, url, headers)
    if headers.get("content-encoding", "identity") != "identity":
        raise Unanswered(WRONG, tr("facts.web.encoded"), url)
    if wanted.first is None:
        return _document(response, headers, wanted.most, url)
    return _range(response, headers, wanted.first, wanted.count, url)


def _document(response: http.client.HTTPResponse, headers: dict[str, str], most: int, url: str) -> Answer:
    if response.status != 200:
        raise Unanswered(WRONG, tr("facts.web.status", status=response.status), url)
    length = _length(headers)
    if length is not None and length > most:
        raise Unanswered(WRONG, tr("facts.web.large", limit=f"{most / 1e6:g}"), url)
    body = _bytes(response, most + 1)
    if len(body) > most:
        raise Unanswered(WRONG, tr("facts.web.large", limit=f"{most / 1e6:g}"), url)
    if length is not None and len(body) < length:
        raise Unanswered(WRONG, tr("facts.web.cut"), url)
    return Answer(body, len(body), headers)


def _range(
    response: http.client.HTTPResponse, headers: dict[str, str], first: int, count: int, url: str
) -> Answer:
    """The bytes asked for; a server that ignores ranges is read up to them and no further."""
    if response.status == 200:
        total = _length(headers)
        body = _bytes(response, first + count)[first:]
    else:
        told = re.fullmatch(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)", headers.get("content-range", ""))
        if told is None or int(told[1]) != first or int(told[2]) >= first + count:
            raise Unanswered(WRONG, tr("facts.web.other_range"), url)
        total = int(told[3]) if told[3] != "*" else None
        body = _bytes(response, count)
    due = count if total is None else min(count, max(0, total - first))
    if len(body) < due:
        raise Unanswered(WRONG, tr("facts.web.cut"), url)
    return Answer(body, total, headers)


def _bytes(response: http.client.HTTPResponse, most: int) -> bytes:
    body = bytearray()
    while len(body) < most:
        wanted = min(PIECE_BYTES, most - len(body))
        piece = response.read1(wanted)
        if not piece:
            break
        if len(piece) > wanted:  # a chunk said to be of less than no bytes is read as if it had no end
            raise http.client.HTTPException
        body += piece
    return bytes(body)


def _length(headers: dict[str, str]) -> int | None:
    told = headers.get("content-length", "")
    return int(told) if re.fullmatch(r"\d{1,18}", told, re.ASCII) else None


def _refusal(status: int, url: str, headers: dict[str, str]) -> Unanswered:
    kind = {401: REFUSED, 403: REFUSED, 404: ABSENT, 410: ABSENT}.get(status, WRONG)
    return Unanswered(kind, tr("facts.web.status", status=status), url, headers)


def _why(error: Exception) -> str:
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, ssl.SSLError):
        return tr("facts.web.tls", reason=str(error.reason or error)[:100])
    if isinstance(error, http.client.IncompleteRead):
        return tr("facts.web.cut")
    if isinstance(error, http.client.HTTPException | ValueError):
        return tr("facts.web.no_http")
    return getattr(error, "strerror", None) or tr("facts.web.cut")


def _split(url: str) -> SplitResult:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        raise ValueError(url)
    if re.search(r"[\x00-\x20\x7f-\uffff]", url):
        raise ValueError(url)
    return parts


def _key(parts: SplitResult) -> Key:
    return parts.scheme, str(parts.hostname), parts.port or (443 if parts.scheme == "https" else 80)


def _target(parts: SplitResult) -> str:
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
