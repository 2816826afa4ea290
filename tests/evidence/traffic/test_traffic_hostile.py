"""Logs are somebody else's: broken, huge, packed, mixed, or meant to do harm; and what users wrote is never shown."""

import gzip
import json
import os
import random
import stat

import pytest
import traffic_samples as samples
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cabida import traffic
from cabida.bench.load.texts import texts
from cabida.brief.trace import read_trace
from cabida.errors import CabidaError, InvalidInput
from cabida.evidence.traffic import reading
from cabida.faces.cli import cli

PLAIN = {"files", "notes", "trace", "prompts"}


def written(tmp_path, text, name="log"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    os.utime(path, (samples.T0 + 3600,) * 2)
    return path


def figures(answer):
    return json.dumps(answer["traffic"], sort_keys=True)


def many(count=400, seed=1):
    """Requests of a proxy, with retries, failures, like prompts and like moments."""
    random_ = random.Random(seed)
    rows = []
    for _ in range(count):
        status = random_.choice([200, 200, 200, 429, 503])
        text = random_.choice(["hello " * 60, f"question {random_.randrange(50)} " * 40])
        rows.append(
            {
                "timestamp": samples.iso(random_.randrange(4000)),
                "request": {
                    "model": random_.choice(["small", "large"]),
                    "messages": [{"role": "user", "content": text}],
                },
                "response": {
                    "usage": {
                        "prompt_tokens": random_.randrange(1, 900),
                        "completion_tokens": random_.randrange(1, 90),
                    }
                },
                "status_code": status,
                "duration_ms": random_.randrange(5000),
                "id": f"id-{random_.randrange(count * 4)}",
            }
        )
    return [json.dumps(row) for row in rows]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.randoms(use_true_random=False))
def test_the_order_of_lines_changes_nothing(tmp_path, shuffled):
    lines = many()
    before = figures(traffic([written(tmp_path, "\n".join(lines))]))
    shuffled.shuffle(lines)
    assert figures(traffic([written(tmp_path, "\n".join(lines))])) == before


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 399), st.booleans())
def test_a_log_in_two_files_says_the_same_in_any_order(tmp_path, place, turned):
    lines = many()
    before = figures(traffic([written(tmp_path, "\n".join(lines))]))
    parts = [
        written(tmp_path, "\n".join(lines[:place]), "a"),
        written(tmp_path, gzip.compress("\n".join(lines[place:]).encode()), "b.gz"),
    ]
    assert figures(traffic(parts[::-1] if turned else parts)) == before


def nginx(count, step_s=1):
    from datetime import UTC, datetime

    stamps = (datetime.fromtimestamp(samples.T0 + place * step_s, UTC) for place in range(count))
    return [
        f'10.0.0.1 - - [{one:%d/%b/%Y:%H:%M:%S} +0000] "POST /v1/completions HTTP/1.1" 200 5 "-" "x"'
        for one in stamps
    ]


def test_rotated_files_that_overlap_count_once(tmp_path):
    lines = nginx(300)
    whole = figures(traffic([written(tmp_path, "\n".join(lines))]))
    answer = traffic(
        [written(tmp_path, "\n".join(lines[:200]), "a.1"), written(tmp_path, "\n".join(lines[150:]), "a")]
    )
    [one] = answer["traffic"]
    assert (one["twice_count"], one["requests_count"]) == (50, 300)
    assert one["requests_per_s"] == json.loads(whole)[0]["requests_per_s"]
    with pytest.raises(InvalidInput, match="CB-I006"):
        traffic([written(tmp_path, "\n".join(lines), "a"), written(tmp_path, "\n".join(lines), "b")])


def test_malformed_lines_are_counted_and_shown_and_most_of_them_are_fatal(tmp_path):
    lines = nginx(100)
    lines[10] = "nonsense \x1b[31m"
    lines[20] = lines[20].replace("/Nov/", "/Now/")
    answer = traffic([written(tmp_path, "\n".join(lines))])
    assert answer["files"][0]["malformed_count"] == 2
    assert [one["line"] for one in answer["files"][0]["faults"]] == [11, 21]
    assert any("2 lines" in note for note in answer["notes"])
    assert "\x1b" not in json.dumps(answer)
    with pytest.raises(InvalidInput, match="CB-I004"):
        traffic([written(tmp_path, "\n".join(lines[:5] + ["x"] * 50))])


def test_a_clock_that_steps_back_and_a_far_time_do_no_harm(tmp_path):
    lines = (
        nginx(200)
        + nginx(50)
        + [nginx(1)[0].replace("/2026:", "/1899:"), nginx(1)[0].replace("/2026:", "/9999:")]
    )
    [one] = traffic([written(tmp_path, "\n".join(lines))])["traffic"]
    assert one["requests_count"] == 250
    assert one["days"] < 1


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n\n  \n",
        b"hello\n",
        b"\x00\x01\x02" * 100,
        b"{}",
        b"[]",
        b'{"a": 1}\n',
        b"[[[[[[[[[[",
        b"[" * 100_000,
        b'{"usage": {"prompt_tokens": 1}}',
        b"a,b,c\n1,2,3\n",
        b"<html><body>login</body></html>",
        b"\x28\xb5\x2f\xfd1234",
        b"\x1f\x8bnot gzip at all",
        gzip.compress(b"x" * 1000, mtime=0)[:-12],
        json.dumps([{"startTime": "x", "call_type": "y"}]).encode(),
    ],
)
def test_what_is_no_log_is_refused_with_a_code(tmp_path, text):
    with pytest.raises(CabidaError, match=r"CB-I0\d\d"):
        traffic([written(tmp_path, text)])


def test_what_isnt_there_is_refused(tmp_path):
    for path in (tmp_path / "none", tmp_path, "/dev/zero"):
        with pytest.raises(InvalidInput, match="CB-I001"):
            traffic([path])
    with pytest.raises(InvalidInput, match="CB-I005"):
        traffic([written(tmp_path, samples.NGINX)], format="nginy")
    with pytest.raises(InvalidInput, match="CB-I008"):
        traffic([written(tmp_path, samples.NGINX)], timezone="Europe/Madird")
    with pytest.raises(InvalidInput, match="CB-I009"):
        traffic([written(tmp_path, samples.NGINX)], from_="tomorrow")


def test_a_packed_file_that_unpacks_without_end_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "UNPACKED_BYTES_FREE", 2**20)
    monkeypatch.setattr(reading, "UNPACKED_RATIO_MOST", 2)
    path = written(tmp_path, gzip.compress("\n".join(nginx(1) * 200_000).encode()))
    with pytest.raises(InvalidInput, match="CB-I001"):
        traffic([path])


def test_a_line_without_end_is_one_fault(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LINE_BYTES_MOST", 2**20)
    monkeypatch.setattr(reading, "BLOCK_BYTES", 2**16)
    text = "\n".join([*nginx(9000), "x" * 5_000_000, *nginx(10)])
    answer = traffic([written(tmp_path, text)])
    assert (answer["files"][0]["malformed_count"], answer["files"][0]["requests_count"]) == (1, 9010)


def test_too_many_requests_are_refused(tmp_path, monkeypatch):
    from cabida.evidence.traffic import columns

    monkeypatch.setattr(columns, "REQUESTS_MOST", 50)
    with pytest.raises(InvalidInput, match="CB-I003"):
        traffic([written(tmp_path, "\n".join(nginx(60)))])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([samples.openai_pairs(), samples.litellm_spend(), samples.LITELLM_CSV, samples.kong(), samples.VLLM,
                     samples.SGLANG, samples.HAPROXY, samples.OPENROUTER, samples.envoy(), samples.langfuse()]),
    st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=6)), min_size=1, max_size=8),
)  # fmt: skip
def test_broken_bytes_end_in_figures_or_a_code(tmp_path, text, cuts):
    broken = bytearray(text.encode())
    for share, with_ in cuts:
        place = int(share * len(broken))
        broken[place : place + len(with_)] = with_
    try:
        answer = traffic([written(tmp_path, bytes(broken))])
    except CabidaError as refused:
        codes = [one.code for one in refused.problems]
        if not codes[0].startswith("CB-I"):
            pytest.fail(str(codes))
    else:
        json.dumps(answer, allow_nan=False)


def test_odd_values_of_rows_are_no_figures(tmp_path):
    rows = [json.loads(line) for line in many(20)]
    odd = [-5, 1e30, "NaN", None, True, [], {"a": 1}, "12x", float("inf")]
    for place, value in enumerate(odd):
        rows[place]["response"] = {"usage": {"prompt_tokens": value, "completion_tokens": value}}
        rows[place]["duration_ms"] = value
        rows[place]["status_code"] = value
        rows[place]["request"]["model"] = value
    [*told] = traffic([written(tmp_path, "".join(json.dumps(row) + "\n" for row in rows))])["traffic"]
    for one in told:
        spread = one["input_tokens"]
        assert spread is None or 0 <= spread["most"] < 1000


def test_names_of_models_drive_no_terminal_and_are_bounded(tmp_path):
    rows = [json.loads(line) for line in many(20)]
    rows[0]["request"]["model"] = "\x1b[2J evil\u202e"
    rows[1]["request"]["model"] = "m" * 10_000
    path = written(tmp_path, "".join(json.dumps(row) + "\n" for row in rows))
    done = CliRunner().invoke(cli, ["traffic", str(path)])
    assert done.exit_code == 0
    assert "\x1b" not in done.output
    assert "\u202e" not in done.output
    assert "m" * 300 not in done.output.replace("\n", "")


SECRETS = (
    samples.openai_pairs(),
    samples.litellm_callback(),
    samples.helicone(),
    samples.VLLM,
    samples.SGLANG,
)


@pytest.mark.parametrize("text", SECRETS)
@pytest.mark.parametrize("words", [[], ["--json"]])
def test_prompts_are_nowhere_unless_asked_for(tmp_path, text, words, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, text)
    done = CliRunner().invoke(cli, ["traffic", str(path), *words])
    assert done.exit_code == 0, done.output
    assert samples.SECRET not in done.output
    assert [one.name for one in tmp_path.iterdir()] == ["log"]


def test_prompts_asked_for_are_what_a_benchmark_asks_again(tmp_path):
    path, out = written(tmp_path, samples.openai_pairs()), tmp_path / "prompts.jsonl"
    answer = traffic([path], keep_prompts=out)
    assert answer["prompts"]["count"] == 5
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    deck = texts(str(out), "jsonl")
    assert len(deck) == 5
    assert deck.at(1) == ("", ({"role": "user", "content": samples.SECRET},), 10)
    assert samples.SECRET not in repr(answer)
    with pytest.raises(InvalidInput, match="CB-I024"):
        traffic([written(tmp_path, samples.NGINX, "n")], keep_prompts=tmp_path / "none.jsonl")
    assert not (tmp_path / "none.jsonl").exists()
    with pytest.raises(InvalidInput, match="CB-R014"):
        traffic([path], keep_prompts=path)


def test_a_trace_is_what_speed_replays(tmp_path):
    path, out = written(tmp_path, samples.openai_batch()), tmp_path / "trace.csv"
    traffic([path], trace=out)
    assert read_trace(out) == [(0.0, 100.0, 20.0), (2.0, 300.0, 40.0)]
    with pytest.raises(InvalidInput, match="CB-I025"):
        traffic([written(tmp_path, samples.NGINX, "n")], trace=tmp_path / "t")


def test_only_the_time_that_is_asked_for(tmp_path):
    path = written(tmp_path, "\n".join(nginx(48, 3600)))
    assert traffic([path], from_="2026-12-01", until="2026-12-01")["traffic"][0]["requests_count"] == 24
    assert traffic([path], until="2026-11-30T22:00:00+00:00")["traffic"][0]["requests_count"] == 2
    with pytest.raises(InvalidInput, match="CB-I022"):
        traffic([path], from_="2027-01-01")


@pytest.mark.parametrize("language", ["en", "es"])
def test_help_and_a_screen_in_both_languages(tmp_path, language):
    shown = CliRunner().invoke(cli, ["--lang", language, "traffic", "--help"])
    assert shown.exit_code == 0
    assert "--keep-prompts" in shown.output
    for text in (samples.NGINX, samples.SGLANG, "\n".join(nginx(200_000 // 900, 900))):
        done = CliRunner().invoke(cli, ["--lang", language, "traffic", str(written(tmp_path, text))])
        assert done.exit_code == 0, done.output
        assert "traffic:" in done.output
    assert CliRunner().invoke(cli, ["traffic"]).exit_code == 2
    assert CliRunner().invoke(cli, ["traffic", "x", "--for", "soon"]).exit_code == 2


def test_standard_input_is_read(tmp_path):
    done = CliRunner().invoke(cli, ["traffic", "-", "--json"], input=samples.NGINX.encode())
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["traffic"][0]["requests_count"] == 3


@pytest.mark.parametrize(
    "piece", ['"', '\\"', "[", "1.125 ", "v1", "/v11", ":1 [", "a:1 [30/Nov/2026", "{", " rt=", "'x': "]
)
def test_no_line_takes_long_however_it_is_made(tmp_path, piece):
    odd = piece * (60_000 // len(piece))
    start = '10.0.0.1 - - [30/Nov/2026:20:00:00 +0000] "POST /v1/completions'
    lines = [
        odd,
        f"{start}{odd}",
        f'{start} HTTP/1.1" 200 5 "-" "x" {odd}',
        f'{start} HTTP/1.1" 200 5 "{odd}',
    ]
    with pytest.raises(InvalidInput):
        traffic([written(tmp_path, "\n".join(lines[:1] * 20))])
    traffic([written(tmp_path, "\n".join(nginx(300) + lines * 20))])
    path = written(tmp_path, samples.VLLM + "\n".join(lines * 5) + "\n" + samples.VLLM)
    traffic([path], format="vllm")
    traffic(
        [written(tmp_path, samples.HAPROXY + "\n".join([*lines, f"x:1 [30/Nov/2026:20:00:00.000] {odd}"]))],
        format="haproxy",
    )


def test_prompts_of_megabytes_are_read_in_lines_and_in_a_list(tmp_path):
    rows = [json.loads(line) for line in many(12)]
    for row in rows:
        row["request"]["messages"][0]["content"] = f"{row['id']} " * 300_000
    answer = traffic([written(tmp_path, "".join(json.dumps(row) + "\n" for row in rows))])
    assert sum(one["attempts_count"] for one in answer["traffic"]) == 12
    same = traffic([written(tmp_path, json.dumps(rows))])
    assert sum(one["attempts_count"] for one in same["traffic"]) == 12
    for text in (json.dumps(rows, indent=2), json.dumps({"data": rows})):
        assert figures(traffic([written(tmp_path, text)])) == figures(same)


def test_a_rotated_file_may_begin_and_end_within_a_line(tmp_path):
    lines = many(50)
    text = "\n".join([lines[0][40:], *lines[1:-1], lines[-1][:40]])
    answer = traffic([written(tmp_path, text)])
    assert answer["files"][0]["malformed_count"] == 2
    assert sum(one["attempts_count"] for one in answer["traffic"]) == 48
