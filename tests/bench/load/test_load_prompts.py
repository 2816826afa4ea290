"""Prompts have the lengths wanted, share what is to be shared and nothing else, and follow from their seed."""

import asyncio
import json
from itertools import pairwise, takewhile
from random import Random
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.bench.load.lengths import Calibrated, calibrate, calibrated, law
from cabida.bench.load.prompts import Prompt, asks, body_of, prompts
from cabida.bench.load.words import WORDS
from cabida.errors import InvalidInput
from cabida.plan.bench import Prompts, Spread, Target

TARGET = Target("http://127.0.0.1:1/v1", model="m")


def shared_words(a, b):
    pairs = zip(a.split(), b.split(), strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


def test_words_are_as_many_as_the_tokens_wanted_where_a_word_is_a_token():
    deck = prompts(Prompts(input=Spread(300.0, 0.6), output=Spread(50.0, 0.5)), TARGET, 3)
    found = [deck.at(index) for index in range(3000)]
    assert all(len(one.text.split()) == one.input_tokens for one in found)
    assert fmean(one.input_tokens for one in found) == pytest.approx(300, rel=0.04)
    assert fmean(one.output_tokens for one in found) == pytest.approx(50, rel=0.04)


@pytest.mark.parametrize(
    ("spread", "most"), [(0.0, None), (0.4, 2000.0), (1.0, 900.0), (1.5, 700.0), (0.8, None), (1.0, 200.0)]
)
def test_lengths_keep_their_mean_though_the_longest_are_cut(spread, most):
    """500 tokens on average; a ceiling below that is the length of all."""
    of, random = law(Spread(500.0, spread, most)), Random(1)
    found = [of.draw(random) for _ in range(60_000)]
    assert fmean(found) == pytest.approx(min(500.0, most or 500.0), rel=0.03)
    assert max(found) <= (most or 1e7)
    assert min(found) >= 1


@settings(max_examples=60, deadline=None)
@given(
    mean=st.floats(0.1, 1e5), spread=st.floats(0.0, 4.0), most=st.one_of(st.none(), st.floats(1.0, 1e6)),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_any_law_gives_whole_lengths_from_one_up(mean, spread, most, seed):
    found = law(Spread(mean, spread, most)).draw(Random(seed))
    assert isinstance(found, int)
    assert 1 <= found <= max(1, round(most or 1e7))


def test_the_seed_decides_and_prompts_are_dealt_in_any_order():
    plan = Prompts(input=Spread(40.0, 0.5), shared_prefix_tokens=10.0, prefixes_count=3)
    first, second = prompts(plan, TARGET, 7), prompts(plan, TARGET, 7)
    backwards = [second.at(index) for index in reversed(range(50))][::-1]
    assert [next(first) for _ in range(50)] == backwards
    assert [prompts(plan, TARGET, 8).at(index) for index in range(50)] != backwards


def test_no_two_prompts_begin_alike():
    deck = prompts(Prompts(input=Spread(20.0)), TARGET, 1)
    found = [deck.at(index).text for index in range(5000)]
    assert len({" ".join(one.split()[:4]) for one in found}) == 5000
    assert all(shared_words(a, b) == 0 for a, b in pairwise(found))


def test_salt_changes_how_prompts_begin_and_nothing_of_their_lengths():
    plain = prompts(Prompts(input=Spread(30.0, 0.9)), TARGET, 1)
    salted = prompts(Prompts(input=Spread(30.0, 0.9)), TARGET, 1, salt="again")
    for index in range(200):
        a, b = plain.at(index), salted.at(index)
        assert (a.input_tokens, a.output_tokens) == (b.input_tokens, b.output_tokens)
        assert a.text.split()[0] != b.text.split()[0]
        assert a.text.split()[4:] == b.text.split()[4:]


def test_beginnings_are_shared_as_the_plan_says():
    plan = Prompts(input=Spread(100.0), shared_prefix_tokens=60.0, prefixes_count=4)
    deck = prompts(plan, TARGET, 5)
    found = [deck.at(index) for index in range(40)]
    assert [one.prefix for one in found] == [index % 4 for index in range(40)]
    assert all(len(one.text.split()) == 100 for one in found)
    for a in range(40):
        for b in range(a):
            shared = shared_words(found[a].text, found[b].text)
            assert shared == (60 if found[a].prefix == found[b].prefix else 0)


def test_a_prompt_too_short_for_the_beginning_has_none():
    deck = prompts(Prompts(input=Spread(60.0), shared_prefix_tokens=60.0), TARGET, 5)
    assert deck.at(0).prefix == -1
    assert len(deck.at(0).text.split()) == 60


def test_a_trace_gives_the_lengths_one_after_another():
    deck = prompts(Prompts(), TARGET, 1, lengths=[(5, 6), (70, 8)])
    assert [(one.input_tokens, one.output_tokens) for one in (deck.at(0), deck.at(1), deck.at(2))] == [
        (5, 6), (70, 8), (5, 6),
    ]  # fmt: skip
    assert len(deck.at(1).text.split()) == 70


def test_the_servers_own_counts_say_what_a_word_is():
    async def count(words):
        return round(11 + 1.3 * words)

    found = asyncio.run(calibrate(count))
    assert found.tokens_per_word == pytest.approx(1.3, rel=0.02)
    assert found.overhead_tokens == pytest.approx(11, abs=1)
    deck = prompts(Prompts(input=Spread(400.0)), TARGET, 1, measured=found)
    assert 11 + 1.3 * len(deck.at(0).text.split()) == pytest.approx(400, abs=2)
    shared = prompts(Prompts(input=Spread(400.0), shared_prefix_tokens=200.0), TARGET, 1, measured=found)
    assert 11 + 1.3 * len(shared.at(0).text.split()) == pytest.approx(400, abs=3)


@pytest.mark.parametrize(
    "counted", [[], [(16, 20)], [(16, 20), (16, 21)], [(16, 20), (64, 20)], [(1, 1), (9, 900)]]
)
def test_counts_that_tell_nothing_calibrate_nothing(counted):
    assert calibrated(counted) is None


def test_a_server_that_does_not_count_leaves_it_unknown():
    async def count(words):
        return None

    assert asyncio.run(calibrate(count)) is None
    assert Calibrated().basis == "assumed"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """A real byte-pair tokenizer whose vocabulary is too small for a token a word."""
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token=None))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=600, show_progress=False, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()
    )
    made.train_from_iterator([" ".join(WORDS)] * 3, trainer)
    folder = tmp_path_factory.mktemp("tokenizer")
    made.save(str(folder / "tokenizer.json"))
    return folder, made


@pytest.mark.parametrize("shared", [0.0, 100.0])
def test_a_tokenizer_counts_the_words(tokenizer, shared):
    folder, made = tokenizer
    target = Target("http://127.0.0.1:1/v1", tokenizer=str(folder))
    plan = Prompts(input=Spread(300.0, 0.4), shared_prefix_tokens=shared)
    deck = prompts(plan, target, 1)
    assert deck.calibrated.basis == "tokenizer"
    for index in range(60):
        one = deck.at(index)
        counted = len(made.encode(one.text).ids)
        assert one.input_tokens - 7 <= counted <= one.input_tokens + 3
        assert counted != len(one.text.split())


def test_a_tokenizer_that_is_none_is_refused_and_not_done_without(tmp_path):
    pytest.importorskip("tokenizers")
    (tmp_path / "tokenizer.json").write_text("{}", "utf-8")
    for path in (tmp_path, tmp_path / "nowhere.json"):
        with pytest.raises(InvalidInput, match="CB-W015"):
            prompts(Prompts(), Target("http://127.0.0.1:1/v1", tokenizer=str(path)), 1)


def written(tmp_path, text, name="prompts.jsonl"):
    file = tmp_path / name
    file.write_text(text, "utf-8")
    return str(file)


def test_lines_are_texts_or_messages_with_or_without_a_length(tmp_path):
    file = written(
        tmp_path,
        '{"prompt": "Say ¡hola!", "output_tokens": 9}\n\n'
        '{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]}\n',
    )
    deck = prompts(Prompts("jsonl", file, output=Spread(33.0)), TARGET, 1)
    first, second, again, messages_again = (deck.at(index) for index in range(4))
    assert (first.text, first.output_tokens, first.input_tokens) == ("Say ¡hola!", 9, None)
    assert second.messages[1]["content"] == "Why?"
    assert second.output_tokens == 33
    assert again.text.endswith("\nSay ¡hola!")  # its second use begins with words of its own
    assert len(again.text.split("\n")[0].split()) == 4
    assert messages_again.messages[0]["content"].endswith("\nBe brief.")
    assert messages_again.messages[1:] == second.messages[1:]


def test_a_file_that_changes_meanwhile_is_told(tmp_path):
    file = written(tmp_path, '{"prompt": "One"}\n{"prompt": "Two"}\n')
    deck = prompts(Prompts("jsonl", file), TARGET, 1)
    written(tmp_path, '{"prompt": "Another one"}\n')
    with pytest.raises(InvalidInput, match="CB-G007"):
        deck.at(1)


def test_texts_of_a_file_may_share_a_beginning_too(tmp_path):
    file = written(
        tmp_path, '{"prompt": "One"}\n{"messages": [{"role": "user", "content": [{"type": "text"}]}]}\n'
    )
    plan = Prompts("jsonl", file, shared_prefix_tokens=20.0)
    deck = prompts(plan, TARGET, 1)
    first, second = deck.at(0), deck.at(1)
    assert first.prefix == second.prefix == 0
    assert first.text.endswith("\nOne")
    assert len(first.text.split("\n")[0].split()) == 20
    assert second.messages[0] == {"role": "system", "content": first.text.split("\n")[0]}


@pytest.mark.parametrize("as_lines", [False, True])
def test_conversations_ask_their_first_question_for_as_much_as_was_replied(tmp_path, as_lines):
    rows = [
        {"id": index, "conversations": [
            {"from": "human", "value": f"Question {index} " + "é" * index},
            {"from": "gpt", "value": "x" * 4 * (index + 1)},
        ]}
        for index in range(3000)
    ]  # fmt: skip
    rows[5] = {"conversations": [{"from": "gpt", "value": "unasked"}]}
    rows[6] = {"conversations": []}
    text = "\n".join(map(json.dumps, rows)) if as_lines else json.dumps(rows, ensure_ascii=False, indent=1)
    deck = prompts(Prompts("sharegpt", written(tmp_path, text, "c.json")), TARGET, 1)
    assert deck.at(0).text == "Question 0 "
    assert deck.at(0).output_tokens == 1
    assert deck.at(2997).text == "Question 2999 " + "é" * 2999
    assert deck.at(2997).output_tokens == 3000
    assert deck.at(2998).text.endswith("\nQuestion 0 ")


@pytest.mark.parametrize(
    ("source", "text", "where"),
    [
        ("jsonl", '{"prompt": "a"}\nno json\n{"prompt": 5}\n', ["jsonl:2", "jsonl:3"]),
        ("jsonl", '{"prompt": "a", "messages": []}\n[]\n{"prompt": "a", "output_tokens": 0}', ["l:1", "l:2", "l:3"]),
        ("jsonl", '{"messages": [{"role": "pirate", "content": "a"}]}\n', ["jsonl:1"]),
        ("jsonl", "\n", ["jsonl"]),
        ("jsonl", "[" * 100_000 + "\n", ["jsonl:1"]),
        ("sharegpt", "[]", ["jsonl"]),
        ("sharegpt", '[{"conversations": [', ["jsonl"]),
        ("sharegpt", "[" * 100_000, ["jsonl"]),
        ("sharegpt", "<html>", ["jsonl"]),
    ],
)  # fmt: skip
def test_files_that_are_none_are_refused_with_their_lines(tmp_path, source, text, where):
    file = written(tmp_path, text)
    with pytest.raises(InvalidInput) as caught:
        prompts(Prompts(source, file), TARGET, 1)
    told = [str(one) for one in caught.value.problems]
    assert len(told) == len(where)
    for one, place in zip(told, where, strict=True):
        assert place in one
        assert "CB-G007" in one


def test_a_missing_file_a_pipe_and_an_unknown_source_are_refused(tmp_path):
    for path in (str(tmp_path / "none"), str(tmp_path), "/dev/zero"):
        with pytest.raises(InvalidInput, match="CB-G007"):
            prompts(Prompts("jsonl", path), TARGET, 1)
    (tmp_path / "latin").write_bytes(b'[{"conversations": "\xe9"}]')
    with pytest.raises(InvalidInput):
        prompts(Prompts("sharegpt", str(tmp_path / "latin")), TARGET, 1)
    with pytest.raises(InvalidInput, match="CB-G004"):
        prompts(Prompts("gossip"), TARGET, 1)


def test_asks_are_numbered_and_those_done_or_anothers_pass():
    deck = prompts(Prompts(input=Spread(8.0), shared_prefix_tokens=4.0), TARGET, 1)
    made = []

    def body(prompt):
        made.append(prompt)
        return prompt.text.encode()

    rows = asks("steady", deck, body, done={"steady/3"}, share=(1, 2))
    found = [next(rows) for _ in range(8)]
    assert [one and one.id for one in found] == [
        None,
        "steady/1",
        None,
        None,
        None,
        "steady/5",
        None,
        "steady/7",
    ]
    assert len(made) == 3  # what passes is not made
    assert found[1].body == deck.at(1).text.encode()
    assert (found[1].input_tokens, found[1].output_tokens, found[1].prefix) == (8, 128, 0)


def test_a_deck_for_another_run_reads_no_file_again(tmp_path):
    target, plan = (
        Target("http://127.0.0.1:1/v1"),
        Prompts("jsonl", str(written(tmp_path, '{"prompt": "a"}\n'))),
    )
    first = prompts(plan, target, 1, salt="x")
    (tmp_path / "prompts.jsonl").unlink()
    other = first.again(2, salt="y", lengths=[(7, 3)])
    assert (other.at(0).text, other.at(0).output_tokens) == ("a", 3)
    heard = first.again(2, salt="z", repeated=True).at(0).text
    assert heard == " ".join(first.again(2, salt="z").nonce(0)) + "\na"  # no cache has its beginning
    plain = prompts(Prompts(), target, 1, salt="x").again(2, salt="y")
    again = prompts(Prompts(), target, 2, salt="y")
    assert [plain.at(k) for k in range(5)] == [again.at(k) for k in range(5)]


def test_texts_of_so_many_words_are_others_in_another_benchmark():
    target = Target("http://127.0.0.1:1/v1")
    first, second = (prompts(Prompts(), target, 1, salt=salt).of_words(9000) for salt in ("a", "b"))
    assert len(first.split()) == len(second.split()) == 9000
    assert first.split()[:16] != second.split()[:16]


def test_the_body_is_as_the_plan_and_target_say():
    target = Target("http://127.0.0.1:1/v1", "m", body={"temperature": 0})
    said = json.loads(body_of(Prompts(exact_output=True), target)(Prompt("hello", output_tokens=9)))
    assert (said["max_tokens"], said["ignore_eos"], said["temperature"]) == (9, True, 0)
    assert said["messages"] == [{"role": "user", "content": "hello"}]
