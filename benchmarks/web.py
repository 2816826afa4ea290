"""How long the pages of `cabida serve` take, and a decision from the click until it is shown.

    python benchmarks/web.py [--json] [--times 20]

A server of its own, with a store of its own, is started and asked over HTTP like a browser asks it. The first page is
timed twice: as the first request of all, before any template was compiled, and as everybody after has it. A decision is
submitted as the form does, followed by its events, and its page fetched when it ends; the worker is warm, the brief is
not the one that it warmed itself on but for the first row.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
DECISION = ROOT / "tests/report/golden/decision.en.json"
AS_OF = "2026-11-30"
BRIEFS = ("chat-llama-70b", "support-chat")
PAGES = {"first page": "/", "briefs": "/briefs/new", "decisions": "/decisions", "GPUs": "/catalogue/gpus"}
AIM_PAGE_S, AIM_SHOWN_S = 0.150, 3.0


@contextmanager
def served(store: Path) -> Iterator[tuple[str, int]]:
    """A server on a free port: its address and process."""
    words = [sys.executable, "-m", "cabida", "serve", "--port", "0", "--json"]
    environment = os.environ | {"CABIDA_STORE": str(store), "XDG_DATA_HOME": str(store.parent)}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as process:
        told = ""
        for line in process.stdout or ():
            told += line
            if line.rstrip() == "}":
                break
        try:
            yield json.loads(told)["url"].rstrip("/"), process.pid
        finally:
            process.terminate()


def fetched(url: str, data: bytes | None = None) -> tuple[float, bytes]:
    """Seconds until an answer is there whole, and the answer."""
    asked = urllib.request.Request(url, data, {"Content-Type": "application/json", "Accept-Encoding": "gzip"})
    begun = time.perf_counter()
    with urllib.request.urlopen(asked) as answer:
        body = answer.read()
        packed = answer.headers.get("Content-Encoding") == "gzip"
    return time.perf_counter() - begun, gzip.decompress(body) if packed else body


def until_ready(url: str) -> float:
    """Seconds until a worker is warm."""
    begun = time.perf_counter()
    while True:
        try:
            fetched(f"{url}/readyz")
        except OSError:
            time.sleep(0.1)
        else:
            return time.perf_counter() - begun


def decided(url: str, brief: str) -> tuple[float, float]:
    """From the click: seconds until the decision is made, and until its page is there."""
    text = (ROOT / f"examples/{brief}.yaml").read_text(encoding="utf-8")
    asked = {"brief": text, "assume": True, "as_of": AS_OF}
    begun = time.perf_counter()
    _, told = fetched(f"{url}/api/v1/recommend", json.dumps(asked).encode())
    with urllib.request.urlopen(f"{url}/api/jobs/{json.loads(told)['id']}/events") as events:
        lines = [line.decode() for line in events]
    made_s = time.perf_counter() - begun
    end = json.loads(next(line for line in reversed(lines) if line.startswith("data: "))[6:])
    fetched(f"{url}/decisions/{end['result']['decision']}")
    return made_s, time.perf_counter() - begun


def memory_mib(pid: int) -> int:
    """What a process and those it started hold, resident."""
    found = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = (folder / "status").read_text()
        except OSError:
            continue
        told = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        if int(folder.name) == pid or int(told["PPid"]) == pid:
            found += int(told.get("VmRSS", "0 kB").split()[0])
    return found // 1024


def measured(times: int) -> dict[str, float]:
    """Every figure, in seconds but for the memory."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "web.db"
        keep = "import sys; from cabida.evidence.shelf import add_decision; print(add_decision(sys.stdin.read()).id)"
        kept = subprocess.run(
            [sys.executable, "-c", keep], input=DECISION.read_text(encoding="utf-8"), text=True, check=True,
            capture_output=True, env=os.environ | {"CABIDA_STORE": str(store)},
        ).stdout.strip()  # fmt: skip
        with served(store) as (url, pid):
            found["first page of all"] = fetched(f"{url}/")[0]
            found["until a worker is warm"] = until_ready(url)
            time.sleep(8.0)  # the other workers too
            pages = PAGES | {"a decision": f"/decisions/{kept}"}
            for name, path in pages.items():
                seconds = [fetched(url + path)[0] for _ in range(times + 1)][1:]
                found[name] = statistics.median(seconds)
                found[f"{name}, slowest of {times}"] = max(seconds)
            for brief in BRIEFS:
                runs = [decided(url, brief) for _ in range(3)]
                found[f"{brief}, made"] = min(made for made, _ in runs)
                found[f"{brief}, shown"] = min(shown for _, shown in runs)
            found["memory, MiB"] = memory_mib(pid)
    return found


def main() -> None:
    """Measure and tell."""
    reader = argparse.ArgumentParser()
    reader.add_argument("--json", action="store_true")
    reader.add_argument("--times", type=int, default=20)
    asked = reader.parse_args()
    found = measured(asked.times)
    if asked.json:
        print(json.dumps({name: round(value, 4) for name, value in found.items()}, indent=1))
        return
    for name, value in found.items():
        print(f"{name:<40} {value:,.0f}" if "MiB" in name else f"{name:<40} {value * 1e3:8.1f} ms")
    slow = [name for name in PAGES if found[name] > AIM_PAGE_S]
    slow += [name for name, value in found.items() if name.endswith("shown") and value > AIM_SHOWN_S]
    print(
        "aims: a page in 150 ms, a warm decision shown in 3 s;",
        f"missed: {', '.join(slow)}" if slow else "kept",
    )


if __name__ == "__main__":
    main()
