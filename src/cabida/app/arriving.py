"""What people already have - logs, exports, metrics - as the traffic of a brief."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta, tzinfo
from math import inf
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from cabida.app.metering import readings
from cabida.errors import InvalidInput
from cabida.plan import Progress
from cabida.text import closest, percent, printable, problem, tr

if TYPE_CHECKING:
    from cabida.evidence.pages import Page
    from cabida.evidence.traffic.columns import Columns
    from cabida.evidence.traffic.reading import Read

MODELS_SHOWN = 20
PRIVATE, SHARED = 0o600, 0o666  # less what the user's mask takes


def traffic(
    sources: Sequence[Path | str],
    *,
    brief: Path | str | None = None,
    write: bool = False,
    format: str = "",
    from_: str = "",
    until: str = "",
    models: Sequence[str] = (),
    paths: Sequence[str] = (),
    timezone: str = "",
    log_timezone: str = "UTC",
    silent: bool = False,
    for_s: float | None = None,
    trace: Path | str | None = None,
    keep_prompts: Path | str | None = None,
    sleep: Callable[[float], None] = time.sleep,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Rates by hour, burstiness, lengths, prefix sharing, failures and retries of what a log holds.

    Args:
        sources: logs and exports (plain or gzip, "-" is standard input), saved metrics pages, answers of a range query
            of Prometheus, or addresses of either.
        brief: file of a brief whose timezone counts, and that is written to with ``write``.
        write: put what was found into the brief, its comments kept.
        format: of the files; "" = found out.
        from_: ISO day or moment that it begins with.
        until: ISO day, of which all is in, or moment.
        models: only requests of these, together; without, each model by itself.
        paths: beginnings of the paths that count in access logs; without, those that ask a model for something.
        timezone: whose hours the profile has; "" = that of the brief's profile, else UTC.
        log_timezone: of stamps that name none.
        silent: long silences are silence; else they may be holes in the log.
        for_s: how long to read metrics of an address; without, once.
        trace: CSV to write: arrival_s,input_tokens,output_tokens.
        keep_prompts: JSONL to write the prompts to, as a benchmark asks them again; without, none is kept anywhere.
        sleep: waits between readings.
        progress: told how much has been read.

    Returns:
        ``files``, ``traffic`` (one for each model, with its ``yaml``), ``notes``, and what was written.

    Raises:
        InvalidInput: CB-I001 to CB-I020, or the brief's own.
        EndpointFailed: CB-I021, a page can't be had.
    """
    from cabida.evidence.traffic.times import zone

    given = [str(one) for one in sources]
    text = _brief_text(brief)
    name = timezone or _brief_zone(text, brief) or "UTC"
    hours = zone(name)
    if write and brief is None:
        raise InvalidInput([problem("CB-I018")])
    metrics = readings(given, format, for_s, sleep, progress)
    if metrics is not None:
        if trace is not None or keep_prompts is not None:
            raise InvalidInput(
                [problem("CB-I016", option="--trace" if trace is not None else "--keep-prompts")]
            )
        answer = _of_metrics(*metrics, models, hours)
    else:
        window = _window(from_, hours, 0), _window(until, hours, 1)
        answer = _of_logs(given, window, models, hours, zone(log_timezone), silent=silent, format=format,
                          paths=paths, trace=trace, keep_prompts=keep_prompts, progress=progress)  # fmt: skip
    answer["timezone"] = name
    _told(answer, name)
    if write and brief is not None:
        answer["written"] = _written(Path(brief), text, answer)
    return answer


def _brief_text(brief: Path | str | None) -> str:
    from cabida.brief.lines import read_text

    return "" if brief is None else read_text(Path(brief), str(brief))


def _brief_zone(text: str, brief: Path | str | None) -> str:
    from cabida.brief import parse_brief

    return parse_brief(text, file=str(brief)).traffic.timezone if text else ""


def _window(said: str, zone: tzinfo, days: int) -> float:
    """A moment; of a day its beginning or its end."""
    if not said:
        return inf if days else -inf
    try:
        if len(said) == len("2026-11-30"):
            day = date.fromisoformat(said) + timedelta(days=days)
            return datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()
        found = datetime.fromisoformat(said)
        return (found if found.tzinfo else found.replace(tzinfo=zone)).timestamp()
    except (ValueError, OverflowError):
        raise InvalidInput([problem("CB-I009", text=printable(said)[:60])]) from None


def _of_metrics(
    files: list[dict[str, Any]], readings: list[tuple[float, Page]], models: Sequence[str], zone: tzinfo
) -> dict[str, Any]:
    from cabida.evidence.traffic import summary
    from cabida.evidence.traffic.scraped import metered

    there = sorted({one for _, page in readings for one in page.models})
    _known(models, there)
    if len(models) > 1:
        raise InvalidInput([problem("CB-I019", models=", ".join(models))])
    found = []
    for name in models or there or [""]:
        one = metered(readings, name)
        found.append({"model": name, **summary.of_metrics(one, zone)})
    return {"files": files, "traffic": found, "notes": []}


def _known(models: Sequence[str], there: Sequence[str]) -> None:
    """Refuse a model that nobody asked for."""
    lacking = [one for one in models if one not in there]
    if lacking:
        near = closest(lacking[0], there) or ", ".join(list(there)[:10]) or "?"
        raise InvalidInput([problem("CB-I020", model=printable(lacking[0])[:120], near=near)])


def _of_logs(
    sources: Sequence[str],
    window: tuple[float, float],
    models: Sequence[str],
    hours: tzinfo,
    log_zone: tzinfo,
    *,
    silent: bool,
    format: str,
    paths: Sequence[str],
    trace: Path | str | None,
    keep_prompts: Path | str | None,
    progress: Progress | None,
) -> dict[str, Any]:
    from cabida.evidence.traffic.columns import Requests
    from cabida.evidence.traffic.reading import Wish, read_logs
    from cabida.files import refuse_same

    for out in (trace, keep_prompts):
        if out is not None:
            refuse_same(out, [one for one in sources if one != "-"])
    with _beside(keep_prompts, PRIVATE) as kept:
        wish = Wish(format, tuple(paths), log_zone, kept, tuple(models), progress)
        read = read_logs(sources, Requests(*window), wish)
        if not len(read.requests):
            raise InvalidInput([_nothing(read)])
        if keep_prompts is not None and not read.kept_count:
            raise InvalidInput([problem("CB-I024", file=str(keep_prompts))])
    columns = read.requests.columns()
    names = list(read.requests.models)
    _known(models, names)
    answer: dict[str, Any] = {
        "files": [_source(one) for one in read.sources],
        "traffic": [],
        "notes": _notes(read),
    }
    named = [one for one in names if one]
    if models:
        groups = [(" + ".join(models), list(models))]
    elif len(named) == 1:  # what failed before its model was read is of the only one there is
        groups = [(named[0], names)]
    else:
        groups = [(one, [one]) for one in names]
    sized = sorted(((_of(columns, [names.index(one) for one in group]), name, group) for name, group in groups),
                   key=lambda one: -len(one[0]))  # fmt: skip
    for chosen, name, group in sized[:MODELS_SHOWN]:
        from cabida.evidence.traffic import summary

        told = summary.of_requests(chosen, read.prefixes.there(group), hours, silent=silent)
        answer["traffic"].append({"model": name, **told})
    if len(sized) > MODELS_SHOWN:
        answer["notes"].append(tr("traffic.note.models", count=len(sized) - MODELS_SHOWN))
    if trace is not None:
        if len(sized) > 1:
            raise InvalidInput([problem("CB-I019", models=", ".join(name for _, name, _ in sized[:10]))])
        answer["trace"] = _trace(Path(trace), sized[0][0])
    if keep_prompts is not None:
        answer["prompts"] = {
            "file": str(keep_prompts),
            "count": read.kept_count,
            "left": read.kept_left_count,
        }
    return answer


def _of(columns: Columns, numbers: Sequence[int]) -> Columns:
    import numpy as np

    return columns.where(np.isin(columns.by_name["model"], numbers))


def _nothing(read: Read) -> Any:
    """Why there is no request: outside the time, on other paths, or none at all."""
    if read.requests.outside_count:
        return problem("CB-I022", count=f"{read.requests.outside_count:,}")
    others = [path for one in read.sources for path in one.others]
    if others:
        return problem("CB-I023", paths=", ".join(others[:5]), first=others[0])
    return problem("CB-I007", file=", ".join(one.file for one in read.sources)[:200])


def _source(one: Any) -> dict[str, Any]:
    return {
        "file": one.file,
        "format": one.format,
        "lines_count": one.lines_count,
        "malformed_count": one.malformed_count,
        "faults": [{"line": line, "why": tr(f"traffic.fault.{why}")} for line, why in one.faults],
        "requests_count": one.requests_count,
        "others_count": one.others_count,
        "others": one.others,
        "gateway_cached_count": one.gateway_cached_count,
    }


def _notes(read: Read) -> list[str]:
    notes = []
    for one in read.sources:
        if one.malformed_count:
            line, why = one.faults[0]
            notes.append(tr("traffic.note.malformed", file=one.file, count=one.malformed_count, line=line,
                            why=tr(f"traffic.fault.{why}")))  # fmt: skip
        if one.others_count:
            notes.append(tr("traffic.note.others", file=one.file, count=one.others_count,
                            paths=", ".join(one.others)))  # fmt: skip
        if one.gateway_cached_count:
            notes.append(tr("traffic.note.cached", file=one.file, count=one.gateway_cached_count))
        if one.naive_count:
            notes.append(tr("traffic.note.no_zone", file=one.file))
        if one.hit_ratio is not None:
            notes.append(tr("traffic.note.hits", file=one.file, ratio=percent(one.hit_ratio)))
    if read.requests.outside_count:
        notes.append(tr("traffic.note.outside", count=read.requests.outside_count))
    return notes


@contextmanager
def _beside(path: Path | str | None, mode: int) -> Iterator[IO[bytes] | None]:
    """A file that takes its place when all went well."""
    if path is None:
        yield None
        return
    target = Path(path)
    new = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
            new.replace(target)
        finally:
            new.unlink(missing_ok=True)
    except OSError as error:
        raise InvalidInput([problem("CB-R005", file=str(target), line=0, why=error.strerror or "")]) from None


def _trace(path: Path, columns: Columns) -> dict[str, Any]:
    from cabida.evidence.traffic.summary import trace_rows

    count = 0
    with _beside(path, SHARED) as file:
        if file is None:
            raise AssertionError
        file.write(b"arrival_s,input_tokens,output_tokens\n")
        for at, asked, answered in trace_rows(columns):
            file.write(b"%.6f,%d,%d\n" % (at, asked, answered))
            count += 1
        if count < 2:
            raise InvalidInput([problem("CB-I025", file=str(path))])
    return {"file": str(path), "count": count}


def _told(answer: dict[str, Any], zone: str) -> None:
    """The YAML of each model, and what it lacks."""
    from cabida.evidence.traffic import block, summary
    from cabida.evidence.traffic.said import comments

    for one in answer["traffic"]:
        said = block.values(one)
        one["unknown"] = list(summary.unknown(one))
        one["yaml"] = block.block(said, comments(one, zone))


def _written(path: Path, text: str, answer: dict[str, Any]) -> str | None:
    from cabida.evidence.traffic import block, said
    from cabida.files import write_text

    if len(answer["traffic"]) > 1:
        names = ", ".join(one["model"] or "?" for one in answer["traffic"][:10])
        raise InvalidInput([problem("CB-I019", models=names)])
    found = answer["traffic"][0]
    comments = {"requests_per_s": said.whole(found, answer["timezone"]), "profile": answer["timezone"]}
    changed = block.placed(text, block.values(found), str(path), comments)
    if changed is None:
        answer["notes"].append(tr("traffic.note.paste", file=str(path)))
        return None
    write_text(path, changed)
    return str(path)
