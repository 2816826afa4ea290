"""A benchmark's figures in the layouts of other tools."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cabida.bench.keep import Kept, Summary
    from cabida.evidence.exports import Measured


def bench_export(
    folder: Path | str, form: str = "csv", out: Path | str | None = None, *, force: bool = False
) -> list[Path]:
    """Write the figures of a benchmark's folder as another tool would have; the files written.

    Args:
        folder: of the benchmark, with its journal.
        form: one of ``cabida.evidence.exports.FORMS``.
        out: the file, where the layout is one file; else, and where it is left out, the folder they go to
            (``export-FORM`` in the benchmark's).
        force: write over what is there.

    Raises:
        InvalidInput: CB-J006, CB-J007 it is no benchmark's folder; CB-E203 no run of it has a figure; CB-R005 a file
            can't be written; CB-U006 there is one of that name; CB-R014 it would write over the journal.
    """
    from cabida.bench.keep import read_journal
    from cabida.errors import InvalidInput
    from cabida.evidence.exports import exported
    from cabida.files import refuse_same, write_text
    from cabida.text import problem

    kept = read_journal(folder)
    runs = measured_runs(kept)
    texts = exported(form, runs)
    if not runs or not any(texts.values()):
        raise InvalidInput([problem("CB-E203", file=str(folder))])
    place = Path(out) if out is not None else kept.folder / f"export-{form}"
    alone = len(texts) == 1 and out is not None and not place.is_dir()
    paths = {place if alone else place / name: text for name, text in texts.items()}
    for path in paths:
        refuse_same(path, [kept.folder / "journal.jsonl"])
    there = [problem("CB-U006", file=str(path)) for path in paths if path.exists() and not force]
    if there and out is not None:  # a file that a person named may be anybody's
        raise InvalidInput(there)
    for path, text in paths.items():
        write_text(path, text)
    return list(paths)


def measured_runs(kept: Kept) -> list[Measured]:
    """Every run of a journal that has a figure, as what is exported."""
    from cabida.bench.keep import summaries
    from cabida.evidence.exports import measured_of

    found = []
    for one in summaries(kept):
        contender = kept.contender(one.run.partition("/")[0])
        setup, target = _table(contender, "setup"), _table(contender, "target")
        made = measured_of(
            one.plain(),
            model=str(setup.get("model") or target.get("model") or ""),
            engine=str(setup.get("engine") or ""),
            started_s=_started_s(kept, one),
            case=_case(kept, one, contender),
            url=str(target.get("url") or ""),
        )
        told = any(value > 0 for name, value in made.figures.items() if name != "error_ratio")
        found += [made] if told or made.case else []
    return found


def _table(of: dict[str, Any], key: str) -> dict[str, Any]:
    found = of.get(key)
    return found if isinstance(found, dict) else {}


def _started_s(kept: Kept, one: Summary) -> float | None:
    """Unix time at which the window of a run begins."""
    try:
        return datetime.fromisoformat(str(kept.openings[0].get("wall"))).timestamp() + one.from_s
    except ValueError:
        return None


def _case(kept: Kept, one: Summary, contender: dict[str, Any]) -> dict[str, Any]:
    """The run as a row of a case file; {} where it makes none, or had better teach nothing."""
    from cabida.bench.keep.observed import offered
    from cabida.bench.run.plain import made
    from cabida.plan.bench import Contender

    if not contender:
        return {}
    day = str(kept.openings[0].get("wall", ""))[:10]
    told = offered(one, made(Contender, contender), source=f"cabida-bench:{kept.folder.name}", date=day)
    return {} if told.observation is None or told.refused else told.observation.case()
