# ruff: noqa: E501 - tables
"""Each odd stream is told for what it is: verdict, tokens, and the moment of the first and the last piece."""

import json
import random
import sys
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.bench.wire.dialects.answer import Answer, Ended
from cabida.bench.wire.dialects.events import EventStream, WholeBody, opening

sys.path.insert(0, str(Path(__file__).parents[1]))
from odd_server import delta, event, usage

DONE = event(b"[DONE]")


def told(pieces, is_cut=False, keep=True):
    """What ``pieces`` tell when the first is read at 1 s, the second at 2 s and so on: (answer, verdict, why)."""
    answer = Answer(keep)
    stream = EventStream(answer)
    try:
        for at_s, piece in enumerate(pieces, start=1):
            stream.feed(piece, float(at_s))
        stream.close(is_cut)
    except Ended as ended:
        return answer, ended.verdict, ended.why
    return answer, "ok", ""


ROLE = event(
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]}
)
NULL_ROLE = event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": None}}]})
HI, THERE = event(delta("Hi")), event(delta(" there"))
STOP = event(delta(finish="stop"))
USAGE = event(usage(7, 3))

# name: (pieces, is cut, verdict, first_s, last_s, events, output tokens, text)
MATRIX = {
    "openai": ([ROLE, HI, THERE, STOP, USAGE, DONE], False, "ok", 2, 3, 2, 3, "Hi there"),
    "no done, usage beside finish (transformers serve)": (
        [ROLE, HI, event({**delta(" there", "stop"), "usage": {"prompt_tokens": 7, "completion_tokens": 3}})],
        False, "ok", 2, 3, 2, 3, "Hi there"),
    "done, never a finish_reason": ([HI, THERE, DONE], False, "ok", 1, 2, 2, None, "Hi there"),
    "finish null throughout, then cut": ([ROLE, HI, THERE], True, "truncated", 2, 3, 2, None, "Hi there"),
    "ended cleanly by a proxy after its server died": ([ROLE, HI], False, "truncated", 2, 2, 1, None, "Hi"),
    "cut after the role": ([ROLE], True, "truncated", None, None, 0, None, ""),
    "cut within an event": ([HI, THERE[:20]], True, "truncated", 1, 1, 1, None, "Hi"),
    "cut after finish, before usage": ([HI, STOP], True, "ok", 1, 1, 1, None, "Hi"),
    "nothing at all": ([], False, "truncated", None, None, 0, None, ""),
    "role is null (llama.cpp)": ([NULL_ROLE, HI, STOP, DONE], False, "ok", 2, 2, 1, None, "Hi"),
    "timings instead of usage (llama.cpp)": (
        [HI, event({**delta(finish="stop"), "timings": {"prompt_n": 5, "cache_n": 2, "predicted_n": 9}}), DONE],
        False, "ok", 1, 1, 1, 9, "Hi"),
    "usage in every event (vLLM, continuous)": (
        [event({**delta("Hi"), "usage": {"prompt_tokens": 7, "completion_tokens": 1}}),
         event({**delta(" there", "length"), "usage": {"prompt_tokens": 7, "completion_tokens": 4}}), DONE],
        False, "ok", 1, 2, 2, 4, "Hi there"),
    "usage null in every event (OpenAI)": (
        [event({**delta("Hi"), "usage": None}), event({**delta(finish="stop"), "usage": None}), USAGE, DONE],
        False, "ok", 1, 1, 1, 3, "Hi"),
    "usage of zeros is none": ([HI, STOP, event(usage(0, 0)), DONE], False, "ok", 1, 1, 1, None, "Hi"),
    "usage of nonsense is none": (
        [HI, STOP, event(usage("many", -3)), event(usage(True, 1e30)), DONE], False, "ok", 1, 1, 1, None, "Hi"),
    "usage of another shape is none": ([event({**delta("Hi"), "usage": [3]}), event({**delta(finish="stop"), "usage": "3"})], False, "ok", 1, 1, 1, None, "Hi"),
    "usage under x_groq": (
        [HI, event({**delta(finish="stop"), "x_groq": {"usage": {"prompt_tokens": 4, "completion_tokens": 2}}}), DONE],
        False, "ok", 1, 1, 1, 2, "Hi"),
    "several tokens in one event (vLLM)": ([event(delta("Hi there you")), STOP, USAGE, DONE], False, "ok", 1, 1, 1, 3, "Hi there you"),
    "several events in one read": ([HI + THERE + STOP + USAGE + DONE], False, "ok", 1, 1, 2, 3, "Hi there"),
    "no space after the colon (TGI)": ([HI.replace(b"data: ", b"data:"), STOP, DONE.replace(b": ", b":")], False, "ok", 1, 1, 1, None, "Hi"),
    "carriage returns": ([HI.replace(b"\n", b"\r\n"), STOP.replace(b"\n", b"\r\n"), DONE.replace(b"\n", b"\r\n")], False, "ok", 1, 1, 1, None, "Hi"),
    "no blank lines between": ([HI[:-1], THERE[:-1], STOP[:-1], DONE[:-1]], False, "ok", 1, 2, 2, None, "Hi there"),
    "no blank line at the end": ([HI, STOP[:-2]], False, "ok", 1, 1, 1, None, "Hi"),
    "comments that keep it alive (OpenRouter)": (
        [b": OPENROUTER PROCESSING\n\n", b":\n\n", HI, b": ping\n\n", STOP, DONE], False, "ok", 3, 3, 1, None, "Hi"),
    "ping events": ([b'event: ping\ndata: {"type": "ping"}\n\n', HI, STOP, DONE], False, "ok", 2, 2, 1, None, "Hi"),
    "ids, retries and named events": ([b"id: 1\nretry: 10\nevent: message\n" + HI, STOP, DONE], False, "ok", 1, 1, 1, None, "Hi"),
    "a byte order mark": ([b"\xef\xbb\xbf" + HI, STOP, DONE], False, "ok", 1, 1, 1, None, "Hi"),
    "prompt filter first (Azure)": (
        [event({"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}), ROLE, HI, STOP, DONE],
        False, "ok", 3, 3, 1, None, "Hi"),
    "reasoning channel": (
        [ROLE, event(delta(reasoning_content="Hm")), HI, STOP, DONE], False, "ok", 2, 3, 2, None, "Hi"),
    "reasoning under its newer name": ([event(delta(reasoning="Hm")), HI, STOP, DONE], False, "ok", 1, 2, 2, None, "Hi"),
    "content in parts (Mistral)": (
        [event(delta([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}])),
         event(delta([{"type": "text", "text": "Hi"}], "stop")), DONE], False, "ok", 1, 2, 2, None, "Hi"),
    "a tool is called": (
        [ROLE, event(delta(tool_calls=[{"index": 0, "function": {"name": "f", "arguments": ""}}])),
         event(delta(tool_calls=[{"index": 0, "function": {"arguments": "{}"}}])), event(delta(finish="tool_calls")), DONE],
        False, "ok", 2, 3, 2, None, ""),
    "two choices, one unfinished": (
        [event(delta("a")), event(delta("b", index=1)), event(delta(finish="stop"))], True, "truncated", 1, 2, 2, None, "ab"),
    "two choices, both finished": (
        [event(delta("a")), event(delta("b", "stop", index=1)), event(delta(finish="stop"))], False, "ok", 1, 2, 2, None, "ab"),
    "completions": (
        [event({"choices": [{"index": 0, "text": "Hi", "finish_reason": None}]}),
         event({"choices": [{"index": 0, "text": "", "finish_reason": "length"}]}), USAGE, DONE], False, "ok", 1, 1, 1, 3, "Hi"),
    "an empty answer that is finished": ([ROLE, STOP, DONE], False, "ok", None, None, 0, None, ""),
    "error inside": ([HI, event({"error": {"message": "out of memory", "code": 500}}), DONE], False, "stream-error", 1, 1, 1, None, "Hi"),
    "error event": ([HI, b'event: error\ndata: {"message": "boom"}\n\n'], False, "stream-error", 1, 1, 1, None, "Hi"),
    "error in the place of a field (llama.cpp)": ([HI, b'error: {"code": 500, "message": "boom"}\n\n'], False, "stream-error", 1, 1, 1, None, "Hi"),
    "error as an object (vLLM before 0.6)": ([event({"object": "error", "message": "boom"}), DONE], False, "stream-error", None, None, 0, None, ""),
    "error in words (TGI)": ([HI, event({"error": "Request failed", "error_type": "overloaded"})], False, "stream-error", 1, 1, 1, None, "Hi"),
    "error code (FastChat)": ([event({"text": "**NETWORK ERROR**", "error_code": 50001})], False, "stream-error", None, None, 0, None, ""),
    "error beside choices (OpenRouter)": (
        [HI, event({**delta("", "error"), "error": {"message": "gone"}})], False, "stream-error", 1, 1, 1, None, "Hi"),
    "aborted by the engine": ([HI, event(delta(finish="abort"))], False, "stream-error", 1, 1, 1, None, "Hi"),
    "an event that is none": ([HI, event(b"{broken")], False, "malformed", 1, 1, 1, None, "Hi"),
    "an event of another shape": ([event(b'["a"]')], False, "malformed", None, None, 0, None, ""),
    "choices of another shape": ([event({"choices": "many"})], False, "malformed", None, None, 0, None, ""),
    "done and nothing else": ([DONE], False, "malformed", None, None, 0, None, ""),
    "no events in it": ([b"hello\n", b"world\n"], False, "malformed", None, None, 0, None, ""),
    "more after done": ([HI, STOP, DONE, event({"error": "late"}), HI], False, "ok", 1, 1, 1, None, "Hi"),
    "finish told twice": ([HI, STOP, STOP, DONE], False, "ok", 1, 1, 1, None, "Hi"),
}  # fmt: skip


@pytest.mark.parametrize("name", MATRIX)
def test_the_dialect_matrix(name):
    pieces, is_cut, verdict, first_s, last_s, events, output_tokens, text = MATRIX[name]
    answer, got, _ = told(pieces, is_cut)
    assert (got, answer.first_s, answer.last_s, answer.events_count) == (verdict, first_s, last_s, events)
    assert answer.output_tokens == output_tokens
    assert "".join(answer.text) == text


@pytest.mark.parametrize("name", MATRIX)
def test_how_it_is_cut_into_reads_changes_no_count(name):
    pieces, is_cut, verdict, _, _, events, output_tokens, text = MATRIX[name]
    whole = b"".join(pieces)
    dice = random.Random(name)
    for _ in range(25):
        cuts = sorted(dice.randrange(len(whole) + 1) for _ in range(dice.randrange(12)))
        parts = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
        answer, got, _ = told(parts, is_cut)
        assert (got, answer.events_count, answer.output_tokens, "".join(answer.text)) == (
            verdict,
            events,
            output_tokens,
            text,
        )


def test_byte_by_byte_the_first_token_is_where_its_event_ends():
    pieces = [bytes([one]) for one in ROLE + HI + STOP + DONE]
    answer, verdict, _ = told(pieces)
    assert verdict == "ok"
    assert answer.first_s == len(ROLE + HI) - 1  # the read that ended its line; the blank line adds nothing


@given(
    text=st.text(min_size=1),
    cuts=st.lists(st.integers(0, 400), max_size=8),
    ends=st.sampled_from(["\n", "\r\n"]),
)
@settings(max_examples=200, deadline=None)
def test_any_text_survives_any_cut(text, cuts, ends):
    body = json.dumps(delta(text), ensure_ascii=False).encode("utf-8", "surrogatepass")
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError:
        return  # lone surrogates are no JSON
    whole = (event(body) + STOP + DONE).replace(b"\n", ends.encode())
    places = sorted(min(one, len(whole)) for one in cuts)
    parts = [whole[a:b] for a, b in zip([0, *places], [*places, len(whole)], strict=True)]
    answer, verdict, _ = told(parts)
    assert (verdict, "".join(answer.text), answer.events_count) == ("ok", text, 1)


def test_reasoning_told_under_two_names_is_counted_once():
    answer, _, _ = told([event(delta(reasoning="Hm", reasoning_content="Hm")), STOP, DONE])
    assert "".join(answer.reasoning) == "Hm"
    assert answer.events_count == 1


def test_arguments_of_a_called_tool_are_kept_apart_from_words():
    pieces = [
        event(delta(tool_calls=[{"function": {"name": "f", "arguments": part}}])) for part in ('{"a"', ": 1}")
    ]
    answer, _, _ = told([*pieces, event(delta(finish="tool_calls")), DONE])
    assert "".join(answer.calls) == '{"a": 1}'


def test_tokens_of_the_cache_and_of_thoughts():
    more = {
        "prompt_tokens_details": {"cached_tokens": 6},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    answer, _, _ = told([HI, STOP, event(usage(9, 5, **more)), DONE])
    assert (answer.input_tokens, answer.cached_tokens, answer.output_tokens, answer.reasoning_tokens) == (
        9,
        6,
        5,
        2,
    )


def test_llama_cpp_counts_what_its_cache_held_as_read():
    timings = {"prompt_n": 5, "cache_n": 20, "predicted_n": 9}
    answer, _, _ = told([HI, event({**delta(finish="stop"), "timings": timings}), DONE])
    assert (answer.input_tokens, answer.cached_tokens) == (25, 20)


def test_text_is_kept_only_when_asked():
    answer, verdict, _ = told([HI, event(delta(reasoning="Hm")), STOP, DONE], keep=False)
    assert (verdict, answer.text, answer.reasoning, answer.events_count) == ("ok", [], [], 2)


def test_pauses_are_between_reads_and_bounded():
    answer = Answer(gaps_most=3)
    stream = EventStream(answer)
    for at_s in (1.0, 1.5, 1.5, 3.5, 4.0, 9.0):
        stream.feed(HI, at_s)
    assert answer.gaps == [0.5, 2.0, 0.5]
    assert (answer.events_count, answer.last_s) == (6, 9.0)


def feed_all(stream, pieces):
    for piece in pieces:
        stream.feed(piece, 1.0)


@pytest.mark.parametrize("line", [b"data: " + b"x" * 100, b"x" * 100, b"data: [\n" * 40])
def test_a_line_or_an_event_without_end_is_ended(line):
    stream = EventStream(Answer(), line_bytes_most=64)
    with pytest.raises(Ended) as caught:
        feed_all(stream, [line] * 3)
    assert (caught.value.verdict, caught.value.why) == ("oversize", "line")


def test_a_line_that_grows_costs_no_more_than_its_length():
    stream = EventStream(Answer(), line_bytes_most=2**20)
    with pytest.raises(Ended) as caught:
        feed_all(stream, [b"x" * 64] * (2**21 // 64))
    assert (caught.value.verdict, caught.value.why) == ("oversize", "line")
    assert len(stream.rest) <= 2**20 + 64


def test_many_lines_of_one_event_are_parsed_once():
    stream = EventStream(Answer(), line_bytes_most=2**20)
    stream.feed(b"data: [\n" + b"data: 1,\n" * 50_000 + b"data: 1]\n", 1.0)
    with pytest.raises(Ended) as caught:
        stream.feed(b"\n", 1.0)
    assert caught.value.verdict == "malformed"  # a list is no event


FIELDS = ["choices", "delta", "message", "content", "text", "finish_reason", "index", "usage", "timings", "error", "type",
          "prompt_tokens", "completion_tokens", "prompt_tokens_details", "cached_tokens", "tool_calls", "function", "arguments",
          "reasoning", "refusal", "data", "results", "x_groq", "error_code", "object", "b64_json", "thinking"]  # fmt: skip

WHOLE = {
    "chat": ({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}, "ok", 3, 2, None, "Hi"),
    "chat without usage": ({"choices": [{"message": {"content": "Hi"}}]}, "ok", None, None, None, "Hi"),
    "completions": ({"choices": [{"text": "Hi", "finish_reason": "length"}]}, "ok", None, None, None, "Hi"),
    "embeddings": ({"data": [{"embedding": [0.1]}, {"embedding": "AAAA"}], "usage": {"prompt_tokens": 8, "total_tokens": 8}}, "ok", 8, None, 2, ""),
    "embeddings, total only": ({"data": [{"embedding": [0.1]}], "usage": {"total_tokens": 8}}, "ok", 8, None, 1, ""),
    "embeddings bare (TEI)": ([[0.1, 0.2], [0.3, 0.4]], "ok", None, None, 2, ""),
    "rerank": ({"results": [{"index": 0, "relevance_score": 0.5}], "usage": {"total_tokens": 30}}, "ok", 30, None, 1, ""),
    "rerank bare (TEI)": ([{"index": 0, "score": 0.5}], "ok", None, None, 1, ""),
    "images": ({"created": 1, "data": [{"b64_json": "AAAA"}]}, "ok", None, None, 1, ""),
    "an error with status 200": ({"error": {"message": "boom"}}, "stream-error", None, None, None, ""),
    "aborted": ({"choices": [{"message": {"content": "H"}, "finish_reason": "abort"}]}, "stream-error", None, None, None, ""),
    "no choices": ({"choices": []}, "malformed", None, None, None, ""),
    "no data": ({"data": []}, "malformed", None, None, None, ""),
    "a text": ("hello", "malformed", None, None, None, ""),
    "choices of another shape": ({"choices": [1]}, "malformed", None, None, None, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_answers_in_one_piece(name):
    body, verdict, input_tokens, output_tokens, items, text = WHOLE[name]
    answer = Answer(keep=True)
    reader = WholeBody(answer, 10_000)
    got = "ok"
    try:
        reader.feed(orjson.dumps(body), 1.0)
        reader.close(is_cut=False)
    except Ended as ended:
        got = ended.verdict
    assert got == verdict
    if verdict == "ok":
        assert (answer.input_tokens, answer.output_tokens, answer.items_count) == (
            input_tokens,
            output_tokens,
            items,
        )
        assert "".join(answer.text) == text
    assert answer.first_s is None  # what comes in one piece has no first token of its own


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=3), inner, max_size=5),
    max_leaves=25,
)  # fmt: skip


@given(events=st.lists(JSON, max_size=4), at_once=st.booleans())
@settings(max_examples=400, deadline=None)
def test_whatever_json_a_server_sends_is_told_and_nothing_else_is_raised(events, at_once):
    answer = Answer(keep=True)
    body = WholeBody(answer, 10**6)
    verdict = "ok"
    try:
        if at_once:
            body.feed(json.dumps(events[0] if events else {}).encode(), 1.0)
            body.close(is_cut=False)
        else:
            for one in events:
                answer.event(one, 1.0)
    except Ended as ended:
        verdict = ended.verdict
    assert verdict in ("ok", "malformed", "stream-error", "oversize")
    for count in (answer.input_tokens, answer.output_tokens, answer.cached_tokens, answer.reasoning_tokens):
        assert count is None or 0 <= count <= 10**9
    assert all(isinstance(one, str) for one in (*answer.text, *answer.reasoning, *answer.calls))


@given(
    junk=st.lists(
        st.binary(max_size=40)
        | st.sampled_from([HI, STOP, DONE, b"data:", b"\n", b"\r", b": x\n", b"event: a\n"]),
        max_size=12,
    )
)
@settings(max_examples=400, deadline=None)
def test_whatever_bytes_come_there_is_one_verdict(junk):
    answer, verdict, _ = told(junk)
    assert verdict in ("ok", "truncated", "malformed", "stream-error", "oversize")
    if verdict == "ok":
        assert answer.is_whole


def test_json_that_would_swell_is_refused_before_it_is_parsed():
    reader = WholeBody(Answer(), 16 * 2**20)
    reader.feed(b"[" + b"[]," * 600_000 + b"1]", 1.0)
    with pytest.raises(Ended) as caught:
        reader.close(is_cut=False)
    assert (caught.value.verdict, caught.value.why) == ("oversize", "structure")


@pytest.mark.parametrize("depth", [2000, 100_000])
def test_json_nested_deeply_is_malformed_and_nothing_worse(depth):
    _, verdict, _ = told([b"data: " + b"[" * depth + b"]" * depth + b"\n\n"])
    assert verdict == "malformed"


@pytest.mark.parametrize(
    ("start", "kind"),
    [(b"data: {", "events"), (b"d", "events"), (b": ping", "events"), (b"\n\n", "blank"), (b"\xef\xbb\xbfdata:", "events"),
     (b' {"a"', "json"), (b"[1", "json"), (b"<!DOCTYPE html>", "html"), (b"upstream connect error", "other"), (b"\x16\x03\x01", "other")],
)  # fmt: skip
def test_what_a_body_is_shows_in_its_first_bytes(start, kind):
    assert opening(start) == kind
