"""Decisions on the shelf: to the letter as they were made, once, with what lists show of them."""

import json
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner

import cabida
from cabida.errors import InvalidInput, NotThere
from cabida.evidence import connect, shelf
from cabida.faces.cli import cli

GOLDEN = Path(__file__).parents[1] / "report" / "golden"
TEXT = (GOLDEN / "decision.en.json").read_text(encoding="utf-8")
BRIEF = "name: support-chat\nworkload: realtime-inference\n"


def plain(**changes):
    return {"schema": "cabida/decision/1", "name": "a", "verdict": "satisfied", "options": [], **changes}


def code(refused):
    return [one.code for one in refused.value.problems]


def test_a_decision_comes_back_to_the_letter(any_store):
    brief = shelf.add_brief("support", BRIEF, store=any_store)
    kept = shelf.add_decision(TEXT, brief_id=brief.id, brief_version=1, by="Ana", store=any_store)
    assert shelf.decision_text(kept.id, store=any_store) == TEXT
    assert shelf.kept_decision(kept.id, store=any_store) == kept
    assert (kept.name, kept.as_of, kept.language, kept.currency) == (
        "support-chat",
        "2026-11-30",
        "en",
        "EUR",
    )
    assert (kept.workload, kept.exit_code, kept.brief_id) == ("realtime-inference", 0, brief.id)
    assert kept.winner.startswith("2 replicas × 2×H100 SXM")
    assert kept.unit_cost == pytest.approx(0.0021)
    odd = TEXT.replace("\n ", "\n\t ") + "\n\n"  # the text is kept, not what it means
    assert shelf.decision_text(shelf.add_decision(odd, store=any_store).id, store=any_store) == odd


def test_the_same_by_the_same_person_is_one(any_store):
    first = shelf.add_decision(TEXT, by="Ana", store=any_store)
    assert shelf.add_decision(TEXT, by="Ana", store=any_store) == first
    other = shelf.add_decision(TEXT, by="Luis", store=any_store)
    assert (other.id != first.id, other.digest) == (True, first.digest)
    assert shelf.drop_decision(first.id, store=any_store).gone
    assert shelf.drop_decision(first.id, store=any_store).gone
    assert [one.id for one in shelf.kept_decisions(store=any_store).items] == [other.id]
    assert shelf.decision_text(first.id, store=any_store) == TEXT
    assert shelf.add_decision(TEXT, by="Ana", store=any_store) == first
    assert [one.what for one in shelf.audit_log(of=first.id, store=any_store).items] == [
        "restored",
        "dropped",
        "made",
    ]
    with connect.reading(any_store) as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM decision_texts").scalar() == 1


def test_what_it_does_not_say_is_unknown(any_store):
    kept = shelf.add_decision({"schema": "cabida/decision/1"}, store=any_store)
    assert (kept.winner, kept.unit_cost, kept.exit_code, kept.workload) == (None, None, None, "")
    for odd in (
        {"options": [{"status": "chosen", "title": None, "unit_cost": {"value": "nan"}}]},
        {"options": [{"status": "misses", "title": "x", "unit_cost": {"value": 1.0}}]},
        {"options": [{"status": "chosen", "unit_cost": {"value": True}}, 7, None]},
        {"options": [{"status": "chosen", "unit_cost": {"value": 10**400}}]},
        {"options": {"status": "chosen"}, "name": ["x"], "as_of": 3},
    ):
        told = shelf.add_decision(plain(**odd), store=any_store)
        assert (told.winner, told.unit_cost) == (None, None)
    nothing = shelf.add_decision(plain(verdict="nothing"), store=any_store)
    assert nothing.exit_code == 4
    control = shelf.add_decision(plain(name="a\x00b\x1b[2J\u202e"), store=any_store)
    assert control.name == "ab[2J"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "CB-E234"),
        ("[]", "CB-E234"),
        ("{", "CB-E234"),
        ('{"schema": "other/1"}', "CB-E234"),
        ('{"schema": 1}', "CB-E234"),
        ('"\ud800"', "CB-E234"),
        ({"schema": "cabida/decision/1", "x": float("nan")}, "CB-E234"),
        ({"schema": "cabida/decision/1", "x": {1, 2}}, "CB-E234"),
        ('{"schema": "cabida/decision/1", "x": ' + "[" * 100 + "]" * 100 + "}", "CB-E224"),
        ("[" * 100_000, "CB-E234"),
        ('{"schema": "cabida/decision/1", "x": "' + "y" * 16_000_000 + '"}', "CB-E225"),
        (plain(brief_text="name: a\nhf_token: abcdefgh\n"), "CB-E223"),
    ],
    ids=range(12),
)
def test_what_is_no_decision_is_refused(tmp_path, given, said):
    with pytest.raises(InvalidInput) as refused:
        shelf.add_decision(given, store=tmp_path / "s.db")
    assert code(refused) == [said]
    assert not (tmp_path / "s.db").exists()


def test_it_answers_a_brief_that_is_there(any_store):
    brief = shelf.add_brief("support", BRIEF, store=any_store)
    for id, version in (
        (brief.id, 2),
        (brief.id, 0),
        ("b-000000000000000", 1),
        ("b-\x00", 1),
        (brief.id, 10**20),
    ):
        with pytest.raises(NotThere) as refused:
            shelf.add_decision(TEXT, brief_id=id, brief_version=version, store=any_store)
        assert code(refused) == ["CB-E229"]
    assert shelf.kept_decisions(store=any_store).items == ()
    kept = shelf.add_decision(TEXT, brief_id=brief.id, brief_version=1, store=any_store)
    shelf.add_decision(plain(), store=any_store)
    assert [one.id for one in shelf.kept_decisions(brief_id=brief.id, store=any_store).items] == [kept.id]
    assert [one.id for one in shelf.kept_decisions(search="h100 sxm", store=any_store).items] == [kept.id]
    assert shelf.kept_decisions(search="h200", store=any_store).items == ()


def test_what_is_not_there_is_said(any_store):
    shelf.add_decision(TEXT, store=any_store)
    asks = (shelf.kept_decision, shelf.decision_text, shelf.drop_decision)
    odd = ("d-000000000000000", "b-000000000000000", "d-\x00", "", "../../etc/passwd")
    for ask, id in product(asks, odd):
        with pytest.raises(NotThere) as refused:
            ask(id, store=any_store)
        assert code(refused) == ["CB-E238"]


def test_a_damaged_decision_is_never_given_as_whole(tmp_path):
    store = tmp_path / "s.db"
    kept = shelf.add_decision(TEXT, store=store)
    with connect.writing(store) as connection:
        connection.exec_driver_sql("DROP TRIGGER decision_texts_no_update")
        packed = connection.exec_driver_sql("SELECT content FROM decision_texts").scalar()
        worse = packed[:-9] + bytes([packed[-9] ^ 1]) + packed[-8:]
        connection.exec_driver_sql("UPDATE decision_texts SET content = ?", (worse,))
    with pytest.raises(InvalidInput) as refused:
        shelf.decision_text(kept.id, store=store)
    assert code(refused) == ["CB-E239"]


def test_pages_of_decisions(any_store):
    kept = [shelf.add_decision(plain(name=f"n {at}"), store=any_store).id for at in range(5)]
    first = shelf.kept_decisions(most=2, store=any_store)
    shelf.add_decision(plain(name="later"), store=any_store)
    second = shelf.kept_decisions(most=2, after=first.next, store=any_store)
    third = shelf.kept_decisions(most=2, after=second.next, store=any_store)
    assert [one.id for page in (first, second, third) for one in page.items] == kept[::-1]
    assert third.next == ""


def test_the_library_keeps_and_finds(tmp_path):
    store = tmp_path / "s.db"
    file = tmp_path / "support.yaml"
    file.write_text(BRIEF)
    first = cabida.keep_brief(file, by="Ana", store=store)
    assert (first.name, first.version) == ("support-chat", 1)
    assert cabida.keep_brief(file, by="Ana", store=store) == first
    file.write_text(BRIEF + "# more\n")
    assert cabida.keep_brief(file, by="Ana", store=store).version == 2
    beside = cabida.keep_brief(file, by="Luis", store=store)  # Ana's stays hers
    assert (beside.id != first.id, beside.version) == (True, 1)
    kept = cabida.keep_decision(GOLDEN / "decision.en.json", brief=beside, store=store)
    assert cabida.decisions(store=store).items == (kept,)
    assert [one.id for one in cabida.briefs(search="support", store=store).items] == [beside.id, first.id]
    assert shelf.decision_text(kept.id, store=store) == TEXT


def test_an_id_is_taken_where_a_file_is(monkeypatch, tmp_path):
    monkeypatch.setenv("CABIDA_STORE", str(tmp_path / "s.db"))
    monkeypatch.chdir(tmp_path)
    kept = shelf.add_decision(TEXT)
    brief = shelf.add_brief("batch", (GOLDEN.parents[2] / "examples" / "nightly-batch.yaml").read_text())
    assert cabida.load_decision(kept.id) == cabida.load_decision(GOLDEN / "decision.en.json")
    assert cabida.load_brief(brief.id).name == "nightly-reviews"
    done = CliRunner().invoke(cli, ["record", kept.id, "--format", "json"])
    assert (done.exit_code, json.loads(done.stdout)["name"]) == (0, "support-chat")
    costs = CliRunner().invoke(cli, ["cost", kept.id, "--json"])
    assert costs.exit_code == 0, costs.output
    same = CliRunner().invoke(cli, ["cost", str(GOLDEN / "decision.en.json"), "--json"])
    assert costs.stdout == same.stdout
    file = GOLDEN / "decision.en.json"
    assert cabida.diff(kept.id, file) == cabida.diff(file, file)
    refused = CliRunner().invoke(cli, ["record", kept.id, "--sign", "finance=Ana"])
    assert refused.exit_code == 3
    assert "CB-R093" in refused.output
    assert {one.suffix[:3] for one in tmp_path.iterdir()} == {".db"}  # nothing was written beside it
    (tmp_path / kept.id).write_text(TEXT.replace('"support-chat"', '"of a file"', 1))  # a file comes first
    assert cabida.load_decision(kept.id).name == "of a file"
    with pytest.raises(NotThere):
        cabida.load_decision("d-000000000000000")
    with pytest.raises(NotThere):
        cabida.load_brief("b-000000000000000")


def test_recommend_keeps_what_was_asked_and_answered(monkeypatch, tmp_path):
    from cabida import app

    monkeypatch.setenv("CABIDA_STORE", str(tmp_path / "s.db"))
    decided = cabida.load_decision(GOLDEN / "decision.en.json")
    monkeypatch.setattr(app, "recommend", lambda *_, **__: decided)
    file = tmp_path / "support.yaml"
    file.write_text(decided.brief_text)
    done = CliRunner().invoke(cli, ["recommend", str(file), "--keep", "--json"])
    assert done.exit_code == 0
    (brief,), (kept,) = cabida.briefs().items, cabida.decisions().items
    assert brief.id in done.stderr
    assert kept.id in done.stderr
    assert json.loads(done.stdout)["name"] == "support-chat"
    assert (kept.brief_id, kept.brief_version) == (brief.id, 1)
    assert CliRunner().invoke(cli, ["recommend", brief.id, "--keep", "--lang", "es"]).exit_code == 0
    assert (len(cabida.briefs().items), len(cabida.decisions().items)) == (1, 1)
