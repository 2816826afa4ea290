"""A row more in the tables: where it goes, what stays as it was, and what is refused."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from cabida.faces.cli import cli
from cabida.facts import adding, load, store
from cabida.facts.added_row import gathered
from cabida.facts.adding_model import prepare_model
from cabida.facts.model import Accelerator
from cabida.facts.releases import numbers
from cabida.facts.row_text import with_yaml_row, yaml_row

FILES = (
    "accelerators.yaml", "classes.yaml", "names.yaml", "nodes.yaml", "engines.yaml", "releases.yaml", "offers_rent.csv",
    "offers_buy.csv", "offers_api.csv", "energy.csv", "models.jsonl",
)  # fmt: skip
CARD = """\
id: nv-test-99
name: NVIDIA Test 99
vendor: NVIDIA
architecture: Hopper
capability: "9.0"
form_factor: SXM
segment: datacenter
year: 2026
label_memory_bytes: 99 GiB
usable_bytes: 98 GiB
memory_kind: HBM3
memory_bytes_per_s: 3000 GB/s
flop_per_s: {bf16: 900 TFLOPS, fp8: 1800 TFLOPS}
link_kind: nvlink4
link_bytes_per_s: 450 GB/s
link_domain_count: 8
confidence: B
"""
READ = ("--url", "https://example.com/sheet.pdf", "--seen", "2026-11-20", "--as-of", "2026-12-01")
PRICE = (
    "--set", "provider=Example Cloud", "--set", "provider_kind=neocloud", "--set", "accelerator=h100-sxm-80",
    "--set", "capacity=on-demand", "--set", "amount=2.19", "--set", "currency=USD",
)  # fmt: skip
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 8,
    "num_attention_heads": 16, "num_key_value_heads": 4, "intermediate_size": 4096, "vocab_size": 32000,
    "max_position_embeddings": 8192, "bos_token_id": 1, "use_cache": True,
}  # fmt: skip


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for name in FILES:
        shutil.copy(store.DATA / name, folder / name)
    (tmp_path / "card.yaml").write_text(f"{CARD}class: h200\nnames: [Test 99 SXM, T99]\n", encoding="utf-8")
    return folder


def run(*words):
    return CliRunner().invoke(cli, ["facts", "add", *words])


def add(data, kind, *words):
    done = run(kind, "--into", str(data), *words, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def codes(done):
    assert done.exit_code == 3, done.output
    return [one["code"] for one in json.loads(done.stdout)["errors"]]


def instead(words, usual):
    """The usual options but for those that are given otherwise."""
    pairs = [*zip(usual[::2], usual[1::2], strict=True)]
    given = [*zip(words[::2], words[1::2], strict=True)]
    said = {(flag, value.partition("=")[0] if flag == "--set" else "") for flag, value in given}
    kept = [
        (flag, value)
        for flag, value in pairs
        if (flag, value.partition("=")[0] if flag == "--set" else "") not in said
    ]
    return [word for pair in kept + given for word in pair]


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()


def test_a_card_goes_behind_the_last_of_its_kind_and_nothing_else_changes(data):
    before = lines(data / "accelerators.yaml")
    answer = add(data, "accelerator", "--from", str(data.parent / "card.yaml"), *READ, "--grade", "vendor")
    after = lines(data / "accelerators.yaml")
    at = after.index("- id: nv-test-99")
    count = len(after) - len(before)
    assert after[:at] + after[at + count :] == before
    made = load.read_records(data / "accelerators.yaml", Accelerator)
    ids = [one.id for one in made]
    place = ids.index("nv-test-99")
    assert (made[place - 1].architecture, made[place + 1].architecture) == ("Hopper", "Blackwell")
    assert made[place].flop_per_s == {"bf16": 900e12, "fp8": 1800e12}
    source = made[place].source
    assert (source.url, source.seen, source.grade) == (
        "https://example.com/sheet.pdf",
        "2026-11-20",
        "vendor",
    )
    assert answer["next"][0] == "python -m cabida.facts.compile"
    assert answer["written"]


def test_a_card_comes_with_its_class_and_its_other_names(data):
    before = lines(data / "names.yaml")
    words = ("accelerator", "--from", str(data.parent / "card.yaml"), *READ)
    answer = add(data, *words)
    assert [Path(one).name for one in answer["files"]] == ["accelerators.yaml", "classes.yaml", "names.yaml"]
    classes = {row["id"]: row["members"] for row in load.read_yaml(data / "classes.yaml")[0]}
    assert classes["h200"][-1] == "nv-test-99"
    assert lines(data / "names.yaml") == [*before, "nv-test-99: [Test 99 SXM, T99]"]
    another = (
        "--set",
        "id=nv-test-98",
        "--set",
        "name=Test 98",
        "--set",
        "class=h201",
        "--set",
        "names=t99, x98",
    )
    done = run(words[0], "--into", str(data), *words[1:], *another, "--json")
    assert sorted(codes(done)) == ["CB-F060", "CB-F065"]
    (data.parent / "card.yaml").write_text(CARD.replace("99", "97"), encoding="utf-8")
    assert codes(run(words[0], "--into", str(data), *words[1:], "--json")) == ["CB-F073"]


def test_a_dry_run_shows_the_diff_and_writes_nothing(data):
    before = (data / "accelerators.yaml").read_bytes()
    done = run(
        "accelerator", "--into", str(data), "--from", str(data.parent / "card.yaml"), *READ, "--dry-run"
    )
    assert done.exit_code == 0
    assert "+- id: nv-test-99" in done.stdout
    assert (data / "accelerators.yaml").read_bytes() == before


def test_everything_wrong_is_told_at_once_and_nothing_is_written(data):
    before = (data / "accelerators.yaml").read_bytes()
    done = run(
        *("accelerator", "--into", str(data), "--from", str(data.parent / "card.yaml"), "--json"),
        *("--set", "tdp_w=-5 W", "--set", "wings=2", "--set", "memory_bytes_per_s=nan GB/s"),
        *("--set", "usable_bytes=200 GiB", "--set", "year=2099", "--as-of", "2026-12-01"),
    )
    found = codes(done)
    assert found.count("CB-F004") == 3
    assert {"CB-F003", "CB-F032", "CB-F061", "CB-F062"} <= set(found)
    told = " ".join(one["what"] for one in json.loads(done.stdout)["errors"])
    assert all(name in told for name in ("tdp_w", "wings", "memory_bytes_per_s", "year"))
    assert (data / "accelerators.yaml").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--seen", "2026-12-02"), "CB-F063"),
        (("--seen", "2026-02-30"), "CB-F004"),
        (("--url", "example.com"), "CB-F004"),
        (("--set", "amount=0"), "CB-F004"),
        (("--set", "amount=inf"), "CB-F004"),
        (("--set", "upfront_ratio=2"), "CB-F004"),
        (("--set", "unit=accelerator"), "CB-F004"),
        (("--set", "notes=two\nlines"), "CB-F004"),
        (("--set", "low_amount=3", "--set", "high_amount=2"), "CB-F064"),
        (("--set", "accelerator=h100-sxm-81"), "CB-F065"),
        (("--set", "currency=XYZ"), "CB-F038"),
        (("--set", "until=2027-01-01"), "CB-F069"),
        (("--set", "amount"), "CB-F070"),
        (("--set", "region=a", "--set", "region=b"), "CB-F071"),
    ],
)
def test_what_cannot_be_is_refused(data, words, code):
    before = (data / "offers_rent.csv").read_bytes()
    assert code in codes(run("price", "--into", str(data), *instead(words, PRICE + READ), "--json"))
    assert (data / "offers_rent.csv").read_bytes() == before


def test_a_price_is_the_last_line_of_its_table_and_given_twice_refused(data):
    before = lines(data / "offers_rent.csv")
    answer = add(data, "price", *PRICE, *READ)
    after = lines(data / "offers_rent.csv")
    assert after[:-1] == before
    row = list(load.read_series(data / "offers_rent.csv"))[-1]
    assert row["id"] == "example-cloud-h100-sxm-80-on-demand-1x-2026-11-20" == answer["id"]
    assert (row["unit"], row["source_url"], row["seen"]) == ("accelerator_hour", READ[1], "2026-11-20")
    done = run("price", "--into", str(data), *PRICE, "--set", "id=another", *READ, "--json")
    assert codes(done) == ["CB-F060"]
    assert json.loads(done.stdout)["errors"][0]["line"] == len(after)


def test_a_price_to_buy_goes_to_the_prices_to_buy(data):
    words = [word if word != "capacity=on-demand" else "capacity=buy" for word in PRICE]
    assert add(data, "price", *words, *READ)["files"] == [str(data / "offers_buy.csv")]
    assert list(load.read_series(data / "offers_buy.csv"))[-1]["unit"] == "accelerator"


def test_a_release_goes_among_its_own_by_version_and_into_the_versions_of_its_engine(data):
    words = (
        "--set",
        "name=vllm",
        "--set",
        "version=0.11.7",
        "--set",
        "released=2026-11",
        "--set",
        "cuda=13.0, 12.8",
    )
    answer = add(data, "engine-version", *words, *READ)
    assert [Path(one).name for one in answer["files"]] == ["releases.yaml", "engines.yaml"]
    rows = load.read_yaml(data / "releases.yaml")[0]
    own = [row["version"] for row in rows if row["name"] == "vllm"]
    assert own == sorted(own, key=numbers)
    assert next(row for row in rows if row["id"] == "vllm-0.11.7")["cuda"] == ["13.0", "12.8"]
    versions = next(row for row in load.read_yaml(data / "engines.yaml")[0] if row["id"] == "vllm")[
        "versions"
    ]
    assert versions.index("0.11.7") == versions.index("0.12.0") - 1
    again = run(
        "engine-version", "--into", str(data), *words[:2], "--set", "version=0.11.7.0", *READ, "--json"
    )
    assert codes(again) == ["CB-F060"]
    late = ("--set", "name=vllm", "--set", "version=9.0", "--set", "released=2026-11-30")
    assert codes(run("engine-version", "--into", str(data), *late, *READ, "--json")) == ["CB-F064"]
    other = ("--set", "name=vlm", "--set", "version=one")
    found = codes(run("engine-version", "--into", str(data), *other, *READ, "--json"))
    assert sorted(found) == ["CB-F004", "CB-F065"]


def test_a_model_is_its_config_without_what_nobody_reads(data, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    named = ("--set", "id=example/Half-1B", "--set", "licence=mit", "--set", "params_count=3e8")
    answer = add(data, "model", *named, "--from", str(tmp_path / "config.json"), *READ)
    row = next(row for row in map(json.loads, lines(data / "models.jsonl")) if row["id"] == "example/Half-1B")
    assert row == answer["row"]
    assert row["params_count"] == 300_000_000
    assert row["config"]["hidden_size"] == 1024
    assert not {"bos_token_id", "use_cache"} & set(row["config"])
    ids = [json.loads(line)["id"] for line in lines(data / "models.jsonl")]
    assert ids == sorted(ids, key=str.lower)
    like = ("--set", "id=other-org/half_1b", "--set", "same_as=example/Half-1B")
    assert codes(run("model", "--into", str(data), *like, *READ, "--json")) == ["CB-F060"]
    like = ("--set", "id=example/Half-1B-Math", "--set", "same_as=example/Half-1B")
    assert add(data, "model", *like, *READ)["row"]["same_as"] == "example/Half-1B"


def test_a_model_that_cannot_be_is_refused_with_all_that_is_wrong(data, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}), encoding="utf-8")
    words = (
        "--set",
        "params_count=-1",
        "--set",
        "task=cooking",
        "--set",
        "wings=2",
        "--set",
        "native_format=fp5",
    )
    found = codes(
        run("model", "--into", str(data), *words, "--from", str(tmp_path / "config.json"), "--json")
    )
    assert sorted(found) == [
        "CB-F003", "CB-F004", "CB-F004", "CB-F004", "CB-F005", "CB-F011", "CB-F061", "CB-F062",
    ]  # fmt: skip
    nothing = run("model", "--into", str(data), "--set", "id=a/b", *READ, "--json")
    assert codes(nothing) == ["CB-F072"]


def test_outside_a_source_tree_it_goes_into_ones_own_facts_whose_comments_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CABIDA_FACTS", raising=False)
    (tmp_path / "card.yaml").write_text(CARD, encoding="utf-8")
    assert run("accelerator", "--from", "card.yaml", *READ).exit_code == 0
    own = tmp_path / "cabida-facts" / "accelerators.yaml"
    own.write_text(f"# mine\n{own.read_text(encoding='utf-8')}# the end\n", encoding="utf-8")
    more = ("--set", "id=nv-test-98", "--set", "name=Test 98")
    assert run("accelerator", "--from", "card.yaml", *more, *READ).exit_code == 0
    told = lines(own)
    assert (told[0], told[-1]) == ("# mine", "# the end")
    assert [one.strip() for one in told if "- id" in one] == ["- id: nv-test-99", "- id: nv-test-98"]
    shown = CliRunner().invoke(cli, ["facts", "show", "nv-test-98", "--json"])
    assert json.loads(shown.stdout)["usable_bytes"] == 98 * 2**30
    assert codes(run("accelerator", "--from", "card.yaml", *READ, "--json")) == ["CB-F060"]
    assert codes(run("model", "--set", "id=a/b", "--json")) == ["CB-F068"]
    own.write_text("- a\n", encoding="utf-8")
    assert codes(run("accelerator", "--from", "card.yaml", *READ, "--json")) == ["CB-F007"]
    own.write_text("accelerators: []\n", encoding="utf-8")
    assert codes(run("accelerator", "--from", "card.yaml", *READ, "--json")) == ["CB-F066"]
    assert own.read_text(encoding="utf-8") == "accelerators: []\n"


def test_the_source_tree_one_is_in_is_found_and_its_snapshot_made_again(tmp_path, monkeypatch):
    data = tmp_path / "src" / "cabida" / "facts" / "data"
    shutil.copytree(store.DATA, data)
    below = tmp_path / "docs"
    below.mkdir()
    monkeypatch.chdir(below)
    answer = json.loads(run("price", *PRICE, *READ, "--json").stdout)
    assert answer["compiled"]
    assert "Example Cloud" in (data / "snapshot" / "offers.json").read_text(encoding="utf-8")
    from cabida.facts import compile as compiling

    assert compiling.stale(data) == []


def test_a_file_that_changed_meanwhile_is_left_alone(data):
    given = gathered(Accelerator, (), data.parent / "card.yaml", {"url": READ[1], "seen": "2026-11-20"})
    added = adding.prepare("accelerator", given, data, "2026-12-01")
    (data / "accelerators.yaml").write_text("# somebody else's\n", encoding="utf-8")
    with pytest.raises(Exception, match="CB-F067"):
        adding.write(added)
    assert lines(data / "accelerators.yaml") == ["# somebody else's"]


def test_a_row_stays_before_the_comment_of_the_next_and_values_are_read_as_they_were_given():
    text = "# head\n\n- id: a\n  name: one\n\n# about b\n- id: b\n  name: two\n"
    row = {"id": "c", "name": 'it\'s: "two" # no', "year": "2026", "capability": "9.0", "ecc": "true"}
    made = with_yaml_row(text, yaml_row(Accelerator, row), 1)
    assert made.index("- id: c") < made.index("# about b")
    assert load.yaml_values(made, "")[0] == [{"id": "a", "name": "one"}, row, {"id": "b", "name": "two"}]
    assert 'capability: "9.0"' in made
    assert "year: 2026" in made
    assert with_yaml_row("[{id: a}]\n", yaml_row(Accelerator, row), 1) is None


def test_an_unknown_kind_names_the_nearest():
    done = run("accelerators")
    assert done.exit_code == 2
    assert "Did you mean accelerator?" in done.stderr


def test_a_model_wants_the_tables_of_a_source_tree(tmp_path):
    with pytest.raises(Exception, match="CB-F066"):
        prepare_model(("id=a/b",), None, {}, tmp_path, "2026-12-01")
