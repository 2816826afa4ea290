"""Whatever is done to the shelf in whatever order, it answers as plain dictionaries would, on both databases."""

from itertools import count

import hypothesis.strategies as st
from hypothesis import HealthCheck, given, settings

from cabida.errors import Conflict, NotThere
from cabida.evidence import shelf

TEXTS = [f"name: n{at}\n" for at in range(3)]
NAMES = ["plan", "Plan", "pláN b", "50 %", "a_b"]
WHO = ["Ana", "Luis"]
STEPS = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(NAMES), st.sampled_from(TEXTS)),
    st.tuples(
        st.just("change"),
        st.integers(0, 3),
        st.integers(0, 2),
        st.sampled_from([None, *NAMES]),
        st.sampled_from([None, *TEXTS]),
    ),
    st.tuples(st.just("drop"), st.integers(0, 3), st.integers(0, 2)),
    st.tuples(st.just("restore"), st.integers(0, 3), st.integers(0, 2)),
)
_numbers = count()


class Plain:
    """The shelf as dictionaries: id -> every version as (name, text, gone, who)."""

    def __init__(self):
        self.kept = {}
        self.lines = 0

    def add(self, id, name, text, who):
        self.kept[id] = [(name, text, False, who)]
        self.lines += 1

    def next(self, what, id, version, who, name=None, text=None):
        """Whether it is taken, and by whom it was overtaken where not."""
        versions = self.kept[id]
        last_name, last_text, gone, _ = versions[-1]
        if version != len(versions) or gone != (what == "restore"):
            return False
        new = (name or last_name, text or last_text, what == "drop", who)
        if what != "change" or new[:2] != (last_name, last_text):
            versions.append(new)
            self.lines += 1
        return True


def do(step, plain, ids, who, mark, store):
    what, *rest = step
    if what == "add":
        name = f"{mark} {rest[0]}"
        id = shelf.add_brief(name, rest[1], by=who, store=store).id
        ids.append(id)
        plain.add(id, name, rest[1], who)
        return
    if not ids:
        return
    id, behind = ids[rest[0] % len(ids)], rest[1]
    version = len(plain.kept[id]) - behind
    more = {}
    if what == "change":
        more = {"name": rest[2] and f"{mark} {rest[2]}", "text": rest[3]}
    change = {"change": shelf.change_brief, "drop": shelf.drop_brief, "restore": shelf.restore_brief}[what]
    try:
        change(id, version=version, by=who, store=store, **more)
        taken, newest = True, None
    except Conflict as told:
        taken, newest = False, told.newest
    assert taken == plain.next(what, id, version, who, **more)
    assert newest in (None, len(plain.kept[id]))


def agrees(plain, ids, mark, store):
    for id, versions in plain.kept.items():
        told = [shelf.brief(id, at, store=store) for at in range(1, len(versions) + 1)]
        assert [(one.name, one.text, one.gone, one.changed_by) for one in told] == versions
        assert shelf.brief(id, store=store) == told[-1]
        assert [one.version for one in shelf.brief_versions(id, store=store)] == list(
            range(len(versions), 0, -1)
        )
    for gone in (False, True):
        wanted = [id for id in reversed(ids) if plain.kept[id][-1][2] == gone]
        assert pages(2, store, search=f"{mark} ", gone=gone) == wanted
        part = [id for id in wanted if "plan" in plain.kept[id][-1][0].lower().replace("á", "a")]
        assert pages(3, store, search=f"{mark} PLAN", gone=gone) == part


def pages(most, store, **asked):
    found, after = [], ""
    while True:
        page = shelf.briefs(most=most, after=after, store=store, **asked)
        found += [one.id for one in page.items]
        if not (after := page.next):
            return found


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(STEPS, st.sampled_from(WHO)), max_size=14))
def test_any_order_of_changes_is_as_dictionaries_would_have_it(any_store, steps):
    plain, ids, mark = Plain(), [], f"x{next(_numbers)}x"
    before = shelf.check_audit(any_store).lines_count
    for step, who in steps:
        do(step, plain, ids, who, mark, any_store)
    agrees(plain, ids, mark, any_store)
    assert shelf.check_audit(any_store) == shelf.AuditCheck(before + plain.lines)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(["add", "drop"]), st.integers(0, 3), st.sampled_from(WHO)), max_size=14
    )
)
def test_decisions_are_as_dictionaries_would_have_them(any_store, steps):
    mark, kept, gone = f"x{next(_numbers)}x", {}, set()
    for what, at, who in steps:
        plain = {"schema": "cabida/decision/1", "name": f"{mark} {at}"}
        if what == "add":
            one = shelf.add_decision(plain, by=who, store=any_store)
            assert kept.setdefault((at, who), one.id) == one.id
            gone.discard(one.id)
        elif (at, who) in kept:
            assert shelf.drop_decision(kept[at, who], by=who, store=any_store).gone
            gone.add(kept[at, who])
    found = [one.id for one in shelf.kept_decisions(search=mark, most=500, store=any_store).items]
    assert found == sorted(set(kept.values()) - gone, reverse=True)
    assert shelf.check_audit(any_store).broken_at is None


@given(st.text(max_size=300))
def test_a_name_is_kept_printable_or_refused(text):
    from cabida.errors import InvalidInput
    from cabida.evidence.shelf.bounds import plain_name, searchable

    try:
        name = plain_name(text)
    except InvalidInput:
        return
    assert 0 < len(name) <= 120
    assert name.isprintable()
    assert plain_name(name) == name
    assert searchable(name) in searchable(f"before {name} after")


@given(st.text(max_size=40))
def test_no_text_names_a_brief_by_accident(tmp_path_factory, text):
    import pytest

    with pytest.raises(NotThere):
        shelf.brief(text, store=tmp_path_factory.getbasetemp() / "never.db")
