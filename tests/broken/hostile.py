"""Run in a process of its own, its memory limited: read every hostile file, and say what each did.

Usage: python hostile.py FOLDER; one JSON line for each: name, codes of the error, seconds of work.
"""

import json
import os
import resource
import sys
import time
import traceback
from functools import partial
from pathlib import Path

from cabida.brief.trace import read_trace
from cabida.errors import CabidaError
from cabida.evidence.prices import read
from cabida.facts import checkpoint, gguf, overlay, paths  # noqa: F401  # imported before the limit is set
from cabida.facts.load import read_records
from cabida.facts.model import Offer
from cabida.facts.models import model

MEMORY_BYTES = 200 * 10**6


def facts_at(path):
    """A user's own facts, from a folder that holds one file."""
    os.environ["CABIDA_FACTS"] = str(path)
    try:
        return overlay.table("accelerators")
    finally:
        del os.environ["CABIDA_FACTS"]


def doors(name):
    """What is asked of a file, by its ending."""
    if name.endswith(".trace.csv"):
        return read_trace
    if name.endswith(".prices.csv"):
        return partial(read, currency="USD")
    if name.endswith("-facts"):
        return facts_at
    return lambda path: model(str(path))


def outcome(path):
    """The codes of the errors a file gives, or the name of an exception that should never be seen."""
    try:
        doors(path.name)(path)
    except CabidaError as error:
        long = any(len(str(problem)) > 4000 for problem in error.problems)
        return ["long"] if long else [problem.code for problem in error.problems]
    except BaseException as error:
        return [traceback.format_exc()[-600:] or type(error).__name__]
    return [""]


def used_bytes():
    """The address space in use."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def main():
    model("meta-llama/Llama-3.1-8B")  # what is read once and kept
    read_records(Path(sys.argv[1]) / "empty.yaml", Offer)
    resource.setrlimit(resource.RLIMIT_AS, (used_bytes() + MEMORY_BYTES,) * 2)
    for path in sorted(Path(sys.argv[1]).iterdir(), key=lambda one: one.name):
        start = time.process_time()
        told = outcome(path)
        print(json.dumps([path.name, told, time.process_time() - start]), flush=True)


if __name__ == "__main__":
    main()
