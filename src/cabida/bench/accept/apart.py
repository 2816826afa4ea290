"""The process that puts rules to outputs, so that whoever measures is neither held up nor brought down by them.

``python -m cabida.bench.accept.apart`` reads lines of JSON: first ``{"language": ..., "rules": [...]}``, then one an
output; it answers ``{"n": ..., "said": [[name, form, met, why], ...]}``, in the order in which they are done.
"""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson

from cabida.bench.accept.judgement import Output
from cabida.bench.accept.rules import Rules, rules
from cabida.text import use_language

AT_ONCE = 4  # commands wait, they do not compute


def main() -> None:
    """Read until there is no more."""
    order = orjson.loads(sys.stdin.buffer.readline())
    put = rules(order["rules"])
    lock = threading.Lock()
    with ThreadPoolExecutor(AT_ONCE, initializer=use_language, initargs=(order["language"],)) as pool:
        room = threading.Semaphore(2 * AT_ONCE)
        for line in sys.stdin.buffer:
            room.acquire()
            pool.submit(_answer, put, line, lock, room)


def _answer(put: Rules, line: bytes, lock: threading.Lock, room: threading.Semaphore) -> None:
    try:
        asked = orjson.loads(line)
        said = answered(put, asked)
        left = memoryview(orjson.dumps({"n": asked["n"], "said": said}) + b"\n")
        with lock:
            while left:
                left = left[os.write(sys.stdout.fileno(), left) :]
    except BaseException:
        os._exit(1)  # whoever asked sees the end of the pipe, and starts another
    finally:
        room.release()


def answered(put: Rules, asked: dict[str, Any]) -> list[list[Any]]:
    """What the rules say of one output, as plain data."""
    output = Output(
        asked["text"], asked["finish_reason"], asked["tokens"], asked["id"], "", asked.get("reference")
    )
    return [[name, form, one.met, one.why[:1000]] for name, form, one in put.said(output)]


if __name__ == "__main__":
    main()
