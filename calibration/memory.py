"""Where the fitted constants of ``cabida.memory.constants`` come from: worked out again from the public start-ups.

``python calibration/memory.py`` prints, for each constant, the median over sources of each source's median, the
5th and 95th percentile over sources, how many sources, how far the median moves when any one source is left out, the
shipped value, and how many sources the shipped interval holds. Then the same of the pools that start-ups print: how
many the interval holds, altogether and with each source left out. Nothing is written: a constant is changed by hand,
with its source, when the cases say so.
"""

from __future__ import annotations

import json
import re
import statistics
from collections import defaultdict
from pathlib import Path

from cabida import facts
from cabida.facts.models import find_model
from cabida.memory import constants as known
from cabida.memory.engines import rules, version_at
from cabida.memory.overheads import relays
from cabida.truth.predict import Prediction
from cabida.truth.validate import predicted

CASES = Path(__file__).parent.parent / "cases" / "memory.jsonl"
GIB = 2.0**30
POOLS = ("kv_cache_gib_per_gpu", "kv_cache_tokens", "max_concurrency")
POOLED = ("vllm", "sglang", "tensorrt-llm")


def rows() -> list[dict]:
    with CASES.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def model_of(row: dict):
    names = [re.split(r"[ (]", row["model"])[0], row.get("arch")]
    return next((found for name in names if name and (found := find_model(name)) is not None), None)


def version_of(row: dict) -> str:
    written = row.get("engine_version") or ""
    if re.search(r"\d|V0|V1", written):
        return written
    if "num_gpu_blocks" in row["measured"]:
        return "0.7"  # only V0 prints its blocks
    month = re.search(r"20\d\d-\d\d", f"{row.get('date', '')} {row['source']}")
    return version_at("vllm", month.group()) if month else ""


def group_of(row: dict) -> str:
    since = rules("vllm", version_of(row)).since
    return "v0" if since < (0, 8) else "v1" if since < (0, 20) else "late"


def sampler(row: dict, found: dict[str, list]) -> None:
    """Activation peak, or budget left over, over max_num_seqs x vocabulary: one accelerator, text only.

    Worker ranks don't sample, a vision tower has a peak of its own, and a layer over many tokens outgrows the
    sampler: such rows are left out, and so are rows of an unknown version.
    """
    model, seen, args = model_of(row), row["measured"], row.get("args") or {}
    text = model is not None and row.get("tp") == 1 and not model.extra_params_count and version_of(row)
    if not text or args.get("max_num_seqs") or args.get("max_num_batched_tokens"):
        return
    peak = seen.get("activation_peak_gib")
    if not peak:
        total, cache, weights = (
            row.get("gpu_memory_gib"),
            seen.get("kv_cache_gib_per_gpu"),
            seen.get("weights_gib_per_gpu"),
        )
        card = facts.accelerators().get(row.get("gpu") or "")
        total = total or (card and (card.usable_bytes - known.DRIVER_RESERVE_BYTES.value) / GIB)
        if not (total and cache and weights and args.get("gpu_memory_utilization")):
            return
        peak = args["gpu_memory_utilization"] * total - weights - cache - known.CONTEXT_BYTES.value / GIB
    if args.get("max_model_len", 0) <= 40960 and 0 < peak < 3:
        each = peak * GIB / (256 * model.vocab_count)
        found[f"sampler_bytes_per_element {group_of(row)}"].append((row["source"], each))


def graphs(row: dict, found: dict[str, list]) -> None:
    model = model_of(row)
    seen = row["measured"]
    took, estimated = (
        seen.get("cuda_graph_gib") or seen.get("graph_gib"),
        seen.get("cuda_graph_estimated_gib"),
    )
    for kind, printed in (("", took), (" estimated", estimated)):
        if model is not None and printed and printed > 0:
            found[f"piece_bytes{kind or _captured(row)}"].append((row["source"], _piece(row, model, printed)))


def _captured(row: dict) -> str:
    since = rules("vllm", version_of(row)).since
    return " v0" if since < (0, 8) else " v1 early" if since < (0, 10) else " v1"


def _piece(row: dict, model, printed: float) -> float:
    engine, args = rules("vllm", version_of(row)), row.get("args") or {}
    sizes = min(engine.graph_sizes_count, 3 + min(512, 2 * (args.get("max_num_seqs") or 256)) // 8)
    pieces = max(0.0, printed * GIB - known.GRAPH_POOL_BYTES.value)
    return pieces / (model.layers_count * sizes)


def processes(row: dict, found: dict[str, list]) -> None:
    held, tp = row["measured"].get("non_torch_gib"), row.get("tp") or 1
    ours, weights = (
        row["measured"].get("consumed_weights_plus_non_torch_gib"),
        row["measured"].get("weights_gib_per_gpu"),
    )
    if held is None and ours and weights:
        held = ours - weights
    if held is None or held < 0 or "jetson" in row["id"]:
        return
    if tp * (row.get("pp") or 1) == 1:
        found["context_bytes (GiB)"].append((row["source"], held))
    elif not row.get("pp") and "gfx" not in row["engine"]:
        card = facts.accelerators().get(row.get("gpu") or "")
        name = "peer_bytes through host (GiB)" if card is not None and relays(card) else "peer_bytes (GiB)"
        found[name].append((row["source"], (held - known.CONTEXT_BYTES.value / GIB) / (tp - 1)))


def reserve(row: dict, found: dict[str, list]) -> None:
    printed, name = row.get("gpu_memory_gib"), row.get("gpu")
    card = facts.accelerators().get(name) if name else None
    if (
        card is not None
        and printed
        and card.vendor.lower() == "nvidia"
        and card.form_factor.lower() != "unified"
    ):
        found["driver_reserve_bytes (GiB)"].append((card.id, card.usable_bytes / GIB - printed))


def spread(medians: list[float]) -> tuple[float, float, float]:
    """(median, 5th, 95th percentile) of sources' medians."""
    ordered = sorted(medians)
    low, high = ordered[int(0.05 * (len(ordered) - 1))], ordered[round(0.95 * (len(ordered) - 1))]
    return statistics.median(ordered), low, high


def left_out(medians: list[float]) -> tuple[float, float]:
    """Least and most of the median when any one source is left out."""
    others = [
        statistics.median([*medians[:place], *medians[place + 1 :]])
        for place in range(len(medians))
        if len(medians) > 1
    ]
    return (min(others), max(others)) if others else (medians[0], medians[0])


def constants_table() -> None:
    found: dict[str, list] = defaultdict(list)
    for row in rows():
        if row["task"] == "inference" and row["engine"].startswith("vllm"):
            for look in (sampler, graphs, processes, reserve):
                look(row, found)
    shipped = {
        "sampler_bytes_per_element v0": known.SAMPLER_V0, "sampler_bytes_per_element v1": known.SAMPLER_V1,
        "sampler_bytes_per_element late": known.SAMPLER_UNSORTED, "piece_bytes v0": known.GRAPHS_V0,
        "piece_bytes v1 early": known.GRAPHS_V1_EARLY, "piece_bytes v1": known.GRAPHS_V1,
        "piece_bytes estimated": known.GRAPHS_ESTIMATED,
        "context_bytes (GiB)": known.CONTEXT_BYTES,
        "peer_bytes (GiB)": known.PEER_BYTES, "peer_bytes through host (GiB)": known.HOST_PEER_BYTES,
        "driver_reserve_bytes (GiB)": known.DRIVER_RESERVE_BYTES,
    }  # fmt: skip
    for name, seen in sorted(found.items()):
        by_source = defaultdict(list)
        for source, value in seen:
            by_source[source].append(value)
        medians = [statistics.median(values) for values in by_source.values()]
        middle, low, high = spread(medians)
        least, most = left_out(medians)
        scale, now = GIB if "GiB" in name else 1.0, shipped[name]
        held = sum(now.low <= value * scale <= now.high for value in medians)
        print(
            f"{name:32s} sources {len(medians):2d} {middle:8.3f} [{low:.3f}, {high:.3f}]"
            f" left out {least:.3f} to {most:.3f}"
            f" shipped {now.value / scale:.3f} [{now.low / scale:.3f}, {now.high / scale:.3f}] holds {held}"
        )


def inside(predictions: list[Prediction]) -> float:
    return sum(one.low <= one.measured <= one.high for one in predictions) / len(predictions)


def pools_table() -> None:
    for metric in POOLS:
        made = [one for one in predicted([CASES]) if one.metric == metric and one.case.engine in POOLED]
        sources = sorted({source_of(one) for one in made})
        shares = [inside([one for one in made if source_of(one) != source]) for source in sources]
        wide = statistics.median(one.high / one.low for one in made)
        print(
            f"{metric:32s} sources {len(sources):2d} rows {len(made):3d} inside {inside(made):.2f},"
            f" left out {min(shares):.2f} to {max(shares):.2f}; high over low {wide:.2f}"
        )


def source_of(one: Prediction) -> str:
    """The very page: "public GitHub file" is many."""
    return str(one.case.row["source"])


def main() -> None:
    constants_table()
    pools_table()


if __name__ == "__main__":
    main()
