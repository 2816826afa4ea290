"""A plan's faults: all at once, each with its line and what to write instead; keys are never repeated."""

from __future__ import annotations

import pytest

from cabida.bench.planned import parse_plan, read_plan
from cabida.errors import InvalidInput, Problem
from cabida.text import use_language

GOOD = """\
name: chat
contenders:
  - name: a
    target: {url: "http://127.0.0.1:8000/v1", model: m}
runs:
  - name: steady
    phase: load
    candidate: a
    load: {kind: poisson, requests_per_s: 3, duration: 40 min}
"""


def faults(text: str) -> list[Problem]:
    with pytest.raises(InvalidInput) as told:
        parse_plan(text, file="plan.yaml")
    return list(told.value.problems)


def codes(text: str) -> list[str]:
    return [one.code for one in faults(text)]


def test_a_plan_needs_no_more_than_a_target_and_a_run() -> None:
    plan = parse_plan(GOOD)
    assert plan.runs[0].load.duration_s == 2400.0
    assert plan.contenders[0].target.url == "http://127.0.0.1:8000/v1"
    assert plan.where["runs[0].load.duration"] == 9


def test_all_faults_at_once_with_their_lines() -> None:
    text = (
        GOOD.replace("phase: load", "phase: laod")
        .replace("3, duration: 40 min", "lots, duration: 40")
        .replace("model: m", "modle: m")
    )
    found = faults(text)
    assert {(one.code, one.line) for one in found} >= {
        ("CB-B003", 4),
        ("CB-B018", 7),
        ("CB-B010", 9),
        ("CB-B015", 9),
    }
    assert [one.line for one in found] == sorted(one.line for one in found)
    assert "model" in next(one for one in found if one.code == "CB-B003").cure
    assert "load" in next(one for one in found if one.code == "CB-B018").cure
    assert all(one.file == "plan.yaml" for one in found)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("candidate: a", "candidate: b", "CB-P009"),
        ("requests_per_s: 3, ", "", "CB-P019"),
        (", duration: 40 min", "", "CB-P020"),
        ("phase: load", "phase: drill", "CB-P016"),
        ("phase: load", "phase: training", "CB-P016"),
        ("kind: poisson", "kind: steps", "CB-P019"),
        ("kind: poisson", "kind: trace", "CB-P019"),
        ('url: "http://127.0.0.1:8000/v1"', "url: ftp://x/v1", "CB-P002"),
        ('url: "http://127.0.0.1:8000/v1"', "url: localhost", "CB-P002"),
        ('url: "http://127.0.0.1:8000/v1"', 'url: "http://127.0.0.1:0/v1"', "CB-P002"),
        ('url: "http://127.0.0.1:8000/v1", ', "", "CB-B014"),
        ("name: chat\n", "", "CB-P003"),
        ("model: m", "model: m, key: my-own-secret", "CB-P001"),
        ("model: m", "model: m, key: 'env:'", "CB-P001"),
        ("model: m", "model: m, headers: {Authorization: xyz}", "CB-P001"),
        ("model: m", 'model: m, headers: {"a b": xyz}', "CB-P005"),
        ("model: m", 'model: m, headers: {a: "x\\r\\ny: z"}', "CB-P005"),
        ("model: m", "model: m, body: [1]", "CB-B012"),
        ("- name: steady", "-\n  - name: steady", "CB-P004"),
        ("name: chat", "name: chat\nrules: [{kind: regex}]", "CB-P013"),
        ("name: chat", "name: chat\nprompts: {source: jsonl}", "CB-P014"),
        ("name: chat", "name: chat\nprompts: {input_tokens: 100, shared_prefix_tokens: 200}", "CB-P015"),
        ("name: chat", "name: chat\ncurrency: EUR", None),
        ("phase: load", "phase: load\n    cost: 3 USD", None),
        ("phase: load", "phase: load\n    cost: 3 EUR", "CB-P007"),
        ("phase: load", "phase: load\n    expected: [{metric: req_s, value: 5, low: 6, high: 7}]", "CB-P018"),
        (
            "phase: load",
            "phase: load\n    expected: [{metric: ttft_p95, value: 6, low: 6, high: 7}]",
            "CB-P034",
        ),
        ("phase: load", "phase: load\n    decides: [{metric: x, side: above, at: 6, then: b}]", "CB-P034"),
        ("phase: load", "phase: load\n    drills: [{kind: kill, pid_file: a.pid}]", "CB-P017"),
        ("phase: load", "phase: drill\n    drills: [{kind: kill}]", "CB-P021"),
        ("phase: load", "phase: drill\n    drills: [{kind: drain, command: docker stop x}]", "CB-P006"),
        ("phase: load", "phase: drill\n    drills: [{kind: slow-network, lasts: 5 s}]", "CB-P021"),
        ("phase: load", "phase: drill\n    drills: [{kind: kill, pid_file: a.pid, at: 41 min}]", "CB-P022"),
        ("phase: load", "phase: drill\n    drills: [{kind: checkpoint}]", "CB-P024"),
        ("phase: load", "phase: training\n    job: {duration: 5 min}", "CB-P023"),
        ("kind: poisson", "kind: profile, profile: [1, 2, 3]", "CB-B027"),
    ],
)
def test_what_does_not_go_together_is_refused_by_name(old: str, new: str, code: str | None) -> None:
    text = GOOD.replace(old, new, 1)
    assert text != GOOD
    if code is None:
        parse_plan(text)
        return
    assert code in codes(text)


def test_two_of_one_name_are_told_apart_before_results_are_kept_under_it() -> None:
    assert "CB-P008" in codes(GOOD + GOOD.partition("runs:\n")[2])


SECRETS = (
    "sk-abcdefghijklmnopqrstuvwxyz123456", "hf_abcdefghijklmnopqrstuvwx", "Bearer abcdefghijklmnop",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
)  # fmt: skip


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "place",
    [
        "key: {}",
        "headers: {{x-note: '{}'}}",
        "body: {{user: '{}'}}",
        "tokenizer: '{}'",
        "model2: '{}'",
        "log: '{}'",
    ],
)
def test_a_key_in_the_open_is_refused_and_not_repeated(secret: str, place: str) -> None:
    text = GOOD.replace("model: m", f"model: m, {place.format(secret)}")
    found = faults(text)
    assert any(one.code == "CB-P001" and one.line == 4 for one in found)
    told = " ".join(str(one) for one in found)
    assert secret not in told
    assert secret.split()[-1] not in told


@pytest.mark.parametrize(
    "target",
    [
        "http://me:hunter2hunter2@127.0.0.1/v1",
        "http://127.0.0.1/v1?api_key=abcdefgh12345678",
    ],
)
def test_a_login_in_an_address_is_refused_and_not_repeated(target: str) -> None:
    told = " ".join(str(one) for one in faults(GOOD.replace("http://127.0.0.1:8000/v1", target)))
    assert "CB-P001" in told
    assert "hunter2" not in told
    assert "abcdefgh12345678" not in told


def test_a_key_after_its_flag_is_found_and_a_variable_is_none() -> None:
    drill = "phase: drill\n    drills: [{kind: restart, command: [serve, --api-key, VALUE]}]"
    assert "CB-P001" in codes(GOOD.replace("phase: load", drill.replace("VALUE", "abcd1234efgh")))
    plan = parse_plan(GOOD.replace("phase: load", drill.replace("VALUE", '"$SERVER_KEY"')))
    assert plan.runs[0].drills[0].command == ("serve", "--api-key", "$SERVER_KEY")
    parse_plan(GOOD.replace("model: m", "model: m, key: env:OPENAI_API_KEY"))
    parse_plan(GOOD.replace("model: m", "model: m, key: 'keyring:bench/me'"))


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "just text", "a: [1", "\x00", "a: *b", "a: &x [*x]", "name: !!python/object:os.system x",
        "runs: " + "[" * 60 + "]" * 60, "a: 1\na: 2", "contenders: {}\nruns: 5\nname: [x]",
        "name: x\ncontenders: []\nruns: []",
        "name: x\ncontenders: [null]\nruns: [null, ~]",
        "name: x\ncontenders: [[[]]]\nruns: [[]]",
        "&a name: &b [*b]\n", "? [a]\n: b\n", "name: " + "x" * 500,
    ],
)  # fmt: skip
def test_whatever_a_file_holds_it_ends_in_a_problem(text: str) -> None:
    for one in faults(text):
        assert one.what
        assert "Traceback" not in str(one)


def test_a_bomb_and_a_huge_file_are_refused_before_they_cost_anything(tmp_path) -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "\n".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join([f'*{chr(97 + i)}'] * 9)}]" for i in range(8)
    )
    assert codes(bomb) == ["CB-B004"]
    huge = tmp_path / "huge.yaml"
    huge.write_bytes(b"name: x\n" * 200_000)
    with pytest.raises(InvalidInput) as told:
        read_plan(huge)
    assert told.value.problems[0].code == "CB-P011"
    with pytest.raises(InvalidInput) as told:
        read_plan(tmp_path / "none.yaml")
    assert told.value.problems[0].code == "CB-P010"


def test_faults_are_told_in_spanish_too() -> None:
    use_language("es")
    try:
        told = " ".join(
            str(one)
            for one in faults(GOOD.replace("candidate: a", "candidate: b").replace("name: chat", "nam: x"))
        )
    finally:
        use_language("en")
    assert "ningún candidato de contenders se llama b" in told
    assert "Falta name" in told
    assert "el plan: nam" in told


def test_control_characters_never_reach_the_terminal() -> None:
    told = " ".join(str(one) for one in faults(GOOD.replace("candidate: a", '"candidate": "\\e[31mred"')))
    assert "\x1b" not in told


def test_a_search_of_requests_at_once_needs_objectives():
    text = """\
name: tried
contenders: [{name: one, target: {url: "http://127.0.0.1:8000/v1", model: m}}]
runs: [{name: seek, phase: search, candidate: one, load: {kind: closed, concurrency: 4}}]
"""
    with pytest.raises(InvalidInput, match="CB-P035"):
        parse_plan(text)
    assert parse_plan(text + "objectives: {ttft_p95: 1 s}\n").runs[0].phase == "search"
