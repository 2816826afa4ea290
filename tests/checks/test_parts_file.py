"""Parts files and racks: every rule once broken and once kept, each finding on its line; faults all at once."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import cabida
from cabida.checks import physical_power, racks
from cabida.checks.parts_check import check_build
from cabida.checks.parts_file import WHOLE, read_build
from cabida.checks.physical import circuit_w, heat_btu, supply_w, ups_va
from cabida.checks.used import left_money
from cabida.errors import InvalidInput
from cabida.faces.cli import cli

AS_OF = "2026-11-30"
EXAMPLES = Path(__file__).parents[2] / "examples" / "parts"
SOUND = """cards:
  - {card: RTX 4090, count: 2, slots: 3, length: 304 mm}
supply: {power: 1600 W, atx: 3.1, connectors: {12V-2x6: 2, 8-pin: 4, 8-pin EPS: 2}, efficiency: 92 %}
case: {slots: 8, length: 380 mm, airflow: desktop}
board: {lanes: [x16, x16], generation: 4, spacing: [4], resizable_bar: yes}
cpu: {power: 280 W, lanes: 64}
circuit: {volts: 230 V, amps: 16 A, country: ES}
ups: {va: 2200 VA, power: 1900 W}
room: {cooling: 2500 W}
"""
RACK = """nodes:
  - {node: dgx-h100, count: 4}
rack:
  units: 48
  power: 45 kW
  feeds: {count: 2, volts: 400 V, amps: 125 A, phases: 3}
  redundancy: 2n
  cooling: air
  load_limit: 1500 kg
  weight: 180 kg
  floor: 1500 kg/m2
  area: 0.72 m2
  ports: 64
room: {cooling: 50 kW}
"""
ONE_90 = ("RTX 4090, count: 2, slots: 3, length: 304 mm", "RTX 5090, count: 1, slots: 3, length: 304 mm")
BROKEN = {  # code: what is changed, the line it is told on, severity
    "CB-K040": ((("1600 W", "1000 W"),), 3, "blocking"),
    "CB-K041": ((("slots: 8", "slots: 5"),), 4, "blocking"),
    "CB-K042": ((("length: 304 mm", "length: 400 mm"),), 2, "blocking"),
    "CB-K043": ((("RTX 4090, count: 2, slots: 3", "L40S, count: 2, slots: 2"),), 4, "blocking"),
    "CB-K044": (
        (
            ("RTX 4090, count: 2, slots: 3, length: 304 mm", "RTX 2080 Ti, count: 2"),
            ("8-pin: 4, ", "8-pin: 2, "),
        ),
        3,
        "blocking",
    ),
    "CB-K045": ((ONE_90,), 5, "warning"),
    "CB-K150": ((ONE_90, ("1600 W", "1150 W")), 3, "warning"),
    "CB-K151": ((ONE_90, ("1600 W", "1000 W"), ("280 W", "450 W")), 3, "warning"),
    "CB-K152": ((("efficiency: 92 %", "rail: 25 A"),), 3, "blocking"),
    "CB-K153": ((("efficiency: 92 %", "pigtails: yes"),), 3, "warning"),
    "CB-K154": ((("12V-2x6: 2, 8-pin: 4", "12V-2x6: 1, 8-pin: 2"),), 3, "blocking"),
    "CB-K155": ((("slots: 3", "slots: 3, power: 650 W"),), 2, "blocking"),
    "CB-K156": (
        (("RTX 4090, count: 2, slots: 3, length: 304 mm", "A40, count: 2"), ("desktop", "server")),
        3,
        "warning",
    ),
    "CB-K160": ((("[x16, x16]", "[x16]"),), 5, "blocking"),
    "CB-K161": ((("spacing: [4]", "spacing: [2]"),), 5, "blocking"),
    "CB-K162": ((("[x16, x16]", "[x16, x4]"),), 5, "warning"),
    "CB-K163": ((("lanes: 64", "lanes: 24"),), 6, "warning"),
    "CB-K164": ((("[x16, x16]", "[x16], bifurcation: no"),), 5, "blocking"),
    "CB-K165": ((("slots: 3, length: 304 mm", "slots: 3"), ("380 mm", "320 mm")), 2, "warning"),
    "CB-K166": ((("slots: 8", "slots: 6"),), 4, "warning"),
    "CB-K167": ((("RTX 4090, count: 2", "arc-b580-12, count: 2"), ("bar: yes", "bar: no")), 5, "warning"),
    "CB-K168": ((("bar: yes", "bar: no"),), 5, "info"),
    "CB-K170": ((("16 A", "6 A"),), 7, "blocking"),
    "CB-K171": ((("230 V, amps: 16 A, country: ES", "120 V, amps: 15 A, country: US"),), 7, "blocking"),
    "CB-K172": ((("16 A", "7.5 A"),), 7, "warning"),
    "CB-K173": ((("2200 VA", "1500 VA"),), 8, "warning"),
    "CB-K174": ((("1900 W", "900 W"),), 8, "warning"),
    "CB-K175": ((("va: 2200 VA, power: 1900 W", "va: 2200 VA"),), 8, "warning"),
    "CB-K176": ((("2500 W", "4000 BTU/h"),), 9, "blocking"),
    "CB-K177": ((("2500 W", "2500 W, noise: 40 dB"),), 9, "info"),
    "CB-K178": ((("2500 W", "2500 W, noise: 40 dB"), ("slots: 3", "noise: 42 dB, slots: 3")), 9, "warning"),
    "CB-K193": ((("slots: 3", "condition: used, bought: 2022-11-01, slots: 3"),), 2, "warning"),
    "CB-K194": ((("slots: 3", "condition: used, slots: 3"),), 2, "warning"),
    "CB-K195": ((("slots: 3", "condition: used, bought: 2022-11-01, slots: 3"),), 2, "info"),
    "CB-K196": ((("slots: 3", "condition: used, mined: yes, slots: 3"),), 2, "warning"),
    "CB-K197": ((("slots: 3", "price: 300 USD, slots: 3"),), 2, "warning"),
    "CB-K198": ((("slots: 3", "condition: used, price: 9000 USD, slots: 3"),), 2, "warning"),
    "CB-K199": ((("slots: 3", "condition: used, slots: 3"),), 2, "info"),
    "CB-K315": (
        (("RTX 4090, count: 2, slots: 3, length: 304 mm", "titan-v, count: 2, condition: used"),),
        2,
        "warning",
    ),
    "CB-K372": (
        (("RTX 4090, count: 2, slots: 3, length: 304 mm", "titan-v, count: 2, price: 100 USD"),),
        2,
        "info",
    ),
    "CB-K373": ((("slots: 3", "price: 1900 USD, slots: 3"),), 2, "info"),
    "CB-K374": ((("slots: 3", "price: 1900 USD, slots: 3"), ("room:", "horizon: 24 months\nroom:")), 9, "info"),
    "CB-K180": ((("45 kW", "30 kW"),), 5, "blocking"),
    "CB-K181": ((("125 A", "20 A"),), 6, "blocking"),
    "CB-K182": ((("125 A", "63 A"),), 6, "blocking"),
    "CB-K183": ((("count: 4}", "count: 4, supplies: {count: 4, power: 3 kW}}"),), 2, "warning"),
    "CB-K184": ((("{node: dgx-h100, count: 4}", "{node: gb200-nvl72-rack}"),), 8, "blocking"),
    "CB-K185": ((("count: 4}", "count: 5}"),), 8, "warning"),
    "CB-K186": ((("cooling: air", "cooling: immersion"),), 8, "warning"),
    "CB-K187": ((("units: 48", "units: 24"),), 4, "blocking"),
    "CB-K188": ((("ports: 64", "ports: 16"),), 13, "blocking"),
    "CB-K189": ((("1500 kg\n", "500 kg\n"),), 9, "blocking"),
    "CB-K190": ((("1500 kg/m2", "800 kg/m2"),), 11, "blocking"),
    "CB-K191": ((("{node: dgx-h100, count: 4}", "{accelerator: l40s, accelerators: 8}"),), 1, "info"),
}  # fmt: skip
RACKED = {f"CB-K{index}" for index in range(180, 192)}
ALWAYS = {"CB-K192", "CB-K375", "CB-K376"}  # what it is in all


def found(tmp_path, text, changes=()):
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    file = tmp_path / "p.yaml"
    file.write_text(text, encoding="utf-8")
    return {one.code: one for one in check_build(read_build(file), AS_OF)}


@pytest.mark.parametrize("text", [SOUND, RACK], ids=["pc", "rack"])
def test_what_is_sound_is_only_described(tmp_path, text):
    assert found(tmp_path, text).keys() <= ALWAYS


@pytest.mark.parametrize("code", sorted(BROKEN))
def test_each_rule_broken_once_is_told_on_its_line(tmp_path, code):
    changes, line, severity = BROKEN[code]
    told = found(tmp_path, RACK if code in RACKED else SOUND, changes)
    assert code in told, sorted(told)
    one = told[code]
    assert (one.where.rpartition(":")[2], one.severity) == (str(line), severity)
    assert one.where.startswith(str(tmp_path / "p.yaml"))
    assert one.cure or code in ("CB-K199", "CB-K373", "CB-K374")


def test_every_code_of_parts_is_tried():
    from cabida.text import catalogue

    known = {
        key
        for key in catalogue("en", "checks")
        if key.startswith("CB-K")
        and "." not in key
        and (150 <= int(key[4:]) < 200 or 372 <= int(key[4:]) < 380)
    }
    assert known == {code for code in BROKEN if code[4:] >= "150" and code != "CB-K315"} | ALWAYS


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("cards:\n- {card: RTX 9999}\n", "CB-B028", 2),
        ("cards:\n- {card: RTX 4090, slot: 3}\n", "CB-B003", 2),
        ("cards:\n- {count: 2}\n", "CB-B014", 2),
        ("cards: [{card: RTX 4090}]\nsupply: {power: 1600}\n", "CB-B015", 2),
        ("cards: [{card: RTX 4090}]\nsupply: {power: lots}\n", "CB-B015", 2),
        ("cards: [{card: RTX 4090}]\nsupply: {connectors: {9-pin: 2}}\n", "CB-B018", 2),
        ("cards: [{card: RTX 4090, condition: old}]\n", "CB-B018", 1),
        ("cards: [{card: RTX 4090, bought: 2021}]\n", "CB-B010", 1),
        ("nodes:\n- {node: dgx-h1000}\n", "CB-K084", 2),
        ("supply: {power: 1600 W}\n", "CB-K083", 0),
        ("cards: [{card: RTX 4090}]\ncards: []\n", "CB-B002", 2),
        ("cards: [{card: RTX 4090, count: 10000000}]\n", "CB-B011", 1),
    ],
)
def test_faults_come_with_their_line(tmp_path, text, code, line):
    file = tmp_path / "p.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput) as refused:
        read_build(file)
    told = [(one.code, one.line) for one in refused.value.problems]
    assert (code, line) in told or (code in ("CB-B015",) and told[0][1] == line), told


def test_all_faults_at_once(tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text("cards: [{card: RTX 9999}]\nsupply: {watts: 3}\ncase: {slots: -1}\n", encoding="utf-8")
    with pytest.raises(InvalidInput) as refused:
        read_build(file)
    assert [one.line for one in refused.value.problems] == [1, 2, 3]


@pytest.mark.parametrize("language", ["en", "es", "es-MX"])
def test_the_command_says_the_line_and_the_cure(tmp_path, language):
    file = tmp_path / "p.yaml"
    file.write_text(SOUND.replace("1600 W", "1000 W"), encoding="utf-8")
    done = CliRunner().invoke(cli, ["check", "--pc", str(file), "--as-of", AS_OF, "--lang", language])
    assert done.exit_code == 6
    assert "p.yaml:3:" in done.stdout.replace("\n", "")
    as_data = CliRunner().invoke(cli, ["check", "--pc", str(file), "--as-of", AS_OF, "--json"])
    assert json.loads(as_data.stdout)["found"][0]["where"].endswith("p.yaml:3")


def test_words_without_structure_are_words_still(tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text("gpu: 2x RTX 4090\nsupply: 1000 W ATX 3.0\n", encoding="utf-8")
    assert read_build(file) is None
    assert cabida.check_pc(file) == cabida.check_pc("2x RTX 4090, 1000 W ATX 3.0")


def test_a_rack_file_has_machines(tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text(SOUND, encoding="utf-8")
    with pytest.raises(InvalidInput, match="CB-K085"):
        cabida.check_rack(file)
    with pytest.raises(InvalidInput, match="CB-K085"):
        cabida.check_rack("four machines")
    done = CliRunner().invoke(cli, ["check", "--rack", str(EXAMPLES / "rack-four-h100.yaml")])
    assert done.exit_code == 0
    assert "40.8 kW" in " ".join(done.stdout.split())


@pytest.mark.parametrize("name", sorted(file.name for file in EXAMPLES.glob("*.yaml")))
def test_examples_are_read(name):
    assert check_build(read_build(EXAMPLES / name), AS_OF)


def test_theory():
    assert circuit_w.raw(120, 15, 0.8) == 1440
    assert circuit_w.raw(230, 16, 1.0) == 3680
    assert ups_va.raw(900, 0.9) == pytest.approx(1000)
    assert heat_btu.raw(1000, 3.412) == pytest.approx(3412)
    assert left_money.raw(1000.0, 0.5, 2) == 250
    assert supply_w([300.0], 300.0, atx3=False) == pytest.approx(1.45 * 750)  # Intel's example: 1,100 W
    assert racks.node_power_w.raw(700, 8, racks.MACHINE_RATIO) == pytest.approx(
        10_080
    )  # DGX H100 says 10.2 kW
    assert racks.node_power_w.raw(1000, 8, racks.MACHINE_RATIO) == pytest.approx(
        14_400
    )  # DGX B200 says 14.3 kW
    assert racks.feed_w.raw(400, 32, 3**0.5, 0.8) == pytest.approx(17_736, rel=1e-3)
    assert physical_power.excursion_w.raw(3.0, 600, 0) == 1800  # PCI-SIG's 600 W card


@given(st.lists(st.floats(50, 600), min_size=1, max_size=8), st.floats(65, 400), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_supply_never_shrinks_with_more_to_feed_or_an_older_standard(cards, processor, atx3):
    needed = supply_w(cards, processor, atx3=atx3)
    assert needed >= 1.1 * (sum(cards) + processor + 150) - 1e-6
    assert supply_w([*cards, 75.0], processor, atx3=atx3) >= needed
    assert supply_w(cards, processor, atx3=False) >= supply_w(cards, processor, atx3=True)


KEYS = sorted(WHOLE.mapping.fields)


@given(st.dictionaries(st.sampled_from([*KEYS, "x"]), st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 10**6), st.text(max_size=12)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(
        ["card", "count", "power", "node", "slots", "lanes", "volts", "price"]), inner, max_size=3)), max_leaves=8),
    max_size=5))  # fmt: skip
@settings(max_examples=80, deadline=None)
def test_any_file_is_read_or_refused(tmp_path_factory, plain):
    import yaml

    file = tmp_path_factory.mktemp("parts") / "p.yaml"
    file.write_text(yaml.safe_dump(plain, allow_unicode=True), encoding="utf-8")
    try:
        build = read_build(file)
    except InvalidInput:
        return
    assert build is None or all(one.sentence for one in check_build(build, AS_OF))


def test_a_control_character_never_reaches_the_terminal(tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text('cards: [{card: "RTX\\e[31m 4090"}]\n', encoding="utf-8")
    done = CliRunner().invoke(cli, ["check", "--pc", str(file)])
    assert done.exit_code == 3
    assert "\x1b" not in done.stderr


def test_the_schema_is_the_one_that_is_read():
    from cabida.checks.parts_file import SCHEMA, schema_text

    assert SCHEMA.read_text(encoding="utf-8") == schema_text()  # else: write schema_text() there


@pytest.mark.parametrize("name", sorted(file.name for file in EXAMPLES.glob("*.yaml")))
def test_the_schema_takes_the_examples_and_refuses_a_stranger(name):
    import jsonschema
    import yaml

    from cabida.checks.parts_file import schema_text

    check = jsonschema.Draft7Validator(json.loads(schema_text()))
    plain = json.loads(json.dumps(yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8")), default=str))
    assert [one.message for one in check.iter_errors(plain)] == []
    assert list(check.iter_errors(plain | {"gpus": []}))


@pytest.mark.parametrize("check", [cabida.check_pc, cabida.check_rack])
def test_a_file_that_is_not_there_is_no_brief(check):
    with pytest.raises(InvalidInput, match="CB-K082") as refused:
        check("not-there.yaml")
    assert "brief" not in str(refused.value)
