"""Tokens open what they should, while they should, and nobody can read them back; runs keep no key either."""

import hashlib
from importlib import import_module

import pytest

from cabida.errors import InvalidInput, NotThere
from cabida.evidence import connect, shelf

tokens = import_module("cabida.evidence.shelf.tokens")


def test_a_token_opens_until_it_is_revoked(any_store):
    token, secret = shelf.new_token("Ana", "editor", days=30, by="root", store=any_store)
    other, _ = shelf.new_token("Luis", "reader", store=any_store)
    assert secret.startswith("cabida_")
    assert len(secret) == len("cabida_") + 43
    assert (token.role, token.made_by, token.last_used_at) == ("editor", "root", "")
    found = shelf.token_of(secret, store=any_store)
    assert (found.id, found.name) == (token.id, "Ana")
    assert [one.id for one in shelf.tokens(store=any_store)] == [other.id, token.id]
    assert shelf.tokens(store=any_store)[1].last_used_at
    assert not shelf.token_used(shelf.tokens(store=any_store)[1], store=any_store)  # a moment ago
    revoked = shelf.revoke_token(token.id, store=any_store)
    assert revoked.revoked_at
    assert shelf.revoke_token(token.id, store=any_store).revoked_at == revoked.revoked_at
    assert shelf.token_of(secret, store=any_store) is None


def test_a_token_ends_on_its_day(tmp_path, monkeypatch):
    store = tmp_path / "s.db"
    token, secret = shelf.new_token("Ana", "editor", days=1, store=store)
    assert token.holds(token.made_at)
    monkeypatch.setattr(tokens, "now", lambda: token.expires_at)
    assert shelf.token_of(secret, store=store) is None


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "cabida_",
        "cabida_" + "x" * 43,
        "Bearer x",
        "cabida_" + "x" * 5000,
        "cabida_" + "é" * 43,
        "\x00" * 50,
    ],
)
def test_what_is_no_token_opens_nothing(tmp_path, wrong):
    store = tmp_path / "s.db"
    assert shelf.token_of(wrong, store=store) is None
    _, secret = shelf.new_token("Ana", "editor", store=store)
    assert shelf.token_of(wrong, store=store) is None
    assert shelf.token_of(secret[:-1], store=store) is None
    assert shelf.token_of(secret.swapcase(), store=store) is None


def test_only_a_digest_is_kept(tmp_path):
    store = tmp_path / "s.db"
    _, secret = shelf.new_token("Ana", "editor", store=store)
    with connect.reading(store) as connection:
        (kept,) = connection.exec_driver_sql("SELECT secret_sha256 FROM tokens").scalars()
    assert kept == hashlib.sha256(secret.encode()).hexdigest()
    content = b"".join(one.read_bytes() for one in tmp_path.iterdir())
    assert secret.removeprefix("cabida_").encode() not in content


def test_a_token_opens_also_where_nothing_can_be_written(tmp_path, monkeypatch):
    store = tmp_path / "s.db"
    token, secret = shelf.new_token("Ana", "editor", store=store)

    def full(*_, **__):
        raise InvalidInput([])

    monkeypatch.setattr(tokens, "changing", full)
    assert shelf.token_of(secret, store=store).id == token.id


@pytest.mark.parametrize(
    ("name", "role", "days", "said"),
    [
        ("", "editor", 1, "CB-E221"),
        ("Ana", "admin", 1, "CB-E241"),
        ("Ana", "", 1, "CB-E241"),
        ("Ana", "editor", 0, "CB-E242"),
        ("Ana", "editor", 367, "CB-E242"),
        ("Ana", "editor", 1.5, "CB-E242"),
        ("Ana", "editor", True, "CB-E242"),
    ],
)
def test_what_is_no_token_to_make(tmp_path, name, role, days, said):
    with pytest.raises(InvalidInput, match=said):
        shelf.new_token(name, role, days=days, store=tmp_path / "s.db")


def test_there_are_so_many_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr(tokens, "MOST_TOKENS", 2)
    store = tmp_path / "s.db"
    first, _ = shelf.new_token("a", "reader", store=store)
    shelf.new_token("b", "reader", store=store)
    with pytest.raises(InvalidInput, match="CB-E243"):
        shelf.new_token("c", "reader", store=store)
    shelf.revoke_token(first.id, store=store)
    shelf.new_token("c", "reader", store=store)
    for id in ("t-000000000000000", "x", "t-\x00"):
        with pytest.raises(NotThere, match="CB-E244"):
            shelf.revoke_token(id, store=store)


def test_a_run_is_kept_changed_and_found(any_store):
    kept = shelf.add_run("Búsqueda", "plan: x\nkey: env:NAME\n", folder="runs/1", by="Ana", store=any_store)
    assert (kept.state, kept.summary, kept.job) == ("planned", None, "")
    done = shelf.change_run(
        kept.id, state="done", summary={"p95": 0.5}, job="j-1", by="Luis", store=any_store
    )
    assert (done.state, done.summary, done.changed_by, done.made_by) == ("done", {"p95": 0.5}, "Luis", "Ana")
    assert shelf.change_run(kept.id, state="done", store=any_store) == done
    assert shelf.kept_run(kept.id, store=any_store) == done
    other = shelf.add_run("other", "plan: y\n", store=any_store)
    assert [one.id for one in shelf.kept_runs(store=any_store).items] == [other.id, kept.id]
    assert [one.id for one in shelf.kept_runs(search="busq", store=any_store).items] == [kept.id]
    assert shelf.kept_runs(most=1, store=any_store).next == other.id
    shelf.change_run(other.id, gone=True, store=any_store)
    assert [one.id for one in shelf.kept_runs(store=any_store).items] == [kept.id]
    assert [one.id for one in shelf.kept_runs(gone=True, store=any_store).items] == [other.id]
    assert shelf.change_run(other.id, gone=False, store=any_store).gone is False
    with pytest.raises(InvalidInput, match="CB-E223"):
        shelf.add_run("a", "headers: {Authorization: Bearer abcdefghijkl}\n", store=any_store)
    with pytest.raises(ValueError, match="no state"):
        shelf.change_run(kept.id, state="flying", store=any_store)
    for id in ("r-000000000000000", "x", "r-\x00"):
        for ask in (shelf.kept_run, shelf.change_run):
            with pytest.raises(NotThere, match="CB-E240"):
                ask(id, store=any_store)
