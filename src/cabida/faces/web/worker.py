"""A process that works jobs out, one after another: a line of JSON in for each, lines of progress and an end out."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from cabida.faces.web.doing import ELSEWHERE
from cabida.faces.web.doing_bench import keyed

TOLD_AGAIN_S = 0.05  # between two lines about the same thing
WARM_ON = "chat-llama-70b"  # the example that a new worker decides for itself, so that nobody waits for what it loads


def work(kind: str, asked: dict[str, Any], by: str, tell: Any) -> dict[str, Any]:
    """Work one job out: ``state`` with ``result`` or ``errors``, never an exception."""
    import logging

    from cabida.errors import CabidaError
    from cabida.evidence.shelf import acting
    from cabida.faces.web.doing import doing
    from cabida.facts.known import by_name_only
    from cabida.text import problem, use_language

    use_language(str(asked.get("language") or "en"))
    try:
        with acting(by), by_name_only():
            return {"state": "done", "result": doing(kind)(asked, tell)}
    except CabidaError as error:
        problems = list(error.problems)[:200]
    except MemoryError:
        problems = [problem("CB-S019")]
    except Exception as error:
        logging.getLogger("cabida.web").exception("job of kind %s", kind)
        problems = [problem("CB-U000", kind=type(error).__name__, what=str(error).partition("\n")[0][:300])]
    return {"state": "failed", "errors": [one.as_dict() for one in problems]}


def main() -> None:
    """Read jobs until whoever sends them is gone."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # what a library prints goes to the log
    said = threading.Lock()

    def say(**what: Any) -> None:
        with said:
            out.write(json.dumps(what, ensure_ascii=False) + "\n")
            out.flush()

    setup = json.loads(sys.stdin.readline() or "{}")
    if setup.get("store"):
        os.environ["CABIDA_STORE"] = setup["store"]
    _bound(int(setup.get("bytes") or 0))
    asked: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_listen, args=(asked,), daemon=True).start()
    say(up=True)
    if setup.get("warm"):
        with suppress(Exception):  # a job tells what is wrong, with its cure
            _warm()
    say(warm=True)
    while True:
        one = asked.get()
        told_at, told = 0.0, ""

        def tell(what: str, done: int, of: int) -> None:
            nonlocal told_at, told
            at = time.monotonic()
            if what != told or done == of or at - told_at >= TOLD_AGAIN_S:
                told_at, told = at, what
                say(progress=[what, done, of])

        if one.get("at"):
            ELSEWHERE[one["kind"]] = one["at"]
        with keyed(one.get("key", "")):
            end = work(one["kind"], one["asked"], one["by"], tell)
        say(end=end, peak_bytes=_peak_bytes())


def _listen(asked: queue.Queue[dict[str, Any]]) -> None:
    """Jobs as they come; the server's end is this process's."""
    for line in sys.stdin:
        asked.put(json.loads(line))
    os._exit(0)


def _warm() -> None:
    from datetime import date

    from cabida.app.deciding import decided
    from cabida.brief import parse_brief
    from cabida.brief.examples import example_text
    from cabida.evidence import book
    from cabida.facts.known import as_known
    from cabida.report.store import to_json

    day = date.today().isoformat()
    with as_known(day):
        brief = parse_brief(example_text(WARM_ON), as_of=day, sellers=book.sellers)
        to_json(decided(brief, day, {"assume": True, "all": False, "scenarios": 0}))


def _bound(most_bytes: int) -> None:
    """No more memory of its own than that, where the system can hold a process to it."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        if most_bytes:
            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, hard))


def _peak_bytes() -> int:
    with suppress(ImportError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return 0


if __name__ == "__main__":
    main()
