"""Replicas and requests as the arrays of the simulation, and what it leaves in them as NumPy columns.

A pool is a number of alike replicas; one pool serves whole requests, or a first reads prompts and a second
writes the answers (disaggregation). Data-parallel ranks are replicas of their own; those that share experts
take each step together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cabida.timing.queues import columns as col
from cabida.timing.queues.speculative import NO_DRAFT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cabida.timing.engine.steps import StepModel
    from cabida.timing.queues.speculative import Drafting

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Adapters:
    """LoRA adapters on a replica: how many at once, and what they cost."""

    slots_count: int  # max_loras
    step_s: float  # what any of them adds to a step,
    read_s: float  # and what each one in use adds to it
    load_s: float = 0.0  # bringing one to the device


@dataclass(frozen=True, slots=True)
class Pool:
    """Alike replicas."""

    model: StepModel
    replicas_count: int = 1
    role: int = col.BOTH
    hand_s: float = 0.0  # handing a prompt's cache to the next pool: latency,
    hand_s_per_token: float = 0.0  # and by token of the prompt
    drafting: Drafting = NO_DRAFT
    adapters: Adapters | None = None

    @property
    def rows_count(self) -> int:
        """Replicas and their data-parallel ranks."""
        return self.replicas_count * self.model.ranks_count


@dataclass(slots=True)
class Fleet:
    """Pools set up to serve, with everything the event loop carries; ``serve`` may be called again and again."""

    pools: tuple[Pool, ...]
    arrays: dict[str, Any]
    carried: Any  # rows of ``asked`` still on their way

    def serve(self, asked: Floats, *, more: bool = False, clients: int = 0, think_s: float = 0.0) -> Floats:
        """Serve requests; returns their rows, those carried over from before first.

        Args:
            asked: shape (n, ASKED_COUNT), in order of arrival.
            more: whether later requests follow; those unfinished are then carried over to the next call.
            clients: of a closed loop; 0 = each arrives at its own time.
            think_s: time from a last token to the same client's next request.
        """
        import numpy as np

        from cabida.timing.queues import queue

        a, loop = self.arrays, self.arrays["loop"]
        kept = len(self.carried)
        rows = np.concatenate([self.carried, asked]) if kept else asked
        heap = np.zeros((len(rows) + 1, queue.HEAP_COLUMNS))
        heap[: len(a["heap"])] = a["heap"]
        loop[col.ARRIVED], loop[col.SENT_COUNT] = kept, len(rows)
        loop[col.MORE], loop[col.CLIENTS], loop[col.THINK_S] = more, clients, think_s
        if clients:
            first = min(clients, len(rows))
            heap[:first, 0], heap[:first, 2] = rows[:first, col.SENT], np.arange(first)
            heap[:first, 1] = np.arange(first)
            loop[col.SENT_COUNT] = loop[col.PENDING] = loop[col.CLOCK] = first
        queue.run(
            a["rules"], a["constants"], a["tables"], a["draft_constants"], a["draft_tables"], a["pools"], rows,
            a["seats"], a["state"], a["totals"], a["gaps"], a["chosen"], a["shelf"], a["using"], heap, loop,
        )  # fmt: skip
        if more:
            self._carry(rows, heap)
        return rows

    def _carry(self, rows: Floats, heap: Floats) -> None:
        """Keep the unfinished requests for the next stretch, under new numbers."""
        import numpy as np

        a, pending = self.arrays, int(self.arrays["loop"][col.PENDING])
        open_ones = rows[:, col.LAST] == -1.0
        number = np.where(open_ones, np.cumsum(open_ones) - 1.0, -1.0)
        self.carried = rows[open_ones].copy()
        _renumber(self.carried[:, col.NEXT], number)
        for column in (col.PART, col.HEAD, col.TAIL):
            _renumber(a["state"][:, column], number)
        for place, alive in enumerate(a["state"][:, col.ALIVE].astype(int)):
            _renumber(a["seats"][place, :alive, col.REQUEST], number)
            finished = int(a["state"][place, col.FINISHED])
            _renumber(a["chosen"][place, :finished], number)
        a["heap"] = heap[:pending].copy()
        _renumber(a["heap"][:, 2], number)

    @property
    def totals(self) -> Floats:
        """Counts, all replicas together."""
        return self.arrays["totals"].sum(axis=0)  # type: ignore[no-any-return]


def _renumber(places: Floats, number: Floats) -> None:
    there = places >= 0
    places[there] = number[places[there].astype(int)]


def requests(
    arrival_s: Floats,
    input_tokens: Floats,
    output_tokens: Floats,
    *,
    prefix_tokens: Floats | float = 0.0,
    group: Floats | float = -1.0,
    kept: Floats | float = 0.0,
    adapter: Floats | float = -1.0,
    pace_tokens: Floats | float = 1.0,
    luck: Floats | float = 0.0,
) -> Floats:
    """Rows of ``asked``. Everything of shape (n,), or one figure for all.

    Args:
        arrival_s: ascending.
        input_tokens: prompts, shared tokens included.
        output_tokens: answers, at least 1.
        prefix_tokens: leading tokens shared with the group.
        group: whose; -1 = nobody's; ``FOUND`` = found cached, whoever left them.
        kept: 1 where prompt and answer stay cached for the group's next turn.
        adapter: LoRA adapter; -1 = none.
        pace_tokens: answer tokens per decoding step.
        luck: uniform in [0, 1), for random routing.
    """
    import numpy as np

    asked = np.zeros((len(arrival_s), col.ASKED_COUNT))
    asked[:, col.SENT] = arrival_s
    asked[:, col.INPUT] = np.maximum(input_tokens, 1.0)
    asked[:, col.OUTPUT] = np.maximum(output_tokens, 1.0)
    asked[:, col.PREFIX] = np.where(np.asarray(group) != -1.0, prefix_tokens, 0.0)
    asked[:, col.GROUP], asked[:, col.KEPT], asked[:, col.ADAPTER] = group, kept, adapter
    asked[:, col.PACE], asked[:, col.LUCK] = pace_tokens, luck
    for column in (col.SCHEDULED, col.FIRST, col.LAST, col.NEXT, col.PLACE):
        asked[:, column] = -1.0
    return asked


def fleet(
    pools: tuple[Pool, ...],
    *,
    routing: str = "",
    static: bool = False,
    groups_count: int = 0,
    adapters_count: int = 0,
    requests_count: int = 10**9,
) -> Fleet:
    """Pools ready to serve.

    Args:
        pools: one that serves, or one that reads prompts and one that writes answers.
        routing: a word of ``routing.ROUTES``; "" = as the engine deals them out to its ranks.
        static: a batch ends before the next begins.
        groups_count: prefixes that requests may share.
        adapters_count: LoRA adapters that requests may ask for.
        requests_count: at most, to keep arrays small.
    """
    import numpy as np

    from cabida.timing.queues.routing import ROUTES

    rows = sum(pool.rows_count for pool in pools)
    slots = min(max(pool.model.sequences_most_count for pool in pools), requests_count)
    state = np.zeros((rows, col.STATE_COUNT))
    for column in (col.PART, col.HEAD, col.TAIL, col.OLDEST, col.NEWEST, col.HELD_FROM):
        state[:, column] = -1.0
    state[:, col.UNTIL] = np.inf
    state[:, col.RATIO] = np.repeat([p.model.reserve_ratio for p in pools], [p.rows_count for p in pools])
    shelf = np.zeros((rows, max(groups_count, 1), col.SHELF_COUNT))
    shelf[:, :, (col.OLDER, col.NEWER)] = -1.0
    loop = np.zeros(col.LOOP_COUNT)
    loop[col.ROUTING] = ROUTES.index(routing or pools[0].model.scheduler.ranks_routing)
    starts = np.cumsum([0, *(pool.rows_count for pool in pools)])[:-1]
    return Fleet(
        pools,
        {
            "rules": np.array([rule_of(pool, static=static) for pool in pools]),
            "constants": np.array([pool.model.constants for pool in pools]),
            "tables": np.array([pool.model.table for pool in pools]),
            "draft_constants": np.array([pool.drafting.constants for pool in pools]),
            "draft_tables": np.array([pool.drafting.table for pool in pools]),
            "pools": starts.astype(float),
            "seats": np.zeros((rows, slots, col.SEAT_COUNT)),
            "state": state,
            "totals": np.zeros((rows, col.TOTALS_COUNT)),
            "gaps": np.zeros(col.ITL_BINS),
            "chosen": np.zeros((rows, slots)),
            "shelf": shelf,
            "using": np.zeros((rows, max(adapters_count, 1), 2)),
            "heap": np.zeros((0, 3)),
            "loop": loop,
        },
        np.zeros((0, col.ASKED_COUNT)),
    )


def rule_of(pool: Pool, *, static: bool = False) -> Floats:
    """A pool's limits and its engine's habits, as the row of ``rules`` the scheduler reads."""
    import numpy as np

    model, habits = pool.model, pool.model.scheduler
    most = float(model.sequences_most_count)
    rule = np.zeros(col.RULES_COUNT)
    reserve = model.reserve_ratio
    least = min(habits.reserve_least_ratio, reserve) if habits.reserve_steps_count else reserve
    for column, value in (
        (col.BUDGET, max(model.budget_tokens, habits.batch_tokens)),
        (col.SLOTS, most),
        (col.KV, model.kv_tokens),
        (col.WASTE, 0.5 * (model.block_tokens - 1.0)),
        (col.WINDOW, model.window_tokens),
        (col.MIXED, model.mixed),
        (col.CHUNKED, habits.chunked),
        (col.STATIC, static),
        (col.WHOLE, habits.whole_prompt),
        (col.RESERVE_NEW, reserve > 0),
        (col.RESERVE, reserve),
        (col.RESERVE_LEAST, least),
        (col.DECAY, (reserve - least) / max(habits.reserve_steps_count, 1.0)),
        (col.SLOT_TOKENS, model.kv_tokens / most if habits.fixed_slots else np.inf),
        (col.MICRO, habits.micro_tokens),
        (col.VERIFY, 1.0 + pool.drafting.tokens_count),
        (col.DRAFTED, pool.drafting.passes_count),
        (col.HOST_S, pool.drafting.host_s),
        (col.ADAPTERS, pool.adapters.slots_count if pool.adapters else 0.0),
        (col.ADAPTER_S, pool.adapters.step_s if pool.adapters else 0.0),
        (col.ADAPTER_READ_S, pool.adapters.read_s if pool.adapters else 0.0),
        (col.LOAD_S, pool.adapters.load_s if pool.adapters else 0.0),
        (col.ROLE, pool.role),
        (col.HAND_S, pool.hand_s),
        (col.HAND_S_PER_TOKEN, pool.hand_s_per_token),
        (col.WAITING_WEIGHT, habits.waiting_weight),
        (col.RANKS, model.ranks_count if model.shared_ratio > 0 else 1),
        (col.SHARED, model.shared_ratio),
        (col.POLL, habits.poll_steps),
        (col.POLL_RANKS, habits.poll_ranks),
        (col.HOLD, habits.hold_steps),
        (col.HOLD_RATIO, habits.hold_ratio),
        (col.KEEPS, habits.keeps_preempted and model.shares_prefixes),
        (col.BLOCK, model.block_tokens),
        (col.PADDED, habits.padded_tokens),
    ):
        rule[column] = value
    return rule
