"""Latency against rate: the curve rises, and the knee lies where the queue begins."""

from itertools import pairwise

from serving_fixtures import CARD

from cabida.plan import Load
from cabida.timing.queues.fleet import Pool
from cabida.timing.sizing.capacity import rate_at_most
from cabida.timing.sizing.knee import SHARES, knee

SHAPE = Load(1000, 200, input_spread_ratio=0.5, output_spread_ratio=0.5)


def test_the_curve_rises_and_its_knee_is_inside():
    found = knee((Pool(CARD),), SHAPE, {}, limits={"ttft_s": 0.5})
    times = [one.speed.e2e_s.p95 for one in found.points]
    assert all(later > 0.98 * before for before, later in pairwise(times))
    assert times[-1] > 5 * times[0]
    assert (
        found.points[0].offered_requests_per_s
        < found.requests_per_s
        < found.points[-1].offered_requests_per_s
    )
    assert found.points[-1].overrun
    assert not found.points[0].overrun
    good = [one.speed.goodput_requests_per_s for one in found.points]
    assert max(good) > good[-1]  # beyond the knee fewer answers are in time


def test_two_replicas_have_their_knee_at_twice_the_rate():
    one, two = (knee((Pool(CARD, count),), SHAPE, {}) for count in (1, 2))
    at = [SHARES.index(min(SHARES, key=lambda s: abs(s * rate_at_most((Pool(CARD, n),), SHAPE) - k.requests_per_s)))
          for n, k in ((1, one), (2, two))]  # fmt: skip
    assert abs(at[0] - at[1]) <= 1
