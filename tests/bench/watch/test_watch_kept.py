"""What outlives a failure, and a watcher whose cards are lost or whose driver hangs while a run goes on."""

import json
import subprocess
import sys

import pytest
from page_server import serving_pages
from test_watch_gpus import nvml  # noqa: F401  the stand-in, built once
from test_watch_sampling import page

from cabida.bench.watch import Survived, found_ids, survived, watched
from cabida.bench.watch.attribution import look, look_at
from cabida.bench.watch.fetching import Address
from cabida.bench.watch.told import event_sentence
from cabida.text import catalogue, use_language

SPENT = 'litellm_spend_metric_total{team="a",end_user="u1"} 3\nlitellm_spend_metric_total{team="b",end_user="u2"} 1\n'


def test_metrics_and_labels_that_are_all_there_again():
    before = look_at(page() + SPENT)
    assert before.there
    assert before.labels == {"end_user": ("u1", "u2"), "team": ("a", "b")}
    assert survived(before, look_at(page(start=2000, tokens=0) + SPENT)) == Survived(True, (), True, ())


def test_what_is_gone_is_told_by_name():
    after = "\n".join(line for line in page().splitlines() if "kv_cache" not in line)
    found = survived(look_at(page() + SPENT), look_at(after + "\n" + SPENT.splitlines()[0] + "\n"))
    assert found.metrics is False
    assert found.missing == ("kv_used_ratio", "kv_used_tokens")
    assert found.labels is False
    assert found.missing_labels == ("end_user=u2", "team=b")


def test_a_key_that_a_page_names_is_not_told():
    spent = 'litellm_spend_metric_total{api_key="sk-abcdefghijklmnopqrstuvwxyz"} 3\n'
    (gone,) = survived(look_at(page() + spent), look_at(page())).missing_labels
    assert gone.startswith("api_key=")
    assert "abcdef" not in gone


def test_a_counter_that_comes_up_later_began_at_nothing():
    rows = [
        {"at_s": 0.0, "generation_tokens": 500.0, "running_count": 1.0},
        {"at_s": 1.0, "generation_tokens": 700.0},
        {"at_s": 2.0, "generation_tokens": 900.0, "requests_ended_count.abort": 3.0,
         "ttft_s.sum": 4.0, "ttft_s.count": 2.0},
        {"at_s": 3.0, "generation_tokens": 950.0, "requests_ended_count.abort": 4.0,
         "ttft_s.sum": 6.0, "ttft_s.count": 3.0},
    ]  # fmt: skip
    found = watched(rows).increases
    assert found == {
        "generation_tokens": 450,
        "requests_ended_count.abort": 4,
        "ttft_s.mean": 2,
        "ttft_s.count": 3,
    }
    assert watched(rows, 2.0).increases["requests_ended_count.abort"] == 1
    alone = [{"at_s": 0.0, "gpu.0.power_w": 9.0}, {"at_s": 1.0, "generation_tokens": 7.0}]
    assert watched(alone).increases["generation_tokens"] == 0


def test_counters_by_kind_that_nobody_met_yet_are_not_missed_and_no_labels_are_not_all_labels():
    ended = 'vllm:request_success_total{finished_reason="abort"} 1\n'
    found = survived(look_at(page() + ended), look_at(page()))
    assert (found.metrics, found.labels, found.ids_found_ratio) == (True, None, None)


def test_a_page_that_is_gone_has_lost_everything():
    with serving_pages(page()) as server:
        address = Address(f"{server.url}/metrics", limit_s=2.0)
        before = look(address)
    address.close()  # the threads of this server outlive it
    after = look(address)
    assert before.there
    assert not after.there
    assert after.why == "refused"
    found = survived(before, after)
    assert found.metrics is False
    assert "running_count" in found.missing


def test_requests_are_found_again_in_the_log(tmp_path):
    log = tmp_path / "engine.log"
    log.write_text("Added request cmpl-00000001\nAdded request cmpl-00000002\n")
    ids = [f"cmpl-0000000{at}" for at in range(1, 5)]
    assert found_ids(log, ids) == set(ids[:2])
    assert survived(look_at(page()), look_at(page()), log=log, ids=ids).ids_found_ratio == 0.5


PROGRAM = """
import asyncio, json, sys, time
from cabida.bench.watch import watcher, watched
from cabida.plan.bench import Target
state, *states = sys.argv[1:]

async def run():
    one = watcher(Target("http://127.0.0.1:9/v1"), every_s=0.3)
    rows = await one.begin()
    for text in states:
        with open(state, "w") as file:
            file.write(text)
        rows += await one.sample()
    one.close()
    return rows, one.facts

began = time.monotonic()
rows, facts = asyncio.run(run())
print(json.dumps([rows, facts, watched(rows).events, time.monotonic() - began]))
"""


@pytest.fixture
def run(nvml, tmp_path):  # noqa: F811
    def call(*states):
        state = tmp_path / "state"
        state.write_text(states[0])
        env = {
            "PATH": "/usr/bin:/bin",
            "LD_LIBRARY_PATH": str(nvml[0]),
            "FAKE_NVML": "scripted",
            "FAKE_NVML_STATE": str(state),
            "PYTHONPATH": ":".join(one for one in sys.path if one),
        }
        words = [sys.executable, "-c", PROGRAM, str(state), *states]
        done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


def test_a_card_lost_while_a_run_goes_on_is_a_row_and_the_run_goes_on(run):
    fine, lost = "power_mw=100000 used_mib=1000\n", "lost=1\n"
    rows, facts, events, _ = run(fine, lost, lost, fine)
    assert facts["gpus"][0]["name"] == "NVIDIA H100 80GB HBM3"
    figures = [row for row in rows if "event" not in row]
    assert [("gpu.0.power_w" in row) for row in figures] == [True, False, False, True]
    assert (events["gpu-lost"], events["gpu-back"]) == (1, 1)


def test_a_driver_that_hangs_holds_up_neither_samples_nor_the_end(run):
    fine, stuck = "power_mw=100000\n", "power_mw=100000 slow_ms=30000\n"
    rows, _, _, took_s = run(fine, stuck, stuck)
    figures = [row for row in rows if "event" not in row]
    assert [row.get("late_count") for row in figures] == [None, 1, 1]
    assert took_s < 20.0


def test_every_event_has_a_sentence_in_both_languages():
    rows = [
        {"event": "page-lost", "page": "http://h/metrics", "why": "status", "detail": "503"},
        {"event": "page-back", "page": "http://h/metrics"},
        {"event": "page-unknown", "page": "http://h/metrics"},
        {"event": "metrics-missing", "page": "http://h", "names": ["kv_used_ratio"]},
        {"event": "server-restarted", "page": "http://h"},
        {"event": "several-servers", "page": "http://h"},
        {"event": "gpu-lost", "gpu": 0},
        {"event": "gpu-back", "gpu": 0},
        {"event": "xid", "gpu": None, "code": 79},
        {"event": "ecc", "gpu": 0, "count": 2},
        {"event": "slowed", "gpu": 0, "reasons": ["power-cap", "thermal"]},
        {"event": "full-speed", "gpu": 0, "reasons": []},
        {"event": "gpus-lost", "why": "slow"},
        {"event": "gpus-back"},
        {"event": "no-gpu", "why": ""},
        {"event": "log-lost", "why": "gone"},
        {"event": "log-back"},
        {"event": "log-skipped", "bytes": 1000},
        *(
            {"event": "log", "sign": one, "count": 2}
            for one in ("out-of-memory", "preemption", "gpu-lost", "crash")
        ),
        *({"event": "log", "sign": one, "count": 1} for one in ("refused", "started", "error")),
    ]
    keys = {name for name in catalogue("en", "watch") if name.startswith("event.")}
    assert len(rows) == len(keys)
    try:
        for language in ("en", "es"):
            use_language(language)
            told = [event_sentence(row) for row in rows]
            assert all(told)
            assert len(set(told)) == len(told)
            assert not any("{" in text for text in told)
    finally:
        use_language("en")
    assert event_sentence({"event": "facts"}) == ""
