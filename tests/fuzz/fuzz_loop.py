"""Fuzzing guided by coverage: what reaches new code is kept and changed further.

``python tests/fuzz/fuzz_loop.py DOOR --seconds 600`` runs on its own; what it finds goes into ``found/`` beside it.
"""

import argparse
import hashlib
import json
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from contextlib import contextmanager
from pathlib import Path

import fuzz_doors as known

FOUND = Path(__file__).parent / "found"
LONGEST_BYTES, KEPT_MOST, SLOW_S = 60_000, 5000, 2.0
ODD = (None, True, -1, 0, 1, 2, 3, 7, 10**9, 10**12, 2**63, 0.5, 1e308, float("nan"), float("inf"), "", "x", "fp8",
       [], [1], [1, 2], [0] * 40, [None], {}, {"a": 1}, "é" * 300)  # fmt: skip


class Slow(Exception):
    """Something took longer than anything may."""


@contextmanager
def limited(seconds):
    """Raises :class:`Slow` in the code inside when its time is up."""

    def ring(*_):
        raise Slow

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Fuzzer:
    """One door, its kept inputs, and the code they reached."""

    def __init__(self, name, seed, scratch):
        self.door, self.chance, self.scratch = known.doors()[name], random.Random(seed), scratch
        self.kept, self.reached, self.runs, self.found = [], set(), 0, {}
        for data in (*self.door.seeds, *(path.read_bytes() for path in sorted((FOUND / name).glob("*")))):
            self.enter(data)

    def enter(self, data, *, guided=True):
        """Put one input through the door; keeps it when it reached new code, notes it when it broke something."""
        self.runs += 1
        new = set()
        try:
            with limited(SLOW_S * (5 if guided else 1)):
                if guided:
                    sys.settrace(self._tracer(new))
                known.allowed(self.door, data, self.scratch)
        except (Exception, Slow) as error:
            sys.settrace(None)
            frames = [f for f in traceback.extract_tb(error.__traceback__) if "cabida" in f.filename]
            place = f"{type(error).__name__} {frames[-1].name if frames else ''}"
            self.found.setdefault(place, (data, traceback.format_exc()))
            new.clear()  # to go on from it would only find it again
        finally:
            sys.settrace(None)
        if guided and new - self.reached:
            self.reached |= new
            if len(self.kept) < KEPT_MOST:
                self.kept.append(data)

    def _tracer(self, new):
        seen = new.add

        def call(frame, _event, _argument):
            code = frame.f_code
            if "/cabida/" not in code.co_filename:
                return None
            last = 0

            def step(frame, event, _):
                nonlocal last
                if event == "line":
                    seen((code, last, frame.f_lineno))
                    last = frame.f_lineno
                return step

            return step

        return call

    def changed(self):
        """A kept input, a little different."""
        data = self.chance.choice(self.kept or [b""])
        if self.door.structured and self.chance.random() < 0.7:
            data = self._json(data)
            if self.chance.random() < 0.7:
                return data
        body = bytearray(data)
        for _ in range(self.chance.choice((1, 1, 1, 2, 4, 8))):
            self._bytes(body)
        return bytes(body[:LONGEST_BYTES])

    def _bytes(self, body):
        chance = self.chance
        at = chance.randrange(len(body) + 1)
        to = min(len(body), at + chance.choice((1, 1, 2, 4, 8, 32, 200)))
        match chance.randrange(7):
            case 0:
                body[at:to] = bytes(chance.randrange(256) for _ in range(to - at))
            case 1:
                del body[at:to]
            case 2:
                body[at:at] = chance.choice(self.door.words)
            case 3:
                word = chance.choice(self.door.words)
                body[at : at + len(word)] = word
            case 4:
                body[at:at] = body[at:to] * chance.choice((1, 2, 50))
            case 5:
                other = chance.choice(self.kept or [b""])
                start = chance.randrange(len(other) + 1)
                body[at:to] = other[start : start + chance.randrange(1, 400)]
            case _:
                if at < len(body):
                    body[at] = (body[at] + chance.choice((1, -1, 128, 64))) % 256

    def _json(self, data):
        """The same JSON with some values replaced, or members added."""
        try:
            tree = json.loads(data)
        except (ValueError, RecursionError):
            return data
        for _ in range(self.chance.choice((1, 1, 2, 3))):
            places = list(_places(tree))
            holder, key = self.chance.choice(places) if places else (None, None)
            if isinstance(holder, dict) and self.chance.random() < 0.3:
                holder[self.chance.choice(self.door.words).decode()] = self._odd()
            elif holder is not None:
                holder[key] = self._odd(holder[key])
        try:
            return json.dumps(tree).encode()
        except (ValueError, RecursionError):
            return data

    def _odd(self, value=None):
        if isinstance(value, int) and self.chance.random() < 0.4:
            return value * self.chance.choice((-1, 2, 1000)) + self.chance.choice((-1, 0, 1))
        if isinstance(value, str) and self.chance.random() < 0.4:
            return self.chance.choice(self.door.words).decode("utf-8", "replace")
        return self.chance.choice(ODD)

    def run(self, seconds=0.0, most=None):
        """Go on for a time, or for so many inputs."""
        ends = time.monotonic() + seconds if seconds else float("inf")
        target = self.runs + most if most else float("inf")
        while time.monotonic() < ends and self.runs < target:
            self.enter(self.changed(), guided=self.runs % 4 != 0)


def _places(tree, depth=0):
    """Every place of a tree, as a holder and a key."""
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in list(entries)[:200]:
        yield tree, key
        if depth < 8:
            yield from _places(value, depth + 1)


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("door", choices=[*known.doors(), "all"])
    asked.add_argument("--seconds", type=float, default=60)
    asked.add_argument("--seed", type=int, default=0)
    given = asked.parse_args()
    warnings.simplefilter("error")
    for name in known.doors() if given.door == "all" else [given.door]:
        with tempfile.TemporaryDirectory() as scratch:
            fuzzer = Fuzzer(name, given.seed, Path(scratch))
            fuzzer.run(seconds=given.seconds)
        print(f"{name}: {fuzzer.runs} runs, {len(fuzzer.reached)} steps, {len(fuzzer.kept)} kept, "
              f"{len(fuzzer.found)} found", flush=True)  # fmt: skip
        for place, (data, told) in fuzzer.found.items():
            path = FOUND / name / hashlib.sha256(data).hexdigest()[:16]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            print(f"  {place}: {path}\n{told}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
