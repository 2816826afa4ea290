"""Which load generator tells the truth, and what it takes to: ours beside others, against a server that knows.

    python benchmarks/bench_client.py [--only NAME ...] [--cases NAME ...] [--rivals DIR] [--install] [--json]

Same run, same machine, one after another. The truth is the calibrated server's own log: from the receipt of a request
to the write of its first token. What a client adds - connecting, queueing inside itself, reading late - is its error.
Others run with their default workers, each in an environment of its own under ``--rivals`` (made by ``--install``, or
by hand; those that aren't there are left out). CPU and memory are of the whole process tree, imports included.
"flagged" = the client itself warned that it might be the bottleneck.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
import time
import venv
from dataclasses import asdict, dataclass
from pathlib import Path

import rivals
from cabida.bench.selfcheck.selftest import Figures, figures, off_ratio
from cabida.bench.selfcheck.starting import Calibrated, calibrated
from load_generators import CASES, CLIENTS, Case, Client, Told

WITHIN_S = 400.0
WARNED = re.compile(
    r"CPU usage above|client[^.\n]{0,60}(bottleneck|overload|saturat)|loop[^.\n]{0,30}(lag|behind)", re.I
)
QUIET_PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")


@dataclass(frozen=True)
class Row:
    """One client at one load. Seconds and bytes; ``why`` = it told nothing."""

    client: str
    case: str
    served_count: int
    true_ttft: Figures
    ttft: Figures
    true_tpot_s: float | None
    tpot_s: float | None
    mean_error_ratio: float | None
    p99_error_ratio: float | None
    cpu_s_per_request: float | None
    net_cpu_s_per_request: float | None  # without starting up; known of ours only
    rss_bytes: int
    start_s: float | None  # until its first request
    flagged: bool
    why: str = ""


def run(client: Client, case: Case, home: Path) -> Row:
    """One client at one load, against a server of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="cabida-clients-") as name,
        calibrated(manner=case.manner) as server,
    ):
        folder = Path(name)
        environment = os.environ | {
            "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "MOST": str(case.requests), "TOKENS": str(case.tokens),
            "FOUND": str(folder / "found.json"), "HF_HUB_CACHE": str(home.parent / "hub"),
            "TOKENIZERS_PARALLELISM": "false",
        }  # fmt: skip
        began_ns = time.perf_counter_ns()
        with (folder / "said.txt").open("wb") as said:
            process = subprocess.Popen(
                client.command(case, server.url, folder, home),
                stdout=said,
                stderr=said,
                env=environment,
                cwd=folder,
            )
            peak, cpu_s, status = watched(process)
        text = (folder / "said.txt").read_text(errors="replace")
        try:
            told, why = client.read(folder, text), ""
        except (OSError, LookupError, ValueError, StopIteration) as error:
            told, why = Told(Figures(), None), f"exit {status}: {error!r} {text.strip()[-200:]}"
        return row(client, case, server, told, peak, cpu_s, began_ns, folder, text, why)


def row(
    client: Client, case: Case, server: Calibrated, told: Told, peak: int, cpu_s: float, began_ns: int, folder: Path,
    text: str, why: str,
) -> Row:  # fmt: skip
    """What the client says beside what the server knows."""
    sends = [one for one in server.sends() if not one.id.startswith("first/")]
    true = figures([one.ttft_s for one in sends if one.ttft_s is not None])
    flagged, net = bool(WARNED.search(text)), None
    if client.name == "cabida" and not why:
        own = json.loads((folder / "found.json").read_text())
        flagged, net = own["flagged"], own["cpu_s"] / case.requests
    return Row(
        client=client.name,
        case=case.name,
        served_count=len(sends),
        true_ttft=true,
        ttft=told.ttft,
        true_tpot_s=figures([one.tpot_s for one in sends if one.tpot_s is not None]).mean_s,
        tpot_s=told.tpot_mean_s,
        mean_error_ratio=off_ratio(told.ttft.mean_s, true.mean_s),
        p99_error_ratio=off_ratio(told.ttft.p99_s, true.p99_s),
        cpu_s_per_request=cpu_s / len(sends) if sends else None,
        net_cpu_s_per_request=net,
        rss_bytes=peak,
        start_s=(min(one.received_ns for one in sends) - began_ns) / 1e9 if sends else None,
        flagged=flagged,
        why=why,
    )


def watched(process: subprocess.Popen[bytes]) -> tuple[int, float, int]:
    """(most memory of its process tree, processor seconds of it, exit status), once it has ended."""
    peak, over = [0], threading.Event()

    def look() -> None:
        while not over.wait(0.1):
            peak[0] = max(peak[0], sum(held(one) for one in tree(process.pid)))

    looking = threading.Thread(target=look)
    looking.start()
    stopper = threading.Timer(WITHIN_S, process.kill)
    stopper.start()
    try:
        _, status, used = os.wait4(process.pid, 0)
    finally:
        stopper.cancel()
        over.set()
        looking.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    return peak[0], used.ru_utime + used.ru_stime, process.returncode


def tree(pid: int) -> set[int]:
    """A process and all that came of it."""
    found = {pid}
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found |= tree(int(child))
    except OSError:
        pass
    return found


def held(pid: int) -> int:
    """Memory of a process, bytes."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def make_tokenizer(folder: Path) -> None:
    """A small tokenizer for those that need one, trained on the standard library; also as a hub's cache has it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    special = {"pad_token": "<|pad|>", "bos_token": "<|bos|>", "eos_token": "<|end|>"}
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    files = sorted(str(one) for one in Path(os.__file__).parent.glob("*.py"))[:60]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=4096, special_tokens=list(special.values()), initial_alphabet=alphabet, show_progress=False
    )
    made.train(files, trainer)
    template = "{% for one in messages %}{{ one['content'] }}{% endfor %}"
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": 4096,
        "chat_template": template,
    }
    commit = "0" * 40
    snapshot = folder / "hub/models--rp--tiny/snapshots" / commit
    for where in (folder / "tokenizer", snapshot):
        where.mkdir(parents=True, exist_ok=True)
        made.save(str(where / "tokenizer.json"))
        (where / "tokenizer_config.json").write_text(json.dumps(settings | special))
    (snapshot.parents[1] / "refs").mkdir(exist_ok=True)
    (snapshot.parents[1] / "refs/main").write_text(commit)


def install(client: Client, home: Path) -> None:
    """An environment of its own, made once."""
    if client.packages and not (home / "bin/python").exists():
        venv.create(home, with_pip=True)
        for package in client.packages:
            subprocess.run([home / "bin/python", *QUIET_PIP, package], check=True)


def ms(value: float | None) -> str:
    """Milliseconds, or a dash."""
    return "–" if value is None else f"{value * 1e3:,.1f}"


def table(rows: list[Row]) -> str:
    """All rows of a case under one another."""
    head = ("client", "true TTFT", "told", "off", "true p99", "told", "off", "true TPOT", "told", "CPU ms/req",
            "RSS MB", "start s", "flagged")  # fmt: skip
    lines = []
    for case in dict.fromkeys(one.case for one in rows):
        lines += [f"\n{case}", "  ".join(f"{one:>10}" for one in head)]
        for one in (one for one in rows if one.case == case):
            off = [
                f"{value:+.1%}" if value is not None else "–"
                for value in (one.mean_error_ratio, one.p99_error_ratio)
            ]
            cells = (
                one.client, ms(one.true_ttft.mean_s), ms(one.ttft.mean_s), off[0], ms(one.true_ttft.p99_s),
                ms(one.ttft.p99_s), off[1], ms(one.true_tpot_s), ms(one.tpot_s), ms(one.cpu_s_per_request),
                f"{one.rss_bytes / 1e6:,.0f}", "–" if one.start_s is None else f"{one.start_s:.1f}",
                "yes" if one.flagged else "no",
            )  # fmt: skip
            lines.append("  ".join(f"{cell:>10}" for cell in cells) + (f"  {one.why}" if one.why else ""))
    return "\n".join(lines)


def main() -> None:
    """Run them, one after another."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", choices=list(CLIENTS), default=list(CLIENTS), metavar="NAME")
    parser.add_argument("--cases", nargs="*", choices=list(CASES), default=list(CASES), metavar="NAME")
    parser.add_argument("--rivals", type=Path, default=rivals.cache_folder() / "clients", metavar="DIR")
    parser.add_argument("--install", action="store_true", help="make the environments that are missing")
    parser.add_argument("--json", action="store_true")
    said = parser.parse_args()
    if said.install:
        for name in said.only:
            install(CLIENTS[name], said.rivals / name)
    if set(said.only) - {"cabida", "locust"} and not (said.rivals / "hub").exists():
        make_tokenizer(said.rivals)
    rows = []
    for case in said.cases:
        for name in said.only:
            home = said.rivals / name
            if name != "cabida" and not (home / "bin/python").exists():
                print(f"{name} is not under {said.rivals}: left out", file=sys.stderr)
                continue
            rows.append(run(CLIENTS[name], CASES[case], home))
            print(table(rows[-1:]), file=sys.stderr)
    if said.json:
        machine = {
            "cores": len(os.sched_getaffinity(0)),
            "load": os.getloadavg(),
            "python": platform.python_version(),
        }
        print(json.dumps({"machine": machine, "rows": [asdict(one) for one in rows]}, indent=1))
    else:
        print(table(rows))


if __name__ == "__main__":
    main()
