"""Metrics of an engine - a page, several, an address, what Prometheus kept - as traffic; unknown names are refused."""

import http.server
import json
import os
import threading

import pytest
import traffic_samples as samples

from cabida import traffic
from cabida.errors import EndpointFailed, InvalidInput


def page(requests=0, scale=1.0, model="small", started=samples.T0 - 1000):
    """A page of vLLM after so many requests, prompts of 1000 and answers of 200 tokens."""
    buckets = "".join(
        f'vllm:request_prompt_tokens_bucket{{le="{bound}",model_name="{model}"}} {requests * share}\n'
        for bound, share in (("500", 0.1), ("1000", 0.5), ("2000", 0.9), ("5000", 1.0), ("+Inf", 1.0))
    )
    return f"""\
process_start_time_seconds {started}
vllm:num_requests_running{{model_name="{model}"}} 3.0
vllm:num_requests_waiting{{model_name="{model}"}} 1.0
vllm:prompt_tokens_total{{model_name="{model}"}} {requests * 1000}
vllm:generation_tokens_total{{model_name="{model}"}} {requests * 200}
vllm:prefix_cache_queries_total{{model_name="{model}"}} {requests * 1000}
vllm:prefix_cache_hits_total{{model_name="{model}"}} {requests * 400}
vllm:request_success_total{{finished_reason="stop",model_name="{model}"}} {requests * 0.9}
vllm:request_success_total{{finished_reason="abort",model_name="{model}"}} {requests * 0.1}
vllm:e2e_request_latency_seconds_sum{{model_name="{model}"}} {requests * 4.0}
vllm:e2e_request_latency_seconds_count{{model_name="{model}"}} {requests}
vllm:request_prompt_tokens_sum{{model_name="{model}"}} {requests * 1000}
vllm:request_prompt_tokens_count{{model_name="{model}"}} {requests}
{buckets}"""


def saved(tmp_path, name, text, at_s):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    os.utime(path, (at_s, at_s))
    return path


def test_two_saved_pages_give_what_came_between_them(tmp_path):
    first = saved(tmp_path, "a", page(100), samples.T0)
    second = saved(tmp_path, "b", page(1300), samples.T0 + 600)
    for given in ([first, second], [second, first]):
        [one] = traffic(given)["traffic"]
        assert one["requests_count"] == 1200
        assert one["requests_per_s"]["mean"] == pytest.approx(2.0)
        assert one["input_tokens"]["mean"] == pytest.approx(1000)
        assert one["input_tokens"]["p50"] == pytest.approx(1000, rel=0.05)
        assert one["output_tokens"]["mean"] == pytest.approx(200)
        assert one["output_tokens"]["p50"] is None
        assert one["prefix"]["ratio"] == pytest.approx(0.4)
        assert one["ends"]["cut_ratio"] == pytest.approx(0.1)
        assert one["concurrency"]["mean"] == pytest.approx(8.0)
        assert one["burst"] is None
    assert "output_tokens: {mean: 200}" in one["yaml"]


def test_one_page_gives_means_since_the_engine_began(tmp_path):
    [one] = traffic([saved(tmp_path, "a", page(500), samples.T0)])["traffic"]
    assert one["requests_per_s"]["mean"] == pytest.approx(0.5)
    assert one["requests_per_s"]["peak"] is None
    assert one["profile"]["weights"] == []
    assert one["since_start"]


def test_models_of_a_page_are_told_apart(tmp_path):
    both = page(100) + page(300, model="large")
    answer = traffic([saved(tmp_path, "a", both, samples.T0)])
    assert {one["model"]: one["requests_count"] for one in answer["traffic"]} == {"small": 100, "large": 300}
    [one] = traffic([saved(tmp_path, "a", both, samples.T0)], models=["large"])["traffic"]
    assert one["requests_count"] == 300


def test_a_page_of_no_engine_is_refused_with_what_it_has(tmp_path):
    text = "# TYPE my_requests counter\nmy_requests_total 12\nmy_tokens_total 40\n"
    with pytest.raises(InvalidInput, match="CB-I010") as refused:
        traffic([saved(tmp_path, "a", text, samples.T0)])
    assert "my_requests_total" in str(refused.value)


def matrix(*series):
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": list(series)}})


def counted(name, step_s, values, **labels):
    return {
        "metric": {"__name__": name, "model_name": "small", **labels},
        "values": [[samples.T0 + place * step_s, str(value)] for place, value in enumerate(values)],
    }


def test_a_range_query_gives_the_hours_of_the_day(tmp_path):
    by_hour = [10 + 50 * (8 <= hour < 18) for hour in range(24)] * 3
    totals, so_far = [0], 0
    for requests in by_hour:
        for _ in range(4):
            so_far += requests
            totals.append(so_far)
    text = matrix(
        counted("vllm:request_success_total", 900, totals, finished_reason="stop"),
        counted("vllm:prompt_tokens_total", 900, [one * 700 for one in totals]),
    )
    path = saved(tmp_path, "a.json", text, samples.T0)
    [one] = traffic([path])["traffic"]
    weights = one["profile"]["weights"]
    assert len(weights) == 24
    hours = [(20 + hour) % 24 for hour in range(24)]  # the query begins at 20 h
    assert [weights[hour] for hour in hours] == pytest.approx([w / (sum(by_hour) / 72) for w in by_hour[:24]])
    assert one["requests_per_s"]["peak"] == pytest.approx(60 / 900)
    assert one["input_tokens"]["mean"] == pytest.approx(700)


def test_a_restart_and_a_hole_of_prometheus_lose_no_count_and_make_no_zero(tmp_path):
    series = counted("vllm:request_success_total", 60, [1000, 1010, 1020, 5, 15, 25])
    series["values"] += [[samples.T0 + 7200 + 60 * place, str(25 + 10 * place)] for place in range(1, 4)]
    [one] = traffic([saved(tmp_path, "a.json", matrix(series), samples.T0)])["traffic"]
    assert one["restarts_count"] == 1
    assert one["holes_count"] == 1
    assert one["requests_per_s"]["mean"] == pytest.approx(65 / 420)


@pytest.mark.parametrize("name", ["vllm:request_succes_total", "http_requests_total", ""])
def test_an_unknown_metric_is_refused_and_never_taken_for_another(tmp_path, name):
    text = matrix(counted("vllm:request_success_total", 60, [1, 2]), counted(name, 60, [1, 2]))
    with pytest.raises(InvalidInput, match="CB-I011"):
        traffic([saved(tmp_path, "a.json", text, samples.T0)])


@pytest.mark.parametrize(
    "text",
    [
        '{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"2"]}]}}',
        '{"status":"success","data":{"resultType":"matrix","result":[]}}',
        '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"vllm:request_success_total"},"values":["x",[1],[null,"y"]]}]}}',
        '{"status":"success","data":{"resultType":"matrix","result":[3]}}',
    ],
)
def test_an_answer_without_a_matrix_is_refused(tmp_path, text):
    with pytest.raises(InvalidInput, match="CB-I012"):
        traffic([saved(tmp_path, "a.json", text, samples.T0)])


@pytest.fixture
def served():
    """A page that counts on at each reading."""
    state = {"requests": 0, "status": 200}

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            state["requests"] += 5
            text = page(state["requests"]).encode()
            self.send_response(state["status"])
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/metrics", state
    server.shutdown()
    server.server_close()


def test_an_address_is_read_again_and_again(served):
    url, _ = served
    answer = traffic([url], for_s=0.5, sleep=lambda _: None)
    [one] = answer["traffic"]
    assert one["readings_count"] > 2
    assert one["requests_count"] == 5 * (one["readings_count"] - 1)
    assert one["requests_per_s"]["mean"] is None  # half a second tells no rate


def test_an_address_that_gives_no_page_is_told(served):
    url, state = served
    state["status"] = 500
    with pytest.raises(EndpointFailed, match="500"):
        traffic([url])
    with pytest.raises(EndpointFailed, match="CB-I021"):
        traffic(["http://127.0.0.1:9/metrics"])


def test_what_doesnt_go_together_is_refused(tmp_path, served):
    log = tmp_path / "log"
    log.write_text(samples.NGINX)
    metrics = saved(tmp_path, "a", page(1), samples.T0)
    for sources, options, code in (
        ([log, metrics], {}, "CB-I014"),
        ([served[0], log], {}, "CB-I014"),
        ([served[0], served[0]], {}, "CB-I015"),
        ([metrics], {"trace": tmp_path / "t.csv"}, "CB-I016"),
        ([served[0]], {"for_s": -1.0}, "CB-I017"),
        ([metrics], {"models": ["small", "other"]}, "CB-I020"),
    ):
        with pytest.raises(InvalidInput, match=code):
            traffic(sources, **options)
