"""What scripts rely on: exit codes, JSON on stdout, talk on stderr, languages, what help imports."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from cabida import app, text
from cabida.errors import AuditBlocked, CabidaError, EndpointFailed, NothingSatisfies, Problem
from cabida.faces.cli import COMMANDS, cli
from cabida.faces.reference import reference
from cabida.faces.words import pick_language
from cabida.report.metrics import plain
from cabida.report.store import load

ROOT = Path(__file__).parents[2]
DECISION = ROOT / "tests" / "report" / "golden" / "decision.en.json"
LLAMA = "meta-llama/Llama-3.3-70B-Instruct"


@pytest.fixture(autouse=True)
def _english(monkeypatch):
    for name in ("CABIDA_LANG", "LC_ALL", "LC_MESSAGES", "LANG", "CABIDA_DEBUG", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    yield
    text.use_language("en")


def run(*words, **options):
    return CliRunner().invoke(cli, list(words), **options)


def shell(*words, **environment):
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "CABIDA"))
    }
    return subprocess.run(
        [sys.executable, "-m", "cabida", *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=ROOT,
        env=kept | environment,
        check=False,
    )


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom cabida.faces.cli import cli\n"
        "try: cli.main(['--help'])\nexcept SystemExit as done: assert done.code == 0\n"
        "heavy = {'pydantic', 'numpy', 'rich', 'yaml', 'jinja2', 'numba', 'cabida.facts', 'cabida.app'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr


def test_reference_page_is_up_to_date():
    assert (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") == reference()


def commands(group=cli, above=None):
    context = click.Context(group, info_name=group.name, parent=above)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, context)
        else:
            yield command, click.Context(command, info_name=name, parent=context)


@pytest.mark.parametrize("language", ["en", "es"])
def test_every_command_has_the_shared_options_and_its_help(language):
    text.use_language(language)
    found = list(commands())
    assert len(found) > len(COMMANDS)
    for command, context in found:
        names = {name for param in command.params for name in param.opts}
        assert {"--json", "--lang", "--as-of"} <= names, command.name
        assert command.get_help(context).startswith("Usage: " if language == "en" else "Uso: ")
        word = text.tr("faces.default")
        told = [" ".join((param.get_help_record(context) or ("", ""))[1].split()) for param in command.params]
        twice = [one for one in told if f"({word}" in one and f"[{word}" in one]
        assert not twice, f"{command.name} tells a default twice"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["fti"], 2, "fit. [CB-U001]"),
        (["fit", "--gup", "x"], 2, "--gpu. [CB-U002]"),
        (["speed", LLAMA], 2, "--gpu is missing"),
        (["explain"], 2, "DECISION is missing"),
        (["fit"], 2, "CB-U007"),
        (["fit", LLAMA, "--as-of", "yesterday"], 2, "2026-11-30"),
        (["fit", LLAMA, "--gpus", "0"], 2, "CB-U004"),
        (["speed", LLAMA, "--gpu", "l4", "--concurrency", "1", "--requests-per-s", "1"], 2, "CB-U009"),
        (["cost", "--watts", "400"], 2, "CB-U008"),
        (["fit", LLAMA, "--gpu", "h100x"], 3, "CB-F001"),
        (["fit", LLAMA, "--gpu", "h100-sxm-80", "--gpus", "3", "--tp", "2"], 3, "CB-U010"),
        (["speed", LLAMA, "--gpu", "l4", "--weights", "bf16"], 3, "CB-U011"),
        (["explain", "none.json", "x"], 3, "none.json: "),
        (["explain", str(DECISION), "weight_bytes"], 3, "weights_bytes"),
        (["facts", "show", "h100-sxm-8"], 3, "CB-U016"),
        (["models", "gpt-nonsense-9"], 3, "CB-F010"),
        (["check", "none.yaml"], 3, "none.yaml"),
    ],
)
def test_errors_cure_and_have_their_code(words, code, told):
    done = run(*words)
    assert done.exit_code == code, done.output
    assert told in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.output
    as_data = run(*words, "--json")
    assert as_data.exit_code == code
    problems = json.loads(as_data.stdout)["errors"]
    assert all(one["code"].startswith("CB-") and one["what"] for one in problems)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NothingSatisfies(Problem("CB-X001", "nothing")), 4),
        (EndpointFailed(Problem("CB-F017", "gone")), 5),
        (AuditBlocked(Problem("CB-K001", "gap")), 6),
        (CabidaError(Problem("CB-X000", "odd")), 1),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("by nought"), 1),
    ],
)
def test_exit_codes(monkeypatch, error, code):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(app, "fit", fail)
    done = run("fit", LLAMA)
    assert done.exit_code == code
    assert done.stderr.strip()
    assert "Traceback" not in done.output


def test_debug_shows_the_traceback(monkeypatch):
    monkeypatch.setenv("CABIDA_DEBUG", "1")
    monkeypatch.setattr(app, "fit", lambda *_, **__: 1 / 0)
    assert isinstance(run("fit", LLAMA).exception, ZeroDivisionError)


def test_fit_answers_as_data_and_as_a_screen():
    words = ("fit", LLAMA, "--gpu", "h100-sxm-80", "--gpus", "2", "--weights", "fp8")
    answer = json.loads(run(*words, "--json").stdout)
    assert answer["verdict"] == "fits"
    weights = answer["metrics"]["weights_gib_per_gpu"]
    assert set(weights) == {"value", "low", "high", "basis"}
    assert weights["low"] <= weights["value"] <= weights["high"]
    assert 32 < weights["value"] < 36
    assert "It fits, with" in run(*words).stdout
    assert "Cabe, y sobran" in run(*words, "--lang", "es").stdout


def test_the_guides_memory_claims():
    thirty = json.loads(
        run("fit", "Qwen/Qwen3-30B-A3B", "--gpu", "rtx3090", "--weights", "fp16", "--json").stdout
    )
    assert thirty["verdict"] == "no"
    assert thirty["cure"]
    quantised = ("--weights", "awq-int4", "--max-model-len", "4096")
    four = json.loads(run("fit", "Qwen/Qwen3-30B-A3B", "--gpu", "rtx3090", *quantised, "--json").stdout)
    assert four["verdict"] in ("fits", "tight")
    llama = json.loads(
        run("fit", "meta-llama/Llama-2-13b-hf", "--gpu", "rtx3090", *quantised, "--json").stdout
    )
    assert llama["verdict"] == "fits"
    assert llama["largest_context_tokens"] > 4096


def test_fit_goes_over_accelerators_and_over_models():
    cards = json.loads(run("fit", LLAMA, "--weights", "fp8", "--json").stdout)["rows"]
    assert len(cards) >= 98
    assert {row["model"] for row in cards} == {LLAMA}
    models = json.loads(run("fit", "--gpu", "rtx4090", "--json").stdout)["rows"]
    assert len(models) >= 150
    runnable = [row["runs"] for row in models]
    assert runnable == sorted(runnable, reverse=True)


def test_electricity_is_525_60_and_buys_tokens():
    answer = json.loads(run("cost", "energy", "--watts", "400", "--price", "0.15", "--json").stdout)
    assert answer["kwh"] == pytest.approx(3504)
    assert answer["cost_money"]["value"] == pytest.approx(525.60)
    assert all(row["mtok"] == pytest.approx(525.60 / row["money_per_mtok"]) for row in answer["api"])
    assert len(answer["api"]) > 20
    assert "525.60 USD" in run("cost", "--watts", "400", "--price", "0.15").stdout
    assert "525,60 USD" in run("cost", "--watts", "400", "--price", "0.15", "--lang", "es").stdout


def test_compare_prices_what_matters():
    answer = json.loads(run("compare", "h100-sxm-80", "h200-sxm-141", "l40s", "--json").stdout)
    rows = {row["id"]: row for row in answer["accelerators"]}
    h100 = rows["h100-sxm-80"]
    assert h100["rent_usd_per_pflops_hour"] == pytest.approx(h100["rent_usd_per_hour"] / 0.9894, rel=1e-3)
    assert h100["rent_usd_per_gib_hour"] == pytest.approx(h100["rent_usd_per_hour"] / h100["memory_gib"])
    assert all(row["for"] and row["not_for"] for row in rows.values())
    best = {(one["workload"], one["figure"]): one["best"] for one in answer["matters"]}
    assert best["realtime-inference", "bandwidth_gb_s"] == ["h200-sxm-141"]
    assert best["pretraining", "bf16_tflops"] == ["h100-sxm-80", "h200-sxm-141"]
    older = json.loads(run("compare", "h100-sxm-80", "--as-of", "2025-01-01", "--json").stdout)
    assert older["accelerators"][0]["rent_seen"] <= "2025-01-01"


def test_facts_keep_their_sources():
    shown = json.loads(run("facts", "show", "h100-sxm-80", "--json").stdout)
    assert shown["id"] == "h100-sxm-80"
    assert shown["sources"][""]
    assert "usable_bytes" in shown["sources"]
    assert run("facts", "check").exit_code == 0
    assert len(json.loads(run("facts", "list", "--json").stdout)) >= 98
    assert len(json.loads(run("models", "--json").stdout)) >= 150
    dated = json.loads(run("prices", "list", "h100-sxm-80", "--as-of", "2026-06-30", "--json").stdout)
    assert dated
    assert all(row["seen"] <= "2026-06-30" for row in dated)


def test_explain_and_record():
    told = run("explain", str(DECISION), "cost_per_month_money").stdout
    assert "cost_per_month_money = 14,900.00 EUR [13,200–16,700]" in told
    assert "H100 SXM reserved price page · 2026-10-20" in told
    nodes = json.loads(run("explain", str(DECISION), "cost_per_month_money", "--json").stdout)["nodes"]
    assert [node["id"] for node in nodes] == [1, 2, 3, 5, 6]
    assert "weights_bytes" in run("explain", str(DECISION)).stdout
    assert run("record", str(DECISION), "--format", "json").stdout == DECISION.read_text(encoding="utf-8")
    assert run("record", str(DECISION), "--format", "md").stdout.startswith("# support-chat")


def test_record_into_a_file(tmp_path):
    done = run("record", str(DECISION), "--format", "html", "--out", str(tmp_path / "r.html"))
    assert done.stdout == ""
    assert (tmp_path / "r.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_init_writes_a_brief_that_reads(tmp_path):
    brief = tmp_path / "b.yaml"
    assert run("init", str(brief), "--workload", "batch-inference").exit_code == 0
    assert "workload: batch-inference" in brief.read_text(encoding="utf-8")
    again = run("init", str(brief))
    assert again.exit_code == 3
    assert "CB-U006" in again.stderr
    checked = run("check", str(brief))
    assert checked.exit_code == 3
    assert "CB-B" in checked.stderr


def test_check_says_which_workload_it_is_and_why():
    asked = ("check", str(ROOT / "examples/nightly-batch.yaml"), "--as-of", "2026-11-30")
    assert "Batch inference. The brief says so" in run(*asked).stdout
    told = json.loads(run(*asked, "--json").stdout)
    assert (told["workload"], told["missing"]) == ("batch-inference", [])
    assert "items to finish" in told["why"]


@pytest.mark.parametrize(("verdict", "code"), [("satisfied", 0), ("nothing_satisfies", 4)])
def test_recommend_shows_the_decision(monkeypatch, verdict, code):
    from dataclasses import replace

    decision = replace(load(DECISION), verdict=verdict)
    seen = {}
    monkeypatch.setattr(app, "recommend", lambda path, **asked: seen.update(asked) or decision, raising=False)
    done = run("recommend", "b.yaml", "--assume", "--seed", "7", "--as-of", "2026-11-30")
    assert done.exit_code == code
    assert "14,900 EUR/month" in done.stdout
    assert (seen["assume"], seen["seed"], seen["as_of"], seen["progress"]) == (True, 7, "2026-11-30", None)
    assert json.loads(run("recommend", "b.yaml", "--json").stdout)["schema"] == "cabida/decision/1"


def test_a_real_shell_without_colour_and_as_wide_as_told():
    done = shell("fit", LLAMA, "--gpu", "h200-sxm-141", "--weights", "fp8", COLUMNS="60", NO_COLOR="1")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 60
    spanish = shell("fti", LANG="es_ES.UTF-8")
    assert spanish.returncode == 2
    assert "no es un comando" in spanish.stderr
    assert re.fullmatch(r"cabida \d+\.\d+\.\d+ \(facts [0-9a-f]{12}\)\n", shell("--version").stdout)


def test_a_reader_that_goes_away_is_no_error():
    first = subprocess.Popen(
        [sys.executable, "-m", "cabida", "models", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    first.stdout.close()
    complaint = first.stderr.read()
    first.stderr.close()
    assert first.wait() == 0
    assert complaint == b""


def test_names_cannot_drive_the_terminal():
    from rich.console import Console

    from cabida.faces.grid import clean

    console = Console(width=80, force_terminal=True)
    with console.capture() as caught:
        console.print(clean("a\x1b[2Jb\x07c\x9b1m"))
    assert caught.get() == "a[2Jbc1m\n"


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals on this system")
def test_no_screen_can_drive_the_terminal(capsys):
    from rich.console import Group
    from rich.text import Text

    from cabida.faces.output import emit

    emit({}, lambda: Group("a\x1b[2Jb", Text("c\u202ed\x07e", style="bold")), as_json=False)
    assert capsys.readouterr().out.replace("\x1b[1m", "").replace("\x1b[0m", "") == "a[2Jb\ncde\n"


def test_an_error_cannot_drive_the_terminal():
    ours, theirs = os.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "cabida", "fit", "\x1b[31mfoo\x9b2J\x07"], stderr=theirs, check=False,
        env={**os.environ, "CABIDA_ONLINE": "0"}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(theirs)
    said = os.read(ours, 10_000).decode()
    os.close(ours)
    assert done.returncode == 3
    assert "[31mfoo2J" in said
    assert said.replace("\r\n", "").isprintable()


@pytest.mark.parametrize(
    ("words", "environment", "language"),
    [
        (["fit", "--lang", "es"], {}, "es"),
        (["--lang=es"], {}, "es"),
        (["fit"], {"CABIDA_LANG": "es", "LANG": "en_US"}, "es"),
        (["fit"], {"LANG": "es_MX.UTF-8"}, "es-MX"),
        (["fit", "--lang", "es-MX"], {}, "es-MX"),
        (["fit", "--lang", "es"], {"LANG": "es_MX.UTF-8"}, "es"),
        (["fit"], {"LANG": "es_ES.UTF-8"}, "es"),
        (["fit"], {"LANG": "fr_FR"}, "en"),
        (["fit"], {}, "en"),
    ],
)
def test_language(monkeypatch, words, environment, language):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert pick_language(words) == language


def test_json_has_no_odd_numbers():
    assert plain({"a": float("inf"), "b": (1.0, float("nan"))}) == {"a": None, "b": [1.0, None]}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--gpus", "0"), "--gpus: 0 no está en el intervalo 1<=x<=1000000000"),
        (("--gpus", "1.5"), "--gpus: '1.5' no es un número entero"),
        (("--gpu-memory-utilization", "x"), "'x' no es un número."),
        (("--method", "dpo"), "--method: 'dpo' no es ninguno de 'full'"),
        (("b", "c"), "Sobran palabras: b c"),
        (("--gpu",), "Falta un valor detrás de --gpu"),
    ],
)
def test_what_click_refuses_is_told_in_the_language_asked_for(words, told):
    found = run("fit", LLAMA, "--lang", "es", *words)
    assert (found.exit_code, told in found.stderr) == (2, True), found.stderr
    assert "Invalid" not in found.stderr


@pytest.mark.parametrize("group", [(), ("facts",), ("prices",)])
def test_a_group_alone_shows_its_help_and_no_error(group):
    found = run(*group)
    assert "Commands:" in found.output
    assert "CB-U" not in found.output


def test_figures_name_the_load_they_are_about():
    words = ("speed", "meta-llama/Llama-3.1-8B", "--gpu", "l40s")
    assert "Load: 1 at once, each of 1,000 tokens in and 200 out." in run(*words).stdout
    assert json.loads(run(*words, "--requests-per-s", "2", "--json").stdout)["load"]["requests_per_s"] == 2


def test_a_fit_says_which_context_it_is_about_and_where_the_model_ends():
    told = run("fit", "meta-llama/Llama-2-13b-hf", "--gpu", "rtx3090", "--weights", "q4_k_m").stdout
    assert "context 4,096, the longest of the model" in " ".join(told.split())
    assert "one sequence of this model ends at 4,096" in " ".join(told.split())


def test_a_source_is_written_once():
    told = " ".join(run("facts", "show", "h100-sxm-80").stdout.split())
    assert told.count("lightning-fabric 2.6.6") == 1
    assert "[1]" in told


def test_a_flood_of_problems_is_cut_on_the_screen_and_whole_as_json(tmp_path):
    file = tmp_path / "cases.jsonl"
    file.write_text("no\n" * 50, "utf-8")
    told = run("validate", str(file), "--json")
    assert told.stderr.count("CB-V002") == 20
    assert "And 30 more" in told.stderr
    assert len(json.loads(told.stdout)["errors"]) == 50


def test_options_of_cost_stand_under_what_they_are_about():
    sections = dict.fromkeys(("--demand", "--dataset", "--runs", "--width", "--price"), "")
    heading = ""
    for line in run("cost", "--help").stdout.splitlines():
        if line and not line.startswith(" "):
            heading = line
        elif (words := line.split()) and words[0] in sections:
            sections[words[0]] = heading
    assert "accelerators" not in sections["--demand"]
    assert "kept" in sections["--dataset"] == sections["--runs"]
    assert "Images" in sections["--width"]
    assert "Electricity" in sections["--price"]


def test_a_decision_keeps_the_locale_it_was_asked_in():
    brief = str(ROOT / "examples" / "student-4090.yaml")
    asked = run("recommend", brief, "--lang", "es-MX", "--as-of", "2026-11-30", "--json")
    assert json.loads(asked.stdout)["language"] == "es-MX"
