# ruff: noqa: E501 - tables
"""Every parser of strangers' text that ``fuzz_doors`` lacks, each with real files to start from.

``parsers()`` gives them by name; each is made when first asked for. What a parser reads is held against the law in
``fuzz_all``: a result without absurd figures, or errors of Cabida's own.
"""

import asyncio
import json
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache, partial
from hashlib import sha256
from math import inf
from pathlib import Path
from time import perf_counter
from urllib.parse import parse_qsl, urlencode

import fuzz_doors
from fuzz_changes import zipped
from fuzz_doors import ROOT

from cabida.errors import InvalidInput

AS_OF = "2026-11-30"
TESTS = ROOT / "tests"
WORDS = tuple(one.encode() for one in (
    "null", "NaN", "1e999", "-1", "0", "http://10.0.[1]/v1", '"', "'", ",", ";", "\t", "\n", ": ", "{", "}", "[", "]", "unknown", "EUR", "USD", "%", "GiB",
    "H100", "nvidia", "2026-11-30", "2026-02-30T99:00:00Z", "é", "\x00", "e", ".", "-", "&a", "*a", "!!int", "<<: ", "|", "#", "\\",
))  # fmt: skip
SIGNED = frozenset({"net", "change", "saving", "savings", "difference", "delta", "low", "adjustment"})


@dataclass(frozen=True)
class Parser:
    """``enter(data, scratch)`` gives what is looked at for absurd figures, or ``None``."""

    enter: Callable[[bytes, Path], object]
    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...] = WORDS
    structured: bool = False  # JSON, whose values can be changed one by one
    writes: bool = False  # it is there to keep something, within its scratch folder
    signed: frozenset[str] = SIGNED  # figures that may be below zero
    brief_count: int = 15  # inputs of the short form


def _texts(*texts):
    return tuple(one if isinstance(one, bytes) else one.encode() for one in texts)


def _files(folder, *patterns):
    return tuple(path.read_bytes() for pattern in patterns for path in sorted((ROOT / folder).glob(pattern)))


def _samples(folder, name):
    """A module of samples beside other tests."""
    place = str(TESTS / folder)
    if place not in sys.path:
        sys.path.append(place)
    return __import__(name)


def _strings(module):
    """The texts that a module of samples holds."""
    return tuple(
        value.encode() for name, value in sorted(vars(module).items())
        if name.isupper() and isinstance(value, str) and len(value) > 60
    )  # fmt: skip


def _on_disk(name, read):
    """A parser of a file."""

    def enter(data, scratch):
        path = scratch / "in" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        return read(path)

    return enter


def plain(answer):
    """An answer as it is printed with ``--json``: nothing in it may be no number."""
    json.dumps(answer, allow_nan=False, default=str)
    return answer


# --- briefs, plans, parts, facts


def _brief(path):
    from cabida import app

    brief = app.load_brief(path, as_of=AS_OF)
    app.check(path, assume=True, as_of=AS_OF)
    return brief


def _made_brief():
    return Parser(
        _on_disk("brief.yaml", _brief),
        _files("examples", "*.yaml"),
        WORDS + fuzz_doors._BRIEF_WORDS,
        signed=SIGNED | {"growth_ratio", "growth"},
        brief_count=8,
    )


def _plan(path):
    from cabida.bench.planned.read import read_plan

    return read_plan(path)


def _made_plan():
    return Parser(
        _on_disk("plan.yaml", _plan), _files("examples", "bench/plan.yaml", "drills/plan.yaml"), brief_count=6
    )


def _parts(path):
    from cabida.checks.parts_file import read_build
    from cabida.checks.told import check_pc

    build = read_build(path)
    check_pc(path, as_of=AS_OF)
    return build


def _made_parts():
    words = b"gpu: 2x RTX 4090, supply: 850 W, board: ASUS Pro WS, case: 4U, cooling: air\n"
    return Parser(_on_disk("parts.yaml", _parts), (*_files("examples", "parts/*.yaml"), words))


def _parts_words(data, scratch):
    del scratch
    from cabida.checks.told import check_pc

    check_pc(data.decode("utf-8", "surrogateescape"), as_of=AS_OF)


def _made_parts_words():
    return Parser(_parts_words, _texts("gpu: 2x RTX 4090, supply: 850 W", "4x H100 SXM, 8x3200 W supplies, 32 A",
                                       "3090, i7-12700K, 750 W, PCIe 3.0 x8, DDR4 64 GB"))  # fmt: skip


def _software_words(data, scratch):
    del scratch
    from cabida.checks.told import check_software

    check_software(data.decode("utf-8", "surrogateescape"), as_of=AS_OF)


def _made_software_words():
    return Parser(_software_words, _texts(
        "vllm 0.5 cuda 11.8, driver 535.54, H100", "sglang==0.4.6\ntorch==2.6.0+cu124\nRTX 5090\nawq",
        "FROM vllm/vllm-openai:v0.9.2\nRUN pip install flash-attn==2.7.4",
    ), WORDS + _texts("==", ">=", "cu128", "rocm 6.3", "v", "driver ", "sm_120", "fp8"))  # fmt: skip


def _question(data, scratch):
    """A question as it is typed; of what an answer takes only what it understood is looked at."""
    del scratch
    from cabida import app

    plain(app.ask(data.decode("utf-8", "replace"), as_of=AS_OF))


def _made_question():
    return Parser(_question, _texts(
        "does llama-3.3-70b fit on an H200?", "how much does an H100 cost per hour in Europe?", "H100 or L40S?",
        "cabe qwen2.5 7b en una RTX 4090 con 32k de contexto?", "what is the price of 2x A100 80GB for 12 months?",
    ), WORDS + _texts("?", "tokens", "cost", "70b", "-1 GPUs", "9" * 40, "H200", "32k", "fits", "EUR"), brief_count=3)  # fmt: skip


def _facts(path):
    """A user's own facts as a folder of one file, and every table with them laid over the shipped."""
    from cabida.facts import overlay

    problems = overlay.faults(path)
    assert all(one.code and one.what and one.file for one in problems), problems
    os.environ["CABIDA_FACTS"] = str(path.parent)
    try:
        found = [overlay.own(name) for name in overlay.NOUNS]
    finally:
        del os.environ["CABIDA_FACTS"]
    return [one for rows in found for one in rows]


_NODES = b"""nodes:
- {id: mine, provider: us, accelerator: h100-sxm-80, accelerators_count: 8, source: {what: our rack, seen: 2026-11-01}}
engines:
- id: vllm
  source: {what: my own look, seen: 2026-01-01}
energy:
- {id: ours, country: ES, amount: 0.12, currency: EUR, source: {what: the bill, seen: 2026-01-01}}
api_offers:
- id: their-api
  provider: them
  model: llama-3.3-70b
  currency: USD
  rates: [{unit: mtok_input, amount: 0.5}, {unit: mtok_output, amount: 1.5}]
  source: {what: their page, seen: 2026-10-01}
"""
_OFFER = b"""offers:
- {id: slip, provider: us, provider_kind: quote, accelerator: h100-sxm-80, accelerators_count: 8, capacity: on-demand,
   term_months: 0, upfront_ratio: 0, amount: 2.9, unit: accelerator_hour, currency: USD, seen: 2026-11-01,
   sighting: quote, sample_count: 1, source: {what: offer 12, seen: 2026-11-01}}
"""


def _made_facts():
    return Parser(
        _on_disk("mine.yaml", _facts),
        (fuzz_doors._FACTS, fuzz_doors._OFFERS, _NODES, _OFFER),
        WORDS + fuzz_doors._BRIEF_WORDS,
        brief_count=10,
    )


# --- models in a folder


def _folder(data, scratch):
    """A model's folder: what an archive holds, each file by its plain name."""
    import io
    import shutil

    from cabida.facts.models import model

    place = scratch / "in" / "model"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    broken = (
        zipfile.BadZipFile,
        zlib.error,
        ValueError,
        OSError,
        EOFError,
        NotImplementedError,
        RuntimeError,
    )
    with suppress(*broken), zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            if re.fullmatch(r"[\w.-]{1,80}", name):
                (place / name).write_bytes(archive.read(name))
    return model(str(place))


def _made_folder():
    llama = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
             "intermediate_size": 128, "vocab_size": 100, "torch_dtype": "bfloat16"}  # fmt: skip
    config = json.dumps(llama).encode()
    index = json.dumps(
        {"metadata": {"total_size": 1608}, "weight_map": {"model.embed_tokens.weight": "a.safetensors"}}
    )
    quant = {
        "producer": {"name": "modelopt"},
        "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"},
    }
    index = index.encode()
    adapter = {"base_model_name_or_path": "meta-llama/Llama-3.1-8B", "r": 16, "target_modules": ["q_proj"]}
    return Parser(
        _folder,
        (
            zipped({"config.json": config, "model.safetensors": fuzz_doors._FILE}),
            zipped({"config.json": config, "model.safetensors.index.json": index, "a.safetensors": fuzz_doors._FILE}),
            zipped({"config.json": config, "hf_quant_config.json": json.dumps(quant).encode()}),
            zipped({"adapter_config.json": json.dumps(adapter).encode()}),
            zipped({"model_index.json": b'{"_class_name": "FluxPipeline", "transformer": ["diffusers", "x"]}',
                    "config.json": config}),
            *(zipped({"config.json": one}) for one in fuzz_doors._configs()[::5]),
        ),
        fuzz_doors._JSON_WORDS + fuzz_doors._CONFIG_WORDS,
    )  # fmt: skip


# --- quotes


def _quote(path):
    from cabida.evidence.quotes import read_quotes
    from cabida.procure import audit
    from cabida.report.quote import head, markdown, parts

    quotes = read_quotes(path)
    for one in quotes[:3]:
        made = audit(one, AS_OF)
        plain(asdict(made))
        markdown(*head(made), parts(made))
    return quotes


def _quote_parser(name, seeds):
    def made():
        found = _files("tests/procure/quotes", *seeds) + _files("examples/quotes", *seeds)
        return Parser(
            _on_disk(name, _quote), found, WORDS + _texts(*_quote_words()), signed=SIGNED | {"discount", "total_price"},
            brief_count=6,
        )  # fmt: skip

    return made


@cache
def _quote_words():
    from cabida.evidence.quotes import FIELDS

    return (
        *(f"{one.name}: " for one in FIELDS), "$", "€", "USD 2.10/h", "1.234,56 €", "12 months", "99.9 %", "net 30",
        "H100 SXM", "per GPU-hour", "valid until 2026-13-01", "8 x ", "IVA", "/mes", "31/02/2026", "Q-1",
    )  # fmt: skip


def _paper(text):
    """A one-page PDF of one line."""
    stream = b"BT /F1 12 Tf 50 700 Td (" + text + b") Tj ET"
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%b\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]  # fmt: skip
    out, places = bytearray(b"%PDF-1.4\n"), []
    for at, part in enumerate(parts, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (at, part)
    start = len(out)
    out += b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % one for one in places)
    return bytes(out + b"trailer\n<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % start)


def _made_quote_pdf():
    seed = _paper(b"Offer 7: 8 x H100 SXM at 2.10 USD per GPU-hour, 12 months, valid until 2026-12-31")
    return Parser(_on_disk("quote.pdf", _quote), (seed,), WORDS + _texts(
        "/Length 99999999", "/Filter/FlateDecode", "/Kids[2 0 R]", "endobj", "stream", "/Count -1", "/Prev 9", "obj", "xref", "/Encrypt 1 0 R",
    ), brief_count=2)  # fmt: skip


# --- prices


def _prices(path):
    from cabida import app
    from cabida.evidence.prices import read

    found = read(path, currency="USD", provider="them", as_of=AS_OF)
    plain(app.import_prices([path], keep=False, currency="USD", as_of=AS_OF))
    return [*found.offers[:300], *found.api_offers[:300], *found.billing[:300]]


def _price_parser(*forms, name, broken=()):
    def made():
        import tempfile

        exports = _samples("evidence/prices", "exports")
        with tempfile.TemporaryDirectory() as folder:
            seeds = [exports.one(folder, form, 5).read_bytes() for form in forms]
        seeds += [one for one in _files("tests/evidence/prices/broken", *broken) if len(one) < 50_000]
        return Parser(_on_disk(name, _prices), tuple(seeds), WORDS + _texts(*_PRICE_WORDS),
                      signed=SIGNED | {"billed_money", "billed", "amount_billed", "quantity"}, brief_count=8)  # fmt: skip

    return made


_PRICE_WORDS = (
    "Usage", "Credit", "Tax", "Hours", "H100", "A100-80GB", "on-demand", "spot", "SpotPrice", "p5.48xlarge", "€", "$", "1.234,5",
    "input_cost_per_token", "BilledCost", "monthly", "per hour", "provider,gpu,price\n", "SL", "2026-11-01T00:00:00Z",
)  # fmt: skip


# --- what engines and tools print


def _observed(path):
    from cabida.evidence.read import read_file

    found = read_file(path)
    for one in found.observations:
        plain({**one.setup, **one.measured})
    return [(one.setup, one.measured) for one in found.observations]


def _observed_whole(path):
    from cabida import app

    return plain(app.observe([path], keep=False)) and None


_FREE = SIGNED | {
    "kv_cache_gib_per_gpu", "kv_cache_tokens", "max_concurrency", "free_gib_at_start", "estimated_max_model_len",
    "graph_gib", "non_torch_gib", "n_gpu_layers", "max_model_len", "num_gpu_blocks", "avail_after_load_gib", "avail_after_pool_gib",
}  # fmt: skip


def _log_parser(*starts, name="engine.log"):
    def made():
        logs = _samples("evidence", "logs")
        seeds = tuple(
            value.encode()
            for key, value in vars(logs).items()
            if isinstance(value, str) and key.startswith(starts)
        )
        return Parser(_on_disk(name, _observed), seeds, WORDS + _LOG_WORDS, signed=_FREE)

    return made


_LOG_WORDS = _texts(
    " GiB", "(Worker_TP0 pid=30) ", "[gpu_id=1]", " tokens", "x", "GPU KV cache size: ", "Model loading took ", "tp_size=", "#tokens: ",
    "nan GiB", "inf", "-3.5 GiB", "1e400", "MiB", "RANK 0", "avail mem=", "{'log': ", "torch.OutOfMemoryError: CUDA out of memory. ",
)  # fmt: skip


def _made_observe_tables():
    files = _samples("evidence/benches", "bench_files")
    seeds = [one if isinstance(one, bytes) else one.encode() for one in _file_texts(files.FILES)]
    return Parser(
        _on_disk("result.json", _observed), tuple(seeds), WORDS + _TABLE_WORDS, signed=_FREE, brief_count=40
    )


def _file_texts(files):
    for one in files.values():
        text = one() if callable(one) else one
        if isinstance(text, tuple | list):
            text = next(part for part in text if isinstance(part, str | bytes) and len(part) > 30)
        yield text if isinstance(text, str | bytes) else json.dumps(text)


_TABLE_WORDS = _texts(
    "request_throughput", "p99", "mean_ttft_ms", "duration", "completed", "total_output_tokens", "concurrency", "metrics", "value",
    "model_test", "n_prompt", "avg_ts", "Average (mean)", "requests", "-1.5", "Infinity",
)  # fmt: skip


def _made_observe_mlperf():
    more = _samples("evidence/benches", "bench_samples_more")
    detail = more.loadgen_detail() if callable(more.loadgen_detail) else more.loadgen_detail
    seeds = _texts(more.LOADGEN, more.mlperf_training(), detail)
    return Parser(_on_disk("mlperf.log", _observed), seeds, WORDS + _LOG_WORDS, signed=_FREE)


def _made_observe_cases():
    lines = (ROOT / "cases/memory.jsonl").read_bytes().splitlines()
    other = (ROOT / "cases/training.jsonl").read_bytes().splitlines()
    seeds = tuple(b"\n".join(lines[at : at + 2]) + b"\n" for at in range(0, 200, 25))
    return Parser(_on_disk("cases.jsonl", _observed), (*seeds, *(one + b"\n" for one in other[:200:40])),
                  structured=True, signed=_FREE)  # fmt: skip


def _made_observe_whole():
    logs = _samples("evidence", "logs")
    return Parser(_on_disk("engine.log", _observed_whole), _strings(logs), WORDS + _LOG_WORDS, brief_count=3)


def _validated(path):
    from cabida import app

    app.validate([path])
    with suppress(InvalidInput):  # most of them can't be learned from
        app.calibrate([path], keep=False)


def _made_cases():
    seeds = []
    for kind in ("memory", "serving", "training", "media"):
        seeds += (ROOT / f"cases/{kind}.jsonl").read_bytes().splitlines()[:120:40]
    return Parser(
        _on_disk("cases.jsonl", _validated),
        tuple(one + b"\n" for one in seeds),
        structured=True,
        brief_count=3,
    )


def _watched(data, scratch):
    """What a bench looks at while it runs: an engine's log line by line, and what refusals say."""
    from cabida.bench.watch import refusals, tail

    path = scratch / "in" / "engine.log"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    found = tail.log_facts(path)
    figures = []
    for line in data.decode("utf-8", "replace").splitlines()[:200]:
        figures.append(tail.figures_of(line))
        tail.sign_of(line)
        refusals.refusal(line)
    return [found.measured, figures]


def _made_watched():
    logs = _samples("evidence", "logs")
    return Parser(_watched, _strings(logs), WORDS + _LOG_WORDS, signed=_FREE, brief_count=10)


_TRAINED = (
    " [2026-01-01] iteration       10/     500 | consumed samples: 160 | elapsed time per iteration (ms): 1234.5 | "
    "throughput per GPU (TFLOP/s/GPU): 412.1 | lm loss: 2.1E+00 | max reserved: 61234.0\n" * 3,
    "completed step: 3, seconds: 1.25, TFLOP/s/device: 300.1, Tokens/s/device: 5000.5, total_weights: 1, loss: 2.5\n" * 2,
    "Step 4 | loss:1.2 lr:2e-05 tokens_per_second_per_gpu:1500.5 peak_memory_reserved:40.1\n" * 2,
    "{'loss': 1.2, 'learning_rate': 2e-05, 'epoch': 0.1}\n 3/100 [00:10<01:00]\n{'loss': 1.1, 'epoch': 0.2}\n",
    "step=3, RunningAvgSamplesPerSec=12.5, CurrSamplesPerSec=12.1, MemAllocated=10.1GB, MaxMemAllocated=20.2GB global_step=7\n",
)  # fmt: skip


def _trained(data, scratch):
    del scratch
    from cabida.bench.drills.jobs import Reading, summed_up

    reading, steps = Reading({}), []
    for at, line in enumerate(data.decode("utf-8", "replace").splitlines()[:2000]):
        if (step := reading.read(line, float(at))) is not None:
            steps.append(step)
    if steps:
        summed_up(steps, 1)
    return [{key: value for key, value in one.values.items() if key != "loss"} for one in steps]


def _made_trained():
    return Parser(_trained, _texts(*_TRAINED), WORDS + _texts("loss", "iteration 9/", "tokens", "s/it"))


# --- traffic, metrics


def _traffic(path):
    from cabida import app

    return plain(app.traffic([path]))


def _sample_texts(module, *names):
    return _texts(*(one() if callable(one := getattr(module, name)) else one for name in names))


def _traffic_parser(*names, file="traffic.log"):
    def made():
        samples = _samples("evidence/traffic", "traffic_samples")
        seeds = []
        for name in names:
            one = getattr(samples, name)
            seeds += _file_texts({name: one})
        return Parser(_on_disk(file, _traffic), _texts(*seeds), WORDS + _TRAFFIC_WORDS, brief_count=15)

    return made


_TRAFFIC_WORDS = _texts(
    "usage", "prompt_tokens", "completion_tokens", "startTime", "2026-11-30T10:00:00Z", "1e18", "-7", '"model": "x"', "status", "499",
    "messages", "POST /v1/chat/completions HTTP/1.1", "[30/Nov/2026:10:00:00 +0000]", "99999999999999999999", "Received request",
)  # fmt: skip


def _page(data, scratch):
    del scratch
    from cabida.evidence.pages import labels_of, read_page

    text = data.decode("utf-8", "replace")
    page = read_page(text)
    labels_of(text)
    return page.values()


def _made_page():
    pages = _samples("evidence/pages", "metric_pages")
    return Parser(_page, _strings(pages), WORDS + _texts(
        'le="+Inf"', "NaN", "+Inf", "_total", "_bucket", "_sum", "# TYPE x counter\n", 'model_name="', "vllm:", " 1e400", "# {", "1.7e9",
    ))  # fmt: skip


def _made_pages_traffic():
    pages = _samples("evidence/pages", "metric_pages")
    matrix = {"status": "success", "data": {"resultType": "matrix", "result": [
        {"metric": {"__name__": "vllm:prompt_tokens_total", "model_name": "m"}, "values": [[1764000000, "1"], [1764000060, "600"]]},
        {"metric": {"__name__": "vllm:generation_tokens_total", "model_name": "m"}, "values": [[1764000000, "1"], [1764000060, "90"]]},
        {"metric": {"__name__": "vllm:request_success_total", "model_name": "m"}, "values": [[1764000000, "1"], [1764000060, "9"]]},
    ]}}  # fmt: skip
    seeds = (*_strings(pages), json.dumps(matrix).encode())
    return Parser(_on_disk("metrics.txt", _traffic), seeds, WORDS + _texts("NaN", "+Inf", " -5", "_total"))


def _made_trace():
    from cabida.brief.trace import read_trace, summarise

    def read(path):
        return summarise(read_trace(path))

    return Parser(_on_disk("trace.csv", read), (fuzz_doors._TRACE, *(
        one[:3000].rpartition(b"\n")[0] + b"\n" for one in _files("cases/traces", "*.csv"))))  # fmt: skip


def _made_hours():
    from cabida.app import hours_of

    return Parser(
        _on_disk("hours.csv", hours_of), _texts("hour,gpus\n0,3\n1,5\n2,8.5\n", "3\n4\n5\n", "0;1,5\n1;2,5\n")
    )


# --- the wire


class _Transport:
    """What a connection writes to: nothing."""

    def __init__(self):
        self.closed = False

    def get_extra_info(self, name, default=None):
        del name
        return default

    def write(self, data):
        """Sent."""

    def is_closing(self):
        return self.closed

    def abort(self):
        self.closed = True

    close = abort

    def get_write_buffer_size(self):
        return 0


def _wire(api, stream):
    def enter(data, scratch):
        del scratch
        return asyncio.run(_asked(data, api, stream=stream))

    return enter


async def _asked(data, api, *, stream):
    """What comes of an answer of these bytes, in pieces."""
    from cabida.bench.outcome import Ask
    from cabida.bench.wire.address import endpoint
    from cabida.bench.wire.awaited import Exchange
    from cabida.bench.wire.connection import Connection, Reads
    from cabida.bench.wire.dialects.answer import Answer
    from cabida.bench.wire.exchange import Wire
    from cabida.bench.wire.words import why_text
    from cabida.plan.bench import Policy, Target

    loop = asyncio.get_running_loop()
    target = Target("http://127.0.0.1:1/v1", api=api, stream=stream)
    wire = Wire(endpoint(target), keep_text=True)
    connection = Connection(loop, Reads(loop), lambda _: None, lambda _: None)
    connection.connection_made(_Transport())
    exchange = Exchange(Answer(True), Policy(), api, stream, perf_counter())
    exchange.waits = loop.create_future()
    connection.send(exchange, b"POST / HTTP/1.1\r\n\r\n")
    size = (7, 64, 1 << 20)[len(data) % 3] if len(data) < 50_000 else 1 << 16
    for at in range(0, len(data), size):
        connection.data_received(data[at : at + size])
        if at % (size * 8) == 0:
            await asyncio.sleep(0)
    await asyncio.sleep(0)
    connection.connection_lost(None)
    assert exchange.verdict, "no verdict"
    outcome = wire._outcome(Ask("steady/1", b"{}", perf_counter()), exchange)
    why_text(outcome)
    outcome.why.encode()
    return outcome


def _http(body, *heads, chunked=False):
    lines = ["HTTP/1.1 200 OK", "Content-Type: text/event-stream", *heads]
    if chunked:
        body = b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in body) + b"0\r\n\r\n"
        lines.append("Transfer-Encoding: chunked")
    else:
        body = b"".join(body)
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def _event(tree):
    return b"data: " + json.dumps(tree).encode() + b"\n\n"


_WIRE_WORDS = _texts(
    "data: ", "\n\n", "\r\n", "[DONE]", "event: error\n", ": ping\n", '"usage": {"prompt_tokens": 3, "completion_tokens": -1}', "Retry-After: 1e999",
    "Retry-After: Wed, 99 Foo", "Keep-Alive: timeout=-1", "Transfer-Encoding: chunked", "Content-Length: 99999999999999999999", "HTTP/1.1 429 x\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n", "ffffffffffffffff\r\n", '"finish_reason": "stop"', '"delta": {"content": 3}', "Content-Encoding: gzip", "error: ",
)  # fmt: skip


def _made_wire():
    said = [_event({"choices": [{"index": 0, "delta": {"content": one}}]}) for one in ("Hi", " there")]
    tail = [
        _event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        _event({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}), b"data: [DONE]\n\n",
    ]  # fmt: skip
    llama = [_event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
                     "timings": {"prompt_n": 5, "cache_n": 2, "predicted_n": 9}}), b"data: [DONE]\n\n"]  # fmt: skip
    refused = b'{"error": {"message": "too long", "code": 400}}'
    return Parser(_wire("chat", True), (
        _http([*said, *tail]), _http([*said, *tail], chunked=True), _http([*said, *llama], "Keep-Alive: timeout=5"),
        _http([*said, b'error: {"code": 500, "message": "boom"}\n\n'], chunked=True),
        b"HTTP/1.1 429 Too Many\r\nRetry-After: 3\r\nContent-Length: %d\r\n\r\n%b" % (len(refused), refused),
        b"HTTP/1.1 503 x\r\nRetry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\nDate: Wed, 21 Oct 2026 07:27:00 GMT\r\n\r\n<html>",
    ), _WIRE_WORDS, brief_count=40)  # fmt: skip


def _made_wire_whole():
    chat = {"choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 2}}}  # fmt: skip
    return Parser(_wire("chat", False), (_http([json.dumps(chat).encode()]),), _WIRE_WORDS, brief_count=40)


def _made_wire_items():
    embedded = {
        "data": [{"index": 0, "embedding": [0.1, 0.2]}],
        "usage": {"prompt_tokens": 7, "total_tokens": 7},
    }
    return Parser(
        _wire("embeddings", False), (_http([json.dumps(embedded).encode()]),), _WIRE_WORDS, brief_count=40
    )


# --- records


def _journal(path):
    from cabida.app import bench_report
    from cabida.bench.keep.kept import done_ids, read_journal

    read_journal(path.parent)
    done_ids(path.parent)
    plain(bench_report([path.parent], predict=False))


def _made_journal():
    import tempfile

    report = _samples("bench/keep", "report_trial")
    with tempfile.TemporaryDirectory() as folder:
        report.trial(Path(folder) / "a", seconds=6)
        whole = (Path(folder) / "a" / "journal.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    kept = [one for at, one in enumerate(lines) if b'"request"' not in one or at % 6 == 0]
    return Parser(_on_disk("journal.jsonl", _journal), (b"".join(kept),), WORDS + _texts(
        '"kind":"request"', '"at_s":', '"verdict":"ok"', '"run":"steady"', "1e999", '"kind":"end"', '"steady_from_s":',
    ), structured=True, brief_count=3)  # fmt: skip


def _decision(path):
    from cabida import app

    decision = app.load_decision(path)
    known = app.levers(decision)
    changes = {
        one.name: one.value * 1.5
        for one in known
        if not one.locked and one.low <= one.value * 1.5 <= one.high
    }
    for changed in ({}, dict(list(changes.items())[:2])):
        for form in ("md", "html"):
            app.record(decision, form, changed)


@cache
def _golden():
    return (TESTS / "report/golden/decision.en.json").read_bytes()


def _made_decision():
    spanish = (TESTS / "report/golden/decision.es.json").read_bytes()
    return Parser(_on_disk("decision.json", _decision), (_golden(), spanish), WORDS + _texts(
        "inf", "nan", '"inputs": []', '"equation": "', "where(", "**", "1/0", '"unit": "USD"', '"trees": ', "chosen",
    ), structured=True, brief_count=4)  # fmt: skip


@cache
def _decided():
    from cabida import app

    return app.recommend(ROOT / "examples/student-4090.yaml", as_of=AS_OF, assume=True)


def _what_if(data, scratch):
    """Changes as they are typed: NAME=VALUE, one a line."""
    from cabida.app import what_if

    del scratch
    changes = {}
    for line in data.decode("utf-8", "replace").splitlines():
        name, _, value = line.partition("=")
        with suppress(ValueError):
            changes[name.strip()] = float(value)
    what_if(_decided(), changes)


def _made_what_if():
    from cabida.app import levers

    free = [one for one in levers(_decided()) if not one.locked]
    lines = [f"{one.name}={min(one.value * 1.5, one.high)}\n" for one in free]
    return Parser(_what_if, _texts(*lines[:6], "".join(lines[:3]), "compute_money=1\n"), brief_count=6)


def _expression(data, scratch):
    """The text of an equation, worked out for numbers and said in every language."""
    del scratch
    from cabida.equation import NotAFormula
    from cabida.expression import expression

    try:
        read = expression(data.decode("utf-8", "replace"))
        read.tex()
        read.sheet(lambda name: f"A_{name}")
        read.javascript(lambda name: f"v.{name}")
    except NotAFormula:
        return
    inputs = {name: float(at + 1) for at, name in enumerate(read.names)}
    with suppress(ArithmeticError):
        found = read.value(inputs)
        assert isinstance(found, float | int | bool), type(found)
    return


def _made_expression():
    said = {one["equation"] for one in json.loads(_golden())["trees"] if one["equation"]}
    return Parser(_expression, _texts(*sorted(said), "half = a / 2; half ** 2 + least(a, 3)", "where(a < 2, exp(a), log(b))",
                                      "ceil_to(a, 8) * total(a, b) - sqrt(c)", "-a ** 0.5 + (b >= 2)"), WORDS + _texts(
        "**", "(", ")", "least(", "where(", "ceil_to(", "lookup(a, b, c)", "log(", "exp(", "True", "1j", "lambda: 0", "a if b else c", "; ",
        "__import__", "-", "/ 0", "0 ** -1", "GIB", "total(", "0x", "1_0",
    ), brief_count=60)  # fmt: skip


def _units(data, scratch):
    del scratch
    from cabida import units

    text, found = data.decode("utf-8", "replace"), []
    for kind in units._SCALES:
        with suppress(ValueError):
            found.append(units.parse(text, kind))
    with suppress(ValueError):
        found.append(units.parse_money(text)[0])
    return [one for one in found if one not in (inf, -inf)]  # who asks for an amount bounds it


def _made_units():
    return Parser(_units, _texts("80 GiB", "1.2 M tokens", "2.10 EUR/h", "18000 EUR", "$ 3.5k / month", "99.9 %", "3 months", "1e3 req/s",
                                 "1,000,000 tokens", "250 ms", "3.35 TB/s", "989 TFLOPS"), brief_count=60)  # fmt: skip


def _days(data, scratch):
    """Days, moments and amounts, as each of their readers takes them."""
    del scratch
    from cabida import text as texts
    from cabida.evidence.prices import numbers
    from cabida.evidence.quotes import days, values
    from cabida.evidence.quotes.fields import FIELDS

    text, found = data.decode("utf-8", "replace")[:4000], []  # of a line, as its readers cut it
    with suppress(InvalidInput):
        found.append(texts.iso_day(text))
    for read in (numbers.plain, numbers.signed, numbers.amount, numbers.counted, numbers.moment, numbers.day,
                 numbers.stamped, numbers.currency_of, days.day):  # fmt: skip
        with suppress(ValueError):
            value = read(text)
            if read not in (numbers.signed,):
                found.append(value)
    for field in FIELDS:
        with suppress(ValueError):
            values.written(field, values.value(field, text))
    return found


def _made_days():
    return Parser(_days, _texts("2026-11-30", "30/11/2026", "Nov 30, 2026", "30 de noviembre de 2026", "2026-11-30T10:00:00Z", "1,234.56",
                                "1.234,56 €", "USD 2.10/h", "12 months", "99.9 %", "3x", "yes", "20261107", "8 x H100"),
                  brief_count=10)  # fmt: skip


def _calibration(path):
    from cabida.timing import own
    from cabida.truth import calibrate

    os.environ["CABIDA_CALIBRATION"] = str(path)
    own.read_own.cache_clear()
    try:
        residuals = own.own_residuals()
        calibrate.listed()
    finally:
        del os.environ["CABIDA_CALIBRATION"]
    for one in residuals:
        for _, value in one.values:
            assert abs(value) < 1e6, value


def _made_calibration():
    from cabida.timing.own import FORMAT, coefficients_digest

    run = {"at": "2026-11-01T10:00:00Z", "files": ["a.jsonl"], "observations": [{
        "id": "a", "engine": "vllm", "card": "h100-sxm-80", "model": "llama-3.1-8b", "residuals": {"step": 0.1, "memory": -0.05}}]}  # fmt: skip
    tree = {"format": FORMAT, "coefficients": coefficients_digest(), "runs": [run], "undone": []}
    return Parser(_on_disk("calibration.json", _calibration), (json.dumps(tree).encode(),), structured=True)


# --- the store


def _new_store(scratch):
    """A store at today's schema in this scratch folder, empty; a copy, since making one takes half a second."""
    import shutil

    from cabida.evidence import connect

    made, store = scratch / "made.db", scratch / "store.db"
    if not made.exists():
        with connect.writing(made):
            pass
        connect.close(made)
    connect.close(store)
    for end in ("", "-wal", "-shm"):
        Path(f"{store}{end}").unlink(missing_ok=True)
    shutil.copyfile(made, store)
    return store


def _mended(data):
    """An export whose manifest says what its files hold; as it is where it can't be read."""
    import io

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = {
                one.filename: archive.read(one) for one in archive.infolist() if one.file_size < 5_000_000
            }
        tree = json.loads(files["manifest.json"])
        for one in tree["files"]:
            if one["name"] in files:
                content = files[one["name"]]
                one["sha256"], one["size_bytes"] = sha256(content).hexdigest(), len(content)
        for name in tree["rows"]:
            if f"{name}.jsonl" in files:
                tree["rows"][name] = files[f"{name}.jsonl"].count(b"\n")
        files["manifest.json"] = json.dumps(tree).encode()
        return zipped(files)
    except Exception:
        return data


def _import(data, scratch):
    from cabida import app
    from cabida.evidence import book, shelf, store

    place = _new_store(scratch)
    path = scratch / "in" / "export.zip"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(_mended(data) if len(data) % 4 else data)
    app.store_import(path, store=place)
    book.sellers()
    store.stored(place, all=True)
    for one in shelf.briefs(store=place).items:
        shelf.brief(one.id, store=place)
    app.quotes(AS_OF, store=place, every=True)
    app.decisions(store=place)


@cache
def _filled():
    """An export and a copy of a store that holds something of everything."""
    import tempfile

    from cabida import app, evidence
    from cabida.evidence import connect, shelf, store
    from cabida.evidence.quotes import keeping
    from cabida.evidence.quotes.reading import read_quote

    logs = _samples("evidence", "logs")
    exports = _samples("evidence/prices", "exports")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "a.db"
        log = Path(folder) / "vllm.log"
        log.write_text(logs.VLLM_011)
        store.add(evidence.read_file(log), place)
        app.import_prices([exports.one(folder, "plain-csv", 4)], as_of=AS_OF, store=place)
        keeping.keep(
            [
                read_quote(
                    "q.yaml",
                    text="vendor: A\nquote_id: Q\npurpose: buy\naccelerator: l40s\naccelerators_count: 8\n",
                )
            ],
            place,
        )
        made = shelf.add_brief("b", (ROOT / "examples/nightly-batch.yaml").read_text(), store=place)
        shelf.add_decision(_golden().decode(), brief_id=made.id, brief_version=1, store=place)
        shelf.add_job("recommend", {"brief_id": made.id}, store=place)
        out = Path(folder) / "out"
        app.store_export(out, store=place)
        app.store_backup(Path(folder) / "copy.db", store=place)
        app.store_backup(Path(folder) / "copy.zip", store=place)
        connect.close(place)
        export = {
            str(one.relative_to(out)): one.read_bytes() for one in sorted(out.rglob("*")) if one.is_file()
        }
        return (
            zipped(export),
            (Path(folder) / "copy.db").read_bytes(),
            (Path(folder) / "copy.zip").read_bytes(),
        )


def _made_import():
    return Parser(_import, (_filled()[0],), structured=True, writes=True, brief_count=1)


def _restore(data, scratch):
    from cabida import app
    from cabida.evidence import connect

    place = _new_store(scratch)
    path = scratch / "in" / ("copy.zip" if data[:2] == b"PK" else "copy.db")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    try:
        app.store_restore(path, replace=True, store=place)
        app.quotes(AS_OF, store=place, every=True)
        app.decisions(store=place)
    finally:
        connect.close(place)
        for one in scratch.glob("store.db*"):
            one.unlink()


def _made_restore():
    return Parser(_restore, _filled()[1:], writes=True, brief_count=2)


# --- the web


class _Web:
    """One server in this process, with a store of its own; made anew when something took too long."""

    def __init__(self):
        self.client = None

    def ask(self, scratch, method, path, **more):
        """An answer; never one of the server's own faults."""
        if self.client is None:
            place = scratch.parent / "web"
            place.mkdir(exist_ok=True)
            os.environ["CABIDA_STORE"] = str(_new_store(place))
            self.client = _client()
        try:
            answer = self.client.request(method, path, **more)
        except BaseException:
            self.client = None
            raise
        assert answer.status_code < 500 or answer.status_code in (501, 503), (
            answer.status_code,
            answer.text[:2000],
        )
        if answer.headers.get("content-type", "").startswith("application/problem+json"):
            told = answer.json()["errors"]
            assert told, answer.text
            assert all(re.fullmatch(r"CB-[A-Z]\d{3}", one["code"]) and one["what"] for one in told), (
                answer.text
            )
        elif answer.headers.get("content-type", "").startswith("application/json") and answer.content:
            json.loads(answer.content, parse_constant=_no_number)
        return answer

    def close(self):
        """Let the server go."""
        if self.client is not None:
            self.client.__exit__(None, None, None)
            self.client = None


def _no_number(word):
    raise AssertionError(word)


def _client():
    from starlette.testclient import TestClient

    from cabida.faces.web.application import application
    from cabida.faces.web.settings import Settings

    client = TestClient(
        application(Settings(jobs_here=True)), base_url="http://127.0.0.1:8765", follow_redirects=False
    )
    client.__enter__()
    found = re.search(r'"X-CSRF-Token": "([\w-]+)"', client.get("/people").text)
    client.headers["X-CSRF-Token"] = found[1]
    return client


WEB = _Web()
_GPU, _MODEL = "h100-sxm-80", "llama-3.1-8b"
_BODIES = {
    "fit": {"model": _MODEL, "gpu": [_GPU], "tp": 2, "max_model_len": 8192, "in_use": "2 GB", "concurrency": 4},
    "speed": {"model": _MODEL, "gpu": _GPU, "requests_per_s": 2.5, "ttft_p95_ms": 800, "input_tokens": 500, "output_tokens": 50},
    "cost": {"what": _MODEL, "gpu": _GPU, "requests_per_s": 2, "as_of": AS_OF, "assume": {"rent_staff_count": 0.5}},
    "hold": {"gpu": _GPU, "mean": 3, "reserved": {"12": 1.5}, "as_of": AS_OF, "hours": "1\n2\n3\n"},
    "own": {"gpu": _GPU, "gpus": 8, "as_of": AS_OF},
    "ask": {"question": ["does llama-3.3-70b fit on an H200?"], "as_of": AS_OF},
    "check/software": {"software": "vllm 0.5 cuda 11.8"},
    "check/pc": {"pc": "gpu: 2x RTX 4090, supply: 850 W"},
    "quotes/audit": {"quote": "q1"},
    "quotes/compare": {"quotes": ["q1", "q2"]},
}  # fmt: skip


def _api(data, scratch):
    """A request of the API: its path, and its body after the first line."""
    path, _, body = data.partition(b"\n")
    said = path.decode("latin-1").strip()
    known = said if said in _asked_paths() else "fit"
    WEB.ask(scratch, "POST", f"/api/v1/{known}", content=body, headers={"Content-Type": "application/json"})


@cache
def _asked_paths():
    return (
        *_BODIES,
        "check",
        "explain",
        "launch",
        "diff",
        "decisions/levers",
        "decisions/what-if",
        "bench/plan",
        "briefs",
        "check/rack",
    )


def _made_api():
    golden = json.loads(_golden())
    brief = (ROOT / "examples/student-4090.yaml").read_text()
    bodies = {
        **_BODIES, "check": {"brief": brief, "assume": True, "as_of": AS_OF}, "explain": {"decision": golden, "name": "weights_bytes"},
        "launch": {"decision": golden, "as": "compose"}, "levers": {"decision": golden}, "briefs": {"name": "x", "text": brief},
        "what-if": {"decision": golden, "changes": {"price_money_per_hour": 2.0}},
    }  # fmt: skip
    seeds = tuple(f"{path}\n{json.dumps(body)}".encode() for path, body in bodies.items())
    return Parser(
        _api,
        seeds,
        WORDS + _texts('"gpu": ', '"tp": ', '"as_of": "9999-12-31"', "true", '"model": ["x"]'),
        writes=True,
        brief_count=4,
    )


def _forms(data, scratch):
    """A form as a browser sends it: its method and path, and its fields after the first line."""
    head, _, body = data.partition(b"\n")
    method, _, path = head.decode("latin-1").strip().partition(" ")
    pairs = parse_qsl(
        body.decode("utf-8", "surrogateescape").replace("\n", ""),
        keep_blank_values=True,
        errors="surrogateescape",
    )
    encoded = urlencode(pairs, errors="surrogateescape")[:200_000]
    if method == "GET" or path not in _FORM_PATHS:
        path = path if path in _GET_PATHS else "/catalogue/gpus"
        WEB.ask(scratch, "GET", f"{path}?{encoded[:20_000]}")
        return
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    WEB.ask(scratch, "POST", path, content=encoded, headers=kind)


_FORM_PATHS = ("/briefs/new", "/briefs/check", "/people/tokens", "/bench", "/login")
_GET_PATHS = (
    "/catalogue/gpus", "/catalogue/models", "/catalogue/prices", "/catalogue/rates", "/compare", "/briefs", "/decisions", "/log", "/quotes",
    "/quotes/compare", "/api/v1/prices", "/api/v1/models", "/api/v1/facts", "/api/v1/compare", "/api/v1/briefs", "/api/v1/decisions",
    "/api/v1/log", "/api/v1/jobs", "/api/v1/quotes", "/api/v1/prices/api", "/api/v1/prices/history", "/look", "/catalogue/api",
)  # fmt: skip


def _made_forms():
    brief = (ROOT / "examples/student-4090.yaml").read_text()
    posts = {
        "/briefs/check": {"text": brief, "name": "x"}, "/briefs/new": {"text": brief, "name": "x", "do": "keep", "f:name": "y", "f:models[0].id": "llama-3.1-8b",
                                                                      "n:models": "1", "f:traffic.requests_per_s": "3", "k:budget": "1"},
        "/people/tokens": {"name": "CI", "role": "reader", "days": "30"}, "/bench": {"text": _files("examples", "bench/plan.yaml")[0].decode(), "name": "x"},
    }  # fmt: skip
    gets = {
        "/catalogue/gpus": {"q": "h100", "sort": "price", "after": "", "currency": "EUR"}, "/catalogue/prices": {"gpu": _GPU, "region": "eu", "as_of": AS_OF},
        "/api/v1/prices": {"gpu": _GPU, "as_of": AS_OF, "currency": "EUR"}, "/api/v1/compare": {"ids": _GPU}, "/api/v1/briefs": {"most": "5", "after": ""},
        "/api/v1/prices/api": {"model": "llama-3.3-70b", "input_tokens": "500", "batch": "true"}, "/decisions": {"q": "x", "as_of": AS_OF, "brief": "b-1"},
        "/log": {"of": "x", "by": "y", "after": "3"}, "/compare": {"what": "gpus", "ids": _GPU}, "/catalogue/api": {"model": "llama-3.3-70b", "as_of": AS_OF},
    }  # fmt: skip
    seeds = [f"POST {path}\n{urlencode(form)}" for path, form in posts.items()]
    seeds += [f"GET {path}\n{urlencode(form)}" for path, form in gets.items()]
    return Parser(_forms, _texts(*seeds), WORDS + _texts("&", "%00", "%FF", "%ED%A0%80", "&lang=es", "&after=", "&most=-1", "[0]", "%0A", "+"),
                  writes=True, brief_count=4)  # fmt: skip


_UPLOADS = {"/quotes": "file", "/briefs/upload": "file", "/catalogue/prices/import": "file", "/api/v1/observations": "files", "/api/v1/traffic": "sources",
            "/api/v1/quotes": "file", "/api/v1/prices/import": "files", "/api/v1/validate": "files", "/bench/observations": "file"}  # fmt: skip


def _upload(data, scratch):
    """A file sent to a page: the path, the file's name, and what it holds."""
    path, _, rest = data.partition(b"\n")
    name, _, content = rest.partition(b"\n")
    place = path.decode("latin-1").strip()
    place = place if place in _UPLOADS else "/quotes"
    WEB.ask(
        scratch,
        "POST",
        place,
        files={_UPLOADS[place]: (name.decode("utf-8", "replace")[:300] or "a.txt", content)},
    )


def _made_uploads():
    logs = _samples("evidence", "logs")
    traffic = _samples("evidence/traffic", "traffic_samples")
    quote = _files("examples/quotes", "reservation.yaml")[0]
    brief = _files("examples", "student-4090.yaml")[0]
    held = {
        "/quotes\na.yaml": quote, "/api/v1/quotes\na.txt": _files("examples/quotes", "*.txt")[0], "/briefs/upload\nb.yaml": brief,
        "/catalogue/prices/import\np.csv": fuzz_doors._PRICES, "/api/v1/prices/import\np.csv": fuzz_doors._PRICES,
        "/api/v1/observations\nv.log": logs.VLLM_011.encode(), "/bench/observations\nv.log": logs.SGLANG.encode(),
        "/api/v1/traffic\nt.log": traffic.NGINX.encode(),
    }  # fmt: skip
    return Parser(
        _upload,
        tuple(head.encode() + b"\n" + body for head, body in held.items()),
        WORDS,
        writes=True,
        brief_count=4,
    )


_MADE = {
    "brief-file": _made_brief,
    "bench-plan": _made_plan,
    "parts": _made_parts,
    "parts-words": _made_parts_words,
    "software-words": _made_software_words,
    "question": _made_question,
    "own-facts": _made_facts,
    "model-folder": _made_folder,
    "quote-yaml": _quote_parser("quote.yaml", ("*.yaml",)),
    "quote-csv": _quote_parser("quote.csv", ("*.csv",)),
    "quote-xlsx": _quote_parser("quote.xlsx", ("*.xlsx",)),
    "quote-text": _quote_parser("quote.txt", ("*.txt",)),
    "quote-pdf": _made_quote_pdf,
    "prices-focus-csv": _price_parser("focus-csv", name="focus.csv", broken=("focus.csv",)),
    "prices-focus-gz": _price_parser("focus-gz", name="focus.csv.gz"),
    "prices-focus-parquet": _price_parser("focus-parquet", name="focus.parquet"),
    "prices-opencost": _price_parser("opencost", name="allocation.json"),
    "prices-ec2": _price_parser("ec2instances", name="instances.json"),
    "prices-gpuhunt": _price_parser("gpuhunt", name="aws-20261107-2.csv", broken=("azure-*.csv",)),
    "prices-skypilot": _price_parser("skypilot", name="aws-vms.csv", broken=("skypilot-*.csv",)),
    "prices-plain-csv": _price_parser("plain-csv", name="prices.csv", broken=("rows.csv", "spanish.csv", "figures.csv", "quotes.csv")),
    "prices-plain-xlsx": _price_parser("plain-xlsx", name="prices.xlsx"),
    "prices-litellm": _price_parser("litellm", name="model_prices_and_context_window.json"),
    "prices-openrouter": _price_parser("openrouter", name="models.json"),
    "observe-vllm": _log_parser("VLLM"),
    "observe-sglang": _log_parser("SGLANG"),
    "observe-tensorrt-llm": _log_parser("TRTLLM"),
    "observe-llama.cpp": _log_parser("LLAMA_", "OLLAMA"),
    "observe-nvidia-smi": _log_parser("SMI"),
    "observe-torch": _log_parser("SUMMARY"),
    "observe-benchmarks": _made_observe_tables,
    "observe-mlperf": _made_observe_mlperf,
    "observe-cases": _made_observe_cases,
    "observe-whole": _made_observe_whole,
    "cases": _made_cases,
    "bench-watch": _made_watched,
    "bench-training": _made_trained,
    "traffic-gateways": _traffic_parser("litellm_spend", "LITELLM_CSV", "litellm_callback", "helicone", "portkey", "langfuse", "OPENROUTER",
                                        "openai_batch"),
    "traffic-web": _traffic_parser("kong", "envoy", "access_json", "NGINX", "NGINX_TIMED", "HAPROXY"),
    "traffic-engines": _traffic_parser("VLLM", "SGLANG"),
    "metrics-page": _made_page,
    "metrics-traffic": _made_pages_traffic,
    "trace-file": _made_trace,
    "hours": _made_hours,
    "wire-stream": _made_wire,
    "wire-whole": _made_wire_whole,
    "wire-items": _made_wire_items,
    "journal": _made_journal,
    "decision": _made_decision,
    "what-if": _made_what_if,
    "expression": _made_expression,
    "units": _made_units,
    "days-and-amounts": _made_days,
    "calibration": _made_calibration,
    "store-import": _made_import,
    "store-restore": _made_restore,
    "web-api": _made_api,
    "web-forms": _made_forms,
    "web-uploads": _made_uploads,
}  # fmt: skip
NAMES = tuple(_MADE)


@cache
def parser(name):
    """One of them."""
    if name in _MADE:
        return _MADE[name]()
    door = fuzz_doors.doors()[name]
    return Parser(door.enter, door.seeds, door.words, structured=door.structured, writes=True)


__all__ = ["NAMES", "WEB", "Parser", "parser", "partial"]
