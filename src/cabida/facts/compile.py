"""Hand-kept files and price series into one digest-stamped snapshot: ``python -m cabida.facts.compile``.

Every table becomes one compact JSON file under ``data/snapshot``; ``digest.json`` beside them holds the SHA-256
of each and of the whole, which a decision cites. ``--check`` says whether the snapshot is that of the files.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cabida.facts import api_package, load, series, store
from cabida.facts.media import Component, Pipeline
from cabida.facts.model import (
    Accelerator,
    ApiOffer,
    Collective,
    EnergyFact,
    Engine,
    Measurement,
    MigProfile,
    Node,
    Offer,
    WeightFormat,
)
from cabida.facts.stacks import Part, Release
from cabida.files import write_bytes

AS_SHIPPED = ("models.jsonl",)  # read by their own rooms, stamped with the rest


def _records(name: str, noun: type) -> Callable[[Path], Any]:
    return lambda data: store.encode(load.read_records(data / f"{name}.yaml", noun), noun)


def _measured(name: str, noun: type) -> Callable[[Path], Any]:
    return lambda data: store.encode(series.measured(data / f"{name}.jsonl", noun), noun)


def _texts(name: str) -> Callable[[Path], Any]:
    return lambda data: load.read_yaml(data / f"{name}.yaml")[0]


def _typed(name: str) -> Callable[[Path], Any]:
    def read(data: Path) -> Any:
        import yaml

        return yaml.safe_load((data / f"{name}.yaml").read_text(encoding="utf-8"))

    return read


TABLES: dict[str, Callable[[Path], Any]] = {
    "accelerators": _records("accelerators", Accelerator),
    "mig": _records("mig", MigProfile),
    "nodes": _records("nodes", Node),
    "engines": _records("engines", Engine),
    "formats": _records("formats", WeightFormat),
    "components": _records("components", Component),
    "pipelines": _records("pipelines", Pipeline),
    "names": _texts("names"),
    "shapes": _texts("shapes"),
    "classes": _texts("classes"),
    "software": _typed("software"),
    "releases": _records("releases", Release),
    "parts": _records("parts", Part),
    "collectives": _measured("collectives", Collective),
    "measurements": _measured("measurements", Measurement),
    "offers": lambda data: store.encode(series.offers(data), Offer),
    "offers_unmapped": lambda data: store.encode(series.offers(data, mapped=False), Offer),
    "offers_analyst": lambda data: store.encode(series.priced(data / "offers_analyst.csv"), Offer),
    "api_offers": lambda data: store.encode(series.api_offers(data), ApiOffer),
    "api_book": lambda _: api_package.table(series.GATHERED),
    "api_caching": lambda data: list(load.read_series(data / "api_caching.csv")),
    "energy": lambda data: store.encode(series.energy(data), EnergyFact),
    "exchange": series.exchange,
}


def compiled(data: Path = store.DATA) -> dict[str, bytes]:
    """All tables of the snapshot as the bytes of their files, ``digest`` among them.

    Raises:
        InvalidInput: every problem of the first file that has any.
    """
    series.priced.cache_clear()  # the files may have changed since
    files = {name: _compact(read(data)) for name, read in TABLES.items()}
    stamps = {name: hashlib.sha256(body).hexdigest() for name, body in files.items()}
    for name in AS_SHIPPED:
        if (data / name).exists():
            stamps[name] = hashlib.sha256((data / name).read_bytes()).hexdigest()
    whole = hashlib.sha256("".join(f"{name}={stamps[name]}\n" for name in sorted(stamps)).encode())
    files["digest"] = _compact({"digest": whole.hexdigest(), **stamps})
    return files


def _compact(table: Any) -> bytes:
    return json.dumps(table, ensure_ascii=False, separators=(",", ":")).encode()


def stale(data: Path = store.DATA) -> list[str]:
    """The tables whose snapshot is missing or isn't that of the files; empty when all is fresh."""
    return [
        name for name, body in compiled(data).items() if not _same(data / "snapshot" / f"{name}.json", body)
    ]


def _same(path: Path, body: bytes) -> bool:
    return path.exists() and path.read_bytes() == body


def write(data: Path = store.DATA) -> dict[str, bytes]:
    """Write the snapshot of the files of a folder beside them; returns its files by name.

    Raises:
        InvalidInput: what :func:`compiled` refuses, CB-R005 a file that can't be written.
    """
    files = compiled(data)
    for name, body in files.items():
        path = data / "snapshot" / f"{name}.json"
        if not _same(path, body):
            write_bytes(path, body)
    return files


def main(arguments: list[str]) -> int:
    """Write the snapshot, or with ``--check`` say what is stale (exit 1)."""
    if "--check" in arguments:
        old = stale()
        sys.stdout.write("".join(f"stale: {name}\n" for name in old))
        return 1 if old else 0
    for name, body in write().items():
        sys.stdout.write(f"{name}: {len(body):,} bytes\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
