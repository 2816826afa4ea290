"""The form of a brief and its text say the same, whichever is changed."""

import dataclasses
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.app.writing import looked_over
from cabida.brief import example_names, example_text, parse_brief
from cabida.brief.fields import WHOLE_BRIEF
from cabida.brief.form import UNKNOWN, fields_of, role, same, tree_of, trimmed
from cabida.brief.model import WORKLOADS
from cabida.brief.placing import placed, written
from cabida.brief.shapes import Table
from cabida.errors import InvalidInput
from cabida.faces.web.pages.briefs_desk import worked_on
from cabida.faces.web.pages.briefs_fields import joined, split
from cabida.faces.web.pages.briefs_form import form_of
from cabida.faces.web.pages.briefs_posted import tree_from


class Fields(HTMLParser):
    """What a browser would send of a form, and the ids there are."""

    def __init__(self, text):
        super().__init__()
        self.sent, self.ids, self.described = {}, [], []
        self.select = self.textarea = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        said = dict(attrs)
        if "id" in said:
            self.ids.append(said["id"])
        self.described += said.get("aria-describedby", "").split()
        name, kind = said.get("name"), said.get("type", "text")
        if tag == "input" and name and kind not in ("file", "checkbox", "submit"):
            self.add(name, said.get("value", ""))
        elif tag == "input" and name and kind == "checkbox" and "checked" in said:
            self.add(name, said.get("value", "on"))
        elif tag == "select":
            self.select, self.chosen, self.first = name, None, None
        elif tag == "option" and self.select:
            self.first = said.get("value", "") if self.first is None else self.first
            self.chosen = said.get("value", "") if "selected" in said else self.chosen
        elif tag == "textarea":
            self.textarea, self.typed = name, ""

    def handle_endtag(self, tag):
        if tag == "select" and self.select:
            self.add(self.select, self.first if self.chosen is None else self.chosen)
            self.select = None
        elif tag == "textarea":
            self.add(self.textarea, self.typed.removeprefix("\n"))
            self.textarea = None

    def handle_data(self, data):
        if self.textarea:
            self.typed += data

    def add(self, name, value):
        self.sent.setdefault(name, []).append(value)


def form_part(text):
    return text[text.index('<form id="brief"') : text.index("</form>", text.index('<form id="brief"'))]


def core(brief):
    ways = dataclasses.replace(
        brief.consider, capacity=tuple(sorted(brief.consider.capacity))
    )  # a set of boxes
    return dataclasses.replace(brief, where={}, text="", file="", consider=ways)


@pytest.mark.parametrize("name", example_names())
def test_a_form_sent_as_it_came_leaves_the_text_as_it_was_and_alone_says_it_all(client, name):
    page = client.get(f"/briefs/new?example={name}")
    assert page.status_code == 200
    fields = Fields(form_part(page.text)).sent
    before = fields["yaml"][0]
    back = client.post("/briefs/check", data=fields)
    assert back.status_code == 200
    assert Fields(back.text).sent["yaml"][0] == before
    brief = core(parse_brief(example_text(name)))
    assert core(parse_brief(before)) == brief
    alone = client.post("/briefs/check", data=fields | {"yaml": [""], "base": [""]})
    assert core(parse_brief(Fields(alone.text).sent["yaml"][0])) == brief


def every_path(shape, path=""):
    """Every field of the schema, rows of lists and tables as [0]."""
    what = role(shape)
    if what == "list":
        yield from (
            every_path(shape.sequence.item, f"{path}[0]") if role(shape.sequence.item) != "leaf" else [path]
        )
    elif isinstance(shape.mapping, Table):
        yield from every_path(shape.mapping.item, f"{path}[0]")
    elif what == "group":
        for key, inner in fields_of(shape).items():
            yield from every_path(inner, f"{path}.{key}".lstrip("."))
    else:
        yield path


def test_every_field_of_the_schema_is_in_some_form():
    shown = set()
    for workload in WORKLOADS:
        text = f"workload: {workload}\n"
        form = form_of(tree_of(text), looked_over(text))
        shown |= {
            part.path for one in form.sections for view in (*one.asked, *one.more) for part in view.every()
        }
    assert not set(every_path(WHOLE_BRIEF)) - shown


def test_the_form_has_one_name_one_id_and_a_label_for_each_field(client):
    text = client.get("/briefs/new?example=chat-llama-70b").text
    fields = Fields(text)
    assert len(fields.ids) == len(set(fields.ids))
    assert set(fields.described) <= set(fields.ids)
    labels = set(re.findall(r'<label[^>]* for="([^"]+)"', text))
    for tag in re.findall(r"<(?:input|select|textarea)\b[^>]*>", text):
        if 'type="hidden"' in tag or " hidden " in tag or 'type="checkbox"' in tag:
            continue
        id = re.search(r'id="([^"]+)"', tag)
        assert "aria-label" in tag or (id and id[1] in labels), tag


PLACED = """# of the shop
name: shop   # short
models:
  - id: Qwen/Qwen3-14B   # the small one
    weights:
      fp8: {acceptance: 0.9}   # measured
traffic: {input_tokens: {p50: 900, p95: 3500}}   # logs of May
budget:
  monthly: 100 EUR   # agreed
"""


@pytest.mark.parametrize(
    ("change", "line", "gone"),
    [
        (lambda t: t["models"][0].update(id="a/b"), "  - id: a/b   # the small one", ""),
        (lambda t: t["models"][0]["weights"]["fp8"].update(how="guess"), 
         "      fp8: {acceptance: 0.9, how: guess}   # measured", ""),
        (lambda t: t["models"][0]["weights"].update(bf16={"acceptance": "0.95"}), "      bf16: 0.95", ""),
        (lambda t: t["traffic"]["input_tokens"].update(p95="700"), 
         "traffic: {input_tokens: {p50: 900, p95: 700}}   # logs of May", ""),
        (lambda t: t["traffic"].update(input_tokens={"fixed": "700"}), 
         "traffic: {input_tokens: 700}   # logs of May", ""),
        (lambda t: t["budget"].update(total="5 EUR"), "  total: 5 EUR", ""),
        (lambda t: t.update(horizon="12 months"), "horizon: 12 months", ""),
        (lambda t: t.pop("traffic"), "budget:", "traffic"),
        (lambda t: t.update(name="a: b # c"), 'name: "a: b # c"   # short', ""),
        (lambda t: t["models"].append({"id": "x/y"}), "  - x/y", ""),
    ],
)  # fmt: skip
def test_a_change_goes_where_it_belongs_and_comments_stay(change, line, gone):
    tree = tree_of(PLACED)
    change(tree)
    text, whole = placed(PLACED, tree)
    assert whole
    assert line in text.split("\n")
    assert same(tree_of(text), tree, WHOLE_BRIEF)
    kept = ["# of the shop", "# short", "# the small one", "# measured", "# logs of May", "# agreed"]
    assert all(one in text for one in kept if not (gone and one == "# logs of May"))


def test_a_text_with_anchors_is_written_anew_and_says_so():
    text = "name: a # note\ntraffic: &t {burst: 2}\n"
    text = text + "limits: {risk: low}\nnotes: *t\n"
    tree = {**tree_of("name: a\nlimits: {risk: low}\n"), "horizon": "12 months"}
    new, whole = placed(text, tree)
    assert not whole
    assert same(tree_of(new), tree, WHOLE_BRIEF)


TYPED = st.one_of(
    st.sampled_from(["7", "12 h", "a: b", "#x", "x # y", "'", '"q"', "[a", "any", "null", "línea\notra", "{", "-1",
                     "0.5 %", "office-hours Europe/Madrid", "é: ü", "- a", "&a", "*b", "true", "|",
                     "%x", "a:", "\u2028", "~"]),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=12).map(str.strip),
)  # fmt: skip
LISTS = ("limits.data", "claims", "consider.")
LEAVES = [
    one
    for one in every_path(WHOLE_BRIEF)
    if "[" not in one and not one.endswith(".fixed") and not one.startswith(LISTS)
]


@settings(max_examples=30, deadline=None)
@given(
    name=st.sampled_from(example_names()),
    changes=st.dictionaries(st.sampled_from(LEAVES), TYPED, min_size=1, max_size=4),
)
def test_whatever_is_typed_into_fields_is_what_the_text_says(name, changes):
    text = example_text(name)
    posted = {f"f:{path}": [value] for path, value in changes.items()}
    wanted = tree_from(posted, tree_of(text))
    changed, _ = placed(text, wanted)
    assert same(tree_of(changed), wanted, WHOLE_BRIEF)
    assert same(tree_of(written(wanted)), wanted, WHOLE_BRIEF)
    for path, value in changes.items():
        here = tree_of(changed)
        for key in path.split("."):
            here = here.get(key, "") if isinstance(here, dict) else here
        plain = " ".join(value.split()).lower()
        if plain in ("", "unknown", "desconocido", "desconocida", "?", "null", "~"):
            continue
        assert here == value.replace("\r\n", "\n").strip() or "," in value, (path, value, here)


@pytest.mark.parametrize(
    ("number", "unit", "value"),
    [("800", "ms", "800 ms"), ("800 ms", "s", "800 ms"), ("0.5", "%", "0.5 %"), ("4", "", "4"), (" 12 ", "h", "12 h"),
     ("1.2 M", "k", "1.2 M"), ("unknown", "ms", "unknown"), ("1e3", "s", "1e3 s")],
)  # fmt: skip
def test_a_number_takes_the_unit_beside_it_unless_it_has_its_own(number, unit, value):
    assert joined(number, unit) == value


@pytest.mark.parametrize(
    "value",
    ["800 ms", "800ms", "60000 MXN", "0.94", "94 %", "24 h", "about 3", "1e9", "3 days", "0.0001 EUR"],
)
def test_a_value_taken_apart_and_put_together_is_the_same(value):
    for units in (["ms", "s"], ["", "%"], ["EUR", "MXN"], ["h", "days"]):
        assert joined(*split(value, units)) == value


def sent(text, **more):
    return {"yaml": [text], "base": [text], **{key: [value] for key, value in more.items()}}


def test_unknown_is_an_answer_and_a_figure_is_more_than_not_to_know():
    text = "workload: realtime-inference\nhorizon: 12 months\n"
    ticked = worked_on(sent(text, **{"f:horizon": "12", "u:horizon": "months", "k:horizon": "1"}), True)
    assert "horizon: unknown" in ticked.text
    told = worked_on(sent(ticked.text, **{"f:horizon": "18", "u:horizon": "months", "k:horizon": "1"}), True)
    assert "horizon: 18 months" in told.text
    path = "traffic.input_tokens"
    both = worked_on(sent(text, **{f"g:{path}": "1", f"k:{path}": "1", f"f:{path}.p50": ""}), True)
    assert tree_of(both.text)["traffic"]["input_tokens"] == {"fixed": UNKNOWN}
    figure = worked_on(
        sent(
            both.text, **{f"g:{path}": "1", f"k:{path}": "1", f"f:{path}.p50": "900", f"f:{path}.fixed": ""}
        ),
        True,
    )
    assert tree_of(figure.text)["traffic"]["input_tokens"] == {"p50": "900"}


def test_form_and_text_changed_at_once_both_count():
    base = "name: a\nhorizon: 12 months\ncurrency: EUR\n"
    posted = {"yaml": ["name: b   # new\nhorizon: 12 months\ncurrency: EUR\n"], "base": [base], "f:name": ["a"],
              "f:horizon": ["24"], "u:horizon": ["months"], "f:currency": ["EUR"]}  # fmt: skip
    assert worked_on(posted, True).text == "name: b   # new\nhorizon: 24 months\ncurrency: EUR\n"


def test_a_text_that_cannot_be_read_is_kept_with_what_the_form_has(client):
    desk = worked_on(
        {
            "yaml": ["name: [\n"],
            "base": ["name: a\n"],
            "f:name": ["b"],
            "f:horizon": ["9"],
            "u:horizon": ["months"],
        },
        True,
    )
    assert desk.text == "name: [\n"
    assert desk.tree["horizon"] == "9 months"
    assert not desk.readable
    assert desk.looked.faults[0].problem.line
    mended = worked_on(
        {
            "yaml": ["name: a\n"],
            "base": [desk.base],
            "f:name": ["b"],
            "f:horizon": ["9"],
            "u:horizon": ["months"],
        },
        True,
    )
    assert tree_of(mended.text) == {"name": "b", "horizon": "9 months"}


def test_rows_are_added_and_taken_out():
    text = "models: [{id: a/b}, {id: c/d}]\nclaims: [one, two]\n"
    added = worked_on(
        sent(text, **{"n:models": "3", "f:models[2].id": "e/f", "n:claims": "3", "f:claims[2]": "three"}),
        True,
    )
    assert [one["id"] for one in tree_of(added.text)["models"]] == ["a/b", "c/d", "e/f"]
    assert tree_of(added.text)["claims"] == ["one", "two", "three"]
    fewer = worked_on(sent(added.text, **{"n:models": "4", "do": "remove:models[1]"}), True)
    assert [one["id"] for one in tree_of(fewer.text)["models"]] == ["a/b", "e/f"]


def test_a_form_that_claims_too_many_rows_is_bounded():
    desk = worked_on(
        sent("name: a\n", **{"n:models": "999999", "n:claims": "99999999", "f:models[5000].id": "x"}), True
    )
    assert tree_of(desk.text) == {"name": "a"}


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "---\n"])
def test_nothing_yet_is_the_beginning_of_a_brief(text):
    try:
        tree_of(text)
    except InvalidInput:
        assert text == "---\n"
    looked = looked_over(text)
    assert text == "---\n" or (not looked.faults and next(one.path for one in looked.blocking) == "models")


def test_what_is_trimmed_says_something():
    tree = {"name": "a", "models": [{}, {"id": "x"}], "traffic": {"requests_per_s": {"mean": ""}}}
    assert trimmed(tree, WHOLE_BRIEF) == {"name": "a", "models": [{"id": "x"}]}
