"""Extreme but lawful briefs decide soundly, broken records are told, and the shell's accidents end in order."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from copy import deepcopy

import pytest
from broken_world import BRIEF, LLAMA, ROOT, TRAINING, changed, run

from cabida import app
from cabida.errors import InvalidInput
from cabida.report import tree
from cabida.report.store import load, to_json

DECISION = json.loads((ROOT / "tests" / "report" / "golden" / "decision.en.json").read_text(encoding="utf-8"))


def odd_numbers(value, where=""):
    if isinstance(value, dict):
        return [one for key, part in value.items() for one in odd_numbers(part, f"{where}.{key}")]
    if isinstance(value, list):
        return [one for at, part in enumerate(value) for one in odd_numbers(part, f"{where}[{at}]")]
    return [where] if value in ("nan", "inf", "-inf") else []


def decided(tmp_path, text):
    path = tmp_path / "b.yaml"
    path.write_text(text, encoding="utf-8")
    decision = app.recommend(path, as_of="2026-11-30")
    data = json.loads(to_json(decision), parse_constant=pytest.fail)
    assert odd_numbers(data) == []
    return decision


EXTREMES = {
    "a request in thirty years": ("mean: 4, peak: 12", "mean: 1e-9, peak: 1e-9", "satisfied"),
    "a thousand million a second": ("mean: 4, peak: 12", "mean: 1e9, peak: 1e9", "nothing_satisfies"),
    "one token in": ("{p50: 900, p95: 3500}", "600", "satisfied"),
    "one token out": ("{p50: 250, p95: 700}", "1", "satisfied"),
    "a microsecond to answer": ("800 ms", "1 us", "nothing_satisfies"),
    "no money": ("18000 EUR", "0 EUR", "nothing_satisfies"),
    "a thousand million cards held": ("count: 4", "count: 1000000000", "satisfied"),
    "almost every attempt fails": ("0.2 %", "99.9 %", "nothing_satisfies"),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_briefs_get_a_finite_decision(tmp_path, name):
    old, new, verdict = EXTREMES[name]
    decision = decided(tmp_path, changed(BRIEF, old, new))
    assert decision.verdict == verdict
    assert verdict == "satisfied" or all(one.reasons for one in decision.options)
    assert not [key for one in decision.options for key, figure in one.metrics.items() if figure.value < 0]


def test_one_token_has_no_gaps(tmp_path):
    decision = decided(tmp_path, changed(BRIEF, "{p50: 250, p95: 700}", "1"))
    assert not [key for key in decision.options[0].metrics if key.startswith(("itl", "tpot"))]
    assert "TPOT" not in run("speed", LLAMA, "--gpu", "l40s", "--output-tokens", "1").stdout


def test_nothing_is_reserved_for_longer_than_it_is_needed(tmp_path):
    text = changed(
        BRIEF, "have:\n  - {accelerator: l40s, count: 4, owned: true, resale: 4500 EUR each}\n", ""
    )
    decision = decided(tmp_path, changed(text, "24 months", "3 months"))
    assert decision.options
    assert not [one.title for one in decision.options if one.capacity == "reserved" and "12" in one.title]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("checkpoint: 20 min", "checkpoint: {interval: 1 s, size: 1e17 B}"),
        ("samples: 12 k", "samples: 1e15"),
        ("failed_runs: 30 %", "failed_runs: 99.9 %"),
        ("lora_rank: 16", "lora_rank: 1000000000"),
    ],
)
def test_extreme_runs_get_a_finite_decision(tmp_path, old, new):
    assert decided(tmp_path, changed(TRAINING, old, new)).verdict == "nothing_satisfies"


def test_names_are_shown_and_not_obeyed(tmp_path):
    name = "<script>alert(1)</script> [x](javascript:alert(2)) [red]"
    text = changed(BRIEF, "name: support-chat", f"name: '{name}'")
    decision = decided(tmp_path, changed(text, "how: measured", "how: '<img src=x onerror=alert(3)>'"))
    page, sheet = app.record(decision, "html"), app.record(decision, "md")
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "<script>" not in sheet.replace("\\<script\\>", "")
    assert "[x](" not in sheet.replace("\\[x\\](", "")


def every_place(value, at=()):
    yield at
    pairs = (
        value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    )
    for key, part in pairs:
        yield from every_place(part, (*at, key))


ODD = [None, 7, -1, float("nan"), float("inf"), "x", "", [], {}, True, [None], {"a": 1}, 10**400]


@pytest.mark.parametrize("seed", range(12))
def test_a_record_changed_by_hand_is_shown_or_refused(tmp_path, seed):
    draw, path = random.Random(seed), tmp_path / "d.json"
    places = [at for at in every_place(DECISION) if at]
    for _ in range(6):
        data = here = deepcopy(DECISION)
        place = draw.choice(places)
        for key in place[:-1]:
            here = here[key]
        here[place[-1]] = draw.choice(ODD)
        path.write_text(json.dumps(data), "utf-8")
        try:
            decision = load(path)
        except InvalidInput:
            continue
        for form in ("html", "md", "json"):
            assert app.record(decision, form), place
        for name in tree.asked_first(decision)[:1]:
            assert app.explain(decision, name), place


@pytest.mark.parametrize("text", ["", "{", "[1]", "{}", '{"schema": "cabida/decision/0"}', "[" * 100_000])
def test_what_is_no_record(tmp_path, text):
    (tmp_path / "d.json").write_text(text, "utf-8")
    for words in (("record",), ("explain",)):
        done = run(*words, str(tmp_path / "d.json"))
        assert (done.exit_code, "[CB-R00" in done.stderr, done.stdout) == (3, True, ""), done.output


def shell(command, **environment):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG", "CABIDA"))}
    return subprocess.run(
        ["/bin/bash", "-c", command.replace("CABIDA", f"{sys.executable} -m cabida")],
        capture_output=True, cwd=ROOT, env=kept | environment, check=False, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize("how", ["", "--json"])
def test_a_full_disk_is_told_without_a_traceback(how):
    done = shell(f"CABIDA facts list formats {how} > /dev/full")
    assert (done.returncode, b"[CB-U017]" in done.stderr, b"Traceback" in done.stderr) == (3, True, False)


def test_a_reader_that_leaves_and_a_closed_screen_are_no_fault():
    assert shell("set -o pipefail; CABIDA facts list models --json | head -c 10").returncode == 0
    assert shell("CABIDA facts list formats >&-").returncode == 0


@pytest.mark.parametrize("columns", ["1", "40", "0", "abc"])
def test_a_screen_of_ascii_and_any_width(columns):
    done = shell(f"CABIDA fit {LLAMA} --gpu l40s", LC_ALL="C", PYTHONUTF8="0", COLUMNS=columns,
                 PYTHONCOERCECLOCALE="0", NO_COLOR="1")  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\x1b" not in done.stdout


def test_an_interruption_ends_with_130(tmp_path):
    path = tmp_path / "b.yaml"
    path.write_text(changed(BRIEF, "accelerators: [l40s]", "accelerators: any"), "utf-8")
    started = subprocess.Popen(
        [sys.executable, "-c",
         "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
         "import sys; from cabida.faces.cli import main; sys.argv[0] = 'cabida'; print('up', flush=True); main()",
         "recommend", str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    assert started.stdout
    started.stdout.readline()
    time.sleep(0.3)  # any moment will do once the command has begun
    started.send_signal(signal.SIGINT)
    _, told = started.communicate(timeout=30)
    assert (started.returncode, told.strip()) == (130, "Interrupted")
