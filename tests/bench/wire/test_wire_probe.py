# ruff: noqa: E501 - tables
"""What a few requests find out about a server, and what is said when it doesn't answer."""

import json
import sys
from pathlib import Path

import orjson
import pytest

from cabida.bench.outcome import FAILED, Outcome
from cabida.bench.wire import Wire, counted, endpoint, loop, problem_of, token_counter, why_text
from cabida.errors import InvalidInput
from cabida.plan.bench import Policy, Target
from cabida.text import catalogue, use_language

sys.path.insert(0, str(Path(__file__).parents[1]))
from odd_server import delta, serving, streamed, usage, whole_json

ROOT = Path(__file__).parents[3]
LISTED = {"object": "list", "data": [{"id": "m", "owned_by": "vllm", "max_model_len": 4096}]}


def probed(script, **more):
    async def one():
        async with serving(script) as odd:
            target = Target(**{"url": f"http://127.0.0.1:{odd.port}/v1", **more})
            async with Wire(endpoint(target), Policy(first_token_s=2.0)) as wire:
                return await wire.probe(), odd

    return loop.run(one())


def speaks(*, told="asked", done=True, takes_options=True, exact=True, streams=True):
    """A server with these habits."""

    def script(head, body):
        if head.startswith(b"GET /v1/models"):
            return [whole_json(LISTED)]
        asked = orjson.loads(body)
        if "stream_options" in asked and not takes_options:
            return [whole_json({"error": {"message": "extra fields not permitted: stream_options"}}, 422)]
        count = asked["min_tokens"] if exact and asked.get("ignore_eos") else 3
        tells = told == "always" or (told == "asked" and "stream_options" in asked)
        if not streams:
            answer = {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}
            return [whole_json({**answer, "usage": usage(9, count)["usage"]} if tells else answer)]
        last = [usage(9, count)] if tells else []
        return streamed(*(delta(" yes") for _ in range(count)), delta(finish="stop"), *last, done=done)

    return script


def test_the_habits_of_a_common_server():
    found, odd = probed(speaks())
    assert (found.is_answering, found.models, found.model, found.is_listed) == (True, ("m",), "m", True)
    assert (found.engine, found.context_tokens) == ("vllm", 4096)
    assert (found.usage_told, found.ends_with_done, found.is_streaming) == ("asked", True, True)
    assert (found.honours_exact_output, found.takes_stream_options, found.usage_each_event) == (
        True,
        True,
        False,
    )
    assert found.requests_count == len(odd.heads) == 4


@pytest.mark.parametrize(
    ("habits", "expected"),
    [
        ({"told": "always"}, {"usage_told": "always"}),
        ({"told": "never"}, {"usage_told": "never", "honours_exact_output": None}),
        ({"done": False}, {"ends_with_done": False, "is_answering": True}),
        ({"exact": False}, {"honours_exact_output": False}),
        ({"takes_options": False, "told": "always"}, {"takes_stream_options": False, "usage_told": "always", "is_answering": True, "honours_exact_output": True}),
        ({"streams": False}, {"is_streaming": False, "ends_with_done": None, "is_answering": True}),
    ],
)  # fmt: skip
def test_other_habits(habits, expected):
    found, _ = probed(speaks(**habits), model="m")
    assert {name: getattr(found, name) for name in expected} == expected


def test_a_model_that_is_not_listed_and_a_list_of_nonsense():
    assert probed(speaks(), model="other")[0].is_listed is False

    def script(head, body):
        return (
            [whole_json({"data": [1, {"id": "\x1b[31mred"}, {}]})]
            if head.startswith(b"GET")
            else speaks()(head, body)
        )

    found, _ = probed(script, model="m")
    assert found.models == ("[31mred", "")
    assert found.is_answering


def test_a_server_that_has_no_list_of_models_and_one_that_lets_nobody_in():
    found, _ = probed(lambda head, body: [whole_json({}, 404)])
    assert (found.is_answering, found.models, found.is_listed, found.first.verdict) == (
        False,
        (),
        None,
        "rejected",
    )
    found, odd = probed(lambda head, body: [whole_json({}, 401)])
    assert (found.is_answering, found.first.verdict) == (False, "unauthorised")
    assert len(odd.heads) == 2  # it isn't asked again and again


def test_embeddings_are_probed_with_one_request():
    def script(head, body):
        return (
            [whole_json(LISTED)]
            if head.startswith(b"GET")
            else [whole_json({"data": [{"embedding": [1.0]}]})]
        )

    found, odd = probed(script, api="embeddings")
    assert (found.is_answering, found.usage_told, len(odd.heads)) == (True, "", 2)


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("verdict", [*FAILED, "cancelled"])
def test_every_verdict_has_its_words(verdict, language):
    use_language(language)
    told = problem_of(Outcome("r/1", 0, 0.0, verdict, why="idle: x", status=500), "http://h/v1", key="env:K")
    assert told.cure
    assert "http://h/v1" in told.what
    assert "{" not in str(told).replace("{requests_per_s: N}", "")
    assert problem_of(Outcome("r/1", 0, 0.0, "ok"), "http://h/v1") is None


def test_every_why_of_the_code_has_its_words():
    """Words given as the why of an outcome are found in the texts, in both languages."""
    import re

    folder = ROOT / "src/cabida/bench/wire"
    code = "".join(path.read_text() for path in folder.rglob("*.py"))
    words = re.findall(r"(?:Ended|NotConnected|\.end)\([\w.\"-]+, (?:\"|f\")([a-z-]+)[\":]", code)
    words += [
        "redirect",
        "status",
        "first-token",
        "idle",
        "total",
        "cut",
        "no-end",
        "json",
        "empty",
        "before-answer",
    ]
    assert len(set(words)) > 20
    for language in ("en", "es"):
        texts = json.loads((ROOT / f"src/cabida/locale/{language}/wire.json").read_text())
        assert [word for word in set(words) if f"why.{word}" not in texts] == []
    assert set(catalogue("en", "wire")) == set(catalogue("es", "wire"))


def test_why_in_words():
    assert why_text(Outcome("r", 0, 0.0, "timeout", why="idle")) == "a pause longer than idle_s"
    assert (
        why_text(Outcome("r", 0, 0.0, "rejected", why="status: no such model"))
        == "by its status (no such model)"
    )
    assert why_text(Outcome("r", 0, 0.0, "stream-error", why="out of memory")) == "out of memory"
    assert why_text(Outcome("r", 0, 0.0, "ok")) == ""


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    from tokenizers import Tokenizer, models, pre_tokenizers

    made = Tokenizer(models.WordLevel({"hm": 0, "yes": 1, "no": 2, "?": 3}, unk_token="?"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    folder = tmp_path_factory.mktemp("tokenizer")
    made.save(str(folder / "tokenizer.json"))
    return folder


def test_tokens_are_counted_here_where_the_server_tells_none(tokenizer):
    async def both():
        outcomes = []
        for told in ("never", "always"):
            async with serving(speaks(told=told)) as odd:
                target = Target(f"http://127.0.0.1:{odd.port}/v1", "m", tokenizer=str(tokenizer))
                async with Wire(endpoint(target)) as wire:
                    from cabida.bench.outcome import Ask
                    from cabida.bench.wire import request_body

                    outcomes.append(await wire.ask(Ask("r/1", request_body(target, "hi", 9), 0.0)))
        return outcomes

    silent, telling = loop.run(both())
    assert (silent.output_tokens, silent.counted_by, silent.text) == (None, "", " yes yes yes")
    assert (telling.output_tokens, telling.counted_by, telling.text) == (3, "usage", "")
    counts = token_counter(str(tokenizer))
    silent = counted(silent, counts)
    assert (silent.output_tokens, silent.counted_by, silent.text) == (3, "tokenizer", "")
    assert counted(telling, counts).counted_by == "usage"
    empty = counted(Outcome("r", 0, 0.0, "truncated"), counts)
    assert (empty.output_tokens, empty.counted_by) == (None, "")
    thought = counted(Outcome("r", 0, 0.0, "ok", text="yes", reasoning="hm hm"), counts, keep_text=True)
    assert (thought.output_tokens, thought.reasoning_tokens, thought.text) == (3, 2, "yes")


def test_a_tokenizer_that_is_none(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    for path in (tmp_path, tmp_path / "missing.json"):
        with pytest.raises(InvalidInput, match="CB-W015"):
            token_counter(str(path))
