"""The mix written as a matrix: what each column buys, what it costs when, and which rows bind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil, inf

from cabida.money.hold.mix import Kind, Level, Problem, term_steps
from cabida.money.hold.mix_matrix import Matrix
from cabida.money.hold.mix_pledges import take_off
from cabida.units import S_PER_HOUR

NOBODY = -1  # owner of what is paid once
Place = tuple[int, int, int]  # future, step, level


@dataclass(frozen=True, slots=True)
class Serving:
    """Kinds of one group whose requests cost the same: one column serves for all of them."""

    group: str
    kinds: tuple[int, ...]
    one: Kind


@dataclass(slots=True)
class Written:
    """The matrix with the meaning of its columns."""

    problem: Problem
    matrix: Matrix = field(default_factory=Matrix)
    servings: tuple[Serving, ...] = ()
    starts: dict[tuple[int, int], int] = field(default_factory=dict)  # (kind, step)
    hourly: dict[tuple[int, Place], int] = field(default_factory=dict)
    served: dict[tuple[int, Place], int] = field(default_factory=dict)  # (serving, place)
    owners: list[int] = field(default_factory=list)  # kind, or NOBODY
    futures: list[int] = field(default_factory=list)  # that a column belongs to; NOBODY = all
    paid: list[tuple[int, int, float]] = field(
        default_factory=list
    )  # step, column, expected money over the step

    spent: list[tuple[int, int, int, int, float]] = field(
        default_factory=list
    )  # kind, future, step, column, what of ``paid`` goes to who sells it

    @property
    def months(self) -> float:
        """The whole horizon."""
        return sum(self.problem.steps_months)

    def places(self) -> Iterator[tuple[Place, Level]]:
        """Every level of every step of every future."""
        for future, one in enumerate(self.problem.futures):
            for step, levels in enumerate(one.levels):
                for index, level in enumerate(levels):
                    yield (future, step, index), level

    def add(self, owner: int, future: int, high: float = inf, *, whole: bool = False) -> int:
        """A column that nobody pays for yet."""
        self.owners.append(owner)
        self.futures.append(future)
        return self.matrix.column(high=high, whole=whole)

    def pay(self, column: int, step: int, money: float, kind: int = NOBODY, spent_ratio: float = 0.0) -> None:
        """Expected money of one unit of a column within a step, and the share that goes to who sells ``kind``."""
        if money:
            self.matrix.cost[column] += money / self.months
            self.paid.append((step, column, money))
            if spent_ratio and self.problem.pledges:
                self.spent.append((kind, self.futures[column], step, column, money * spent_ratio))

    def active(self, kind: int, step: int) -> list[int]:
        """Columns whose lots of a committed kind are held in a step."""
        term, months = self.problem.kinds[kind].term_months, self.problem.steps_months
        return [
            column
            for (owner, start), column in self.starts.items()
            if owner == kind and start <= step < start + term_steps(term, months, start)[0]
        ]

    def held(self, kind: int, place: Place) -> list[int]:
        """Columns that add up to the lots of a kind at a place."""
        if self.problem.kinds[kind].committed:
            return self.active(kind, place[1])
        return [self.hourly[kind, place]]


def written(problem: Problem, commitments: Mapping[str, tuple[int, ...]] | None = None) -> Written:
    """The matrix of a problem; ``commitments`` fixes the lots started by each committed kind, step by step."""
    made = Written(problem, servings=tuple(_servings(problem)))
    most = {kind: _most_lots(problem, one) for kind, one in enumerate(problem.kinds) if not one.api}
    _commitments(made, most, commitments)
    _hourly(made)
    _machines(made)
    _served(made)
    _once(made)
    take_off(made)
    _limits(made)
    return made


def _servings(problem: Problem) -> Iterator[Serving]:
    alike: dict[object, list[int]] = {}
    for index, one in enumerate(problem.kinds):
        limit = (one.capacity, one.share_ratio) if one.share_ratio < 1 else ()
        bought = one.pledges, one.spent_request_ratio if one.pledges else ()
        key = (
            one.group, one.api, one.request_money, limit, one.accepted_ratio, one.fixed, one.drifts, bought
        )  # fmt: skip
        alike.setdefault(key, []).append(index)
    for kinds in alike.values():
        ordered = sorted(kinds, key=lambda index: not problem.kinds[index].committed)
        yield Serving(problem.kinds[kinds[0]].group, tuple(ordered), problem.kinds[kinds[0]])


def _lots_for(problem: Problem, kind: Kind, need_per_s: float) -> int:
    """Lots that hold a need alone, spares included: more are never worth having."""
    if kind.requests_per_s <= 0:
        return 0
    spare = problem.spare_replicas_count
    replicas = ceil(need_per_s / kind.requests_per_s - 1e-9) + spare
    lots = max(-(-replicas // kind.replicas_count), kind.least_count if replicas > spare else 0)
    return int(min(lots, kind.most_count))


def _most_lots(problem: Problem, kind: Kind) -> int:
    needs = [level.need_per_s for future in problem.futures for levels in future.levels for level in levels]
    return _lots_for(problem, kind, max(needs, default=0.0))


def _expected_price(problem: Problem, kind: Kind, step: int) -> float:
    """Of what is signed at a step: today's price at the first, the mean of the futures' later on."""
    if step == 0 or not kind.drifts:
        return 1.0
    return sum(one.weight_ratio * one.price_ratios[step] for one in problem.futures)


def _commitments(made: Written, most: Mapping[int, int], given: Mapping[str, tuple[int, ...]] | None) -> None:
    problem, steps = made.problem, made.problem.steps_months
    for kind, one in enumerate(problem.kinds):
        if not one.committed:
            continue
        for start in range(len(steps) if one.until_months == inf else 1):
            column = made.starts[kind, start] = made.add(kind, NOBODY, most[kind], whole=True)
            count, months = term_steps(one.term_months, steps, start)
            covered = sum(steps[start : start + count])
            price = one.money_per_month * _expected_price(problem, one, start)
            for step in range(start, start + count):
                each = price * months * steps[step] / covered
                made.pay(column, step, each, kind, one.spent_month_ratio)
            if given is not None:
                wanted = given.get(one.name, ())
                made.matrix.low[column] = made.matrix.high[column] = float(wanted[start] if wanted else 0)
            elif one.least_count > 1:
                _all_or_none(made, column, one.least_count, most[kind])
        for step in range(len(steps)):
            if one.most_count < inf and given is None:
                made.matrix.row([(column, 1.0) for column in made.active(kind, step)], high=one.most_count)


def _all_or_none(made: Written, column: int, least_count: int, most_count: int) -> None:
    """None of a column, or at least so many."""
    any_of_it = made.add(NOBODY, NOBODY, 1.0, whole=True)
    made.matrix.row([(column, 1.0), (any_of_it, -float(least_count))], low=0.0)
    made.matrix.row([(column, 1.0), (any_of_it, -float(max(least_count, most_count)))], high=0.0)


def _hourly(made: Written) -> None:
    problem = made.problem
    busiest: dict[tuple[int, int], float] = {}
    for (future, step, _), level in made.places():
        busiest[future, step] = max(busiest.get((future, step), 0.0), level.need_per_s)
    for kind, one in enumerate(problem.kinds):
        if one.committed or one.api:
            continue
        for place, level in made.places():
            future, step = place[0], place[1]
            most = _lots_for(problem, one, level.need_per_s or (busiest[future, step] and 1e-12))
            column = made.hourly[kind, place] = made.add(kind, future, most, whole=True)
            ratio = problem.futures[future].price_ratios[step] if one.drifts else 1.0
            hours = level.paid_hours * problem.steps_months[step] * problem.futures[future].weight_ratio
            made.pay(column, step, one.money_per_hour * ratio * hours, kind, 1.0)
            if one.least_count > 1:
                _all_or_none(made, column, one.least_count, most)


def _machines(made: Written) -> None:
    """What follows the size: whole machines to look after, and a monthly part of the largest number on at once."""
    problem = made.problem
    for kind, one in enumerate(problem.kinds):
        watched = one.node_money_per_month > 0 and one.node_lots < inf
        if one.api or not (watched or (one.money_per_month and not one.committed)):
            continue
        for future in (NOBODY,) if one.committed else range(len(problem.futures)):
            weight = 1.0 if future == NOBODY else problem.futures[future].weight_ratio
            for step, months in enumerate(problem.steps_months):
                held = _sizes(made, kind, future, step)
                if one.money_per_month and not one.committed:
                    size = made.add(kind, future)
                    each = one.money_per_month * months * weight
                    made.pay(size, step, each, kind, one.spent_month_ratio)
                    for columns in held:
                        made.matrix.row([(size, 1.0), *((each, -1.0) for each in columns)], low=0.0)
                if watched:
                    nodes = made.add(kind, future, whole=True)
                    made.pay(nodes, step, one.node_money_per_month * months * weight)
                    for columns in held:
                        most = sum(made.matrix.high[each] for each in columns)
                        room = max(
                            1.0, min(one.node_lots, most)
                        )  # a machine that is never filled is one machine
                        made.matrix.row([(nodes, room), *((each, -1.0) for each in columns)], low=0.0)


def _sizes(made: Written, kind: int, future: int, step: int) -> list[list[int]]:
    """Sets of columns that each add up to lots held at once."""
    if made.problem.kinds[kind].committed:
        return [made.active(kind, step)]
    levels = range(len(made.problem.futures[future].levels[step]))
    return [[made.hourly[kind, (future, step, level)]] for level in levels]


def _served(made: Written) -> None:
    """Every request is served once, within what is held beside the spares and within each kind's share."""
    problem = made.problem
    by_group: dict[str, list[int]] = {}
    for index, serving in enumerate(made.servings):
        if not serving.one.api:
            by_group.setdefault(serving.group, []).append(index)
    used: dict[tuple[str, int], int] = {}
    if problem.spare_replicas_count:
        used = {
            (group, step): made.add(NOBODY, NOBODY, 1.0, whole=True)
            for group in by_group
            for step in range(len(problem.steps_months))
        }
        made.matrix.first += used.values()
    for place, level in made.places():
        if level.need_per_s > 0:
            for index, serving in enumerate(made.servings):
                _one_serving(made, index, serving.one, place, level)
            everybody = [(made.served[index, place], 1.0) for index in range(len(made.servings))]
            made.matrix.row(everybody, level.need_per_s, level.need_per_s)
            _within_shares(made, place, level)
        for group, members in by_group.items():
            _within_group(made, group, members, place, level, used.get((group, place[1])))


def _within_shares(made: Written, place: Place, level: Level) -> None:
    """Kinds that share a limit, such as all of spot, keep it together."""
    limited: dict[tuple[str, float], list[int]] = {}
    for index, serving in enumerate(made.servings):
        if serving.one.share_ratio < 1:
            limited.setdefault((serving.one.capacity, serving.one.share_ratio), []).append(index)
    for (_, ratio), members in limited.items():
        if len(members) > 1:
            made.matrix.row([(made.served[at, place], 1.0) for at in members], high=ratio * level.need_per_s)


def _one_serving(made: Written, index: int, one: Kind, place: Place, level: Level) -> None:
    future, step = place[0], place[1]
    problem = made.problem
    column = made.served[index, place] = made.add(
        made.servings[index].kinds[0], future, one.share_ratio * level.need_per_s
    )
    months = problem.steps_months[step] * problem.futures[future].weight_ratio
    asked = level.hours * float(S_PER_HOUR) * level.served_per_s / level.need_per_s * months
    ratio = problem.futures[future].price_ratios[step] if one.drifts else 1.0
    period = min(level.period, len(one.request_money) - 1)
    spent = one.spent_request_ratio[min(period, len(one.spent_request_ratio) - 1)]
    first = made.servings[index].kinds[0]
    made.pay(column, step, one.request_money[period] * ratio * asked, first, spent)
    made.matrix.cost[column] -= problem.accepted_money * one.accepted_ratio * asked / made.months


def _within_group(
    made: Written, group: str, members: list[int], place: Place, level: Level, used: int | None
) -> None:
    kinds = made.problem.kinds
    spare = made.problem.spare_replicas_count
    busy = level.need_per_s > 0
    serves = [(made.served[index, place], 1.0) for index in members] if busy else []
    room = [entry for index in members for entry in _room(made, made.servings[index], place)]
    one = max(kinds[kind].requests_per_s for index in members for kind in made.servings[index].kinds)
    kept = [(used, one * spare)] if used is not None else []
    if busy or kept:
        made.matrix.row([*serves, *kept, *room], high=0.0)
    if used is not None and busy:
        made.matrix.row([*serves, (used, -level.need_per_s)], high=0.0)
    for index in members if busy and len(members) > 1 else ():
        made.matrix.row(
            [(made.served[index, place], 1.0), *_room(made, made.servings[index], place)], high=0.0
        )


def _room(made: Written, serving: Serving, place: Place) -> list[tuple[int, float]]:
    kinds = made.problem.kinds
    return [
        (column, -kinds[kind].requests_per_s * kinds[kind].replicas_count)
        for kind in serving.kinds
        for column in made.held(kind, place)
    ]


def _once(made: Written) -> None:
    """Teams and gateways: paid in every step in which anything that needs them serves."""
    problem = made.problem
    for name, money in problem.fixed.items():
        needing = [index for index, serving in enumerate(made.servings) if name in serving.one.fixed]
        if not needing or money <= 0:
            continue
        for step, months in enumerate(problem.steps_months):
            paid = made.add(NOBODY, NOBODY, 1.0, whole=True)
            made.matrix.first.append(paid)
            made.pay(paid, step, money * months)
            for place, level in made.places():
                if place[1] == step and level.need_per_s > 0:
                    serves = [(made.served[index, place], 1.0) for index in needing]
                    made.matrix.row([*serves, (paid, -level.need_per_s)], high=0.0)


def _limits(made: Written) -> None:
    """Money of each month and of all, what is paid on day one, power of one's own premises, accelerators in all."""
    problem = made.problem
    if problem.monthly_money < inf:
        for step, months in enumerate(problem.steps_months):
            made.matrix.row(summed(made, step), high=problem.monthly_money * months)
    if problem.total_money < inf:
        made.matrix.row(summed(made, None), high=problem.total_money)
        bought = [(column, problem.kinds[kind].capital_money) for (kind, _), column in made.starts.items()]
        if any(money for _, money in bought):
            made.matrix.row(bought, high=problem.total_money)
    if problem.power_w < inf:
        for step in range(len(problem.steps_months)):
            drawn = [
                (column, one.power_w)
                for kind, one in enumerate(problem.kinds)
                if one.committed and one.power_w
                for column in made.active(kind, step)
            ]
            made.matrix.row(drawn, high=problem.power_w)
    if problem.accelerators_most_count < inf:
        everything = [kind for kind, one in enumerate(problem.kinds) if not one.api]
        _at_most(made, everything, problem.accelerators_most_count)
    for name, most in problem.quotas.items():
        _at_most(made, [kind for kind, one in enumerate(problem.kinds) if one.quota == name], most)


def _at_most(made: Written, kinds: list[int], accelerators_count: float) -> None:
    """No more accelerators of these kinds at any place."""
    for place, _ in made.places() if kinds else ():
        held = [
            (column, float(made.problem.kinds[kind].accelerators_count))
            for kind in kinds
            for column in made.held(kind, place)
        ]
        made.matrix.row(held, high=accelerators_count)


def summed(made: Written, step: int | None) -> list[tuple[int, float]]:
    """Expected money of one unit of each column, over a step or the whole horizon."""
    totals: dict[int, float] = {}
    for when, column, money in made.paid:
        if step is None or when == step:
            totals[column] = totals.get(column, 0.0) + money
    return list(totals.items())
