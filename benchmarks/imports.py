"""How long each kind of price file takes to import: read, held against the book, kept in a new store.

    python benchmarks/imports.py [--json] [--rows 100000] [--formats skypilot,focus-csv]

The files are built here one by one from the documented formats, by seed; each is told as soon as it is done.
``wall_s`` is the whole import of one file through the use case behind ``cabida prices import``, the book's own facts
loaded before; ``cpu_s`` leaves out what other processes took; ``read_cpu_s`` is the reading alone.
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
from unittest.mock import patch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "evidence" / "prices"))

import exports  # noqa: E402 - beside the tests that read them

from cabida import app, facts  # noqa: E402
from cabida.evidence.prices import reading  # noqa: E402

MOST_S = 5.0


def timed(path: Path, store: Path) -> dict[str, Any]:
    """One file imported into a new store."""
    read_cpu_s = 0.0
    read = reading.read

    def watched(*args: Any, **named: Any) -> Any:
        nonlocal read_cpu_s
        began = time.process_time()
        found = read(*args, **named)
        read_cpu_s = time.process_time() - began
        return found

    wall, cpu = time.perf_counter(), time.process_time()
    with patch.object(reading, "read", watched):
        answer = app.import_prices([path], currency="USD", as_of="2026-11-20", store=store)
    wall_s, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
    assert not answer["errors"], answer["errors"]
    (told,) = answer["files"]
    kept = told["offers_count"] + told["api_offers_count"] + told["billing_count"]
    return {
        "rows": told["rows_count"], "kept": kept, "unread": told["unread_count"], "new": told.get("new_count", 0),
        "wall_s": wall_s, "cpu_s": cpu_s, "read_cpu_s": read_cpu_s,
    }  # fmt: skip


def main() -> None:
    """Build, import, print."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--json", action="store_true")
    asked.add_argument("--rows", type=int, default=100_000)
    asked.add_argument("--formats", default="")
    said = asked.parse_args()
    wanted = said.formats.split(",") if said.formats else list(exports.FILES)
    if unknown := set(wanted) - set(exports.FILES):
        asked.error(f"{', '.join(sorted(unknown))}: the formats are {', '.join(exports.FILES)}")
    facts.accelerators(), facts.offers(), facts.models()
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        timed(exports.one(folder / "warm", "skypilot", 50), folder / "warm.db")  # what is loaded once
        if not said.json:
            print(
                f"{'format':16} {'rows':>8} {'kept':>8} {'wall s':>7} {'cpu s':>7} {'of it reading':>14}",
                flush=True,
            )
        for form in wanted:
            path, store = exports.one(folder / form, form, said.rows), folder / f"{form}.db"
            one = found[form] = timed(path, store)
            path.unlink(), store.unlink(missing_ok=True)
            late = "  over 5 s" if one["cpu_s"] > MOST_S else ""
            if not said.json:
                print(
                    f"{form:16} {one['rows']:8,} {one['kept']:8,} {one['wall_s']:7.2f} {one['cpu_s']:7.2f}"
                    f" {one['read_cpu_s']:14.2f}{late}",
                    flush=True,
                )
    if said.json:
        machine = f"{platform.machine()}, Python {platform.python_version()}"
        print(json.dumps({"rows": said.rows, "machine": machine, "formats": found}, indent=1))


if __name__ == "__main__":
    main()
