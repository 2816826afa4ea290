"""A result that lacks one thing tells the rest as before; what it lacks is absent, and nothing is made up instead."""

import copy
import csv
import io
import json

import pytest
from bench_files import FILES

from cabida.errors import InvalidInput
from cabida.evidence import read_file

# files of figures, not of requests one by one
SUMMARIES = [
    name
    for name, (text, _) in FILES.items()
    if text[0] in "{[" and name not in ("aiperf.jsonl", "profile_export.json", "llmperf-individual.json")
]
PLACES_MOST = 100  # of one file, evenly chosen


def places(value, path=()):
    """Every key of nested tables, and what is in the first two entries of lists."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key)
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value[:2]):
            yield from places(inner, (*path, at))


def without(document, path, instead):
    made = copy.deepcopy(document)
    inner = made
    for step in path[:-1]:
        inner = inner[step]
    if instead is KeyError:
        del inner[path[-1]]
    else:
        inner[path[-1]] = instead
    return made


def told(path, text):
    """What each observation measures; ``None`` = refused in words."""
    path.write_text(text, encoding="utf-8")
    try:
        found = read_file(path)
    except InvalidInput:
        return None
    return [one.measured for one in found.observations]


def documents(text):
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


# figures that another is worked out from, or stands in for, where it is not told
WORKED_OUT = {
    "vllm-latency.json": {"e2e_ms_p99"},  # from the latencies of all requests
    "aiperf.json": {"error_ratio"},  # it leaves out a count of none
}


@pytest.mark.parametrize("name", SUMMARIES)
def test_figures_do_not_depend_on_what_else_is_told(tmp_path, name):
    """Each key in its turn is taken away, or becomes null, a word or a list."""
    first, *more = documents(FILES[name][0])
    path = tmp_path / "result"
    full = told(path, FILES[name][0])
    every = list(places(first))
    looked_at = 0
    for at, place in enumerate(every[:: max(1, len(every) // PLACES_MOST)]):
        changed = without(first, place, (KeyError, None, "word", [])[at % 4])
        now = told(path, "\n".join(map(json.dumps, [changed, *more])))
        if now is None or len(now) != len(full):
            continue
        looked_at += 1
        for before, after in zip(full, now, strict=True):
            assert set(after) <= set(before), place
            for figure, value in after.items():
                if figure not in WORKED_OUT.get(name, ()):
                    assert value == pytest.approx(before[figure], rel=1e-6), (place, figure)
    assert looked_at > 0.3 * min(len(every), PLACES_MOST)


def test_tokens_of_requests_that_nobody_counted_are_no_rate(tmp_path):
    """A sum without some of them would be a rate of the others alone."""
    rows = [json.loads(line) for line in FILES["aiperf.jsonl"][0].splitlines()]
    path = tmp_path / "result"
    (whole,) = told(path, "\n".join(map(json.dumps, rows)))
    assert whole["output_tok_s"] == 101
    for instead in (KeyError, {"value": -5, "unit": "tokens"}, {"value": "many", "unit": "tokens"}):
        less = [without(rows[0], ("metrics", "output_sequence_length"), instead), *rows[1:]]
        (found,) = told(path, "\n".join(map(json.dumps, less)))
        assert "output_tok_s" not in found
        assert found["ttft_ms_mean"] == whole["ttft_ms_mean"]
    negative = [without(rows[0], ("metrics", "request_latency", "value"), -3.0), *rows[1:]]
    (found,) = told(path, "\n".join(map(json.dumps, negative)))
    assert found["e2e_ms_mean"] == whole["e2e_ms_mean"]


def test_a_test_that_does_not_say_what_it_did_is_no_reading(tmp_path):
    rows = json.loads(FILES["llama-bench.json"][0])
    wrote = next(row for row in rows if not row["n_prompt"])
    silent = {key: value for key, value in wrote.items() if key != "n_gen"}
    (found,) = told(tmp_path / "result", json.dumps([rows[0], silent]))
    assert found == {"prefill_tok_s": 11000.5}


@pytest.mark.parametrize("column", ["Timestamp", "Total Request Count", "Total Failure Count"])
def test_a_history_without_a_column_tells_no_rate(tmp_path, column):
    text = FILES["locust_stats_history.csv"][0]
    (whole,) = told(tmp_path / "result", text)
    head, *rows = list(csv.reader(io.StringIO(text)))
    at = head.index(column)
    made = io.StringIO()
    csv.writer(made).writerows([head, *([*row[:at], "", *row[at + 1 :]] for row in rows)])
    (found,) = told(tmp_path / "result", made.getvalue())
    assert "req_s" in whole
    assert "req_s" not in found
    assert found.items() <= whole.items()


def test_requests_that_nobody_timed_have_no_rate(tmp_path):
    rows = [json.loads(line) for line in FILES["aiperf.jsonl"][0].splitlines()]
    path = tmp_path / "result"
    (whole,) = told(path, "\n".join(map(json.dumps, rows)))
    for row in rows:
        row["metadata"]["request_start_ns"] = None
    (found,) = told(path, "\n".join(map(json.dumps, rows)))
    assert set(whole) - set(found) == {"req_s", "output_tok_s"}


@pytest.mark.parametrize(("layers", "said"), [(0, True), (1, False), (99, False), (None, False)])
def test_what_ran_without_an_accelerator_is_noted(tmp_path, layers, said):
    rows = [row | {"n_gpu_layers": layers} for row in json.loads(FILES["llama-bench.json"][0])]
    path = tmp_path / "result"
    path.write_text(json.dumps(rows), encoding="utf-8")
    assert ("no layer on an accelerator" in read_file(path).observations[0].note) is said


def test_percentiles_that_have_a_name_of_ours_are_taken(tmp_path):
    (found,) = told(tmp_path / "result", FILES["mlperf_log_summary.txt"][0])
    assert {name for name in found if name.startswith("e2e_ms_p")} == {
        f"e2e_ms_p{at}" for at in (50, 90, 95, 99)
    }
    assert (found["e2e_ms_p95"], found["ttft_ms_p95"]) == (17_000, 340)
