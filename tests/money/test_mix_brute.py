"""The mix equals brute force that counts out every whole number of lots, on small cases drawn by seed."""

import itertools
import math
import random

import pytest

from cabida.money.hold.mix import Future, Kind, Level, Problem
from cabida.money.hold.mix_solve import cheapest, solve

CASES = 200
HOURS = 730.0


def small(seed):
    """One to three types, each by the hour and maybe committed, maybe an API; up to three levels in two futures."""
    draw = random.Random(seed)
    kinds, fixed = [], {}
    limited = draw.randrange(6)
    for index in range(draw.randint(1, 3)):
        rate, price = draw.uniform(1.0, 4.0), draw.uniform(0.5, 4.0)
        if draw.random() < 0.4:
            fixed[f"team {index}"] = draw.uniform(0.0, 500.0)
        needs = tuple(name for name in fixed if name == f"team {index}")
        if draw.random() < 0.8:
            kinds.append(
                Kind(
                    f"hourly {index}", f"type {index}", "on-demand", rate, draw.choice([1, 1, 2]),
                    money_per_hour=price, request_money=(draw.choice([0.0, 1e-5]),), fixed=needs,
                    share_ratio=0.5 if index == limited else 1.0,
                )
            )  # fmt: skip
        kinds.append(
            Kind(
                f"committed {index}", f"type {index}", "reserved", rate, money_per_month=price * HOURS * 0.6,
                term_months=math.inf, most_count=draw.choice([1, 2, math.inf]), fixed=needs,
            )
        )  # fmt: skip
    if draw.random() < 0.7:
        fixed["gateway"] = draw.uniform(0.0, 200.0)
        kinds.append(
            Kind("api", "api", "api", math.inf, request_money=(draw.uniform(1e-4, 1e-3),), fixed=("gateway",))
        )
    levels = [
        [Level(need, need * draw.uniform(0.5, 1.0), HOURS / 2, HOURS / 2) for need in needs]
        for needs in (
            [draw.uniform(0, 6) for _ in range(draw.randint(1, 2))] for _ in range(draw.randint(1, 2))
        )
    ]
    weights = [1 / len(levels)] * len(levels)
    futures = tuple(
        Future(str(at), weight, (tuple(rows),), (draw.uniform(0.8, 1.2),))
        for at, (rows, weight) in enumerate(zip(levels, weights, strict=True))
    )
    return Problem(tuple(kinds), futures, (12.0,), fixed, draw.choice([0, 0, 1]))


def filled(problem, level, lots, price_ratio, allowed):
    """Least cost of a month of one level with lots given; ``None`` when they can't hold it. Greedy by request price.

    Within one type, lots of both holdings less the spare bound what they serve together; a share bounds one kind.
    """
    room = {}
    for kind, count in zip(problem.kinds, lots, strict=True):
        if kind.group != "api":
            room[kind.group] = room.get(kind.group, 0.0) + count * kind.replicas_count * kind.requests_per_s
    for group in list(room):
        rate = max(k.requests_per_s for k in problem.kinds if k.group == group)
        if problem.spare_replicas_count and group in allowed:
            room[group] -= rate * problem.spare_replicas_count
            if room[group] < -1e-9:
                return None
        if group not in allowed:
            room[group] = 0.0
    left, money = level.need_per_s, 0.0
    weight = level.hours * 3600 * (level.served_per_s / level.need_per_s if level.need_per_s else 0.0)
    for at in sorted(range(len(problem.kinds)), key=lambda at: problem.kinds[at].request_money[0]):
        kind = problem.kinds[at]
        if kind.group not in allowed:
            continue
        if kind.group == "api":
            part = left
        else:
            own = lots[at] * kind.replicas_count * kind.requests_per_s
            part = min(left, own, room[kind.group], kind.share_ratio * level.need_per_s)
            room[kind.group] -= part
        money += part * weight * kind.request_money[0] * price_ratio
        left -= part
    return money if left <= 1e-9 else None


def brute(problem):
    """Every set of types, every commitment up to what the peak takes, and for each level every count by the hour."""
    peak = max(level.need_per_s for future in problem.futures for level in future.levels[0])
    kinds, best = problem.kinds, math.inf
    groups = sorted({kind.group for kind in kinds})

    def tops(kind, need):
        if kind.group == "api":
            return range(1)
        replicas = math.ceil(need / kind.requests_per_s - 1e-12) + problem.spare_replicas_count
        lots = math.ceil(replicas / kind.replicas_count)
        return range(int(min(lots, kind.most_count)) + 1)

    for size in range(1, len(groups) + 1):
        for allowed in itertools.combinations(groups, size):
            names = {name for kind in kinds if kind.group in allowed for name in kind.fixed}
            once = sum(problem.fixed[name] for name in names)
            if once >= best:
                continue
            committed = [tops(k, peak) if k.committed and k.group in allowed else range(1) for k in kinds]
            for held in itertools.product(*committed):
                paid = once + sum(n * k.money_per_month for n, k in zip(held, kinds, strict=True))
                if paid >= best:
                    continue
                best = min(best, paid + recourse(problem, held, allowed, tops))
    return best


def recourse(problem, held, allowed, tops):
    total = 0.0
    for future in problem.futures:
        for level in future.levels[0]:
            ranges = [
                [n] if k.committed else (tops(k, level.need_per_s) if k.group in allowed else range(1))
                for n, k in zip(held, problem.kinds, strict=True)
            ]
            ratio, least = future.price_ratios[0], math.inf
            for lots in itertools.product(*ranges):
                rent = sum(
                    n * k.money_per_hour * level.paid_hours * ratio
                    for n, k in zip(lots, problem.kinds, strict=True)
                )
                if rent < least and (served := filled(problem, level, lots, ratio, allowed)) is not None:
                    least = min(least, rent + served)
            total += future.weight_ratio * least
    return total


@pytest.mark.parametrize("block", range(8))
def test_the_mix_costs_what_brute_force_finds(block):
    for seed in range(block, CASES, 8):
        problem = small(seed)
        found, expected = solve(problem, gap_ratio=0.0), brute(problem)
        if math.isinf(expected):
            assert found is None, seed
        else:
            assert found is not None, seed
            assert found.money_per_month == pytest.approx(expected, rel=1e-6, abs=1e-6), seed
            assert found.gap_ratio <= 1e-6, seed


def test_some_cases_mix_and_some_cannot_be_held():
    answers = [solve(small(seed), gap_ratio=0.0) for seed in range(0, CASES, 4)]
    assert any(one is None for one in answers)
    assert sum(1 for one in answers if one and sum(share > 1e-6 for share in one.shares) > 1) >= 10


def test_kinds_of_different_acceptance_compete_by_accepted_outputs():
    """A type that is cheaper by the request loses where more of its answers are thrown away. Checked by enumeration."""
    for seed in range(40):
        draw = random.Random(seed)
        kinds = [
            Kind(f"k{at}", f"k{at}", "on-demand", draw.uniform(1, 3), money_per_hour=draw.uniform(1, 3),
                 accepted_ratio=draw.uniform(0.4, 1.0))
            for at in range(2)
        ]  # fmt: skip
        need = draw.uniform(1, 6)
        problem = Problem(
            tuple(kinds), (Future("one", 1.0, ((Level(need, need, HOURS, HOURS),),), (1.0,)),), (12.0,)
        )
        found = cheapest(problem, gap_ratio=0.0)
        least = math.inf
        for lots in itertools.product(range(8), repeat=2):
            rooms = [n * k.requests_per_s for n, k in zip(lots, kinds, strict=True)]
            if sum(rooms) < need - 1e-9:
                continue
            paid = sum(n * k.money_per_hour * HOURS for n, k in zip(lots, kinds, strict=True))
            better = max((0, 1), key=lambda at: kinds[at].accepted_ratio)
            first = min(need, rooms[better])
            accepted = (
                first * kinds[better].accepted_ratio + (need - first) * kinds[1 - better].accepted_ratio
            )
            least = min(least, paid / (accepted * HOURS * 3600))
        assert found.unit_money == pytest.approx(least, rel=1e-6), seed
