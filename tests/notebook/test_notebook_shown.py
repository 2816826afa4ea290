"""What a notebook shows, records and frames; what importing costs; what editors and type checkers see."""

import ast
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import cabida as cb
from cabida import app
from cabida.errors import UsageProblem
from cabida.faces import notebook
from cabida.faces.stub import stub
from cabida.quantity import Quantity, Source
from cabida.units import unit_of

ROOT = Path(__file__).parents[2]
GOLDEN = {code: ROOT / f"tests/report/golden/decision.{code}.json" for code in ("en", "es")}
STUB = ROOT / "src/cabida/__init__.pyi"


class Read(HTMLParser):
    """The text of a page, and whether its tags close in order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.words, self.tags = [], [], []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.mark.parametrize(
    ("code", "probability"), [("en", "probability of being best"), ("es", "probabilidad de ser")]
)
def test_a_decision_shows_its_answer_first(code, probability):
    decision = cb.load_decision(GOLDEN[code])
    read = Read(notebook.decision_html(decision))
    assert read.text.startswith(decision.answer)
    assert probability in read.text
    assert all(one.title in read.text for one in decision.options)
    assert decision.flips[0].sentence in read.text
    assert "14.900 EUR" in read.text if code == "es" else "14,900 EUR" in read.text


def test_what_somebody_typed_is_text():
    from dataclasses import replace

    decision = cb.load_decision(GOLDEN["en"])
    hurt = "<script>alert(1)</script>&\"'"
    first = replace(decision.options[0], title=hurt, reasons=(hurt,))
    changed = replace(decision, name=hurt, answer=hurt, options=(first,), flips=())
    for page in (
        notebook.decision_html(changed), notebook.Answer({hurt: hurt, "rows": [{hurt: hurt}]})._repr_html_(),
        notebook.Rows([{hurt: [hurt, hurt]}])._repr_html_(),
    ):  # fmt: skip
        assert "<script" not in page
        assert hurt in Read(page).text


def test_a_quantity_shows_value_interval_and_source():
    price = Quantity(
        "price_money_per_hour", 1.9, unit_of("price_money_per_hour"),
        source=Source("a list", "https://x.example", "2026-11-01"), low=1.5, high=2.4,
    )  # fmt: skip
    text = Read(notebook.quantity_html(price)).text
    assert "price_money_per_hour = 1.9" in text
    assert "[1.5–2.4]" in text
    assert "a list · https://x.example · 2026-11-01" in text
    assert cb.records(price) == [
        {
            "name": "price_money_per_hour", "value": 1.9, "unit": price.unit.text, "low": 1.5, "high": 2.4,
            "equation": "", "grade": "quoted", "source": "a list", "seen": "2026-11-01",
        }
    ]  # fmt: skip


ASKED = {
    "fit": lambda of: of.fit("llama-3.3-70b", gpu="h100-sxm-80"),
    "fits": lambda of: of.fit("llama-3.1-8b"),
    "cost": lambda of: of.cost("llama-3.1-8b", gpu="l40s", as_of="2026-11-30"),
    "compare": lambda of: of.compare(["l40s", "h100-sxm-80"]),
    "prices": lambda of: of.prices("l40s", as_of="2026-11-30"),
    "history": lambda of: of.price_history("h100-sxm-80", as_of="2026-11-30"),
    "models": lambda of: of.models("qwen"),
    "rates": lambda of: of.exchange_rates("EUR"),
}


@pytest.mark.parametrize("name", list(ASKED))
def test_plain_answers_are_what_they_were_and_show_themselves(name):
    shown, plain = ASKED[name](cb), ASKED[name](app)
    assert type(plain) in (dict, list)
    assert shown == plain
    assert isinstance(shown, type(plain))
    from cabida.report.metrics import plain as sound

    assert json.dumps(sound(shown)) == json.dumps(sound(plain))
    read = Read(shown._repr_html_())
    assert "table" in read.tags
    rows = cb.records(shown)
    assert rows
    assert all(row.keys() == rows[0].keys() for row in rows)
    assert not [value for row in rows for value in row.values() if isinstance(value, dict | list | tuple)]
    for kind in ("pandas", "polars"):
        made = cb.frame(shown, kind)
        assert made.shape == (len(rows), len(rows[0]))
        assert list(made.columns) == list(rows[0])


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_options_of_a_decision_as_a_frame(kind):
    decision = cb.load_decision(GOLDEN["en"])
    made = cb.frame(decision, kind)
    assert list(made["rank"]) == [one.rank for one in decision.options]
    assert next(iter(made["unit_cost"])) == decision.options[0].unit_cost.value
    assert next(iter(made["ttft_ms_p95_high"])) == decision.options[0].metrics["ttft_ms_p95"].high


def test_short_reads_of_a_decision():
    decision = cb.load_decision(GOLDEN["en"])
    assert decision.best is decision.options[0]
    assert decision.option(2) is decision.options[1]
    assert decision.option(decision.options[2].id) is decision.options[2]
    with pytest.raises(KeyError):
        decision.option("none")


@pytest.mark.parametrize(
    ("kind", "code"), [("excel", "CB-O017"), ("pandas", "CB-O018"), ("polars", "CB-O018")]
)
def test_a_frame_that_can_not_be_made_says_why(kind, code, monkeypatch):
    monkeypatch.setitem(sys.modules, kind, None)
    with pytest.raises(UsageProblem) as caught:
        cb.frame([{"a": 1}], kind)
    (one,) = caught.value.problems
    assert one.code == code
    assert one.cure


def test_ipython_shows_the_nouns_without_being_asked():
    program = (
        "from IPython.core.interactiveshell import InteractiveShell as S; s = S.instance();"
        "import sys, cabida as cb; assert 'cabida.plan' not in sys.modules;"
        f"d = cb.load_decision({str(GOLDEN['en'])!r});"
        "page, _ = s.display_formatter.format(d); print(page['text/html'][:200])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Rent 4 H100 SXM" in done.stdout


def test_importing_loads_nothing_heavy():
    program = (
        "import sys; before = set(sys.modules); import cabida; print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert [one for one in loaded if one.startswith("cabida")] == ["cabida"]
    assert not {"numpy", "yaml", "pydantic", "IPython", "sqlalchemy", "pandas"} & set(loaded)


def test_the_stub_is_of_these_names():
    text = STUB.read_text(encoding="utf-8")
    assert text == stub(), "src/cabida/__init__.pyi has drifted: make docs"
    names = {
        each.asname
        for node in ast.parse(text).body
        if isinstance(node, ast.ImportFrom)
        for each in node.names
    }
    assert names == set(cb._PUBLIC) == set(cb.__all__) - {"__version__"}
    assert all(hasattr(cb, name) for name in names)


def test_what_is_plain_is_what_says_so():
    """The use cases whose answer is a dict or a list, by their annotations, are those that show themselves."""
    import inspect

    mine = [name for name, room in cb._PUBLIC.items() if room == "cabida.app"]
    told = {name: str(inspect.signature(getattr(app, name)).return_annotation) for name in mine}
    said = {name for name, kind in told.items() if re.match(r"(dict\[str, Any\]|list\[dict)", kind)}
    assert said == set(cb._PLAIN)


@pytest.mark.long
def test_a_type_checker_sees_types(tmp_path):
    script = tmp_path / "sample.py"
    script.write_text(
        "import cabida as cb\n"
        "decision = cb.recommend('brief.yaml')\n"
        "reveal_type(decision)\n"
        "reveal_type(decision.best)\n"
        "reveal_type(decision.options[0].unit_cost.value)\n"
        "reveal_type(cb.fit('m', gpu='g'))\n"
        "reveal_type(cb.records(decision))\n"
        "cb.recomend\n",
        encoding="utf-8",
    )
    words = [sys.executable, "-m", "mypy", "--no-error-summary", str(script)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    seen = re.findall(r'Revealed type is "(.+)"', done.stdout)
    assert [one.replace("builtins.", "").replace("cabida.plan.decision.", "") for one in seen] == [
        "Decision", "Option | None", "float", "dict[str, Any]", "list[dict[str, Any]]",
    ]  # fmt: skip
    assert 'Module has no attribute "recomend"' in done.stdout
