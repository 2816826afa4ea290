"""Other predictors, each in an environment of its own, asked about the same measured rows.

    python benchmarks/rivals.py [--install NAME ...]

An environment is made once under the cache folder (``CABIDA_BENCHMARKS``, else ``~/.cache/cabida-benchmarks``) and an
answer is kept under the digest of its question, so that a run goes on where it was stopped. None of this is needed to
use or to test Cabida.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ASKERS = Path(__file__).parent / "askers"
ENDED = "the process ended without an answer"
QUIET_PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")


@dataclass(frozen=True)
class Rival:
    """A package of the index, how to install it, and what it can be asked."""

    name: str
    version: str
    packages: tuple[str, ...]
    rows: str  # agg, shaped, single, training or memory: see accuracy.py
    metrics: tuple[str, ...]
    licence: str
    without_dependencies: tuple[str, ...] = ()
    most_rows: int = 10**6  # asking more would take too long
    way: int = 1  # of asking; another way makes other questions of the same rows


RIVALS = {
    one.name: one
    for one in (
        Rival("aiconfigurator", "0.12.0", ("aiconfigurator==0.12.0",), "agg", ("tpot_ms", "ttft_ms"), "Apache-2.0"),
        Rival(
            "genz-llm", "0.0.16", ("numpy<2.3", "pandas", "tqdm", "matplotlib", "paretoset", "seaborn", "ipython"),
            "shaped", ("tpot_ms", "ttft_ms"), "MIT", ("genz-llm==0.0.16",),
        ),
        Rival(
            "chimeraforge", "0.76.0", ("chimeraforge==0.76.0",), "shaped", ("tpot_ms", "ttft_ms"), "MIT",
        ),
        Rival("llmfit", "1.1.17", (), "single", ("decode_tok_s",), "MIT", ("llmfit==1.1.17",)),
        Rival(
            "llm-analysis", "0.2.2", ("llm-analysis==0.2.2", "transformers<5"), "training", ("tokens_s_per_gpu",),
            "Apache-2.0",
        ),
        Rival("ftuneai", "0.4.1", ("ftuneai[cli]==0.4.1",), "memory", ("peak_mem_gib",), "MIT"),
    )
}  # fmt: skip


def cache_folder() -> Path:
    """Where environments and answers are kept."""
    stated = os.environ.get("CABIDA_BENCHMARKS")
    return Path(stated) if stated else Path.home() / ".cache" / "cabida-benchmarks"


def python_of(rival: Rival) -> Path:
    """The interpreter of a rival's environment, made when it is not there."""
    folder = cache_folder() / f"{rival.name}-{rival.version}"
    python = folder / "bin" / "python"
    if python.exists() and not (folder / "unfinished").exists():
        return python
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "unfinished").touch()
    venv.create(folder, with_pip=True)
    if rival.packages:
        subprocess.run([python, *QUIET_PIP, *rival.packages], check=True)
    if rival.without_dependencies:
        subprocess.run([python, *QUIET_PIP, "--no-deps", *rival.without_dependencies], check=True)
    (folder / "unfinished").unlink()
    return python


def ask(
    rival: Rival, questions: Iterable[dict[str, Any]], seconds_most: float = 1e9
) -> dict[str, dict[str, Any]]:
    """What the rival says of each question: ``figures``, or ``why`` it refused or crashed; by id.

    Answers already kept are not asked again; those that ``seconds_most`` leaves no time for are absent.
    """
    kept = cache_folder() / f"{rival.name}-{rival.version}.jsonl"
    known = {one["question"]: one for one in _lines(kept)}
    asker = ASKERS / f"ask_{rival.name.replace('-', '_')}.py"
    wanted = {_digest(one, rival): one for one in questions}
    missing = [(key, one) for key, one in wanted.items() if key not in known]
    if missing:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with kept.open("a", encoding="utf-8") as file:
            said_of = _asked(rival, asker, [one for _, one in missing], seconds_most)
            for said, (key, _) in zip(said_of, missing, strict=False):
                known[key] = said | {"question": key}
                file.write(json.dumps(known[key]) + "\n")
                file.flush()
    return {one["id"]: known[key] for key, one in wanted.items() if key in known}


def _asked(
    rival: Rival, asker: Path, questions: list[dict[str, Any]], seconds_most: float
) -> Iterator[dict[str, Any]]:
    """Answers in the order of the questions; a worker that dies takes one question with it and is started again."""
    import time

    ends, at = time.monotonic() + seconds_most, 0
    python = python_of(rival)
    while at < len(questions) and time.monotonic() < ends:
        with subprocess.Popen(
            [python, asker], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        ) as process:  # fmt: skip
            try:
                while at < len(questions) and time.monotonic() < ends:
                    said = _one(process, questions[at])
                    at += 1
                    if said is None:
                        yield {
                            "id": questions[at - 1]["id"],
                            "figures": {},
                            "why": ENDED,
                        }
                        break
                    yield said
            finally:
                process.kill()


def _one(process: subprocess.Popen[str], question: dict[str, Any]) -> dict[str, Any] | None:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(question) + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        return None
    line = process.stdout.readline()
    return dict(json.loads(line)) if line.strip() else None


def _digest(question: dict[str, Any], rival: Rival) -> str:
    """Of the question as it is put."""
    put = json.dumps(question, sort_keys=True) + f" {rival.name} {rival.version} {rival.way}"
    return hashlib.sha256(put.encode()).hexdigest()[:16]


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def main() -> None:
    """Make the environments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--install", nargs="*", choices=list(RIVALS), default=list(RIVALS), metavar="NAME")
    for name in parser.parse_args().install:
        print(name, python_of(RIVALS[name]), file=sys.stderr)


if __name__ == "__main__":
    main()
