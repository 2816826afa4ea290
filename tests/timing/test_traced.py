"""A trace served in stretches is the trace served at once."""

import weakref

import numpy as np
import pytest
from serving_fixtures import CARD

from cabida.evidence import trace as files
from cabida.timing.queues.fleet import Pool
from cabida.timing.queues.speculative import Drafting
from cabida.timing.queues.traced import Tally, trace_through

LIMITS = {"ttft_s": 0.2, "tpot_s": 0.03}
FIGURES = (
    "requests_per_s",
    "output_tokens_per_s",
    "batch_mean",
    "kv_use_ratio",
    "preemptions_count",
    "met_ratio",
)


def a_trace(count=4000, rate=18.0, seed=0):
    rng = np.random.default_rng(seed)
    return (
        np.cumsum(rng.exponential(1 / rate, count)),
        rng.integers(50, 3000, count).astype(float),
        rng.integers(1, 500, count).astype(float),
    )


def cut(whole, size):
    return [tuple(column[at : at + size] for column in whole) for at in range(0, len(whole[0]), size)]


@pytest.mark.parametrize("replicas", [1, 3])
def test_stretches_change_nothing_but_the_last_digits(replicas):
    pools, whole = (Pool(CARD, replicas),), a_trace()
    once = trace_through(pools, [whole], {}, limits=LIMITS)
    pieces = trace_through(pools, cut(whole, 700), {}, limits=LIMITS)
    for name in FIGURES:
        assert getattr(pieces, name) == pytest.approx(getattr(once, name), rel=1e-6), name
    for name in ("ttft_s", "tpot_s", "itl_s", "e2e_s"):
        shapes = getattr(pieces, name), getattr(once, name)
        assert shapes[0].mean == pytest.approx(shapes[1].mean, rel=1e-6)
        for place in range(3, 9):  # below, single requests lie far apart
            assert shapes[0].quantiles[place] == pytest.approx(shapes[1].quantiles[place], rel=5e-3), name
    assert pieces.saturated == once.saturated
    assert pieces.requests_count == 4000


def test_a_trace_that_outruns_its_replica_says_so_and_still_has_percentiles():
    found = trace_through((Pool(CARD),), cut(a_trace(rate=60.0), 500), {})
    assert found.saturated
    assert 0 < found.ttft_s.p99 < 1e4


def test_drafting_shortens_answers_and_the_same_seed_says_the_same():
    draft = Drafting(3, 0.8)
    plain, quick, again = (
        trace_through((Pool(CARD, drafting=one),), cut(a_trace(rate=4.0), 900), {}, seed=7)
        for one in (Drafting(), draft, draft)
    )
    assert quick.tpot_s.mean < 0.6 * plain.tpot_s.mean
    assert quick.e2e_s == again.e2e_s


def test_a_tally_is_right_to_a_tenth_of_a_per_cent():
    values = np.random.default_rng(1).lognormal(-2, 1.5, 50_000)
    tally = Tally()
    for part in np.array_split(values, 7):
        tally.add(part)
    found = tally.distribution()
    assert found.mean == pytest.approx(values.mean())
    assert found.p99 == pytest.approx(np.quantile(values, 0.99), rel=1.5e-3)


def test_a_file_is_read_in_stretches_and_an_unsorted_one_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "BLOCK_ROWS_COUNT", 3)
    text = "id,arrival_s,input_tokens,output_tokens\n" + "".join(
        f"{n},{n}.5,{10 + n},{n + 1}\n" for n in range(8)
    )
    file = tmp_path / "t.csv"
    file.write_text(text, encoding="utf-8")
    blocks = list(files.trace_blocks(file))
    assert [len(block[0]) for block in blocks] == [3, 3, 2]
    assert [value for block in blocks for value in block[1]] == [float(10 + n) for n in range(8)]
    lines = text.splitlines()
    file.write_text("\n".join([lines[0], lines[5], *lines[1:5]]) + "\n", encoding="utf-8")
    ((arrivals, inputs, _),) = files.trace_blocks(file)
    assert list(arrivals) == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert list(inputs) == [10, 11, 12, 13, 14]


def test_stretches_are_let_go_when_they_are_served():
    there = []

    def blocks():
        whole = a_trace(count=6000)
        for at in range(0, 6000, 300):
            piece = tuple(column[at : at + 300].copy() for column in whole)
            there.append(weakref.ref(piece[0]))
            yield piece
            del piece
            assert sum(one() is not None for one in there) <= 4

    found = trace_through((Pool(CARD),), blocks(), {})
    assert found.requests_count == 6000
    assert len(there) == 20
