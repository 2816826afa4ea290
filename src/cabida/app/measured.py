"""What was measured: read into the store, held against predictions, learned from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cabida.plan import Progress


def validate(
    files: Iterable[Path | str] = (),
    predictions: Path | str | None = None,
    progress: Progress | None = None,
    store: Path | str | None = None,
    *,
    calibrated: bool = False,
) -> dict[str, Any]:
    """Predictions scored against measured cases: those of files; without any, one's own observations.

    Args:
        files: JSONL files of cases.
        predictions: where to write each prediction.
        progress: told what is being done.
        store: file of the evidence store, scored too when it is named.
        calibrated: predict with one's own calibration (``calibrate``); else as shipped.
    """
    from cabida.truth import validate as score
    from cabida.truth.observed import validate_stored

    if (given := list(files)) and store is None:
        return score(given, predictions=predictions, progress=progress, calibrated=calibrated)
    return validate_stored(store, given, predictions, progress, calibrated=calibrated)


def calibrate(
    files: Iterable[Path | str] = (),
    *,
    store: Path | str | None = None,
    keep: bool = True,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Learn from one's own measured runs: those of case files; without any, those of the store.

    Args:
        files: JSONL files of cases.
        store: file of the evidence store, read too when it is named.
        keep: whether the calibration is written.
        progress: told what is being done.
    """
    from cabida.truth.calibrate import calibrate as learn

    return learn(list(files), store, keep=keep, progress=progress)


def calibration(*, undo: bool = False) -> dict[str, Any]:
    """What was learned so far, run by run; with ``undo`` after the last run has been taken back."""
    from cabida.truth import calibrate as learning

    return learning.undo() if undo else learning.listed()


def observe(
    files: Iterable[Path | str],
    *,
    store: Path | str | None = None,
    keep: bool = True,
    case: Path | str | None = None,
    **said: Any,
) -> dict[str, Any]:
    """Read engines' logs and other tools' tables into the evidence store; each figure beside its prediction.

    Args:
        files: logs, CSV, case files; ``-`` is standard input.
        store: file of the store; CABIDA_STORE or the user's data folder when left out.
        keep: whether the store keeps them.
        case: a case file that they are added to, each with its source; else none.
        said: what the logs leave open: ``model``, ``gpu``, ``gpus``, ``engine``, ``engine_version``, ``weights``,
            ``kv_cache``, ``note``, ``source``.

    Returns:
        ``store``, ``files`` (one answer each) and ``errors`` (of files that gave nothing); with ``case`` also
        ``case``: its ``file``, how many ``rows`` were added, their ``ids``.

    Raises:
        InvalidInput: the store can't be written, no file gave anything, or something of it can't be a case.
    """
    from cabida.report.observed import observe_files

    return observe_files([str(one) for one in files], store, keep=keep, said=said, case=case)


def observations(*, store: Path | str | None = None, all: bool = False) -> list[dict[str, Any]]:
    """One row for each observation of the store; with ``all`` also those that no longer count."""
    from cabida.evidence import stored
    from cabida.report.observed import listed

    return [listed(one) for one in stored(store, all=all)]
