"""Where many small questions are worked out: in this process, or spread over a Ray cluster, with the same answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from cabida.errors import InvalidInput
from cabida.text import problem

One = TypeVar("One")
Answer = TypeVar("Answer")
PLACES = ("here", "ray")
CHUNKS_PER_CPU = 4


def everything_here(work: Callable[[One], Answer], questions: Sequence[One]) -> list[Answer]:
    """One after the other."""
    return [work(one) for one in questions]


@contextmanager
def placed(on: str) -> Iterator[Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]]:
    """A way to map a function over questions: ``here``, or ``ray`` (a cluster at RAY_ADDRESS, else this machine).

    Answers come in the order of the questions, wherever they were worked out.

    Raises:
        InvalidInput: CB-X071, Ray is asked for and not installed; CB-X072, no such place, or it can't be reached.
    """
    if on in ("", "here"):
        yield everything_here
        return
    if on != "ray":
        raise InvalidInput([problem("CB-X072", name=on, why=", ".join(PLACES))])
    try:
        import ray
    except ImportError:
        raise InvalidInput([problem("CB-X071")]) from None
    cluster: Any = ray
    begun = not cluster.is_initialized()
    if begun:
        _begin(cluster)

    def spread(work: Callable[[Any], Any], questions: Sequence[Any]) -> list[Any]:
        cpus = max(1, int(cluster.cluster_resources().get("CPU", 1)))
        size = max(1, -(-len(questions) // (cpus * CHUNKS_PER_CPU)))
        remote = cluster.remote(everything_here)
        chunks = [questions[at : at + size] for at in range(0, len(questions), size)]
        return [
            one for found in cluster.get([remote.remote(work, chunk) for chunk in chunks]) for one in found
        ]

    try:
        yield spread
    finally:
        if begun:
            cluster.shutdown()


def _begin(ray: Any) -> None:
    """Join the cluster at RAY_ADDRESS, else start one on this machine: quiet, without dashboard or reports of use."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    settings: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False, "include_dashboard": False}
    if os.environ.get("RAY_ADDRESS"):
        del settings["include_dashboard"]
    else:
        settings["num_cpus"] = os.cpu_count() or 1
    try:
        ray.init(**settings)
    except (ConnectionError, RuntimeError, ValueError) as error:
        why = str(error).partition("\n")[0][:200]
        raise InvalidInput([problem("CB-X072", name="ray", why=why)]) from None
