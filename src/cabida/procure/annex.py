"""The acceptance test as an annex to the contract: floors only where somebody measured or simulated the figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import floor
from typing import Any

from cabida import facts
from cabida.facts.model import Accelerator, Node
from cabida.plan import Decision, Estimate, Option
from cabida.procure.against import option_for
from cabida.procure.known import data
from cabida.procure.nouns import Floor
from cabida.procure.subject import Subject, form_of
from cabida.text import number, tr
from cabida.timing.devices.collectives import collective_s, link_between

TFLOP, GB, MIB, GIB = 1e12, 1e9, 2.0**20, 2.0**30
PAYLOAD_BYTES = 8 * GIB  # large enough that start-up no longer counts
STOOD_BEHIND = ("measured", "vendor")
SOAK_HOURS = 48.0
UNREAD_MEMORY_RATIO = (
    0.99  # of a total worked out from the label: HBM cards that were read show 0.995 to 1 of theirs
)
LATENCIES = ("ttft_ms_p95", "itl_ms_p95", "tpot_ms_p95", "e2e_ms_p95")


def annex(s: Subject) -> tuple[Floor, ...]:
    """The tests in the order they are run, each with its floor and where that comes from."""
    if s.purpose == "api":
        return tuple(_serving(s))
    found = [*_inventory(s), *_one_card(s), *_links(s), *_storage(s), *_soak(s)]
    return (*found, *_serving(s))


def _floor(key: str, tool: str, **rest: object) -> Floor:
    names = ("at", "unit", "side", "source", "basis")
    values = {name: value for name, value in rest.items() if name not in names}
    named: dict[str, Any] = {name: rest[name] for name in names if name in rest}
    return Floor(
        key, tr(f"procure.annex.{key}.test"), tool, tr(f"procure.annex.{key}.passes", **values), **named
    )


def _inventory(s: Subject) -> Iterator[Floor]:
    name = s.card.name if s.card else (s.quote.accelerator or tr("procure.unknown"))
    count = number(s.accelerators_count, 7) if s.accelerators_count else tr("procure.unknown")
    yield _floor("inventory", "nvidia-smi -q / rocm-smi", count=count, name=name, side="exactly")
    if s.card is None:
        return
    source = s.card.source_of("usable_bytes")
    read = source.grade in STOOD_BEHIND
    at = float(floor(s.card.usable_bytes / MIB * (1.0 if read else UNREAD_MEMORY_RATIO)))
    yield _floor(
        "memory",
        "nvidia-smi --query-gpu=memory.total" if s.card.vendor == "NVIDIA" else "rocm-smi --showmeminfo vram",
        value=number(at, 7),
        name=name,
        at=at,
        unit="MiB",
        source=source.what,
        basis=source.grade,
    )
    yield _floor("ecc", "nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER", at=0.0, side="exactly")
    yield _floor("dcgm", f"dcgmi diag -r {s.quote.dcgm_level or 3}", level=s.quote.dcgm_level or 3)
    yield _floor("throttle", "nvidia-smi -q -d PERFORMANCE,TEMPERATURE", at=0.0, side="exactly")


def _one_card(s: Subject) -> Iterator[Floor]:
    card, margin = s.card, float(data()["acceptance_margin_ratio"])
    if card is None:
        return
    dense, ratio = card.flop_per_s.get("bf16"), card.matmul_ratio
    source = card.source_of("matmul_ratio")
    if dense and ratio and source.grade in STOOD_BEHIND:
        at = dense * ratio * margin / TFLOP
        yield _floor(
            "gemm",
            "mamf-finder / cublasMatmulBench, BF16",
            value=number(at, 4),
            best=number(dense * ratio / TFLOP, 4),
            dense=number(dense / TFLOP, 4),
            at=at,
            unit="TFLOPS",
            source=source.what,
            basis=source.grade,
        )
    measured = [
        one for one in facts.measurements() if one.accelerator == card.id and one.kind == "hbm_bandwidth"
    ]
    copied = [one for one in measured if one.unit == "bytes_per_s" and one.what == "Triad"]
    if copied:
        best = min(copied, key=lambda one: one.value)
        at = best.value * margin / GB
        yield _floor("bandwidth", "BabelStream, Triad", value=number(at, 4), at=at, unit="GB/s",
                     what=best.what, source=best.source.what, basis=best.source.grade)  # fmt: skip


def _links(s: Subject) -> Iterator[Floor]:
    card, each = s.card, s.per_node_count
    margin = float(data()["acceptance_margin_ratio"])
    if card is None or not each or each < 2:
        return
    node = s.node
    link = link_between(each, card, node)
    if link.source.grade in STOOD_BEHIND:
        at = _bus_gb_per_s(each, card, node) * margin
        yield _floor("allreduce", f"nccl-tests: all_reduce_perf -b 4G -e 16G -f 2 -g {each}", value=number(at, 4),
                     count=each, at=at, unit="GB/s", source=link.source.what, basis=link.source.grade)  # fmt: skip
    nodes = s.nodes_count or 1
    if nodes < 2:
        return
    q = s.quote
    if q.nics_per_node_count and q.nic_speed_gbit_per_s:
        yield _floor(
            "ports",
            "ibstat; ibdiagnet / ethtool",
            count=number(q.nics_per_node_count * nodes, 6),
            speed=number(q.nic_speed_gbit_per_s),
            at=q.nic_speed_gbit_per_s,
            unit="Gbit/s",
            basis="quoted",
        )
        across = Node(
            "quoted",
            s.quote.vendor or "",
            card.id,
            each,
            node.fabric if node else "",
            node.link_bytes_per_s if node else None,
            q.nics_per_node_count * q.nic_speed_gbit_per_s * 1e9 / 8,
            q.interconnect or "",
            None,
            None,
            None,
            "",
            card.source,
        )
        count = each * nodes
        net = link_between(count, card, across)
        if net.source.grade in STOOD_BEHIND and q.interconnect in ("infiniband", "roce", "efa", None):
            at = _bus_gb_per_s(count, card, across) * margin
            yield _floor("allreduce_nodes", f"nccl-tests: mpirun -np {count} all_reduce_perf -b 4G -e 16G -f 2 -g 1",
                         value=number(at, 4), count=count, nodes=nodes, at=at, unit="GB/s", source=net.source.what,
                         basis=net.source.grade)  # fmt: skip
    if q.allreduce_gb_per_s:
        yield _floor(
            "allreduce_quoted",
            "nccl-tests: all_reduce_perf",
            value=number(q.allreduce_gb_per_s * margin, 4),
            said=number(q.allreduce_gb_per_s, 4),
            at=q.allreduce_gb_per_s * margin,
            unit="GB/s",
            basis="quoted",
        )


def _bus_gb_per_s(count: int, card: Accelerator, node: Node | None) -> float:
    """Bus rate as nccl-tests print it: what one link carries."""
    took_s = collective_s("all_reduce", PAYLOAD_BYTES, count, card, node)
    return 2 * (count - 1) / count * PAYLOAD_BYTES / took_s / GB


def _storage(s: Subject) -> Iterator[Floor]:
    q = s.quote
    if q.storage_usable_tb:
        yield _floor(
            "capacity",
            "df -B1",
            value=number(q.storage_usable_tb),
            at=q.storage_usable_tb,
            unit="TB",
            basis="quoted",
        )
    for name, value in (("read", q.storage_read_gb_per_s), ("write", q.storage_write_gb_per_s)):
        if value:
            yield _floor(name, f"fio --rw={name} --bs=1M --direct=1 --numjobs=16", value=number(value), at=value,
                         unit="GB/s", basis="quoted")  # fmt: skip


def _soak(s: Subject) -> Iterator[Floor]:
    hours = s.quote.soak_hours or SOAK_HOURS
    yield _floor("soak", tr("procure.annex.soak.tool"), hours=number(hours), at=hours, unit="h",
                 source="" if s.quote.soak_hours else tr("procure.annex.soak.source"),
                 basis="quoted" if s.quote.soak_hours else "assumed")  # fmt: skip


def _serving(s: Subject) -> Iterator[Floor]:
    """What the decision's option was simulated to do, at its own load; only for the part the offer is of."""
    if s.decision is None:
        return
    option = option_for(s, s.decision)
    if option is None or (s.card is not None and option.accelerator != s.card.id):
        return
    limits = _limits_ms(s.decision)
    for name in [one for one in LATENCIES if not limits or one in limits]:
        if (found := option.metrics.get(name)) is not None:
            yield _metric(s.decision, option, name, found, limits.get(name))
    if option.replica is not None and option.replica.requests_per_s > 0:
        at = option.replica.requests_per_s
        yield _floor("rate", "cabida bench run", load=number(at, 3), setup=option.title, at=at, unit="req/s",
                     source=tr("procure.annex.planned", name=s.decision.name), basis="simulated")  # fmt: skip


def _limits_ms(decision: Decision) -> dict[str, float]:
    """The brief's own limits in milliseconds, by the name of the metric; none when it states none."""
    objectives = decision.brief.get("objectives")
    latency = objectives.get("latency_s") if isinstance(objectives, Mapping) else None
    stated = latency.items() if isinstance(latency, Mapping) else ()
    return {
        f"{name}_ms_{at}": float(limit_s) * 1e3
        for name, limits in stated
        if isinstance(limits, Mapping)
        for at, limit_s in limits.items()
        if isinstance(limit_s, int | float)
    }


def _metric(decision: Decision, option: Option, name: str, found: Estimate, limit_ms: float | None) -> Floor:
    """The most that passes: the far end of what was predicted, or what the brief asks for when that is less."""
    load = number(option.replica.requests_per_s, 3) if option.replica else tr("procure.unknown")
    kind, at = name.split("_ms_")
    asked = limit_ms is not None and limit_ms < found.high
    most = limit_ms if limit_ms is not None and asked else found.high
    predicted = {"value": number(found.value, 3), "low": number(found.low, 3), "high": number(found.high, 3)}
    source = tr(
        "procure.annex.asked" if asked else "procure.annex.simulated",
        name=decision.name,
        **predicted,
    )
    return _floor(
        "latency",
        "cabida bench run",
        metric=f"{kind.upper()} {at}",
        value=f"{number(most, 4)} ms",
        load=load,
        setup=option.title,
        at=most,
        unit="ms",
        side="most",
        source=source,
        basis="" if asked else found.basis,
    )


def clauses(s: Subject) -> tuple[str, ...]:
    """What the annex says besides its tests: who pays for a failure, when billing starts, what a repeat means."""
    form = "bought" if s.purpose == "buy" else "rented"
    own = tr("procure.annex.clause.nvl") if s.card is not None and form_of(s.card) in ("NVL", "PCIe") else ""
    names = ("signed", "payer", f"billing_{form}", "again", "floors", "after")
    return tuple(one for one in (*(tr(f"procure.annex.clause.{name}") for name in names), own) if one)
