"""Rows of gateways' logs and exports, JSON or tables, by the names that ``gateways.json`` has with their sources."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import IO, Any

import orjson

from cabida.evidence.traffic.bodies import Answer, answer_of, opened, prompt_of, replayed, usage_of
from cabida.evidence.traffic.columns import CUT, DURATION_S_MOST, FAILED, OK, Requests, whole_tokens
from cabida.evidence.traffic.prefixes import ByModel
from cabida.evidence.traffic.times import Clock
from cabida.evidence.traffic.weblogs import Paths

MISSING = object()
KEPT_LINE_BYTES_MOST = 16 * 2**20
FROM_CACHE = frozenset(("true", "1", "hit", "semantic hit"))
GONE = frozenset(("DC", "UC", "UT", "SI", "DPE", "UPE", "UR"))  # Envoy: the stream ended before its end


@dataclass(frozen=True, slots=True)
class Gateway:
    """How one gateway names what it logs: lists of paths by what they hold; the first that says something counts."""

    key: str
    title: str
    source: str
    signs: tuple[tuple[str, ...], ...]
    only: Mapping[str, tuple[str, ...]]
    paths: Mapping[str, tuple[tuple[str, ...], ...]]


@cache
def gateways() -> dict[str, Gateway]:
    """Every gateway that is known, by key; the most particular first."""
    text = resources.files("cabida.evidence.traffic").joinpath("gateways.json").read_text(encoding="utf-8")
    found = {}
    for key, one in json.loads(text).items():
        lists = {name: value for name, value in one.items() if isinstance(value, list) and name != "signs"}
        found[key] = Gateway(
            key,
            one["title"],
            one["source"],
            tuple(tuple(sign) for sign in one["signs"]),
            {name: tuple(words) for name, words in one.get("only", {}).items()},
            {name: tuple(_ways(path)) for name, path in lists.items()},
        )
    return found


def _ways(paths: Sequence[str]) -> list[tuple[str, ...]]:
    """Paths as keys one within another; a name with points may also be one key."""
    found: list[tuple[str, ...]] = []
    for path in paths:
        found += [(path,)] + ([tuple(path.split("."))] if "." in path and path != "." else [])
    return found


def gateway_of(row: Mapping[str, Any]) -> str:
    """Whose row it is; "" = nobody's that is known."""
    return next(
        (
            key
            for key, one in gateways().items()
            if any(all(row.get(name, MISSING) is not MISSING for name in sign) for sign in one.signs)
        ),
        "",
    )


def look_up(row: Any, way: tuple[str, ...]) -> Any:
    """What stands at the end of a path; ``None`` = nothing. ``*`` is the first that goes on, ``.`` the row."""
    if way == (".",):
        return row
    for at, name in enumerate(way):
        row = opened(row)
        if not isinstance(row, dict):
            return None
        if name == "*":
            tried = (look_up(one, way[at + 1 :]) for one in row.values())
            return next((one for one in tried if one is not None), None)
        row = row.get(name)
    return row


@dataclass(slots=True)
class Rows:
    """Takes rows of a log in.

    Attributes:
        gateway: whose they are.
        prefixes: prompts are told by their hashes there.
        cached_count: requests that the gateway answered itself, and no model saw.
        kept: where prompts go, if they were asked for.
    """

    gateway: Gateway
    requests: Requests
    clock: Clock
    paths: Paths
    prefixes: ByModel
    kept: IO[bytes] | None = None
    cached_count: int = 0
    kept_count: int = 0
    kept_left_count: int = 0
    wanted: Callable[[str], bool] = lambda _: True

    def said(self, row: Any, name: str) -> Any:
        """What the row says under the first of a thing's names."""
        for way in self.gateway.paths.get(name, ()):
            value = row.get(way[0]) if len(way) == 1 else look_up(row, way)
            if value is not None and value not in ("", "-"):
                return value
        return None

    def take(self, row: Any) -> str:
        """One row into the requests; the reason where it makes no sense, "" where all is well."""
        if not isinstance(row, dict):
            return "object"
        if any(row.get(name) not in words for name, words in self.gateway.only.items() if name in row):
            return ""
        if self._elsewhere(row):
            return ""
        if str(self.said(row, "answered_from_cache") or "").lower() in FROM_CACHE:
            self.cached_count += 1
            return ""
        answers = [answer_of(one) for way in self.gateway.paths["response"] if (one := look_up(row, way))]
        told = (one for one in answers if one.usage.output is not None)
        answer = next(told, answers[0] if answers else Answer(usage_of(None)))
        timed = self._timed(row, answer)
        if timed is None:
            return "time"
        at_s, duration_s = timed
        model = self.said(row, "model") or answer.model
        model = model if isinstance(model, str) else ""
        request, prompt = self._request(row)
        if not self.wanted(model) or not self.requests.from_s <= at_s < self.requests.until_s:
            request = None
        asked, answered, cached = self._tokens(row, answer)
        status = self._status(row, answer)
        identity = self.said(row, "id") or answer.id
        added = self.requests.add(
            at_s,
            status=status,
            model=model,
            duration_s=duration_s,
            input_tokens=asked,
            output_tokens=answered,
            cached_tokens=cached,
            id_hash=hash(str(identity)) if identity else 0,
            body_hash=self.prefixes.of(model).add(prompt) if request is not None else 0,
        )
        if added and self.kept is not None and request is not None:
            self._keep(request, answered)
        return ""

    def _request(self, row: Any) -> tuple[Any, str]:
        """What was asked, and the text of it."""
        for way in self.gateway.paths["request"]:
            if (found := look_up(row, way)) and (prompt := prompt_of(found)):
                return found, prompt
        return None, ""

    def _elsewhere(self, row: Mapping[str, Any]) -> bool:
        """Whether a web server's row is of something that isn't asked of a model."""
        if "path" not in self.gateway.paths:
            return False
        path = self.said(row, "path")
        if not isinstance(path, str) or self.said(row, "input") is not None:
            return False
        method = self.said(row, "method")
        if " " in path:  # "POST /v1/completions HTTP/1.1"
            method, path = path.split(" ")[:2]
        return not self.paths.counts(str(method or "POST").encode(), path.encode())

    def _timed(self, row: Any, answer: Answer) -> tuple[float, float | None] | None:
        """Arrival and duration."""
        duration_s = self._duration_s(row)
        begun = self.said(row, "start")
        at_s = self.clock.moment(begun) if begun is not None else None
        if at_s is None and (ended := self.said(row, "ended")) is not None:
            over_s = self.clock.moment(ended)
            at_s = over_s - (duration_s or 0.0) if over_s is not None else None
        if at_s is None and begun is None:
            at_s = self.clock.moment(answer.created)
        if at_s is None:
            return None
        self.requests.resolution_s = max(self.requests.resolution_s, self.clock.resolution_s)
        if duration_s is None and (end := self.said(row, "end")) is not None:
            end_s = self.clock.moment(end)
            duration_s = end_s - at_s if end_s is not None and end_s >= at_s else None
        return at_s, duration_s

    def _duration_s(self, row: Any) -> float | None:
        for name, unit in (("duration_s", 1.0), ("duration_ms", 1e-3), ("duration_ns", 1e-9)):
            value = self.said(row, name)
            if value is None or isinstance(value, bool):
                continue
            try:
                taken_s = float(value) * unit
            except (TypeError, ValueError, OverflowError):
                return None
            return taken_s if 0 <= taken_s < DURATION_S_MOST else None
        return None

    def _tokens(self, row: Any, answer: Answer) -> tuple[int | None, int | None, int | None]:
        kinds = opened(self.said(row, "kinds"))
        if isinstance(kinds, dict) and kinds:
            return _by_kind(kinds)
        usage = usage_of(row.get("usage")) if isinstance(row, dict) else usage_of(None)
        asked = whole_tokens(self.said(row, "input"))
        answered = whole_tokens(self.said(row, "output"))
        cached = whole_tokens(self.said(row, "cached"))
        own = usage if usage.input is not None else answer.usage
        asked = own.input if own.input is not None else asked
        cached = own.cached if own.cached is not None else cached
        if asked is not None and cached is not None and cached > asked:  # then they are counted apart
            asked += cached
        answered = own.output if own.output is not None else answered
        return asked or None, answered, cached  # no prompt has no tokens: what failed wasn't counted

    def _status(self, row: Any, answer: Answer) -> int:
        """A code of HTTP; CUT, FAILED or OK where only that is told; 0 = nothing is."""
        code = whole_tokens(self.said(row, "status"))
        outcome = self.said(row, "outcome")
        outcome = "" if outcome is None else str(outcome).lower()
        flags = self.said(row, "flags")
        gone = bool(flags) and not GONE.isdisjoint(one.strip() for one in str(flags).split(","))
        cancelled = str(self.said(row, "cancelled") or "").lower()
        if cancelled in ("true", "1"):
            return CUT
        if code is not None and 100 <= code < 600:
            if code < 400 and (gone or answer.cut):
                return CUT
            return FAILED if code < 400 and (answer.failed or self.said(row, "error")) else code
        if code == 0 and gone:
            return CUT
        if outcome in ("failure", "error", "false", "0") or answer.failed or self.said(row, "error"):
            return FAILED
        if answer.cut:
            return CUT
        told = (
            outcome in ("success", "true", "1", "default", "warning", "debug")
            or answer.usage.output is not None
            or cancelled == "false"
        )
        return OK if told else 0

    def _keep(self, request: Any, answered: int | None) -> None:
        again = replayed(request, answered)
        line = orjson.dumps(again) + b"\n" if again else b""
        if self.kept is None or not line or len(line) > KEPT_LINE_BYTES_MOST:
            self.kept_left_count += 1
            return
        self.kept.write(line)
        self.kept_count += 1


def _by_kind(kinds: Mapping[str, Any]) -> tuple[int | None, int | None, int | None]:
    """Tokens kept by kind, none in another's: ``input`` and ``input_cached_tokens`` make the prompt.

    https://langfuse.com/docs/observability/features/token-and-cost-tracking
    """
    asked = answered = cached = None
    for name, value in kinds.items():
        tokens = whole_tokens(value)
        if tokens is None or name == "total":
            continue
        if "input" in name or name.startswith("prompt"):
            asked = (asked or 0) + tokens
            cached = (cached or 0) + tokens if "cache" in name and "creation" not in name else cached
        elif "output" in name or name.startswith("completion"):
            answered = (answered or 0) + tokens
    return asked, answered, cached
