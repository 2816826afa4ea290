"""What each kind of rule says of an answer, what it can't say, and what is refused before anything is asked."""

import json
import random
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida.bench.accept.forms import unfenced
from cabida.bench.accept.measures import normalised, numbers_of
from cabida.bench.accept.rules import KINDS, is_generated, put, rules
from cabida.bench.outcome import Outcome
from cabida.errors import InvalidInput
from cabida.plan.bench import RULES, Rule
from cabida.text import tr, use_language

PERSON = {
    "type": "object",
    "required": ["name", "age"],
    "properties": {"name": {"type": "string", "pattern": "^[A-Z]"}, "age": {"$ref": "#/$defs/years"}},
    "patternProperties": {"^x_": {"type": "integer"}},
    "$defs": {"years": {"type": "integer", "minimum": 0}},
}
ENDLESS = r"^(a|aa)+$"
GOOD = '{"name": "Ada", "age": 36}'


def an_outcome(text="", **more):
    return Outcome("r/1", 0, 0.0, **({"verdict": "ok", "text": text, "finish_reason": "stop"} | more))


def judged(kind, value, text, *, reference=None, **more):
    found = rules([Rule(kind, value)]).judgement(an_outcome(text, **more), reference=reference)
    return found.accepted


@pytest.mark.parametrize(
    ("kind", "value", "text", "accepted"),
    [
        ("json-schema", PERSON, GOOD, True),
        ("json-schema", PERSON, '{"name": "ada", "age": 36}', False),
        ("json-schema", PERSON, '{"name": "Ada", "age": -1}', False),
        ("json-schema", PERSON, '{"name": "Ada", "age": 3, "x_a": "no"}', False),
        ("json-schema", PERSON, "Ada is 36.", False),
        ("json-schema", PERSON, f"```json\n{GOOD}\n```", False),
        ("json-schema", {"schema": PERSON, "fence": True}, f"```json\n{GOOD}\n```\n", True),
        ("json-schema", {"schema": PERSON, "fence": True}, f"Here you are: ```json\n{GOOD}\n```", False),
        ("json-schema", PERSON, "[" * 100_000, False),
        ("json-schema", {"type": "array"}, "[" * 900 + "]" * 900, False),
        ("json-schema", {"type": "number"}, "NaN", False),
        ("regex", "^Par(is|ís)", "Paris.", True),
        ("regex", {"pattern": "paris", "flags": "i", "match": "full"}, "Paris", True),
        ("regex", {"pattern": "paris", "match": "full"}, "in paris", False),
        ("regex", {"pattern": "as an AI", "absent": True}, "Paris", True),
        ("regex", {"pattern": "as an AI", "absent": True}, "Well, as an AI", False),
        ("length", {"max_words": 3}, "one two three", True),
        ("length", {"max_words": 3}, "one two three four", False),
        ("length", {"min_characters": 2, "max_characters": 3}, "añ", True),
        ("length", {"max_tokens": 3}, "who knows", None),
        ("finish-reason", None, "x", True),
        ("finish-reason", ["length", "tool_calls"], "x", False),
        ("exact", "Paris", " «PARIS».\n", True),
        ("exact", {"text": ["yes", "sí"], "normalised": False}, "sí", True),
        ("exact", {"text": "yes", "normalised": False}, "Yes", False),
        ("exact", {"reference": True}, "x", None),
        ("numeric", 42, "First 17, then 42.", True),
        ("numeric", {"value": 17, "which": "first"}, "First 17, then 42.", True),
        ("numeric", {"value": 42, "which": "only"}, "First 17, then 42.", False),
        ("numeric", {"value": 3.14159, "tolerance": 0.01}, "about 3,14", True),
        ("numeric", {"value": 1234.5, "decimal": ","}, "son 1.234,5 €", True),
        ("numeric", {"value": 1234.5, "decimal": "."}, "it is $1,234.5", True),
        ("numeric", 1234, "1,234", True),
        ("numeric", {"value": 1234, "decimal": ","}, "1,234", False),
        ("numeric", {"value": 12345, "relative": 0.001}, "12 350", True),
        ("numeric", -2, "x = −2", True),
        ("numeric", 5e3, "5e3 of them", True),
        ("numeric", 1, "none", False),
        ("command", [sys.executable, "-c", "import sys; sys.exit('ok' not in sys.stdin.read())"], "ok", True),
        ("command", [sys.executable, "-c", "import sys; sys.exit('ok' not in sys.stdin.read())"], "ko", False),
        ("command", [sys.executable, "-c", "raise SystemExit(127)"], "x", None),
        ("command", [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], "x", None),
        ("command", {"command": ["sleep", "30"], "timeout": 0.2}, "x", None),
        ("command", ["true"], "it reads nothing of this" * 100_000, True),
        ("command", {"command": ["sh", "-c", "yes >&2"], "timeout": 0.3}, "x", None),
        ("command", {"command": ["sh", "-c", "sleep 60 & exit 1"], "timeout": 5}, "x", False),
        ("judge", {"target": "http://127.0.0.1:1/v1", "prompt": "{output}?"}, "x", None),
    ],
)  # fmt: skip
def test_a_rule_says(kind, value, text, accepted):
    assert judged(kind, value, text) is accepted


def test_every_kind_of_a_plan_can_be_put():
    assert set(KINDS) == set(RULES)


@pytest.mark.parametrize(
    ("value", "text", "reference", "accepted"),
    [
        ({"reference": True}, "Paris", "paris", True),
        ({"reference": True}, "Lyon", ["Paris", "Lyon"], True),
        ({"reference": True, "text": "Nice"}, "nice", "Paris", True),
        ({"reference": True}, "Rome", "Paris", False),
    ],
)
def test_what_was_expected_may_stand_beside_the_prompt(value, text, reference, accepted):
    assert judged("exact", value, text, reference=reference) is accepted


def test_the_number_expected_is_the_last_of_the_reference():
    said = {"reference": True, "tolerance": 0.5}
    assert judged("numeric", said, "so 72", reference="48 + 24 = 72\n#### 72")
    assert not judged("numeric", said, "so 24", reference="48 + 24 = 72\n#### 72")
    assert judged("numeric", {"reference": True}, "1.5", reference=1.5)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("```json\n{}\n```", "{}\n"),
        ("\n```\r\n[1]\r\n```  \n", "[1]\r\n"),
        ("``` JSON \n{}```", "{}"),
        ("```python\n{}\n```", None),
        ("```\n```", ""),
        ("```json {}```", None),
        ("{}", None),
        ("``````", None),
        ("```\n" + " " * 3_000_000, None),
    ],
)
def test_a_fence_is_taken_off_where_it_is_all_around(text, inside):
    assert unfenced(text) == (text if inside is None else inside)


def test_a_pattern_without_end_is_bounded_and_told():
    began = time.monotonic()
    found = rules([Rule("regex", {"pattern": ENDLESS, "timeout": 0.2})]).judgement(an_outcome("a" * 60 + "b"))
    assert (found.accepted, found.unjudged) == (None, ("regex",))
    assert "0.2" in found.why[0][1]
    assert time.monotonic() - began < 20


def test_a_pattern_in_a_schema_is_bounded_too():
    schema = {"type": "string", "pattern": ENDLESS}
    assert judged("json-schema", schema, json.dumps("a" * 60 + "b")) is None


def test_a_command_gets_no_keys(monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "sk-not-for-you")
    monkeypatch.setenv("WANTED", "1")
    look = "import os, sys; sys.exit('MY_API_KEY' in os.environ or os.environ.get('WANTED') != '1')"
    value = {"command": [sys.executable, "-c", look], "environment": ["WANTED"]}
    assert judged("command", value, "x") is True


def test_a_command_knows_the_reference_and_its_complaint_is_kept_short():
    look = "import os, sys; sys.stderr.write(os.environ['CABIDA_REFERENCE'] * 99999); sys.exit(1)"
    found = rules([Rule("command", [sys.executable, "-c", look])]).judgement(
        an_outcome("x"), reference="R\x1b[1m"
    )
    assert found.accepted is False
    why = dict(found.why)["command"]
    assert "R" in why
    assert len(why) < 400
    assert "\x1b" not in why


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("sentiment", "good"),
        ("json-schema", 7),
        ("json-schema", "/nowhere/schema.json"),
        ("json-schema", {"type": "thing"}),
        ("json-schema", {"properties": {"a": {"$ref": "http://127.0.0.1/x.json"}}}),
        ("json-schema", {"properties": {"a": {"$ref": "other.json#/a"}}}),
        ("json-schema", {"description": "x" * 2**20}),
        ("regex", "(unclosed"),
        ("regex", {"pattern": "a", "flags": "q"}),
        ("regex", {"pattrn_": "a"}),
        ("regex", {"pattern": "a", "timeout": "soon"}),
        ("length", None),
        ("length", {"min_words": 5, "max_words": 2}),
        ("length", 80),
        ("numeric", "many"),
        ("numeric", {"tolerance": 1}),
        ("numeric", True),
        ("exact", None),
        ("command", "rm -rf x"),
        ("command", ["no-such-program-anywhere"]),
        ("command", {"command": ["true"], "folder": "/nowhere/at/all"}),
        ("judge", {"target": {"model": "m"}, "prompt": "{output}"}),
        ("judge", {"target": "http://127.0.0.1/v1", "prompt": "is it good?"}),
        ("judge", {"target": {"url": "http://127.0.0.1/v1", "model_": "m"}, "prompt": "{output}"}),
        ("judge", {"target": "http://127.0.0.1/v1", "prompt": "{output}", "accept": "("}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("language", ["en", "es"])
def test_what_cant_be_put_is_refused_with_its_line(kind, value, language):
    use_language(language)
    try:
        with pytest.raises(InvalidInput) as refused:
            rules([Rule("regex", "fine"), Rule(kind, value)], where={"rules[1]": 12}, file="plan.yaml")
    finally:
        use_language("en")
    (told,) = refused.value.problems
    assert (told.line, told.file) == (12, "plan.yaml")
    assert told.what
    assert told.cure
    assert "rules[1]" in told.what


def test_all_faults_are_told_at_once():
    with pytest.raises(InvalidInput) as refused:
        rules([Rule("regex", "("), Rule("length", {"max_word": 3, "min_words": -1})])
    assert len(refused.value.problems) == 2
    assert "max_words" in str(refused.value)
    assert "min_words" in str(refused.value)


def test_generated_valid_and_accepted_are_counted_apart():
    put_to = rules(
        [
            {"kind": "json-schema", "value": {"type": "object"}, "name": "form"},
            {"kind": "regex", "value": "Ada"},
        ]
    )
    cases = [
        (an_outcome('{"a": "Ada"}'), (True, True, True, (), ())),
        (an_outcome('{"a": "Bob"}'), (True, True, False, ("regex",), ())),
        (an_outcome("Ada"), (True, False, False, ("form",), ())),
        (an_outcome('{"a": "Ada"', verdict="truncated"), (False, False, False, (), ("form", "regex"))),
        (an_outcome(""), (False, False, False, (), ("form", "regex"))),
    ]
    for outcome, wanted in cases:
        found = put_to.judgement(outcome)
        assert (found.generated, found.valid, found.accepted, found.broken, found.unjudged) == wanted
        put(outcome, found)
        assert (outcome.accepted, outcome.valid) == (found.accepted, found.valid)


def test_without_rules_nothing_is_accepted_or_rejected():
    assert rules([]).judgement(an_outcome("x")).accepted is None
    assert rules([]).judge(an_outcome("x")) == (None, ())


def test_a_broken_rule_rejects_whatever_else_is_unknown():
    put_to = rules([Rule("length", {"max_tokens": 3}), Rule("regex", "yes")])
    assert put_to.judge(an_outcome("no")) == (False, ("regex",))
    assert put_to.judge(an_outcome("yes")) == (None, ())
    assert put_to.judge(an_outcome("yes", output_tokens=3)) == (True, ())


def test_rules_of_a_plan_and_of_its_brief_are_one_list_and_names_stay_apart():
    put_to = rules(
        [Rule("regex", "a"), Rule("regex", "b")], [Rule("regex", "a"), Rule("exact", "c", "the answer")]
    )
    assert [one.name for one in put_to.made] == ["regex", "regex 2", "the answer"]


def test_vectors_and_pictures_are_generated_too():
    assert is_generated(an_outcome("", items_count=3))
    assert not is_generated(an_outcome("", items_count=0))


def test_what_is_wrong_is_told_by_its_place_and_never_by_content():
    found = rules([Rule("json-schema", PERSON)]).judgement(an_outcome('{"name": "secret stuff", "age": 1}'))
    assert "secret" not in dict(found.why)["json-schema"]
    assert "properties/name/pattern" in dict(found.why)["json-schema"]


@given(st.floats(-1e12, 1e12), st.sampled_from([".", ","]), st.booleans(), st.integers(0, 6))
def test_a_number_written_either_way_is_read(value, decimal, grouped, digits):
    written = f"{value:{',' if grouped else ''}.{digits}f}"
    if decimal == ",":
        written = written.translate(str.maketrans(",.", ".,"))
    (readings,) = numbers_of(f"The answer: {written}.", decimal)
    assert readings == pytest.approx((float(f"{value:.{digits}f}"),), abs=10**-digits / 2)


@given(st.text(max_size=60))
def test_normalising_twice_changes_nothing_and_numbers_never_fail(text):
    assert normalised(normalised(text)) == normalised(text)
    for readings in numbers_of(text):
        assert all(one == one for one in readings)


@given(st.binary(max_size=300), st.sampled_from(["json-schema", "regex", "length", "exact", "numeric"]))
def test_any_answer_gets_an_answer(data, kind):
    value = {
        "json-schema": PERSON,
        "regex": "^[a-z]+$",
        "length": {"max_words": 2},
        "exact": "x",
        "numeric": 1,
    }[kind]
    assert judged(kind, value, data.decode("utf-8", "surrogateescape")) in (True, False)


def test_json_of_any_shape_is_judged():
    draw = random.Random(7)

    def any_json(depth):
        if depth == 0 or draw.random() < 0.3:
            return draw.choice([None, True, 1e308, -1, "x" * 40, "ñ\ud7ff", 2**70])
        if draw.random() < 0.5:
            return [any_json(depth - 1) for _ in range(draw.randrange(4))]
        return {draw.choice(["name", "age", "x_1", "", "\0"]): any_json(depth - 1) for _ in range(3)}

    put_to = rules([Rule("json-schema", PERSON)])
    for _ in range(300):
        assert put_to.judge(an_outcome(json.dumps(any_json(6))))[0] in (True, False)


def test_both_languages_say_every_reason():
    for language in ("en", "es"):
        use_language(language)
        assert tr("accept.command_no", code=1, line="x")
    use_language("en")
