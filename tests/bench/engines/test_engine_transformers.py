"""``transformers serve``: a real stream that never says [DONE], its counts in the event that tells the finish."""

import pytest

from cabida.bench.clock import now_s
from cabida.bench.drills.proxy import Fault, Proxy
from cabida.bench.outcome import Ask
from cabida.bench.wire import Wire, endpoint, request_body
from cabida.bench.wire.loop import run
from cabida.plan.bench import Policy, Target

TOKENS = 12


def asked(url, model, count, stream=True, fault=None):
    """The outcomes of ``count`` requests one after another, through the proxy where there is a fault."""

    async def work():
        at = url.removeprefix("http://")
        async with Proxy("127.0.0.1:0", at, fault) as proxy:
            target = Target(f"http://{proxy.address}/v1", model, stream=stream)
            body = request_body(target, "Say something.", TOKENS)
            async with Wire(endpoint(target), Policy(total_s=60.0), keep_text=True) as wire:
                return [await wire.ask(Ask(f"t/{at}", body, now_s())) for at in range(count)]

    return run(work())


def test_a_stream_without_done_is_ok_and_counted_by_usage(transformers_serve):
    outcomes = asked(transformers_serve.url, transformers_serve.model, 4)
    for one in outcomes:
        assert (one.verdict, one.status, one.counted_by) == ("ok", 200, "usage"), one.why
        assert one.output_tokens is not None
        assert 1 <= one.output_tokens <= TOKENS
        assert one.input_tokens > 5
        assert one.finish_reason in ("length", "stop")
        assert one.intended_s <= one.sent_s <= one.first_token_s <= one.last_token_s <= one.ended_s
    assert any(one.output_tokens == TOKENS and one.finish_reason == "length" for one in outcomes)


def test_an_answer_in_one_piece(transformers_serve):
    (one,) = asked(transformers_serve.url, transformers_serve.model, 1, stream=False)
    assert (one.verdict, one.counted_by) == ("ok", "usage"), one.why
    assert one.text


@pytest.mark.parametrize("reset", [False, True])
def test_the_same_stream_cut_is_never_ok_though_no_done_was_due(transformers_serve, reset):
    (one,) = asked(
        transformers_serve.url, transformers_serve.model, 1, fault=Fault(cut_after_bytes=700, reset=reset)
    )
    assert one.verdict in (("truncated", "reset") if reset else ("truncated",))
    assert one.output_tokens is None
