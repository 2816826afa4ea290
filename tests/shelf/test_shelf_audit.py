"""The audit log: a line for each change, in its transaction, sealed one on another, with no secret in it."""

from importlib import import_module
from pathlib import Path

import pytest

from cabida.errors import CabidaError, InvalidInput
from cabida.evidence import connect, shelf, store, tracked
from cabida.evidence.observation import of_row
from cabida.evidence.quotes import keeping
from cabida.evidence.quotes.reading import read_quote
from cabida.evidence.read import ReadFile

TEXT = "name: a\nworkload: batch-inference\n"
DECISION = {"schema": "cabida/decision/1", "name": "a"}
QUOTE = Path(__file__).parents[2] / "examples" / "quotes" / "reservation.yaml"


def lines(where, **asked):
    return [(one.by, one.what, one.kind, one.name) for one in shelf.audit_log(store=where, **asked).items][
        ::-1
    ]


def test_every_change_has_its_line(any_store):
    with shelf.acting("Ana"):
        brief = shelf.add_brief("plan", TEXT, store=any_store)
        shelf.change_brief(brief.id, version=1, name="plan b", store=any_store)
        shelf.drop_brief(brief.id, version=2, store=any_store)
        kept = shelf.add_decision(DECISION, store=any_store)
        run = shelf.add_run("run", "plan: x\n", store=any_store)
        shelf.change_run(run.id, state="running", store=any_store)
        token, secret = shelf.new_token("robot", "reader", store=any_store)
        shelf.revoke_token(token.id, by="Luis", store=any_store)
    row = {"id": "obs-1234567890ab", "kind": "memory", "engine": "vllm", "measured": {"fits": True}}
    read = ReadFile("vllm.log", "0" * 64, 9, "vllm", (of_row(row),), 1, (), 0, "0.1.0")
    (seen,) = store.add(read, any_store)
    with shelf.acting("Bo"):
        store.forget([seen], any_store, "wrong card")
        tracked.keep("d", "a", [{"month": "2027-01", "x": 1}], any_store)
    assert lines(any_store)[:8] == [
        ("Ana", "made", "brief", "plan"),
        ("Ana", "changed", "brief", "plan b"),
        ("Ana", "dropped", "brief", "plan b"),
        ("Ana", "made", "decision", "a"),
        ("Ana", "made", "run", "run"),
        ("Ana", "changed", "run", "run"),
        ("Ana", "made", "token", "robot"),
        ("Luis", "revoked", "token", "robot"),
    ]
    assert [one[1:3] for one in lines(any_store)[8:]] == [
        ("imported", "observations"),
        ("forgotten", "observations"),
        ("kept", "month"),
    ]
    assert lines(any_store, kind="observations")[0][3] == "vllm.log"
    assert lines(any_store, by="Luis") == [("Luis", "revoked", "token", "robot")]
    assert len(lines(any_store, of=brief.id)) == 3
    first, second = shelf.audit_log(of=brief.id, store=any_store).items[::-1][:2]
    assert first.before == ""
    assert first.after == second.before != second.after
    assert shelf.audit_log(of=kept.id, store=any_store).items[0].after == kept.digest
    with connect.reading(any_store) as connection:
        written = str(connection.exec_driver_sql("SELECT * FROM audit").all())
        written += str(connection.exec_driver_sql("SELECT * FROM tokens").all())
    assert secret not in written
    assert secret.removeprefix("cabida_") not in written
    assert shelf.check_audit(any_store) == shelf.AuditCheck(11)


def test_a_quote_that_is_kept_is_told_by_its_id(tmp_path):
    where = tmp_path / "s.db"
    (kept,) = keeping.keep([read_quote(QUOTE)], where)
    keeping.keep([read_quote(QUOTE)], where)
    assert [(one.what, one.kind, one.of) for one in shelf.audit_log(store=where).items] == [
        ("kept", "quote", kept.id)
    ]


def test_what_fails_leaves_no_line_and_no_change(any_store, monkeypatch):
    kept = shelf.add_brief("plan", TEXT, store=any_store)
    briefs = import_module("cabida.evidence.shelf.briefs")

    def stopped(*_, **__):
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(briefs, "noted", stopped)
        with pytest.raises(RuntimeError):
            shelf.change_brief(kept.id, version=1, name="b", store=any_store)
        with pytest.raises(RuntimeError):
            shelf.add_brief("c", TEXT, store=any_store)
    assert shelf.brief(kept.id, store=any_store) == kept
    assert len(shelf.briefs(store=any_store).items) == 1
    assert shelf.check_audit(any_store) == shelf.AuditCheck(1)


@pytest.mark.parametrize("table", ["audit", "brief_versions", "decision_texts"])
def test_what_was_written_is_never_changed_or_removed(any_store, table):
    shelf.add_brief("plan", TEXT, store=any_store)
    shelf.add_decision(DECISION, store=any_store)
    column = {"audit": "name", "brief_versions": "text", "decision_texts": "digest"}[table]
    for words in (f"UPDATE {table} SET {column} = 'x'", f"DELETE FROM {table}"):
        with pytest.raises(CabidaError), connect.writing(any_store) as connection:
            connection.exec_driver_sql(words)
    assert shelf.check_audit(any_store) == shelf.AuditCheck(2)
    with connect.reading(any_store) as connection:
        assert connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar() in (1, 2)


TAMPERED = {
    "a name": ("UPDATE audit SET name = 'other' WHERE id = 3", 3),
    "a person": ("UPDATE audit SET by_whom = 'other' WHERE id = 5", 5),
    "a line": ("DELETE FROM audit WHERE id = 2", 2),
    "the last line": ("DELETE FROM audit WHERE id = 5", 5),
    "every line": ("DELETE FROM audit", 1),
    "the end": ("DELETE FROM audit_end", 6),
    "the seal": ("UPDATE audit SET digest = 'x' WHERE id = 4", 4),
}


def test_who_tampers_shows(tmp_path):
    for at, (words, broken) in enumerate(TAMPERED.values()):
        where = tmp_path / f"{at}.db"
        for number in range(5):
            shelf.add_brief(f"n {number}", TEXT, store=where)
        assert shelf.check_audit(where) == shelf.AuditCheck(5)
        with connect.writing(where) as connection:
            for change in ("update", "delete"):
                connection.exec_driver_sql(f"DROP TRIGGER audit_no_{change}")
            connection.exec_driver_sql(words)
        assert shelf.check_audit(where).broken_at == broken


def test_pages_of_the_log(any_store):
    for number in range(5):
        shelf.add_brief(f"n {number}", TEXT, store=any_store)
    first = shelf.audit_log(most=2, store=any_store)
    shelf.add_brief("later", TEXT, store=any_store)
    second = shelf.audit_log(most=2, after=first.next, store=any_store)
    third = shelf.audit_log(most=2, after=second.next, store=any_store)
    assert [one.id for page in (first, second, third) for one in page.items] == [5, 4, 3, 2, 1]
    assert third.next == ""
    for wrong in ("x", "-1", "٣", "9" * 40, "1; DROP"):
        with pytest.raises(InvalidInput, match="CB-E226"):
            shelf.audit_log(after=wrong, store=any_store)


def test_who_acts_is_this_machines_user_unless_somebody_is_named(monkeypatch):
    monkeypatch.setenv("LOGNAME", "ana")
    assert shelf.actor() == "ana"
    with shelf.acting("Luis\x1b"):
        assert shelf.actor() == "Luis"
        assert shelf.actor("Bo") == "Bo"
        with shelf.acting(""):
            assert shelf.actor() == "ana"
    assert len(shelf.actor("x" * 500)) == 80

    def nobody():
        raise KeyError

    monkeypatch.setattr("getpass.getuser", nobody)
    assert shelf.actor().startswith("user ")
