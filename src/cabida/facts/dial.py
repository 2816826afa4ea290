"""Opening a connection to a named host: resolved within a time, kept off private addresses, through a proxy if set."""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Callable
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from cabida.text import tr

PROXY_ANSWER_BYTES_MOST = 2**16
ADDRESSES_MOST = 4


class Refused(OSError):
    """An address we don't connect to."""


def is_loopback(host: str) -> bool:
    """Whether ``host`` names this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def dial(
    host: str,
    port: int,
    limit_s: float,
    context: ssl.SSLContext | None,
    seen: Callable[[socket.socket], None],
    *,
    trusted: bool,
) -> socket.socket:
    """A connected socket, with TLS when ``context`` is given.

    Args:
        host: a name or an address.
        port: where it listens.
        limit_s: seconds for each step.
        context: how to check the certificate; ``None`` = plain.
        seen: told of the socket as soon as it is connected, before anything is said over it.
        trusted: whether the user named this host; any other must have a public address.

    Raises:
        OSError: it can't be reached; :class:`Refused` when its address is not a public one.
    """
    proxy = _proxy(host, secure=context is not None)
    if proxy:
        _public(host, trusted=trusted)
        plain = _first_of(_resolved(proxy[0], proxy[1], limit_s), limit_s)
        seen(plain)
        _through(plain, host, port, proxy[2])
    else:
        addresses = _resolved(host, port, limit_s)
        for address in addresses:
            _public(address[0], trusted=trusted)
        plain = _first_of(addresses, limit_s)
    seen(plain)
    if context is None:
        return plain
    secured = context.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
    seen(secured)
    secured.do_handshake()
    return secured


def _public(address: str, *, trusted: bool) -> None:
    try:
        known = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return  # a name, which the proxy resolves
    mapped = getattr(known, "ipv4_mapped", None) or known
    if not trusted and not mapped.is_global:
        raise Refused(tr("facts.web.private", address=address))


def _resolved(host: str, port: int, limit_s: float) -> list[tuple[str, int]]:
    """The host's addresses; a resolver that hangs is given up on."""
    found: list[tuple[str, int]] = []
    failed: list[OSError] = []

    def ask() -> None:
        try:
            found.extend(
                (str(one[4][0]), port) for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            )
        except (OSError, UnicodeError) as error:
            failed.append(error if isinstance(error, OSError) else OSError(str(error)))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(limit_s)
    if failed:
        raise OSError(0, tr("facts.web.no_host", host=host[:80])) from failed[0]
    if not found:
        raise TimeoutError
    return list(dict.fromkeys(found))[:ADDRESSES_MOST]


def _first_of(addresses: list[tuple[str, int]], limit_s: float) -> socket.socket:
    for place, address in enumerate(addresses):
        try:
            return socket.create_connection(address, timeout=limit_s / len(addresses))
        except OSError:
            if place == len(addresses) - 1:
                raise
    raise TimeoutError


def _proxy(host: str, *, secure: bool) -> tuple[str, int, str] | None:
    """The proxy that HTTPS_PROXY (or the system) names for this host: name, port and credentials."""
    named = getproxies().get("https" if secure else "http", "")
    if not secure or not named or proxy_bypass(host):
        return None
    parts = urlsplit(named if "//" in named else f"//{named}")
    secret = ""
    if parts.username:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        secret = b64encode(pair.encode()).decode()
    return (parts.hostname, parts.port or 8080, secret) if parts.hostname else None


def _through(plain: socket.socket, host: str, port: int, secret: str) -> None:
    """Ask the proxy for a tunnel."""
    allowed = f"Proxy-Authorization: Basic {secret}\r\n" if secret else ""
    plain.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{allowed}\r\n".encode())
    answer = b""
    while b"\r\n\r\n" not in answer and len(answer) < PROXY_ANSWER_BYTES_MOST:
        piece = plain.recv(1)
        if not piece:
            break
        answer += piece
    if not re.match(rb"HTTP/1\.[01] 200\b", answer):
        raise OSError(
            0, tr("facts.web.proxy", answer=answer[:60].decode("latin-1").splitlines()[0] if answer else "")
        )
