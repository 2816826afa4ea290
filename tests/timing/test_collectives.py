"""Collectives against public nccl-tests runs, and what must hold for any link."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida import facts
from cabida.timing import collective_s
from cabida.timing.devices.collectives import link_between, link_facts

OPS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "p2p")


def bus_bytes_per_s(card, payload, count, node=None):
    took = collective_s("all_reduce", payload, count, facts.accelerator(card), node)
    return 2 * (count - 1) / count * payload / took


@pytest.mark.parametrize(
    ("card", "count", "payload", "measured", "within"),
    [  # nccl-tests as published: see the sources in data/links.json
        ("a100-sxm-80", 8, 8.59e9, 234.6e9, 0.05),
        ("a100-sxm-80", 8, 33.6e6, 138.5e9, 0.15),
        ("h100-sxm-80", 8, 4.29e9, 475.5e9, 0.05),
        ("h100-sxm-80", 8, 4e6, 128.7e9, 0.15),
        ("h200-sxm-141", 8, 33.6e6, 275.8e9, 0.15),
        ("b200-sxm-180", 8, 17.2e9, 845.7e9, 0.05),
        ("mi300x", 8, 4.29e9, 312.9e9, 0.05),
        ("mi300x", 2, 4.29e9, 47.7e9, 0.10),
    ],
)
def test_bus_rate_as_measured(card, count, payload, measured, within):
    assert bus_bytes_per_s(card, payload, count) == pytest.approx(measured, rel=within)


@given(payload=st.floats(1, 1e10), count=st.sampled_from([2, 4, 8, 16, 64]), op=st.sampled_from(OPS))
def test_larger_payloads_take_longer_and_latency_is_the_floor(payload, count, op):
    card = facts.accelerator("h100-sxm-80")
    took = collective_s(op, payload, count, card)
    assert took >= link_between(count, card).latency_s
    assert collective_s(op, 2 * payload, count, card) > took


def test_alone_there_is_nobody_to_talk_to():
    assert collective_s("all_reduce", 1e9, 1, facts.accelerator("h100-sxm-80")) == 0.0


def test_leaving_the_machine_costs():
    card = facts.accelerator("h100-sxm-80")
    node = facts.node_for(card)
    inside = collective_s("all_reduce", 1e9, 8, card, node)
    assert collective_s("all_reduce", 1e9, 16, card, node) > inside


def test_consumer_cards_go_through_host_memory():
    assert link_between(2, facts.accelerator("rtx4090")).kind == "pcie"
    assert link_between(2, facts.accelerator("l40s")).kind == "pcie-p2p"


def test_every_link_says_where_it_was_read():
    for row in link_facts().values():
        assert row["source"]
        assert row["grade"] in ("measured", "vendor", "quoted", "derived", "assumed")
