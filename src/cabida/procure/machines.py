"""Whether machines, their room and their networks can be what an offer says."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cabida.checks.racks import LIQUID
from cabida.facts.hardware import nodes
from cabida.procure.nouns import Finding
from cabida.procure.subject import Subject, form_of
from cabida.text import number, percent, tr

GB = 1e9
_SITE_AIR = re.compile(
    r"\b(hall|room|site|data ?cent(re|er)|floor|premises|sala|CPD|centro de datos|local|instalaciones)\b[^.;\n]{0,80}?"
    r"(air[- ]cool|refrigerad[ao]s? por aire|without (a )?(water|liquid)|sin (circuito|toma) de (agua|líquido)|"
    r"no (water|liquid) loop)",
    re.IGNORECASE,
)
_RACK_KW = re.compile(
    r"(\d+(?:[.,]\d+)?)\s*kW\s*(?:per|a|each|por|/|de)\s*(?:rack|bastidor|armario|cabinet)", re.IGNORECASE
)
BEYOND_RATIO = 1.1  # a figure so much above the data sheet's is no rounding
LOW_RATIO = 0.8  # of the power of a known machine
MACHINE_ROOM_RATIO = 3.0  # a machine draws at most so many times its accelerators


def machines(s: Subject) -> Iterator[Finding]:
    """Accelerators in a machine, its power and its cooling."""
    card, q = s.card, s.quote
    each = s.per_node_count
    if card is None:
        return
    most = max(8, card.link_domain_count) if form_of(card) in ("SXM", "OAM") else 16
    if each and each > most:
        yield s.find("CB-Q142", "blocking", ("accelerators_per_node_count",), each=number(each), most=number(most),
                     name=card.name)  # fmt: skip
    watts = q.accelerator_power_w or card.tdp_w
    if q.node_power_kw and each and watts:
        least = each * watts / 1000
        if q.node_power_kw < least:
            yield s.find("CB-Q143", "blocking", ("node_power_kw", "accelerators_per_node_count"),
                         said=number(q.node_power_kw), least=number(least), each=number(each), watts=number(watts, 4),
                         name=card.name)  # fmt: skip
        elif q.node_power_kw > least * MACHINE_ROOM_RATIO:
            yield s.find(
                "CB-Q144", "useful", ("node_power_kw",), said=number(q.node_power_kw), least=number(least)
            )
        elif (known := _known_power(card.id, each)) is not None and q.node_power_kw < LOW_RATIO * known[0]:
            yield s.find("CB-Q145", "important", ("node_power_kw",), said=number(q.node_power_kw),
                         known=number(known[0]), node=known[1])  # fmt: skip
    if q.rack_power_kw and q.node_power_kw and q.rack_power_kw < q.node_power_kw:
        yield s.find("CB-Q146", "blocking", ("rack_power_kw", "node_power_kw"), rack=number(q.rack_power_kw),
                     node=number(q.node_power_kw))  # fmt: skip
    if q.cooling == "air" and card.id.startswith(LIQUID):
        yield s.find("CB-Q147", "blocking", ("cooling", "accelerator"), name=card.name)
    yield from _hall(s)


def _known_power(accelerator: str, count: int) -> tuple[float, str] | None:
    """The least power in kW of a known machine with so many of a part, and which machine that is."""
    alike = [
        one for one in nodes().values() if one.accelerator == accelerator and one.accelerators_count == count
    ]
    found = [(one.power_w / 1000, one.id) for one in alike if one.power_w]
    return min(found, default=None)


def _hall(s: Subject) -> Iterator[Finding]:
    """Machines that need liquid, or a rack that draws more, than the room they are sold for gives."""
    q = s.quote
    wet = q.cooling in ("liquid", "immersion") or (s.card is not None and s.card.id.startswith(LIQUID))
    told = next((one for one in s.texts if _SITE_AIR.search(one.quoted or one.shown)), None)
    if wet and (q.site_cooling == "air" or told is not None):
        yield s.find("CB-Q207", "blocking", ("cooling", "site_cooling"), *([told] if told else []),
                     need=tr(f"procure.choice.{q.cooling or 'liquid'}"))  # fmt: skip
    for read in s.texts:
        given = [float(one.replace(",", ".")) for one in _RACK_KW.findall(read.quoted or read.shown)]
        if q.rack_power_kw and given and min(given) < q.rack_power_kw and read.field != "rack_power_kw":
            yield s.find("CB-Q208", "blocking", ("rack_power_kw",), read, need=number(q.rack_power_kw),
                         have=number(min(given)))  # fmt: skip
            return


def networks(s: Subject) -> Iterator[Finding]:
    """Several machines: what joins them, and whether a promised bus rate can cross it."""
    q, nodes = s.quote, s.nodes_count or 1
    per_node_gbit = (q.nics_per_node_count or 0) * (q.nic_speed_gbit_per_s or 0)
    known = (s.node.network_bytes_per_s or 0) / 1e9 * 8 if s.node else 0.0
    fabric = q.interconnect in ("infiniband", "roce", "efa", "slingshot")
    if nodes > 1 and q.interconnect in ("none", "ethernet"):
        yield s.find("CB-Q148", "important", ("interconnect", "nodes_count"), nodes=number(nodes, 6), kind="trap",
                     network=q.interconnect)  # fmt: skip
    if per_node_gbit and known and nodes > 1 and per_node_gbit < 0.5 * known and s.per_node_count == 8:
        yield s.find(
            "CB-Q149", "important", ("nics_per_node_count", "nic_speed_gbit_per_s", "interconnect"), kind="trap",
            nics=number(q.nics_per_node_count or 0), each=number(q.nic_speed_gbit_per_s or 0),
            said=number(per_node_gbit, 4), known=number(known, 4), node=s.node.id if s.node else "",
        )  # fmt: skip
    if fabric and q.nic_speed_gbit_per_s and q.nic_speed_gbit_per_s < 100:
        yield s.find("CB-Q150", "important", ("interconnect", "nic_speed_gbit_per_s"), network=q.interconnect,
                     each=number(q.nic_speed_gbit_per_s))  # fmt: skip
    if q.nic_speed_gbit_per_s and q.nic_speed_gbit_per_s > 1600:
        yield s.find("CB-Q151", "blocking", ("nic_speed_gbit_per_s",), said=number(q.nic_speed_gbit_per_s, 5))
    if q.oversubscription_factor and q.oversubscription_factor > 1 and nodes > 1:
        yield s.find("CB-Q152", "important", ("oversubscription_factor", "rail_optimised"), kind="trap",
                     factor=number(q.oversubscription_factor))  # fmt: skip
    rate = (s.card.link_bytes_per_s or 0) / GB if s.card else 0.0
    if q.allreduce_gb_per_s and rate and q.allreduce_gb_per_s > BEYOND_RATIO * rate and nodes == 1:
        yield s.find("CB-Q153", "blocking", ("allreduce_gb_per_s",), said=number(q.allreduce_gb_per_s, 4),
                     most=number(rate, 4), name=s.card.name if s.card else "")  # fmt: skip
    across = per_node_gbit / 8
    if q.allreduce_gb_per_s and across and nodes > 1 and q.allreduce_gb_per_s > BEYOND_RATIO * across:
        yield s.find("CB-Q154", "blocking", ("allreduce_gb_per_s", "nics_per_node_count", "nic_speed_gbit_per_s"),
                     said=number(q.allreduce_gb_per_s, 4), most=number(across, 4))  # fmt: skip


def disks(s: Subject) -> Iterator[Finding]:
    """Usable storage that is not less than raw."""
    q = s.quote
    if q.storage_usable_tb and q.storage_raw_tb:
        part = q.storage_usable_tb / q.storage_raw_tb
        if part > 1:
            yield s.find("CB-Q155", "blocking", ("storage_usable_tb", "storage_raw_tb"),
                         usable=number(q.storage_usable_tb), raw=number(q.storage_raw_tb))  # fmt: skip
        elif part > 0.95:
            yield s.find("CB-Q156", "important", ("storage_usable_tb", "storage_raw_tb"), part=percent(part, 3),
                         usable=number(q.storage_usable_tb), raw=number(q.storage_raw_tb))  # fmt: skip


RULES = (machines, networks, disks)
