"""The front: whatever is on it nothing beats, whatever is not is beaten, and more that is beaten changes nothing."""

from hypothesis import given
from hypothesis import strategies as st

from cabida.choose.front import Counts, beats, front

SHARE = st.one_of(st.none(), st.floats(0, 1))
POINT = st.builds(Counts, st.floats(1e-6, 1e4), st.one_of(st.none(), st.floats(1e-3, 1e3)), SHARE, SHARE)
POINTS = st.lists(POINT, max_size=40)


@given(POINTS)
def test_members_are_not_beaten_and_all_others_are_beaten_by_a_member_or_alike_one(points):
    marks = front(points)
    members = [one.steps for one, mark in zip(points, marks, strict=True) if mark]
    assert not any(beats(a, b) for a in members for b in members)
    assert len(set(members)) == len(members)
    for one, mark in zip(points, marks, strict=True):
        if not mark:
            assert any(beats(member, one.steps) or member == one.steps for member in members)


@given(POINTS.filter(bool), st.data())
def test_a_worse_point_changes_nothing(points, data):
    marks = front(points)
    like = data.draw(st.sampled_from(points))
    worse = Counts(like.unit_money * 1.5, like.time_ratio, like.miss_ratio, like.freedom_ratio)
    at = data.draw(st.integers(0, len(points)))
    more = front([*points[:at], worse, *points[at:]])
    assert more[:at] + more[at + 1 :] == marks
    assert not more[at]


@given(POINTS, st.randoms())
def test_the_order_of_options_does_not_matter(points, random):
    shuffled = list(points)
    random.shuffle(shuffled)
    on = sorted(repr(one.steps) for one, mark in zip(points, front(points), strict=True) if mark)
    assert on == sorted(repr(one.steps) for one, mark in zip(shuffled, front(shuffled), strict=True) if mark)


def test_by_hand():
    cheap, quick, both, poor = Counts(1.0, 0.9), Counts(2.0, 0.3), Counts(1.5, 0.5), Counts(2.1, 0.95)
    assert front([poor, cheap, quick, both]) == [False, True, True, True]
    assert front([Counts(1.0, None), Counts(2.0, 0.5)]) == [True, True]  # a time unknown is beaten by none
    assert front([Counts(1.001, 0.5), Counts(1.0, 0.5)]) == [False, True]  # alike: the cheaper one
    assert front([]) == []
