"""Briefs on the shelf: every version stays, nobody writes over what they haven't seen, lists hold still."""

from importlib import import_module
from itertools import product

import pytest

from cabida.brief import example_names, example_text
from cabida.errors import Conflict, InvalidInput, NotThere
from cabida.evidence import shelf
from cabida.text import speaking

TEXT = "name: support\nworkload: realtime-inference\n"


def code(refused):
    return [one.code for one in refused.value.problems]


def test_what_is_kept_comes_back_and_every_version_stays(any_store):
    with shelf.acting("Ana"):
        first = shelf.add_brief("Support chat", TEXT, store=any_store)
    assert (first.version, first.made_by, first.workload, first.size_bytes) == (
        1,
        "Ana",
        "realtime-inference",
        len(TEXT),
    )
    longer = TEXT + "# más\n"
    second = shelf.change_brief(first.id, version=1, text=longer, by="Luis", store=any_store)
    third = shelf.change_brief(first.id, version=2, name="Chat", store=any_store)
    assert (second.version, second.changed_by, second.made_by) == (2, "Luis", "Ana")
    assert (third.version, third.name, third.text) == (3, "Chat", longer)
    assert shelf.brief(first.id, store=any_store) == third
    assert shelf.brief(first.id, 1, store=any_store) == first
    assert shelf.brief(first.id, 2, store=any_store) == second
    told = shelf.brief_versions(first.id, store=any_store)
    assert [(one.version, one.name, one.changed_by) for one in told[1:]] == [
        (2, "Support chat", "Luis"),
        (1, "Support chat", "Ana"),
    ]
    assert told[1].size_bytes == len(longer.encode())
    (listed,) = shelf.briefs(store=any_store).items
    assert (listed.id, listed.version, listed.name, listed.text) == (first.id, 3, "Chat", "")
    (whole,) = shelf.briefs(store=any_store, texts=True).items
    assert whole == third


def test_nothing_changed_is_no_version(any_store):
    kept = shelf.add_brief("a", TEXT, store=any_store)
    assert shelf.change_brief(kept.id, version=1, text=TEXT, name=" a ", store=any_store) == kept
    assert len(shelf.brief_versions(kept.id, store=any_store)) == 1
    assert len(shelf.audit_log(store=any_store).items) == 1


def test_who_is_slower_is_told_who_was_faster(any_store):
    kept = shelf.add_brief("Plan", TEXT, store=any_store)
    shelf.change_brief(kept.id, version=1, name="Plan B", by="Ana", store=any_store)
    with pytest.raises(Conflict) as refused:
        shelf.change_brief(kept.id, version=1, name="Plan C", by="Luis", store=any_store)
    assert (refused.value.newest, refused.value.exit_code, code(refused)) == (2, 3, ["CB-E231"])
    assert "Ana changed Plan B" in str(refused.value)
    assert "version 2" in str(refused.value)
    with speaking("es"), pytest.raises(Conflict, match="Ana cambió Plan B"):
        shelf.drop_brief(kept.id, version=1, store=any_store)
    assert shelf.brief(kept.id, store=any_store).name == "Plan B"


def test_dropped_is_off_the_lists_and_can_be_brought_back(any_store):
    kept = shelf.add_brief("Plan", TEXT, store=any_store)
    gone = shelf.drop_brief(kept.id, version=1, by="Ana", store=any_store)
    assert (gone.gone, gone.version, gone.text) == (True, 2, TEXT)
    assert shelf.briefs(store=any_store).items == ()
    assert [one.id for one in shelf.briefs(gone=True, store=any_store).items] == [kept.id]
    assert shelf.brief(kept.id, store=any_store) == gone
    for change in (shelf.drop_brief, shelf.change_brief):
        with pytest.raises(Conflict) as refused:
            change(kept.id, version=2, store=any_store)
        assert code(refused) == ["CB-E233"]
    back = shelf.restore_brief(kept.id, version=2, store=any_store)
    assert (back.gone, back.version) == (False, 3)
    assert [one.id for one in shelf.briefs(store=any_store).items] == [kept.id]
    with pytest.raises(Conflict):
        shelf.restore_brief(kept.id, version=3, store=any_store)


ODD = ("b-000000000000000", "d-000000000000000", "b-", "", "b-\x00", "x" * 5000, "'; --")


def test_what_is_not_there_is_said_with_its_name(any_store):
    def change(id, store):
        return shelf.change_brief(id, version=1, name="x", store=store)

    for id, ask in product(
        ODD, (shelf.brief, shelf.brief_versions, change)
    ):  # the first before there is a store
        with pytest.raises(NotThere) as refused:
            ask(id, store=any_store)
        assert code(refused) == ["CB-E230"]
    kept = shelf.add_brief("a", TEXT, store=any_store)
    for version in (0, 2, -1, 10**30):
        with pytest.raises(NotThere) as refused:
            shelf.brief(kept.id, version, store=any_store)
        assert code(refused) == ["CB-E229"]


def test_lists_are_searched_by_any_part_without_capitals_accents_or_wildcards(any_store):
    names = ["Búsqueda 100 % local", "busqueda_100", "STRASSE", "ﬁne", "50%"]
    for name in names:
        shelf.add_brief(name, TEXT, store=any_store)

    def found(words):
        return {one.name for one in shelf.briefs(search=words, store=any_store).items}

    assert found("BÚSQUEDA") == found("busqueda") == {names[0], names[1]}
    assert found("%") == {names[0], names[4]}
    assert found("_") == {names[1]}
    assert found("straße") == {"STRASSE"}
    assert found("FINE") == {"ﬁne"}
    assert found("\\") == found("' OR 1=1 --") == set()
    assert found("   ") == set(names)
    assert found("a\x00") <= set(names)


def test_pages_go_on_where_they_ended_whatever_is_added_meanwhile(any_store):
    kept = [shelf.add_brief(f"n {at}", TEXT, store=any_store).id for at in range(7)]
    first = shelf.briefs(most=3, store=any_store)
    assert [one.id for one in first.items] == kept[::-1][:3]
    shelf.add_brief("later", TEXT, store=any_store)
    shelf.change_brief(kept[0], version=1, name="n 0 again", store=any_store)
    second = shelf.briefs(most=3, after=first.next, store=any_store)
    third = shelf.briefs(most=3, after=second.next, store=any_store)
    assert [one.id for one in (*second.items, *third.items)] == kept[::-1][3:]
    assert third.next == ""
    assert len(shelf.briefs(most=0, store=any_store).items) == 1
    for wrong in ("x", "b-", kept[0].upper(), kept[0] + "0", "b-00000000000000'"):
        with pytest.raises(InvalidInput) as refused:
            shelf.briefs(after=wrong, store=any_store)
        assert code(refused) == ["CB-E226"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("", TEXT, "CB-E221"),
        (" \t\n\x00\u202e\u200b ", TEXT, "CB-E221"),
        ("n" * 121, TEXT, "CB-E222"),
        ("a", "", "CB-B008"),
        ("a", "- a list\n", "CB-B008"),
        ("a", "name: [", "CB-B006"),
        ("a", "name: a\x00b\n", "CB-B007"),
        ("a", "name: \ud800\n", "CB-B007"),
        ("a", "a: " + "[" * 30 + "]" * 30, "CB-B017"),
        ("a", "name: !!python/object:os.system x\n", "CB-B006"),
        ("a", "a: " + "x" * 1_000_000, "CB-E225"),
        ("a", "name: a\nnote: hf_abcdefghijklmnopqrstuvwx\n", "CB-E223"),
        ("a", TEXT + "api_key: s3cr3t-and-more\n", "CB-E223"),
        ("a", TEXT + "note: '" + "x" * 2900 + " password=" + "y" * 200 + "'\n", "CB-E223"),
        ("sk-abcdefghijklmnopqrstuvwx", TEXT, "CB-E223"),
    ],
)  # fmt: skip
def test_what_is_not_taken_is_said_and_nothing_is_kept(tmp_path, name, text, said):
    store = tmp_path / "s.db"
    with pytest.raises(InvalidInput) as refused:
        shelf.add_brief(name, text, store=store)
    assert code(refused) == [said]
    assert "s3cr3t" not in str(refused.value)
    kept = shelf.add_brief("sound", TEXT, store=store)
    if name != "a":
        text = TEXT
    with pytest.raises(InvalidInput) as refused:
        shelf.change_brief(kept.id, version=1, name=name, text=text, store=store)
    assert code(refused) == [said]
    assert shelf.brief(kept.id, store=store) == kept
    assert len(shelf.audit_log(store=store).items) == 1


def test_a_secret_is_told_by_its_line_and_never_shown(tmp_path):
    text = TEXT + "have: []\nnote: the token is glpat-abcdefghijklmnopqrst\n"
    with pytest.raises(InvalidInput) as refused:
        shelf.add_brief("a", text, store=tmp_path / "s.db")
    assert [one.line for one in refused.value.problems] == [4]
    assert "glpat" not in str(refused.value)


def test_names_lose_what_drives_a_screen(tmp_path):
    kept = shelf.add_brief(
        "  My\x1b[31m \u202eplan\n two\x07  ", TEXT, store=tmp_path / "s.db", by="An\x1ba\n"
    )
    assert kept.name == "My[31m plan two"
    assert kept.made_by == "Ana"


@pytest.mark.parametrize("name", example_names())
def test_every_example_can_be_kept(tmp_path, name):
    text = example_text(name)
    assert (
        shelf.brief(shelf.add_brief(name, text, store=tmp_path / "s.db").id, store=tmp_path / "s.db").text
        == text
    )


def test_a_brief_has_so_many_versions_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr(import_module("cabida.evidence.shelf.briefs"), "MOST_VERSIONS", 3)
    store = tmp_path / "s.db"
    id = shelf.add_brief("a", TEXT, store=store).id
    for version in (1, 2):
        shelf.change_brief(id, version=version, name=f"a{version}", store=store)
    with pytest.raises(InvalidInput) as refused:
        shelf.change_brief(id, version=3, name="b", store=store)
    assert code(refused) == ["CB-E232"]


def test_nothing_kept_is_an_empty_list_and_makes_no_store(tmp_path):
    store = tmp_path / "none" / "s.db"
    assert shelf.briefs(store=store).items == ()
    assert shelf.kept_decisions(store=store).items == ()
    assert shelf.jobs(store=store).items == ()
    assert shelf.kept_runs(store=store).items == ()
    assert shelf.tokens(store=store) == ()
    assert shelf.audit_log(store=store).items == ()
    assert shelf.check_audit(store).lines_count == 0
    assert not store.parent.exists()
