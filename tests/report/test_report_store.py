"""A decision survives JSON exactly; what isn't a decision is refused with its place."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from report_sample import decision

from cabida.errors import InvalidInput
from cabida.files import write_text
from cabida.plan import Decision, Estimate
from cabida.report import schema, store

numbers = st.floats(allow_nan=False)


def codes(text):
    with pytest.raises(InvalidInput) as caught:
        store.from_json(text, file="d.json")
    return [one.code for one in caught.value.problems]


@pytest.mark.parametrize("language", ["en", "es"])
def test_round_trip_is_exact(language):
    made = decision(language)
    assert store.from_json(store.to_json(made)) == made
    assert store.to_json(store.from_json(store.to_json(made))) == store.to_json(made)


@given(numbers, numbers, numbers, st.text(max_size=40))
def test_any_number_and_any_text_survive(value, low, high, text):
    made = decision()
    option = replace(made.options[0], title=text, metrics={text: Estimate(value, low, high, text)})
    changed = replace(made, options=(option,), brief={"notes": text})
    assert store.from_json(store.to_json(changed)) == changed


def test_odd_numbers_are_words_and_valid_json():
    option = replace(
        decision().options[0], metrics={"x": Estimate(float("inf"), float("-inf"), float("nan"), "")}
    )
    text = store.to_json(replace(decision(), options=(option,)))
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    read = store.from_json(text).options[0].metrics["x"]
    assert (read.value, read.low) == (float("inf"), float("-inf"))
    assert read.high != read.high


def test_schema_file_is_the_generated_one_and_holds():
    assert schema.PATH.read_text(encoding="utf-8") == schema.text()
    validator = Draft202012Validator(json.loads(schema.text()))
    Draft202012Validator.check_schema(validator.schema)
    data = json.loads(store.to_json(decision()))
    assert not list(validator.iter_errors(data))
    assert list(validator.iter_errors(data | {"extra": 1}))
    assert list(validator.iter_errors(data | {"schema": "cabida/decision/2"}))
    assert list(validator.iter_errors({key: one for key, one in data.items() if key != "flips"}))


def test_what_is_no_decision_is_refused():
    assert codes("{") == ["CB-R001"]
    assert codes("[" * 100_000) == ["CB-R001"]
    assert codes("[]") == ["CB-R002"]
    assert codes('{"schema": "cabida/decision/9"}') == ["CB-R002"]


def test_every_fault_is_told_with_its_place():
    data = json.loads(store.to_json(decision()))
    data["options"][0]["rank"] = "first"
    data["options"][1]["metrics"]["ttft_ms_p95"]["low"] = True
    del data["answer"]
    data["colour"] = "blue"
    with pytest.raises(InvalidInput) as caught:
        store.from_json(json.dumps(data), file="d.json")
    told = "\n".join(map(str, caught.value.problems))
    assert len(caught.value.problems) == 4
    for place in ("options[0].rank", "options[1].metrics.ttft_ms_p95.low", "answer", "colour"):
        assert place in told


def test_writing_is_whole_or_not_at_all(tmp_path, monkeypatch):
    path = store.save(decision(), tmp_path / "deep" / "d.json")
    before = path.read_text(encoding="utf-8")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "half \ud800")
    assert path.read_text(encoding="utf-8") == before
    assert [one.name for one in path.parent.iterdir()] == ["d.json"]
    assert isinstance(store.load(path), Decision)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InvalidInput, match="CB-R004"):
        store.load(tmp_path / "none.json")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(InvalidInput, match="CB-R005"):
        write_text(tmp_path / "file" / "d.json", "x")


def test_a_number_of_more_digits_than_are_read_is_no_decision():
    with pytest.raises(InvalidInput, match="CB-R001"):
        store.from_json('{"schema": "cabida/decision/1", "seed": ' + "9" * 5000 + "}")
