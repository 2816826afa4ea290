"""Nothing measured is lost: the journal, the figures summed up from it, and the observation they make.

The journal is ``journal.jsonl`` in the folder of a benchmark: one JSON object a line, numbered and with a checksum.

Rows by ``kind``, with the fields that are read again (others are kept as they are; times are the journal's own, see
:meth:`~cabida.bench.keep.journal.Journal.at`):

``plan``      each opening: ``plan`` as plain data, ``digest``, ``version``, ``wall``, ``offset_s``
``run``       a run begins: ``run`` (name), ``candidate``, ``phase``
``request``   one attempt: :mod:`cabida.bench.keep.rows`
``judged``    what rules said of an attempt whose row said ``judging``: ``id``, ``try``, ``ok``, ``valid``, ``broken``
``health``    the client: ``cpu_ratio``, ``lag_s``, ``send_delay_s``
``watch``     the server and its machine
``drill``     ``name``, ``drill`` (kind), ``step`` (began, undone, ready ...)
``point``     of a search: ``requests_per_s``, ``good``
``run-end``   ``run``, ``steady_from_s``, ``steady_until_s``, ``client_bound``, ``client_why``, ``stopped``
``note``      anything told; ``end``  the benchmark is over
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cabida.bench.keep.figures import Summary, summaries, summary
    from cabida.bench.keep.journal import Journal
    from cabida.bench.keep.kept import Kept, done_ids, read_journal
    from cabida.bench.keep.observed import observation, observations, read_file_of
    from cabida.bench.keep.requests import Requests, requests_of
    from cabida.bench.keep.statistics import Figure

_HOME = {
    "Figure": "statistics", "Journal": "journal", "Kept": "kept", "Requests": "requests", "Summary": "figures",
    "done_ids": "kept", "observation": "observed", "observations": "observed",
    "read_file_of": "observed", "read_journal": "kept",
    "requests_of": "requests", "summaries": "figures", "summary": "figures",
}  # fmt: skip

__all__ = [
    "Figure", "Journal", "Kept", "Requests", "Summary", "done_ids", "observation", "observations", "read_file_of",
    "read_journal", "requests_of", "summaries", "summary",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Names of the files, imported when first asked for: what writes needs no arrays."""
    if name not in _HOME:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"cabida.bench.keep.{_HOME[name]}"), name)
