"""``nvidia-smi``: CSV of ``--query-gpu`` and ``--query-compute-apps``, once or in a loop, and its plain table.

The driver counts everything a process holds: what its tensors take, what its allocator keeps, and the context.
Columns are known by the header; without one (``noheader``) figures have no names and nothing is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from cabida.evidence.importers.run import Run
from cabida.evidence.lines import Numbered

SIGNS = ("memory.used [MiB]", "used_gpu_memory [MiB]", "used_memory [MiB]", "| NVIDIA-SMI ")
WORDS = ()
MIB = 1024.0
USED = ("memory.used [MiB]", "used_gpu_memory [MiB]", "used_memory [MiB]")
CARD = ("uuid", "gpu_uuid", "index", "pci.bus_id", "gpu_bus_id", "gpu_serial", "serial")
MOST_CARDS = 4096
MOST_MIB = 2.0**24  # no card holds more
NAMED = re.compile(r"^\|\s{0,9}(\d{1,4})\s{1,9}(\S.{0,90}?)\s{1,40}(?:On|Off|N/A|WDDM|TCC|MCDM)\s*\|")
HELD = re.compile(r"\|\s*(\d{1,9})MiB\s*/\s*(\d{1,9})MiB\s*\|")


def read(lines: Iterable[Numbered]) -> list[Run]:
    """One run: the peak of each card over the loop."""
    run = Run("")
    header: list[str] = []
    for line in lines:
        cells = [cell.strip() for cell in line[1].split(",")]
        if any(cell in USED for cell in cells):
            header = cells
        elif _table(run, line[1]):
            continue
        elif not header or not _row(run, dict(zip(header, cells, strict=False)), len(cells) == len(header)):
            run.keep(line)
    _finish(run)
    return [run]


def _table(run: Run, text: str) -> bool:
    """A card takes two lines of the plain table: its number and name, then what of it is held."""
    if not text.startswith("|"):
        return False
    if named := NAMED.match(text):
        run.state["card"] = named[1]
        run.state.setdefault("names", set()).add(named[2])
    elif (held := HELD.search(text)) and "card" in run.state:
        seen = run.state.setdefault("seen", {})
        key = (run.state.pop("card"), "")
        seen[key] = max(float(held[1]) / MIB, seen.get(key, 0.0))
        run.flag("driver_total_gib", round(float(held[2]) / MIB, 4))
    else:
        return False
    return True


def _row(run: Run, row: dict[str, str], whole: bool) -> bool:
    used = next((_mib(row[name]) for name in USED if name in row), None)
    total = _mib(row.get("memory.total [MiB]", ""))
    if not whole or used is None or used > (total or MOST_MIB):
        return False
    card = next((row[name] for name in CARD if name in row), row.get("name", row.get("gpu_name", "")))
    stamp, pid = row.get("timestamp", ""), row.get("pid", "")
    seen = run.state.setdefault("seen", {})
    if len(seen) >= MOST_CARDS and (card, pid) not in seen:
        return False
    if (
        not any(name in row for name in CARD) and not pid
    ):  # several cards of one name: told apart by their order
        turn = run.state["turn"] = (
            run.state.get("turn", -1) + 1 if stamp and stamp == run.state.get("stamp") else 0
        )
        run.state["stamp"] = stamp
        card = f"{card}/{turn}"
    seen[card, pid] = max(used / MIB, seen.get((card, pid), 0.0))
    if total:
        run.flag("driver_total_gib", round(total / MIB, 4))
    if "pid" not in row and (name := row.get("name", row.get("gpu_name", ""))):
        run.state.setdefault("names", set()).add(name)
    if (found := re.match(r"(\d{4})[/-](\d\d)[/-](\d\d)", stamp)) and not run.date:
        run.date = "-".join(found.groups())
    return True


def _mib(text: str) -> float | None:
    found = re.fullmatch(r"(\d{1,12}(?:\.\d+)?)(?: MiB)?", text)
    return float(found[1]) if found else None


def _finish(run: Run) -> None:
    seen: dict[tuple[str, str], float] = run.state.get("seen", {})
    if not seen:
        return
    by_card: dict[str, float] = {}
    for (card, _), used in seen.items():
        by_card[card] = by_card.get(card, 0.0) + used
    busy = {card: used for card, used in by_card.items() if used > 0}
    run.setup["gpus"] = max(1, len(busy))
    run.measured["peak_gib_per_gpu"] = round(max(by_card.values()), 4)
    if len(busy) > 1:
        run.measured["peak_gib_total"] = round(sum(busy.values()), 4)
    names = run.state.get("names", set())
    if len(names) == 1:
        run.say("gpu_raw", next(iter(names)))
    if any(pid for _, pid in seen):
        run.note("processes", count=len({pid for _, pid in seen}))
    run.unit = "MiB (nvidia-smi: context and cache included)"
