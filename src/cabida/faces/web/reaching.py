"""Which addresses the server itself may ask: none inside its own network, unless whoever started it allows that."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cabida.bench.wire.outside import may_be_asked
from cabida.errors import InvalidInput
from cabida.text import problem

if TYPE_CHECKING:
    from cabida.faces.web.settings import Settings


@dataclass(frozen=True, slots=True)
class Reached:
    """An address that may be asked: the URL, its host's name and port, and the one address it stands for here."""

    url: str
    host: str
    port: int
    address: str


def reachable(url: str, settings: Settings, *, look_up: object = None) -> Reached:
    """The address that ``url`` stands for, looked up once, when the server may ask it.

    A server of this machine alone may ask whatever this person may; one for others only what is public, unless it was
    started with ``--allow-private``. The clouds' metadata are never asked. What is returned has to be used as it is:
    the name looked up again may stand for something else.

    Args:
        url: http or https, without a name and password.
        settings: of the server.
        look_up: in place of ``socket.getaddrinfo``, for tests.

    Raises:
        InvalidInput: no such URL (CB-S020), a name that nothing is known of (CB-S021), an address that the server may
            not ask (CB-S022).
    """
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise InvalidInput([problem("CB-S020", url=_shown(url))]) from None
    sound = parts.scheme in ("http", "https") and host and "@" not in parts.netloc and len(url) <= 2000
    if not sound or any(one.isspace() or not one.isprintable() for one in url.strip()):
        raise InvalidInput([problem("CB-S020", url=_shown(url))])
    asked = look_up if callable(look_up) else socket.getaddrinfo
    try:
        found = asked(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise InvalidInput([problem("CB-S021", host=host)]) from None
    addresses = list(dict.fromkeys(str(one[4][0]).partition("%")[0] for one in found))
    if not addresses:
        raise InvalidInput([problem("CB-S021", host=host)])
    inside = settings.open_to_loopback_only or settings.private_addresses
    for one in addresses:  # a name with one address inside is not asked at all
        if not may_be_asked(one, inside=inside):
            raise InvalidInput([problem("CB-S022", host=host, address=one)])
    return Reached(url.strip(), host, port, addresses[0])


def _shown(url: str) -> str:
    """A URL as a problem may repeat it: without name, password and what it asks."""
    head = url.strip()[:200].partition("?")[0]
    scheme, slashes, rest = head.partition("//")
    return f"{scheme}{slashes}{rest.rpartition('@')[2]}" if slashes else head.rpartition("@")[2]
