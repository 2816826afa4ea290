"""Where requests go: the address checked, the name resolved, the key found, the head of every request written once."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NoReturn
from urllib.parse import SplitResult, quote, urlsplit

from cabida import __version__
from cabida.bench.wire import keys
from cabida.bench.wire.outside import may_be_asked
from cabida.errors import InvalidInput, Problem
from cabida.evidence.secrets import BLANK, redacted
from cabida.files import read_text
from cabida.plan.bench import APIS, Target
from cabida.text import closest, printable, problem, tr

PATHS = {
    "chat": "/chat/completions",
    "completions": "/completions",
    "embeddings": "/embeddings",
    "rerank": "/rerank",
    "images": "/images/generations",
}
REACH = "CABIDA_BENCH_REACH"  # "public" or "private": what may be asked; unset = whatever this person may
HEADERS_MOST, HEADER_CHARS_MOST, URL_CHARS_MOST, CA_BYTES_MOST = 64, 8192, 2048, 8_000_000
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
_OURS = ("content-length", "transfer-encoding", "connection", "content-type", "upgrade", "te", "trailer")
_PROXIES = {"http": ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"),
            "https": ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")}  # fmt: skip
_SECRET_QUERY = re.compile(
    r"(?i)(?:^|&)(?:api[-_]?key|key|token|access_token|sig|signature|password|secret)="
)


@dataclass(frozen=True, slots=True, eq=False)
class Endpoint:
    """A target that can be asked. The key is only in here: neither shown, nor copied, nor pickled.

    Attributes:
        base: path up to and with the version, ``/v1``; query: what follows ``?`` in every request.
        loopback: whether every address of the host is this machine's own.
        addresses: what the host's name resolved to; empty when it didn't.
        tls: context of https; ``None`` = plain http.
        notices: sentences that whoever runs this should read.
    """

    target: Target
    scheme: str
    host: str
    port: int
    base: str
    query: str
    loopback: bool
    addresses: tuple[str, ...]
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    notices: tuple[str, ...] = ()
    _headers: bytes = field(default=b"", repr=False)
    _secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def url(self) -> str:
        """The address as it may be shown."""
        return f"{self.scheme}://{authority(self.scheme, self.host, self.port)}{self.base}"

    def head(self, path: str, method: str = "POST") -> bytes:
        """The head of a request, up to the headers that differ from one to the next. It holds the key."""
        where = f"{self.base}{path}" + (f"?{self.query}" if self.query else "")
        return f"{method} {where or '/'} HTTP/1.1\r\n".encode("ascii") + self._headers

    def api_path(self) -> str:
        """The path below ``base`` of the API that the target names."""
        return PATHS[self.target.api]

    def blanked(self, text: str) -> str:
        """``text`` of a server with our keys and whatever looks like one blanked, and control characters gone."""
        return redacted(printable(self.without_keys(text)))

    def without_keys(self, text: str) -> str:
        """``text`` with our own keys blanked, and otherwise as it was."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, BLANK)
        return text

    def __reduce__(self) -> NoReturn:
        message = "an endpoint holds a key: send its target instead"
        raise TypeError(message)


def endpoint(target: Target) -> Endpoint:
    """The endpoint of ``target``: its host's name is looked up, its key and certificates are read.

    A host that has no address is no error here: each request will end as ``dns``.

    Raises:
        InvalidInput: CB-W001 to CB-W013, all that is wrong with the target at once.
    """
    problems: list[Problem] = []
    parts = _address(target.url, problems)
    if target.api not in APIS:
        problems.append(problem("CB-W003", api=printable(target.api), apis=", ".join(APIS),
                                near=closest(target.api, APIS) or "chat"))  # fmt: skip
    headers, secrets = _headers(target, problems)
    tls = _tls(target, problems) if parts and parts.scheme == "https" else None
    if problems or parts is None:
        raise InvalidInput(problems)
    host, scheme = parts.hostname or "", parts.scheme
    port = parts.port or (443 if scheme == "https" else 80)
    base = _base(parts.path)
    addresses = resolved(host, port)
    if out := kept_out(addresses):
        raise InvalidInput([problem("CB-S022", host=host, address=out[0])])
    given = {name.lower() for name in headers}
    defaults = {
        "Host": authority(scheme, host, port),
        "User-Agent": f"cabida/{__version__}",
        "Accept": "application/json, text/event-stream",
        "Accept-Encoding": "identity",
    }
    every = {**{k: v for k, v in defaults.items() if k.lower() not in given}, **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in every.items())
    return Endpoint(
        target=target, scheme=scheme, host=host, port=port, base=base, query=_quoted(parts.query),
        loopback=bool(addresses) and all(map(is_loopback, addresses)), addresses=addresses, tls=tls,
        notices=_notices(scheme), _headers=lines.encode("latin-1"), _secrets=secrets,
    )  # fmt: skip


def authority(scheme: str, host: str, port: int) -> str:
    """``host:port`` as the Host header has it: the port of the scheme left out, IPv6 in brackets."""
    shown = f"[{host}]" if ":" in host else _idna(host)
    return shown if port == (443 if scheme == "https" else 80) else f"{shown}:{port}"


def resolved(host: str, port: int) -> tuple[str, ...]:
    """Addresses of ``host``, in the order the system prefers; none when its name is unknown."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return tuple(dict.fromkeys(str(one[4][0]) for one in found))


def kept_out(addresses: Iterable[str]) -> list[str]:
    """Those of ``addresses`` that this process may not ask; none unless a server said so for what its people ask."""
    reach = os.environ.get(REACH, "")
    return [one for one in addresses if reach and not may_be_asked(one, inside=reach == "private")]


def is_loopback(address: str) -> bool:
    """Whether ``address`` never leaves this machine."""
    try:
        one = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    inner = getattr(one, "ipv4_mapped", None) or one
    return bool(inner.is_loopback or inner.is_unspecified)


def _address(url: str, problems: list[Problem]) -> SplitResult | None:
    try:
        parts = _parts(url)
    except ValueError:
        holds_login = "@" in url  # then it isn't shown either
        shown = printable(redacted(url[:200]))
        problems.append(problem("CB-W002") if holds_login else problem("CB-W001", url=shown))
        return None
    if parts.username is not None or parts.password is not None or _SECRET_QUERY.search(parts.query):
        problems.append(problem("CB-W002"))
        return None
    return parts


def _parts(url: str) -> SplitResult:
    """Raises ValueError for what is no address of HTTP."""
    parts = urlsplit(url)
    _idna(parts.hostname or "")
    is_sound = (
        len(url) <= URL_CHARS_MOST
        and not any(one.isspace() or not one.isprintable() for one in url)
        and "://" in url
        and parts.scheme in ("http", "https")
        and parts.hostname
        and not parts.fragment
        and parts.port != 0
    )
    if not is_sound:
        raise ValueError(url)
    return parts


def _idna(host: str) -> str:
    return host if host.isascii() else host.encode("idna").decode("ascii")


def _quoted(text: str) -> str:
    return quote(text, safe="/%:=&?@!$'()*+,;~-._")


def _base(path: str) -> str:
    """``/v1`` where no path is given; the path of an API that was pasted whole is taken off."""
    path = _quoted(path.rstrip("/"))
    for suffix in sorted(PATHS.values(), key=len, reverse=True):
        if path.endswith(suffix):
            return path.removesuffix(suffix)
    return path or "/v1"


def _headers(target: Target, problems: list[Problem]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Headers as sent, and which of their values are secret."""
    sent: dict[str, str] = {}
    secrets: list[str] = []
    if len(target.headers) > HEADERS_MOST:
        problems.append(problem("CB-W009", name=str(len(target.headers))))
    for name, value in list(target.headers.items())[:HEADERS_MOST]:
        shown = printable(str(name)[:60])
        if not _HEADER_NAME.fullmatch(str(name)) or str(name).lower() in _OURS:
            problems.append(problem("CB-W009", name=shown))
        elif not isinstance(value, str) or not _is_line(value):
            problems.append(problem("CB-W010", name=shown))
        elif keys.is_named(value):
            key, wrong = keys.found(value)
            problems.extend([wrong] if wrong else [])
            sent[name] = key
            secrets.append(key)
        elif keys.SECRET_NAME.search(name):
            problems.append(problem("CB-W011", name=shown))
        else:
            sent[name] = value
    if target.key:
        key, wrong = keys.found(target.key)
        problems.extend([wrong] if wrong else [])
        sent["Authorization"] = f"Bearer {key}"
        secrets.append(key)
    return sent, tuple(sorted({one for one in secrets if one}, key=len, reverse=True))


def _is_line(value: str) -> bool:
    if len(value) > HEADER_CHARS_MOST or any(c in value for c in "\r\n\0"):
        return False
    try:
        value.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return True


def _tls(target: Target, problems: list[Problem]) -> ssl.SSLContext | None:
    try:
        own = read_text(target.ca, CA_BYTES_MOST) if target.ca else None
        context = ssl.create_default_context(cadata=own)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        why = getattr(error, "strerror", None) or getattr(error, "reason", None) or type(error).__name__
        problems.append(problem("CB-W008", file=target.ca, why=printable(str(why))))
        return None
    context.set_alpn_protocols(["http/1.1"])
    return context


def _notices(scheme: str) -> tuple[str, ...]:
    named = [name for name in _PROXIES[scheme] if os.environ.get(name)]
    return (tr("wire.proxy_ignored", name=named[0]),) if named else ()
