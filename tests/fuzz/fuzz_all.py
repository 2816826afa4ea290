"""Every parser of what strangers send, spoilt files put through it, in one process of bounded memory.

``python tests/fuzz/fuzz_all.py --minutes 60 --seed 1 [--only NAME] [--found FOLDER]``; the same seed tries the same
inputs in the same order. The law: an input gives a result or an error of Cabida's own (code, what, cure) - no
traceback, nothing over ``SLOW_S``, no more than ``MEMORY_BYTES`` beyond what the seeds took, no figure that is no
number or a length, a count or a price below zero, and nothing written where nothing is to be kept.
"""

import argparse
import hashlib
import json
import math
import os
import re
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from decimal import Decimal
from pathlib import Path

import fuzz_doors
import fuzz_parsers
from fuzz_changes import Changes

from cabida.errors import CabidaError

SLOW_S, SEED_S, MEMORY_BYTES, TURN_S = (
    5.0,
    90.0,
    2**30,
    4.0,
)  # what is imported and compiled first takes longer
KEPT_MOST = 400
MOST = 10**60  # of a whole number
WAITS = 6  # a machine that others use too
CURE_IN_WHAT = (
    "CB-B010",
    "CB-B012",
    "CB-B015",
    "CB-U005",
    "CB-N007",
)  # "... is not a date. Write it as 2026-11-30."
BELOW_ZERO = re.compile(
    r"(?:^|_)(?:bytes|tokens|count|counts|s|ms|w|kwh|hours|days|months|gib|gb|money|amount|price|ratio|concurrency|len|layers|"
    r"requests|watts|s_per_gpu|gib_per_gpu|size|value)$"
)
_CODE = re.compile(r"CB-[A-Z]\d{3}")
_noted = None  # paths written while an input is read, when somebody listens


class Slow(BaseException):
    """Something took longer than anything may; no ``except Exception`` of a parser keeps it."""


class Unlawful(Exception):
    """An input broke the law without a traceback of its own."""


def _listen(event, args):
    if _noted is None or threading.current_thread() is not threading.main_thread():
        return  # a server's own threads keep their store
    if event == "open":
        path, _, flags = args
        writing = isinstance(flags, int) and flags & (
            os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        )
        if writing and isinstance(path, str | bytes):
            _noted.append(os.fsdecode(path))
    elif event in (
        "os.remove",
        "os.rename",
        "os.mkdir",
        "os.rmdir",
        "os.truncate",
        "os.link",
        "os.symlink",
        "shutil.rmtree",
    ):
        _noted.append(os.fsdecode(args[0]) if isinstance(args[0], str | bytes) else "")
    elif event in ("socket.connect", "subprocess.Popen", "os.system"):
        _noted.append(f"{event} {args[1] if len(args) > 1 else args}")


sys.addaudithook(_listen)


@contextmanager
def limited(seconds):
    """Raises :class:`Slow` in the code inside when it has worked, or waited WAITS times, so long; again until heard."""

    def ring(*_):
        raise Slow

    kinds = (
        (signal.SIGPROF, signal.ITIMER_PROF, seconds),
        (signal.SIGALRM, signal.ITIMER_REAL, WAITS * seconds),
    )
    before = [(kind, signal.signal(kind, ring)) for kind, _, _ in kinds]
    for _, timer, limit in kinds:
        signal.setitimer(timer, limit, 1.0)
    try:
        yield
    finally:
        for _, timer, _ in kinds:
            signal.setitimer(timer, 0)
        for kind, handler in before:
            signal.signal(kind, handler)


@contextmanager
def noting():
    """The paths that are written to inside."""
    global _noted
    _noted = []
    try:
        yield _noted
    finally:
        _noted = None


def absurd(value, signed=frozenset(), name="", depth=0):
    """The first figure that can't be: no number, endless, or below zero where its name is of what can't be."""
    if isinstance(value, bool) or value is None or isinstance(value, str | bytes) or depth > 12:
        return ""
    if isinstance(value, complex):
        return f"{name} = {value}"
    if isinstance(value, int | float | Decimal):
        if isinstance(value, int) and abs(value) > MOST:
            return f"{name} of {value.bit_length()} bits"
        if not math.isfinite(value):
            return f"{name} = {value}"
        return f"{name} = {value}" if value < 0 and name not in signed and BELOW_ZERO.search(name) else ""
    if is_dataclass(value) and not isinstance(value, type):
        pairs = [(one.name, getattr(value, one.name)) for one in fields(value)]
    elif isinstance(value, dict):
        pairs = list(value.items())[:300]
    elif isinstance(value, list | tuple):
        pairs = [(name, one) for one in value[:300]]
    else:
        return ""
    return next((found for key, one in pairs if (found := absurd(one, signed, str(key), depth + 1))), "")


def told(error):
    """What an error of Cabida's own lacks; "" = nothing."""
    if not error.problems:
        return "no problem"
    for one in error.problems:
        text = str(one)
        text.encode()
        if not _CODE.fullmatch(one.code) or not one.what or not (one.cure or one.code in CURE_IN_WHAT):
            return f"{one.code} without what or cure: {text[:200]}"
        if len(text) > 20_000:
            return f"{one.code} of {len(text)} characters"
    return ""


def tried(parser, data, scratch, seconds=SLOW_S):
    """Put one input through; ``(accepted, codes)``.

    Raises:
        Unlawful, Slow, MemoryError, or whatever the parser raised that is none of Cabida's errors.
    """
    inside, outside = str(scratch.parent), str(scratch / "in")
    with noting() as noted, limited(seconds):
        try:
            found = parser.enter(data, scratch)
        except CabidaError as error:
            lacking, outcome = told(error), (False, tuple(sorted({one.code for one in error.problems})))
        else:
            lacking, outcome = absurd(found, parser.signed), (True, ())
    if lacking:
        raise Unlawful(lacking)
    temporary = tempfile.gettempdir()
    for path in noted:
        own = path.startswith(
            (inside if parser.writes else outside, temporary, "/dev/")
        ) or not path.startswith("/")
        if not own and "__pycache__" not in path and "/cabida/compiled-" not in path:
            raise Unlawful(f"wrote {path}")
    return outcome


def place_of(error):
    """Where an error came from, so that the same is told once."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if "/cabida/" in one.filename]
    last = frames[-1] if frames else None
    where = f"{last.filename.rpartition('/cabida/')[2]}:{last.name}:{last.lineno}" if last else ""
    said = re.sub(r"[-\d.e+]+", "#", str(error))[:60] if isinstance(error, Unlawful | AssertionError) else ""
    return f"{type(error).__name__} {where} {said}".strip()


class Trial:
    """One parser, what was tried of it, and what was found."""

    def __init__(self, name, seed, scratch):
        self.name, self.parser = name, fuzz_parsers.parser(name)
        self.scratch = scratch / re.sub(r"\W", "-", name)
        self.scratch.mkdir()
        self.changes = Changes(
            f"{seed} {name}", self.parser.seeds, self.parser.words, structured=self.parser.structured
        )
        self.seen, self.tried_count, self.accepted_count, self.found, self.used_s = set(), 0, 0, {}, 0.0

    def seeds(self):
        """The seeds themselves."""
        for data in self.parser.seeds:
            self.put(data, SEED_S)

    def put(self, data, seconds=SLOW_S):
        """One input: counted, kept to be spoilt further when its outcome is new, told when it breaks the law."""
        self.tried_count += 1
        try:
            accepted, codes = tried(self.parser, data, self.scratch, seconds)
        except (Exception, Slow) as error:
            self.found.setdefault(place_of(error), (data, traceback.format_exc()))
            return
        self.accepted_count += accepted
        new = codes not in self.seen
        self.seen.add(codes)
        kept = self.changes.kept
        if (new or (accepted and self.changes.chance.random() < 0.05)) and len(data) < 200_000:
            if len(kept) < KEPT_MOST:
                kept.append(data)
            else:
                kept[self.changes.chance.randrange(len(self.parser.seeds), KEPT_MOST)] = data

    def go_on(self, seconds=math.inf, most=math.inf):
        """Further inputs, for a time or so many."""
        began, target = time.monotonic(), self.tried_count + most
        while time.monotonic() - began < seconds and self.tried_count < target:
            self.put(self.changes.next())
        self.used_s += time.monotonic() - began


def names():
    """All parsers."""
    return (*fuzz_doors.doors(), *fuzz_parsers.NAMES)


def own_places(scratch):
    """Surroundings in which nothing of whoever runs this is read or written, but for the cache of compiled code."""
    places = {name: scratch / name for name in ("tmp", "home", "data")}
    for place in places.values():
        place.mkdir(exist_ok=True)
    caches = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return {
        "HOME": str(places["home"]), "XDG_DATA_HOME": str(places["data"]), "TMPDIR": str(places["tmp"]),
        "CABIDA_STORE": str(places["data"] / "none.db"), "CABIDA_ONLINE": "0",
        "XDG_CACHE_HOME": caches, "NO_COLOR": "1",
    }  # fmt: skip


def bounded():
    """From here on the process may take so much memory more than it has."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES,) * 2)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**28,) * 2)


def written(trial, folder):
    """What was found into files; their paths."""
    paths = []
    for where, (data, said) in trial.found.items():
        path = folder / trial.name / hashlib.sha256(data).hexdigest()[:16]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.with_suffix(".txt").write_text(f"{where}\n{said}", encoding="utf-8", errors="replace")
        paths.append(path)
    return paths


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--minutes", type=float, default=10)
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--only", action="append", choices=names())
    asked.add_argument("--found", type=Path, help="a folder for what is found")
    given = asked.parse_args()
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", category=ResourceWarning)
    warnings.filterwarnings("ignore", module="pydantic")
    with tempfile.TemporaryDirectory() as folder:
        found = given.found or Path(tempfile.mkdtemp(prefix="cabida-found-"))
        os.environ.update(own_places(Path(folder)))
        tempfile.tempdir = os.environ["TMPDIR"]
        trials = [Trial(name, given.seed, Path(folder)) for name in given.only or names()]
        for trial in trials:
            trial.seeds()
            assert trial.accepted_count, (trial.name, trial.found)
        bounded()
        ends, told_of = time.monotonic() + 60 * given.minutes, set()
        while time.monotonic() < ends:
            for trial in trials:
                trial.go_on(min(TURN_S, max(0.0, ends - time.monotonic())))
                for where in trial.found.keys() - {one for name, one in told_of if name == trial.name}:
                    told_of.add((trial.name, where))
                    print(f"{trial.name}: {where}", flush=True)
                written(trial, found)
        counts = {one.name: {"inputs": one.tried_count, "accepted": one.accepted_count, "found": len(one.found),
                             "seconds": round(one.used_s, 1)} for one in trials}  # fmt: skip
        print(json.dumps({"seed": given.seed, "minutes": given.minutes, "parsers": counts}, indent=1))
        print(
            f"{sum(one.tried_count for one in trials)} inputs, {sum(len(one.found) for one in trials)} found: {found}"
        )
    return 1 if any(one.found for one in trials) else 0


if __name__ == "__main__":
    sys.exit(main())
