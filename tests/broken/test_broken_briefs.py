"""Briefs as people get them wrong: each is told with its line and its code, none decides anything."""

import re

import pytest
from broken_world import BRIEF, TRAINING, changed, run

from cabida.errors import Problem


def told(tmp_path, text, *words):
    path = tmp_path / "b.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = run("check", str(path), "--as-of", "2026-11-30", *words)
    return done, re.findall(r"b\.yaml:(\d+): .*\[(CB-[A-Z]\d{3})\]", done.stderr)


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)
)
WHOLE_FILES = {
    "empty": ("", "CB-B008"),
    "a list": ("- a\n", "CB-B008"),
    "a word": ("hello\n", "CB-B008"),
    "alias bomb": (BOMB, "CB-B004"),
    "alias of itself": ("models: &a [*a]\n", "CB-B004"),
    "5000 levels": ("a: " + "[" * 5000 + "]" * 5000, "CB-B017"),
    "tabs": (BRIEF.replace("  ", "\t"), "CB-B006"),
    "two documents": (BRIEF + "---\n" + BRIEF, "CB-B006"),
    "python tag": ("name: !!python/object/apply:os.system ['echo hi']\n", "CB-B006"),
    "binary tag": ("name: !!binary aGVsbG8=\n", "CB-B006"),
    "UTF-16": (BRIEF.encode("utf-16"), "CB-B007"),
    "Latin-1": ("name: atención\n".encode("latin-1"), "CB-B007"),
    "zeros": (b"\0" * 4000, "CB-B007"),
    "every byte": (bytes(range(256)) * 9, "CB-B007"),
    "2 MB": (BRIEF + "notes: |\n" + "  lorem ipsum dolor\n" * 100_000, "CB-B005"),
    "a list as key": (BRIEF + "? [1, 2]\n: 4\n", "CB-B006"),
}
CHANGES = {
    "rate zero": ("mean: 4, peak: 12", "mean: 0, peak: 0", "CB-B011"),
    "rate next to zero": ("mean: 4", "mean: 1e-300", "CB-B011"),
    "rate NaN": ("mean: 4", "mean: .nan", "CB-B010"),
    "rate infinite": ("peak: 12", "peak: .inf", "CB-B010"),
    "rate overflows": ("peak: 12", "peak: 1e400", "CB-B011"),
    "rate negative": ("mean: 4", "mean: -4", "CB-B011"),
    "rate of 5000 digits": ("peak: 12", "peak: " + "9" * 5000, "CB-B010"),
    "rate yes": ("mean: 4", "mean: yes", "CB-B010"),
    "peak below mean": ("mean: 4, peak: 12", "mean: 12, peak: 4", "CB-B022"),
    "no input": ("{p50: 900, p95: 3500}", "0", "CB-B011"),
    "half an output": ("{p50: 250, p95: 700}", "0.5", "CB-B011"),
    "p95 below p50": ("{p50: 250, p95: 700}", "{p50: 700, p95: 250}", "CB-B021"),
    "a comma for thousands": ("p95: 3500", "p95: 3,500", "CB-B003"),
    "a point for thousands": ("p95: 3500", "p95: '3.500'", "CB-B013"),
    "a clock for a number": ("p95: 3500", "p95: 1:30", "CB-B010"),
    "prefix beyond the input": ("shared_prefix_tokens: 600", "shared_prefix_tokens: 60000", "CB-B029"),
    "a key twice": ("horizon: 24 months", "horizon: 24 months\nhorizon: 12 months", "CB-B002"),
    "a key misspelt": ("traffic:", "trafic:", "CB-B003"),
    "a class misspelt": ("realtime-inference", "realtime-inferense", "CB-B018"),
    "bytes for seconds": ("800 ms", "800 GB", "CB-B010"),
    "no unit": ("800 ms", "800", "CB-B015"),
    "whole before its first token": ("itl_p95: 50 ms", "e2e_p95: 100 ms", "CB-B019"),
    "more errors than requests": ("error_rate: 0.1 %", "error_rate: 101 %", "CB-B011"),
    "nothing accepted": ("acceptance: 0.945", "acceptance: 0", "CB-B011"),
    "94.5 accepted": ("acceptance: 0.945", "acceptance: 94.5", "CB-B011"),
    "everything fails": ("failure_rate: 0.2 %", "failure_rate: 100 %", "CB-B011"),
    "no accelerator held": ("count: 4", "count: 0", "CB-B061"),
    "half an accelerator": ("count: 4", "count: 2.5", "CB-B010"),
    "unknown accelerator": ("accelerator: l40s", "accelerator: l40x", "CB-B028"),
    "unknown model": ("Llama-3.1-8B-Instruct", "Llama-3.1-9B-Instruct", "CB-B038"),
    "a path to nothing": ("meta-llama/Llama-3.1-8B-Instruct", "./nowhere", "CB-B038"),
    "a model of 5000 letters": ("meta-llama/Llama-3.1-8B-Instruct", "x" * 5000, "CB-B010"),
    "an embedding model": ("meta-llama/Llama-3.1-8B-Instruct", "BAAI/bge-m3", "CB-B045"),
    "the same model twice": (
        "traffic:",
        "  - id: meta-llama/Llama-3.1-8B-Instruct\ntraffic:",
        "CB-B036",
    ),
    "context too short": ("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-2-7b-hf", "CB-B033"),
    "unknown format": ("fp8:", "fp9:", "CB-B034"),
    "unknown provider": ("providers: any", "providers: [lamda]", "CB-B020"),
    "unknown currency": ("18000 EUR", "18000 ZZZ", "CB-B024"),
    "unknown zone": ("peak: 12", "peak: 12, profile: office-hours Mars/Olympus", "CB-B018"),
    "unknown country": ("data: EU", "data: Narnia", "CB-B010"),
    "a day that isn't": ("2027-02-01", "2027-02-31", "CB-B010"),
    "a day that is past": ("2027-02-01", "2020-02-01", "CB-B023"),
    "no capacity left": ("capacity: [on-demand, reserved]", "capacity: []", "CB-B041"),
    "horizon zero": ("24 months", "0 months", "CB-B011"),
    "horizon of milliseconds": ("24 months", "1e-9 months", "CB-B011"),
    "the currency in itself": ("horizon: 24", "exchange_rates: {EUR: 2}\nhorizon: 24", "CB-B044"),
    "objectives in a list": ("objectives: {", "objectives: [1]\ncosts: {", "CB-B012"),
    "a bell in the name": ("name: support-chat", 'name: "a\\x07\\x1b[31m"', "CB-B010"),
    "a name of 5000 letters": ("name: support-chat", "name: " + "x" * 5000, "CB-B010"),
    "bought tomorrow": ("count: 4", "count: 4, bought: 2035-01-01", "CB-B064"),
    "owned and contracted": ("count: 4", "count: 4, kind: contracted, price: 1 EUR/h", "CB-B031"),
    "energy counted twice": (
        "horizon: 24",
        "costs: {pue: 1.2, colocation_per_kw: 150 EUR/month}\nhorizon: 24",
        "CB-B063",
    ),
    "the meter beside reserved power": (
        "horizon: 24",
        "costs: {electricity: 0.1 EUR/kWh, colocation_per_kw: 150 EUR/month}\nhorizon: 24",
        "CB-B063",
    ),
    "trace that isn't there": ("traffic:\n", "traffic:\n  trace: t.csv\n", "CB-B016"),
}
ELSEWHERE = {"context too short": 10, "the same model twice": 8}  # told where it can be mended
RUNS = {
    "no samples": ("samples: 12 k", "samples: 0", "CB-B011"),
    "epochs negative": ("epochs: 3", "epochs: -3", "CB-B011"),
    "a batch above the run": ("global_batch: 16", "global_batch: 1000000000", "CB-B043"),
    "every run fails": ("failed_runs: 30 %", "failed_runs: 100 %", "CB-B011"),
    "no run accepted": ("runs: 5", "runs: 5\n  accepted_runs: 0", "CB-B011"),
    "a method misspelt": ("method: qlora", "method: quora", "CB-B018"),
    "a method of another class": ("method: qlora", "method: pretrain", "CB-B030"),
}


@pytest.mark.parametrize("name", WHOLE_FILES)
def test_files_that_are_no_brief(tmp_path, name):
    text, code = WHOLE_FILES[name]
    done, _ = told(tmp_path, text)
    assert (done.exit_code, code in done.stderr) == (3, True), done.output[:500]
    assert len(done.stderr) < 1000


@pytest.mark.parametrize("name", CHANGES)
def test_one_fault_is_told_at_its_line(tmp_path, name):
    old, new, code = CHANGES[name]
    text = changed(BRIEF, old, new)
    done, found = told(tmp_path, text)
    assert done.exit_code == 3, done.output
    before = BRIEF.splitlines()
    lines = [at for at, line in enumerate(text.splitlines(), 1) if line not in before]
    places = [int(at) for at, one in found if one == code]
    assert places, done.stderr
    assert places[0] in [ELSEWHERE[name]] if name in ELSEWHERE else places[0] in lines
    assert len(done.stderr) < 1500


@pytest.mark.parametrize("name", RUNS)
def test_faults_of_training_briefs(tmp_path, name):
    old, new, code = RUNS[name]
    done, found = told(tmp_path, changed(TRAINING, old, new))
    assert (done.exit_code, [one for _, one in found]) == (3, [code]), done.stderr


@pytest.mark.parametrize("text", ["\ufeff" + BRIEF, BRIEF.replace("\n", "\r\n"), BRIEF.replace("EUR", "€")])
def test_what_editors_do_to_a_file_is_no_fault(tmp_path, text):
    done, _ = told(tmp_path, text)
    assert done.exit_code == 0, done.output


def test_ten_faults_are_told_at_once_each_on_its_line(tmp_path):
    text = BRIEF
    for old, new in (
        ("workload: realtime-inference", "workload: realtime-inferense"),
        ("retries: 1", "retries: -1"),
        ("0.2 %", "140 %"),
        ("800 ms", "800 GiB"),
        ("peak: 12", "peak: .nan"),
        ("p50: 900", "p50: 9000"),
        ("count: 4", "count: 0"),
        ("risk: low", "risk: lowish"),
        ("18000 EUR", "18000 XYZ"),
        ("horizon: 24 months", "horizon: 0 months"),
    ):
        text = changed(text, old, new)
    done, found = told(tmp_path, text, "--json")
    assert done.exit_code == 3
    assert len(found) == 10, done.stderr
    assert [int(line) for line, _ in found] == sorted(int(line) for line, _ in found)


def test_own_premises_with_nothing_in_them(tmp_path):
    text = changed(changed(BRIEF, "data: EU", "data: own-premises"), "have:\n", "notes: |\n")
    text = text.replace("  - {accelerator: l40s, count: 4, owned: true, resale: 4500 EUR each}", "  nothing")
    _, found = told(tmp_path, text)
    assert [code for _, code in found] == ["CB-B042"]


@pytest.mark.parametrize(
    ("trace", "code"),
    [
        (b"", "CB-B039"),
        (b"arrival_s,input_tokens,output_tokens\n", "CB-B039"),
        (b"0,100,50\n1,100,50\n", "CB-B039"),
        (b"arrival_s;input_tokens;output_tokens\n0;100;50\n", "CB-B039"),
        (b"arrival_s,input_tokens,output_tokens\n0,abc,50\n", "CB-B039"),
        (b"arrival_s,input_tokens,output_tokens\n0,1e999,50\n", "CB-B039"),
        (b"arrival_s,input_tokens,output_tokens\n0,0,50\n1,0,50\n", "CB-B039"),
        (bytes(range(256)), "CB-B007"),
    ],
)
def test_traces_that_are_none(tmp_path, trace, code):
    (tmp_path / "t.csv").write_bytes(trace)
    done, _ = told(tmp_path, changed(BRIEF, "traffic:\n", "traffic:\n  trace: t.csv\n"))
    assert (done.exit_code, code in done.stderr, "t.csv" in done.stderr) == (3, True, True), done.stderr


@pytest.mark.parametrize("file", ["/dev/null", "/dev/zero", "nothing.yaml", "."])
def test_what_is_no_file(file):
    done = run("check", file)
    assert (done.exit_code, "[CB-B001]" in done.stderr) == (3, True), done.output


def test_a_problem_reads_as_file_line_what_cure_code():
    problem = Problem("CB-B011", "x is out of range", "Write the right figure", file="b.yaml", line=9)
    assert str(problem) == "b.yaml:9: x is out of range. Write the right figure. [CB-B011]"
