"""Access logs of web servers and balancers: when, whether and how long, never how many tokens.

nginx and Apache write the common or combined format at the end of a request
(https://nginx.org/en/docs/http/ngx_http_log_module.html); what people add behind it most often is ``rt=$request_time``
or a bare ``$request_time``, which always has three decimals. HAProxy's ``option httplog`` is described in section
8.2.3 of its configuration manual, timers in 8.4 (``TR/Tw/Tc/Tr/Ta``, before 1.8 ``Tq/Tw/Tc/Tr/Tt``) and states of
ending in 8.5 (https://docs.haproxy.org/2.6/configuration.html).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from cabida.evidence.secrets import redacted
from cabida.evidence.traffic.columns import CUT, DURATION_S_MOST, FAILED, Requests
from cabida.evidence.traffic.times import Clock
from cabida.text import printable

# paths that ask a model for something; before them may stand what a proxy adds
ASKS = re.compile(
    rb"/(?:v\d++[\w.]*+/)?(?:chat/completions|completions?|embeddings?|responses|messages|rerank|score|"
    rb"images/generations|audio/(?:speech|transcriptions|translations)|generate|generate_stream|infer|invocations|"
    rb"api/(?:chat|generate|embed|embeddings))(?:$|[/?])"
)
COMBINED = re.compile(
    rb'[^ ]+ [^ ]+ [^\[]{1,200} \[([^\]]{20,32})\] "([A-Z]{3,8}) ([^" ]*+)[^"]*+" (\d{3}) (?:\d+|-)(.*)\Z'
)
ODD_REQUEST = re.compile(rb'\S+ \S+ \S+ \[[^\]]{20,32}\] "(?:[^"\\]|\\.)*+" \d{3} (?:\d+|-)')
SHORT_TIME = re.compile(rb' rt="?(\d+\.\d+)')  # apart, since it is found five times as fast
NAMED_TIME = re.compile(rb'(?:\brt|request_time|\btime)[=:]"?(\d+\.\d+)')
BARE_TIME = re.compile(rb'(?:^|[ "])(\d+\.\d{3})(?=$|[ "])')
HAPROXY = re.compile(
    rb":\d{1,5} \[(\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d\.\d{3})\] \S+ \S+ "
    rb"(-?\d+)/(-?\d+)/(-?\d+)/(-?\d+)/\+?(-?\d{1,18}) (-?\d{1,3}) \+?\d+ \S+ \S+ (\S\S\S\S) \S+ \S+ "
    rb"(?:\{[^}]*+\} ){0,2}"
    rb'"(?:([A-Z]{3,8}) ([^" ]*+)|<BADREQ>)'
)
PATHS_KEPT = 1000
WEB_LINE_BYTES_MOST = 65_536
MORE = "…".encode()


class Paths:
    """Which requests count: those below the paths named; without any, those that ask a model for something."""

    def __init__(self, named: Sequence[str] = ()) -> None:
        self._named = tuple(one.encode() for one in named)
        self._known: dict[bytes, bool] = {}
        self._others: Counter[bytes] = Counter()

    def counts(self, method: bytes, target: bytes) -> bool:
        """Whether it does; of the others the paths are kept, without what stands behind a ``?``."""
        path = target.partition(b"?")[0]
        known = self._known.get(path)
        if known is None:
            known = path.startswith(self._named) if self._named else bool(ASKS.search(path))
            if len(self._known) < PATHS_KEPT:
                self._known[path] = known
        if known and (method == b"POST" or self._named):
            return True
        self._others[path if path in self._others or len(self._others) < PATHS_KEPT else MORE] += 1
        return False

    @property
    def others(self) -> Counter[str]:
        """What else was asked for, by path, as it may be shown."""
        found: Counter[str] = Counter()
        for path, count in self._others.items():
            found[printable(redacted(path.decode("utf-8", "replace")))[:80]] += count
        return found


def nginx_line(line: bytes, requests: Requests, clock: Clock, paths: Paths, *, hashed: bool = False) -> str:
    """One line of nginx or Apache into ``requests``; the reason where it makes no sense, "" where all is well."""
    found = COMBINED.match(line) if len(line) <= WEB_LINE_BYTES_MOST else None
    if found is None:
        return (
            "" if ODD_REQUEST.match(line) else "shape"
        )  # a request line that is no HTTP: a scanner, not traffic
    stamp, method, target, status, rest = found.groups()
    if not paths.counts(method, target):
        return ""
    at_s = clock.clf(stamp)
    if at_s is None:
        return "time"
    code = int(status)
    taken_s = _taken_s(rest) if rest else None
    if clock.resolution_s > requests.resolution_s:
        requests.resolution_s = clock.resolution_s
    requests.add_plain(at_s - (taken_s or 0.0), code, taken_s, hash(line) if hashed else 0)
    return ""


def _taken_s(rest: bytes) -> float | None:
    """``$request_time`` of what stands behind the combined format; who asks chooses what is in the first two quotes."""
    parts = rest.split(b'"', 4)
    tail = parts[4] if len(parts) == 5 else rest
    if len(tail) < 5:
        return None
    found = SHORT_TIME.search(tail) or NAMED_TIME.search(tail)
    if found is None:
        found = BARE_TIME.search(b'"'.join(tail.split(b'"')[::2]))
    taken_s = float(found[1]) if found else DURATION_S_MOST
    return taken_s if taken_s < DURATION_S_MOST else None


def haproxy_line(line: bytes, requests: Requests, clock: Clock, paths: Paths, *, hashed: bool = False) -> str:
    """One line of HAProxy's HTTP format, with what syslog puts before it."""
    found = HAPROXY.search(line) if len(line) <= WEB_LINE_BYTES_MOST else None
    if found is None:
        return (
            "shape" if b"[" in line and b'"' in line else ""
        )  # starts, stops and health are told in between
    stamp, _, _, _, _, whole_ms, status, state, method, target = found.groups()
    if method is None or not paths.counts(method, target):
        return ""
    at_s = clock.clf(stamp)
    if at_s is None:
        return "time"
    code, ended = int(status), state[:1]
    if code < 100:
        code = CUT if ended in b"Cc" else FAILED
    elif code < 400 and ended in b"CcSs":
        code = CUT
    requests.resolution_s = max(requests.resolution_s, clock.resolution_s)
    taken_s = int(whole_ms) / 1000 if int(whole_ms) >= 0 else None
    requests.add_plain(at_s, code, taken_s, hash(line) if hashed else 0)
    return ""
