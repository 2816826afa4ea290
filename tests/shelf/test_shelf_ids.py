"""Ids sort in the order they were made, never come twice, and are told from any other text."""

import re
import time
from concurrent.futures import ThreadPoolExecutor

from cabida.evidence.shelf.ids import SINCE_MS, is_id, new_id


def test_ids_sort_in_the_order_they_were_made():
    made = [new_id("b") for _ in range(2_000)]
    assert made == sorted(set(made))


def test_threads_never_make_the_same():
    with ThreadPoolExecutor(8) as pool:
        made = [id for part in pool.map(lambda _: [new_id("j") for _ in range(500)], range(8)) for id in part]
    assert len(set(made)) == 4_000
    assert all(is_id(id, "j") and not is_id(id, "b") for id in made)


def test_a_clock_that_goes_back_changes_no_order(monkeypatch):
    before = new_id("b")
    monkeypatch.setattr(time, "time_ns", lambda: (SINCE_MS + 1) * 1_000_000)
    assert before < new_id("b") < new_id("b")


def test_what_is_no_id_is_told_from_one():
    id = new_id("d")
    assert re.fullmatch(r"d-[0-9a-z]{15}", id)
    for wrong in (
        id.upper(),
        id + "0",
        id[:-1],
        id[:-1] + "i",
        f" {id}",
        f"{id}\n",
        "",
        "d-",
        id.replace("-", "_"),
    ):
        assert not is_id(wrong, "d")
