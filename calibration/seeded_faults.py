"""Seed faults in a room of ``src/cabida``, one at a time in a copy of the tree, and count which the tests notice.

``python calibration/seeded_faults.py memory|timing [COUNT] [SEED] [FILE.py ...]`` copies the tree to a temporary
folder, draws faults of the kinds that people make (a product for a quotient, a term dropped, one off, twice as much,
least for most, the other's key, arguments the other way round, GB for GiB), puts each into the copy, runs the room's
tests there and prints what no test noticed. Nothing here is changed.
"""

from __future__ import annotations

import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_OUT = (".git", ".venv", "__pycache__", ".pytest_cache", ".hypothesis")
TESTS = {
    "memory": ("tests/memory", "tests/truth", "--ignore=tests/truth/test_accuracy.py"),
    "timing": ("tests/timing",),
}
HOW = ("-x", "-q", "-p", "no:cacheprovider")
OTHER_NAMES = {  # what is mistaken for what
    "tp": "pp", "pp": "tp", "kv_heads_count": "heads_count", "key_dim_count": "value_dim_count",
    "hidden_dim_count": "vocab_count", "GIB": "BYTES_PER_GB", "max_num_seqs": "max_model_len", "low": "high",
    "high": "low", "weights_bytes": "kv_cache_bytes", "body_bits": "head_bits",
    "input_tokens": "output_tokens", "output_tokens": "input_tokens", "heads_count": "kv_heads_count",
    "micro_batch_count": "global_batch_count", "layers_count": "hidden_dim_count",
}  # fmt: skip
OTHER_CALLS = {
    "min": "max",
    "max": "min",
    "least": "most",
    "most": "least",
    "ceil": "floor",
    "any": "all",
    "all": "any",
}
OTHER_SIGNS = {ast.Mult: "/", ast.Div: "*", ast.Add: "-", ast.Sub: "+", ast.FloorDiv: "*"}
TURNED = {
    ast.Lt: ">=",
    ast.LtE: "<",
    ast.Gt: "<=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One slip: what stands at ``start`` to ``end`` (character offsets) of a file, and what to put there."""

    file: str
    line: int
    kind: str
    start: int
    end: int
    text: str


def faults_of(path: Path) -> Iterator[Fault]:
    """Every slip of the known kinds that a file allows, texts and annotations aside."""
    source = path.read_text(encoding="utf-8")
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))

    def piece(node: ast.expr) -> str:
        return ast.get_source_segment(source, node) or ""

    def fault(node: ast.expr, kind: str, text: str) -> Fault:
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)
        return Fault(str(path), node.lineno, kind, start, end, text)

    for function in (one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.FunctionDef)):
        for part in (one for statement in function.body for one in ast.walk(statement)):
            if isinstance(part, ast.BinOp) and type(part.op) in OTHER_SIGNS:
                left, right = piece(part.left), piece(part.right)
                yield fault(part, "other sign", f"({left}) {OTHER_SIGNS[type(part.op)]} ({right})")
                yield fault(part, "term dropped", f"({left})")
                if isinstance(part.op, ast.Mult):
                    yield fault(part, "twice as much", f"(2 * {left} * {right})")
            elif isinstance(part, ast.Compare) and len(part.ops) == 1 and type(part.ops[0]) in TURNED:
                other = f"{TURNED[type(part.ops[0])]} ({piece(part.comparators[0])})"
                yield fault(part, "turned round", f"({piece(part.left)}) {other}")
            elif isinstance(part, ast.Call) and isinstance(part.func, ast.Name):
                name, given = part.func.id, [piece(one) for one in part.args]
                if name in OTHER_CALLS:
                    yield fault(part.func, "least for most", OTHER_CALLS[name])
                if len(given) > 1 and all(isinstance(one, ast.Name) for one in part.args[:2]):
                    yield fault(
                        part, "other way round", f"{name}({', '.join([given[1], given[0], *given[2:]])})"
                    )
                if name == "total" and len(given) > 1 and not part.keywords:
                    yield fault(part, "part forgotten", f"total({', '.join(given[:-1])})")
            elif isinstance(part, ast.Constant) and type(part.value) in (int, float):
                yield fault(part, "one off", f"({part.value} + 1)")
            elif isinstance(part, ast.Attribute) and part.attr in OTHER_NAMES:
                yield fault(part, "wrong key", f"{piece(part.value)}.{OTHER_NAMES[part.attr]}")
            elif isinstance(part, ast.IfExp):
                yield fault(part, "branch forgotten", f"({piece(part.orelse)})")


def drawn(folder: Path, count: int, seed: int, files: list[str]) -> list[Fault]:
    """So many faults of these files (all without any), kinds and files by turns."""
    groups: dict[tuple[str, str], list[Fault]] = {}
    for path in sorted(one for one in folder.rglob("*.py") if not files or one.name in files):
        for one in faults_of(path):
            groups.setdefault((one.kind, one.file), []).append(one)
    dice = random.Random(seed)
    kinds = sorted({kind for kind, _ in groups})
    found: list[Fault] = []
    while len(found) < count:
        kind = kinds[len(found) % len(kinds)]
        file = dice.choice(sorted(name for one, name in groups if one == kind))
        one = dice.choice(groups[kind, file])
        if one not in found:
            found.append(one)
    return found


def noticed(folder: Path, fault: Fault, tests: tuple[str, ...]) -> bool:
    """Whether the tests of the copy fail with the fault in it."""
    path = Path(fault.file)
    before = path.read_bytes()
    path.write_bytes(before[: fault.start] + fault.text.encode() + before[fault.end :])
    try:
        told = subprocess.run(
            [sys.executable, "-m", "pytest", *tests, *HOW],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            timeout=300,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_bytes(before)
    return told.returncode != 0


def main() -> None:
    """Draw, seed, count."""
    room, count, seed, *files = (*sys.argv[1:], *("memory", "60", "1")[len(sys.argv) - 1 :])
    with tempfile.TemporaryDirectory() as name:
        folder, tests = Path(name) / "tree", TESTS[room]
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
        source = folder / "src/cabida" / room
        if noticed(folder, Fault(str(source / "__init__.py"), 0, "none", 0, 0, ""), tests):
            sys.exit("the tests fail without any fault")
        missed = 0
        for one in drawn(source, int(count), int(seed), files):
            seen = noticed(folder, one, tests)
            missed += not seen
            was = Path(one.file).read_bytes()[one.start : one.end].decode()
            where = f"{Path(one.file).name}:{one.line} {one.kind}"
            print(f"{'noticed' if seen else 'MISSED '} {where}: {was!r} -> {one.text!r}", flush=True)
        print(f"{int(count) - missed} of {count} noticed")


if __name__ == "__main__":
    main()
