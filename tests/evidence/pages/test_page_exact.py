"""Figures of a page and of what happens between pages, worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida.evidence.pages import Increases, between, read_page
from cabida.evidence.pages import page as reading


def test_buckets_are_of_the_engine_of_the_page_and_of_the_model_asked_for():
    text = "".join(
        f'vllm:time_to_first_token_seconds_bucket{{engine="{engine}",model_name="{model}",le="{le}"}} {count}\n'
        for engine, model, le, count in (
            (0, "a", "0.1", 2), (0, "a", "+Inf", 5), (1, "a", "0.1", 1), (1, "a", "+Inf", 4), (0, "b", "0.1", 7),
            (0, "b", "+Inf", 9),
        )
    )  # fmt: skip
    text += 'vllm:num_requests_running{engine="0",model_name="a"} 1\n' * 3
    text += (
        'vllm:time_to_first_token_seconds_sum{model_name="a"} 3\nvllm:time_to_first_token_seconds_count 9\n'
    )
    text += 'tgi_request_duration_bucket{le="0.5"} 100\ntgi_request_duration_sum 4\n'
    page = read_page(text, buckets=True)
    assert page.engine == "vllm"
    assert page.buckets("ttft_s") == [(0.1, 10), (float("inf"), 18)]
    assert page.buckets("ttft_s", "a") == [(0.1, 3), (float("inf"), 9)]
    assert page.buckets("ttft_s", "b") == [(0.1, 7), (float("inf"), 9)]
    assert page.buckets("e2e_s") == []  # of another engine
    assert page.buckets("itl_s") == []
    assert read_page(text).buckets("ttft_s") == []


def test_of_several_processes_behind_one_page_the_youngest_says_when_it_began_again():
    increases = Increases()
    page = (
        'process_start_time_seconds{{pid="1"}} 1000\nprocess_start_time_seconds{{pid="2"}} {}\n'
        'vllm:generation_tokens_total{{model_name="m"}} {}\n'
    )
    for start, shown in ((2000.0, 50), (2000.4, 60), (3000.0, 65), (3000.0, 70)):
        found = increases.add(read_page(page.format(start, shown)))
    assert increases.restarts_count == 1
    # 65 after the restart is all its own although it is more than the 60 before it
    assert found["generation_tokens"] == 10 + 65 + 5


def test_cards_have_their_number_or_their_place():
    power = 'DCGM_FI_DEV_POWER_USAGE{{gpu="{}"}} {}\n'
    values = read_page("".join(power.format(card, watts) for card, watts in ((0, 100), (12, 200)))).values()
    assert (values["gpu.0.power_w"], values["gpu.12.power_w"]) == (100, 200)
    named = read_page(
        "".join(power.format(card, watts) for card, watts in (("123456", 100), ("b", 200)))
    ).values()
    assert (named["gpu.0.power_w"], named["gpu.1.power_w"]) == (200, 100)  # shorter names first


def test_a_page_too_long_or_with_too_many_lines_is_read_to_there(monkeypatch):
    line = 'vllm:num_requests_running{{engine="{}"}} 1\n'
    text = "".join(line.format(at) for at in range(100))
    assert read_page(text).values()["running_count"] == 100
    assert not read_page(text).truncated
    monkeypatch.setattr(reading, "PAGE_BYTES_MOST", len(line.format(0)) * 10)
    cut = read_page(text)
    assert cut.truncated
    assert cut.values()["running_count"] == 10
    monkeypatch.undo()
    assert reading.PAGE_BYTES_MOST == 16 << 20
    monkeypatch.setattr(reading, "LINES_MOST", 7)
    few = read_page(text)
    assert (few.truncated, few.lines_count, few.values()["running_count"]) == (True, 7, 7)


@given(st.integers(1, 5000), st.sampled_from([1, 16, 128]), st.floats(0.0, 1.0))
def test_what_follows_from_blocks_and_shares_is_consistent(blocks, size, share):
    text = (
        f'vllm:cache_config_info{{block_size="{size}",num_gpu_blocks="{blocks}",engine="0"}} 1\n'
        f'vllm:kv_cache_usage_perc{{engine="0"}} {share}\n'
    )
    values = read_page(text).values()
    assert values["kv_tokens"] == blocks * size
    assert values["kv_used_tokens"] == pytest.approx(share * blocks * size)
    alone = read_page(f'vllm:kv_cache_usage_perc{{engine="0"}} {share}\n').values()
    assert {"kv_tokens", "kv_used_tokens"} & alone.keys() == set()


@given(st.integers(0, 50), st.integers(0, 50), st.floats(0, 10), st.floats(0, 10))
def test_a_mean_between_two_moments_is_of_what_was_observed_between(first, second, had, more):
    before = {"ttft_s.count": float(first), "ttft_s.sum": had, "generation_tokens": 10.0}
    after = {"ttft_s.count": float(first + second), "ttft_s.sum": had + more, "generation_tokens": 13.0}
    found = between(before, after)
    assert found["generation_tokens"] == 3.0
    if second:
        assert found["ttft_s.mean"] == pytest.approx(more / second, abs=1e-9)
        assert found["ttft_s.count"] == second
    else:
        assert "ttft_s.mean" not in found
    again = between(after, {"ttft_s.count": 2.0, "ttft_s.sum": 1.0, "generation_tokens": 4.0})
    if first + second > 2:  # it began again in between
        assert again["ttft_s.mean"] == 0.5
    assert again["generation_tokens"] == 4.0
