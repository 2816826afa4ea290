"""``init``, ``check``, ``recommend``: from a workload to a decision."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from cabida.errors import InvalidInput, UsageProblem
from cabida.faces.output import console, emit, watched
from cabida.faces.words import Command, option, shared
from cabida.text import locale, problem, tr

WORKLOADS = (
    "realtime-inference",
    "batch-inference",
    "adapter-finetune",
    "full-finetune",
    "pretraining",
    "retrieval",
    "media-generation",
    "evaluation",
)


@click.command(cls=Command)
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@option("--workload", type=click.Choice(WORKLOADS))
@option("--from", "from_example", metavar="EXAMPLE")
@option("--force", is_flag=True)
@shared
def init(
    file: Path | None,
    workload: str | None,
    from_example: str | None,
    force: bool,
    as_json: bool,
    as_of: str | None,
) -> None:
    """Write a commented brief; asks its questions on a terminal."""
    from cabida import app

    answers: dict[str, str] = {}
    if not from_example and workload is None and _watched():
        workload, answers = _interview()
    written = app.init(
        workload or WORKLOADS[0], language=locale(), from_example=from_example or "", **answers
    )
    if file is None:
        emit({"brief": written}, lambda: "", as_json=True) if as_json else click.echo(written, nl=False)
        return
    if file.exists() and not force:
        raise InvalidInput([problem("CB-U006", file=str(file))])
    from cabida.brief.schema import as_text
    from cabida.files import write_text

    schema = file.with_name("brief.schema.json")  # for editors; the brief's first line names it
    write_text(file, written)
    write_text(schema, as_text())
    if as_json:
        emit({"file": str(file)}, lambda: "", as_json=True)
    else:
        click.echo(tr("faces.written", file=f"{file}, {schema}"), err=True)


def _watched() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _interview() -> tuple[str, dict[str, str]]:
    """Ask on the terminal; an empty answer leaves ``unknown`` or the default in the brief."""
    from cabida.brief import questions

    click.echo(tr("faces.interview"), err=True)
    workload = click.prompt(
        tr("faces.which_workload"), type=click.Choice(WORKLOADS), default=WORKLOADS[0], err=True
    )
    answers = {"name": click.prompt(tr("faces.which_name"), default="my-workload", err=True)}
    for question in questions(workload):
        click.echo(f"\n{question.text}  ({tr('faces.such_as', example=question.example)})", err=True)
        answer = click.prompt(question.path, default=question.default, err=True)
        if answer != question.default:
            answers[question.path] = answer
    return workload, answers


@click.command(cls=Command)
@click.argument("brief", required=False, type=click.Path(path_type=Path))
@option("--assume", is_flag=True)
@option("--software", metavar="STACK")
@option("--pc", metavar="PARTS")
@option("--rack", metavar="RACK")
@option("--pitfalls", is_flag=True)
@shared
def check(
    brief: Path | None,
    assume: bool,
    software: str | None,
    pc: str | None,
    rack: str | None,
    pitfalls: bool,
    as_json: bool,
    as_of: str | None,
) -> int:
    """Completeness, contradictions and pitfalls of a brief; what of a stack, a PC or a rack does not go together."""
    given = {
        "BRIEF": brief, "--software": software, "--pc": pc, "--rack": rack, "--pitfalls": pitfalls or None,
    }  # fmt: skip
    asked = [name for name, value in given.items() if value is not None]
    if len(asked) != 1:
        code, names = ("CB-U009", asked) if asked else ("CB-U003", list(given)[:1])
        raise UsageProblem([problem(code, name=names[0], names=", ".join(names))])
    if pitfalls:
        return _listed(as_json=as_json)
    if brief is None:
        return _goes_together(software, pc, rack, as_of or "", as_json=as_json)
    from cabida import app
    from cabida.brief import Missing, classify
    from cabida.errors import Problem
    from cabida.plan import Caution

    found = app.check(brief, assume=assume, as_of=as_of or "")
    kind = classify(app.load_brief(brief, as_of=as_of or ""))
    claims = [one for one in found if isinstance(one, Problem)]
    traps = [one for one in found if isinstance(one, Caution)]
    open_ = [one for one in found if isinstance(one, Missing)]

    def screen() -> Any:
        from rich.console import Group

        from cabida.faces.tables import cautions, missing

        told = tr("faces.check.assumed", count=len(open_)) if open_ else tr("faces.check.complete")
        lead = f"{tr(f'brief.workload.{kind.name}')}. {kind.why}"
        return Group(lead, told, missing(open_), *(str(one) for one in claims), cautions(traps))

    plain = [
        {name: getattr(one, name) for name in ("path", "why", "how_to_find_out", "default")} for one in open_
    ]
    answer = {"workload": kind.name, "why": kind.why, "missing": plain}
    answer |= {"claims": [one.as_dict() for one in claims], "pitfalls": [asdict(one) for one in traps]}
    emit(answer, screen, as_json=as_json)
    return 6 if any(one.severity == "blocking" for one in traps) else 0


def _listed(*, as_json: bool) -> int:
    """The catalogue of pitfalls."""
    from cabida.checks.catalogue import pitfall_list

    found = pitfall_list()

    def screen() -> Any:
        from cabida.faces.tables import catalogue

        return catalogue(found)

    emit({"pitfalls": [asdict(one) for one in found]}, screen, as_json=as_json)
    return 0


def _goes_together(
    software: str | None, pc: str | None, rack: str | None, as_of: str, *, as_json: bool
) -> int:
    """Show what of a stack, a PC or a rack does not go together; 6 when something of it blocks."""
    from cabida.checks import check_pc, check_rack, check_software
    from cabida.checks.stack import state_of

    if software is not None:
        found = check_software(software, as_of=as_of)
    else:
        found = check_rack(rack, as_of=as_of) if rack is not None else check_pc(pc or "", as_of=as_of)

    def screen() -> Any:
        from cabida.faces.tables import cautions

        return cautions(found)

    rows = [asdict(one) for one in found]
    emit(
        {"state": state_of(found), "found": rows} if software is not None else {"found": rows},
        screen,
        as_json=as_json,
    )
    return 6 if any(one.severity == "blocking" for one in found) else 0


@click.command(cls=Command)
@click.argument("brief", type=click.Path(path_type=Path))
@option("--assume", is_flag=True)
@option("--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
@option("--all", "every", is_flag=True)
@option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@option("--scenarios", type=click.IntRange(0, 100_000), default=0, show_default=True)
@option("--on", type=click.Choice(["here", "ray"]), default="here", show_default=True)
@option("--keep", is_flag=True)
@shared
def recommend(
    brief: Path,
    assume: bool,
    out: Path | None,
    every: bool,
    seed: int,
    scenarios: int,
    on: str,
    keep: bool,
    as_json: bool,
    as_of: str | None,
) -> int:
    """The main job: a ranked, explained, dated decision. Exit 4 when nothing satisfies the brief."""
    from cabida import app

    with watched() as progress:
        decision = app.recommend(
            brief,
            assume=assume,
            as_of=as_of,
            language=locale(),
            seed=seed,
            out=out,
            progress=progress,
            all=every,
            scenarios=scenarios,
            on=on,
        )
    if keep:
        kept, answer = app.keep_answer(brief, decision)
        click.echo(tr("faces.kept", brief=kept.id, version=kept.version, decision=answer.id), err=True)
    if as_json:
        from cabida.report.store import to_json

        click.echo(to_json(decision), nl=False)
    else:
        from cabida import report
        from cabida.faces import show

        paths = report.paths(decision, out) if out else []
        console().print(show.decision(decision, every=every, paths=paths), crop=False)
    return 0 if decision.verdict == "satisfied" else 4
