"""Every page in Spanish: no English word, no hole where a value should be, no key of a text, names of controls too."""

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import decision_sample as sample
import pytest

from cabida.evidence import shelf

sys.path.insert(0, str(Path(__file__).parents[1] / "evidence"))
sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
import logs
from english_words import ENGLISH, WORD

TESTS = Path(__file__).parents[1]
JOINING = "the of with is are this that they you your which what when where how not nothing from for into at by an if"
WORDS = ENGLISH | set(JOINING.split())
HOLES = re.compile(r"\{\w*\}|\{count:|\bNone\b|\bnan\b|\bundefined\b|\bTrue\b|\bFalse\b|<\w+ object")
KEYS = re.compile(
    r"(?<![\w/.-])(?:web|pages_\w+|shelf|faces|choose|money|procure|evidence)\.[a-z_]+(?:\.[a-z_]+)*\b"
)
PATHS = re.compile(r"(?<![\w])/[\w{}./-]+")
NAMES = re.compile(  # as their makers write them, and words that a brief takes
    r"\(per GPU, NVL72\)|\(up to \d+ GB\)|Ada Generation|Data Center GPU|PEFT and TRL|(?:Massed|SF) Compute|Together AI"
    r"|Global \(lowest\)|European Central Bank.*|Provider [A-C]|nvidia-smi -q .*|(?i:cost per month money)|this option"
    r"|P\. ej\. .*|\{buy: [^}]*\}|brief: team|^(?:market|together|train|GET|PUT)$"
)
UNSAID = ("code", "pre", "q", "script", "style", "textarea", "svg")  # what a machine reads, or somebody typed
NAMED = (
    "aria-label",
    "alt",
    "title",
    "placeholder",
    "data-confirm",
    "data-copied",
    "data-offline",
    "data-overtaken",
)
VOID = ("br", "col", "hr", "img", "input", "link", "meta", "wbr")
ABSENT = ("/nowhere", "/briefs/b-x", "/decisions/d-x", "/jobs/j-x")
PLAN = """\
name: una corta
contenders:
  - {name: nodo, target: {url: "http://127.0.0.1:9/v1", api: completions}}
runs:
  - {name: dos a la vez, phase: load, candidate: nodo, load: {kind: closed, concurrency: 2, requests: 4}, duration: 3 s}
"""


class Said(HTMLParser):
    """What a page says in Spanish: its text, names of controls and pictures; not code, nor what is marked English."""

    def __init__(self):
        super().__init__()
        self.open, self.pieces = [], []

    def handle_starttag(self, tag, attributes):
        told = dict(attributes)
        within = self.open[-1][1] if self.open else False
        quiet = (not told["lang"].startswith("es") if told.get("lang") else within) or tag in UNSAID
        if not quiet or tag == "svg":
            self.pieces += [told[name] for name in NAMED if told.get(name)]
        if tag not in VOID:
            self.open.append((tag, quiet))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        tags = [tag for tag, _ in self.open]
        drawn = "svg" in tags and tags[-1] in ("text", "title", "desc", "tspan", "a")
        if data.strip() and (drawn or not (self.open and self.open[-1][1])):
            self.pieces.append(" ".join(data.split()))


def said(page):
    reader = Said()
    reader.feed(page)
    return reader.pieces


def filled(client):
    """A store with something of each kind, and the addresses of every page that shows it."""
    text = (TESTS.parent / "examples" / "support-chat.yaml").read_text("utf-8")
    brief = shelf.add_brief("atención", text)
    changed = shelf.change_brief(brief.id, version=1, text=text.replace("mean: 4", "mean: 5"))
    one = shelf.add_decision(sample.golden("es"), brief_id=brief.id, brief_version=changed.version).id
    two = shelf.add_decision(sample.golden("es").replace('"support-chat"', '"otra"', 1)).id
    quotes = TESTS / "procure" / "quotes"
    for file in ("01-northgate-h100-reserve.yaml", "08-nubeterra-reserva.txt"):
        sent = client.post("/quotes", files={"file": (file, (quotes / file).read_bytes())})
        assert sent.url.path.startswith("/quotes/q")
    client.post("/quotes/q2/price")
    run = client.post("/bench", data={"plan": PLAN}).url.path
    client.post("/bench/observations", files={"file": ("vllm.log", logs.VLLM_011.encode())})
    seen = re.search(r"/bench/observations/(obs-\w+)", client.get("/bench/observations").text)[1]
    job = shelf.add_job("recommend", {"name": "x"}, by="ana").id
    made = json.loads(sample.golden("es"))
    figure = made["options"][0]["trees"]
    figure = next(iter(figure)) if isinstance(figure, dict) else figure[0]["name"]
    at = f"/decisions/{one}"
    return [
        "/", "/here", "/people", "/log", "/api", f"/jobs/{job}", "/briefs", "/briefs?q=nada", "/briefs/new",
        *(f"/briefs/new?workload={kind}" for kind in (
            "realtime-inference", "batch-inference", "retrieval", "media-generation", "evaluation",
            "pretraining", "full-finetune", "adapter-finetune")),
        "/briefs/new?example=support-chat", f"/briefs/{brief.id}", f"/briefs/{brief.id}?version=1",
        "/decisions", "/decisions?q=nada", at, f"{at}?columns=all", f"{at}/options/1",
        f"{at}/options/2",         f"{at}/explain/{figure}", f"{at}/what-if", "/compare",
        f"/compare?a={one}&b={two}", f"/compare?a={one}:1&b={one}:2",
        "/quotes", "/quotes/q1", "/quotes/q2", "/quotes/compare?q=q1&q=q2", 
        "/bench", run, "/bench/observations", f"/bench/observations/{seen}",
        "/catalogue/gpus", "/catalogue/gpus/h100-sxm-80", "/catalogue/gpus/compare?id=h100-sxm-80&id=mi300x",
        "/catalogue/models", "/catalogue/models/meta-llama/Llama-3.3-70B-Instruct", "/catalogue/prices",
        "/catalogue/prices/api", "/catalogue/prices/api?model=gpt-4o", "/catalogue/prices/aside",
        "/catalogue/prices/rates", "/catalogue/prices/import", "/catalogue/facts", "/catalogue/facts/engines",
        "/catalogue/fact?id=vllm", *ABSENT,
    ]  # fmt: skip


def faults(text):
    """What is wrong in a text: English words that are no name, path or code, holes and keys."""
    plain = PATHS.sub(" ", NAMES.sub(" ", text))
    return (
        [word for word in WORD.findall(plain) if word.lower() in WORDS]
        + HOLES.findall(plain)
        + KEYS.findall(plain)
    )


def test_no_page_has_english_a_hole_or_a_key_of_a_text(client):
    client.cookies.set("cabida_language", "es")
    wrong = {}
    for path in filled(client):
        answer = client.get(path)
        assert answer.status_code == (404 if path in ABSENT else 200), path
        pieces = said(answer.text)
        assert len(pieces) > 20, path
        wrong |= {one: (path, found) for one in pieces if (found := faults(one))}
    assert wrong == {}


@pytest.mark.parametrize(
    "page",
    [
        "<p>Solo <b>the price</b></p>", '<button aria-label="Copy this">×</button>', "<p>Faltan {count} cosas.</p>",
        "<p>Hasta None</p>", "<p>web.place.home</p>", "<svg><title>What it costs</title></svg>",
        '<div lang="en"><p lang="es">with</p></div>',
    ],
)  # fmt: skip
def test_what_is_wrong_would_be_found(page):
    assert any(map(faults, said(page)))


def test_code_and_what_is_marked_as_english_is_left_alone():
    page = '<p>Escriba <code>the price</code> <span lang="en">with its source</span> <q>None of it</q></p>'
    assert said(page) == ["Escriba"]
