"""The calibrated server does what a model's name asks for, and its log is what it did."""

import itertools
import json
import socket
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from cabida.bench.selfcheck.answering import prompt_tokens
from cabida.bench.selfcheck.manner import Manner, manner
from cabida.bench.selfcheck.sendlog import read_sends, read_token_times
from cabida.bench.selfcheck.starting import calibrated
from cabida.errors import EndpointFailed

FAST = "mock,ttft=3,itl=1,n=4"


@pytest.fixture(scope="module")
def server():
    with calibrated() as running:
        yield running


@pytest.fixture(autouse=True)
def _hang_up():
    yield
    while Client.opened:
        Client.opened.pop().close()


class Client:
    """A socket, and the bytes as they come."""

    opened = []

    def __init__(self, server):
        port = int(server.url.rsplit(":", 1)[1].split("/")[0])
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        Client.opened.append(self.socket)

    def send(self, data):
        self.socket.sendall(data)

    def post(self, model=FAST, path="/v1/chat/completions", name="", **more):
        said = {"model": model, "messages": [{"role": "user", "content": "x" * 400}], "stream": True,
                "stream_options": {"include_usage": True}} | more  # fmt: skip
        body = json.dumps(said).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: x\r\nX-Request-Id: {name}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self.send(head.encode() + body)

    def read(self, until=b"0\r\n\r\n"):
        """(bytes read, how the connection ended: "" = it didn't)."""
        data = b""
        while until not in data:
            try:
                more = self.socket.recv(65536)
            except ConnectionResetError:
                return data, "reset"
            if not more:
                return data, "closed"
            data += more
        return data, ""


def events(data):
    """Chunks put together, and the events in them."""
    body, rest = b"", data.split(b"\r\n\r\n", 1)[1]
    while rest:
        length, _, rest = rest.partition(b"\r\n")
        body, rest = body + rest[: int(length, 16)], rest[int(length, 16) + 2 :]
    lines = [line for line in body.decode().split("\n\n") if line]
    return [json.loads(line[6:]) if line.startswith("data: {") else line for line in lines]


def answered(server, model, until=b"0\r\n\r\n", **more):
    client = Client(server)
    client.post(model, **more)
    data, ended = client.read(until)
    client.socket.close()
    return data, ended


def text_of(told):
    return "".join(
        one["choices"][0]["delta"].get("content", "")
        for one in told
        if isinstance(one, dict) and one["choices"]
    )


def texts(told):
    """The text of each event, through whatever channel."""
    deltas = [one["choices"][0]["delta"] for one in told if isinstance(one, dict) and one["choices"]]
    return [text for one in deltas for text in one.values()]


def test_a_plain_stream(server):
    told = events(answered(server, FAST)[0])
    assert text_of(told) == " tok" * 4
    assert told[3]["choices"][0]["finish_reason"] == "length"
    assert told[4] | {"choices": []} == told[4]
    assert told[4]["usage"] == {"prompt_tokens": 100, "completion_tokens": 4, "total_tokens": 104}
    assert told[5] == "data: [DONE]"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("usage=none", lambda told: not any("usage" in one for one in told[:-1])),
        ("usage=finish", lambda told: told[-2]["usage"]["completion_tokens"] == 4 and told[-2]["choices"]),
        ("usage=each", lambda told: [one["usage"]["completion_tokens"] for one in told[:4]] == [1, 2, 3, 4]),
        ("done=0", lambda told: told[-1]["usage"]["completion_tokens"] == 4),
        ("finish=none", lambda told: told[3]["choices"][0]["finish_reason"] is None),
        ("finish=stop", lambda told: told[3]["choices"][0]["finish_reason"] == "stop"),
        ("coalesce=3", lambda told: [len(one["choices"][0]["delta"]["content"]) for one in told[:2]] == [12, 4]),
        ("role", lambda told: told[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}),
        ("ping", lambda told: told[::2][:4] == [": ping"] * 4),
        ("reasoning=2", lambda told: [list(one["choices"][0]["delta"]) for one in told[:4]]
         == [["reasoning_content"]] * 2 + [["content"]] * 2),
        ("reasoning=1,coalesce=2", lambda told: [len(one) for one in texts(told)] == [4, 8, 4]),
        ("utf8,split", lambda told: text_of(told) == " añ" * 4),
        ("say=%7B%22a%22%3A1%7D", lambda told: text_of(told) == '{"a":1}'),
        ("say=,early", lambda told: text_of(told) == ""),
        ("jitter=0.9", lambda told: text_of(told) == " tok" * 4),
    ],
)  # fmt: skip
def test_a_dialect(server, words, expected):
    assert expected(events(answered(server, f"{FAST},{words}")[0]))


@pytest.mark.parametrize(
    ("words", "ended", "has"),
    [("cut=2", "closed", 2), ("reset=2", "reset", None), ("error=2", "", 2)],
)
def test_an_answer_that_breaks(server, words, ended, has):
    data, how = answered(server, f"{FAST},{words}", name=words)
    assert how == ended
    if has is not None:
        assert data.count(b'" tok"') == has
    assert (b'"error"' in data) is (words == "error=2")
    (sent,) = [one for one in server.sends() if one.id == words]
    assert (sent.tokens, sent.ending) == (2, words.split("=")[0])


def test_a_refusal_says_when_to_come_back(server):
    data, _ = answered(server, "mock,status=429,retry=7", until=b"}}")
    assert data.startswith(b"HTTP/1.1 429 ")
    assert b"Retry-After: 7\r\n" in data


def test_faults_befall_a_stated_share_evenly(server):
    model = "mock,ttft=0,itl=0,n=1,status=500,odds=0.25"
    client, statuses = Client(server), []
    for _ in range(12):
        client.post(model, stream=False)
        statuses.append(client.read(b"}")[0][9:12])
        client = Client(server)
    assert [k for k, one in enumerate(statuses) if one == b"500"] == [3, 7, 11]


def test_a_stall_delays_the_rest_and_no_more(server):
    answered(server, f"{FAST},stall=2,pause=0.3", name="stalled")
    (sent,) = [one for one in server.sends() if one.id == "stalled"]
    assert sent.ending == "done"
    assert (sent.last_ns - sent.first_ns) / 1e9 >= 0.3


def test_one_connection_serves_one_request_after_another_even_when_all_come_at_once(server):
    client = Client(server)
    for k in range(5):
        client.post(name=f"pipe/{k}")
    data = b""
    while data.count(b"[DONE]") < 5:
        data += client.read(b"0\r\n\r\n")[0]
    ended = [one for one in server.sends() if one.id.startswith("pipe/")]
    assert [one.id for one in ended] == [f"pipe/{k}" for k in range(5)]
    for before, after in itertools.pairwise(ended):
        assert after.received_ns >= before.last_ns


@pytest.mark.parametrize("path", ["/v1/embeddings", "/v1/rerank", "/v1/images/generations"])
def test_items(server, path):
    client = Client(server)
    client.post(path=path, input=["a", "b"], documents=["a", "b"], n=2)
    data = client.read(b"}]")[0]
    told = data.split(b"\r\n\r\n", 1)[1]
    assert (
        told.count(
            {"/v1/embeddings": b'embedding":', "/v1/rerank": b"relevance_score"}.get(path, b"b64_json")
        )
        == 2
    )


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /health HTTP/1.1\r\n\r\n", b"200"),
        (b"GET /v1/models HTTP/1.1\r\n\r\n", b"200"),
        (b"GET /nothing HTTP/1.1\r\n\r\n", b"404"),
        (b"POST /v1/nothing HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", b"404"),
        (b"POST /v1/completions HTTP/1.1\r\nContent-Length: 1\r\n\r\n{", b"400"),
        (b"POST /v1/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n[]", b"400"),
        (b'POST /v1/completions HTTP/1.1\r\ncontent-length: 20\r\n\r\n{"model": "m,tft=30"}', b"400"),
        (b"POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"411"),
        (b"POST /v1/completions HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n", b"413"),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 70_000, b"431"),
    ],
)
def test_what_is_asked_wrongly_is_told(server, sent, status):
    client = Client(server)
    client.send(sent)
    assert client.read(b"\r\n\r\n")[0][9:12] == status
    assert answered(server, FAST)[1] == ""


def test_a_body_sent_after_leave_was_asked_and_in_pieces(server):
    client, body = Client(server), json.dumps({"model": FAST, "prompt": "x"}).encode()
    client.send(
        b"POST /v1/completions HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body)
    )
    assert client.read(b"\r\n\r\n")[0].startswith(b"HTTP/1.1 100")
    for at in range(len(body)):
        client.send(body[at : at + 1])
    assert client.read(b"usage")[0].count(b"HTTP/1.1") == 1


def test_the_log_tells_what_was_sent_and_tokens_each_for_itself(tmp_path):
    with calibrated(folder=tmp_path, tokens=True) as server:
        began_ns = time.perf_counter_ns()
        answered(server, "mock,ttft=20,itl=5,n=6", name="logged")
        ended_ns = time.perf_counter_ns()
    (sent,) = read_sends(tmp_path / "sends.bin")
    assert (
        began_ns < sent.received_ns < sent.first_ns < sent.last_ns < ended_ns
    )  # one clock for both processes
    assert sent.ttft_s >= 0.020
    assert (sent.tokens, sent.prompt_tokens, sent.ending, sent.id) == (6, 100, "done", "logged")
    ((name, times),) = read_token_times(tmp_path / "tokens.bin")
    assert (name, len(times), times[0], times[-1]) == ("logged", 6, sent.first_ns, sent.last_ns)
    assert all(at >= sent.received_ns + (20 + 5 * k) * 1_000_000 for k, at in enumerate(times))  # never early


def test_a_log_cut_in_the_midst_of_a_record_is_read_to_there(tmp_path):
    with calibrated(folder=tmp_path) as server:
        for k in range(3):
            answered(server, FAST, name=str(k))
    path = tmp_path / "sends.bin"
    path.write_bytes(path.read_bytes()[:-5])
    assert [one.id for one in read_sends(path)] == ["0", "1"]
    path.write_bytes(b"something else")
    with pytest.raises(ValueError, match="no log"):
        read_sends(path)


def test_a_client_that_leaves_is_noted_and_its_place_is_free(server):
    model = "mock,ttft=60000,slots=1"
    first, second, third = (Client(server) for _ in range(3))
    for one, name in ((first, "a"), (second, "b"), (third, "c")):
        one.post(model, name=f"leaves/{name}")
    wait_for(lambda: server.summary()["waiting_count"] == 2)
    second.socket.close()
    wait_for(lambda: server.summary()["waiting_count"] == 1)
    first.socket.close()
    wait_for(lambda: server.summary()["waiting_count"] == 0)
    assert server.summary()["running_count"] == 1
    third.socket.close()
    wait_for(lambda: server.summary()["running_count"] == 0)
    assert [one.ending for one in server.sends() if one.id.startswith("leaves/")] == ["left"] * 3


def wait_for(what, within_s=10):
    ends = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_slots_serve_in_order_and_without_a_gap(server):
    model = "mock,ttft=5,itl=1,n=6,slots=2,service=exp"
    clients = [Client(server) for _ in range(12)]
    for k, one in enumerate(clients):
        one.post(model, name=f"slot/{k}")
    for one in clients:
        one.read()
    ended = sorted(
        (one for one in server.sends() if one.id.startswith("slot/")), key=lambda one: one.received_ns
    )
    assert [one.turn_ns for one in ended] == sorted(one.turn_ns for one in ended)
    assert [one.turn_ns == one.received_ns for one in ended[:3]] == [True, True, False]
    for at_ns in (one.turn_ns for one in ended):  # never more than two at once, in planned time
        serving = [
            one
            for one in ended
            if one.turn_ns <= at_ns and one.last_ns - 1000 * one.late_most_us > at_ns + 1000
        ]
        assert len(serving) <= 2


def test_the_metrics_page_is_true(tmp_path):
    with calibrated(folder=tmp_path, cache_tokens=1600) as server:
        for _ in range(3):
            answered(server, FAST)
        held = Client(server)
        held.post("mock,ttft=60000", max_tokens=5)
        wait_for(lambda: server.summary()["running_count"] == 1)
        page = Client(server)
        page.send(b"GET /metrics HTTP/1.1\r\n\r\n")
        text = page.read(b"request_queue_time_seconds_sum")[0].split(b"\r\n\r\n", 1)[1].decode()
        ttft = [one.ttft_s for one in server.sends()]
    families = text_string_to_metric_families(text.rsplit("\n", 1)[0] + "\n")
    samples = [one for family in families for one in family.samples]
    found = {one.name + str(sorted(one.labels.items())): one.value for one in samples}

    def value(name, **labels):
        return found[name + str(sorted(({"model_name": "mock", "engine": "0"} | labels).items()))]

    assert value("vllm:num_requests_running") == 1
    assert value("vllm:num_requests_waiting") == 0
    assert value("vllm:kv_cache_usage_perc") == pytest.approx(100 / 1600)
    assert value("vllm:generation_tokens_total") == 12
    assert value("vllm:prompt_tokens_total") == 400
    assert value("vllm:request_success_total", finished_reason="length") == 3
    assert value("vllm:time_to_first_token_seconds_count") == 3
    assert value("vllm:time_to_first_token_seconds_sum") == pytest.approx(sum(ttft))
    assert value("vllm:time_to_first_token_seconds_bucket", le="+Inf") == 3


def test_a_taken_port_is_told(server):
    port = int(server.url.rsplit(":", 1)[1].split("/")[0])
    with pytest.raises(EndpointFailed, match="CB-N020"), calibrated(port=port):
        pass


def test_models_that_say_nothing_follow_the_servers_own_manner():
    with calibrated(manner="ttft=1,itl=0,n=3") as server:
        assert text_of(events(answered(server, "anything")[0])) == " tok" * 3
        assert text_of(events(answered(server, "m,ttft=1,n=2")[0])) == " tok" * 2


@pytest.mark.parametrize(
    "name", ["m,n=-1", "m,n=1.5", "m,role=2", "m,usage=some", "m,coalesce_=2", "m,ttft=nan", "m,x" * 2000]
)
def test_a_name_that_says_nothing_sensible_is_refused(name):
    with pytest.raises(ValueError, match=r"."):
        manner(name)


@given(st.builds(Manner, ttft=st.integers(0, 1000).map(float), n=st.integers(1, 99), split=st.booleans(),
                 usage=st.sampled_from(["last", "each"]), slots=st.integers(0, 9)))  # fmt: skip
def test_a_name_says_what_it_means(how):
    name = f"m,ttft={how.ttft},n={how.n},split={int(how.split)},usage={how.usage},slots={how.slots}"
    assert manner(name) == how


def test_prompts_of_every_api_are_counted():
    assert (
        prompt_tokens({"messages": [{"content": [{"text": "x" * 40}]}, {"content": "x" * 40}, {}, 7]}) == 20
    )
    assert prompt_tokens({"input": ["x" * 8, "y" * 8]}) == 4
    assert prompt_tokens({"prompt": 3}) == 1
