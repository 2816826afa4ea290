"""How a benchmark stands while it runs: by the rows of its journal, in lines and in a picture."""

from __future__ import annotations

import pytest
from rich.console import Console

from cabida.bench.run.following import Now
from cabida.faces.bench_live import line, picture
from cabida.text import use_language


def moved(*rows: dict) -> Now:
    now = Now()
    for row in rows:
        now.take(row)
    return now


BEGUN = {
    "kind": "run",
    "run": "steady",
    "phase": "load",
    "candidate": "one",
    "place": 1,
    "of": 2,
    "at_s": 0.0,
}


def asked(at: int, **more) -> dict:
    said = {"due": at * 0.1, "first": at * 0.1 + 0.05, "last": at * 0.1 + 0.25, "out": 21, "verdict": "ok"}
    return {"kind": "request", "id": f"steady/{at}", "at_s": at * 0.1 + 0.3, **said, **more}


def test_what_is_judged_later_counts_once():
    rows = [asked(at, judging=True) for at in range(10)]
    said = [{"kind": "judged", "id": f"steady/{at}", "at_s": 2.0, "ok": at > 2} for at in range(8)]
    now = moved(BEGUN, *rows, *said)
    assert (now.ended_count, now.judged_count, now.accepted_count) == (10, 8, 5)
    assert "accepted 62 %" in line(now)


def test_a_job_is_told_by_its_steps_and_not_by_requests():
    begun = BEGUN | {"run": "job", "phase": "training"}
    now = moved(
        begun, {"kind": "step", "step": 40, "values": {"loss": 1.25, "tokens_s": 9100.0}, "at_s": 3.0}
    )
    told = line(now)
    assert "step 40 · loss 1.25 · tokens_s 9,100" in told
    assert "/s ·" not in told
    assert "failed" not in told


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"requests_per_s": 226.4, "verdict": "fail"}, "226/s beyond the objectives"),
        ({"concurrency": 16, "verdict": "pass"}, "16 at once within the objectives"),
    ],
)
def test_a_level_of_a_search_is_told_in_words(row, told):
    now = moved(BEGUN | {"phase": "search"}, {"kind": "point", "at_s": 5.0, "run": "seek/1", **row})
    assert told in line(now)


def test_nothing_of_the_run_before_is_told_of_the_next():
    before = {"kind": "health", "cpu_ratio": 0.5, "lag_s": 0.2, "at_s": 1.0}
    now = moved(BEGUN, before, BEGUN | {"run": "next", "at_s": 9.0})
    assert now.cpu_ratio is None
    assert "CPU" not in line(now)


@pytest.mark.parametrize("language", ["en", "es"])
def test_the_picture_fits_eighty_columns(language):
    use_language(language)
    rows = [asked(at, verdict="rate-limited" if at % 3 == 0 else "ok") for at in range(4000)]
    watched = {
        "kind": "watch",
        "at_s": 400.0,
        "running_count": 12,
        "waiting_count": 3,
        "preemptions_count": 1,
    }
    step = {
        "kind": "memory-step",
        "concurrency": 16,
        "context_tokens": 4096,
        "verdict": "preempted",
        "at_s": 400.0,
    }
    now = moved(BEGUN, *rows, watched, step)
    console = Console(width=80, record=True, force_terminal=False)
    with console.capture() as caught:
        console.print(picture(now))
    lines = caught.get().splitlines()
    assert max(map(len, lines)) <= 80
    assert "rate-limited" in caught.get() or language == "es"
    heights = [one for one in lines if "▇" in one or "█" in one]
    assert len(heights) == 2  # rate and TTFT, a line each: none is wrapped
