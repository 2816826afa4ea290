"""Does a deployment fit, how much cache is left, and how long a context: the question ``cabida fit`` asks."""

from __future__ import annotations

from dataclasses import replace

from cabida.memory import budget as budgets
from cabida.memory import overheads
from cabida.memory.asked import Asked, asked
from cabida.memory.constants import LATE_BYTES, LATE_PEER_BYTES, PLACE_BYTES
from cabida.memory.figures import Figures, figures
from cabida.memory.holds import printed_tokens
from cabida.memory.kv import headroom_bytes, request_bytes, sequence_bytes
from cabida.memory.lens import PLAIN, Explaining
from cabida.memory.limits import TIGHT_RATIO
from cabida.memory.overheads import late_bytes, token_table_bytes
from cabida.memory.served import ServingMemory
from cabida.memory.weights import Split, plain_weights_bytes
from cabida.plan import Deployment
from cabida.quantity import Quantity


def _verdict(headroom: float, limit: float, outside: float) -> str:
    """Three states: sure that it fits, within 5 % of the limit, or not."""
    if headroom < 0 or limit <= 0:
        return "no"
    return "fits" if headroom >= (1 - TIGHT_RATIO) * limit and outside >= 0 else "tight"


def serving(d: Deployment) -> ServingMemory:
    """Memory of one accelerator of a deployment, and whether it fits.

    What must fit: weights, overheads and the cache of one sequence of ``max_model_len`` (or the model's own
    context); for engines that allocate ahead, of all sequences. The limit is the engine's budget.
    """
    a = asked(d)
    f = figures(d, a, PLAIN)
    shape = f.shape
    headroom = f.pool - f.required
    slots = int(max(0.0, f.pool) // shape.slot_bytes) if shape.slot_bytes else a.sequences
    sequences = a.sequences if d.settings.max_num_seqs else max(1, min(a.sequences, slots))
    visible = budgets.visible(d.accelerator, PLAIN)
    table = _token_table(d, a)
    outside = _outside(f, a, table, visible - budgets.desktop(d.settings, PLAIN)) - _doubt(d, a)
    count, is_pool = d.parallel.accelerators_count, a.row.budget != "asked"
    weights_total, cache_total = f.weights * count, (max(0.0, f.pool) if is_pool else f.required) * count
    if a.split.layers and count > 1:
        whole = replace(a, split=Split(layers=True, pad=1))
        weights_total = plain_weights_bytes(d.model, d.weights, whole.split)
        cache_total = figures(d, whole, PLAIN).required
    return ServingMemory(
        usable_bytes=d.accelerator.usable_bytes,
        budget_bytes=f.budget,
        weights_bytes=f.weights,
        kv_bytes_per_token=shape.kv_bytes_per_token,
        activation_bytes=f.activation,
        graph_bytes=f.graphs,
        non_torch_bytes=f.non_torch,
        kv_pool_bytes=f.pool,
        kv_pool_tokens=printed_tokens(shape, f.pool, f.required, a, PLAIN),
        largest_context_tokens=f.largest_context,
        verdict="no"
        if slots < sequences or table > visible - f.weights
        else _verdict(headroom, f.budget, outside),
        headroom_bytes=headroom,
        needed_bytes=f.budget - headroom,
        required_kv_bytes=f.required,
        window_bytes_per_token=shape.window_bytes_per_token,
        window_tokens=shape.window_tokens,
        recurrent_state_bytes=shape.state_bytes,
        block_tokens=shape.block_tokens,
        max_model_len=a.max_len,
        max_num_seqs=sequences,
        state_slots_count=slots,
        max_num_batched_tokens=a.batched,
        accelerators_count=count,
        weights_total_bytes=weights_total,
        kv_cache_total_bytes=cache_total,
        cache_is_pool=is_pool,
        splits_layers=a.split.layers,
        outside_bytes=outside,
        buffer_per_accelerator=not a.split.layers or a.row.pipelines,
        deployment=d,
    )


def _token_table(d: Deployment, a: Asked) -> float:
    """SGLang's table of token places; as many rows as sequences were asked for, or its default."""
    rows = (d.settings.max_num_seqs or a.row.table_sequences_count) if a.row.table_sequences_count else 0
    return float(token_table_bytes.raw(a.max_len, rows, PLACE_BYTES.value))


def _outside(f: Figures, a: Asked, table: float, visible: float) -> float:
    """What stays free of the memory the budget leaves alone, once all that comes after the cache took its part."""
    if a.row.budget not in ("static", "share"):
        return 0.0
    left = visible - float(f.budget) - (0.0 if a.row.graphs_inside else float(f.graphs))
    if a.row.budget == "static":
        return left - float(f.non_torch) - float(f.activation) - table
    return left - float(late_bytes.raw(LATE_BYTES.value, LATE_PEER_BYTES.value, a.split.tp))


def _doubt(d: Deployment, a: Asked) -> float:
    """How much more graphs captured after the cache may take than expected: the high end of their interval."""
    if a.row.budget != "share" or a.row.graphs_inside:
        return 0.0
    high = replace(a.row.graphs, value=a.row.graphs.high)
    expected, most = (
        float(overheads.graphs(d.model, a.graph_sizes, a.split.pp, one, PLAIN))
        for one in (a.row.graphs, high)
    )
    return most - expected


def sequences_that_fit(m: ServingMemory, context_tokens: float) -> float:
    """How many sequences of ``context_tokens`` the pool holds at once (not limited by ``max_num_seqs``)."""
    one = sequence_bytes.raw(
        context_tokens, m.block_tokens, m.kv_bytes_per_token, m.window_bytes_per_token, m.window_tokens,
        m.recurrent_state_bytes,
    )  # fmt: skip
    return max(0.0, m.kv_pool_bytes) / one if one > 0 else float("inf")


def requests_that_fit(
    m: ServingMemory,
    prompt_tokens: float,
    output_tokens: float,
    samples_count: int = 1,
    shared_prefix_tokens: float = 0.0,
) -> float:
    """Requests the pool holds at once, each a prompt with several samples or beams (``n``, ``best_of``).

    Args:
        m: What :func:`serving` said.
        prompt_tokens: Of one request, what it shares with others included.
        output_tokens: Of one sample.
        samples_count: Samples or beams of a request.
        shared_prefix_tokens: Tokens at the start of every prompt that are the same; they are cached once.
    """
    fixed = m.recurrent_state_bytes + m.window_tokens * m.window_bytes_per_token
    one = request_bytes.raw(
        prompt_tokens, output_tokens, samples_count, min(shared_prefix_tokens, prompt_tokens), m.block_tokens,
        m.kv_bytes_per_token, fixed,
    )  # fmt: skip
    prefix = shared_prefix_tokens // m.block_tokens * m.block_tokens * m.kv_bytes_per_token
    return max(0.0, m.kv_pool_bytes - prefix) / one if one > 0 else float("inf")


def serving_tree(d: Deployment) -> dict[str, Quantity]:
    """The figures of :func:`serving` with their provenance, by the same names."""
    a = asked(d)
    f = figures(d, a, lens := Explaining())
    shape = f.shape
    made = {
        "weights_bytes": f.weights,
        "budget_bytes": f.budget,
        "kv_bytes_per_token": shape.kv_bytes_per_token,
        "recurrent_state_bytes": shape.state_bytes,
        "activation_bytes": f.activation,
        "graph_bytes": f.graphs,
        "non_torch_bytes": f.non_torch,
        "kv_pool_bytes": f.pool,
        "required_kv_bytes": f.required,
        "headroom_bytes": headroom_bytes(f.pool, f.required),
        "kv_pool_tokens": printed_tokens(shape, f.pool, f.required, a, lens),
        "largest_context_tokens": f.largest_context,
    }
    return {name: node.named(name) for name, node in made.items()}
