"""Each log that is known, as its documentation writes it, gives the figures that stand in it."""

import gzip
import os

import pytest
import traffic_samples as samples

from cabida import traffic
from cabida.errors import InvalidInput


def told(tmp_path, text, **options):
    path = tmp_path / "log"
    path.write_text(text, encoding="utf-8")
    os.utime(path, (samples.T0 + 3600,) * 2)
    answer = traffic([path], **options)
    assert samples.SECRET not in repr(answer)
    return answer


# name -> text, format, requests, attempts, mean input, mean output, durations' mean, failed share
KNOWN = {
    "batch output": (samples.openai_batch(), "openai", 2, 2, 200, 30, None, 0.0),
    "requests and responses": (samples.openai_pairs(), "openai", 4, 5, 50, 10, 0.5, 2 / 5),
    "litellm spend logs": (samples.litellm_spend(), "litellm", 2, 3, 60, 6, 0.85, 1 / 2),
    "litellm table": (samples.LITELLM_CSV, "litellm", 2, 2, 45, 4.5, 1.0, 0.0),
    "litellm callback": (samples.litellm_callback(), "litellm", 2, 2, 10, 2, 0.625, 0.0),
    "helicone": (samples.helicone(), "helicone", 2, 2, 80, 8, 1.9, 1 / 2),
    "portkey": (samples.portkey(), "portkey", 2, 2, 70, 7, 0.8, 1 / 2),
    "langfuse": (samples.langfuse(), "langfuse", 2, 2, 100, 9, 1.0, 1 / 2),
    "openrouter": (samples.OPENROUTER, "openrouter", 2, 2, 125, 200, 1.45, 1 / 2),
    "kong": (samples.kong(), "kong", 2, 2, 11, 5, 1.5, 1 / 2),
    "envoy": (samples.envoy(), "envoy", 2, 2, 33, 12, 0.9, 1 / 2),
    "access json": (samples.access_json(), "access", 2, 2, None, None, 1.5, 1 / 2),
    "nginx": (samples.NGINX, "nginx", 3, 3, None, None, None, 2 / 3),
    "nginx with times": (samples.NGINX_TIMED, "nginx", 3, 3, None, None, 2.625, 0.0),
    "haproxy": (samples.HAPROXY, "haproxy", 3, 3, None, None, (0.109 + 2.1 + 0.005) / 3, 2 / 3),
    "vllm": (samples.VLLM, "vllm", 2, 2, 3, 3, 3.0, 0.0),
    "sglang": (samples.SGLANG, "sglang", 2, 2, 32, 5, 1.0, 1 / 2),
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_log_is_told_and_read(name, tmp_path):
    text, format_, requests, attempts, asked, answered, lasted, failed = KNOWN[name]
    answer = told(tmp_path, text)
    [one] = answer["traffic"]
    assert answer["files"][0]["format"] == format_
    assert answer["files"][0]["malformed_count"] == 0
    assert (one["requests_count"], one["attempts_count"]) == (requests, attempts)
    for field, wanted in (("input_tokens", asked), ("output_tokens", answered)):
        assert (one[field] and one[field]["mean"]) == (wanted and pytest.approx(wanted)), field
    assert (one["duration_s"] and one["duration_s"]["mean"]) == (lasted and pytest.approx(lasted, rel=1e-3))
    assert one["ends"]["failed_ratio"] == pytest.approx(failed)
    assert one["from"].startswith(("2026-11-30T20:00:0", "2026-11-30T19:59:5"))


@pytest.mark.parametrize("name", KNOWN)
def test_a_format_may_be_named_and_a_file_packed(name, tmp_path):
    text, format_, requests, *_ = KNOWN[name]
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(text.encode()))
    os.utime(path, (samples.T0 + 3600,) * 2)
    assert traffic([path], format=format_)["traffic"][0]["requests_count"] == requests


def test_a_web_log_without_its_duration_arrives_when_it_was_written_and_else_before(tmp_path):
    assert told(tmp_path, samples.NGINX)["traffic"][0]["from"] == "2026-11-30T20:00:02Z"
    assert told(tmp_path, samples.NGINX_TIMED)["traffic"][0]["from"] == "2026-11-30T20:00:05Z"


def test_other_paths_are_left_out_and_told_without_what_stands_behind_them(tmp_path):
    answer = told(tmp_path, samples.NGINX)
    assert answer["files"][0]["others"] == {"/health": 1}
    assert any("/health" in note for note in answer["notes"])
    assert told(tmp_path, samples.NGINX, paths=["/health"])["traffic"][0]["requests_count"] == 1
    with pytest.raises(InvalidInput) as refused:
        told(
            tmp_path, samples.NGINX.replace("/v1/chat/completions", "/ask").replace("/v1/completions", "/ask")
        )
    assert refused.value.problems[0].code == "CB-I023"
    assert samples.SECRET not in str(refused.value)


def test_times_without_a_zone_are_of_the_zone_that_is_named(tmp_path):
    told_ = told(tmp_path, samples.HAPROXY, log_timezone="Europe/Madrid")
    assert told_["traffic"][0]["from"].startswith("2026-11-30T19:00:00")
    assert any("--log-timezone" in note for note in told_["notes"])
    assert told(tmp_path, samples.VLLM, log_timezone="America/Mexico_City")["traffic"][0]["from"].startswith(
        "2026-"
    )


def test_a_stamp_without_a_year_is_the_last_such_before_the_file_was_written(tmp_path):
    path = tmp_path / "log"
    path.write_text(samples.VLLM.replace(" 11-30 ", " 12-31 "), encoding="utf-8")
    os.utime(path, (samples.T0,) * 2)
    assert traffic([path])["traffic"][0]["from"].startswith("2025-12-31")


def test_cached_tokens_are_the_share_that_is_said(tmp_path):
    answer = told(tmp_path, samples.SGLANG)["traffic"][0]["prefix"]
    assert answer["how"] == "cached"
    assert answer["ratio"] == pytest.approx(12 / 64)
    assert told(tmp_path, samples.langfuse())["traffic"][0]["prefix"]["ratio"] == pytest.approx(0.6)


def test_retries_follow_a_failure_with_the_same_body(tmp_path):
    [one] = told(tmp_path, samples.openai_pairs())["traffic"]
    assert one["retries_count"] == 1
    assert one["retry_ratio"] == pytest.approx(1 / 5)
    assert one["repeats_count"] == 1
    assert one["ends"]["limited_ratio"] == pytest.approx(1 / 5)
    assert one["ends"]["cut_ratio"] == pytest.approx(1 / 5)


def test_the_same_id_counts_once(tmp_path):
    [one] = told(tmp_path, samples.litellm_spend())["traffic"]
    assert one["twice_count"] == 1


def test_models_are_told_apart_and_together(tmp_path):
    text = samples.portkey() + samples.portkey().replace('"small"', '"large"').replace('"p', '"q')
    answer = told(tmp_path, text)
    assert {one["model"] for one in answer["traffic"]} == {"small", "large"}
    assert told(tmp_path, text, models=["small"])["traffic"][0]["requests_count"] == 2
    assert told(tmp_path, text, models=["small", "large"])["traffic"][0]["requests_count"] == 4
    with pytest.raises(InvalidInput, match="CB-I020"):
        told(tmp_path, text, models=["smaller"])


def test_what_the_gateway_answered_itself_is_in_no_rate(tmp_path):
    rows = samples.litellm_callback() + samples.litellm_callback().replace('"x', '"y').replace(
        '"status"', '"cache_hit": true, "status"'
    )
    answer = told(tmp_path, rows)
    assert answer["traffic"][0]["requests_count"] == 2
    assert answer["files"][0]["gateway_cached_count"] == 2
