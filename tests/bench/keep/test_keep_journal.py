"""The journal: nothing older than a second is lost, nothing is there twice, whatever happens to it."""

import errno
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kept_trials import failed, outcome, plan, written

from cabida.bench.keep import Journal, done_ids, read_journal
from cabida.bench.keep.journal import JOURNAL, KEEP_EVERY_S, WRITE_EVERY_S
from cabida.bench.keep.rows import numbered, outcome_of, read_line, request_row
from cabida.bench.outcome import VERDICTS, Outcome
from cabida.errors import InvalidInput


def code(caught) -> str:
    return caught.value.problems[0].code


def test_everything_that_was_told_is_read_again(tmp_path):
    told = [
        outcome(0, 1.0),
        failed(1, 1.5, final=False),
        failed(1, 1.6, attempt=1),
        outcome(2, 2.0, accepted=False),
    ]
    written(tmp_path, told, client_bound=False)
    kept = read_journal(tmp_path)
    assert kept.requests.count == 4
    assert kept.runs == ["steady"]
    assert kept.ended
    assert not kept.torn
    assert kept.missing_count == kept.broken_count == 0
    assert kept.ended_run("steady")["client_bound"] is False
    assert kept.contender("steady")["name"] == "here"
    assert kept.requests.times["first_token_s"][0] == pytest.approx(1.2, abs=1e-5)
    assert kept.requests.accepted.tolist() == [-1, -1, -1, 0]
    assert done_ids(tmp_path) == {"steady/0", "steady/1", "steady/2"}
    assert (tmp_path / "plan.yaml").read_text().startswith("{")


def test_what_rules_say_later_joins_the_attempt_that_left_before(tmp_path):
    with Journal(tmp_path, plan()) as journal:
        journal.event("run", run="steady", candidate="here")
        for at in range(4):
            one = outcome(at, journal.at(0.0) + at, text="said")
            journal.request(one, judging=True)
            if at == 3:
                continue  # it was killed while a judge thought
            one.accepted, one.valid = at != 1, at != 2
            one.broken_rules = ("short",) if at == 1 else ()
            one.unjudged_rules = ("judge",) if at == 2 else ()
            journal.judged(one)
            journal.judged(one)  # once more changes nothing
    kept = read_journal(tmp_path)
    assert kept.requests.count == 4
    assert kept.requests.accepted.tolist() == [1, 0, 1, -1]
    assert kept.requests.valid.tolist() == [1, 1, 0, -1]
    assert kept.requests.tallies["steady"].broken_rules == {"short": 1}
    assert kept.requests.tallies["steady"].unjudged_rules == {"judge": 1}
    assert kept.requests.unjudged_count == 1
    assert kept.broken_count == 0
    assert len(done_ids(tmp_path)) == 4
    assert [one[:2] for one in kept.samples] == [("steady/0", True), ("steady/1", False)]


fields = st.fixed_dictionaries(
    {
        "verdict": st.sampled_from(VERDICTS),
        "why": st.text(st.characters(exclude_categories=["Cs"]), max_size=50),
        "status": st.integers(0, 599),
        "sent_s": st.none() | st.floats(0, 1e6),
        "first_byte_s": st.none() | st.floats(0, 1e6),
        "first_token_s": st.none() | st.floats(0, 1e6),
        "last_token_s": st.none() | st.floats(0, 1e6),
        "ended_s": st.floats(0, 1e6),
        "input_tokens": st.none() | st.integers(0, 10**7),
        "output_tokens": st.none() | st.integers(0, 10**7),
        "reasoning_tokens": st.none() | st.integers(0, 10**7),
        "items_count": st.none() | st.integers(0, 100),
        "counted_by": st.sampled_from(["", "usage", "tokenizer"]),
        "final": st.booleans(),
        "accepted": st.none() | st.booleans(),
        "broken_rules": st.lists(st.sampled_from(["json", "length"]), max_size=2).map(tuple),
        "prefix": st.integers(-1, 9),
        "attempt": st.integers(0, 9),
        "valid": st.none() | st.booleans(),
        "unjudged_rules": st.lists(st.just("judge"), max_size=1).map(tuple),
    }
)


@settings(deadline=None)
@given(fields)
def test_an_attempt_comes_back_as_it_was(given_fields):
    one = Outcome(id="a/1", intended_s=3.0, **given_fields)
    back = outcome_of(read_line(numbered(request_row(one, 0.0), 7))[1])
    for name, value in given_fields.items():
        got = getattr(back, name)
        assert got == (
            pytest.approx(value, abs=1e-5) if name.endswith("_s") and value is not None else value
        ), name


@pytest.fixture(scope="module")
def unhurt(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unhurt")
    written(folder, [outcome(n, n * 0.1, tokens=3) for n in range(30)])
    return folder / JOURNAL


places = st.floats(0, 1, exclude_max=True)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.lists(st.tuples(places, st.integers(0, 255)), min_size=1, max_size=5), st.floats(0, 1))
def test_whatever_becomes_of_the_file_what_is_whole_is_read_and_the_rest_told(unhurt, tmp_path, wrong, left):
    whole = unhurt.read_bytes()
    first = whole.index(b"\n") + 1
    hurt = bytearray(whole)
    for place, byte in wrong:
        hurt[first + int(place * (len(whole) - first))] = byte
    del hurt[first + int(left * (len(whole) - first)) :]
    (tmp_path / JOURNAL).write_bytes(bytes(hurt))
    kept = read_journal(tmp_path)
    good = set(whole.split(b"\n")) & set(bytes(hurt).split(b"\n")) - {b""}
    assert len(good) - 1 <= kept.rows_count <= len(good)  # a whole last line without its end counts as torn
    assert (kept.broken_count or kept.torn or kept.missing_count) or len(good) == kept.rows_count
    ids = list(zip(kept.requests.run, kept.requests.number, strict=True))
    assert len(ids) == len(set(ids))


def test_a_torn_last_line_is_told_and_cut_off_when_it_goes_on(tmp_path):
    written(tmp_path, [outcome(n, n * 0.1) for n in range(3)], end=False)
    path = tmp_path / JOURNAL
    path.write_bytes(path.read_bytes()[:-20])
    assert read_journal(tmp_path).torn
    assert done_ids(tmp_path) == {"steady/0", "steady/1"}
    journal = Journal(tmp_path, plan(), resume=True).open()
    now = -journal.at(0.0)
    journal.request(outcome(2, now + 5.0))
    journal.close()
    kept = read_journal(tmp_path)
    assert not kept.torn
    assert kept.broken_count == kept.missing_count == 0
    assert kept.requests.count == 3
    assert kept.openings[1]["cut_bytes"] > 0


def test_time_goes_on_where_it_ended(tmp_path):
    written(tmp_path, [outcome(0, 100.0)], end=False)
    journal = Journal(tmp_path, plan(), resume=True).open()
    journal.event("note", text="again")
    journal.close()
    assert read_journal(tmp_path).events["note"][0]["at_s"] >= 100.0


def test_what_a_crash_cut_short_counts_once_after_it_was_asked_again(tmp_path):
    first = [failed(0, 0.1, final=False), outcome(1, 0.2), failed(2, 0.3, "cancelled")]
    written(tmp_path, first, end=False)
    assert done_ids(tmp_path) == {"steady/1"}
    journal = Journal(tmp_path, plan(), resume=True).open()
    now = -journal.at(0.0)
    for one in (outcome(0, now + 3), outcome(2, now + 3.1), outcome(1, now + 4)):
        journal.request(one)
    journal.close()
    requests = read_journal(tmp_path).requests
    assert sorted(requests.number.tolist()) == [0, 1, 2]
    assert requests.verdict.tolist() == [0, 0, 0]
    assert (requests.again_count, requests.twice_count) == (2, 1)


def test_two_runs_into_one_folder_are_refused(tmp_path):
    with Journal(tmp_path, plan()), pytest.raises(InvalidInput) as caught:
        Journal(tmp_path, plan(), resume=True).open()
    assert code(caught) == "CB-J001"


def test_a_journal_is_neither_written_over_nor_mixed_with_another_plans(tmp_path):
    written(tmp_path, [outcome(0, 0.1)])
    with pytest.raises(InvalidInput) as caught:
        Journal(tmp_path, plan()).open()
    assert code(caught) == "CB-J002"
    with pytest.raises(InvalidInput) as caught:
        Journal(tmp_path, plan(seed=2), resume=True).open()
    assert code(caught) == "CB-J003"
    Journal(tmp_path, plan(file="elsewhere.yaml"), resume=True).open().close()


@pytest.mark.parametrize("text", ["", "hello\n", '{"n":0,"c":1,"kind":"plan"}\n', "\x00" * 100])
def test_what_is_no_journal_is_refused(tmp_path, text):
    (tmp_path / JOURNAL).write_text(text)
    with pytest.raises(InvalidInput) as caught:
        read_journal(tmp_path)
    assert code(caught) == "CB-J006"
    if text:
        with pytest.raises(InvalidInput) as caught:
            Journal(tmp_path, plan(), resume=True).open()
        assert code(caught) == "CB-J006"


def test_no_folder_and_no_journal_are_told(tmp_path):
    with pytest.raises(InvalidInput) as caught:
        read_journal(tmp_path / "nowhere")
    assert code(caught) == "CB-J007"
    (tmp_path / "file").write_text("x")
    with pytest.raises(InvalidInput) as caught:
        Journal(tmp_path / "file", plan()).open()
    assert code(caught) == "CB-J004"


def test_a_full_disk_ends_it_and_what_is_there_stays_whole(tmp_path, monkeypatch):
    told = []
    journal = Journal(tmp_path, plan(), on_failure=lambda: told.append(True)).open()
    journal.request(outcome(0, 0.1))
    journal.flush()
    real, left = os.write, [1500]

    def full(handle, data):
        if left[0] <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        part = bytes(data)[: left[0]]
        left[0] -= len(part)
        return real(handle, part)

    monkeypatch.setattr("cabida.bench.keep.journal.os.write", full)
    for at in range(1, 50):
        journal.request(outcome(at, 0.1 * at))
    journal.flush()
    assert told == [True]
    journal.request(outcome(99, 1.0))
    with pytest.raises(InvalidInput) as caught:
        journal.close()
    assert code(caught) == "CB-J005"
    monkeypatch.undo()
    kept = read_journal(tmp_path)
    assert not kept.torn
    assert kept.broken_count == kept.missing_count == 0
    assert 1 < kept.requests.count < 10
    Journal(tmp_path, plan(), resume=True).open().close()


def test_no_key_and_no_output_gets_in(tmp_path):
    from dataclasses import replace

    secret = "sk-abcdefghijklmnopqrstuvwx"
    one = plan(keep_samples="redacted")
    target = replace(one.contenders[0].target, headers={"x-api-key": "opensesame", "x-team": secret})
    one = replace(one, contenders=(replace(one.contenders[0], target=target),))
    text = f"headers: {{x-api-key: opensesame, x-team: {secret}}}\nkey: env:SOME_KEY\n"
    with Journal(tmp_path, one, plan_text=text) as journal:
        journal.request(
            outcome(0, 0.1, text=f"Dear Ana, 42 {secret}", reasoning="hidden thought", accepted=False)
        )
    everything = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for word in (b"opensesame", secret.encode(), b"Ana", b"hidden"):
        assert word not in everything
    assert b"env:SOME_KEY" in everything
    assert read_journal(tmp_path).samples[0][2].startswith("xxxx xxx, 00 ")


def test_outputs_are_kept_where_that_was_asked(tmp_path):
    with Journal(tmp_path, plan(keep_samples="full")) as journal:
        for at in range(120):
            journal.request(outcome(at, 0.1, text=f"answer {at}\x1b[2J"))
    samples = read_journal(tmp_path).samples
    assert [text for _, _, text in samples] == ["answer 0[2J", "answer 50[2J", "answer 100[2J"]


def test_odd_values_of_events_are_written_all_the_same(tmp_path):
    with Journal(tmp_path, plan()) as journal:
        journal.event("watch", big=2**70, odd={1: {2, 3}}, bad="\ud800", nan=float("nan"), path=tmp_path)
    row = read_journal(tmp_path).events["watch"][0]
    assert row["nan"] is None
    assert row["big"] == str(2**70)


def test_what_is_in_line_is_on_its_way_within_a_second():
    assert WRITE_EVERY_S <= 0.5
    assert KEEP_EVERY_S <= 1.0


WRITER = """
    import sys, time
    sys.path.insert(0, {here!r})
    from kept_trials import outcome, plan
    from cabida.bench.keep import Journal, done_ids, read_journal
    from cabida.bench.clock import now_s
    folder = sys.argv[1]
    try:
        done = done_ids(folder)
    except Exception:
        done = set()
    journal = Journal(folder, plan(), resume=True).open()
    at = 0
    while True:
        if f"steady/{{at}}" not in done:
            one = outcome(at, now_s() - 1.0, tokens=3)
            journal.request(one)
            sys.stdout.write(f"{{at}} {{time.monotonic()}}\\n")
            sys.stdout.flush()
            time.sleep(0.001)
        at += 1
"""


@pytest.mark.parametrize("kills", [6, pytest.param(50, marks=pytest.mark.long)])
def test_killed_at_any_moment_nothing_is_lost_or_there_twice(tmp_path, kills):
    """Each killed writer is followed by one that goes on; what had been told a second before must be there."""
    here = str(__file__).rsplit("/", 1)[0]
    script = textwrap.dedent(WRITER.format(here=here))
    dice = random.Random(6)
    safe: set[int] = set()
    every: set[int] = set()
    for life in range(kills):
        writer = subprocess.Popen(
            [sys.executable, "-S", "-c", PATHS + script, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        try:
            first = writer.stdout.readline()
            assert first, "the writer could not begin"
            time.sleep(dice.uniform(0.0, 0.05) if life % 6 else dice.uniform(1.2, 1.6))
            killed_at = time.monotonic()
            os.kill(writer.pid, signal.SIGKILL)
            lines = (first + writer.stdout.read()).splitlines()
        finally:
            writer.kill()
            writer.wait()
            writer.stdout.close()
        told = [line.split() for line in lines if line.count(" ") == 1]
        every |= {int(at) for at, _ in told}
        safe |= {int(at) for at, when in told if len(when) > 3 and float(when) < killed_at - 1.0}
        kept = read_journal(tmp_path)
        numbers = kept.requests.number.tolist()
        assert safe <= set(numbers)
        assert len(numbers) == len(set(numbers))
        assert kept.requests.twice_count == 0
        assert kept.broken_count == kept.missing_count == 0
    assert len(kept.openings) == kills
    assert safe
    assert set(numbers) <= every


PATHS = f"import sys; sys.path[:] = {json.dumps([one for one in sys.path if one])}\n"


def test_a_journal_made_to_flood_memory_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("cabida.bench.keep.kept.EVENTS_BYTES_MOST", 50_000)
    monkeypatch.setattr("cabida.bench.keep.requests.RUNS_MOST", 5)
    with Journal(tmp_path, plan()) as journal:
        for at in range(300):
            journal.event(f"kind-{at}", text="x" * 400)
            journal.request(outcome(at, 0.1, run=f"run-{at}", tokens=2))
    kept = read_journal(tmp_path)
    assert len(kept.events) <= 120
    assert len(kept.requests.runs) == 5
    assert kept.broken_count > 400
    assert len(kept.broken_lines) == 20


def test_what_writes_during_a_load_stays_lean():
    code = "import cabida.bench.keep.journal; heavy = {'numpy', 'pydantic', 'sqlalchemy', 'rich', 'jinja2', 'yaml'}"
    done = subprocess.run(
        [sys.executable, "-c", f"{PATHS}{code}; print(sorted(heavy & set(sys.modules)))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


READER = """
import resource, sys
from cabida.bench.keep import read_journal
kept = read_journal(sys.argv[1])
print(kept.requests.count, kept.requests.gaps_stride, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


REPORTER = """
import resource, sys
from cabida import app
answer = app.bench_report([sys.argv[1]], predict=False)
app.bench_write(answer, sys.argv[1])
print(answer["journals"][0]["requests_count"], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


@pytest.mark.long
def test_a_million_requests_are_read_in_bounded_memory(tmp_path):
    path = tmp_path / JOURNAL
    with Journal(tmp_path, plan()):
        pass
    first = path.read_bytes().splitlines(keepends=True)[0]
    with path.open("wb") as file:
        file.write(first)
        for at in range(1_000_000):
            file.write(numbered(request_row(outcome(at, at * 0.001, tokens=20), 0.0), at + 1))
    done = subprocess.run(
        [sys.executable, "-c", PATHS + READER, str(tmp_path)], capture_output=True, text=True, check=True
    )
    count, stride, most_bytes = map(int, done.stdout.split())
    assert count == 1_000_000
    assert stride > 1  # of 19 million gaps a part
    assert most_bytes < 500e6
    done = subprocess.run(
        [sys.executable, "-c", PATHS + REPORTER, str(tmp_path)], capture_output=True, text=True, check=True
    )
    count, most_bytes = map(int, done.stdout.split())
    assert count == 1_000_000
    assert most_bytes < 600e6
