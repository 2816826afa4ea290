"""``bench``: measure what would settle a decision, on the endpoint itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cabida.faces.output import emit
from cabida.faces.words import FarGroup, option, shared

ELSEWHERE = {  # commands of this group that live in files of their own: module and name
    "plan": ("commands_bench_plan", "plan"),
    "report": ("commands_bench_report", "report"),
    "export": ("commands_bench_report", "export"),
    "selftest": ("commands_bench_self", "selftest"),
    "proxy": ("commands_bench_self", "proxy"),
}
ORDER = ("plan", "run", "drill", "report", "export", "selftest", "proxy")


@click.group(cls=FarGroup, elsewhere=ELSEWHERE, order=ORDER)
def bench() -> None:
    """Measure on the endpoint."""


def _running(function: Any) -> Any:
    """What both commands that run something take."""
    for one in reversed(
        (
            click.argument("plan", type=click.Path(path_type=Path)),
            option("--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR"),
            option("--only", multiple=True, metavar="RUN"),
            option("--resume", is_flag=True),
            option("--yes", is_flag=True),
            option("--max-requests", type=click.IntRange(min=1)),
            option("--dry-run", is_flag=True),
            option("--store", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE"),
            shared,
        )
    ):
        function = one(function)
    return function


@bench.command()
@_running
@option("--workers", type=click.IntRange(1, 256), default=1, show_default=True)
@option("--on", type=click.Choice(["here", "ray"]), default="here", show_default=True)
def run(plan: Path, as_json: bool, as_of: str | None, **said: Any) -> None:
    """All runs of a plan. Exit 5 when the endpoint can't be measured."""
    _run(plan, as_json, said)


@bench.command()
@_running
def drill(plan: Path, as_json: bool, as_of: str | None, **said: Any) -> None:
    """The drills of a plan alone."""
    _run(plan, as_json, {**said, "phases": ("drill",)})


def _run(plan: Path, as_json: bool, said: dict[str, Any]) -> None:
    from cabida import app
    from cabida.faces.bench_live import live

    with live() as told:
        answer = app.bench_run(plan, told=told, **said)

    def screen() -> Any:
        from rich.console import Group

        from cabida.faces import bench_report_screens, bench_screens

        if "runs_planned" in answer:
            return bench_screens.planned(answer)
        report = bench_report_screens.screen(answer)
        if not answer.get("logs"):
            return report

        from cabida.faces import observed

        return Group(report, *(observed.imports(one) for one in answer["logs"]))

    emit(answer, screen, as_json=as_json)
    if problems := answer.get("problems"):
        from cabida.errors import EndpointFailed, Problem
        from cabida.faces.errors import tell

        if not as_json:
            tell(EndpointFailed([Problem(**one) for one in problems]), as_json=False)
        click.get_current_context().exit(answer["exit"])
    if answer.get("interrupted"):
        click.get_current_context().exit(130)
