"""A candidate simulated beside the one at hand: the same answers, whichever was begun early."""

import os
import threading

import pytest

from cabida.choose.ahead import ahead
from cabida.facts import known
from cabida.text import language, speaking


def test_what_is_begun_beside_is_found_once_and_the_rest_is_done_now():
    asked = []

    def work(thing):
        asked.append((thing, threading.current_thread() is threading.main_thread()))
        return thing * 2

    things = [10**6 + one for one in range(6)]  # of their own identities
    with ahead(work) as found:
        for at, thing in enumerate(things):
            assert (
                found.found(thing, lambda at=at: things[at + 1] if at + 1 < len(things) else None)
                == thing * 2
            )
    assert sorted(thing for thing, _ in asked) == things
    assert {here for _, here in asked} == ({True, False} if (os.cpu_count() or 1) > 1 else {True})


def test_the_language_and_the_day_go_along():
    with (
        speaking("es"),
        known.as_known("2026-01-02"),
        ahead(lambda _: (language(), known.seen_by())) as found,
    ):
        first, second = object(), object()
        assert found.found(first, lambda: second) == ("es", "2026-01-02")
        assert found.found(second, lambda: None) == ("es", "2026-01-02")


def test_what_fails_beside_fails_where_it_is_asked_for():
    first, second = object(), object()

    def work(thing):
        if thing is second:
            raise ZeroDivisionError
        return 1

    with ahead(work) as found:
        assert found.found(first, lambda: second) == 1
        with pytest.raises(ZeroDivisionError):
            found.found(second, lambda: None)


def test_facts_are_read_once_while_a_day_is_known_and_each_time_otherwise():
    reads = []
    assert [known.once("x", lambda: reads.append(1) or len(reads)) for _ in range(2)] == [1, 2]
    with known.as_known("2026-01-02"):
        assert [known.once("x", lambda: reads.append(1) or len(reads)) for _ in range(2)] == [3, 3]
        with known.as_known("2026-01-03"):
            assert known.once("x", lambda: reads.append(1) or len(reads)) == 4
        assert known.once("x", lambda: reads.append(1) or len(reads)) == 3
