"""A decision made again: the same to the byte at its own time, whatever has arrived since; and what today changes."""

import json
import subprocess
import sys
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from cabida import app
from cabida.app.rerunning import plain
from cabida.errors import InvalidInput
from cabida.evidence import book
from cabida.evidence.prices import Read
from cabida.facts.model import Offer
from cabida.quantity import Source
from cabida.report import diff_said
from cabida.report.store import load, save, to_json
from cabida.text import use_language
from cabida.timing.own import own_path

DAY = "2026-11-30"
EXAMPLES = Path(__file__).parents[2] / "examples"
CHEAP = """\
accelerators:
  - id: h200-sxm-141
    tdp_w: 400 W
    source: {what: a cap of ours, seen: 2026-12-20, grade: measured}
offers:
  - id: next-door
    provider: Next Door
    provider_kind: neocloud
    accelerator: l40s
    accelerators_count: 1
    capacity: on-demand
    term_months: 0
    upfront_ratio: 0
    sighting: catalogue
    sample_count: 1
    amount: 0.62
    unit: accelerator_hour
    currency: USD
    country: DE
    seen: 2026-12-20
    source: {what: a flyer, seen: 2026-12-20, grade: quoted}
"""
BRIEF = """\
name: small
workload: realtime-inference
models: [{id: meta-llama/Llama-3.1-8B-Instruct, weights: {fp8: {acceptance: 95 %}}}]
traffic:
  {requests_per_s: {mean: 3, peak: 8}, input_tokens: {mean: 900, p95: 2000}, output_tokens: {mean: 200, p95: 500}}
objectives: {ttft_p95: 1500 ms, tpot_p95: 60 ms}
horizon: 12 months
team: {platform_engineers: 0.2, loaded_cost: 90000 EUR/year}
currency: EUR
consider: {accelerators: [h200-sxm-141, l40s], capacity: [on-demand]}
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CABIDA_STORE", str(tmp_path / "store.db"))
    monkeypatch.setenv("CABIDA_CALIBRATION", str(tmp_path / "calibration.json"))
    monkeypatch.setenv("CABIDA_FACTS", str(tmp_path / "facts"))
    (tmp_path / "facts").mkdir()
    return tmp_path


@pytest.fixture
def small(home):
    (home / "small.yaml").write_text(BRIEF)
    return app.recommend(home / "small.yaml", assume=True, as_of=DAY)


def next_second():
    time.sleep(1.05 - time.time() % 1.0)


def arrive(home):
    """Facts, prices and measurements that were not there when the decision was made."""
    next_second()  # what is recorded is dated to the second
    (home / "facts" / "mine.yaml").write_text(CHEAP)
    said = Source("price list, new.csv", "https://example.org", "2026-11-20", "quoted")
    found = Offer(
        id="new", provider="Newcomer", provider_kind="neocloud", accelerator="l40s", accelerators_count=1,
        region="", country="DE", capacity="on-demand", term_months=0, upfront_ratio=0.0, amount=Decimal("0.66"),
        unit="accelerator_hour", currency="USD", seen="2026-11-20", effective="", sighting="catalogue", sample_count=1,
        low_amount=None, high_amount=None, condition="", notes="", source=said,
    )  # fmt: skip
    read = Read("new.csv", "price list", "a" * 64, 100, 1, offers=[found], offer_lines=[2])
    assert book.add(read).new_count == 1
    slower(home)


def slower(home):
    run = {
        "id": "mine-1", "kind": "serving", "engine": "vllm", "engine_version": "0.10.0",
        "model": "meta-llama/Llama-3.1-8B-Instruct", "weights": "fp8", "gpu": "l40s", "gpus": 1, "tp": 1,
        "mode": "serve",
        "load": {"input_tokens": 900, "output_tokens": 200, "concurrency": 8, "prompts": 80},
        "measured": {"tpot_ms_mean": 40.0}, "quality": "A", "source": "own bench",
    }  # fmt: skip
    (home / "runs.jsonl").write_text(json.dumps(run) + "\n")
    assert app.calibrate([home / "runs.jsonl"])["kept"]
    assert own_path().is_file()


def test_at_its_own_time_it_is_the_same_to_the_byte_whatever_has_arrived(home, small):
    before = to_json(small)
    arrive(home)
    made = app.rerun(small, same=True)
    assert made.identical
    assert to_json(made.decision) == before
    assert made.difference.changes == ()
    assert not made.difference.winner_changed
    now = app.recommend(home / "small.yaml", assume=True, as_of="2026-12-31")
    assert to_json(now) != before
    assert now.options[0].provider in ("Next Door", "Newcomer")


def test_a_calibration_taken_back_still_counts_for_what_was_decided_with_it(home):
    (home / "small.yaml").write_text(BRIEF)
    slower(home)
    decided = app.recommend(home / "small.yaml", assume=True, as_of=DAY)
    next_second()
    app.calibration(undo=True)
    assert app.rerun(decided, same=True).identical
    told = app.rerun(decided, as_of=DAY)
    assert [one.name for one in told.difference.changes if one.kind == "world"] == ["measured"]


def test_today_says_what_changed_and_whether_the_winner_did(home, small):
    arrive(home)
    made = app.rerun(small, as_of="2026-12-31", out=home / "out")
    found = made.difference
    assert made.identical is None
    assert found.winner_changed
    assert found.winner_after.title == made.decision.options[0].title
    assert found.winner_after.unit_cost < found.winner_before.unit_cost
    kinds = {one.kind for one in found.changes}
    assert {"world", "option"} <= kinds
    assert "brief" not in kinds
    assert load(home / "out" / "small.json") == made.decision
    text = diff_said.markdown(found, "small.yaml")
    assert text.startswith("### small.yaml")
    assert "The winner changes" in text
    assert plain(made)["winner_changed"] is True


def test_two_briefs_differ_in_what_was_changed(home):
    (home / "a.yaml").write_text(BRIEF)
    (home / "b.yaml").write_text(BRIEF.replace("mean: 3, peak: 8", "mean: 30, peak: 80"))
    found = app.diff(home / "a.yaml", home / "b.yaml", as_of=DAY, assume=True)
    changed = {one.name: (one.before, one.after) for one in found.changes if one.kind == "brief"}
    assert changed == {"traffic.requests_per_s.mean": ("3", "30"), "traffic.requests_per_s.peak": ("8", "80")}
    assert not [one for one in found.changes if one.kind == "world"]


def test_a_decision_beside_itself_has_no_change(small):
    found = app.diff(small, small)
    assert found.changes == ()
    assert not found.winner_changed
    assert diff_said.tables(found) == []


@pytest.mark.parametrize("language", ["en", "es"])
def test_every_kind_of_change_is_said_in_both_languages(small, language):
    other = replace(
        small, language=language, verdict="nothing_satisfies", version="9", seed=7, facts_digest="f" * 64, warnings=(),
        assumptions=(), options=tuple(replace(one, status="misses", reasons=("x.",)) for one in small.options),
    )  # fmt: skip
    use_language(language)
    found = app.diff(small, other)
    said = diff_said.markdown(found)
    assert found.winner_changed
    assert "living." not in said
    assert ("Nothing satisfies" if language == "en" else "Ya nada cumple") in said
    if language == "es":
        assert "Before" not in said


def test_another_version_or_day_is_no_rerun_of_the_same(small):
    with pytest.raises(InvalidInput, match="CB-Y003"):
        app.rerun(small, same=True, as_of=DAY)
    with pytest.raises(InvalidInput, match="CB-Y004"):
        app.rerun(replace(small, version="0.0.1"), same=True)


def test_decisions_on_other_work_are_not_compared(small):
    with pytest.raises(InvalidInput, match="CB-Y005"):
        app.diff(small, replace(small, denominator="completed_run", workload="full-finetune"))


def test_a_trace_that_is_gone_or_another_is_told(home):
    rows = "arrival_s,input_tokens,output_tokens\n" + "".join(f"{at / 3},500,100\n" for at in range(60))
    (home / "t.csv").write_text(rows)
    told = BRIEF[BRIEF.index("traffic:") : BRIEF.index("objectives")]
    (home / "traced.yaml").write_text(BRIEF.replace(told, "traffic: {trace: t.csv}\n"))
    decided = app.recommend(home / "traced.yaml", assume=True, as_of=DAY)
    assert app.rerun(decided, same=True).identical
    (home / "t.csv").write_text(rows.replace("500,100", "500,110"))
    with pytest.raises(InvalidInput, match="CB-Y002"):
        app.rerun(decided, same=True)
    (home / "t.csv").unlink()
    with pytest.raises(InvalidInput, match="CB-Y001"):
        app.rerun(decided)


def run(*words, home):
    return subprocess.run(
        [sys.executable, "-m", "cabida", *words],
        capture_output=True,
        text=True,
        cwd=home,
        timeout=120,
        check=False,
    )


def test_the_commands_say_it_with_their_exit_codes(home, small):
    save(small, home / "d.json")
    same = run("rerun", "d.json", "--same", home=home)
    assert (same.returncode, same.stdout.startswith("The same to the byte")) == (0, True), same.stderr
    save(replace(small, seed=3), home / "other.json")
    other = run("diff", "d.json", "other.json", "--json", home=home)
    assert other.returncode == 0
    assert json.loads(other.stdout)["changes"] == [
        {"kind": "world", "name": "seed", "before": "0", "after": "3"}
    ]
    lost = replace(small, verdict="nothing_satisfies", options=())
    save(lost, home / "lost.json")
    assert run("diff", "d.json", "lost.json", "--format", "md", home=home).returncode == 4
    turned = next(one for one in small.options if one.accelerator != small.options[0].accelerator)
    turned = replace(turned, rank=1, status="chosen")
    save(replace(small, options=(turned, *small.options)), home / "turned.json")
    assert run("diff", "d.json", "turned.json", home=home).returncode == 7


def test_the_old_winner_is_told_in_the_money_of_now(small):
    found = app.diff(small, small)
    moved = replace(found, winner_changed=True, currency="EUR", currency_after="USD")
    use_language("en")
    said = diff_said.sentences(moved)
    assert any(" USD" in one and " EUR" not in one for one in said)
