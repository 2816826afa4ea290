"""Whoever writes is killed at any instant, the server too: what was told to be kept is there, nothing is half there."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from cabida.evidence import book, checking, connect, shelf, store, tracked
from cabida.evidence.quotes import keeping

HERE = Path(__file__).parent
KILLS = 100
ROWS, MONTHS = 40, 3  # of one transaction, as kill_writer has them


class Writers:
    """Makes processes that write until they are killed."""

    def __init__(self, folder):
        self.folder = folder
        words = [sys.executable, str(HERE / "kill_writer.py"), str(folder)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()

    def begin(self, number, where):
        print(number, where, file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())

    def said(self, number):
        text = (self.folder / f"{number}.said").read_text()
        return [line.split() for line in text.split("\n")[:-1]]  # a line is whole only with its end

    def kill(self, child):
        os.kill(child, signal.SIGKILL)  # it must be there: none ends by itself
        until = time.monotonic() + 10
        with contextlib.suppress(ProcessLookupError):
            while time.monotonic() < until:
                os.kill(child, 0)
                time.sleep(0.001)
            raise AssertionError(child)


def killed(where, folder, count):
    """What was told to be kept by as many writers, two beside each other, each killed at an instant of its own."""
    ready = random.Random(8)
    with Writers(folder) as writers:
        children = [writers.begin(0, where)]
        for number in range(count):
            if number + 1 < count:
                children.append(writers.begin(number + 1, where))
            until = time.monotonic() + 10 * (number % 2)
            while (
                not writers.said(number) and time.monotonic() < until
            ):  # every other one keeps something first
                time.sleep(0.001)
            time.sleep(ready.uniform(0, 0.04))
            writers.kill(children.pop(0))
        return [line for number in range(count) for line in writers.said(number)]


def held(where, told):
    """Look over what is in the store: all that was told, and all of each thing."""
    assert checking.check(where)["wrong"] == []
    kept = Counter(kind for kind, *_ in told)
    prices = Counter(one.provider for one in book.imported(store=where))
    assert set(prices.values()) <= {ROWS}
    imports = [one for one in book.imports(where) if one.kept_count]
    assert sum(one.kept_count for one in imports) == sum(prices.values())
    assert {words[0] for kind, *words in told if kind == "prices"} <= set(prices)
    quotes = {one.quote.quote_id for one in keeping.kept(store=where, every=True)}
    assert {words[0] for kind, *words in told if kind == "quote"} <= quotes
    observations = {one.observation.id for one in store.stored(where, all=True)}
    assert {words[0] for kind, *words in told if kind == "observation"} <= observations
    for kind, *words in told:
        if kind == "months":
            assert len(tracked.kept(words[0], "o", where)) == MONTHS
        elif kind == "brief":
            assert shelf.brief(words[0], int(words[1]), store=where).version == int(words[1])
    rows = checking.place_of(where)["rows"]
    assert rows["tracked_months"] % MONTHS == 0
    assert rows["observations"] == rows["imports"]
    return kept


def test_a_writer_is_killed_a_hundred_times(any_store, tmp_path):
    tracked.keep("first", "o", [{"month": str(at)} for at in range(MONTHS)], any_store)
    kept = held(any_store, killed(any_store, tmp_path, KILLS))
    assert sum(kept.values()) > KILLS / 3
    assert len(kept) == 5
    tracked.keep("last", "o", [{"month": "1"}], any_store)


def test_a_writer_is_killed_while_it_makes_the_store(tmp_path):
    with Writers(tmp_path) as writers:
        for number in range(10):
            where = tmp_path / f"{number}.db"
            child = writers.begin(number, where)
            until = time.monotonic() + 10
            while not where.exists() and time.monotonic() < until:
                time.sleep(0.0005)
            time.sleep(number * 0.01)
            writers.kill(child)
            tracked.keep("last", "o", [{"month": str(at)} for at in range(MONTHS)], where)
            held(where, writers.said(number))


def test_the_server_is_killed(tmp_path):
    """With every safety of the database on, as a team has it."""
    from postgres_cluster import Cluster

    cluster = Cluster({"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"})
    try:
        where = cluster.make("killed")
        tracked.keep("first", "o", [{"month": str(at)} for at in range(MONTHS)], where)
        with Writers(tmp_path) as writers:
            for number in range(5):
                two = (2 * number, 2 * number + 1)
                for one in two:
                    writers.begin(one, where)
                until = time.monotonic() + 20
                while min(len(writers.said(one)) for one in two) < 3 and time.monotonic() < until:
                    time.sleep(0.01)
                (cluster.kill if number % 2 else cluster.stop)()  # writers end with their connection
                connect.close(where)
                cluster.start()
            told = [line for number in range(10) for line in writers.said(number)]
        assert sum(held(where, told).values()) > 10
        connect.close(where)
    finally:
        cluster.remove()
