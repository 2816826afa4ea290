"""A kind of job that a worker process is tried with."""

import os
import signal
import time


def slow(asked, tell):
    """Says which process works on it; then waits, dies or eats memory, as asked."""
    tell("screen", os.getpid(), 0)
    if asked.get("die"):
        os.kill(os.getpid(), getattr(signal, asked["die"]))
    if asked.get("eat"):
        _ = bytearray(asked["eat"])
    time.sleep(asked.get("s", 0))
    return {"pid": os.getpid()}
