"""What whoever runs the server watches: whether it lives and is ready, what it counts, one line of log a request."""

from __future__ import annotations

import json
import logging
import re
import secrets
import sys
import time
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

REQUESTS = logging.getLogger("cabida.requests")
ID = re.compile(r"[\w.-]{1,64}")  # of a request, as a proxy may have numbered it
BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
LOGGED = ("request", "person", "method", "route", "status", "ms", "bytes")  # and never what was asked or sent


class Counts:
    """The figures of one server, as Prometheus reads them."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self.all = CollectorRegistry()
        self.requests = Counter(
            "cabida_requests", "Requests answered.", ("method", "route", "status"), registry=self.all
        )
        self.seconds = Histogram(
            "cabida_request_seconds", "Time until an answer was sent.", ("route",), buckets=BOUNDS_S,
            registry=self.all,
        )  # fmt: skip
        self.going = Gauge("cabida_requests_in_progress", "Requests being answered.", registry=self.all)
        self.jobs = Counter("cabida_jobs", "Jobs that ended.", ("kind", "state"), registry=self.all)
        self.job_seconds = Histogram(
            "cabida_job_seconds", "Time a job took.", ("kind",), registry=self.all,
            buckets=(0.5, 1, 2, 3, 5, 10, 30, 60, 300, 1800, 7200),
        )  # fmt: skip
        self.waiting = Gauge("cabida_jobs_waiting", "Jobs that wait.", registry=self.all)
        self.running = Gauge("cabida_jobs_running", "Jobs being worked out.", registry=self.all)
        self.workers = Gauge("cabida_workers", "Worker processes that are up.", registry=self.all)
        self.restarts = Counter("cabida_worker_restarts", "Workers replaced.", ("why",), registry=self.all)
        self.store = Histogram(
            "cabida_store_seconds", "Time of a small read of the store.", buckets=BOUNDS_S, registry=self.all
        )


class Watch:
    """ASGI: each request gets a number, is counted and timed, and leaves one line in the log."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        counts: Counts = scope["app"].state.counts
        stated = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
        number = stated if ID.fullmatch(stated) else secrets.token_hex(8)
        scope.setdefault("state", {})["id"] = number
        began, status, sent = time.perf_counter(), 500, 0

        async def watched(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-Id"] = number
            else:
                sent += len(message.get("body", b""))
            await send(message)

        counts.going.inc()
        try:
            await self.app(scope, receive, watched)
        finally:
            counts.going.dec()
            took_s = time.perf_counter() - began
            route = route_of(scope)
            counts.requests.labels(scope["method"] if scope["method"].isalpha() else "-", route, status).inc()
            counts.seconds.labels(route).observe(took_s)
            person = scope["state"].get("person")
            told = {
                "request": number, "person": person.name if person else "", "method": scope["method"][:10],
                "route": route, "status": status, "ms": round(took_s * 1e3, 1), "bytes": sent,
            }  # fmt: skip
            REQUESTS.info("%(method)s %(route)s %(status)s %(ms)s ms", told, extra=told)


def route_of(scope: Scope) -> str:
    """The pattern that answered, so that neither logs nor counts hold what was asked; "-" where there is none."""
    path = getattr(scope.get("route"), "path", "")
    if path:
        return str(path)
    if endpoint := scope.get("endpoint"):
        for route in scope["app"].router.routes:
            if getattr(route, "endpoint", None) is endpoint:
                return str(getattr(route, "path", "-"))
    asked: str = scope["path"]
    return next((f"{one}*" for one in ("/static/", "/mcp") if asked.startswith(one)), "-")


class OneLine(logging.Formatter):
    """A record as one line of JSON, and none of what was asked but its route."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        told: dict[str, Any] = {"at": f"{at}.{int(record.msecs):03d}Z", "level": record.levelname.lower()}
        told["from"] = record.name
        told |= {name: getattr(record, name) for name in LOGGED if hasattr(record, name)}
        if record.name != REQUESTS.name:
            told["what"] = record.getMessage()
        if record.exc_info:
            told["trace"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=False)


def log_to(stream: Any = None, *, as_json: bool, requests: bool = True) -> None:
    """Send the server's log to ``stream`` (stderr when left out), as JSON or as plain lines."""
    out = logging.StreamHandler(stream or sys.stderr)
    out.setFormatter(OneLine() if as_json else logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    for name, level in (("cabida", "INFO"), ("uvicorn.error", "WARNING"), ("uvicorn.access", "CRITICAL")):
        log = logging.getLogger(name)
        log.handlers, log.propagate = [out], False
        log.setLevel(level)
    REQUESTS.setLevel("INFO" if requests else "WARNING")


async def alive(request: Request) -> Response:
    """Whether the process answers."""
    return JSONResponse({"alive": True})


def _store_answers(counts: Counts) -> str:
    """Why the store can't be read, as a code; "" when it can, and is of today's schema."""
    from cabida.errors import CabidaError
    from cabida.evidence import shelf

    began = time.perf_counter()
    try:
        shelf.tokens()
    except CabidaError as error:
        return error.problems[0].code
    counts.store.observe(time.perf_counter() - began)
    return ""


async def ready(request: Request) -> Response:
    """Whether what comes now can be worked on: the store answers, workers are up, nobody stops the server."""
    state = request.app.state
    store = await run_in_threadpool(_store_answers, state.counts)
    found = {
        "store": store or "ok",
        "workers": "ok" if state.jobs.up else "starting",
        "stopping": state.jobs.stopping,
    }
    sound = not store and state.jobs.up and not state.jobs.stopping
    return JSONResponse({"ready": sound, **found}, 200 if sound else 503)


async def metrics(request: Request) -> Response:
    """The counts, for whoever may read (a token, or this machine)."""
    from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

    state = request.app.state
    await run_in_threadpool(_store_answers, state.counts)
    state.jobs.count()
    return Response(generate_latest(state.counts.all), media_type=CONTENT_TYPE_LATEST)


ROUTES = [
    Route("/healthz", alive, name="healthz"),
    Route("/readyz", ready, name="readyz"),
    Route("/metrics", metrics, name="metrics"),
]
