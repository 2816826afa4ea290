"""Metrics pages of every engine under names of our own; nothing that a page lacks is made up."""

import json

import metric_pages as pages
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics

from cabida.errors import InvalidInput
from cabida.evidence.pages import Increases, between, labels_of, prefix_hit_ratio, read_page
from cabida.evidence.pages import page as reading
from cabida.evidence.pages.table import nearest, ours, plain, spellings, told


def test_vllm():
    page = read_page(pages.VLLM, buckets=True)
    values = page.values()
    assert (page.engine, page.missing, page.models, page.broken_count) == ("vllm", (), ("small",), 0)
    assert values["running_count"] == 3
    assert (values["waiting_count"], values["waiting_capacity_count"]) == (2, 2)
    assert values["kv_used_ratio"] == 0.25
    assert values["kv_tokens"] == 16 * 1000
    assert values["kv_used_tokens"] == 4000
    assert values["preemptions_count"] == 1
    assert values["requests_ended_count"] == 10
    assert values["requests_ended_count.length"] == 6
    assert (values["ttft_s.sum"], values["ttft_s.count"]) == (1.5, 10)
    assert page.buckets("ttft_s") == [(0.1, 6), (float("inf"), 10)]
    assert values["gpu_share_ratio"] == 0.92
    assert "swapped_count" not in values


def test_names_of_before_and_of_gateways():
    old = read_page(pages.VLLM_V0)
    assert (old.engine, old.missing) == ("vllm", ())
    assert old.values()["kv_used_ratio"] == 0.5
    assert old.values()["itl_s.count"] == 20
    ray = read_page(pages.VLLM.replace("vllm:", "ray_vllm_"))
    assert ray.values() == read_page(pages.VLLM).values()
    assert read_page(pages.VLLM.replace("vllm:", "vllm_")).values() == ray.values()


def test_the_newest_of_two_spellings_counts_once():
    both = pages.VLLM + 'vllm:gpu_cache_usage_perc{engine="0",model_name="small"} 0.9\n'
    assert read_page(both).values()["kv_used_ratio"] == 0.25


def test_sglang_copies_and_parts_of_totals_are_not_added_up():
    page = read_page(pages.SGLANG)
    values = page.values()
    assert (page.engine, page.missing) == ("sglang", ())
    assert values["running_count"] == 7  # two ranks tell the same seven
    assert values["waiting_count"] == 5  # the total, not the total and its priorities
    assert values["kv_used_ratio"] == 0.6  # of full attention, where both are there
    assert values["preemptions_count"] == 4
    assert values["kv_used_tokens"] == 60_000
    assert prefix_hit_ratio(values, "sglang") == 0.25


def test_llama_cpp():
    page = read_page(pages.LLAMA)
    assert (page.engine, page.missing) == ("llama.cpp", ())
    assert page.values()["running_count"] == 2
    assert prefix_hit_ratio(page.values(), "llama.cpp") == 0.25  # what was cached is not in its prompt tokens
    assert page.value("kv_used_ratio") is None


def test_tensorrt_llm_alone_and_in_triton():
    page = read_page(pages.TRTLLM)
    assert (page.engine, page.missing) == ("tensorrt-llm", ())
    assert page.values()["kv_tokens"] == 32_000
    triton = read_page(pages.TRITON)
    assert triton.engine == "triton-tensorrt-llm"
    assert triton.missing == ()
    assert triton.values()["kv_used_ratio"] == 0.25
    assert triton.values()["kv_tokens"] == 25_600
    assert triton.values()["running_count"] == 3


def test_tgi():
    page = read_page(pages.TGI)
    assert (page.engine, page.missing) == ("tgi", ())
    assert page.values()["e2e_s.count"] == 148


def test_dcgm_blanks_are_nothing_and_units_are_ours():
    values = read_page(pages.DCGM).values()
    assert values["gpu.0.power_w"] == 310.5
    assert values["gpu.0.memory_used_bytes"] == 2**30
    assert values["gpu.1.memory_used_bytes"] == 2**31
    assert values["gpu.0.energy_j"] == 5
    assert values["gpu.0.clock_hz"] == 1.98e9
    assert values["gpu.0.busy_ratio"] == pytest.approx(0.97)
    assert "gpu.1.power_w" not in values
    assert "gpu.1.busy_ratio" not in values


def test_an_engine_and_its_cards_on_one_page():
    page = read_page(pages.VLLM + pages.DCGM)
    assert page.engine == "vllm"
    assert page.values()["gpu.0.power_w"] == 310.5


def test_a_card_named_by_no_number_is_the_same_in_every_figure():
    text = (
        'nvidia_smi_memory_used_bytes{uuid="a"} 1\nnvidia_smi_memory_used_bytes{uuid="b"} 2\n'
        'nvidia_smi_power_draw_watts{uuid="b"} 300\n'
    )
    assert read_page(text).values() == {
        "gpu.0.memory_used_bytes": 1,
        "gpu.1.memory_used_bytes": 2,
        "gpu.1.power_w": 300,
    }


def test_several_engines_of_one_kind_and_models_apart():
    second = (
        pages.VLLM.replace('engine="0"', 'engine="1"').replace('"small"', '"other"').replace("0.25", "0.75")
    )
    page = read_page(pages.VLLM + second)
    assert page.models == ("other", "small")
    assert page.values()["running_count"] == 6
    assert page.values()["kv_used_ratio"] == 0.5
    assert page.values()["kv_used_ratio.most"] == 0.75
    assert page.values()["kv_tokens"] == 32_000
    assert page.values("other")["running_count"] == 3


def test_what_should_be_there_and_is_not_is_told_by_name():
    short = "\n".join(
        line for line in pages.VLLM.splitlines() if "preemptions" not in line and "kv_cache" not in line
    )
    page = read_page(short)
    assert page.missing == ("kv_used_ratio", "preemptions_count")
    with pytest.raises(InvalidInput) as told_:
        page.needed("running_count", "kv_used_ratio", "preemptions_count")
    assert "kv_used_ratio, preemptions_count" in str(told_.value)
    assert told_.value.problems[0].code == "CB-E281"
    assert page.needed("running_count", "ttft_s") == {"running_count": 3}
    assert page.value("kv_used_ratio") is None


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("num_request_running", "running_count"),
        ("vllm:num_requests_runing", "running_count"),
        ("preemptions", "preemptions_count"),
        ("kv_used", "kv_used_ratio"),
    ],
)
def test_an_unknown_name_is_an_error_with_the_nearest(asked, near):
    with pytest.raises(InvalidInput) as told_:
        read_page(pages.VLLM).value(asked)
    assert told_.value.problems[0].code == "CB-E280"
    assert near in str(told_.value)
    assert nearest(asked) == near


def test_samples_by_the_name_the_page_gives():
    page = read_page(pages.VLLM, every=True)
    assert [one.value for one in page.sample("vllm:num_requests_running")] == [3]
    assert page.sample("python_info")[0].labels["implementation"] == "CPython"
    with pytest.raises(InvalidInput) as told_:
        page.sample("vllm:num_request_running")
    assert "vllm:num_requests_running" in str(told_.value)


def test_pages_that_the_reference_library_writes_in_both_formats():
    registry = CollectorRegistry()
    labels = ["model_name", "engine"]
    who = {"model_name": 'a "b" \\ c {x} # {y="1"} 2\n', "engine": "0"}
    Gauge("vllm:num_requests_running", "now", labels, registry=registry).labels(**who).set(5)
    Counter("vllm:generation_tokens", "so far", labels, registry=registry).labels(**who).inc(1234)
    first = Histogram(
        "vllm:time_to_first_token_seconds", "s", labels, registry=registry, buckets=(0.1, 1)
    ).labels(**who)
    for one in (0.05, 0.5, 2.0):
        first.observe(one, {"trace_id": "abc # {"})
    for text in (generate_latest(registry).decode(), openmetrics(registry).decode()):
        page = read_page(text, buckets=True)
        values = page.values()
        assert page.broken_count == 0
        assert (values["running_count"], values["generation_tokens"]) == (5, 1234)
        assert values["ttft_s.sum"] == pytest.approx(2.55)
        assert page.buckets("ttft_s") == [(0.1, 1), (1.0, 2), (float("inf"), 3)]
        assert page.models == (who["model_name"],)


def test_a_broken_line_costs_only_itself():
    text = pages.VLLM + "vllm:num_requests_swapped{model_name=\n" + "vllm:num_preemptions_total{a=} x\n"
    page = read_page(text)
    assert page.broken_count == 2
    assert page.values() == read_page(pages.VLLM).values()


@pytest.mark.parametrize(
    "text", ["", "\n\n", "{}", "<html>", "\0" * 100, "#\n#", "vllm:", "vllm:num_requests_running NaN\n"]
)
def test_what_is_no_page_says_nothing(text):
    page = read_page(text)
    assert page.values() == {}
    assert page.engine == ""
    assert page.missing == ()


def test_a_page_is_read_in_bounds(monkeypatch):
    monkeypatch.setattr(reading, "LINES_MOST", 50)
    page = read_page("x 1\n" * 100 + pages.VLLM)
    assert (page.truncated, page.lines_count, page.values()) == (True, 50, {})
    monkeypatch.setattr(reading, "LINES_MOST", 1000)
    monkeypatch.setattr(reading, "SERIES_MOST", 10)
    many = "".join(f'vllm:num_requests_running{{engine="{at}"}} 1\n' for at in range(100))
    assert read_page(many).truncated
    assert read_page(many).values()["running_count"] == 10
    long = 'vllm:num_requests_waiting{model_name="' + "x" * 20_000 + '"} 1\n'
    assert read_page(long).broken_count == 1


def test_only_lines_of_known_metrics_are_parsed(monkeypatch):
    seen = []
    whole = reading._samples
    monkeypatch.setattr(reading, "_samples", lambda lines, page: whole(seen.extend(lines) or seen, page))
    read_page(pages.VLLM + 'http_requests_total{a="b"} 1\n' * 500)
    assert 10 < len(seen) < 25
    assert not any("_bucket" in line or line.startswith("http") for line in seen)


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=300)
    | st.text(alphabet='vllm:num_requests_running{}"=,\\ 0123456789.e+-#\n', max_size=300)
)
def test_no_text_breaks_the_reader(text):
    for buckets in (False, True):
        page = read_page(text, buckets=buckets, every=buckets)
        page.values()
        Increases().add(page)
    labels_of(text)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(st.integers(0, 50), st.just("restart")), min_size=1, max_size=30))
def test_counters_are_followed_over_restarts(steps):
    """What a server did while pages were looked at is counted, whatever it began again at."""
    increases, shown, start, true = Increases(), 7, 1000.0, 0
    found = {}
    for step in [0, *steps]:
        if step == "restart":
            shown, start = 0, start + 100.0
        else:
            shown, true = shown + step, true + step
        text = f'process_start_time_seconds {start}\nvllm:generation_tokens_total{{model_name="m"}} {shown}\n'
        found = increases.add(read_page(text))
    assert found["generation_tokens"] == true
    assert increases.restarts_count == steps.count("restart")
    assert not increases.several


def test_restarts_without_a_start_time_show_by_counters_that_fall():
    increases = Increases()
    for shown in (100, 150, 10, 30):
        found = increases.add(read_page(f"llamacpp:tokens_predicted_total {shown}\n"))
    assert found["generation_tokens"] == 50 + 10 + 20
    assert increases.restarts_count == 1


def test_a_series_that_appears_later_counts_whole():
    increases = Increases()
    increases.add(read_page('vllm:request_success_total{finished_reason="stop"} 5\n'))
    found = increases.add(
        read_page(
            'vllm:request_success_total{finished_reason="stop"} 6\n'
            'vllm:request_success_total{finished_reason="abort"} 2\n'
        )
    )
    assert found == {
        "requests_ended_count": 3,
        "requests_ended_count.stop": 1,
        "requests_ended_count.abort": 2,
    }


def test_one_of_two_engines_that_restarts_does_not_hide_the_other():
    increases = Increases()
    page = 'vllm:generation_tokens_total{{engine="0"}} {}\nvllm:generation_tokens_total{{engine="1"}} {}\n'
    for first, second in ((100, 100), (300, 10)):
        found = increases.add(read_page(page.format(first, second)))
    assert found["generation_tokens"] == 200 + 10


@pytest.mark.parametrize("start", [True, False])
def test_servers_that_answer_in_turn_are_told_and_their_counters_are_not_believed(start):
    increases, found = Increases(), {}
    for turn in range(8):
        other = turn % 2
        text = f'vllm:generation_tokens_total{{model_name="m"}} {(100 if other else 9000) + turn}\n'
        if start:
            text += f"process_start_time_seconds {1000 + 500 * other}\n"
        found = increases.add(read_page(text))
    assert increases.several
    assert found == {}


def test_between_two_pages():
    before = read_page(pages.VLLM).values()
    text = pages.VLLM.replace(
        'seconds_count{engine="0",model_name="small"} 10.0',
        'seconds_count{engine="0",model_name="small"} 20.0',
    )
    text = text.replace(
        'seconds_sum{engine="0",model_name="small"} 1.5', 'seconds_sum{engine="0",model_name="small"} 6.5'
    )
    found = between(before, read_page(text).values())
    assert found["ttft_s.mean"] == 0.5
    assert found["ttft_s.count"] == 10
    assert found["generation_tokens"] == 0
    assert "running_count" not in found
    assert between(before, before).get("ttft_s.mean") is None  # nothing was observed: no mean, and no zero


def test_labels_that_say_who_asked():
    text = 'litellm_spend_metric_total{team="a",end_user="u1",model="m"} 3\nlitellm_spend_metric_total{team="b"} 1\n'
    assert labels_of(text) == {"end_user": ("u1",), "model": ("m",), "team": ("a", "b")}
    assert len(labels_of("".join(f'x{{user="{n}"}} 1\n' for n in range(500)))["user"]) == 200


def test_the_table_is_whole():
    for key, one in told().items():
        assert one.source, key
        assert one.seen >= "2026-01-01"
        assert set(one.expected) <= set(ours())
    assert {one.kind for one in ours().values()} == {"gauge", "counter", "histogram"}
    for name, places in spellings().items():
        assert name == plain(name)
        for place in places:
            assert place.ours in ours()
            assert (
                any(name.startswith(sign) for sign in told()[place.engine].signs)
                or told()[place.engine].group == "hosts"
            )
    text = reading.__file__.replace("page.py", "names.json")
    with open(text, encoding="utf-8") as file:  # noqa: PTH123
        assert json.load(file)["ours"].keys() == ours().keys()
