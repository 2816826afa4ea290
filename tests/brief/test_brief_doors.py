"""The editor's schema, the template, the examples and the claims: all from the same table, all read clean."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from cabida.brief import examples, read_brief
from cabida.brief import schema as schemas
from cabida.brief.asking import questions, template
from cabida.brief.completion import complete, missing
from cabida.brief.fields import BRIEF
from cabida.brief.model import WORKLOADS
from cabida.brief.read import parse_brief
from cabida.brief.shapes import Group
from cabida.brief.wrong_figures import claims, corrections
from cabida.errors import InvalidInput
from cabida.text import catalogue, language, use_language

AS_OF = "2026-11-30"
FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.yaml"))


class Words(yaml.SafeLoader):
    """As an editor sees it, but dates stay text."""


Words.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if "timestamp" not in tag]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
VALID = jsonschema.Draft7Validator(schemas.schema())


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_each_example_reads_clean_is_complete_and_fits_the_schema(file):
    done = complete(read_brief(file, as_of=AS_OF), as_of=AS_OF)
    assert done.assumed == ()
    assert VALID.is_valid(yaml.load(file.read_text(encoding="utf-8"), Words))
    assert file.read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=")
    assert (file.parent / file.read_text(encoding="utf-8").split("=", 1)[1].splitlines()[0]).is_file()


def test_the_examples_cover_the_stories_and_every_class():
    names = {file.stem for file in EXAMPLES}
    assert len([name for name in names if name.startswith("story-")]) == 4
    decided = {read_brief(file, as_of=AS_OF).workload for file in EXAMPLES}
    assert decided >= set(WORKLOADS) - {"media-generation"}
    assert examples.example_names() == sorted(names)


def test_the_schema_file_is_the_one_the_table_gives():
    jsonschema.Draft7Validator.check_schema(schemas.schema())
    assert schemas.FILE.read_text(encoding="utf-8") == schemas.as_text()
    assert json.loads(schemas.as_text())["properties"].keys() == BRIEF.fields.keys()


@pytest.mark.parametrize(
    "wrong",
    [{"traffik": {}}, {"workload": "chat"}, {"traffic": {"concurrency": -1}}, {"have": [{"cards": 2}]}],
)
def test_the_schema_refuses_what_reading_refuses(wrong):
    assert not VALID.is_valid(wrong)
    with pytest.raises(InvalidInput):
        parse_brief(yaml.safe_dump(wrong), as_of=AS_OF)


def groups(shape, found):
    mapping = shape.mapping
    if isinstance(mapping, Group):
        found.append(mapping)
        for below in mapping.fields.values():
            groups(below, found)
    elif mapping is not None:
        groups(mapping.item, found)
    if shape.sequence is not None:
        groups(shape.sequence.item, found)
    return found


@pytest.mark.parametrize("code", ["en", "es"])
def test_every_field_and_kind_is_described_in_both_languages(code):
    before = language()
    use_language(code)
    try:
        for group in groups(schemas.WHOLE_BRIEF, []):
            for key, shape in group.fields.items():
                assert schemas.description(group.name, key)
                assert shape.scalar is None or f"kind.{shape.scalar.name}" in catalogue(code, "brief")
    finally:
        use_language(before)


@pytest.mark.parametrize("code", ["en", "es"])
@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_template_reads_clean_and_asks_for_what_matters(workload, code):
    text = template(workload, code)
    brief = parse_brief(text, as_of=AS_OF)
    assert brief.workload == workload
    assert VALID.is_valid(yaml.load(text, Words))
    asked = {question.path for question in questions(workload)}
    blocking = {item.path for item in missing(brief, AS_OF) if item.blocking}
    assert blocking <= asked
    assert all(f"question.{path}" in catalogue(code, "brief") for path in asked)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_example_answer_is_a_good_answer(workload):
    answers = {question.path: question.example for question in questions(workload)}
    brief = parse_brief(template(workload, answers=answers), as_of=AS_OF)
    assert brief.models
    assert brief.horizon_months == 24


def test_a_template_can_start_from_an_example():
    first, rest = template("pretraining", from_example="qlora-70b").split("\n", 1)
    assert first.endswith("$schema=./brief.schema.json")  # which cabida init writes beside it
    assert rest == (FOLDER / "qlora-70b.yaml").read_text(encoding="utf-8").split("\n", 1)[1]
    with pytest.raises(InvalidInput, match=r"Closest: qlora-70b"):
        template("pretraining", from_example="qlora70b")
    with pytest.raises(InvalidInput, match=r"Closest: pretraining"):
        template("pretrainin")


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("The A100 reads up to 1.6 TB/s.", "2.039"),
        ("An A100 gives 624 TFLOPS in tensor cores", "312"),
        ("H100: 1,979 TFLOPS BF16", "989"),
        ("RTX 6000 Ada: 900 GB/s, 40 TFLOPS", "960"),
        ("RTX 6000 Ada with 16-24 GB", "48 GB"),
        ("Intel Xe HPC has 16 GB per chip", "128 GB"),
        ("30B in 24 GB, FP16", "60 GB"),
        ("Training 7B needs more than 16 GB", "112 GB"),
        ("MI100 is a good open-source choice", "MI200"),
        ("INT8 on the B300 is fast", "154"),
        ("Bandwidth must be above 800 GB/s", "L4"),
        ("The MI300X reads 10.3 TB/s", "5.3"),
    ],
)
def test_wrong_figures_are_answered_with_the_right_one(said, right):
    found = corrections(said)
    assert len(found) == 1
    assert right in found[0].right
    assert found[0].source


@pytest.mark.parametrize(
    "said",
    [
        "A100: 312 TFLOPS dense, 624 with sparsity",
        "A 7B model answers in 16 GB",
        "H100 FP8: 1979 TFLOPS",
        "",
        "30B in 4 bits fits 24 GB",
    ],
)
def test_right_figures_are_left_alone(said):
    assert corrections(said) == []


def test_claims_of_a_brief_come_with_their_line():
    brief = parse_brief(
        "name: x\nclaims: ['A100 624 TFLOPS']\nnotes: |\n  fine\n  30B in 24 GB, FP16\n", as_of=AS_OF
    )
    assert sorted((found.code, found.line) for found in claims(brief)) == [("CB-B060", 2), ("CB-B060", 3)]
