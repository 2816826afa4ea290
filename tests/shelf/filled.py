"""A store with something in every table, for tests of copies and migrations."""

import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "evidence"))

import logs
from test_price_book import SAID, api, offer, price_file

from cabida import evidence
from cabida.evidence import book, shelf, store, tracked
from cabida.evidence.prices import Unread
from cabida.evidence.quotes import keeping
from cabida.evidence.quotes.reading import read_quote

HERE = Path(__file__).parent
BRIEF = (HERE.parents[1] / "examples" / "nightly-batch.yaml").read_text(encoding="utf-8")
DECISION = (HERE.parent / "report" / "golden" / "decision.en.json").read_text(encoding="utf-8")
QUOTE = "vendor: Aïda\nquote_id: Q-1\npurpose: buy\naccelerator: l40s\naccelerators_count: 8\n"


def evidence_in(where, folder):
    """Observations, marks, prices, months, quotes."""
    log = folder / "vllm.log"
    log.write_text(logs.VLLM_011 + 'INFO una línea de mañana; it\'s "quoted"\n')
    store.add(evidence.read_file(log), where)
    store.add(evidence.read_file(log, gpu="h100-sxm-80", note="armario 3 – ñ"), where)
    prices = [offer(), offer(seen=""), offer(region="us-1", country="US", amount=Decimal("0.000001"))]
    served = [api(), api(model="café")]
    book.add(price_file(*prices, apis=served, unread=[Unread(3, "junk; 'x'", "no_price")]), where)
    other = offer(amount=Decimal(9), source=replace(SAID, what="otra lista"))
    book.add(price_file(offer(), other, sha="c" * 64), where)
    tracked.keep("dec", "opt", [{"month": "2027-02", "n": 2.5}, {"month": "2027-03", "text": "año"}], where)
    quotes = [read_quote("q.yaml", text=text) for text in (QUOTE, QUOTE.replace("8", "16"))]
    keeping.keep(quotes, where)


def shelf_in(where):
    """A brief of two versions, a decision, jobs, a run, tokens, and the log of it all; the secret of a token."""
    made = shelf.add_brief("Crítica nocturna", BRIEF, by="ana", store=where)
    shelf.change_brief(made.id, version=1, text=BRIEF + "# más\n", by="bo", store=where)
    shelf.add_decision(DECISION, brief_id=made.id, brief_version=2, by="ana", store=where)
    shelf.add_job("recommend", {"brief_id": made.id}, by="ana", store=where)
    done = shelf.add_job("recommend", {"brief_id": made.id, "seed": 2}, by="ana", key="k", store=where)
    shelf.begin_job(done.id, shelf.new_server(), store=where)
    shelf.end_job(done.id, "done", {"decision": "d-x"}, (), store=where)
    shelf.add_run("Carga", "name: plan\n", folder="runs/x", by="ana", store=where)
    _, secret = shelf.new_token("CI", "reader", days=30, by="ana", store=where)
    return secret


def fill(where, folder):
    """Everything; the secret of its token."""
    evidence_in(where, folder)
    return shelf_in(where)
