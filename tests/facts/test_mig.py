"""MIG slices: the table against the cards it cuts, and a slice as an accelerator."""

import pytest

from cabida import app, facts
from cabida.errors import InvalidInput
from cabida.facts import mig, store
from cabida.facts.check import records

CUT = [(id, one) for one in store.table("mig") for id in one.accelerators]


def named(pair):
    return f"{pair[0]}:{pair[1].name}"


@pytest.mark.parametrize("pair", CUT, ids=named)
def test_slices_that_are_made_at_once_fit_on_the_card(pair):
    card, one = facts.accelerators()[pair[0]], pair[1]
    assert one.instances_count * one.memory_slices_count <= one.memory_of_count
    assert one.instances_count * one.compute_slices_count <= one.compute_of_count
    share = one.memory_slices_count / one.memory_of_count
    assert 0.9 * share <= one.usable_bytes / card.usable_bytes <= share
    assert one.name.startswith(f"{one.compute_slices_count}g.")
    assert card.mig_instances_count == max(two.instances_count for two in mig.profiles(card))


@pytest.mark.parametrize("pair", CUT, ids=named)
def test_the_name_of_a_profile_is_its_share_of_the_label(pair):
    gigabytes = float(pair[1].name.partition(".")[2].removesuffix("gb"))
    share = pair[1].memory_slices_count / pair[1].memory_of_count
    label = facts.accelerators()[pair[0]].label_memory_bytes / 2**30
    assert gigabytes == pytest.approx(share * label, rel=0.09, abs=1.0)


def test_every_card_that_can_be_cut_has_its_slices():
    able = {one.id for one in facts.accelerators().values() if one.mig_instances_count}
    assert able == {id for id, _ in CUT}


def test_a_slice_has_its_own_memory_its_share_of_the_rest_and_no_link():
    whole, cut = facts.accelerator("h100-sxm-80"), facts.accelerator("h100-sxm-80:3g.40gb")
    assert cut.usable_bytes == 39.5 * 2**30  # nvidia-smi mig -lgip
    assert cut.memory_bytes_per_s == whole.memory_bytes_per_s / 2
    assert cut.flop_per_s["bf16"] == pytest.approx(whole.flop_per_s["bf16"] * 60 / 132)
    assert (cut.link_kind, cut.link_bytes_per_s, cut.link_domain_count) == ("none", None, 1)
    assert cut.source_of("memory_bytes_per_s").grade == "derived"
    assert cut.source_of("usable_bytes").grade == "measured"
    assert mig.profile_of(cut).instances_count == 2
    assert mig.profile_of(whole) is None


@pytest.mark.parametrize(
    ("said", "id"),
    [
        ("h100-sxm-80:3g.40gb", "h100-sxm-80:3g.40gb"),
        ("H100:1G.10GB", "h100-sxm-80:1g.10gb"),
        ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", "a100-sxm-80:1g.10gb"),
        ("NVIDIA H200 MIG 1g.18gb+me", "h200-sxm-141:1g.18gb"),
        ("rtxpro6000-server:2g.48gb-me", "rtxpro6000-server:2g.48gb"),
    ],
)
def test_a_slice_is_found_as_people_and_drivers_say_it(said, id):
    assert facts.accelerator(said).id == id


@pytest.mark.parametrize(
    ("said", "told"),
    [("h100-sxm-80:5g.60gb", "1g.10gb, 1g.20gb"), ("l40s:1g.5gb", "it has no MIG"), ("h100-sxm-80: ", '""')],
)
def test_a_slice_that_is_none_names_those_there_are(said, told):
    with pytest.raises(InvalidInput) as refused:
        facts.accelerator(said)
    assert refused.value.problems[0].code == "CB-F019"
    assert told in str(refused.value)


@pytest.mark.parametrize("said", ["x:1g.5gb", ":1g.5gb", "1g.5gb", "h100:1g", "h100:" + "9" * 500 + "g.5gb"])
def test_nonsense_is_unknown_and_nothing_else(said):
    assert facts.find_accelerator(said) is None


def test_slices_pipelines_and_their_parts_are_facts_that_are_listed_shown_and_checked():
    checked = {id(one) for one in records()}
    for kind, table in (
        ("mig", mig.every()),
        ("pipelines", facts.pipelines()),
        ("components", facts.components()),
    ):
        assert [row["id"] for row in app.facts_list(kind)] == [*table]
        assert {id(one) for one in table.values()} <= checked
        for ref in table:
            _, sources = app.fact(ref)
            assert len(sources[""]) > 20
    with pytest.raises(InvalidInput, match="cabida facts list mig"):
        app.fact("mig")
