"""Prompts read by some replicas, answers written by others: two pools, and the cache that goes from one to the other.

Zhong et al. 2024 (DistServe), Qin et al. 2025 (Mooncake). Every accelerator of a prompt's replica sends its own
part of the cache over its own link; the next prompt's cache waits for that link. The writing engine is asked a
second time over the network, and streams the first token, so a user sees it after the hand-over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cabida import memory
from cabida.plan import Deployment
from cabida.quantity import formula
from cabida.timing.devices.collectives import link_between, linked_count
from cabida.timing.engine.steps import step_model
from cabida.timing.queues.columns import READS, WRITES
from cabida.timing.queues.fleet import Pool
from cabida.timing.queues.pools import adapters_of
from cabida.timing.queues.speculative import NO_DRAFT

if TYPE_CHECKING:
    from cabida.memory import ServingMemory
    from cabida.timing.devices.collectives import Link
    from cabida.timing.queues.speculative import Drafting


@dataclass(frozen=True, slots=True)
class Disaggregated:
    """xPyD: ``readers_count`` replicas of one deployment read prompts, ``writers_count`` of another write answers."""

    reader: Deployment
    readers_count: int
    writer: Deployment
    writers_count: int
    drafting: Drafting = NO_DRAFT

    @property
    def accelerators_count(self) -> int:
        """Of both pools."""
        return (
            self.readers_count * self.reader.parallel.accelerators_count
            + self.writers_count * self.writer.parallel.accelerators_count
        )


@formula
def hand_over_s_per_token(kv_bytes_per_token: float, link_bytes_per_s: float) -> float:
    """Time one accelerator sends its part of one token's cache."""
    return kv_bytes_per_token / link_bytes_per_s


def hand_over_link(both: Disaggregated) -> Link:
    """What a cache travels over: the domain both pools share, or the network."""
    reader, writer = both.reader, both.writer
    inside = linked_count(reader.accelerator, reader.node)
    same = reader.accelerator.id == writer.accelerator.id and both.accelerators_count <= inside
    return link_between(2 if same else inside + 1, reader.accelerator, reader.node)


def two_pools(
    both: Disaggregated, reading: ServingMemory | None = None, writing: ServingMemory | None = None
) -> tuple[Pool, Pool]:
    """Both pools, ready to simulate.

    Args:
        both: what runs.
        reading: memory of the reader; worked out when left out.
        writing: memory of the writer.
    """
    m = reading or memory.serving(both.reader)
    reader, writer = (
        step_model(both.reader, m),
        step_model(both.writer, writing or memory.serving(both.writer)),
    )
    link = hand_over_link(both)
    shares = linked_count(both.reader.accelerator, both.reader.node) if link.kind == "network" else 1
    per_token_s = float(hand_over_s_per_token.raw(m.kv_bytes_per_token, link.other_bytes_per_s / shares))
    return (
        Pool(reader, both.readers_count, READS, link.latency_s + writer.request_s, per_token_s),
        Pool(writer, both.writers_count, WRITES, drafting=both.drafting, adapters=adapters_of(both.writer)),
    )
