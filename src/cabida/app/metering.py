"""Readings of an engine's metrics: from saved pages, an address, or what Prometheus kept."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from cabida.errors import EndpointFailed, InvalidInput
from cabida.plan import Progress
from cabida.text import printable, problem, tr

if TYPE_CHECKING:
    from cabida.evidence.pages import Page

READINGS = 20  # of a page that is followed for a while
SHORTEST_STEP_S = 1.0
LONGEST_FOR_S = 7 * 86_400.0
PAGE_BYTES_MOST = 64 * 2**20


def readings(
    sources: Sequence[str],
    format: str,
    for_s: float | None,
    sleep: Callable[[float], None],
    progress: Progress | None = None,
) -> tuple[list[dict[str, Any]], list[tuple[float, Page]]] | None:
    """Readings of metrics, where that is what the sources are; ``None`` = they are logs.

    Raises:
        InvalidInput: CB-I001, CB-I010 to CB-I015, CB-I017.
        EndpointFailed: CB-I021.
    """
    from cabida.evidence.traffic.reading import path_of

    live = [one for one in sources if path_of(one) is None]
    if live and len(live) < len(sources):
        raise InvalidInput([problem("CB-I014")])
    if len(live) > 1:
        raise InvalidInput([problem("CB-I015")])
    if live:
        return _live(live[0], for_s, sleep, progress)
    pages = [_page(one, format) for one in sources]
    if not any(pages):
        return None
    if not all(pages):
        raise InvalidInput([problem("CB-I014")])
    files = [{"file": path, "format": kind} for path, one in zip(sources, pages, strict=True) if one
             for kind in [one[0]]]  # fmt: skip
    return files, list(chain.from_iterable(one[1] for one in pages if one))


def _page(path: str, format: str) -> tuple[str, list[tuple[float, Page]]] | None:
    """What a file holds, where it is a metrics page or an answer of Prometheus."""
    from cabida import files
    from cabida.evidence.traffic.scraped import is_page, is_range_query, page_of, range_query

    if path == "-" or format not in ("", "metrics", "prometheus"):
        return None
    try:
        with files.opened(path) as file:
            head = file.read(65_536)
            written_s = os.fstat(file.fileno()).st_mtime
            wanted = format or ("prometheus" if is_range_query(head) else
                                "metrics" if is_page(head.decode("utf-8", "replace")) else "")  # fmt: skip
            if not wanted:
                return None
            file.seek(0)
            text = file.read(PAGE_BYTES_MOST + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InvalidInput([problem("CB-I001", file=printable(path), why=printable(why)[:200])]) from None
    if len(text) > PAGE_BYTES_MOST:
        raise InvalidInput([problem("CB-I013", file=path, most=f"{PAGE_BYTES_MOST >> 20} MiB")])
    if wanted == "prometheus":
        return wanted, range_query(text, path)
    return wanted, [(written_s, page_of(text.decode("utf-8", "replace"), path))]


def _live(
    url: str, for_s: float | None, sleep: Callable[[float], None], progress: Progress | None
) -> tuple[list[dict[str, Any]], list[tuple[float, Page]]]:
    """A page read once, or again and again for a while; or an answer of Prometheus."""
    from cabida.bench.watch.fetching import Address, NoPage, addresses
    from cabida.evidence.traffic.scraped import is_range_query, page_of, range_query

    if for_s is not None and not 0 < for_s <= LONGEST_FOR_S:
        raise InvalidInput([problem("CB-I017", value=f"{for_s:g}")])
    address: Address = addresses(url, url, None, loopback=False)[0]
    found: list[tuple[float, Page]] = []
    step_s = max(SHORTEST_STEP_S, (for_s or 0.0) / READINGS)
    until = time.monotonic() + (for_s or 0.0)
    kind = "metrics"
    try:
        while True:
            text = address.fetch()
            if is_range_query(text[:400].encode()):
                kind, found = "prometheus", range_query(text.encode(), address.shown)
                break
            found.append((time.time(), page_of(text, address.shown)))
            if (left := until - time.monotonic()) <= 0:
                break
            if progress is not None and for_s:
                progress("import", round(for_s - left), round(for_s))
            sleep(min(step_s, left))
    except NoPage as gone:
        why = tr(f"watch.page.{gone.why}", detail=gone.detail)
        raise EndpointFailed([problem("CB-I021", url=address.shown, why=why)]) from None
    finally:
        address.close()
    return [{"file": address.shown, "format": kind}], found
