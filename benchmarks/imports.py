"""How long each kind of price file takes to import: read, held against the book, kept in a new store.

    python benchmarks/imports.py [--json] [--rows 100000] [--formats skypilot,focus-csv]

The files are built here from the documented formats, by seed. ``wall_s`` is the whole import of one file through the
use case behind ``cabida prices import``, the book's own facts loaded before; ``cpu_s`` leaves out what other processes
took; ``read_cpu_s`` is the reading alone.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "evidence" / "prices"))

import exports  # noqa: E402 - beside the tests that read them

from cabida import app, facts  # noqa: E402
from cabida.evidence.prices import read  # noqa: E402

MOST_S = 5.0


def timed(path: Path, folder: Path) -> dict[str, Any]:
    """One file read, and then imported into a store of its own."""
    cpu = time.process_time()
    found = read(path, currency="USD", as_of="2026-11-20")
    read_cpu_s = time.process_time() - cpu
    kept = {"rows": found.rows_count, "kept": found.kept_count, "unread": len(found.unread)}
    del found
    store = folder / f"{path.name}.db"
    wall, cpu = time.perf_counter(), time.process_time()
    answer = app.import_prices([path], currency="USD", as_of="2026-11-20", store=store)
    wall_s, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
    new = sum(one.get("new_count", 0) for one in answer["files"])
    assert not answer["errors"], answer["errors"]
    return {**kept, "new": new, "wall_s": wall_s, "cpu_s": cpu_s, "read_cpu_s": read_cpu_s}


def main() -> None:
    """Build, import, print."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--json", action="store_true")
    asked.add_argument("--rows", type=int, default=100_000)
    asked.add_argument("--formats", default="")
    said = asked.parse_args()
    facts.accelerators(), facts.offers(), facts.models()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = exports.every(folder / "files", said.rows)
        wanted = said.formats.split(",") if said.formats else list(files)
        timed(exports.every(folder / "warm", 50)["skypilot"], folder / "warm")  # what is imported once
        found = {name: timed(files[name], folder) for name in wanted}
    if said.json:
        machine = f"{platform.machine()}, Python {platform.python_version()}"
        print(json.dumps({"rows": said.rows, "machine": machine, "formats": found}, indent=1))
        return
    print(f"{'format':16} {'rows':>8} {'kept':>8} {'wall s':>7} {'cpu s':>7} {'of it reading':>14}")
    for name, one in found.items():
        late = "  over 5 s" if one["cpu_s"] > MOST_S else ""
        print(
            f"{name:16} {one['rows']:8,} {one['kept']:8,} {one['wall_s']:7.2f} {one['cpu_s']:7.2f}"
            f" {one['read_cpu_s']:14.2f}{late}"
        )


if __name__ == "__main__":
    main()
