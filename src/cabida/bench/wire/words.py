"""What became of requests, in words."""

from __future__ import annotations

from cabida.bench.outcome import Outcome
from cabida.errors import Problem
from cabida.text import has_text, printable, problem, tr

_CODES = {
    "refused": "CB-W201", "reset": "CB-W202", "timeout": "CB-W203", "rate-limited": "CB-W204",
    "unauthorised": "CB-W205", "rejected": "CB-W206", "server-error": "CB-W207", "stream-error": "CB-W208",
    "malformed": "CB-W209", "oversize": "CB-W210", "tls": "CB-W211", "dns": "CB-W212", "truncated": "CB-W213",
    "cancelled": "CB-W214",
}  # fmt: skip


def why_text(outcome: Outcome) -> str:
    """Why a request ended as it did, in the language in use; what a server said stays in its own words."""
    word, _, told = outcome.why.partition(": ")
    key = f"wire.why.{word}"
    said = printable(told)
    if not word or not has_text(key):
        return printable(outcome.why)
    return f"{tr(key)} ({said})" if said else tr(key)


def problem_of(outcome: Outcome, url: str, key: str = "", ca: str = "") -> Problem | None:
    """What is wrong with an endpoint whose ``outcome`` this is, and what to do; ``None`` when nothing is.

    ``url`` is the address as it may be shown (:attr:`Endpoint.url`), ``key`` and ``ca`` are where the key and the
    certificates are, as the target names them.
    """
    code = _CODES.get(outcome.verdict)
    if code is None:
        return None
    return problem(
        code, url=url, why=why_text(outcome), status=outcome.status,
        key=key or tr("wire.no_key"), ca=ca or tr("wire.system_ca"),
        seconds="?" if outcome.retry_after_s is None else f"{outcome.retry_after_s:.0f}",
    )  # fmt: skip
