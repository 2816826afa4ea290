"""Faulty, hostile and foreign files: rows or a clear reason, never a crash, a hang or a figure made up."""

import gzip
import json
import os
import sys
import time
import zipfile
from collections import defaultdict
from pathlib import Path

import exports
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cabida.errors import InvalidInput
from cabida.evidence import book
from cabida.evidence.prices import opening, read, tables
from cabida.text import has_text

BROKEN = Path(__file__).parent / "broken"
REFUSED = {
    "blank.csv": "CB-E050",
    "deep.json": "CB-E050",
    "empty.csv": "CB-E050",
    "entities.xlsx": "CB-E050",
    "no-currency.csv": "CB-E051",
    "no-gzip.csv.gz": "CB-E050",
    "no-provider.csv": "CB-E052",
    "no-zip.xlsx": "CB-E050",
    "nul.csv": "CB-E050",
    "old.xls": "CB-E050",
    "other.csv": "CB-E055",
    "other.json": "CB-E054",
    "other.zip": "CB-E050",
    "paper.pdf": "CB-E050",
    "truncated.csv.gz": "CB-E050",
    "truncated.json": "CB-E050",
    "truncated.parquet": "CB-E050",
    "words.csv": "CB-E054",
}
KEPT = {  # how many are kept, and the lines of the others by reason
    "ambiguous.csv": (0, {"ambiguous": [2]}),
    "azure-20261107-2.csv": (3, {"other_memory": [5], "bad_spot": [7]}),
    "figures.csv": (
        3,
        {
            "not_finite": [3, 4],
            "negative": [5, 6],
            "missing": [7, 8],
            "zero": [9],
            "not_a_number": [10, 11, 14],
        },
    ),
    "focus.csv": (3, {"not_finite": [3], "bad_date": [4], "no_currency": [5], "missing": [7]}),
    "latin1.csv": (1, {}),
    "marked.csv": (1, {}),
    "nan.json": (1, {"not_finite": [1], "negative": [2], "shape": [4], "no_token_price": [5], "free": [6]}),
    "quotes.csv": (4, {"quotes": [6]}),
    "returns.csv": (2, {}),
    "rows.csv": (
        1,
        {
            "cells": [3, 4],
            "bad_count": [6],
            "bad_unit": [7],
            "bad_date": [8],
            "ambiguous_date": [9],
            "unknown_part": [10],
            "no_currency": [11],
        },
    ),
    "skypilot-aws.csv": (6, {"zero": [5], "unknown_part": [6], "not_finite": [8]}),
    "spanish.csv": (3, {}),
    "twice.csv": (1, {}),
    "utf16-no-mark.csv": (1, {}),
    "utf16.csv": (1, {}),
}
SEEDS = [path.read_bytes() for path in sorted(BROKEN.iterdir()) if path.stat().st_size < 5_000]


def of(path, **said):
    return read(path, today="2026-11-30", **said)


def test_the_corpus_is_all_accounted_for():
    assert {path.name for path in BROKEN.iterdir()} == {*REFUSED, *KEPT}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_without_a_row_is_refused_with_its_reason(name):
    with pytest.raises(InvalidInput) as error:
        of(BROKEN / name)
    [problem] = error.value.problems
    assert problem.code == REFUSED[name]
    assert problem.what
    assert problem.cure
    assert name in problem.file


@pytest.mark.parametrize("name", KEPT)
def test_faulty_rows_are_told_by_line_and_the_rest_is_kept(name):
    found, lines = of(BROKEN / name), defaultdict(list)
    for one in found.unread:
        lines[one.why].append(one.line)
        assert has_text(f"evidence.import_why.{one.why}")
        assert one.what
    assert (found.kept_count, dict(lines)) == KEPT[name]
    for key, _ in found.notes:
        assert has_text(f"evidence.import_note.{key}")


def test_nothing_that_is_read_is_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    of(BROKEN / "skypilot-aws.csv")
    assert list(tmp_path.iterdir()) == []


def test_shares_and_lesser_parts_of_azure_are_told_apart():
    sixth, whole, nvl = of(BROKEN / "azure-20261107-2.csv").offers
    assert (sixth.accelerator, round(sixth.fraction_ratio, 4), sixth.amount.__str__()) == (
        "a10",
        0.1667,
        "0.454",
    )
    assert (whole.accelerator, whole.fraction_ratio) == ("a10", 1.0)
    assert (nvl.accelerator, nvl.capacity) == ("h100-nvl-94", "spot")


def test_other_alphabets_are_read():
    for name in ("utf16.csv", "utf16-no-mark.csv", "latin1.csv"):
        assert of(BROKEN / name).offers[0].provider == "Proveedor Ñandú"


def test_a_bomb_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "BOMB_BYTES", 1 << 20)
    packed = tmp_path / "bomb.csv.gz"
    packed.write_bytes(gzip.compress(b"provider,gpu,price\n" + b"a," * (30 << 20)))
    book = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("xl/workbook.xml", "<workbook/>")
        made.writestr("xl/worksheets/sheet1.xml", b" " * (30 << 20))
    for path in (packed, book):
        with pytest.raises(InvalidInput) as error:
            of(path)
        assert "300" in error.value.problems[0].what


def test_rows_and_cells_are_bounded(tmp_path, monkeypatch):
    header = "provider,gpu,price,currency,seen\n"
    row = "RunPod,H100,{},USD,2026-11-01\n"
    long = tmp_path / "long.csv"
    long.write_text(header + row.format(1) + "x" * 300_000 + ",H100,2,USD,2026-11-01\n" + row.format(3))
    found = of(long)
    assert [(one.line, one.why) for one in found.unread] == [(3, "cell_too_long")]
    assert len(found.unread[0].what) <= 200
    assert [str(one.amount) for one in found.offers] == ["1", "3"]
    monkeypatch.setattr("cabida.evidence.prices.tables.MOST_ROWS", 100)
    long.write_text(header + "".join(row.format(at + 1) for at in range(200)))
    with pytest.raises(InvalidInput):
        of(long)


def test_a_quote_left_open_costs_one_row_of_thousands(tmp_path):
    rows = [f"RunPod,H100,{at + 1},USD,2026-11-01\n" for at in range(20_000)]
    rows[5_000] = 'RunPod,"H100,7,USD,2026-11-01\n'
    path = tmp_path / "p.csv"
    path.write_text("provider,gpu,price,currency,seen\n" + "".join(rows))
    found = of(path)
    assert [(one.line, one.why) for one in found.unread] == [(5_002, "quotes")]
    assert len(found.offers) == 19_999


def tried(path, data):
    path.write_bytes(data)
    problems, found = (), None
    try:
        found = of(path, currency="USD", provider="AWS")
    except InvalidInput as error:
        problems = error.problems
    assert all(one.code.startswith("CB-E0") and one.what and one.cure for one in problems)
    if found is None:
        assert problems
        return
    for one in found.offers:
        assert one.amount > 0
        assert 0 < one.fraction_ratio <= 1
    assert all(has_text(f"evidence.import_why.{one.why}") for one in found.unread)


@given(st.one_of(st.binary(max_size=400), st.text(max_size=300).map(str.encode)))
@example(b"\x1f\x8b\x08")
@example(b"[" * 5_000)
@example(b'{"data": [[]]}')
@example(b"gpu,price\n\xff\xfe,1\n")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_give_rows_or_a_reason(tmp_path, data):
    tried(tmp_path / "any", data)


@given(st.sampled_from(SEEDS), st.integers(0, 5_000), st.integers(0, 60), st.binary(max_size=12))
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_to_a_file_gives_rows_or_a_reason(tmp_path, seed, at, count, put):
    at %= max(1, len(seed))
    tried(tmp_path / "any", seed[:at] + put + seed[at + count :])


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["1e-6", "2026-09-01"]),
)
KEYS = st.sampled_from(
    ["data", "id", "pricing", "prompt", "completion", "instance_type", "GPU", "GPU_model", "us-east-1", "linux",
     "ondemand", "reserved", "litellm_provider", "input_cost_per_token", "output_cost_per_token", "totalCost", "window",
     "start", "properties", "labels"]
)  # fmt: skip
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=25,
)


@given(TREES)
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_tree_gives_rows_or_a_reason(tmp_path, tree):
    tried(tmp_path / "any.json", json.dumps(tree).encode())


@pytest.mark.parametrize("kind", ["xlsx", "parquet"])
@given(st.floats(0, 1), st.integers(0, 60), st.binary(max_size=12))
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_to_a_container_gives_rows_or_a_reason(tmp_path, kind, where, count, put):
    whole = tmp_path / f"whole.{kind}"
    if not whole.exists() and kind == "xlsx":
        exports.write_xlsx(whole, exports.PLAIN, exports.plain_rows(20))
    elif not whole.exists():
        exports.write_parquet(whole, exports.FOCUS, exports.focus_rows(20))
    seed = whole.read_bytes()
    at = int(where * len(seed))
    tried(tmp_path / f"any.{kind}", seed[:at] + put + seed[at + count :])


@pytest.mark.parametrize("column", ["price", "capacity", "unit", "memory_gb", "gpu", "currency", "provider"])
@pytest.mark.parametrize("cell", ["9" * 100_000, "1" + " " * 100_000 + "x", "3 years " * 10_000])
def test_a_cell_that_never_ends_takes_no_time(tmp_path, column, cell):
    said = {"provider": "A", "gpu": "H100", "price": "3.1", "unit": "gpu-hour", "currency": "EUR",
            "capacity": "on-demand", "memory_gb": "80"} | {column: cell}  # fmt: skip
    path = tmp_path / "prices.csv"
    path.write_text(",".join(said) + "\n" + ",".join(said.values()) + "\n", encoding="utf-8")
    start = time.process_time()
    found = of(path)
    assert time.process_time() - start < 1.0
    assert not found.offers
    assert len(found.unread) == 1


def test_blank_lines_without_end_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MOST_ROWS", 1_000)
    path = tmp_path / "prices.csv.gz"
    with gzip.open(path, "wt") as stream:
        stream.write("provider,gpu,price\n" + "\n" * 2_000)
    with pytest.raises(InvalidInput, match="CB-E050"):
        of(path)


def test_half_a_character_is_no_character(tmp_path):
    path = tmp_path / "model_prices_and_context_window.json"
    entry = '{"litellm_provider": "o", "mode": "chat", "input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}'
    names = ("\\ud800half", "\\ud83d\\ude00", "\\\\ud800")
    path.write_text("{" + ", ".join(f'"{name}": {entry}' for name in names) + "}", encoding="utf-8")
    found = of(path)
    models = [one.model for one in found.api_offers]
    assert models == ["\ufffdhalf", "\U0001f600", "\\ud800"]
    book.add(found, tmp_path / "store.db")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every name is text")
def test_a_name_that_no_text_can_hold_is_kept_all_the_same(tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9.csv")
    path.write_text("provider,gpu,price,currency\nA,H100,3.1,EUR\n", encoding="utf-8")
    found = of(path)
    assert found.name == "caf\ufffd.csv"
    assert book.add(found, tmp_path / "store.db")


def test_no_secret_of_an_address_or_a_note_is_kept(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text(
        "provider,gpu,price,currency,source,notes\n"
        "A,H100,3.1,EUR,https://me:hunter2@x.example/p?sig=abc123&X-Amz-Signature=def456,"
        "api_key: sk-0123456789abcdefghij\n",
        encoding="utf-8",
    )
    [offer] = of(path).offers
    assert not any(secret in repr(offer) for secret in ("hunter2", "abc123", "def456", "sk-0123456789"))
    assert "x.example/p" in offer.source.url


def test_names_can_neither_drive_a_terminal_nor_turn_a_line_around(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text(
        "provider,gpu,price,currency,region,notes\n"
        "\x1b[31mRed\u202egnp,H100,3.1,EUR,\u2066eu\x9b2J,a\x07b\n"
        "\u200b,H100,3.1,EUR,eu,\n",
        encoding="utf-8",
    )
    found = of(path)
    [offer] = found.offers
    assert (offer.provider, offer.region, offer.notes) == ("[31mRedgnp", "eu2J", "ab")
    assert [(one.line, one.why) for one in found.unread] == [(3, "no_provider")]


def test_a_day_that_has_not_come_is_said_once(tmp_path):
    path = tmp_path / "prices.csv"
    rows = "".join(f"A,H100,3.{at},EUR,209{at}-01-01\n" for at in range(5))
    path.write_text(f"provider,gpu,price,currency,seen\n{rows}", encoding="utf-8")
    assert [key for key, _ in of(path).notes] == ["future"]


@pytest.mark.parametrize("code", ["USDT", "EURX", "E", "DOLLARS"])
def test_a_code_is_whole_or_none(tmp_path, code):
    path = tmp_path / "prices.csv"
    path.write_text(f"provider,gpu,price,currency\nA,H100,3.1,{code}\n", encoding="utf-8")
    assert [one.why for one in of(path).unread] == ["no_currency"]
