"""The snapshot: fresh, stamped, quick, and no source lost on the way."""

import csv
import json
import subprocess
import sys
import time

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cabida import facts
from cabida.facts import compile as compiler
from cabida.facts import load, store
from cabida.facts.check import complete, records
from cabida.facts.model import Engine, Offer
from cabida.quantity import GRADES, Source


def test_the_snapshot_is_that_of_the_files():
    assert compiler.stale() == [], "run: python -m cabida.facts.compile"


def test_a_changed_file_makes_it_stale(tmp_path):
    import shutil

    copy = tmp_path / "data"
    shutil.copytree(store.DATA, copy)
    path = copy / "accelerators.yaml"
    path.write_text(path.read_text("utf-8").replace("3350 GB/s", "3351 GB/s"), "utf-8")
    assert {"accelerators", "digest"} <= set(compiler.stale(copy))


def test_the_digest_covers_every_table():
    stamps = store.stamps()
    assert facts.digest() == stamps["digest"]
    assert len(facts.digest()) == 64
    assert set(compiler.TABLES) <= set(stamps)


@pytest.mark.parametrize("name", ["accelerators", "nodes", "engines", "formats"])
def test_every_source_of_the_hand_kept_files_survives(name):
    raw = yaml.load((store.DATA / f"{name}.yaml").read_text("utf-8"), yaml.BaseLoader)
    loaded = store.table(name)
    assert [one.id for one in loaded] == [row["id"] for row in raw]
    for row, one in zip(raw, loaded, strict=True):
        assert one.source == Source(**row["source"])
        assert one.field_sources == {
            key: Source(**value) for key, value in row.get("field_sources", {}).items()
        }


@pytest.mark.parametrize("name", ["offers_rent.csv", "offers_buy.csv", "offers_api.csv"])
def test_every_source_of_the_price_series_survives(name):
    loaded = {one.id: one for one in (*facts.offers(), *store.table("api_offers"))}
    loaded |= {one.id: one for one in facts.unmapped_offers()}
    with (store.DATA / name).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            source = loaded[row["id"]].source
            assert (source.what, source.url, source.grade) == (
                row["source_what"],
                row["source_url"],
                row["grade"],
            )
            assert source.seen == (row["seen"] or source.seen)


def test_every_measurement_keeps_its_source():
    for name, loaded in (("collectives", facts.collectives()), ("measurements", facts.measurements())):
        lines = (store.DATA / f"{name}.jsonl").read_text("utf-8").splitlines()
        assert [one.source for one in loaded] == [Source(**json.loads(line)["source"]) for line in lines]
    assert {one.kind for one in facts.measurements()} >= {"matmul", "hbm_bandwidth", "storage"}


def test_every_record_has_a_complete_source_and_every_field_resolves_to_one():
    count = 0
    for one in records():
        assert complete(one.source), one.id
        count += 1
        for name in one.field_sources:
            assert complete(one.source_of(name)), (one.id, name)
    assert count > 2000


def test_a_field_as_a_quantity_carries_its_own_source():
    card = facts.accelerator("h100-sxm-80")
    assert card.quantity("usable_bytes").source.grade == "measured"
    fp8 = facts.accelerator("h20-96").quantity("flop_per_s", 296e12)
    assert fp8.value == 296e12
    assert facts.accelerator("h20-96").source_of("flop_per_s.fp8").grade == "derived"
    assert facts.accelerator("h20-96").source_of("flop_per_s.bf16").grade == "quoted"


sources = st.builds(
    Source,
    st.text(min_size=3),
    st.text(),
    st.dates().map(lambda day: day.isoformat()),
    st.sampled_from(GRADES),
)


@given(st.data())
def test_encode_and_decode_are_inverse(data):
    engine = data.draw(
        st.builds(
            Engine,
            id=st.text(),
            name=st.text(),
            kind=st.sampled_from(["serve", "train"]),
            versions=st.lists(st.text()).map(tuple),
            formats=st.dictionaries(st.text(), st.lists(st.text()).map(tuple)),
            capability_min=st.text(),
            notes=st.text(),
            source=sources,
            field_sources=st.dictionaries(st.text(), sources),
        )
    )
    written = json.loads(json.dumps(store.encode([engine], Engine)))
    assert store.decode(written) == (engine,)


def test_money_stays_exact_through_the_snapshot():
    offers = facts.offers()[:50]
    assert store.decode(json.loads(json.dumps(store.encode(offers, Offer)))) == offers


def test_schemas_come_from_the_nouns():
    import jsonschema

    schema = facts.schema(Offer)
    assert schema["additionalProperties"] is False
    assert "source" in schema["required"]
    jsonschema.Draft202012Validator.check_schema(schema)


def test_grades_of_files_are_those_of_the_kernel():
    from typing import get_args

    assert set(get_args(load.SourceRow.model_fields["grade"].annotation)) == set(GRADES)


def test_reading_facts_pulls_in_nothing_heavy_and_is_quick():
    code = (
        "import sys, time; from cabida import facts, quantity; import cabida.facts.hardware, cabida.facts.market;"
        "t = time.perf_counter(); facts.accelerators(); facts.nodes(); facts.engines();"
        "print(time.perf_counter() - t, {'yaml', 'pydantic', 'numpy', 'rich'} & set(sys.modules) or '')"
    )
    best_s = 9.0
    for _ in range(3):
        shown = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        ).stdout.split()
        assert shown[1:] == []
        best_s = min(best_s, float(shown[0]))
    assert best_s < 0.05


def test_a_lookup_costs_microseconds():
    facts.accelerator("h100-sxm-80")
    start = time.perf_counter()
    for _ in range(200):
        facts.accelerator("h100-sxm-80")
        facts.accelerator("NVIDIA L40S")
    assert (time.perf_counter() - start) / 400 < 1e-3
